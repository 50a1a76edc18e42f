"""Survey weights: a column of the reports, or one number per report, checked as the reports go by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lambdarr.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def weights_of(weights: str | ArrayLike | None) -> Weights:
    """Return the weights that a column's name, an array or nothing stands for."""
    if weights is None or isinstance(weights, str):
        return Weights(weights, None)
    try:
        return Weights(None, np.asarray(weights, dtype=np.float64).ravel())
    except (TypeError, ValueError):  # whose message repeats the value
        msg = "weights must be numbers, one per report"
        raise DataError(msg) from None


class Weights:
    """Where the weights of reports come from."""

    def __init__(self, column: str | None, given: Floats | None) -> None:
        self._column, self._given = column, given

    @property
    def columns(self) -> list[str]:
        """The column to read beside the attributes, if there is one."""
        return [] if self._column is None else [self._column]

    def of(self, batch: pa.RecordBatch, row: int) -> Floats | None:
        """Return the weights of a batch whose first row is ``row`` (from 0), or None if reports are not weighted."""
        if self._column is not None:
            found = _column_of_weights(batch.column(self._column), self._column, first_row=row + 1)
        elif self._given is not None:
            found = self._given[row : row + batch.num_rows]
        else:
            return None
        bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
        if len(bad):
            msg = (
                f"weights must not be negative, missing or infinite, and {len(bad):,} are, first at row "
                f"{row + 1 + int(bad[0]):,}; give every report a weight of 0 or more"
            )
            raise DataError(msg)
        if len(found) != batch.num_rows:
            msg = f"weights must be one number per report, and end at row {row + len(found):,}"
            raise DataError(msg)
        return found

    def check_end(self, n: int) -> None:
        """Refuse weights that are more than the reports."""
        if self._given is not None and len(self._given) != n:
            msg = f"weights must be one number per report, got {len(self._given):,} for {n:,} reports"
            raise DataError(msg)


def _column_of_weights(column: pa.Array, name: str, *, first_row: int) -> Floats:
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except pa.ArrowException:
        row = first_row + next((place for place, value in enumerate(column) if not _is_number(value)), 0)
        msg = f"weights must be numbers, but column {name!r} holds something else, first at row {row:,}"
        raise DataError(msg) from None


def _is_number(value: pa.Scalar) -> bool:
    try:
        value.cast(pa.float64())
    except pa.ArrowException:
        return False
    return True
