"""Whatever turns truths into reports, behind one face: codes in, codes out.

This library's own randomizer in each of its modes, a Python function, or an HTTP endpoint. ``measuring.py`` watches
them from outside, so nothing here knows how they draw.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from lambdarr.blame import told
from lambdarr.client import Client
from lambdarr.domain import ABSENT, Decoder, arrow_type, encode
from lambdarr.endpoints import name_of, posted
from lambdarr.errors import DataError, DesignError, LambdarrError
from lambdarr.randomization import randomize, randomize_file, randomize_record
from lambdarr.sampling import source_of_words
from lambdarr.scales import written
from lambdarr.sinks import write_file
from lambdarr.sources import ENCODED, open_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lambdarr.designs import Design
    from lambdarr.domain import Attribute, Codes
    from lambdarr.sampling import Words

Mode = Literal["table", "file", "record", "client", "records"]
OWN_MODES = "table", "file", "record", "client"
FUNCTION_MODES = "records", "table", "record"

_HANDED = {"records": "a list of dicts, {:,} of them", "table": "a PyArrow table of {:,} rows", "record": "one dict"}

Run = Callable[["Sequence[Codes]"], "list[Codes]"]

_LARGE_FILE = 1_000
"""Rows from which the file mode uses Parquet; smaller ones are CSV, so that both ways are measured."""


@dataclass(frozen=True, slots=True)
class Randomizer:
    """A randomizer of one design: a column of codes per attribute goes in, and one comes out.

    Parameters
    ----------
    name : str
        What it is called in results.
    run : callable
        Takes the truths, one array of codes per attribute of the design, and returns the reports.
    largest : int
        The most rows that one call should have.
    """

    name: str
    run: Run
    largest: int


@contextlib.contextmanager
def opened(
    randomizer: Callable[[Any], Any] | str | None, design: Design, *, mode: Mode | None, rng: Words | None
) -> Iterator[Randomizer]:
    """Yield the randomizer that was asked for; what it needs is gone afterwards."""
    if rng is not None and (randomizer is not None or mode not in (None, "table", "file")):
        msg = "rng must be None here; a seed is for this library's own randomizer in the modes table and file"
        raise DesignError(msg)
    source_of_words(rng)
    if randomizer is None:
        chosen = _checked(mode or "table", OWN_MODES, "lambdarr's own randomizer")
        with tempfile.TemporaryDirectory(prefix="lambdarr-") as folder:
            yield _own(design, chosen, rng, Path(folder))
    elif isinstance(randomizer, str):
        _checked(mode or "records", ("records",), "an endpoint")
        yield _endpoint(randomizer, design)
    elif callable(randomizer):
        yield _function(randomizer, design, _checked(mode or "records", FUNCTION_MODES, "a function"))
    else:
        msg = (
            f"randomizer must be None (lambdarr's own), a function or the address of an endpoint, "
            f"got {type(randomizer).__name__}"
        )
        raise DesignError(msg)


def _checked(mode: str, known: Sequence[str], who: str) -> str:
    if mode not in known:
        msg = f"mode of {who} must be one of {', '.join(known)}, got {mode!r}"
        raise DesignError(msg)
    return mode


# This library's own.


def _own(design: Design, mode: str, rng: Words | None, folder: Path) -> Randomizer:
    name = f"lambdarr ({mode})"
    if mode == "record":
        return Randomizer(name, _one_by_one(lambda record: randomize_record(record, design), design), 1 << 16)
    if mode == "client":
        return Randomizer(name, _one_by_one(Client(design.to_json()).randomize, design), 1 << 16)
    if mode == "table":

        def run(truths: Sequence[Codes]) -> list[Codes]:
            table = _table(design, truths, encoded=True)
            return _codes_of_table(randomize(table, design, rng=rng), design, len(truths[0]))

        return Randomizer(name, run, 1 << 20)

    def run_file(truths: Sequence[Codes]) -> list[Codes]:
        ending = "parquet" if len(truths[0]) >= _LARGE_FILE else "csv"
        source, output = folder / f"truths.{ending}", folder / f"reports.{ending}"
        table = _table(design, truths, encoded=False, as_text=ending == "csv")
        write_file(source, table.schema, table.to_batches(), force=True)
        randomize_file(source, output, design, force=True, rng=rng)
        return _codes_of_table(output, design, len(truths[0]))

    return Randomizer(name, run_file, 1 << 20)


def _one_by_one(report: Callable[[dict[str, Any]], Any], design: Design) -> Run:
    def run(truths: Sequence[Codes]) -> list[Codes]:
        records = _records(design, truths)
        return _codes_of_records([report(record) for record in records], design, len(records))

    return run


# A function of the user's.


def _function(function: Callable[[Any], Any], design: Design, mode: str) -> Randomizer:
    name = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"

    def guarded(argument: Any, rows: int) -> Any:
        try:
            return function(argument)
        except (Exception, SystemExit) as error:
            # elsewhere no message repeats a value; the truths here are made up, so whatever it quotes is nobody's
            msg = (
                f"the randomizer raised {told(error)} when it was called with {_HANDED[mode].format(rows)}; mend it, "
                "or choose by mode (--mode) how truths are handed over"
            )
            raise DataError(msg) from error

    if mode == "record":
        return Randomizer(name, _one_by_one(lambda record: guarded(record, 1), design), 1 << 16)

    def run(truths: Sequence[Codes]) -> list[Codes]:
        rows = len(truths[0])
        argument = _table(design, truths, encoded=False) if mode == "table" else _records(design, truths)
        return _codes_of_any(guarded(argument, rows), design, rows)

    return Randomizer(name, run, 1 << 20 if mode == "table" else 1 << 16)


# An endpoint.


def _endpoint(address: str, design: Design) -> Randomizer:
    def run(truths: Sequence[Codes]) -> list[Codes]:
        return _codes_of_records(posted(address, _records(design, truths)), design, len(truths[0]))

    return Randomizer(name_of(address), run, 1_000)


# Codes → what randomizers take.


def _table(design: Design, truths: Sequence[Codes], *, encoded: bool, as_text: bool = False) -> pa.Table:
    columns = {}
    for attribute, codes in zip(design.attributes, truths, strict=True):
        if attribute.scale is not None:
            columns[attribute.name] = _numbers(attribute, as_text=as_text).take(pa.array(codes))
            continue
        kind = arrow_type(attribute)
        if as_text:
            kind = pa.string()
        elif encoded and pa.types.is_string(kind):
            kind = ENCODED
        columns[attribute.name] = Decoder(attribute, kind, as_text=as_text).column(codes)
    return pa.table(columns)


def _records(design: Design, truths: Sequence[Codes]) -> list[dict[str, Any]]:
    answers = [_answers(attribute) for attribute in design.attributes]
    columns = [[of[code] for code in codes.tolist()] for of, codes in zip(answers, truths, strict=True)]
    return [dict(zip(design.names, answers, strict=True)) for answers in zip(*columns, strict=True)]


def _answers(attribute: Attribute) -> tuple[Any, ...]:
    """Return an answer for each code; of numbers, those that become its category for certain."""
    if attribute.scale is None:
        return attribute.values
    unit = attribute.scale.unit
    numbers = [written(number, unit) if unit == "date" else number for number in attribute.scale.examples]
    return (*numbers, None) if attribute.has_missing_category else tuple(numbers)


def _numbers(attribute: Attribute, *, as_text: bool) -> pa.Array:
    """Return the answers of a numerical attribute as a column."""
    answers = _answers(attribute)
    if as_text:
        return pa.array([attribute.missing if answer is None else str(answer) for answer in answers])
    assert attribute.scale is not None
    if attribute.scale.unit == "date":
        return pa.array(answers, pa.string()).cast(pa.date32())
    return pa.array(answers, pa.float64())


# What randomizers give → codes.


def _codes_of_any(reports: Any, design: Design, rows: int) -> list[Codes]:
    """Return the codes of a list of records, or of any table that lambdarr reads."""
    if reports is None:
        msg = "the randomizer must return a table or a list of records, got None; does it end without return?"
        raise DataError(msg)
    return (_codes_of_records if isinstance(reports, list) else _codes_of_table)(reports, design, rows)


def _codes_of_table(reports: Any, design: Design, rows: int) -> list[Codes]:
    if isinstance(reports, str):
        msg = "the randomizer must return a table or a list of records, got str"
        raise DataError(msg)
    with _told_of_the_randomizer():
        source = open_source(reports)
    _check_columns(source.names, design)
    pieces: list[list[Codes]] = [[] for _ in design.names]
    with _told_of_the_randomizer():
        first_row = 1
        for batch in source.batches(design.names, encoded=design.names):
            for attribute, column, piece in zip(design.attributes, batch.columns, pieces, strict=True):
                piece.append(
                    encode(
                        attribute,
                        column,
                        as_text=source.as_text,
                        first_row=first_row,
                        sampled=design.is_sampled,
                    )
                )
            first_row += batch.num_rows
    codes_of = [np.concatenate(each) if each else np.empty(0, dtype=np.int32) for each in pieces]
    _check_rows(len(codes_of[0]), rows)
    for attribute, codes in zip(design.attributes, codes_of, strict=True):
        if not design.is_sampled and codes.min() < 0:
            raise _null(attribute)
    return codes_of


@contextlib.contextmanager
def _told_of_the_randomizer() -> Iterator[None]:
    """Say of whose table it is that something is wrong."""
    try:
        yield
    except LambdarrError as error:
        msg = f"the randomizer's reports do not fit the design: {error}"
        raise DataError(msg) from None


def _codes_of_records(reports: Any, design: Design, rows: int) -> list[Codes]:
    if not isinstance(reports, list):
        msg = f"the randomizer must return a list of records, as JSON an array of objects, got {type(reports).__name__}"
        raise DataError(msg)
    _check_rows(len(reports), rows)
    for report in reports:
        if not isinstance(report, Mapping):
            msg = f"the randomizer must return records, each a dict from attribute to answer; one is {_kind(report)}"
            raise DataError(msg)
        if report.keys() != set(design.names):
            _check_columns(list(report), design)
    return [_column(attribute, reports, sampled=design.is_sampled) for attribute in design.attributes]


def _column(attribute: Attribute, reports: list[Mapping[str, Any]], *, sampled: bool) -> Codes:
    # where some are not asked None says so, and a missing category is its text
    known: dict[tuple[type, Any], int] = {(type(None), None): ABSENT} if sampled else {}
    codes = np.empty(len(reports), dtype=np.int32)
    for row, report in enumerate(reports):
        value = report[attribute.name]
        key = type(value), value  # True is not 1
        try:
            code = known.get(key)
            if code is None:
                code = known[key] = attribute.code(value)
        except (DataError, TypeError):
            msg = (
                f"the randomizer's reports do not fit the design: one of attribute {attribute.name!r}, in row "
                f"{row + 1:,} of a call, is none of its {attribute.size} categories{_hint(attribute, value)}"
            )
            raise DataError(msg) from None
        if code == ABSENT and not sampled:
            raise _null(attribute)
        codes[row] = code
    return codes


def _hint(attribute: Attribute, value: object) -> str:
    """Return what may be meant by a report of another type than the categories."""
    for category in attribute.categories:
        if type(value) is not type(category) and str(value).lower() == str(category).lower():
            return f"; it is {value!r}, {_kind(value)}, where {category!r} is meant: return it as the design has it"
    return f"; it is {_kind(value)}" if not isinstance(value, type(attribute.categories[0])) else ""


def _kind(thing: object) -> str:
    return f"of type {type(thing).__name__}"


def _null(attribute: Attribute) -> DataError:
    return DataError(f"the randomizer reported no answer to {attribute.name!r} for a record that has one")


def _check_rows(found: int, rows: int) -> None:
    if found != rows:
        msg = f"the randomizer must return a report for every record, got {found:,} for {rows:,}"
        raise DataError(msg)


def _check_columns(found: Sequence[Any], design: Design) -> None:
    if lacking := [name for name in design.names if name not in found]:
        msg = f"the randomizer's reports have no {lacking[0]!r}; every attribute of the design is reported"
        raise DataError(msg)
    if len(found) > len(design.names):
        msg = "the randomizer's reports have more columns than the design has attributes; return the attributes alone"
        raise DataError(msg)
