"""Which table to believe: what the data can show of it, rather than what only noise can.

The exact inverse is unbiased, and useless where noise is amplified beyond the signal; a simple model is steady, and
wrong where people differ from it. No fixed method wins. This module fits the pairwise model of the dependences that
the reports show, and independence, and then lets the table move from either towards the one of largest likelihood, as
far as the reports bear it out. From where and how far is chosen from the reports themselves:

- by how well tables fitted to some of the reports foretell the others (five folds), and
- for the table of the file itself (finite inference), by trying each choice on simulated files like this one, where the
  truth is known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lambdarr import kronecker, loglinear
from lambdarr.likelihood import Fit, drawn_towards, maximum_likelihood

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lambdarr.channel import Channel

    Floats = NDArray[np.float64]

STRENGTHS = (math.inf, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""How strongly the table may be drawn to its model, in people of the model per person of the data."""

FOLDS = 5
SIMULATIONS = 2
_HOPELESS = 8.0  # log-likelihood below the best from which weaker strengths are not tried any more
_BLIND = 0.5  # total-variation error of a one-way table by the exact inverse from which the reports say nothing of it
_SEED = 20_260  # folds and simulations are drawn anew the same way, so that one file gives one answer


Model = tuple[loglinear.Margin, ...]
"""The pairs of a model; none for independence."""

Key = tuple[Model, float]
"""A model, and how strongly the table is drawn to it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A table, and how it came to be chosen."""

    values: Floats
    model: Model
    strength: float

    def in_words(self, names: Sequence[str]) -> str:
        """Return what was chosen and why."""
        possible = len(names) * (len(names) - 1) // 2
        if not self.model:
            model = "independence: no dependence stands out in these reports, or not clearly enough"
        elif len(self.model) == possible:
            model = "the pairwise model: every pair shows its dependence"
        else:
            seen = ", ".join(" × ".join(names[axis] for axis in pair) for pair in self.model)
            model = (
                f"the model of the dependences that these reports show: {seen} ({len(self.model)} of {possible} pairs)"
            )
        if math.isinf(self.strength):
            return f"{model}; nothing beyond it can be told from noise"
        return f"{model}; moved towards the reports, the model counting as {self.strength:g} of each of them"


def choose(channels: Sequence[Channel], theta: Floats, *, n: float, finite: bool) -> Choice:
    """Return the table that the reports bear out best.

    Parameters
    ----------
    channels : sequence of Channel
        One for each axis of the table.
    theta : array
        Observed proportions θ̂.
    n : float
        Number of reports.
    finite : bool
        Whether the table of these very records is wanted, or that of the population behind them.
    """
    generator = np.random.default_rng(_SEED)
    pairs = tuple(loglinear.visible_pairs(theta, n=n))
    # a pair may stand out and still be mostly noise, so independence stays a place to start from
    paths = [_Path(channels, model) for model in ((pairs, ()) if pairs else ((),))]
    weights = _weights(_foretold(paths, theta, n, generator))
    tables: dict[Key, Floats] = {}
    for path in paths:
        if strengths := [strength for model, strength in weights if model == path.model]:
            tables |= path.down_to(min(strengths), theta, n)
    mixed = np.asarray(sum(weight * tables[key] for key, weight in weights.items()))
    if not finite:
        model, strength = max(weights, key=lambda key: weights[key])
        return Choice(mixed, model, strength)
    errors = _simulated(paths, mixed, n, generator)
    key = min(errors, key=lambda key: errors[key])
    path = next(path for path in paths if path.model == key[0])
    return Choice(path.down_to(key[1], theta, n)[key], *key)


Fitter = Callable[[Sequence["Channel"], "Floats", float], Fit]


def largest_likelihood(channels: Sequence[Channel], theta: Floats, n: float) -> Fit:
    """Return the table of largest likelihood, started from independence."""
    return maximum_likelihood(channels, theta, n=n, start=loglinear.independent(channels, theta, n=n))


def _pairwise(channels: Sequence[Channel], theta: Floats, n: float) -> Fit:
    start = loglinear.independent(channels, theta, n=n)
    pairs = list(itertools.combinations(range(theta.ndim), 2))
    return Fit(loglinear.fit(channels, theta, pairs, n=n, start=start), 0.0, 0)


def _independence(channels: Sequence[Channel], theta: Floats, n: float) -> Fit:
    return Fit(loglinear.independent(channels, theta, n=n), 0.0, 0)


FITS: dict[str, tuple[Fitter, str]] = {
    "ml": (largest_likelihood, "the largest likelihood among tables that are not negative"),
    "pairwise": (_pairwise, "the largest likelihood without interactions of more than two attributes"),
    "independence": (_independence, "the attributes taken as independent of each other"),
}
"""The fixed methods, by name, each with its reason."""


def simulated_error(
    fit: Callable[[Floats], Floats], channels: Sequence[Channel], theta: Floats, *, n: float, finite: bool
) -> float:
    """Return the mean total-variation error of a method on simulated files like this one.

    They are drawn from the table of largest likelihood, which no model has smoothed: what a model would miss is in it.
    It is rougher than the truth, so the error is rather too large than too small.
    """
    generator = np.random.default_rng(_SEED + 1)
    rough = largest_likelihood(channels, theta, n).values
    files = (_simulated_file(channels, rough, n, generator, finite=finite) for _ in range(SIMULATIONS))
    error = math.fsum(_distance(fit(reported), goal) for reported, goal in files) / SIMULATIONS
    return max(error, _blindness(channels, theta, n))


def _blindness(channels: Sequence[Channel], theta: Floats, n: float) -> float:
    """Return the error of the worst one-way table if that is mostly noise: then nothing is known, simulated or not."""
    worst = 0.0
    for axis, channel in enumerate(channels):
        margin = loglinear.margin_of(theta, (axis,))
        spread = np.sqrt(margin * (1 - margin) / n).sum() / channel.lam
        worst = max(worst, 0.5 * math.sqrt(2 / math.pi) * float(spread))
    return min(worst, 1.0) if worst > _BLIND else 0.0


def _distance(first: Floats, second: Floats) -> float:
    return 0.5 * float(np.abs(first - second).sum())


def _simulated_file(
    channels: Sequence[Channel], plausible: Floats, n: float, generator: np.random.Generator, *, finite: bool
) -> tuple[Floats, Floats]:
    """Return the reported proportions of a simulated file, and the table that an estimate of it is after."""
    people = max(round(n), 1)
    truths = generator.multinomial(people, (plausible / plausible.sum()).ravel()).reshape(plausible.shape)
    return _randomized(truths, channels, generator) / people, truths / people if finite else plausible


class _Path:
    """The fits from one model to the largest likelihood, of any table of the same axes."""

    def __init__(self, channels: Sequence[Channel], model: Model) -> None:
        self.channels, self.model = channels, model

    def down_to(self, strength: float, theta: Floats, n: float) -> dict[Key, Floats]:
        """Return the fits of all strengths from ∞ down to one."""
        return dict(itertools.takewhile(lambda fit: fit[0][1] >= strength, self.fits(theta, n)))

    def fits(self, theta: Floats, n: float) -> Iterator[tuple[Key, Floats]]:
        """Yield the tables, from the strongest pull of the model to the weakest, each starting where the last ended."""
        # the start, too, comes from these reports alone: what is held out must not lead the way
        target = loglinear.independent(self.channels, theta, n=n)
        if self.model:
            target = loglinear.fit(self.channels, theta, self.model, n=n, start=target)
            target = np.maximum(target, 1e-12)
            target /= target.sum()
        table = target
        yield (self.model, math.inf), target
        for strength in STRENGTHS[1:]:
            table = drawn_towards(self.channels, theta, n=n, target=target, strength=strength, start=table)
            yield (self.model, strength), table


def _foretold(paths: Sequence[_Path], theta: Floats, n: float, generator: np.random.Generator) -> dict[Key, float]:
    """Return, for each fit, the log-likelihood of every fifth of the reports when fitted to the others."""
    sums = theta * n  # whole numbers, unless reports are weighted: then each is rounded up as often as it should be
    even = np.allclose(sums, np.rint(sums), atol=1e-6)
    counts = np.floor(sums + (0.5 if even else generator.random(theta.shape))).astype(np.int64)
    left, folds = counts.copy(), []
    for number in range(FOLDS):
        folds.append(generator.binomial(left, 1 / (FOLDS - number)))
        left = left - folds[-1]
    scores: dict[Key, float] = {}
    given_up: dict[Model, float] = {path.model: 0.0 for path in paths}  # strengths below are not tried any more
    for fold in folds:
        rest = counts - fold
        seen = fold > 0
        if not fold.any() or not rest.any():
            continue
        best = -math.inf
        for path in paths:
            for key, table in path.fits(rest / rest.sum(), float(rest.sum())):
                if key[1] < given_up[path.model]:
                    break
                reported = kronecker.apply(path.channels, table)
                score = float((fold[seen] * np.log(np.maximum(reported[seen], 1e-300))).sum())
                scores[key] = scores.get(key, 0.0) + score
                best = max(best, score)
                if score < best - _HOPELESS:
                    given_up[path.model] = max(given_up[path.model], key[1])
    kept = {key: score for key, score in scores.items() if key[1] >= given_up[key[0]]}
    return kept or {(paths[0].model, math.inf): 0.0}


def _weights(scores: dict[Key, float]) -> dict[Key, float]:
    """Return weights by how much likelier each fit made the held-out reports."""
    best = max(scores.values())
    raw = {key: math.exp(score - best) for key, score in scores.items()}
    total = math.fsum(raw.values())
    return {key: weight / total for key, weight in raw.items()}


def _simulated(paths: Sequence[_Path], plausible: Floats, n: float, generator: np.random.Generator) -> dict[Key, float]:
    """Return the total-variation error of each fit on files drawn from a plausible table and randomized."""
    tries: list[dict[Key, float]] = []
    for _ in range(SIMULATIONS):
        theta, goal = _simulated_file(paths[0].channels, plausible, n, generator, finite=True)
        errors: dict[Key, float] = {}
        for path in paths:
            best = math.inf
            for key, table in path.fits(theta, n):
                errors[key] = _distance(table, goal)
                best = min(best, errors[key])
                if errors[key] > 1.5 * best:  # it only gets worse from here
                    break
        tries.append(errors)
    common = set.intersection(*(set(errors) for errors in tries))
    return {key: math.fsum(errors[key] for errors in tries) / SIMULATIONS for key in common}


def _randomized(
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
