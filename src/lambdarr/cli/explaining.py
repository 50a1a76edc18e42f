"""Commands that explain: plan, audit, report, paper, demo."""

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
    ModeChoice,
    StrataOption,
    WeightsOption,
    condition_in,
    names_in,
    numbers_in,
    randomizer_in,
)
from lambdarr.cli.output import Progress, print_json, print_table, say, to_stderr
from lambdarr.errors import DesignError

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


@commands.command(epilog="Example: lambdarr audit design.json --measure --randomizer survey:randomize --draws 100000")
def audit(
    design: DesignArgument,
    as_json: JsonOption = False,
    prior: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=P,P,P", help="Beliefs before a report, in the order of the categories. Repeatable."),
    ] = None,
    repeated: Annotated[
        int | None, typer.Option(metavar="N", help="Also what N fresh reports of the same truth give away.")
    ] = None,
    shuffled: Annotated[int | None, typer.Option(metavar="N", help="Also the ε of a report shuffled among N.")] = None,
    truths: Annotated[
        Path | None, typer.Option(help="A file that is to be released: what is expected to be left true of it.")
    ] = None,
    individuals: Annotated[
        int | None, typer.Option(metavar="N", help="How many people are in the file, for drawn columns.")
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Run a randomizer and look at its reports; exit code 1 if it fails.")
    ] = False,
    randomizer: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION|URL",
            help="What to run: a function of a module here or installed, or an endpoint; lambdarr's own by default.",
        ),
    ] = None,
    mode: Annotated[
        ModeChoice | None,
        typer.Option(
            help="How truths are handed over. lambdarr's own: table, file, record or client; a function: records (a "
            "list of dicts), table (PyArrow) or record."
        ),
    ] = None,
    draws: Annotated[int | None, typer.Option(help="How many records to randomize; 1000000 by default.")] = None,
    confidence: Annotated[float | None, typer.Option(help="Confidence of the bounds; 0.99 by default.")] = None,
) -> None:
    """Audit a design: what one report gives away, attribute by attribute and for the whole record.

    With --measure, a randomizer is run on made-up records: a lower bound on its ε, and checks of every cell and row.
    """
    import lambdarr
    from lambdarr.reporting.designs import asked_sentence, audit_table, audit_values, public_missing_sentence
    from lambdarr.reporting.texts import finite

    loaded = lambdarr.Design.load(design)
    options = {"mode": None if mode is None else mode.value, "draws": draws, "confidence": confidence}
    given = {name: value for name, value in options.items() if value is not None}
    if measure:
        _measure(loaded, randomizer, given, as_json=as_json)
        return
    if randomizer is not None or given:
        msg = f"--{'randomizer' if randomizer is not None else next(iter(given))} needs --measure; add it"
        raise DesignError(msg)
    beliefs_before = None if prior is None else numbers_in("prior", prior)
    found = lambdarr.audit(loaded, beliefs_before, truths=truths, individuals=individuals)
    more = None if repeated is None else found.repeated(repeated)
    among = None if shuffled is None else found.shuffled(shuffled)
    if as_json:
        values = audit_values(found)
        values |= {} if more is None else {"repeated": audit_values(more)}
        values |= {} if among is None else {"shuffled_epsilon": finite(among)}
        print_json(values)
        return
    for leak in found.drawn:
        say(leak.sentence)
    if found.attributes:
        print_table(audit_table(found))
        say(
            "bits and strength: the deniability left. ε: the most that a report can shift anyone's odds, in nats. "
            "true: the chance that a report is the truth. capacity: the most bits that a report can tell. gain and "
            "posterior: by how much a report raises the chance of guessing right of someone who "
            f"{'believed this' if found.prior_given else 'knew nothing'} before, and to what."
        )
    if more is not None:
        beliefs = ", ".join(f"{leak.name} {leak.worst_posterior:.3f}" for leak in more.attributes)
        say(
            f"{repeated} fresh reports of one truth: ε = {more.joint.epsilon:.4g}; beliefs after them up to: {beliefs}."
        )
    if shuffled is not None and among is not None:
        say(f"Shuffled among {shuffled:,} reports: ε is at most {among:.4g}, but for a chance of one in a million.")
    if (release := found.release) is not None:
        say(
            f"Of {release.records:,} records, {release.true_records:,.1f} are expected to be reported true in every "
            f"attribute; of {release.uniques:,} that nobody else shares, {release.surviving_uniques:,.1f}, and nobody "
            "can tell which."
        )
    if found.asked is not None:
        say(asked_sentence(found.asked, len(found.attributes)))
    if found.released:
        say(f"Released unrandomized: {', '.join(found.released)}. Nothing above protects it.")
    if found.public_missing:
        say(public_missing_sentence(found.public_missing))


def _measure(design: Any, randomizer: str | None, options: dict[str, Any], *, as_json: bool) -> None:
    import lambdarr
    from lambdarr.reporting.measurements import measurement_sentences, measurement_table

    with Progress("Measuring") as progress:
        measured = lambdarr.measure(design, randomizer_in(randomizer), progress=progress, **options)
    if as_json:
        print_json(measured.to_dict())
    else:
        print_table(measurement_table(measured))
        for sentence in measurement_sentences(measured):
            say(sentence)
    if not measured.passed:
        to_stderr(f"Failed: {measured.reason}")
        raise typer.Exit(1)


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
