"""Reports of drawn columns → their distribution, and how they go with other columns.

A drawn column keeps its distribution: any mean over its reports is unbiased for the mean over the file. Its relations
shrink: a centred product of two columns has λᵢλⱼ of its mean, and is divided by that. Every statistic here is a sum of
such means and products (its influence, report by report), and its variance follows from that sum: docs/theory.md,
eq. (52) to (54).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from lambdarr.conditions import product_of, scores_of, worth
from lambdarr.designs import check_design
from lambdarr.domain import ABSENT
from lambdarr.errors import DataError, DesignError
from lambdarr.intervals import deviations
from lambdarr.queries import Answer, Bounds
from lambdarr.redrawing import numbers_of_text
from lambdarr.surveys import Survey
from lambdarr.tabulation import over_reports
from lambdarr.units import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.conditions import Condition
    from lambdarr.designs import Design
    from lambdarr.domain import Codes
    from lambdarr.estimation import Inference
    from lambdarr.tabulation import Coded

    Floats = NDArray[np.float64]
    Function = Callable[[Floats], Floats]


FEWEST = 2
"""Reports below which nothing is said of a drawn column."""


# Columns.


class Column(Protocol):
    """A column of reports, and what they say about a function of the truths."""

    @property
    def lam(self) -> float:
        """λ of a drawn column, whose redraws come from the file; 1 where what a redraw adds is known and taken off."""

    def seen(self, function: Function) -> Floats:
        """Return a number per report whose mean is unbiased for the mean of the function."""

    def worth(self, function: Function) -> Floats:
        """Return a number per report that is unbiased for the function of its own truth."""


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A drawn column, or with λ = 1 a public one."""

    values: Floats
    lam: float = 1.0

    def seen(self, function: Function) -> Floats:
        """Return the function of the reports: redraws keep its mean."""
        return function(self.values)

    def worth(self, function: Function) -> Floats:
        """Return (f(x′) − (1 − λ) f̄)/λ, as for categories; f̄ is over the file, and the reports have the same."""
        found = function(self.values)
        return np.asarray((found - (1 - self.lam) * found.mean()) / self.lam)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """An attribute of the design, as the numbers of its categories."""

    codes: Codes
    scores: Floats
    channel: Channel
    lam: float = 1.0

    def seen(self, function: Function) -> Floats:
        """Return what a report is worth: the reports alone would not do, as redraws are uniform."""
        return self.worth(function)

    def worth(self, function: Function) -> Floats:
        """Return what a report is worth."""
        return worth({"": self.channel}, {"": function(self.scores)})[""].take(self.codes)


@dataclass(frozen=True, slots=True, eq=False)
class Indicator:
    """Whether a condition on attributes holds: 0 or 1, of which each report has an unbiased estimate."""

    estimates: Floats
    lam: float = 1.0

    def seen(self, function: Function) -> Floats:
        """Return what a report is worth."""
        return self.worth(function)

    def worth(self, function: Function) -> Floats:
        """Return f(0) + (f(1) − f(0)) z."""
        no, yes = function(np.array([0.0, 1.0]))
        return np.asarray(no + (yes - no) * self.estimates)


# Statistics.


class Term(NamedTuple):
    """A part of an influence: a product of functions, each of one column and with the mean 0."""

    functions: Mapping[int, Function]

    def weight(self, columns: Sequence[Column]) -> float:
        """Return the part of it that a report's own truth brings along: λ of a mean, all of a corrected product."""
        return columns[next(iter(self.functions))].lam if len(self.functions) == 1 else 1.0


def spread(columns: Sequence[Column], terms: Sequence[Term], inference: Inference) -> float:
    """Return n times the variance of a statistic with this influence: docs/theory.md, eq. (53) and (54).

    The population's is E ψ² + E φ² − E g² and the file's E ψ² − E g², with ψ the influence as a report shows it, φ as
    the truth has it, and g what of ψ follows from the truth.
    """
    shown = np.zeros(1)
    for term in terms:
        if len(term.functions) == 1:
            ((place, function),) = term.functions.items()
            part = columns[place].seen(function)
        else:
            part = _product(columns, term.functions)
        shown = shown + (part - part.mean())
    total = float((shown**2).mean())
    weights = [term.weight(columns) for term in terms]
    for t, (first, of_first) in enumerate(zip(terms, weights, strict=True)):
        for second, of_second in zip(terms[: t + 1], weights[: t + 1], strict=True):
            own = of_first * of_second
            factor = (1 - own) if inference == "population" else -own
            if factor:
                total += (1 if second is first else 2) * factor * _truths_mean(columns, first, second)
    return max(total, 0.0)


def _truths_mean(columns: Sequence[Column], first: Term, second: Term) -> float:
    """Return an unbiased estimate of the covariance of two terms over the truths."""
    both = {place: [term.functions[place] for term in (first, second) if place in term.functions]
            for place in {*first.functions, *second.functions}}  # fmt: skip
    together = {place: _times(functions) for place, functions in both.items()}
    means = [float(_product(columns, term.functions).mean()) for term in (first, second)]
    return float(_product(columns, together).mean()) - means[0] * means[1]


def _product(columns: Sequence[Column], functions: Mapping[int, Function]) -> Floats:
    return np.asarray(np.prod([columns[place].worth(function) for place, function in functions.items()], axis=0))


def _times(functions: Sequence[Function]) -> Function:
    return lambda x: np.asarray(np.prod([function(x) for function in functions], axis=0))


class Moments(NamedTuple):
    """Covariance and correlation of two columns, each with its standard error; nan where noise hides a variance."""

    covariance: float
    covariance_error: float
    correlation: float
    correlation_error: float
    variances: tuple[float, float]
    n: int


def related(first: Column, second: Column, n: int, inference: Inference) -> Moments:
    """Return how two columns go together: docs/theory.md, eq. (52)."""
    columns = first, second
    d, e = (_centred(column) for column in columns)
    covariance = float((first.worth(d) * second.worth(e)).mean())
    product = Term({0: d, 1: e})
    error = math.sqrt(spread(columns, [product], inference) / n)
    variances = tuple(float(column.seen(_times([f, f])).mean()) for column, f in zip(columns, (d, e), strict=True))
    if min(variances) <= 0:
        return Moments(covariance, error, math.nan, math.nan, (variances[0], variances[1]), n)
    scale = math.sqrt(variances[0] * variances[1])
    value = covariance / scale
    terms = [
        Term({0: lambda x: d(x) / scale, 1: e}),
        Term({0: lambda x: -value / 2 * (d(x) ** 2 / variances[0] - 1)}),
        Term({1: lambda x: -value / 2 * (e(x) ** 2 / variances[1] - 1)}),
    ]
    of_value = math.sqrt(spread(columns, terms, inference) / n)
    return Moments(covariance, error, value, of_value, (variances[0], variances[1]), n)


def _centred(column: Column) -> Function:
    mean = float(column.seen(lambda x: x).mean())
    return lambda x: x - mean


# One column.


@dataclass(frozen=True, slots=True)
class Portion(Answer):
    """A share of the file's individuals."""

    effective: float = math.nan
    """As many people, asked straight, would leave the same error."""

    def interval(self, level: float = 0.95) -> Bounds:
        """Return Wilson's interval: the shares from which the value is at most z of their own standard errors away."""
        z2 = deviations(level) ** 2 / self.effective
        middle = (self.value + z2 / 2) / (1 + z2)
        half = math.sqrt(max(z2 * self.value * (1 - self.value) + z2**2 / 4, 0.0)) / (1 + z2)
        return Bounds(middle - half, middle + half)


@dataclass(frozen=True, slots=True, eq=False)
class Quantile:
    """A quantile in the column's own unit.

    Parameters
    ----------
    p : float
        The share of people at or below it.
    value, standard_error
        Dates as dates; the error is the half width of the 95 % interval by 1.96, infinite if that is open.
    n : int
        Number of reports.
    inference : {"population", "finite"}
        What the error speaks of.
    """

    p: float
    value: Any
    standard_error: Any
    n: int
    inference: Inference
    of: DrawnDistribution

    def interval(self, level: float = 0.95) -> Bounds:
        """Return Woodruff's interval: the values where the share at or below them is not far enough from p.

        An end that lies beyond all reports is open: −∞ or ∞, of dates too. So few reports do not say how far an extreme
        quantile may be.
        """
        lower, upper = self.of._quantile_ends(self.p, level)
        unit = self.of.unit
        return Bounds(*(end if math.isinf(end) else unit.value(end) for end in (lower, upper)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DrawnDistribution:
    """The distribution of a drawn column. Made by ``distribution_of_drawn``.

    Values are in the column's own unit: dates and times come back as such, and their variance in days² or seconds².

    Parameters
    ----------
    name : str
        The column.
    values : array
        The reported values as numbers, sorted, without missing ones.
    lam : float
        The keep rate; 1 of an expected column, which has been undone.
    inference : {"population", "finite"}
        What the errors speak of.
    unit : Unit
        What the numbers mean.
    reports, design
        What it was made from, for means of a part of the people.
    """

    name: str
    values: Floats
    lam: float
    inference: Inference
    unit: Unit
    reports: Any
    design: Design

    def __repr__(self) -> str:
        return f"<DrawnDistribution of {self.name}: {self.n:,} reports, λ={self.lam:.4g}, {self.inference}>"

    @property
    def n(self) -> int:
        """Number of reports that have a value."""
        return len(self.values)

    @property
    def noise(self) -> float:
        """By how much more a mean varies than that of the truths' own n: 2 − λ² in a population, 1 − λ² in a file."""
        return (2.0 if self.inference == "population" else 1.0) - self.lam**2

    def mean(self, given: Condition | None = None) -> Answer:
        """Return the mean; of people with a condition on attributes of the design, if ``given``.

        A date's mean is a point in time, its error a duration.
        """
        if given is not None:
            return self._mean_given(given)
        return self._answer(float(self.values.mean()), self._error(self.values))

    def variance(self) -> Answer:
        """Return the variance, in the column's unit squared; of dates in days², of times in seconds²."""
        squares = (self.values - self.values.mean()) ** 2
        return Answer(float(squares.mean()), self._error(squares), self.n, self.inference)

    def cdf(self, x: Any) -> Portion:
        """Return the share of people at or below a value."""
        below = np.searchsorted(self.values, self.unit.number(x), side="right")
        return self._portion(int(below) / self.n)

    def share(self, low: Any, high: Any) -> Portion:
        """Return the share of people from one value to another, both included."""
        first, last = self.unit.number(low), self.unit.number(high)
        if not first <= last:
            msg = f"low must not be above high; the share of {self.name!r} is of the values between them"
            raise DataError(msg)
        ends = np.searchsorted(self.values, first, side="left"), np.searchsorted(self.values, last, side="right")
        return self._portion(int(ends[1] - ends[0]) / self.n)

    def quantile(self, p: float) -> Quantile:
        """Return the smallest value with at least the share p of people at or below it."""
        if not isinstance(p, int | float | np.floating) or not 0 < p < 1:
            msg = f"p must be between 0 and 1, got {p!r}; 0.5 is the median"
            raise DataError(msg)
        lower, upper = self._quantile_ends(p, 0.95)
        error = (upper - lower) / (2 * deviations(0.95))
        shown = error if math.isinf(error) else self.unit.duration(error)
        return Quantile(float(p), self.unit.value(self._at(p)), shown, self.n, self.inference, self)

    def _quantile_ends(self, p: float, level: float) -> tuple[float, float]:
        wide = deviations(level) * math.sqrt(self.noise * p * (1 - p) / self.n)
        lower, upper = p - wide, p + wide
        return -math.inf if lower <= 0 else self._at(lower), math.inf if upper >= 1 else self._at(upper)

    def _at(self, p: float) -> float:
        place = math.ceil(p * self.n - 1e-9) - 1
        return float(self.values[min(max(place, 0), self.n - 1)])

    def _error(self, numbers: Floats) -> float:
        """Return the error of a mean, its square unbiased however few the reports: docs/theory.md, eq. (50).

        Reports vary around their own mean, so less than the file's truths, and these less than a population.
        """
        redrawn = 1 - self.lam**2
        of_file = float(numbers.var()) / (1 - redrawn / self.n)
        factor = redrawn + (0.0 if self.inference == "finite" else self.n / (self.n - 1))
        return math.sqrt(factor * of_file / self.n)

    def _portion(self, share: float) -> Portion:
        error = math.sqrt(self.noise * share * (1 - share) / self.n)
        effective = self.n / self.noise if self.noise else math.inf
        return Portion(share, error, self.n, self.inference, effective=effective)

    def _answer(self, value: float, error: float) -> Answer:
        return Answer(self.unit.moment(value), self.unit.duration(error), self.n, self.inference)

    def _mean_given(self, given: Condition) -> Answer:
        """Return μ + cov(x, 1)/p, with 1 whether the condition holds and p its share: docs/theory.md, eq. (55)."""
        condition = product_of(self.design, given)
        if any(set(np.unique(values)) - {0.0, 1.0} for values in condition.values()):
            msg = "given must say whom the mean is of, by their categories; scores are for lr.query"
            raise DataError(msg)
        table = read(self.reports, self.design, [self.name, *condition])
        x = table.numbers[self.name]
        worths = worth(self.design.by_name, condition)
        inside = Indicator(np.prod([values.take(table.codes[name]) for name, values in worths.items()], axis=0))
        share = float(inside.estimates.mean())
        if share <= 0:
            msg = "nobody, or fewer than nobody by chance, seems to have the condition in given; ask about a larger one"
            raise DataError(msg)
        d = _centred(x)
        together = float((x.worth(d) * inside.worth(lambda z: z - share)).mean())
        terms = [
            Term({0: d}),
            Term({0: lambda v: d(v) / share, 1: lambda z: z - share}),
            Term({1: lambda z: -together / share**2 * (z - share)}),
        ]
        error = math.sqrt(spread([x, inside], terms, self.inference) / table.n)
        return self._answer(float(x.values.mean()) + together / share, error)


def distribution_of_drawn(
    reports: Any, design: Design, name: str, *, inference: Inference = "population"
) -> DrawnDistribution:
    """Return the distribution of a drawn column, straight from its reports.

    Parameters
    ----------
    reports : table or path
        Randomized records, the whole file.
    design : Design
        The design they were made with.
    name : str
        The drawn column.
    inference : {"population", "finite"}
        As for ``estimate``.

    Examples
    --------
    >>> import lambdarr as lr
    >>> people = [{"income": 10.0 * i} for i in range(1, 1001)]
    >>> design = lr.design(people, lam=0.8, drawn=["income"])
    >>> found = distribution_of_drawn(lr.randomize(people, design, rng=lr.SeededWords(1)), design, "income")
    >>> found.mean().value, found.mean().standard_error, found.quantile(0.5).value
    (5089.91, 105.63, 5060.0)
    """
    check_design(design)
    if inference not in ("population", "finite"):
        msg = f"inference must be 'population' or 'finite', got {inference!r}"
        raise DataError(msg)
    if name not in design.drawn_names:
        msg = f"{name!r} is no drawn column of the design; it has: {', '.join(design.drawn_names) or 'none'}"
        raise DesignError(msg)
    table = read(reports, design, [name])
    column = table.numbers[name]
    return DrawnDistribution(name, np.sort(column.values), column.lam, inference, table.units[name], reports, design)


# Reading.


@dataclass(frozen=True, slots=True, eq=False)
class Reports:
    """Some columns of the reports, the complete ones, in memory.

    Parameters
    ----------
    numbers : dict
        Drawn and public columns.
    codes : dict
        The codes of attributes.
    units : dict
        What the numbers mean.
    n : int
        Number of reports.
    library : str
        The library that they came in.
    """

    numbers: dict[str, Numbers]
    codes: dict[str, Codes]
    units: dict[str, Unit]
    n: int
    library: str


def read(reports: Any, design: Design, names: Collection[str]) -> Reports:
    """Return columns of the reports: attributes as codes, drawn and public ones as numbers.

    A relation of drawn columns needs reports that all have a value: a redraw is from all who have one, so the people
    who happen to have the other column as well would be mixed with those who have not.
    """
    attributes = [name for name in names if name in design.names]
    others = [name for name in names if name not in attributes]

    def as_it_is(coded: Coded) -> Coded:
        return coded

    batches = list(over_reports(reports, design, attributes, Survey(), as_it_is, public=others))
    codes = {name: np.concatenate([coded.codes[name] for coded in batches]) for name in attributes}
    by_name = {column.name: column for column in design.drawn}
    values, units, lams = {}, {}, {}
    for name in others:
        column = pa.chunked_array([coded.public[name] for coded in batches]).combine_chunks()
        drawn = by_name.get(name)
        if batches[0].as_text:
            column = numbers_of_text(column, name, (drawn.missing if drawn else None) or "")
        units[name] = Unit.of(column.type, name)
        values[name], lams[name] = units[name].numbers(column, name), 1.0
        if drawn is not None and drawn.is_expected:
            values[name] = undone(values[name], drawn.lam)
        elif drawn is not None:
            lams[name] = drawn.lam
    there = {name: ~np.isnan(column) for name, column in values.items()}
    there |= {name: column != ABSENT for name, column in codes.items()}
    complete = np.all(list(there.values()), axis=0)
    _check_gaps(there, complete, design)
    if complete.sum() < FEWEST:
        msg = f"one report has a value of {', '.join(there)}, and one says nothing of errors; it takes {FEWEST} or more"
        raise DataError(msg)
    found = {name: Numbers(column[complete], lams[name]) for name, column in values.items()}
    kept = {name: column[complete] for name, column in codes.items()}
    return Reports(found, kept, units, int(complete.sum()), batches[0].library)


def undone(values: Floats, lam: float) -> Floats:
    """Return the truths behind an expected column: x = (x′ − (1 − λ) · mean)/λ, as the mean of x′ is that of x."""
    return np.asarray((values - (1 - lam) * np.nanmean(values)) / lam)


def _check_gaps(there: Mapping[str, NDArray[np.bool_]], complete: NDArray[np.bool_], design: Design) -> None:
    if not complete.any():
        msg = f"no report has a value of all of {', '.join(there)}"
        raise DataError(msg)
    if len(there) < 2 or complete.all():
        return
    for column in design.drawn:
        if column.name not in there:
            continue
        there_too = there[column.name]
        if (there_too != complete).any() or not (column.missing_is_public or there_too.all()):
            raise _not_alike(column.name)


def check_alike(reports: Any, design: Design, names: Collection[str], complete: int) -> None:
    """Refuse drawn columns that have values in more reports than the complete ones."""
    for column in design.drawn:
        if column.name in names and (not column.missing_is_public or read(reports, design, [column.name]).n > complete):
            raise _not_alike(column.name)


def check_plain(waves: int, survey: Survey, names: str) -> None:
    """Refuse weights, strata, clusters and several files for drawn columns: a redraw is from one file, all alike."""
    if waves > 1 or survey.weights is not None or survey.is_complex:
        msg = (
            f"{names}: drawn from all individuals of one file alike, so weights, strata, clusters and several files of "
            "reports cannot be taken into account; leave them out"
        )
        raise DataError(msg)


def _not_alike(name: str) -> DataError:
    return DataError(
        f"some reports lack a value, and redraws of {name!r} are from all who have one of it; randomize a file of the "
        "complete records, or take columns without gaps; missing values that are drawn along are nobody's in particular"
    )


def column_of(table: Reports, design: Design, name: str, scores: Any) -> Column | None:
    """Return a column to relate: drawn, public, or an attribute by its scores; None if it has none."""
    if name not in table.codes:
        return table.numbers[name]
    attribute = design.select([name]).attributes[0]
    if attribute.is_rounded:
        raise rounded_beside_drawn(name)
    numbers = scores_of(attribute, scores)
    return None if numbers is None else Scores(table.codes[name], numbers, design.by_name[name])


def rounded_beside_drawn(name: str) -> DataError:
    """Return why a number that is rounded at random cannot be related to a drawn column."""
    return DataError(
        f"{name!r} is rounded at random, which is not undone beside a drawn column; put it into bins "
        "(rounding='none'), or draw it over the individuals too"
    )
