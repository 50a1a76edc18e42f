"""Likelihood, log-linear models and the choice between them, each against brute force on small cases."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import lambdarr as lr
from lambdarr import choosing, kronecker, likelihood, loglinear
from tests.strategies import design_of


def simulated(sizes, lams, n, seed, concentration=1.0):
    """Return channels, observed proportions and the true table of a simulated file."""
    generator = np.random.default_rng(seed)
    channels = [lr.Channel(size, lam) for size, lam in zip(sizes, lams, strict=True)]
    pi = generator.dirichlet(np.full(np.prod(sizes), concentration)).reshape(sizes)
    truths = generator.multinomial(n, pi.ravel()).reshape(sizes)
    return channels, choosing._randomized(truths, channels, generator) / n, truths / n


def log_likelihood(channels, theta, pi):
    """Return the mean log-likelihood of a report, from the dense matrix."""
    reported = kronecker.dense(channels) @ pi.ravel()
    seen = theta.ravel() > 0
    return theta.ravel()[seen] @ np.log(reported[seen])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([((3,), (0.3,)), ((2, 3), (0.4, 0.5)), ((2, 2, 2), (0.6, 0.3, 0.5))]))
def test_maximum_likelihood_agrees_with_an_optimizer(seed, case):
    channels, theta, _ = simulated(*case, n=300, seed=seed)
    start = np.full(theta.shape, 1 / theta.size)
    found = likelihood.maximum_likelihood(channels, theta, n=300, start=start)
    assert found.gap < likelihood.ENOUGH
    assert found.values.min() >= 0
    assert found.values.sum() == pytest.approx(1)
    P = kronecker.dense(channels)

    def loss(x):  # softmax keeps the optimizer on the simplex
        pi = np.exp(x - x.max())
        return -300 * theta.ravel() @ np.log(P @ (pi / pi.sum()))

    best = min(optimize.minimize(loss, np.zeros(theta.size), method="BFGS").fun for _ in range(1))
    assert -300 * log_likelihood(channels, theta, found.values) <= best + likelihood.ENOUGH


def test_inverse_inside_the_simplex_is_the_largest_likelihood():
    channels, theta, _ = simulated((2, 3), (0.8, 0.7), n=100_000, seed=1, concentration=20)
    inverse = kronecker.solve(channels, theta)
    assert inverse.min() > 0
    found = likelihood.maximum_likelihood(channels, theta, n=100_000, start=np.full((2, 3), 1 / 6))
    np.testing.assert_allclose(found.values, inverse, atol=2e-3)


@pytest.mark.parametrize("margins", [[], [(0, 1)], [(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2)], [(0, 1, 2)]])
def test_log_linear_fit_agrees_with_an_optimizer(margins):
    channels, theta, _ = simulated((2, 3, 2), (0.6, 0.7, 0.5), n=2_000, seed=4, concentration=3)
    start = loglinear.independent(channels, theta, n=2_000)
    found = loglinear.fit(channels, theta, margins, n=2_000, start=start)
    columns = [np.ones(12)]  # the model's design matrix: an indicator per cell of every margin
    codes = np.indices((2, 3, 2)).reshape(3, -1)
    for margin in [*margins, (0,), (1,), (2,)]:
        for cell in itertools.product(*(range((2, 3, 2)[axis]) for axis in margin)):
            columns.append(np.all([codes[axis] == code for axis, code in zip(margin, cell, strict=True)], axis=0) * 1.0)
    X, P = np.array(columns).T, kronecker.dense(channels)

    def loss(beta):
        pi = np.exp(X @ beta - (X @ beta).max())
        return -2_000 * theta.ravel() @ np.log(P @ (pi / pi.sum()))

    best = optimize.minimize(loss, np.zeros(X.shape[1]), method="BFGS").fun
    assert -2_000 * log_likelihood(channels, theta, found) == pytest.approx(best, abs=0.05)


@pytest.mark.parametrize(("lam", "n"), [(0.05, 10**7), (0.1, 10**8), (0.3, 10**5), (0.7, 10**4)])
def test_pairwise_model_of_two_attributes_is_the_largest_likelihood(lam, n):
    design = lr.design({"a": range(3), "b": range(3)}, lam=lam)
    pi = np.array([[0.15, 0.09, 0.09], [0.09, 0.16, 0.08], [0.10, 0.09, 0.15]])
    counts = lr.Counts.from_array(design.names, np.rint(n * kronecker.apply(design.channels, pi)))
    ml, pairwise = (lr.estimate(counts, design, method=method).values for method in ("ml", "pairwise"))
    np.testing.assert_allclose(ml, pairwise, atol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "lam", "n"), [((3, 3, 3), 0.2, 10**6), ((2,) * 6, 0.3, 10**5), ((4, 4, 3), 0.3, 6_000)]
)
def test_pairwise_model_is_fitted_to_its_maximum(sizes, lam, n):
    """With many more steps the log-likelihood of all reports gains next to nothing."""
    channels, theta, _ = simulated(sizes, [lam] * len(sizes), n, seed=3, concentration=3)
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    start = loglinear.independent(channels, theta, n=n)
    found = loglinear.fit(channels, theta, pairs, n=n, start=start)
    longer = found
    for _ in range(3):
        longer = loglinear.fit(channels, theta, pairs, n=n, start=longer)
    gain = [log_likelihood(channels, theta, table) for table in (found, longer)]
    assert n * (gain[1] - gain[0]) < 0.1


def test_expected_error_of_a_table_that_says_nothing_is_large():
    design = lr.design({"a": range(3), "b": range(3)}, lam=0.001)
    counts = lr.Counts.from_array(["a", "b"], [[120, 110, 104], [112, 108, 113], [109, 115, 109]])
    for method in ("auto", "ml", "pairwise", "independence"):
        assert lr.estimate(counts, design, method=method).expected_error > 0.1


def test_expected_error_sees_what_a_model_misses():
    design = lr.design({"a": range(20), "b": range(20)}, lam=0.8)
    pi = 0.8 * np.eye(20) / 20 + 0.2 / 400
    counts = lr.Counts.from_array(["a", "b"], np.rint(10**5 * kronecker.apply(design.channels, pi)))
    found = lr.estimate(counts, design, method="independence")
    actual = 0.5 * np.abs(found.values - pi).sum()
    assert found.expected_error == pytest.approx(actual, rel=0.1)


def test_dependence_in_a_sparse_table_is_visible():
    generator, n = np.random.default_rng(3), 20_000
    a = generator.integers(0, 300, n)
    b = np.where(generator.random(n) < 0.6, a, generator.integers(0, 300, n))
    truths = np.bincount(a * 300 + b, minlength=90_000).reshape(300, 300)
    theta = choosing._randomized(truths, [lr.Channel(300, 0.5)] * 2, generator) / n
    assert loglinear.visible_pairs(theta, n=n) == [(0, 1)]


def test_pairs_that_depend_are_visible_and_others_seldom():
    """Akaike's criterion lets an independent pair through 1 time in 6 (1 degree of freedom) or less."""
    generator = np.random.default_rng(3)
    hits = misses = 0
    for _ in range(100):
        a = generator.integers(0, 3, 5_000)
        b = np.where(generator.random(5_000) < 0.5, a, generator.integers(0, 3, 5_000))
        c = generator.integers(0, 3, 5_000)
        truths = np.bincount(np.ravel_multi_index([a, b, c], (3, 3, 3)), minlength=27).reshape(3, 3, 3)
        theta = choosing._randomized(truths, [lr.Channel(3, 0.6)] * 3, generator) / 5_000
        found = loglinear.visible_pairs(theta, n=5_000)
        hits += (0, 1) in found
        misses += len(set(found) - {(0, 1)})
    assert hits == 100
    assert misses <= 40  # of 200; expected 18


def test_drawing_towards_a_table_leads_from_it_to_the_largest_likelihood():
    channels, theta, _ = simulated((3, 3), (0.5, 0.5), n=1_000, seed=2)
    target = loglinear.independent(channels, theta, n=1_000)
    fits = {
        strength: likelihood.drawn_towards(
            channels, theta, n=1_000, target=target, strength=strength, start=np.full((3, 3), 1 / 9)
        )
        for strength in (1e6, 1.0, 1e-6)
    }
    np.testing.assert_allclose(fits[1e6], target, atol=1e-3)
    largest = likelihood.maximum_likelihood(channels, theta, n=1_000, start=target)
    reached = log_likelihood(channels, theta, fits[1e-6])
    assert 1_000 * (log_likelihood(channels, theta, largest.values) - reached) < 0.5
    gains = [log_likelihood(channels, theta, fits[s]) for s in (1e6, 1.0, 1e-6)]
    assert gains == sorted(gains)


def test_simulated_reports_follow_the_channels():
    channels = [lr.Channel(3, 0.4), lr.Channel(2, 0.7)]
    truths = np.array([[500, 0], [0, 300], [200, 0]])
    generator = np.random.default_rng(1)
    mean = np.mean([choosing._randomized(truths, channels, generator) for _ in range(4_000)], axis=0)
    np.testing.assert_allclose(mean, kronecker.apply(channels, truths), atol=1.5)


@pytest.mark.parametrize("inference", ["population", "finite"])
@pytest.mark.parametrize("lam", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_choice_is_as_good_as_the_best_fixed_method(lam, inference):
    """Mean total-variation error over twelve files with some dependence: no worse than 1.1 times the best."""
    errors = {method: [] for method in ("inverse", "ml", "pairwise", "independence", "auto")}
    for seed in range(12):
        generator = np.random.default_rng(seed)
        n = 6_000
        a = generator.integers(0, 4, n)
        b = np.where(generator.random(n) < 0.5, a, generator.integers(0, 4, n))
        c = np.where(generator.random(n) < 0.3, (a + b) % 3, generator.integers(0, 3, n))
        design = lr.design({"a": range(4), "b": range(4), "c": range(3)}, lam=lam)
        truths = pa.table({"a": a, "b": b, "c": c})
        counts = lr.tally(lr.randomize(truths, design, rng=lr.SeededWords(seed)), design, design.names)
        goal = lr.tally(truths, design, design.names).values / n
        for method, found in errors.items():
            estimate = lr.estimate(counts, design, method=method, inference=inference)
            found.append(0.5 * np.abs(estimate.values - goal).sum())
    means = {method: np.mean(found) for method, found in errors.items()}
    assert means.pop("auto") <= 1.1 * min(means.values())


@pytest.mark.parametrize("method", ["auto", "ml", "pairwise", "independence"])
def test_believable_tables_are_tables_and_say_why(method):
    channels, theta, _ = simulated((3, 4, 2), (0.4, 0.5, 0.6), n=2_000, seed=7)
    design = design_of(channels)
    found = lr.estimate(lr.Counts.from_array(design.names, theta * 2_000), design, method=method)
    assert found.values.min() >= 0
    assert found.values.sum() == pytest.approx(1)
    assert 0 < found.expected_error <= 1
    assert found.reason
    inverse = lr.estimate(lr.Counts.from_array(design.names, theta * 2_000), design)
    np.testing.assert_array_equal(found.unbiased, inverse.values)
    np.testing.assert_array_equal(found.standard_errors, inverse.standard_errors)
    lower, upper = found.interval()
    assert lower.min() >= 0
    assert upper.max() <= 1


def test_choice_says_what_it_saw():
    n = 20_000
    generator = np.random.default_rng(1)
    a, c = generator.integers(0, 3, (2, n))
    truths = pa.table({"a": a, "b": np.where(generator.random(n) < 0.5, a, 0), "c": c})
    design = lr.design({"a": range(3), "b": range(3), "c": range(3)}, lam=0.6)
    reports = lr.randomize(truths, design, rng=lr.SeededWords(1))
    assert "a × b (1 of 3 pairs)" in lr.estimate(reports, design, design.names, method="auto").reason
    nothing = lr.design({"a": range(3), "c": range(3)}, lam=0.05)
    reports = lr.randomize(truths.select(["a", "c"]), nothing, rng=lr.SeededWords(1))
    assert lr.estimate(reports, nothing, ["a", "c"], method="auto").reason.startswith("independence")


def test_same_counts_give_the_same_choice():
    channels, theta, _ = simulated((3, 3), (0.5, 0.5), n=800, seed=2)
    first, second = (choosing.choose(channels, theta, n=800, finite=True) for _ in range(2))
    np.testing.assert_array_equal(first.values, second.values)


def test_weights_count_as_fewer_reports():
    design = design_of([lr.Channel(3, 0.4), lr.Channel(3, 0.4)])
    generator = np.random.default_rng(3)
    table = pa.table({"a0": generator.integers(0, 3, 900), "a1": generator.integers(0, 3, 900)})
    plain, uneven = (
        lr.estimate(table, design, design.names, method="ml", weights=w) for w in (None, generator.pareto(1.5, 900))
    )
    assert uneven.expected_error > plain.expected_error


@pytest.mark.parametrize("method", ["auto", "ml"])
def test_one_way_table_is_the_largest_likelihood(method):
    design = design_of([lr.Channel(3, 0.2)])
    found = lr.estimate(lr.Counts.from_array("a0", [500, 300, 200]), design, method=method)
    assert found.values.min() >= 0
    assert found.values[2] == pytest.approx(0, abs=1e-3)
