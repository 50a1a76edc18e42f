"""Respondents who answer some of the attributes: the sets, the answers in them, and what is estimated from both."""

import itertools
import json
import math

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import lambdarr as lr
from lambdarr import client, parallel, randomization, sampling, sources
from lambdarr.cli import app
from tests.files import write
from tests.statistics import assert_plausible, binomial, chi_square
from tests.test_designs import SCHEMA

SIZES = (9, 16, 7, 15, 6, 5, 2, 2)
SMOKES = lr.Attribute("smokes", ["no", "yes"], missing="NA")
AGE = lr.Attribute("age", [1, 2, 3])
INCOME = lr.Attribute("income", ["low", "high"], missing="?", missing_is_public=True)
OLD = lr.Attribute("old", [True, False])
DESIGN = lr.design([SMOKES, AGE, INCOME, OLD], lam=0.5, asked=2)
N = 4_000


def people(n=N, seed=1):
    """Return a table with missing values of both kinds, in which age and income go together."""
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 3, n)
    high = generator.random(n) < 0.2 + 0.3 * age
    income = np.where(generator.random(n) < 0.1, None, np.where(high, "high", "low"))
    smokes = generator.choice(np.array(["no", "yes", None]), n, p=[0.6, 0.3, 0.1])
    old = [bool(a == 2) for a in age]
    return pa.table({"smokes": list(smokes), "age": age + 1, "income": list(income), "old": old})


TRUTHS = people()
REPORTS = lr.randomize(TRUTHS, DESIGN, rng=lr.SeededWords(5))


def there(reports, names):
    columns = [reports[name].to_pylist() if isinstance(reports, pa.Table) else list(reports[name]) for name in names]
    return np.array([[not pd.isna(value) for value in column] for column in columns]).all(axis=0)


def plain(asked=2, *, m=5, lam=0.6):
    return lr.design({f"a{j}": range(j + 2) for j in range(m)}, lam=lam, asked=asked)


def codes_of(design, n, seed=1):
    generator = np.random.default_rng(seed)
    return pa.table({a.name: generator.integers(0, a.size, n) for a in design.attributes})


# The design.


@pytest.mark.parametrize("asked", [0, -1, 5, 1.5, 2.0, "2", True, np.nan, [2]])
def test_impossible_number_is_refused(asked):
    with pytest.raises(lr.DesignError, match="asked must be a whole number from 1 to the 4"):
        lr.Design(DESIGN.attributes, DESIGN.channels, asked=asked)
    with pytest.raises(lr.DesignError, match="asked must be a whole number from 1 to the 4"):
        lr.design(DESIGN.attributes, epsilon=1, asked=asked)


def test_asking_all_is_the_design_without_it():
    attributes = [AGE, OLD]
    assert lr.design(attributes, epsilon=1, asked=2) == lr.design(attributes, epsilon=1)
    assert lr.design(attributes, epsilon=1, asked=np.int64(1)).asked == 1


@pytest.mark.parametrize(
    "attribute",
    [
        lr.Attribute("x", ["a", "b"], missing=""),
        lr.Attribute("x", [1, 2], missing="NA"),
        lr.Attribute("x", [True, False], missing="NA"),
        lr.Attribute("x", ["", "b"]),
        lr.Attribute("x", ["", "b"], missing="NA", missing_is_public=True),
    ],
)
def test_attribute_whose_answer_may_look_like_not_asked_is_refused(attribute):
    design = lr.design([attribute, OLD], lam=0.5)
    with pytest.raises(lr.DesignError, match=r"'x' has .* 'not asked'; "):
        lr.Design(design.attributes, design.channels, asked=1)
    document = {**json.loads(design.to_json()), "schema_version": 2, "asked": 1}
    with pytest.raises(client.ClientError, match="not asked"):
        client.Client(json.dumps(document))


def test_json_gives_it_back_as_version_2():
    document = json.loads(DESIGN.to_json())
    assert (document["schema_version"], document["asked"]) == (2, 2)
    assert lr.Design.from_json(DESIGN.to_json()) == DESIGN
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(document)
    assert "asked" not in json.loads(lr.design([AGE, OLD], lam=0.5).to_json())


def test_version_1_cannot_declare_it():
    text = plain().to_json().replace('"schema_version": 2', '"schema_version": 1')
    with pytest.raises(lr.DesignError, match="schema_version 2"):
        lr.Design.from_json(text)
    with pytest.raises(client.ClientError, match="version"):
        client.Client(text)
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(text))


@pytest.mark.parametrize("asked", [0, 6, True, None, "2", 2.5, [2]])
def test_file_that_is_not_clear_about_it_is_refused(asked):
    text = json.dumps({**json.loads(plain().to_json()), "asked": asked})
    with pytest.raises(lr.DesignError, match="asked"):
        lr.Design.from_json(text)
    with pytest.raises(client.ClientError, match="asked"):
        client.Client(text)


def test_part_remembers_what_it_is_a_part_of():
    part = DESIGN.select(["old", "age"])
    assert (part.asked, part.out_of, part.gaps) == (2, 4, ("old", "age"))
    assert DESIGN.select(DESIGN.names) == DESIGN
    for use in (lr.Design.to_json, lr.draw_questions, lambda d: lr.randomize(TRUTHS.select(d.names), d)):
        with pytest.raises(lr.DesignError, match="a part of a design"):
            use(part)


def test_measures_are_worst_cases_and_means_over_all_sets():
    """Against every set of two, each taken as a design of its own."""
    whole = lr.design([SMOKES, AGE, INCOME, OLD], lam={"smokes": 0.3, "age": 0.5, "income": 0.8, "old": 0.2})
    design = lr.Design(whole.attributes, whole.channels, asked=2)
    prior = {"age": [0.2, 0.7, 0.1]}
    sets = [whole.select(names) for names in itertools.combinations(whole.names, 2)]
    audits = [lr.audit(part, {k: v for k, v in prior.items() if k in part.names}) for part in sets]
    most = {"smokes": 1 / 3, "age": 0.7, "income": 0.5, "old": 0.5}
    rest = [math.prod(most.values()) / math.prod(most[name] for name in part.names) for part in sets]
    assert design.epsilon == pytest.approx(max(part.epsilon for part in sets))
    assert design.bits == pytest.approx(np.mean([part.bits for part in sets]))
    assert design.strength == pytest.approx(whole.strength)
    assert design.truthfulness == pytest.approx(np.mean([part.truthfulness for part in sets]))
    assert design.noise_amplification == pytest.approx(max(part.noise_amplification for part in sets))
    joint = lr.audit(design, prior).joint
    assert joint.capacity == pytest.approx(np.mean([found.joint.capacity for found in audits]))
    assert joint.guess_gain == pytest.approx(np.mean([found.joint.guess_gain for found in audits]))
    posteriors = [found.joint.worst_posterior * other for found, other in zip(audits, rest, strict=True)]
    assert joint.worst_posterior == pytest.approx(max(posteriors))


def test_likelihood_ratio_of_whole_reports_reaches_epsilon_and_no_more():
    """Every set, report and pair of records of a small design, by enumeration."""
    design = lr.design([OLD, AGE], lam={"old": 0.4, "age": 0.7}, asked=1)
    largest = 0.0
    for channel in design.channels:  # one attribute is asked, and which one does not depend on the record
        P = channel.matrix()
        largest = max(largest, np.log(P.max(axis=0) / P.min(axis=0)).max())
    assert design.epsilon == pytest.approx(largest)


@pytest.mark.parametrize("asked", [1, 2, 3, 5])
def test_joint_targets_are_met_by_what_is_asked(asked):
    sizes = {f"a{j}": range(r) for j, r in enumerate((2, 3, 4, 5, 6))}
    found = lr.design(sizes, epsilon=2.0, asked=asked)
    assert found.epsilon == pytest.approx(2, abs=1e-6)
    assert found.epsilon <= 2
    assert [c.epsilon for c in found.channels] == pytest.approx([2 / asked] * 5, abs=1e-6)
    bits = 0.5 * asked
    assert lr.design(sizes, bits=bits, asked=asked).bits == pytest.approx(bits, abs=1e-6)
    assert lr.design(sizes, strength=0.7, asked=asked).strength == pytest.approx(0.7, abs=1e-6)


# The sets.


@pytest.mark.parametrize(("asked", "count"), [(1, 2), (1, 5), (2, 5), (3, 5), (4, 5), (3, 7)])
def test_every_set_is_as_likely_as_any_other(asked, count):
    """n = 100,000 sets per case, seed 1."""
    chosen = sampling.drawn_sets(lr.SeededWords(1), 100_000, asked=asked, count=count)
    assert (chosen.sum(axis=0) == asked).all()
    numbers = (2 ** np.arange(count)) @ chosen
    sets = [sum(2**place for place in places) for places in itertools.combinations(range(count), asked)]
    observed = np.bincount(numbers, minlength=2**count)
    assert observed[sets].sum() == 100_000
    assert_plausible(chi_square(observed[sets], np.full(len(sets), 1 / len(sets))))


@pytest.mark.parametrize(("asked", "count"), [(1, 3), (2, 4), (3, 4)])
def test_every_set_of_the_client_is_as_likely_as_any_other(asked, count, monkeypatch):
    words = iter(lr.SeededWords(2).words(200_000).tolist())
    monkeypatch.setattr("secrets.randbits", lambda bits: next(words))
    found = [tuple(client.drawn_set(asked, count)) for _ in range(20_000)]
    sets = list(itertools.combinations(range(count), asked))
    assert_plausible(chi_square([found.count(s) for s in sets], np.full(len(sets), 1 / len(sets))))


def test_sets_follow_the_same_rule_for_one_and_for_many(monkeypatch):
    """Word by word, with words at every edge of every bound and those that are drawn again."""
    count, asked, n = 7, 4, 64
    generator = np.random.default_rng(3)
    edges = [k * (2**32 // b) + d for b in range(2, 8) for k in range(b + 1) for d in (-1, 0, 1)]
    words = np.array([edge for edge in edges if 0 <= edge < 2**32] + [2**32 - 1] * 50, dtype=np.uint32)

    class Given:
        seeded = True

        def __init__(self):
            self.handed = []

        def span(self, size):
            drawn = generator.choice(words, size)
            self.handed.append(drawn)

            class Drawn:
                def fill(self, into):
                    into[:] = drawn

            return Drawn()

    source = Given()
    chosen = sampling.drawn_sets(source, n, asked=asked, count=count)
    assert len(source.handed) > asked  # some were drawn again
    # the words of each record: one of each round, and where it was rejected one more of the next
    own = [[] for _ in range(n)]
    bound, waiting = count - asked + 1, np.arange(n)
    for drawn in source.handed:
        for record, word in zip(waiting, drawn, strict=True):
            own[record].append(int(word))
        waiting = waiting[drawn // (2**32 // bound) >= bound]
        if not waiting.size:
            bound, waiting = bound + 1, np.arange(n)
    for record in range(n):
        mine = iter(own[record])
        monkeypatch.setattr("secrets.randbits", lambda bits, mine=mine: next(mine))
        assert client.drawn_set(asked, count) == np.flatnonzero(chosen[:, record]).tolist()
        assert next(mine, None) is None


def test_sets_are_uniform_at_every_position():
    """First and last row included: 3,000 tables of 7 rows, 5 attributes, 2 asked, seed 9."""
    design, rng, repetitions = plain(), lr.SeededWords(9), 3_000
    truths = codes_of(design, 7)
    asked = np.zeros((7, 5))
    for _ in range(repetitions):
        reports = lr.randomize(truths, design, rng=rng)
        asked += np.array([[value is not None for value in reports[name].to_pylist()] for name in design.names]).T
    assert_plausible(binomial(asked, repetitions, 2 / 5).ravel())


def test_sets_do_not_depend_on_the_answers():
    design, n = plain(), 2_000
    zeros = pa.table({name: np.zeros(n, dtype=int) for name in design.names})
    one, other = (lr.randomize(t, design, rng=lr.SeededWords(4)) for t in (zeros, codes_of(design, n)))
    for name in design.names:
        assert one[name].is_valid().equals(other[name].is_valid())


# The answers.


@pytest.mark.parametrize("compiled", [False, True])
def test_answers_that_are_asked_follow_the_channel_cell_by_cell(compiled, monkeypatch):
    """100,000 records per truth, seed 3; a missing value that is randomized has its row too."""
    monkeypatch.setattr(randomization, "worth_compiling", lambda *_, **__: compiled)
    for truth in SMOKES.values:
        table = pa.table(
            {
                "smokes": pa.array([truth] * 100_000, pa.string()),
                "age": [2] * 100_000,
                "income": ["low"] * 100_000,
                "old": [True] * 100_000,
            }
        )
        reports = lr.randomize(table, DESIGN, rng=lr.SeededWords(3))
        found = lr.tallies(reports, DESIGN, [["smokes"], ["age"], ["smokes", "old"]])
        rows = [DESIGN.channels[0].matrix()[SMOKES.code(truth)], DESIGN.channels[1].matrix()[1]]
        old = DESIGN.channels[3].matrix()[0]
        expected = [rows[0], rows[1], np.outer(rows[0], old).ravel()]
        assert_plausible([chi_square(c.values.ravel(), e) for c, e in zip(found, expected, strict=True)])
        assert_plausible(binomial(np.array([c.n for c in found]), 100_000, np.array([1 / 2, 1 / 2, 1 / 6])))


def test_answers_that_are_asked_are_randomized_at_every_position():
    design, rng, repetitions = plain(lam=0.5), lr.SeededWords(6), 3_000
    truths = codes_of(design, 5)
    kept, asked = np.zeros((5, 5)), np.zeros((5, 5))
    for _ in range(repetitions):
        reports = lr.randomize(truths, design, rng=rng)
        for j, name in enumerate(design.names):
            pairs = zip(reports[name].to_pylist(), truths[name].to_pylist(), strict=True)
            for i, (report, truth) in enumerate(pairs):
                asked[i, j] += report is not None
                kept[i, j] += report == truth
    rates = np.broadcast_to([channel.truthfulness for channel in design.channels], (5, 5))
    assert_plausible(binomial(kept, asked, rates).ravel())


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_seeded_reports_do_not_depend_on_threads(monkeypatch, cores):
    monkeypatch.setattr(sources, "_BATCH_ROWS", 100)
    expected = lr.randomize(TRUTHS, DESIGN, rng=lr.SeededWords(5))
    monkeypatch.setattr(parallel, "cores", lambda: cores)
    assert lr.randomize(TRUTHS, DESIGN, rng=lr.SeededWords(5)).equals(expected)


# Frames and files.


@pytest.mark.parametrize(
    "frame",
    [
        TRUTHS,
        TRUTHS.to_pandas(),
        TRUTHS.to_pandas().astype({"smokes": "category", "age": "Int64", "old": "boolean"}),
        pl.from_arrow(TRUTHS),
        TRUTHS.set_column(0, "smokes", TRUTHS["smokes"].dictionary_encode()),
        TRUTHS.set_column(0, "smokes", TRUTHS["smokes"].cast(pa.string_view())),
        TRUTHS.to_pylist(),
    ],
    ids=["pyarrow", "pandas", "pandas types", "polars", "dictionary", "view", "records"],
)
def test_reports_of_every_frame_are_null_where_not_asked(frame):
    reports = lr.randomize(frame, DESIGN, rng=lr.SeededWords(5))
    assert type(reports) is type(frame)
    again = pa.Table.from_pylist(reports) if isinstance(reports, list) else reports
    answered = np.array([there(again, [name]) for name in DESIGN.names]).sum(axis=0)
    assert set(answered) == {1, 2}  # one where income was asked, and missing in plain sight
    assert "NA" in set(again["smokes"].to_pylist() if isinstance(again, pa.Table) else again["smokes"])
    for name in DESIGN.names:
        found, expected = lr.tally(reports, DESIGN, [name]), lr.tally(REPORTS, DESIGN, [name])
        np.testing.assert_array_equal(found.values, expected.values)
        assert found.n == there(again, [name]).sum()


@pytest.mark.parametrize("output", ["csv", "tsv", "parquet", "arrow"])
@pytest.mark.parametrize("input", ["csv", "parquet"])
def test_reports_of_every_file_are_told_apart(tmp_path, input, output):
    spelled = {
        a.name: [(a.missing or "") if v is None else str(v).lower() for v in TRUTHS[a.name].to_pylist()]
        for a in DESIGN.attributes
    }
    spelled["smokes"] = ["NA" if v is None else v for v in TRUTHS["smokes"].to_pylist()]
    path = write(pa.table(spelled) if input == "csv" else TRUTHS, tmp_path / f"in.{input}")
    out = tmp_path / f"out.{output}"
    lr.randomize_file(path, out, DESIGN, rng=lr.SeededWords(5))
    for names in (["smokes"], ["age"], ["income"], ["old"], ["age", "smokes"]):
        np.testing.assert_array_equal(
            lr.tally(out, DESIGN, names).values, lr.tally(REPORTS, DESIGN, names).values, err_msg=str(names)
        )
    if output == "csv":
        rows = [line.replace('"', "").split(",") for line in out.read_text().splitlines()[1:]]
        assert {row[0] for row in rows} == {"no", "yes", "NA", ""}
        assert {row[2] for row in rows} == {"low", "high", "?"}


def test_an_empty_field_is_not_asked_also_where_missing_has_a_text(tmp_path):
    (tmp_path / "r.csv").write_text("smokes,age,income,old\n,1,,\nNA,,high,\n,2,?,\n")
    assert [lr.tally(tmp_path / "r.csv", DESIGN, [name]).n for name in ("smokes", "age", "income")] == [1, 2, 1]


def test_truths_must_be_complete_whether_asked_or_not():
    bad = TRUTHS.set_column(1, "age", pa.array([None] + [1] * (N - 1)))
    with pytest.raises(lr.DataError, match=r"'age' missing, first at row 1"):
        lr.randomize(bad, DESIGN)
    record = {"smokes": "no", "age": None, "income": "low", "old": True}
    for _ in range(20):
        with pytest.raises(lr.DataError, match="'age'"):
            lr.randomize_record(record, DESIGN)
        with pytest.raises(client.ClientError, match="'age'"):
            client.Client(DESIGN.to_json()).randomize(record)


@pytest.mark.parametrize("device", ["client", "library"])
def test_one_record_reports_what_is_asked(device):
    both = client.Client(DESIGN.to_json())
    record = {"smokes": None, "age": 2, "income": "low", "old": True}
    n, asked, missing = 4_000, dict.fromkeys(DESIGN.names, 0), 0
    for _ in range(n):
        report = both.randomize(record) if device == "client" else lr.randomize_record(record, DESIGN)
        assert sum(value is not None for value in report.values()) == 2
        for name, value in report.items():
            asked[name] += value is not None
        missing += report["smokes"] == "NA"
    assert_plausible(binomial(np.array([*asked.values()]), n, 0.5))
    assert_plausible(binomial(missing, asked["smokes"], DESIGN.channels[0].truthfulness))


@pytest.mark.parametrize("device", ["client", "library"])
def test_a_device_asks_only_what_was_drawn(device):
    both = client.Client(DESIGN.to_json())
    record = {"smokes": "no", "age": 2, "income": "low", "old": True}

    def randomize(answers, questions):
        if device == "client":
            return both.randomize(answers, questions)
        return lr.randomize_record(answers, DESIGN, questions)

    for _ in range(50):
        questions = both.questions() if device == "client" else lr.draw_questions(DESIGN)
        assert len(questions) == 2
        report = randomize({name: record[name] for name in questions}, questions)
        assert {name for name, value in report.items() if value is not None} == set(questions)
    for answers, questions, says in [
        ({"age": 2}, ["age"], "names of 2 attributes"),
        ({"age": 2}, ["age", "age"], "names of 2 attributes"),
        ({"age": 2, "old": True}, ["age", "SECRET"], "names of 2 attributes"),
        ({"age": 2}, ["age", "old"], "no 'old'"),
        ({"age": 2, "old": True, "smokes": "no"}, ["age", "old"], "'smokes', which was not asked"),
    ]:
        with pytest.raises(ValueError, match=says):
            randomize(answers, questions)


# Estimates.


def test_number_of_reports_of_a_table_is_what_is_expected():
    """n = 60,000 and seed 2, every table of up to three of five attributes."""
    design, n = plain(3), 60_000
    reports = lr.randomize(codes_of(design, n), design, rng=lr.SeededWords(2))
    tables = [names for k in (1, 2, 3) for names in itertools.combinations(design.names, k)]
    found = np.array([counts.n for counts in lr.tallies(reports, design, tables)])
    chance = [math.comb(5 - len(names), 3 - len(names)) / math.comb(5, 3) for names in tables]
    assert_plausible(binomial(found, n, np.array(chance)))


def test_counts_and_estimates_are_those_of_the_reports_that_have_all():
    for names in (["smokes"], ["age", "income"], ["old", "smokes"]):
        kept = REPORTS.select(names).filter(pa.array(there(REPORTS, names)))
        part = DESIGN.select(names)
        alone = lr.Design(
            [
                lr.Attribute(a.name, a.categories, a.missing) if a is SMOKES else lr.Attribute(a.name, a.categories)
                for a in part.attributes
            ],
            part.channels,
        )
        found, expected = lr.estimate(REPORTS, DESIGN, names), lr.estimate(kept, alone, names)
        assert found.n == expected.n == there(REPORTS, names).sum()
        np.testing.assert_allclose(found.values, expected.values)
        np.testing.assert_allclose(found.standard_errors, expected.standard_errors)


def test_estimates_are_unbiased_and_their_intervals_cover():
    """200 files of 2,000 people; the mean of 200 standard scores is beyond 5.5/√200 less than once in 10⁷ times, and
    fewer than 172 of 200 intervals of 95 % hold less than once in 10⁶ times.
    """
    design, rng, generator, repetitions = plain(2, m=3, lam=0.6), lr.SeededWords(4), np.random.default_rng(5), 200
    joint = generator.dirichlet(np.ones(24)).reshape(2, 3, 4)
    scores, covered = [], []
    for _ in range(repetitions):
        cells = generator.choice(24, 2_000, p=joint.ravel())
        codes = np.unravel_index(cells, joint.shape)
        reports = lr.randomize(pa.table(dict(zip(design.names, codes, strict=True))), design, rng=rng)
        found = lr.estimate(reports, design, ["a0", "a2"], method="inverse")
        lower, upper = found.interval(0.95)
        truth = joint.sum(axis=1)
        scores.append((found.values - truth) / found.standard_errors)
        covered.append((lower <= truth) & (truth <= upper))
    assert np.abs(np.mean(scores, axis=0)).max() < 5.5 / np.sqrt(repetitions)
    assert 0.9 < np.std(scores) < 1.1
    assert np.mean(covered) > 0.93
    assert np.mean(covered, axis=0).min() > 0.86


@pytest.mark.parametrize(
    "ask",
    [
        lambda d, r: lr.tally(r, d, ["smokes", "age", "old"]),
        lambda d, r: lr.tallies(r, d, [["age"], ["smokes", "age", "old"]]),
        lambda d, r: lr.estimate(r, d, ["smokes", "age", "old"]),
        lambda d, r: lr.estimate(lr.Counts.from_array(["smokes", "age", "old"], np.ones((3, 3, 2))), d),
        lambda d, r: lr.query(r, d, {"age": 1, "old": True}, given={"smokes": "no"}),
        lambda d, r: lr.regress("age ~ smokes + old", r, d),
    ],
    ids=["tally", "tallies", "estimate", "counts", "query", "regress"],
)
def test_more_than_anyone_was_asked_is_refused(ask):
    with pytest.raises(lr.DataError, match=r"no respondent was asked all of .*; each answers 2 of the 4"):
        ask(DESIGN, REPORTS)


def test_pairs_need_two_answers():
    design = plain(1)
    reports = lr.randomize(codes_of(design, 100), design)
    with pytest.raises(lr.DataError, match="each answers 1 of the 5"):
        lr.correlate(reports, design)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: lr.estimate(REPORTS, DESIGN, ["age"], inference="finite"),
        lambda: lr.query(REPORTS, DESIGN, {"age": 1}, inference="finite"),
        lambda: lr.correlate(REPORTS, DESIGN, ["age", "old"], inference="finite"),
        lambda: lr.regress("age ~ old", REPORTS, DESIGN, inference="finite"),
    ],
    ids=["estimate", "query", "correlate", "regress"],
)
def test_a_sample_of_the_file_is_not_the_file(ask):
    with pytest.raises(lr.DataError, match="ask for 'population'"):
        ask()


def test_every_verb_takes_the_reports_that_have_what_it_asks_about():
    both = there(REPORTS, ["age", "income"]).sum()
    assert lr.query(REPORTS, DESIGN, {"income": "high"}, given={"age": 3}).n == both
    assert lr.query(REPORTS, DESIGN, {"smokes": None}).n == there(REPORTS, ["smokes"]).sum()
    pairs = {pair.attributes: pair.n for pair in lr.correlate(REPORTS, DESIGN).pairs}
    assert pairs[("age", "income")] == both
    found = lr.unbiased(REPORTS, DESIGN)
    assert found["smokes=NA"].null_count == N - there(REPORTS, ["smokes"]).sum()
    village = np.arange(N) // 10
    assert lr.query(REPORTS, DESIGN, {"age": 1}, clusters=village).n == there(REPORTS, ["age"]).sum()
    assert (
        lr.estimate(REPORTS, DESIGN, ["age"], clusters=village, weights=np.ones(N)).n == there(REPORTS, ["age"]).sum()
    )


def test_regression_is_that_of_the_truths():
    """n = 60,000: the slope of old on age within 5.5 standard errors."""
    truths = people(60_000).select(["age", "old"])
    design = lr.design([AGE, OLD, lr.Attribute("x", [0, 1])], lam=0.7, asked=2)
    truths = truths.append_column("x", pa.array(np.zeros(60_000, dtype=int)))
    found = lr.regress("age ~ old", lr.randomize(truths, design, rng=lr.SeededWords(1)), design)
    assert found.n == pytest.approx(20_000, abs=400)
    age, old = truths["age"].to_numpy(), truths["old"].to_numpy()
    slope = age[old].mean() - age[~old].mean()
    assert abs(found.coefficients["old[T.False]"] + slope) < 5.5 * found.standard_errors["old[T.False]"]


def test_model_is_made_from_everyone():
    """A chain of four attributes of which each person answers two: pairs tie what nobody answered together."""
    generator, n = np.random.default_rng(7), 60_000
    codes = [generator.integers(0, 2, n)]
    for _ in range(3):
        codes.append(np.where(generator.random(n) < 0.8, codes[-1], generator.integers(0, 2, n)))
    design = lr.design({name: [0, 1] for name in "abcd"}, lam=0.8, asked=2)
    truths = pa.table(dict(zip("abcd", codes, strict=True)))
    found = lr.model(lr.randomize(truths, design, rng=lr.SeededWords(1)), design)
    assert {frozenset(pair) for pair in found.pairs} >= {frozenset(pair) for pair in ("ab", "bc", "cd")}
    assert found.n == n
    assert found.answered == pytest.approx([n / 2] * 4, rel=0.03)
    joint = np.bincount((8 * codes[0] + 4 * codes[1] + 2 * codes[2] + codes[3]), minlength=16) / n
    np.testing.assert_allclose(found.table(list("abcd")).ravel(), joint, atol=0.02)
    assert found.synthesize(100, seed=1).num_rows == 100
    assert found.simulated_error(lambda model: model.probability({"a": 1}), repetitions=2) > 0


def test_model_where_each_answers_one_is_of_independent_attributes():
    design = plain(1)
    found = lr.model(lr.randomize(codes_of(design, 2_000), design), design)
    assert found.pairs == ()


def test_waves_that_ask_some_and_all_combine():
    every = lr.Design(DESIGN.attributes, DESIGN.channels)
    numbers = lr.design([AGE, OLD], lam=0.7)
    some = lr.design([AGE, OLD], lam=0.7, asked=1)
    truths = TRUTHS.select(["age", "old"])
    waves = [(lr.randomize(truths, numbers), numbers), (lr.randomize(truths, some), some)]
    found = lr.estimate(waves, attributes=["age"])
    assert N < found.n < 2 * N
    assert lr.model(waves).n == 2 * N
    assert every.gaps == ("income",)


# How many to ask.


def test_predicted_error_is_the_sum_over_all_tables():
    sizes, n = (2, 3, 4, 5), 500
    source = {f"a{j}": range(r) for j, r in enumerate(sizes)}
    for order in (1, 2, 3):
        found = lr.compare_asked(source, epsilon=2, workload=order, n=n)
        assert [plan.asked for plan in found.plans] == list(range(order, 5))
        for plan in found.plans:
            people = n * math.comb(4 - order, plan.asked - order) / math.comb(4, plan.asked)
            total = 0.0
            for names in itertools.combinations(range(4), order):
                c = math.prod((1 + (sizes[j] - 1) / plan.lams[j] ** 2) / sizes[j] for j in names)
                cells = math.prod(sizes[j] for j in names)
                total += (c - 1 / cells) / cells / people
            assert plan.reports == pytest.approx(people)
            assert plan.error == pytest.approx(total, rel=1e-6)
            assert plan.design.epsilon == pytest.approx(2, abs=1e-6)
        assert found.plans[-1].gain == 1
        assert found.best.error == min(plan.error for plan in found.plans)
        assert found.to_frame()["asked"].to_pylist() == [plan.asked for plan in found.plans]


def test_at_epsilon_1_asking_one_of_eight_has_a_fraction_of_the_error():
    """Predicted 12 times less in total, 8.5 to 20 times by table, 13 on average; simulated within 10 %."""
    source = {f"a{j}": range(r) for j, r in enumerate(SIZES)}
    n, files = 4_000, 120
    found = lr.compare_asked(source, epsilon=1, n=n)
    assert found.best.asked == 1
    assert found.best.gain == pytest.approx(11.6, abs=0.05)
    assert repr(found).endswith("1 to 8 of 8 attributes asked: best is 1, with 11.6 × less error than all>")
    assert repr(found.best) == "<AskedPlan: 1 of 8 asked, 11.6 × less error than all>"
    assert "1 (best)" in found._repr_html_()
    one, every = found.plans[0], found.plans[-1]
    by_table = [(1 / b**2) / (8 / a**2) for a, b in zip(one.lams, every.lams, strict=True)]
    assert (min(by_table), max(by_table)) == pytest.approx((8.47, 20.23), abs=0.01)
    assert math.exp(np.mean(np.log(by_table))) == pytest.approx(13.2, abs=0.05)
    truths = pa.table({name: np.arange(n) * (j + 1) % len(r) for j, (name, r) in enumerate(source.items())})
    shares = [np.bincount(truths[name].to_numpy(), minlength=len(r)) / n for name, r in source.items()]
    rng = lr.SeededWords(8)
    for plan in (one, every):
        errors = []
        for _ in range(files):
            counted = lr.tallies(lr.randomize(truths, plan.design, rng=rng), plan.design, [[name] for name in source])
            found_shares = [
                lr.kronecker.solve([channel], counts.values / counts.total)
                for counts, channel in zip(counted, plan.design.channels, strict=True)
            ]
            errors.append(sum(((f - p) ** 2).mean() for f, p in zip(found_shares, shares, strict=True)))
        assert np.mean(errors) == pytest.approx(plan.error, rel=0.1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"workload": 0}, "from 1 to 5"),
        ({"workload": 1.5}, "workload must be an order"),
        ({"workload": [("a0", "b")]}, "'b', which is no attribute"),
        ({"workload": [("a0", "a1")]}, "'a2' is in no table"),
        ({"n": 0}, "n must be a whole number"),
        ({"epsilon": 0}, "epsilon must be a positive number"),
    ],
)
def test_impossible_comparison_is_refused(options, says):
    with pytest.raises(lr.DesignError, match=says):
        lr.compare_asked({f"a{j}": [0, 1] for j in range(5)}, **{"epsilon": 1, **options})


def test_a_workload_of_named_tables_decides_how_many_to_ask():
    source = {name: range(4) for name in "abcd"}
    pair = lr.compare_asked(source, epsilon=2, workload={("a", "b"): 1, ("c",): 3, ("d",): 1}, n=600)
    assert [plan.asked for plan in pair.plans] == [2, 3, 4]
    assert [plan.reports for plan in pair.plans] == pytest.approx([100, 300, 600])
    assert pair.best.asked == 2
    made = lr.design(source, epsilon=2, workload={("a", "b"): 1, ("c",): 3, ("d",): 1}, asked="auto")
    assert made == pair.best.design


# The command line.


def ran(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_command_line_follows_it_from_design_to_estimate(tmp_path):
    path = write(TRUTHS.select(["age", "old"]).append_column("b", TRUTHS["age"]), tmp_path / "people.csv")
    made, reports = tmp_path / "design.json", tmp_path / "reports.csv"
    said = "Each respondent answers 2 of the 3 attributes"
    assert said in ran("design", path, "-o", made, "--epsilon", 2, "--asked", 2)
    assert said in ran("show", made)
    assert said in ran("audit", made)
    assert said in ran("randomize", path, "-d", made, "-o", reports)
    assert json.loads(ran("show", made, "--json"))["asked"] == json.loads(ran("audit", made, "--json"))["asked"] == 2
    assert json.loads(ran("show", made, "--json"))["joint"]["epsilon"] == pytest.approx(2, abs=1e-6)
    assert "reports with every answer" in ran("estimate", reports, "-d", made, "-t", "age,old")
    ran("query", reports, "-d", made, "--where", "old=true")
    ran("correlate", reports, "-d", made)
    ran("synthesize", reports, "-d", made, "-o", tmp_path / "synthetic.csv")
    for arguments, says in [
        (("estimate", reports, "-d", made, "-t", "age,old,b"), "no respondent was asked all of age, old, b"),
        (("design", path, "-o", tmp_path / "x.json", "--epsilon", 2, "--asked", 4), "asked must be a whole number"),
        (("design", path, "-o", tmp_path / "x.json", "--epsilon", 2, "--asked", 0), "asked must be a whole number"),
        (("design", path, "-o", tmp_path / "x.json", "--epsilon", 2, "--asked", "two"), "--asked must be"),
    ]:
        refused = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert refused.exit_code == 2
        assert says in " ".join(refused.output.split())
