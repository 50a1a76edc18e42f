import csv
import io
import json
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import lambdarr as lr
from lambdarr.cli import app
from tests.files import write

COMMANDS = [
    "design",
    "show",
    "randomize",
    "estimate",
    "query",
    "correlate",
    "regress",
    "synthesize",
    "plan",
    "audit",
    "report",
    "paper",
    "demo",
]
FORMATS = ["csv", "tsv", "parquet", "arrow"]
SCHEMA = json.loads((Path(__file__).parents[1] / "spec" / "design.schema.json").read_text(encoding="utf-8"))
MEASURES = {"bits", "strength", "epsilon", "truthfulness"}
NUMBERS = ["estimate", "unbiased", "standard_error", "lower", "upper", "count"]

# 60 people; sex and vote are text, age is a class number, w a survey weight
PEOPLE = pa.table(
    {
        "sex": ["F", "M", "F"] * 20,
        "vote": ["left", "right", "none", "left", "left", "none"] * 10,
        "age": [1, 2, 3, 3, 2] * 12,
        "w": [2.0, 1.0, 0.5, 1.5] * 15,
    }
)


def read(path):
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pydict()
    if path.suffix == ".arrow":
        return feather.read_table(path).to_pydict()
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter={".csv": ",", ".tsv": "\t"}[path.suffix])
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def run(*arguments):
    """Return the result of a command that must succeed."""
    result = invoke(*arguments)
    assert result.exit_code == 0, (result.stderr, result.exception)
    return result


def refuse(*arguments):
    """Return the message of a command that must be refused."""
    result = invoke(*arguments)
    assert result.exit_code == 2, (result.stdout, result.exception)
    return result.stderr


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def people(tmp_path):
    return write(PEOPLE, tmp_path / "people.csv")


@pytest.fixture
def design_path(tmp_path):
    """Keep rate 1/2 for sex and vote, 1 for age; weights are kept."""
    path = tmp_path / "design.json"
    attributes = {"sex": ["F", "M"], "vote": ["left", "none", "right"], "age": [1, 2, 3]}
    lr.design(attributes, lam={"sex": 0.5, "vote": 0.5, "age": 1.0}, keep=["w"]).save(path)
    return path


@pytest.fixture
def design(design_path):
    return lr.Design.load(design_path)


# design


@pytest.mark.parametrize(
    ("options", "measure", "expected"),
    [
        (["--lam", "0.5"], lambda d: [c.lam for c in d.channels], [0.5, 0.5]),
        (["--lam", "sex=0.5", "--lam", "vote=0.25"], lambda d: [c.lam for c in d.channels], [0.5, 0.25]),
        (["--strength", "0.6"], lambda d: [d.strength], [0.6]),
        (["--strength", "sex=0.6", "--strength", "vote=0.7"], lambda d: [c.strength for c in d.channels], [0.6, 0.7]),
        (["--bits", "1.5"], lambda d: [d.bits], [1.5]),
        (["--bits", "sex=0.5", "--bits", "vote=1"], lambda d: [c.bits for c in d.channels], [0.5, 1]),
        (["--epsilon", "2"], lambda d: [d.epsilon], [2]),
        (["--epsilon", "sex=1", "--epsilon", "vote=2"], lambda d: [c.epsilon for c in d.channels], [1, 2]),
        (["--lam", "sex=0.5", "--epsilon", "vote=2"], lambda d: [d.channels[0].lam, d.channels[1].epsilon], [0.5, 2]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and isinstance(value[0], str) else "",
)
def test_design_meets_each_form_of_target(people, tmp_path, options, measure, expected):
    run("design", people, "-o", tmp_path / "d.json", "--columns", "sex,vote", *options)
    assert measure(lr.Design.load(tmp_path / "d.json")) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("format", FORMATS)
def test_design_finds_the_categories_of_every_format(tmp_path, format):
    path = write(PEOPLE, tmp_path / f"people.{format}")
    run("design", path, "-o", tmp_path / "d.json", "--lam", "0.5", "--keep", "w")
    found = {a.name: a.categories for a in lr.Design.load(tmp_path / "d.json").attributes}
    assert found == {"sex": ("F", "M"), "vote": ("left", "none", "right"), "age": (1, 2, 3)}


def test_design_takes_the_columns_that_are_named_in_their_order(people, tmp_path):
    run("design", people, "-o", tmp_path / "d.json", "--lam", "0.5", "--columns", "vote, sex")
    assert lr.Design.load(tmp_path / "d.json").names == ("vote", "sex")


def test_design_lists_the_columns_to_keep(people, tmp_path):
    run("design", people, "-o", tmp_path / "d.json", "--lam", "0.5", "--keep", "w,age")
    loaded = lr.Design.load(tmp_path / "d.json")
    assert (loaded.names, loaded.kept) == (("sex", "vote"), ("w", "age"))


def test_design_says_which_columns_it_keeps(people, tmp_path):
    result = run("design", people, "-o", tmp_path / "d.json", "--lam", "0.5", "--keep", "w,age")
    assert "Released unrandomized: w, age" in result.stdout


@pytest.mark.parametrize(
    ("options", "categories", "missing"),
    [([], ("NA", "a", "b"), ""), (["--missing", "NA"], ("", "a", "b"), "NA"), (["--missing", "?"], None, None)],
    ids=["the empty field", "NA", "a text that does not occur"],
)
def test_design_reads_missing_values_as_it_is_told(tmp_path, options, categories, missing):
    data = tmp_path / "data.csv"
    data.write_text("answer,id\na,1\nNA,2\n,3\nb,4\n", encoding="utf-8")
    run("design", data, "-o", tmp_path / "d.json", "--lam", "0.5", "--columns", "answer", *options)
    attribute = lr.Design.load(tmp_path / "d.json").attributes[0]
    assert (attribute.categories, attribute.missing) == (categories or ("", "NA", "a", "b"), missing)


def test_design_reads_a_column_name_with_an_equals_sign(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("a=b\nx\ny\n", encoding="utf-8")
    run("design", data, "-o", tmp_path / "d.json", "--lam", "a=b=0.25")
    assert lr.Design.load(tmp_path / "d.json").channels[0].lam == 0.25


def test_design_writes_what_the_published_schema_describes(people, tmp_path):
    run("design", people, "-o", tmp_path / "d.json", "--strength", "0.6", "--keep", "w")
    document = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(document)) == []


def test_design_replaces_an_existing_file_when_forced(people, tmp_path):
    (tmp_path / "d.json").write_text("old", encoding="utf-8")
    run("design", people, "-o", tmp_path / "d.json", "--lam", "0.5", "--keep", "w", "--force")
    assert lr.Design.load(tmp_path / "d.json").kept == ("w",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "target"),
        (["--lam", "0.5", "--lam", "0.6"], "twice"),
        (["--lam", "sex=0.5", "--lam", "sex=0.6"], "'sex'"),
        (["--lam", "0.5", "--lam", "sex=0.6"], "not both"),
        (["--lam", "0.5", "--strength", "0.6"], "lam and strength"),
        (["--lam", "sex=0.5", "--strength", "sex=0.6"], "'sex' has two targets"),
        (["--lam", "sex=0.5"], "'vote' has no target"),
        (["--lam", "half"], "--lam must be a number"),
        (["--lam", "height=0.5"], "'height'"),
        (["--lam", "0.5", "--columns", "height"], "'height'"),
        (["--lam", "0.5", "--keep", "height"], "'height'"),
        (["--lam", "0.5", "--keep", "sex,vote,age,w"], "no column is left"),
    ],
    ids=" ".join,
)
def test_design_refuses_options_that_make_no_design(people, tmp_path, options, said):
    assert said in refuse("design", people, "-o", tmp_path / "d.json", *options)
    assert not (tmp_path / "d.json").exists()


# show


def test_show_json_has_the_published_shape(design_path):
    shown = json.loads(run("show", design_path, "--json").stdout)
    assert shown.keys() >= {"attributes", "joint", "attenuation"}
    for attribute in shown["attributes"]:
        assert attribute.keys() >= {"name", "size", "lambda", "threshold"} | MEASURES
    assert shown["joint"].keys() >= MEASURES | {"noise_amplification"}


def test_show_json_says_what_one_attribute_is(design_path):
    shown = json.loads(run("show", design_path, "--json").stdout)["attributes"][0]
    expected = {"name": "sex", "size": 2, "lambda": 0.5, "threshold": 2**31, "bits": 0.8112781, "strength": 0.8112781}
    expected |= {"epsilon": 1.0986123, "truthfulness": 0.75}
    assert {key: shown[key] for key in expected} == pytest.approx(expected)


def test_show_json_says_what_the_joint_is(tmp_path):
    made = lr.design({"sex": ["F", "M"], "smokes": ["no", "yes"]}, lam=0.5)
    made.save(tmp_path / "d.json")
    joint = json.loads(run("show", tmp_path / "d.json", "--json").stdout)["joint"]
    expected = {"bits": 1.6225562, "strength": 0.8112781, "epsilon": 2.1972246, "truthfulness": 0.5625}
    assert {key: joint[key] for key in expected} == pytest.approx(expected)
    assert joint["noise_amplification"] == 4


def test_show_json_has_the_attenuation_of_every_pair(design_path):
    shown = json.loads(run("show", design_path, "--json").stdout)
    expected = [[0.25, 0.25, 0.5], [0.25, 0.25, 0.5], [0.5, 0.5, 1]]
    for row, expected_row in zip(shown["attenuation"], expected, strict=True):
        assert row == pytest.approx(expected_row, abs=1e-8)


def test_show_json_writes_an_infinite_epsilon_as_null(design_path):
    shown = json.loads(run("show", design_path, "--json").stdout)
    assert (shown["attributes"][2]["epsilon"], shown["joint"]["epsilon"]) == (None, None)


@pytest.mark.parametrize(
    "said", ["sex", "vote", "age", "0.5000", "81.1%", "75.0%", "∞", "Released unrandomized: age, w"]
)
def test_show_prints_the_design_for_a_person(design_path, said):
    assert said in run("show", design_path).stdout


def test_show_lists_categories_in_their_order(tmp_path):
    answers = lr.Attribute("answer", ["yes", "no", "[b]"], missing="NA")
    lr.design([answers, lr.Attribute("age", range(90))], lam=0.5).save(tmp_path / "d.json")
    said = run("show", tmp_path / "d.json").stdout
    assert "yes, no, [b], NA" in said
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, …, 88, 89" in said
    shown = json.loads(run("show", tmp_path / "d.json", "--json").stdout)["attributes"]
    assert shown[0]["categories"] == ["yes", "no", "[b]", None]
    assert len(shown[1]["categories"]) == 90


@pytest.mark.parametrize("command", ["show", "audit"])
def test_names_are_printed_as_they_are(tmp_path, command):
    """Neither as the terminal library's markup nor as its emoji."""
    lr.design({"[b]q:a:": ["x", "y"]}, lam=0.5).save(tmp_path / "d.json")
    assert "[b]q:a:" in run(command, tmp_path / "d.json").stdout


def test_an_error_prints_names_as_they_are(tmp_path):
    assert "[b]q:a:.json" in refuse("show", tmp_path / "[b]q:a:.json")


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "json"])
@pytest.mark.parametrize("command", ["show", "audit"])
def test_a_design_of_many_attributes_can_be_shown(tmp_path, command, options):
    """400 attributes of 8 categories: 1/Πλ and the number of cells are beyond a float."""
    lr.design({f"a{j}": range(8) for j in range(400)}, lam=0.1).save(tmp_path / "d.json")
    assert "a399" in run(command, tmp_path / "d.json", *options).stdout


# randomize


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("input", FORMATS)
def test_randomize_writes_every_record_in_every_format(tmp_path, design_path, input, output):
    path, reports = write(PEOPLE, tmp_path / f"people.{input}"), tmp_path / f"reports.{output}"
    result = run("randomize", path, "-d", design_path, "-o", reports)
    assert "60 records" in result.stdout
    found = read(reports)
    assert list(found) == ["sex", "vote", "age", "w"]
    assert len(found["sex"]) == 60
    assert set(found["vote"]) <= {"left", "none", "right"}


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("input", FORMATS)
def test_reports_in_every_format_can_be_estimated(tmp_path, design_path, input, output):
    path, reports = write(PEOPLE, tmp_path / f"people.{input}"), tmp_path / f"reports.{output}"
    run("randomize", path, "-d", design_path, "-o", reports)
    result = run("estimate", reports, "-d", design_path, "-t", "age", "--weights", "w", "--format", "csv")
    truth = lr.tally(PEOPLE, lr.Design.load(design_path), ["age"], weights="w").values
    assert [float(row["count"]) for row in rows_of(result.stdout)] == pytest.approx(truth)


def test_randomize_changes_the_answers(tmp_path):
    """2,000 answers at λ = 0.5: all unchanged with probability 0.75^2000."""
    path = write(pa.table({"sex": ["F", "M"] * 1000}), tmp_path / "people.csv")
    lr.design({"sex": ["F", "M"]}, lam=0.5).save(tmp_path / "d.json")
    run("randomize", path, "-d", tmp_path / "d.json", "-o", tmp_path / "reports.csv")
    assert read(tmp_path / "reports.csv") != read(path)


def test_randomize_gives_other_reports_every_time(tmp_path):
    path = write(pa.table({"sex": ["F", "M"] * 1000}), tmp_path / "people.csv")
    lr.design({"sex": ["F", "M"]}, lam=0.5).save(tmp_path / "d.json")
    for name in ("one.csv", "two.csv"):
        run("randomize", path, "-d", tmp_path / "d.json", "-o", tmp_path / name)
    assert read(tmp_path / "one.csv") != read(tmp_path / "two.csv")


def test_randomize_keeps_a_column_by_name_and_says_so(people, tmp_path):
    lr.design({"sex": ["F", "M"]}, lam=0.5).save(tmp_path / "d.json")
    arguments = ["-d", tmp_path / "d.json", "-o", tmp_path / "reports.csv", "--keep", "w,age", "--drop", "vote"]
    result = run("randomize", people, *arguments)
    assert "Released unrandomized: w, age" in result.stdout
    assert read(tmp_path / "reports.csv")["w"] == read(people)["w"]


def test_randomize_drops_a_column_by_name(people, tmp_path):
    lr.design({"sex": ["F", "M"]}, lam=0.5).save(tmp_path / "d.json")
    run("randomize", people, "-d", tmp_path / "d.json", "-o", tmp_path / "reports.csv", "--drop", "vote,age,w")
    assert list(read(tmp_path / "reports.csv")) == ["sex"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--keep", "sex"], "'sex'"),
        (["--drop", "sex"], "'sex'"),
        (["--keep", "height"], "'height'"),
        (["--drop", "height"], "'height'"),
        (["--drop", "w"], "'w' cannot be dropped, the design keeps it"),
    ],
    ids=" ".join,
)
def test_randomize_refuses_to_keep_or_drop_what_it_cannot(people, design_path, tmp_path, options, said):
    assert said in refuse("randomize", people, "-d", design_path, "-o", tmp_path / "reports.csv", *options)
    assert not (tmp_path / "reports.csv").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_no_command_writes_over_what_it_reads_even_when_forced(tmp_path, design_path, format):
    path = write(PEOPLE, tmp_path / f"people.{format}")
    before = path.read_bytes(), design_path.read_bytes()
    for arguments in (
        ["randomize", path, "-d", design_path, "-o", path],
        ["design", path, "-o", path, "--lam", "0.5", "--columns", "sex"],
        ["estimate", path, "-d", design_path, "-t", "sex", "-o", design_path],
        ["correlate", path, "-d", design_path, "-o", design_path],
    ):
        result = CliRunner().invoke(app, [str(argument) for argument in [*arguments, "--force"]])
        assert result.exit_code == 2
        assert "cannot be written over" in result.stderr
    assert (path.read_bytes(), design_path.read_bytes()) == before


# estimate


@pytest.fixture
def reports(tmp_path):
    """A file that stands for reports: 40 F and 20 M, of all ages."""
    return write(PEOPLE, tmp_path / "reports.csv")


def estimate_csv(reports, design_path, *options):
    return rows_of(run("estimate", reports, "-d", design_path, "--format", "csv", *options).stdout)


def test_estimate_undoes_the_randomization(reports, design_path):
    rows = estimate_csv(reports, design_path, "-t", "sex")  # (2/3 − 1/4)/(1/2)
    assert [float(row["estimate"]) for row in rows] == pytest.approx([5 / 6, 1 / 6])


def test_estimate_csv_agrees_with_the_library(reports, design_path, design):
    rows = estimate_csv(reports, design_path, "-t", "sex,vote")
    expected = lr.estimate(PEOPLE, design, ["sex", "vote"]).to_frame().to_pylist()
    for row, expected_row in zip(rows, expected, strict=True):
        assert (row["sex"], row["vote"]) == (expected_row["sex"], expected_row["vote"])
        assert [float(row[name]) for name in NUMBERS] == pytest.approx([expected_row[name] for name in NUMBERS])


def test_estimate_csv_puts_several_tables_in_one_file(reports, design_path):
    rows = estimate_csv(reports, design_path, "-t", "sex", "-t", "vote,sex")
    assert [row["table"] for row in rows] == ["sex"] * 2 + ["vote × sex"] * 6
    assert [row["vote"] for row in rows[:2]] == ["", ""]


@pytest.mark.parametrize("name", ["estimate", "count", "table"])
def test_estimate_csv_names_its_columns_apart(tmp_path, name):
    """An attribute may be called what a column of the output is called."""
    reports = write(pa.table({name: ["x", "y"]}), tmp_path / "reports.csv")
    lr.design({name: ["x", "y"]}, lam=0.5).save(tmp_path / "d.json")
    text = run("estimate", reports, "-d", tmp_path / "d.json", "-t", name, "--format", "csv").stdout
    header = next(csv.reader(io.StringIO(text)))
    assert len(set(header)) == len(header)


def test_estimate_json_agrees_with_the_library(reports, design_path, design):
    text = run("estimate", reports, "-d", design_path, "-t", "sex", "-t", "age,sex", "--format", "json").stdout
    tables = json.loads(text)["tables"]
    assert [table["attributes"] for table in tables] == [["sex"], ["age", "sex"]]
    assert tables[1]["cells"][1]["categories"] == [1, "M"]
    expected = lr.estimate(PEOPLE, design, ["age", "sex"])
    assert [cell["estimate"] for cell in tables[1]["cells"]] == pytest.approx(expected.values.ravel())
    assert (tables[1]["n"], tables[1]["level"], tables[1]["inference"]) == (60, 0.95, "population")


@pytest.mark.parametrize("name", ["estimate", "count"])
def test_estimate_json_has_the_same_keys_whatever_an_attribute_is_called(tmp_path, name):
    reports = write(pa.table({name: ["x", "y"]}), tmp_path / "reports.csv")
    lr.design({name: ["x", "y"]}, lam=0.5).save(tmp_path / "d.json")
    text = run("estimate", reports, "-d", tmp_path / "d.json", "-t", name, "--format", "json").stdout
    assert json.loads(text)["tables"][0]["cells"][0].keys() >= {"categories", *NUMBERS}


def test_estimate_prints_a_table_for_a_person(reports, design_path):
    shown = run("estimate", reports, "-d", design_path, "-t", "sex", "-t", "age").stdout
    for said in (
        "sex",
        "age",
        "83.33%",
        "16.67%",
        "95 % interval",
        "unbiased",
        "s.e. and interval are of the unbiased",
    ):
        assert said in " ".join(shown.split())
    exact = run("estimate", reports, "-d", design_path, "-t", "sex", "--method", "inverse").stdout
    for said in ("83.33%", "reported", "66.67%"):
        assert said in exact


def test_estimate_of_a_category_prints_it_as_it_is(tmp_path):
    reports = write(pa.table({"q": ["[b]x[/b]", ":x:"] * 50}), tmp_path / "reports.csv")
    lr.design({"q": ["[b]x[/b]", ":x:"]}, lam=0.5).save(tmp_path / "d.json")
    shown = run("estimate", reports, "-d", tmp_path / "d.json", "-t", "q").stdout
    assert "[b]x[/b]" in shown
    assert ":x:" in shown


def test_estimate_takes_an_attribute_whose_name_holds_a_comma(tmp_path):
    reports = write(pa.table({"age, years": ["x", "y"] * 50}), tmp_path / "reports.csv")
    lr.design({"age, years": ["x", "y"]}, lam=0.5).save(tmp_path / "d.json")
    assert "50.00%" in run("estimate", reports, "-d", tmp_path / "d.json", "-t", "age, years").stdout


def test_estimate_level_sets_the_intervals(reports, design_path, design):
    rows = estimate_csv(reports, design_path, "-t", "sex", "--level", "0.8")
    expected = lr.estimate(PEOPLE, design, ["sex"]).interval(0.8)
    assert [float(row["lower"]) for row in rows] == pytest.approx(expected.lower)
    assert [float(row["upper"]) for row in rows] == pytest.approx(expected.upper)


def test_estimate_prints_the_level_it_was_asked_for(reports, design_path):
    assert "99.9 % interval" in run("estimate", reports, "-d", design_path, "-t", "sex", "--level", "0.999").stdout


@pytest.mark.parametrize("inference", ["population", "finite"])
def test_estimate_inference_sets_the_standard_errors(reports, design_path, design, inference):
    rows = estimate_csv(reports, design_path, "-t", "sex", "--inference", inference)
    expected = lr.estimate(PEOPLE, design, ["sex"], inference=inference).standard_errors
    assert [float(row["standard_error"]) for row in rows] == pytest.approx(expected)


def test_estimate_weights_are_a_column(reports, design_path, design):
    rows = estimate_csv(reports, design_path, "-t", "sex", "--weights", "w")
    expected = lr.estimate(PEOPLE, design, ["sex"], weights=PEOPLE["w"].to_numpy())
    assert [float(row["estimate"]) for row in rows] == pytest.approx(expected.values)
    assert [float(row["standard_error"]) for row in rows] == pytest.approx(expected.standard_errors)


@pytest.mark.parametrize(
    ("options", "expected"), [(["--method", "inverse"], [1.3, -0.3]), (["--simplex"], [1, 0]), ([], [1, 0])]
)
def test_estimate_leaves_negative_cells_unless_told_otherwise(tmp_path, design_path, options, expected):
    reports = write(pa.table({"sex": ["F"] * 9 + ["M"]}), tmp_path / "few.csv")
    rows = estimate_csv(reports, design_path, "-t", "sex", *options)
    assert [float(row["estimate"]) for row in rows] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_estimate_writes_to_a_file_what_it_would_print(reports, design_path, tmp_path, format):
    arguments = ["estimate", reports, "-d", design_path, "-t", "sex", "--format", format]
    run(*arguments, "-o", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == run(*arguments).stdout


def test_estimate_writes_a_table_to_a_file(reports, design_path, tmp_path):
    result = run("estimate", reports, "-d", design_path, "-t", "sex", "-o", tmp_path / "out.txt")
    assert "83.33%" in (tmp_path / "out.txt").read_text(encoding="utf-8")
    assert "1 table written to" in result.stdout


def test_estimate_replaces_an_existing_file_when_forced(reports, design_path, tmp_path):
    (tmp_path / "out.csv").write_text("old", encoding="utf-8")
    arguments = ["-t", "sex", "--format", "csv", "-o", tmp_path / "out.csv", "--force"]
    run("estimate", reports, "-d", design_path, *arguments)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("table,sex,estimate")


def test_estimate_warns_of_a_table_that_is_mostly_noise(tmp_path):
    reports = write(pa.table({"sex": ["F", "M"] * 5}), tmp_path / "reports.csv")
    lr.design({"sex": ["F", "M"]}, lam=0.1).save(tmp_path / "d.json")
    result = run("estimate", reports, "-d", tmp_path / "d.json", "-t", "sex", "--format", "csv")
    assert result.stderr.startswith("Warning: sex: mostly noise")
    assert len(rows_of(result.stdout)) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-t", "height"], "'height'"),
        (["-t", "sex,sex"], "'sex'"),
        (["-t", ""], "at least one of: sex, vote, age"),
        (["-t", "sex", "--level", "1"], "level must be between 0 and 1"),
        (["-t", "sex", "--level", "nan"], "level must be between 0 and 1"),
        (["-t", "sex", "--weights", "height"], "'height'"),
        (["-t", "sex", "--inference", "guess"], "--inference"),
        (["-t", "sex", "--format", "xml"], "--format"),
        ([], "--table"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("output", [[], ["-o", "out.csv"]], ids=["printed", "to a file"])
def test_estimate_refuses_what_it_cannot_estimate(reports, design_path, tmp_path, monkeypatch, options, said, output):
    monkeypatch.chdir(tmp_path)
    assert said in refuse("estimate", reports, "-d", design_path, *options, *output)
    assert not (tmp_path / "out.csv").exists()


# audit, paper, demo


def test_audit_json_says_what_each_attribute_gives_away(design_path):
    found = json.loads(run("audit", design_path, "--json").stdout)["attributes"][0]
    expected = {"bits": 0.8112781, "strength": 0.8112781, "epsilon": 1.0986123, "truthfulness": 0.75}
    expected |= {"capacity": 0.1887219, "guess_gain": 1.5, "worst_posterior": 0.75}
    assert {key: found[key] for key in expected} == pytest.approx(expected)


def test_audit_json_says_what_the_record_gives_away(design_path):
    found = json.loads(run("audit", design_path, "--json").stdout)
    assert found["joint"]["epsilon"] is None
    assert found["joint"]["truthfulness"] == pytest.approx(0.75 * 2 / 3)
    assert found["released"] == ["age", "w"]


@pytest.mark.parametrize("said", ["sex", "joint", "1.099", "∞", "× 1.5", "Released unrandomized: age, w"])
def test_audit_prints_the_reckoning_for_a_person(design_path, said):
    assert said in run("audit", design_path).stdout


def test_paper_json_has_the_published_shape():
    items = json.loads(run("paper", "--json").stdout)["items"]
    assert items
    for item in items:
        assert item.keys() >= {"where", "published", "computed", "agrees", "note"}


def test_paper_explains_every_disagreement():
    items = json.loads(run("paper", "--json").stdout)["items"]
    notes = [item["note"] for item in items if not item["agrees"]]
    assert notes
    assert all(notes)


def test_paper_shows_the_misprint_beside_the_number():
    items = json.loads(run("paper", "--json").stdout)["items"]
    assert (0.7, 0.07, False) in [(item["published"], item["computed"], item["agrees"]) for item in items]


def test_paper_prints_as_many_rows_as_there_are_items():
    items = json.loads(run("paper", "--json").stdout)["items"]
    shown = run("paper").stdout
    assert f"{sum(item['agrees'] for item in items)} of {len(items)} agree" in shown
    assert shown.count("differs ") == sum(not item["agrees"] for item in items)


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return folder, run("demo", folder).stdout


@pytest.mark.parametrize("name", ["design.json", "reports.csv", "estimates.csv"])
def test_demo_leaves_its_files(demo_folder, name):
    assert (demo_folder[0] / name).stat().st_size


def test_demo_shows_the_estimates_beside_the_truth(demo_folder):
    assert "truth" in demo_folder[1]
    assert "intervals hold the truth" in demo_folder[1]


def test_demo_files_go_through_the_other_commands(demo_folder):
    folder, _ = demo_folder
    rows = estimate_csv(folder / "reports.csv", folder / "design.json", "-t", "drugs")
    with (folder / "estimates.csv").open(encoding="utf-8", newline="") as file:
        left = [row for row in csv.DictReader(file) if row["table"] == "drugs"]
    assert [row["estimate"] for row in rows] == [row["estimate"] for row in left]


def test_demo_can_run_again_in_its_folder(demo_folder):
    run("demo", demo_folder[0])
    assert lr.Design.load(demo_folder[0] / "design.json").names == ("sex", "age", "smokes", "drugs")


def test_demo_refuses_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    assert "file" in refuse("demo", tmp_path / "file")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


# the command line itself


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(command):
    assert f"Example: lambdarr {command}" in run(command, "--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_every_command(command):
    assert f" {command} " in run("--help").stdout


def test_help_lists_the_commands_in_the_order_of_the_work():
    shown = run("--help").stdout.partition("Commands")[2]
    places = [shown.index(f" {command} ") for command in COMMANDS]
    assert places == sorted(places)


def test_an_unknown_command_is_refused():
    assert "anonymize" in refuse("anonymize")


def test_shell_completion_can_be_shown(monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # the shell is named, not guessed
    result = CliRunner().invoke(app, ["--show-completion", "bash"], prog_name="lambdarr")
    assert result.exit_code == 0
    assert "_LAMBDARR_COMPLETE=complete_bash" in result.stdout


def test_shell_completion_completes_a_command():
    env = {"_LAMBDARR_COMPLETE": "complete_bash", "COMP_WORDS": "lambdarr est", "COMP_CWORD": "1"}
    result = CliRunner().invoke(app, [], prog_name="lambdarr", env=env)
    assert result.stdout.split() == ["estimate"]


# method and query


@pytest.mark.parametrize("method", ["auto", "inverse", "ml", "pairwise", "independence"])
def test_estimate_takes_a_method_and_keeps_the_unbiased_values_beside_it(reports, design_path, method):
    arguments = ["estimate", reports, "-d", design_path, "-t", "sex,vote", "--method", method, "--format", "json"]
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    table = json.loads(result.stdout)["tables"][0]
    assert table["method"] == method
    assert table["reason"]
    assert all("unbiased" in cell for cell in table["cells"])


def test_query_gives_a_share_with_its_error(reports, design_path):
    arguments = ["query", reports, "-d", design_path, "--where", "sex=F", "--json"]
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    expected = lr.query(reports, lr.Design.load(design_path), {"sex": "F"})
    assert found["value"] == pytest.approx(expected.value)
    assert found["lower"] < found["value"] < found["upper"]
    assert found["n"] == 60


def test_query_reads_categories_in_the_types_of_the_design(tmp_path):
    frame = {"n": [1, 2, 3, 4] * 20, "old": [True, False] * 40, "age, years": ["a,b", "c"] * 40}
    path = write(pa.table(frame), tmp_path / "reports.parquet")
    lr.design(path, lam=0.9).save(tmp_path / "design.json")
    options = ["--where", "n=2..3", "--given", "old=true", "--versus", "old=false", "--where", "age, years=a,b"]
    result = CliRunner().invoke(app, ["query", str(path), "-d", str(tmp_path / "design.json"), *options])
    assert result.exit_code == 0, result.stderr
    assert "standard error" in result.stdout


@pytest.mark.parametrize("where", ["sex", "sex=X", "nobody=1", "sex=M..F"])
def test_query_refuses_what_it_cannot_ask(reports, design_path, where):
    result = CliRunner().invoke(app, ["query", str(reports), "-d", str(design_path), "--where", where])
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")


def test_estimate_takes_interactions(reports, design_path, design):
    rows = estimate_csv(reports, design_path, "-t", "sex,age,vote", "--interaction", "vote,sex")
    expected = lr.estimate(PEOPLE, design, ["sex", "age", "vote"], method=[("vote", "sex")]).values
    assert [float(row["estimate"]) for row in rows] == pytest.approx(expected.ravel())


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "ml", "--simplex"],
        ["--method", "ml", "--interaction", "sex,age"],
        ["--simplex", "--interaction", "sex"],
    ],
)
def test_estimate_takes_one_method(reports, design_path, options):
    said = refuse("estimate", reports, "-d", design_path, "-t", "sex,age", *options)
    assert "exclude each other" in said


@pytest.mark.parametrize("name", ["made.csv", "made.parquet"])
def test_synthesize_writes_records_of_the_design(reports, design_path, design, tmp_path, name):
    arguments = ["synthesize", reports, "-d", design_path, "-o", tmp_path / name, "-n", "500", "--seed", "1"]
    said = run(*arguments).stdout
    assert "500 synthetic records written" in said
    assert lr.tally(tmp_path / name, design, design.names).n == 500
    first = (tmp_path / name).read_bytes()
    assert "--force" in refuse(*arguments)
    run(*arguments, "--force")
    assert (tmp_path / name).read_bytes() == first


def test_synthesize_some_columns(reports, design_path, tmp_path):
    run("synthesize", reports, "-d", design_path, "-o", tmp_path / "made.csv", "--columns", "vote,sex")
    lines = (tmp_path / "made.csv").read_text().splitlines()
    assert lines[0] == "vote,sex"
    assert len(lines) == 1 + PEOPLE.num_rows


def test_correlate_in_every_format(reports, design_path, design):
    expected = lr.correlate(PEOPLE, design, scores={"vote": [0, 1, 2]}).pair("sex", "vote")
    arguments = ["correlate", reports, "-d", design_path, "--score", "vote=0,1,2"]
    row = rows_of(run(*arguments, "--format", "csv").stdout)[0]
    assert (row["first"], row["second"]) == ("sex", "vote")
    assert float(row["correlation"]) == pytest.approx(expected.correlation.value)
    found = json.loads(run(*arguments, "--format", "json").stdout)["pairs"][0]
    assert found["cramers_v"] == pytest.approx(expected.cramers_v)
    shown = run(*arguments).stdout
    assert "How attributes go together" in shown
    latex = run(*arguments, "--format", "latex").stdout
    assert latex.startswith("\\begin{tabular}{llrrrrr}\n\\toprule\n")
    assert latex.count(" \\\\\n") == 4
    assert f"{expected.correlation.value:.3f}" in latex


@pytest.mark.parametrize(("format", "ending"), [("csv", "csv"), ("json", "json"), ("latex", "tex")])
def test_correlate_writes_to_a_file_what_it_would_print(reports, design_path, tmp_path, format, ending):
    arguments = ["correlate", reports, "-d", design_path]
    printed = run(*arguments, "--format", format).stdout
    said = run(*arguments, "-o", tmp_path / f"out.{ending}").stdout
    assert (tmp_path / f"out.{ending}").read_text(encoding="utf-8") == printed
    assert "3 pairs written to" in said
    run(*arguments, "--format", format, "-o", tmp_path / "out.other")
    assert (tmp_path / "out.other").read_text(encoding="utf-8") == printed


def test_correlate_writes_a_table_to_a_file(reports, design_path, tmp_path):
    said = run("correlate", reports, "-d", design_path, "--columns", "sex,vote", "-o", tmp_path / "out.TXT").stdout
    assert "How attributes go together" in (tmp_path / "out.TXT").read_text(encoding="utf-8")
    assert "1 pair written to" in said


def test_correlate_replaces_an_existing_file_when_forced(reports, design_path, tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old", encoding="utf-8")
    arguments = ["correlate", reports, "-d", design_path, "-o", target]
    assert "--force" in refuse(*arguments)
    assert target.read_text(encoding="utf-8") == "old"
    run(*arguments, "--force")
    assert target.read_text(encoding="utf-8").startswith("first,second,")


def test_regress_in_every_format(reports, design_path, design, tmp_path):
    scores = {"vote": [0, 1, 3]}
    expected = lr.regress("vote ~ age + w", PEOPLE, design, scores=scores)
    arguments = ["regress", "vote ~ age + w", reports, "-d", design_path, "--score", "vote=0,1,3"]
    rows = rows_of(run(*arguments, "--format", "csv").stdout)
    assert [row["name"] for row in rows] == ["Intercept", "age", "w"]
    assert [float(row["coefficient"]) for row in rows] == pytest.approx(list(expected.coefficients))
    found = json.loads(run(*arguments, "--format", "json").stdout)
    assert found["formula"] == "vote ~ age + w"
    assert (found["n"], found["lambda"]) == (60, [{"vote": design.by_name["vote"].lam, "age": 1.0}])
    assert [row["standard_error"] for row in found["coefficients"]] == pytest.approx(list(expected.standard_errors))
    shown = run(*arguments)
    assert shown.stdout == expected.summary() + "\n"
    assert not shown.stderr
    run(*arguments, "-o", tmp_path / "out.tex")
    latex = (tmp_path / "out.tex").read_text(encoding="utf-8")
    assert "\\begin{tabular}{lrrrr}\n\\toprule\n" in latex
    assert latex.startswith("% linear regression: vote ~ age + w\n")
    assert f"age & {expected.coefficients['age']:.4f}".replace("-", "$-$") in latex
    few = run("regress", "vote ~ C(age) * w", reports, "-d", design_path, "--score", "vote=0,1,3").stderr
    assert "Warning" not in few
    assert (
        "60 reports for 7 coefficients"
        in run("regress", "vote ~ C(age) * w + I(w ** 2)", reports, "-d", design_path, "--score", "vote=0,1,3").stderr
    )


def test_regress_takes_families_scores_and_samples(reports, design_path, design):
    formula = "vote ~ age"
    for options, arguments in [
        ({"scores": {"vote": [0, 1, 3]}}, ["--score", "vote=0,1,3"]),
        ({"scores": {"vote": [0, 1, 3]}, "weights": "w"}, ["--score", "vote=0,1,3", "--weights", "w"]),
        ({"scores": {"vote": [0, 1, 3]}, "clusters": "w"}, ["--score", "vote=0,1,3", "--clusters", "w"]),
        ({"scores": {"vote": [0, 1, 3]}, "inference": "finite"}, ["--score", "vote=0,1,3", "--inference", "finite"]),
    ]:
        expected = lr.regress(formula, reports, design, **options)
        shown = run("regress", formula, reports, "-d", design_path, *arguments).stdout
        assert shown == expected.summary() + "\n"
    several = lr.regress("C(age) ~ 1", reports, design, family="multinomial")
    assert (
        run("regress", "C(age) ~ 1", reports, "-d", design_path, "--family", "multinomial").stdout
        == several.summary() + "\n"
    )
    found = json.loads(
        run("regress", "sex ~ age", reports, "-d", design_path, "--family", "logistic", "--format", "json").stdout
    )
    assert found["method"] == "moments"
    assert found["classes"] == ["F", "M"]


def test_waves_strata_and_clusters_on_the_command_line(reports, design_path, design, tmp_path):
    other = lr.design(design.attributes, lam=0.9, keep=["w"])
    other.save(tmp_path / "other.json")
    second = write(PEOPLE.slice(0, 30), tmp_path / "second.csv")
    more = ["--wave", f"{second}={tmp_path / 'other.json'}"]
    waves = [(reports, design), (second, other)]
    row = rows_of(
        run("estimate", reports, "-d", design_path, "-t", "sex", "--method", "inverse", "--format", "csv", *more).stdout
    )[0]
    expected = lr.estimate(waves, attributes=["sex"], method="inverse")
    assert float(row["standard_error"]) == pytest.approx(expected.standard_errors[0])
    answer = json.loads(run("query", reports, "-d", design_path, "--where", "sex=F", "--json", *more).stdout)
    assert answer["value"] == pytest.approx(lr.query(waves, None, {"sex": "F"}).value)
    found = json.loads(
        run("correlate", reports, "-d", design_path, "--format", "json", "--columns", "sex,age", *more).stdout
    )
    assert found["n"] == 90
    shown = run("regress", "vote ~ age", reports, "-d", design_path, "--score", "vote=0,1,3", *more).stdout
    assert "90 reports of 2 waves; randomized: vote (λ = 0.5 to 0.9), age (λ = 0.9 to 1)" in " ".join(shown.split())
    run("synthesize", reports, "-d", design_path, "-o", tmp_path / "made.csv", "--columns", "sex,age", *more)
    answer = json.loads(
        run(
            "query", reports, "-d", design_path, "--where", "sex=F", "--json", "--clusters", "w", "--strata", "age"
        ).stdout
    )
    expected = lr.query(reports, design, {"sex": "F"}, clusters="w", strata="age")
    assert answer["standard_error"] == pytest.approx(expected.standard_error)
    assert "FILE=DESIGN" in refuse("query", reports, "-d", design_path, "--where", "sex=F", "--wave", "second.csv")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "out.parquet"], ".csv, .json, .txt, .tex"),
        (["-o", "out.csv", "--level", "1"], "level must be between 0 and 1"),
        (["-o", "out.csv", "--columns", "sex,height"], "'height'"),
    ],
    ids=" ".join,
)
def test_correlate_leaves_no_file_when_it_refuses(reports, design_path, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    assert said in refuse("correlate", reports, "-d", design_path, *options)
    assert not list(tmp_path.glob("out.*"))


def test_correlate_escapes_names_for_latex(tmp_path):
    names = ["R&D_1 {50%}", "a\\b~c^d"]
    reports = write(pa.table({name: ["x", "y", "y"] * 20 for name in names}), tmp_path / "reports.csv")
    lr.design({name: ["x", "y"] for name in names}, lam=0.9).save(tmp_path / "d.json")
    latex = run("correlate", reports, "-d", tmp_path / "d.json", "--format", "latex").stdout
    escaped = "R\\&D\\_1 \\{50\\%\\} & a\\textbackslash{}b\\textasciitilde{}c\\textasciicircum{}d & "
    assert latex.splitlines()[4].startswith(escaped)


@pytest.mark.parametrize("text", ["vote", "vote=a,b", "=1,2"])
def test_correlate_refuses_scores_that_are_none(reports, design_path, text):
    assert "score" in refuse("correlate", reports, "-d", design_path, "--score", text)


def test_query_warns_of_noise_and_refuses_a_range_to_the_missing(tmp_path):
    design = lr.design([lr.Attribute("q", ["no", "yes"], missing="NA")], lam=0.05)
    design.save(tmp_path / "d.json")
    (tmp_path / "r.csv").write_text("q\n" + "no\nyes\nNA\n" * 20)
    assert "mostly noise" in invoke("query", tmp_path / "r.csv", "-d", tmp_path / "d.json", "--where", "q=yes").stderr
    assert "no place in the order" in refuse(
        "query", tmp_path / "r.csv", "-d", tmp_path / "d.json", "--where", "q=no..NA"
    )
    made = invoke("synthesize", tmp_path / "r.csv", "-d", tmp_path / "d.json", "-o", tmp_path / "s.csv", "--seed", "1")
    assert "mostly noise" in made.stderr


@pytest.mark.parametrize(
    "options", [["-n", "0"], ["-n", "-5"], ["--seed", "-1"], ["-n", "99999999999999"], ["-o", "made.xyz"]]
)
def test_synthesize_refuses_what_cannot_be(reports, design_path, tmp_path, options, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = [] if "-o" in options else ["-o", "made.csv"]
    assert refuse("synthesize", reports, "-d", design_path, *given, *options)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("made")]


@pytest.mark.parametrize("ending", ["parquet", "tex"])
def test_estimate_refuses_an_ending_it_does_not_know(reports, design_path, tmp_path, ending):
    target = tmp_path / f"table.{ending}"
    assert ".csv, .json, .txt" in refuse("estimate", reports, "-d", design_path, "-t", "sex", "-o", target)
    assert not target.exists()


def test_plan_says_margins_numbers_and_protection(design_path, design):
    arguments = ["plan", design_path, "--where", "vote=left,none", "--given", "sex=F"]
    question = {"condition": {"vote": ["left", "none"]}, "given": {"sex": "F"}}
    found = json.loads(run(*arguments, "-n", 5_000, "--json").stdout)
    assert found["margin"] == pytest.approx(lr.plan(design, n=5_000, **question).margin)
    needed = lr.plan(design, margin=0.02, **question).n
    margin = run(*arguments, "--margin", 0.02).stdout
    assert f"{needed:,} respondents: the share with vote = left or none among sex = F ± 0.02" in margin
    strong = design_path.with_name("strong.json")
    both = run(*arguments, "-n", 100_000, "--margin", 0.03, "-o", strong).stdout
    assert "strongest protection" in both
    assert "worth reading" in both
    assert lr.Design.load(strong) == lr.plan(design, n=100_000, margin=0.03, **question).design
    assert "exists" in refuse(*arguments, "-n", 100_000, "--margin", 0.03, "-o", strong)
    plan = "plan", design_path, "-n"
    assert "the widest cell of sex × vote ± 0.0" in run(*plan, 5_000, "-t", "sex,vote").stdout
    assert "the correlation of sex and age ± 0.0" in run(*plan, 5_000, "--correlate", "sex,age").stdout
    assert "vote ± 0.1" in run(*plan, 5_000, "--correlate", "sex,vote", "--score", "vote=1,0,2").stdout
    assert run(*plan, 5_000).stdout.startswith("With 5,000 respondents, tables of up to 3 attributes are worth")
    assert json.loads(run(*plan, 1, "--json").stdout) == {"n": 1, "readable_order": 0}
    assert "1 respondent: " in run(*plan, 1, "-t", "sex").stdout
    commas = design_path.with_name("commas.json")
    lr.design({"c,d": ["x", "y"]}, lam=0.5).save(commas)
    assert "the widest cell of c,d ± " in run("plan", commas, "-n", 5_000, "-t", "c,d").stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-t", "sex"], "give -n to find the margin of error, --margin to"),
        (["--margin", 0.1], "one thing: -t, --where or --correlate; got none of them"),
        (["-n", 9, "-t", "sex", "--where", "sex=F"], "got -t and --where"),
        (["-n", 9, "-t", "sex", "--given", "sex=F"], "--given and --versus go with --where"),
        (["-n", 9, "--versus", "sex=F"], "--given and --versus go with --where"),
        (["-n", 9, "--where", "sex=F", "--versus", "vote=left"], "--versus needs --given"),
        (["-n", 9, "-t", "sex", "--score", "sex=1,2"], "--score goes with --correlate"),
        (["-n", 9, "-o", "made.json"], "give both -n and --margin"),
        (["-n", 9, "-t", "sex", "-t", "vote"], "-t is given 2 times, and a plan is for one table"),
        (["-n", 9, "-t", ""], "-t must name the attributes of a table as a,b, got ''"),
        (["-n", 9, "-t", "sex,sex"], "'sex' is in the table twice"),
        (["-n", 9, "--correlate", "sex,vote"], "'vote' has no numbers to correlate; give its categories scores"),
    ],
)
def test_plan_refuses_options_by_the_names_they_have(design_path, options, message):
    assert message in refuse("plan", design_path, *options)


def test_design_finds_the_best_rates_within_demands(tmp_path, design_path, reports):
    output = tmp_path / "best.json"
    said = run(
        "design", reports, "-o", output, "--columns", "sex,vote,age", "--epsilon", 6, "--workload", 2,
        "--at-least", "strength:sex=0.3", "--at-most", "lam=0.9", "--preserve", "vote,age=0.2",
        "--hide", "sex,vote=0.5",
    ).stdout  # fmt: skip
    assert "These λ's have the least error for the tables wanted" in said
    found = lr.Design.load(output)
    assert found.epsilon == pytest.approx(6, abs=1e-6)
    assert found.by_name["sex"].strength >= 0.3
    assert found.by_name["vote"].lam * found.by_name["age"].lam >= 0.2 - 1e-7
    arguments = ["design", reports, "-o", tmp_path / "other.json", "--columns", "sex,vote"]
    run(*arguments, "--epsilon", 3, "--workload", "sex,vote", "--workload", "vote")
    run(*arguments, "--force", "--posterior", "0.7", "--prior", "sex=0.6,0.4", "--prior", "vote=0.5,0.3,0.2")
    run(*arguments, "--force", "--truthfulness", "sex=0.8", "--lam", "vote=0.5")
    for options, message in [
        (["--epsilon", 1, "--preserve", "sex,vote=0.9"], "cannot all be met: epsilon = 1; preserve 0.9 of sex × vote"),
        (["--epsilon", 1, "--preserve", "sex"], "--preserve must be A,B=number"),
        (["--epsilon", 1, "--at-least", "lam"], "--at-least must be MEASURE=number"),
        (["--epsilon", 1, "--prior", "sex=a"], "--prior must be NAME=number"),
        (["--epsilon", 1, "--prior", "sex=0.5,0.5"], "prior goes with posterior"),
        (["--epsilon", 1, "--truthfulness", 0.8], "no other one, got epsilon and truthfulness"),
        (["--lam", 0.5, "--workload", 2], "lam fixes every λ"),
        (["--epsilon", 1, "--workload", 2, "--workload", "sex"], "one order of tables, or the tables wanted"),
        (["--epsilon", 1, "--at-most", "lam=0.5", "--at-most", "lam=0.6"], "--at-most is given twice for 'lam'"),
        (["--epsilon", 1, "--at-most", "lam:sex=0.5", "--at-most", "lam:sex=0.6"], "given twice for 'sex'"),
        (["--epsilon", 1, "--at-most", "lam=0.5", "--at-most", "lam:sex=0.6"], "for every attribute, or"),
        (["--epsilon", 1, "--at-most", "lam:sex=0.5", "--at-most", "lam=0.6"], "for every attribute, or"),
        (["--epsilon", 1, "--at-most", "power=0.5"], "no measure 'power' to be at most"),
        (["--epsilon", 1, "--hide", "sex,vote=0.5", "--hide", "sex,vote=0.6"], "given twice for 'sex,vote'"),
        (["--epsilon", 1, "--hide", "sex=0.5"], "hide must name two attributes"),
        (["--posterior", 0.9, "--prior", "sex=1,0", "--prior", "sex=0,1"], "--prior is given twice for 'sex'"),
    ]:
        assert message in refuse(*arguments, "--force", *options)


def test_design_chooses_how_many_to_ask(tmp_path, people):
    arguments = ["design", people, "-o", tmp_path / "few.json", "--force", "--columns", "sex,vote,age"]
    said = run(*arguments, "--epsilon", 1, "--workload", 1, "--asked", "auto").stdout
    assert "Asking 1 of 3 has the least error for the tables wanted: 3.01 × less than asking all 3, 2.02" in said
    assert lr.Design.load(tmp_path / "few.json").asked == 1
    assert "× less than asking" in run(*arguments, "--epsilon", 9, "--workload", 2, "--asked", "auto").stdout
    run(*arguments, "--epsilon", 4, "--workload", 2, "--asked", 2, "--preserve", "sex,vote=0.1")
    for options, message in [
        (["--asked", "auto"], "needs a workload"),
        (["--asked", "1", "--workload", 2], "tables of 2 attributes, and each respondent answers 1"),
        (["--asked", "some"], "--asked must be a number of attributes, or auto"),
    ]:
        assert message in refuse(*arguments, "--epsilon", 1, *options)


def test_audit_takes_priors_repetitions_shuffling_and_truths(design_path, design, reports):
    said = run(
        "audit", design_path, "--prior", "sex=0.9,0.1", "--repeated", 3, "--shuffled", 1_000_000, "--truths", reports
    )
    assert "believed this before" in " ".join(said.stdout.split())
    assert "3 fresh reports of one truth" in said.stdout
    assert "Of 60 records" in said.stdout
    small = lr.design({"sex": ["F", "M"]}, lam=0.5)
    small.save(design_path.with_name("small.json"))
    found = json.loads(
        run("audit", design_path.with_name("small.json"), "--json", "--repeated", 2, "--shuffled", 10**6).stdout
    )
    assert found["repeated"]["joint"]["epsilon"] == pytest.approx(2 * small.epsilon)
    assert "bits" not in found["repeated"]["joint"]
    assert found["shuffled"]["epsilon"] == pytest.approx(lr.audit(small).shuffled(10**6).epsilon)
    for option in ("--repeated", "--shuffled"):
        assert f"({option}) must be a whole number of reports" in refuse("audit", design_path, option, 0)


def test_amplified_noise_is_told_in_plain_numbers():
    from lambdarr.reporting.designs import design_sentences

    weak = lr.design({f"a{j}": range(2) for j in range(7)}, lam=1 / 3)  # 3⁷ = 2187
    assert "up to 2,190 times; tables of few" in " ".join(design_sentences(weak))
    assert "amplify" not in " ".join(design_sentences(lr.design({"a": [0, 1]}, lam=1.0)))


def test_correlations_have_no_negative_zero():
    from lambdarr.reporting.relations import correlation_csv, correlation_latex

    design = lr.design({"a": [0, 1], "b": [0, 1]}, lam=0.9)
    reports = pa.table({"a": [0, 0, 1, 1] * 900 + [0], "b": [0, 1, 0, 1] * 900 + [1]})
    found = lr.correlate(reports, design)
    assert "-0.0" in correlation_csv(found, 0.95)
    assert "-$0.000" not in correlation_latex(found, 0.95).replace("$-$", "-$")
