"""Counts → proportions by maximum likelihood: on the whole simplex, or drawn towards a simpler table.

The reports' distribution is θ = Pπ. The likelihood of π ≥ 0, Σπ = 1 given observed proportions θ̂ is concave, and

    π ← π ∘ P(θ̂ / Pπ)

(EM; P is symmetric) never lowers it. At the maximum no entry of P(θ̂ / Pπ) exceeds 1, and n (max − 1) bounds what the
log-likelihood may still gain: that certificate, not a small step, is what stops the iteration. Steps are extrapolated
(SQUAREM: R. Varadhan and C. Roland, Scandinavian Journal of Statistics 35, 2008), which saves most of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lambdarr import kronecker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel

    Floats = NDArray[np.float64]

ENOUGH = 0.1
"""What the log-likelihood may still gain where the iteration stops: far below what the data can tell."""

CALM = 1e-3
"""Gain in the log-likelihood of all n reports below which a pair of steps counts as none."""

_LOADED_FROM = 1 << 12  # cells from which the hundreds of products of one fit are worth loading compiled loops


class Fit(NamedTuple):
    """A fitted table."""

    values: Floats
    gap: float
    """An upper bound on what the log-likelihood of all n reports could still gain; 0 at the maximum."""
    steps: int


def prepare(cells: int) -> None:
    """Load the compiled loops if a fit of this many cells will use them enough."""
    if cells >= _LOADED_FROM:
        from lambdarr import kernels  # noqa: F401


def backward(channels: Sequence[Channel], theta: Floats, pi: Floats) -> tuple[Floats, Floats]:
    """Return P(θ̂ / Pπ), by which EM multiplies π, and Pπ itself."""
    reported = kronecker.apply(channels, pi)
    ratio = np.divide(theta, reported, out=np.zeros_like(reported), where=reported > 0)
    return kronecker.apply(channels, ratio, out=ratio), reported


def maximum_likelihood(channels: Sequence[Channel], theta: Floats, *, n: float, start: Floats) -> Fit:
    """Return the table of largest likelihood among all that are not negative and sum to 1.

    Parameters
    ----------
    channels : sequence of Channel
        One for each axis of the table.
    theta : array
        Observed proportions θ̂.
    n : float
        Number of reports; the iteration stops when n (max P(θ̂/Pπ) − 1) is below ENOUGH, or after a number of steps
        that depends on the size of the table alone: the gap then says what may be missing.
    start : array
        Where to start, positive wherever the maximum may be.
    """
    inverse = kronecker.solve(channels, theta)
    if inverse.min() >= 0:  # it explains the reports exactly: nothing can be likelier
        return Fit(inverse, 0.0, 0)
    prepare(theta.size)
    gap = np.inf

    def step(pi: Floats) -> Floats:
        nonlocal gap
        factor, _ = backward(channels, theta, pi)
        gap = n * (float(factor.max()) - 1)
        return pi * factor

    objective = Support(channels, theta).log_likelihood
    values, steps = accelerated(step, start, objective, lambda: gap < ENOUGH, most=most_steps(theta.size))
    return Fit(values, max(gap, 0.0), steps)


def drawn_towards(
    channels: Sequence[Channel],
    theta: Floats,
    *,
    n: float,
    target: Floats,
    strength: float,
    start: Floats,
    calm: float = CALM,
) -> Floats:
    """Return the table that maximizes the likelihood times a Dirichlet prior around ``target``.

    The prior counts as ``strength`` · n people who answered as the target says: strength ∞ gives the target itself,
    strength 0 maximum likelihood. It ends where a pair of steps gains less than ``calm`` in the log-likelihood of all
    n reports.

    Notes
    -----
    π ← (π ∘ P(θ̂ / Pπ) + s π₀)/(1 + s): EM for the posterior mode, extrapolated.
    """
    weight = strength / (1 + strength)
    possible = np.flatnonzero(target)
    wanted = target.ravel()[possible]
    support = Support(channels, theta)

    def objective(pi: Floats) -> float:
        prior = dot(wanted, np.log(np.maximum(pi.ravel()[possible], 1e-300)))
        return (1 - weight) * support.log_likelihood(pi) + weight * prior

    def step(pi: Floats) -> Floats:
        factor, _ = backward(channels, theta, pi)
        factor *= pi
        factor *= 1 - weight
        factor += weight * target
        return factor

    values, _ = accelerated(step, start, objective, lambda: False, most=most_steps(theta.size) // 4, gain=calm / n)
    return values


def most_steps(cells: int) -> int:
    """Return after how many steps a fit gives up: fewer for large tables, and never by the clock."""
    return int(min(max(4e8 / cells, 200), 4_000))


def dot(first: Floats, second: Floats) -> float:
    """Return Σ first · second, on this thread alone: two processes' BLAS threads would wait for each other."""
    return float(np.einsum("i,i->", first.ravel(), second.ravel()))


class Support:
    """The log-likelihood of one report, over the cells that occur."""

    def __init__(self, channels: Sequence[Channel], theta: Floats) -> None:
        self._channels = channels
        self._cells = np.flatnonzero(theta)
        self._theta = theta.ravel()[self._cells]

    def log_likelihood(self, pi: Floats) -> float:
        """Return Σ θ̂ log(Pπ)."""
        reported = kronecker.apply(self._channels, pi).ravel()[self._cells]
        return dot(self._theta, np.log(np.maximum(reported, 1e-300)))


def accelerated(
    step: Callable[[Floats], Floats],
    start: Floats,
    objective: Callable[[Floats], float],
    done: Callable[[], bool],
    *,
    most: int,
    gain: float = -np.inf,
    in_logs: bool = False,
) -> tuple[Floats, int]:
    """Iterate ``step`` from ``start``, extrapolating two steps into many while the objective does not fall.

    It ends when ``done``, when the objective has gained less than ``gain`` twice in a row, or after ``most`` steps.
    ``in_logs`` extrapolates log π: a log-linear model is a flat space there, which the path then never leaves.
    """
    pi, steps, last, calm = start, 0, -np.inf, 0
    while True:
        first = step(pi)
        if done():
            return first, steps + 1
        second = step(first)
        steps += 2
        if done() or steps >= most:
            return second, steps
        before, one, two = (_logs(x) if in_logs else x for x in (pi, first, second))
        move, bend = one - before, two - 2 * one + before
        length = math.sqrt(dot(move, move) / max(dot(bend, bend), 1e-300))
        pi, value = second, objective(second)
        if 1 < length < 1e8:
            far = before + 2 * length * move + length**2 * bend
            # keep away from zero, where EM could never return from
            far = np.exp(far - far.max()) if in_logs else np.maximum(far, 1e-3 * second)
            far /= far.sum()
            ahead = objective(far)
            if ahead >= value:
                pi, value = far, ahead
        calm = calm + 1 if value - last < gain else 0
        if calm == 2:
            return pi, steps
        last = value


def _logs(pi: Floats) -> Floats:
    return np.log(np.maximum(pi, 1e-300))


def project_to_simplex(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest table, in Euclidean distance, that is not negative and sums to 1.

    Notes
    -----
    max(v + δ, 0) with the one δ that makes it sum to 1, found among the sorted values in O(R log R).

    Examples
    --------
    >>> project_to_simplex(np.array([0.8, 0.4, -0.2]))
    array([0.7, 0.3, 0. ])
    """
    descending = np.sort(values, axis=None)[::-1]
    shifts = (1 - np.cumsum(descending)) / np.arange(1, descending.size + 1)
    last = np.flatnonzero(descending + shifts > 0)[-1:].sum()  # the first, if rounding leaves none
    return np.asarray(np.maximum(values + shifts[last], 0))
