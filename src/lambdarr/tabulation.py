"""Reports → counts: the k-way table of the attributes that an estimate is about.

Estimating a table of k attributes needs the counts of those k alone, because summing out an attribute commutes with
the channels. So one pass over the reports is enough, in batches of any size, and counts of two parts add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from lambdarr.designs import check_design, listed
from lambdarr.domain import ABSENT, encode
from lambdarr.errors import DataError
from lambdarr.parallel import ahead, in_order, worth_compiling
from lambdarr.sources import check_present, open_source
from lambdarr.weighting import weights_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from lambdarr.designs import Design
    from lambdarr.domain import Codes

    Floats = NDArray[np.float64]

Result = TypeVar("Result")

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
        Number of reports that have all of these attributes: where missing values are public, the others are left out.
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
        return cls(listed(attributes), table, round(float(np.nan_to_num(table).sum())))

    @property
    def total(self) -> float:
        """Σw: the number of reports, or the sum of their weights."""
        return float(self.values.sum())

    def marginal(self, attributes: Iterable[str]) -> Counts:
        """Return the counts of some of the attributes, in the order asked for."""
        wanted = listed(attributes)
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

    def count(coded: Coded) -> _Counted:
        compiled = worth_compiling(coded.first_row + coded.rows, enough=_COMPILED_FROM)
        complete = [coded.complete(part) for part in parts]
        cells = [_Cells.of(p, c.codes, c.weights, compiled=compiled) for p, c in zip(parts, complete, strict=True)]
        return _Counted([c.rows for c in complete], coded.library, cells)

    n, library = np.zeros(len(parts), dtype=np.int64), "pyarrow"
    values = [np.zeros(_cells(part)) for part in parts]
    squares = [np.zeros(_cells(part)) if weights is not None else None for part in parts]
    for counted in over_reports(reports, design, {name for part in parts for name in part.names}, weights, count):
        n, library = n + counted.rows, counted.library
        for cells, table, squared in zip(counted.cells, values, squares, strict=True):
            cells.add_to(table, squared)
    for part, rows in zip(parts, n, strict=True):
        check_complete(int(rows), part.names)
    if weights is not None and not all(table.any() for table in values):
        msg = "weights must not all be zero"
        raise DataError(msg)
    return [
        Counts(
            part.names,
            table.reshape(_sizes(part)),
            int(rows),
            None if square is None else square.reshape(_sizes(part)),
            library,
        )
        for part, rows, table, square in zip(parts, n, values, squares, strict=True)
    ]


class Coded(NamedTuple):
    """One batch of reports as codes."""

    rows: int
    first_row: int
    codes: dict[str, Codes]
    weights: Floats | None
    library: str

    def complete(self, part: Design) -> Coded:
        """Return the reports that have all attributes of a part of the design; usually all of them do."""
        if not part.public_missing:
            return self
        there = np.all([self.codes[name] != ABSENT for name in part.public_missing], axis=0)
        return self._replace(
            rows=int(there.sum()),
            codes={name: codes[there] for name, codes in self.codes.items() if name in part.names},
            weights=None if self.weights is None else self.weights[there],
        )


def check_complete(n: int, names: Iterable[str]) -> None:
    """Refuse to estimate from nothing."""
    if not n:
        msg = (
            f"no report has an answer to all of {', '.join(names)}, as missing answers are left out; ask for fewer of "
            "them together"
        )
        raise DataError(msg)


def over_reports(
    reports: Any,
    design: Design,
    names: Collection[str],
    weights: str | ArrayLike | None,
    work: Callable[[Coded], Result],
) -> Iterator[Result]:
    """Yield what ``work`` makes of each batch of reports, in order, on all cores: the one pass that all verbs take."""
    source = open_source(reports)
    weigh = weights_of(weights)
    attributes = {attribute.name: attribute for attribute in design.attributes if attribute.name in names}
    columns = [*attributes, *(name for name in weigh.columns if name not in attributes)]
    check_present(columns, source.names, known=design.names)

    def jobs() -> Iterator[tuple[pa.RecordBatch, int]]:
        row = 0
        for batch in ahead(source.batches(columns, encoded=list(attributes))):
            yield batch, row
            row += batch.num_rows

    def coded(job: tuple[pa.RecordBatch, int]) -> tuple[int, Result]:
        batch, row = job
        codes = {
            name: encode(attribute, batch.column(name), as_text=source.as_text, first_row=row + 1)
            for name, attribute in attributes.items()
        }
        return batch.num_rows, work(Coded(batch.num_rows, row, codes, weigh.of(batch, row), source.library))

    n = 0
    for rows, result in in_order(coded, jobs()):
        n += rows
        yield result
    weigh.check_end(n)
    if not n:
        msg = "the reports have no rows; there is nothing to count"
        raise DataError(msg)


class _Counted(NamedTuple):
    rows: list[int]
    """Of each table: the reports that have all of its attributes."""
    library: str
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
