"""Strata and clusters against brute force, and waves of several designs."""

import numpy as np
import pandas as pd
import pytest

import lambdarr as lr
from lambdarr import kronecker
from lambdarr.estimation import independent_reports
from tests.statistics import assert_plausible, binomial

SIZES = {"sex": ["F", "M"], "smokes": ["no", "some", "daily"]}
LOW, HIGH = lr.design(SIZES, lam={"sex": 0.6, "smokes": 0.5}), lr.design(SIZES, lam={"sex": 0.9, "smokes": 0.8})


def people(n, seed=0, clusters=40):
    """Return people whose answers go together within clusters, of two strata."""
    generator = np.random.default_rng(seed)
    cluster = generator.integers(0, clusters, n)
    leaning = generator.normal(size=clusters)[cluster]
    sex = (generator.normal(size=n) + 0.5 * leaning > 0).astype(int)
    smokes = np.digitize(generator.normal(size=n) + 0.7 * leaning + 0.5 * sex, [0, 1])
    return pd.DataFrame(
        {
            "sex": np.array(["F", "M"])[sex],
            "smokes": np.array(["no", "some", "daily"])[smokes],
            "village": cluster,
            "part": np.where(cluster % 2, "n", "s"),
            "w": generator.uniform(0.5, 2, n),
        }
    )


KEPT = ["village", "part", "w"]
REPORTS = lr.randomize(people(600), LOW, keep=KEPT, rng=lr.SeededWords(1))


def linearized(scores, strata, clusters):
    """Return the covariance of the sum of scores, straight from the definition."""
    frame = pd.DataFrame(scores)
    frame["stratum"] = np.zeros(len(frame)) if strata is None else strata
    frame["cluster"] = np.arange(len(frame)) if clusters is None else clusters
    total = 0
    for _, stratum in frame.groupby("stratum"):
        sums = stratum.drop(columns="stratum").groupby("cluster").sum().to_numpy()
        around = sums - sums.mean(axis=0)
        total += len(sums) / (len(sums) - 1) * around.T @ around
    return total


SAMPLES = [
    {"strata": "part"},
    {"clusters": "village"},
    {"strata": "part", "clusters": "village"},
    {"strata": "part", "clusters": "village", "weights": "w"},
]


def given(options, kind, n=600):
    return REPORTS[options[kind]].to_numpy() if kind in options else (np.ones(n) if kind == "weights" else None)


@pytest.mark.parametrize("options", SAMPLES)
def test_tables_have_the_variance_of_cluster_totals(options):
    found = lr.estimate(REPORTS, LOW, ["sex", "smokes"], method="inverse", **options)
    w = given(options, "weights")
    codes = [pd.Categorical(REPORTS[name], SIZES[name]).codes for name in SIZES]
    A = kronecker.dense_inverse(LOW.channels)
    scores = (A[codes[0] * 3 + codes[1]] - found.unbiased.ravel()) * w[:, None] / w.sum()
    expected = linearized(scores, given(options, "strata"), given(options, "clusters"))
    np.testing.assert_allclose(found.covariance(), expected, atol=1e-14)
    np.testing.assert_allclose(found.standard_errors.ravel(), np.sqrt(np.diag(expected)))
    vector = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(found.covariance_times(vector).ravel(), expected @ vector.ravel(), atol=1e-14)
    smaller = lr.estimate(REPORTS, LOW, ["smokes"], method="inverse", **options)
    np.testing.assert_allclose(found.marginal(["smokes"]).standard_errors, smaller.standard_errors)
    assert found.interval().kind == "asymptotic (Wald)"


@pytest.mark.parametrize("options", SAMPLES)
def test_queries_have_the_variance_of_cluster_totals(options):
    found = lr.query(REPORTS, LOW, {"smokes": "daily"}, given={"sex": "F"}, **options)
    w = given(options, "weights")
    columns = lr.unbiased(REPORTS, LOW)
    top, bottom = columns["smokes=daily"] * columns["sex=F"], columns["sex=F"]
    value = (w * top).sum() / (w * bottom).sum()
    scores = (w * (top - value * bottom) / (w * bottom).sum()).to_numpy()[:, None]
    expected = linearized(scores, given(options, "strata"), given(options, "clusters"))
    np.testing.assert_allclose([found.value, found.standard_error], [value, np.sqrt(expected[0, 0])])


def test_correlations_follow_the_clusters():
    plain = lr.correlate(REPORTS, LOW, scores={"smokes": [0, 1, 2]}).pair("sex", "smokes")
    found = lr.correlate(REPORTS, LOW, scores={"smokes": [0, 1, 2]}, clusters="village").pair("sex", "smokes")
    table = lr.estimate(REPORTS, LOW, ["sex", "smokes"], method="inverse", clusters="village")
    pi = table.unbiased
    x = np.array([0.0, 1.0]) - pi.sum(axis=1)[1]
    y = np.arange(3.0) - pi.sum(axis=0) @ np.arange(3.0)
    gradient = np.outer(x, y).ravel()
    assert found.covariance.value == pytest.approx(plain.covariance.value)
    assert found.covariance.standard_error == pytest.approx(np.sqrt(gradient @ table.covariance() @ gradient))
    assert found.test.statistic < plain.test.statistic  # fewer independent reports


def test_independent_reports_shrink_by_the_design_effect():
    counts = lr.tally(REPORTS, LOW, ["sex"], clusters="village")
    variance = lr.estimate(counts, LOW, method="inverse").covariance()[0, 0] * LOW.channels[0].lam ** 2
    share = counts.values[0] / counts.total
    assert independent_reports(counts) == pytest.approx(share * (1 - share) / variance)


def test_intervals_of_clustered_samples_cover():
    """300 samples of 30 of a population's 400 villages, each village with its own leaning."""
    population = people(20_000, seed=3, clusters=400)
    truth = (population["smokes"] == "daily").mean()
    generator, words = np.random.default_rng(3), lr.SeededWords(3)
    by_village = [frame for _, frame in population.groupby("village")]
    covered, plain = 0, 0
    for _ in range(300):
        sample = pd.concat(
            [by_village[place] for place in generator.integers(0, 400, 60)], keys=range(60), names=["draw"]
        )
        sample = sample.reset_index("draw").reset_index(drop=True)
        reports = lr.randomize(sample, HIGH, keep=[*KEPT, "draw"], rng=words)
        lower, upper = lr.query(reports, HIGH, {"smokes": "daily"}, clusters="draw").interval()
        covered += lower < truth < upper
        lower, upper = lr.query(reports, HIGH, {"smokes": "daily"}).interval()
        plain += lower < truth < upper
    assert_plausible(binomial(covered, 300, 0.95))
    assert plain < 250  # which is what clusters are for


def test_clusters_count_those_who_did_not_answer():
    design = lr.design([lr.Attribute("smokes", SIZES["smokes"], missing="NA", missing_is_public=True)], lam=0.5)
    truths = people(400)[["smokes", "village"]]
    truths.loc[truths["village"] < 5, "smokes"] = None
    reports = lr.randomize(truths, design, keep=["village"], rng=lr.SeededWords(4))
    there = reports["smokes"].notna().to_numpy()
    found = lr.estimate(reports, design, ["smokes"], method="inverse", clusters="village")
    codes = pd.Categorical(reports["smokes"][there], SIZES["smokes"]).codes
    scores = np.zeros((400, 3))
    scores[there] = (kronecker.dense_inverse(design.channels)[codes] - found.unbiased) / there.sum()
    expected = linearized(scores, None, reports["village"])
    np.testing.assert_allclose(found.covariance(), expected, atol=1e-14)
    share = lr.query(reports, design, {"smokes": "daily"}, clusters="village")
    np.testing.assert_allclose(share.standard_error, found.standard_errors[2])


# Waves.


def waves(seed, n=(3_000, 2_000)):
    words = lr.SeededWords(seed)
    return [
        (lr.randomize(people(size, seed=100 + seed + place), design, keep=KEPT, rng=words), design)
        for place, (size, design) in enumerate(zip(n, (LOW, HIGH), strict=True))
    ]


def test_waves_are_weighted_by_what_their_designs_leave():
    both = waves(1)
    parts = [lr.estimate(*wave, ["sex", "smokes"], method="inverse") for wave in both]
    found = lr.estimate(both, attributes=["sex", "smokes"], method="inverse")
    noise = [
        (np.prod([(1 + (c.size - 1) / c.lam**2) / c.size for c in design.channels]) - 1 / 6) / len(reports)
        for reports, design in both
    ]
    shares = (1 / np.array(noise)) / sum(1 / np.array(noise))
    np.testing.assert_allclose(found.unbiased, shares[0] * parts[0].unbiased + shares[1] * parts[1].unbiased)
    np.testing.assert_allclose(
        found.covariance(), shares[0] ** 2 * parts[0].covariance() + shares[1] ** 2 * parts[1].covariance()
    )
    np.testing.assert_allclose(found.standard_errors.ravel() ** 2, np.diag(found.covariance()))
    np.testing.assert_allclose(found.covariance_times(np.eye(2, 3)).ravel(), found.covariance() @ np.eye(2, 3).ravel())
    np.testing.assert_allclose(found.marginal(["sex"]).values.sum(), 1)
    assert found.n == 5_000


def test_the_file_of_all_waves_counts_every_record_once():
    both = waves(2)
    found = lr.estimate(both, attributes=["smokes"], method="inverse", inference="finite")
    parts = [lr.estimate(*wave, ["smokes"], method="inverse", inference="finite") for wave in both]
    np.testing.assert_allclose(found.unbiased, 0.6 * parts[0].unbiased + 0.4 * parts[1].unbiased)
    share = lr.query(both, None, {"smokes": "daily"}, inference="finite")
    np.testing.assert_allclose([share.value, share.standard_error], [found.unbiased[2], found.standard_errors[2]])


def test_waves_of_one_design_are_one_wave():
    reports = lr.randomize(people(2_000), LOW, keep=KEPT, rng=lr.SeededWords(5))
    two = [(reports[:700], LOW), (reports[700:].reset_index(drop=True), LOW)]
    for method in ("inverse", "auto", "ml", "independence"):
        one = lr.estimate(reports, LOW, ["sex", "smokes"], method=method)
        both = lr.estimate(two, attributes=["sex", "smokes"], method=method)
        np.testing.assert_allclose(one.values, both.values, atol=1e-9)
        np.testing.assert_allclose(one.standard_errors, both.standard_errors, rtol=0.02)
    np.testing.assert_allclose(
        lr.query(two, None, {"sex": "F"}).value, lr.query(reports, LOW, {"sex": "F"}).value, atol=1e-12
    )
    np.testing.assert_allclose(lr.model(two).table(["sex", "smokes"]), lr.model(reports, LOW).table(["sex", "smokes"]))
    pd.testing.assert_frame_equal(lr.unbiased(two), lr.unbiased(reports, LOW))


@pytest.mark.parametrize("method", ["inverse", "auto", "ml"])
def test_two_waves_are_better_than_either_as_predicted_and_cover(method):
    """400 files, or 100 where each takes long; the error of the whole table, as eq. (22) predicts it, within 10 %."""
    files = 400 if method == "inverse" else 100
    truth = np.array([[0.3, 0.1, 0.1], [0.2, 0.1, 0.2]])
    generator = np.random.default_rng(7)
    squares, covered = np.zeros(3), 0
    for _ in range(files):
        tables = []
        for design, n in ((LOW, 4_000), (HIGH, 800)):
            counts = generator.multinomial(n, kronecker.apply(design.channels, truth).ravel()).reshape(2, 3)
            tables.append((lr.Counts.from_array(["sex", "smokes"], counts), design))
        both = lr.estimate(tables, method=method)
        alone = [lr.estimate(*table, method=method) for table in tables]
        squares += [((found.values - truth) ** 2).sum() for found in (*alone, both)]
        lower, upper = both.interval()
        covered += (lower < truth) & (truth < upper)
    assert squares[2] < 0.95 * min(squares[:2])
    assert_plausible(binomial(covered, files, 0.95))
    if method == "inverse":
        noise = [
            (np.prod([(1 + (c.size - 1) / c.lam**2) / c.size for c in design.channels]) - (truth**2).sum()) / n
            for design, n in ((LOW, 4_000), (HIGH, 800))
        ]
        predicted = 1 / (1 / noise[0] + 1 / noise[1])
        assert squares[2] / files == pytest.approx(predicted, rel=0.1)


def test_queries_and_correlations_of_waves_are_better_than_of_either():
    both = waves(8)
    together = lr.query(both, None, {"smokes": "daily"}, given={"sex": "M"})
    alone = [lr.query(*wave, {"smokes": "daily"}, given={"sex": "M"}) for wave in both]
    predicted = 1 / np.sqrt(sum(1 / part.standard_error**2 for part in alone))
    assert together.standard_error == pytest.approx(predicted, rel=0.1)
    assert min(a.value for a in alone) < together.value < max(a.value for a in alone)
    scores = {"smokes": [0, 1, 2]}
    pair = lr.correlate(both, scores=scores).pair("sex", "smokes")
    parts = [lr.correlate(*wave, scores=scores).pair("sex", "smokes") for wave in both]
    errors = [part.correlation.standard_error for part in parts]
    assert pair.correlation.standard_error == pytest.approx(1 / np.sqrt(sum(1 / error**2 for error in errors)), rel=0.1)
    assert pair.test.statistic == pytest.approx(sum(part.test.statistic for part in parts))
    assert pair.test.freedom == 4


def test_a_cluster_in_two_waves_is_one_cluster():
    """The same people twice, nearly unrandomized: the second wave adds nothing."""
    sure = [lr.design(SIZES, lam=lam) for lam in (1 - 1e-6, 1 - 2e-6)]
    everyone = people(800, seed=21).assign(person=np.arange(800))
    once = [(lr.randomize(everyone, sure[0], keep=[*KEPT, "person"], rng=lr.SeededWords(21)), sure[0])]
    twice = [*once, (lr.randomize(everyone, sure[1], keep=[*KEPT, "person"], rng=lr.SeededWords(22)), sure[1])]
    for clusters in ("person", "village"):
        for waves_of, expected in ((twice, once),):
            one, two = (
                lr.query(some, None, {"smokes": "daily"}, clusters=clusters).standard_error
                for some in (expected, waves_of)
            )
            assert two == pytest.approx(one, rel=1e-3)
            one, two = (
                lr.estimate(some, attributes=["sex", "smokes"], method="inverse", clusters=clusters)
                for some in (expected, waves_of)
            )
            np.testing.assert_allclose(two.standard_errors, one.standard_errors, rtol=1e-3)
            np.testing.assert_allclose(two.covariance(), one.covariance(), atol=1e-7)
            np.testing.assert_allclose(
                two.covariance_times(np.eye(2, 3)), one.covariance_times(np.eye(2, 3)), atol=1e-7
            )
            assert two.degrees == one.degrees
            one, two = (
                lr.regress("I(smokes == 'daily') ~ sex", some, clusters=clusters).errors
                for some in (expected, waves_of)
            )
            np.testing.assert_allclose(two, one, rtol=1e-3, atol=1e-7)
    strata = [lr.query(some, None, {"sex": "F"}, strata="part").standard_error for some in (once, twice)]
    assert strata[1] == pytest.approx(strata[0] / np.sqrt(2), rel=1e-2)  # records of two waves are other records


def test_the_scale_of_a_wave_s_weights_does_not_matter():
    both = waves(12)
    scaled = [
        (reports.assign(w=reports["w"] * factor), design)
        for (reports, design), factor in zip(both, (1, 5_000), strict=True)
    ]
    for call in (
        lambda some: lr.query(some, None, {"smokes": "daily"}, weights="w").standard_error,
        lambda some: lr.estimate(some, attributes=["smokes"], method="inverse", weights="w").standard_errors,
        lambda some: lr.regress("I(smokes == 'daily') ~ sex", some, weights="w").errors,
    ):
        np.testing.assert_allclose(call(scaled), call(both))


@pytest.mark.parametrize("case", ["strata", "clusters", "weights"])
def test_the_test_of_independence_holds_its_level_in_a_sample(case):
    """400 samples of independent attributes; at 5 %, 20 alarms are to be expected."""
    design = lr.design({"region": [f"r{code}" for code in range(4)], "y": ["no", "yes"]}, lam=0.9)
    alarms, words = 0, lr.SeededWords(31)
    for seed in range(400):
        generator = np.random.default_rng(seed)
        if case == "clusters":  # what goes together in a cluster differs from cluster to cluster
            village = np.repeat(np.arange(40), 20)
            tie = np.where(generator.random(40) < 0.5, 1, -1)[village] * (generator.random(800) < 0.6)
            region = generator.integers(0, 4, 800)
            y = np.where(tie == 0, generator.integers(0, 2, 800), np.where(tie > 0, region % 2, 1 - region % 2))
            options = {"clusters": village}
        else:
            region, y = np.repeat(np.arange(4), 200), generator.integers(0, 2, 800)
            options = {"strata": region} if case == "strata" else {"weights": generator.uniform(0.1, 3, 800)}
        truths = pd.DataFrame({"region": [f"r{code}" for code in region], "y": np.where(y, "yes", "no")})
        found = lr.correlate(lr.randomize(truths, design, rng=words), design, **options)
        alarms += found.pairs[0].p_value < 0.05
    assert_plausible(binomial(alarms, 400, 0.05))


def test_few_clusters_have_wide_intervals():
    from scipy import stats

    few = REPORTS[REPORTS["village"] < 5]
    for found in (
        lr.query(few, LOW, {"sex": "F"}, clusters="village"),
        lr.estimate(few, LOW, ["sex"], method="inverse", clusters="village"),
    ):
        assert found.degrees == 4
        lower, upper = found.interval()
        error = found.standard_error if isinstance(found, lr.Answer) else found.standard_errors
        np.testing.assert_allclose((upper - lower) / 2, stats.t.isf(0.025, 4) * error)


def test_a_model_of_waves_is_closer_than_that_of_either():
    truth = pd.crosstab(people(200_000, seed=50)["sex"], people(200_000, seed=50)["smokes"], normalize=True)
    truth = truth[SIZES["smokes"]].to_numpy()
    words, errors = lr.SeededWords(9), np.zeros(3)
    everyone = people(200_000, seed=50)
    for repetition in range(20):
        both = [
            (
                lr.randomize(
                    everyone.sample(2_000, random_state=10 * repetition + place, ignore_index=True)[list(SIZES)],
                    design,
                    rng=words,
                ),
                design,
            )
            for place, design in enumerate((LOW, HIGH))
        ]
        found = [lr.model(*both[0]), lr.model(*both[1]), lr.model(both)]
        errors += [((model.table(["sex", "smokes"]) - truth) ** 2).sum() for model in found]
    assert errors[2] < errors[:2].min()


def test_weights_of_waves_are_a_column_or_a_list():
    both = waves(10, n=(300, 200))
    by_name = lr.estimate(both, attributes=["sex"], method="inverse", weights="w")
    arrays = [reports["w"].to_numpy() for reports, _ in both]
    np.testing.assert_allclose(
        lr.estimate(both, attributes=["sex"], method="inverse", weights=arrays).values, by_name.values
    )
    with pytest.raises(lr.DataError, match="a list of 2 arrays"):
        lr.estimate(both, attributes=["sex"], weights=np.ones(500))


def test_designs_that_do_not_share_their_attributes_are_refused():
    reports, _ = waves(11, n=(20, 20))[0]
    other = lr.design({**SIZES, "sex": ["F", "M", "X"]}, lam=0.5)
    calls = [
        lambda both: lr.estimate(both, attributes=["sex"]),
        lambda both: lr.query(both, None, {"sex": "F"}),
        lambda both: lr.correlate(both, attributes=["sex", "smokes"]),
        lambda both: lr.model(both),
        lambda both: lr.unbiased(both),
    ]
    for call in calls:
        with pytest.raises(lr.DesignError, match="'sex' has other categories in design 2"):
            call([(reports, LOW), (reports, other)])
        with pytest.raises(lr.DesignError, match="'sex' is not in design 2"):
            call([(reports, LOW), (reports, LOW.select(["smokes"]))])
        with pytest.raises(lr.DesignError, match=r"must be a lambdarr\.Design"):
            call([(reports, LOW), (reports, "design.json")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strata": "nope"}, "'nope' is not in the table"),
        ({"clusters": [1, 2]}, "clusters must be one value per report"),
        ({"strata": np.arange(601)}, "strata must be one value per report, got 601 for 600"),
        ({"strata": np.arange(600)}, "600 of 600 strata have one report only"),
        ({"strata": "part", "clusters": "part"}, "2 of 2 strata have one cluster only"),
        ({"clusters": "village", "inference": "finite"}, "nobody was"),
        ({"strata": [None] * 600}, "strata must not be missing, and one is at row 1"),
    ],
)
def test_bad_samples_are_one_clear_error(options, message):
    for call in (
        lambda: lr.estimate(REPORTS, LOW, ["sex"], **options),
        lambda: lr.query(REPORTS, LOW, {"sex": "F"}, **options),
        lambda: lr.correlate(REPORTS, LOW, **options),
    ):
        with pytest.raises(lr.DataError, match=message):
            call()


def test_large_tables_with_clusters_are_refused_and_counts_are_not_added():
    design = lr.design({"a": range(100), "b": range(100)}, lam=0.5)
    reports = pd.DataFrame({"a": [0, 1] * 10, "b": [0, 1] * 10, "c": range(20)})
    with pytest.raises(lr.DataError, match="may have 4,096 cells"):
        lr.estimate(reports, design, ["a", "b"], method="inverse", clusters="c")
    counts = lr.tally(reports, design, ["a"], clusters="c")
    with pytest.raises(lr.DataError, match="cannot be added"):
        counts + counts
