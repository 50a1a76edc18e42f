"""Counts → proportions by maximum likelihood: on the whole simplex, or drawn towards a simpler table.

The reports' distribution is θ = Pπ. The likelihood of π ≥ 0, Σπ = 1 given observed proportions θ̂ is concave, and

    π ← π ∘ P(θ̂ / Pπ)

(EM; P is symmetric) never lowers it. At the maximum no entry of P(θ̂ / Pπ) exceeds 1, and n (max − 1) bounds what the
log-likelihood may still gain: that certificate, not a small step, is what stops the iteration. Steps are extrapolated
(SQUAREM: R. Varadhan and C. Roland, Scandinavian Journal of Statistics 35, 2008), which saves most of them.
"""

from __future__ import annotations

import time
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


def log_likelihood(theta: Floats, reported: Floats) -> float:
    """Return Σ θ̂ log θ: the log-likelihood of one report, on average."""
    seen = theta > 0
    return float(theta[seen] @ np.log(reported[seen]))


def backward(channels: Sequence[Channel], theta: Floats, pi: Floats) -> tuple[Floats, Floats]:
    """Return P(θ̂ / Pπ), by which EM multiplies π, and Pπ itself."""
    reported = kronecker.apply(channels, pi)
    ratio = np.divide(theta, reported, out=np.zeros_like(reported), where=reported > 0)
    return kronecker.apply(channels, ratio, out=ratio), reported


def maximum_likelihood(
    channels: Sequence[Channel], theta: Floats, *, n: float, start: Floats, seconds: float = 10.0
) -> Fit:
    """Return the table of largest likelihood among all that are not negative and sum to 1.

    Parameters
    ----------
    channels : sequence of Channel
        One for each axis of the table.
    theta : array
        Observed proportions θ̂.
    n : float
        Number of reports; the iteration stops when n (max P(θ̂/Pπ) − 1) is below ENOUGH.
    start : array
        Where to start, positive wherever the maximum may be.
    seconds : float
        When to stop at the latest; the gap says what is then missing.
    """
    prepare(theta.size)
    gap = np.inf

    def step(pi: Floats) -> Floats:
        nonlocal gap
        factor, _ = backward(channels, theta, pi)
        gap = n * (float(factor.max()) - 1)
        return pi * factor

    values, steps = _accelerated(
        step,
        start,
        lambda pi: log_likelihood(theta, kronecker.apply(channels, pi)),
        lambda _: gap < ENOUGH,
        seconds=seconds,
    )
    return Fit(values, max(gap, 0.0), steps)


def drawn_towards(
    channels: Sequence[Channel], theta: Floats, *, n: float, target: Floats, strength: float, start: Floats
) -> Floats:
    """Return the table that maximizes the likelihood times a Dirichlet prior around ``target``.

    The prior counts as ``strength`` · n people who answered as the target says: strength ∞ gives the target itself,
    strength 0 maximum likelihood.

    Notes
    -----
    π ← (π ∘ P(θ̂ / Pπ) + s π₀)/(1 + s): EM for the posterior mode, extrapolated.
    """
    weight = strength / (1 + strength)
    possible = target > 0

    def objective(pi: Floats) -> float:
        fit = log_likelihood(theta, kronecker.apply(channels, pi))
        return (1 - weight) * fit + weight * float(target[possible] @ np.log(np.maximum(pi[possible], 1e-300)))

    previous = start

    def step(pi: Floats) -> Floats:
        nonlocal previous
        previous = pi
        factor, _ = backward(channels, theta, pi)
        factor *= pi
        factor *= 1 - weight
        factor += weight * target
        return factor

    # what is left to move is below a tenth of what sampling noise moves
    enough = 0.1 / np.sqrt(n)
    values, _ = _accelerated(
        step, start, objective, lambda pi: float(np.abs(pi - previous).sum()) < enough * 0.1, seconds=10, most=60
    )
    return values


def _accelerated(
    step: Callable[[Floats], Floats],
    start: Floats,
    objective: Callable[[Floats], float],
    done: Callable[[Floats], bool],
    *,
    seconds: float,
    most: int = 2_000,
) -> tuple[Floats, int]:
    """Iterate ``step`` from ``start``, extrapolating two steps into many while the objective does not fall."""
    deadline = time.monotonic() + seconds
    pi, steps = start, 0
    while True:
        first = step(pi)
        steps += 1
        if done(first):
            return first, steps
        second = step(first)
        steps += 1
        if done(second) or steps >= most or time.monotonic() > deadline:
            return second, steps
        before, move, bend = pi, first - pi, second - 2 * first + pi
        length = float(np.linalg.norm(move)) / max(float(np.linalg.norm(bend)), 1e-300)
        pi = second
        if 1 < length < 1e8:
            # keep away from zero, where EM could never return from
            far = np.maximum(before + 2 * length * move + length**2 * bend, 1e-3 * second)
            far /= far.sum()
            if objective(far) >= objective(second):
                pi = far
