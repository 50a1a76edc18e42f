"""Numbers on the command line: designs with public bounds, means, quantiles and correlations."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import lambdarr as lr
from lambdarr.cli import app
from tests.files import write

N = 3_000


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    generator = np.random.default_rng(1)
    ages = generator.integers(18, 90, N)
    table = pa.table({
        "age": ages,
        "income": np.round(20.0 * ages + generator.gamma(2, 300, N), 2),
        "born": pa.array((1990 - 1970) * 365 - 100 * ages, pa.int32()).cast(pa.date32()),
        "sex": generator.choice(["F", "M"], N),
    })  # fmt: skip
    return write(table, tmp_path_factory.mktemp("numbers") / "people.csv")


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    return result


def refuse(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "300"})
    assert result.exit_code == 2, result.output
    return result.output


def numbers(reports, design, *arguments):
    text = run("estimate", reports, "-d", design, *arguments, "--format", "csv").stdout
    return {(row["attribute"], row["measure"]): row for row in csv.DictReader(io.StringIO(text))}


LOCAL = (
    "--numeric", "age:0:120:bins=auto:target=quantiles:unit=integer",
    "--numeric", "income:0:6000:bins=8:outside=clip",
    "--numeric", "born:1960-01-01:1990-01-01:bins=6",
    "--lam", "0.9",
)  # fmt: skip


def test_numbers_locally_from_design_to_estimate(people, tmp_path):
    said = run("design", people, "-o", tmp_path / "d.json", *LOCAL).stdout
    assert "income: numbers from 0 to 6,000, rounded at random to the 9 edges of 8 bins" in " ".join(said.split())
    assert "because of 3,000 respondents and its target, quantiles" in " ".join(said.split())
    design = lr.Design.load(tmp_path / "d.json")
    assert design.names == ("age", "income", "born", "sex")
    assert design.attributes[1].scale.edges == (0, 750, 1500, 2250, 3000, 3750, 4500, 5250, 6000)
    run("randomize", people, "-d", tmp_path / "d.json", "-o", tmp_path / "r.csv")
    asked = ("--mean", "income", "--mean", "born", "--quantile", "age=0.5,0.9", "--correlate", "age,income")
    found = numbers(tmp_path / "r.csv", tmp_path / "d.json", *asked)
    truths = np.genfromtxt(people, delimiter=",", names=True, usecols=(0, 1))
    expected = {
        ("income", "mean"): truths["income"].mean(),
        ("age", "0.5 quantile"): np.median(truths["age"]),
        ("age", "0.9 quantile"): np.quantile(truths["age"], 0.9),
        ("age", "correlation with income"): np.corrcoef(truths["age"], truths["income"])[0, 1],
    }
    for key, truth in expected.items():  # five standard errors: less than one false alarm in a million
        row = found[key]
        assert abs(float(row["value"]) - truth) < 5 * float(row["standard_error"]) + 1
        assert float(row["lower"]) < float(row["value"]) < float(row["upper"])
        assert int(row["n"]) == N
    assert found["born", "mean"]["value"].startswith("19")  # a date
    shown = run("estimate", tmp_path / "r.csv", "-d", tmp_path / "d.json", *asked, "-t", "sex").stdout
    assert "correlation with income" in shown
    document = json.loads(
        run("estimate", tmp_path / "r.csv", "-d", tmp_path / "d.json", *asked, "--format", "json").stdout
    )
    assert len(document["numbers"]) == 5


def test_numbers_centrally_from_design_to_estimate(people, tmp_path):
    run("design", people, "-o", tmp_path / "d.json", "--drawn", "age,income,born", "--lam", "0.6")
    run("randomize", people, "-d", tmp_path / "d.json", "-o", tmp_path / "r.parquet")
    found = numbers(
        tmp_path / "r.parquet", tmp_path / "d.json", "--mean", "income", "--quantile", "income=0.5", "--correlate",
        "age,income", "--quantile", "born=0.5",
    )  # fmt: skip
    truths = np.genfromtxt(people, delimiter=",", names=True, usecols=(0, 1))
    row = found["income", "mean"]
    assert abs(float(row["value"]) - truths["income"].mean()) < 5 * float(row["standard_error"])
    assert found["born", "0.5 quantile"]["value"].startswith("19")
    assert "Not protected" not in run("show", tmp_path / "d.json").stdout
    drawn = ("--drawn", "income", "--method", "expected", "--columns", "sex", "--lam", "0.6")
    expected = run("design", people, "-o", tmp_path / "e.json", *drawn).stdout
    assert "whoever knows λ undoes it exactly" in " ".join(expected.split())


def test_scores_make_numbers_of_ordered_categories(tmp_path):
    design = lr.design({"mood": ["bad", "fair", "good"]}, lam=1.0)
    design.save(tmp_path / "d.json")
    reports = write(pa.table({"mood": ["bad"] * 2 + ["fair"] * 5 + ["good"] * 3}), tmp_path / "r.csv")
    found = numbers(reports, tmp_path / "d.json", "--mean", "mood", "--quantile", "mood=0.5", "--score", "mood=1,2,3")
    assert float(found["mood", "mean"]["value"]) == pytest.approx(2.1)
    assert float(found["mood", "0.5 quantile"]["value"]) == 2
    assert "give the scores" in refuse("estimate", reports, "-d", tmp_path / "d.json", "--mean", "mood")


def test_a_correlation_that_noise_hides_is_said_to_be(people, tmp_path):
    numeric = ("--numeric", "age:0:120:bins=8", "--numeric", "income:0:6000:bins=2")
    run("design", people, "-o", tmp_path / "d.json", *numeric, "--columns", "sex", "--lam", "0.8")
    run("randomize", people, "-d", tmp_path / "d.json", "-o", tmp_path / "r.csv", "--drop", "born")
    result = run("estimate", tmp_path / "r.csv", "-d", tmp_path / "d.json", "--correlate", "age,income")
    assert "its bins do not tell" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--numeric", "age"], "--public-bounds"),
        (["--numeric", "age:0"], "--numeric must be NAME:LOW:HIGH"),
        (["--numeric", "age:120:0"], "the other way round"),
        (["--numeric", "age:0:120:bins=many"], "bins of numerical attribute 'age'"),
        (["--numeric", "age:0:120:colour=red"], "there is no 'colour'"),
        (["--numeric", "age:0:120:target=mode"], "target of numerical attribute 'age'"),
        (["--numeric", "age:zero:120"], "a bound of numerical attribute 'age'"),
        (["--numeric", "age:0:120:spacing=log"], "spacing of numerical attribute 'age'"),
        (["--numeric", "sex:0:1"], "'sex' holds what is not a number, first at row 1"),
        (["--numeric", "age:0:120", "--keep", "age"], "choose one"),
        (["--numeric", "age:0:120", "--respondents", "0"], "respondents must be"),
        (["--numeric", "wage:0:120"], "column 'wage' is not in the table"),
    ],
)
def test_design_refuses_numbers_it_cannot_place(people, tmp_path, options, message):
    columns = () if "age" in options[1] and "--keep" in options else ("--columns", "sex")
    output = refuse("design", people, "-o", tmp_path / "d.json", "--lam", "0.5", *columns, *options)
    assert message in output
    assert not (tmp_path / "d.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "say what to estimate"),
        (["--quantile", "age"], "--quantile must be NAME=share"),
        (["--quantile", "age=half"], "--quantile must be NAME=share"),
        (["--quantile", "age=1"], "must be between 0 and 1"),
        (["--correlate", "age"], "--correlate must be two attributes"),
        (["--correlate", "age,age"], "--correlate must be two attributes"),
        (["--mean", "wage"], "'wage' is not in the design"),
        (["--mean", "age", "-t", "sex", "--format", "csv"], "in two commands"),
        (["--mean", "age", "--strata", "sex"], "leave out --wave, --strata, --clusters"),
    ],
)
def test_estimate_refuses_numbers_it_cannot_give(people, tmp_path, options, message):
    run("design", people, "-o", tmp_path / "d.json", *LOCAL)
    run("randomize", people, "-d", tmp_path / "d.json", "-o", tmp_path / "r.csv")
    assert message in refuse("estimate", tmp_path / "r.csv", "-d", tmp_path / "d.json", *options)
