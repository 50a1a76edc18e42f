"""Exact tests of counts, and what several of them say together.

Every test is of a count that is binomial if the randomizer is right, so its p-value is exact, however rare the cell. A
group of independent ones is judged in two ways: by its smallest p-value, which sees one bad place, and by Fisher's
χ² = −2 Σ ln p, which sees many slightly bad ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

CheckName = Literal["repeats", "asked", "cells", "others", "positions", "lags", "calls", "pairs", "records", "epsilon"]
"""In the order in which they point to a cause: a wrong cell is also seen by all that follow."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a measured audit: several exact tests, and what they say together.

    Parameters
    ----------
    name : str
        ``repeats``, ``asked``, ``cells``, ``others``, ``positions``, ``lags``, ``calls``, ``pairs``, ``records`` or
        ``epsilon``.
    attributes : tuple of str
        The attribute that it is about; for ``pairs`` two of them, for ``asked`` and ``records`` all.
    tests : int
        How many counts were tested.
    chi_square, freedom : float, int
        Fisher's statistic −2 Σ ln p of the most suspicious group of tests, and its degrees of freedom.
    p_value : float
        The chance of anything as suspicious from a right randomizer, at most.
    finding : str
        What is wrong, in words; empty if the check passed.
    passed : bool
        Whether the p-value is above this check's share of the false-alarm rate.
    """

    name: CheckName
    attributes: tuple[str, ...]
    tests: int
    chi_square: float
    freedom: int
    p_value: float
    finding: str
    passed: bool


class Group(NamedTuple):
    """The p-values of independent tests, and how to tell of each."""

    p_values: Floats
    tell: Callable[[int], str]


def judge(name: CheckName, attributes: tuple[str, ...], groups: Iterable[Group], *, threshold: float) -> Check:
    """Return the check that groups of tests make; groups may depend on each other.

    Notes
    -----
    A group of m tests has p = 2 min(m min p, Pr(χ²₂ₘ ≥ −2 Σ ln p)), and G groups together G times the smallest of
    these: eq. (46) of docs/theory.md.
    """
    from scipy.special import gammaincc  # scipy.stats takes a second to import

    worst, tests, count = Check(name, attributes, 0, 0.0, 0, 1.0, "", True), 0, 0
    for group in groups:
        m = group.p_values.size
        if not m:
            continue
        tests, count = tests + m, count + 1
        statistic = float(-2 * np.log(np.maximum(group.p_values, 1e-300)).sum())
        place = int(group.p_values.argmin())
        alone, together = m * float(group.p_values[place]), float(gammaincc(m, statistic / 2))
        p_value = min(1.0, 2 * min(alone, together))
        if p_value < worst.p_value or not worst.finding:
            many = "" if alone <= together or m == 1 else f", and so on: {m:,} such counts together are unlikely"
            worst = Check(name, attributes, 0, statistic, 2 * m, p_value, group.tell(place) + many, True)
    p_value = min(1.0, count * worst.p_value)
    passed = p_value >= threshold
    finding = "" if passed else worst.finding  # something is always the most suspicious
    return Check(name, attributes, tests, worst.chi_square, worst.freedom, p_value, finding, passed)


def binomials(what: Callable[[int], str], tallied: Any, chance: Any) -> Group:
    """Return the exact two-sided tests of binomial counts, given with their trials; those without any are left out."""
    from scipy.special import betainc, betaincc

    observed, trials, chance = np.broadcast_arrays(*np.atleast_1d(*tallied, chance))
    places = np.flatnonzero(trials)
    observed, trials, chance = observed[places], trials[places], chance[places]
    others = trials - observed
    # Pr(N ≤ observed) and Pr(N ≥ observed), as incomplete beta functions
    below = np.where(others > 0, betaincc(observed + 1, np.maximum(others, 1), chance), 1.0)
    above = np.where(observed > 0, betainc(np.maximum(observed, 1), others + 1, chance), 1.0)

    def tell(place: int) -> str:
        share, expected = observed[place] / trials[place], chance[place]
        return f"{what(int(places[place]))} in {share:.2%} of {trials[place]:,} cases instead of {expected:.2%}"

    return Group(np.minimum(1.0, 2 * np.minimum(below, above)), tell)


def multinomial(what: Callable[[int, int], str], counts: Counts, chances: Floats) -> Group:
    """Return the exact tests of rows of multinomial counts: each cell given the cells before it.

    Notes
    -----
    Given n₀ … n_(y−1), the count n_y is binomial among what is left, with chance p_y / (1 − p₀ − … − p_(y−1)); these
    are independent, which Pearson's residuals are not.
    """
    left = counts.sum(axis=1, keepdims=True) - np.cumsum(counts, axis=1) + counts
    rest = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]  # from the end: no digits are lost where little is left
    given = np.divide(chances, rest, out=np.ones_like(rest), where=rest > 0)
    cells = counts.shape[1]
    exact = binomials(lambda place: "", (counts[:, :-1].ravel(), left[:, :-1].ravel()), given[:, :-1].ravel())
    shown = np.flatnonzero(left[:, :-1].ravel())
    totals = counts.sum(axis=1)

    def tell(place: int) -> str:
        row, cell = divmod(int(shown[place]), cells - 1)
        if cells == 2 and counts[row, 1] < counts[row, 0]:
            cell = 1  # of two cells tell the rarer one
        share = counts[row, cell] / totals[row]
        return f"{what(row, cell)} in {share:.2%} of {totals[row]:,} cases instead of {chances[row, cell]:.2%}"

    # what is left after the last but one may not be what has no chance
    impossible = ((counts > 0) & (chances == 0)).any(axis=1)
    p_values = exact.p_values
    if impossible.any():
        p_values = np.where(impossible[shown // (cells - 1)], 0.0, p_values)
    return Group(p_values, tell)
