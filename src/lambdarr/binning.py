"""How many bins a numerical attribute gets: as many as make the predicted error of what is asked for the least.

Wide bins do not say where in them people are. Narrow ones, at the same ε, are many categories, so that λ is small and
the noise large. The noise follows from the channel and n, exactly. How much wide bins lose depends on the very
distribution that nobody knows yet, so it is averaged over shapes that numbers between bounds often have. Nothing here
sees an answer.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lambdarr.errors import DesignError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.numeric import Numeric, Target
    from lambdarr.scales import Scale

    Floats = NDArray[np.float64]

NEARLY = 1.01
"""Of numbers of bins whose errors differ by less than this factor, the smallest is chosen."""

MOST = 512
"""The largest number of bins that is tried: a five-hundredth of the range is a detail."""

SHARES = (0.5, 0.9)
"""The quantiles whose errors the target "quantiles" is about."""

_GRID = 1_025  # places, from one bound to the other, at which distribution functions are compared
_SUPREMUM = 1.74  # the mean largest deviation of a Brownian bridge, in standard deviations of its middle
_ABSOLUTE = math.sqrt(2 / math.pi)  # the mean deviation of a normal variable, in standard deviations


class Alternative(NamedTuple):
    """A number of bins that was considered."""

    bins: int
    lam: float
    """The keep rate that so many categories leave."""
    error: float
    """The predicted error, as a share of the range; for "ranges", as a share of people."""


@dataclass(frozen=True, slots=True, repr=False)
class Binning:
    """The bins that were chosen, and what else was considered.

    Parameters
    ----------
    name : str
        Of the numerical attribute.
    scale : Scale
        With the chosen number of bins.
    target : {"mean", "quantiles", "ranges", "histogram"}
        What they were chosen for.
    n : int
        The number of reports to expect.
    error : float
        The predicted error of the target, of typical shapes: the standard error of the mean, of quantiles (the root
        mean square of median and 90 % quantile), or the mean absolute error of the distribution function
        ("histogram", the Wasserstein distance), all as shares of the range; or the largest error of the distribution
        function ("ranges", the Kolmogorov distance), a share of people.
    alternatives : tuple of Alternative
        All that were tried, by their number of bins.
    """

    name: str
    scale: Scale
    target: Target
    n: int
    error: float
    alternatives: tuple[Alternative, ...]

    def __repr__(self) -> str:
        return f"<Binning of {self.name}: {self.scale.bins} bins for {self.target}, error {self.error:.3g}>"


def chosen(numeric: Numeric, channel_of: Callable[[int], Channel], n: int) -> Binning:
    """Return the scale with the least predicted error for a numerical attribute's target.

    Parameters
    ----------
    numeric : Numeric
        Its bounds, target, rounding, and what becomes of numbers outside.
    channel_of : callable
        The channel that so many categories would have. At a fixed ε its λ falls with their number; at a fixed λ it does
        not, and finer bins are no worse.
    n : int
        Number of reports to expect.

    Notes
    -----
    Equations (66) to (68) of docs/theory.md.

    Examples
    --------
    >>> from lambdarr import Channel
    >>> from lambdarr.numeric import Numeric
    >>> income = Numeric("income", 0, 100_000, target="histogram", outside="clip")
    >>> chosen(income, lambda size: Channel.from_epsilon(size, 1.0), 10_000).scale.bins
    6
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        msg = f"n must be a whole number of reports of at least 1, got {n!r}; it decides how fine bins may be"
        raise DesignError(msg)
    missing = numeric.missing is not None and not numeric.missing_is_public
    tried = []
    for bins in _candidates(numeric):
        scale = numeric.scale(bins)
        channel = channel_of(scale.size + missing)
        tried.append(Alternative(scale.bins, channel.lam, predicted(scale, channel, n, numeric.target)))
    least = min(alternative.error for alternative in tried)
    best = next(alternative for alternative in tried if alternative.error <= NEARLY * least)
    return Binning(numeric.name, numeric.scale(best.bins), numeric.target, int(n), best.error, tuple(tried))


def _candidates(numeric: Numeric) -> list[int]:
    """Return the numbers of bins to try: every small one, and larger ones a sixth apart."""
    if numeric.edges is not None:
        return [len(numeric.edges) - 1]
    smallest = 1 if numeric.target == "mean" and numeric.rounded == "random" else 2
    found, bins = [], smallest
    while bins <= min(numeric.most_bins, MOST):
        found.append(bins)
        bins += max(bins // 6, 1)
    if not found:
        msg = f"numerical attribute {numeric.name!r} is too narrow for bins: its bounds are {numeric.bounds}"
        raise DesignError(msg)
    return found


def predicted(scale: Scale, channel: Channel, n: int, target: str) -> float:
    """Return the predicted error of a target: the geometric mean over typical shapes, so that none of them rules."""
    errors = [_error(shape, scale, channel, n, target) for shape in typical_shapes()]
    return float(np.exp(np.mean(np.log(errors))))


class Shape(NamedTuple):
    """A distribution between the bounds, at ``_GRID`` places from one to the other.

    A place is the share of the bins that are below it, so where edges are spaced by ratio, it is on a log scale.
    """

    function: Floats
    """The distribution function."""

    @property
    def density(self) -> Floats:
        """The density, times the range."""
        return np.gradient(self.function, 1 / (_GRID - 1))


@functools.cache
def typical_shapes() -> tuple[Shape, ...]:
    """Return shapes that numbers between generous bounds often have.

    One hump, narrow or wide; two humps; a long tail on one side, from the bound or from a sharp start; and a block.
    None of them is centred where edges usually are.
    """
    x = np.linspace(0, 1, _GRID)
    humps = [((0.43, 0.09),), ((0.57, 0.13),), ((0.46, 0.2),), ((0.31, 0.08), (0.66, 0.11))]
    densities: list[Floats] = []
    for hump in humps:
        densities.append(np.sum([np.exp(-(((x - middle) / width) ** 2) / 2) / width for middle, width in hump], axis=0))
    densities += [np.exp(-x / 0.23), x**1.5 * np.exp(-x / 0.08), x * (1 - x) ** 3]
    densities += [np.where(x > 0.07, np.exp(-x / 0.19), 0.0), np.where((x > 0.19) & (x < 0.72), 1.0, 0.0)]
    shapes = []
    for density in densities:
        function = np.append(0.0, np.cumsum(density[1:] + density[:-1]))
        shapes.append(Shape(function / function[-1]))
    return tuple(shapes)


def _error(shape: Shape, scale: Scale, channel: Channel, n: int, target: str) -> float:
    if target == "mean":
        return _error_of_mean(shape, scale, channel, n)
    x = np.linspace(0, 1, _GRID)
    bias = _lost(shape, scale)
    variance = _noise(shape, scale, channel, n)
    if target == "ranges":
        return math.hypot(_SUPREMUM * math.sqrt(variance.max()), float(np.abs(bias).max()))
    squared = variance + bias**2
    if target == "histogram":
        return _ABSOLUTE * float(np.sqrt(squared).mean())
    places = np.interp(SHARES, shape.function, x)
    # whether an edge happens to be near a quantile is luck: what is lost is that of a bin's width around it
    width = max((_GRID - 1) // scale.bins, 1)
    lost = np.convolve(np.pad(bias**2, width, mode="edge"), np.full(width, 1 / width), mode="same")[width:-width]
    at = np.interp(places, x, variance + lost) / np.interp(places, x, shape.density) ** 2
    return math.sqrt(float(at.mean()))


def _error_of_mean(shape: Shape, scale: Scale, channel: Channel, n: int) -> float:
    """Return the standard error of the mean, and of bins their middles' error, as shares of the range: eq. (66)."""
    low, high = scale.edges[0], scale.edges[-1]
    points = (scale.points - low) / (high - low)
    x = np.interp(np.linspace(0, 1, _GRID), _edges(scale), (np.array(scale.edges) - low) / (high - low))
    shares = np.diff(shape.function)
    middles = (x[:-1] + x[1:]) / 2
    pi = _categories(shape, scale)
    values = np.zeros(channel.size)
    values[scale.places] = points
    lam = channel.lam
    worth = (values - (1 - lam) * values.mean()) / lam
    reported = np.full(channel.size, channel.off_diagonal)
    reported[scale.places] += lam * pi
    mean = float(reported @ worth)
    variance = float(reported @ (worth - mean) ** 2) / n
    bias = float(pi @ points - shares @ middles)
    return math.hypot(math.sqrt(variance), bias)


def _categories(shape: Shape, scale: Scale) -> Floats:
    """Return the shares of the categories within the bounds."""
    x = np.linspace(0, 1, _GRID)
    edges = _edges(scale)
    at_edges = np.interp(edges, x, shape.function)
    if scale.rounding == "none":
        return np.diff(at_edges)
    # the mean of F over a bin is the share that is rounded to its lower edge or further down
    total = np.append(0.0, np.cumsum((shape.function[1:] + shape.function[:-1]) / 2) / (_GRID - 1))
    means = np.diff(np.interp(edges, x, total)) / np.diff(edges)
    return np.diff(np.concatenate([[0.0], means, [1.0]]))


def _edges(scale: Scale) -> Floats:
    """Return where the edges are among the places: evenly spaced, whatever their widths."""
    return np.linspace(0, 1, scale.bins + 1)


def _noise(shape: Shape, scale: Scale, channel: Channel, n: int) -> Floats:
    """Return the variance of the unbiased distribution function: θ(1 − θ)/(nλ²), θ its reported share: eq. (67)."""
    x = np.linspace(0, 1, _GRID)
    edges = _edges(scale)
    below = np.interp(x, edges, np.arange(len(edges)) / scale.bins) * scale.inside + scale.counts_outside
    reported = channel.lam * shape.function + (1 - channel.lam) * below / channel.size
    return np.asarray(reported * (1 - reported) / (n * channel.lam**2))


def _lost(shape: Shape, scale: Scale) -> Floats:
    """Return by how much a smooth curve through the edges misses the distribution function between them: eq. (68).

    The curve is cubic between two edges, with the slope at each that its neighbours have: a stand-in for the smooth
    histogram that takes no fit.
    """
    x = np.linspace(0, 1, _GRID)
    edges = _edges(scale)
    values = np.interp(edges, x, shape.function)
    slopes = np.gradient(values, edges) if len(edges) > 2 else np.ones(2)
    slopes[[0, -1]] = np.maximum(slopes[[0, -1]], 0)
    place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    width = np.diff(edges)[place]
    t = (x - edges[place]) / width
    curve = (
        (1 + 2 * t) * (1 - t) ** 2 * values[place]
        + t**2 * (3 - 2 * t) * values[place + 1]
        + width * (t * (1 - t) ** 2 * slopes[place] - t**2 * (1 - t) * slopes[place + 1])
    )
    return np.asarray(curve - shape.function)
