"""Each bad input gives one clear error: where, what to do, never a value of the data, and nothing is written."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import lambdarr as lr
from lambdarr.cli import app
from tests.files import write

SECRET = "SECRETVALUE"
SECRET_NUMBER = 7331773
DESIGN = lr.design({"sex": ["F", "M"], "plan": [1, 2, 3]}, lam=0.5)
GOOD = pa.table({"sex": ["F", "M", "F"], "plan": [1, 2, 3]})
FILES = ["csv", "tsv", "parquet", "arrow"]


def put(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def assert_discreet(message, *mentions):
    """One line that names what is wrong, and repeats no value."""
    assert SECRET not in message
    assert str(SECRET_NUMBER) not in message
    assert "\n" not in message.strip()
    for mention in mentions:
        assert mention in message


def assert_clear(message, *mentions):
    """One line that names what is wrong, says what to do, and repeats no value."""
    assert_discreet(message, *mentions)
    assert re.search(r"; |must |\?", message), f"does not say what to do: {message}"


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refused(folder, *arguments):
    """Run a command that must be refused and change no file; return its message."""
    before = contents(folder)
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 2, f"not refused, but: {result.exception!r}"
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert contents(folder) == before
    return result.stderr


@pytest.fixture
def design_path(tmp_path):
    DESIGN.save(tmp_path / "design.json")
    return tmp_path / "design.json"


# Tables that do not fit the design.

BAD_TABLES = {
    "an unknown category": ({"sex": ["F", SECRET, SECRET], "plan": [1, 2, 3]}, ["2 values", "'sex'", "row 2", "add "]),
    "an unknown number": ({"sex": ["F", "M"], "plan": [1, SECRET_NUMBER]}, ["1 value", "'plan'", "row 2", "add "]),
    "a null": ({"sex": ["F", "M", None], "plan": [1, 2, 3]}, ["1 value", "'sex'", "row 3"]),
    "a missing column": ({"sex": ["F", SECRET]}, ["'plan'"]),
    "a column too many": ({"sex": ["F"], "plan": [1], "income": [SECRET]}, ["'income'", "drop", "keep"]),
    "no rows": ({"sex": pa.array([], pa.string()), "plan": pa.array([], pa.int64())}, ["no rows"]),
}
bad_tables = pytest.mark.parametrize(("columns", "mentions"), BAD_TABLES.values(), ids=list(BAD_TABLES))


@bad_tables
@pytest.mark.parametrize("format", FILES)
def test_randomize_command_refuses_a_file_that_does_not_fit(tmp_path, design_path, format, columns, mentions):
    path = write(pa.table(columns), tmp_path / f"people.{format}")
    message = refused(tmp_path, "randomize", path, "-d", design_path, "-o", tmp_path / f"reports.{format}")
    assert_clear(message, *mentions)


@bad_tables
@pytest.mark.parametrize("format", FILES)
def test_randomize_file_refuses_a_file_that_does_not_fit(tmp_path, format, columns, mentions):
    path = write(pa.table(columns), tmp_path / f"people.{format}")
    with pytest.raises(lr.DataError) as caught:
        lr.randomize_file(path, tmp_path / f"reports.{format}", DESIGN)
    assert_clear(str(caught.value), *mentions)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@bad_tables
@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame, pl.DataFrame], ids=["pyarrow", "pandas", "polars"])
def test_randomize_refuses_a_frame_that_does_not_fit(frame, columns, mentions):
    with pytest.raises(lr.DataError) as caught:
        lr.randomize(frame(columns), DESIGN)
    assert_clear(str(caught.value), *mentions)


BAD_REPORTS = {name: case for name, case in BAD_TABLES.items() if name != "a column too many"}
bad_reports = pytest.mark.parametrize(("columns", "mentions"), BAD_REPORTS.values(), ids=list(BAD_REPORTS))


@bad_reports
@pytest.mark.parametrize("format", FILES)
def test_estimate_command_refuses_reports_that_do_not_fit(tmp_path, design_path, format, columns, mentions):
    reports = write(pa.table(columns), tmp_path / f"reports.{format}")
    arguments = ["-d", design_path, "-t", "sex,plan", "-o", tmp_path / "estimates.csv"]
    mentions = [mention for mention in mentions if mention != "add "]
    assert_clear(refused(tmp_path, "estimate", reports, *arguments), *mentions)


@bad_reports
def test_tally_refuses_reports_that_do_not_fit(columns, mentions):
    with pytest.raises(lr.DataError) as caught:
        lr.tally(pa.table(columns), DESIGN, ["sex", "plan"])
    assert_clear(str(caught.value), *mentions)


@pytest.mark.parametrize(
    ("record", "mentions"),
    [
        ({"sex": SECRET, "plan": 1}, ["'sex'", "add the category"]),
        ({"sex": "F", "plan": SECRET_NUMBER}, ["'plan'", "add the category"]),
        ({"sex": [SECRET], "plan": 1}, ["'sex'"]),
        ({"sex": None, "plan": 1}, ["'sex'", "missing category"]),
        ({"sex": "F", "plan": True}, ["'plan'"]),
        ({"sex": "F", "plan": "1"}, ["'plan'"]),
        ({"sex": "F"}, ["'plan'"]),
        ({"sex": "F", "plan": 1, "income": SECRET}, ["'income'"]),
    ],
    ids=repr,
)
def test_randomize_record_refuses_an_answer_that_does_not_fit(record, mentions):
    with pytest.raises(lr.DataError) as caught:
        lr.randomize_record(record, DESIGN)
    assert_clear(str(caught.value), *mentions)


@pytest.mark.parametrize(
    ("column", "mentions"),
    [
        (pa.array([SECRET]), ["text"]),
        (pa.array([SECRET]).dictionary_encode(), ["text"]),
        (pa.array([True]), ["booleans"]),
        (pa.array([SECRET_NUMBER + 0.5]), ["not 64-bit integers"]),
        (pa.array([float("inf")]), ["not 64-bit integers"]),
        (pa.array([2**64 - 1], pa.uint64()), ["not 64-bit integers"]),
        (pa.array([SECRET.encode()]), ["binary"]),
        (pa.array([SECRET_NUMBER], pa.timestamp("s")), ["timestamp"]),
        (pa.array([[SECRET]]), ["list"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_a_column_of_another_type_is_refused(column, mentions):
    table = pa.table({"sex": ["F"], "plan": column})
    with pytest.raises(lr.DataError) as caught:
        lr.randomize(table, DESIGN)
    assert_clear(str(caught.value), "'plan'", *mentions)


@pytest.mark.parametrize(
    ("column", "categories"),
    [
        (pa.array([1, 2], pa.int8()), [1, 2, 300]),
        (pa.array([1, 2], pa.uint8()), [-1, 1, 2]),
        (pa.array([1.0, 2.0]), [1, 2, 2**53 + 1]),
    ],
    ids=["int8", "uint8", "double"],
)
def test_a_column_whose_type_cannot_hold_every_category_is_refused(column, categories):
    with pytest.raises(lr.DataError) as caught:
        lr.randomize(pa.table({"plan": column}), lr.design({"plan": categories}, lam=0.5))
    assert_clear(str(caught.value), "'plan'")


def test_a_polars_enum_that_cannot_hold_every_category_is_refused():
    """Or else the reports it cannot hold become nulls in silence."""
    table = pl.DataFrame({"sex": pl.Series(["F", "M"] * 50, dtype=pl.Enum(["F", "M"]))})
    design = lr.design({"sex": ["F", "M", "X"]}, lam=0.1)
    with pytest.raises(lr.DataError) as caught:
        lr.randomize(table, design)
    assert_clear(str(caught.value), "'sex'")


@pytest.mark.parametrize(
    "values",
    [[1, SECRET], [2**70, 1], ["\ud800", SECRET], [1j, 2j], pd.arrays.SparseArray([0, 1])],
    ids=["mixed types", "beyond 64 bits", "half a character", "complex numbers", "sparse"],
)
def test_a_pandas_column_that_arrow_cannot_hold_is_refused(values):
    column = values if isinstance(values, pd.arrays.SparseArray) else pd.Series(values, dtype=object)
    frame = pd.DataFrame({"sex": ["F", "M"], "plan": [1, 2], "odd": column})
    with pytest.raises(lr.DataError) as caught:
        lr.randomize(frame, DESIGN, keep=["odd"])
    assert_clear(str(caught.value), "'odd'", "convert")


@pytest.mark.parametrize(
    "table",
    [{"sex": [SECRET]}, [SECRET], None, 5, pd.Series([SECRET]), pl.Series([SECRET]), pa.array([SECRET])],
    ids=lambda table: f"{type(table).__module__}.{type(table).__name__}",
)
@pytest.mark.parametrize(
    "verb", [lr.randomize, lambda table, d: lr.tally(table, d, ["sex"])], ids=["randomize", "tally"]
)
def test_what_is_no_table_is_refused(verb, table):
    with pytest.raises(lr.DataError) as caught:
        verb(table, DESIGN)
    assert_clear(str(caught.value))


# Names of columns.


@pytest.mark.parametrize(
    ("names", "mentions"),
    [(["sex", "sex"], ["'sex'", "twice", "rename"]), (["sex", ""], ["column 2"]), (["sex", "  "], ["column 2"])],
    ids=["duplicate", "empty", "blank"],
)
@pytest.mark.parametrize("format", FILES)
def test_a_file_with_bad_column_names_is_refused(tmp_path, design_path, format, names, mentions):
    path = write(pa.table([pa.array(["F"]), pa.array(["M"])], names=names), tmp_path / f"people.{format}")
    for arguments in (
        ["design", path, "-o", tmp_path / "new.json", "--lam", "0.5"],
        ["randomize", path, "-d", design_path, "-o", tmp_path / "reports.csv"],
        ["estimate", path, "-d", design_path, "-t", "sex"],
    ):
        assert_clear(refused(tmp_path, *arguments), *mentions)


@pytest.mark.parametrize(
    ("table", "mentions"),
    [
        (pd.DataFrame([["F", "M"]], columns=["sex", "sex"]), ["'sex'", "twice"]),
        (pd.DataFrame([["F", "M"]], columns=["sex", ""]), ["column 2"]),
        (pd.DataFrame([["F", "M"]], columns=["sex", None]), ["column 2"]),
        (pl.DataFrame({"sex": ["F"], "": ["M"]}), ["column 2"]),
        (pa.table([["F"], ["M"]], names=["sex", "sex"]), ["'sex'", "twice"]),
    ],
    ids=["pandas duplicate", "pandas empty", "pandas None", "polars empty", "pyarrow duplicate"],
)
def test_a_frame_with_bad_column_names_is_refused(table, mentions):
    with pytest.raises(lr.DataError) as caught:
        lr.design(table, lam=0.5)
    assert_clear(str(caught.value), *mentions)


def test_a_column_named_by_a_number_is_told_to_take_a_text():
    with pytest.raises(lr.DataError) as caught:
        lr.design(pd.DataFrame({0: ["F", "M"]}), lam=0.5)
    assert_clear(str(caught.value), "column 1", "text")


@pytest.mark.parametrize("table", [pd.DataFrame(index=[0, 1]), pl.DataFrame(), pa.table({})], ids=["pd", "pl", "pa"])
def test_a_frame_without_columns_is_refused(table):
    with pytest.raises(lr.DataError, match="no columns"):
        lr.design(table, lam=0.5)


# Targets.

NAN = float("nan")
BAD_TARGETS = [
    ("lam", 0),
    ("lam", -0.5),
    ("lam", 1.5),
    ("lam", NAN),
    ("strength", 1),
    ("strength", 1.5),
    ("strength", -0.5),
    ("strength", NAN),
    ("epsilon", 0),
    ("epsilon", -1),
    ("epsilon", 1e-12),
    ("epsilon", NAN),
    ("bits", 99),
    ("bits", -1),
    ("bits", NAN),
]
bad_targets = pytest.mark.parametrize(("kind", "value"), BAD_TARGETS)


@bad_targets
def test_design_refuses_a_target_out_of_reach(kind, value):
    with pytest.raises(lr.DesignError) as caught:
        lr.design({"sex": ["F", "M"]}, **{kind: value})
    assert_clear(str(caught.value), "ε" if (kind, value) == ("epsilon", 1e-12) else kind)


@bad_targets
def test_design_refuses_a_target_out_of_reach_for_one_attribute(kind, value):
    with pytest.raises(lr.DesignError) as caught:
        lr.design({"sex": ["F", "M"]}, **{kind: {"sex": value}})
    assert_clear(str(caught.value), "'sex'")


@bad_targets
@pytest.mark.parametrize("form", ["{}", "sex={}"])
def test_design_command_refuses_a_target_out_of_reach(tmp_path, kind, value, form):
    path = write(GOOD.select(["sex"]), tmp_path / "people.csv")
    message = refused(tmp_path, "design", path, "-o", tmp_path / "new.json", f"--{kind}", form.format(value))
    assert_clear(message)


@pytest.mark.parametrize("kind", ["lam", "strength", "bits", "epsilon"])
@pytest.mark.parametrize("value", ["0.5", {"sex": "0.5"}], ids=["joint", "mapping"])
def test_design_refuses_a_target_that_is_no_number(kind, value):
    """The message shows the text in quotes: 0.5 would be in order."""
    with pytest.raises(lr.DesignError, match=r"'0\.5'") as caught:
        lr.design({"sex": ["F", "M"]}, **{kind: value})
    assert_clear(str(caught.value))


@pytest.mark.parametrize("kind", ["lam", "strength", "bits", "epsilon"])
def test_design_refuses_a_target_that_is_a_boolean(kind):
    with pytest.raises(lr.DesignError, match="True"):
        lr.design({"sex": ["F", "M", "X"]}, **{kind: True})


def test_design_repeats_the_target_that_was_asked_for():
    """Not the part of it that one attribute would have."""
    with pytest.raises(lr.DesignError, match=r"got -1\b(?!\.\d*[1-9])"):
        lr.design({"sex": ["F", "M"], "plan": [1, 2, 3]}, epsilon=-1)


# Categories.


def test_design_refuses_a_column_with_one_category(tmp_path):
    path = write(pa.table({"sex": [SECRET] * 3}), tmp_path / "people.csv")
    message = refused(tmp_path, "design", path, "-o", tmp_path / "new.json", "--lam", "0.5")
    assert_clear(message, "'sex'", "at least 2")


def test_design_refuses_a_column_without_a_value(tmp_path):
    path = put(tmp_path / "people.csv", "sex,plan\n,1\n,2\n")
    message = refused(tmp_path, "design", path, "-o", tmp_path / "new.json", "--lam", "0.5")
    assert_clear(message, "'sex'", "leave it out")


@pytest.mark.parametrize("rows", [65_537, 70_000])
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_design_refuses_a_column_with_too_many_categories(tmp_path, format, rows):
    path = write(pa.table({"person": [f"{SECRET}{row}" for row in range(rows)]}), tmp_path / f"people.{format}")
    message = refused(tmp_path, "design", path, "-o", tmp_path / "new.json", "--lam", "0.5")
    assert_clear(message, "'person'", "65,536")


@pytest.mark.parametrize(
    ("categories", "mentions"),
    [
        (["F"], ["at least 2"]),
        ([], ["at least 2"]),
        (range(65_537), ["65,536", "group"]),
        (["F", "F"], ["differ"]),
        (["F", 1], ["one type"]),
        ([1, True], ["one type"]),
        ([1.5, 2.5], ["decimal"]),
        (["F", None], ["NoneType"]),
        ([2**63, 1], ["64-bit"]),
        ("FM", ["list"]),
    ],
    ids=["one", "none", "too many", "twice", "text and number", "number and boolean", "decimal", "None", "big", "text"],
)
def test_an_attribute_refuses_bad_categories(categories, mentions):
    with pytest.raises(lr.DesignError) as caught:
        lr.Attribute("sex", categories)
    assert_clear(str(caught.value), "'sex'", *mentions)


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("design", ["-o", "new.json", "--lam", "0.5"]),
        ("randomize", ["-d", "design.json", "-o", "reports.csv"]),
        ("estimate", ["-d", "design.json", "-t", "sex"]),
    ],
)
@pytest.mark.parametrize("content", ["sex,plan\n", "sex,plan", "\ufeffsex,plan\r\n"], ids=["LF", "no end", "BOM CRLF"])
def test_a_csv_file_with_a_header_alone_has_no_rows(tmp_path, design_path, monkeypatch, verb, arguments, content):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "people.csv", content)
    assert_clear(
        refused(tmp_path, verb, "people.csv", *arguments), "people.csv has no rows" if verb == "design" else "no rows"
    )


# Designs.


def edited(**changes):
    """Return the text of a design whose first attribute has these members changed, or taken out if ``...``."""
    document = json.loads(DESIGN.to_json())
    attribute = document["attributes"][0] | {name.rstrip("_"): value for name, value in changes.items()}
    document["attributes"][0] = {name: value for name, value in attribute.items() if value is not ...}
    return json.dumps(document)


def remade(**changes):
    """Return the text of a design with these members changed, or taken out if ``...``."""
    document = json.loads(DESIGN.to_json()) | changes
    return json.dumps({name: value for name, value in document.items() if value is not ...})


BAD_DESIGNS = {
    "a newer version": (remade(schema_version=4), ["schema_version 4", "upgrade"]),
    "a version that is a text": (remade(schema_version="1"), ["schema_version"]),
    "version 0": (remade(schema_version=0), ["schema_version"]),
    "no version": (remade(schema_version=...), ["schema_version"]),
    "not JSON": ("sex: F, M", ["JSON"]),
    "nothing": ("", ["JSON"]),
    "cut short": (DESIGN.to_json()[:150], ["JSON", "cut short"]),
    "a list": ("[]", ["JSON object"]),
    "brackets without end": ("[" * 100_000, ["JSON"]),
    "not UTF-8": (b'{"schema_version": 1, "x": "\xe9"}', ["UTF-8"]),
    "no attributes": (remade(attributes=...), ["attributes"]),
    "an empty list of attributes": (remade(attributes=[]), ["at least one attribute"]),
    "attributes that are an object": (remade(attributes={}), ["attributes", "array"]),
    "an attribute that is a text": (remade(attributes=["sex"]), ["attribute 1", "object"]),
    "kept that is a text": (remade(kept="id"), ["kept", "array"]),
    "kept of numbers": (remade(kept=[1]), ["kept"]),
    "kept that is randomized": (remade(kept=["sex"]), ["'sex'", "twice"]),
    "no name": (edited(name=...), ["attribute 1", "name"]),
    "a name that is a number": (edited(name=5), ["attribute 1", "name"]),
    "a name that is empty": (edited(name=""), ["name"]),
    "a name that is half a character": (edited(name="\ud800"), ["name"]),
    "a name that stands twice": (edited(name="plan"), ["'plan'", "twice"]),
    "no categories": (edited(categories=...), ["'sex'", "categories"]),
    "categories that are a text": (edited(categories="FM"), ["'sex'", "categories"]),
    "categories that are lists": (edited(categories=[["F"], ["M"]]), ["'sex'", "categories"]),
    "a category that is half a character": (edited(categories=["F", "\ud800"]), ["'sex'", "categories"]),
    "one category": (edited(categories=["F"]), ["'sex'", "at least 2"]),
    "too many categories": (edited(categories=[*range(65_537)]), ["'sex'", "65,536"]),
    "missing that is a number": (edited(missing=5), ["'sex'", "missing"]),
    "missing that is a category": (edited(missing="F"), ["'sex'", "missing"]),
    "no lambda": (edited(lambda_=...), ["'sex'", "lambda"]),
    "a lambda that is a text": (edited(lambda_="0.5"), ["'sex'", "lambda"]),
    "a lambda that is true": (edited(lambda_=True), ["'sex'", "lambda"]),
    "a lambda of 0": (edited(lambda_=0.0, threshold=0), ["'sex'"]),
    "a lambda above 1": (edited(lambda_=1.5, threshold=3 * 2**31), ["'sex'"]),
    "a lambda that is nan": (edited(lambda_=NAN), ["'sex'", "disagree"]),
    "a lambda beside its threshold": (edited(lambda_=0.6), ["'sex'", "lambda and threshold", "disagree"]),
    "no threshold": (edited(threshold=...), ["'sex'", "threshold"]),
    "a threshold that is a decimal": (edited(threshold=0.5), ["'sex'", "threshold"]),
    "a threshold off the grid": (edited(lambda_=(2**31 + 1) / 2**32, threshold=2**31 + 1), ["'sex'", "threshold"]),
    "a rounding that there is not": (edited(rounding="up"), ["'sex'", "rounding"]),
}
bad_designs = pytest.mark.parametrize(("content", "mentions"), BAD_DESIGNS.values(), ids=list(BAD_DESIGNS))


@bad_designs
def test_a_bad_design_is_refused_by_the_library(tmp_path, content, mentions):
    path = put(tmp_path / "bad.json", content)
    with pytest.raises(lr.DesignError) as caught:
        lr.Design.load(path)
    assert_clear(str(caught.value), "bad.json", *mentions)


@bad_designs
def test_a_bad_design_is_refused_by_the_command_line(tmp_path, content, mentions):
    path = put(tmp_path / "bad.json", content)
    assert_clear(refused(tmp_path, "show", path), "bad.json", *mentions)


@pytest.mark.parametrize("content", [remade(schema_version=4), None], ids=["a newer version", "no file"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "bad.json"],
        ["show", "bad.json", "--json"],
        ["audit", "bad.json"],
        ["randomize", "people.csv", "-d", "bad.json", "-o", "reports.csv"],
        ["estimate", "people.csv", "-d", "bad.json", "-t", "sex"],
    ],
    ids=" ".join,
)
def test_every_command_refuses_a_bad_design(tmp_path, monkeypatch, arguments, content):
    monkeypatch.chdir(tmp_path)
    write(GOOD, tmp_path / "people.csv")
    if content is not None:
        put(tmp_path / "bad.json", content)
    assert_discreet(refused(tmp_path, *arguments), "bad.json")


# Files that cannot be read.


def cut(format, share):
    """Return a file whose end is missing."""

    def make(path):
        table = pa.table({"sex": ["F", "M"] * 500, "plan": [1, 2] * 500})
        whole = write(table, path.with_name(f"whole.{format}")).read_bytes()
        return put(path, whole[: int(len(whole) * share)])

    return make


def stream(share):
    def make(path):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, GOOD.schema) as writer:
            for _ in range(50):
                writer.write_table(GOOD)
        whole = sink.getvalue().to_pybytes()
        return put(path, whole[: int(len(whole) * share)])

    return make


def damaged(format):
    """Return a file whose first half, but for its first bytes, is overwritten."""

    def make(path):
        table = pa.table({"sex": ["F", "M"] * 500, "plan": [1, 2] * 500})
        whole = bytearray(write(table, path.with_name(f"whole.{format}")).read_bytes())
        whole[100 : len(whole) // 2] = b"\xff" * (len(whole) // 2 - 100)
        return put(path, bytes(whole))

    return make


def bytes_of(content):
    return lambda path: put(path, content)


UNREADABLE = {
    "no file.csv": (lambda path: path, []),
    "no file.parquet": (lambda path: path, []),
    "no file.arrow": (lambda path: path, []),
    "a folder.csv": (lambda path: path.mkdir() or path, []),
    "a folder.parquet": (lambda path: path.mkdir() or path, []),
    "a folder.arrow": (lambda path: path.mkdir() or path, []),
    "empty.csv": (bytes_of(b""), ["empty"]),
    "empty.parquet": (bytes_of(b""), ["empty"]),
    "empty.arrow": (bytes_of(b""), ["empty"]),
    "blank lines.csv": (bytes_of(b"\n\n"), ["no columns"]),
    "another ending.xlsx": (bytes_of(b"sex,plan\nF,1\n"), [".csv", ".parquet", ".arrow"]),
    "no ending": (bytes_of(b"sex,plan\nF,1\n"), [".csv", ".parquet", ".arrow"]),
    "too few fields.csv": (bytes_of(f"sex,plan\nF,1\n{SECRET}\n".encode()), ["Expected 2 columns, got 1"]),
    "too many fields.csv": (bytes_of(f"sex,plan\nF,1\nF,1,{SECRET}\n".encode()), ["Expected 2 columns, got 3"]),
    "too few fields.tsv": (bytes_of(f"sex\tplan\nF\t1\n{SECRET}\n".encode()), ["Expected 2 columns, got 1"]),
    "cut in a row.csv": (bytes_of(b"sex,plan\nF,1\nM"), ["Expected 2 columns, got 1"]),
    "cut in quotes.csv": (bytes_of(b'plan,sex\n1,"F"\n2,"M'), ["cut short"]),
    "Latin-1 cell.csv": (bytes_of(f"sex,plan\nF,1\n{SECRET}é,2\n".encode("latin-1")), ["UTF-8"]),
    "Latin-1 header.csv": (bytes_of("sexé,plan\nF,1\n".encode("latin-1")), ["UTF-8"]),
    "UTF-16.csv": (bytes_of("sex,plan\nF,1\n".encode("utf-16")), ["UTF-8"]),
    "Parquet inside.csv": (lambda path: put(path, write(GOOD, path.with_suffix(".parquet")).read_bytes()), []),
    "CSV inside.parquet": (bytes_of(f"sex,plan\n{SECRET},1\n".encode()), ["ending"]),
    "CSV inside.arrow": (bytes_of(f"sex,plan\n{SECRET},1\n".encode()), ["ending"]),
    "cut early.parquet": (cut("parquet", 0.01), ["cut short"]),
    "cut in the middle.parquet": (cut("parquet", 0.5), ["cut short"]),
    "cut late.parquet": (cut("parquet", 0.99), ["cut short"]),
    "damaged.parquet": (damaged("parquet"), ["damaged"]),
    "cut early.arrow": (cut("arrow", 0.01), ["cut short"]),
    "cut in the middle.arrow": (cut("arrow", 0.5), ["cut short"]),
    "cut late.arrow": (cut("arrow", 0.99), ["cut short"]),
    "damaged.arrow": (damaged("arrow"), ["damaged"]),
    "stream cut early.arrow": (stream(0.01), ["cut short"]),
    "stream cut late.arrow": (stream(0.99), ["cut short"]),
}
unreadable = pytest.mark.parametrize("name", UNREADABLE)


@unreadable
def test_an_unreadable_file_is_refused_by_the_library(tmp_path, name):
    make, mentions = UNREADABLE[name]
    path = make(tmp_path / name)
    with pytest.raises((lr.SourceError, lr.DataError)) as caught:
        lr.randomize_file(path, tmp_path / "reports.csv", DESIGN)
    assert_discreet(str(caught.value), name, *mentions)


@unreadable
@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("design", ["-o", "new.json", "--lam", "0.5"]),
        ("randomize", ["-d", "design.json", "-o", "reports.csv"]),
        ("estimate", ["-d", "design.json", "-t", "sex,plan", "-o", "estimates.csv"]),
    ],
)
def test_an_unreadable_file_is_refused_by_every_command(tmp_path, design_path, monkeypatch, name, verb, arguments):
    monkeypatch.chdir(tmp_path)
    make, mentions = UNREADABLE[name]
    make(tmp_path / name)
    assert_discreet(refused(tmp_path, verb, name, *arguments), name, *mentions)


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "nowhere.json"],
        ["show", "folder.csv"],
        ["design", "nowhere.csv", "-o", "new.json", "--lam", "0.5"],
        ["design", "folder.csv", "-o", "new.json", "--lam", "0.5"],
        ["design", "empty.csv", "-o", "new.json", "--lam", "0.5"],
        ["design", "blank.csv", "-o", "new.json", "--lam", "0.5"],
        ["design", "damaged.parquet", "-o", "new.json", "--lam", "0.5"],
        ["design", "people.csv", "-o", "folder.csv", "--lam", "0.5"],
    ],
    ids=lambda arguments: " ".join(arguments[:4]),
)
def test_an_error_about_a_file_says_what_to_do(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    write(GOOD, tmp_path / "people.csv")
    (tmp_path / "folder.csv").mkdir()
    for name, content in {"empty.csv": "", "blank.csv": "\n", "damaged.parquet": "PAR1"}.items():
        put(tmp_path / name, content)
    assert_clear(refused(tmp_path, *arguments))


def test_a_ragged_row_is_counted_like_any_other_row(tmp_path):
    """Row 2 of the data is row 2, whatever is wrong with it."""
    unknown = put(tmp_path / "unknown.csv", f"sex,plan\nF,1\n{SECRET},1\n")
    with pytest.raises(lr.DataError, match="row 2;"):
        lr.randomize_file(unknown, tmp_path / "reports.csv", DESIGN)
    ragged = put(tmp_path / "ragged.csv", f"sex,plan\nF,1\n{SECRET}\n")
    with pytest.raises(lr.SourceError, match=r"(?i)row #?2:"):
        lr.randomize_file(ragged, tmp_path / "reports.csv", DESIGN)


def not_utf8():
    buffers = pa.array([b"F", b"\xff" + SECRET.encode()]).buffers()
    return pa.table({"sex": pa.Array.from_buffers(pa.string(), 2, buffers)})


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_text_that_is_not_utf8_is_refused_in_a_typed_file(tmp_path, format):
    path = write(not_utf8(), tmp_path / f"people.{format}")
    message = refused(tmp_path, "design", path, "-o", tmp_path / "new.json", "--lam", "0.5")
    assert_clear(message, "UTF-8")


def test_text_that_is_not_utf8_is_refused_in_a_frame():
    with pytest.raises(lr.DataError) as caught:
        lr.design(not_utf8(), lam=0.5)
    assert_clear(str(caught.value), "'sex'", "UTF-8")


@pytest.mark.parametrize("index", [9, -1])
def test_a_dictionary_index_out_of_range_is_refused(index):
    """A damaged file: −1 must not be read as the last category."""
    column = pa.DictionaryArray.from_arrays(pa.array([0, index]), pa.array(["F", "M"]), safe=False)
    with pytest.raises(lr.DataError) as caught:
        lr.randomize(pa.table({"sex": column, "plan": [1, 2]}), DESIGN)
    assert_clear(str(caught.value), "'sex'")


# Outputs that cannot be written.


@pytest.mark.parametrize(
    ("output", "mentions"),
    [
        ("old.csv", ["exists", "force=True (--force)"]),
        ("folder.csv", ["is a folder"]),
        ("nowhere/new.csv", ["no folder", "make it first"]),
    ],
    ids=["exists", "a folder", "no folder"],
)
@pytest.mark.parametrize(
    "arguments",
    [
        ["design", "people.csv", "--lam", "0.5"],
        ["randomize", "people.csv", "-d", "design.json"],
        ["estimate", "people.csv", "-d", "design.json", "-t", "sex", "--format", "csv"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_an_output_that_cannot_be_written_is_refused(tmp_path, design_path, monkeypatch, arguments, output, mentions):
    monkeypatch.chdir(tmp_path)
    write(GOOD, tmp_path / "people.csv")
    put(tmp_path / "old.csv", "old")
    (tmp_path / "folder.csv").mkdir()
    assert_discreet(refused(tmp_path, *arguments, "-o", output), output, *mentions)


def test_an_output_that_exists_is_refused_by_the_library(tmp_path):
    path, old = write(GOOD, tmp_path / "people.csv"), put(tmp_path / "old.csv", "old")
    with pytest.raises(lr.SourceError, match="exists") as caught:
        lr.randomize_file(path, old, DESIGN)
    assert_clear(str(caught.value), "old.csv")
    assert old.read_text() == "old"


@pytest.mark.parametrize("output", ["reports.xlsx", "reports"])
def test_an_output_with_an_unknown_ending_is_refused(tmp_path, design_path, output):
    path = write(GOOD, tmp_path / "people.csv")
    message = refused(tmp_path, "randomize", path, "-d", design_path, "-o", tmp_path / output)
    assert_clear(message, output, ".csv", ".parquet")


def test_a_kept_column_that_csv_cannot_hold_is_refused(tmp_path, design_path):
    path = write(GOOD.append_column("odd", [[[SECRET]] * 3]), tmp_path / "people.parquet")
    arguments = ["-d", design_path, "-o", tmp_path / "reports.csv", "--keep", "odd"]
    assert_clear(refused(tmp_path, "randomize", path, *arguments), "'odd'", "Parquet")


# Weights.

BAD_WEIGHTS = {
    "negative": (["1", "-1", "1"], ["row 2"]),
    "nan": (["1", "1", "nan"], ["row 3"]),
    "infinite": (["inf", "1", "1"], ["row 1"]),
    "text": (["1", SECRET, "1"], ["'w'", "row 2"]),
    "missing": (["1", "", "1"], ["'w'", "row 2"]),
    "all zero": (["0", "0", "0"], ["zero"]),
}


@pytest.mark.parametrize(("weights", "mentions"), BAD_WEIGHTS.values(), ids=list(BAD_WEIGHTS))
def test_estimate_command_refuses_bad_weights(tmp_path, design_path, weights, mentions):
    reports = write(GOOD.append_column("w", [weights]), tmp_path / "reports.csv")
    arguments = ["-d", design_path, "-t", "sex", "--weights", "w", "-o", tmp_path / "estimates.csv"]
    assert_clear(refused(tmp_path, "estimate", reports, *arguments), "weights", *mentions)


@pytest.mark.parametrize(
    ("weights", "mentions"),
    [
        ([1, -1, 1], ["row 2"]),
        ([1, 1, NAN], ["row 3"]),
        ([1, None, 1], ["row 2"]),
        (["1", SECRET, "1"], ["number"]),
        ([[1], [1, 2], [3]], ["number"]),
        ([1, 1], ["one number per report"]),
        ([1, 1, 1, 1], ["one number per report", "4", "3"]),
        ([], ["one number per report"]),
        ([0, 0, 0], ["zero"]),
        (np.array([1, 1, np.inf]), ["row 3"]),
        (1.0, ["one number per report"]),
    ],
    ids=["negative", "nan", "None", "text", "ragged", "too few", "too many", "none", "zero", "infinite", "one number"],
)
@pytest.mark.parametrize("verb", [lr.tally, lr.estimate], ids=["tally", "estimate"])
def test_bad_weights_are_refused_by_the_library(verb, weights, mentions):
    with pytest.raises(lr.DataError) as caught:
        verb(GOOD, DESIGN, ["sex"], weights=weights)
    assert_clear(str(caught.value), "weights", *mentions)


@pytest.mark.parametrize(
    "column",
    [pa.array([SECRET, "1", "1"]), pa.array([SECRET_NUMBER, 1, 1], pa.date32()), pa.array([[1.0], [1.0], [1.0]])],
    ids=["text", "dates", "lists"],
)
def test_a_column_of_weights_that_are_no_numbers_is_refused(column):
    with pytest.raises(lr.DataError) as caught:
        lr.tally(GOOD.append_column("w", column), DESIGN, ["sex"], weights="w")
    assert_clear(str(caught.value), "weights", "'w'")


def test_weights_that_are_not_a_column_are_refused(tmp_path):
    with pytest.raises(lr.DataError) as caught:
        lr.tally(write(GOOD, Path(tmp_path, "reports.csv")), DESIGN, ["sex"], weights="w")
    assert_clear(str(caught.value), "'w'", "sex, plan")
