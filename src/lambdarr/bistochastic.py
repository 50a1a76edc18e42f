"""Any bistochastic matrix: checks, entropy rate, Birkhoff–von Neumann, the identity's weight.

P(λ) is the corner of this class in which lambdarr lives; the results of the paper's Sections 2 to 4 hold for all
of it, and are here to be checked on any matrix that a user brings.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lambdarr.errors import DesignError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

TOLERANCE = 1e-9
"""How far a row or column sum may be from 1 before a matrix is not bistochastic."""

ENUMERATED = 8
"""The largest size for which all permutations are enumerated (8! = 40,320)."""


class Birkhoff(NamedTuple):
    """A convex combination of permutations, P = Σ weights[j] · permutation[j] (Theorem 3)."""

    weights: NDArray[np.float64]
    permutations: NDArray[np.intp]
    """One permutation per row: row i of the matrix has its 1 in column ``permutations[j, i]``."""

    def matrix(self) -> NDArray[np.float64]:
        """Return the matrix that the combination multiplies back to."""
        size = self.permutations.shape[1]
        total = np.zeros((size, size))
        for weight, permutation in zip(self.weights, self.permutations, strict=True):
            total[np.arange(size), permutation] += weight
        return total


class IdentityWeight(NamedTuple):
    """P = λ I + (1 − λ) R with R bistochastic (Corollary 1)."""

    lam: float
    remainder: NDArray[np.float64]


def is_bistochastic(matrix: ArrayLike, *, tolerance: float = TOLERANCE) -> bool:
    """Return whether a matrix is square and non-negative with rows and columns that sum to 1.

    Examples
    --------
    >>> is_bistochastic([[0.9, 0.1], [0.1, 0.9]]), is_bistochastic([[0.9, 0.1], [0.2, 0.8]])
    (True, False)
    """
    P = np.asarray(matrix, dtype=np.float64)
    if P.ndim != 2 or P.shape[0] != P.shape[1] or P.size == 0 or not np.isfinite(P).all():
        return False
    sums = np.concatenate([P.sum(axis=0), P.sum(axis=1)])
    return bool(P.min() >= -tolerance and (np.abs(sums - 1) <= tolerance).all())


def entropy_rate(matrix: ArrayLike) -> float:
    """Return H(P) in bits: the mean entropy of the rows, as the stationary distribution is uniform.

    Examples
    --------
    >>> entropy_rate([[0.9, 0.1], [0.1, 0.9]])
    0.469
    """
    P = _checked(matrix)
    positive = P[P > 0]
    return float(abs(-(positive * np.log2(positive)).sum() / P.shape[0]))  # abs: −0.0 for the identity


def perfect(size: int) -> NDArray[np.float64]:
    """Return P* = J/r, perfect privacy: every report as likely as any other, whatever the truth."""
    return np.full((size, size), 1 / size)


def average_of_permutations(size: int) -> NDArray[np.float64]:
    """Return the average of all r! permutation matrices, which is P* (Section 4); by enumeration, for r ≤ 8.

    Examples
    --------
    >>> average_of_permutations(4)[0]
    array([0.25, 0.25, 0.25, 0.25])
    """
    if not 1 <= size <= ENUMERATED:
        msg = f"size must be from 1 to {ENUMERATED} to enumerate its permutations, got {size}; use perfect(size)"
        raise DesignError(msg)
    total = np.zeros((size, size), dtype=np.int64)
    for permutation in itertools.permutations(range(size)):
        total[np.arange(size), permutation] += 1
    return total / math.factorial(size)


def birkhoff(matrix: ArrayLike, *, tolerance: float = TOLERANCE) -> Birkhoff:
    """Return permutations and weights whose convex combination is the matrix (Theorem 3).

    Notes
    -----
    Greedy: as long as weight is left, the remainder's support holds a perfect matching (a permutation); the smallest
    entry on the one found is its weight and empties a cell. At most r² − 2r + 2 terms. The decomposition is not unique.

    Examples
    --------
    >>> found = birkhoff([[0.9, 0.1], [0.1, 0.9]])
    >>> found.weights, found.permutations.tolist()
    (array([0.9, 0.1]), [[0, 1], [1, 0]])
    """
    from scipy.optimize import linear_sum_assignment  # a slow import that nothing else here needs

    remainder = np.maximum(_checked(matrix), 0)
    size = remainder.shape[0]
    rows = np.arange(size)
    negligible = tolerance / size
    weights, permutations = [], []
    while remainder.sum() / size > tolerance:
        # the permutation with the largest product on the support: heavy entries first, so few terms
        with np.errstate(divide="ignore"):
            cost = np.where(remainder > negligible, -np.log(remainder), np.inf)
        try:
            _, columns = linear_sum_assignment(cost)
        except ValueError:  # only rounding dust is left: no permutation fits in it
            break
        weight = remainder[rows, columns].min()
        remainder[rows, columns] -= weight
        weights.append(weight)
        permutations.append(columns)
    total = np.array(weights)
    return Birkhoff(total / total.sum(), np.array(permutations))


def identity_weight(matrix: ArrayLike) -> IdentityWeight:
    """Return the largest λ, and R bistochastic, with P = λ I + (1 − λ) R (Corollary 1).

    λ is the smallest entry of the diagonal.

    Examples
    --------
    >>> identity_weight([[0.9, 0.1], [0.1, 0.9]]).lam
    0.9
    """
    P = _checked(matrix)
    lam = float(P.diagonal().min())
    if lam >= 1 - TOLERANCE:  # the identity, up to rounding: any R will do
        return IdentityWeight(1.0, perfect(P.shape[0]))
    return IdentityWeight(lam, (P - lam * np.eye(P.shape[0])) / (1 - lam))


def _checked(matrix: ArrayLike) -> NDArray[np.float64]:
    P = np.array(matrix, dtype=np.float64)
    if not is_bistochastic(P):
        msg = "matrix must be bistochastic: square, no negative entry, every row and every column summing to 1"
        raise DesignError(msg)
    return P
