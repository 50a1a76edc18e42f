"""Commands that explain, and need no reports: audit, paper, demo."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lambdarr.cli.options import DesignArgument, JsonOption
from lambdarr.cli.output import print_json, print_table, say

commands = typer.Typer()


@commands.command(epilog="Example: lambdarr audit design.json --json")
def audit(design: DesignArgument, as_json: JsonOption = False) -> None:
    """Audit a design: what one report gives away, attribute by attribute and for the whole record."""
    import lambdarr
    from lambdarr.reporting.designs import asked_sentence, audit_table, audit_values, public_missing_sentence

    found = lambdarr.audit(lambdarr.Design.load(design))
    if as_json:
        print_json(audit_values(found))
        return
    print_table(audit_table(found))
    say(
        "bits and strength: the deniability left. ε: the most that a report can shift anyone's odds, in nats. true: "
        "the chance that a report is the truth. capacity: the most bits that a report can tell. gain and posterior: "
        "by how much a report raises the chance of guessing right of someone who knew nothing before, and to what."
    )
    if found.asked is not None:
        say(asked_sentence(found.asked, len(found.attributes)))
    if found.released:
        say(f"Released unrandomized: {', '.join(found.released)}. Nothing above protects it.")
    if found.public_missing:
        say(public_missing_sentence(found.public_missing))


@commands.command(epilog="Example: lambdarr paper --json")
def paper(as_json: JsonOption = False) -> None:
    """Print every number of the paper beside the computed one, and say where they differ and why."""
    from lambdarr.reporting.paper import items, paper_notes, paper_table

    found = items()
    if as_json:
        print_json({"items": [item.to_dict() for item in found]})
        return
    print_table(paper_table(found))
    say("Where they differ:")
    for note in paper_notes(found):
        say(note)
    say(f"{sum(item.agrees for item in found)} of {len(found)} agree.")


@commands.command(epilog="Example: lambdarr demo demo")
def demo(folder: Annotated[Path, typer.Argument(help="Where the demo leaves its files.")] = Path("demo")) -> None:
    """Run the whole job on a made-up survey: design, randomize, estimate beside the known truth."""
    from lambdarr.cli.demo import run

    run(folder, Console(emoji=False))
