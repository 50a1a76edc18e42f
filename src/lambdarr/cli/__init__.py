"""The command line: each command parses, calls one verb and prints."""

from lambdarr.cli.app import app

__all__ = ["app", "run"]


def run() -> None:
    """Run the command line."""
    app()
