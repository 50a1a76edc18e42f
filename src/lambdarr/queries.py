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
from lambdarr.errors import DataError
from lambdarr.intervals import deviations, score_ends
from lambdarr.surveys import Sample, Survey, check_inference, joined
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

    def _repr_html_(self) -> str:
        from lambdarr.reporting.notebooks import answer_html

        return answer_html(self)


def query(
    reports: Any,
    design: Design | None,
    condition: Condition,
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
    design : Design or None
        The design they were made with; None if it is beside them.
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
    check_inference(inference, is_complex=survey.is_complex)
    if versus is not None and given is None:
        msg = "versus needs given: the two groups to compare"
        raise DataError(msg)
    waves = waves_of(reports, design, survey)
    asked = [name for part in (condition, given, versus) if isinstance(part, Mapping) for name in part]
    common = shared([wave.design for wave in waves], dict.fromkeys(asked)) if asked else waves[0].design
    functions = [product_of(common, condition, given)]
    functions.append(product_of(common, given) if given is not None else {})
    if versus is not None:
        functions += [product_of(common, condition, versus), product_of(common, versus)]
    parts = [_moments(wave, functions) for wave in waves]
    moments = _combined(parts, waves, functions[0], finite=inference == "finite")
    value, influence = _ratio(moments.sums[0], moments.sums[1], "given")
    weight = np.array(influence)
    if versus is not None:
        other, influence = _ratio(moments.sums[2], moments.sums[3], "versus")
        value, weight = value - other, np.array([*weight, *(-x for x in influence)])
    variance = float(weight @ (moments.squares - moments.truths) @ weight)  # of the randomization
    if survey.is_complex:
        sampled = (sample.variance(z.T @ weight[:, None]) for z, sample in moments.clustered)
        variance = sum(float(found[0, 0]) for found in sampled)
    elif inference == "population":
        # sampling only adds to it, also where the few reports of a rare answer happen to show no spread
        variance = max(variance, float(weight @ moments.squares @ weight))
    plain = given is None and not any(part is not None for part in survey) and inference == "population"
    spread = _spread(waves[0].design, functions[0], moments) if plain and len(waves) == 1 else None
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
    clustered: list[tuple[Floats, Sample]]
    """w z of every report, and where it was sampled; only where strata or clusters were given."""


class _Batch(NamedTuple):
    moments: _Moments
    z: Floats
    asked: Asked


def _moments(wave: Wave, functions: Sequence[Product]) -> _Moments:
    """Return sums over all reports of a wave, in one pass."""
    count, channels = len(functions), wave.design.by_name
    pairs = [(i, j) for i in range(count) for j in range(i + 1)]
    singles = [worth(channels, function) for function in functions]
    doubles = [worth(channels, times(functions[i], functions[j])) for i, j in pairs]

    names = {name for function in functions for name in function}
    about = wave.design.select(names) if names else None

    def part(everyone: Coded) -> _Batch:
        coded = everyone if about is None else everyone.complete(about)
        w = np.ones(coded.rows) if coded.asked.weights is None else coded.asked.weights
        z = np.array([_evaluated(single, coded) for single in singles])
        truths = np.zeros((count, count))
        for (i, j), double in zip(pairs, doubles, strict=True):
            truths[i, j] = truths[j, i] = float(w**2 @ _evaluated(double, coded))
        sums = _Moments(coded.rows, z @ w, (z * w**2) @ z.T, truths, [])
        weighted = z * w if about is None else everyone.filled(about, z * w, absent=0)
        return _Batch(sums, weighted, everyone.asked)

    total = _Moments(0, np.zeros(count), np.zeros((count, count)), np.zeros((count, count)), [])
    kept: list[_Batch] = []
    for batch in over_reports(wave.reports, wave.design, names, wave.survey, part):
        total = _added(total, batch.moments, 1.0)
        if wave.survey.is_complex:
            kept.append(batch)
    check_complete(total.n, sorted(names))
    if not kept:
        return total
    asked = joined([batch.asked for batch in kept])
    z = np.concatenate([batch.z for batch in kept], axis=1)
    return total._replace(clustered=[(z, Sample.of(asked.strata, asked.clusters, z.shape[1]))])


def _combined(parts: Sequence[_Moments], waves: Sequence[Wave], function: Product, *, finite: bool) -> _Moments:
    """Return the sums over all waves, each weighted by how little noise its design leaves; a file's, all equally."""
    total = parts[0]
    if len(parts) > 1:
        factors = [1.0 if finite else 1 / _noise(wave.design, function) for wave in waves]
        total = total._replace(
            n=0, sums=0 * total.sums, squares=0 * total.squares, truths=0 * total.truths, clustered=[]
        )
        for part, factor in zip(parts, factors, strict=True):
            total = _added(total, part, factor)
    return total


def _noise(design: Design, function: Product) -> float:
    """Return the variance of what one report is worth, for evenly spread people."""
    worths = worth(design.by_name, function).values()
    square = math.prod(float((values**2).mean()) for values in worths)
    return square - math.prod(float(values.mean()) ** 2 for values in worths) or 1.0


def _added(total: _Moments, part: _Moments, factor: float) -> _Moments:
    return _Moments(
        total.n + part.n,
        total.sums + factor * part.sums,
        total.squares + factor**2 * part.squares,
        total.truths + factor**2 * part.truths,
        total.clustered + [(factor * z, sample) for z, sample in part.clustered],
    )


def _evaluated(function: Product, coded: Coded) -> Floats:
    result = np.ones(coded.rows)
    for name, values in function.items():
        result *= values.take(coded.codes[name])
    return result
