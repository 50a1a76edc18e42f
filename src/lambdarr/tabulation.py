"""Reports → counts: the k-way table of the attributes that an estimate is about.

Estimating a table of k attributes needs the counts of those k alone, because summing out an attribute commutes with
the channels. So one pass over the reports is enough, in batches of any size, and counts of two parts add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from lambdarr.designs import check_design, check_together, listed
from lambdarr.domain import ABSENT, encode
from lambdarr.errors import DataError
from lambdarr.parallel import ahead, in_order, worth_compiling
from lambdarr.sources import check_present, open_source
from lambdarr.surveys import Asked, Clustered, Reading, Survey, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from lambdarr.designs import Design
    from lambdarr.domain import Codes

    Floats = NDArray[np.float64]

Result = TypeVar("Result")
Number = TypeVar("Number", np.int64, np.float64)

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
        Number of reports that have all of these attributes: where missing values are public, or not everyone was asked
        all of them, the others are left out.
    squares : array, optional
        Sum of the squared weights per cell; None if the reports are not weighted.
    clustered : Clustered, optional
        The same table cluster by cluster, where strata or clusters were given.
    library : str
        The library whose frames the reports came in, in which results are given back.
    """

    attributes: tuple[str, ...]
    values: NDArray[np.float64]
    n: int
    squares: NDArray[np.float64] | None = None
    library: str = "pyarrow"
    clustered: Clustered | None = None

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
        values = reduce(self.values)
        clustered = None
        if self.clustered is not None:
            codes = np.indices(self.values.shape).reshape(len(self.attributes), -1)[kept]
            clustered = self.clustered.marginal(np.ravel_multi_index(tuple(codes), values.shape))
        return Counts(wanted, values, self.n, squares, self.library, clustered)

    def __add__(self, other: Counts) -> Counts:
        if self.attributes != other.attributes or self.values.shape != other.values.shape:
            msg = f"counts of {self.attributes} and of {other.attributes} cannot be added; tally the same attributes"
            raise DataError(msg)
        if self.clustered is not None or other.clustered is not None:
            msg = "counts with strata or clusters cannot be added; tally all reports at once"
            raise DataError(msg)
        squares = None
        if self.squares is not None or other.squares is not None:  # a report without weight has weight 1
            squares = (self.values if self.squares is None else self.squares) + (
                other.values if other.squares is None else other.squares
            )
        return Counts(self.attributes, self.values + other.values, self.n + other.n, squares, self.library)


def tally(
    reports: Any,
    design: Design,
    attributes: Iterable[str],
    *,
    weights: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    clusters: str | ArrayLike | None = None,
) -> Counts:
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
    strata, clusters : str or array, optional
        How people were sampled: the stratum of each report, and the cluster of people who were drawn together.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import lambdarr as lr
    >>> design = lr.design([lr.Attribute("sex", ["F", "M"])], lam=0.5)
    >>> lr.tally(pa.table({"sex": ["F", "M", "F"]}), design, ["sex"]).values
    array([2., 1.])
    """
    return tallies(reports, design, [attributes], weights=weights, strata=strata, clusters=clusters)[0]


def tallies(
    reports: Any,
    design: Design,
    tables: Sequence[Iterable[str]],
    *,
    weights: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    clusters: str | ArrayLike | None = None,
) -> list[Counts]:
    """Return the counts of several tables from one pass over the reports.

    Parameters
    ----------
    reports, design, weights, strata, clusters
        As for ``tally``.
    tables : sequence of iterables of str
        The attributes of each table.
    """
    check_design(design)
    return tallied(reports, design, tables, Survey(weights, strata, clusters))


def tallied(reports: Any, design: Design, tables: Sequence[Iterable[str]], survey: Survey) -> list[Counts]:
    """Return the counts of several tables, of a sample."""
    _, found = tallied_as_found(reports, design, tables, survey)
    for counts in found:
        check_complete(counts.n, counts.attributes)
    return found


def tallied_as_found(
    reports: Any, design: Design, tables: Sequence[Iterable[str]], survey: Survey
) -> tuple[int, list[Counts]]:
    """Return the number of reports, and the counts of several tables: with n = 0 where nobody answered all of one."""
    parts = [design.select(attributes) for attributes in tables]
    for part in parts:
        check_together(part)
        _check_cells(part)

    def count(coded: Coded) -> _Counted:
        compiled = worth_compiling(coded.first_row + coded.rows, enough=_COMPILED_FROM)
        complete = [coded.complete(part) for part in parts]
        places = [_places(part, c.codes, compiled=compiled) for part, c in zip(parts, complete, strict=True)]
        cells = [
            _Cells.of(here, c.asked.weights, _cells(part))
            for here, c, part in zip(places, complete, parts, strict=True)
        ]
        filled = (
            [coded.filled(part, here) for part, here in zip(parts, places, strict=True)] if survey.is_complex else []
        )
        return _Counted(coded.rows, [c.rows for c in complete], coded.library, cells, coded.asked, filled)

    everyone, n, library = 0, np.zeros(len(parts), dtype=np.int64), "pyarrow"
    values = [np.zeros(_cells(part)) for part in parts]
    squares = [np.zeros(_cells(part)) if survey.weights is not None else None for part in parts]
    kept: list[_Counted] = []
    for counted in over_reports(reports, design, {name for part in parts for name in part.names}, survey, count):
        everyone, n, library = everyone + counted.everyone, n + counted.rows, counted.library
        for cells, table, squared in zip(counted.cells, values, squares, strict=True):
            cells.add_to(table, squared)
        if survey.is_complex:
            kept.append(counted)
    if survey.weights is not None and not all(table.any() for table, rows in zip(values, n, strict=True) if rows):
        msg = "weights must not all be zero"
        raise DataError(msg)
    clustered = _clustered(kept, parts) if survey.is_complex else [None] * len(parts)
    return everyone, [
        Counts(
            part.names,
            table.reshape(_sizes(part)),
            int(rows),
            None if square is None else square.reshape(_sizes(part)),
            library,
            by_cluster,
        )
        for part, rows, table, square, by_cluster in zip(parts, n, values, squares, clustered, strict=True)
    ]


class Coded(NamedTuple):
    """One batch of reports as codes."""

    rows: int
    first_row: int
    codes: dict[str, Codes]
    asked: Asked
    library: str
    public: dict[str, pa.Array]
    """Columns that are not randomized, where they were asked for."""
    as_text: bool
    """Whether they are text as it stood in a text file."""

    def complete(self, part: Design) -> Coded:
        """Return the reports that have all attributes of a part of the design; usually all of them do."""
        if not part.gaps:
            return self
        there = self._there(part)
        return self._replace(
            rows=int(there.sum()),
            codes={name: codes[there] for name, codes in self.codes.items() if name in part.names},
            asked=self.asked.at(there),
        )

    def filled(self, part: Design, values: NDArray[Number], absent: int = -1) -> NDArray[Number]:
        """Return values of complete reports in the places of all: clusters also have those who did not answer."""
        if not part.gaps:
            return values
        result = np.full((*values.shape[:-1], self.rows), absent, dtype=values.dtype)
        result[..., self._there(part)] = values
        return result

    def _there(self, part: Design) -> NDArray[np.bool_]:
        return np.asarray(np.all([self.codes[name] != ABSENT for name in part.gaps], axis=0))


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
    survey: Survey,
    work: Callable[[Coded], Result],
    *,
    public: Sequence[str] = (),
) -> Iterator[Result]:
    """Yield what ``work`` makes of each batch of reports, in order, on all cores: the one pass that all verbs take."""
    source = open_source(reports)
    reading = Reading(survey)
    attributes = {attribute.name: attribute for attribute in design.attributes if attribute.name in names}
    columns = [*attributes, *dict.fromkeys(name for name in (*public, *reading.columns) if name not in attributes)]
    check_present(columns, source.names, known=design.names)
    for name in reading.columns:
        if name in design.names and design.by_name[name].lam < 1:
            msg = f"weights, strata and clusters must be public, and {name!r} is randomized; use a column that is kept"
            raise DataError(msg)

    def jobs() -> Iterator[tuple[pa.RecordBatch, int, Asked]]:
        row = 0
        for batch in ahead(source.batches(columns, encoded=list(attributes))):
            yield batch, row, reading.of(batch, row)
            row += batch.num_rows

    def coded(job: tuple[pa.RecordBatch, int, Asked]) -> tuple[int, Result]:
        batch, row, asked = job
        codes = {
            name: encode(
                attribute,
                batch.column(name),
                as_text=source.as_text,
                first_row=row + 1,
                sampled=design.is_sampled,
            )
            for name, attribute in attributes.items()
        }
        beside = {name: batch.column(name) for name in public}
        return batch.num_rows, work(Coded(batch.num_rows, row, codes, asked, source.library, beside, source.as_text))

    n = 0
    for rows, result in in_order(coded, jobs()):
        n += rows
        yield result
    reading.check_end(n)
    if not n:
        msg = "the reports have no rows; there is nothing to count"
        raise DataError(msg)


class _Counted(NamedTuple):
    everyone: int
    """The reports of the batch."""
    rows: list[int]
    """Of each table: the reports that have all of its attributes."""
    library: str
    cells: list[_Cells]
    asked: Asked
    places: list[NDArray[np.int64]]
    """The cell of every report in each table, −1 where it is not complete; only where clusters need them."""


def _clustered(batches: Sequence[_Counted], parts: Sequence[Design]) -> list[Clustered]:
    """Return the tables cluster by cluster."""
    asked = joined([batch.asked for batch in batches])
    return [
        Clustered.of(asked, np.concatenate([batch.places[table] for batch in batches]), _cells(part))
        for table, part in enumerate(parts)
    ]


class _Cells(NamedTuple):
    """What one batch adds to one table: sums per cell where the table is small, the records' cells where it is not."""

    sums: Floats | None
    squares: Floats | None
    places: NDArray[np.int64] | None
    weights: Floats | None

    @classmethod
    def of(cls, places: NDArray[np.int64], weights: Floats | None, cells: int) -> _Cells:
        """Sum up the records of each cell here, in the thread of the batch, if the table is small."""
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


def _places(part: Design, codes: dict[str, Codes], *, compiled: bool) -> NDArray[np.int64]:
    """Return the cell of every record in a table."""
    places = np.zeros(len(codes[part.names[0]]), dtype=np.int64)
    for attribute in part.attributes:
        if compiled:
            from lambdarr import kernels

            kernels.locate(places, codes[attribute.name], attribute.size)
        else:
            places *= attribute.size
            places += codes[attribute.name]
    return places


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
