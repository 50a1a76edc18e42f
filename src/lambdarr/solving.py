"""Targets → λ's: making a design from a table's columns and what is asked of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lambdarr.channel import WORDS, Channel, is_number, smallest_keep_rate
from lambdarr.conditions import probabilities_of
from lambdarr.designs import Design, check_asked, listed, share_asked_all
from lambdarr.domain import Attribute
from lambdarr.drawing import drawn_columns
from lambdarr.errors import DesignError
from lambdarr.finding import attributes_in, place_of
from lambdarr.optimizing import Bound, Budget, Problem, Relation, workload_of
from lambdarr.redrawing import checked_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lambdarr.binning import Binning
    from lambdarr.conditions import Prior
    from lambdarr.drawing import Method
    from lambdarr.finding import Found
    from lambdarr.numeric import Numeric
    from lambdarr.optimizing import Certificate, Demand

Target = float | Mapping[str, float]


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
    asked: int | str | None = None,
    numeric: Iterable[Numeric] = (),
    respondents: int | None = None,
    public_bounds: bool = False,
    drawn: Iterable[str] = (),
    method: Method = "drawn",
) -> Design:
    """Return a design: the attributes of a source, and the λ's that meet a target.

    Parameters
    ----------
    source : table, path, or attributes
        A table or file whose columns become attributes with the categories found in them; or the attributes
        themselves, as ``Attribute`` or ``Numeric`` objects or as a mapping from name to categories.
    lam, strength, bits, epsilon : number or mapping
        The target, one of these or the next two. A number is for the joint: the same λ for all; the same strength β for
        all, which is then the joint's; bits in proportion to log₂ r; ε in equal parts. A mapping gives each attribute
        its own, and several mappings may share the attributes among them. A solved λ is rounded to the private side.
    truthfulness, posterior : number or mapping
        Likewise, for each attribute: the chance that a report is the truth; and the highest probability of any truth
        that a report may leave an observer with, who had the ``prior``.
    prior : mapping, optional
        What such an observer believes before: attribute → probabilities, in the categories' order or as a mapping from
        category. Attributes that are not named are uniform. It goes with a posterior, as a target or in the demands.
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
    asked : int or "auto", optional
        How many of the attributes each respondent answers, drawn at random; all by default. A joint ε is then spread
        over as many, which allows a larger λ. Joint bits are those of the answers that are given, on average. With a
        workload and a joint ε, "auto" asks as many as make its error least, and the ``certificate`` has the others'.
    numeric : iterable of Numeric
        Columns that hold numbers, dates or durations, with their public bounds.
    respondents : int, optional
        How many people will answer; numerical attributes with ``bins="auto"`` have as many bins as suit them. By
        default the number of rows of the table.
    public_bounds : bool
        Whether the lowest and the highest value of the table may be published, where a numerical attribute has no
        bounds.
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
    (4.0, 1.214)
    >>> both, one = (lr.design({"sex": ["F", "M"], "vote": ["A", "B", "C"]}, epsilon=1, asked=m) for m in (2, 1))
    >>> [channel.lam for channel in both.channels], [channel.lam for channel in one.channels], one.epsilon
    ([0.245, 0.178], [0.462, 0.364], 1.0)
    >>> few = lr.design({name: range(4) for name in "abcdef"}, epsilon=1, workload=1, asked="auto")
    >>> few.asked, few.certificate.by_asked[6] / few.certificate.by_asked[1]
    (1, 7.999)
    """
    kept, over_individuals, public = listed(keep), listed(drawn), listed(public_missing)
    found = attributes_in(
        source,
        numeric=numeric,
        drawn=over_individuals,
        columns=columns,
        keep=kept,
        missing=missing,
        public_missing=public,
        public_bounds=public_bounds,
    )
    names = [attribute.name for attribute in found.attributes]
    missing_in = {name: missing for name in over_individuals if name in found.gaps or name in public}
    lam, columns_drawn = drawn_columns(over_individuals, lam, method, missing_in, public, attributes=names)
    if found.drawn:
        checked_columns(found.drawn, columns_drawn, is_text=found.as_text)
    if not found.attributes:
        if not columns_drawn:
            msg = "a design must have at least one attribute"
            raise DesignError(msg)
        return Design((), (), kept, drawn=columns_drawn)
    if asked != "auto":
        check_asked(asked, len(found.attributes))
    for name, mapping in (("at_least", at_least), ("at_most", at_most), ("preserve", preserve), ("hide", hide)):
        if mapping is not None and not isinstance(mapping, Mapping):
            msg = f"{name} must be a mapping, got {type(mapping).__name__}; see lr.design"
            raise DesignError(msg)
    targets = {
        "lam": lam, "strength": strength, "bits": bits, "epsilon": epsilon, "truthfulness": truthfulness,
        "posterior": posterior,
    }  # fmt: skip
    given = {name: target for name, target in targets.items() if target is not None}
    answered = asked if isinstance(asked, int) else len(found.attributes)
    attributes, binnings = _settled(found, given, answered, respondents)
    priors = _priors(attributes, prior)
    _check_priors(priors, [limits.get("posterior") for limits in (given, at_least or {}, at_most or {})])
    if workload is None and asked == "auto":
        msg = "asked = auto needs a workload: the tables that will be wanted decide how many attributes to ask"
        raise DesignError(msg)
    if workload is None and not any((at_least, at_most, preserve, hide)):
        count = len(attributes) if asked is None else int(asked)
        return Design(
            attributes, _channels(attributes, given, priors, count), kept, count, binnings=binnings, drawn=columns_drawn
        )

    def demanded(asked: int, *, soft: bool) -> list[Demand]:
        return [
            *_wanted(attributes, given, priors, asked, soft=soft),
            *_limits(attributes, "at least", at_least or {}, priors, soft=soft),
            *_limits(attributes, "at most", at_most or {}, priors, soft=soft),
            *_relations(attributes, "preserve", preserve or {}),
            *_relations(attributes, "hide", hide or {}),
        ]

    tables = workload_of(2 if workload is None else workload, [attribute.name for attribute in attributes])

    def best(asked: int) -> Design:
        demands, softer = (demanded(asked, soft=soft) for soft in (False, True))
        try:
            channels, certificate = _optimal(attributes, tables, demands, asked)
        except DesignError:
            if softer == demands:
                raise
            # what leaves no room at all, such as a floor that is the ceiling, may fall between two points of the grid
            channels, certificate = _optimal(attributes, tables, softer, asked)
        if certificate is None and workload is not None:
            msg = (
                f"{' and '.join(given)} fixes every λ, so there is none to choose for a workload; leave one of them out"
            )
            raise DesignError(msg)
        return Design(
            attributes, channels, kept, asked, certificate=certificate, binnings=binnings, drawn=columns_drawn
        )

    if asked != "auto":
        return best(len(attributes) if asked is None else int(asked))
    if epsilon is None or isinstance(epsilon, Mapping):
        msg = "asked = auto needs a joint epsilon: fewer answers are worth more because they share it"
        raise DesignError(msg)
    return _best_asked(best, max(map(len, tables)), len(attributes))


def _best_asked(best: Callable[[int], Design], fewest: int, count: int) -> Design:
    """Return the best of the best designs for every number of attributes that can be asked."""
    found: dict[int, Design] = {}
    for asked in range(fewest, count + 1):
        try:
            found[asked] = best(asked)
        except DesignError:
            if not found:  # those who answer more have less of ε for each answer, so no more can be met
                raise
            break
    certificates = {asked: made.certificate for asked, made in found.items() if made.certificate is not None}
    errors = {asked: certificate.error for asked, certificate in certificates.items()}
    chosen = min(reversed(errors), key=errors.__getitem__)  # of equals the one that asks most
    return replace(found[chosen], certificate=replace(certificates[chosen], by_asked=errors))


# Numerical attributes.


def _settled(
    found: Found, targets: dict[str, Target], asked: int, respondents: int | None
) -> tuple[tuple[Attribute, ...], tuple[Binning, ...]]:
    """Return the attributes, the numerical ones with bins that suit their targets, and why these were chosen."""
    if respondents is not None and (isinstance(respondents, bool) or not is_number(respondents) or respondents < 1):
        msg = f"respondents must be a whole number from 1, got {respondents!r}"
        raise DesignError(msg)
    people = found.rows if respondents is None else int(respondents)
    if people is not None:  # of those who are asked
        people = max(people * asked // max(len(found.attributes), 1), 1)
    attributes: list[Attribute] = []
    binnings: list[Binning] = []
    for item in found.attributes:
        if isinstance(item, Attribute):
            attributes.append(item)
            continue
        scale = None
        if item.bins == "auto" and item.edges is None:
            if people is None:
                msg = (
                    f"bins='auto' of numerical attribute {item.name!r} needs to know how many people will answer: give "
                    "respondents (--respondents), or a number of bins"
                )
                raise DesignError(msg)
            from lambdarr.binning import chosen

            kind, value = _own_target(item.name, targets, asked)
            binnings.append(chosen(item, functools.partial(_sized, item.name, kind, value), people))
            scale = binnings[-1].scale
        attributes.append(
            Attribute.on(item.name, scale or item.scale(), item.missing, missing_is_public=item.missing_is_public)
        )
    return tuple(attributes), tuple(binnings)


def _own_target(name: str, targets: dict[str, Target], asked: int) -> tuple[str, float]:
    """Return the kind of target that an attribute has, and its part of it, before its size is known."""
    for kind, target in targets.items():
        if isinstance(target, Mapping):
            if name in target:
                return kind, target[name]
        elif kind == "epsilon" and is_number(target):
            return kind, target / asked
        elif kind != "bits":
            return kind, target
    msg = (
        f"bins='auto' of numerical attribute {name!r} needs a target of its own, or a joint lam, strength, epsilon or "
        "truthfulness; give one, or a number of bins"
    )
    raise DesignError(msg)


def _sized(name: str, kind: str, value: float, size: int) -> Channel:
    """Return the channel that a target gives an attribute, if it has as many categories."""
    return _channel(name, size, kind, value, None)


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
                place_of(name, names)
            spread = dict(target)
        elif len(targets) > 1:
            msg = (
                f"a number is a target for all attributes and goes with no other one, got {' and '.join(targets)}; "
                f"give one of them, or each for attributes of its own{_with_workload(targets)}"
            )
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
    return tuple(_channel(a.name, a.size, *shares[a.name], priors.get(a.name)) for a in attributes)


def _with_workload(targets: dict[str, Target]) -> str:
    """Return that targets go together if there is a workload, where they do."""
    joint = [kind for kind, target in targets.items() if not isinstance(target, Mapping)]
    if len(joint) > 1 or joint[0] not in ("epsilon", "bits", "strength"):
        return ""
    others = " and ".join(kind for kind in targets if kind != joint[0])
    return f"; with a workload (--workload), {others} fixes some attributes and the others share {joint[0]}"


def _channel(name: str, size: int, kind: str, value: float, prior: Any) -> Channel:
    make: dict[str, Callable[[int, float], Channel]] = {
        "lam": Channel,
        "strength": Channel.from_strength,
        "bits": Channel.from_bits,
        "epsilon": Channel.from_epsilon,
        "truthfulness": Channel.from_truthfulness,
        "posterior": lambda size, value: Channel.from_posterior(size, value, prior),
    }
    try:
        return make[kind](size, value)
    except DesignError as error:
        msg = f"attribute {name!r}: {error}"
        raise DesignError(msg) from None


def _same(attributes: tuple[Attribute, ...], value: float, asked: int) -> dict[str, float]:
    return {attribute.name: value for attribute in attributes}


def _bits_by_size(attributes: tuple[Attribute, ...], bits: float, asked: int) -> dict[str, float]:
    available = math.fsum(math.log2(attribute.size) for attribute in attributes) * (asked / len(attributes))
    if not is_number(bits) or not 0 <= bits < available:  # also catches nan
        what = "the attributes hold" if asked == len(attributes) else f"{asked} of the attributes hold on average"
        msg = (
            f"bits must be in [0, {available:.6g}), got {bits!r}; {what} Σ log₂ r = {available:.6g} bits, reached only "
            "by λ = 0"
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
    return {name: probabilities_of(attributes[place_of(name, names)], given) for name, given in (prior or {}).items()}


def _check_priors(priors: dict[str, Any], posteriors: list[Target | None]) -> None:
    """Refuse beliefs that nothing is made of."""
    for name in priors:
        if not any(name in target if isinstance(target, Mapping) else target is not None for target in posteriors):
            msg = f"prior goes with posterior, and {name!r} has none; give it one, or leave its prior out"
            raise DesignError(msg)


def _wanted(
    attributes: tuple[Attribute, ...], targets: dict[str, Target], priors: dict[str, Any], asked: int, *, soft: bool
) -> list[Demand]:
    """Return the targets as demands: a joint ε, bits or strength is a budget, others are for each attribute."""
    demands: list[Demand] = []
    capacity = math.fsum(math.log2(attribute.size) for attribute in attributes)
    for kind, target in targets.items():
        if isinstance(target, Mapping) or kind in ("lam", "truthfulness", "posterior"):
            demands += _limits(attributes, "=", {kind: target}, priors, soft=soft)
            continue
        _SPREAD[kind](attributes, target, asked)  # which checks it
        if any(isinstance(demand, Budget) for demand in demands):
            msg = f"there can be one joint budget, got {' and '.join(targets)}; give others for each attribute"
            raise DesignError(msg)
        text = f"{kind} = {target:g}"
        if kind == "epsilon":
            demands.append(Budget(kind, target, text, asked if asked < len(attributes) else None))
        elif kind == "bits":  # those of the answers that are given, on average
            demands.append(Budget(kind, target * len(attributes) / asked, text))
        else:
            _channel(attributes[0].name, attributes[0].size, kind, target, None)
            demands.append(Budget("bits", target * capacity, text))
    return demands


_RISING = ("lam", "epsilon", "truthfulness", "posterior")
"""Measures that grow with λ; strength and bits fall."""


def _limits(
    attributes: tuple[Attribute, ...], how: str, limits: Mapping[str, Target], priors: dict[str, Any], *, soft: bool
) -> list[Demand]:
    """Return floors, ceilings or fixed values of measures as demands on λ, which are points of the sampler's grid.

    Ceilings are moved down to it and floors up, so that what is demanded holds for the λ that is run. Soft ones are all
    moved down, if that is next to nothing.
    """
    names = [attribute.name for attribute in attributes]
    demands: list[Demand] = []
    for kind, target in limits.items():
        if kind not in _SPREAD:
            msg = f"there is no measure {kind!r} to be {how} a number; there are: {', '.join(_SPREAD)}"
            raise DesignError(msg)
        each = target if isinstance(target, Mapping) else dict.fromkeys(names, target)
        for name, value in each.items():
            place = place_of(name, names)
            floor = how == "=" or (how == "at least") == (kind in _RISING)
            ceiling = how == "=" or not floor
            channel = _channel(name, attributes[place].size, kind, value, priors.get(name))
            down = _below(name, channel, kind, value, ceiling=not floor)
            if not floor or (soft and channel.size / WORDS < _NEXT_TO_NOTHING * down.lam):
                channel = down
            elif not ceiling:
                channel = _above(down, kind, value, priors.get(name))
            lam = channel.lam
            demands.append(
                Bound(place, lam if floor else 0.0, lam if ceiling else 1.0, f"{kind} of {name} {how} {value:g}")
            )
    return demands


_NEXT_TO_NOTHING = 1e-6
"""Which part of λ a step of the grid may be, for a floor to give way to what else is demanded."""


def _below(name: str, channel: Channel, kind: str, value: float, *, ceiling: bool) -> Channel:
    """Return the channel of the largest λ that a ceiling allows; other measures than λ were solved for it already."""
    if kind != "lam":
        return channel
    least = smallest_keep_rate(channel.size)
    if ceiling and value < least:
        msg = (
            f"lam of {name} at most {value:g} cannot be met: the smallest keep rate of {channel.size:,} categories is "
            f"{least:.3g}; raise the ceiling, or group categories"
        )
        raise DesignError(msg)
    return Channel(channel.size, max(value, least), rounding="private")


def _above(down: Channel, kind: str, value: float, prior: Any) -> Channel:
    """Return the channel of the smallest λ that a floor allows: the one below it, if it is on the grid, or the next."""
    if kind == "posterior":
        pi = [1 / down.size] * down.size if prior is None else prior
        reached = down.worst_posterior(pi)
    else:
        reached = getattr(down, kind)
    met = reached >= value if kind in _RISING else reached <= value
    return down if met else Channel(down.size, min(1.0, down.lam + down.size / WORDS))


def _relations(attributes: tuple[Attribute, ...], how: str, relations: Mapping[tuple[str, str], float]) -> list[Demand]:
    names = [attribute.name for attribute in attributes]
    demands: list[Demand] = []
    for pair, part in relations.items():
        if isinstance(pair, str) or len(pair) != 2 or len(set(pair)) < 2 or not is_number(part) or not 0 < part <= 1:
            msg = f"{how} must name two attributes, and the part of their covariance that is left, in (0, 1]"
            raise DesignError(msg)
        first, second = (place_of(name, names) for name in pair)
        demands.append(Relation(first, second, float(part), how == "preserve", f"{how} {part:g} of {' × '.join(pair)}"))
    return demands


def _optimal(
    attributes: tuple[Attribute, ...], tables: Mapping[tuple[int, ...], float], demands: list[Demand], asked: int
) -> tuple[tuple[Channel, ...], Certificate | None]:
    """Return the channels that are best for a workload under the demands; no certificate if they leave no choice."""
    names = [attribute.name for attribute in attributes]
    if (largest := max(map(len, tables))) > asked:
        msg = (
            f"the workload has tables of {largest} attributes, and each respondent answers {asked}: nobody would have "
            "answered all of such a table; ask more, or want smaller tables"
        )
        raise DesignError(msg)
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
    weights = {table: weight / share_asked_all(len(table), asked, len(names)) for table, weight in tables.items()}
    problem = Problem([attribute.size for attribute in attributes], weights, demands)
    lams, certificate = problem.solve()
    bounds = [demand for demand in demands if isinstance(demand, Bound)]
    bounded = {bound.attribute for bound in bounds if bound.at_most < 1}
    for place, lam in enumerate(lams):
        if lam > 1 - 1e-6 and place not in bounded and not any(isinstance(demand, Budget) for demand in demands):
            msg = f"nothing keeps {names[place]!r} from λ = 1; give a joint epsilon, bits or strength, or a ceiling"
            raise DesignError(msg)
    channels = tuple(
        _rounded(attribute.size, float(lam), place, bounds)
        for place, (attribute, lam) in enumerate(zip(attributes, lams, strict=True))
    )
    if len({bound.attribute for bound in bounds if bound.at_least == bound.at_most}) == len(names):
        return channels, None
    # the grid may be coarse, and the error is that of the λ's that will be run
    return channels, replace(certificate, error=problem.error([channel.lam for channel in channels]))


def _rounded(size: int, lam: float, place: int, bounds: Sequence[Bound]) -> Channel:
    """Return the channel of a λ moved down to the grid; a solver's may be a hair beyond its bounds, which are on it."""
    own = [bound for bound in bounds if bound.attribute == place]
    low = max((bound.at_least for bound in own), default=0.0)
    high = min((bound.at_most for bound in own), default=1.0)
    return Channel(size, max(min(max(lam, low), high), smallest_keep_rate(size)), rounding="private")
