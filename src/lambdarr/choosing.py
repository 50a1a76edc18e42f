"""Which table to believe: what the data can show of it, rather than what only noise can.

The exact inverse is unbiased, and useless where noise is amplified beyond the signal; a simple model is steady, and
wrong where people differ from it. No fixed method wins. ``choose`` adds to independence what the reports show, in
three steps, each of which stops where noise begins:

1. pairs: the dependence of two attributes counts by how far it stands out of what chance gives, and not at all where
   it does not; the table is then the one with these pairs and no other interaction;
2. the whole table: it may move from there towards the one of largest likelihood, as far as tables fitted to some of
   the reports foretell the others better for it (five folds);
3. the people of this file: given that table, each report is ascribed to the truths it may have come from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lambdarr import kronecker, loglinear
from lambdarr.likelihood import Fit, backward, drawn_towards, maximum_likelihood
from lambdarr.loglinear import Margin, all_of_order, margin_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from lambdarr.channel import Channel

    Floats = NDArray[np.float64]

STRENGTHS = (math.inf, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 1e-4, 3e-5, 1e-5)
"""How strongly the table may be drawn to its model, in people of the model per person of the data."""

FOLDS = 5
MOST_FOLDED = 1 << 18
"""Cells above which the table is the model of its pairs: what goes beyond is noise, and slow to look for."""

MOST_BEYOND = 1 << 10
"""Cells up to which the table at the end of the way, the likeliest of all, is tried as well."""

_CHANCE = 2.326  # a pair that is independent passes for dependent once in a hundred times
_HOPELESS = 4.0  # log-likelihood below the best from which weaker strengths are not tried any more
_AS_GOOD = 2.0  # log-likelihood below the best that the held-out reports cannot tell from it
_SETTLED = 0.3  # gain in log-likelihood that makes no difference to which strength is best
_BLIND = 0.5  # total-variation error of a one-way table by the exact inverse from which the reports say nothing of it
_LIKELIEST = 0.0  # the strength at the end of the way
_LEAST = 10.0  # people of the model, fewer of which are as good as none
_DOUBT = 0.7  # odds of each strength against the next stronger one, before the data are seen
_DISTRUST = 0.2  # odds of following the reports alone, besides
_SEED = 20_260  # folds and simulations are drawn anew the same way, so that one file gives one answer


@dataclass(frozen=True, slots=True)
class Choice:
    """A table, and how it came to be chosen."""

    values: Floats
    pairs: tuple[Margin, ...]
    """The pairs whose dependence counts."""
    strength: float
    """How strongly the table is drawn to the model of these pairs, at most."""
    rough: Floats
    """The least smooth table that the reports bear out as well: the truth may be as rough."""
    looked_beyond: bool = True
    """Whether anything beyond pairs was looked for."""

    def in_words(self, names: Sequence[str]) -> str:
        """Return what was chosen and why."""
        possible = len(names) * (len(names) - 1) // 2
        if not self.pairs:
            model = "independence: no dependence stands out in these reports"
        elif possible == 1:
            model = "the dependence that these reports show, as far as it stands out of chance"
        elif len(self.pairs) == possible:
            model = "the pairwise model: every pair shows its dependence"
        else:
            seen = ", ".join(" × ".join(names[axis] for axis in pair) for pair in self.pairs)
            model = (
                f"the model of the dependences that these reports show: {seen} ({len(self.pairs)} of {possible} pairs)"
            )
        if not self.looked_beyond:
            return f"{model}; with so many cells nothing beyond it was looked for"
        if math.isinf(self.strength):
            return f"{model}; nothing beyond it can be told from noise"
        if self.strength == _LIKELIEST:
            return f"{model}; but these reports are enough to follow them alone"
        if self.strength > 1:
            weight = f"this model counting {self.strength:g} times as much as they"
        else:
            times = _round(1 / self.strength)
            weight = f"which count {f'{times:,} times ' if times > 1 else ''}as much as this model"
        return f"{model}; beyond that the table also follows the reports, {weight}"


def _round(times: float) -> int:
    """Return a number of times with one digit that counts: strengths are steps, not measurements."""
    return int(float(f"{times:.1g}"))


def choose(channels: Sequence[Channel], theta: Floats, *, n: float) -> Choice:
    """Return the table of these records that their reports bear out best.

    Parameters
    ----------
    channels : sequence of Channel
        One for each axis of the table.
    theta : array
        Observed proportions θ̂.
    n : float
        Number of reports.
    """
    model, pairs = model_of_pairs(channels, theta, n=n)
    rough = _rough_model(channels, theta, n)
    if theta.size > MOST_FOLDED:
        return Choice(ascribed(channels, theta, model), pairs, math.inf, rough, looked_beyond=False)
    strengths = [strength for strength in STRENGTHS if strength * n >= _LEAST]
    if theta.size <= MOST_BEYOND:
        strengths.append(_LIKELIEST)
    scores = _foretold(channels, theta, n, strengths)
    best = max(scores.values())
    weights = {s: _odds(s, strengths) * math.exp(score - best) for s, score in scores.items()}
    total = math.fsum(weights.values())
    mixed = np.zeros(theta.shape)
    for strength, table in _path(channels, theta, n, model, strengths):
        if strength not in scores:
            break
        mixed += weights[strength] / total * table
    as_good = [strength for strength, score in scores.items() if score > best - _AS_GOOD]
    if min(as_good) < math.inf:
        weakest = max(min(as_good), STRENGTHS[-1])
        rough = drawn_towards(channels, theta, n=n, target=rough, strength=weakest, start=rough, calm=_SETTLED)
    return Choice(ascribed(channels, theta, mixed), pairs, max(as_good), rough)


def _odds(strength: float, strengths: Sequence[float]) -> float:
    """Return the odds of a strength before the data are seen."""
    return _DOUBT ** strengths.index(strength) * (_DISTRUST if strength == _LIKELIEST else 1.0)


def ascribed(channels: Sequence[Channel], theta: Floats, pi: Floats) -> Floats:
    """Return the expected table of the very people who reported, if they came from a population with table ``pi``.

    Notes
    -----
    A report y comes from x with probability π(x) P(x, y)/(Pπ)(y); summed over the reports that is one step of EM,
    π ∘ P(θ̂/Pπ). Where λ = 1 it is the reports' own table, where λ is small it is π.
    """
    factor, _ = backward(channels, theta, pi)
    factor *= pi
    return np.asarray(factor / factor.sum())


def model_of_pairs(channels: Sequence[Channel], theta: Floats, *, n: float) -> tuple[Floats, tuple[Margin, ...]]:
    """Return the table with the dependences of pairs that the reports show and no others, and those pairs."""
    tests = {pair: Dependence.of(margin_of(theta, pair), n=n) for pair in all_of_order(theta.ndim, 2)}
    parts = {pair: test.beyond_chance for pair, test in tests.items() if test.beyond_chance > 0}
    return _with_pairs(channels, theta, parts, n=n), tuple(parts)


def _rough_model(channels: Sequence[Channel], theta: Floats, n: float) -> Floats:
    """Return the table with dependences as strong as the truth's may well be."""
    pairs = all_of_order(theta.ndim, 2)
    parts = {pair: Dependence.of(margin_of(theta, pair), n=n).at_most for pair in pairs}
    rough = np.maximum(_with_pairs(channels, theta, parts, n=n), 1e-12)
    return np.asarray(rough / rough.sum())


class Dependence(NamedTuple):
    """Pearson's statistic of a two-way table of reports, X² = n Σ (θ̂ − θ̂ᵢ θ̂ⱼ)²/(θ̂ᵢ θ̂ⱼ), and what it tells.

    P(λ) keeps independent attributes independent, so X² tests the truths' independence. Its mean is the degrees of
    freedom d plus what dependence adds.
    """

    statistic: float
    freedom: int

    @classmethod
    def of(cls, both: Floats, *, n: float, expected: Floats | None = None) -> Dependence:
        """Return the statistic of a two-way margin, against independence or against other proportions."""
        axes = [axis for axis, size in enumerate(both.shape) if size > 1]
        if expected is None:
            expected = margin_of(both, axes[:1]) * margin_of(both, axes[1:])
        possible = expected > 0
        statistic = n * float(((both[possible] - expected[possible]) ** 2 / expected[possible]).sum())
        return cls(statistic, math.prod(size - 1 for size in both.shape if size > 1))

    @property
    def beyond_chance(self) -> float:
        """Which part of the dependence in the reports to keep: 1 − x/X², x the 1 % point of χ², and at least 0.

        James and Stein's estimator would have d for x; the sterner choice lets pure noise through as seldom as a test
        does. The point is Wilson and Hilferty's approximation.
        """
        d = self.freedom
        limit = d * (1 - 2 / (9 * d) + _CHANCE * math.sqrt(2 / (9 * d))) ** 3
        return max(1 - limit / max(self.statistic, 1e-300), 0.0)

    @property
    def at_most(self) -> float:
        """Which part of the dependence in the reports may well be real: one standard error above what is seen."""
        seen = max(self.statistic - self.freedom, 0.0)
        largest = seen + math.sqrt(2 * self.freedom + 4 * seen)
        return min(math.sqrt(largest / max(self.statistic, 1e-300)), 1.0)


def _with_pairs(channels: Sequence[Channel], theta: Floats, parts: Mapping[Margin, float], *, n: float) -> Floats:
    """Return the table with these parts of the likeliest dependences of pairs, and no other interaction."""
    shares = loglinear.shares(channels, theta, n=n)
    tables = []
    for pair, part in parts.items():
        reported, alone = margin_of(theta, pair), [shares[axis] for axis in pair]
        independent = loglinear.product(alone)
        some = [channels[axis] for axis in pair]
        sizes = [channel.size for channel in some]
        fitted = maximum_likelihood(some, reported.reshape(sizes), n=n, start=independent.reshape(sizes)).values
        mixed = part * fitted.reshape(reported.shape) + (1 - part) * independent
        # all pairs get the same one-way tables: then they contradict each other as little as they can
        tables.append(loglinear.scaled_to(alone, np.maximum(mixed, 1e-12)))
    return loglinear.scaled_to(tables, loglinear.product(shares))


def _path(
    channels: Sequence[Channel], theta: Floats, n: float, model: Floats, strengths: Sequence[float]
) -> Iterator[tuple[float, Floats]]:
    """Yield the tables from a model to the largest likelihood, each fit starting where the last ended."""
    target = np.maximum(model, 1e-12)
    target /= target.sum()
    table = target
    yield math.inf, target
    for strength in strengths[1:]:
        if strength == _LIKELIEST:
            table = maximum_likelihood(channels, theta, n=n, start=table).values
        else:
            table = drawn_towards(channels, theta, n=n, target=target, strength=strength, start=table, calm=_SETTLED)
        yield strength, table


def _foretold(channels: Sequence[Channel], theta: Floats, n: float, strengths: Sequence[float]) -> dict[float, float]:
    """Return, for each strength, the log-likelihood of every fifth of the reports when fitted to the others."""
    generator = np.random.default_rng(_SEED)
    sums = theta * n  # whole numbers, unless reports are weighted: then each is rounded up as often as it should be
    even = np.allclose(sums, np.rint(sums), atol=1e-6)
    counts = np.floor(sums + (0.5 if even else generator.random(theta.shape))).astype(np.int64)
    left, scores, weakest = counts.copy(), dict.fromkeys(strengths, 0.0), 0.0
    for number in range(FOLDS):
        fold = generator.binomial(left, 1 / (FOLDS - number))
        left = left - fold
        rest, seen = counts - fold, fold > 0
        if not seen.any() or not rest.any():
            continue
        # the model, too, is made from the rest alone: what is held out must not lead the way
        known, others = rest / rest.sum(), float(rest.sum())
        model, _ = model_of_pairs(channels, known, n=others)
        best = -math.inf
        for strength, table in _path(channels, known, others, model, strengths):
            if strength < weakest:
                break
            reported = kronecker.apply(channels, table)
            score = float((fold[seen] * np.log(np.maximum(reported[seen], 1e-300))).sum())
            scores[strength] += score
            best = max(best, score)
            if score < best - _HOPELESS:
                weakest = strength
    return {strength: score for strength, score in scores.items() if strength >= weakest}


# The fixed methods, by name, each with its reason.

Fitter = Callable[[Sequence["Channel"], "Floats", float], Fit]


def largest_likelihood(channels: Sequence[Channel], theta: Floats, n: float) -> Fit:
    """Return the table of largest likelihood, started from the model of its pairs."""
    model, _ = model_of_pairs(channels, theta, n=n)
    return maximum_likelihood(channels, theta, n=n, start=np.maximum(model, 1e-9 / theta.size))


def interactions(margins: Sequence[Margin]) -> Fitter:
    """Return the fit of the log-linear model with these margins."""

    def fit(channels: Sequence[Channel], theta: Floats, n: float) -> Fit:
        return Fit(loglinear.fit(channels, theta, margins, n=n), 0.0, 0)

    return fit


def simulated_error(
    fit: Callable[[Floats], Floats],
    channels: Sequence[Channel],
    theta: Floats,
    rough: Floats,
    *,
    n: float,
    finite: bool,
) -> float:
    """Return the total-variation error of a method on a simulated file like this one.

    It is drawn from the least smooth table that the reports bear out, so that what a model misses is in it.
    """
    files = 2 if theta.size < 50 else 1  # a large table is an average in itself
    drawn = simulated_files(channels, rough, n=n, finite=finite, files=files)
    errors = [0.5 * float(np.abs(fit(reported) - goal).sum()) for reported, goal in drawn]
    return max(sum(errors) / len(errors), _blindness(channels, theta, n))


def simulated_files(
    channels: Sequence[Channel], pi: Floats, *, n: float, finite: bool, files: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the reported proportions of files drawn from a table, and the table that an estimate from each is after.

    That is the table of the file's own people if ``finite``, and otherwise the one that they were drawn from.
    """
    generator = np.random.default_rng(_SEED + 1)
    people, shares = max(round(n), 1), (pi / pi.sum()).ravel()
    for _ in range(files):
        truths = generator.multinomial(people, shares).reshape(pi.shape)
        yield randomized(truths, channels, generator) / people, truths / people if finite else pi


def _blindness(channels: Sequence[Channel], theta: Floats, n: float) -> float:
    """Return the error of the worst one-way table if that is mostly noise, and half of it if not.

    A table is as wrong as its margins, and a simulation may not show it: a table at the edge of what is possible gives
    files that lead back to that edge. Keeping within the possible saves a one-way table half of its error at most.
    """
    worst = 0.0
    for axis, channel in enumerate(channels):
        margin = (n * margin_of(theta, (axis,)) + 0.5) / (n + 0.5 * channel.size)  # no share of exactly 0 or 1
        spread = np.sqrt(margin * (1 - margin) / n).sum() / channel.lam
        worst = max(worst, 0.5 * math.sqrt(2 / math.pi) * float(spread))
    return min(worst, 1.0) if worst > _BLIND else worst / 2


def randomized(
    truths: NDArray[np.int64], channels: Sequence[Channel], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the counts of reports that a table of truths may give: for simulations only, never anyone's report."""
    counts = truths
    for axis, channel in enumerate(channels):
        last = np.moveaxis(counts, axis, -1)
        kept = generator.binomial(last, channel.lam)
        redrawn = (last - kept).sum(axis=-1)
        uniform = np.full(channel.size, 1 / channel.size)
        counts = np.moveaxis(kept + generator.multinomial(redrawn, uniform), -1, axis)
    return counts


def randomized_codes(truths: NDArray[np.int32], channel: Channel, generator: np.random.Generator) -> NDArray[np.int32]:
    """Return what people with these codes may report: for simulations only, never anyone's report."""
    redrawn = generator.integers(0, channel.size, truths.size, dtype=np.int32)
    return np.where(generator.random(truths.size) < channel.lam, truths, redrawn)
