"""Reports of an ordered attribute → a smooth histogram of its truths: EM with a smoothing step.

A range is cut into fine cells, several to a bin. Reports say nothing of where in a bin people are, and, through a small
λ, little of anything fine: maximum likelihood answers with spikes. So between the steps of EM each cell gives a quarter
of what it has to each neighbour (EMS: B. Silverman, M. Jones, J. Wilson and D. Nychka, Journal of the Royal Statistical
Society B 52, 1990; for randomized reports Z. Li and others, SIGMOD 2020):

    π ← S (π ∘ Mᵀ(θ̂ / Mπ))          (M: from cells to reports; S: smoothing)

The fixed point of that, not an early stop, is the estimate. It is smoother than the truth by the same amount however
many reports there are, so where they contradict it the smoothing is weakened until they do not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lambdarr.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.scales import Scale

    Floats = NDArray[np.float64]

FINE = 256
"""Fine cells of a scale, at least: neighbours are so near that what one gives the other is a detail."""

STRONGEST = 0.25
"""The share of a cell that goes to each of its neighbours in one step, as in the kernel (1, 2, 1)/4."""

STRENGTHS = tuple(STRONGEST / 4**weaker for weaker in range(6))

MOST = 2_048
"""Fine cells of the finest scale that is smoothed: a minute's work."""

_STILL = 1e-9  # how far a step may still move the distribution where it has converged
_LIFT = 0.005  # of the distribution that a long step may take below zero
_LONG = 1e8  # a time after which all has come to rest, and short enough to compute with
_ROUNDS = 200  # more than any fit has needed


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The fine cells of a scale, and the categories that the numbers in each of them become.

    Parameters
    ----------
    bounds : array
        Where the cells within the scale begin, and where the last one ends. Whole numbers fill the unit above them: a
        cell from 3 to 5 holds 3 and 4.
    chances : array
        ``chances[category, cell]``: the chance that a number in the cell becomes that category, before it is
        randomized. After the cells within the scale there is one for each category of those outside or missing.
    """

    bounds: Floats
    chances: Floats

    @classmethod
    def of(cls, scale: Scale, size: int) -> Cells:
        """Return the cells of a scale, of ``size`` categories with a missing one.

        Examples
        --------
        >>> from lambdarr.scales import Scale
        >>> cells = Cells.of(Scale((0, 10, 20), outside="clip"), 3)
        >>> cells.chances.mean(axis=1)  # evenly spread numbers are rounded to the middle half of the time
        array([0.25, 0.5 , 0.25])
        """
        edges = np.array(scale.edges, dtype=np.float64)
        widths = np.diff(edges)
        fine = np.full(scale.bins, -(-FINE // scale.bins))  # also of a narrow bin: it is so because many are in it
        ends = edges.copy()
        whole = scale.unit in ("integer", "date")
        if whole:
            ends[-1] += 1  # the last bin has both its edges
            fine = np.minimum(fine, np.diff(ends).astype(np.int64))
        if fine.sum() > MOST:
            msg = f"a scale of {scale.bins:,} bins is too fine to be smoothed; take at most {MOST - FINE:,}"
            raise DataError(msg)
        cut = [np.linspace(a, b, k, endpoint=False) for a, b, k in zip(ends[:-1], ends[1:], fine, strict=True)]
        bounds = np.append(np.concatenate(cut), ends[-1])
        if whole:
            bounds = np.ceil(bounds)
        bins = np.repeat(np.arange(scale.bins), fine)
        first, count = scale.places.start, len(bins)
        others = [category for category in range(size) if not first <= category < scale.places.stop]
        chances = np.zeros((size, count + len(others)))
        chances[first + bins, np.arange(count)] = 1
        if scale.rounding == "random":  # linear within a bin, so the mean over a cell is the value in its middle
            upper = ((bounds[:-1] + bounds[1:] - whole) / 2 - edges[bins]) / widths[bins]
            chances[first + bins, np.arange(count)] -= upper
            chances[first + bins + 1, np.arange(count)] += upper
        chances[others, np.arange(count, count + len(others))] = 1
        return cls(bounds, chances)

    @property
    def within(self) -> int:
        """Number of cells within the scale."""
        return len(self.bounds) - 1

    def smoothing(self, strength: float) -> Smoothing:
        """Return how neighbours exchange a share of what they have.

        Cells of unequal width exchange by their densities, so that an even spread stays one.
        """
        widths = np.diff(self.bounds)
        between = strength * np.minimum(widths[:-1], widths[1:])
        up, down = np.zeros((2, self.chances.shape[1] - 1))
        up[: self.within - 1], down[: self.within - 1] = between / widths[:-1], between / widths[1:]
        return Smoothing(up, down)


class Smoothing(NamedTuple):
    """A matrix with three diagonals."""

    up: Floats
    """The share of each cell that goes to the next."""
    down: Floats
    """The share of each cell but the first that goes to the one before."""

    @property
    def stays(self) -> Floats:
        """The share of each cell that stays."""
        return np.asarray(1 - np.append(self.up, 0) - np.append(0, self.down))

    def __call__(self, values: Floats) -> Floats:
        """Return what cells have after the exchange; of several columns, each on its own."""
        result = (self.stays * values.T).T
        result[1:] += (self.up * values[:-1].T).T
        result[:-1] += (self.down * values[1:].T).T
        return result


class Smoothed(NamedTuple):
    """A fitted distribution over cells."""

    values: Floats
    strength: float
    """The share that neighbours exchanged: less than STRONGEST where reports contradict that much smoothing."""
    deviance: float
    """Twice the log-likelihood that the reports' own distribution has more."""


def fit(cells: Cells, channel: Channel, theta: Floats, n: float) -> Smoothed:
    """Return the smoothest fixed point of EMS that n reports with proportions θ̂ do not contradict.

    Notes
    -----
    Equation (63) of docs/theory.md. At the truth the deviance is about χ² with r − 1 degrees of freedom: smoothing is
    weakened as long as it is more than two standard deviations above its mean.
    """
    lam, redrawn = channel.forward
    reporting = lam * cells.chances + redrawn
    allowed = channel.size - 1 + 2 * math.sqrt(2 * (channel.size - 1))
    seen = theta > 0
    for strength in STRENGTHS:
        pi = _fixed_point(reporting, theta, cells.smoothing(strength))
        deviance = 2 * n * float(theta[seen] @ np.log(theta[seen] / (reporting @ pi)[seen]))
        if deviance <= allowed:
            break
    return Smoothed(pi, strength, deviance)


def _fixed_point(reporting: Floats, theta: Floats, smoothing: Smoothing) -> Floats:
    """Return the distribution that a step of EMS leaves as it is.

    Where λ is small the steps are, and there may be a million of them. So they are taken as the motion that they are:
    implicitly, over a time that grows as it comes to rest (pseudo-transient continuation), which ends as Newton's
    method. The matrix of each is one of three diagonals and one of as low a rank as there are categories.
    """
    from scipy import linalg

    size, cells = reporting.shape
    pi, time = np.full(cells, 1 / cells), 1.0
    for _ in range(_ROUNDS):
        reported = np.maximum(reporting @ pi, 1e-100)  # at λ = 1 what nobody reports is 0
        ratio = theta / reported
        factor = ratio @ reporting
        motion = smoothing(pi * factor) - pi
        if np.abs(motion).sum() < _STILL:
            break
        diagonals = np.zeros((3, cells))
        diagonals[0, 1:], diagonals[2, :-1] = -smoothing.down * factor[1:], -smoothing.up * factor[:-1]
        diagonals[1] = 1 + 1 / time - smoothing.stays * factor
        right = np.column_stack([motion, smoothing(pi[:, None] * reporting.T)])
        solved = linalg.solve_banded((1, 1), diagonals, right, check_finite=False)
        weighted = (ratio / reported)[:, None] * reporting
        inner = np.linalg.solve(np.eye(size) + weighted @ solved[:, 1:], weighted @ solved[:, 0])
        ahead = pi + solved[:, 0] - solved[:, 1:] @ inner
        lifted = np.maximum(ahead, 0.3 * pi)  # from 0 EM never returns
        if (lifted - ahead).sum() < _LIFT:
            pi, time = lifted / lifted.sum(), min(4 * time, _LONG)
        else:  # too far: a plain step, which never is, and a shorter time
            pi, time = pi + motion, time / 4
    return pi
