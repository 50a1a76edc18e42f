"""How the statistical tests judge: fixed seeds, and one stated chance of a false alarm."""

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6
"""Chance that one of a test's checks fails although the code is right; divided by the number of its checks."""


def chi_square(observed, probabilities):
    """Return the p-value of Pearson's χ² along the last axis."""
    observed = np.asarray(observed, dtype=float)
    expected = observed.sum(axis=-1, keepdims=True) * np.asarray(probabilities)
    statistic = ((observed - expected) ** 2 / expected).sum(axis=-1)
    return stats.chi2.sf(statistic, observed.shape[-1] - 1)


def binomial(observed, n, probability):
    """Return the two-sided p-value of counts under a binomial distribution."""
    below = stats.binom.cdf(observed, n, probability)
    above = stats.binom.sf(np.asarray(observed) - 1, n, probability)
    return np.minimum(1, 2 * np.minimum(below, above))


def assert_plausible(p_values):
    """Fail if any of the p-values is smaller than chance allows."""
    p_values = np.atleast_1d(p_values)
    assert p_values.min() > FALSE_ALARM / p_values.size
