"""Arrow record batches → files, which appear when they are complete or not at all."""

from __future__ import annotations

import base64
import contextlib
import csv
import io
import os
import secrets
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from lambdarr.errors import DataError, SourceError
from lambdarr.sources import DELIMITERS, format_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def check_target(path: Path, *, force: bool, sources: Iterable[Path] = ()) -> None:
    """Refuse an output that exists (unless forced), whose folder does not, or that is one of its own sources."""
    for source in sources:
        if path.exists() and source.exists() and path.samefile(source):
            msg = f"{path} is read and cannot be written over; choose another name for the output"
            raise SourceError(msg)
    if path.is_dir():
        msg = f"cannot write {path}: it is a folder; name a file"
        raise SourceError(msg)
    if path.exists() and not force:
        msg = f"{path} exists; choose another name, or overwrite it with force=True (--force)"
        raise SourceError(msg)
    if not path.parent.is_dir():
        msg = f"cannot write {path}: there is no folder {path.parent}; make it first"
        raise SourceError(msg)


@contextlib.contextmanager
def replacing(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """Give a file that becomes ``path`` if all goes well, and that is as if it had never been if not.

    Where the system has files without a name (Linux), not even a killed process leaves anything behind.
    """
    check_target(path, force=force)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with _unnamed(path.parent, beside) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not beside.exists():
                _name(file, beside)
        beside.replace(path)
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        msg = f"cannot write {path}: {error.strerror or error}; nothing was written"
        raise SourceError(msg) from error
    finally:
        beside.unlink(missing_ok=True)


def _unnamed(folder: Path, name: Path) -> BinaryIO:
    """Open a file for writing that has no name yet; where there is no such thing, one that is called ``name``."""
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except (AttributeError, OSError):  # another system, or a file system without them
        return name.open("wb")
    return os.fdopen(descriptor, "wb")


def _name(file: BinaryIO, path: Path) -> None:
    """Give a file without a name its first one."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:  # only with a folder's descriptor does Python ask to follow the link, which is what makes this work
        os.link(f"/proc/self/fd/{file.fileno()}", path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def write_file(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, force: bool = False) -> int:
    """Write record batches to a file of the format its ending says; return the number of rows.

    Text columns may come dictionary-encoded; the file has the types of ``schema`` all the same.
    """
    kind = format_of(path)
    rows = 0
    with replacing(path, force=force) as file, _Writer(kind, file, schema) as writer:
        for batch in batches:
            writer.write(batch)
            rows += batch.num_rows
    return rows


class _Writer:
    """Writes batches in one of the formats."""

    def __init__(self, kind: str, file: BinaryIO, schema: pa.Schema) -> None:
        self._file, self._schema = file, schema
        self._delimiter = DELIMITERS.get(kind)
        self._parquet: Any = None
        self._arrow: Any = pa.ipc.new_file(file, schema) if kind == "arrow" else None
        if self._delimiter:
            self._write_header(self._delimiter)

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        for writer in (self._parquet, self._arrow):
            if writer is not None:
                # after an error the file is thrown away: closing it must not hide that error behind another
                with contextlib.suppress(OSError, pa.ArrowException) if kind else contextlib.nullcontext():
                    writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Write one batch."""
        if self._delimiter:
            self._write_csv(_in_types(batch, None), self._delimiter)
        elif self._arrow is not None:
            self._arrow.write_batch(_in_types(batch, self._schema))
        else:
            self._write_parquet(batch)

    def _write_parquet(self, batch: pa.RecordBatch) -> None:
        import pyarrow.parquet as pq

        if self._parquet is None:
            # Codes are written as they are, many times faster than the texts they stand for; readers are told the
            # types of the schema, in the place where Arrow looks for them.
            fields = [field.with_type(kind) for field, kind in zip(self._schema, batch.schema.types, strict=True)]
            self._parquet = pq.ParquetWriter(self._file, pa.schema(fields, self._schema.metadata), store_schema=False)
            declared = base64.b64encode(self._schema.serialize()).decode()
            self._parquet.add_key_value_metadata({"ARROW:schema": declared})
        columns = [_without_null_entry(column) for column in batch.columns]
        self._parquet.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._parquet.schema))

    def _write_header(self, delimiter: str) -> None:
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(self._schema.names)
        self._file.write(header.getvalue().encode())

    def _write_csv(self, batch: pa.RecordBatch, delimiter: str) -> None:
        import pyarrow.csv as pacsv

        # Arrow's "needed" quotes every text, so try without quotes first; but a lone empty field must not become an
        # empty line, which readers skip.
        styles = ("needed",) if batch.num_columns == 1 else ("none", "needed")
        for style in styles:
            block = io.BytesIO()
            options = pacsv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=style)
            try:
                pacsv.write_csv(batch, block, options)
            except pa.ArrowInvalid:
                continue
            self._file.write(block.getbuffer())
            return
        nested = [field.name for field in batch.schema if field.type.num_fields or pa.types.is_binary(field.type)]
        column = f"column {nested[0]!r}" if nested else "a column"
        msg = f"{column} cannot be written as text; drop it, or write Parquet instead"
        raise DataError(msg)


def _without_null_entry(column: pa.Array) -> pa.Array:
    """Return a column whose dictionary holds no null, which Parquet cannot write."""
    if pa.types.is_dictionary(column.type) and column.dictionary.null_count:
        return column.dictionary_decode().dictionary_encode().cast(column.type)
    return column


def _in_types(batch: pa.RecordBatch, schema: pa.Schema | None) -> pa.RecordBatch:
    """Return a batch in the types of a schema, or without any dictionary."""
    columns = [
        column.dictionary_decode()
        if pa.types.is_dictionary(column.type) and (schema is None or schema.field(place).type != column.type)
        else column
        for place, column in enumerate(batch.columns)
    ]
    if schema is not None:
        return pa.RecordBatch.from_arrays(columns, schema=schema)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
