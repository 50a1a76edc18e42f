"""Reports of one numerical attribute, or of ordered categories with scores → its mean, variance, histogram, quantiles.

What is linear in the shares of the categories, such as a mean of points or a distribution function at an edge, comes
from the exact inverse: unbiased, with exact errors. What needs to know how people are spread *within* bins, such as a
quantile, takes that from the smooth histogram (``smoothing.py``) and everything else from the exact inverse: so its
errors are the exact ones too, as far as the histogram is right about the inside of a bin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from lambdarr.conditions import scores_of
from lambdarr.designs import check_design
from lambdarr.errors import DataError
from lambdarr.individuals import distribution_of_drawn
from lambdarr.intervals import deviations
from lambdarr.queries import Answer, Bounds
from lambdarr.scales import FEWEST_BINS, UNEVEN, number_of
from lambdarr.smoothing import Cells, fit
from lambdarr.surveys import check_inference
from lambdarr.tabulation import tally

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.estimation import Inference
    from lambdarr.individuals import DrawnDistribution
    from lambdarr.scales import Scale
    from lambdarr.tabulation import Counts

    Floats = NDArray[np.float64]

Shape = Literal["smooth", "any"]

CLUMPS = 16
"""At how many places the people of one category are taken to stand, where their spread within it matters. With more,
the share of them below a number seems surer than it is: on real columns, which are heaped, 40 covered too seldom."""


class Outside(NamedTuple):
    """The shares of people below and above the bounds."""

    below: Answer
    above: Answer


class Histogram(NamedTuple):
    """How people within the bounds are spread, smooth and unbiased."""

    bounds: Floats
    """Where the fine cells begin, and where the last one ends."""
    shares: Floats
    """The share of people in each fine cell: never negative, and they sum to 1."""
    strength: float
    """How much neighbours exchanged, ``smoothing.STRONGEST`` or less."""
    points: Floats
    """What each category stands for: the middle of its bin, the edge that numbers were rounded to, or its score."""
    unbiased: Floats
    """The unbiased share of each category."""
    standard_errors: Floats
    """The errors of the unbiased shares."""

    @property
    def density(self) -> Floats:
        """The share per unit in each fine cell."""
        return self.shares / np.diff(self.bounds)


@dataclass(frozen=True, slots=True, eq=False)
class Quantile:
    """A quantile, with intervals from the distribution function around it.

    Parameters
    ----------
    share : float
        The share p of people that is at or below the quantile.
    value : float
        The quantile of the smooth histogram.
    """

    share: float
    value: float
    n: int
    inference: Inference
    _of: BinnedDistribution

    @property
    def standard_error(self) -> float:
        """Half the width of the interval that one standard error of the distribution function leaves."""
        lower, upper = self._ends(1.0)
        return (upper - lower) / 2

    def interval(self, level: float = 0.95, *, shape: Shape = "smooth") -> Bounds:
        """Return the numbers at which the distribution function may have the share (Woodruff's interval).

        Parameters
        ----------
        level : float
            How often it covers.
        shape : {"smooth", "any"}
            Whether people within a bin are spread as the smooth histogram says, or in any way at all: then the ends
            are edges, and the interval is wider by up to a bin on either side.
        """
        z = deviations(level)
        if shape == "any":
            return self._of._edges_around(self.share, z)
        if shape != "smooth":
            msg = f"shape must be 'smooth' or 'any', got {shape!r}"
            raise DataError(msg)
        return self._ends(z)

    def _ends(self, z: float) -> Bounds:
        lower, upper = self._of._crossings(self.share, z)
        return Bounds(min(lower, self.value), max(upper, self.value))


class _Fitted(NamedTuple):
    cells: Cells
    shares: Floats
    """Of all cells, those outside or missing at the end."""
    strength: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BinnedDistribution:
    """The distribution of one attribute's numbers, from reports of its categories. Made by ``lambdarr.distribution``.

    Parameters
    ----------
    counts : Counts
        Reports per category, of this attribute alone.
    channel : Channel
        The channel they went through.
    scale : Scale, optional
        How numbers became categories; None for ordered categories with scores.
    scores : array, optional
        The number of each category, ascending; instead of a scale.
    inference : {"population", "finite"}
        What the errors speak of.

    Notes
    -----
    All is about people within the bounds, where those outside are counted and missing answers are a category.
    """

    counts: Counts
    channel: Channel
    scale: Scale | None = None
    scores: Floats | None = None
    inference: Inference = "population"
    _fit: _Fitted | None = None

    def __post_init__(self) -> None:
        check_inference(self.inference, is_complex=self.counts.clustered is not None)
        if (self.scale is None) == (self.scores is None):
            msg = "a distribution needs a scale or scores, and not both"
            raise DataError(msg)
        if self.counts.values.shape != (self.channel.size,):
            msg = (
                f"counts must be of one attribute with the channel's {self.channel.size} categories, got "
                f"{self.counts.values.shape}"
            )
            raise DataError(msg)
        if self.scale is not None and self.channel.size - self.scale.size not in (0, 1):
            msg = f"the channel must have the scale's {self.scale.size} categories, and perhaps a missing one"
            raise DataError(msg)
        if not self.counts.total > 0:
            msg = "a distribution needs at least one report"
            raise DataError(msg)
        if self.scores is not None and (len(self.scores) < 2 or not (np.diff(self.scores) > 0).all()):
            msg = "scores must ascend, as the categories are taken to be in their order"
            raise DataError(msg)

    def __repr__(self) -> str:
        return f"<BinnedDistribution of {self.counts.attributes[0]}: {self.n:,} reports, {self.inference}>"

    @property
    def n(self) -> int:
        """Number of reports."""
        return self.counts.n

    @property
    def points(self) -> Floats:
        """The number that each category within the bounds stands for."""
        if self.scale is not None:
            return self.scale.points
        assert self.scores is not None
        return self.scores

    # What is linear in the shares.

    def mean(self) -> Answer:
        """Return the mean of the numbers within the bounds.

        Where numbers were rounded at random it is unbiased however wide the bins are (a ratio, and nearly so, where
        some are outside or missing). Where they were put into bins it is the mean of the bins' middles: off by as much
        as people are off the middle of their bins, at most half a bin.
        """
        value, influence = self._ratio(self.points)
        return self._answer(value, influence)

    def variance(self) -> Answer:
        """Return the variance of the numbers within the bounds.

        Rounding adds to the variance, and middles of bins lack some: E[(x − a)(b − x)] between edges a and b, from 0
        to (b − a)²/4, and about (b − a)²/6; or the variance within a bin, about (b − a)²/12. This is taken from the
        smooth histogram. Few edges say next to nothing of it, and the variance is refused.

        Notes
        -----
        Equation (62) of docs/theory.md.
        """
        if self.scale is not None and self.scale.hides_variance:
            bins = "1 bin" if self.scale.bins == 1 else f"{self.scale.bins} bins"
            msg = (
                f"{self.counts.attributes[0]!r} has {bins}, too few to tell how much it varies: numbers amid "
                f"a bin and numbers at both its ends give the same reports; take {FEWEST_BINS} bins or more"
            )
            raise DataError(msg)
        mean, _ = self._ratio(self.points)
        value, influence = self._ratio((self.points - mean) ** 2)
        excess = self._excess()
        noise = float(self._errors(influence))
        return Answer(value - excess, math.hypot(noise, UNEVEN * excess), self.n, self.inference)

    def standard_deviation(self) -> Answer:
        """Return the standard deviation of the numbers within the bounds."""
        variance = self.variance()
        if variance.value <= 0:
            msg = "noise hides the variance: it is estimated as 0 or less; ask for the variance, and see its interval"
            raise DataError(msg)
        value = math.sqrt(variance.value)
        return Answer(value, variance.standard_error / (2 * value), self.n, self.inference)

    def outside(self) -> Outside:
        """Return the shares of people below and above the bounds, among all who answered."""
        if self.scale is None or not self.scale.counts_outside:
            msg = f"numbers outside the bounds of {self.counts.attributes[0]!r} are not counted by its scale"
            raise DataError(msg)
        answered = (np.arange(self.channel.size) < self.scale.size).astype(np.float64)
        found = []
        for category in (0, self.scale.size - 1):
            wanted = np.zeros(self.channel.size)
            wanted[category] = 1
            share = self._share(wanted) / self._share(answered)
            found.append(self._answer(share, (wanted - share * answered) / self._share(answered)))
        return Outside(*found)

    # What needs the inside of bins.

    def histogram(self) -> Histogram:
        """Return how people within the bounds are spread, over fine cells.

        EM with a smoothing step, to its fixed point: eq. (63) of docs/theory.md; beside it the unbiased shares of the
        categories, which may be negative.
        """
        fitted = self._fitted()
        inside = fitted.shares[: fitted.cells.within]
        indicators = np.eye(self.channel.size)[self._places]
        answers = [self._answer(*self._ratio_of(indicator)) for indicator in indicators]
        return Histogram(
            fitted.cells.bounds,
            inside / inside.sum(),
            fitted.strength,
            self.points,
            np.array([answer.value for answer in answers]),
            np.array([answer.standard_error for answer in answers]),
        )

    def cdf(self, value: object) -> Answer:
        """Return the share of people within the bounds whose number is at most this: it never falls as that rises.

        The value is the smooth histogram's. The error has that of the unbiased function, what is not known of the shape
        within bins, and how far the two are apart.
        """
        number = self._number(value)
        if self.scores is not None:
            number = float(np.searchsorted(self.scores, number, side="right"))
        elif self._is_whole:
            number = math.floor(number) + 1.0  # whole numbers fill the unit above them
        bounds, function = self._curve()
        inside = np.array([np.interp(number, bounds, column) for column in self._within(0).T])
        share = float(np.interp(number, bounds, function))
        total = self._share(self._inside)
        noise = float(self._errors((inside - share * self._inside) / total))
        shape = float(self._shape_errors(inside[None, :])[0]) / total
        apart = share - self._share(inside) / total
        return Answer(share, math.hypot(noise, shape, apart), self.n, self.inference)

    def quantile(self, share: float) -> Quantile:
        """Return the number that a share of the people within the bounds is at or below.

        Examples
        --------
        >>> from lambdarr import Channel, Counts
        >>> from lambdarr.scales import Scale
        >>> counts = Counts.from_array(["age"], [300, 500, 200])
        >>> scale = Scale((0, 30, 60, 90), rounding="none", outside="clip")
        >>> BinnedDistribution(counts, Channel(3, 0.8), scale).quantile(0.5).value
        41.2
        """
        if isinstance(share, bool) or not isinstance(share, int | float | np.floating) or not 0 < share < 1:
            msg = f"the share of a quantile must be between 0 and 1, got {share!r}; 0.5 is the median"
            raise DataError(msg)
        bounds, function = self._curve()
        return Quantile(share, self._as_number(float(np.interp(share, function, bounds))), self.n, self.inference, self)

    # How it is done.

    @property
    def _places(self) -> slice:
        return slice(0, self.channel.size) if self.scale is None else self.scale.places

    @property
    def _inside(self) -> Floats:
        result = np.zeros(self.channel.size)
        result[self._places] = 1
        return result

    @property
    def _is_whole(self) -> bool:
        return self.scale is not None and self.scale.unit in ("integer", "date")

    @property
    def _theta(self) -> Floats:
        return self.counts.values / self.counts.total

    @property
    def _squares(self) -> Floats:
        """Σ w² per category, over (Σ w)²."""
        squares = self.counts.values if self.counts.squares is None else self.counts.squares
        return squares / self.counts.total**2

    def _worth(self, function: Floats) -> Floats:
        """Return what a report is worth: (f − (1 − λ) f̄)/λ, whose mean over the randomization is f of the truth."""
        lam = self.channel.lam
        return np.asarray((function - (1 - lam) * function.mean(axis=-1, keepdims=True)) / lam)

    def _share(self, function: Floats) -> float:
        return float(self._worth(function) @ self._theta)

    def _errors(self, functions: Floats) -> Floats:
        """Return the standard error of the unbiased mean of each function of the categories, eq. (61)."""
        worth = self._worth(functions)
        if self.inference == "finite":  # what the numbers' own squares are, rounding apart, is no error
            own = functions**2 - self._rounding(functions)
            variances = (worth**2 - self._worth(own)) @ self._squares
        else:
            mean = (worth @ self._theta)[..., None]
            variances = (worth - mean) ** 2 @ self._squares
            # a few reports that are alike are no certainty: the next may be any, and its error is the least there is
            variances = np.maximum(variances, ((worth - mean) ** 2).mean(axis=-1) / (self.n * (self.n + 1)))
        return np.asarray(np.sqrt(np.maximum(variances, 0)))

    def _rounding(self, functions: Floats) -> Floats:
        """Return what rounding at random adds to the square of each function of the categories."""
        added = np.zeros_like(functions)
        if self.scale is not None:
            size = self.scale.size
            for function, row in zip(np.atleast_2d(functions), np.atleast_2d(added), strict=True):
                row[:size] = self.scale.excess(function[:size], function[:size])
        return added

    def _ratio_of(self, function: Floats) -> tuple[float, Floats]:
        """Return the mean of a function that is 0 outside, among people within the bounds, and its influence."""
        total = self._share(self._inside)
        if total <= 0:
            name = self.counts.attributes[0]
            msg = f"nobody, or fewer than nobody by chance, seems to be within the bounds of {name!r}"
            raise DataError(msg)
        value = self._share(function) / total
        return value, (function - value * self._inside) / total

    def _ratio(self, values: Floats) -> tuple[float, Floats]:
        function = np.zeros(self.channel.size)
        function[self._places] = values
        return self._ratio_of(function)

    def _answer(self, value: float, influence: Floats) -> Answer:
        return Answer(value, float(self._errors(influence)), self.n, self.inference)

    def _fitted(self) -> _Fitted:
        if self._fit is None:
            cells = (
                Cells.of(self.scale, self.channel.size) if self.scale is not None else _categories(self.channel.size)
            )
            found = fit(cells, self.channel, self._theta, 1 / float(self._squares.sum()))
            object.__setattr__(self, "_fit", _Fitted(cells, found.values, found.strength))
        assert self._fit is not None
        return self._fit

    def _excess(self) -> float:
        """Return by how much the points' variance exceeds the numbers', as the smooth histogram has it."""
        if self.scale is None:
            return 0.0
        fitted = self._fitted()
        return excess_variance(self.scale, fitted.cells, fitted.shares)

    def _curve(self) -> tuple[Floats, Floats]:
        """Return the bounds of the cells and the smooth distribution function there."""
        fitted = self._fitted()
        inside = np.cumsum(fitted.shares[: fitted.cells.within])
        return fitted.cells.bounds, np.append(0.0, inside / inside[-1])

    def _within(self, share: float) -> Floats:
        """Return for each bound of the cells the function of the categories whose mean is F − p there.

        Of those in a category it counts the part that the smooth histogram has below the bound.
        """
        fitted = self._fitted()
        joint = fitted.cells.chances * fitted.shares + 1e-12 * fitted.cells.chances  # nobody anywhere: evenly spread
        inside = joint[:, : fitted.cells.within]
        below = np.cumsum(inside, axis=1) / np.maximum(inside.sum(axis=1, keepdims=True), 1e-300)
        return np.vstack([np.zeros(self.channel.size), below.T]) - share * self._inside

    def _crossings(self, share: float, z: float) -> Bounds:
        functions, bounds = self._within(share), self._fitted().cells.bounds
        excess = self._worth(functions) @ self._theta
        errors = z * np.hypot(self._errors(functions), self._shape_errors(functions + share * self._inside))
        low = np.flatnonzero(excess + errors >= 0)
        high = np.flatnonzero(excess - errors <= 0)
        lower = _crossing(bounds, excess + errors, int(low[0]) - 1) if len(low) else float(bounds[-1])
        upper = _crossing(bounds, excess - errors, int(high[-1])) if len(high) else float(bounds[0])
        return Bounds(self._as_number(lower), self._as_number(upper))

    def _shape_errors(self, below: Floats) -> Floats:
        """Return the error of the distribution function that is due to the shape within categories: eq. (64).

        Where a share c of a category is taken to be below, it is as uncertain as that of a few places.
        """
        if self.scale is None:
            return np.zeros(len(below))
        fitted = self._fitted()
        shares = fitted.cells.chances @ fitted.shares
        return np.asarray(np.sqrt(np.maximum(below * (1 - below) * shares**2, 0).sum(axis=1) / CLUMPS))

    def _edges_around(self, share: float, z: float) -> Bounds:
        """Return the edges between which the quantile is, however people are spread within bins: eq. (65)."""
        count = len(self.points)
        below = np.zeros((count, self.channel.size))
        below[:, self._places] = np.tri(count)
        functions = below - share * self._inside
        excess, errors = self._worth(functions) @ self._theta, z * self._errors(functions)
        if self.scale is None:
            assert self.scores is not None
            low, high = np.append(self.scores[1:], self.scores[-1]), self.scores
        else:
            edges = np.array(self.scale.edges, dtype=np.float64)
            # shares of edges are means of F over the bin above: no less than F at its start, no more than at its end
            low = edges if self.scale.rounding == "random" else edges[1:]
            high = np.append(edges[1:], edges[-1]) if self.scale.rounding == "random" else edges[1:]
        surely_above = low[excess + errors < 0]
        surely_below = high[excess - errors > 0]
        first = float(self.points[0] if self.scale is None else self.scale.edges[0])
        last = float(self.points[-1] if self.scale is None else self.scale.edges[-1])
        return Bounds(max(surely_above, default=first), min(surely_below, default=last))

    def _number(self, value: object) -> float:
        return number_of(value, "number" if self.scale is None else self.scale.unit)

    def _as_number(self, place: float) -> float:
        """Return a place among the cells as a number: a score, or a whole number where the scale has these."""
        if self.scores is not None:
            return float(self.scores[min(int(place + 1e-9), len(self.scores) - 1)])
        if self._is_whole:
            assert self.scale is not None
            return float(min(math.floor(place + 1e-9), self.scale.edges[-1]))
        return place


def _categories(size: int) -> Cells:
    """Return cells that are the categories themselves."""
    return Cells(np.arange(size + 1, dtype=np.float64), np.eye(size))


def _crossing(bounds: Floats, values: Floats, place: int) -> float:
    """Return where a line between two neighbouring bounds is zero."""
    if place < 0 or place + 1 >= len(bounds):
        return float(bounds[max(place, 0)])
    rise = values[place + 1] - values[place]
    part = min(max(-values[place] / rise, 0.0), 1.0) if rise > 0 else 0.5
    return float(bounds[place] + part * (bounds[place + 1] - bounds[place]))


def excess_variance(scale: Scale, cells: Cells, shares: Floats) -> float:
    """Return by how much the variance of categories' points exceeds that of numbers spread as ``shares`` over cells."""
    inside = shares[: cells.within] / shares[: cells.within].sum()
    whole = scale.unit in ("integer", "date")
    widths = np.diff(cells.bounds)
    middles = (cells.bounds[:-1] + cells.bounds[1:] - whole) / 2
    numbers = float(inside @ (middles**2 + (widths**2 - whole) / 12) - (inside @ middles) ** 2)
    points = cells.chances[scale.places, : cells.within] @ inside
    return float(points @ scale.points**2 - (points @ scale.points) ** 2) - numbers


def rounding_excess(scale: Scale, channel: Channel, theta: Floats, n: float) -> float:
    """Return by how much categories' points vary more than the numbers do, from the reports' proportions θ̂.

    Covariances need no such correction: two numbers are rounded independently of each other.
    """
    cells = Cells.of(scale, channel.size)
    return excess_variance(scale, cells, fit(cells, channel, theta, n).values)


def distribution(
    reports: Any,
    design: Design,
    name: str,
    *,
    inference: Inference = "population",
    weights: str | ArrayLike | None = None,
    scores: Any = None,
) -> BinnedDistribution | DrawnDistribution:
    """Return the distribution of a numerical attribute or a drawn column, with errors of all it gives.

    Parameters
    ----------
    reports : table or path
        Randomized records.
    design : Design
        The design they were made with.
    name : str
        A numerical attribute, one with ordered categories that have scores, or a drawn column.
    inference : {"population", "finite"}
        As for ``estimate``.
    weights : str or array, optional
        Survey weights: the name of a column, or one number per report.
    scores : sequence or mapping, optional
        The numbers of the categories, as for ``correlate``, where the attribute is no scale.
    """
    check_design(design)
    if name in design.drawn_names:
        if weights is not None or scores is not None:
            msg = f"{name!r} is drawn over the individuals of the file, alike; leave out weights and scores"
            raise DataError(msg)
        return distribution_of_drawn(reports, design, name, inference=inference)
    part = design.select([name])
    attribute = part.attributes[0]
    counts = tally(reports, design, [name], weights=weights)
    if attribute.scale is not None:
        if scores is not None:
            msg = f"scores of {name!r} must be left out: its scale says what its categories stand for"
            raise DataError(msg)
        return BinnedDistribution(counts, part.channels[0], attribute.scale, inference=inference)
    numbers = scores_of(attribute, scores)
    if numbers is None:
        msg = f"attribute {name!r} is no number; give the scores of its categories, scores=[1, 2, …]"
        raise DataError(msg)
    return BinnedDistribution(counts, part.channels[0], scores=numbers, inference=inference)
