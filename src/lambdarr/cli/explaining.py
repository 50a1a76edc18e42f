"""Commands that explain, and need no reports: plan, audit, paper, demo."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lambdarr.cli.options import DesignArgument, JsonOption, LevelOption, condition_in, names_in
from lambdarr.cli.output import print_json, print_table, say

commands = typer.Typer()


@commands.command(epilog="Example: lambdarr plan design.json --where smokes=daily --given sex=F --margin 0.02")
def plan(
    design: DesignArgument,
    n: Annotated[int | None, typer.Option("-n", help="Number of respondents, to find the margin of error.")] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="Wanted margin of error, to find how many respondents; with -n, to find the protection."),
    ] = None,
    table: Annotated[str | None, typer.Option("-t", "--table", help="Attributes of a table, as a,b.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="NAME=A[,B]|NAME=A..B", help="A share, as in query. Repeatable.")
    ] = None,
    given: Annotated[
        list[str] | None, typer.Option(metavar="NAME=A[,B]|NAME=A..B", help="Only among these people. Repeatable.")
    ] = None,
    versus: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=A[,B]|NAME=A..B", help="Less the share among these people. Repeatable."),
    ] = None,
    correlate: Annotated[str | None, typer.Option(help="Two attributes to correlate, as a,b.")] = None,
    level: LevelOption = 0.95,
    as_json: JsonOption = False,
) -> None:
    """Plan a survey: the margin of error, the number of respondents, or the protection that both allow.

    People are expected to be spread evenly over all categories; lr.plan takes other expectations.
    """
    import lambdarr

    loaded = lambdarr.Design.load(design)
    found = lambdarr.plan(
        loaded,
        n=n,
        margin=margin,
        table=names_in(table),
        condition=condition_in(where, loaded) if where else None,
        given=condition_in(given, loaded) if given else None,
        versus=condition_in(versus, loaded) if versus else None,
        correlate=names_in(correlate),
        level=level,
    )
    order = lambdarr.readable_order(found.design, found.n)
    lams = {name: channel.lam for name, channel in found.design.by_name.items()}
    if as_json:
        numbers = {"n": found.n, "margin": found.margin, "level": level, "readable_order": order, "lambda": lams}
        print_json(numbers)
        return
    say(f"{found.n:,} respondents: ± {found.margin:.4g}, half of a {100 * level:.6g} % interval.")
    if n is not None and margin is not None:
        spelled = ", ".join(f"{name} {lam:.4g}" for name, lam in lams.items())
        say(f"The strongest protection that allows this has the keep rates λ: {spelled}.")
    what = (
        f"tables of up to {order} attributes" if order > 1 else "one-way tables" if order else "not even one-way tables"
    )
    say(f"With so many, {what} are worth reading by the exact inverse.")


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
