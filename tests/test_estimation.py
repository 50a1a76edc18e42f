import functools
import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import lambdarr as lr
from lambdarr import kronecker
from lambdarr.likelihood import project_to_simplex
from lambdarr.sampling import SeededWords, randomize_codes
from tests.statistics import assert_plausible, binomial
from tests.strategies import design_of, products

inverse_of = functools.partial(lr.estimate, method="inverse")


@st.composite
def counted(draw):
    channels = [lr.Channel(c.size, max(c.lam, 0.2)) for c in draw(products)]
    shape = [channel.size for channel in channels]
    counts = np.random.default_rng(draw(st.integers(0, 10**6))).integers(0, 50, shape)
    counts.flat[0] += 1
    return design_of(channels), lr.Counts.from_array([f"a{j}" for j in range(len(shape))], counts)


@given(counted())
def test_values_agree_with_the_dense_inverse(case):
    design, counts = case
    expected = np.linalg.inv(kronecker.dense(design.channels)) @ counts.values.ravel() / counts.total
    np.testing.assert_allclose(inverse_of(counts, design).values.ravel(), expected, atol=1e-12)


@pytest.mark.parametrize("inference", ["population", "finite"])
@given(case=counted())
def test_covariance_agrees_with_the_formula_over_dense_matrices(case, inference):
    design, counts = case
    A = np.linalg.inv(kronecker.dense(design.channels))
    theta = counts.values.ravel() / counts.total
    pi = A @ theta
    outer = np.outer(pi, pi) if inference == "population" else np.diag(pi)
    expected = (A @ np.diag(theta) @ A.T - outer) / counts.n
    found = inverse_of(counts, design, inference=inference)
    np.testing.assert_allclose(found.covariance(), expected, atol=1e-9)
    variances = np.diag(expected)
    usual = variances > 1e-9  # an error of zero or less is replaced by one that can be
    np.testing.assert_allclose(found.standard_errors.ravel()[usual] ** 2, variances[usual], atol=1e-9)
    assert (found.standard_errors >= 0).all()


def test_variances_agree_with_enumeration_of_every_outcome():
    """Three people, every truth and every report written out: the estimator's true mean and variance."""
    channels = (lr.Channel(2, 0.6), lr.Channel(2, 0.3))
    design, cells = design_of(channels), 4
    P, truths = kronecker.dense(channels), (0, 0, 3)
    mean, square, expected_variance = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    for reports in itertools.product(range(cells), repeat=3):
        probability = np.prod([P[x, y] for x, y in zip(truths, reports, strict=True)])
        counts = np.bincount(reports, minlength=cells).reshape(2, 2)
        found = inverse_of(lr.Counts.from_array(design.names, counts), design, inference="finite")
        mean += probability * found.values.ravel()
        square += probability * found.values.ravel() ** 2
        expected_variance += probability * np.diag(found.covariance())
    np.testing.assert_allclose(mean, [2 / 3, 0, 0, 1 / 3], atol=1e-9)
    np.testing.assert_allclose(expected_variance, square - mean**2, atol=1e-9)


def _repetitions(design, pi, n, repetitions, inference, seed):
    """Yield the estimated joint and its target, over repetitions of sampling (population) and randomizing."""
    generator, rng = np.random.default_rng(seed), SeededWords(seed)
    shape = pi.shape
    fixed = generator.choice(pi.size, size=n, p=pi.ravel())
    for _ in range(repetitions):
        flat = fixed if inference == "finite" else generator.choice(pi.size, size=n, p=pi.ravel())
        target = pi if inference == "population" else np.bincount(fixed, minlength=pi.size).reshape(shape) / n
        truths = np.unravel_index(flat, shape)
        reports = [randomize_codes(x.astype(np.uint8), c, rng) for x, c in zip(truths, design.channels, strict=True)]
        counts = np.bincount(np.ravel_multi_index(reports, shape), minlength=pi.size).reshape(shape)
        yield inverse_of(lr.Counts.from_array(design.names, counts), design, inference=inference), target


@pytest.mark.parametrize("inference", ["population", "finite"])
def test_intervals_cover_the_truth_as_often_as_they_say(inference):
    """2,000 repetitions: 95 % intervals of one-, two- and three-way tables cover between 94 % and 96 %."""
    design = design_of([lr.Channel(4, 0.7), lr.Channel(3, 0.6), lr.Channel(2, 0.5)])
    pi = np.random.default_rng(12).dirichlet(np.ones(24) * 2).reshape(4, 3, 2)
    covered = {names: [] for names in (("a0",), ("a1", "a2"), ("a0", "a1", "a2"))}
    values, errors = [], []
    for found, target in _repetitions(design, pi, 4_000, 2_000, inference, seed=6):
        values.append(found.values - target)
        errors.append(found.standard_errors)
        for names, hits in covered.items():
            part = found.marginal(names)
            axes = tuple(axis for axis, name in enumerate(design.names) if name not in names)
            lower, upper = part.interval(0.95)
            hits.append((lower <= target.sum(axis=axes)) & (target.sum(axis=axes) <= upper))
    for hits in covered.values():
        assert 0.94 <= np.mean(hits) <= 0.96
        assert_plausible(binomial(np.sum(hits, axis=0).ravel(), 2_000, 0.95) * 10)  # no cell far off either
    values = np.array(values)
    bias = values.mean(axis=0) / (values.std(axis=0) / np.sqrt(2_000))
    assert np.abs(bias).max() < 5.5  # 24 cells: chance of a false alarm about 1e-6
    np.testing.assert_allclose(np.mean(errors, axis=0), values.std(axis=0), rtol=0.1)


def test_weighted_estimate_agrees_with_repeating_records():
    design = design_of([lr.Channel(3, 0.5), lr.Channel(2, 0.7)])
    generator = np.random.default_rng(5)
    table = pa.table({"a0": generator.integers(0, 3, 400), "a1": generator.integers(0, 2, 400)})
    weights = generator.integers(1, 4, 400)
    repeated = table.take(np.repeat(np.arange(400), weights))
    found = inverse_of(table, design, ["a0", "a1"], weights=weights)
    np.testing.assert_allclose(found.values, inverse_of(repeated, design, ["a0", "a1"]).values)


@pytest.mark.parametrize("inference", ["population", "finite"])
def test_weighted_errors_agree_with_the_residuals_written_out(inference):
    design = design_of([lr.Channel(3, 0.5), lr.Channel(2, 0.7)])
    generator = np.random.default_rng(5)
    a0, a1 = generator.integers(0, 3, 400), generator.integers(0, 2, 400)
    weights = generator.uniform(0.2, 3, 400)
    A = kronecker.dense_inverse(design.channels)
    scores = A[:, a0 * 2 + a1]  # one unbiased column of indicators per record
    pi = scores @ weights / weights.sum()
    if inference == "population":
        expected = (weights**2 * (scores - pi[:, None]) ** 2).sum(axis=1) / weights.sum() ** 2
    else:
        expected = (weights**2 * (scores**2 - scores)).sum(axis=1) / weights.sum() ** 2
    found = inverse_of(
        pa.table({"a0": a0, "a1": a1, "w": weights}), design, ["a0", "a1"], weights="w", inference=inference
    )
    np.testing.assert_allclose(found.values.ravel(), pi)
    np.testing.assert_allclose(found.standard_errors.ravel() ** 2, expected, rtol=1e-9)
    np.testing.assert_allclose(np.diag(found.covariance()), expected, rtol=1e-9)


@pytest.mark.parametrize("weights", [None, np.random.default_rng(1).uniform(0.1, 2, 400)], ids=["plain", "weighted"])
@pytest.mark.parametrize("inference", ["population", "finite"])
def test_covariance_can_be_applied_without_being_formed(inference, weights):
    design = design_of([lr.Channel(3, 0.5), lr.Channel(2, 0.7)])
    generator = np.random.default_rng(5)
    table = pa.table({"a0": generator.integers(0, 3, 400), "a1": generator.integers(0, 2, 400)})
    found = inverse_of(table, design, ["a0", "a1"], weights=weights, inference=inference)
    vector = generator.normal(size=(3, 2))
    np.testing.assert_allclose(
        found.covariance_times(vector).ravel(), found.covariance() @ vector.ravel(), rtol=1e-9, atol=1e-12
    )


def test_simultaneous_intervals_hold_together():
    """1,000 repetitions: all twelve 95 % intervals hold at once in at least 94 %, one by one far less often."""
    design = design_of([lr.Channel(4, 0.7), lr.Channel(3, 0.6)])
    pi = np.random.default_rng(12).dirichlet(np.ones(12) * 2).reshape(4, 3)
    together = alone = 0
    for found, target in _repetitions(design, pi, 4_000, 1_000, "population", seed=6):
        for simultaneous in (True, False):
            lower, upper = found.interval(0.95, simultaneous=simultaneous)
            hold = bool(((lower <= target) & (target <= upper)).all())
            together, alone = together + (hold and simultaneous), alone + (hold and not simultaneous)
    assert together >= 940
    assert alone < 800


def test_equal_weights_change_nothing():
    design = design_of([lr.Channel(3, 0.5)])
    table = pa.table({"a0": [0, 1, 1, 2, 0]})
    plain, weighted = (inverse_of(table, design, ["a0"], weights=w) for w in (None, [2.5] * 5))
    np.testing.assert_allclose(plain.values, weighted.values)
    np.testing.assert_allclose(plain.standard_errors, weighted.standard_errors)


@given(counted())
def test_marginal_is_the_sum_of_the_joint_and_the_estimate_of_its_own_counts(case):
    design, counts = case
    joint = inverse_of(counts, design)
    for k in range(1, len(design.names) + 1):
        for names in itertools.permutations(design.names, k):
            part = joint.marginal(names)
            own = inverse_of(counts, design, names)
            axes = tuple(axis for axis, name in enumerate(design.names) if name not in names)
            order = np.argsort(np.argsort([design.names.index(name) for name in names]))
            np.testing.assert_allclose(part.values, joint.values.sum(axis=axes).transpose(order), atol=1e-9)
            np.testing.assert_allclose(part.standard_errors, own.standard_errors)


@settings(max_examples=30)
@given(st.lists(st.floats(-1, 2), min_size=2, max_size=5))
def test_simplex_projection_agrees_with_an_optimizer(values):
    values = np.array(values)
    found = project_to_simplex(values)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    best = optimize.minimize(
        lambda p: ((p - values) ** 2).sum(),
        np.full(len(values), 1 / len(values)),
        jac=lambda p: 2 * (p - values),
        bounds=[(0, 1)] * len(values),
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(found, best.x, atol=1e-5)


def test_simplex_keeps_the_unbiased_values_and_intervals_beside_it():
    design = design_of([lr.Channel(2, 0.2)])
    raw = inverse_of(lr.Counts.from_array(["a0"], [95, 5]), design)
    assert raw.values.min() < 0
    moved = raw.to_simplex()
    assert moved.method == "simplex"
    assert moved.values.tolist() == [1, 0]
    assert moved.unbiased is raw.unbiased
    lower, upper = moved.interval()
    assert lower.min() >= 0
    assert upper.max() <= 1


def test_full_keep_rate_gives_the_reported_proportions_and_no_finite_error():
    design = design_of([lr.Channel(3, 1.0)])
    found = inverse_of(lr.Counts.from_array(["a0"], [5, 3, 2]), design, inference="finite")
    assert found.values.tolist() == [0.5, 0.3, 0.2]
    assert found.standard_errors.tolist() == [0, 0, 0]


def test_negative_variance_of_a_thin_cell_is_replaced_by_one_that_can_be():
    design = design_of([lr.Channel(3, 0.7), lr.Channel(3, 0.7)])
    counts = lr.Counts.from_array(design.names, [[0, 0, 0], [0, 50, 50], [0, 50, 50]])
    found = inverse_of(counts, design, inference="finite")
    assert np.diag(found.covariance()).min() < 0  # the unbiased estimate of a variance may be
    assert found.standard_errors.min() > 0


def test_cell_without_reports_still_has_an_error():
    found = inverse_of(lr.Counts.from_array(["a0"], [0, 10, 20, 30, 40]), design_of([lr.Channel(5, 0.5)]))
    assert found.standard_errors[0] == pytest.approx(np.sqrt(0.1 * 0.9 / 100) / 0.5, rel=0.05)  # θ = (1 − λ)/r


def test_expected_error_is_that_of_a_simulation():
    design = design_of([lr.Channel(4, 0.5), lr.Channel(3, 0.5)])
    pi = np.full((4, 3), 1 / 12)
    pairs = list(_repetitions(design, pi, 2_000, 300, "population", seed=2))
    actual = np.mean([0.5 * np.abs(found.values - target).sum() for found, target in pairs])
    assert pairs[0][0].expected_error == pytest.approx(actual, rel=0.05)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frame_has_a_row_per_cell_in_the_library_asked_for(library):
    design = lr.design({"sex": ["F", "M"], "old": [True, False]}, lam=0.5)
    found = inverse_of(lr.Counts.from_array(["sex", "old"], [[4, 3], [2, 1]]), design)
    frame = found.to_frame(library=library)
    assert type(frame).__module__.startswith(library)
    names = ["sex", "old", "estimate", "unbiased", "standard_error", "lower", "upper", "count"]
    assert list(frame.columns if library != "pyarrow" else frame.column_names) == names
    assert list(frame["count"].to_numpy()) == [4, 3, 2, 1]


def test_frame_comes_back_in_the_library_of_the_reports():
    import polars

    design = lr.design({"sex": ["F", "M"]}, lam=0.5)
    assert isinstance(inverse_of(polars.DataFrame({"sex": ["F", "M"]}), design, ["sex"]).to_frame(), polars.DataFrame)


def test_frame_of_an_attribute_called_estimate_keeps_both_columns():
    design = lr.design({"estimate": ["a", "b"]}, lam=0.5)
    frame = inverse_of(lr.Counts.from_array(["estimate"], [4, 3]), design).to_frame()
    assert frame.column_names[:2] == ["estimate", "estimate_"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"method": "magic"}, "method must be"),
        ({"inference": "magic"}, "inference must be"),
        ({"weights": [1.0]}, "counts have theirs"),
        ({"attributes": ["nobody"]}, "not in these counts"),
        ({"attributes": []}, "at least one"),
        ({"attributes": ["a0", "a0"]}, "each of them once"),
    ],
)
def test_impossible_question_is_refused(arguments, says):
    design = design_of([lr.Channel(2, 0.5)])
    with pytest.raises(lr.DataError, match=says):
        inverse_of(lr.Counts.from_array(["a0"], [1, 2]), design, **arguments)


def test_labelled_counts_are_not_taken_in_an_order_of_their_own():
    import pandas

    with pytest.raises(lr.DataError, match="order of the categories"):
        lr.Counts.from_array("a0", pandas.Series(["b", "b", "a"]).value_counts())


def test_reports_of_another_design_are_noticed():
    design = design_of([lr.Channel(3, 0.2)])
    assert inverse_of(lr.Counts.from_array("a0", [9_000, 500, 500]), design).is_implausible
    assert not inverse_of(lr.Counts.from_array("a0", [4_000, 3_100, 2_900]), design).is_implausible


def test_rare_cells_are_not_taken_for_reports_of_another_design():
    """With λ near 1 a cell without reports shows next to no spread, so its own standard error alarmed wrongly.

    500 files of 1,800 reports, seed 5; by the normal tail of six standard errors, one alarm in 10⁷ such runs.
    """
    design = design_of([lr.Channel(15, 0.78), lr.Channel(2, 0.96)])
    truths = np.outer(0.7 ** np.arange(15), [0.97, 0.03])
    shares = kronecker.apply(design.channels, truths / truths.sum())
    generator = np.random.default_rng(5)
    for _ in range(500):
        counts = generator.multinomial(1_800, shares.ravel()).reshape(shares.shape)
        assert not inverse_of(lr.Counts.from_array(["a0", "a1"], counts), design).is_implausible


@pytest.mark.parametrize("verb", [lr.randomize, lambda t, d: inverse_of(t, d, ["a"]), lambda t, d: lr.audit(d)])
def test_path_of_a_design_is_not_a_design(verb):
    with pytest.raises(lr.DesignError, match=r"Design\.load"):
        verb(pa.table({"a": ["x"]}), "design.json")


@pytest.mark.parametrize("counts", [[1, 2, 3], [0, 0], [1, -1], [1, np.nan]])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(lr.DataError):
        inverse_of(lr.Counts.from_array(["a0"], counts), design_of([lr.Channel(2, 0.5)]))


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, np.nan])
def test_level_must_be_a_probability(level):
    found = inverse_of(lr.Counts.from_array(["a0"], [1, 2]), design_of([lr.Channel(2, 0.5)]))
    with pytest.raises(lr.DataError, match="level"):
        found.interval(level)
