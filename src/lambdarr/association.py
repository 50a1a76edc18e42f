"""Reports → how attributes go together: covariance, correlation, Cramér's V, mutual information, independence.

All of them are smooth functions of a pair's two-way table, so each comes from the unbiased table of that pair, with a
standard error from its covariance (the delta method), for both inferences and with weights. Reports themselves would
show less of everything: covariances shrink by λᵢλⱼ, V and mutual information by about as much again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from lambdarr import kronecker
from lambdarr.channel import Channel
from lambdarr.choosing import Dependence
from lambdarr.conditions import scores_of
from lambdarr.designs import Design, check_design, check_rounding, listed
from lambdarr.distributions import rounding_excess
from lambdarr.errors import DataError
from lambdarr.estimation import estimated
from lambdarr.individuals import check_plain, column_of, read
from lambdarr.individuals import related as related_individuals
from lambdarr.intervals import deviations
from lambdarr.likelihood import maximum_likelihood
from lambdarr.scales import UNEVEN
from lambdarr.sources import as_frame
from lambdarr.surveys import Survey, check_inference
from lambdarr.tabulation import tallied
from lambdarr.waves import shared, waves_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.domain import Attribute
    from lambdarr.estimation import Estimate, Inference
    from lambdarr.tabulation import Counts

    Floats = NDArray[np.float64]

MOST_CELLS = 2_500
"""Cells of a pair's table above which its covariance matrix is not formed, and V and mutual information not given."""

_CLEAR = 3.0  # standard errors by which the variance of numbers has to be above 0 before anything is divided by it
_SMALL = 0.2  # standard error of a correlation from which noise rules, and Fisher's scale only stretches it


class Measure(NamedTuple):
    """A number and its standard error; nan where there is none."""

    value: float
    standard_error: float


UNKNOWN = Measure(math.nan, math.nan)


class Strength(NamedTuple):
    """A measure of dependence that cannot be negative, corrected for what noise adds to it.

    Near 0 its variance depends on itself: it is ``slope`` · truth + ``floor``.
    """

    value: float
    slope: float
    floor: float

    def ends(self, z: float) -> tuple[float, float]:
        """Return the truths from which the value is at most z standard errors away, none of them below 0."""
        middle = self.value + z * z * self.slope / 2
        half = math.sqrt(max(middle**2 - self.value**2 + z * z * self.floor, 0.0))
        return max(middle - half, 0.0), max(middle + half, 0.0)


@dataclass(frozen=True, slots=True)
class Pair:
    """How two attributes go together.

    Parameters
    ----------
    attributes : tuple of str
        The two.
    covariance, correlation : Measure
        Of their scores; nan where an attribute has none, or where noise hides a variance.
    phi_squared : Strength
        φ² = Σ (π − πᵢπⱼ)²/(πᵢπⱼ), corrected: by chance it may be below 0 where there is no dependence.
    information : Strength
        Mutual information in nats, corrected; nan where cells are lost in noise, as its logarithms need them all.
    test : Dependence
        Pearson's test on the reports. P(λ) keeps independent attributes independent, so it is valid as it is.
    sizes : tuple of int
        Their numbers of categories.
    n : int
        Number of reports that have both.
    degrees : float
        Degrees of freedom of the errors: clusters less strata; infinite for reports that are independent.
    """

    attributes: tuple[str, str]
    covariance: Measure
    correlation: Measure
    phi_squared: Strength
    information: Strength
    test: Dependence
    sizes: tuple[int, int]
    n: int
    degrees: float = math.inf

    @property
    def cramers_v(self) -> float:
        """√(φ²/(r − 1)), r the smaller number of categories: 0 is independence, 1 means that one tells the other."""
        return self._as_v(self.phi_squared.value)

    @property
    def is_of_categories(self) -> bool:
        """Whether both are attributes with categories, of which V and mutual information are; drawn columns are not."""
        return min(self.sizes) > 0

    @property
    def mutual_information(self) -> float:
        """Mutual information in bits."""
        return max(self.information.value, 0.0) / math.log(2)

    @property
    def p_value(self) -> float:
        """The chance of as much dependence in the reports if the truths are independent."""
        from scipy import stats

        return float(stats.chi2.sf(self.test.statistic, self.test.freedom))

    def interval(self, measure: str, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of "covariance", "correlation", "cramers_v" or "mutual_information".

        Where mutual information is lost in noise, its interval is the bound ln(1 + φ²) on it; nan if that is not known
        either, as of drawn columns.
        """
        z = deviations(level, degrees=self.degrees)
        if measure == "covariance":
            value, error = self.covariance
            return value - z * error, value + z * error
        if measure == "correlation":
            return _ends_of_correlation(self.correlation, z)
        if measure == "cramers_v":
            lower, upper = self.phi_squared.ends(z)
            return self._as_v(lower), self._as_v(upper)
        if measure == "mutual_information":
            if math.isnan(self.information.value):
                most = self.phi_squared.ends(z)[1]
                return (math.nan, math.nan) if math.isnan(most) else (0.0, math.log2(1 + most))
            lower, upper = self.information.ends(z)
            return lower / math.log(2), upper / math.log(2)
        msg = f"measure must be covariance, correlation, cramers_v or mutual_information, got {measure!r}"
        raise DataError(msg)

    def _as_v(self, phi_squared: float) -> float:
        if math.isnan(phi_squared):
            return math.nan
        return min(math.sqrt(max(phi_squared, 0.0) / (min(self.sizes) - 1)), 1.0)


def _ends_of_correlation(correlation: Measure, z: float) -> tuple[float, float]:
    """Return the interval on Fisher's scale, where a small error hardly depends on the value, or the plain one."""
    value, error = correlation
    if abs(value) < 1 and error < _SMALL:
        wide = z * error / (1 - value**2)
        return math.tanh(math.atanh(value) - wide), math.tanh(math.atanh(value) + wide)
    lower, upper = value - z * error, value + z * error
    return min(max(lower, -1.0), 1.0), max(min(upper, 1.0), -1.0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Correlation:
    """How attributes go together, pair by pair. Made by ``lambdarr.correlate``.

    Parameters
    ----------
    attributes : tuple of str
        In the order of the matrices.
    n : int
        Number of reports; where some are missing in plain sight, of the pair that most reports have.
    inference : {"population", "finite"}
        What the errors speak of.
    pairs : tuple of Pair
        All pairs of them.
    variances : dict
        The variance of each attribute's scores; nan without scores.
    library : str
        The library that the reports came in.
    """

    attributes: tuple[str, ...]
    n: int
    inference: Inference
    pairs: tuple[Pair, ...]
    variances: dict[str, float]
    library: str

    def __repr__(self) -> str:
        return f"<Correlation of {', '.join(self.attributes)}: {self.n:,} reports, {self.inference}; see .to_frame()>"

    def pair(self, first: str, second: str) -> Pair:
        """Return how two of the attributes go together."""
        for pair in self.pairs:
            if {first, second} == set(pair.attributes):
                return pair
        msg = f"{first!r} and {second!r} are no pair of these attributes: {', '.join(self.attributes)}"
        raise DataError(msg)

    @property
    def matrix(self) -> Floats:
        """The correlation matrix as estimated: unbiased, so it may have eigenvalues below 0."""
        result = np.eye(len(self.attributes))
        for pair in self.pairs:
            i, j = (self.attributes.index(name) for name in pair.attributes)
            result[i, j] = result[j, i] = pair.correlation.value
        return result

    @property
    def covariance_matrix(self) -> Floats:
        """The covariance matrix as estimated."""
        result = np.diag([self.variances[name] for name in self.attributes])
        for pair in self.pairs:
            i, j = (self.attributes.index(name) for name in pair.attributes)
            result[i, j] = result[j, i] = pair.covariance.value
        return result

    def components(self) -> Components:
        """Return the principal components of the correlation matrix, repaired first if it cannot be one."""
        matrix = self.matrix
        if np.isnan(matrix).any():
            msg = "principal components need a correlation for every pair; leave out attributes without one"
            raise DataError(msg)
        values, vectors = np.linalg.eigh(matrix)
        repaired = bool(values[0] < 0)
        if repaired:
            lifted = (vectors * np.maximum(values, 0)) @ vectors.T
            scale = np.sqrt(np.diag(lifted))
            matrix = lifted / np.outer(scale, scale)
            values, vectors = np.linalg.eigh(matrix)
        order = np.argsort(-values)
        vectors = vectors[:, order] * np.sign(vectors[np.abs(vectors[:, order]).argmax(axis=0), order])
        return Components(self.attributes, np.maximum(values[order], 0), vectors, matrix, repaired)

    def to_frame(self, *, level: float = 0.95, library: str | None = None) -> Any:
        """Return a frame, a row per pair."""
        rows = [row_of(pair, level) for pair in self.pairs]
        return as_frame(pa.Table.from_pylist(rows), library or self.library)

    def plot(self, *, level: float = 0.95) -> Any:
        """Return an Altair chart of Cramér's V of the surest pairs; needs the extra ``report``."""
        from lambdarr.reporting.notebooks import correlation_plot

        return correlation_plot(self, level)

    def _repr_html_(self) -> str:
        from lambdarr.reporting.notebooks import correlation_html

        return correlation_html(self)


class Components(NamedTuple):
    """Principal components."""

    attributes: tuple[str, ...]
    variances: Floats
    """The eigenvalues, largest first; they sum to the number of attributes."""
    loadings: Floats
    """A column for each component."""
    matrix: Floats
    """The correlation matrix they are of."""
    repaired: bool
    """Whether noise had left it with eigenvalues below 0, which were set to 0."""


def row_of(pair: Pair, level: float) -> dict[str, Any]:
    """Return all that is known of a pair, by name."""
    row: dict[str, Any] = {"first": pair.attributes[0], "second": pair.attributes[1]}
    for name in ("covariance", "correlation"):
        value, error = getattr(pair, name)
        lower, upper = pair.interval(name, level)
        row |= {name: value, f"{name}_error": error, f"{name}_lower": lower, f"{name}_upper": upper}
    for name in ("cramers_v", "mutual_information"):
        lower, upper = pair.interval(name, level)
        row |= {name: getattr(pair, name), f"{name}_lower": lower, f"{name}_upper": upper}
    return row | {"chi_squared": pair.test.statistic, "df": pair.test.freedom, "p_value": pair.p_value, "n": pair.n}


def correlate(
    reports: Any,
    design: Design | None = None,
    attributes: Iterable[str] | None = None,
    *,
    scores: Mapping[str, Any] | None = None,
    inference: Inference = "population",
    weights: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    clusters: str | ArrayLike | None = None,
) -> Correlation:
    """Return how attributes go together: covariance, correlation, Cramér's V, mutual information, test of independence.

    Parameters
    ----------
    reports : table, path or list of (reports, Design)
        Randomized records; or several tables of them, each with the design it was made with.
    design : Design, optional
        The design they were made with, unless it is beside them.
    attributes : iterable of str, optional
        At least two; all of the design by default, its drawn columns too. Beside a drawn column, others that are in the
        reports count as public. Of a pair with one of these there are covariance and correlation only, and the test is
        of no correlation.
    scores : mapping, optional
        Attribute → the numbers of its categories, in order, or a mapping from category to number. Integers and
        booleans are their own scores, and two categories are 0 and 1 in their order; others have none, and no
        covariance or correlation.
    inference : {"population", "finite"}
        As for ``estimate``.
    weights : str or array, optional
        Survey weights: the name of a column, or one number per report.
    strata, clusters : str or array, optional
        How people were sampled: the stratum of each report, and the cluster of people who were drawn together.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({"income": [1, 2, 3], "smokes": ["no", "yes"]}, lam=0.8)
    >>> reports = [{"income": 1, "smokes": "yes"}, {"income": 3, "smokes": "no"}] * 300
    >>> found = lr.correlate(reports, design).pair("income", "smokes")
    >>> round(found.correlation.value, 2), found.p_value < 0.01
    (-1.5, True)
    """
    survey = Survey(weights, strata, clusters)
    check_inference(inference, is_complex=survey.is_complex)
    waves = waves_of(reports, design, survey)
    drawn = {name for wave in waves for name in wave.design.drawn_names}
    wanted = (*waves[0].design.names, *waves[0].design.drawn_names) if attributes is None else listed(attributes)
    if drawn & set(wanted):
        check_plain(len(waves), survey, ", ".join(sorted(drawn & set(wanted))))
        return _with_drawn(waves[0].reports, waves[0].design, wanted, scores, inference)
    part = shared([wave.design for wave in waves], wanted)
    if len(part.names) < 2:
        msg = "attributes must name at least two, to see how they go together"
        raise DataError(msg)
    given = {} if scores is None else scores
    if not isinstance(given, Mapping) or not set(given) <= set(part.names):
        msg = f"scores must map some of these attributes to their numbers: {', '.join(part.names)}"
        raise DataError(msg)
    numbers = {attribute.name: numbers_of(attribute, given.get(attribute.name)) for attribute in part.attributes}
    check_rounding(part.rounded, inference)
    tables = list(itertools.combinations(part.names, 2))
    by_wave = [tallied(wave.reports, wave.design, tables, wave.survey) for wave in waves]
    of_pairs = (
        [(counts, wave.design) for counts, wave in zip(of_waves, waves, strict=True)]
        for of_waves in zip(*by_wave, strict=True)
    )
    return related(of_pairs, part, numbers, inference=inference)


def _with_drawn(
    reports: Any, design: Design, names: Sequence[str], scores: Mapping[str, Any] | None, inference: Inference
) -> Correlation:
    """Return how columns go together if some are drawn or public; pairs of attributes come from their tables."""
    if len(set(names)) < 2:
        msg = "attributes must name at least two, to see how they go together"
        raise DataError(msg)
    given = {} if scores is None else scores
    known = {name for name in names if name in design.names}
    if not isinstance(given, Mapping) or not set(given) <= known:
        msg = f"scores must map some of these attributes to their numbers: {', '.join(sorted(known)) or 'none'}"
        raise DataError(msg)
    table = read(reports, design, names)
    columns = {name: column_of(table, design, name, given.get(name)) for name in names}
    nothing = Strength(math.nan, math.nan, math.nan)
    pairs: list[Pair] = []
    variances = dict.fromkeys(names, math.nan)
    for first, second in itertools.combinations(dict.fromkeys(names), 2):
        if {first, second} <= known:
            between = {name: given[name] for name in (first, second) if name in given}
            found = correlate(reports, design, [first, second], scores=between, inference=inference)
            pairs += found.pairs
            variances |= found.variances
            continue
        covariance, correlation, test = UNKNOWN, UNKNOWN, Dependence(math.nan, 1)
        x, y = columns[first], columns[second]
        if x is not None and y is not None:
            moments = related_individuals(x, y, table.n, inference)
            covariance = Measure(moments.covariance, moments.covariance_error)
            correlation = Measure(moments.correlation, moments.correlation_error)
            variances |= dict(zip((first, second), moments.variances, strict=True))
            if moments.covariance_error > 0:
                test = Dependence((moments.covariance / moments.covariance_error) ** 2, 1)
        pairs.append(Pair((first, second), covariance, correlation, nothing, nothing, test, (0, 0), table.n))
    return Correlation(tuple(dict.fromkeys(names)), table.n, inference, tuple(pairs), variances, table.library)


def related(
    tables: Iterable[Sequence[tuple[Counts, Design]]],
    part: Design,
    scores: Mapping[str, Floats | None] | None = None,
    *,
    inference: Inference,
) -> Correlation:
    """Return how the attributes of a design go together, from the counts of all their pairs.

    Parameters
    ----------
    tables : iterable
        For each pair, in the order of ``itertools.combinations``, the counts of every wave and the wave's design.
    part : Design
        The attributes.
    scores : mapping, optional
        The numbers of each attribute's categories, None where it has none; by default their own.
    inference : {"population", "finite"}
        As for ``estimate``.
    """
    numbers = {a.name: numbers_of(a) for a in part.attributes} if scores is None else scores
    pairs, variances, n, library = [], dict.fromkeys(part.names, math.nan), 0, "pyarrow"
    most = dict.fromkeys(part.names, 0)  # reports that a variance is from: as many as answered with any one other
    for counted in tables:
        table = estimated(counted, method="inverse", inference=inference)
        n, library = max(n, table.n), table.counts.library
        for axis, name in enumerate(table.attributes):
            if (of := numbers[name]) is not None and table.n >= most[name]:
                most[name] = table.n
                variances[name] = _variance(table.unbiased.sum(axis=1 - axis), of) - _excess(table, axis)
        pairs.append(_pair(table, numbers[table.attributes[0]], numbers[table.attributes[1]]))
    return Correlation(part.names, n, inference, tuple(pairs), variances, library)


def numbers_of(attribute: Attribute, given: Any = None) -> Floats | None:
    """Return the numbers of an attribute's categories, nan for those without; None if it has none at all.

    A numerical attribute has the points of its scale: people outside its bounds, or without an answer, have no number,
    and covariances are those of the others.
    """
    if attribute.scale is None:
        return scores_of(attribute, given)
    if given is not None:
        msg = f"scores of {attribute.name!r} must be left out: its scale says what its categories stand for"
        raise DataError(msg)
    numbers = np.full(attribute.size, math.nan)
    numbers[attribute.scale.places] = attribute.scale.points
    return numbers


def _excess(table: Estimate, axis: int) -> float:
    """Return by how much the variance of an attribute's points exceeds that of the numbers behind them, if known."""
    scale = table.design.attributes[axis].scale
    if scale is None:
        return 0.0
    if scale.hides_variance:
        return math.nan
    return rounding_excess(scale, table.design.channels[axis], table.reported.sum(axis=1 - axis), table.independent)


def _variance(shares: Floats, scores: Floats) -> float:
    known = np.isfinite(scores)
    shares, scores = shares[known] / shares[known].sum(), scores[known]
    return float(shares @ scores**2 - (shares @ scores) ** 2)


def _pair(table: Estimate, first: Floats | None, second: Floats | None) -> Pair:
    covariance, correlation = UNKNOWN, UNKNOWN
    if first is not None and second is not None:
        covariance, correlation = _moments(table, first, second)
    phi_squared = information = Strength(math.nan, math.nan, math.nan)
    # edges that numbers were rounded to are no categories
    if table.values.size <= MOST_CELLS and not table.design.rounded:
        phi_squared, information = _strengths(table)
    test = _test(table)
    rows, columns = table.values.shape
    return Pair((table.attributes[0], table.attributes[1]), covariance, correlation, phi_squared, information, test,
                (rows, columns), table.n, table.degrees)  # fmt: skip


def _test(table: Estimate) -> Dependence:
    """Return Pearson's test on the reports; of several waves, the sum of theirs.

    Where reports have weights, strata or clusters, X² counts for as many reports as make its mean the degrees of
    freedom (Rao and Scott's correction of first order): theory, eq. (39).
    """
    if not table.waves:
        counts = table.counts
        if (counts.squares is None and counts.clustered is None) or counts.values.size > MOST_CELLS:
            return Dependence.of(table.reported, n=table.independent)
        exact = Design(table.design.attributes, tuple(Channel(size, 1.0) for size in counts.values.shape))
        seen = estimated([(counts, exact)], method="inverse", inference="population")
        change, expected = _change(seen.unbiased)
        spread = np.einsum("ij,jk,ik->i", change, seen.covariance(), change)
        freedom = math.prod(size - 1 for size in counts.values.shape)
        possible = expected > 0
        mean = float((spread[possible] / expected[possible]).sum())
        return Dependence.of(table.reported, n=freedom / mean if mean > 0 else table.independent)
    tests = [_test(part) for _, part in table.waves]
    return Dependence(sum(test.statistic for test in tests), sum(test.freedom for test in tests))


def _moments(table: Estimate, first: Floats, second: Floats) -> tuple[Measure, Measure]:
    """Return covariance and correlation, with errors by linearization over the table's cells."""
    known = np.isfinite(first)[:, None] & np.isfinite(second)[None, :]
    total = float(table.unbiased[known].sum())
    if total <= 0:
        return UNKNOWN, UNKNOWN
    pi = np.where(known, table.unbiased, 0) / total
    first, second = np.nan_to_num(first), np.nan_to_num(second)
    rows, columns = pi.sum(axis=1), pi.sum(axis=0)
    x, y = (first - rows @ first)[:, None], (second - columns @ second)[None, :]
    covariance = float((pi * x * y).sum())
    of_covariance = Measure(covariance, _error(table, known * (x * y - covariance) / total))
    points = float(rows @ x[:, 0] ** 2), float(columns @ y[0] ** 2)
    spreads = tuple(points[axis] - _excess(table, axis) for axis in range(2))
    unsure = [UNEVEN * abs(point - spread) for point, spread in zip(points, spreads, strict=True)]
    errors = _error(table, known * (x**2 - points[0]) / total), _error(table, known * (y**2 - points[1]) / total)
    above = _CLEAR if any(attribute.scale is not None for attribute in table.design.attributes) else 0.0
    clear = [spread > above * math.hypot(*of) for spread, *of in zip(spreads, errors, unsure, strict=True)]
    if not all(clear):  # or one is not known
        return of_covariance, UNKNOWN
    scale = math.sqrt(spreads[0] * spreads[1])
    value = covariance / scale
    influence = (x * y - covariance) / scale
    influence = influence - value / 2 * ((x**2 - points[0]) / spreads[0] + (y**2 - points[1]) / spreads[1])
    shape = [value / 2 * error / spread for error, spread in zip(unsure, spreads, strict=True)]
    return of_covariance, Measure(value, math.hypot(_error(table, known * influence / total), *shape))


def _error(table: Estimate, gradient: Floats) -> float:
    """Return the standard error of a function of the table with this gradient."""
    return math.sqrt(max(float((gradient * table.covariance_times(gradient)).sum()), 0.0))


def _strengths(table: Estimate) -> tuple[Strength, Strength]:
    """Return φ² and mutual information, each without the mean that noise adds to it: theory, eq. (32) and (33)."""
    cov, pi = table.covariance(), table.unbiased
    shape, n = pi.shape, table.independent
    row, column = (codes.ravel() for codes in np.indices(shape))
    same_row, same_column = row[:, None] == row, column[:, None] == column
    # where noise has left cells or margins below zero, the nearest proper table stands for them in denominators
    proper = maximum_likelihood(table.design.channels, table.reported, n=n, start=np.full(shape, 1 / pi.size)).values
    proper = np.maximum(proper, 0.5 / n)
    proper /= proper.sum()
    expected = np.outer(proper.sum(axis=1), proper.sum(axis=0)).ravel()

    change, product = _change(pi)
    excess = pi.ravel() - product
    spread = change @ cov @ change.T
    raw = float((excess**2 / expected).sum())
    # φ² = Σ π²/(πᵢπⱼ) − 1, its gradient at the unbiased table
    ratio = pi / expected.reshape(shape)
    pulled = (pi * ratio).sum(axis=1)[:, None] / proper.sum(axis=1)[:, None]
    pulled = pulled + (pi * ratio).sum(axis=0)[None, :] / proper.sum(axis=0)[None, :]
    gradient = (2 * ratio - pulled).ravel()
    weighted = spread / expected[:, None]
    phi_squared = Strength(
        raw - float(np.trace(weighted)),
        float(gradient @ cov @ gradient) / max(raw, 1e-12),
        2 * float((weighted * weighted.T).sum()),
    )
    cells = proper.ravel()
    if (cells <= 2 * np.sqrt(np.maximum(np.diag(cov), 0))).any():
        return phi_squared, Strength(math.nan, math.nan, math.nan)
    logs = np.log(cells / expected)
    bend = np.diag(1 / cells) - same_row / proper.sum(axis=1)[row][:, None]
    bend = (bend - same_column / proper.sum(axis=0)[column][:, None]) @ cov
    plain = float(cells @ logs)
    information = Strength(
        plain - float(np.trace(bend)) / 2,
        float(logs @ cov @ logs) / max(plain, 1e-12),
        float((bend * bend.T).sum()) / 2,
    )
    return phi_squared, information


def _change(table: Floats) -> tuple[Floats, Floats]:
    """Return the derivative of π − πᵢπⱼ by the cells of a two-way table, and πᵢπⱼ."""
    row, column = (codes.ravel() for codes in np.indices(table.shape))
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    same_row, same_column = row[:, None] == row, column[:, None] == column
    change = np.eye(table.size) - columns[column][:, None] * same_row - rows[row][:, None] * same_column
    return change, np.outer(rows, columns).ravel()


def power(design: Design, table: ArrayLike, n: int, *, level: float = 0.05) -> float:
    """Return the chance that the test of independence sees the dependence of a pair in n reports.

    Parameters
    ----------
    design : Design
        Of two attributes.
    table : array
        The truths' two-way distribution.
    n : int
        Number of reports.
    level : float
        The chance of a false alarm that is accepted.
    """
    from scipy import stats

    check_design(design)
    reported = kronecker.apply(design.channels, np.asarray(table, dtype=np.float64))
    test = Dependence.of(reported, n=n)
    return float(stats.ncx2.sf(stats.chi2.isf(level, test.freedom), test.freedom, max(test.statistic, 1e-12)))
