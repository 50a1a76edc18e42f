"""Truths → reports: a whole table (central mode), a file, or one respondent's record (local mode)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from lambdarr.domain import decode, encode
from lambdarr.errors import DataError
from lambdarr.sampling import randomize_code, randomize_codes, source_of_words
from lambdarr.sources import SEEDED, Source, check_target, open_source, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lambdarr.designs import Design
    from lambdarr.domain import Category
    from lambdarr.sampling import Words

Table = TypeVar("Table")


def randomize(
    table: Table, design: Design, *, keep: Iterable[str] = (), drop: Iterable[str] = (), rng: Words | None = None
) -> Table:
    """Return the table with every attribute of the design randomized, in the type it came in.

    Parameters
    ----------
    table : pandas, Polars or PyArrow table, DuckDB relation, or anything with the Arrow stream protocol
        The truths. Every column must be an attribute of the design, or be kept or dropped by name.
    design : Design
        Attributes and their keep rates.
    keep : iterable of str
        Columns to release as they are, beside those that the design lists.
    drop : iterable of str
        Columns to leave out.
    rng : SeededWords, optional
        For tests and simulations only; the output is then marked as seeded. By default the words come from AES-CTR
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
    source = open_source(table)
    schema, batches = _randomized(source, design, keep=keep, drop=drop, rng=rng)
    result: Table = source.rebuild(schema, batches)
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
    output = Path(output)
    check_target(output, force=force)
    schema, batches = _randomized(open_source(path), design, keep=keep, drop=drop, rng=rng, progress=progress)
    return write_file(output, schema, batches, force=force)


def randomize_record(record: Mapping[str, object], design: Design) -> dict[str, Category | None]:
    """Return one respondent's randomized record: local mode, one word of system randomness per answer.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design([lr.Attribute("sex", ["F", "M"])], lam=1.0)
    >>> lr.randomize_record({"sex": "F"}, design)
    {'sex': 'F'}
    """
    if unknown := [name for name in record if name not in design.names]:
        msg = f"the record has {unknown[0]!r}, which the design does not; a record holds the design's attributes only"
        raise DataError(msg)
    report: dict[str, Category | None] = {}
    for attribute, channel in zip(design.attributes, design.channels, strict=True):
        if attribute.name not in record:
            msg = f"the record has no {attribute.name!r}; every attribute of the design is answered"
            raise DataError(msg)
        truth = attribute.code(record[attribute.name])
        report[attribute.name] = attribute.values[randomize_code(truth, channel)]
    return report


def _randomized(
    source: Source,
    design: Design,
    *,
    keep: Iterable[str],
    drop: Iterable[str],
    rng: Words | None,
    progress: Callable[[int], None] | None = None,
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the schema of the reports, and their batches as they are asked for."""
    words = source_of_words(rng)
    columns = _released_columns(source.names, design, keep=keep, drop=drop)
    schema = pa.schema([source.schema.field(name) for name in columns], source.schema.metadata)
    if words.seeded:
        schema = schema.with_metadata({**(schema.metadata or {}), SEEDED: b"true"})
    pairs = {a.name: (a, c) for a, c in zip(design.attributes, design.channels, strict=True)}

    def report(name: str, column: pa.Array, first_row: int) -> pa.Array:
        if name not in pairs:
            return column
        attribute, channel = pairs[name]
        truths = encode(attribute, column, as_text=source.as_text, first_row=first_row)
        return decode(attribute, randomize_codes(truths, channel, words), column.type, as_text=source.as_text)

    def batches() -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in source.batches():
            arrays = [report(name, batch.column(name), done + 1) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            done += batch.num_rows
            if progress is not None:
                progress(done)
        if not done:
            msg = "the table has no rows; there is nothing to randomize"
            raise DataError(msg)

    return schema, batches()


def _released_columns(names: list[str], design: Design, *, keep: Iterable[str], drop: Iterable[str]) -> list[str]:
    """Return the columns of the output, in the table's order, or say which one is missing or unexpected."""
    kept, dropped = {*design.kept, *_listed(keep)}, set(_listed(drop))
    for name in design.names:
        if name not in names:
            msg = f"column {name!r} of the design is not in the table; it has: {', '.join(names)}"
            raise DataError(msg)
    for name in [*_listed(keep), *_listed(drop)]:
        if name not in names:
            msg = f"column {name!r} to keep or drop is not in the table; it has: {', '.join(names)}"
            raise DataError(msg)
        if name in design.names:
            msg = f"column {name!r} is an attribute of the design and will be randomized; it cannot be kept or dropped"
            raise DataError(msg)
    if both := sorted(kept & dropped):
        msg = f"column {both[0]!r} is both kept and dropped; choose one"
        raise DataError(msg)
    for name in names:
        if name not in design.names and name not in kept | dropped:
            msg = (
                f"column {name!r} is not in the design; drop it, or keep it by name to release it as it is, "
                "unrandomized (keep=, drop=; --keep, --drop)"
            )
            raise DataError(msg)
    return [name for name in names if name not in dropped]


def _listed(names: Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
