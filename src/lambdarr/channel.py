"""P(λ) of one attribute: its entries, its inverse, its bits, β and ε, and the way back from each to λ.

Read this first. Everything else in the package combines channels.

An attribute with r categories is reported through

    P(λ) = λ I + (1 − λ) J / r          (J: all ones; eq. (6) of the paper)

that is: with probability λ, the *keep rate*, the truth; otherwise one of the r categories, uniformly (which may
happen to be the truth again). λ = 1 publishes the truth, λ = 0 would say nothing at all.

What is really run is an integer rule on one uniform 32-bit word (see ``sampling.py``), so λ lives on a grid:
λ = T / 2³² with an integer threshold 0 < T ≤ 2³² for which 2³² − T is a multiple of r.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from lambdarr.errors import DesignError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

WORDS = 2**32
"""How many values one uniform word can take."""

MAX_SIZE = 65_536
"""The largest number of categories of one attribute."""

Rounding = Literal["nearest", "private"]


@dataclass(frozen=True, slots=True)
class Channel:
    """The channel P(λ) through which one attribute is reported.

    Parameters
    ----------
    size : int
        Number r of categories, from 2 to 65,536.
    lam : float
        Keep rate λ in (0, 1]. It is moved to the grid on which the sampler is exact, by less than r / 2³².
    rounding : {"nearest", "private"}
        Which way λ moves: to the nearest grid point, or down, to the private side.

    Examples
    --------
    >>> channel = Channel(5, 0.6)
    >>> channel.lam, channel.threshold  # moved by 4e-10, to where the redraw is exactly uniform
    (0.6, 2576980376)
    >>> channel.truthfulness, channel.bits, channel.strength
    (0.68, 1.544, 0.665)
    """

    size: int
    lam: float
    rounding: Rounding = field(default="nearest", kw_only=True, compare=False)

    def __post_init__(self) -> None:
        check_size(self.size)
        _check_keep_rate(self.lam)
        # exact rational arithmetic: the number of words per category that a redraw gets
        wanted = (1 - Fraction(self.lam)) * WORDS / self.size
        width = math.ceil(wanted) if self.rounding == "private" else round(wanted)
        if wanted > 0:
            width = max(width, 1)  # what was asked to be randomized is
        widest = _widest(self.size)
        if width > widest and self.rounding == "private":
            msg = (
                f"lam must be at least {smallest_keep_rate(self.size):.3g} for {self.size} categories, got "
                f"{self.lam}; a smaller keep rate cannot be run exactly"
            )
            raise DesignError(msg)
        threshold = WORDS - min(width, widest) * self.size
        object.__setattr__(self, "size", int(self.size))
        object.__setattr__(self, "lam", threshold / WORDS)

    # What the channel is.

    @property
    def threshold(self) -> int:
        """T: the words 0 … T − 1 of 2³² report the truth."""
        return int(self.lam * WORDS)  # exact: a float64 holds T / 2³²

    @property
    def width(self) -> int:
        """(2³² − T) / r: how many words redraw each category."""
        return (WORDS - self.threshold) // self.size

    @property
    def truthfulness(self) -> float:
        """Diagonal d = λ + (1 − λ)/r of P: the chance that a report is the truth."""
        return (self.threshold + self.width) / WORDS

    @property
    def off_diagonal(self) -> float:
        """Entry o = (1 − λ)/r off the diagonal: the chance of each report that is not the truth."""
        return self.width / WORDS

    @property
    def forward(self) -> tuple[float, float]:
        """(λ, o) with P = λ I + o J."""
        return self.lam, self.off_diagonal

    @property
    def backward(self) -> tuple[float, float]:
        """(a, b) with P⁻¹ = a I + b J: a = 1/λ, b = −(1 − λ)/(λ r), eq. (7) of the paper."""
        return 1 / self.lam, -self.off_diagonal / self.lam

    def matrix(self) -> NDArray[np.float64]:
        """Return P(λ) as an r × r array, ``P[x, y]`` = Pr(report y given truth x).

        Examples
        --------
        >>> Channel(2, 0.8).matrix()
        array([[0.9, 0.1],
               [0.1, 0.9]])
        """
        return _dense(self.size, *self.forward)

    def inverse(self) -> NDArray[np.float64]:
        """Return P(λ)⁻¹ = (1/λ)(I − J/r) + J/r as an r × r array: nothing is inverted numerically.

        Examples
        --------
        >>> Channel(2, 0.8).inverse()
        array([[ 1.125, -0.125],
               [-0.125,  1.125]])
        """
        return _dense(self.size, *self.backward)

    # What the channel gives away.

    @property
    def max_bits(self) -> float:
        """log₂ r: the bits of P* = J/r, which says nothing."""
        return math.log2(self.size)

    @property
    def bits(self) -> float:
        """H(P) = −d log₂ d − (r−1) o log₂ o: the entropy rate, in bits of deniability."""
        d, o = self.truthfulness, self.off_diagonal
        if o == 0:
            return 0.0
        return -d * math.log2(d) - (self.size - 1) * o * math.log2(o)

    @property
    def strength(self) -> float:
        """β = H(P)/log₂ r in [0, 1], Definition 1 of the paper."""
        return self.bits / self.max_bits

    @property
    def epsilon(self) -> float:
        """ε = ln(d/o) = ln(1 + λ r/(1 − λ)): the nats that one report may leak; infinite at λ = 1."""
        return math.log1p(self.threshold / self.width) if self.width else math.inf

    # The way back: the largest keep rate that meets a target.

    @classmethod
    def from_strength(cls, size: int, strength: float) -> Channel:
        """Return the channel with the largest λ whose strength is at least ``strength``, in [0, 1).

        Examples
        --------
        >>> Channel.from_strength(5, 0.9).strength
        0.9
        """
        _check_target("strength", strength, low=0, high=1, open_high=True, why="strength 1 needs λ = 0")
        return _largest(size, lambda channel: channel.strength >= strength, f"strength {strength}")

    @classmethod
    def from_bits(cls, size: int, bits: float) -> Channel:
        """Return the channel with the largest λ that gives at least ``bits`` bits of deniability.

        Examples
        --------
        >>> Channel.from_bits(4, 1.5).bits
        1.5
        """
        check_size(size)
        why = f"{size} categories hold log₂ r = {math.log2(size):.6g} bits, reached only by λ = 0"
        _check_target("bits", bits, low=0, high=math.log2(size), open_high=True, why=why)
        return _largest(size, lambda channel: channel.bits >= bits, f"{bits} bits")

    @classmethod
    def from_epsilon(cls, size: int, epsilon: float) -> Channel:
        """Return the channel with the largest λ whose reports satisfy ε-local differential privacy.

        Notes
        -----
        λ = (1 − e^−ε)/(1 + (r − 1) e^−ε), eq. (12) of docs/theory.md, moved down to the grid.

        Examples
        --------
        >>> Channel.from_epsilon(2, 1.0).lam
        0.462
        """
        if not is_number(epsilon) or not epsilon > 0:  # also catches nan
            msg = f"epsilon must be a positive number, got {epsilon!r}; ε = 0 needs λ = 0, which reports nothing"
            raise DesignError(msg)
        return _largest(size, lambda channel: channel.epsilon <= epsilon, f"ε = {epsilon}")

    @classmethod
    def from_truthfulness(cls, size: int, truthfulness: float) -> Channel:
        """Return the channel with the largest λ whose reports are true with at most this probability.

        Examples
        --------
        >>> Channel.from_truthfulness(2, 0.9).lam
        0.8
        """
        check_size(size)
        why = f"a uniform guess among {size} categories is already true 1 time in {size}"
        _check_target("truthfulness", truthfulness, low=1 / size, high=1, open_low=True, why=why)
        return _largest(size, lambda channel: channel.truthfulness <= truthfulness, f"truthfulness {truthfulness}")

    @classmethod
    def from_posterior(cls, size: int, posterior: float, prior: ArrayLike | None = None) -> Channel:
        """Return the channel with the largest λ that leaves no truth more probable than this after its report.

        Examples
        --------
        >>> Channel.from_posterior(2, 0.95, [0.9, 0.1]).lam, Channel(2, 0.8).worst_posterior([0.9, 0.1])
        (0.357, 0.988)
        """
        check_size(size)
        pi = np.full(size, 1 / size) if prior is None else np.asarray(prior, dtype=np.float64)
        why = f"someone who sees no report already believes {pi.max():.6g} of the likeliest category"
        _check_target("posterior", posterior, low=float(pi.max()), high=1, open_low=True, open_high=True, why=why)
        return _largest(size, lambda channel: channel.worst_posterior(pi) <= posterior, f"posterior {posterior}")

    def worst_posterior(self, prior: ArrayLike) -> float:
        """Return the highest probability of a truth that any report can leave an observer with, who had this prior.

        Eq. (15) of docs/theory.md: a report y ≠ x never makes x likelier than it was before, so it is after y = x.
        """
        pi = np.asarray(prior, dtype=np.float64)
        reported = self.lam * pi + self.off_diagonal
        return float(np.divide(pi * self.truthfulness, reported, out=np.zeros_like(pi), where=reported > 0).max())


def check_size(size: int) -> None:
    """Refuse a number of categories that no channel can have."""
    if isinstance(size, bool) or not isinstance(size, numbers.Integral):
        msg = f"size must be a whole number of categories, got {size!r}"
        raise DesignError(msg)
    if size < 2:
        msg = f"size must be at least 2 categories, got {size}; an attribute with one answer has nothing to hide"
        raise DesignError(msg)
    if size > MAX_SIZE:
        msg = f"size must be at most {MAX_SIZE:,} categories, got {size:,}; group the rare ones first"
        raise DesignError(msg)


def _check_keep_rate(lam: float) -> None:
    if not is_number(lam) or not 0 < lam <= 1:  # also catches nan
        msg = f"lam must be a keep rate in (0, 1], got {lam!r}; λ = 1 publishes the truth, λ near 0 says almost nothing"
        raise DesignError(msg)


def is_number(value: object) -> bool:
    """Return whether a value is a real number; a boolean is none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _check_target(
    name: str, value: float, *, low: float, high: float, why: str, open_low: bool = False, open_high: bool = False
) -> None:
    fits = is_number(value) and low <= value <= high
    if not fits or (open_low and value == low) or (open_high and value == high):
        left, right = "(" if open_low else "[", ")" if open_high else "]"
        msg = f"{name} must be in {left}{low:.6g}, {high:.6g}{right}, got {value!r}; {why}"
        raise DesignError(msg)


def smallest_keep_rate(size: int) -> float:
    """Return the smallest λ of the grid.

    Examples
    --------
    >>> smallest_keep_rate(65_536) * 2**32
    65536.0
    """
    return (WORDS - _widest(size) * size) / WORDS


def _widest(size: int) -> int:
    """Return the largest redraw width that leaves a threshold T > 0."""
    return (WORDS - 1) // size


def _at_width(size: int, width: int) -> Channel:
    return Channel(size, (WORDS - width * size) / WORDS, rounding="private")


def _largest(size: int, satisfied: Callable[[Channel], bool], target: str) -> Channel:
    """Return the channel of the largest λ on the grid that satisfies a target met by all smaller λ.

    Bisection over the grid itself, rather than a closed form followed by rounding: the target is met by the very
    number the channel states, and a target read off a channel gives that channel back.
    """
    check_size(size)
    narrow, wide = 0, _widest(size)
    if satisfied(_at_width(size, narrow)):
        return _at_width(size, narrow)
    if not satisfied(_at_width(size, wide)):
        msg = f"{target} cannot be reached with {size} categories; the smallest λ is {_at_width(size, wide).lam:.3g}"
        raise DesignError(msg)
    while wide - narrow > 1:  # narrow fails, wide satisfies
        middle = (narrow + wide) // 2
        if satisfied(_at_width(size, middle)):
            wide = middle
        else:
            narrow = middle
    return _at_width(size, wide)


def _dense(size: int, identity: float, ones: float) -> NDArray[np.float64]:
    return identity * np.eye(size) + ones
