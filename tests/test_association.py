"""Association: against the truth by formula, against what intervals cover, and the test's level and power."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import lambdarr as lr
from lambdarr import association, choosing
from tests.strategies import design_of

TABLE = np.array([[0.20, 0.05, 0.05], [0.10, 0.20, 0.05], [0.02, 0.08, 0.25]])


def measures(table):
    """Return the true measures of a two-way table of scores 0, 1, 2 …"""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    x, y = (
        np.arange(len(rows)) - rows @ np.arange(len(rows)),
        np.arange(len(columns)) - columns @ np.arange(len(columns)),
    )
    covariance = x @ table @ y
    expected = np.outer(rows, columns)
    seen = table > 0
    return {
        "covariance": covariance,
        "correlation": covariance / math.sqrt((rows @ x**2) * (columns @ y**2)),
        "cramers_v": math.sqrt(((table - expected) ** 2 / expected).sum() / (min(table.shape) - 1)),
        "mutual_information": (table[seen] * np.log2(table[seen] / expected[seen])).sum(),
    }


def reports_of(table, lam, n, generator, *, truths=None):
    channels = [lr.Channel(size, lam) for size in table.shape]
    if truths is None:
        truths = generator.multinomial(n, table.ravel()).reshape(table.shape)
    counts = choosing.randomized(truths, channels, generator)
    codes = np.repeat(np.arange(table.size), counts.ravel())
    columns = np.unravel_index(codes, table.shape)
    return pa.table({"a0": columns[0], "a1": columns[1]}), design_of(channels)


def test_without_noise_they_are_the_truths_own():
    reports, design = reports_of(TABLE, 1, 10_000, np.random.default_rng(1), truths=np.rint(10_000 * TABLE).astype(int))
    found = lr.correlate(reports, design, inference="finite").pair("a0", "a1")
    for name, value in measures(TABLE).items():
        exact = getattr(found, name)
        assert (exact if isinstance(exact, float) else exact.value) == pytest.approx(value, abs=1e-9)
        assert found.interval(name) == pytest.approx((value, value), abs=1e-6)


def test_at_full_keep_rate_errors_are_the_usual_ones():
    """The standard error of a correlation by the delta method is that of the sample's fourth moments."""
    generator = np.random.default_rng(3)
    reports, design = reports_of(TABLE, 1, 3_000, generator)
    found = lr.correlate(reports, design).pair("a0", "a1").correlation
    x, y = (np.asarray(reports[name], dtype=float) for name in ("a0", "a1"))
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    influence = x * y - found.value / 2 * (x**2 + y**2)
    assert found.value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
    assert found.standard_error == pytest.approx(influence.std() / math.sqrt(3_000), rel=1e-9)


@pytest.mark.parametrize("inference", ["population", "finite"])
@pytest.mark.parametrize("lam", [0.35, 0.6, 0.9])
@pytest.mark.parametrize("weaker", [1.0, 0.3, 0.0])
def test_intervals_cover(lam, weaker, inference):
    """500 files: within 93 to 97 % but for chance, whose standard error is 1 %; conservative where noise rules."""
    table = weaker * TABLE + (1 - weaker) * np.outer(TABLE.sum(axis=1), TABLE.sum(axis=0))
    generator = np.random.default_rng(7)
    n, finite = 4_000, inference == "finite"
    truths = generator.multinomial(n, table.ravel()).reshape(table.shape)
    hits = {name: [] for name in measures(table)}
    for _ in range(500):
        people = truths if finite else generator.multinomial(n, table.ravel()).reshape(table.shape)
        channels = [lr.Channel(3, lam)] * 2
        counts = lr.Counts.from_array(["a0", "a1"], choosing.randomized(people, channels, generator))
        estimate = lr.estimate(counts, design_of(channels), method="inverse", inference=inference)
        found = association._pair(estimate, np.arange(3.0), np.arange(3.0))
        for name, value in measures(people / n if finite else table).items():
            if name != "mutual_information" or not math.isnan(found.information.value):
                lower, upper = found.interval(name)
                hits[name].append(lower - 1e-12 <= value <= upper + 1e-12)
    for name, found in hits.items():
        if len(found) > 450:
            assert np.mean(found) > 0.92, name
            if name in ("covariance", "cramers_v"):
                assert np.mean(found) < 0.98, name


def test_corrected_strength_has_the_right_mean():
    """The plain φ² of noisy tables is too large; the corrected one is right on average, within 4 standard errors."""
    generator, truth = np.random.default_rng(5), 2 * measures(TABLE)["cramers_v"] ** 2
    values = []
    for _ in range(300):
        reports, design = reports_of(TABLE, 0.5, 3_000, generator)
        values.append(lr.correlate(reports, design).pair("a0", "a1").phi_squared.value)
    assert abs(np.mean(values) - truth) < 4 * np.std(values) / math.sqrt(300)


def test_independence_test_holds_its_level():
    """2,000 files of independent attributes: 5 % within 4 standard errors, 2 %."""
    generator = np.random.default_rng(2)
    table = np.outer(TABLE.sum(axis=1), TABLE.sum(axis=0))
    channels = [lr.Channel(3, 0.6), lr.Channel(3, 0.4)]
    alarms = 0
    for _ in range(2_000):
        truths = generator.multinomial(2_000, table.ravel()).reshape(3, 3)
        test = choosing.Dependence.of(choosing.randomized(truths, channels, generator) / 2_000, n=2_000)
        alarms += stats.chi2.sf(test.statistic, test.freedom) < 0.05
    assert 0.03 < alarms / 2_000 < 0.07


@pytest.mark.parametrize(("lam", "n"), [(0.5, 400), (0.4, 1_000), (0.7, 150)])
def test_power_is_as_predicted(lam, n):
    """1,000 files; within 4 standard errors, 6 %."""
    channels = [lr.Channel(3, lam)] * 2
    generator, alarms = np.random.default_rng(4), 0
    for _ in range(1_000):
        truths = generator.multinomial(n, TABLE.ravel()).reshape(3, 3)
        test = choosing.Dependence.of(choosing.randomized(truths, channels, generator) / n, n=n)
        alarms += stats.chi2.sf(test.statistic, test.freedom) < 0.05
    assert association.power(design_of(channels), TABLE, n) == pytest.approx(alarms / 1_000, abs=0.06)


def test_matrix_is_repaired_and_says_so():
    generator = np.random.default_rng(6)
    shared = generator.integers(0, 2, 300)
    people = pa.table({name: np.where(generator.random(300) < 0.9, shared, 1 - shared) for name in "abcd"})
    design = lr.design({name: [0, 1] for name in "abcd"}, lam=0.3)
    found = lr.correlate(lr.randomize(people, design, rng=lr.SeededWords(1)), design)
    assert np.linalg.eigvalsh(found.matrix)[0] < 0
    components = found.components()
    assert components.repaired
    assert np.linalg.eigvalsh(components.matrix)[0] > -1e-12
    np.testing.assert_allclose(np.diag(components.matrix), 1)
    assert components.variances.sum() == pytest.approx(4)
    clear = lr.correlate(people, lr.design({name: [0, 1] for name in "abcd"}, lam=1)).components()
    assert not clear.repaired
    assert clear.variances[0] > 2


def test_weights_are_repeated_records():
    generator = np.random.default_rng(8)
    reports, design = reports_of(TABLE, 0.7, 500, generator)
    weights = generator.integers(1, 4, 500)
    found = lr.correlate(reports, design, weights=weights).pair("a0", "a1")
    repeated = reports.take(np.repeat(np.arange(500), weights))
    assert found.correlation.value == pytest.approx(
        lr.correlate(repeated, design).pair("a0", "a1").correlation.value, abs=1e-12
    )


def test_scores_are_given_or_understood():
    design = lr.design({"n": [1, 5], "b": [True, False], "two": ["x", "y"], "many": ["p", "q", "r"]}, lam=1)
    reports = [{"n": 1, "b": True, "two": "x", "many": "p"}, {"n": 5, "b": False, "two": "y", "many": "r"}] * 5
    found = lr.correlate(reports, design)
    assert found.pair("n", "two").covariance.value == pytest.approx(1)
    assert found.pair("b", "two").correlation.value == pytest.approx(-1)
    assert math.isnan(found.pair("n", "many").correlation.value)
    scored = lr.correlate(reports, design, ["n", "many"], scores={"many": {"p": 0, "q": 1, "r": 2}})
    assert scored.pair("n", "many").covariance.value == pytest.approx(2)
    np.testing.assert_allclose(scored.covariance_matrix, [[4, 2], [2, 1]])
    assert scored.to_frame(library="pandas").shape[0] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attributes": ["a"]}, "at least two"),
        ({"attributes": ["a", "x"]}, "'x' is not in the design"),
        ({"scores": {"x": [1, 2]}}, "scores must map some of these attributes"),
        ({"scores": {"a": [1]}}, "one finite number for each"),
        ({"scores": {"a": [1, math.nan]}}, "one finite number for each"),
        ({"scores": {"a": {"p": 1}}}, "one finite number for each"),
        ({"inference": "none"}, "inference must be"),
    ],
)
def test_wrong_input(arguments, message):
    design = lr.design({"a": ["p", "q"], "b": ["p", "q"]}, lam=0.5)
    with pytest.raises(lr.LambdarrError, match=message):
        lr.correlate([{"a": "p", "b": "q"}], design, **arguments)
    found = lr.correlate([{"a": "p", "b": "q"}, {"a": "q", "b": "p"}], design)
    with pytest.raises(lr.DataError, match="no pair"):
        found.pair("a", "x")
    with pytest.raises(lr.DataError, match="measure must be"):
        found.pairs[0].interval("rho")
