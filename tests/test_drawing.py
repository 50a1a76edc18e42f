"""Columns drawn over the individuals of their file: the design, the sampler, and every kind of table."""

import datetime as dt
import decimal
import itertools
import json
import math
import warnings

import duckdb
import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import lambdarr as lr
from lambdarr import client
from lambdarr.cli import app
from lambdarr.individuals import undone
from lambdarr.sampling import drawn_places
from tests.statistics import assert_plausible, binomial, chi_square
from tests.test_designs import SCHEMA

INCOMES = pa.table({"income": [1.5, 2.5, 3.5, 9.0], "sex": ["F", "M", "F", "F"]})


def drawn(*names, lam=0.5, **rest):
    return lr.Design((), (), drawn=tuple(lr.Drawn.with_keep_rate(name, lam, **rest) for name in names))


# The design.


def test_a_design_with_drawn_columns_is_version_3_and_comes_back():
    design = lr.design(INCOMES, lam=0.8, drawn=["income"])
    document = json.loads(design.to_json())
    assert document["schema_version"] == 3
    assert document["drawn"][0]["threshold"] == round(0.8 * 2**32)
    assert lr.Design.from_json(design.to_json()) == design
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(document)
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(drawn("income").to_json()))


@pytest.mark.parametrize("edit", [{"schema_version": 2}, {"asked": 1}, {"drawn": [{"name": "income"}]}])
def test_drawn_columns_of_a_design_that_was_edited_are_refused(edit):
    document = {**json.loads(lr.design(INCOMES, lam=0.8, drawn=["income"]).to_json()), **edit}
    with pytest.raises(lr.DesignError):
        lr.Design.from_json(json.dumps(document))
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(document)


def test_lambda_and_threshold_must_agree():
    text = drawn("income").to_json().replace('"lambda": 0.5', '"lambda": 0.6')
    with pytest.raises(lr.DesignError, match="disagree"):
        lr.Design.from_json(text)


def test_drawn_columns_take_a_lambda_beside_any_target_of_the_others():
    design = lr.design(INCOMES, lam={"income": 0.7}, strength=0.5, drawn=["income"])
    assert (design.names, design.drawn[0].lam) == (("sex",), round(0.7 * 2**32) / 2**32)
    assert design.channels[0].strength == pytest.approx(0.5, abs=1e-6)
    same = lr.design(INCOMES, lam=0.7, drawn="income")
    assert same.channels[0].lam == pytest.approx(same.drawn[0].lam)
    with pytest.raises(lr.DesignError, match="needs lam"):
        lr.design(INCOMES, strength=0.5, drawn=["income"])
    with pytest.raises(lr.DesignError, match="method"):
        lr.design(INCOMES, lam=0.5, columns=["sex"], method="expected")


def test_only_drawn_columns_make_a_design():
    design = lr.design(INCOMES, lam=0.5, drawn=["income"], keep=["sex"])
    assert (design.names, design.drawn_names, design.kept) == ((), ("income",), ("sex",))
    assert design.epsilon == np.inf
    with pytest.raises(lr.DesignError, match="drawn over the individuals"):
        lr.estimate(INCOMES, design, ["income"])


@pytest.mark.parametrize(
    ("verb", "error"),
    [
        (lambda design: lr.randomize_record({"income": 1.0}, design), lr.DataError),
        (lambda design: lr.draw_questions(design), lr.DataError),
        (lambda design: client.Client(design.to_json()), client.ClientError),
    ],
)
def test_a_respondent_cannot_follow_it(verb, error):
    with pytest.raises(error, match="centrally"):
        verb(drawn("income"))


@pytest.mark.parametrize(
    "verb",
    [
        lambda design: lr.measure(design),
        lambda design: lr.report(design),
        lambda design: lr.tally(INCOMES, design, ["income"]),
        lambda design: lr.model(INCOMES, design),
        lambda design: lr.estimate(INCOMES, design),
        lambda design: lr.query(INCOMES, design, {"income": 1}),
    ],
)
def test_verbs_that_need_categories_say_so(verb):
    with pytest.raises(lr.DesignError, match="drawn"):
        verb(drawn("income"))


# The sampler.


def test_every_place_keeps_its_own_value_and_draws_all_others_alike():
    n, lam, files = 7, 0.3, 40_000
    words = lr.SeededWords(20_261_115)
    found = np.stack([drawn_places(words, n, round(lam * 2**32)) for _ in range(files)])
    for place in range(n):
        expected = np.full(n, (1 - lam) / n)
        expected[place] += lam
        assert_plausible(chi_square(np.bincount(found[:, place], minlength=n), expected) * n)


def test_draws_beyond_the_last_whole_multiple_are_drawn_again():
    class Words:
        seeded = True

        def __init__(self):
            self.streams = [[2**32 - 1] * 4, [2**32 - 1, 0, 2**31, 2**32 - 2], [7 * 10**8]]

        def span(self, count):
            stream = self.streams.pop(0) if self.streams else [0]

            class Span:
                def fill(self, words):
                    words[:] = stream[: words.size]

            return Span()

    # 2³² div 3 leaves one word over: the last one
    assert drawn_places(Words(), 3, 1).tolist() == [0, 0, 1]


def test_seeded_draws_do_not_depend_on_threads():
    one, two = (drawn_places(lr.SeededWords(3), 2_500_000, 2**31, threads=threads) for threads in (1, 2))
    assert (one == two).all()
    assert_plausible(binomial((one == np.arange(one.size)).sum(), one.size, 0.5 + 0.5 / one.size))


def test_batches_make_no_difference(tmp_path):
    values = np.random.default_rng(0).normal(size=300_000)
    table = pa.table({"x": values})
    design = drawn("x")
    whole = lr.randomize(table, design, rng=lr.SeededWords(1))["x"].to_numpy()
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=1_000)
    lr.randomize_file(tmp_path / "x.parquet", tmp_path / "y.parquet", design, rng=lr.SeededWords(1))
    assert (pq.read_table(tmp_path / "y.parquet")["x"].to_numpy() == whole).all()
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=777))
    assert (lr.randomize(stream, design, rng=lr.SeededWords(1)).read_all()["x"].to_numpy() == whole).all()


# Types.

VALUES = {
    "integers": pa.array([1, 5, 9, 7]),
    "small integers": pa.array([1, 5, 9, 7], pa.int8()),
    "numbers": pa.array([1.5, 2.0, -3.0, 8.0]),
    "decimals": pa.array([decimal.Decimal("1.10"), decimal.Decimal("2.20"), decimal.Decimal("3.30"), None]),
    "dates": pa.array([dt.date(2020, 1, 1), dt.date(2021, 1, 1), dt.date(1950, 5, 5), dt.date(2000, 2, 29)]),
    "times": pa.array([1, 2, 3, 4], pa.timestamp("us", "UTC")),
    "durations": pa.array([1, 2, 3, 4], pa.duration("s")),
}
FRAMES = {
    "pyarrow": (lambda t: t, lambda t: t),
    "pandas": (lambda t: t.to_pandas(), pa.Table.from_pandas),
    "polars": (pl.from_arrow, lambda t: t.to_arrow()),
    "list": (lambda t: t.to_pylist(), pa.Table.from_pylist),
    "duckdb": (duckdb.from_arrow, lambda t: pa.table(t.to_arrow_table())),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", VALUES)
def test_values_come_out_in_their_own_type(kind, frame):
    make, back = FRAMES[frame]
    column = pa.concat_arrays([VALUES[kind]] * 25)
    table = make(pa.table({"x": column, "sex": ["F", "M"] * 50}))
    design = lr.design(
        table if frame != "duckdb" else make(pa.table({"x": column, "sex": ["F", "M"] * 50})), lam=0.5, drawn=["x"]
    )
    reports = lr.randomize(table, design)
    assert type(reports) is type(table)
    found, given = back(reports).column("x"), back(make(pa.table({"x": column}))).column("x")
    assert found.type == given.type
    assert set(found.to_pylist()) <= set(given.to_pylist())
    assert found.to_pylist() != given.to_pylist()


def test_csv_fields_come_out_as_they_were_written(tmp_path):
    (tmp_path / "p.csv").write_text("income,sex\n" + "1.50,F\n02,M\n3e2,F\nNA,M\n" * 20)
    design = lr.design(tmp_path / "p.csv", lam=0.5, drawn=["income"], missing="NA")
    lr.randomize_file(tmp_path / "p.csv", tmp_path / "r.csv", design)
    fields = {line.split(",")[0] for line in (tmp_path / "r.csv").read_text().splitlines()[1:]}
    assert fields == {"1.50", "02", "3e2", "NA"}
    lr.randomize_file(tmp_path / "p.csv", tmp_path / "r.parquet", design)
    assert set(pq.read_table(tmp_path / "r.parquet")["income"].to_pylist()) == {1.5, 2.0, 300.0, None}


# Missing values.


def test_missing_values_are_drawn_like_others_or_stay_if_public():
    table = pa.table({"x": pa.array([1.0, None, 2.0, 3.0] * 500)})
    along = lr.randomize(table, lr.design(table, lam=0.2, drawn=["x"]))["x"]
    assert along.null_count > 0
    assert along.is_null().to_pylist() != table["x"].is_null().to_pylist()
    public = lr.randomize(table, lr.design(table, lam=0.2, drawn=["x"], public_missing=["x"]))["x"]
    assert public.is_null().to_pylist() == table["x"].is_null().to_pylist()
    assert public.to_pylist() != table["x"].to_pylist()


# What is refused.

BAD = {
    "nan": (pa.array([1.0, float("nan"), 2.0]), "nan or an infinite number, first at row 2"),
    "infinite": (pa.array([1.0, 2.0, float("-inf")]), "nan or an infinite number, first at row 3"),
    "missing": (pa.array([1.0, None, 2.0]), "missing values, first at row 2"),
    "constant": (pa.array([7, 7, 7]), "a constant column has nothing to hide"),
    "one individual": (pa.array([7]), "one individual has nobody to hide among"),
    "all missing": (pa.nulls(3), "missing values"),
    "categories": (pa.array(["a", "b"]).dictionary_encode(), "stored by categories"),
    "text": (pa.array(["a", "b"]), "holds text, and only numbers.* make it an attribute"),
    "booleans": (pa.array([True, False]), "holds booleans, and only numbers"),
    "bytes": (pa.array([b"a", b"b"]), "values of type binary"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_column_that_cannot_be_drawn_from_is_one_clear_error(case):
    column, message = BAD[case]
    with pytest.raises(lr.DataError, match=message) as told:
        lr.randomize(pa.table({"x": column}), drawn("x"))
    assert "7" not in str(told.value)


@pytest.mark.parametrize("case", sorted(set(BAD) - {"missing"}))
def test_a_design_from_such_a_column_says_the_same(case):
    column, message = BAD[case]
    wanted = "constant" if case == "all missing" else message
    with pytest.raises(lr.DataError, match=wanted):
        lr.design(pa.table({"x": column}), lam=0.5, drawn=["x"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["2020-02-28", "2020-02-31", "2021-01-01"], "holds dates, but something else at row 2"),
        (["true", "false"], "holds text"),
        (["1", "nan"], "nan or an infinite number, first at row 2"),
        (["0 days 00:01:30", "0 days 00:02:00"], "durations as seconds"),
    ],
)
def test_a_text_file_is_checked_when_it_is_designed_from(tmp_path, fields, message):
    (tmp_path / "x.csv").write_text("\n".join(["x", *fields, ""]))
    with pytest.raises(lr.DataError, match=message) as told:
        lr.design(tmp_path / "x.csv", lam=0.5, drawn=["x"])
    assert "02-31" not in str(told.value)


def test_a_column_is_named_once():
    with pytest.raises(lr.DesignError, match=r"'income' is named twice, in columns \(--columns\) and drawn"):
        lr.design(INCOMES, lam=0.5, columns=["income", "sex"], drawn=["income"])
    with pytest.raises(lr.DesignError, match="named twice"):
        lr.design(INCOMES, lam=0.5, keep=["income"], drawn=["income"])


def test_a_column_of_text_and_numbers_is_one_clear_error(tmp_path):
    with pytest.raises(lr.DataError, match="mixes types"):
        lr.randomize(pd.DataFrame({"x": [1, "two", 3.5]}), drawn("x"))
    for text, message in (
        ("two", "mixes numbers and text, first at row 2"),
        ("inf", "infinite number, first at row 2"),
    ):
        (tmp_path / "x.csv").write_text(f"x\n1\n{text}\n3\n")
        with pytest.raises(lr.DataError, match=message):
            lr.randomize_file(tmp_path / "x.csv", tmp_path / "y.csv", drawn("x"))
    assert not (tmp_path / "y.csv").exists()


def test_a_constant_column_with_public_gaps_is_constant_all_the_same():
    with pytest.raises(lr.DataError, match="constant"):
        lr.randomize(pa.table({"x": [1, None, 1]}), drawn("x", missing="", missing_is_public=True))


@pytest.mark.parametrize("lam", [0, 1.5, -1, float("nan"), "0.5", True])
def test_a_keep_rate_out_of_range_is_refused(lam):
    with pytest.raises(lr.DesignError, match="lam of drawn column 'x'"):
        lr.Drawn.with_keep_rate("x", lam)


# The expected form.


def test_whoever_knows_lambda_undoes_the_expected_form():
    """From n, λ and the released column alone: its mean is that of the truths."""
    incomes = np.random.default_rng(1).lognormal(10, 1, 5_000)
    design = lr.design(pa.table({"income": incomes}), lam=0.3, drawn=["income"], method="expected")
    with pytest.warns(lr.UnprotectedWarning, match="undoes it exactly"):
        reports = lr.randomize(pa.table({"income": incomes}), design)
    released = reports["income"].to_numpy()
    assert abs(released - incomes).max() > 1
    np.testing.assert_allclose(undone(released, design.drawn[0].lam), incomes, rtol=1e-10)
    assert "undoes it exactly" in reports.schema.metadata[b"lambdarr.undone"].decode()


def test_the_expected_form_keeps_covariances_by_the_papers_rule():
    generator = np.random.default_rng(2)
    x, y = generator.normal(size=(2, 1_000))
    frame = pd.DataFrame({"x": x, "y": x + y, "i": np.arange(1_000)})
    design = lr.design(frame, lam={"x": 0.5, "y": 0.8, "i": 0.9}, drawn=["x", "y", "i"], method="expected")
    with pytest.warns(lr.UnprotectedWarning):
        reports = lr.randomize(frame, design)
    assert reports.attrs["lambdarr.undone"]
    assert reports.cov().loc["x", "y"] == pytest.approx(0.5 * 0.8 * frame.cov().loc["x", "y"])
    found = lr.correlate(reports, design, ["x", "y"], inference="finite").pair("x", "y")
    assert found.correlation.value == pytest.approx(frame.corr().loc["x", "y"])
    assert found.correlation.standard_error == pytest.approx(0, abs=1e-6)


def test_the_expected_form_needs_numbers_and_public_gaps():
    dates = pa.array([dt.date(2020, 1, 1), dt.date(2021, 1, 1)])
    with pytest.raises(lr.DataError, match="holds no numbers"), pytest.warns(lr.UnprotectedWarning):
        lr.randomize(pa.table({"x": dates}), drawn("x", method="expected"))
    with pytest.raises(lr.DesignError, match="declare its missing public"):
        drawn("x", method="expected", missing="")


# The command line.


def test_the_command_line_draws_columns_and_says_what_is_not_protected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("income,sex\n" + "".join(f"{i},{'FM'[i % 2]}\n" for i in range(200)))
    runner = CliRunner()

    def run(*arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            done = runner.invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == 0, done.output
        return done.output

    said = run("design", "p.csv", "-o", "d.json", "--drawn", "income", "--lam", "income=0.8", "--strength", "0.5")
    assert "Drawn over the individuals" in said
    assert "200 records" in run("randomize", "p.csv", "-d", "d.json", "-o", "r.csv")
    audit = run("audit", "d.json", "--individuals", "200")
    assert "no finite ε" in audit
    assert "over 200 individuals" in audit
    told = json.loads(run("audit", "d.json", "--truths", "p.csv", "--json"))["drawn"][0]
    assert told["unique"] == 200
    assert "no finite ε" in told["sentence"]
    assert "correlation" in run("correlate", "r.csv", "-d", "d.json", "--columns", "income,sex", "--format", "csv")
    run("design", "p.csv", "-o", "e.json", "--drawn", "income", "--lam", "0.8", "--method", "expected")
    run("design", "p.csv", "-o", "o.json", "--drawn", "income", "--lam", "0.8", "--keep", "sex")
    assert "Released unrandomized: sex" in run("audit", "o.json")
    assert "undoes it exactly" in run("show", "e.json")
    assert "undoes it exactly" in run("randomize", "p.csv", "-d", "e.json", "-o", "e.csv")
    assert "undoes it exactly" in run("audit", "e.json")
    assert "undoes it exactly" in run("estimate", "e.csv", "-d", "e.json", "--mean", "income")
    assert "Not in them: income" in run("synthesize", "r.csv", "-d", "d.json", "-o", "s.csv")
    assert "Categories" not in run("show", "o.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "d.json", "--individuals", "9", "--truths", "p.csv"], "--truths says how many there are"),
        (["audit", "s.json", "--individuals", "9"], "no drawn columns"),
        (["estimate", "p.csv", "-d", "d.json", "--mean", "nosuch"], "it has: sex, income"),
        (["estimate", "p.csv", "-d", "d.json", "-t", "income"], "(--mean, --quantile"),
        (["design", "p.csv", "-o", "x.json", "--drawn", "income", "--strength", "0.5"], "(--lam income=0.8)"),
        (
            ["design", "p.csv", "-o", "x.json", "--columns", "sex", "--method", "expected", "--lam", "0.5"],
            "(--drawn income)",
        ),
    ],
)
def test_the_command_line_refuses_in_its_own_words(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("income,sex\n" + "".join(f"{i},{'FM'[i % 2]}\n" for i in range(200)))
    lr.design(tmp_path / "p.csv", lam=0.5, drawn=["income"]).save(tmp_path / "d.json")
    lr.design({"sex": ["F", "M"]}, lam=0.5).save(tmp_path / "s.json")
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


# The audit.


def test_the_audit_is_over_individuals():
    leak = lr.audit(drawn("x", lam=0.5), individuals=3).drawn[0]
    channel = lr.Channel(3, 0.5)
    assert leak.truthfulness == pytest.approx(channel.truthfulness)
    assert (leak.bits, leak.strength) == (pytest.approx(channel.bits), pytest.approx(channel.strength))
    assert leak.epsilon == np.inf
    assert lr.audit(drawn("x")).joint.epsilon == np.inf


def test_posterior_and_exposure_are_those_of_all_files():
    """Someone who knows the other two rows, by all draws of three individuals."""
    n, lam = 3, 0.5
    leak = lr.audit(drawn("x", lam=lam), individuals=n).drawn[0]

    def reports(values):  # the chances of what the first row reports
        return {v: lam * (values[0] == v) + (1 - lam) * values.count(v) / n for v in set(values)}

    for others, prior in (((1, 2), 0.2), ((2, 2), 0.2), ((2, 3), 0.7)):
        if_two, if_one = (reports((value, *others)).get(2, 0.0) for value in (2, 9))
        by_hand = prior * if_two / (prior * if_two + (1 - prior) * if_one)
        assert leak.posterior(prior, others=others.count(2)) == pytest.approx(by_hand)
    assert leak.posterior(0.01, others=0) == 1
    hidden = (1 - lam) * (1 - 1 / n) * (1 - (1 - lam) / n) ** (n - 1)
    assert leak.exposure == pytest.approx(1 - hidden)


def test_truths_say_how_many_values_are_unique():
    table = pa.table({"x": [1.0, 1.0, 2.0, 3.0]})
    leak = lr.audit(drawn("x"), truths=table).drawn[0]
    assert (leak.individuals, leak.unique) == (4, 2)
    assert lr.audit(drawn("x", method="expected"), truths=table).drawn[0].strength == 0


def test_one_unique_value_is_one():
    assert (
        "1 value of this file is of that kind"
        in lr.audit(drawn("x"), truths=pa.table({"x": [1, 1, 2]})).drawn[0].sentence
    )


def test_the_whole_release_tells_more_than_the_row_alone():
    """All releases of four rows: the worst belief is far above that from the first row's report alone."""
    n, lam, prior, others = 4, 0.5, 0.2, (2, 3, 4)
    chances = {}
    for value, belief in ((2, prior), (9, 1 - prior)):
        truths = (value, *others)
        for places in itertools.product(range(n), repeat=n):
            chance = math.prod(lam * (place == row) + (1 - lam) / n for row, place in enumerate(places))
            release = tuple(truths[place] for place in places)
            chances.setdefault(release, {2: 0.0, 9: 0.0})[value] += belief * chance
    alone = [sum(beliefs[v] for release, beliefs in chances.items() if release[0] == 2) for v in (2, 9)]
    leak = lr.audit(drawn("x", lam=lam), individuals=n).drawn[0]
    assert leak.posterior(prior, others=1) == pytest.approx(alone[0] / sum(alone)) == pytest.approx(0.6, abs=0.01)
    worst = max(
        beliefs[2] / sum(beliefs.values()) for release, beliefs in chances.items() if release[0] == 2 and beliefs[9]
    )
    assert worst == pytest.approx(0.88, abs=0.01)
    assert "alone" in leak.sentence


def test_a_release_counts_drawn_columns():
    table = pa.table({"sex": ["F", "F", "F", "M"], "x": [1.0, 1.0, 2.0, 3.0], "y": [5.0, 5.0, 6.0, 7.0]})
    design = lr.design(table, lam={"sex": 0.8, "x": 0.5, "y": 1.0}, drawn=["x", "y"])
    release = lr.audit(design, truths=table).release
    assert release.key == ("sex", "x", "y")
    assert release.uniques == release.exposed == 2
    assert release.surviving_uniques == pytest.approx(2 * 0.9 * (0.5 + 0.5 / 4))
    assert release.true_records == pytest.approx(0.9 * (2 * (0.5 + 0.5 * 2 / 4) + 2 * (0.5 + 0.5 / 4)))
    assert release.true_values["x"] == pytest.approx((2 * 0.75 + 2 * 0.625) / 4)
    alone = lr.audit(drawn("x"), truths=table).release
    assert (alone.key, alone.uniques) == (("x",), 2)
    assert alone.surviving_uniques == pytest.approx(2 * 0.625)


def test_a_release_counts_public_gaps_and_the_expected_form(tmp_path):
    (tmp_path / "x.csv").write_text("x\n1\n1.0\n\n2\n")
    found = lr.audit(drawn("x", missing="", missing_is_public=True), truths=tmp_path / "x.csv")
    assert (found.drawn[0].individuals, found.drawn[0].unique) == (3, 1)
    assert found.release.uniques == 2
    assert found.release.exposed == 1
    assert found.release.surviving_uniques == pytest.approx(1 + 0.5 + 0.5 / 3)
    undone = lr.audit(drawn("x", method="expected"), truths=pa.table({"x": [1.0, 1.0, 2.0]})).release
    assert (undone.exposed, undone.surviving_uniques, undone.true_records) == (1, 1.0, 3.0)


@pytest.mark.parametrize("individuals", [1, 0, 2.5, True])
def test_individuals_must_be_a_number_of_people(individuals):
    with pytest.raises(lr.DesignError, match="individuals"):
        lr.audit(drawn("x"), individuals=individuals)
