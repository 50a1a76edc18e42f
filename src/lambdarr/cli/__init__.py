"""The command line: each command parses, calls one verb and prints."""

import io
import sys

from lambdarr.cli.app import app

__all__ = ["app", "run"]


def run() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # λ on a terminal that has no λ
    app()
