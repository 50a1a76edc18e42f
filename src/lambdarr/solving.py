"""Targets → λ's: making a design from a table's columns and what is asked of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lambdarr.channel import MAX_SIZE, Channel, is_number
from lambdarr.conditions import probabilities_of
from lambdarr.designs import Design, check_asked, listed
from lambdarr.domain import Attribute, comparable, has_declared_order
from lambdarr.drawing import Drawn
from lambdarr.errors import DataError, DesignError
from lambdarr.optimizing import Bound, Budget, Problem, Relation, workload_of
from lambdarr.sources import Source, check_present, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lambdarr.conditions import Prior
    from lambdarr.domain import Category
    from lambdarr.drawing import Method
    from lambdarr.optimizing import Certificate, Demand

Target = float | Mapping[str, float]

_FEW = 20  # as many categories as a person would write down
_ALMOST = 0.8  # share of rows with a value of their own from which a column tells people apart
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def design(
    source: Any,
    *,
    lam: Target | None = None,
    strength: Target | None = None,
    bits: Target | None = None,
    epsilon: Target | None = None,
    truthfulness: Target | None = None,
    posterior: Target | None = None,
    prior: Mapping[str, Prior] | None = None,
    workload: Any = None,
    at_least: Mapping[str, Target] | None = None,
    at_most: Mapping[str, Target] | None = None,
    preserve: Mapping[tuple[str, str], float] | None = None,
    hide: Mapping[tuple[str, str], float] | None = None,
    columns: Iterable[str] | None = None,
    keep: Iterable[str] = (),
    missing: str = "",
    public_missing: Iterable[str] = (),
    asked: int | None = None,
    drawn: Iterable[str] = (),
    method: Method = "drawn",
) -> Design:
    """Return a design: the attributes of a source, and the λ's that meet a target.

    Parameters
    ----------
    source : table, path, or attributes
        A table or file whose columns become attributes with the categories found in them; or the attributes
        themselves, as ``Attribute`` objects or as a mapping from name to categories.
    lam, strength, bits, epsilon : number or mapping
        The target, one of them. A number is for the joint: the same λ for all; the same strength β for all, which is
        then the joint's; bits in proportion to log₂ r; ε in equal parts. A mapping gives each attribute its own, and
        several mappings may share the attributes among them. A solved λ is rounded to the private side.
    truthfulness, posterior : number or mapping
        Likewise, for each attribute: the chance that a report is the truth; and the highest probability of any truth
        that a report may leave an observer with, who had the ``prior``.
    prior : mapping, optional
        What such an observer believes before: attribute → probabilities, in the categories' order or as a mapping from
        category. Attributes that are not named are uniform.
    workload : int, list or mapping, optional
        The tables that will be wanted: all of an order, such as 2; a list of them, ``[("sex", "income"), …]``; or a
        mapping from tables to weights. λ's are then optimal for these, within the joint ``epsilon``, ``bits`` or
        ``strength``, and the result has a ``certificate``. All pairs, if only the demands below are given.
    at_least, at_most : mapping, optional
        Floors and ceilings: a measure (lam, strength, bits, epsilon, truthfulness or posterior) → a number for every
        attribute, or a mapping from attribute to number.
    preserve, hide : mapping, optional
        Pair of attributes → the part λᵢλⱼ of their covariance that has to survive at least, or at most.
    columns : iterable of str, optional
        Which columns become attributes; by default all that are not kept.
    keep : iterable of str
        Columns that will be released as they are, unrandomized.
    missing : str
        The text of a missing value in a text file; a column that has any gets a missing category.
    public_missing : iterable of str
        Columns of the table whose missing values are public: released as they are, and no category.
    asked : int, optional
        How many of the attributes each respondent answers, drawn at random; all by default. A joint ε is then spread
        over as many, which allows a larger λ. Joint bits are those of the answers that are given, on average.
    drawn : iterable of str
        Columns, usually of numbers, that are randomized over the individuals of the file, centrally: each value is kept
        with probability λ, or else replaced by that of an individual drawn uniformly. They take ``lam`` only: a number,
        or a mapping that names them, beside which the attributes may have another target.
    method : {"drawn", "expected"}
        Of the drawn columns. "expected" is the paper's deterministic form x′ = λx + (1 − λ) · mean, which protects
        nobody: whoever knows λ undoes it exactly.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({"sex": ["F", "M"], "vote": ["A", "B", "C"]}, strength=0.8)
    >>> design.strength, [channel.lam for channel in design.channels]
    (0.8, [0.514, 0.488])
    >>> best = lr.design({"sex": ["F", "M"], "vote": ["A", "B", "C"], "age": range(9)}, epsilon=4, workload=2)
    >>> best.epsilon, best.certificate.equal_epsilon / best.certificate.error
    (4.0, 1.212)
    >>> both, one = (lr.design({"sex": ["F", "M"], "vote": ["A", "B", "C"]}, epsilon=1, asked=m) for m in (2, 1))
    >>> [channel.lam for channel in both.channels], [channel.lam for channel in one.channels], one.epsilon
    ([0.245, 0.178], [0.462, 0.364], 1.0)
    """
    kept, over_individuals = listed(keep), listed(drawn)
    attributes, gaps = _attributes(
        source, columns=columns, keep=kept, missing=missing, public=listed(public_missing), drawn=over_individuals
    )
    lam, drawn_columns = _drawn(over_individuals, attributes, lam, method, missing, gaps, listed(public_missing))
    if not attributes:
        if not drawn_columns:
            msg = "a design must have at least one attribute"
            raise DesignError(msg)
        return Design((), (), kept, drawn=drawn_columns)
    check_asked(asked, len(attributes))
    for name, mapping in (("at_least", at_least), ("at_most", at_most), ("preserve", preserve), ("hide", hide)):
        if mapping is not None and not isinstance(mapping, Mapping):
            msg = f"{name} must be a mapping, got {type(mapping).__name__}; see lr.design"
            raise DesignError(msg)
    targets = {
        "lam": lam, "strength": strength, "bits": bits, "epsilon": epsilon, "truthfulness": truthfulness,
        "posterior": posterior,
    }  # fmt: skip
    given = {name: target for name, target in targets.items() if target is not None}
    priors = _priors(attributes, prior)
    if workload is None and not any((at_least, at_most, preserve, hide)):
        channels = _channels(attributes, given, priors, asked or len(attributes))
        return Design(attributes, channels, kept, asked, drawn=drawn_columns)
    if asked is not None:
        msg = "asked goes with plain targets; lr.compare_asked says how many to ask, before floors or a workload"
        raise DesignError(msg)
    demands = [
        *_wanted(attributes, given, priors),
        *_limits(attributes, "at least", at_least or {}, priors),
        *_limits(attributes, "at most", at_most or {}, priors),
        *_relations(attributes, "preserve", preserve or {}),
        *_relations(attributes, "hide", hide or {}),
    ]
    channels, certificate = _optimal(attributes, 2 if workload is None else workload, demands)
    return Design(attributes, channels, kept, certificate=certificate, drawn=drawn_columns)


# Attributes.


def _attributes(
    source: Any,
    *,
    columns: Iterable[str] | None,
    keep: tuple[str, ...],
    missing: str,
    public: tuple[str, ...],
    drawn: tuple[str, ...],
) -> tuple[tuple[Attribute, ...], set[str]]:
    """Return the attributes, and which of the drawn columns have missing values."""
    wanted = None if columns is None else listed(columns)
    if isinstance(source, Mapping):
        given = tuple(Attribute(name, categories) for name, categories in source.items())
    elif isinstance(source, Attribute):
        given = (source,)
    elif isinstance(source, list | tuple) and all(isinstance(item, Attribute) for item in source):
        given = tuple(source)
    else:
        return _found_attributes(open_source(source), wanted, keep=keep, missing=missing, public=public, drawn=drawn)
    if set(public) - set(drawn):
        msg = (
            "public_missing is for columns of a table; say it of an attribute: lr.Attribute(…, missing_is_public=True)"
        )
        raise DesignError(msg)
    names = [attribute.name for attribute in given]
    return given if wanted is None else tuple(given[_place(name, names)] for name in wanted), set()


def _found_attributes(
    source: Source,
    columns: tuple[str, ...] | None,
    *,
    keep: tuple[str, ...],
    missing: str,
    public: tuple[str, ...],
    drawn: tuple[str, ...],
) -> tuple[tuple[Attribute, ...], set[str]]:
    """Return an attribute per column, with the categories that the table holds; and drawn columns with gaps."""
    check_present((*(columns or ()), *keep, *drawn), source.names)
    others = {*keep, *drawn}
    names = [name for name in source.names if name not in others] if columns is None else list(columns)
    if not names and not drawn:
        msg = "no column is left to randomize; name columns, or keep fewer"
        raise DesignError(msg)
    for name in public:
        _place(name, [*names, *drawn])
    distinct: dict[str, pa.Array] = {}
    gaps: set[str] = set()
    rows = 0
    for batch in source.batches(list(dict.fromkeys([*names, *drawn]))):
        rows += batch.num_rows
        gaps |= {name for name in drawn if _has_gaps(batch.column(name), missing, as_text=source.as_text)}
        for name in names:
            declared = has_declared_order(source.schema.field(name))
            distinct[name] = _union(name, distinct.get(name), batch.column(name), declared=declared)
    if not rows:
        msg = "the table has no rows, so its categories are not known; give the attributes instead"
        raise DataError(msg)
    for name, values in distinct.items():
        if _FEW < len(values) <= MAX_SIZE and len(values) > _ALMOST * rows:
            msg = (
                f"column {name!r} is different in almost every row, and a design publishes its categories; keep or "
                "drop it, choose the columns to randomize, or group its values first"
            )
            raise DesignError(msg)
    return tuple(_attribute(name, values, source, missing, name in public) for name, values in distinct.items()), gaps


def _has_gaps(column: pa.Array, missing: str, *, as_text: bool) -> bool:
    return bool(column.null_count or (as_text and pc.any(pc.equal(column, missing)).as_py()))


def _drawn(
    names: tuple[str, ...],
    attributes: tuple[Attribute, ...],
    lam: Target | None,
    method: Method,
    missing: str,
    gaps: set[str],
    public: tuple[str, ...],
) -> tuple[Target | None, tuple[Drawn, ...]]:
    """Return what of ``lam`` is left for the attributes, and the drawn columns."""
    if not names:
        if method != "drawn":
            msg = f"method {method!r} is of drawn columns, and none are named; name them: drawn=['income']"
            raise DesignError(msg)
        return lam, ()
    own = lam if isinstance(lam, Mapping) else dict.fromkeys(names, lam)
    found = []
    for name in names:
        rate = own.get(name)
        if rate is None:
            msg = (
                f"drawn column {name!r} needs lam: its categories are the individuals of the file, so strength, bits "
                f"and the like are not known before; give lam={{{name!r}: 0.8}}, beside any target of the others"
            )
            raise DesignError(msg)
        # what is declared holds for other files too, whether or not this one has a missing value
        text = missing if name in gaps or name in public else None
        found.append(Drawn.with_keep_rate(name, rate, method=method, missing=text, missing_is_public=name in public))
    if not isinstance(lam, Mapping):
        return lam, tuple(found)
    rest = {name: value for name, value in lam.items() if name not in names}
    if rest and not attributes:
        _place(next(iter(rest)), list(names))
    return rest or None, tuple(found)


def _union(name: str, known: pa.Array | None, column: pa.Array, *, declared: bool) -> pa.Array:
    if declared:  # observed or not, in their declared order
        fresh = comparable(name, column.dictionary)
        if column.null_count:
            fresh = pa.concat_arrays([fresh, pa.nulls(1, fresh.type)])
    elif pa.types.is_dictionary(column.type):  # only what is there: a dictionary may hold texts of records long gone
        fresh = comparable(name, column.unique().dictionary_decode())
    else:
        fresh = comparable(name, column).unique()
    values = fresh if known is None else pa.concat_arrays([known, fresh]).unique()
    if len(values) > MAX_SIZE + 1:
        msg = (
            f"column {name!r} has more than {MAX_SIZE:,} different values; keep or drop it, choose the columns to "
            "randomize, or group its values first"
        )
        raise DesignError(msg)
    return values


def _attribute(name: str, values: pa.Array, source: Source, missing: str, public: bool) -> Attribute:
    try:
        found: list[Category] = values.drop_null().to_pylist()
    except UnicodeDecodeError:
        msg = f"column {name!r} holds text that is not UTF-8; write it again in that encoding"
        raise DataError(msg) from None
    # what is declared holds for other files too, whether or not this one has a missing value
    has_missing = public or values.null_count > 0 or (source.as_text and missing in found)
    if source.as_text:
        found = _read_text(name, [str(text) for text in found if text != missing])
    if not has_declared_order(source.schema.field(name)):
        found.sort()
    if not found:
        msg = f"column {name!r} holds no value; leave it out of the design"
        raise DesignError(msg)
    try:
        return Attribute(name, found, missing if has_missing else None, missing_is_public=public)
    except DesignError as error:
        if len(found) + (has_missing and not public) > 1:
            raise
        msg = f"{error}; give its categories by hand, or keep or drop the column"
        raise DesignError(msg) from None


def _read_text(name: str, texts: list[str]) -> list[Category]:
    """Return texts as integers or booleans if every one of them is exactly how such a value is written."""
    if len(texts) > _FEW and all(_NUMBER.fullmatch(text) for text in texts) and any("." in text for text in texts):
        msg = f"column {name!r} holds decimal numbers; group them into classes, or leave the column out of the design"
        raise DataError(msg)
    if set(texts) <= {"true", "false"}:
        return [text == "true" for text in texts]
    try:
        numbers = [int(text) for text in texts]
    except ValueError:
        return [*texts]
    exact = all(str(number) == text and abs(number) < 2**63 for number, text in zip(numbers, texts, strict=True))
    return [*numbers] if exact else [*texts]


# Channels.


def _channels(
    attributes: tuple[Attribute, ...], targets: dict[str, Target], priors: dict[str, Any], asked: int
) -> tuple[Channel, ...]:
    if not targets:
        msg = "a design needs a target: lam, strength, bits, epsilon, truthfulness or posterior"
        raise DesignError(msg)
    names = [attribute.name for attribute in attributes]
    shares: dict[str, tuple[str, float]] = {}
    for kind, target in targets.items():
        if isinstance(target, Mapping):
            for name in target:
                _place(name, names)
            spread = dict(target)
        elif len(targets) > 1:
            msg = f"targets must be one number, or mappings that share the attributes; got {' and '.join(targets)}"
            raise DesignError(msg)
        else:
            spread = _SPREAD[kind](attributes, target, asked)
        for name, value in spread.items():
            if name in shares:
                msg = f"attribute {name!r} has two targets, {shares[name][0]} and {kind}; give it one"
                raise DesignError(msg)
            shares[name] = (kind, value)
    for name in names:
        if name not in shares:
            msg = f"attribute {name!r} has no target; give it one, or leave it out of the design"
            raise DesignError(msg)
    return tuple(_channel(attribute, *shares[attribute.name], priors) for attribute in attributes)


def _channel(attribute: Attribute, kind: str, value: float, priors: dict[str, Any]) -> Channel:
    make: dict[str, Callable[[int, float], Channel]] = {
        "lam": Channel,
        "strength": Channel.from_strength,
        "bits": Channel.from_bits,
        "epsilon": Channel.from_epsilon,
        "truthfulness": Channel.from_truthfulness,
        "posterior": lambda size, value: Channel.from_posterior(size, value, priors.get(attribute.name)),
    }
    try:
        return make[kind](attribute.size, value)
    except DesignError as error:
        msg = f"attribute {attribute.name!r}: {error}"
        raise DesignError(msg) from None


def _same(attributes: tuple[Attribute, ...], value: float, asked: int) -> dict[str, float]:
    return {attribute.name: value for attribute in attributes}


def _bits_by_size(attributes: tuple[Attribute, ...], bits: float, asked: int) -> dict[str, float]:
    available = math.fsum(math.log2(attribute.size) for attribute in attributes) * (asked / len(attributes))
    if not is_number(bits) or not 0 <= bits < available:  # also catches nan
        msg = (
            f"bits must be in [0, {available:.6g}), got {bits!r}; what is asked holds Σ log₂ r = {available:.6g} bits, "
            "reached only by λ = 0"
        )
        raise DesignError(msg)
    return {attribute.name: math.log2(attribute.size) * (bits / available) for attribute in attributes}


def _epsilon_in_parts(attributes: tuple[Attribute, ...], epsilon: float, asked: int) -> dict[str, float]:
    if not is_number(epsilon) or not 0 < epsilon < math.inf:  # also catches nan
        msg = f"epsilon must be a positive number, got {epsilon!r}; ε = 0 needs λ = 0, which reports nothing"
        raise DesignError(msg)
    return _same(attributes, epsilon / asked, asked)


_SPREAD: dict[str, Callable[[tuple[Attribute, ...], float, int], dict[str, float]]] = {
    "lam": _same,
    "strength": _same,
    "bits": _bits_by_size,
    "epsilon": _epsilon_in_parts,
    "truthfulness": _same,
    "posterior": _same,
}


# Demands.


def _priors(attributes: tuple[Attribute, ...], prior: Mapping[str, Prior] | None) -> dict[str, Any]:
    names = [attribute.name for attribute in attributes]
    if prior is not None and not isinstance(prior, Mapping):
        msg = f"prior must be a mapping from attribute to probabilities, got {type(prior).__name__}"
        raise DesignError(msg)
    return {name: probabilities_of(attributes[_place(name, names)], given) for name, given in (prior or {}).items()}


def _wanted(attributes: tuple[Attribute, ...], targets: dict[str, Target], priors: dict[str, Any]) -> list[Demand]:
    """Return the targets as demands: a joint ε, bits or strength is a budget, others are for each attribute."""
    demands: list[Demand] = []
    capacity = math.fsum(math.log2(attribute.size) for attribute in attributes)
    for kind, target in targets.items():
        if isinstance(target, Mapping) or kind in ("lam", "truthfulness", "posterior"):
            demands += _limits(attributes, "=", {kind: target}, priors)
            continue
        _SPREAD[kind](attributes, target, len(attributes))  # which checks it
        if any(isinstance(demand, Budget) for demand in demands):
            msg = f"there can be one joint budget, got {' and '.join(targets)}; give others for each attribute"
            raise DesignError(msg)
        if kind == "strength":
            _channel(attributes[0], kind, target, priors)
        demands.append(Budget("epsilon", target) if kind == "epsilon" else
                       Budget("bits", target * capacity if kind == "strength" else target))  # fmt: skip
    return demands


_RISING = ("lam", "epsilon", "truthfulness", "posterior")
"""Measures that grow with λ; strength and bits fall."""


def _limits(
    attributes: tuple[Attribute, ...], how: str, limits: Mapping[str, Target], priors: dict[str, Any]
) -> list[Demand]:
    """Return floors, ceilings or fixed values of measures as demands on λ."""
    names = [attribute.name for attribute in attributes]
    demands: list[Demand] = []
    for kind, target in limits.items():
        if kind not in _SPREAD:
            msg = f"{how.replace(' ', '_')} must be about {', '.join(_SPREAD)}, got {kind!r}"
            raise DesignError(msg)
        each = target if isinstance(target, Mapping) else dict.fromkeys(names, target)
        for name, value in each.items():
            place = _place(name, names)
            lam = _channel(attributes[place], kind, value, priors).lam
            floor = how == "=" or (how == "at least") == (kind in _RISING)
            ceiling = how == "=" or not floor
            demands.append(
                Bound(place, lam if floor else 0.0, lam if ceiling else 1.0, f"{kind} of {name} {how} {value:g}")
            )
    return demands


def _relations(attributes: tuple[Attribute, ...], how: str, relations: Mapping[tuple[str, str], float]) -> list[Demand]:
    names = [attribute.name for attribute in attributes]
    demands: list[Demand] = []
    for pair, part in relations.items():
        if isinstance(pair, str) or len(pair) != 2 or len(set(pair)) < 2 or not is_number(part) or not 0 < part <= 1:
            msg = f"{how} must map pairs of attributes to the part of their covariance that is left, in (0, 1]"
            raise DesignError(msg)
        first, second = (_place(name, names) for name in pair)
        demands.append(Relation(first, second, float(part), how == "preserve", f"{how} {part:g} of {' × '.join(pair)}"))
    return demands


def _optimal(
    attributes: tuple[Attribute, ...], workload: Any, demands: list[Demand]
) -> tuple[tuple[Channel, ...], Certificate]:
    """Return the channels that are best for a workload under the demands."""
    names = [attribute.name for attribute in attributes]
    tables = workload_of(workload, names)
    needed = {place for table in tables for place in table}
    for demand in demands:
        needed |= {demand.attribute} if isinstance(demand, Bound) and demand.at_least > 0 else set()
        needed |= {demand.first, demand.second} if isinstance(demand, Relation) and demand.preserved else set()
    if forgotten := [name for place, name in enumerate(names) if place not in needed]:
        msg = (
            f"{forgotten[0]!r} is in no table of the workload, so its answers would be erased for the others' sake; "
            "leave it out of the design, name a table with it, or give it a floor"
        )
        raise DesignError(msg)
    problem = Problem([attribute.size for attribute in attributes], tables, demands)
    lams, certificate = problem.solve()
    fixed = {demand.attribute for demand in demands if isinstance(demand, Bound) and demand.at_most < 1}
    for place, lam in enumerate(lams):
        if lam > 1 - 1e-6 and place not in fixed and not any(isinstance(demand, Budget) for demand in demands):
            msg = f"nothing keeps {names[place]!r} from λ = 1; give a joint epsilon, bits or strength, or a ceiling"
            raise DesignError(msg)
    return tuple(
        Channel(attribute.size, float(lam), rounding="private") for attribute, lam in zip(attributes, lams, strict=True)
    ), certificate


def _place(name: str, names: list[str]) -> int:
    if name not in names:
        msg = f"there is no column or attribute {name!r}; there are: {', '.join(names)}"
        raise DesignError(msg)
    return names.index(name)
