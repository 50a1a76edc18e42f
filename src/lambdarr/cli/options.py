"""Options that commands share, and what the texts of options mean."""

from collections.abc import Container
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

    from lambdarr.blame import told

    if text is None or text.startswith(("http://", "https://")):
        return text
    module, colon, path = text.partition(":")
    if not (module and colon and path) or module.endswith(".py") or "/" in text:
        hint = f"; leave out .py: {module.removesuffix('.py')}:{path}" if module.endswith(".py") and path else ""
        # an address may hold a password
        got = "" if "://" in text else f", got {text!r}{hint}"
        msg = f"--randomizer must be MODULE:FUNCTION, such as survey:randomize, or an http:// or https:// address{got}"
        raise DesignError(msg)
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` does: a module in the present folder is found
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
            msg = (
                f"--randomizer {text!r}: there is no module {error.name!r} in this folder, nor is one installed; "
                "an endpoint's address starts with http://"
            )
        else:
            msg = f"--randomizer {text!r}: the module cannot be imported, it raised {told(error)}; mend it"
        raise DesignError(msg) from error
    for name in path.split("."):
        if not hasattr(found, name):
            own = [key for key in dir(found) if callable(getattr(found, key, None)) and not key.startswith("_")]
            more = f" and {len(own) - 10} more" if len(own) > 10 else ""
            has = f"; it has: {', '.join(own[:10])}{more}" if own else ""
            msg = f"--randomizer {text!r}: {getattr(found, '__name__', module)!r} has no {name!r}{has}"
            raise DesignError(msg)
        found = getattr(found, name)
    if not callable(found):
        msg = f"--randomizer {text!r} must name a function, and it is of type {type(found).__name__}"
        raise DesignError(msg)
    return found


def names_in(text: str | None) -> list[str]:
    """Return the names that a,b,c spells; none if the option was not given."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def table_in(text: str, design: Any) -> list[str]:
    """Return the attributes of a table that a,b spells; a name may hold a comma, so the whole text is tried first."""
    return [text] if text in design.names else names_in(text)


def numeric_in(texts: list[str]) -> list[Any]:
    """Return the numerical attributes that NAME:LOW:HIGH[:KEY=VALUE] texts spell."""
    import lambdarr

    form = (
        "NAME:LOW:HIGH or NAME:edges=A,B,C, then :bins=… :target=… :spacing=… :rounding=… :outside=… :unit=… as wanted"
    )
    found: list[Any] = []
    for text in texts:
        name, *parts = text.split(":")
        bounds = [part for part in parts if "=" not in part]
        pairs = [part.split("=", 1) for part in parts if "=" in part]
        options: dict[str, Any] = dict(pairs)
        if len(options) < len(pairs) or name in (known.name for known in found):
            msg = f"--numeric says something twice of {name!r}; say it once"
            raise DesignError(msg)
        unknown = set(options) - {"bins", "edges", "target", "rounding", "outside", "unit", "spacing", "missing"}
        if not name or unknown or len(bounds) not in (0, 2):
            wrong = f"; there is no {sorted(unknown)[0]!r}" if unknown else ""
            msg = f"--numeric must be {form}, got {text!r}{wrong}"
            raise DesignError(msg)
        if options.get("bins", "auto") != "auto":
            options["bins"] = int(options["bins"]) if options["bins"].isdecimal() else options["bins"]
        if "edges" in options:
            options["edges"] = tuple(_bound_in(edge) for edge in options["edges"].split(","))
        low, high = (_bound_in(bound) for bound in bounds) if bounds else (None, None)
        found.append(lambdarr.Numeric(name, low, high, **options))
    return found


def _bound_in(text: str) -> Any:
    """Return a number, or the text of a date."""
    try:
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        return text


def figures_in(
    mean: list[str] | None, quantile: list[str] | None, correlate: list[str] | None
) -> list[tuple[str, str, Any]]:
    """Return what is asked of numerical attributes: their name, a measure, and a share or another name."""
    found: list[tuple[str, str, Any]] = [(name, "mean", None) for name in mean or []]
    for text in quantile or []:
        name, equals, shares = text.rpartition("=")
        if not equals:
            msg = f"--quantile must be NAME=share, as income=0.5 for the median, got {text!r}"
            raise DesignError(msg)
        found += [
            (name, "quantile", _number("quantile", "NAME=share,share", text, share)) for share in shares.split(",")
        ]
    for text in correlate or []:
        pair = names_in(text)
        if len(pair) != 2 or pair[0] == pair[1]:
            msg = f"--correlate must be two attributes as A,B, got {text!r}"
            raise DesignError(msg)
        found.append((pair[0], "correlation", pair[1]))
    return found


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
        _check_new(option, name, found)
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
    if any(text.isdecimal() for text in texts):
        msg = f"--workload must be one order of tables, or the tables wanted as A,B; got {' and '.join(texts)}"
        raise DesignError(msg)
    return [tuple(names_in(text)) for text in texts]


def asked_in(text: str) -> Any:
    """Return how many attributes are asked, or that the best number is wanted."""
    if text == "auto" or text.isdecimal():
        return text if text == "auto" else int(text)
    msg = f"--asked must be a number of attributes, or auto, got {text!r}"
    raise DesignError(msg)


def limits_in(option: str, texts: list[str]) -> dict[str, Any]:
    """Return floors or ceilings, as MEASURE=X texts or MEASURE:NAME=X texts spell them."""
    found: dict[str, Any] = {}
    for text in texts:
        what, _, number = text.rpartition("=")
        measure, colon, name = what.partition(":")
        value = _number(option, "MEASURE=number or MEASURE:NAME=number", text, number)
        by_name = found.setdefault(measure, {}) if colon else found
        if not isinstance(by_name, dict) or (not colon and isinstance(found.get(measure), dict)):
            msg = f"--{option} {measure} must be one number for every attribute, or MEASURE:NAME=X for some, not both"
            raise DesignError(msg)
        _check_new(option, name or measure, by_name)
        by_name[name or measure] = value
    return found


def relations_in(option: str, texts: list[str]) -> dict[Any, float]:
    """Return pairs of attributes and a part of their covariance, as A,B=X texts spell them."""
    found: dict[Any, float] = {}
    for text in texts:
        pair, _, number = text.rpartition("=")
        _check_new(option, pair, [",".join(known) for known in found])
        found[tuple(names_in(pair))] = _number(option, "A,B=number", text, number)
    return found


def _check_new(option: str, name: str, found: Container[str]) -> None:
    """Refuse an option that is given twice for the same, of which the first would be lost."""
    if name in found:
        msg = f"--{option} is given twice for {name!r}; give it once"
        raise DesignError(msg)


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
