"""Confidence intervals of the cells of a table.

The variance of an unbiased cell depends on the cell itself: where few people are, an error that is estimated from the
few reports of them is too small, and estimate ± z · error covers too seldom. ``score_interval`` asks the other way
round, as Wilson (Journal of the American Statistical Association 22, 1927) does for a proportion: for which true
shares p is the estimate within z standard errors *of p*? With λ = 1 it is Wilson's interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from lambdarr import kronecker
from lambdarr.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Lower and upper ends, one of each per cell, and in ``kind`` how they were found; unpacks as lower, upper."""

    lower: Floats
    upper: Floats
    kind: str

    def __iter__(self) -> Iterator[Floats]:
        return iter((self.lower, self.upper))


def deviations(level: float, tables: int = 1, *, degrees: float = math.inf) -> float:
    """Return how many standard errors reach the level, for each of some intervals or for all at once (Bonferroni).

    A variance from few clusters is itself uncertain: with finite ``degrees`` of freedom the quantile is Student's.
    """
    if not isinstance(level, int | float | np.floating) or not 0 < level < 1:
        msg = f"level must be between 0 and 1, got {level}; 0.95 is usual"
        raise DataError(msg)
    if math.isfinite(degrees):
        from scipy import stats

        return float(stats.t.isf((1 - level) / (2 * tables), max(degrees, 1)))
    return -NormalDist().inv_cdf((1 - level) / (2 * tables))


def score_interval(
    channels: Sequence[Channel], unbiased: Floats, plausible: Floats, *, n: float, finite: bool, z: float
) -> tuple[Floats, Floats]:
    """Return for every cell the shares p from which the unbiased estimate is at most z standard errors away.

    Parameters
    ----------
    channels : sequence of Channel
        One for each axis of the table.
    unbiased : array
        π̂ = A θ̂ of n reports.
    plausible : array
        A table without negative cells near the truth; how the people outside a cell spread over the others is taken
        from it.
    finite : bool
        Whether the randomization alone is random, or who was asked as well.

    Notes
    -----
    Equation (31) of docs/theory.md: n Var(p) = s (1 − p) + c p − p² (for the finite file − p instead of − p²), where c
    is what a person in the cell adds to the variance and s what one outside does on average. The ends are the roots of
    (π̂ − p)² = z² Var(p). No share is below 0 or above 1: beyond, the variance stays what it is there.
    """
    own = math.prod(_own_variance(channel) for channel in channels)
    plausible = 0.999 * plausible + 0.001 / plausible.size  # some people are always elsewhere
    everyone = kronecker.solve_squared(channels, kronecker.apply(channels, plausible))
    outside = np.maximum(everyone - own * plausible, 0) / (1 - plausible)
    return score_ends(unbiased, own=own, outside=outside, n=n, finite=finite, z=z)


def score_ends(
    unbiased: Floats, *, own: float, outside: Floats, n: float, finite: bool, z: float
) -> tuple[Floats, Floats]:
    """Return the shares from which an unbiased share is z standard errors away, by what people in and out of it add."""
    width = z * z / n
    square = 1.0 if finite else 1.0 + width
    linear = 2 * unbiased + width * (own - outside - (1.0 if finite else 0.0))
    constant = unbiased**2 - width * outside
    root = np.sqrt(np.maximum(linear**2 - 4 * square * constant, 0))
    at_nobody = np.sqrt(width * outside)
    at_everybody = math.sqrt(width * max(own - 1, 0))
    ends = []
    for sign in (-1, 1):
        end = (linear + sign * root) / (2 * square)
        end = np.where(end < 0, unbiased + sign * at_nobody, end)
        ends.append(np.where(end > 1, np.maximum(unbiased + sign * at_everybody, 1), end))
    return np.minimum(ends[0], unbiased), np.maximum(ends[1], unbiased)


def _own_variance(channel: Channel) -> float:
    """Return Σ_y A(x, y)² P(y, x), the second moment of the unbiased indicator of a person's own category."""
    (a, b), (forward, spread) = channel.backward, channel.forward
    return (a + b) ** 2 * (forward + spread) + (channel.size - 1) * b**2 * spread
