"""Likelihood, log-linear models and the choice between them, each against brute force on small cases."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import lambdarr as lr
from lambdarr import choosing, kronecker, likelihood, loglinear
from tests.strategies import design_of


def simulated(sizes, lams, n, seed, concentration=1.0):
    """Return channels, observed proportions and the true table of a simulated file."""
    generator = np.random.default_rng(seed)
    channels = [lr.Channel(size, lam) for size, lam in zip(sizes, lams, strict=True)]
    pi = generator.dirichlet(np.full(np.prod(sizes), concentration)).reshape(sizes)
    truths = generator.multinomial(n, pi.ravel()).reshape(sizes)
    return channels, choosing.randomized(truths, channels, generator) / n, truths / n


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
    found = loglinear.fit(channels, theta, margins, n=2_000)
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
    found = loglinear.fit(channels, theta, pairs, n=n)
    reached = log_likelihood(channels, theta, found)
    columns = [np.ones(theta.size)]
    codes = np.indices(sizes).reshape(len(sizes), -1)
    for i, j in pairs:
        for cell in itertools.product(range(sizes[i]), range(sizes[j])):
            columns.append((codes[i] == cell[0]) & (codes[j] == cell[1]))
    X = np.array(columns, dtype=float).T
    P = kronecker.dense(channels)

    def loss(beta):
        pi = np.exp(X @ beta - (X @ beta).max())
        pi /= pi.sum()
        score = pi * (P @ (theta.ravel() / (P @ pi)))
        return -n * log_likelihood(channels, theta, pi), -n * (X.T @ score - X.T @ pi * score.sum())

    start = np.linalg.lstsq(X, np.log(np.maximum(found, 1e-12)).ravel(), rcond=None)[0]
    better = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 3_000})
    assert -better.fun - n * reached < 0.1


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
    theta = choosing.randomized(truths, [lr.Channel(300, 0.5)] * 2, generator) / n
    assert choosing.Dependence.of(theta, n=n).beyond_chance > 0


def test_pairs_that_depend_are_visible_and_others_seldom():
    """An independent pair passes once in a hundred times: 2 of 200 expected, 8 or more one time in 1,000."""
    generator = np.random.default_rng(3)
    hits = misses = 0
    for _ in range(100):
        a = generator.integers(0, 3, 5_000)
        b = np.where(generator.random(5_000) < 0.5, a, generator.integers(0, 3, 5_000))
        c = generator.integers(0, 3, 5_000)
        truths = np.bincount(np.ravel_multi_index([a, b, c], (3, 3, 3)), minlength=27).reshape(3, 3, 3)
        channels = [lr.Channel(3, 0.6)] * 3
        _, found = choosing.model_of_pairs(channels, choosing.randomized(truths, channels, generator) / 5_000, n=5_000)
        hits += (0, 1) in found
        misses += len(set(found) - {(0, 1)})
    assert hits == 100
    assert misses < 8


@pytest.mark.parametrize("freedom", [1, 4, 30, 400])
def test_dependence_begins_at_the_one_percent_point(freedom):
    point = stats.chi2.isf(0.01, freedom)
    assert choosing.Dependence(0.99 * point, freedom).beyond_chance == 0
    assert choosing.Dependence(1.01 * point, freedom).beyond_chance > 0
    assert choosing.Dependence(1e9, freedom).beyond_chance == pytest.approx(1, abs=1e-5)
    assert 0 < choosing.Dependence(freedom, freedom).at_most <= 1
    assert choosing.Dependence(0.0, freedom).at_most == 1


def test_scaling_keeps_the_margins_and_the_interactions():
    generator = np.random.default_rng(5)
    goal, start = generator.dirichlet(np.ones(24), 2).reshape(2, 2, 3, 4)
    margins = [loglinear.margin_of(goal, axes) for axes in ((0, 1), (1, 2))]
    found = loglinear.scaled_to(margins, start)
    for axes, wanted in zip(((0, 1), (1, 2)), margins, strict=True):
        np.testing.assert_allclose(loglinear.margin_of(found, axes), wanted, atol=1e-5)
    # what no margin speaks of stays: the three-way interaction, as a ratio of odds ratios
    ratio = np.log(found / start)
    three_way = ratio[0, 0, 0] - ratio[0, 0, 1] - ratio[0, 1, 0] + ratio[0, 1, 1]
    other = ratio[1, 0, 0] - ratio[1, 0, 1] - ratio[1, 1, 0] + ratio[1, 1, 1]
    assert three_way == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize("axes", [(0,), (1, 3), (0, 2), (0, 1, 2, 3), (3,)])
def test_margins_are_sums_over_the_other_axes(axes):
    table = np.random.default_rng(1).random((2, 3, 2, 4))
    others = tuple(axis for axis in range(4) if axis not in axes)
    np.testing.assert_allclose(loglinear.margin_of(table, axes), table.sum(axis=others, keepdims=True))


def test_table_ascribed_to_the_records_is_the_expectation_by_enumeration():
    channels, theta, _ = simulated((2, 3), (0.6, 0.4), n=50, seed=8)
    pi = np.random.default_rng(2).dirichlet(np.ones(6)).reshape(2, 3)
    P = kronecker.dense(channels)
    expected = np.zeros(6)
    for y in range(6):  # a report of y came from x with probability π(x) P(y, x)/Σ
        chances = pi.ravel() * P[y]
        expected += theta.ravel()[y] * chances / chances.sum()
    np.testing.assert_allclose(choosing.ascribed(channels, theta, pi).ravel(), expected)


@pytest.mark.parametrize("inference", ["population", "finite"])
def test_without_randomization_the_choice_is_the_table_itself(inference):
    design = lr.design({"a": range(4), "b": range(5), "c": range(3)}, lam=1)
    counts = np.random.default_rng(4).integers(0, 4, (4, 5, 3))
    found = lr.estimate(lr.Counts.from_array(design.names, counts), design, inference=inference)
    np.testing.assert_allclose(found.values, counts / counts.sum(), atol=1e-12)


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
    mean = np.mean([choosing.randomized(truths, channels, generator) for _ in range(4_000)], axis=0)
    np.testing.assert_allclose(mean, kronecker.apply(channels, truths), atol=1.5)


@pytest.mark.parametrize("lam", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_choice_is_as_good_as_the_best_fixed_method(lam):
    """Mean total-variation error over twelve files with some dependence: no worse than 1.05 times the best."""
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
            estimate = lr.estimate(counts, design, method=method)
            found.append(0.5 * np.abs(estimate.values - goal).sum())
    means = {method: np.mean(found) for method, found in errors.items()}
    assert means.pop("auto") <= 1.05 * min(means.values())


@pytest.mark.parametrize(
    "method", ["auto", "ml", "pairwise", "triples", "independence", [("a0", "a1")], [("a2", "a0", "a1")], []]
)
def test_believable_tables_are_tables_and_say_why(method):
    channels, theta, _ = simulated((3, 4, 2), (0.4, 0.5, 0.6), n=2_000, seed=7)
    design = design_of(channels)
    found = lr.estimate(lr.Counts.from_array(design.names, theta * 2_000), design, method=method)
    assert found.values.min() >= 0
    assert found.values.sum() == pytest.approx(1)
    assert 0 < found.expected_error <= 1
    assert found.reason
    inverse = lr.estimate(lr.Counts.from_array(design.names, theta * 2_000), design, method="inverse")
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
    first, second = (choosing.choose(channels, theta, n=800) for _ in range(2))
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


def test_interactions_are_named_by_attributes():
    channels, theta, _ = simulated((3, 4, 2), (0.6, 0.7, 0.6), n=2_000, seed=7)
    design = design_of(channels)
    counts = lr.Counts.from_array(design.names, theta * 2_000)
    found = lr.estimate(counts, design, method=[("a2", "a0"), ("a1",)])
    np.testing.assert_allclose(found.values, loglinear.fit(channels, theta, [(0, 2), (1,)], n=2_000), atol=1e-12)
    assert "a0 × a2" in found.reason
    assert found.marginal(["a0", "a2"]).method == (("a0", "a2"),)
    nothing = lr.estimate(counts, design, method=[])
    np.testing.assert_allclose(nothing.values, loglinear.independent(channels, theta, n=2_000))
    for wrong in ([("a0", "x")], ["a0"], [()], 3):
        with pytest.raises(lr.DataError, match="interaction"):
            lr.estimate(counts, design, method=wrong)


def test_expected_error_is_about_the_error():
    """Over 60 simulated files, the mean expected error is within a factor of 1.5 of the mean actual one."""
    for lam, n in ((0.3, 20_000), (0.5, 3_000), (0.9, 3_000)):
        expected, actual = [], []
        for seed in range(20):
            channels, theta, truth = simulated((3, 4, 3), (lam,) * 3, n, seed, concentration=0.7)
            design = design_of(channels)
            found = lr.estimate(lr.Counts.from_array(design.names, theta * n), design, inference="finite")
            expected.append(found.expected_error)
            actual.append(0.5 * np.abs(found.values - truth).sum())
        assert 1 / 1.5 < np.mean(expected) / np.mean(actual) < 1.5


def test_tables_too_large_to_fit_are_refused_at_once():
    design = lr.design({name: range(50) for name in "abcd"}, lam=0.5)
    counts = lr.Counts.from_array(design.names, np.ones((50,) * 4))
    with pytest.raises(lr.DataError, match="or take the table from"):
        lr.estimate(counts, design)


def test_interaction_that_no_pair_shows_is_found_with_enough_reports():
    generator = np.random.default_rng(0)
    a, b = generator.integers(0, 2, (2, 50_000))
    c = a ^ b ^ (generator.random(50_000) < 0.02)
    truths = np.bincount(4 * a + 2 * b + c, minlength=8).reshape(2, 2, 2)
    design = design_of([lr.Channel(2, 0.5)] * 3)
    counts = lr.Counts.from_array(design.names, choosing.randomized(truths, design.channels, generator))
    error = {m: np.abs(lr.estimate(counts, design, method=m).values - truths / 50_000).sum() for m in ("auto", "ml")}
    assert error["auto"] < 2 * error["ml"]


def test_marginal_of_a_model_keeps_what_goes_through_others():
    """a and c depend through b alone: summed over b they still do."""
    generator = np.random.default_rng(1)
    b = generator.integers(0, 2, 20_000)
    a, c = (np.where(generator.random(20_000) < 0.95, b, 1 - b) for _ in range(2))
    design = lr.design({"a": range(2), "b": range(2), "c": range(2)}, lam=0.8)
    reports = lr.randomize(pa.table({"a": a, "b": b, "c": c}), design, rng=lr.SeededWords(1))
    found = lr.estimate(reports, design, design.names, method=[("a", "b"), ("b", "c")])
    np.testing.assert_allclose(found.marginal(["a", "c"]).values, found.values.sum(axis=1), atol=0.02)


def test_expected_error_at_the_edge_of_the_possible_is_not_small():
    design = lr.design({"a": ["no", "yes"]}, lam=0.1)
    found = lr.estimate(lr.Counts.from_array("a", [65, 35]), design)
    assert found.values[1] < 0.01
    assert found.expected_error > 0.1
    lower, upper = found.interval()
    assert (upper - lower).min() > 0.2


def test_reason_says_when_nothing_was_looked_for(monkeypatch):
    monkeypatch.setattr(choosing, "MOST_FOLDED", 5)
    design = lr.design({"a": range(3), "b": range(3)}, lam=0.5)
    found = lr.estimate(lr.Counts.from_array(["a", "b"], 50 * np.eye(3) + 20), design)
    assert "nothing beyond it was looked for" in found.reason
