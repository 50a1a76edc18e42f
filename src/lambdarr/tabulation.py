"""Reports → counts: the k-way table of the attributes that an estimate is about.

Estimating a table of k attributes needs the counts of those k alone, because summing out an attribute commutes with
the channels. So one pass over the reports is enough, in batches of any size, and counts of two parts add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from lambdarr.designs import check_design
from lambdarr.domain import encode
from lambdarr.errors import DataError
from lambdarr.parallel import ahead, in_order, worth_compiling
from lambdarr.sources import check_present, open_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.designs import Design
    from lambdarr.domain import Codes

    Floats = NDArray[np.float64]

_COMPILED_FROM = 1 << 25  # records from which loading compiled loops pays

MAX_CELLS = 10**8
"""The largest table that is counted cell by cell (0.8 GB)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        shape = " × ".join(f"{name} ({size})" for name, size in zip(self.attributes, self.values.shape, strict=True))
        return f"<Counts of {shape}: {self.n:,} reports{', weighted' if self.squares is not None else ''}>"

    @classmethod
    def from_array(cls, attributes: Iterable[str], values: ArrayLike) -> Counts:
        """Return counts that were tallied elsewhere: one axis per attribute, cells in the order of its categories."""
        if hasattr(values, "index") and not isinstance(values, list | tuple):
            # pandas' value_counts, for one, sorts by frequency: taken as they come, counts would change their labels
            msg = "values must be a plain array in the order of the categories; a labelled one has an order of its own"
            raise DataError(msg)
        try:
            table = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            msg = "values must be an array of counts, one axis per attribute"
            raise DataError(msg) from None
        names = (attributes,) if isinstance(attributes, str) else tuple(attributes)
        return cls(names, table, round(float(np.nan_to_num(table).sum())))

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
    return tallies(reports, design, [attributes], weights=weights)[0]


def tallies(
    reports: Any, design: Design, tables: Sequence[Iterable[str]], *, weights: str | ArrayLike | None = None
) -> list[Counts]:
    """Return the counts of several tables from one pass over the reports.

    Parameters
    ----------
    reports, design, weights
        As for ``tally``.
    tables : sequence of iterables of str
        The attributes of each table.
    """
    check_design(design)
    parts = [design.select(attributes) for attributes in tables]
    for part in parts:
        _check_cells(part)
    source = open_source(reports)
    attributes = {attribute.name: attribute for part in parts for attribute in part.attributes}
    columns = [*attributes, *([weights] if isinstance(weights, str) and weights not in attributes else [])]
    check_present(columns, source.names, known=design.names)
    given = None if weights is None or isinstance(weights, str) else _given_weights(weights)

    def jobs() -> Iterator[tuple[pa.RecordBatch, int]]:
        row = 0
        for batch in ahead(source.batches(columns, encoded=list(attributes))):
            yield batch, row
            row += batch.num_rows

    def count(job: tuple[pa.RecordBatch, int]) -> _Counted:
        batch, row = job
        codes = {
            name: encode(attribute, batch.column(name), as_text=source.as_text, first_row=row + 1)
            for name, attribute in attributes.items()
        }
        weighted = None
        if isinstance(weights, str):
            weighted = _weight_column(batch.column(weights), weights, first_row=row + 1)
        elif given is not None:
            weighted = given[row : row + batch.num_rows]
        if weighted is not None:
            _check_weights(weighted, batch.num_rows, first_row=row + 1)
        compiled = worth_compiling(row + batch.num_rows, enough=_COMPILED_FROM)
        return _Counted(batch.num_rows, [_Cells.of(part, codes, weighted, compiled=compiled) for part in parts])

    n = 0
    values = [np.zeros(_cells(part)) for part in parts]
    squares = [np.zeros(_cells(part)) if weights is not None else None for part in parts]
    for counted in in_order(count, jobs()):
        n += counted.rows
        for cells, table, squared in zip(counted.cells, values, squares, strict=True):
            cells.add_to(table, squared)
    if given is not None and len(given) != n:
        msg = f"weights must be one number per report, got {len(given):,} for {n:,} reports"
        raise DataError(msg)
    if not n:
        msg = "the reports have no rows; there is nothing to count"
        raise DataError(msg)
    if weights is not None and not values[0].any():
        msg = "weights must not all be zero"
        raise DataError(msg)
    return [
        Counts(
            part.names,
            table.reshape(_sizes(part)),
            n,
            None if square is None else square.reshape(_sizes(part)),
            library,
        )
        for part, table, square, library in zip(parts, values, squares, [source.library] * len(parts), strict=True)
    ]


class _Counted(NamedTuple):
    rows: int
    cells: list[_Cells]


class _Cells(NamedTuple):
    """What one batch adds to one table: sums per cell where the table is small, the records' cells where it is not."""

    sums: Floats | None
    squares: Floats | None
    places: NDArray[np.int64] | None
    weights: Floats | None

    @classmethod
    def of(cls, part: Design, codes: dict[str, Codes], weights: Floats | None, *, compiled: bool) -> _Cells:
        """Find the cell of every record; sum them up here, in the thread of the batch, if the table is small."""
        places = np.zeros(len(codes[part.names[0]]), dtype=np.int64)
        for attribute in part.attributes:
            if compiled:
                from lambdarr import kernels

                kernels.locate(places, codes[attribute.name], attribute.size)
            else:
                places *= attribute.size
                places += codes[attribute.name]
        cells = _cells(part)
        if cells > len(places):
            return cls(None, None, places, weights)
        sums = np.bincount(places, weights, minlength=cells).astype(np.float64)
        squares = sums if weights is None else np.bincount(places, weights**2, minlength=cells).astype(np.float64)
        return cls(sums, squares, None, None)

    def add_to(self, table: Floats, squares: Floats | None) -> None:
        """Add what was found to the whole."""
        if self.sums is not None:
            table += self.sums
        if squares is not None and self.squares is not None:
            squares += self.squares
        if self.places is not None:  # a table larger than the batch: touch only the cells that occur
            np.add.at(table, self.places, 1.0 if self.weights is None else self.weights)
            if squares is not None and self.weights is not None:
                np.add.at(squares, self.places, self.weights**2)


def _sizes(part: Design) -> tuple[int, ...]:
    return tuple(attribute.size for attribute in part.attributes)


def _cells(part: Design) -> int:
    return math.prod(_sizes(part))


def _check_cells(part: Design) -> None:
    if (cells := _cells(part)) > MAX_CELLS:
        msg = f"a table of {' × '.join(part.names)} has {cells:,} cells, more than {MAX_CELLS:,}; ask for fewer"
        raise DataError(msg)
    if len(set(part.names)) < len(part.names):
        msg = "a table must name each of its attributes once"
        raise DataError(msg)


def _given_weights(weights: ArrayLike) -> Floats:
    try:
        return np.asarray(weights, dtype=np.float64).ravel()
    except (TypeError, ValueError):  # whose message repeats the value
        msg = "weights must be numbers, one per report"
        raise DataError(msg) from None


def _weight_column(column: pa.Array, name: str, *, first_row: int) -> Floats:
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except pa.ArrowException:
        row = first_row + next((place for place, value in enumerate(column) if not _is_weight(value)), 0)
        msg = f"weights must be numbers, but column {name!r} holds something else, first at row {row:,}"
        raise DataError(msg) from None


def _is_weight(value: pa.Scalar) -> bool:
    try:
        value.cast(pa.float64())
    except pa.ArrowException:
        return False
    return True


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
