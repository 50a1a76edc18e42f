"""Questions answered straight from the reports: any share, conditional share or difference, with its error.

For any function that is a product over attributes, f(x) = Π fⱼ(xⱼ), the value

    z = Π (fⱼ(yⱼ) − (1 − λⱼ) f̄ⱼ) / λⱼ          (f̄ⱼ: the plain mean of fⱼ over its categories)

of one report is unbiased for f of its truth. So the share of people with a condition on any number of attributes is the
mean of z over the reports, in one pass and without a table, however many cells that table would have. The noise does
grow with every attribute in the condition: the standard error says how much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lambdarr.conditions import product_of
from lambdarr.designs import check_design
from lambdarr.errors import DataError
from lambdarr.intervals import deviations, score_ends
from lambdarr.tabulation import Coded, check_complete, over_reports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.conditions import Condition, Product
    from lambdarr.designs import Design
    from lambdarr.estimation import Inference

    Floats = NDArray[np.float64]


class Bounds(NamedTuple):
    """Lower and upper end of an interval."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query.

    Parameters
    ----------
    value : float
        The estimated share, conditional share, mean or difference: unbiased, or nearly so for ratios; it may lie
        outside what is possible.
    standard_error : float
        Its standard error, of sampling and randomization or of randomization alone, by ``inference``.
    n : int
        Number of reports, without those where an attribute that is asked about is missing in plain sight.
    inference : {"population", "finite"}
        What the error speaks of.
    """

    value: float
    standard_error: float
    n: int
    inference: Inference
    spread: tuple[float, float] | None = None
    """What a person with the condition, and one without, adds to the variance; for plain shares of a population."""

    def interval(self, level: float = 0.95) -> Bounds:
        """Return value ± z · standard error, widened for a plain share of a population to its score interval.

        Without that, it wants about ten reports of the people it is about, in and outside the condition: a rare answer
        that nobody happened to give would have no error at all.
        """
        z = deviations(level)
        lower, upper = self.value - z * self.standard_error, self.value + z * self.standard_error
        if self.spread is not None:
            own, outside = self.spread
            ends = score_ends(np.array(self.value), own=own, outside=np.array(outside), n=self.n, finite=False, z=z)
            lower, upper = min(lower, float(ends[0])), max(upper, float(ends[1]))
        return Bounds(lower, upper)


def query(
    reports: Any,
    design: Design,
    condition: Condition,
    *,
    given: Condition | None = None,
    versus: Condition | None = None,
    inference: Inference = "population",
    weights: str | ArrayLike | None = None,
) -> Answer:
    """Return the share of people with a condition, among all or among some, or the difference between two groups.

    Parameters
    ----------
    reports : table or path
        Randomized records.
    design : Design
        The design they were made with.
    condition : mapping
        Attribute → a category, a list of categories, a range of ordered categories ``slice(first, last)`` (both
        included), or a mapping from category to score, 0 for those not named. All of them have to hold; with scores
        the product is averaged.
    given : mapping, optional
        Only among people with this condition.
    versus : mapping, optional
        The share among ``given`` less the share among people with this condition.
    inference : {"population", "finite"}
        As for ``estimate``.
    weights : str or array, optional
        Survey weights: the name of a column, or one number per report.

    Notes
    -----
    Standard errors are those of the sum over reports of each one's influence: exact for a share, linearized for a
    conditional share or a difference. Equations (25) and (26) of docs/theory.md.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({"sex": ["F", "M"], "smokes": ["no", "yes"]}, lam=0.5)
    >>> reports = [{"sex": "F", "smokes": "no"}] * 500 + [{"sex": "M", "smokes": "yes"}] * 500
    >>> found = lr.query(reports, design, {"sex": "F", "smokes": "no"})
    >>> found.value, found.standard_error
    (1.25, 0.0362)
    """
    check_design(design)
    if inference not in ("population", "finite"):
        msg = f"inference must be 'population' or 'finite', got {inference!r}"
        raise DataError(msg)
    if versus is not None and given is None:
        msg = "versus needs given: the two groups to compare"
        raise DataError(msg)
    functions = [product_of(design, condition, given)]
    functions.append(product_of(design, given) if given is not None else {})
    if versus is not None:
        functions += [product_of(design, condition, versus), product_of(design, versus)]
    moments = _moments(reports, design, functions, weights)
    value, influence = _ratio(moments.sums[0], moments.sums[1], "given")
    weight = np.array(influence)
    if versus is not None:
        other, influence = _ratio(moments.sums[2], moments.sums[3], "versus")
        value, weight = value - other, np.array([*weight, *(-x for x in influence)])
    variance = float(weight @ (moments.squares - moments.truths) @ weight)  # of the randomization
    if inference == "population":
        # sampling only adds to it, also where the few reports of a rare answer happen to show no spread
        variance = max(variance, float(weight @ moments.squares @ weight))
    plain = given is None and weights is None and inference == "population"
    spread = _spread(design, functions[0], moments) if plain else None
    return Answer(value, math.sqrt(max(variance, 0.0)), moments.n, inference, spread)


def _spread(design: Design, condition: Product, moments: _Moments) -> tuple[float, float] | None:
    """Return E[z²] of people with a condition, which is known, and of those without, as estimated; None for scores."""
    if any(set(np.unique(values)) - {0.0, 1.0} for values in condition.values()):
        return None
    own, least = 1.0, 1.0
    for name, values in condition.items():
        channel = design.select([name]).channels[0]
        inside = values.mean()  # the chance that a redrawn answer has the condition
        worth = (1 - (1 - channel.lam) * inside) / channel.lam, -(1 - channel.lam) * inside / channel.lam
        with_it = channel.lam + (1 - channel.lam) * inside
        without = (1 - channel.lam) * inside
        own_here = with_it * worth[0] ** 2 + (1 - with_it) * worth[1] ** 2
        own, least = own * own_here, least * min(own_here, without * worth[0] ** 2 + (1 - without) * worth[1] ** 2)
    share, square = moments.sums[0] / moments.n, moments.squares[0, 0] / moments.n
    share = min(max(share, 0.0), 1 - 1 / (moments.n + 1))
    return float(own), float(max((square - own * share) / (1 - share), least))


def _ratio(top: float, bottom: float, name: str) -> tuple[float, tuple[float, float]]:
    """Return a ratio of sums, and by how much it moves with each of them."""
    if name == "given" and bottom == 0:
        msg = "weights must not all be zero, nor the group that is asked about be empty"
        raise DataError(msg)
    if bottom <= 0:
        msg = f"nobody, or fewer than nobody by chance, seems to have the condition in {name}; ask about a larger group"
        raise DataError(msg)
    return float(top / bottom), (1 / bottom, -top / bottom**2)


class _Moments(NamedTuple):
    n: int
    sums: Floats
    """Σ w z for each function."""
    squares: Floats
    """Σ w² z zᵀ."""
    truths: Floats
    """An unbiased estimate of Σ w² f fᵀ of the truths: what of the squares is not randomization."""


def _moments(reports: Any, design: Design, functions: Sequence[Product], weights: str | ArrayLike | None) -> _Moments:
    """Return sums over all reports, in one pass."""
    count = len(functions)
    pairs = [(i, j) for i in range(count) for j in range(i + 1)]
    singles = [_unbiased(design, function) for function in functions]
    doubles = [_unbiased(design, _times(functions[i], functions[j])) for i, j in pairs]

    names = {name for function in functions for name in function}
    asked = design.select(names) if names else None

    def part(coded: Coded) -> _Moments:
        coded = coded if asked is None else coded.complete(asked)
        w = np.ones(coded.rows) if coded.weights is None else coded.weights
        z = np.array([_evaluated(single, coded) for single in singles])
        truths = np.zeros((count, count))
        for (i, j), double in zip(pairs, doubles, strict=True):
            truths[i, j] = truths[j, i] = float(w**2 @ _evaluated(double, coded))
        return _Moments(coded.rows, z @ w, (z * w**2) @ z.T, truths)

    n, sums, squares, truths = 0, np.zeros(count), np.zeros((count, count)), np.zeros((count, count))
    for found in over_reports(reports, design, names, weights, part):
        n, sums, squares, truths = n + found.n, sums + found.sums, squares + found.squares, truths + found.truths
    check_complete(n, sorted(names))
    return _Moments(n, sums, squares, truths)


def _times(first: Product, second: Product) -> Product:
    product = dict(first)
    for name, values in second.items():
        product[name] = product[name] * values if name in product else values
    return product


def _unbiased(design: Design, function: Product) -> Product:
    """Return (fⱼ − (1 − λⱼ) f̄ⱼ)/λⱼ for each attribute: what a report is worth."""
    worth: Product = {}
    for name, values in function.items():
        lam = design.select([name]).channels[0].lam
        worth[name] = (values - (1 - lam) * values.mean()) / lam
    return worth


def _evaluated(worth: Product, coded: Coded) -> Floats:
    result = np.ones(coded.rows)
    for name, values in worth.items():
        result *= values.take(coded.codes[name])
    return result
