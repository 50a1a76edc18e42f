"""Files and frames → Arrow record batches, and the way back to the type that a frame came in.

A ``Source`` gives a schema and a stream of record batches, so that memory is bounded by the batch. Files are written
by ``sinks.py``.
"""

from __future__ import annotations

import contextlib
import csv
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from lambdarr.errors import DataError, MissingExtraError, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
"""Which format a file has, by its ending."""

DELIMITERS = {"csv": ",", "tsv": "\t"}
"""The formats in which everything is text, and what separates their fields."""

SEEDED = b"lambdarr.seeded"
"""Metadata key of a table whose randomness came from a seed."""

UNDONE = b"lambdarr.undone"
"""Metadata key of a table with columns that whoever knows the design undoes; it says which, and how."""

ENCODED = pa.dictionary(pa.int32(), pa.string())
"""Text as codes: how text columns travel where they can."""

_BATCH_ROWS = 1 << 17
_CODED_ROWS = 1 << 20  # where every column is a code: 4 MiB each, and row groups as large as others write them
_CSV_BLOCK = 1 << 22


class Batches(Protocol):
    """How a source is read: some of its columns, in this order, batch by batch."""

    def __call__(self, columns: Sequence[str], *, encoded: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the batches; text columns named in ``encoded`` may come dictionary-encoded, which is faster."""


class Rebuild(Protocol):
    """How a source makes its own type from batches again."""

    def __call__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch], *, changed: Collection[str]) -> Any:
        """Return the batches in the type of the source; columns not in ``changed`` are as they were."""


@dataclass(frozen=True)
class Source:
    """A table as a stream of record batches, and the way back to its own type."""

    schema: pa.Schema
    batches: Batches
    rebuild: Rebuild
    as_text: bool = False
    """Whether every column is text as it stood in a text file, for the design to read."""
    library: str = "pyarrow"
    """The library whose frames this table belongs to."""
    once: bool = False
    """Whether the batches can be read a single time only."""

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return list(self.schema.names)

    def again(self) -> Source:
        """Return the same source, held in memory if it could not be read twice."""
        if not self.once:
            return self
        held = pa.Table.from_batches(self.batches(self.names), self.schema)
        return replace(self, batches=_in_memory(held, lambda out, _: out).batches, once=False)


def open_source(table: Any) -> Source:
    """Return the source that a path or an in-memory table is."""
    source = _open_file(Path(table)) if isinstance(table, str | Path) else _open_frame(table)
    check_names(source.names, str(table) if isinstance(table, str | Path) else "the table")
    return source


def format_of(path: Path) -> str:
    """Return the format of a file by its ending."""
    try:
        return ENDINGS[path.suffix.lower()]
    except KeyError:
        msg = f"the ending of {path} must be one of {', '.join(ENDINGS)}; rename the file or convert it first"
        raise SourceError(msg) from None


def check_names(names: Sequence[Any], where: str) -> None:
    """Refuse columns that have no name, or the same one."""
    if not names:
        msg = f"{where} has no columns; give a table with at least one"
        raise DataError(msg)
    for place, name in enumerate(names, start=1):
        if not isinstance(name, str):
            msg = f"the name of column {place} of {where} must be a text, got {type(name).__name__}; rename it"
            raise DataError(msg)
        if not name.strip():
            msg = f"column {place} of {where} has no name; give every column a name"
            raise DataError(msg)
        if names.count(name) > 1:
            msg = f"column name {name!r} stands twice in {where}; rename one of them"
            raise DataError(msg)


def check_present(wanted: Sequence[str], names: Sequence[str], *, known: Sequence[str] = ()) -> None:
    """Refuse a table without a column that is asked for.

    What the table has instead is told only if it has some of what is known: in a file without a header line, the names
    would be the first record.
    """
    for name in wanted:
        if name not in names:
            if any(other in names for other in (*wanted, *known)):
                msg = f"column {name!r} is not in the table; it has: {', '.join(names)}"
            else:
                msg = (
                    f"column {name!r} is not in the table, nor is any other asked for; mend the name, or see that the "
                    "table begins with its header"
                )
            raise DataError(msg)


# Frames.


def _open_frame(table: Any) -> Source:
    import narwhals.dependencies as nw  # 60 ms that a file never needs

    if nw.is_pandas_dataframe(table):
        return _open_pandas(table)
    if isinstance(table, pa.RecordBatch):
        return _in_memory(pa.Table.from_batches([table]), lambda out, _: out.combine_chunks().to_batches()[0])
    if isinstance(table, pa.RecordBatchReader):
        return _streamed(table, lambda schema, batches, **_: pa.RecordBatchReader.from_batches(schema, batches))
    if isinstance(table, pa.Table):
        return _in_memory(table, lambda out, _: out)
    if nw.is_polars_dataframe(table):
        return _open_polars(table)
    try:
        if isinstance(table, list) and table and all(isinstance(record, dict) for record in table):
            return _in_memory(pa.Table.from_pylist(table), lambda out, _: out.to_pylist())
        if type(table).__module__.partition(".")[0] in {"duckdb", "_duckdb"}:
            return _open_duckdb(table)
        if hasattr(table, "__arrow_c_stream__"):
            return _streamed(pa.RecordBatchReader.from_stream(table), _as_table)
    except (pa.ArrowInvalid, TypeError):
        pass  # a column, or another thing that is no table
    msg = (
        f"a table must be a path, a pandas, Polars or PyArrow table, a list of records or anything with the Arrow "
        f"stream protocol, got {type(table).__name__}; collect or convert it to one of these"
    )
    raise DataError(msg)


def _open_pandas(frame: Any) -> Source:
    check_names(list(frame.columns), "the table")
    arrays = {}
    for name in frame.columns:
        try:
            arrays[name] = pa.Array.from_pandas(frame[name])
        except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError):
            # the error's own message repeats the value; the column is all that may be said
            msg = f"column {name!r} mixes types, or holds one that Arrow does not have; convert it to one type first"
            raise DataError(msg) from None

    def rebuild(out: pa.Table, changed: Collection[str]) -> Any:
        _check_index(frame.index)
        result = frame[out.column_names].copy()
        for name in changed:
            result[name] = _pandas_column(out.column(name), frame[name])
        metadata = out.schema.metadata or {}
        if SEEDED in metadata:
            result.attrs[SEEDED.decode()] = True
        if UNDONE in metadata:
            result.attrs[UNDONE.decode()] = metadata[UNDONE].decode()
        return result

    return _in_memory(pa.table(arrays), rebuild, library="pandas")


def _check_index(index: Any) -> None:
    """Refuse to release an index that says anything about the people."""
    if any(name is not None for name in index.names) or index.nlevels > 1 or index.dtype.kind not in "iu":
        msg = (
            "the index of the table would be released as it is; reset_index(drop=True) leaves it out, reset_index() "
            "makes it a column, to be randomized, kept or dropped by name"
        )
        raise DataError(msg)


def _pandas_column(column: pa.ChunkedArray, before: Any) -> Any:
    """Return a column with the index of the one before, and its dtype unless that cannot hold what is in it now."""
    import pandas

    if before.dtype == object:
        return pandas.Series(column.to_pylist(), index=before.index, dtype=object)
    after = column.to_pandas()
    after.index = before.index
    kind = getattr(before.dtype, "kind", "O")
    whole = (
        isinstance(before.dtype, pandas.CategoricalDtype)
        or (column.null_count > 0 and kind in "iub" and not hasattr(before.dtype, "na_value"))
        or (kind in "iufmM" and pa.types.is_string(column.type))  # of numbers, the reports are categories
    )
    # integers that became numbers with a fraction, in the expected form of a drawn column
    whole = whole or (pa.types.is_floating(column.type) and getattr(before.dtype, "kind", "O") in "iu")
    return after if whole else after.astype(before.dtype)


def _open_polars(frame: Any) -> Source:
    import polars

    def rebuild(out: pa.Table, changed: Collection[str]) -> Any:
        for name in changed:
            if isinstance(frame.schema[name], polars.Enum):
                _check_declared(name, out.column(name), frame.schema[name].categories.to_list(), "Enum")
        return polars.from_arrow(out)

    return _in_memory(frame.to_arrow(), rebuild, library="polars")


def _open_duckdb(relation: Any) -> Source:
    import duckdb

    def rebuild(schema: pa.Schema, batches: Iterator[pa.RecordBatch], *, changed: Collection[str]) -> Any:
        out = pa.Table.from_batches(batches, schema)
        result = duckdb.from_arrow(out)
        kinds = dict(zip(relation.columns, relation.types, strict=True))
        chosen = []
        for name in out.column_names:
            quoted = '"' + name.replace('"', '""') + '"'
            if kinds[name].id == "enum":
                declared = kinds[name].children[0][1]
                if name in changed:
                    _check_declared(name, out.column(name), declared, "ENUM")
                quoted = f"CAST({quoted} AS {kinds[name]}) AS {quoted}"
            chosen.append(quoted)
        return result.project(", ".join(chosen))

    return _streamed(pa.RecordBatchReader.from_stream(relation), rebuild)


def _check_declared(name: str, column: pa.ChunkedArray, declared: Collection[str], kind: str) -> None:
    """Refuse a design with categories that the column's type cannot hold: they would be lost as nulls."""
    for chunk in column.chunks:
        if set(chunk.dictionary.to_pylist()) - set(declared):
            msg = f"column {name!r} is an {kind} without all the categories of the design; convert it to text first"
            raise DataError(msg)


def _in_memory(
    table: pa.Table, rebuild: Callable[[pa.Table, Collection[str]], Any], *, library: str = "pyarrow"
) -> Source:
    table = table.unify_dictionaries()

    def batches(columns: Sequence[str], *, encoded: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        return iter(table.select(columns).to_batches(max_chunksize=_BATCH_ROWS))

    def rebuilt(schema: pa.Schema, batches: Iterator[pa.RecordBatch], *, changed: Collection[str]) -> Any:
        return rebuild(pa.Table.from_batches(batches, schema), changed)

    return Source(table.schema, batches, rebuilt, library=library)


def _streamed(reader: pa.RecordBatchReader, rebuild: Rebuild) -> Source:
    def batches(columns: Sequence[str], *, encoded: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        return (batch.select(columns) for batch in reader)

    return Source(reader.schema, batches, rebuild, once=True)


def _as_table(schema: pa.Schema, batches: Iterator[pa.RecordBatch], *, changed: Collection[str]) -> pa.Table:
    return pa.Table.from_batches(batches, schema)


# Files.


def _open_file(path: Path) -> Source:
    kind = format_of(path)
    with _reading(path):
        if path.is_dir():
            msg = f"cannot read {path}: it is a folder; name a file"
            raise SourceError(msg)
        if not path.stat().st_size:
            msg = f"{path} is empty; was it written completely?"
            raise SourceError(msg)
        if kind in DELIMITERS:
            return _open_csv(path, DELIMITERS[kind])
        return _open_parquet(path) if kind == "parquet" else _open_arrow(path)


def _open_csv(path: Path, delimiter: str) -> Source:
    import pyarrow.csv as pacsv

    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            names = next(csv.reader(file, delimiter=delimiter), [])
        except csv.Error:
            msg = f"cannot read the header of {path}: it is not {delimiter!r}-separated text; was it saved as CSV?"
            raise SourceError(msg) from None
        has_rows = bool(file.read(1))
    check_names(names, str(path))
    if len(names) == 1 and (other := next((mark for mark in ";\t|" if mark in names[0]), None)):
        msg = f"{path} seems to be separated by {other!r}; save it with {delimiter!r} between its fields, as UTF-8"
        raise SourceError(msg)

    def batches(columns: Sequence[str], *, encoded: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        if not has_rows:  # Arrow takes a header without a line end for a broken file
            return
        types = {name: ENCODED if name in encoded else pa.string() for name in columns}
        with _reading(path):
            yield from pacsv.open_csv(
                path,
                read_options=pacsv.ReadOptions(block_size=_CSV_BLOCK, use_threads=False),
                # where there is one column, an empty line is a record whose field is empty
                parse_options=pacsv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(names) > 1
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=types, include_columns=list(columns), strings_can_be_null=False
                ),
            )
            _check_quotes(path, delimiter)

    return Source(pa.schema([(name, pa.string()) for name in names]), batches, _as_table, as_text=True)


def _check_quotes(path: Path, delimiter: str) -> None:
    """Refuse a file that ends within quotes: it was cut short, and its last field with it."""
    with path.open("rb") as file:
        quotes = sum(block.count(b'"') for block in iter(lambda: file.read(1 << 20), b""))
    if quotes % 2:  # or a lone quote stands within a field, which is fine: only a strict reader can tell
        with path.open(encoding="utf-8-sig", newline="") as text:
            try:
                for _ in csv.reader(text, delimiter=delimiter, strict=True):
                    pass
            except csv.Error as error:
                if "unexpected end" in str(error):
                    msg = f"cannot read {path}: it ends within quotes, so it was cut short; get the file again"
                    raise SourceError(msg) from None


def _open_parquet(path: Path) -> Source:
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)

    def batches(columns: Sequence[str], *, encoded: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        texts = [name for name in columns if name in encoded and _is_text(schema.field(name).type)]
        rows = _CODED_ROWS if len(texts) == len(columns) else _BATCH_ROWS
        with _reading(path), pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(batch_size=rows, columns=list(columns)):
                yield batch.select(columns)  # a column named a would bring along one named a.b

    return Source(schema, batches, _as_table)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _open_arrow(path: Path) -> Source:
    def batches(columns: Sequence[str], *, encoded: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        with _reading(path), pa.memory_map(str(path)) as file:
            try:
                reader = pa.ipc.open_file(file)
            except pa.ArrowInvalid:  # the stream form of the same format
                file.seek(0)
                yield from (batch.select(columns) for batch in pa.ipc.open_stream(file))
                return
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number).select(columns)

    with pa.memory_map(str(path)) as file:
        try:
            schema = pa.ipc.open_file(file).schema
        except pa.ArrowInvalid:
            file.seek(0)
            schema = pa.ipc.open_stream(file).schema
    return Source(schema, batches, _as_table)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong in reading a file into one message that repeats none of its values."""
    try:
        yield
    except (DataError, SourceError):
        raise
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except pa.ArrowException as error:
        if "UTF8" in str(error) or "UTF-8" in str(error):
            raise _not_utf8(path) from None
        if ragged := re.search(r"(?:Row #(\d+): )?(Expected \d+ columns, got \d+)", str(error)):
            row = f"row {int(ragged[1]) - 1}: " if ragged[1] else ""  # Arrow counts the header
            msg = f"cannot read {path}: {row}{ragged[2]}; every row must have as many fields as the header"
        else:
            msg = f"cannot read {path}: {_DAMAGED}"
        raise SourceError(msg) from None
    except OSError as error:
        reason = f"{error.strerror}; check its name" if error.strerror else _DAMAGED
        msg = f"cannot read {path}: {reason}"
        raise SourceError(msg) from None


_DAMAGED = "it is damaged, cut short, or not what its ending says; get the file again"


def _not_utf8(path: Path) -> SourceError:
    return SourceError(f"cannot read {path}: it is not UTF-8 text; save it again in that encoding")


def as_frame(table: pa.Table, library: str) -> Any:
    """Return a table as a frame of a library: pandas, polars or pyarrow."""
    if library == "pyarrow":
        return table
    try:
        if library == "pandas":
            return table.to_pandas()
        if library == "polars":
            import polars

            return polars.from_arrow(table)
    except ImportError:
        msg = f"a {library} frame needs {library}: pip install 'lambdarr[{library}]'"
        raise MissingExtraError(msg) from None
    msg = f"library must be 'pandas', 'polars' or 'pyarrow', got {library!r}"
    raise DataError(msg)
