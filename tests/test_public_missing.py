"""Missing values that are public: they pass as they are, and a table is estimated from the reports that have it all."""

import itertools
import json

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import lambdarr as lr
from lambdarr import client, domain, parallel, randomization, sources, tabulation
from lambdarr.cli import app
from tests.files import write
from tests.statistics import assert_plausible, binomial, chi_square
from tests.test_designs import SCHEMA

INCOME = lr.Attribute("income", ["low", "mid", "high"], missing="NA", missing_is_public=True)
AGE = lr.Attribute("age", [1, 2, 3, 4], missing="", missing_is_public=True)
SEX = lr.Attribute("sex", ["F", "M"])
DESIGN = lr.design([INCOME, SEX, AGE], lam={"income": 0.5, "sex": 0.8, "age": 0.7})
N = 3_000


def people(n=N, seed=1):
    """Return a table in which a quarter of the incomes and, apart from that, a tenth of the ages are missing."""
    generator = np.random.default_rng(seed)
    sex, income = generator.integers(0, 2, n), generator.integers(0, 3, n)
    age = np.minimum(income + generator.integers(0, 2, n), 3)

    def column(attribute, codes, share):
        there = generator.random(n) >= share
        return [attribute.categories[code] if kept else None for code, kept in zip(codes, there, strict=True)]

    return pa.table({"income": column(INCOME, income, 0.25), "sex": column(SEX, sex, 0), "age": column(AGE, age, 0.1)})


TRUTHS = people()
REPORTS = lr.randomize(TRUTHS, DESIGN, rng=lr.SeededWords(5))
WEIGHTS = np.random.default_rng(2).random(N)


def nulls(values):
    return [bool(pd.isna(value)) for value in values]


def complete(names, reports=REPORTS):
    """Return which reports have all of some attributes."""
    return ~np.any([nulls(reports[name].to_pylist()) for name in names], axis=0)


def cut(names):
    """Return these attributes of the reports that have them all, under a design that knows no missing value."""
    part = DESIGN.select(names)
    design = lr.Design([lr.Attribute(a.name, a.categories) for a in part.attributes], part.channels)
    return REPORTS.select(list(names)).filter(pa.array(complete(names))), design


# The attribute.


def test_public_missing_value_is_no_category():
    assert (INCOME.size, INCOME.labels, INCOME.values) == (3, ("low", "mid", "high"), ("low", "mid", "high"))
    assert INCOME.code(None) == INCOME.code("NA") == AGE.code(None) == domain.ABSENT
    with pytest.raises(lr.DataError, match="public, and no category"):
        INCOME.category_code(None)


def test_absent_code_fails_as_an_index_of_any_domain():
    with pytest.raises(IndexError):
        np.zeros(65_536)[domain.ABSENT]


@pytest.mark.parametrize(
    ("categories", "options", "says"),
    [
        (["low", "high"], {"missing_is_public": True}, "needs missing"),
        (["low", "high"], {"missing": "NA", "missing_is_public": 1}, "true or false"),
        (["low", "high"], {"missing": "NA", "missing_is_public": None}, "true or false"),
        (["low", "high"], {"missing": "low", "missing_is_public": True}, "choose another text"),
        (["low"], {"missing": "NA", "missing_is_public": True}, "at least 2"),
    ],
)
def test_impossible_declaration_is_refused(categories, options, says):
    with pytest.raises(lr.DesignError, match=says):
        lr.Attribute("income", categories, **options)


# The design file.


def test_only_a_design_that_declares_it_has_version_2():
    document = json.loads(DESIGN.to_json())
    assert document["schema_version"] == 2
    assert [entry.get("missing_is_public") for entry in document["attributes"]] == [True, None, True]
    assert lr.Design.from_json(DESIGN.to_json()) == DESIGN
    assert json.loads(DESIGN.select(["sex"]).to_json())["schema_version"] == 1


def test_version_1_cannot_declare_it():
    text = DESIGN.to_json().replace('"schema_version": 2', '"schema_version": 1')
    with pytest.raises(lr.DesignError, match="schema_version 2"):
        lr.Design.from_json(text)
    with pytest.raises(client.ClientError, match="'income'"):
        client.Client(text)
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(text))


def test_version_1_may_say_that_it_does_not():
    document = json.loads(lr.design([lr.Attribute("income", ["low", "high"], missing="NA")], lam=0.5).to_json())
    document["attributes"][0]["missing_is_public"] = False
    assert lr.Design.from_json(json.dumps(document)).attributes[0].size == 3
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(document)


@pytest.mark.parametrize("value", ["true", 1, None])
def test_declaration_in_a_file_must_be_true_or_false(value):
    document = json.loads(DESIGN.to_json())
    document["attributes"][0]["missing_is_public"] = value
    with pytest.raises(lr.DesignError, match="'income' must be true or false"):
        lr.Design.from_json(json.dumps(document))


# A design from a table.


def test_columns_of_a_table_can_be_declared():
    found = lr.design(TRUTHS, lam=0.5, public_missing=["income", "sex"], missing="NA")
    assert found.public_missing == ("income", "sex")  # sex has no missing value here, but may elsewhere
    assert [attribute.size for attribute in found.attributes] == [3, 2, 5]
    assert [attribute.missing for attribute in found.attributes] == ["NA"] * 3


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        (TRUTHS, {"public_missing": "wealth"}, "'wealth'"),
        (TRUTHS, {"public_missing": ["sex"], "keep": ["sex"]}, "'sex'"),
        (TRUTHS, {"public_missing": ["sex"], "columns": ["income"]}, "'sex'"),
        ({"sex": ["F", "M"]}, {"public_missing": ["sex"]}, "missing_is_public=True"),
        ([INCOME], {"public_missing": ["income"]}, "missing_is_public=True"),
        (pa.table({"asked": ["yes", None]}), {"public_missing": ["asked"]}, "at least 2"),
    ],
)
def test_impossible_declaration_of_columns_is_refused(source, options, says):
    with pytest.raises(lr.DesignError, match=says):
        lr.design(source, lam=0.5, **options)


# Nulls pass.


@pytest.mark.parametrize(
    "frame",
    [
        TRUTHS,
        TRUTHS.to_pandas(),
        TRUTHS.to_pandas().astype({"income": "category", "age": "Int64"}),
        pl.from_arrow(TRUTHS),
        pl.from_arrow(TRUTHS).cast({"income": pl.Enum(["high", "mid", "low"])}),
        TRUTHS.set_column(0, "income", TRUTHS["income"].dictionary_encode()),
        TRUTHS.set_column(0, "income", TRUTHS["income"].cast(pa.string_view())),
        TRUTHS.to_pylist(),
    ],
    ids=["pyarrow", "pandas", "pandas types", "polars", "polars enum", "dictionary", "view", "records"],
)
def test_nulls_of_every_frame_stay_where_they_are(frame):
    reports = lr.randomize(frame, DESIGN)
    assert type(reports) is type(frame)
    again = pa.Table.from_pylist(reports) if isinstance(reports, list) else reports
    for name in ("income", "age"):
        column = again[name].to_pylist() if isinstance(again, pa.Table) else list(again[name])
        assert nulls(column) == nulls(TRUTHS[name].to_pylist())
        assert lr.tally(reports, DESIGN, [name]).n == complete([name]).sum() < N


@pytest.mark.parametrize("output", ["csv", "tsv", "parquet", "arrow"])
@pytest.mark.parametrize("input", ["csv", "tsv", "parquet", "arrow"])
def test_nulls_of_every_file_stay_where_they_are(tmp_path, input, output):
    source = {"a": ["x", None, "y", "x"], "n": [1, 2, None, 1], "b": [True, None, None, False]}
    attributes = [
        lr.Attribute("a", ["x", "y"], missing="NA", missing_is_public=True),
        lr.Attribute("n", [1, 2], missing="", missing_is_public=True),
        lr.Attribute("b", [True, False], missing="?", missing_is_public=True),
    ]
    design = lr.design(attributes, lam=0.01)
    spelled = {a.name: [a.missing if v is None else str(v).lower() for v in source[a.name]] for a in attributes}
    path = write(pa.table(spelled if input in ("csv", "tsv") else source), tmp_path / f"in.{input}")
    out = tmp_path / f"out.{output}"
    lr.randomize_file(path, out, design)
    for name in design.names:
        assert nulls(lr.unbiased(out, design, [name]).column(0).to_pylist()) == nulls(source[name])
    if output == "csv":
        rows = [line.replace('"', "").split(",") for line in out.read_text().splitlines()]
        assert (rows[2][0], rows[3][1], rows[2][2]) == ("NA", "", "?")


def test_a_column_of_nulls_alone_passes():
    table = pa.table({"income": pa.nulls(3), "sex": ["F", "M", "F"], "age": pa.nulls(3)})
    reports = lr.randomize(table, DESIGN)
    assert reports["income"].to_pylist() == reports["age"].to_pylist() == [None] * 3


@pytest.mark.parametrize("encoded", [False, True])
def test_values_outside_the_domain_are_refused_beside_nulls_and_not_repeated(encoded):
    column = pa.array([None, "low", "SECRET", None])
    table = pa.table({"income": column.dictionary_encode() if encoded else column})
    with pytest.raises(lr.DataError, match=r"1 value of attribute 'income' outside .* row 3") as caught:
        lr.randomize(table, DESIGN.select(["income"]))
    assert "SECRET" not in str(caught.value)


def test_an_empty_field_is_missing_only_if_the_design_says_so(tmp_path):
    (tmp_path / "in.csv").write_text("income,sex\nlow,F\n,M\n")
    with pytest.raises(lr.DataError, match=r"'income' missing, first at row 2"):
        lr.randomize_file(tmp_path / "in.csv", tmp_path / "out.csv", DESIGN.select(["income", "sex"]))


@pytest.mark.parametrize(
    "randomize", [client.Client(DESIGN.to_json()).randomize, lambda record: lr.randomize_record(record, DESIGN)]
)
def test_one_record_passes_its_missing_answers(randomize):
    for _ in range(50):
        report = randomize({"income": None, "sex": "F", "age": None})
        assert report["income"] is report["age"] is None
        assert report["sex"] in ("F", "M")
    with pytest.raises(ValueError, match="'sex'"):
        randomize({"income": None, "sex": None, "age": None})
    with pytest.raises(ValueError, match="no 'income'"):
        randomize({"sex": "F", "age": None})


# The sampled distribution.


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("truth", INCOME.categories)
def test_answers_beside_nulls_follow_the_channel_cell_by_cell(truth, compiled, monkeypatch):
    monkeypatch.setattr(randomization, "worth_compiling", lambda *_, **__: compiled)
    design = DESIGN.select(["income"])
    reports = lr.randomize(pa.table({"income": [None, truth, truth] * 50_000}), design, rng=lr.SeededWords(3))
    assert nulls(reports["income"].to_pylist()) == [True, False, False] * 50_000
    counts = lr.tally(reports, design, ["income"])
    assert counts.n == 100_000
    assert_plausible(chi_square(counts.values, design.channels[0].matrix()[INCOME.code(truth)]))


def test_answers_beside_nulls_are_randomized_at_every_position():
    design = DESIGN.select(["income", "age"])
    table = pa.table({"income": ["low", None, "high", None, None, "mid", "low"], "age": [None, 1, 2, None, 3, 4, 1]})
    rng, repetitions = lr.SeededWords(9), 3_000
    kept = {name: np.zeros(table.num_rows) for name in design.names}
    for _ in range(repetitions):
        reports = lr.randomize(table, design, rng=rng)
        for name in kept:
            kept[name] += [a == b for a, b in zip(reports[name].to_pylist(), table[name].to_pylist(), strict=True)]
    for name, channel in zip(design.names, design.channels, strict=True):
        there = complete([name], table)
        assert (kept[name][~there] == repetitions).all()
        assert_plausible(binomial(kept[name][there], repetitions, channel.truthfulness))


def test_report_of_an_answer_does_not_depend_on_who_is_missing():
    """One word per place, used or not: the seeded reports of the others are those of a table without nulls."""
    filled = TRUTHS.set_column(0, "income", TRUTHS["income"].fill_null("mid"))
    expected = lr.randomize(filled, DESIGN, rng=lr.SeededWords(5))
    there = pa.array(complete(["income"]))
    assert REPORTS["sex"].equals(expected["sex"])
    assert REPORTS["income"].filter(there).equals(expected["income"].filter(there))


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_seeded_reports_do_not_depend_on_threads(monkeypatch, cores):
    monkeypatch.setattr(parallel, "cores", lambda: cores)
    assert lr.randomize(TRUTHS, DESIGN, rng=lr.SeededWords(5)).equals(REPORTS)


@pytest.mark.parametrize("rows", [4, 100, 1024])
def test_seeded_reports_of_one_attribute_do_not_depend_on_batches(monkeypatch, rows):
    design, column = DESIGN.select(["income"]), TRUTHS.select(["income"])
    expected = lr.randomize(column, design, rng=lr.SeededWords(8))["income"].to_pylist()
    monkeypatch.setattr(sources, "_BATCH_ROWS", rows)
    assert lr.randomize(column, design, rng=lr.SeededWords(8))["income"].to_pylist() == expected


# Estimates from complete cases, against the reports that were cut by hand.

TABLES = [names for k in (1, 2, 3) for names in itertools.permutations(DESIGN.names, k)]


@pytest.mark.parametrize("names", TABLES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_counts_are_those_of_the_complete_reports(names, weighted, compiled, monkeypatch):
    reports, design = cut(names)
    expected = lr.tally(reports, design, names, weights=WEIGHTS[complete(names)] if weighted else None)
    monkeypatch.setattr(tabulation, "worth_compiling", lambda *_, **__: compiled)
    found = lr.tally(REPORTS, DESIGN, names, weights=WEIGHTS if weighted else None)
    np.testing.assert_allclose(found.values, expected.values)
    assert found.n == expected.n == complete(names).sum()
    if weighted:
        np.testing.assert_allclose(found.squares, expected.squares)


def test_every_table_of_one_pass_has_its_own_number_of_reports():
    found = lr.tallies(REPORTS, DESIGN, TABLES)
    assert [counts.n for counts in found] == [complete(names).sum() for names in TABLES]
    assert len({counts.n for counts in found}) == 4  # all, those with age, with income, with both
    for counts in found:
        np.testing.assert_array_equal(counts.values, lr.tally(REPORTS, DESIGN, counts.attributes).values)


def test_table_larger_than_a_batch_is_counted_from_complete_reports():
    attributes = [lr.Attribute(name, range(200), missing="", missing_is_public=True) for name in "ab"]
    reports = pa.table({"a": [0, None, 199], "b": [5, 1, 199]})
    found = lr.tally(reports, lr.design(attributes, lam=0.5), ["a", "b"], weights=[1, 2, 3])
    assert (found.n, found.values.sum(), found.values[0, 5], found.squares[199, 199]) == (2, 4, 1, 9)


@pytest.mark.parametrize("inference", ["population", "finite"])
@pytest.mark.parametrize("method", ["auto", "inverse", "pairwise"])
def test_estimate_is_that_of_the_complete_reports(method, inference):
    names = ["income", "age"]
    reports, design = cut(names)
    found = lr.estimate(REPORTS, DESIGN, names, method=method, inference=inference)
    expected = lr.estimate(reports, design, names, method=method, inference=inference)
    assert found.n == expected.n
    assert found.to_frame().equals(expected.to_frame())


def test_estimates_of_what_is_missing_at_random_are_unbiased():
    """Of 200 files; the mean of 200 standard scores is beyond 5.5/√200 less than once in 10⁷ times."""
    design, rng, repetitions = DESIGN.select(["income", "age"]), lr.SeededWords(4), 200
    shares = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]) / 6
    scores = []
    for seed in range(repetitions):
        reports = lr.randomize(people(1_000, seed).select(design.names), design, rng=rng)
        found = lr.estimate(reports, design, design.names, method="inverse")
        scores.append((found.values - shares) / found.standard_errors)
    assert np.abs(np.mean(scores, axis=0)).max() < 5.5 / np.sqrt(repetitions)
    assert 0.9 < np.std(scores) < 1.1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "question",
    [
        {"condition": {"income": "low"}},
        {"condition": {"sex": "F"}},
        {"condition": {"age": slice(2, None)}, "given": {"sex": "F"}},
        {"condition": {"sex": "F"}, "given": {"income": ["low", "mid"]}},
        {"condition": {"sex": "F"}, "given": {"income": "low"}, "versus": {"age": 1}},
        {"condition": {"age": {1: 1, 2: 2, 3: 3, 4: 4}}},
    ],
)
def test_query_is_that_of_the_complete_reports(question, weighted):
    names = sorted({name for condition in question.values() for name in condition})
    reports, design = cut(names)
    found = lr.query(REPORTS, DESIGN, **question, weights=WEIGHTS if weighted else None)
    expected = lr.query(reports, design, **question, weights=WEIGHTS[complete(names)] if weighted else None)
    assert (found.value, found.standard_error) == pytest.approx((expected.value, expected.standard_error))
    assert found.n == expected.n


@pytest.mark.parametrize("category", [None, "NA"])
def test_missing_answer_is_nothing_to_ask_about(category):
    for condition in ({"income": category}, {"income": ["low", category]}, {"income": {category: 1.0}}):
        with pytest.raises(lr.DesignError, match="is no category of 'income'"):
            lr.query(REPORTS, DESIGN, condition)


def test_pairs_are_related_by_the_reports_that_have_both():
    found = lr.correlate(REPORTS, DESIGN, scores={"income": [1, 2, 3]})
    assert found.n == complete(["sex", "age"]).sum()
    for pair in found.pairs:
        reports, design = cut(pair.attributes)
        scores = {"income": [1, 2, 3]} if "income" in pair.attributes else None
        alone = lr.correlate(reports, design, scores=scores)
        expected = alone.pairs[0]
        assert pair.n == expected.n == complete(pair.attributes).sum()
        assert pair.correlation == pytest.approx(expected.correlation)
        assert pair.cramers_v == pytest.approx(expected.cramers_v)
        assert pair.p_value == pytest.approx(expected.p_value)
        if pair.n == found.n:  # variances are of the pair that most reports have
            assert found.variances["age"] == pytest.approx(alone.variances["age"])


def test_numbers_are_their_own_scores_where_missing_is_public():
    private = lr.design([SEX, lr.Attribute("age", [1, 2, 3, 4], missing="")], lam=0.5)
    assert np.isfinite(lr.correlate(REPORTS, DESIGN, ["sex", "age"]).pairs[0].correlation.value)
    assert np.isnan(lr.correlate(REPORTS, private, ["sex", "age"]).pairs[0].correlation.value)
    with pytest.raises(lr.DataError, match="public, and no category"):
        lr.correlate(REPORTS, DESIGN, scores={"income": {"low": 1, "mid": 2, "high": 3, None: 0}})


def test_indicators_are_null_where_the_attribute_is_missing():
    found = lr.unbiased(REPORTS, DESIGN)
    there = complete(["income"])
    assert nulls(found["income=low"].to_pylist()) == list(~there)
    assert found["sex=F"].null_count == 0
    means = [np.nanmean(found[f"income={label}"].to_numpy()) for label in INCOME.labels]
    np.testing.assert_allclose(means, lr.estimate(REPORTS, DESIGN, ["income"], method="inverse").values)
    assert np.isnan(lr.unbiased(REPORTS.to_pandas(), DESIGN)["income=low"].to_numpy()[~there]).all()


def test_audit_names_what_is_public():
    found = lr.audit(DESIGN)
    assert found.public_missing == DESIGN.public_missing == ("income", "age")
    assert [leak.size for leak in found.attributes] == [3, 2, 4]
    with pytest.raises(lr.DesignError, match="not one of its categories"):
        lr.audit(DESIGN, prior={"income": {"low": 0.5, None: 0.5}})


# Models.


def test_model_of_two_attributes_is_the_estimate_of_the_complete_reports():
    found = lr.model(REPORTS, DESIGN, ["income", "age"])
    joint = found.table(["age", "income"])
    # income is given age, from the reports that have both; age's own shares are from all that have it
    both = lr.estimate(REPORTS, DESIGN, ["age", "income"]).values
    by_age = both / both.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(joint / joint.sum(axis=1, keepdims=True), by_age, atol=1e-9)
    np.testing.assert_allclose(joint.sum(axis=1), lr.estimate(REPORTS, DESIGN, ["age"]).values, atol=0.01)
    assert (found.n, found.answered) == (N, (complete(["income"]).sum(), complete(["age"]).sum()))
    assert found.independent == complete(["income", "age"]).sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_model_of_reports_that_lack_nothing_is_that_of_a_design_without_missing_values(weighted):
    filled = pa.table({"income": REPORTS["income"].fill_null("low"), "age": REPORTS["age"].fill_null(2)})
    weights = WEIGHTS if weighted else None
    found = lr.model(filled, DESIGN, ["income", "age"], weights=weights)
    expected = lr.model(filled, cut(["income", "age"])[1], weights=weights)
    np.testing.assert_allclose(found.table(["income", "age"]), expected.table(["income", "age"]), atol=0.01)
    assert found.independent == pytest.approx(expected.independent)


def test_model_takes_the_shares_of_an_attribute_from_all_that_have_it():
    """Incomes are missing for most women: among those with an income they are few, but not in the model."""
    generator, n = np.random.default_rng(3), 20_000
    sex = generator.integers(0, 2, n)
    income = np.where(generator.random(n) < 0.6, 2 * sex, generator.integers(0, 3, n))
    hidden = (sex == 0) & (generator.random(n) < 0.8)
    known = [None if gone else INCOME.categories[code] for gone, code in zip(hidden, income, strict=True)]
    truths = pa.table({"sex": [SEX.categories[code] for code in sex], "income": known})
    design = DESIGN.select(["sex", "income"])
    found = lr.model(lr.randomize(truths, design, rng=lr.SeededWords(1)), design)
    assert found.table(["sex"])[0] == pytest.approx((sex == 0).mean(), abs=0.02)
    # missing depends on sex alone, so income given sex is that of everyone, and so is income
    np.testing.assert_allclose(found.table(["income"]), np.bincount(income) / n, atol=0.04)


def test_model_takes_what_no_report_has_together_from_what_ties_them():
    """Two forms of a questionnaire: everybody has a, half of them b and the others c."""
    generator, n = np.random.default_rng(7), 8_000
    a = generator.integers(0, 2, n)
    b, c = (np.where(generator.random(n) < 0.7, a, generator.integers(0, 2, n)).astype(float) for _ in "bc")
    b[n // 2 :], c[: n // 2] = np.nan, np.nan
    public = [lr.Attribute(name, [0, 1], missing="", missing_is_public=True) for name in "bc"]
    design = lr.design([lr.Attribute("a", [0, 1]), *public], lam=0.8)
    found = lr.model(lr.randomize(pd.DataFrame({"a": a, "b": b, "c": c}), design, rng=lr.SeededWords(1)), design)
    assert {frozenset(pair) for pair in found.pairs} == {frozenset("ab"), frozenset("ac")}
    agree = (0.85**2 + 0.15**2) / 2  # each is a's value with probability 0.85
    np.testing.assert_allclose(found.table(["b", "c"]), [[agree, 0.5 - agree], [0.5 - agree, agree]], atol=0.03)
    assert found.independent == n // 2


def test_model_leaves_out_a_pair_whose_table_no_report_has_whole():
    """Three forms of a questionnaire, each with two of three attributes that all depend on each other."""
    generator, n = np.random.default_rng(8), 9_000
    a, b = generator.integers(0, 2, n), generator.integers(0, 2, n)
    c = a + b
    codes = np.array([a, b, c], dtype=float)
    codes[np.arange(n) % 3, np.arange(n)] = np.nan
    public = [
        lr.Attribute(name, range(size), missing="", missing_is_public=True)
        for name, size in zip("abc", (2, 2, 3), strict=True)
    ]
    design = lr.design(public, lam=0.9)
    truths = pd.DataFrame(dict(zip("abc", codes, strict=True)))
    found = lr.model(lr.randomize(truths, design, rng=lr.SeededWords(2)), design)
    assert len(found.pairs) == 2
    assert [frozenset(pair) for pair in found.left_out] == [frozenset("ab")]


def test_synthetic_records_have_no_nulls(tmp_path):
    found = lr.model(REPORTS, DESIGN)
    made = found.synthesize(seed=1)
    assert made.num_rows == N
    assert all(column.null_count == 0 for column in made.columns)
    found.synthesize_file(tmp_path / "out.csv", 100, seed=1)
    assert "NA" not in (tmp_path / "out.csv").read_text()
    assert found.simulated_error(lambda model: model.probability({"sex": "F"}), repetitions=2) > 0


# Nothing is left.

APART = pa.table({"income": ["low", None], "sex": ["F", "M"], "age": pa.array([None, 3], pa.int64())})


@pytest.mark.parametrize(
    "ask",
    [
        lambda: lr.tally(APART, DESIGN, ["income", "age"]),
        lambda: lr.tallies(APART, DESIGN, [["sex"], ["income", "age"]]),
        lambda: lr.estimate(APART, DESIGN, ["age", "income"]),
        lambda: lr.correlate(APART, DESIGN),
        lambda: lr.query(APART, DESIGN, {"income": "low"}, given={"age": 3}),
        lambda: lr.model(APART.slice(1), DESIGN),
    ],
    ids=["tally", "tallies", "estimate", "correlate", "query", "model"],
)
def test_nothing_can_be_said_of_what_no_report_has(ask):
    with pytest.raises(lr.DataError, match=r"no report has an answer to all of .*income"):
        ask()


def test_weights_of_the_reports_that_are_left_must_not_all_be_zero():
    with pytest.raises(lr.DataError, match="weights must not all be zero"):
        lr.tallies(APART, DESIGN, [["sex"], ["income"]], weights=[0, 1])


# The command line.


def ran(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_command_line_follows_a_declaration_from_design_to_estimate(tmp_path):
    truths = TRUTHS.set_column(0, "income", TRUTHS["income"].fill_null("NA")).select(["income", "sex"])
    path = write(truths, tmp_path / "people.csv")
    made, reports = tmp_path / "design.json", tmp_path / "reports.csv"
    printed = ran("design", path, "-o", made, "--lam", 0.5, "--missing", "NA", "--public-missing", "income")
    said = "everyone sees who has no answer to income"
    assert said in printed
    assert said in ran("show", made)
    assert said in ran("audit", made)
    assert json.loads(ran("show", made, "--json"))["public_missing"] == ["income"]
    assert json.loads(ran("audit", made, "--json"))["public_missing"] == ["income"]
    assert said in ran("randomize", path, "-d", made, "-o", reports)
    there = int(complete(["income"]).sum())
    tables = json.loads(ran("estimate", reports, "-d", made, "-t", "income,sex", "-t", "sex", "--format", "json"))
    assert [table["n"] for table in tables["tables"]] == [there, N]
    assert f"{there:,} reports with every answer" in ran("estimate", reports, "-d", made, "-t", "income")
    assert f"from {there:,} reports" in ran("query", reports, "-d", made, "--where", "income=low")
    assert f"{there:,} reports" in ran("correlate", reports, "-d", made)
    ran("synthesize", reports, "-d", made, "-o", tmp_path / "synthetic.csv")
    assert "NA" not in (tmp_path / "synthetic.csv").read_text()
    refused = CliRunner().invoke(app, ["query", str(reports), "-d", str(made), "--where", "income=NA"])
    assert refused.exit_code == 2
