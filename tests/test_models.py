"""Models of many attributes: against enumeration on small ones, and against the truth on large ones."""

import itertools

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import lambdarr as lr
from lambdarr import models


def chain(attributes, size, n, seed, keep=0.5):
    """Return a file in which every attribute copies the one before it half of the time."""
    generator = np.random.default_rng(seed)
    columns = [generator.integers(0, size, n)]
    for _ in range(attributes - 1):
        columns.append(np.where(generator.random(n) < keep, columns[-1], generator.integers(0, size, n)))
    return pa.table({f"a{place}": column for place, column in enumerate(columns)})


def fitted(truths, lam, size, seed=0, **options):
    design = lr.design({name: range(size) for name in truths.column_names}, lam=lam)
    return lr.model(lr.randomize(truths, design, rng=lr.SeededWords(seed)), design, **options)


def joint_of(model):
    """Return the joint distribution by enumeration of every record."""
    sizes = [attribute.size for attribute in model.design.attributes]
    joint = np.zeros(sizes)
    for record in itertools.product(*map(range, sizes)):
        joint[record] = np.prod(
            [
                factor.values[(*(record[p] for p in factor.parents), record[factor.attribute])]
                for factor in model.factors
            ]
        )
    return joint


MODEL = fitted(chain(5, 3, 20_000, 1), 0.7, 3)


def test_tables_are_sums_over_the_joint():
    joint = joint_of(MODEL)
    assert joint.sum() == pytest.approx(1)
    for names in (["a0"], ["a3", "a1"], ["a4", "a0", "a2"], list(MODEL.design.names)):
        axes = [MODEL.design.names.index(name) for name in names]
        np.testing.assert_allclose(MODEL.table(names), np.einsum(joint, range(5), axes), atol=1e-12)


def test_probabilities_are_sums_over_the_joint():
    joint = joint_of(MODEL)
    found = MODEL.probability({"a0": [0, 2], "a3": slice(1, 2)}, given={"a1": 1})
    assert found == pytest.approx(joint[[0, 2], 1, :, 1:].sum() / joint[:, 1].sum())
    assert MODEL.probability({"a2": {1: 1.0, 2: 2.0}}) == pytest.approx(MODEL.table(["a2"]) @ [0, 1, 2])
    assert MODEL.probability({}) == pytest.approx(1)


def test_synthetic_records_follow_the_model():
    """χ² over the joint's 243 cells; a false alarm once in 1,000 seeds."""
    from scipy import stats

    records = MODEL.synthesize(100_000, seed=3)
    counts = lr.tally(records, MODEL.design, MODEL.design.names).values
    expected = 100_000 * joint_of(MODEL)
    possible = expected > 0
    assert not counts[~possible].any()
    statistic = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    assert stats.chi2.sf(statistic, possible.sum() - 1) > 1e-3


def test_synthetic_records_are_the_same_again_with_a_seed():
    first, second, other = (MODEL.synthesize(50, seed=seed) for seed in (1, 1, 2))
    assert first.equals(second)
    assert not first.equals(other)
    assert MODEL.synthesize().num_rows == 20_000


def test_model_of_two_attributes_is_the_estimate():
    truths = chain(2, 4, 5_000, 2)
    design = lr.design({"a0": range(4), "a1": range(4)}, lam=0.6)
    reports = lr.randomize(truths, design, rng=lr.SeededWords(1))
    found = lr.model(reports, design).table(["a0", "a1"])
    # the folds are drawn in another order of the axes, hence not exactly
    np.testing.assert_allclose(found, lr.estimate(reports, design, ["a0", "a1"]).values, atol=1e-3)


def test_pairs_that_others_explain_need_no_edge():
    """In a chain all pairs depend, but only neighbours have to be in the model."""
    model = fitted(chain(6, 3, 50_000, 4, keep=0.7), 0.8, 3)
    neighbours = {(f"a{place}", f"a{place + 1}") for place in range(5)}
    assert neighbours <= set(model.pairs)
    assert len(model.pairs) <= 7


@pytest.mark.parametrize(("attributes", "size"), [(20, 4), (12, 2)])
def test_large_joint_is_close_to_the_truth(attributes, size):
    truths = chain(attributes, size, 60_000, 5)
    model = fitted(truths, 0.6, size)
    for names in (["a0", "a1", "a2"], ["a3", "a7", "a11"]):
        goal = lr.tally(truths, model.design, names).values / 60_000
        assert 0.5 * np.abs(model.table(names) - goal).sum() < 0.05
    assert model.probability({"a0": 1}, given={"a1": 1}) == pytest.approx(0.5 + 0.5 / size, abs=0.03)


def test_pairs_that_make_tables_too_large_are_left_out_and_said_so(monkeypatch):
    generator = np.random.default_rng(1)
    shared = generator.integers(0, 4, 20_000)
    truths = pa.table(
        {f"a{i}": np.where(generator.random(20_000) < 0.7, shared, generator.integers(0, 4, 20_000)) for i in range(5)}
    )
    assert not fitted(truths, 0.9, 4).left_out
    monkeypatch.setattr(models, "MOST_CELLS", 64)
    small = fitted(truths, 0.9, 4)
    assert small.left_out
    assert max(factor.values.size for factor in small.factors) <= 64


def test_weights_count():
    truths = chain(3, 2, 4_000, 3)
    design = lr.design({name: range(2) for name in truths.column_names}, lam=0.9)
    weights = np.where(truths["a0"].to_numpy() == 1, 3.0, 1.0)
    found = lr.model(truths.append_column("w", pa.array(weights)), design, weights="w").table(["a0"])
    shares = np.bincount(truths["a0"].to_numpy(), weights) / weights.sum()
    np.testing.assert_allclose(found, (shares - 0.05) / 0.9, atol=1e-3)


def test_simulated_error_is_about_the_error():
    """The spread of a probability over 30 randomizations of one population, against what one model expects."""
    errors = []
    for seed in range(30):
        model = fitted(chain(4, 3, 4_000, 100 + seed), 0.6, 3, seed=seed)
        errors.append(model.probability({"a0": 1, "a1": 1}) - (1 / 9 + 0.5 * 2 / 9))
    expected = model.simulated_error(lambda m: m.probability({"a0": 1, "a1": 1}), repetitions=30)
    actual = np.sqrt(np.mean(np.square(errors)))
    assert 0.6 < expected / actual < 1.6  # each has a relative standard error of 13 %
    assert model.simulated_error(lambda m: m.table(["a0", "a1"]), repetitions=2).shape == (3, 3)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m: m.table([]), "at least one of"),
        (lambda m: m.table(["a0", "a0"]), "'a0' stands twice"),
        (lambda m: m.table(["x"]), "'x' is not in the design"),
        (lambda m: m.probability({"a0": 9}), "9 is no category of 'a0'"),
        (lambda m: m.synthesize(0), "from 1 to 1,000,000,000, got 0"),
        (lambda m: m.synthesize(library="R"), "library must be"),
    ],
)
def test_wrong_questions(ask, message):
    with pytest.raises(lr.LambdarrError, match=message):
        ask(MODEL)


def test_frames_of_every_library():
    assert isinstance(MODEL.synthesize(5, library="pandas"), pandas.DataFrame)
    assert isinstance(MODEL.to_frame(["a0", "a1"], library="polars"), polars.DataFrame)
    assert MODEL.to_frame(["a0", "a1"]).column_names == ["a0", "a1", "estimate"]


@pytest.mark.parametrize("name", ["made.csv", "made.parquet"])
def test_missing_answers_are_written_as_the_design_says(tmp_path, name):
    design = lr.design([lr.Attribute("q", ["no", "yes"], missing="NA"), lr.Attribute("n", [1, 2])], lam=0.9)
    reports = [{"q": None, "n": 1}, {"q": "yes", "n": 2}] * 100
    assert lr.model(reports, design).synthesize_file(tmp_path / name, 300, seed=1) == 300
    counts = lr.tally(tmp_path / name, design, ["q"]).values
    assert counts.sum() == 300
    assert counts[2] > 100


@pytest.mark.parametrize("lam", [0.8, 1])
def test_independent_attributes_stay_so_where_a_third_depends_on_both(lam):
    generator = np.random.default_rng(1)
    sex, age = generator.integers(0, 2, 30_000), generator.choice(3, 30_000, p=[0.3, 0.4, 0.3])
    works = generator.random(30_000) < np.array([[0.3, 0.9, 0.6], [0.2, 0.5, 0.1]])[sex, age]
    design = lr.design({"sex": range(2), "age": range(3), "works": [False, True]}, lam=lam)
    truths = pa.table({"sex": sex, "age": age, "works": works})
    model = lr.model(lr.randomize(truths, design, rng=lr.SeededWords(5)), design)
    expected = np.mean(age[sex == 0] == 1)
    assert model.probability({"age": 1}, given={"sex": 0}) == pytest.approx(expected, abs=0.02)


def test_simulated_error_counts_weights():
    design = lr.design({"a": range(2), "b": range(2)}, lam=0.8)
    generator = np.random.default_rng(2)
    reports = pa.table({"a": generator.integers(0, 2, 3_000), "b": generator.integers(0, 2, 3_000)})
    weights = np.where(generator.random(3_000) < 0.02, 100.0, 1.0)
    plain, uneven = (
        lr.model(reports, design, weights=w).simulated_error(lambda m: m.probability({"a": 1}), repetitions=20)
        for w in (None, weights)
    )
    assert uneven > 2 * plain


def test_all_weights_zero_is_an_error():
    design = lr.design({"a": range(2), "b": range(2)}, lam=0.8)
    with pytest.raises(lr.DataError, match="must not all be zero"):
        lr.model([{"a": 0, "b": 1}] * 3, design, weights=[0, 0, 0])
