import csv
import datetime
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lambdarr as lr

SEEDED = b"lambdarr.seeded"
SEX = lr.Attribute("sex", ["F", "M"])
ANSWER = lr.Attribute("answer", ["no", "yes"], missing="NA")
PLAN = lr.Attribute("plan", [1, 2, 3])
OWNER = lr.Attribute("owner", [False, True])
COLUMNS = {
    "sex": ["F", "M", "F", "F"],
    "id": ["007", "1.50", "", "0x1"],
    "answer": ["no", None, "yes", "no"],
    "plan": [3, 1, 2, 3],
    "owner": [True, False, True, True],
}
TRUTHFUL = lr.design([SEX, ANSWER, PLAN, OWNER], lam=1.0, keep=["id"])
PRIVATE = lr.design([SEX, ANSWER, PLAN, OWNER], lam=0.2, keep=["id"])

FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow table": pa.table,
    "arrow batch": pa.record_batch,
    "arrow reader": lambda columns: pa.table(columns).to_reader(),
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
}
frames = pytest.mark.parametrize("frame", FRAMES.values(), ids=list(FRAMES))
TEXT_FILES = {"csv": ",", "tsv": "\t"}
FILES = ["csv", "tsv", "parquet", "arrow"]


def plain(table):
    """Return a frame of any library as a mapping of lists, null as None."""
    if isinstance(table, pd.DataFrame):
        return {name: [None if pd.isna(v) else v for v in table[name].tolist()] for name in table.columns}
    if isinstance(table, pl.DataFrame):
        return table.to_dict(as_series=False)
    if isinstance(table, pa.RecordBatchReader):
        return table.read_all().to_pydict()
    if isinstance(table, duckdb.DuckDBPyRelation):
        rows = table.fetchall()
        return {name: [row[place] for row in rows] for place, name in enumerate(table.columns)}
    return table.to_pydict()


def written(value):
    """Return a value as the design says it is written in a text file."""
    return "NA" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def write(columns, path):
    """Write a table without lambdarr's help."""
    kind = path.suffix.removeprefix(".")
    if kind in TEXT_FILES:
        rows = zip(*([written(value) for value in column] for column in columns.values()), strict=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=TEXT_FILES[kind]).writerows([list(columns), *rows])
    elif kind == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        feather.write_feather(pa.table(columns), path, compression="uncompressed")
    return path


def read(path):
    """Return a file's columns, those of a text file as text."""
    kind = path.suffix.removeprefix(".")
    if kind in TEXT_FILES:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file, delimiter=TEXT_FILES[kind])
        return {name: [row[place] for row in rows] for place, name in enumerate(header)}
    return (pq.read_table(path) if kind == "parquet" else feather.read_table(path)).to_pydict()


# Frames of every library.


@frames
def test_a_table_comes_back_in_its_own_type(frame):
    table = frame(COLUMNS)
    assert type(lr.randomize(table, PRIVATE)) is type(table)


@frames
def test_a_table_comes_back_with_its_columns_in_order(frame):
    assert list(plain(lr.randomize(frame(COLUMNS), PRIVATE))) == list(COLUMNS)


@frames
def test_a_table_comes_back_equal_when_nothing_is_randomized(frame):
    assert plain(lr.randomize(frame(COLUMNS), TRUTHFUL)) == COLUMNS


@frames
def test_kept_columns_come_back_as_they_were(frame):
    assert plain(lr.randomize(frame(COLUMNS), PRIVATE))["id"] == COLUMNS["id"]


@frames
def test_dropped_columns_do_not_come_back(frame):
    design = lr.design([SEX, PLAN], lam=0.5)
    assert list(plain(lr.randomize(frame(COLUMNS), design, drop=["id", "answer", "owner"]))) == ["sex", "plan"]


@frames
def test_the_table_that_was_given_is_not_changed(frame):
    table = frame(COLUMNS)
    if isinstance(table, pa.RecordBatchReader):  # a stream has no before and after; its table has
        table = pa.table(COLUMNS)
    lr.randomize(table, PRIVATE, rng=lr.SeededWords(1))
    assert plain(table) == COLUMNS


@frames
def test_the_same_words_make_the_same_reports_of_every_table(frame):
    expected = lr.randomize(pa.table(COLUMNS), PRIVATE, rng=lr.SeededWords(5)).to_pydict()
    assert expected != COLUMNS
    assert plain(lr.randomize(frame(COLUMNS), PRIVATE, rng=lr.SeededWords(5))) == expected


@frames
@pytest.mark.parametrize("names", [["sex"], ["answer", "plan"], ["owner", "sex", "answer", "plan"]], ids="-".join)
def test_tallies_of_every_frame_agree(frame, names):
    expected = np.zeros([TRUTHFUL.attributes[TRUTHFUL.names.index(name)].size for name in names])
    for row in zip(*(COLUMNS[name] for name in names), strict=True):
        codes = (TRUTHFUL.attributes[TRUTHFUL.names.index(n)].code(v) for n, v in zip(names, row, strict=True))
        expected[tuple(codes)] += 1
    np.testing.assert_array_equal(lr.tally(frame(COLUMNS), TRUTHFUL, names).values, expected)


@pytest.mark.parametrize("format", FILES)
def test_tallies_of_every_file_format_agree(tmp_path, format):
    path = write(COLUMNS, tmp_path / f"people.{format}")
    for names in (["sex"], ["answer", "plan"], ["owner", "sex", "answer", "plan"]):
        expected = lr.tally(pa.table(COLUMNS), TRUTHFUL, names)
        found = lr.tally(path, TRUTHFUL, names)
        np.testing.assert_array_equal(found.values, expected.values)
        assert found.n == expected.n


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_batches_of_any_size_tally_alike(rows):
    table = pa.table(COLUMNS)
    expected = lr.tally(table, TRUTHFUL, ["sex", "answer"]).values
    np.testing.assert_array_equal(lr.tally(table.to_reader(rows), TRUTHFUL, ["sex", "answer"]).values, expected)


@frames
def test_a_design_found_in_any_frame_is_the_same(frame):
    found = lr.design(frame(COLUMNS), lam=0.5, keep=["id"], missing="NA")
    assert found == lr.design([SEX, ANSWER, PLAN, OWNER], lam=0.5, keep=["id"])


@pytest.mark.parametrize("format", FILES)
def test_a_design_found_in_any_file_is_the_same(tmp_path, format):
    path = write(COLUMNS, tmp_path / f"people.{format}")
    found = lr.design(path, lam=0.5, keep=["id"], missing="NA")
    assert found == lr.design([SEX, ANSWER, PLAN, OWNER], lam=0.5, keep=["id"])


# pandas.

TEXT, NUMBER, FLAG = lr.Attribute("a", ["x", "y"]), lr.Attribute("a", [1, 2]), lr.Attribute("a", [True, False])
TEXT_NA, NUMBER_NA = lr.Attribute("a", ["x", "y"], missing="NA"), lr.Attribute("a", [1, 2], missing="NA")
FLAG_NA = lr.Attribute("a", [True, False], missing="NA")

PANDAS = {
    "str": (pd.Series(["x", "y"], dtype="str"), TEXT),
    "str with NaN": (pd.Series(["x", np.nan], dtype="str"), TEXT_NA),
    "string": (pd.Series(["x", "y"], dtype="string"), TEXT),
    "string with NA": (pd.Series(["x", None], dtype="string"), TEXT_NA),
    "object": (pd.Series(["x", "y"], dtype=object), TEXT),
    "object with None": (pd.Series(["x", None], dtype=object), TEXT_NA),
    "object of integers": (pd.Series([1, 2], dtype=object), NUMBER),
    "object of booleans with None": (pd.Series([True, None], dtype=object), FLAG_NA),
    "Arrow text": (pd.Series(["x", "y"], dtype=pd.ArrowDtype(pa.string())), TEXT),
    "Arrow integer": (pd.Series([1, None], dtype=pd.ArrowDtype(pa.int16())), NUMBER_NA),
    "category": (pd.Series(pd.Categorical(["x", "y"])), TEXT),
    "category with NaN": (pd.Series(pd.Categorical(["x", None], ["x", "y"])), TEXT_NA),
    "category of integers": (pd.Series(pd.Categorical([2, 1])), NUMBER),
    "category of booleans": (pd.Series(pd.Categorical([True, False], [True, False])), FLAG),
    "ordered category": (pd.Series(pd.Categorical(["x", "y"], ["x", "y"], ordered=True)), TEXT),
    "ordered category in an order of its own": (pd.Series(pd.Categorical(["x", "y"], ["y", "x"], ordered=True)), TEXT),
    "Int64": (pd.Series([1, 2], dtype="Int64"), NUMBER),
    "Int64 with NA": (pd.Series([1, None], dtype="Int64"), NUMBER_NA),
    "Int8": (pd.Series([1, 2], dtype="Int8"), NUMBER),
    "int64": (pd.Series([1, 2], dtype="int64"), NUMBER),
    "int8": (pd.Series([1, 2], dtype="int8"), NUMBER),
    "uint64": (pd.Series([1, 2], dtype="uint64"), NUMBER),
    "float64 with NaN": (pd.Series([1.0, np.nan], dtype="float64"), NUMBER_NA),
    "float32 with NaN": (pd.Series([1.0, np.nan], dtype="float32"), NUMBER_NA),
    "bool": (pd.Series([True, False], dtype="bool"), FLAG),
    "boolean with NA": (pd.Series([True, None], dtype="boolean"), FLAG_NA),
}


@pytest.mark.parametrize(("column", "attribute"), PANDAS.values(), ids=list(PANDAS))
def test_a_pandas_column_comes_back_in_its_dtype(column, attribute):
    frame = pd.DataFrame({"a": column})
    pd.testing.assert_frame_equal(lr.randomize(frame, lr.design([attribute], lam=1.0)), frame)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["b", "a"], dtype=object),
        pd.Series([1, 2], dtype=object),
        pd.Series(["a", np.nan], dtype=object),
        pd.Series([b"a", b"b"], dtype=object),
        pd.Series([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], dtype=object),
        pd.Series(pd.to_datetime(["2020-01-01", None])).dt.tz_localize("Europe/Madrid"),
        pd.Series(pd.to_timedelta([1, 2], unit="s")),
        pd.Series(pd.period_range("2020", periods=2, freq="M")),
        pd.Series(pd.Categorical(["q", "r"], ["r", "q", "z"], ordered=True)),
        pd.Series([1.5, np.nan]),
        pd.Series([2**63, 1], dtype="uint64"),
    ],
    ids=["text", "integers", "NaN", "bytes", "dates", "times", "durations", "periods", "category", "float", "uint64"],
)
def test_a_kept_pandas_column_comes_back_as_it_was(column):
    frame = pd.DataFrame({"sex": ["F", "M"], "kept": column})
    out = lr.randomize(frame, lr.design([SEX], lam=0.5), keep=["kept"])
    pd.testing.assert_series_equal(out["kept"], column, check_names=False)


def test_a_plain_pandas_index_comes_back():
    frame = pd.DataFrame({"sex": ["F", "M"]}, index=[7, 3])
    pd.testing.assert_frame_equal(lr.randomize(frame, lr.design([SEX], lam=1.0)), frame)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([7, 7], name="person"),
        pd.Index(["SECRETVALUE", "a"]),
        pd.Index([0.5, 1.5]),
        pd.MultiIndex.from_tuples([(1, "x"), (1, "y")]),
    ],
    ids=["named", "text", "decimal", "of two levels"],
)
def test_a_pandas_index_that_says_something_is_not_released_unasked(index):
    frame = pd.DataFrame({"sex": ["F", "M"]}, index=index)
    with pytest.raises(lr.DataError, match="reset_index") as caught:
        lr.randomize(frame, lr.design([SEX], lam=1.0))
    assert "SECRETVALUE" not in str(caught.value)


def kinds_of_codes():
    """Yield ways to make codes of texts that number them as they come."""
    yield "Arrow", lambda texts: pa.table({"a": pa.array(texts).dictionary_encode()})
    yield "pandas", lambda texts: pd.DataFrame({"a": pd.Categorical(texts, categories=list(dict.fromkeys(texts)))})
    yield "Polars", lambda texts: pl.DataFrame({"a": pl.Series(texts, dtype=pl.Categorical)})


def dictionary_of(frame):
    if isinstance(frame, pd.DataFrame):
        return list(frame["a"].cat.categories)
    return (frame if isinstance(frame, pa.Table) else frame.to_arrow())["a"].chunk(0).dictionary.to_pylist()


@pytest.mark.parametrize("make", [make for _, make in kinds_of_codes()], ids=[kind for kind, _ in kinds_of_codes()])
def test_the_order_of_codes_tells_nothing_of_the_records(make):
    """An encoder puts the first record's text first: it must show neither in the design nor in the reports."""
    texts = ["y", "x", "y", "z", "x"]
    forwards, backwards = make(texts), make(texts[::-1])
    designs = [lr.design(table, lam=0.05) for table in (forwards, backwards)]
    assert designs[0] == designs[1]
    assert designs[0].attributes[0].categories == ("x", "y", "z")
    design = lr.design({"a": ["z", "y", "x"]}, lam=1.0)
    reports = [lr.randomize(table, design) for table in (forwards, backwards)]
    if not isinstance(forwards, pl.DataFrame):  # Polars numbers the reports anew, as they come
        assert dictionary_of(reports[0]) == dictionary_of(reports[1]) == ["z", "y", "x"]


def test_a_text_of_a_record_that_is_gone_is_gone_from_the_codes():
    frame = pd.DataFrame({"a": pd.Categorical(["Ann Smith", "x", "y", "y"])[1:]})
    assert lr.design(frame, lam=0.5).attributes[0].categories == ("x", "y")
    assert list(lr.randomize(frame, lr.design([TEXT], lam=0.5))["a"].cat.categories) == ["x", "y"]


def test_the_name_of_pandas_columns_comes_back():
    frame = pd.DataFrame({"sex": ["F", "M"]}).rename_axis(columns="question")
    assert lr.randomize(frame, lr.design([SEX], lam=1.0)).columns.name == "question"


def test_pandas_attrs_come_back():
    frame = pd.DataFrame({"sex": ["F", "M"]})
    frame.attrs["wave"] = 3
    assert lr.randomize(frame, lr.design([SEX], lam=0.5)).attrs == {"wave": 3}


def test_a_pandas_category_takes_the_categories_that_only_the_design_has():
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"] * 50)})
    out = lr.randomize(frame, lr.design({"a": ["x", "y", "z"]}, lam=0.1), rng=lr.SeededWords(1))
    assert set(out["a"]) == {"x", "y", "z"}


@pytest.mark.parametrize("size", [200, 300])
def test_a_pandas_category_can_have_a_large_domain(size):
    """pandas keeps the codes of two categories in int8; the reports need more."""
    frame = pd.DataFrame({"a": pd.Categorical(["0", "1"] * 500)})
    out = lr.randomize(frame, lr.design({"a": [str(k) for k in range(size)]}, lam=0.01), rng=lr.SeededWords(1))
    assert out["a"].nunique() > 128


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_a_pandas_column_that_cannot_hold_a_null_changes_its_dtype_to_report_one(dtype):
    values, attribute = ([1, 2], NUMBER_NA) if dtype == "int64" else ([True, False], FLAG_NA)
    frame = pd.DataFrame({"a": pd.Series(values * 50, dtype=dtype)})
    out = lr.randomize(frame, lr.design([attribute], lam=0.1), rng=lr.SeededWords(1))
    assert 0 < out["a"].isna().sum() < 100


@frames
def test_a_column_of_nulls_alone_is_a_column_of_missing_answers(frame):
    out = plain(lr.randomize(frame({"answer": [None] * 100}), lr.design([ANSWER], lam=0.1), rng=lr.SeededWords(1)))
    assert set(out["answer"]) == {"no", "yes", None}


# Polars.

POLARS = {
    "String": (pl.Series(["x", "y"]), TEXT),
    "String with null": (pl.Series(["x", None]), TEXT_NA),
    "Categorical": (pl.Series(["y", "x"], dtype=pl.Categorical), TEXT),
    "Categorical with null": (pl.Series(["x", None], dtype=pl.Categorical), TEXT_NA),
    "Enum": (pl.Series(["x", "y"], dtype=pl.Enum(["x", "y"])), TEXT),
    "Enum with null": (pl.Series(["x", None], dtype=pl.Enum(["x", "y"])), TEXT_NA),
    "Enum in an order of its own": (pl.Series(["x", "y"], dtype=pl.Enum(["y", "x"])), TEXT),
    "Enum with one that is not used": (pl.Series(["x", "y"], dtype=pl.Enum(["z", "y", "x"])), TEXT),
    "Int64": (pl.Series([1, 2], dtype=pl.Int64), NUMBER),
    "Int8 with null": (pl.Series([1, None], dtype=pl.Int8), NUMBER_NA),
    "UInt64": (pl.Series([1, 2], dtype=pl.UInt64), NUMBER),
    "Float64 with null": (pl.Series([1.0, None], dtype=pl.Float64), NUMBER_NA),
    "Boolean": (pl.Series([True, False]), FLAG),
    "Boolean with null": (pl.Series([True, None]), FLAG_NA),
}


@pytest.mark.parametrize(("column", "attribute"), POLARS.values(), ids=list(POLARS))
def test_a_polars_column_comes_back_in_its_dtype(column, attribute):
    frame = pl.DataFrame({"a": column})
    out = lr.randomize(frame, lr.design([attribute], lam=1.0))
    assert out.schema == frame.schema
    assert out.equals(frame)


def test_kept_polars_columns_come_back_as_they_were():
    kept = pl.DataFrame(
        {
            "list": [[1], [2]],
            "date": [datetime.date(2020, 1, 1), None],
            "struct": [{"a": 1}, {"a": 2}],
            "enum": pl.Series(["q", "r"], dtype=pl.Enum(["r", "q", "z"])),
        }
    )
    out = lr.randomize(kept.with_columns(sex=pl.Series(["F", "M"])), lr.design([SEX], lam=0.5), keep=kept.columns)
    assert out.drop("sex").equals(kept)
    assert out.drop("sex").schema == kept.schema


# Arrow and DuckDB.


def arrow_text(values, kind):
    """Return text of any Arrow type, also of those that pyarrow cannot make from a list."""
    if pa.types.is_dictionary(kind):
        text = pa.array(values).dictionary_encode()
        words = text.dictionary.cast(kind.value_type)
        return pa.DictionaryArray.from_arrays(text.indices.cast(kind.index_type), words, ordered=kind.ordered)
    return pa.array(values, kind)


ARROW_TEXTS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint16(), pa.large_string()),
    pa.dictionary(pa.int64(), pa.string(), ordered=True),
]


@pytest.mark.parametrize("values", [["x", "y"], ["y", "x"], ["x", "y", None]], ids=["in order", "out of order", "null"])
@pytest.mark.parametrize("kind", ARROW_TEXTS, ids=str)
def test_an_arrow_column_of_text_comes_back_in_its_type(kind, values):
    table = pa.table({"a": arrow_text(values, kind)})
    out = lr.randomize(table, lr.design([TEXT_NA if None in values else TEXT], lam=1.0))
    out.validate(full=True)
    assert out.schema == table.schema
    assert out["a"].to_pylist() == values


@pytest.mark.parametrize("kind", ARROW_TEXTS, ids=str)
def test_the_categories_of_an_arrow_column_of_text_are_found(kind):
    table = pa.table({"a": arrow_text(["x", "y", None], kind)})
    assert lr.design(table, lam=0.5, missing="NA").attributes == (TEXT_NA,)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()], ids=str)
def test_an_arrow_column_of_whole_numbers_comes_back_in_its_type(kind):
    table = pa.table({"a": pa.array([1, 2, None], kind)})
    out = lr.randomize(table, lr.design([NUMBER_NA], lam=1.0))
    assert out.equals(table)
    assert out.schema == table.schema


def test_the_declared_order_of_a_dictionary_comes_back():
    column = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["y", "x"]), ordered=True)
    out = lr.randomize(pa.table({"a": column}), lr.design([TEXT], lam=1.0))
    assert out["a"].chunk(0).dictionary.to_pylist() == ["y", "x"]


def test_a_dictionary_column_is_not_expanded():
    table = pa.table({"a": pa.array(["x", "y"] * 50).dictionary_encode()})
    out = lr.randomize(table, lr.design([TEXT], lam=0.5))
    assert pa.types.is_dictionary(out.schema.field("a").type)


def test_a_design_takes_the_declared_categories_of_a_dictionary_in_their_order():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["low", "high", "middle"]), ordered=True)
    assert lr.design(pa.table({"a": column}), lam=0.5).attributes[0].categories == ("low", "high", "middle")


def test_batches_may_differ_in_their_dictionaries():
    chunks = pa.chunked_array([pa.array(["x"]).dictionary_encode(), pa.array(["y"]).dictionary_encode()])
    out = lr.randomize(pa.table({"a": chunks}), lr.design([TEXT], lam=1.0))
    assert out["a"].to_pylist() == ["x", "y"]


@pytest.mark.parametrize("format", FILES)
def test_a_kept_column_may_change_its_dictionary_from_batch_to_batch(tmp_path, format):
    path, out = tmp_path / "people.arrow", tmp_path / f"reports.{format}"
    batches = [pa.record_batch({"sex": ["F"], "kept": pa.array([text]).dictionary_encode()}) for text in ("p", "q")]
    with pa.ipc.new_stream(path, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    lr.randomize_file(path, out, lr.design([SEX], lam=1.0), keep=["kept"])
    assert read(out) == {"sex": ["F", "F"], "kept": ["p", "q"]}


@pytest.mark.parametrize("encode", [lambda column: column, pa.Array.dictionary_encode], ids=["plain", "dictionary"])
def test_a_slice_of_a_table_is_read_from_where_it_starts(encode):
    table = pa.table({"a": encode(pa.array(["x", "y", "y", "x", "y"]))}).slice(1, 3)
    assert lr.randomize(table, lr.design([TEXT], lam=1.0)).equals(table)
    np.testing.assert_array_equal(lr.tally(table, lr.design([TEXT], lam=1.0), ["a"]).values, [1, 2])


def test_metadata_of_a_column_comes_back_and_that_of_the_table_does_not():
    """What a table says of itself may speak of dropped columns or of the truths; a released column's label may not."""
    schema = pa.schema([pa.field("a", pa.string(), metadata={"label": "letter"})], metadata={"wave": "3"})
    out = lr.randomize(pa.table([pa.array(["x", "y"])], schema=schema), lr.design([TEXT], lam=1.0))
    assert out.schema.equals(schema.remove_metadata().set(0, schema.field("a")), check_metadata=True)


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_a_column_that_may_not_be_null_can_report_a_missing_value(tmp_path, format):
    schema = pa.schema([pa.field("answer", pa.string(), nullable=False)])
    path, out = tmp_path / f"people.{format}", tmp_path / f"reports.{format}"
    write(pa.table([pa.array(["no", "yes"] * 50)], schema=schema), path)
    design = lr.design([ANSWER], lam=0.1)
    lr.randomize_file(path, out, design, rng=lr.SeededWords(1))
    assert (lr.tally(out, design, ["answer"]).values > 0).all()
    assert (pq.read_schema(out) if format == "parquet" else feather.read_table(out).schema).field("answer").nullable


def test_anything_with_the_arrow_stream_protocol_is_a_table():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)

    assert plain(lr.randomize(Stream(), TRUTHFUL)) == COLUMNS


def test_a_list_of_records_comes_back_as_one():
    records = [{"sex": "F"}, {"sex": "M"}]
    design = lr.design([SEX], lam=1.0)
    assert lr.randomize(records, design) == records
    assert lr.tally(records, design, ["sex"]).values.tolist() == [1, 1]


def test_a_row_of_a_frame_is_told_to_be_a_dict_without_naming_its_answers():
    with pytest.raises(lr.DataError, match="to_dict") as caught:
        lr.randomize_record(pd.Series({"sex": "SECRETVALUE"}), lr.design([SEX], lam=1.0))
    assert "SECRETVALUE" not in str(caught.value)


def test_a_reader_is_randomized_as_it_is_read():
    read_batches = []

    def batches():
        for text in ["F", "M"] * 20:
            read_batches.append(text)
            yield pa.record_batch({"sex": [text]})

    source = pa.RecordBatchReader.from_batches(pa.schema([("sex", pa.string())]), batches())
    out = lr.randomize(source, lr.design([SEX], lam=1.0))
    assert out.read_next_batch().to_pydict() == {"sex": ["F"]}
    assert len(read_batches) < 20  # a few are read ahead, not all


@pytest.mark.parametrize(
    "sql",
    [
        "select * from (values ('x'), ('y')) t(a)",
        "select a::enum('x', 'y') as a from (values ('x'), ('y')) t(a)",
    ],
    ids=["varchar", "enum"],
)
def test_a_duckdb_relation_comes_back_with_its_types(sql):
    relation = duckdb.connect().sql(sql)
    out = lr.randomize(relation, lr.design([TEXT], lam=1.0))
    assert out.fetchall() == [("x",), ("y",)]
    assert out.types == relation.types


# Categories keep their type.


@pytest.mark.parametrize(
    ("categories", "fields"),
    [
        (["01", "1"], ["01", "1"]),
        ([1, 2], ["1", "2"]),
        (["true", "false"], ["true", "false"]),
        ([True, False], ["true", "false"]),
        (["NA", "b"], ["NA", "b"]),
        (["", "b"], ["", "b"]),
        ([" a", "a"], [" a", "a"]),
        (["null", "nan"], ["null", "nan"]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_the_design_decides_how_a_text_file_is_read(tmp_path, format, categories, fields):
    path, out = write({"a": fields, "id": ["1", "2"]}, tmp_path / f"in.{format}"), tmp_path / f"out.{format}"
    design = lr.design({"a": categories}, lam=1.0)
    lr.randomize_file(path, out, design, keep=["id"])
    assert read(out)["a"] == fields
    np.testing.assert_array_equal(lr.tally(out, design, ["a"]).values, [1, 1])


@pytest.mark.parametrize(
    ("categories", "field"),
    [([1, 2], "01"), ([1, 2], "1.0"), ([1, 2], "+1"), (["1", "2"], "01"), (["a", "b"], "NA"), (["a", "b"], "")],
    ids=repr,
)
def test_a_text_that_is_written_otherwise_is_not_the_category(tmp_path, categories, field):
    path = write({"a": [str(categories[0]), field], "id": ["1", "2"]}, tmp_path / "in.csv")
    with pytest.raises(lr.DataError, match="row 2"):
        lr.tally(path, lr.design({"a": categories}, lam=1.0), ["a"])


@pytest.mark.parametrize("field", ["true", "True", "TRUE"])
def test_a_boolean_is_read_as_other_programs_write_it(tmp_path, field):
    path = write({"a": [field, "false"]}, tmp_path / "in.csv")
    np.testing.assert_array_equal(lr.tally(path, lr.design([FLAG], lam=1.0), ["a"]).values, [1, 1])


@pytest.mark.parametrize(
    ("column", "categories"),
    [([1, 2], ["1", "2"]), (["1", "2"], [1, 2]), ([True, False], [1, 0]), ([1, 0], [True, False])],
    ids=["number for text", "text for number", "boolean for number", "number for boolean"],
)
def test_a_typed_column_has_to_hold_the_type_of_the_categories(column, categories):
    with pytest.raises(lr.DataError, match="'a'"):
        lr.randomize(pa.table({"a": column}), lr.design({"a": categories}, lam=0.5))


@pytest.mark.parametrize(
    ("fields", "categories"),
    [
        (["1", "2"], (1, 2)),
        (["-1", "0"], (-1, 0)),
        (["01", "2"], ("01", "2")),
        (["1", "2.0"], ("1", "2.0")),
        (["1", "a"], ("1", "a")),
        (["1", "1_0"], ("1", "1_0")),
        (["+1", "2"], ("+1", "2")),
        (["-0", "1"], ("-0", "1")),
        (["1", "9223372036854775808"], ("1", "9223372036854775808")),
        (["true", "false"], (False, True)),
        (["yes", "no"], ("no", "yes")),
        (["10", "9"], (9, 10)),
    ],
    ids=repr,
)
def test_a_design_reads_a_text_file_as_numbers_only_if_all_are_written_as_such(tmp_path, fields, categories):
    path = write({"a": fields}, tmp_path / "in.csv")
    found = lr.design(path, lam=0.5).attributes[0].categories
    assert found == categories
    assert [type(category) for category in found] == [type(category) for category in categories]


# Text files.


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("sex,id\nF,1\nM,2\n", ["1", "2"]),
        ("sex,id\nF,1\nM,2", ["1", "2"]),
        ("sex,id\r\nF,1\r\nM,2\r\n", ["1", "2"]),
        ("\ufeffsex,id\nF,1\nM,2\n", ["1", "2"]),
        ('\ufeff"sex",id\r\nF,1\r\nM,2\r\n', ["1", "2"]),
        ('"sex","id"\n"F","1"\n"M","2"\n', ["1", "2"]),
        ('sex,id\nF,"a,b"\nM,2\n', ["a,b", "2"]),
        ('sex,id\nF,"a\nb"\nM,2\n', ["a\nb", "2"]),
        ('sex,id\r\nF,"a\r\nb"\r\nM,2\r\n', ["a\r\nb", "2"]),
        ('sex,id\nF,"say ""a"""\nM,""""\n', ['say "a"', '"']),
        ("sex,id\nF,naïve café\nM,λ→日本 🎈\n", ["naïve café", "λ→日本 🎈"]),
        ("sex,id\nF,007\nM,1.50\n", ["007", "1.50"]),
        ("sex,id\nF,\nM,NA\n", ["", "NA"]),
        ("sex,id\nF, a \nM,null\n", [" a ", "null"]),
        ("sex,id\nF,1e5\nM,2020-01-01\n", ["1e5", "2020-01-01"]),
        ("sex,id\nF,#1\nM,'2'\n", ["#1", "'2'"]),
    ],
    ids=[
        "plain",
        "no last newline",
        "CRLF",
        "BOM",
        "BOM before quotes",
        "all quoted",
        "comma",
        "newline",
        "CRLF inside",
        "quotes",
        "unicode",
        "leading zero and trailing zero",
        "empty and NA",
        "spaces and null",
        "numbers and dates",
        "marks",
    ],
)
def test_a_csv_file_comes_back_with_the_same_fields(tmp_path, content, expected):
    (tmp_path / "in.csv").write_bytes(content.encode())
    rows = lr.randomize_file(tmp_path / "in.csv", tmp_path / "out.csv", lr.design([SEX], lam=1.0), keep=["id"])
    assert rows == 2
    assert read(tmp_path / "out.csv") == {"sex": ["F", "M"], "id": expected}


def test_a_plain_csv_file_comes_back_byte_for_byte(tmp_path):
    content = "sex,id,note\nF,007,1.50\nM,,NA\nF,é,λ\n".encode()
    (tmp_path / "in.csv").write_bytes(content)
    lr.randomize_file(tmp_path / "in.csv", tmp_path / "out.csv", lr.design([SEX], lam=1.0), keep=["id", "note"])
    assert (tmp_path / "out.csv").read_bytes() == content


@pytest.mark.parametrize("name", ["a,b", 'say "a"', "a\nb", "é", " a", "[b]"])
def test_a_csv_column_may_have_any_name(tmp_path, name):
    path, out = write({name: ["F", "M"], "id": ["1", "2"]}, tmp_path / "in.csv"), tmp_path / "out.csv"
    lr.randomize_file(path, out, lr.design({name: ["F", "M"]}, lam=1.0), keep=["id"])
    assert read(out) == {name: ["F", "M"], "id": ["1", "2"]}


@pytest.mark.parametrize("category", ["a,b", 'say "a"', "a\nb", "a\tb", "é→🎈", " a ", "#", "'"])
@pytest.mark.parametrize("format", FILES)
def test_a_category_may_be_any_text(tmp_path, format, category):
    path, out = write({"a": [category, "b"], "id": ["1", "2"]}, tmp_path / f"in.{format}"), tmp_path / f"out.{format}"
    lr.randomize_file(path, out, lr.design({"a": [category, "b"]}, lam=1.0), keep=["id"])
    assert read(out)["a"] == [category, "b"]


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@settings(max_examples=60, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5), st.sampled_from(["csv", "tsv"]))
def test_any_kept_text_comes_back_from_a_text_file(values, format):
    with tempfile.TemporaryDirectory() as folder:
        path = write({"sex": ["F"] * len(values), "id": values}, Path(folder, f"in.{format}"))
        lr.randomize_file(path, Path(folder, f"out.{format}"), lr.design([SEX], lam=1.0), keep=["id"])
        assert read(Path(folder, f"out.{format}"))["id"] == values


@pytest.mark.parametrize("content", ["answer\nno\n\nyes\n", 'answer\nno\n""\nyes\n'], ids=["an empty line", "quotes"])
def test_an_empty_field_of_a_single_column_is_a_record(tmp_path, content):
    """The only column of a file, with a missing answer in it: its line is empty."""
    design = lr.design([lr.Attribute("answer", ["no", "yes"], missing="")], lam=1.0)
    (tmp_path / "in.csv").write_text(content, encoding="utf-8")
    assert lr.randomize_file(tmp_path / "in.csv", tmp_path / "out.csv", design) == 3
    np.testing.assert_array_equal(lr.tally(tmp_path / "out.csv", design, ["answer"]).values, [1, 1, 1])


def test_a_field_longer_than_a_block_is_read(tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_text(f"sex,id\nF,{'x' * 5_000_000}\nM,2\n", encoding="utf-8")
    assert lr.randomize_file(path, out, lr.design([SEX], lam=1.0), keep=["id"]) == 2
    assert out.read_bytes() == path.read_bytes()


# From one format to another.


@pytest.mark.parametrize("missing", ["", "NA"])
@pytest.mark.parametrize("output", FILES)
@pytest.mark.parametrize("input", FILES)
@pytest.mark.parametrize("attribute", [TEXT_NA, NUMBER_NA, FLAG_NA], ids=["text", "integers", "booleans"])
def test_missing_values_go_from_every_format_to_every_other(tmp_path, attribute, input, output, missing):
    design = lr.design([lr.Attribute("a", attribute.categories, missing=missing)], lam=1.0)
    values = [attribute.categories[1], None, attribute.categories[0], None]
    columns = {"a": [missing if v is None else written(v) for v in values] if input in TEXT_FILES else values}
    path = write(columns | {"id": ["1", "2", "3", "4"]}, tmp_path / f"in.{input}")
    lr.randomize_file(path, tmp_path / f"out.{output}", design, keep=["id"])
    np.testing.assert_array_equal(lr.tally(tmp_path / f"out.{output}", design, ["a"]).values, [1, 1, 2])


@pytest.mark.parametrize("output", ["csv", "tsv"])
@pytest.mark.parametrize("input", FILES)
def test_a_missing_value_is_written_to_a_text_file_as_the_design_says(tmp_path, input, output):
    path = write({"a": ["x", None], "id": ["1", "2"]}, tmp_path / f"in.{input}")
    lr.randomize_file(path, tmp_path / f"out.{output}", lr.design([TEXT_NA], lam=1.0), keep=["id"])
    assert read(tmp_path / f"out.{output}")["a"] == ["x", "NA"]


@pytest.mark.parametrize("output", ["parquet", "arrow"])
@pytest.mark.parametrize("input", FILES)
def test_a_missing_value_is_written_to_a_typed_file_as_null(tmp_path, input, output):
    path = write({"a": ["x", None], "id": ["1", "2"]}, tmp_path / f"in.{input}")
    lr.randomize_file(path, tmp_path / f"out.{output}", lr.design([TEXT_NA], lam=1.0), keep=["id"])
    assert read(tmp_path / f"out.{output}")["a"] == ["x", None]


@pytest.mark.parametrize("output", ["parquet", "arrow"])
@pytest.mark.parametrize("input", FILES)
def test_categories_are_written_to_a_typed_file_in_their_type(tmp_path, input, output):
    path = write(COLUMNS, tmp_path / f"in.{input}")
    lr.randomize_file(path, tmp_path / f"out.{output}", TRUTHFUL)
    found = read(tmp_path / f"out.{output}")
    assert (found["plan"], found["owner"]) == (COLUMNS["plan"], COLUMNS["owner"])


@pytest.mark.parametrize("output", FILES)
@pytest.mark.parametrize("input", FILES)
def test_kept_text_goes_from_every_format_to_every_other(tmp_path, input, output):
    path = write(COLUMNS, tmp_path / f"in.{input}")
    lr.randomize_file(path, tmp_path / f"out.{output}", PRIVATE)
    assert read(tmp_path / f"out.{output}")["id"] == COLUMNS["id"]


@pytest.mark.parametrize("ending", ["CSV", "pq", "feather", "ipc"])
def test_other_endings_of_the_same_formats_are_known(tmp_path, ending):
    lr.randomize_file(
        write(COLUMNS, tmp_path / "in.parquet"),
        tmp_path / f"out.{ending}",
        lr.design([SEX], lam=1.0),
        keep=["id"],
        drop=["answer", "plan", "owner"],
    )
    np.testing.assert_array_equal(lr.tally(tmp_path / f"out.{ending}", TRUTHFUL, ["sex"]).values, [3, 1])


@pytest.mark.parametrize("write_batches", [pa.ipc.new_file, pa.ipc.new_stream], ids=["file", "stream"])
def test_both_forms_of_an_arrow_file_are_read(tmp_path, write_batches):
    table = pa.table({"sex": ["F", "M", "F"]})
    with write_batches(tmp_path / "in.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    np.testing.assert_array_equal(lr.tally(tmp_path / "in.arrow", lr.design([SEX], lam=1.0), ["sex"]).values, [2, 1])


# Seeds.


@frames
def test_a_seed_is_asked_for_by_name(frame):
    with pytest.raises(lr.DesignError, match="SeededWords"):
        lr.randomize(frame(COLUMNS), PRIVATE, rng=np.random.default_rng(1))


@pytest.mark.parametrize("frame", [pa.table, pa.record_batch, FRAMES["arrow reader"]], ids=["table", "batch", "reader"])
def test_seeded_arrow_reports_are_marked(frame):
    assert lr.randomize(frame(COLUMNS), PRIVATE, rng=lr.SeededWords(1)).schema.metadata[SEEDED] == b"true"


def test_seeded_pandas_reports_are_marked():
    out = lr.randomize(pd.DataFrame(COLUMNS), PRIVATE, rng=lr.SeededWords(1))
    assert out.attrs == {"lambdarr.seeded": True}


@pytest.mark.parametrize("output", ["parquet", "arrow"])
@pytest.mark.parametrize("input", FILES)
def test_a_seeded_file_of_reports_is_marked(tmp_path, input, output):
    path, out = write(COLUMNS, tmp_path / f"in.{input}"), tmp_path / f"out.{output}"
    lr.randomize_file(path, out, PRIVATE, rng=lr.SeededWords(1))
    schema = pq.read_schema(out) if output == "parquet" else feather.read_table(out).schema
    assert schema.metadata[SEEDED] == b"true"


def test_a_mark_stands_beside_the_metadata_that_was_there():
    table = pa.table(COLUMNS).replace_schema_metadata({"pandas": "{}"})
    out = lr.randomize(table, PRIVATE, rng=lr.SeededWords(1))
    assert out.schema.metadata == {b"pandas": b"{}", SEEDED: b"true"}


@pytest.mark.parametrize("output", ["parquet", "arrow"])
def test_real_reports_are_not_marked(tmp_path, output):
    path, out = write(COLUMNS, tmp_path / "in.csv"), tmp_path / f"out.{output}"
    lr.randomize_file(path, out, PRIVATE)
    schema = pq.read_schema(out) if output == "parquet" else feather.read_table(out).schema
    assert SEEDED not in (schema.metadata or {})


# Streams.

ROWS = 400_000
"""More than one batch of every format: 2^17 rows, or 4 MiB of text."""


@pytest.fixture(scope="module")
def long_files(tmp_path_factory):
    """Return a file of each format whose last row does not fit."""
    folder = tmp_path_factory.mktemp("long")
    table = pa.table({"sex": ["female person", "male person"] * (ROWS // 2 - 1) + ["female person", "SECRETVALUE"]})
    pacsv.write_csv(table, folder / "people.csv", pacsv.WriteOptions(quoting_style="none"))
    pacsv.write_csv(table, folder / "people.tsv", pacsv.WriteOptions(quoting_style="none", delimiter="\t"))
    pq.write_table(table, folder / "people.parquet", row_group_size=50_000)
    with pa.ipc.new_file(folder / "people.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=50_000)
    return folder


LONG_DESIGN = lr.design({"sex": ["female person", "male person"]}, lam=0.5)


@pytest.mark.parametrize("output", FILES)
@pytest.mark.parametrize("input", FILES)
def test_an_error_in_a_later_batch_leaves_nothing_behind(long_files, tmp_path, input, output):
    done = []
    with pytest.raises(lr.DataError, match=f"row {ROWS:,};") as caught:
        lr.randomize_file(
            long_files / f"people.{input}", tmp_path / f"reports.{output}", LONG_DESIGN, progress=done.append
        )
    assert done  # earlier batches had been written
    assert "SECRETVALUE" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("input", FILES)
def test_an_error_in_a_later_batch_leaves_the_old_output_as_it_was(long_files, tmp_path, input):
    out = tmp_path / "reports.csv"
    out.write_text("old", encoding="utf-8")
    with pytest.raises(lr.DataError):
        lr.randomize_file(long_files / f"people.{input}", out, LONG_DESIGN, force=True)
    assert [(file.name, file.read_text(encoding="utf-8")) for file in tmp_path.iterdir()] == [("reports.csv", "old")]


def test_an_interrupted_run_leaves_nothing_behind(long_files, tmp_path):
    def interrupt(rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lr.randomize_file(long_files / "people.csv", tmp_path / "reports.csv", LONG_DESIGN, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_an_error_in_a_later_batch_of_a_reader_names_its_row():
    out = lr.randomize(pa.table({"sex": ["F", "M", "SECRETVALUE"]}).to_reader(1), lr.design([SEX], lam=1.0))
    with pytest.raises(lr.DataError, match="row 3") as caught:
        out.read_all()
    assert "SECRETVALUE" not in str(caught.value)


@pytest.mark.parametrize("format", FILES)
def test_a_file_of_several_batches_is_randomized_to_its_last_row(long_files, tmp_path, format):
    design = lr.design({"sex": ["female person", "male person", "SECRETVALUE"]}, lam=1.0)
    out = tmp_path / f"reports.{format}"
    assert lr.randomize_file(long_files / f"people.{format}", out, design) == ROWS
    np.testing.assert_array_equal(lr.tally(out, design, ["sex"]).values, [ROWS / 2, ROWS / 2 - 1, 1])


# Results in the library that the reports came in.


@pytest.mark.parametrize(
    ("frame", "kind"),
    [(pd.DataFrame, pd.DataFrame), (pl.DataFrame, pl.DataFrame), (pa.table, pa.Table)],
    ids=["pandas", "polars", "pyarrow"],
)
def test_an_estimate_comes_as_a_frame_of_the_same_library(frame, kind):
    found = lr.estimate(frame(COLUMNS), TRUTHFUL, ["answer"]).to_frame()
    assert isinstance(found, kind)
    assert plain(found)["answer"] == ["no", "yes", None]
    assert plain(found)["estimate"] == [0.5, 0.25, 0.25]
