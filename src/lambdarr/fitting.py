"""Regressions, fitted: coefficients that solve the truths' equations, and the sandwich of what each report is worth."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lambdarr.errors import DataError
from lambdarr.leastsquares import LinearReports
from lambdarr.logits import LogitReports
from lambdarr.surveys import sample_of
from lambdarr.truths import Reported, Truths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lambdarr.formulas import Columns, Outcome
    from lambdarr.records import Data, Records

    Floats = NDArray[np.float64]

_CLEAR = 2.0
"""Standard errors by which what predictors tell apart has to differ from nothing."""

_INFORMED = 1e-6
"""Part of the predictors' variance that the outcome has to tell something about; less, where a class is certain."""


class Fitted(NamedTuple):
    """Coefficients and their covariance matrix."""

    values: Floats
    covariance: Floats
    degrees: float
    """Degrees of freedom of the errors: clusters less strata; infinite for reports that are independent."""


class Equations(ABC):
    """Estimating equations of a regression: their solution, and what each report adds to them."""

    def __init__(self, data: Data, columns: Columns, outcome: Outcome) -> None:
        self.data, self.columns, self.outcome = data, columns, outcome
        self.parts = []
        for records in data.waves:
            here = outcome if outcome.attribute is not None else outcome._replace(values=outcome.values[records.rows])
            self.parts.append(
                LinearReports(
                    columns.at(records.rows), here, records.channels, records.codes, records.weights, data.scales
                )
            )
        self.moments = [part.moments() for part in self.parts]

    @abstractmethod
    def solved(self, factors: Sequence[float]) -> tuple[Floats, Floats]:
        """Return the coefficients and the derivative of the equations, waves counting by their factors."""

    @abstractmethod
    def scores(self, values: Floats, wave: int) -> Floats:
        """Return w s of every report of a wave, a row each."""

    @abstractmethod
    def meat(self, values: Floats, wave: int) -> Floats:
        """Return Σ w² s sᵀ over the reports of a wave."""

    @abstractmethod
    def truths_own(self, values: Floats, wave: int) -> Floats:
        """Return an unbiased estimate of Σ w² ψψᵀ of the truths: what of the meat is not randomization."""

    def fitted(self, *, finite: bool) -> Fitted:
        """Return coefficients and errors, of several waves with the weights that make the errors smallest."""
        waves = range(len(self.parts))
        factors = [1.0] * len(self.parts)
        if len(factors) > 1 and not finite:  # whatever the scale of a wave's weights
            factors = [float(part.weights.sum() / (part.weights**2).sum()) for part in self.parts]
        values, bread = self.solved(factors)
        if len(factors) > 1 and not finite:
            factors = self._best_factors(values, bread, factors)
            values, bread = self.solved(factors)
        degrees = math.inf
        if self.data.is_complex:
            # also those who did not answer are in their clusters, and a cluster may have reports in several waves
            scores = [self.data.waves[wave].among_all(factors[wave] * self.scores(values, wave)) for wave in waves]
            sample = sample_of([records.asked for records in self.data.waves], [len(part) for part in scores])
            meat, degrees = sample.variance(np.concatenate(scores)), sample.degrees
        else:
            meat = np.asarray(sum(factors[wave] ** 2 * self.meat(values, wave) for wave in waves))
            if finite:
                meat = meat - sum(self.truths_own(values, wave) for wave in waves)
        meat = meat + self._rounding(values, factors)
        covariance = _sandwich(bread, meat)
        if (np.diag(covariance) < 0).any():  # an unbiased variance of next to nothing
            covariance = covariance - np.diag(np.minimum(np.diag(covariance), 0))
        return Fitted(values, covariance, degrees)

    def _rounding(self, values: Floats, factors: Sequence[float]) -> Floats:
        """Return what is added to the meat as nobody knows how rounded numbers fill their bins."""
        if not self.data.scales:
            return np.zeros((1, 1))
        columns = range(len(self.columns.names))
        unsure = [sum(f * part.unsure(c) for f, part in zip(factors, self.parts, strict=True)) for c in columns]
        return np.diag((np.array(unsure) * values[: len(unsure)]) ** 2)

    def _best_factors(self, values: Floats, bread: Floats, start: Sequence[float]) -> list[float]:
        """Return how much a record of each wave is to count: less, the more variance its wave alone would leave."""
        meats = [factor**2 * self.meat(values, wave) for wave, factor in enumerate(start)]
        total = np.diag(_sandwich(bread, np.asarray(sum(meats))))
        weights = [factor * part.weights.sum() for factor, part in zip(start, self.parts, strict=True)]
        factors = []
        for meat, weight, factor in zip(meats, weights, start, strict=True):
            share = weight / sum(weights)
            alone = np.diag(_sandwich(bread, meat)) / share**2
            factors.append(float(factor / (share * (alone / total).mean())))
        return factors

    def _predictors_checked(self, factors: Sequence[float]) -> Floats:
        """Return the predictors' moments Σ w x xᵀ, or refuse what the reports cannot tell apart."""
        squares = np.asarray(sum(factor * A for factor, (A, _) in zip(factors, self.moments, strict=True)))
        names = self.columns.names
        for place, (name, count) in enumerate(zip(names, np.diag(squares), strict=True)):
            noise = sum((factor**2 * part.noise(place) for factor, part in zip(factors, self.parts, strict=True)), 0.0)
            if count <= _CLEAR * math.sqrt(max(noise, 0.0)):
                why = "nobody has it" if not noise else "so few have it, by these reports, that it is lost in noise"
                msg = f"nothing can be said about {name}: {why}; leave it out, or join it to another category"
                raise DataError(msg)
        scale = np.sqrt(np.diag(squares))
        values, vectors = np.linalg.eigh(squares / np.outer(scale, scale))
        collinear = values[0] <= 1e-10 * values[-1]
        if not collinear and values[0] > _CLEAR * math.sqrt(self._spread(vectors[:, 0] / scale, factors)):
            return squares
        strongest = np.argsort(-np.abs(vectors[:, 0]))
        together = [names[place] for place in strongest if abs(vectors[place, 0]) > 0.2][:4]
        why = "they are collinear" if collinear else "they are collinear, or drowned in noise at these λ's and numbers"
        msg = f"the reports cannot tell the effects of {', '.join(together)} apart: {why}; leave one out"
        raise DataError(msg)

    def _spread(self, vector: Floats, factors: Sequence[float]) -> float:
        """Return the variance of vᵀ (Σ w M) v over reports of waves whose predictors are randomized."""
        total = 0.0
        for part, factor in zip(self.parts, factors, strict=True):
            if not part.is_exact:
                total += sum(
                    float(((factor * part.weights[rows] * found) ** 2).sum()) for rows, found in part.along(vector)
                )
        return total


class LinearEquations(Equations):
    """Least squares: docs/theory.md, eq. (35) and (36)."""

    def solved(self, factors: Sequence[float]) -> tuple[Floats, Floats]:
        """Return the coefficients and Σ w (z zᵀ + K)."""
        squares = self._predictors_checked(factors)
        products = sum(factor * v for factor, (_, v) in zip(factors, self.moments, strict=True))
        return np.asarray(np.linalg.solve(squares, products)), squares

    def scores(self, values: Floats, wave: int) -> Floats:
        """Return w s of every report of a wave, a row each."""
        part = self.parts[wave]
        found = np.concatenate([score for _, score in part.scores(values)], axis=1)
        return np.asarray((found * part.weights).T)

    def meat(self, values: Floats, wave: int) -> Floats:
        """Return Σ w² s sᵀ over the reports of a wave."""
        part = self.parts[wave]
        total = np.zeros((len(values), len(values)))
        for rows, score in part.scores(values):
            score *= part.weights[rows]
            total += score @ score.T
        return total

    def truths_own(self, values: Floats, wave: int) -> Floats:
        """Return an unbiased estimate of Σ w² ψψᵀ of the truths, ψ = x (y − xβ)."""
        records, outcome = self.data.waves[wave], self.outcome
        public = None if outcome.attribute is not None else outcome.values[records.rows]
        categories = np.arange(len(outcome.values)) if public is None else None
        truths = _truths(self.columns, outcome, records, categories, beside=public)
        people = truths.people(truths.squares, outcome=True)
        total = np.zeros((len(values), len(values)))
        for groups in truths.chunks():
            x = truths.predictors(groups)
            y = outcome.values if public is None else public[truths.first[groups]][:, None, None]
            weights = (people[groups] * (y - (x @ values)[:, :, None]) ** 2).sum(axis=2)
            flat = x.reshape(-1, len(values))
            total += (flat * weights.reshape(-1, 1)).T @ flat
        return total


class LogitEquations(Equations):
    """Logistic and multinomial regression: eq. (37), or with the outcome's channel in the likelihood (38)."""

    def __init__(self, data: Data, columns: Columns, outcome: Outcome, *, likelihood: bool) -> None:
        super().__init__(data, columns, outcome)
        classes = outcome.values.astype(np.int64)
        self._truths = [_truths(columns, outcome, records, classes) for records in data.waves]
        self._reports = LogitReports(self._truths, likelihood=likelihood)

    def solved(self, factors: Sequence[float]) -> tuple[Floats, Floats]:
        """Return the coefficients, of each class after the other, and the information on them."""
        squares = self._predictors_checked(factors)
        fit = self._reports.fit(factors)
        information = np.asarray(sum(fit.information))
        # as against what it could be: next to nothing where the odds have no bound
        half = np.linalg.inv(np.linalg.cholesky(squares))
        half = np.kron(np.eye(self._reports.classes - 1), half)
        if np.linalg.eigvalsh(half @ information @ half.T)[0] < _INFORMED:
            raise DataError(LogitReports.UNBOUNDED)
        return fit.coefficients.T.ravel(), information

    def scores(self, values: Floats, wave: int) -> Floats:
        """Return w s of every report of a wave, a row each."""
        truths, weights = self._truths[wave], self.parts[wave].weights
        result = np.empty((len(weights), len(values)))
        size = truths.counts.shape[1] * truths.counts.shape[2]
        order = np.argsort(truths.places, kind="stable")
        for groups, of_report, _ in self._reports.scores(self._by_class(values), truths):
            ends = np.searchsorted(truths.places, [groups.start * size, groups.stop * size], sorter=order)
            here = order[ends[0] : ends[1]]
            flat = of_report.reshape(-1, len(values))
            result[here] = flat[truths.places[here] - groups.start * size] * weights[here][:, None]
        return result

    def meat(self, values: Floats, wave: int) -> Floats:
        """Return Σ w² s sᵀ over the reports of a wave."""
        truths = self._truths[wave]
        total = np.zeros((len(values), len(values)))
        for groups, of_report, _ in self._reports.scores(self._by_class(values), truths):
            flat = of_report.reshape(-1, len(values))
            total += (flat * truths.squares[groups].reshape(-1, 1)).T @ flat
        return total

    def truths_own(self, values: Floats, wave: int) -> Floats:
        """Return an unbiased estimate of Σ w² ψψᵀ of the truths, ψ their mean score over the randomization."""
        truths = self._truths[wave]
        people = truths.people(truths.squares, outcome=True)
        total = np.zeros((len(values), len(values)))
        for groups, _, of_truth in self._reports.scores(self._by_class(values), truths):
            flat = of_truth.reshape(-1, len(values))
            total += (flat * people[groups].reshape(-1, 1)).T @ flat
        return total

    def _by_class(self, values: Floats) -> Floats:
        return values.reshape(-1, len(self.columns.names)).T


def _sandwich(bread: Floats, meat: Floats) -> Floats:
    covariance = np.linalg.solve(bread, np.linalg.solve(bread, meat).T)
    return np.asarray((covariance + covariance.T) / 2)


def _truths(
    columns: Columns,
    outcome: Outcome,
    records: Records,
    classes: NDArray[np.int64] | None,
    *,
    beside: Floats | None = None,
) -> Truths:
    """Return what the reports of a wave say about every truth; ``classes`` are the outcome's, None for only one."""
    if outcome.attribute is not None:
        assert classes is not None
        channel = records.channels[outcome.attribute]
        reported = Reported(
            classes.take(records.codes[outcome.attribute]), channel.lam, np.bincount(classes) / len(classes)
        )
    elif classes is None:
        reported = Reported(np.zeros(len(records.weights), dtype=np.int64), 1.0, np.ones(1))
    else:
        count = len(outcome.labels)
        reported = Reported(classes[records.rows], 1.0, np.full(count, 1 / count))
    here = columns.at(records.rows)
    return Truths.of(here, records.channels, records.codes, records.weights, reported, beside=beside)
