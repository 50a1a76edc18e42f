"""Counts → Estimate: the table to believe, and beside it the unbiased one with its exact standard errors.

With θ̂ the observed proportions and A = ⊗ Pⱼ⁻¹, the unbiased estimate is π̂ = A θ̂ (eq. (2) of the paper). It costs as
many passes over the table as it has axes, and so does its variance, because A∘A is a Kronecker product too. It may be
negative, and with many cells it is mostly noise: then a table that gives up some unbiasedness is closer to the truth
(``choosing.py``). Both are in every ``Estimate``, and the method says which one ``values`` are.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pyarrow as pa

from lambdarr import kronecker
from lambdarr.choosing import choose, interactions, largest_likelihood, simulated_error, simulated_files
from lambdarr.designs import Design, check_together, listed
from lambdarr.errors import DataError
from lambdarr.intervals import Interval, deviations, score_interval
from lambdarr.likelihood import ENOUGH, project_to_simplex
from lambdarr.loglinear import all_of_order
from lambdarr.sources import as_frame
from lambdarr.surveys import Survey, check_inference, together
from lambdarr.tabulation import Counts, tallied
from lambdarr.waves import shared, waves_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.choosing import Fitter

Inference = Literal["population", "finite"]
Method = Literal["auto", "inverse", "ml", "pairwise", "triples", "independence"]

BOOTSTRAPS = 100
"""Files simulated for one bootstrap."""

MOST_FITTED = 1 << 22
"""Cells of the largest table that any method but the inverse is fitted to: about a minute."""

MOST_CLUSTERED = 4_096
"""Cells of the largest table with strata or clusters."""

MAX_COVARIANCE = 10_000
"""Cells above which the dense covariance matrix is not formed (0.8 GB)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate:
    """The distribution of the truths behind a table of reports, with its errors.

    Made by ``lambdarr.estimate``; every array has the shape of the table.

    Parameters
    ----------
    design : Design
        The part of the design that the table is about.
    counts : Counts
        The reports it was made from.
    inference : {"population", "finite"}
        What the errors speak of: the population the respondents were drawn from, or the very records of this file,
        where only the randomization is random.
    method : {"auto", "inverse", "ml", "pairwise", "triples", "independence", "simplex"} or tuple
        How ``values`` were found; a tuple lists the interactions of a model.
    values : array
        Estimated proportions.
    unbiased : array
        The exact inverse's proportions: the same as ``values`` only if that is the method.
    standard_errors : array
        Standard errors of the unbiased proportions.
    expected_error : float
        The total-variation error to expect of ``values``: 0 is exact, 1 all noise. For the inverse it is
        ½ Σ √(2/π) SE, for other methods the error on a file simulated from a rough but plausible table.
    reason : str
        What the method saw and did, in words.
    waves : tuple of (float, Estimate)
        The share and the unbiased estimate of every wave, where reports of several designs were combined. ``design``
        is then what all have in common, with the smallest λ of each attribute, and ``counts`` are of all reports.
    """

    design: Design
    counts: Counts
    inference: Inference
    method: str | tuple[tuple[str, ...], ...]
    values: NDArray[np.float64]
    unbiased: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    expected_error: float
    reason: str
    waves: tuple[tuple[float, Estimate], ...] = ()

    def __repr__(self) -> str:
        table = " × ".join(self.attributes)
        method = self.method if isinstance(self.method, str) else f"{len(self.method)} interactions"
        return f"<Estimate of {table}: {self.n:,} reports, {method}, {self.inference}; see .to_frame()>"

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the table's axes."""
        return self.design.names

    @property
    def n(self) -> int:
        """Number of reports."""
        return self.counts.n

    @property
    def reported(self) -> NDArray[np.float64]:
        """The reports' proportions; of several waves, as they would be had all the λ's of ``design``."""
        if not self.waves:
            return self.counts.values / self.counts.total
        return np.maximum(kronecker.apply(self.design.channels, self.unbiased), 0)

    @property
    def independent(self) -> float:
        """How many independent reports of equal weight, under ``design``, tell as much."""
        if not self.waves:
            return independent_reports(self.counts)
        error = sum(share**2 * _total_error(part) for share, part in self.waves)
        return max(_noise(self.design) / error, 1.0)

    @property
    def is_implausible(self) -> bool:
        """Whether some cell lies further outside [0, 1] than chance explains: other reports, or another design.

        By six standard errors, as they would be if nobody or everybody were in the cell: those estimated from the
        reports are too small where few reports fall.
        """
        lower, upper = score_interval(
            self.design.channels, self.unbiased, project_to_simplex(self.unbiased),
            n=self.independent, finite=self.inference == "finite", z=6,
        )  # fmt: skip
        return bool(((upper < 0) | (lower > 1)).any())

    def interval(
        self, level: float = 0.95, *, simultaneous: bool = False, around: Literal["unbiased", "values"] = "unbiased"
    ) -> Interval:
        """Return the ends of the confidence interval of every cell, and in ``kind`` how they were found.

        Parameters
        ----------
        level : float
            How often an interval covers the truth.
        simultaneous : bool
            Whether all intervals together are to hold at the level (Bonferroni), as is right for cells that are picked
            after looking; otherwise each of them does.
        around : {"unbiased", "values"}
            Around the unbiased estimate, the interval covers as it says whatever the method: it needs no model. (A
            score interval; with survey weights, estimate ± z · standard error.) Around the values of a fixed model it
            is narrower, and covers if that model holds: a parametric bootstrap, of a hundred refits.

        Notes
        -----
        Around values that were chosen or moved, as by "auto", no interval can be trusted, and none is offered. Where
        the values are not negative the ends are cut to [0, 1], which loses no coverage.
        """
        z = deviations(level, self.values.size if simultaneous else 1, degrees=self.degrees)
        if around == "values":
            errors = self._bootstrap_errors()
            lower, upper = self.values - z * errors, self.values + z * errors
            kind = "asymptotic (Wald)" if self.method == "inverse" else "bootstrap of the model"
        elif around != "unbiased":
            msg = f"around must be 'unbiased' or 'values', got {around!r}"
            raise DataError(msg)
        elif self.counts.squares is not None or self.counts.clustered is not None or self.waves:
            lower, upper = self.unbiased - z * self.standard_errors, self.unbiased + z * self.standard_errors
            kind = "asymptotic (Wald)"
        else:
            lower, upper = score_interval(
                self.design.channels, self.unbiased, project_to_simplex(self.unbiased),
                n=self.counts.total, finite=self.inference == "finite", z=z,
            )  # fmt: skip
            kind = "asymptotic (score)"
        if self.method != "inverse":
            lower, upper = _possible(lower, upper)
        return Interval(lower, upper, kind)

    def _bootstrap_errors(self) -> NDArray[np.float64]:
        """Return the standard errors of the values over files simulated from the fitted model."""
        if self.method == "inverse":
            return self.standard_errors
        if self.method in ("auto", "simplex"):
            msg = (
                f"values found by {self.method!r} have no interval of their own, as they are drawn towards a model "
                "that may be wrong; leave out around, or choose the model by method"
            )
            raise DataError(msg)
        channels, n = self.design.channels, self.independent
        fit, _ = _fixed(self.method, self.design)
        errors = [
            fit(channels, reported, n).values - goal
            for reported, goal in simulated_files(
                channels, self.values, n=n, finite=self.inference == "finite", files=BOOTSTRAPS
            )
        ]
        return np.asarray(np.sqrt(np.mean(np.square(errors), axis=0)))

    def covariance(self) -> NDArray[np.float64]:
        """Return the covariance matrix of the unbiased cells, in row-major order of the table.

        Its diagonal is the square of the standard errors, except in cells with next to no reports: those get an error
        that can be, while the matrix stays the unbiased formula.

        Notes
        -----
        Population: (A diag(θ₂) Aᵀ − u π̂ᵀ − π̂ uᵀ + Σw² π̂ π̂ᵀ)/(Σw)² with u = A θ₂.
        Finite: (A diag(θ₂) Aᵀ − diag(u))/(Σw)².
        θ₂ sums the squared weights per cell; without weights, eq. (19) and (20) of docs/theory.md.
        """
        cells = self.values.size
        if cells > MAX_COVARIANCE:
            msg = f"a covariance matrix over {cells:,} cells is larger than {MAX_COVARIANCE:,}; ask for a smaller table"
            raise DataError(msg)
        if self.waves:
            # waves are independent of each other, unless one cluster has reports in several
            alone = zip(self.waves, self.waves, strict=True)
            pairs = itertools.product(self.waves, repeat=2) if self._shared_clusters else alone
            return np.asarray(sum(a * b * _covariance_between(first, second) for (a, first), (b, second) in pairs))
        if self.counts.clustered is not None:
            return _covariance_between(self, self)
        A = kronecker.dense_inverse(self.design.channels)
        second = _second_moment(self.counts).ravel()
        spread = (A * second) @ A.T
        u, pi = A @ second, self.unbiased.ravel()
        if self.inference == "finite":
            spread -= np.diag(u)
        else:
            spread += -np.outer(u, pi) - np.outer(pi, u) + second.sum() * np.outer(pi, pi)
        return np.asarray(spread / self.counts.total**2)

    def covariance_times(self, vector: ArrayLike) -> NDArray[np.float64]:
        """Return the covariance matrix of the unbiased cells times a vector, without forming the matrix.

        The vector has the shape of the table; a sum of cells has variance v · covariance_times(v).
        """
        v = np.asarray(vector, dtype=np.float64)
        if self.waves and self._shared_clusters:
            return np.asarray(self.covariance() @ v.ravel()).reshape(v.shape)
        if self.waves:
            return np.asarray(sum(share**2 * part.covariance_times(v) for share, part in self.waves))
        if self.counts.clustered is not None:
            x = kronecker.solve(self.design.channels, v).ravel()
            spread = self.counts.clustered.covariance_times(x).reshape(v.shape)
            return kronecker.solve(self.design.channels, spread) / self.counts.total**2
        channels, second = self.design.channels, _second_moment(self.counts)
        result = kronecker.solve(channels, second * kronecker.solve(channels, v))
        u, pi = kronecker.solve(channels, second), self.unbiased
        if self.inference == "finite":
            result -= u * v
        else:
            result += -u * (pi * v).sum() - pi * (u * v).sum() + second.sum() * pi * (pi * v).sum()
        return np.asarray(result / self.counts.total**2)

    @property
    def _shared_clusters(self) -> bool:
        """Whether one cluster may have reports in several waves."""
        return all(
            part.counts.clustered is not None and part.counts.clustered.keys is not None for _, part in self.waves
        )

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the errors: clusters less strata; infinite for reports that are independent."""
        parts = [part.counts.clustered for _, part in self.waves] or [self.counts.clustered]
        samples = [part.sample for part in parts if part is not None]
        if not samples:
            return math.inf
        return samples[0].degrees if self._shared_clusters else sum(sample.degrees for sample in samples)

    def marginal(self, attributes: Iterable[str]) -> Estimate:
        """Return the estimate of some of the attributes, with its own errors.

        By the exact inverse the smaller table is the sum of the larger one. Other methods estimate it on its own, which
        is closer to the truth than that sum.
        """
        wanted = listed(attributes)
        method: Any = "inverse" if self.method == "simplex" else self.method
        if not isinstance(method, str):
            method = _collapsed(method, wanted)
        tables = [(part.counts.marginal(wanted), part.design) for _, part in self.waves or ((1.0, self),)]
        result = estimated(tables, method=method, inference=self.inference)
        return result.to_simplex() if self.method == "simplex" else result

    def to_simplex(self) -> Estimate:
        """Return the estimate with its values moved to the nearest table that is not negative and sums to 1.

        The moved values are closer to the truth as a table, but no longer unbiased; the unbiased ones, their standard
        errors and their intervals stay beside them.
        """
        return replace(
            self,
            method="simplex",
            values=project_to_simplex(self.unbiased),
            expected_error=_error_of_inverse(self.standard_errors),
            reason="the nearest table to the exact inverse that is not negative",
        )

    def to_frame(self, *, level: float = 0.95, library: str | None = None) -> Any:
        """Return the estimate as a frame, a row per cell.

        Parameters
        ----------
        level : float
            Level of the intervals.
        library : {"pandas", "polars", "pyarrow"}, optional
            Whose frame; by default the library the reports came in.
        """
        lower, upper = self.interval(level)
        codes = np.indices(self.values.shape).reshape(len(self.attributes), -1)
        columns: dict[str, Any] = {
            attribute.name: pa.array([attribute.values[code] for code in axis])
            for attribute, axis in zip(self.design.attributes, codes, strict=True)
        }
        numbers = {
            "estimate": self.values,
            "unbiased": self.unbiased,
            "standard_error": self.standard_errors,
            "lower": lower,
            "upper": upper,
            "count": self.counts.values,
        }
        for name, numbers_of_cells in numbers.items():
            # a column of the user's may have this name already
            columns[name if name not in self.attributes else f"{name}_"] = numbers_of_cells.ravel()
        return as_frame(pa.table(columns), library or self.counts.library)

    def plot(self, *, level: float = 0.95) -> Any:
        """Return an Altair chart of the shares with their intervals, of at most thirty cells.

        Needs the extra ``report``; ``.save("shares.svg")`` or ``.save("shares.png")`` writes it to a file.
        """
        from lambdarr.reporting.notebooks import estimate_plot

        return estimate_plot(self, level)

    def _repr_html_(self) -> str:
        from lambdarr.reporting.notebooks import estimate_html

        return estimate_html(self)


def estimate(
    reports: Any,
    design: Design | None = None,
    attributes: Iterable[str] | None = None,
    *,
    method: Method | Sequence[Sequence[str]] = "auto",
    inference: Inference = "population",
    weights: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    clusters: str | ArrayLike | None = None,
) -> Estimate:
    """Return the estimated joint distribution of some attributes, with standard errors.

    Parameters
    ----------
    reports : table, path, Counts or list of (reports, Design)
        Randomized records, or their counts; or several of either, each with the design it was made with.
    design : Design, optional
        The design they were made with, unless it is beside them.
    attributes : iterable of str, optional
        The attributes of the table; needed unless ``reports`` are counts, whose attributes are then taken.
    method : {"auto", "inverse", "ml", "pairwise", "triples", "independence"} or list
        "auto" chooses from the data how much of the table can be believed: it starts from the pairs whose dependence
        the reports show and moves towards the largest likelihood as far as they bear it out. "inverse" is the exact
        inverse: unbiased, and possibly negative. "ml" is the largest likelihood among tables that are not negative,
        "pairwise" and "triples" among those with no interaction of more than two or three attributes, "independence"
        among those with none at all, and a list such as ``[("sex", "age"), ("age", "smokes")]`` among those with these
        interactions. The unbiased values and their errors are beside all of them.
    inference : {"population", "finite"}
        Whether the respondents are a sample of the population that the estimate is about, or the file is itself that
        population and only the randomization is random.
    weights : str or array, optional
        Survey weights: the name of a column, or one number per report.
    strata, clusters : str or array, optional
        How people were sampled: the stratum of each report, and the cluster of people who were drawn together. They
        are in the errors of the unbiased estimate.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design([lr.Attribute("smokes", ["no", "yes"])], lam=0.5)
    >>> found = lr.estimate(lr.Counts.from_array(["smokes"], [600, 400]), design)
    >>> found.values, found.standard_errors
    (array([0.7, 0.3]), array([0.031, 0.031]))
    """
    survey = Survey(weights, strata, clusters)
    _check_method(method)
    waves = waves_of(reports, design, survey)
    if len(waves) > 1 and attributes is not None:
        shared([wave.design for wave in waves], listed(attributes))
    tables = []
    for wave in waves:
        if isinstance(wave.reports, Counts):
            if any(given is not None for given in survey[:3]):
                msg = "weights, strata and clusters belong to the tally; counts have theirs already"
                raise DataError(msg)
            counts = wave.reports if attributes is None else wave.reports.marginal(attributes)
        elif attributes is None:
            names = wave.design.names or wave.design.select(()).names  # which says that there are only drawn columns
            msg = f"attributes must name the table to estimate, of: {', '.join(names)}"
            raise DataError(msg)
        else:
            attributes = listed(attributes)
            (counts,) = tallied(wave.reports, wave.design, [attributes], wave.survey)
        tables.append((counts, wave.design))
    return estimated(tables, method=method, inference=inference)


def _check_method(method: Any) -> None:
    if (isinstance(method, str) and method not in get_args(Method)) or not isinstance(method, str | Sequence):
        msg = f"method must be one of {', '.join(get_args(Method))}, or a list of interactions, got {method!r}"
        raise DataError(msg)


def estimated(
    tables: Sequence[tuple[Counts, Design]], *, method: Method | Sequence[Sequence[str]], inference: Inference
) -> Estimate:
    """Return the estimate from the counts of one or several waves, each with its design."""
    parts = [_by_inverse(counts, design, inference) for counts, design in tables]
    whole = parts[0] if len(parts) == 1 else _combined(parts)
    if method == "inverse":
        return whole
    if (cells := whole.values.size) > MOST_FITTED:
        msg = (
            f"a table of {cells:,} cells is larger than {MOST_FITTED:,}, which models are fitted to; "
            'ask for method "inverse" or fewer attributes, or take the table from lr.model'
        )
        raise DataError(msg)
    values, error, reason = _believable(
        method, whole.design, whole.reported, whole.independent, finite=inference == "finite"
    )
    kept = method if isinstance(method, str) else tuple(tuple(names) for names in method)
    return replace(whole, method=kept, values=values, expected_error=error, reason=reason)


def _by_inverse(counts: Counts, design: Design, inference: Inference) -> Estimate:
    """Return the unbiased estimate from reports of one design."""
    check_inference(inference, is_complex=counts.clustered is not None, is_sampled=design.is_sampled)
    part = design.select(counts.attributes)
    check_together(part)
    sizes = tuple(attribute.size for attribute in part.attributes)
    if counts.values.shape != sizes:
        msg = f"counts of {' × '.join(part.names)} must have the shape {sizes} of the design, got {counts.values.shape}"
        raise DataError(msg)
    if not counts.total > 0:
        msg = "counts must not all be zero; there is nothing to estimate from"
        raise DataError(msg)
    unbiased = kronecker.solve(part.channels, counts.values / counts.total)
    errors = np.sqrt(_variances(counts, part, unbiased, inference))
    return _unbiased_only(part, counts, inference, unbiased, errors)


def _unbiased_only(
    part: Design, counts: Counts, inference: Inference, unbiased: NDArray[np.float64], errors: NDArray[np.float64]
) -> Estimate:
    reason = "unbiased; cells may be negative"
    error = _error_of_inverse(errors)
    return Estimate(part, counts, inference, "inverse", unbiased, unbiased, errors, error, reason)


def _combined(parts: Sequence[Estimate]) -> Estimate:
    """Return the unbiased estimate from several waves.

    Each has the share that makes the total error of a population's table smallest, 1/error; of a file, which is all
    waves together, its share of the records.
    """
    design = shared([part.design for part in parts], parts[0].attributes)
    finite = parts[0].inference == "finite"
    weights = np.array([part.counts.total if finite else 1 / _total_error(part) for part in parts])
    shares = (weights / weights.sum()).tolist()
    counts = functools.reduce(operator.add, (replace(part.counts, clustered=None) for part in parts))
    unbiased = sum(share * part.unbiased for share, part in zip(shares, parts, strict=True))
    variances = sum(share**2 * part.standard_errors**2 for share, part in zip(shares, parts, strict=True))
    clustered = [part.counts.clustered for part in parts if part.counts.clustered is not None]
    if clustered:
        tables = [replace(part.counts, clustered=table) for part, table in zip(parts, together(clustered), strict=True)]
        parts = [replace(part, counts=table) for part, table in zip(parts, tables, strict=True)]
    whole = _unbiased_only(design, counts, parts[0].inference, np.asarray(unbiased), np.sqrt(variances))
    whole = replace(whole, waves=tuple(zip(shares, parts, strict=True)))
    if whole._shared_clusters:
        errors = np.sqrt(np.maximum(np.diag(whole.covariance()), 0)).reshape(whole.values.shape)
        whole = replace(whole, standard_errors=errors, expected_error=_error_of_inverse(errors))
    return whole


def _noise(design: Design) -> float:
    """Return E‖Aeᵧ − π‖² of one report, for evenly spread people: what of eq. (22) the design alone decides."""
    sizes = [channel.size for channel in design.channels]
    squares = math.prod((1 + (channel.size - 1) / channel.lam**2) / channel.size for channel in design.channels)
    return squares - 1 / math.prod(sizes)


def _total_error(part: Estimate) -> float:
    """Return the summed variance of a wave's cells to expect of its design and its number of reports."""
    return _noise(part.design) / part.independent


def _covariance_between(first: Estimate, second: Estimate) -> NDArray[np.float64]:
    """Return the covariance matrix of two waves' cells, or of one with itself."""
    if first is second and first.counts.clustered is None:
        return first.covariance()
    return _clustered_covariance(first.counts, first.design, second.counts, second.design)


def _clustered_covariance(counts: Counts, part: Design, other: Counts, other_part: Design) -> NDArray[np.float64]:
    """Return A V A', V the covariance matrix of the reported proportions, where reports are not independent."""
    assert counts.clustered is not None
    assert other.clustered is not None
    cells = counts.values.size
    if cells > MOST_CLUSTERED:
        msg = (
            f"with strata or clusters, a table may have {MOST_CLUSTERED:,} cells, and this has {cells:,}; ask for fewer"
        )
        raise DataError(msg)
    spread = counts.clustered.covariance_with(other.clustered).reshape(counts.values.shape * 2)
    found = kronecker.solve([*part.channels, *other_part.channels], spread).reshape(cells, cells)
    return found / (counts.total * other.total)


def _error_of_inverse(standard_errors: NDArray[np.float64]) -> float:
    return float(0.5 * math.sqrt(2 / math.pi) * standard_errors.sum())


def independent_reports(counts: Counts) -> float:
    """Return how many reports of equal weight tell as much: (Σw)²/Σw²."""
    n = float(counts.n) if counts.squares is None else counts.total**2 / max(float(counts.squares.sum()), 1e-300)
    if counts.clustered is not None:  # as far as the mean variance of the cells goes
        shares = counts.values / counts.total
        independent, spread = 1 - float((shares**2).sum()), float(counts.clustered.variances().sum())
        n = independent * counts.total**2 / spread if spread > 0 and independent > 0 else n
    return max(n, 1.0)


def _believable(
    method: Method | Sequence[Sequence[str]], part: Design, theta: NDArray[np.float64], n: float, *, finite: bool
) -> tuple[NDArray[np.float64], float, str]:
    """Return the table that a method other than the inverse gives, the error to expect of it, and why it is so."""
    channels = part.channels
    chosen = choose(channels, theta, n=n)
    if method == "auto" and theta.ndim > 1:
        error = simulated_error(
            lambda reported: choose(channels, reported, n=n).values, channels, theta, chosen.rough, n=n, finite=finite
        )
        return chosen.values, error, chosen.in_words(part.names)
    fit, reason = _fixed(method, part)
    fitted = fit(channels, theta, n)
    if fitted.gap > ENOUGH:
        reason = f"{reason}; not quite reached: the log-likelihood may still gain up to {fitted.gap:.2g}"
    error = simulated_error(
        lambda reported: fit(channels, reported, n).values, channels, theta, chosen.rough, n=n, finite=finite
    )
    return fitted.values, error, reason


def _fixed(method: Method | Sequence[Sequence[str]], part: Design) -> tuple[Fitter, str]:
    """Return the fit of a fixed method, and its reason."""
    axes = len(part.names)
    if method in ("auto", "ml"):
        return largest_likelihood, "the largest likelihood among tables that are not negative"
    if method == "independence":
        return interactions([]), "the attributes taken as independent of each other"
    if method in ("pairwise", "triples"):
        order = min(2 if method == "pairwise" else 3, axes)
        most = "two" if method == "pairwise" else "three"
        reason = f"the largest likelihood without interactions of more than {most} attributes"
        return interactions(all_of_order(axes, order)), reason
    margins = []
    for names in method:
        if isinstance(names, str) or not names:
            msg = f"an interaction must list some of the table's attributes: {', '.join(part.names)}"
            raise DataError(msg)
        for name in names:
            if name not in part.names:
                msg = f"the interaction names {name!r}, which is not in the table: {', '.join(part.names)}"
                raise DataError(msg)
        margins.append(tuple(sorted({part.names.index(name) for name in names})))
    if not margins:
        return interactions([]), "the attributes taken as independent of each other"
    spelled = ", ".join(" × ".join(part.names[axis] for axis in margin) for margin in margins)
    return interactions(margins), f"the largest likelihood with the interactions {spelled} and no other"


def _possible(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return intervals cut to [0, 1]; one that lies beyond is moved to the edge, as nothing is certain there either."""
    width = upper - lower
    lower = np.where(upper <= 0, 0, np.where(lower >= 1, 1 - width / 2, lower))
    upper = np.where(upper <= 0, width / 2, upper)
    return np.clip(lower, 0, 1), np.clip(upper, 0, 1)


def _collapsed(interactions: Sequence[Sequence[str]], kept: Sequence[str]) -> list[list[str]]:
    """Return a model's interactions among some attributes: those summed out tie their neighbours to each other."""
    ties = [set(names) for names in interactions]
    for gone in {name for names in ties for name in names} - set(kept):
        joined = set().union(*(tie for tie in ties if gone in tie))
        ties = [tie for tie in ties if gone not in tie] + [joined - {gone}]
    return [[name for name in kept if name in tie] for tie in ties if tie]


def _second_moment(counts: Counts) -> NDArray[np.float64]:
    return counts.values if counts.squares is None else counts.squares


def _variances(counts: Counts, part: Design, pi: NDArray[np.float64], inference: Inference) -> NDArray[np.float64]:
    """Return the variance of every cell of π̂ = A θ̂: docs/theory.md, eq. (19) and (20), with weights eq. (21)."""
    if counts.clustered is not None:
        spread = np.diag(_clustered_covariance(counts, part, counts, part)).reshape(counts.values.shape)
        return np.maximum(spread, 0)
    second = _second_moment(counts)
    squared = kronecker.solve_squared(part.channels, second)
    u = kronecker.solve(part.channels, second)
    weight = second.sum()
    population = inference == "population"
    spread = squared - 2 * pi * u + pi**2 * weight if population else squared - u
    dust = 1e-12 * squared
    if (spread <= dust).any():
        # A cell with next to no reports may show no spread at all or, where the unbiased finite variance is below
        # zero, less than none. There, take the spread of the nearest table without negative cells: no interval is
        # empty as long as λ < 1.
        nearest = project_to_simplex(u / weight)
        expected = kronecker.solve_squared(part.channels, kronecker.apply(part.channels, nearest))
        expected -= nearest**2 if population else nearest
        spread = np.where(spread <= dust, expected * weight, spread)
    return np.asarray(np.maximum(spread, 0) / counts.total**2)
