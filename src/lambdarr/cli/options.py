"""Options that commands share, and what the texts of options mean."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from lambdarr.errors import DesignError


class Format(StrEnum):
    """How estimates are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class RelationFormat(StrEnum):
    """How relations and regressions are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    LATEX = "latex"


class InferenceChoice(StrEnum):
    """What the standard errors speak of."""

    POPULATION = "population"
    FINITE = "finite"


class FamilyChoice(StrEnum):
    """What the outcome of a regression is."""

    LINEAR = "linear"
    LOGISTIC = "logistic"
    MULTINOMIAL = "multinomial"


class OutcomeChoice(StrEnum):
    """How the randomization of a regression's outcome is undone."""

    MOMENTS = "moments"
    LIKELIHOOD = "likelihood"


class MethodChoice(StrEnum):
    """How a table is estimated."""

    AUTO = "auto"
    INVERSE = "inverse"
    ML = "ml"
    PAIRWISE = "pairwise"
    TRIPLES = "triples"
    INDEPENDENCE = "independence"


class DrawnChoice(StrEnum):
    """How a drawn column is randomized."""

    DRAWN = "drawn"
    EXPECTED = "expected"


class ModeChoice(StrEnum):
    """How truths are handed to the randomizer that is measured."""

    TABLE = "table"
    FILE = "file"
    RECORD = "record"
    CLIENT = "client"
    RECORDS = "records"


ReportsArgument = Annotated[Path, typer.Argument(help="The file of reports: CSV, TSV, Parquet or Arrow.")]
LevelOption = Annotated[float, typer.Option(help="Level of the confidence intervals.")]
WeightsOption = Annotated[str | None, typer.Option(help="Column of survey weights.")]
StrataOption = Annotated[str | None, typer.Option(help="Column of the strata that people were sampled from.")]
ClustersOption = Annotated[str | None, typer.Option(help="Column of the clusters of people who were drawn together.")]
WaveOption = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE=DESIGN", help="More reports, and the design they were made with. Repeatable."),
]
InferenceOption = Annotated[
    InferenceChoice, typer.Option(help="population: respondents are a sample; finite: the file is the population.")
]
DesignOption = Annotated[Path, typer.Option("-d", "--design", help="The design file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")]
OutputOption = Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file instead.")]
_format = typer.Option(help="How to print; by default as the output's ending says, or a table.")
FormatOption = Annotated[Format | None, _format]
RelationFormatOption = Annotated[RelationFormat | None, _format]
ScoreOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=1,2,3", help="Numbers of an attribute's categories, in their order. Repeatable."),
]
DesignArgument = Annotated[Path, typer.Argument(help="The design file.")]
KeepOption = Annotated[str | None, typer.Option(help="Columns to release as they are, unrandomized, as a,b,c.")]


def waves_in(reports: Path, design: Path, more: list[str] | None) -> list[tuple[Path, Any]]:
    """Return all files of reports, each with its design."""
    import lambdarr

    waves = [(reports, lambdarr.Design.load(design))]
    for text in more or []:
        file, equals, made_with = text.rpartition("=")
        if not equals:
            msg = f"--wave must be a file of reports and its design as FILE=DESIGN, got {text!r}"
            raise DesignError(msg)
        waves.append((Path(file), lambdarr.Design.load(made_with)))
    return waves


def randomizer_in(text: str | None) -> Any:
    """Return the function that MODULE:FUNCTION names; an address, or nothing, as it is."""
    import sys
    from importlib import import_module

    if text is None or "://" in text:
        return text
    module, colon, path = text.partition(":")
    if not (module and colon and path):
        msg = f"--randomizer must be MODULE:FUNCTION or an http(s) address, got {text!r}"
        raise DesignError(msg)
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` does: a module in the present folder is found
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:
        what = str(error) if isinstance(error, ImportError | AttributeError) else type(error).__name__
        msg = f"--randomizer {text!r} cannot be imported ({what}); is the module in this folder or installed?"
        raise DesignError(msg) from None
    if not callable(found):
        msg = f"--randomizer {text!r} must name a function, and it is of type {type(found).__name__}"
        raise DesignError(msg)
    return found


def names_in(text: str | None) -> list[str]:
    """Return the names that a,b,c spells; none if the option was not given."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def target_in(kind: str, texts: list[str]) -> Any:
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


def numbers_in(option: str, texts: list[str]) -> dict[str, list[float]]:
    """Return the numbers of categories that NAME=1,2,3 texts spell."""
    found: dict[str, list[float]] = {}
    for text in texts:
        name, equals, numbers = text.rpartition("=")
        try:
            found[name] = [float(number) for number in numbers.split(",")]
        except ValueError:
            equals = ""
        if not equals:
            msg = f"--{option} must be NAME=number,number,… with a number for each category, got {text!r}"
            raise DesignError(msg)
    return found


def workload_in(texts: list[str]) -> Any:
    """Return an order of tables, or the tables that a,b texts spell."""
    if len(texts) == 1 and texts[0].isdecimal():
        return int(texts[0])
    return [tuple(names_in(text)) for text in texts]


def limits_in(option: str, texts: list[str]) -> dict[str, Any]:
    """Return floors or ceilings, as MEASURE=X texts or MEASURE:NAME=X texts spell them."""
    found: dict[str, Any] = {}
    for text in texts:
        what, _, number = text.rpartition("=")
        measure, colon, name = what.partition(":")
        value = _number(option, "MEASURE=number or MEASURE:NAME=number", text, number)
        if colon:
            found[measure] = {**(known if isinstance(known := found.get(measure), dict) else {}), name: value}
        else:
            found[measure] = value
    return found


def relations_in(option: str, texts: list[str]) -> dict[Any, float]:
    """Return pairs of attributes and a part of their covariance, as A,B=X texts spell them."""
    found = {}
    for text in texts:
        pair, _, number = text.rpartition("=")
        found[tuple(names_in(pair))] = _number(option, "A,B=number", text, number)
    return found


def _number(option: str, form: str, text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        msg = f"--{option} must be {form}, got {text!r}"
        raise DesignError(msg) from None


def condition_in(texts: list[str], design: Any) -> dict[str, Any]:
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
