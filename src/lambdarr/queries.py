"""Questions answered straight from the reports: any share, conditional share or difference, with its error.

For any function that is a product over attributes, f(x) = Π fⱼ(xⱼ), the value

    z = Π (fⱼ(yⱼ) − (1 − λⱼ) f̄ⱼ) / λⱼ          (f̄ⱼ: the plain mean of fⱼ over its categories)

of one report is unbiased for f of its truth. So the share of people with a condition on any number of attributes is the
mean of z over the reports, in one pass and without a table, however many cells that table would have. The noise does
grow with every attribute in the condition: the standard error says how much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lambdarr.conditions import product_of, times, worth
from lambdarr.designs import check_together
from lambdarr.errors import DataError
from lambdarr.intervals import deviations, score_ends
from lambdarr.surveys import Survey, check_inference, joined, sample_of
from lambdarr.tabulation import Coded, check_complete, over_reports
from lambdarr.waves import shared, waves_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.conditions import Condition, Product
    from lambdarr.designs import Design
    from lambdarr.estimation import Inference
    from lambdarr.surveys import Asked
    from lambdarr.waves import Wave

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
    degrees: float = math.inf
    """Degrees of freedom of the error: clusters less strata; infinite for reports that are independent."""

    def interval(self, level: float = 0.95) -> Bounds:
        """Return value ± z · standard error, widened for a plain share of a population to its score interval.

        Without that, it wants about ten reports of the people it is about, in and outside the condition: a rare answer
        that nobody happened to give would have no error at all.
        """
        z = deviations(level, degrees=self.degrees)
        lower, upper = self.value - z * self.standard_error, self.value + z * self.standard_error
        if self.spread is not None:
            own, outside = self.spread
            ends = score_ends(np.array(self.value), own=own, outside=np.array(outside), n=self.n, finite=False, z=z)
            lower, upper = min(lower, float(ends[0])), max(upper, float(ends[1]))
        return Bounds(lower, upper)

    def _repr_html_(self) -> str:
        from lambdarr.reporting.notebooks import answer_html

        return answer_html(self)


def query(
    reports: Any,
    design: Design | None = None,
    condition: Condition | None = None,
    *,
    given: Condition | None = None,
    versus: Condition | None = None,
    inference: Inference = "population",
    weights: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    clusters: str | ArrayLike | None = None,
) -> Answer:
    """Return the share of people with a condition, among all or among some, or the difference between two groups.

    Parameters
    ----------
    reports : table, path or list of (reports, Design)
        Randomized records; or several tables of them, each with the design it was made with.
    design : Design, optional
        The design they were made with, unless it is beside them.
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
    strata, clusters : str or array, optional
        How people were sampled: the stratum of each report, and the cluster of people who were drawn together.

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
    survey = Survey(weights, strata, clusters)
    if condition is None:
        msg = "a query needs a condition: attribute → categories"
        raise DataError(msg)
    if versus is not None and given is None:
        msg = "versus needs given: the two groups to compare"
        raise DataError(msg)
    waves = waves_of(reports, design, survey)
    is_sampled = any(wave.design.is_sampled for wave in waves)
    check_inference(inference, is_complex=survey.is_complex, is_sampled=is_sampled)
    asked = [name for part in (condition, given, versus) if isinstance(part, Mapping) for name in part]
    common = shared([wave.design for wave in waves], dict.fromkeys(asked)) if asked else waves[0].design
    functions = [product_of(common, condition, given)]
    functions.append(product_of(common, given) if given is not None else {})
    if versus is not None:
        functions += [product_of(common, condition, versus), product_of(common, versus)]
    _check_rounded(common, functions)
    parts = [_moments(wave, functions) for wave in waves]
    moments = _combined(parts, waves, functions[0], finite=inference == "finite")
    value, influence = _ratio(moments.sums[0], moments.sums[1], "given")
    weight = np.array(influence)
    if versus is not None:
        other, influence = _ratio(moments.sums[2], moments.sums[3], "versus")
        value, weight = value - other, np.array([*weight, *(-x for x in influence)])
    variance = float(weight @ (moments.squares - moments.truths) @ weight)  # of the randomization
    degrees = math.inf
    if survey.is_complex:
        z = np.concatenate([part.z for part in moments.clustered], axis=1)
        sample = sample_of([part.asked for part in moments.clustered], [part.z.shape[1] for part in moments.clustered])
        variance, degrees = float(sample.variance(z.T @ weight[:, None])[0, 0]), sample.degrees
    elif inference == "population":
        # sampling only adds to it, also where the few reports of a rare answer happen to show no spread
        variance = max(variance, float(weight @ moments.squares @ weight))
    plain = given is None and all(part is None for part in survey[:3]) and inference == "population"
    spread = _spread(waves[0].design, functions[0], moments) if plain and len(waves) == 1 else None
    return Answer(value, math.sqrt(max(variance, 0.0)), moments.n, inference, spread, degrees)


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


def _check_rounded(design: Design, functions: Sequence[Product]) -> None:
    """Refuse conditions on numbers that were rounded at random: the reports hold edges, and nobody is in a range."""
    for attribute in design.attributes:
        scale, name = attribute.scale, attribute.name
        if scale is not None and any(not scale.undoes(function[name]) for function in functions if name in function):
            msg = (
                f"{name!r} holds edges that numbers were rounded to at random, so no condition on it can be undone; "
                "ask lr.distribution for shares below a number (cdf), or collect it in bins (rounding='none')"
            )
            raise DataError(msg)


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
    weight: float
    """Σ w."""
    weight_squares: float
    """Σ w²."""
    sums: Floats
    """Σ w z for each function."""
    squares: Floats
    """Σ w² z zᵀ."""
    truths: Floats
    """An unbiased estimate of Σ w² f fᵀ of the truths: what of the squares is not randomization."""
    clustered: list[_Clustered]
    """Report by report; only where strata or clusters were given."""


class _Clustered(NamedTuple):
    z: Floats
    """w z of every report."""
    asked: Asked


class _Batch(NamedTuple):
    moments: _Moments
    reports: _Clustered


def _moments(wave: Wave, functions: Sequence[Product]) -> _Moments:
    """Return sums over all reports of a wave, in one pass."""
    count, channels = len(functions), wave.design.by_name
    pairs = [(i, j) for i in range(count) for j in range(i + 1)]
    singles = [worth(channels, function) for function in functions]
    doubles = [worth(channels, times(functions[i], functions[j])) for i, j in pairs]

    names = {name for function in functions for name in function}
    about = wave.design.select(sorted(names)) if names else None
    if about is not None:
        check_together(about)

    def part(everyone: Coded) -> _Batch:
        coded = everyone if about is None else everyone.complete(about)
        w = np.ones(coded.rows) if coded.asked.weights is None else coded.asked.weights
        z = np.array([_evaluated(single, coded) for single in singles])
        truths = np.zeros((count, count))
        for (i, j), double in zip(pairs, doubles, strict=True):
            truths[i, j] = truths[j, i] = float(w**2 @ _evaluated(double, coded))
        sums = _Moments(coded.rows, float(w.sum()), float(w @ w), z @ w, (z * w**2) @ z.T, truths, [])
        weighted = z * w if about is None else everyone.filled(about, z * w, absent=0)
        return _Batch(sums, _Clustered(weighted, everyone.asked))

    total = _nothing(count)
    kept: list[_Clustered] = []
    for batch in over_reports(wave.reports, wave.design, names, wave.survey, part):
        total = _added(total, batch.moments, 1.0)
        if wave.survey.is_complex:
            kept.append(batch.reports)
    check_complete(total.n, sorted(names))
    if not kept:
        return total
    z = np.concatenate([reports.z for reports in kept], axis=1)
    return total._replace(clustered=[_Clustered(z, joined([reports.asked for reports in kept]))])


def _nothing(count: int) -> _Moments:
    return _Moments(0, 0.0, 0.0, np.zeros(count), np.zeros((count, count)), np.zeros((count, count)), [])


def _combined(parts: Sequence[_Moments], waves: Sequence[Wave], function: Product, *, finite: bool) -> _Moments:
    """Return the sums over all waves, each weighted by how little noise its design and its weights leave.

    In a file that is its own population every record counts once.
    """
    if len(parts) == 1:
        return parts[0]
    total = _nothing(len(parts[0].sums))
    for part, wave in zip(parts, waves, strict=True):
        alone = part.weight / max(part.weight_squares, 1e-300) / _noise(wave.design, function)
        total = _added(total, part, 1.0 if finite else alone)
    return total


def _noise(design: Design, function: Product) -> float:
    """Return the variance of what one report is worth, for evenly spread people."""
    worths = worth(design.by_name, function).values()
    square = math.prod(float((values**2).mean()) for values in worths)
    return square - math.prod(float(values.mean()) ** 2 for values in worths) or 1.0


def _added(total: _Moments, part: _Moments, factor: float) -> _Moments:
    return _Moments(
        total.n + part.n,
        total.weight + factor * part.weight,
        total.weight_squares + factor**2 * part.weight_squares,
        total.sums + factor * part.sums,
        total.squares + factor**2 * part.squares,
        total.truths + factor**2 * part.truths,
        total.clustered + [_Clustered(factor * reports.z, reports.asked) for reports in part.clustered],
    )


def _evaluated(function: Product, coded: Coded) -> Floats:
    result = np.ones(coded.rows)
    for name, values in function.items():
        result *= values.take(coded.codes[name])
    return result
