"""Drawn columns, truths → reports: whole columns in memory, since any row may report the value of any other.

What is held is the column itself, eight bytes a number, and four bytes a row that say whose value it reports. Batches
of reports are then taken from it, in whatever sizes the rest of the table is streamed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lambdarr.drawing import undone_sentence
from lambdarr.errors import DataError, UnprotectedWarning
from lambdarr.sampling import drawn_places
from lambdarr.units import is_measured

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from lambdarr.designs import Design
    from lambdarr.drawing import Drawn
    from lambdarr.sampling import Words
    from lambdarr.sources import Source

MOST_INDIVIDUALS = 2**32 - 1

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_DATE = r"^\d{4}-\d{2}-\d{2}"
_NO_NUMBER = r"(?i)^\s*[+-]?(nan|inf|infinity)\s*$"


@dataclass(frozen=True, slots=True, eq=False)
class Redrawn:
    """A column that was read whole, and whose value each row reports.

    Parameters
    ----------
    values : pyarrow.Array
        The values that rows report: the truths, or their expected form.
    places : array, optional
        The row whose value each row reports; None if it is its own.
    """

    values: pa.Array
    places: NDArray[np.uint32] | None

    def batch(self, first: int, rows: int) -> pa.Array:
        """Return the reports of some rows."""
        if self.places is None:
            return self.values.slice(first, rows)
        return self.values.take(pa.array(self.places[first : first + rows]))


def redrawn_columns(source: Source, design: Design, words: Words, *, as_text: bool) -> Mapping[str, Redrawn]:
    """Return the drawn columns of a table, randomized; ``as_text`` says whether they go to a text file.

    All columns are checked before any word is drawn.
    """
    if not design.drawn:
        return {}
    if design.undone:
        warnings.warn(undone_sentence(design.undone), UnprotectedWarning, stacklevel=4)
    found = checked_columns(source.batches(design.drawn_names), design.drawn, is_text=source.as_text)
    return {
        drawn.name: _redrawn(found[drawn.name], drawn, words, is_text=source.as_text, as_text=as_text)
        for drawn in design.drawn
    }


def checked_columns(batches: Iterable[pa.RecordBatch], columns: Sequence[Drawn], *, is_text: bool) -> dict[str, Whole]:
    """Return drawn columns whole, if all of them can be drawn from; ``is_text`` says whether a text file has them."""
    chunks: dict[str, list[pa.Array]] = {column.name: [] for column in columns}
    for batch in batches:
        for name, parts in chunks.items():
            parts.append(batch.column(name))
    found = {}
    for drawn in columns:
        parts = chunks.pop(drawn.name)
        column = parts[0] if len(parts) == 1 else pa.concat_arrays(parts) if parts else pa.nulls(0)
        found[drawn.name] = checked(column, drawn, is_text=is_text)
    return found


def _redrawn(column: Whole, drawn: Drawn, words: Words, *, is_text: bool, as_text: bool) -> Redrawn:
    if drawn.is_expected:
        numbers = column.typed.cast(pa.float64(), safe=False)
        shrunk = pc.add(pc.multiply(numbers, drawn.lam), (1 - drawn.lam) * pc.mean(numbers).as_py())
        return Redrawn(pc.fill_null(shrunk.cast(pa.string()), drawn.missing or "") if as_text else shrunk, None)
    count, there = len(column.values), column.typed.is_valid()
    values = column.values if is_text and as_text else column.typed
    if not drawn.missing_is_public or not column.typed.null_count:
        return Redrawn(values, drawn_places(words, count, drawn.threshold))
    individuals = np.flatnonzero(there.to_numpy(zero_copy_only=False)).astype(np.uint32)
    places = np.arange(count, dtype=np.uint32)
    places[individuals] = individuals[drawn_places(words, individuals.size, drawn.threshold)]
    return Redrawn(values, places)


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A column that was read whole."""

    values: pa.Array
    """As they stand in the table."""
    typed: pa.Array
    """The same as what they are: a text file's numbers as numbers, its missing values as nulls."""


def checked(column: pa.Array, drawn: Drawn, *, is_text: bool) -> Whole:
    """Return a column that can be drawn from, or say why it cannot."""
    name = drawn.name
    if pa.types.is_dictionary(column.type):
        msg = f"drawn column {name!r} is stored by categories; make it an attribute of the design, or plain values"
        raise DataError(msg)
    typed = numbers_of_text(column, name, drawn.missing or "") if is_text else column
    if typed.null_count and drawn.missing is None:
        row = pc.index(typed.is_null(), True).as_py() + 1
        msg = (
            f"drawn column {name!r} has missing values, first at row {row:,}, of which the design says nothing; make "
            "it from this table, so that they are drawn like other values, or declare them public (public_missing)"
        )
        raise DataError(msg)
    if not _can_be_drawn(typed.type):
        raise _not_measured(typed, name)
    if pa.types.is_floating(typed.type):
        finite = pc.is_finite(typed)
        if not pc.all(finite).as_py() and (row := pc.index(finite, False).as_py()) >= 0:
            msg = (
                f"drawn column {name!r} holds nan or an infinite number, first at row {row + 1:,}; correct it, or make "
                "it a missing value"
            )
            raise DataError(msg)
    individuals = len(typed) - (typed.null_count if drawn.missing_is_public else 0)
    if not 2 <= individuals <= MOST_INDIVIDUALS:
        msg = (
            f"drawn column {name!r} has a value of {['no individual', 'one individual'][individuals]}, and there must "
            "be two: one individual has nobody to hide among"
            if individuals < 2
            else f"drawn column {name!r} has {individuals:,} individuals, more than {MOST_INDIVIDUALS:,}; split it"
        )
        raise DataError(msg)
    if _is_constant(typed, ignoring_nulls=drawn.missing_is_public):
        msg = f"drawn column {name!r} is the same for everyone: a constant column has nothing to hide; keep or drop it"
        raise DataError(msg)
    if drawn.is_expected and not _has_mean(typed.type):
        msg = f"drawn column {name!r} holds no numbers, and method 'expected' takes their mean; use method 'drawn'"
        raise DataError(msg)
    return Whole(column, typed)


def _can_be_drawn(kind: pa.DataType) -> bool:
    """Return whether a type is of numbers, dates, times or durations, also those that have no mean here."""
    return bool(is_measured(kind) or pa.types.is_time(kind) or pa.types.is_interval(kind) or pa.types.is_null(kind))


def _not_measured(column: pa.Array, name: str) -> DataError:
    """Return why a column of text, booleans or the like is not drawn; where dates are meant, which is none."""
    kind = column.type
    what = (
        "booleans"
        if pa.types.is_boolean(kind)
        else "text"
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        else f"values of type {kind}"
    )
    if what == "text" and (row := _first_no_date(column)) is not None:
        return DataError(f"drawn column {name!r} holds dates, but something else at row {row:,}; correct it")
    return DataError(
        f"drawn column {name!r} holds {what}, and only numbers, dates, times and durations are drawn (a text file has "
        "dates as 2001-12-31, durations as seconds); make it an attribute of the design"
    )


def _first_no_date(column: pa.Array) -> int | None:
    """Return the first row that is no date, if most are."""
    shaped = pc.match_substring_regex(column, _DATE)
    if 2 * (pc.sum(shaped).as_py() or 0) <= len(column) - column.null_count:
        return None
    for row, text in enumerate(column.to_pylist(), start=1):
        try:
            text is None or dt.datetime.fromisoformat(text)
        except ValueError:
            return row
    return None


def numbers_of_text(column: pa.Array, name: str, missing: str) -> pa.Array:
    """Return a text file's column as integers, numbers, dates or times if that is what it holds; texts stay texts."""
    given = pc.if_else(pc.equal(column, missing), pa.scalar(None, pa.string()), column)
    numbers = pc.match_substring_regex(given, _NUMBER)
    if pc.all(numbers).as_py() is not False:
        for kind in (pa.int64(), pa.float64()):
            try:
                return pc.utf8_trim_whitespace(given).cast(kind)
            except pa.ArrowInvalid:
                continue
    if not pc.any(numbers).as_py():
        return _dates_of_text(given)
    row = pc.index(pc.fill_null(numbers, True), False).as_py()
    if pc.match_substring_regex(given.slice(row, 1), _NO_NUMBER)[0].as_py():
        msg = f"drawn column {name!r} holds nan or an infinite number, first at row {row + 1:,}; correct it"
    else:
        msg = (
            f"drawn column {name!r} mixes numbers and text, first at row {row + 1:,}; correct it, or say how a missing "
            "value is written (missing)"
        )
    raise DataError(msg)


def _dates_of_text(given: pa.Array) -> pa.Array:
    for kind in (pa.date32(), pa.timestamp("us")):
        with contextlib.suppress(pa.ArrowInvalid):
            return given.cast(kind)
    return given


def _is_constant(column: pa.Array, *, ignoring_nulls: bool) -> bool:
    values = column.drop_null() if column.null_count else column
    if not len(values):
        return True
    if len(values) < len(column) and not ignoring_nulls:
        return False
    # each value against the next, whatever the type; mostly the first few tell
    return all(part[:-1].equals(part[1:]) for part in (values[:1000], values))


def _has_mean(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
