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
    ScoreOption,
    StrataOption,
    WaveOption,
    WeightsOption,
    condition_in,
    names_in,
    numbers_in,
    randomizer_in,
    table_in,
    waves_in,
)
from lambdarr.cli.output import Progress, print_json, print_table, say, to_stderr, warn
from lambdarr.errors import DesignError

commands = typer.Typer()


@commands.command(epilog="Example: lambdarr plan design.json --where smokes=daily --given sex=F --margin 0.02")
def plan(
    design: DesignArgument,
    n: Annotated[int | None, typer.Option("-n", help="Number of respondents, to find the margin.")] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="Wanted margin of error, to find how many respondents; with -n, to find the protection."),
    ] = None,
    tables: Annotated[
        list[str] | None, typer.Option("-t", "--table", help="Attributes of a table, as a,b; one table.")
    ] = None,
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
    score: ScoreOption = None,
    level: LevelOption = 0.95,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to save the strongest design, with -n and --margin.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Plan a survey: the margin of error, the number of respondents, or the protection that both allow.

    Ask about one thing: a table (-t), a share or difference of shares (--where,
    --given, --versus) or a correlation (--correlate). Without any, -n says
    which tables are worth reading. People are expected to be spread evenly over
    all categories; lr.plan takes other expectations.
    """
    import lambdarr
    from lambdarr.reporting.plans import keep_rates_sentence, plan_values, readable_sentence
    from lambdarr.sinks import check_target, replacing

    given_as = {"-t": tables or None, "--where": where or None, "--correlate": correlate}
    questions = [option for option, text in given_as.items() if text is not None]
    if len(tables or []) > 1:
        msg = f"-t is given {len(tables or [])} times, and a plan is for one table; give a command for each"
        raise DesignError(msg)
    if tables and not names_in(tables[0]):
        msg = f"-t must name the attributes of a table as a,b, got {tables[0]!r}"
        raise DesignError(msg)
    _check_plan(n, margin, questions, given=bool(given), versus=bool(versus), score=bool(score), output=output)
    loaded = lambdarr.Design.load(design)
    if output is not None:
        check_target(output, force=force, sources=[design])
    if n is not None and not questions:
        order = lambdarr.readable_order(loaded, n)
        if as_json:
            print_json({"n": n, "readable_order": order})
        else:
            say(readable_sentence(order, n))
        return
    found = lambdarr.plan(
        loaded,
        n=n,
        margin=margin,
        table=table_in(tables[0], loaded) if tables else (),
        condition=condition_in(where, loaded) if where else None,
        given=condition_in(given, loaded) if given else None,
        versus=condition_in(versus, loaded) if versus else None,
        correlate=names_in(correlate),
        scores=numbers_in("score", score or []),
        level=level,
    )
    if output is not None:
        with replacing(output, force=force) as file:
            file.write(found.design.to_json().encode())
    order = lambdarr.readable_order(found.design, found.n)
    if as_json:
        print_json(plan_values(found, order))
        return
    say(f"{found}.")
    if n is not None and margin is not None:
        say(keep_rates_sentence(found))
    say(readable_sentence(order, found.n))
    if output is not None:
        say(f"Design written to {output}.")


def _check_plan(
    n: int | None,
    margin: float | None,
    questions: list[str],
    *,
    given: bool,
    versus: bool,
    score: bool,
    output: Path | None,
) -> None:
    """Refuse options that do not go together, by the names they have here."""
    msg = ""
    if n is None and margin is None:
        msg = (
            "give -n to find the margin of error, --margin to find how many respondents, or both to find the protection"
        )
    elif len(questions) > 1 or (margin is not None and not questions):
        msg = f"ask about one thing: -t, --where or --correlate; got {' and '.join(questions) or 'none of them'}"
    elif (given or versus) and "--where" not in questions:
        msg = "--given and --versus go with --where: the people among whom, or against whom, to look"
    elif versus and not given:
        msg = "--versus needs --given: the two groups to compare"
    elif score and "--correlate" not in questions:
        msg = "--score goes with --correlate"
    elif output is not None and (n is None or margin is None):
        msg = "-o saves the strongest design for a number of respondents and a margin; give both -n and --margin"
    if msg:
        raise DesignError(msg)


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
        Path | None,
        typer.Option(
            help="A file that is to be released: what is expected to be left true of it. Columns that the design "
            "neither has nor keeps count as dropped."
        ),
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
    from lambdarr.reporting.designs import (
        asked_rows_sentence,
        asked_sentence,
        audit_table,
        public_missing_sentence,
        release_sentences,
        repeated_sentences,
        shuffled_sentence,
    )

    loaded = lambdarr.Design.load(design)
    options = {"mode": None if mode is None else mode.value, "draws": draws, "confidence": confidence}
    given = {name: value for name, value in options.items() if value is not None}
    if measure:
        of_design = {"prior": prior, "repeated": repeated, "shuffled": shuffled, "truths": truths}
        if extra := [name for name, value in of_design.items() if value is not None]:
            msg = f"--{extra[0]} is about the design, and --measure runs a randomizer; give them in two commands"
            raise DesignError(msg)
        _measure(loaded, randomizer, given, as_json=as_json)
        return
    if randomizer is not None or given:
        msg = f"--{'randomizer' if randomizer is not None else next(iter(given))} needs --measure; add it"
        raise DesignError(msg)
    if individuals is not None and (truths is not None or not loaded.drawn):
        reason = "--truths says how many there are" if loaded.drawn else "the design has no drawn columns"
        msg = f"--individuals is how many people drawn columns are over, and {reason}; leave it out"
        raise DesignError(msg)
    beliefs_before = None if prior is None else numbers_in("prior", prior)
    found = lambdarr.audit(loaded, beliefs_before, truths=truths, individuals=individuals)
    more = None if repeated is None else found.repeated(repeated)
    among = None if shuffled is None else found.shuffled(shuffled)
    if as_json:
        values = found.to_dict()
        values |= {} if more is None else {"repeated": more.to_dict()}
        values |= {} if among is None else {"shuffled": among.to_dict()}
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
        print_table(audit_table(more))
        for sentence in repeated_sentences(more):
            say(sentence)
    if among is not None:
        say(shuffled_sentence(among))
    if found.release is not None:
        for sentence in release_sentences(found.release, found.asked, loaded.drawn_names):
            say(sentence)
    if found.asked is not None:
        say(f"{asked_sentence(found.asked, len(found.attributes))} {asked_rows_sentence(found.asked)}")
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
    wave: WaveOption = None,
    title: Annotated[str | None, typer.Option(help="The heading of the page.")] = None,
    force: ForceOption = False,
) -> None:
    """Write a report for people who decide: one HTML page with charts, which opens offline and prints.

    The design in words, what another λ would do, what is left of relations,
    where the noise wins and what an answer gives away; with reports also
    estimates and relations. It holds nobody's answers.
    """
    import lambdarr
    from lambdarr.sinks import check_target

    loaded = lambdarr.Design.load(design)
    check_target(output, force=force, sources=[design])
    asked = None if not tables else [table_in(text, loaded) for text in tables]
    if wave and reports is None:
        msg = "--wave adds more reports; give the first file of reports as well"
        raise DesignError(msg)
    waves = waves_in(reports, design, wave) if wave and reports is not None else None
    options: dict[str, Any] = {} if title is None else {"title": title}
    with Progress("Writing the report", "of 1 page") as progress:
        progress(0)
        page = lambdarr.report(
            None if waves else loaded,
            output,
            reports=waves or reports,
            tables=asked,
            inference=inference.value,
            weights=weights,
            strata=strata,
            clusters=clusters,
            level=level,
            force=force,
            **options,
        )
    if 'class="note"' in page.partition("</header>")[0]:
        warn("these do not look like reports of this design; the page says why. Were true answers read by mistake?")
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
