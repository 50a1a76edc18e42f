"""Commands that read reports: estimate, query, correlate, regress, synthesize."""

from pathlib import Path
from typing import Annotated, Any

import typer

from lambdarr.cli.options import (
    ClustersOption,
    DesignOption,
    FamilyChoice,
    ForceOption,
    Format,
    FormatOption,
    InferenceChoice,
    InferenceOption,
    JsonOption,
    LevelOption,
    MethodChoice,
    OutcomeChoice,
    OutputOption,
    RelationFormat,
    RelationFormatOption,
    ReportsArgument,
    ScoreOption,
    StrataOption,
    WaveOption,
    WeightsOption,
    condition_in,
    figures_in,
    names_in,
    numbers_in,
    table_in,
    waves_in,
)
from lambdarr.cli.output import Destination, Progress, print_json, say, warn
from lambdarr.errors import DesignError

commands = typer.Typer()


@commands.command(epilog="Example: lambdarr estimate reports.csv -d design.json -t sex -t sex,education --format csv")
def estimate(
    reports: ReportsArgument,
    design: DesignOption,
    tables: Annotated[
        list[str] | None, typer.Option("-t", "--table", help="Attributes of a table, as a,b. Repeatable.")
    ] = None,
    mean: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Mean of a numerical attribute. Repeatable.")
    ] = None,
    quantile: Annotated[
        list[str] | None, typer.Option(metavar="NAME=P[,P]", help="Its quantiles; 0.5 is the median. Repeatable.")
    ] = None,
    correlate: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="Correlation of numerical attributes. Repeatable.")
    ] = None,
    score: ScoreOption = None,
    method: Annotated[
        MethodChoice | None,
        typer.Option(
            help="How to estimate: auto, the default, believes as much of a table as the reports bear out; inverse is "
            "unbiased; the others are fixed models.",
        ),
    ] = None,
    interaction: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Instead of a method: attributes of every table that may depend, and no others. Repeatable.",
        ),
    ] = None,
    level: LevelOption = 0.95,
    inference: InferenceOption = InferenceChoice.POPULATION,
    weights: WeightsOption = None,
    strata: StrataOption = None,
    clusters: ClustersOption = None,
    wave: WaveOption = None,
    simplex: Annotated[
        bool, typer.Option("--simplex", help="The nearest table to the exact inverse without negative cells.")
    ] = False,
    format: FormatOption = None,
    output: OutputOption = None,
    force: ForceOption = False,
) -> None:
    """Estimate the truths' distribution from reports, with standard errors and confidence intervals.

    Tables of categories, or numbers: means, quantiles and correlations of numerical attributes, or of ordered
    categories with scores.
    """
    import lambdarr
    from lambdarr.drawing import undone_sentence
    from lambdarr.reporting import estimates as shown
    from lambdarr.reporting import numbers
    from lambdarr.tabulation import tallies

    destination = Destination.settle(Format, format, output, force=force, sources=[reports, design])
    waves = waves_in(reports, design, wave)
    wanted = figures_in(mean, quantile, correlate)
    if not tables and not wanted:
        msg = "say what to estimate: tables of categories (--table), or --mean, --quantile and --correlate of numbers"
        raise DesignError(msg)
    if tables and wanted and destination.format == "csv":
        msg = "a CSV file holds tables or numbers; ask for -t and for --mean, --quantile or --correlate in two commands"
        raise DesignError(msg)
    if wanted and (wave or strata or clusters):
        msg = "--mean, --quantile and --correlate take one file and its weights; leave out --wave, --strata, --clusters"
        raise DesignError(msg)
    figures = numbers.figure_rows(
        *waves[0],
        wanted,
        level=level,
        inference=inference.value,
        weights=weights,
        scores=numbers_in("score", score or []),
    )
    asked = [table_in(text, waves[0][1]) for text in tables or []]
    chosen = _method(method, interaction, simplex=simplex)
    found: list[Any] = []
    with Progress("Estimating", "tables") as progress:
        counted = [tallies(*each, asked, weights=weights, strata=strata, clusters=clusters) for each in waves]
        for of_waves in zip(*counted, strict=True):
            progress(len(found))
            counts = [(table, made_with) for table, (_, made_with) in zip(of_waves, waves, strict=True)]
            table = lambdarr.estimate(counts, method=chosen, inference=inference.value)
            found.append(table.to_simplex() if simplex else table)
    in_words = [f"{len(found)} {'table' if len(found) == 1 else 'tables'}"] if found else []
    if figures:
        in_words.append(f"{len(figures)} {'number' if len(figures) == 1 else 'numbers'}")
    destination.write(
        " and ".join(in_words),
        table=lambda: (
            *(shown.estimate_table(table, level) for table in found),
            *([numbers.figures_table(figures, level)] if figures else []),
        ),
        csv=lambda: shown.estimates_csv(found, level) if found else numbers.figures_csv(figures),
        json=lambda: {
            "tables": [shown.estimate_values(table, level) for table in found],
            **({"numbers": numbers.figure_values(figures)} if figures else {}),
        },
    )
    for table in found:
        warn(shown.estimate_warning(table))
    warn(numbers.lost_sentence(figures))
    if undone := tuple(name for name in waves[0][1].undone if any(name in figure for figure in wanted)):
        warn(undone_sentence(undone))


def _method(method: MethodChoice | None, interaction: list[str] | None, *, simplex: bool) -> Any:
    """Return the method that the options mean: at most one of them can be given."""
    if (method is not None) + bool(interaction) + simplex > 1 and not (simplex and method is MethodChoice.INVERSE):
        msg = "--method, --interaction and --simplex exclude each other; choose one of them"
        raise DesignError(msg)
    if interaction:
        return [names_in(text) for text in interaction]
    return "inverse" if simplex else "auto" if method is None else method.value


@commands.command(
    epilog="Example: lambdarr query reports.csv -d design.json --where smokes=daily --given sex=F --versus sex=M"
)
def query(
    reports: ReportsArgument,
    design: DesignOption,
    where: Annotated[
        list[str], typer.Option(metavar="NAME=A[,B]|NAME=A..B", help="Categories, or a range of them. Repeatable.")
    ],
    given: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=A[,B]|NAME=A..B", help="Only among people with this condition. Repeatable."),
    ] = None,
    versus: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=A[,B]|NAME=A..B", help="Less the share among these people. Repeatable."),
    ] = None,
    level: LevelOption = 0.95,
    inference: InferenceOption = InferenceChoice.POPULATION,
    weights: WeightsOption = None,
    strata: StrataOption = None,
    clusters: ClustersOption = None,
    wave: WaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask for the share of people with any condition, straight from the reports, with its standard error."""
    import lambdarr
    from lambdarr.reporting.estimates import answer_warning

    waves = waves_in(reports, design, wave)
    loaded = waves[0][1]
    found = lambdarr.query(
        waves,
        None,
        condition_in(where, loaded),
        given=condition_in(given, loaded) if given else None,
        versus=condition_in(versus, loaded) if versus else None,
        inference=inference.value,
        weights=weights,
        strata=strata,
        clusters=clusters,
    )
    lower, upper = found.interval(level)
    if as_json:
        numbers = {"value": found.value, "standard_error": found.standard_error, "lower": lower, "upper": upper}
        print_json({**numbers, "level": level, "n": found.n, "inference": found.inference})
        return
    say(
        f"{found.value:.2%} ± {found.standard_error:.2%} (standard error), {100 * level:.6g} % interval "
        f"{lower:.2%} … {upper:.2%}, from {found.n:,} reports"
    )
    warn(answer_warning(found))


@commands.command(
    epilog="Example: lambdarr correlate reports.csv -d design.json --columns age,smokes,drugs --format latex"
)
def correlate(
    reports: ReportsArgument,
    design: DesignOption,
    columns: Annotated[str | None, typer.Option(help="Attributes to relate, as a,b,c; all by default.")] = None,
    score: ScoreOption = None,
    level: LevelOption = 0.95,
    inference: InferenceOption = InferenceChoice.POPULATION,
    weights: WeightsOption = None,
    strata: StrataOption = None,
    clusters: ClustersOption = None,
    wave: WaveOption = None,
    format: RelationFormatOption = None,
    output: OutputOption = None,
    force: ForceOption = False,
) -> None:
    """Relate attributes pair by pair: correlation, Cramér's V, mutual information and the test of independence."""
    import lambdarr
    from lambdarr.reporting import relations as shown

    destination = Destination.settle(RelationFormat, format, output, force=force, sources=[reports, design])
    found = lambdarr.correlate(
        waves_in(reports, design, wave),
        attributes=None if columns is None else names_in(columns),
        scores=numbers_in("score", score or []),
        inference=inference.value,
        weights=weights,
        strata=strata,
        clusters=clusters,
    )
    about = {"n": found.n, "inference": found.inference, "level": level}
    destination.write(
        f"{len(found.pairs)} {'pair' if len(found.pairs) == 1 else 'pairs'}",
        table=lambda: [shown.correlation_table(found, level)],
        csv=lambda: shown.correlation_csv(found, level),
        json=lambda: {**about, "pairs": shown.pair_values(found, level)},
        latex=lambda: shown.correlation_latex(found, level),
    )


@commands.command(
    epilog="Example: lambdarr regress 'smokes ~ sex + age' reports.csv -d design.json --family logistic -o table.tex"
)
def regress(
    formula: Annotated[str, typer.Argument(help="Such as 'income ~ sex + education'; other columns are public.")],
    reports: ReportsArgument,
    design: DesignOption,
    family: Annotated[
        FamilyChoice, typer.Option(help="What the outcome is: a number, one of two classes, or one of several.")
    ] = FamilyChoice.LINEAR,
    method: Annotated[
        OutcomeChoice | None,
        typer.Option(
            help="For classes: moments, the default, estimates what the truths would give; likelihood has smaller "
            "errors if the model holds.",
        ),
    ] = None,
    score: ScoreOption = None,
    level: LevelOption = 0.95,
    inference: InferenceOption = InferenceChoice.POPULATION,
    weights: WeightsOption = None,
    strata: StrataOption = None,
    clusters: ClustersOption = None,
    wave: WaveOption = None,
    format: RelationFormatOption = None,
    output: OutputOption = None,
    force: ForceOption = False,
) -> None:
    """Fit a regression to the truths behind reports, with errors that account for the randomization."""
    import lambdarr
    from lambdarr.reporting import relations as shown

    destination = Destination.settle(RelationFormat, format, output, force=force, sources=[reports, design])
    found = lambdarr.regress(
        formula,
        waves_in(reports, design, wave),
        family=family.value,
        method=None if method is None else method.value,
        scores=numbers_in("score", score or []),
        inference=inference.value,
        weights=weights,
        strata=strata,
        clusters=clusters,
    )
    destination.write(
        f"{len(found.values)} coefficients",
        table=lambda: [found.summary(level)],
        csv=lambda: shown.regression_csv(found, level),
        json=lambda: shown.regression_values(found, level),
        latex=lambda: shown.regression_latex(found, level),
    )
    warn(shown.regression_warning(found))


@commands.command(epilog="Example: lambdarr synthesize reports.csv -d design.json -o synthetic.csv -n 10000")
def synthesize(
    reports: ReportsArgument,
    design: DesignOption,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the records go; its ending says the format.")],
    n: Annotated[int | None, typer.Option("-n", help="How many records; as many as reports by default.")] = None,
    columns: Annotated[str | None, typer.Option(help="Attributes to have, as a,b,c; all by default.")] = None,
    weights: WeightsOption = None,
    wave: WaveOption = None,
    seed: Annotated[int | None, typer.Option(help="For the same records again.")] = None,
    force: ForceOption = False,
) -> None:
    """Fit a model of all attributes to the reports, and draw synthetic records from it."""
    import lambdarr
    from lambdarr.models import check_number_of_records
    from lambdarr.reporting.estimates import model_sentences, model_warning
    from lambdarr.sinks import check_target
    from lambdarr.sources import format_of

    waves = waves_in(reports, design, wave)
    check_target(output, force=force, sources=[reports, design])
    format_of(output)  # before the work, not after it
    if n is not None:
        check_number_of_records(n)
    with Progress("Fitting the model", "of 2 steps") as progress:
        progress(0)
        model = lambdarr.model(waves, attributes=None if columns is None else names_in(columns), weights=weights)
        progress(1)
        rows = model.synthesize_file(output, n, seed=seed, force=force)
    for sentence in model_sentences(model):
        say(sentence)
    say(f"{rows:,} synthetic records written to {output}.")
    if drawn := {name: None for _, made_with in waves for name in made_with.drawn_names}:
        say(f"Not in them: {', '.join(drawn)}. The model is of categories, and drawn columns have none.")
    warn(model_warning(model))
