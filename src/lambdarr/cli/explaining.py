"""Commands that explain: audit, report, paper, demo."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from lambdarr.cli.options import (
    ClustersOption,
    DesignArgument,
    ForceOption,
    InferenceChoice,
    InferenceOption,
    JsonOption,
    LevelOption,
    StrataOption,
    WeightsOption,
    names_in,
)
from lambdarr.cli.output import Progress, print_json, print_table, say

commands = typer.Typer()


@commands.command(epilog="Example: lambdarr audit design.json --json")
def audit(design: DesignArgument, as_json: JsonOption = False) -> None:
    """Audit a design: what one report gives away, attribute by attribute and for the whole record."""
    import lambdarr
    from lambdarr.reporting.designs import audit_table, audit_values, public_missing_sentence

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
    if found.released:
        say(f"Released unrandomized: {', '.join(found.released)}. Nothing above protects it.")
    if found.public_missing:
        say(public_missing_sentence(found.public_missing))


@commands.command(epilog="Example: lambdarr report design.json reports.csv -o report.html -t smokes -t sex,smokes")
def report(
    design: DesignArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the page goes, such as report.html.")],
    reports: Annotated[
        Path | None, typer.Argument(help="The file of reports, for estimates: CSV, TSV, Parquet or Arrow.")
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "-t",
            "--table",
            help="Attributes of a table to estimate, as a,b. Repeatable. By default every attribute, and pairs that "
            "stand out.",
        ),
    ] = None,
    level: LevelOption = 0.95,
    inference: InferenceOption = InferenceChoice.POPULATION,
    weights: WeightsOption = None,
    strata: StrataOption = None,
    clusters: ClustersOption = None,
    title: Annotated[str | None, typer.Option(help="The heading of the page.")] = None,
    force: ForceOption = False,
) -> None:
    """Write a report for people who decide: one HTML page with charts, which opens offline and prints.

    The design in words, what another λ would do, what is left of relations, where the noise wins and what an answer
    gives away; with reports also estimates and relations. It holds nobody's answers.
    """
    import lambdarr
    from lambdarr.sinks import check_target

    loaded = lambdarr.Design.load(design)
    check_target(output, force=force, sources=[design])
    # a name may hold a comma: the whole text is tried before its parts
    asked = None if not tables else [[text] if text in loaded.names else names_in(text) for text in tables]
    options: dict[str, Any] = {} if title is None else {"title": title}
    with Progress("Writing the report", "of 1 page") as progress:
        progress(0)
        page = lambdarr.report(
            loaded,
            output,
            reports=reports,
            tables=asked,
            inference=inference.value,
            weights=weights,
            strata=strata,
            clusters=clusters,
            level=level,
            force=force,
            **options,
        )
    say(f"Report of {page.count('<figure')} charts written to {output}; it opens in any browser, without a network.")


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
