"""Before the survey: how precise an answer will be, how many people it takes, and how much protection that allows.

Every variance here is exact for the people it supposes, so it can be known before anyone is asked. By default these are
spread evenly over all categories; an expected table, or an estimate from an earlier survey, can be given instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lambdarr import kronecker
from lambdarr.channel import Channel, is_number
from lambdarr.conditions import product_of, scores_of, worth
from lambdarr.designs import Design, check_design, check_together, listed
from lambdarr.errors import DataError, DesignError
from lambdarr.expecting import expected_errors
from lambdarr.intervals import deviations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.conditions import Condition, Product

    Floats = NDArray[np.float64]

MOST_CELLS = 1 << 20
"""Cells of a table that people may be expected in."""

STRONGEST = 1 - 1e-9
"""Strength β up to which protection is looked for; λ is then some hundred-thousandths."""

READABLE = 0.25
"""Expected total-variation error from which a table is mostly noise."""


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """How precise an answer will be.

    Parameters
    ----------
    design : Design
        The design it is for.
    n : int
        Number of respondents.
    margin : float
        Half of the confidence interval's width: of the widest cell, for a table.
    level : float
        The interval's level.
    question : Question
        What the margin is for.
    expected_given : bool
        Whether it is for people that were expected, or for people spread evenly over all categories.
    """

    design: Design
    n: int
    margin: float
    level: float
    question: Question
    expected_given: bool = False

    def __str__(self) -> str:
        people = "1 respondent" if self.n == 1 else f"{self.n:,} respondents"
        nothing = ", which tells nothing" if self.margin >= self.question.range else ""
        spread = "the people expected" if self.expected_given else "people spread evenly over all categories"
        return (
            f"{people}: {self.question} ± {self.margin:.4g}{nothing} (half of a {100 * self.level:.6g} % interval, for "
            f"{spread})"
        )

    def __repr__(self) -> str:
        return f"<Plan: {self}>"

    def _repr_html_(self) -> str:
        from lambdarr.reporting.notebooks import plan_html

        return plan_html(self)


@dataclass(frozen=True, slots=True)
class Question:
    """What will be asked: a table, a share, a difference of shares, or a correlation.

    Parameters
    ----------
    table : tuple of str
        The attributes of a table.
    condition, given, versus : mapping, optional
        As for ``lambdarr.query``.
    correlate : tuple of str
        Two attributes with scores.
    scores : mapping, optional
        Numbers of their categories, as for ``lambdarr.correlate``.
    """

    table: tuple[str, ...] = ()
    condition: Condition | None = None
    given: Condition | None = None
    versus: Condition | None = None
    correlate: tuple[str, ...] = ()
    scores: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        if self.table:
            return f"the widest cell of {' × '.join(self.table)}"
        if self.correlate:
            return f"the correlation of {' and '.join(self.correlate)}"
        among = f" among {_spelled(self.given)}" if self.given else ""
        less = f" less that among {_spelled(self.versus)}" if self.versus else ""
        return f"the share with {_spelled(self.condition or {})}{among}{less}"

    @property
    def range(self) -> float:
        """From the least to the largest answer that is possible: 1 of a share, 2 of a difference or a correlation."""
        if any(isinstance(wanted, Mapping) for wanted in (self.condition or {}).values()):
            return math.inf  # a mean of scores
        return 2.0 if self.versus is not None or self.correlate else 1.0

    def variance(self, design: Design, expected: ArrayLike | None) -> float:
        """Return n times the variance of the answer; of the widest cell, for a table."""
        names = self._names()
        part = design.select(names)
        check_together(part)
        return self._of_those_asked(part, _expected(part, expected)) / design.share_asked_all(len(names))

    def _of_those_asked(self, part: Design, pi: Floats) -> float:
        """Return n times the variance, n the number of those who have all attributes of the question."""
        if self.table:
            second = kronecker.solve_squared(part.channels, kronecker.apply(part.channels, pi))
            return float((second - pi**2).max())
        if self.correlate:
            return _of_correlation(part, pi, self.scores or {})
        functions = [product_of(part, self.condition, self.given), product_of(part, self.given)]
        if self.versus is not None:
            functions += [product_of(part, self.condition, self.versus), product_of(part, self.versus)]
        means = [float((pi * _over(part, function)).sum()) for function in functions]
        if min(means[1::2]) <= 0:
            msg = "nobody is expected in a group that is asked about; expect other people, or ask about a larger group"
            raise DataError(msg)
        weights = []
        for sign, top, bottom in zip((1, -1), means[::2], means[1::2], strict=False):
            weights += [sign / bottom, -sign * top / bottom**2]
        reported = kronecker.apply(part.channels, pi)
        influence = sum(
            weight * _over(part, worth(part.by_name, function))
            for weight, function in zip(weights, functions, strict=True)
        )
        return float((reported * np.asarray(influence) ** 2).sum())

    def _names(self) -> list[str]:
        asked = [bool(self.table), self.condition is not None, bool(self.correlate)]
        if sum(asked) != 1:
            msg = "ask about one thing: a table, a condition, or two attributes to correlate"
            raise DataError(msg)
        if self.condition is None and (self.given is not None or self.versus is not None):
            msg = "given and versus go with a condition"
            raise DataError(msg)
        if self.versus is not None and self.given is None:
            msg = "versus needs given: the two groups to compare"
            raise DataError(msg)
        if twice := [name for name in self.table if self.table.count(name) > 1]:
            msg = f"attribute {twice[0]!r} is in the table twice; name it once"
            raise DataError(msg)
        if self.correlate and len(set(self.correlate)) != 2:
            msg = "correlate must name two attributes"
            raise DataError(msg)
        if other := [name for name in self.scores or {} if name not in self.correlate]:
            msg = f"scores are for the two attributes to correlate, and {other[0]!r} is not one of them"
            raise DataError(msg)
        conditions = (self.condition, self.given, self.versus)
        named = [name for condition in conditions if isinstance(condition, Mapping) for name in condition]
        return list(dict.fromkeys([*self.table, *self.correlate, *named]))


def plan(
    design: Design,
    *,
    n: int | None = None,
    margin: float | None = None,
    table: Iterable[str] = (),
    condition: Condition | None = None,
    given: Condition | None = None,
    versus: Condition | None = None,
    correlate: Sequence[str] = (),
    scores: Mapping[str, Any] | None = None,
    expected: ArrayLike | None = None,
    level: float = 0.95,
) -> Plan:
    """Return how precise an answer will be, how many respondents it takes, or how much protection both allow.

    Parameters
    ----------
    design : Design
        The design; with both ``n`` and ``margin``, its attributes are taken and its λ's found anew.
    n : int, optional
        Number of respondents.
    margin : float, optional
        The wanted margin of error: half of the confidence interval. With ``n`` it is found; without, it says how many
        respondents are needed; with both, the plan's design is the strongest that still keeps the margin, with one
        strength for all attributes of the question.
    table : iterable of str, optional
        The attributes of a table; its margin is that of the widest cell.
    condition, given, versus : mapping, optional
        A share, a conditional share or a difference of shares, as for ``lambdarr.query``.
    correlate : sequence of str, optional
        Two attributes, for the correlation of their scores: integers, booleans, or two categories as 0 and 1.
    scores : mapping, optional
        Attribute to correlate → numbers of its categories, as for ``lambdarr.correlate``.
    expected : array, optional
        The people that are expected: a table of the attributes in the question, in the order they are named there. By
        default they are spread evenly.
    level : float
        Level of the interval.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({"sex": ["F", "M"], "smokes": ["no", "yes"]}, lam=0.6)
    >>> print(lr.plan(design, n=5_000, condition={"smokes": "yes"}))
    5,000 respondents: the share with smokes = yes ± 0.0231 (half of a 95 % interval, for people spread evenly ...)
    >>> lr.plan(design, margin=0.03, condition={"smokes": "yes"}, given={"sex": "F"}, versus={"sex": "M"}).n
    32935
    """
    check_design(design)
    question = Question(listed(table), condition, given, versus, listed(correlate), scores)
    z = deviations(level)
    if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
        msg = f"n must be a whole number of respondents, got {n!r}"
        raise DataError(msg)
    if margin is not None and (not is_number(margin) or not margin > 0):
        msg = f"margin must be a positive number, got {margin!r}"
        raise DataError(msg)
    if n is None and margin is None:
        msg = "give n to find the margin, margin to find n, or both to find the protection"
        raise DataError(msg)
    if n is not None and margin is not None:
        design = _strongest(design, question, expected, int(n), margin / z)
    variance = question.variance(design, expected)
    if n is None:
        n = math.ceil(variance * (z / float(margin or 1)) ** 2)
    return Plan(design, int(n), z * math.sqrt(variance / n), level, question, expected is not None)


def _strongest(design: Design, question: Question, expected: ArrayLike | None, n: int, error: float) -> Design:
    """Return the design of the largest strength, the same for all attributes asked about, whose error will do."""
    names = question._names()

    def at(strength: float) -> Design:
        channels = tuple(
            Channel.from_strength(channel.size, strength) if name in names else channel
            for name, channel in zip(design.names, design.channels, strict=True)
        )
        return Design(design.attributes, channels, design.kept, design.asked)

    if question.variance(at(0.0), expected) > n * error**2:
        msg = f"not even λ = 1 keeps this margin with {n:,} respondents; ask more of them, or allow a wider one"
        raise DesignError(msg)
    low, high = 0.0, STRONGEST
    if question.variance(at(high), expected) <= n * error**2:
        lams = ", ".join(f"{name} {channel.lam:.1g}" for name, channel in at(high).by_name.items() if name in names)
        msg = f"with {n:,} respondents even λ's that hide all but everything keep this margin ({lams}); narrow it"
        raise DesignError(msg)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if question.variance(at(middle), expected) <= n * error**2 else (low, middle)
    return at(low)


def readable_order(design: Design, n: int, *, error: float = READABLE) -> int:
    """Return the highest order of tables, all of which are expected to be readable by the exact inverse; 0 if none.

    A table is readable if its expected total-variation error is below ``error``, for people spread evenly: theory,
    eq. (22).

    Examples
    --------
    >>> import lambdarr as lr
    >>> lr.readable_order(lr.design({"a": range(4), "b": range(4), "c": range(4)}, lam=0.5), 5_000)
    2
    """
    check_design(design)
    if not is_number(n) or not is_number(error):
        msg = f"n and error must be numbers, got {n!r} and {error!r}"
        raise DataError(msg)
    orders = expected_errors(design, n, most=len(design.names))
    return sum(1 for _ in itertools.takewhile(lambda order: order.worst < error, orders))


def _expected(part: Design, expected: ArrayLike | None) -> Floats:
    shape = tuple(channel.size for channel in part.channels)
    if math.prod(shape) > MOST_CELLS:
        msg = f"a question about {math.prod(shape):,} cells is larger than {MOST_CELLS:,}; ask about fewer attributes"
        raise DataError(msg)
    if expected is None:
        return np.full(shape, 1 / math.prod(shape))
    try:
        pi = np.asarray(expected, dtype=np.float64)
    except (TypeError, ValueError):
        pi = np.zeros(0)
    if pi.shape != shape or not (pi >= 0).all() or not math.isclose(pi.sum(), 1, abs_tol=1e-6):
        msg = f"expected must be proportions of {' × '.join(part.names)} that sum to 1, of the shape {shape}"
        raise DataError(msg)
    return np.asarray(pi / pi.sum())


def _spelled(condition: Condition) -> str:
    """Return a condition in words."""
    said = []
    for name, wanted in condition.items():
        if isinstance(wanted, Mapping):
            said.append(f"scored {name}")
        elif isinstance(wanted, slice):
            ends = [
                "" if end is None else f"{word} {end}" for word, end in (("from", wanted.start), ("to", wanted.stop))
            ]
            said.append(f"{name} {' '.join(end for end in ends if end)}")
        else:
            several = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
            said.append(f"{name} = {' or '.join('missing' if each is None else str(each) for each in several)}")
    return ", ".join(said)


def _over(part: Design, function: Product) -> Floats:
    """Return a product function on all cells of a table."""
    result = np.ones(tuple(channel.size for channel in part.channels))
    for axis, name in enumerate(part.names):
        if name in function:
            shape = [1] * result.ndim
            shape[axis] = -1
            result = result * function[name].reshape(shape)
    return result


def _of_correlation(part: Design, pi: Floats, given: Mapping[str, Any]) -> float:
    """Return n times the variance of a correlation of scores."""
    centred, spreads = [], []
    for axis, attribute in enumerate(part.attributes):
        scores = scores_of(attribute, given.get(attribute.name))
        if scores is None:
            msg = f"{attribute.name!r} has no numbers to correlate; give its categories scores"
            raise DataError(msg)
        if attribute.scale is not None and attribute.scale.hides_variance:
            msg = f"{attribute.name!r} has too few bins to tell how much it varies, so there will be no correlation"
            raise DataError(msg)
        shares = pi.sum(axis=1 - axis)
        around = scores - shares @ scores
        spread = float(shares @ around**2)
        if len(set(scores.tolist())) == 1:
            msg = f"the scores of {attribute.name!r} are all equal, so it has no correlation; give different ones"
            raise DataError(msg)
        if spread <= 0:
            msg = f"everybody is expected in one category of {attribute.name!r}; it has no correlation"
            raise DataError(msg)
        centred.append(around)
        spreads.append(spread)
    x, y = centred[0][:, None], centred[1][None, :]
    scale = math.sqrt(spreads[0] * spreads[1])
    value = float((pi * x * y).sum()) / scale
    influence = x * y / scale - value / 2 * (x**2 / spreads[0] + y**2 / spreads[1])
    worths = kronecker.solve(part.channels, influence)
    return float((kronecker.apply(part.channels, pi) * worths**2).sum())
