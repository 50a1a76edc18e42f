"""Files and frames ↔ Arrow record batches: how a table comes in, and goes back out in the type it came in.

A ``Source`` gives a schema and a stream of record batches, so that memory is bounded by the batch. A file of any size
is read this way; an output is written beside its target and renamed when it is complete, so that an interrupted run
leaves nothing half-written.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lambdarr.errors import DataError, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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

SEEDED = b"lambdarr.seeded"
"""Metadata key of a table whose randomness came from a seed."""

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_BATCH_ROWS = 1 << 17
_CSV_BLOCK = 1 << 22


@dataclass(frozen=True)
class Source:
    """A table as a stream of record batches, and the way back to its own type."""

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]
    rebuild: Callable[[pa.Schema, Iterator[pa.RecordBatch]], Any]
    as_text: bool = False
    """Whether every column is text as it stood in a text file, for the design to read."""
    library: str = "pyarrow"
    """The library whose frames this table belongs to."""

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return list(self.schema.names)


def open_source(table: Any) -> Source:
    """Return the source that a path or an in-memory table is."""
    source = _open_file(Path(table)) if isinstance(table, str | Path) else _open_frame(table)
    _check_names(source.names, str(table) if isinstance(table, str | Path) else "the table")
    return source


def format_of(path: Path) -> str:
    """Return the format of a file by its ending."""
    try:
        return ENDINGS[path.suffix.lower()]
    except KeyError:
        msg = f"the ending of {path} must be one of {', '.join(ENDINGS)}; rename the file or convert it first"
        raise SourceError(msg) from None


def _check_names(names: list[str], where: str) -> None:
    if not names:
        msg = f"{where} has no columns"
        raise DataError(msg)
    for place, name in enumerate(names, start=1):
        if not isinstance(name, str) or not name.strip():
            msg = f"column {place} of {where} has no name; give every column a name"
            raise DataError(msg)
        if names.count(name) > 1:
            msg = f"column name {name!r} stands twice in {where}; rename one of them"
            raise DataError(msg)


# Frames.


def _open_frame(table: Any) -> Source:
    import narwhals.dependencies as nw  # 60 ms that a file never needs

    if nw.is_pandas_dataframe(table):
        return _open_pandas(table)
    if isinstance(table, pa.RecordBatch):
        return _in_memory(pa.Table.from_batches([table]), lambda out: out.combine_chunks().to_batches()[0])
    if isinstance(table, pa.RecordBatchReader):
        return Source(table.schema, lambda: iter(table), pa.RecordBatchReader.from_batches)
    if isinstance(table, pa.Table):
        return _in_memory(table, lambda out: out)
    if nw.is_polars_dataframe(table):
        import polars

        return _in_memory(table.to_arrow(), polars.from_arrow, library="polars")
    if type(table).__module__.partition(".")[0] in {"duckdb", "_duckdb"} and hasattr(table, "__arrow_c_stream__"):
        import duckdb

        return _in_memory(pa.table(table), duckdb.from_arrow)
    if hasattr(table, "__arrow_c_stream__"):
        return _in_memory(pa.table(table), lambda out: out)
    msg = (
        f"a table must be a path, a pandas, Polars or PyArrow table or anything with the Arrow stream protocol, "
        f"got {type(table).__name__}; for one respondent use randomize_record"
    )
    raise DataError(msg)


def _open_pandas(frame: Any) -> Source:
    _check_names(list(frame.columns), "the table")
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        # Arrow's own message repeats the value; the column is all it may say
        found = re.search(r"column (.+?) with type", str(error))
        column = f"column {found[1]!r}" if found else "a column"
        msg = f"{column} of the table mixes types, or holds one that Arrow does not have; convert it to one type first"
        raise DataError(msg) from None

    def rebuild(out: pa.Table) -> Any:
        result = out.to_pandas()
        result.index = frame.index
        result.attrs = dict(frame.attrs)
        if SEEDED in (out.schema.metadata or {}):
            result.attrs[SEEDED.decode()] = True
        return result

    return _in_memory(table, rebuild, library="pandas")


def _in_memory(table: pa.Table, rebuild: Callable[[pa.Table], Any], *, library: str = "pyarrow") -> Source:
    return Source(
        table.schema,
        lambda: iter(table.to_batches(max_chunksize=_BATCH_ROWS)),
        lambda schema, batches: rebuild(pa.Table.from_batches(batches, schema)),
        library=library,
    )


# Files.


def _open_file(path: Path) -> Source:
    kind = format_of(path)
    with _reading(path):
        if not path.stat().st_size:
            msg = f"{path} is empty"
            raise SourceError(msg)
        if kind in _DELIMITERS:
            return _open_csv(path, _DELIMITERS[kind])
        return _open_parquet(path) if kind == "parquet" else _open_arrow(path)


def _as_table(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches, schema)


def _open_csv(path: Path, delimiter: str) -> Source:
    import pyarrow.csv as pacsv

    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            names = next(csv.reader(file, delimiter=delimiter), [])
        except csv.Error as error:
            msg = f"cannot read the header of {path}: {error}"
            raise SourceError(msg) from None
    _check_names(names, str(path))
    schema = pa.schema([(name, pa.string()) for name in names])

    def batches() -> Iterator[pa.RecordBatch]:
        with _reading(path):
            yield from pacsv.open_csv(
                path,
                read_options=pacsv.ReadOptions(block_size=_CSV_BLOCK, use_threads=False),
                parse_options=pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=pacsv.ConvertOptions(column_types=schema, strings_can_be_null=False),
            )

    return Source(schema, batches, _as_table, as_text=True)


def _open_parquet(path: Path) -> Source:
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)

    def batches() -> Iterator[pa.RecordBatch]:
        with _reading(path), pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=_BATCH_ROWS)

    return Source(schema, batches, _as_table)


def _open_arrow(path: Path) -> Source:
    def batches() -> Iterator[pa.RecordBatch]:
        with _reading(path), pa.memory_map(str(path)) as file:
            try:
                reader = pa.ipc.open_file(file)
            except pa.ArrowInvalid:  # the stream form of the same format
                file.seek(0)
                yield from pa.ipc.open_stream(file)
                return
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)

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
        ragged = re.search(r"(Row #\d+: )?Expected \d+ columns, got \d+", str(error))
        if ragged:
            msg = f"cannot read {path}: {ragged[0]}; every row must have as many fields as the header"
        else:
            msg = f"cannot read {path}: it is damaged, cut short, or not what its ending says"
        raise SourceError(msg) from None
    except OSError as error:
        reason = error.strerror or "it is damaged, cut short, or not what its ending says"
        msg = f"cannot read {path}: {reason}"
        raise SourceError(msg) from None


def _not_utf8(path: Path) -> SourceError:
    msg = f"cannot read {path}: it is not UTF-8 text; save it again in that encoding"
    return SourceError(msg)


# Outputs.


def check_target(path: Path, *, force: bool) -> None:
    """Refuse an output that exists (unless forced) or whose folder does not."""
    if path.is_dir():
        msg = f"cannot write {path}: it is a folder"
        raise SourceError(msg)
    if path.exists() and not force:
        msg = f"{path} exists; choose another name, or overwrite it with --force"
        raise SourceError(msg)
    if not path.parent.is_dir():
        msg = f"cannot write {path}: there is no folder {path.parent}; make it first"
        raise SourceError(msg)


@contextlib.contextmanager
def replacing(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a path beside the target, which becomes the target if all goes well and disappears if not."""
    check_target(path, force=force)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        msg = f"cannot write {path}: {error.strerror or error}; nothing was written"
        raise SourceError(msg) from error
    finally:
        beside.unlink(missing_ok=True)


def write_file(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, force: bool = False) -> int:
    """Write record batches to a file of the format its ending says; return the number of rows."""
    kind = format_of(path)
    rows = 0
    with replacing(path, force=force) as beside, beside.open("wb") as file, _writer(kind, file, schema) as write:
        for batch in batches:
            write(batch)
            rows += batch.num_rows
    return rows


@contextlib.contextmanager
def _writer(kind: str, file: Any, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    if kind in _DELIMITERS:
        yield _csv_writer(file, schema, _DELIMITERS[kind])
    elif kind == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetWriter(file, schema) as writer:
            yield writer.write_batch
    else:
        with pa.ipc.new_file(file, schema) as writer:
            yield writer.write_batch


def _csv_writer(file: Any, schema: pa.Schema, delimiter: str) -> Callable[[pa.RecordBatch], None]:
    import pyarrow.csv as pacsv

    header = io.StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(schema.names)
    file.write(header.getvalue().encode())

    def write(batch: pa.RecordBatch) -> None:
        plain = _without_dictionaries(batch)
        for style in ("none", "needed"):  # Arrow's "needed" quotes every text, so try without quotes first
            block = io.BytesIO()
            options = pacsv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=style)
            try:
                pacsv.write_csv(plain, block, options)
            except pa.ArrowInvalid:
                continue
            file.write(block.getvalue())
            return
        msg = "a column cannot be written as CSV; write Parquet instead"
        raise SourceError(msg)

    return write


def _without_dictionaries(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
