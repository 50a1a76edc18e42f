"""The commands. Heavy imports wait until a command needs them, so that ``--help`` answers at once."""

from __future__ import annotations

import io
import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from lambdarr.errors import DesignError, LambdarrError

if TYPE_CHECKING:
    from collections.abc import Callable


class _Group(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Run a command; a user's error is one line on standard error and exit code 2, never a traceback."""
        try:
            return super().invoke(ctx)
        except LambdarrError as error:
            _to_stderr(f"Error: {error}")
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            _to_stderr("Interrupted; nothing was written.")
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


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


class Format(StrEnum):
    """How estimates are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class PairFormat(StrEnum):
    """How relations between attributes are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    LATEX = "latex"


class InferenceChoice(StrEnum):
    """What the standard errors speak of."""

    POPULATION = "population"
    FINITE = "finite"


class MethodChoice(StrEnum):
    """How a table is estimated."""

    AUTO = "auto"
    INVERSE = "inverse"
    ML = "ml"
    PAIRWISE = "pairwise"
    TRIPLES = "triples"
    INDEPENDENCE = "independence"


ReportsArgument = Annotated[Path, typer.Argument(help="The file of reports: CSV, TSV, Parquet or Arrow.")]
LevelOption = Annotated[float, typer.Option(help="Level of the confidence intervals.")]
WeightsOption = Annotated[str | None, typer.Option(help="Column of survey weights.")]
InferenceOption = Annotated[
    InferenceChoice, typer.Option(help="population: respondents are a sample; finite: the file is the population.")
]
DesignOption = Annotated[Path, typer.Option("-d", "--design", help="The design file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")]


@app.command(epilog="Example: lambdarr design people.csv -o design.json --strength 0.6 --columns sex,education")
def design(
    data: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Arrow file whose columns become attributes.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the design.")],
    lam: Annotated[
        list[str] | None, typer.Option(metavar="X|NAME=X", help="Keep rate λ of all attributes, or of one. Repeatable.")
    ] = None,
    strength: Annotated[
        list[str] | None,
        typer.Option(metavar="X|NAME=X", help="Strength β in [0, 1), of the joint or of one attribute."),
    ] = None,
    bits: Annotated[
        list[str] | None,
        typer.Option(metavar="X|NAME=X", help="Bits of deniability, of the joint or of one attribute."),
    ] = None,
    epsilon: Annotated[
        list[str] | None, typer.Option(metavar="X|NAME=X", help="Privacy budget ε, of the joint or of one attribute.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="Columns to randomize, as a,b,c; all others by default.")] = None,
    keep: Annotated[str | None, typer.Option(help="Columns to release as they are, unrandomized, as a,b,c.")] = None,
    missing: Annotated[
        str, typer.Option(help="Text of a missing value in a CSV file; the empty field by default.")
    ] = "",
    public_missing: Annotated[
        str | None, typer.Option(help="Columns whose missing values are public and pass unrandomized, as a,b,c.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Make a design: find the categories of a file's columns and the λ's that meet a target.

    One number is a target for all attributes together; NAME=X, repeated, one for each of them.
    """
    import lambdarr
    from lambdarr.sinks import check_target, replacing

    check_target(output, force=force, sources=[data])
    targets = {"lam": lam, "strength": strength, "bits": bits, "epsilon": epsilon}
    made = lambdarr.design(
        data,
        columns=None if columns is None else _names(columns),
        keep=_names(keep),
        missing=missing,
        public_missing=_names(public_missing),
        **{kind: _target(kind, texts) for kind, texts in targets.items() if texts},
    )
    with replacing(output, force=force) as file:
        file.write(made.to_json().encode())
    _show(made)
    _say(f"Design written to {output}. It is to be published, and lists every category of its attributes.")


@app.command(epilog="Example: lambdarr show design.json --json")
def show(design: Annotated[Path, typer.Argument(help="The design file.")], as_json: JsonOption = False) -> None:
    """Show a design: its λ's, bits, strength, ε and what it does to relations between attributes."""
    import lambdarr
    from lambdarr.reporting.tables import design_values

    loaded = lambdarr.Design.load(design)
    if as_json:
        _print_json(design_values(loaded))
    else:
        _show(loaded)


@app.command(epilog="Example: lambdarr randomize people.csv -d design.json -o reports.csv --drop name")
def randomize(
    data: Annotated[Path, typer.Argument(help="The file of truths: CSV, TSV, Parquet or Arrow.")],
    design: DesignOption,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the reports go; its ending says the format.")],
    keep: Annotated[str | None, typer.Option(help="Columns to release as they are, unrandomized, as a,b,c.")] = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out, as a,b,c.")] = None,
    force: ForceOption = False,
) -> None:
    """Randomize a file: every attribute of the design, record by record, from the system's secure randomness.

    A column that the design does not know is an error, unless it is kept or dropped by name.
    """
    import lambdarr
    from lambdarr.reporting.tables import public_missing_sentence
    from lambdarr.sinks import check_target

    loaded = lambdarr.Design.load(design)
    check_target(output, force=force, sources=[data, design])
    with _Progress("Randomizing") as progress:
        rows = lambdarr.randomize_file(
            data, output, loaded, keep=_names(keep), drop=_names(drop), force=force, progress=progress
        )
    _say(f"{rows:,} records randomized into {output}.")
    if released := loaded.keeping(_names(keep)).released:
        _say(f"Released unrandomized: {', '.join(released)}.")
    if loaded.public_missing:
        _say(public_missing_sentence(loaded.public_missing))


@app.command(epilog="Example: lambdarr estimate reports.csv -d design.json -t sex -t sex,education --format csv")
def estimate(
    reports: ReportsArgument,
    design: DesignOption,
    tables: Annotated[list[str], typer.Option("-t", "--table", help="Attributes of a table, as a,b. Repeatable.")],
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
    simplex: Annotated[
        bool, typer.Option("--simplex", help="The nearest table to the exact inverse without negative cells.")
    ] = False,
    format: Annotated[
        Format | None, typer.Option(help="How to print; by default as the output's ending says, or a table.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file instead.")] = None,
    force: ForceOption = False,
) -> None:
    """Estimate the truths' distribution from reports, with standard errors and confidence intervals."""
    import lambdarr
    from lambdarr.reporting import tables as shown
    from lambdarr.sinks import check_target, replacing
    from lambdarr.tabulation import tallies

    if output is not None:
        check_target(output, force=force, sources=[reports, design])
    if format is None:
        endings = {".csv": Format.CSV, ".json": Format.JSON, ".txt": Format.TABLE}
        if output is not None and output.suffix.lower() not in endings:
            msg = f"the ending of {output} must be one of {', '.join(endings)}, or --format say what to write"
            raise DesignError(msg)
        format = Format.TABLE if output is None else endings[output.suffix.lower()]
    loaded = lambdarr.Design.load(design)
    # a name may hold a comma: the whole text is tried before its parts
    asked = [[text] if text in loaded.names else _names(text) for text in tables]
    chosen = _method(method, interaction, simplex=simplex)
    found: list[Any] = []
    with _Progress("Estimating", "tables") as progress:
        for counts in tallies(reports, loaded, asked, weights=weights):
            progress(len(found))
            table = lambdarr.estimate(counts, loaded, method=chosen, inference=inference.value)
            found.append(table.to_simplex() if simplex else table)
    warnings = [warning for table in found if (warning := shown.estimate_warning(table)) is not None]
    if format is Format.TABLE:
        page = io.StringIO()
        console = Console(emoji=False) if output is None else Console(file=page, width=120, emoji=False)
        for table in found:
            console.print(shown.estimate_table(table, level))
        text = page.getvalue()
    elif format is Format.CSV:
        text = shown.estimates_csv(found, level)
    else:
        text = json.dumps(
            {"tables": [shown.estimate_values(table, level) for table in found]}, ensure_ascii=False, indent=2
        )
        text += "\n"
    if output is not None:
        with replacing(output, force=force) as file:
            file.write(text.encode())
        _say(f"{len(found)} {'table' if len(found) == 1 else 'tables'} written to {output}.")
    elif format is not Format.TABLE:
        typer.echo(text, nl=False)
    for warning in warnings:
        _to_stderr(f"Warning: {warning}")


@app.command(
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
    as_json: JsonOption = False,
) -> None:
    """Ask for the share of people with any condition, straight from the reports, with its standard error."""
    import lambdarr
    from lambdarr.reporting.tables import answer_warning

    loaded = lambdarr.Design.load(design)
    found = lambdarr.query(
        reports,
        loaded,
        _condition(where, loaded),
        given=_condition(given, loaded) if given else None,
        versus=_condition(versus, loaded) if versus else None,
        inference=inference.value,
        weights=weights,
    )
    lower, upper = found.interval(level)
    if as_json:
        numbers = {"value": found.value, "standard_error": found.standard_error, "lower": lower, "upper": upper}
        _print_json({**numbers, "level": level, "n": found.n, "inference": found.inference})
        return
    _say(
        f"{found.value:.2%} ± {found.standard_error:.2%} (standard error), {100 * level:.6g} % interval "
        f"{lower:.2%} … {upper:.2%}, from {found.n:,} reports"
    )
    if (warning := answer_warning(found)) is not None:
        _to_stderr(f"Warning: {warning}")


@app.command(epilog="Example: lambdarr correlate reports.csv -d design.json --columns age,smokes,drugs --format latex")
def correlate(
    reports: ReportsArgument,
    design: DesignOption,
    columns: Annotated[str | None, typer.Option(help="Attributes to relate, as a,b,c; all by default.")] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=1,2,3", help="Numbers of an attribute's categories, in their order. Repeatable."),
    ] = None,
    level: LevelOption = 0.95,
    inference: InferenceOption = InferenceChoice.POPULATION,
    weights: WeightsOption = None,
    format: Annotated[PairFormat, typer.Option(help="How to print.")] = PairFormat.TABLE,
) -> None:
    """Relate attributes pair by pair: correlation, Cramér's V, mutual information and the test of independence."""
    import lambdarr
    from lambdarr.reporting import tables as shown

    found = lambdarr.correlate(
        reports,
        lambdarr.Design.load(design),
        None if columns is None else _names(columns),
        scores=_scores(score or []),
        inference=inference.value,
        weights=weights,
    )
    if format is PairFormat.TABLE:
        _print(shown.correlation_table(found, level))
    elif format is PairFormat.LATEX:
        typer.echo(shown.correlation_latex(found, level), nl=False)
    elif format is PairFormat.CSV:
        typer.echo(shown.correlation_csv(found, level), nl=False)
    else:
        _print_json(
            {"n": found.n, "inference": found.inference, "level": level, "pairs": shown.pair_values(found, level)}
        )


@app.command(epilog="Example: lambdarr synthesize reports.csv -d design.json -o synthetic.csv -n 10000")
def synthesize(
    reports: ReportsArgument,
    design: DesignOption,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the records go; its ending says the format.")],
    n: Annotated[int | None, typer.Option("-n", help="How many records; as many as reports by default.")] = None,
    columns: Annotated[str | None, typer.Option(help="Attributes to have, as a,b,c; all by default.")] = None,
    weights: WeightsOption = None,
    seed: Annotated[int | None, typer.Option(help="For the same records again.")] = None,
    force: ForceOption = False,
) -> None:
    """Fit a model of all attributes to the reports, and draw synthetic records from it."""
    import lambdarr
    from lambdarr.models import check_number_of_records
    from lambdarr.reporting.tables import model_sentences, model_warning
    from lambdarr.sinks import check_target
    from lambdarr.sources import format_of

    loaded = lambdarr.Design.load(design)
    check_target(output, force=force, sources=[reports, design])
    format_of(output)  # before the work, not after it
    if n is not None:
        check_number_of_records(n)
    with _Progress("Fitting the model", "of 2 steps") as progress:
        progress(0)
        model = lambdarr.model(reports, loaded, None if columns is None else _names(columns), weights=weights)
        progress(1)
        rows = model.synthesize_file(output, n, seed=seed, force=force)
    for sentence in model_sentences(model):
        _say(sentence)
    _say(f"{rows:,} synthetic records written to {output}.")
    if (warning := model_warning(model)) is not None:
        _to_stderr(f"Warning: {warning}")


@app.command(epilog="Example: lambdarr audit design.json --json")
def audit(design: Annotated[Path, typer.Argument(help="The design file.")], as_json: JsonOption = False) -> None:
    """Audit a design: what one report gives away, attribute by attribute and for the whole record."""
    import lambdarr
    from lambdarr.reporting.tables import audit_table, audit_values, public_missing_sentence

    found = lambdarr.audit(lambdarr.Design.load(design))
    if as_json:
        _print_json(audit_values(found))
        return
    _print(audit_table(found))
    _say(
        "bits and strength: the deniability left. ε: the most that a report can shift anyone's odds, in nats. true: "
        "the chance that a report is the truth. capacity: the most bits that a report can tell. gain and posterior: "
        "by how much a report raises the chance of guessing right of someone who knew nothing before, and to what."
    )
    if found.released:
        _say(f"Released unrandomized: {', '.join(found.released)}. Nothing above protects it.")
    if found.public_missing:
        _say(public_missing_sentence(found.public_missing))


@app.command(epilog="Example: lambdarr paper --json")
def paper(as_json: JsonOption = False) -> None:
    """Print every number of the paper beside the computed one, and say where they differ and why."""
    from lambdarr.reporting.paper import items
    from lambdarr.reporting.tables import paper_notes, paper_table

    found = items()
    if as_json:
        _print_json({"items": [item.to_dict() for item in found]})
        return
    _print(paper_table(found))
    _say("Where they differ:")
    for note in paper_notes(found):
        _say(note)
    _say(f"{sum(item.agrees for item in found)} of {len(found)} agree.")


@app.command(epilog="Example: lambdarr demo demo")
def demo(folder: Annotated[Path, typer.Argument(help="Where the demo leaves its files.")] = Path("demo")) -> None:
    """Run the whole job on a made-up survey: design, randomize, estimate beside the known truth."""
    from lambdarr.cli.demo import run

    run(folder, Console(emoji=False))


# Parsing and printing.


def _method(method: MethodChoice | None, interaction: list[str] | None, *, simplex: bool) -> Any:
    """Return the method that the options mean: at most one of them can be given."""
    if (method is not None) + bool(interaction) + simplex > 1 and not (simplex and method is MethodChoice.INVERSE):
        msg = "--method, --interaction and --simplex exclude each other; choose one of them"
        raise DesignError(msg)
    if interaction:
        return [_names(text) for text in interaction]
    return "inverse" if simplex else "auto" if method is None else method.value


def _names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _target(kind: str, texts: list[str]) -> Any:
    """Return one number, or the mapping that NAME=X texts spell."""
    numbers: dict[str | None, float] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        key = name if equals else None
        if key in numbers:
            msg = f"--{kind} is given twice for {'all attributes' if key is None else repr(key)}; give it once"
            raise DesignError(msg)
        try:
            numbers[key] = float(number)
        except ValueError:
            msg = f"--{kind} must be a number or NAME=number, got {text!r}"
            raise DesignError(msg) from None
    if None not in numbers:
        return numbers
    if len(numbers) > 1:
        msg = f"--{kind} must be one number for all attributes, or NAME=number for each of them, not both"
        raise DesignError(msg)
    return numbers[None]


def _scores(texts: list[str]) -> dict[str, list[float]]:
    """Return the scores that NAME=1,2,3 texts spell."""
    scores: dict[str, list[float]] = {}
    for text in texts:
        name, equals, numbers = text.rpartition("=")
        try:
            scores[name] = [float(number) for number in numbers.split(",")]
        except ValueError:
            equals = ""
        if not equals:
            msg = f"--score must be NAME=number,number,… with a number for each category, got {text!r}"
            raise DesignError(msg)
    return scores


def _condition(texts: list[str], design: Any) -> dict[str, Any]:
    """Return the condition that NAME=A,B and NAME=A..B texts spell, in the types of the design's categories."""
    condition: dict[str, Any] = {}
    for text in texts:
        name, equals, wanted = text.partition("=")
        if not equals or name in condition:
            msg = f"a condition must be NAME=category, each name once, got {text!r}"
            raise DesignError(msg)
        attribute = design.select([name]).attributes[0]
        by_label = dict(zip(attribute.labels, attribute.values, strict=True))

        def category(label: str, by_label: dict[str, Any] = by_label) -> Any:
            return by_label.get(label, label)  # what is no category is told so by the query

        first, dots, last = wanted.partition("..")
        if wanted not in by_label and dots:
            ends = category(first), category(last)
            if None in ends:
                msg = f"a missing answer to {name!r} has no place in the order of a range; name it beside, with a comma"
                raise DesignError(msg)
            condition[name] = slice(*ends)
        else:
            labels = [wanted] if wanted in by_label else wanted.split(",")
            condition[name] = [category(label.strip()) for label in labels]
    return condition


def _show(loaded: Any) -> None:
    from lambdarr.reporting.tables import attenuation_table, design_sentences, design_table

    _print(design_table(loaded))
    if (table := attenuation_table(loaded)) is not None:
        _print(table)
    for sentence in design_sentences(loaded):
        _say(sentence)


def _print(thing: Any) -> None:
    Console(emoji=False).print(thing)


def _say(text: str, *, stderr: bool = False) -> None:
    console = Console(stderr=stderr, emoji=False)
    console.print(text, markup=False, highlight=False, soft_wrap=not console.is_terminal)  # a file keeps lines whole


def _to_stderr(text: str) -> None:
    _say(text, stderr=True)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


class _Progress:
    """A count on standard error while a long run lasts; nothing where no one is looking."""

    def __init__(self, what: str, of: str = "records") -> None:
        self._what, self._of = what, of
        self._status = Console(stderr=True, emoji=False).status(f"{what} …")

    def __enter__(self) -> Callable[[int], None]:
        self._status.__enter__()
        return lambda count: self._status.update(f"{self._what} … {count:,} {self._of}")

    def __exit__(self, *error: object) -> None:
        self._status.__exit__(None, None, None)
