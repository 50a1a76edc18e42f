"""Truths → reports: a whole table (central mode), a file, or one respondent's record (local mode)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from lambdarr.client import drawn_set
from lambdarr.designs import check_design, check_whole, listed
from lambdarr.domain import ABSENT, Decoder, arrow_type, encode_truths, has_declared_order
from lambdarr.drawing import undone_sentence
from lambdarr.errors import DataError
from lambdarr.parallel import ahead, in_order, worth_compiling
from lambdarr.redrawing import redrawn_columns
from lambdarr.sampling import (
    COMPILED_FROM,
    Span,
    draw_word,
    drawn_sets,
    randomize_code,
    report_span,
    source_of_words,
    words_of,
)
from lambdarr.sinks import check_target, write_file
from lambdarr.sources import DELIMITERS, ENCODED, SEEDED, UNDONE, Source, check_present, format_of, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from lambdarr.designs import Design
    from lambdarr.domain import Attribute, Category
    from lambdarr.sampling import Words

Table = TypeVar("Table")

_NO_WORDS = np.empty(0, dtype=np.uint32)


def randomize(
    table: Table, design: Design, *, keep: Iterable[str] = (), drop: Iterable[str] = (), rng: Words | None = None
) -> Table:
    """Return the table with every attribute of the design randomized, in the type it came in.

    Parameters
    ----------
    table : pandas, Polars or PyArrow table, DuckDB relation, list of dicts, or anything with the Arrow stream protocol
        The truths. Every column must be an attribute of the design, or be kept or dropped by name. A pandas index is
        released with the reports, so it has to be a plain count of the rows.
    design : Design
        Attributes and their keep rates. Nulls of an attribute whose missing values are public stay where they are. If
        it asks some of the attributes only, those of each record are drawn, and the others are null in the reports.
        Its drawn columns are read whole before the first report; the others are streamed.
    keep : iterable of str
        Columns to release as they are, beside those that the design lists.
    drop : iterable of str
        Columns to leave out.
    rng : SeededWords, optional
        For tests and simulations only; the output is then marked as seeded in its metadata, where its type has any
        (pandas, Arrow, Parquet). By default the words come from AES-CTR
        keyed by the operating system.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import lambdarr as lr
    >>> table = pa.table({"sex": ["F", "M", "F", "F"], "id": [1, 2, 3, 4]})
    >>> design = lr.design([lr.Attribute("sex", ["F", "M"])], lam=0.5)
    >>> lr.randomize(table, design, keep=["id"], rng=lr.SeededWords(1))["sex"].to_pylist()
    ['F', 'M', 'M', 'M']
    """
    check_design(design)
    source = open_source(table).again() if design.drawn else open_source(table)
    schema, batches = _randomized(source, design, keep=keep, drop=drop, rng=rng)
    result: Table = source.rebuild(schema, batches, changed=(*design.names, *design.drawn_names))
    return result


def randomize_file(
    path: str | Path,
    output: str | Path,
    design: Design,
    *,
    keep: Iterable[str] = (),
    drop: Iterable[str] = (),
    force: bool = False,
    rng: Words | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Randomize a CSV, Parquet or Arrow file into another, batch by batch; return the number of records.

    Parameters
    ----------
    path, output : path
        Where the truths are, and where the reports go. The output appears when it is complete, or not at all.
    force : bool
        Whether an existing output may be replaced.
    progress : callable, optional
        Told the number of records done, after each batch.
    design, keep, drop, rng
        As for ``randomize``.
    """
    check_design(design)
    output = Path(output)
    check_target(output, force=force, sources=[Path(path)])
    schema, batches = _randomized(
        open_source(path), design, keep=keep, drop=drop, rng=rng, into=format_of(output), progress=progress
    )
    return write_file(output, schema, batches, force=force)


def draw_questions(design: Design) -> tuple[str, ...]:
    """Return the names of the attributes to ask one respondent: all, or as many as the design asks, drawn at random.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({"sex": ["F", "M"], "vote": ["A", "B"], "old": [True, False]}, epsilon=1, asked=2)
    >>> len(lr.draw_questions(design))
    2
    """
    _check_local(design)
    check_whole(design)
    count = len(design.names)
    return tuple(design.names[place] for place in drawn_set(design.asked or count, count))


def randomize_record(
    record: Mapping[str, object], design: Design, questions: Iterable[str] | None = None
) -> dict[str, Category | None]:
    """Return one respondent's randomized record: local mode, one word of system randomness per answer.

    Parameters
    ----------
    record : mapping
        Attribute → answer.
    design : Design
        The published design.
    questions : iterable of str, optional
        What ``draw_questions`` drew, where the design asks some of the attributes only: the record answers these.
        Without it the record answers every attribute, and which answers are reported is drawn here. Those that are not
        come out as None, and a missing answer that is randomized as its text.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design([lr.Attribute("sex", ["F", "M"])], lam=1.0)
    >>> lr.randomize_record({"sex": "F"}, design)
    {'sex': 'F'}
    """
    _check_local(design)
    if not isinstance(record, Mapping):  # a row of a frame gives its answers, not its names, when asked what it has
        msg = f"a record must be a dict from attribute to answer, got {type(record).__name__}; use row.to_dict()"
        raise DataError(msg)
    if unknown := [name for name in record if name not in design.names]:
        msg = f"the record has {unknown[0]!r}, which the design does not; a record holds the design's attributes only"
        raise DataError(msg)
    asked = draw_questions(design) if questions is None else _checked(listed(questions), record, design)
    report: dict[str, Category | None] = {}
    for attribute, channel in zip(design.attributes, design.channels, strict=True):
        report[attribute.name] = None
        if questions is not None and attribute.name not in asked:
            continue
        if attribute.name not in record:
            msg = f"the record has no {attribute.name!r}; every attribute that is asked is answered"
            raise DataError(msg)
        # also of what is not asked, though without a word: a record fits by itself, or not
        draw = draw_word if attribute.name in asked else _no_word
        truth = attribute.truth_code(record[attribute.name], draw)
        if attribute.name in asked and truth != ABSENT:
            value = attribute.values[randomize_code(truth, channel)]
            # None is "not asked" where some are not
            report[attribute.name] = attribute.missing if value is None and design.is_sampled else value
    return report


def _no_word() -> int:
    return 0


def _check_local(design: Design) -> None:
    """Refuse a design that one respondent cannot follow alone."""
    check_design(design)
    if design.drawn:
        msg = (
            f"{', '.join(design.drawn_names)}: drawn over the individuals of a file, which is done centrally, by "
            "lr.randomize; a respondent has nobody else's values"
        )
        raise DataError(msg)


def _checked(questions: tuple[str, ...], record: Mapping[str, object], design: Design) -> tuple[str, ...]:
    """Return the questions, or say why they cannot be those that were drawn."""
    check_whole(design)
    count = design.asked or len(design.names)
    if len(questions) != count or len(set(questions) & set(design.names)) != count:
        msg = f"questions must be the names of {count} attributes of the design; draw them with lr.draw_questions"
        raise DataError(msg)
    if extra := [name for name in record if name not in questions]:
        msg = f"the record has {extra[0]!r}, which was not asked; leave it out"
        raise DataError(msg)
    return questions


def _randomized(
    source: Source,
    design: Design,
    *,
    keep: Iterable[str],
    drop: Iterable[str],
    rng: Words | None,
    into: str = "",
    progress: Callable[[int], None] | None = None,
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the schema of the reports, and their batches as they are asked for.

    ``into`` is the format of the file they go to, if any. Reading, randomizing and whatever is done with the batches
    overlap; a few batches are in memory at a time.
    """
    check_whole(design)
    words = source_of_words(rng)
    columns = _released_columns(source.names, design, keep=keep, drop=drop)
    redrawn = redrawn_columns(source, design, words, as_text=into in DELIMITERS)
    # drawn columns are in memory; where there are no others, one of them says how many rows there are
    streamed = [name for name in columns if name not in redrawn] or columns[:1]
    texts = [attribute.name for attribute in design.attributes if attribute.scale is None]
    stream = ahead(source.batches(streamed, encoded=texts if into else ()))
    first = next(stream, None)
    if first is None:
        raise _no_rows()
    for attribute in design.attributes:  # a column of another type is refused before anything is made of it
        encode_truths(attribute, first.column(attribute.name)[:0], as_text=source.as_text, first_row=1, words=_NO_WORDS)
    decoders = {
        attribute.name: _decoder(attribute, source, first.column(attribute.name), into, sampled=design.is_sampled)
        for attribute in design.attributes
    }
    schema = _schema(source, design, columns, decoders, into)
    for name, column in redrawn.items():
        schema = schema.set(schema.get_field_index(name), schema.field(name).with_type(column.values.type))
    if words.seeded:
        schema = schema.with_metadata({**(schema.metadata or {}), SEEDED: b"true"})
    if design.undone:
        schema = schema.with_metadata({**(schema.metadata or {}), UNDONE: undone_sentence(design.undone).encode()})
    pairs = {a.name: (a, c) for a, c in zip(design.attributes, design.channels, strict=True)}
    places = {name: place for place, name in enumerate(design.names)}

    def asked(records: int) -> NDArray[np.bool_] | None:
        if design.asked is None:
            return None
        return drawn_sets(words, records, asked=design.asked, count=len(places))

    def jobs() -> Iterator[_Job]:
        first_row = 1
        for batch in itertools.chain([first], stream):
            # words are handed out here, in the order of the rows, whichever thread then uses them
            sets = asked(batch.num_rows)
            roundings = {name: words.span(batch.num_rows) for name in design.rounded}
            spans = {name: words.span(batch.num_rows) for name in design.names}
            compiled = worth_compiling(first_row * len(design.names), enough=COMPILED_FROM)
            yield _Job(batch, first_row, sets, roundings, spans, compiled)
            first_row += batch.num_rows

    def report(job: _Job) -> pa.RecordBatch:
        arrays = []
        for name in columns:
            if name in redrawn:
                arrays.append(redrawn[name].batch(job.first_row - 1, job.batch.num_rows))
            elif name in pairs:
                attribute, channel = pairs[name]
                column, span = job.batch.column(name), job.roundings.get(name)
                truths = encode_truths(
                    attribute,
                    column,
                    as_text=source.as_text,
                    first_row=job.first_row,
                    words=None if span is None else words_of(span, len(column)),
                )
                reports = np.empty_like(truths)
                report_span(truths, reports, channel, job.spans[name], compiled=job.compiled)
                if attribute.missing_is_public:  # their words were drawn in bulk with the others, and go unused
                    reports[truths == ABSENT] = ABSENT
                if job.asked is not None:
                    reports[~job.asked[places[name]]] = ABSENT
                arrays.append(decoders[name].column(reports))
            else:
                arrays.append(job.batch.column(name))
        fields = [field.with_type(array.type) for field, array in zip(schema, arrays, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, schema.metadata))

    def batches() -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in in_order(report, jobs()):
            yield batch
            done += batch.num_rows
            if progress is not None:
                progress(done)
        if not done:
            raise _no_rows()

    return schema, batches()


def _no_rows() -> DataError:
    return DataError("the table has no rows; there is nothing to randomize")


def _decoder(attribute: Attribute, source: Source, column: pa.Array, into: str, *, sampled: bool) -> Decoder:
    """Return what gives an attribute's reports the type that their destination asks for."""
    if into in DELIMITERS:
        return Decoder(attribute, ENCODED, as_text=True, sampled=sampled)
    kind = source.schema.field(attribute.name).type
    if attribute.scale is not None:  # numbers go in, and categories come out
        kind = pa.string()
    if pa.types.is_dictionary(kind):
        declared = has_declared_order(source.schema.field(attribute.name))
        return Decoder(attribute, kind, declared=column.dictionary if declared else None, sampled=sampled)
    if source.as_text or pa.types.is_null(kind):
        kind = arrow_type(attribute)
    # a file's text is written from codes; its schema says text all the same
    return Decoder(attribute, ENCODED if into and pa.types.is_string(kind) else kind, sampled=sampled)


def _schema(source: Source, design: Design, columns: list[str], decoders: dict[str, Decoder], into: str) -> pa.Schema:
    """Return the declared types of the reports."""
    missing = {a.name: design.is_sampled or a.missing is not None for a in design.attributes}
    fields = []
    for name in columns:
        field = source.schema.field(name)
        if name in decoders:
            kind = decoders[name].type
            plain = kind == ENCODED and not pa.types.is_dictionary(field.type)
            field = field.with_type(pa.string() if plain else kind).with_nullable(field.nullable or missing[name])
        elif into == "arrow" and pa.types.is_dictionary(field.type):
            # an Arrow file holds one dictionary per column, and this one may change from batch to batch
            field = field.with_type(field.type.value_type)
        fields.append(field)
    # other metadata may speak of columns that are dropped, or of the truths (R stores attributes of its own there)
    metadata = {key: value for key, value in (source.schema.metadata or {}).items() if key == b"pandas"}
    return pa.schema(fields, metadata)


class _Job(NamedTuple):
    """One batch to randomize, and the words for it."""

    batch: pa.RecordBatch
    first_row: int
    asked: NDArray[np.bool_] | None
    """Who is asked what, a row per attribute; None if everyone is asked all."""
    roundings: dict[str, Span]
    """The words by which numbers are rounded."""
    spans: dict[str, Span]
    """The words by which answers are randomized."""
    compiled: bool


def _released_columns(names: list[str], design: Design, *, keep: Iterable[str], drop: Iterable[str]) -> list[str]:
    """Return the columns of the output, in the table's order, or say which one is missing or unexpected."""
    kept, dropped = {*design.kept, *listed(keep)}, set(listed(drop))
    randomized = (*design.names, *design.drawn_names)
    check_present(randomized, names)
    check_present([*listed(keep), *listed(drop)], names, known=randomized)
    for name in [*listed(keep), *listed(drop)]:
        if name in randomized:
            msg = f"column {name!r} is an attribute of the design and will be randomized; it cannot be kept or dropped"
            raise DataError(msg)
    if both := sorted(kept & dropped):
        who = "the design keeps it" if both[0] in design.kept else "it is kept too"
        msg = f"column {both[0]!r} cannot be dropped, {who}; choose one"
        raise DataError(msg)
    if unknown := [name for name in names if name not in randomized and name not in kept | dropped]:
        columns = f"column {unknown[0]!r} is" if len(unknown) == 1 else f"columns {', '.join(map(repr, unknown))} are"
        msg = (
            f"{columns} not in the design; drop by name, or keep by name to release as it is, unrandomized: "
            f"--drop {','.join(unknown)!r} (drop=, keep=, --keep)"
        )
        raise DataError(msg)
    return [name for name in names if name not in dropped]
