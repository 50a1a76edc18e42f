"""Commands up to the reports: design, show, randomize."""

from pathlib import Path
from typing import Annotated, Any

import typer

from lambdarr.cli.options import (
    DesignArgument,
    DesignOption,
    DrawnChoice,
    ForceOption,
    JsonOption,
    KeepOption,
    asked_in,
    limits_in,
    names_in,
    numbers_in,
    numeric_in,
    relations_in,
    target_in,
    workload_in,
)
from lambdarr.cli.output import Progress, print_json, print_table, say, warn

commands = typer.Typer()


@commands.command(epilog="Example: lambdarr design people.csv -o design.json --strength 0.6 --columns sex,education")
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
    truthfulness: Annotated[
        list[str] | None,
        typer.Option(metavar="X|NAME=X", help="Chance that a report is true, of every attribute or one."),
    ] = None,
    posterior: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X|NAME=X", help="Highest belief in any truth after its report, of every attribute or one."
        ),
    ] = None,
    prior: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=P,P,P",
            help="Beliefs before it, in the order of the categories; needs a posterior. Repeatable.",
        ),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            metavar="K|A,B",
            help="Tables that will be wanted: all of an order such as 2, or each by its attributes. Repeatable. λ's "
            "are then the best for them.",
        ),
    ] = None,
    at_least: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE[:NAME]=X",
            help="Floor of lam, strength, bits, epsilon, truthfulness or posterior, of every attribute or one. "
            "Repeatable.",
        ),
    ] = None,
    at_most: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE[:NAME]=X", help="Ceiling of such a measure, of every attribute or of one. Repeatable."
        ),
    ] = None,
    preserve: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B=X", help="Part of a pair's covariance to survive at least. Repeatable."),
    ] = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B=X", help="Part of a pair's covariance to survive at most. Repeatable."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns to randomize, as a,b,c; all that are not kept by default.")
    ] = None,
    keep: KeepOption = None,
    missing: Annotated[
        str, typer.Option(help="Text of a missing value in a CSV file; the empty field by default.")
    ] = "",
    public_missing: Annotated[
        str | None, typer.Option(help="Columns whose missing values are public and pass unrandomized, as a,b,c.")
    ] = None,
    asked: Annotated[
        str | None,
        typer.Option(
            metavar="M|auto",
            help="How many of the attributes each respondent answers, drawn at random; all by default. auto, with "
            "--workload and --epsilon: the number with the least error.",
        ),
    ] = None,
    numeric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:LOW:HIGH[:KEY=X]",
            help="A column of numbers, dates or durations (seconds), its public bounds (or edges=A,B,C), then "
            "bins=auto or a number, "
            "target=mean, quantiles, ranges or histogram, outside=count, clip or refuse, rounding=random or none, "
            "spacing=equal or log, "
            "unit=number, integer, date or duration. Repeatable.",
        ),
    ] = None,
    respondents: Annotated[
        int | None,
        typer.Option(help="How many people will answer, for bins=auto; as many as the file has rows by default."),
    ] = None,
    public_bounds: Annotated[
        bool,
        typer.Option("--public-bounds", help="Publish the lowest and highest value of --numeric NAME without bounds."),
    ] = False,
    drawn: Annotated[
        str | None,
        typer.Option(
            help="Numbers, dates, times or durations to randomize over the individuals of the file, columns as a,b,c; "
            "they take --lam."
        ),
    ] = None,
    method: Annotated[
        DrawnChoice,
        typer.Option(help="Of drawn columns. expected is deterministic: whoever knows λ undoes it exactly."),
    ] = DrawnChoice.DRAWN,
    force: ForceOption = False,
) -> None:
    """Make a design: find the categories of a file's columns and the λ's that meet a target.

    Targets are --lam, --strength, --bits, --epsilon, --truthfulness and
    --posterior. One number is for all attributes together and excludes other
    targets; NAME=X, repeated, gives each attribute a target of its own.

    --workload, --at-least, --at-most, --preserve and --hide find the best λ's
    within one joint --epsilon, --bits or --strength; NAME=X then fixes the λ of
    one attribute. --prior goes with --posterior.
    """
    import lambdarr
    from lambdarr.sinks import check_target, replacing

    check_target(output, force=force, sources=[data])
    targets = {
        "lam": lam, "strength": strength, "bits": bits, "epsilon": epsilon, "truthfulness": truthfulness,
        "posterior": posterior,
    }  # fmt: skip
    made = lambdarr.design(
        data,
        columns=None if columns is None else names_in(columns),
        keep=names_in(keep),
        missing=missing,
        public_missing=names_in(public_missing),
        prior=None if prior is None else numbers_in("prior", prior),
        workload=None if workload is None else workload_in(workload),
        at_least=limits_in("at-least", at_least or []),
        at_most=limits_in("at-most", at_most or []),
        preserve=relations_in("preserve", preserve or []),
        hide=relations_in("hide", hide or []),
        asked=None if asked is None else asked_in(asked),
        numeric=numeric_in(numeric or []),
        respondents=respondents,
        public_bounds=public_bounds,
        drawn=names_in(drawn),
        method=method.value,
        **{kind: target_in(kind, texts) for kind, texts in targets.items() if texts},
    )
    with replacing(output, force=force) as file:
        file.write(made.to_json().encode())
    _describe(made)
    say(f"Design written to {output}. It is to be published, and lists every category of its attributes.")


@commands.command(epilog="Example: lambdarr show design.json --json")
def show(design: DesignArgument, as_json: JsonOption = False) -> None:
    """Show a design: its λ's, bits, strength, ε, categories, and what it does to relations between attributes."""
    import lambdarr
    from lambdarr.reporting.designs import design_values

    loaded = lambdarr.Design.load(design)
    if as_json:
        print_json(design_values(loaded))
    else:
        _describe(loaded)


@commands.command(epilog="Example: lambdarr randomize people.csv -d design.json -o reports.csv --drop name")
def randomize(
    data: Annotated[Path, typer.Argument(help="The file of truths: CSV, TSV, Parquet or Arrow.")],
    design: DesignOption,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the reports go; its ending says the format.")],
    keep: KeepOption = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out, as a,b,c.")] = None,
    force: ForceOption = False,
) -> None:
    """Randomize a file: every attribute of the design, record by record, from the system's secure randomness.

    A column that the design does not know is an error, unless it is kept or dropped by name.
    """
    import warnings

    import lambdarr
    from lambdarr.drawing import undone_sentence
    from lambdarr.reporting.designs import asked_sentence, public_missing_sentence
    from lambdarr.sinks import check_target

    loaded = lambdarr.Design.load(design)
    check_target(output, force=force, sources=[data, design])
    with Progress("Randomizing") as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", lambdarr.UnprotectedWarning)  # it is said below
        rows = lambdarr.randomize_file(
            data, output, loaded, keep=names_in(keep), drop=names_in(drop), force=force, progress=progress
        )
    say(f"{rows:,} records randomized into {output}.")
    if released := loaded.keeping(names_in(keep)).released:
        say(f"Released unrandomized: {', '.join(released)}.")
    if loaded.asked is not None:
        say(asked_sentence(loaded.asked, len(loaded.names)))
    if loaded.undone:
        warn(undone_sentence(loaded.undone))
    if loaded.public_missing:
        say(public_missing_sentence(loaded.public_missing))


def _describe(loaded: Any) -> None:
    from lambdarr.reporting.designs import attenuation_table, categories_table, design_sentences, design_table
    from lambdarr.reporting.numbers import scale_sentences

    print_table(design_table(loaded))
    if loaded.attributes:
        print_table(categories_table(loaded))
    if (table := attenuation_table(loaded)) is not None:
        print_table(table)
    for sentence in (*design_sentences(loaded), *scale_sentences(loaded)):
        say(sentence)
