import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import lambdarr as lr
from tests.statistics import assert_plausible, binomial

SIZES = {"sex": ["F", "M"], "region": ["a", "b", "c"], "income": [1, 2, 3, 4], "smokes": ["no", "yes"]}
LAMBDAS = {"sex": 0.8, "region": 0.6, "income": 0.7, "smokes": 0.5}
DESIGN, EXACT = lr.design(SIZES, lam=LAMBDAS), lr.design(SIZES, lam=1.0)


def people(n, seed=0):
    """Return n people whose income and smoking depend on all else."""
    generator = np.random.default_rng(seed)
    sex, region = generator.integers(0, 2, n), generator.integers(0, 3, n)
    age = generator.uniform(20, 60, n).round(1)
    income = 1 + np.clip((generator.normal(size=n) + 0.8 * sex + 0.4 * region + (age - 40) / 20 + 1).round(), 0, 3)
    smokes = generator.random(n) < 1 / (1 + np.exp(0.5 - 0.9 * sex + 0.6 * (region == 2) - 0.3 * (income - 2)))
    return pd.DataFrame(
        {
            "sex": np.array(["F", "M"])[sex],
            "region": np.array(["a", "b", "c"])[region],
            "income": income.astype(int),
            "smokes": np.where(smokes, "yes", "no"),
            "age": age,
            "group": generator.integers(0, 40, n),
            "part": np.array(["n", "s", "w"])[generator.integers(0, 3, n)],
            "w": generator.uniform(0.5, 2, n),
        }
    )


PEOPLE = people(1_500)
KEPT = ["age", "group", "part", "w"]


def assert_agreement(found, expected, errors, tolerance):
    names = list(expected.index)
    np.testing.assert_allclose(found.coefficients[names], expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.standard_errors[names], errors, rtol=tolerance, atol=tolerance)
    assert sorted(names) == sorted(found.names)


@pytest.mark.parametrize(
    "formula",
    [
        "income ~ sex + region",
        "income ~ sex * region + age",
        "income ~ sex * age + C(region, contr.treatment('b')) + I(age ** 2)",
        "np.log(age) ~ C(income) + smokes:sex",
        "income ~ 0 + region + center(age)",
        "income ~ 1",
    ],
)
def test_linear_without_randomization_is_statsmodels(formula):
    if "contr" in formula:  # statsmodels' own formulas spell contrasts differently
        data = PEOPLE.assign(region=pd.Categorical(PEOPLE["region"], ["b", "a", "c"]))
        theirs = smf.ols("income ~ sex * age + region + I(age ** 2)", data)
        rename = {f"region[T.{x}]": f"C(region, contr.treatment('b'))[T.{x}]" for x in "ac"}
    else:
        theirs, rename = smf.ols(formula, PEOPLE), {}
    expected = theirs.fit(cov_type="HC0")
    assert_agreement(
        lr.regress(formula, PEOPLE, EXACT), expected.params.rename(rename), expected.bse.rename(rename), 1e-8
    )


def test_weighted_linear_without_randomization_is_statsmodels():
    expected = smf.wls("income ~ sex + region * age", PEOPLE, weights=PEOPLE["w"]).fit(cov_type="HC0")
    for weights in ("w", PEOPLE["w"].to_numpy()):
        found = lr.regress("income ~ sex + region * age", PEOPLE, EXACT, weights=weights)
        assert_agreement(found, expected.params, expected.bse, 1e-8)


@pytest.mark.parametrize("method", ["likelihood", "moments"])
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_without_randomization_is_statsmodels(method, weighted):
    formula = "smokes ~ sex * income + C(region) + age"
    data = PEOPLE.assign(smokes=(PEOPLE["smokes"] == "yes").astype(int))
    weights = {"var_weights": PEOPLE["w"]} if weighted else {}
    expected = smf.glm(formula, data, family=sm.families.Binomial(), **weights).fit(cov_type="HC0", tol=1e-14)
    found = lr.regress(formula, PEOPLE, EXACT, family="logistic", method=method, weights="w" if weighted else None)
    assert_agreement(found, expected.params, expected.bse, 1e-7)


@pytest.mark.parametrize("method", ["likelihood", "moments"])
def test_multinomial_without_randomization_is_statsmodels(method):
    data = PEOPLE.assign(region=pd.Categorical(PEOPLE["region"]).codes)
    expected = sm.MNLogit.from_formula("region ~ sex + age", data).fit(disp=0, cov_type="HC0", tol=1e-12)
    found = lr.regress("region ~ sex + age", PEOPLE, EXACT, family="multinomial", method=method)
    names = list(found.names)
    np.testing.assert_allclose(found.coefficients, expected.params.loc[names], rtol=1e-6)
    np.testing.assert_allclose(found.standard_errors, expected.bse.loc[names], rtol=1e-6)
    assert list(found.coefficients.columns) == ["b", "c"]


def expected_reports(truths, design):
    """Return all reports that a file may give, weighted by how often each is to be expected."""
    names = list(design.names)
    counted = truths.groupby(names, as_index=False, observed=True).size()
    rows, weights = [], []
    for record in counted.to_dict("records"):
        for cell in itertools.product(*(range(channel.size) for channel in design.channels)):
            chance = record["size"]
            row = {}
            for attribute, channel, code in zip(design.attributes, design.channels, cell, strict=True):
                chance *= channel.matrix()[attribute.code(record[attribute.name]), code]
                row[attribute.name] = attribute.categories[code]
            rows.append(row)
            weights.append(chance)
    return pd.DataFrame(rows).assign(w=weights).groupby(names, as_index=False)["w"].sum()


COUNTED = people(400, seed=5)[list(SIZES)]
EXPECTED = pd.concat([expected_reports(COUNTED, DESIGN)] * 400, ignore_index=True)  # so many that noise is no matter


@pytest.mark.parametrize(
    ("formula", "family"),
    [
        ("income ~ sex * region + smokes", "linear"),
        ("income ~ sex * region", "linear"),
        ("I(smokes == 'yes') ~ sex + income + I(region == 'b'):sex", "linear"),
        ("smokes ~ sex * income + region", "logistic"),
        ("I(income > 2) ~ sex + region", "logistic"),
        ("region ~ sex + income", "multinomial"),
    ],
)
def test_reports_as_they_are_to_be_expected_give_the_coefficients_of_the_truths(formula, family):
    truth = lr.regress(formula, COUNTED, EXACT, family=family)
    found = lr.regress(formula, EXPECTED, DESIGN, family=family, weights="w")
    np.testing.assert_allclose(found.values, truth.values, atol=1e-7)
    assert np.abs(lr.regress(formula, EXPECTED, EXACT, family=family, weights="w").values - truth.values).max() > 0.1


@pytest.mark.parametrize(
    ("formula", "family"),
    [("smokes ~ sex * region", "logistic"), ("region ~ C(income)", "multinomial"), ("I(income > 2) ~ sex", "logistic")],
)
def test_the_likelihood_does_so_too_where_its_model_holds(formula, family):
    truth = lr.regress(formula, COUNTED, EXACT, family=family)
    found = lr.regress(formula, EXPECTED, DESIGN, family=family, method="likelihood", weights="w")
    np.testing.assert_allclose(found.values, truth.values, atol=1e-6)


def test_the_likelihood_is_that_of_the_reports_where_the_outcome_alone_is_randomized():
    from scipy import optimize

    design = lr.design({"smokes": ["no", "yes"]}, lam=0.5)
    reports = lr.randomize(PEOPLE, design, keep=[*KEPT, "sex", "region", "income"], rng=lr.SeededWords(2))
    found = lr.regress("smokes ~ age + sex", reports, design, family="logistic", method="likelihood")
    x = np.stack([np.ones(len(reports)), reports["age"], reports["sex"] == "M"], axis=1).astype(float)
    yes = (reports["smokes"] == "yes").to_numpy()

    def minus_log_likelihood(beta):
        p = 0.5 / (1 + np.exp(-x @ beta)) + 0.25
        return -np.log(np.where(yes, p, 1 - p)).sum()

    options = {"maxiter": 5_000}
    best = optimize.minimize(minus_log_likelihood, np.zeros(3), method="Nelder-Mead", tol=1e-12, options=options)
    np.testing.assert_allclose(found.coefficients[["Intercept", "age", "sex[T.M]"]], best.x, atol=1e-4)


CASES = [
    ("income ~ sex + region + age", "linear", None),
    ("age ~ sex + C(income)", "linear", None),
    ("smokes ~ sex + income + age", "logistic", "moments"),
    ("smokes ~ sex + income", "logistic", "likelihood"),
]


@pytest.mark.parametrize("inference", ["population", "finite"])
@pytest.mark.parametrize(("formula", "family", "method"), CASES)
def test_intervals_cover_and_errors_are_right(formula, family, method, inference):
    """200 files; each coefficient's coverage is binomial, and its spread over files within 5 standard errors."""
    words, generator = lr.SeededWords(3), np.random.default_rng(3)
    truths = PEOPLE.assign(age=PEOPLE["age"].round(-1))
    design = lr.design(SIZES, lam=0.85)
    truth = lr.regress(formula, truths, EXACT, family=family, method=method).values
    found, covered, errors = [], [], []
    for _ in range(200):
        sample = (
            truths.sample(len(truths), replace=True, random_state=generator) if inference == "population" else truths
        )
        reports = lr.randomize(sample.reset_index(drop=True), design, keep=KEPT, rng=words)
        fit = lr.regress(formula, reports, design, family=family, method=method, inference=inference)
        ends = fit.interval()
        found.append(fit.values)
        covered.append((ends["lower"] < truth) & (truth < ends["upper"]))
        errors.append(np.diag(fit.errors))
    assert_plausible(binomial(np.sum(covered, axis=0), 200, 0.95))
    spread, stated = np.std(found, axis=0), np.sqrt(np.mean(errors, axis=0))
    np.testing.assert_allclose(stated / spread, 1, atol=5 / np.sqrt(2 * 200))
    if method != "likelihood":  # which is about its model, not about this file
        assert np.abs((np.mean(found, axis=0) - truth) / spread * np.sqrt(200)).max() < 5


def test_clusters_are_statsmodels_clusters_without_randomization():
    fitted = smf.ols("income ~ sex + age", PEOPLE)
    groups = PEOPLE["group"]
    expected = fitted.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    found = lr.regress("income ~ sex + age", PEOPLE, EXACT, clusters="group")
    assert_agreement(found, expected.params, expected.bse * np.sqrt(40 / 39), 1e-8)


@pytest.mark.parametrize(("formula", "family", "method"), CASES)
def test_strata_and_clusters_are_sums_of_scores(formula, family, method):
    """The sandwich, from what happens to the estimate if the weights of single records change."""
    reports = lr.randomize(PEOPLE.head(300), DESIGN, keep=KEPT, rng=lr.SeededWords(4))
    design = lr.design(SIZES, lam=0.9)
    options = {"family": family, "method": method}
    found = lr.regress(formula, reports, design, weights="w", strata="part", clusters="group", **options)
    influence = []
    for row in range(len(reports)):
        weights = reports["w"].to_numpy().copy()
        step = 1e-4 * weights[row]
        weights[row] += step
        moved = lr.regress(formula, reports, design, weights=weights, **options)
        influence.append((moved.values - found.values) / step * reports["w"][row])
    covariance = 0
    frame = pd.DataFrame(influence).assign(part=reports["part"], group=reports["group"])
    for _, stratum in frame.groupby("part"):
        totals = stratum.drop(columns="part").groupby("group").sum().to_numpy()
        around = totals - totals.mean(axis=0)
        covariance += len(totals) / (len(totals) - 1) * around.T @ around
    np.testing.assert_allclose(found.errors, covariance, rtol=2e-3, atol=1e-4 * np.abs(covariance).max())


def test_waves_of_one_design_are_one_file():
    reports = lr.randomize(PEOPLE, DESIGN, keep=KEPT, rng=lr.SeededWords(5))
    one = lr.regress("income ~ sex + age", reports, DESIGN, inference="finite")
    waves = [(reports.head(500), DESIGN), (reports.tail(1_000).reset_index(drop=True), DESIGN)]
    two = lr.regress("income ~ sex + age", waves, inference="finite")
    np.testing.assert_allclose(one.values, two.values)
    np.testing.assert_allclose(one.errors, two.errors)


@pytest.mark.parametrize(("formula", "family", "method"), CASES[1:])
def test_two_waves_are_better_than_either_and_as_much_as_predicted(formula, family, method):
    """The combined error is 1/√(1/V₁ + 1/V₂), on average over the coefficients and 30 files, to 10 %."""
    truths = people(4_000, seed=9)
    first, second = lr.design(SIZES, lam=0.9), lr.design(SIZES, lam=0.7)
    words = lr.SeededWords(6)
    stated, found = [], []
    for _ in range(30):
        waves = [(lr.randomize(truths, design, keep=KEPT, rng=words), design) for design in (first, second)]
        options = {"family": family, "method": method}
        alone = [np.diag(lr.regress(formula, *wave, **options).errors) for wave in waves]
        both = lr.regress(formula, waves, **options)
        stated.append(np.sqrt(np.diag(both.errors)) * np.sqrt(1 / alone[0] + 1 / alone[1]))
        found.append(np.diag(both.errors) < np.minimum(*alone))
    assert np.mean(found) > 0.99
    np.testing.assert_allclose(np.mean(stated, axis=0), 1, atol=0.1)


def test_missing_public_values_are_left_out_and_counted():
    reports = PEOPLE.assign(age=PEOPLE["age"].where(PEOPLE.index % 10 > 0))
    found = lr.regress("income ~ sex + age", reports, EXACT)
    expected = smf.ols("income ~ sex + age", reports).fit(cov_type="HC0")
    assert_agreement(found, expected.params, expected.bse, 1e-8)
    assert (found.n, found.left_out) == (1_350, 150)
    assert "150 more left out" in found.summary()


def test_files_give_what_frames_give(tmp_path):
    expected = lr.regress("income ~ sex + age + part", PEOPLE, EXACT)
    for name in ("people.csv", "people.parquet"):
        path = tmp_path / name
        (PEOPLE.to_csv if name.endswith("csv") else PEOPLE.to_parquet)(path, index=False)
        found = lr.regress("income ~ sex + age + part", path, EXACT)
        pd.testing.assert_series_equal(found.coefficients, expected.coefficients)
    import polars

    found = lr.regress("income ~ sex + age + part", polars.from_pandas(PEOPLE), EXACT)
    pd.testing.assert_series_equal(found.coefficients, expected.coefficients)


def test_predictions_are_of_true_records():
    new = PEOPLE.head(20)
    for formula, family in [("income ~ sex * region + center(age)", "linear"), ("smokes ~ sex + income", "logistic")]:
        found = lr.regress(formula, PEOPLE, EXACT, family=family)
        data = PEOPLE.assign(smokes=(PEOPLE["smokes"] == "yes").astype(int))
        fit = smf.ols(formula, data) if family == "linear" else smf.logit(formula, data)
        options = {} if family == "linear" else {"disp": 0}
        np.testing.assert_allclose(found.predict(new), fit.fit(**options).predict(data.head(20)), rtol=1e-6)
    shares = lr.regress("region ~ sex", PEOPLE, EXACT, family="multinomial").predict(new.head(3))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares.shape == (3, 3)


def test_scores_make_numbers_of_categories():
    found = lr.regress("region ~ sex", PEOPLE, EXACT, scores={"region": {"a": 1, "b": 2, "c": 4}})
    data = PEOPLE.assign(region=PEOPLE["region"].map({"a": 1, "b": 2, "c": 4}))
    np.testing.assert_allclose(found.coefficients, smf.ols("region ~ sex", data).fit().params)


def test_results_have_the_form_of_statsmodels():
    found = lr.regress("income ~ sex + age", PEOPLE, EXACT)
    assert list(found.coefficients.index) == ["Intercept", "sex[T.M]", "age"]
    assert found.covariance.loc["age", "sex[T.M]"] == found.covariance.loc["sex[T.M]", "age"]
    ends = found.interval(0.9)
    np.testing.assert_allclose(ends.mean(axis=1), found.coefficients)
    assert list(found.to_frame().columns) == ["coefficient", "standard_error", "z", "p_value", "lower", "upper"]
    assert "sex[T.M]" in found.summary()
    assert "see .summary()" in repr(found)


def test_boolean_attributes_are_named_as_statsmodels_names_them():
    reports = PEOPLE.assign(smokes=PEOPLE["smokes"] == "yes")
    design = lr.design({"smokes": [False, True]}, lam=1.0)
    assert lr.regress("income ~ smokes", reports, design).names == ("Intercept", "smokes[T.True]")
    assert lr.regress("age ~ smokes", reports, EXACT.select(["sex"])).names == ("Intercept", "smokes[T.True]")
    assert lr.regress("smokes ~ age", reports, design, family="logistic").classes == ("False", "True")


def randomized():
    return lr.randomize(PEOPLE, DESIGN, keep=KEPT, rng=lr.SeededWords(7))


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("income ~ sex + nope", {}, "'nope' is not in the table"),
        ("income ~ sex +", {}, "cannot be read"),
        ("~ sex", {}, "must have one outcome"),
        ("income + sex ~ age", {}, "must have one outcome"),
        (3, {}, "must be a text"),
        ("income ~ sex + I(sex == 'M')", {}, "collinear"),
        ("income ~ age + I(2 * age)", {}, "collinear"),
        ("smokes ~ sex + I(sex == 'M')", {"family": "logistic"}, "collinear"),
        ("income ~ income", {}, "both sides"),
        ("sex ~ age", {}, "categories, not numbers"),
        ("region ~ age", {"family": "logistic"}, "has 3 categories"),
        ("age ~ sex", {"family": "logistic"}, "must be 0 or 1"),
        ("income ~ np.log(income * age)", {}, "mixes income, age"),
        ("age ~ center(income)", {}, "depends on how the truths"),
        ("age ~ foo(income)", {}, "cannot be evaluated"),
        ("np.log(age - 40) ~ sex", {}, "not a finite number"),
        ("age ~ np.log(age - 40)", {}, "not a finite number"),
        ("income ~ sex", {"family": "poisson"}, "family must be"),
        ("income ~ sex", {"method": "likelihood"}, "is for the logistic"),
        ("income ~ sex", {"method": "best"}, "method must be"),
        ("income ~ sex", {"scores": {"age": [1]}}, "scores must map"),
        ("income ~ sex", {"scores": {"sex": 5}}, "one finite number for each"),
        ("income ~ sex", {"inference": "some"}, "inference must be"),
        ("income ~ sex", {"inference": "finite", "clusters": "group"}, "nobody was"),
        ("income ~ sex", {"weights": "nope"}, "'nope' is not in the table"),
        ("income ~ sex", {"weights": -PEOPLE["w"]}, "must not be negative"),
        ("income ~ sex", {"weights": [1, 2]}, "one number per report"),
        ("income ~ sex", {"clusters": [1, 2]}, "one value per report"),
        ("income ~ sex", {"strata": np.arange(1_500)}, "one report only"),
        ("income ~ sex", {"strata": "part", "clusters": "part"}, "one cluster only"),
    ],
)
def test_bad_input_is_one_clear_error(formula, options, message):
    with pytest.raises(lr.LambdarrError, match=message):
        lr.regress(formula, randomized(), DESIGN, **options)


def test_names_that_are_no_python_names_stand_in_backticks():
    reports = PEOPLE.rename(columns={"age": "years of age", "sex": "sex.at.birth"})
    design = lr.design({"sex.at.birth": ["F", "M"], "income": [1, 2, 3, 4]}, lam=1.0)
    plain = lr.regress("income ~ C(sex) + center(age) + I(age ** 2)", PEOPLE, EXACT)
    found = lr.regress("income ~ C(`sex.at.birth`) + center(`years of age`) + I(`years of age` ** 2)", reports, design)
    np.testing.assert_allclose(found.values, plain.values)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("income ~ I(age >)", "cannot be read"),
        ("income ~ C(two words)", "stand in backticks"),
        ("income ~ age + group + Intercept", "two columns of the regression are called 'Intercept'"),
        ("age ~ age + sex", "age is on both sides"),
        ("income ~ sex + same", "same is the same for everyone"),
        ("people.csv", "the formula comes first"),
        ("smokes ~ age", r"choose the logistic family, or write I\(smokes == \.\.\.\)"),
        ("gaps ~ age", "has a missing category, so it is no number"),
        ("age ~ I(gaps > 2)", "has a missing category, so it is no number"),
    ],
)
def test_formulas_that_cannot_be_are_told_so(formula, message):
    reports = randomized().assign(Intercept=np.arange(1_500), same="x", gaps=PEOPLE["income"])
    gaps = lr.Attribute("gaps", [1, 2, 3, 4], missing="NA")
    design = lr.design([*DESIGN.attributes, gaps], lam=0.8)
    with pytest.raises(lr.DataError, match=message):
        lr.regress(formula, reports, design)


def test_predictions_refuse_what_the_regression_has_not_seen():
    income = lr.Attribute("income", [1, 2, 3, 4], missing="NA", missing_is_public=True)
    design = lr.design([lr.Attribute("sex", ["F", "M"]), income], lam=1.0)
    found = lr.regress("age ~ sex + income + part", PEOPLE, design)
    new = pd.DataFrame({"sex": ["F", "M"], "income": pd.array([1, None], dtype="Int64"), "part": ["n", "s"]})
    assert np.isnan(found.predict(new)).tolist() == [False, True]
    for change in ({"part": "Mars"}, {"income": 9}, {"sex": "X"}):
        with pytest.raises(lr.DataError) as caught:
            found.predict(new.assign(**change))
        assert "Mars" not in str(caught.value)
    with pytest.raises(lr.DataError, match="'sex' is not in the table"):
        found.predict(new.drop(columns="sex"))
    by_age = lr.regress("income ~ np.log(age)", PEOPLE, EXACT)
    with pytest.raises(lr.DataError, match="cannot be evaluated"):
        by_age.predict(pd.DataFrame({"age": ["forty"]}))


def test_what_says_how_people_were_sampled_must_be_public(tmp_path):
    for options in ({"weights": "income"}, {"strata": "sex"}, {"clusters": "region"}):
        with pytest.raises(lr.DataError, match="must be public"):
            lr.regress("income ~ age", randomized(), DESIGN, **options)
    reports = randomized()
    reports.loc[3, "part"] = ""
    reports.to_csv(tmp_path / "reports.csv", index=False)
    with pytest.raises(lr.DataError, match="strata must not be missing, and one is at row 4"):
        lr.regress("income ~ age", tmp_path / "reports.csv", DESIGN, strata="part")
    with pytest.raises(lr.DataError, match="clusters must not be missing"):
        lr.regress("income ~ age", randomized(), DESIGN, clusters=np.where(np.arange(1_500) == 5, np.nan, 1.0))


def test_a_stray_word_among_numbers_is_named_by_its_row(tmp_path):
    reports = randomized().astype({"age": object})
    reports.loc[8, "age"] = "ancient"
    reports.to_csv(tmp_path / "reports.csv", index=False)
    with pytest.raises(lr.DataError, match="'age' holds numbers, but something else at row 9") as caught:
        lr.regress("income ~ age", tmp_path / "reports.csv", DESIGN)
    assert "ancient" not in str(caught.value)


def test_missing_weights_are_named_by_their_row():
    reports = randomized()
    reports.loc[6, "w"] = np.nan
    with pytest.raises(lr.DataError, match="first at row 7"):
        lr.regress("income ~ sex", reports, DESIGN, weights="w")


def test_an_attribute_with_one_observed_category_is_refused():
    reports = randomized().assign(sex="F")
    with pytest.raises(lr.DataError, match="same category of 'sex'"):
        lr.regress("income ~ sex", reports, DESIGN)
    with pytest.raises(lr.DataError, match="same category of 'sex'"):
        lr.regress("sex ~ income", reports, DESIGN, family="logistic")
    with pytest.raises(lr.DataError, match="nothing to explain"):
        lr.regress("age ~ income", reports.assign(age=1.0), DESIGN)


@pytest.mark.parametrize("method", ["likelihood", "moments"])
@pytest.mark.parametrize("lam", [1.0, 0.8])
def test_separation_is_refused(method, lam):
    truths = PEOPLE.assign(smokes=np.where(PEOPLE["income"] > 2, "yes", "no"))
    design = lr.design(SIZES, lam={**dict.fromkeys(SIZES, 1.0), "smokes": lam})
    reports = lr.randomize(truths, design, keep=KEPT, rng=lr.SeededWords(8))
    with pytest.raises(lr.DataError, match=r"grow without bound|cannot tell"):
        lr.regress("smokes ~ income", reports, design, family="logistic", method=method)


def test_separation_in_a_rare_group_is_refused():
    generator = np.random.default_rng(0)
    y = (generator.random(20_000) < 0.3).astype(int)
    y[-50:] = 1
    reports = pd.DataFrame({"a": ["x"] * 19_950 + ["r"] * 50, "y": y})
    design = lr.design({"a": ["x", "r"], "y": [0, 1]}, lam=1.0)
    for rows in (reports, reports.tail(1_000), reports.tail(1_000).head(960)):
        for method in ("moments", "likelihood"):
            with pytest.raises(lr.DataError, match="grow without bound"):
                lr.regress("y ~ a", rows, design, family="logistic", method=method)


def test_a_likelihood_that_goes_flat_is_refused():
    design = lr.design({"x": ["a", "b", "c"], "y": ["no", "yes"]}, lam={"x": 1.0, "y": 0.5})
    counts = {
        ("a", "no"): 300,
        ("a", "yes"): 300,
        ("b", "no"): 210,
        ("b", "yes"): 140,
        ("c", "no"): 39,
        ("c", "yes"): 11,
    }
    reports = pd.DataFrame([key for key, n in counts.items() for _ in range(n)], columns=["x", "y"])
    for method in ("moments", "likelihood"):
        with pytest.raises(lr.DataError, match="grow without bound"):
            lr.regress("y ~ x", reports, design, family="logistic", method=method)


def test_a_category_that_is_lost_in_noise_is_refused():
    design = lr.design({"x": [f"c{code}" for code in range(5)], "y": [0, 1, 2, 3]}, lam={"x": 0.15, "y": 0.9})
    reports = pd.DataFrame(
        {
            "x": np.repeat(["c4", "c0", "c1", "c2", "c3"], [256, 310, 310, 310, 310]),
            "y": np.random.default_rng(2).integers(0, 4, 1_496),
        }
    )
    for formula, family in [("y ~ x", "linear"), ("I(y > 1) ~ x", "logistic")]:
        with pytest.raises(lr.DataError, match=r"nothing can be said about x\[T\.c4\]"):
            lr.regress(formula, reports, design, family=family)


def test_clusters_without_a_complete_report_still_count():
    income = lr.Attribute("y", ["no", "yes"], missing="NA", missing_is_public=True)
    design = lr.design([income, lr.Attribute("x", ["f", "m"])], lam=0.9, keep=["v", "st"])
    generator = np.random.default_rng(0)
    stratum, village = np.repeat(np.arange(4), 300), np.repeat(np.arange(60), 20)
    truths = pd.DataFrame(
        {
            "y": np.where(generator.random(1_200) < np.array([0.1, 0.35, 0.65, 0.9])[stratum], "yes", "no").astype(
                object
            ),
            "x": generator.choice(["f", "m"], 1_200),
            "v": village,
            "st": stratum,
        }
    )
    truths.loc[~(generator.random(60) < 0.3)[village], "y"] = None
    reports = lr.randomize(truths, design, rng=lr.SeededWords(1))
    share = lr.query(reports, design, {"y": "yes"}, strata="st", clusters="v")
    for family in ("linear", "logistic"):
        found = lr.regress("I(y == 'yes') ~ 1", reports, design, strata="st", clusters="v", family=family)
        slope = 1.0 if family == "linear" else share.value * (1 - share.value)
        assert found.standard_errors["Intercept"] * slope == pytest.approx(share.standard_error)
        assert found.degrees == share.degrees == 56


def test_designs_that_do_not_share_their_attributes_are_refused():
    reports = randomized()
    other = lr.design({**SIZES, "sex": ["F", "M", "X"]}, lam=0.5)
    without = DESIGN.select(["income"])
    for design, message in [(other, "'sex' has other categories in design 2"), (without, "'sex' is not in design 2")]:
        with pytest.raises(lr.DesignError, match=message):
            lr.regress("income ~ sex", [(reports, DESIGN), (reports, design)])
    with pytest.raises(lr.DesignError, match="left out"):
        lr.regress("income ~ sex", [(reports, DESIGN)], DESIGN)


def test_truths_that_depend_on_each_other_completely_are_told_as_such():
    truths = PEOPLE.assign(smokes=np.where(PEOPLE["sex"] == "F", "no", "yes"))
    reports = lr.randomize(truths, DESIGN, keep=KEPT, rng=lr.SeededWords(9))
    with pytest.raises(lr.DataError, match="cannot tell the effects of"):
        lr.regress("income ~ sex + smokes", reports, DESIGN)
