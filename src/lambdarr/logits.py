"""Logistic and multinomial regression on reports: the largest likelihood with the channels inside.

The outcome's channel stands in the likelihood itself: a report of class d has the probability λ p_d + (1 − λ) q_d,
with p from the predictors and q the shares of a redraw. Randomized predictors are summed over: the log-likelihood of a
report is replaced by its unbiased value, P⁻¹ applied to that of every truth which may be behind it, so that no model of
the predictors' own distribution is needed. Equations (37) and (38) of docs/theory.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lambdarr.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lambdarr.truths import Truths

    Floats = NDArray[np.float64]

_STEPS = 200
_CONVERGED = 1e-18
"""Gain in log-likelihood per report that a step may still promise, at its end."""

_LARGEST = 40.0
"""Log-odds beyond which a class is as good as certain."""


class Fit(NamedTuple):
    """Coefficients (columns × classes but the first), and the information on them of each wave."""

    coefficients: Floats
    information: list[Floats]


class _Derivatives(NamedTuple):
    value: float
    gradient: Floats
    information: list[Floats]


class LogitReports:
    """Reports of several waves, and what they say about the coefficients.

    Parameters
    ----------
    truths : sequence of Truths
        One for each wave.
    likelihood : bool
        Whether the outcome's channel is in the likelihood; otherwise its reports are replaced by unbiased values, as
        those of the predictors are, and the estimate is that of the truths' own regression, even if the model is wrong.
    """

    UNBOUNDED = (
        "the coefficients grow without bound: predictors separate the classes of the outcome perfectly, or the reports "
        "are too noisy to tell; use fewer predictors, or collect more reports"
    )

    def __init__(self, truths: Sequence[Truths], *, likelihood: bool) -> None:
        self._truths, self._likelihood = truths, likelihood
        self._people = [wave.people(wave.counts, outcome=not likelihood) for wave in truths]
        self.classes = len(truths[0].outcome.redrawn)
        self.columns = truths[0].public.shape[1]

    def fit(self, factors: Sequence[float]) -> Fit:
        """Return the coefficients of the largest likelihood, by Newton's method; waves count by their factors."""
        total = sum(factor * float(wave.counts.sum()) for factor, wave in zip(factors, self._truths, strict=True))
        beta = np.zeros((self.columns, self.classes - 1))
        found = self._derivatives(beta, factors)
        for _ in range(_STEPS):
            direction = _ascent(np.asarray(sum(found.information)), found.gradient)
            gain = float(found.gradient @ direction)
            if gain <= _CONVERGED * total:
                break
            step = 1.0
            while step > 1e-10:
                tried = self._derivatives(beta + step * direction.reshape(beta.T.shape).T, factors)
                if tried.value >= found.value + 1e-4 * step * gain - 1e-13 * abs(found.value):
                    break
                step /= 2
            else:
                break
            beta, found = beta + step * direction.reshape(beta.T.shape).T, tried
            if self._is_certain(beta):
                raise DataError(self.UNBOUNDED)
        return Fit(beta, found.information)

    def _is_certain(self, beta: Floats) -> bool:
        """Return whether the log-odds of some people have no bound any more."""
        return any(
            float(np.abs(wave.predictors(groups) @ beta).max()) > _LARGEST
            for wave in self._truths
            for groups in wave.chunks()
        )

    def _derivatives(self, beta: Floats, factors: Sequence[float]) -> _Derivatives:
        """Return the log-likelihood, its gradient and the information, class by class of the coefficients."""
        value, gradient, information = 0.0, np.zeros(beta.size), []
        for wave, people, factor in zip(self._truths, self._people, factors, strict=True):
            second = np.zeros((beta.size, beta.size))
            lam, redrawn = self._channel(wave)
            for groups in wave.chunks():
                x = wave.predictors(groups).reshape(-1, self.columns)
                w = factor * people[groups].reshape(-1, self.classes)
                p, reported = _probabilities(x, beta, lam, redrawn)
                value += float((w * np.log(reported)).sum())
                # c: how many of the reports are truths of each class, by Bayes' rule
                c = lam * w * p / reported
                each = c.sum(axis=1)
                first = c[:, 1:] - p[:, 1:] * each[:, None]
                gradient += (first.T @ x).ravel()
                kept = c * (1 - lam) * redrawn / reported
                for k in range(1, self.classes):
                    for j in range(k, self.classes):
                        same = float(j == k)
                        bend = p[:, k] * (same - p[:, j]) * each - kept[:, k] * (same - p[:, j])
                        bend += p[:, k] * (kept[:, j] - p[:, j] * kept.sum(axis=1))
                        block = (x * bend[:, None]).T @ x
                        at = slice((k - 1) * self.columns, k * self.columns)
                        to = slice((j - 1) * self.columns, j * self.columns)
                        second[at, to] += block
                        if j > k:
                            second[to, at] += block.T
            information.append(second)
        return _Derivatives(value, gradient, information)

    def _channel(self, wave: Truths) -> tuple[float, Floats]:
        return (wave.outcome.lam, wave.outcome.redrawn) if self._likelihood else (1.0, np.zeros(self.classes))

    def scores(self, beta: Floats, wave: Truths) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield for some groups what reports are worth for the score, and the scores of truths in the mean."""
        lam, redrawn = self._channel(wave)
        size = beta.size
        for groups in wave.chunks():
            x = wave.predictors(groups)
            shape = (*x.shape[:2], self.classes)
            p, reported = _probabilities(x.reshape(-1, self.columns), beta, lam, redrawn)
            told = (lam * p / reported).reshape(shape)
            p = p.reshape(shape)
            # of a report of class d: told_d (1[d = k] − p_k) x
            gap = np.eye(self.classes)[:, 1:] - p[:, :, None, 1:]
            of_report = (told[..., None] * gap)[..., None] * x[:, :, None, None, :]
            of_report = of_report.reshape(*shape, size)
            if self._likelihood:
                # the mean over the reports of a person of class u
                mean = np.einsum("gkdv,d->gkv", of_report, wave.outcome.redrawn)[:, :, None, :]
                of_truth = wave.outcome.lam * of_report + (1 - wave.outcome.lam) * mean
            else:
                of_truth = of_report
            yield groups, wave.worth(of_report, outcome=not self._likelihood), of_truth


def probabilities(x: Floats, beta: Floats) -> Floats:
    """Return the probability of each class, for every row of predictors."""
    log_odds = np.concatenate([np.zeros((len(x), 1)), x @ beta], axis=1)
    log_odds -= log_odds.max(axis=1, keepdims=True)
    odds = np.exp(log_odds)
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _probabilities(x: Floats, beta: Floats, lam: float, redrawn: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities of the truths and of the reports."""
    p = np.maximum(probabilities(x, beta), 1e-300)
    return p, lam * p + (1 - lam) * redrawn


def _ascent(information: Floats, gradient: Floats) -> Floats:
    """Return Newton's step, damped as far as it takes to go uphill where the information is not positive."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(information)), 1e-300))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    values = np.maximum(np.abs(values), 1e-9 * np.abs(values).max())
    return np.asarray(vectors @ (vectors.T @ (gradient / scale) / values) / scale)
