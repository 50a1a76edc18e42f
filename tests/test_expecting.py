import itertools
import math

import numpy as np
import pytest

import lambdarr as lr
from lambdarr import kronecker
from lambdarr.expecting import error_factor, expected_errors, pooled_errors, reports_needed

DESIGN = lr.design({"a": range(2), "b": range(3), "c": range(5)}, lam={"a": 0.9, "b": 0.5, "c": 0.3})


def brute_force(design, n, *, finite):
    """Return ½ √(2/π) Σ SE of a table of evenly spread answers, from its dense covariance matrix."""
    A = kronecker.dense_inverse(design.channels)
    pi = np.full(len(A), 1 / len(A))
    spread = A @ np.diag(pi) @ A.T - (np.diag(pi) if finite else np.outer(pi, pi))
    return 0.5 * math.sqrt(2 / math.pi) * np.sqrt(np.maximum(np.diag(spread), 0) / n).sum()


@pytest.mark.parametrize("finite", [False, True])
def test_expected_errors_are_those_of_every_table(finite):
    for order in expected_errors(DESIGN, 1_000, finite=finite):
        tables = itertools.combinations(DESIGN.names, order.attributes)
        errors = [brute_force(DESIGN.select(names), 1_000, finite=finite) for names in tables]
        assert (order.best, order.worst) == pytest.approx((min(errors), max(errors)))
        assert order.best - 1e-12 <= order.typical <= order.worst + 1e-12


def test_expected_errors_agree_with_the_estimate():
    counts = lr.Counts.from_array(DESIGN.names, np.full((2, 3, 5), 100.0))
    found = lr.estimate(counts, DESIGN, method="inverse")
    assert expected_errors(DESIGN, 3_000)[-1].typical == pytest.approx(found.expected_error)


def test_reports_needed_bring_the_error_down_to_what_was_asked_for():
    for order in reports_needed(DESIGN, 0.1):
        errors = expected_errors(DESIGN, order.typical)
        assert errors[order.attributes - 1].typical == pytest.approx(0.1)


def test_errors_grow_with_one_over_the_keep_rate():
    """As many times as large as with true answers, for evenly spread ones."""
    for channel in DESIGN.channels:
        (noisy,) = expected_errors(lr.design({"x": range(channel.size)}, lam=channel.lam), 500)
        (true,) = expected_errors(lr.design({"x": range(channel.size)}, lam=1.0), 500)
        assert noisy.typical / true.typical == pytest.approx(error_factor(channel), rel=1e-6)


def test_a_file_without_randomization_has_no_error():
    assert expected_errors(lr.design({"x": range(3)}, lam=1.0), 10, finite=True)[0].worst == 0


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(lr.DataError, match="positive number of reports"):
        expected_errors(DESIGN, 0)
    with pytest.raises(lr.DataError, match="positive total-variation error"):
        reports_needed(DESIGN, 0)


def test_waves_together_err_as_the_verb_does():
    """1/error² adds up over waves in a population; a file's waves count by their records."""
    first = lr.design({"a": range(4), "b": range(3)}, lam=0.5)
    second = lr.design({"a": range(4), "b": range(3)}, lam=0.8)
    counts = [
        (lr.Counts.from_array(["a", "b"], np.full((4, 3), n)), design) for n, design in ((500, first), (200, second))
    ]
    for inference in ("population", "finite"):
        found = lr.estimate(counts, method="inverse", inference=inference)
        (_, pairs) = pooled_errors([(first, 6_000), (second, 2_400)], finite=inference == "finite")
        assert pairs.best == pairs.worst == pytest.approx(found.expected_error, rel=0.02)
