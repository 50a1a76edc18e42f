"""What commands print, and the files that they write results to."""

from __future__ import annotations

import io
import json as jsons
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from lambdarr.errors import DesignError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from enum import StrEnum
    from pathlib import Path

    from rich.table import Table

_ENDINGS = {".csv": "csv", ".json": "json", ".txt": "table", ".tex": "latex"}


def print_table(table: Table) -> None:
    """Print a table as wide as the terminal."""
    Console(emoji=False).print(table)


def print_json(value: Any) -> None:
    """Print plain values as JSON."""
    typer.echo(_json_text(value), nl=False)


def say(text: str, *, stderr: bool = False) -> None:
    """Print a sentence as it is, without markup."""
    console = Console(stderr=stderr, emoji=False)
    console.print(text, markup=False, highlight=False, soft_wrap=not console.is_terminal)  # a file keeps lines whole


def to_stderr(text: str) -> None:
    """Print a sentence on standard error, where it is no part of a result."""
    say(text, stderr=True)


def warn(text: str | None) -> None:
    """Print a warning on standard error, if there is one."""
    if text is not None:
        to_stderr(f"Warning: {text}")


class Progress:
    """A count on standard error while a long run lasts; nothing where no one is looking."""

    def __init__(self, what: str, of: str = "records") -> None:
        self._what, self._of = what, of
        self._status = Console(stderr=True, emoji=False).status(f"{what} …")

    def __enter__(self) -> Callable[[int], None]:
        self._status.__enter__()
        return lambda count: self._status.update(f"{self._what} … {count:,} {self._of}")

    def __exit__(self, *error: object) -> None:
        self._status.__exit__(None, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a result goes and in which format: settled before the work, so that it is not done for nothing."""

    format: str
    path: Path | None
    force: bool

    @classmethod
    def settle(
        cls,
        formats: type[StrEnum],
        format: StrEnum | None,
        path: Path | None,
        *,
        force: bool,
        sources: Sequence[Path],
    ) -> Destination:
        """Return the destination that ``--format``, ``-o`` and ``--force`` mean, or refuse it.

        Parameters
        ----------
        formats : type of StrEnum
            The formats that the command has, some of: table, csv, json, latex.
        format : StrEnum, optional
            The one that was asked for; by default as the path's ending says, or a table.
        path : Path, optional
            The file to write; by default the result is printed.
        force : bool
            Replace the file if it exists.
        sources : sequence of Path
            What the command reads, and so must not write over.
        """
        from lambdarr.sinks import check_target

        if path is not None:
            check_target(path, force=force, sources=sources)
        if format is not None:
            return cls(format=format.value, path=path, force=force)
        endings = {ending: format for ending, format in _ENDINGS.items() if format in list(formats)}
        if path is not None and path.suffix.lower() not in endings:
            msg = f"the ending of {path} must be one of {', '.join(endings)}, or --format say what to write"
            raise DesignError(msg)
        return cls(format="table" if path is None else endings[path.suffix.lower()], path=path, force=force)

    def write(
        self,
        what: str,
        *,
        table: Callable[[], Iterable[Table | str]],
        json: Callable[[], Any],
        **texts: Callable[[], str],
    ) -> None:
        """Print a result or write it to the file; only the rendering that is needed is made.

        Parameters
        ----------
        what : str
            What the file then has, as in "2 tables".
        table : function
            Gives the tables for a person; a text is printed as it is.
        json : function
            Gives the plain values for JSON.
        **texts : function
            Give the whole text of each other format: ``csv=``, ``latex=``.
        """
        from lambdarr.sinks import replacing

        if self.format == "table":
            page = io.StringIO()
            console = Console(emoji=False) if self.path is None else Console(file=page, width=120, emoji=False)
            for each in table():
                console.print(each, soft_wrap=isinstance(each, str), markup=not isinstance(each, str), highlight=False)
            text = page.getvalue()  # empty where it is already printed
        else:
            text = _json_text(json()) if self.format == "json" else texts[self.format]()
        if self.path is None:
            typer.echo(text, nl=False)
            return
        with replacing(self.path, force=self.force) as file:
            file.write(text.encode())
        say(f"{what} written to {self.path}.")


def _json_text(value: Any) -> str:
    return jsons.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
