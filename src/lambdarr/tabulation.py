"""Reports → counts: the k-way table of the attributes that an estimate is about.

Estimating a table of k attributes needs the counts of those k alone, because summing out an attribute commutes with
the channels. So one pass over the reports is enough, in batches of any size, and counts of two parts add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lambdarr.domain import encode
from lambdarr.errors import DataError
from lambdarr.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.designs import Design

MAX_CELLS = 10**8
"""The largest table that is counted cell by cell (0.8 GB)."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """A k-way table of reports.

    Parameters
    ----------
    attributes : tuple of str
        Names of the axes.
    values : array
        Number of reports per cell, or the sum of their weights.
    n : int
        Number of reports.
    squares : array, optional
        Sum of the squared weights per cell; None if the reports are not weighted.
    library : str
        The library whose frames the reports came in, in which results are given back.
    """

    attributes: tuple[str, ...]
    values: NDArray[np.float64]
    n: int
    squares: NDArray[np.float64] | None = None
    library: str = "pyarrow"

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        object.__setattr__(self, "values", np.asarray(self.values, dtype=np.float64))
        if self.values.ndim != len(self.attributes):
            msg = f"counts must have one axis per attribute, got {self.values.ndim} for {len(self.attributes)}"
            raise DataError(msg)
        if not np.isfinite(self.values).all() or (self.values < 0).any():
            msg = "counts must not be negative, missing or infinite"
            raise DataError(msg)

    @classmethod
    def from_array(cls, attributes: Iterable[str], values: ArrayLike) -> Counts:
        """Return counts that were tallied elsewhere, one axis per attribute."""
        table = np.asarray(values, dtype=np.float64)
        return cls(tuple(attributes), table, round(float(np.nan_to_num(table).sum())))

    @property
    def total(self) -> float:
        """Σw: the number of reports, or the sum of their weights."""
        return float(self.values.sum())

    def marginal(self, attributes: Iterable[str]) -> Counts:
        """Return the counts of some of the attributes, in the order asked for."""
        wanted = (attributes,) if isinstance(attributes, str) else tuple(attributes)
        for name in wanted:
            if name not in self.attributes:
                msg = f"attribute {name!r} is not in these counts; they have: {', '.join(self.attributes)}"
                raise DataError(msg)
        if len(set(wanted)) < len(wanted) or not wanted:
            msg = "a table must name at least one attribute, and each of them once"
            raise DataError(msg)
        kept = [self.attributes.index(name) for name in wanted]
        summed = tuple(axis for axis in range(len(self.attributes)) if axis not in kept)
        order = np.argsort(np.argsort(kept))  # from the table's order of the axes to the one asked for

        def reduce(table: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(table.sum(axis=summed).transpose(order))

        squares = None if self.squares is None else reduce(self.squares)
        return Counts(wanted, reduce(self.values), self.n, squares, self.library)

    def __add__(self, other: Counts) -> Counts:
        if self.attributes != other.attributes or self.values.shape != other.values.shape:
            msg = f"counts of {self.attributes} and of {other.attributes} cannot be added; tally the same attributes"
            raise DataError(msg)
        squares = None
        if self.squares is not None or other.squares is not None:  # a report without weight has weight 1
            squares = (self.values if self.squares is None else self.squares) + (
                other.values if other.squares is None else other.squares
            )
        return Counts(self.attributes, self.values + other.values, self.n + other.n, squares, self.library)


def tally(reports: Any, design: Design, attributes: Iterable[str], *, weights: str | ArrayLike | None = None) -> Counts:
    """Return the k-way table of counts of some attributes.

    Parameters
    ----------
    reports : table or path
        Randomized records.
    design : Design
        The design they were made with.
    attributes : iterable of str
        The k attributes, in the order of the table's axes.
    weights : str or array, optional
        Survey weights: the name of a column, or one number per report.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import lambdarr as lr
    >>> design = lr.design([lr.Attribute("sex", ["F", "M"])], lam=0.5)
    >>> lr.tally(pa.table({"sex": ["F", "M", "F"]}), design, ["sex"]).values
    array([2., 1.])
    """
    part = design.select(attributes)
    sizes = tuple(attribute.size for attribute in part.attributes)
    if (cells := math.prod(sizes)) > MAX_CELLS:
        msg = f"a table of {' × '.join(part.names)} has {cells:,} cells, more than {MAX_CELLS:,}; ask for fewer"
        raise DataError(msg)
    source = open_source(reports)
    wanted = [*part.names, *([weights] if isinstance(weights, str) else [])]
    for name in wanted:
        if name not in source.names:
            msg = f"column {name!r} is not in the reports; they have: {', '.join(source.names)}"
            raise DataError(msg)

    given = None if weights is None or isinstance(weights, str) else np.asarray(weights, dtype=np.float64).ravel()
    values = np.zeros(cells)
    squares = None if weights is None else np.zeros(cells)
    n = 0
    for batch in source.batches():
        flat = np.zeros(batch.num_rows, dtype=np.int64)
        for attribute in part.attributes:
            flat *= attribute.size
            flat += encode(attribute, batch.column(attribute.name), as_text=source.as_text, first_row=n + 1)
        if squares is None:
            _add(values, flat, None)
        else:
            if isinstance(weights, str):
                part_weights = _weight_column(batch.column(weights), weights, as_text=source.as_text)
            else:
                part_weights = given[n : n + batch.num_rows] if given is not None else np.empty(0)
            _check_weights(part_weights, batch.num_rows, first_row=n + 1)
            _add(values, flat, part_weights)
            _add(squares, flat, part_weights**2)
        n += batch.num_rows
    if given is not None and len(given) != n:
        msg = f"weights must be one number per report, got {len(given):,} for {n:,} reports"
        raise DataError(msg)
    if not n:
        msg = "the reports have no rows; there is nothing to count"
        raise DataError(msg)
    if squares is not None and not values.any():
        msg = "weights must not all be zero"
        raise DataError(msg)
    shaped = None if squares is None else squares.reshape(sizes)
    return Counts(part.names, values.reshape(sizes), n, shaped, source.library)


def _add(table: NDArray[np.float64], cells: NDArray[np.int64], weights: NDArray[np.float64] | None) -> None:
    if len(table) <= len(cells):
        table += np.bincount(cells, weights, minlength=len(table))
    else:  # a table larger than the batch: touch only the cells that occur
        np.add.at(table, cells, 1.0 if weights is None else weights)


def _weight_column(column: pa.Array, name: str, *, as_text: bool) -> NDArray[np.float64]:
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except pa.ArrowException:
        kind = "text that is not a number" if as_text else f"{column.type}"
        msg = f"weights must be numbers, but column {name!r} holds {kind}"
        raise DataError(msg) from None


def _check_weights(weights: NDArray[np.float64], rows: int, *, first_row: int) -> None:
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        msg = (
            f"weights must not be negative, missing or infinite, and {len(bad):,} are, first at row "
            f"{first_row + int(bad[0]):,}; give every report a weight of 0 or more"
        )
        raise DataError(msg)
    if len(weights) != rows:
        msg = f"weights must be one number per report, and end at row {first_row + len(weights) - 1:,}"
        raise DataError(msg)
