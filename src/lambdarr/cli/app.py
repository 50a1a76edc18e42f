"""The command line as a whole; the commands are in the modules of their groups.

Heavy imports wait until a command needs them, so that ``--help`` answers at once.
"""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from lambdarr.cli import analysing, explaining, making
from lambdarr.cli.output import to_stderr
from lambdarr.errors import LambdarrError


class _Group(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Run a command; a user's error is one line on standard error and exit code 2, never a traceback."""
        try:
            return super().invoke(ctx)
        except LambdarrError as error:
            to_stderr(f"Error: {error}")
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            to_stderr("Interrupted; nothing was written.")
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
for group in (making, analysing, explaining):  # as --help lists them
    app.add_typer(group.commands)


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """λ-randomization: multi-dimensional randomized response.

    design → randomize → estimate → audit. Start with: lambdarr demo
    """
    if version:
        from lambdarr import __version__

        typer.echo(f"lambdarr {__version__}")
        raise typer.Exit
