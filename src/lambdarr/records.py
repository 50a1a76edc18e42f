"""Reports with their public columns, all in memory: what a regression is fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lambdarr.designs import check_together
from lambdarr.domain import ABSENT
from lambdarr.errors import DataError
from lambdarr.redrawing import numbers_of_text
from lambdarr.sources import check_present, open_source
from lambdarr.surveys import joined
from lambdarr.tabulation import Coded, over_reports
from lambdarr.units import Unit, is_of_time
from lambdarr.waves import shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.domain import Codes
    from lambdarr.scales import Scale
    from lambdarr.surveys import Asked
    from lambdarr.waves import Wave

    Floats = NDArray[np.float64]

_MISSING = ("", "NA", "NaN", "nan", "null")


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Complete reports of one wave.

    Parameters
    ----------
    channels : dict
        The channel of each attribute.
    codes : dict
        The reported codes of each attribute in the formula.
    weights : array
        One per report.
    rows : slice
        Where these reports are among those of all waves.
    complete : array
        Which of the wave's reports these are.
    asked : Asked
        How all people of the wave were asked, also those whose reports are not complete.
    """

    channels: dict[str, Channel]
    codes: dict[str, Codes]
    weights: Floats
    rows: slice
    complete: NDArray[np.bool_]
    asked: Asked

    def among_all(self, scores: Floats) -> Floats:
        """Return the scores of complete reports (a row each) in the places of all; others have none."""
        result = np.zeros((len(self.complete), scores.shape[1]))
        result[self.complete] = scores
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """The reports of all waves.

    Parameters
    ----------
    design : Design, optional
        The randomized attributes in the formula; None if there are none.
    waves : list of Records
        The complete reports.
    public : pandas.DataFrame
        The other columns, a row per complete report.
    is_complex : bool
        Whether strata or clusters were given.
    """

    design: Design | None
    waves: list[Records]
    public: Any
    is_complex: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The randomized attributes."""
        return () if self.design is None else self.design.names

    @property
    def scales(self) -> dict[str, Scale]:
        """The scales of the numerical attributes among them that are rounded at random."""
        attributes = () if self.design is None else self.design.attributes
        return {a.name: a.scale for a in attributes if a.scale is not None and a.is_rounded}

    @property
    def n(self) -> int:
        """Number of complete reports."""
        return int(self.waves[-1].rows.stop)

    @property
    def left_out(self) -> int:
        """Number of reports that are not complete."""
        return sum(len(records.complete) for records in self.waves) - self.n

    @classmethod
    def of(cls, waves: Sequence[Wave], variables: Iterable[str]) -> Data:
        """Read all columns of a formula; those of the design are randomized, all others public."""
        import pandas

        randomized = [name for name in variables if any(name in wave.design.names for wave in waves)]
        public = [name for name in variables if name not in randomized]
        design = shared([wave.design for wave in waves], randomized) if randomized else None
        records, frames, start = [], [], 0
        for wave in waves:
            if randomized:
                check_together(wave.design.select(randomized))
            codes, asked, frame = _read(wave, randomized, public)
            complete = np.array(frame.notna().all(axis=1)) if public else np.ones(len(frame), dtype=bool)
            for column in codes.values():
                complete &= column != ABSENT
            n = int(complete.sum())
            if not n:
                msg = "no report has a value in every column of the formula"
                raise DataError(msg)
            weights = np.ones(n) if asked.weights is None else asked.weights[complete]
            if not weights.any():
                msg = "weights must not all be zero"
                raise DataError(msg)
            kept = {name: column[complete] for name, column in codes.items()}
            records.append(Records(wave.design.by_name, kept, weights, slice(start, start + n), complete, asked))
            frames.append(frame[complete])
            start += n
        together = pandas.concat(frames, ignore_index=True)
        return cls(design, records, together, waves[0].survey.is_complex)


def _read(wave: Wave, randomized: Sequence[str], public: Sequence[str]) -> tuple[dict[str, Codes], Asked, Any]:
    """Return the codes of the attributes, the sample, and the public columns as a pandas frame."""

    def as_it_is(coded: Coded) -> Coded:
        return coded

    batches = list(over_reports(wave.reports, wave.design, randomized, wave.survey, as_it_is, public=public))
    codes = {name: np.concatenate([coded.codes[name] for coded in batches]) for name in randomized}
    columns = {name: pa.chunked_array([coded.public[name] for coded in batches]) for name in public}
    n, as_text = sum(coded.rows for coded in batches), batches[0].as_text
    drawn = {column.name: column.missing or "" for column in wave.design.drawn}
    return codes, joined([coded.asked for coded in batches]), _frame(columns, n, drawn, as_text=as_text)


def _frame(columns: dict[str, pa.ChunkedArray], n: int, drawn: Mapping[str, str], *, as_text: bool) -> Any:
    """Return public and drawn columns for formulas: truth values are categories, texts that are numbers are numbers.

    Dates are days since 1970, times and durations seconds: as categories there would be thousands. ``drawn`` has the
    text of a missing value for each drawn column.
    """
    import pandas

    found = {}
    for name, column in columns.items():
        if as_text and name in drawn:
            column = numbers_of_text(column.combine_chunks().cast(pa.string()), name, drawn[name])
        elif as_text:
            column = _typed(column, name)
        if name in drawn or is_of_time(column.type):
            whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            found[name] = pandas.Series(Unit.of(whole.type, name).numbers(whole, name))
            continue
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        series = column.to_pandas()
        if pa.types.is_boolean(column.type):
            series = pandas.Series(pandas.Categorical(series, categories=[False, True]))
        found[name] = series
    return pandas.DataFrame(found, index=range(n))


def _typed(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a text file's column as numbers, if all that is there is."""
    text = column.cast(pa.string())
    given = pc.if_else(pc.is_in(text, value_set=pa.array(_MISSING)), None, text)
    try:
        return given.cast(pa.float64())
    except pa.ArrowException:
        numbers = pc.match_substring_regex(given, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
        if 2 * (pc.sum(numbers).as_py() or 0) > len(text):
            row = pc.index(pc.fill_null(numbers, True), False).as_py() + 1
            msg = f"column {name!r} holds numbers, but something else at row {row:,}; correct it, or leave it empty"
            raise DataError(msg) from None
        return pc.if_else(pc.equal(text, ""), None, text)


def frame_of(table: Any, names: Sequence[str], drawn: Iterable[str] = ()) -> Any:
    """Return some columns of a table as a pandas frame, ``drawn`` ones as numbers."""
    source = open_source(table)
    check_present(names, source.names)
    found = pa.Table.from_batches(source.batches(names), pa.schema([source.schema.field(name) for name in names]))
    columns = {name: found.column(name) for name in names}
    return _frame(columns, found.num_rows, dict.fromkeys(drawn, ""), as_text=source.as_text)
