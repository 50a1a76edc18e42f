"""Numbers in local mode: public edges, bins and random rounding, and the files and clients that follow them."""

import datetime
import json
import math

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lambdarr as lr
from lambdarr import client
from lambdarr.numeric import spaced_edges
from lambdarr.scales import read_numbers, written
from tests.files import write
from tests.statistics import assert_plausible, chi_square
from tests.test_designs import SCHEMA

WORDS = 2**32
BINS = lr.Scale((0, 10, 20, 60), rounding="none")
EDGES = lr.Scale((0, 10, 20, 60), rounding="random", outside="clip")
DAYS = lr.Numeric("born", "1950-01-01", "2000-01-01", bins=5, rounding="none", outside="refuse").scale()
DESIGN = lr.design(
    [lr.Attribute.on("age", BINS), lr.Attribute.on("paid", EDGES, missing="NA"), lr.Attribute.on("born", DAYS)],
    lam=0.5,
)
TRUTHS = pa.table(
    {
        "age": pa.array([-1, 5, 10, 60, 61], pa.int64()),
        "paid": pa.array([2.5, None, 15.0, 70.0, -3.0]),
        "born": pa.array([datetime.date(1955, 5, 5)] * 5),
    }
)


def words(count, seed=1):
    return np.random.default_rng(seed).integers(0, WORDS, count, dtype=np.uint32)


# The scale itself.


def test_bins_are_half_open_and_the_last_has_both_its_ends():
    values = np.array([-0.1, 0, 9.9, 10, 19.9, 20, 60, 60.1])
    assert BINS.labels == ("below 0", "[0, 10)", "[10, 20)", "[20, 60]", "above 60")
    assert BINS.codes(values, None).tolist() == [0, 1, 1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize("value", [0.0, 2.5, 7.0, 10.0, 33.3, 59.999, 60.0])
def test_mean_of_the_rounded_number_is_the_number_to_within_a_word(value):
    """The words that round up are those below a bound; so one word more or less is all that can be wrong."""
    low = EDGES.codes(np.array([value]), np.array([WORDS - 1], dtype=np.uint32))[0]
    first, second = 0, WORDS  # the least word that does not round up, by bisection
    while first < second:
        middle = (first + second) // 2
        if EDGES.codes(np.array([value]), np.array([min(middle, WORDS - 1)], dtype=np.uint32))[0] > low:
            first = middle + 1
        else:
            second = middle
    up = low + 1 if first else low
    mean = EDGES.points[low] + (EDGES.points[min(up, 3)] - EDGES.points[low]) * (first / WORDS)
    assert mean == pytest.approx(value, abs=2 * 40 / WORDS)


def test_outside_is_counted_clipped_or_refused():
    values, drawn = np.array([-5.0, 70.0]), words(2)
    for outside, expected in (("count", [0, 5]), ("clip", [0, 3]), ("refuse", [-1, -1])):
        scale = lr.Scale(EDGES.edges, outside=outside)
        assert scale.codes(values, drawn).tolist() == expected


def test_points_of_whole_numbers_are_the_middle_of_those_in_the_bin():
    scale = lr.Scale((0, 10, 20), unit="integer", rounding="none")
    assert scale.points.tolist() == [4.5, 15.0]  # 0 … 9, and 10 … 20
    assert lr.Scale((0, 10, 20), rounding="none").points.tolist() == [5.0, 15.0]


def test_labels_are_the_numbers_themselves():
    edges = spaced_edges(0, 1, 3, "number")
    assert lr.Scale(edges).labels[1:-1] == ("0", "0.3333", "0.6667", "1")
    assert lr.Scale((0, 1 / 3, 1)).edges[1] == 0.333333333333
    assert written(-1, "date") == "1969-12-31"


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"edges": (0,)}, "two or more"),
        ({"edges": (0, math.inf)}, "finite"),
        ({"edges": (1, 0)}, "ascend"),
        ({"edges": (0, 1, 1)}, "ascend"),
        ({"edges": ("0", "1")}, "numbers"),
        ({"edges": (0, 0.5), "unit": "integer"}, "whole"),
        ({"unit": "metre"}, "unit must be one of"),
        ({"rounding": "up"}, "rounding must be one of"),
        ({"outside": "drop"}, "outside must be one of"),
        ({"edges": (0, 1), "rounding": "none", "outside": "clip"}, "tells nothing"),
    ],
)
def test_scale_that_cannot_be_is_refused(changes, match):
    with pytest.raises(lr.DesignError, match=match):
        lr.Scale(**{"edges": (0, 1, 2), **changes})


# Columns of numbers.


@pytest.mark.parametrize(
    ("column", "unit", "as_text", "expected"),
    [
        (pa.array([1, 2], pa.uint8()), "integer", False, [1, 2]),
        (pa.array([1.5, 2.0], pa.float32()), "number", False, [1.5, 2]),
        (pa.array(["1.50", "2"]).cast(pa.decimal128(5, 2)), "number", False, [1.5, 2]),
        (pa.array([datetime.date(1970, 1, 2)] * 2, pa.date64()), "date", False, [1, 1]),
        (pa.array([datetime.datetime(1970, 1, 2, 23), datetime.datetime(1969, 12, 31, 1)]), "date", False, [1, -1]),
        (pa.array([datetime.timedelta(seconds=1.5)] * 2, pa.duration("ms")), "duration", False, [1.5, 1.5]),
        (pa.array([90, 91]), "duration", False, [90, 91]),
        (pa.array(["1e3", "-2.5"]), "number", True, [1000, -2.5]),
        (pa.array(["1970-01-03", "1970-01-01"]).dictionary_encode(), "date", True, [2, 0]),
    ],
)
def test_numbers_of_every_type(column, unit, as_text, expected):
    values, null = read_numbers("x", column, unit, as_text=as_text, missing=None, first_row=1)
    assert values.tolist() == expected
    assert not null.any()


@pytest.mark.parametrize(
    ("column", "unit", "as_text", "match"),
    [
        (pa.array([1.0, math.nan]), "number", False, "nan or infinite, first at row 8"),
        (pa.array([1.0, math.inf]), "number", False, "nan or infinite, first at row 8"),
        (pa.array(["1", "nan"]), "number", True, "nan or infinite, first at row 8"),
        (pa.array([1.0, 1.5]), "integer", False, "not whole, first at row 8"),
        (pa.array(["1", "one"]), "number", True, "not a number, first at row 8"),
        (pa.array(["1970-01-01", "yesterday"]), "date", True, "not a date such as .*, first at row 8"),
        (pa.array(["1", "2"]), "number", False, "scale of numbers, but its column holds string"),
        (pa.array([datetime.time(1), datetime.time(2)]), "number", False, "holds time64"),
        (pa.array([True, False]), "number", False, "holds bool"),
        (pa.array([1, 2]).cast(pa.duration("s")), "date", False, "scale of dates, but its column holds duration"),
    ],
)
def test_column_that_holds_something_else_is_refused_without_repeating_it(column, unit, as_text, match):
    with pytest.raises(lr.DataError, match=match) as caught:
        read_numbers("x", column, unit, as_text=as_text, missing=None, first_row=7)
    assert "'x'" in str(caught.value)
    assert not {"one", "yesterday", "1.5"} & set(str(caught.value).replace("'", " ").split())


# Designs.


def test_design_goes_through_json_and_its_schema():
    document = json.loads(DESIGN.to_json())
    assert lr.Design.from_json(DESIGN.to_json()) == DESIGN
    assert document["schema_version"] == 3
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(document)
    for version in (1, 2):
        assert not jsonschema.Draft202012Validator(SCHEMA).is_valid({**document, "schema_version": version})
        with pytest.raises(lr.DesignError, match="must have schema_version 3"):
            lr.Design.from_json(json.dumps({**document, "schema_version": version}))
    plain = lr.design({"sex": ["F", "M"]}, lam=0.5)
    assert json.loads(plain.to_json())["schema_version"] == 1


@pytest.mark.parametrize(
    "scale",
    [
        None,
        [],
        {"edges": [0, 1]},
        {**BINS.to_dict(), "edges": [0, 10, 20]},  # others than its categories are of
        {**BINS.to_dict(), "edges": [10, 0, 20, 60]},
        {**BINS.to_dict(), "edges": "0, 10"},
        {**BINS.to_dict(), "outside": "drop"},
        {**BINS.to_dict(), "unit": ["number"]},
    ],
)
def test_damaged_scale_is_refused_by_library_and_client(scale):
    document = json.loads(DESIGN.to_json())
    document["attributes"][0]["scale"] = scale
    with pytest.raises(lr.DesignError, match="'age'"):
        lr.Design.from_json(json.dumps(document))
    if scale is not None:  # to the client, null is no scale
        with pytest.raises(client.ClientError, match="'age'"):
            client.Client(json.dumps(document))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"low": 3, "high": 1}, "the other way round"),
        ({"low": 1, "high": 1}, "must be less than high"),
        ({"low": math.nan, "high": 1}, "must be finite"),
        ({"low": 0, "high": math.inf}, "must be finite"),
        ({"low": "then", "high": "2020-01-01"}, "must be a date"),
        ({"low": 0}, "must both be given"),
        ({"low": 0, "high": 1, "bins": 0}, "bins of numerical"),
        ({"low": 0, "high": 1, "bins": 2.5}, "bins of numerical"),
        ({"low": 0, "high": 1, "edges": (0, 1)}, "stand for low, high and bins"),
        ({"edges": (0, 1, 1)}, "ascend"),
        ({"low": 0, "high": 1, "target": "mode"}, "target of numerical"),
        ({"low": 0, "high": 1, "unit": "feet"}, "unit of numerical"),
        ({"low": 0, "high": 1.5, "unit": "integer"}, "whole number"),
    ],
)
def test_numeric_that_cannot_be_is_refused(changes, match):
    with pytest.raises(lr.DesignError, match=match):
        lr.Numeric("x", **changes)


def test_bounds_of_a_table_have_to_be_declared_public():
    table = pa.table({"paid": [1.0, 2.5, 9.0], "sex": ["F", "M", "F"]})
    with pytest.raises(lr.DesignError, match=r"'paid' has no bounds.*public_bounds=True"):
        lr.design(table, lam=0.5, numeric=[lr.Numeric("paid", bins=4)])
    with pytest.raises(lr.DesignError, match="'paid' has no bounds"):
        lr.design([lr.Numeric("paid", bins=4)], lam=0.5)
    made = lr.design(table, lam=0.5, numeric=[lr.Numeric("paid", bins=4)], public_bounds=True)
    assert made.names == ("paid", "sex")
    assert made.attributes[0].scale.edges == (1, 3, 5, 7, 9)


def test_numerical_columns_stand_beside_categories_that_are_found():
    table = pa.table({"sex": ["F", "M", "F"], "paid": [1.0, None, 9.0], "born": [datetime.date(1980, 1, 1)] * 3})
    numeric = [lr.Numeric("paid", 0, 10, bins=2), lr.Numeric("born", "1950-01-01", "2000-01-01", bins=5)]
    made = lr.design(table, epsilon=3, numeric=numeric)
    assert made.names == ("sex", "paid", "born")
    assert made.attributes[1].has_missing_category
    assert not made.attributes[2].has_missing_category
    public = lr.design(table, epsilon=3, numeric=numeric, public_missing=["paid"])
    assert public.attributes[1].missing_is_public
    assert lr.design(table, epsilon=3, numeric=numeric, columns=["sex"]).names == ("sex", "paid", "born")
    with pytest.raises(lr.DesignError, match="choose one"):
        lr.design(table, epsilon=3, numeric=numeric, keep=["paid"])
    with pytest.raises(lr.DesignError, match="one value only"):
        lr.design(table, epsilon=3, numeric=[lr.Numeric("born", bins=2)], columns=["sex"], public_bounds=True)
    with pytest.raises(lr.DesignError, match="must be lambdarr"):
        lr.design(table, epsilon=3, numeric=["paid"])


# Randomizing.


@pytest.mark.parametrize("as_frame", [pa.Table.to_pandas, pl.from_arrow, lambda table: table, pa.Table.to_pylist])
def test_reports_of_numbers_are_categories_in_the_table_they_came_in(as_frame):
    table = as_frame(TRUTHS)
    reports = lr.randomize(table, DESIGN, rng=lr.SeededWords(1))
    assert type(reports) is type(table)
    as_table = lr.randomize(TRUTHS, DESIGN, rng=lr.SeededWords(1)).to_pylist()
    found = pd.DataFrame(reports).to_dict("records") if isinstance(reports, pd.DataFrame) else reports
    found = found.to_dicts() if isinstance(found, pl.DataFrame) else found
    found = found.to_pylist() if isinstance(found, pa.Table) else found
    assert [{k: None if pd.isna(v) else v for k, v in row.items()} for row in found] == as_table
    for attribute in DESIGN.attributes:
        assert {row[attribute.name] for row in as_table} <= {*attribute.categories, None}


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_files_of_numbers(tmp_path, ending):
    design = lr.Design(DESIGN.attributes, tuple(lr.Channel(c.size, 1.0) for c in DESIGN.channels))
    table = TRUTHS
    if ending == "csv":  # where a missing value has to be written
        table = table.set_column(1, "paid", table["paid"].cast(pa.string()).fill_null("NA"))
    source = write(table, tmp_path / f"truths.{ending}")
    for into in ("csv", "parquet", "arrow"):
        target = tmp_path / f"from_{ending}.{into}"
        assert lr.randomize_file(source, target, design) == 5
        ages = lr.tally(target, design, "age").values
        assert ages.tolist() == [1, 1, 1, 1, 1]
        assert lr.tally(target, design, "paid").values[-1] == 1
        assert lr.tally(target, design, "born").values.tolist() == [5, 0, 0, 0, 0]


def test_edges_that_a_reader_made_numbers_of_are_still_reports():
    design = lr.design([lr.Attribute.on("paid", EDGES), lr.Attribute.on("on", lr.Scale((0, 31), unit="date"))], lam=1)
    reports = pd.DataFrame({"paid": [0, 10, 60], "on": [datetime.date(1970, 1, 1)] * 3})
    assert lr.tally(reports, design, "paid").values.tolist() == [1, 1, 0, 1]
    assert lr.tally(reports.assign(paid=[0.0, 10.0, 10.0]), design, "paid").values.tolist() == [1, 2, 0, 0]
    assert lr.tally(reports, design, "on").values.tolist() == [0, 3, 0, 0]
    with pytest.raises(lr.DataError, match="outside its domain"):
        lr.tally(reports.assign(paid=[0, 11, 10]), design, "paid")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"paid": pa.array([1.0, math.nan, 1, 1, 1])}, "'paid' are nan or infinite, first at row 2"),
        ({"age": pa.array([1, None, 1, 1, 1])}, "'age' missing, first at row 2"),
        ({"born": pa.array([datetime.date(2026, 1, 1)] * 5)}, "5 values of attribute 'born' are outside its bounds"),
        ({"age": pa.array(["1"] * 5)}, "'age' is a scale of numbers"),
    ],
)
def test_truths_that_do_not_fit_are_refused(changes, match):
    table = TRUTHS
    for name, column in changes.items():
        table = table.set_column(table.column_names.index(name), name, column)
    with pytest.raises(lr.DataError, match=match):
        lr.randomize(table, DESIGN)


@pytest.mark.parametrize(
    ("name", "answer", "match"),
    [
        ("age", "5", "must be a number"),
        ("age", True, "must be a number"),
        ("age", math.nan, "finite|must be a number"),
        ("born", 17, "must be a date"),
        ("born", "2026-01-01", "outside its bounds"),
        ("paid", [1], "must be a number"),
    ],
)
def test_answers_that_do_not_fit_are_refused_by_library_and_client(name, answer, match):
    record = {"age": 5, "paid": 2.5, "born": "1960-01-01", name: answer}
    with pytest.raises(lr.DataError, match=match):
        lr.randomize_record(record, DESIGN)
    with pytest.raises(client.ClientError, match=match):
        client.Client(DESIGN.to_json()).randomize(record)


def channel_of(design, value):
    """Return the chances of each report of 'paid' for a number, from the rule."""
    scale, channel = design.attributes[0].scale, design.channels[0]
    truths = np.zeros(channel.size)
    place = np.searchsorted(scale.edges[1:-1], value, side="right")
    part = (value - scale.edges[place]) / (scale.edges[place + 1] - scale.edges[place])
    truths[place : place + 2] = 1 - part, part
    return channel.lam * truths + (1 - channel.lam) / channel.size


def test_distribution_of_rounded_and_randomized_numbers_per_cell_and_position():
    design, value, n = lr.design([lr.Attribute.on("paid", EDGES)], lam=0.4), 13.0, 60_000
    expected = channel_of(design, value)
    table = lr.randomize(pa.table({"paid": np.full(n, value)}), design, rng=lr.SeededWords(3))
    codes = np.array([design.attributes[0].code(label) for label in table["paid"].to_pylist()])
    positions = codes.reshape(6, -1)
    assert_plausible([chi_square(np.bincount(part, minlength=4), expected) for part in (codes, *positions)])


def test_client_rounds_and_randomizes_as_the_library_does(monkeypatch):
    design, value, n = lr.design([lr.Attribute.on("paid", EDGES)], lam=0.4), 13.0, 8_000
    stream = iter(words(4 * n, seed=5).tolist())
    monkeypatch.setattr("secrets.randbits", lambda bits: next(stream))
    device, expected = client.Client(design.to_json()), channel_of(design, value)
    for randomize in (device.randomize, lambda record: lr.randomize_record(record, design)):
        found = [design.attributes[0].code(randomize({"paid": value})["paid"]) for _ in range(n)]
        assert_plausible(chi_square(np.bincount(found, minlength=4), expected))


def test_number_that_is_not_asked_uses_no_word(monkeypatch):
    attributes = [lr.Attribute.on("paid", EDGES), lr.Attribute.on("owed", EDGES)]
    design = lr.design(attributes, epsilon=1, asked=1)
    taken = []
    monkeypatch.setattr("secrets.randbits", lambda bits: taken.append(bits) or 0)
    for randomize in (client.Client(design.to_json()).randomize, lambda record: lr.randomize_record(record, design)):
        taken.clear()
        report = randomize({"paid": 3.0, "owed": 4.0})
        assert list(report.values()).count(None) == 1
        assert len(taken) == 3  # which is asked, how it is rounded, what is reported


# Regression.


def test_excess_is_what_rounding_adds_to_a_product():
    """Averaged over numbers that fill the bins evenly, and over the rounding, which is a line between the edges."""
    scale = lr.Scale((0, 10, 20, 60), outside="clip")
    first, second = np.array([1.0, 4.0, 2.0, 7.0]), np.array([0.0, 1.0, 5.0, 3.0])
    for low, high in ((0, 10), (20, 60)):  # the inner edges share what their bins have, so ends are exact on average
        x = np.linspace(low, high, 2_000_001)
        place = scale.edges.index(low)
        up = (x - low) / (high - low)
        lines = [f[place] * (1 - up) + f[place + 1] * up for f in (first, second)]
        product = first * second
        added = (product[place] * (1 - up) + product[place + 1] * up - lines[0] * lines[1]).mean()
        assert added == pytest.approx(np.diff(first)[place] * np.diff(second)[place] / 6, abs=1e-6)
    assert scale.excess(first, second)[0] == pytest.approx(3 * 1 / 6)
    assert not BINS.excess(np.arange(5.0), np.arange(5.0)).any()


def test_regression_on_rounded_numbers_is_that_of_the_numbers():
    """Ten standard errors off without the correction; the chance of more than five is below one in a million."""
    generator, n = np.random.default_rng(1), 200_000
    x = generator.uniform(0, 100, n)
    table = pa.table({"x": x, "y": np.clip(2 * x + generator.normal(0, 20, n), -60, 260)})
    numeric = [lr.Numeric(name, *bounds, bins=4, outside="refuse") for name, bounds in
               (("x", (0, 100)), ("y", (-60, 260)))]  # fmt: skip
    design = lr.design(numeric, lam=0.8)
    found = lr.regress("y ~ x", lr.randomize(table, design, rng=lr.SeededWords(2)), design)
    slope = np.polyfit(x, table["y"].to_numpy(), 1)[0]
    assert abs(found.coefficients["x"] - slope) < 5 * found.standard_errors["x"]
    assert found.standard_errors["x"] < slope / 35  # of 4 bins, an excess of h²/6 would be an eighth of the variance
    assert found.predict(pd.DataFrame({"x": [50.0, 12.3]})) == pytest.approx(
        found.coefficients["Intercept"] + found.coefficients["x"] * np.array([50, 12.3])
    )


@pytest.mark.parametrize(
    ("formula", "bins", "options", "match"),
    [
        ("paid ~ sex", 8, {"inference": "finite"}, "would leave out its rounding"),
        ("sex ~ paid", 8, {"family": "logistic"}, "cannot undo in a predictor"),
        ("sex ~ paid", 3, {"scores": {"sex": [0, 1]}}, "has 3 bins, too few"),
    ],
)
def test_regressions_that_rounding_does_not_allow_are_refused(formula, bins, options, match):
    design = lr.design([lr.Numeric("paid", 0, 10, bins=bins), lr.Attribute("sex", ["F", "M"])], lam=0.9)
    truths = pa.table({"paid": np.linspace(0, 10, 100), "sex": ["F", "M"] * 50})
    with pytest.raises(lr.DataError, match=match):
        lr.regress(formula, lr.randomize(truths, design, rng=lr.SeededWords(1)), design, **options)


# Audits.


def test_examples_become_their_category_for_certain():
    for scale in (BINS, EDGES, DAYS, lr.Scale((0, 1, 5), unit="integer", rounding="none", outside="clip")):
        for word in (0, WORDS - 1):
            drawn = np.full(scale.size, word, dtype=np.uint32)
            assert scale.codes(np.array(scale.examples, dtype=float), drawn).tolist() == list(range(scale.size))


@pytest.mark.parametrize("mode", ["table", "file", "record", "client"])
def test_measured_audit_of_numbers(mode):
    found = lr.measure(DESIGN, draws=20_000, mode=mode)
    assert found.passed, found.reason
    assert found.joint.bound <= DESIGN.epsilon


def test_measured_audit_finds_a_client_that_forgets_to_randomize_numbers():
    def forgets(records):
        reports = [lr.randomize_record(record, DESIGN) for record in records]
        for record, report in zip(records, reports, strict=True):
            report["age"] = BINS.labels[BINS.codes(np.array([float(record["age"])]), None)[0]]
        return reports

    assert not lr.measure(DESIGN, forgets, draws=5_000).passed


# What rounding does not allow, and what nobody knows.


def test_whole_numbers_that_are_their_own_edges_have_no_excess():
    scale = lr.Scale(tuple(range(5)), unit="integer", outside="clip")
    assert not scale.excess(scale.points, scale.points).any()
    wide = lr.Scale((0, 4, 8), unit="integer", outside="clip")
    whole = np.arange(4)
    assert wide.excess(wide.points, wide.points)[0] == pytest.approx((whole * (4 - whole)).mean())


def test_regression_on_whole_numbers_is_that_of_the_reports_where_nothing_is_rounded():
    generator = np.random.default_rng(4)
    x = generator.binomial(4, 0.5, 5_000)
    table = pa.table({"x": x, "y": x + generator.normal(size=5_000)})
    design = lr.design([lr.Numeric("x", 0, 4, bins=4, unit="integer", outside="clip")], lam=1)
    found = lr.regress("y ~ x", lr.randomize(table, design.keeping(["y"])), design)
    assert found.coefficients["x"] == pytest.approx(np.polyfit(x, table["y"].to_numpy(), 1)[0])


@pytest.mark.parametrize("middle", [50.0, 40.0])
def test_interval_of_a_slope_allows_for_bins_that_are_filled_unevenly(middle):
    """All numbers are in one bin or around one edge: far from even, and nothing in the reports says so."""
    generator = np.random.default_rng(6)
    x = generator.normal(middle, 6, 20_000)
    table = pa.table({"x": x, "y": 0.7 * x + generator.normal(0, 4, x.size)})
    design = lr.design([lr.Numeric("x", 0, 100, bins=5, outside="clip")], lam=0.95, keep=["y"])
    reports = lr.randomize(table, design, rng=lr.SeededWords(1))
    lower, upper = lr.regress("y ~ x", reports, design).interval().loc["x"]
    assert lower <= 0.7 <= upper


@pytest.mark.parametrize(
    "formula", ["y ~ np.log(x)", "np.log(x) ~ y", "y ~ I(x > 20)", "y ~ x + I(x ** 2)", "y ~ C(x)"]
)
def test_functions_that_rounding_bends_are_refused(formula):
    design = lr.design([lr.Numeric("x", 10, 50, bins=8, outside="clip")], lam=0.9, keep=["y"])
    table = pa.table({"x": np.linspace(10, 50, 200), "y": np.linspace(0, 1, 200)})
    reports = lr.randomize(table, design, rng=lr.SeededWords(1))
    with pytest.raises(lr.DataError, match="'x' is rounded at random, so that only x itself"):
        lr.regress(formula, reports, design)
    assert lr.regress("y ~ I(2 * x + 1)", reports, design).coefficients.iloc[1] > 0


def test_numbers_with_a_randomized_missing_category_are_refused_in_a_regression():
    design = lr.design([lr.Numeric("x", 0, 10, bins=8, missing="NA")], lam=0.9, keep=["y"])
    reports = lr.randomize(pa.table({"x": np.linspace(0, 10, 200), "y": np.linspace(0, 1, 200)}), design)
    for formula in ("y ~ x", "x ~ y"):
        with pytest.raises(lr.DataError, match="missing"):
            lr.regress(formula, reports, design)


def test_conditions_on_rounded_numbers_are_refused():
    design = lr.design([lr.Numeric("x", 0, 40, bins=4, outside="clip")], lam=0.9)
    reports = lr.randomize(pa.table({"x": np.linspace(0, 40, 200)}), design)
    with pytest.raises(lr.DataError, match="for shares below a number"):
        lr.query(reports, design, {"x": slice("0", "20")})
    scores = dict(zip(("0", "10", "20", "30", "40"), range(0, 50, 10), strict=True))
    assert lr.query(reports, design, {"x": scores}).value == pytest.approx(20, abs=5)  # the mean can be undone


def test_release_of_numbers_on_a_scale_is_not_audited():
    with pytest.raises(lr.DesignError, match="leave the truths out"):
        lr.audit(DESIGN, truths=TRUTHS)


def test_client_takes_dates_and_durations_as_python_has_them():
    waited = lr.Attribute.on("waited", lr.Scale((0, 60, 120), unit="duration", rounding="none"))
    device = client.Client(lr.design([lr.Attribute.on("born", DAYS), waited], lam=1).to_json())
    answers = {"born": datetime.date(1955, 5, 5), "waited": datetime.timedelta(seconds=90)}
    assert device.randomize(answers) == {"born": "[1950-01-01, 1960-01-01)", "waited": "[60, 120]"}
    with pytest.raises(client.ClientError, match="must be a number of seconds"):
        device.randomize({**answers, "waited": None})


def test_fewer_people_answer_what_not_all_are_asked():
    numeric = [lr.Numeric(name, 0, 1, target="histogram") for name in "abcd"]
    some = lr.design(numeric, epsilon=2, asked=1, respondents=8_000)
    assert {binning.n for binning in some.binnings} == {2_000}
