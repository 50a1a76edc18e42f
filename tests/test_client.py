"""The respondent's client: the same vectors, the same distribution, and nothing but the standard library."""

import ast
import io
import json
import sys
from pathlib import Path

import pytest

import lambdarr as lr
from lambdarr import client
from tests.statistics import assert_plausible, chi_square
from tests.test_sampling import RECORDS, VECTORS

DESIGN = lr.design([lr.Attribute("vote", ["A", "B", "C"], missing="NA"), lr.Attribute("old", [True, False])], lam=0.4)
TEXT = DESIGN.to_json()


def edited(**changes):
    document = json.loads(TEXT)
    document["attributes"][0].update(changes)
    return json.dumps(document)


def test_client_passes_the_vectors(monkeypatch):
    for case in VECTORS:
        monkeypatch.setattr("secrets.randbits", lambda bits, word=case["word"]: word)
        entry = {"name": "x", "categories": list(range(case["size"])), "threshold": case["threshold"], "lambda": 0.5}
        device = client.Client(json.dumps({"schema_version": 1, "attributes": [entry]}))
        assert device.randomize({"x": case["truth"]}) == {"x": case["report"]}


@pytest.mark.parametrize("case", RECORDS)
def test_client_and_library_pass_the_vectors_of_whole_records(case, monkeypatch):
    text = json.dumps(case["design"])
    design = lr.Design.from_json(text)
    for randomize in (client.Client(text).randomize, lambda record: lr.randomize_record(record, design)):
        words = iter(case["words"])
        monkeypatch.setattr("secrets.randbits", lambda bits, words=words: next(words))
        assert randomize(case["record"]) == case["report"]
        assert next(words, None) is None  # every word was used


def test_missing_answer_may_be_null_or_its_text():
    design = lr.design([lr.Attribute("vote", ["A", "B"], missing="NA")], lam=1.0)
    for answer in (None, "NA"):
        assert client.Client(design.to_json()).randomize({"vote": answer}) == {"vote": None}
        assert lr.randomize_record({"vote": answer}, design) == {"vote": None}


def test_client_imports_the_standard_library_alone():
    tree = ast.parse(Path(client.__file__).read_text())
    roots = {alias.name.partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
    roots |= {n.module.partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert roots <= set(sys.stdlib_module_names)


def test_reports_of_the_client_follow_the_channel():
    device, n = client.Client(TEXT), 6_000
    reports = [device.randomize({"vote": None, "old": True}) for _ in range(n)]
    votes = [sum(report["vote"] == value for report in reports) for value in ("A", "B", "C", None)]
    old = [sum(report["old"] is value for report in reports) for value in (True, False)]
    assert_plausible(chi_square(votes, DESIGN.channels[0].matrix()[3]))
    assert_plausible(chi_square(old, DESIGN.channels[1].matrix()[0]))


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"vote": "SECRET", "old": True}, "'vote'"),
        ({"vote": "A", "old": 1}, "'old'"),
        ({"vote": "A"}, "no 'old'"),
        ({"vote": "A", "old": True, "name": "SECRET"}, "'name'"),
        ({"vote": ["A"], "old": True}, "'vote'"),
        (["SECRET"], "a dict"),
    ],
)
def test_record_that_does_not_fit_is_refused_without_repeating_it(record, says):
    with pytest.raises(client.ClientError, match=says) as caught:
        client.Client(TEXT).randomize(record)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        json.dumps({"schema_version": 1, "attributes": []}),
        TEXT.replace('"schema_version": 1', '"schema_version": 4'),
        edited(threshold=5),
        edited(threshold=0),
        edited(threshold=True),
        edited(threshold=0.5),
        edited(categories=["A"], missing=None),
        edited(name=7),
        edited(name="old"),
        edited(missing_is_public=True),  # of version 1, whose other readers would randomize it
        edited(missing_is_public=None),
        edited(missing_is_public=1).replace('"schema_version": 1', '"schema_version": 2'),
        edited(missing_is_public=True, missing=None).replace('"schema_version": 1', '"schema_version": 2'),
        TEXT[:50],
    ],
)
def test_design_that_cannot_be_followed_is_refused(text):
    with pytest.raises(client.ClientError, match=r"; |again"):
        client.Client(text)


def run(monkeypatch, arguments, text):
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return client._main(arguments)


def test_command_prints_the_report_of_a_record(tmp_path, monkeypatch, capsys):
    DESIGN.save(tmp_path / "design.json")
    assert run(monkeypatch, [str(tmp_path / "design.json")], '{"vote": "A", "old": false}') == 0
    assert set(json.loads(capsys.readouterr().out)) == {"vote", "old"}


@pytest.mark.parametrize("text", ["", "[]", '{"vote": "SECRET"}', '{"vote": "SECRET", "old": true}'])
def test_command_refuses_a_bad_record_in_one_line(tmp_path, monkeypatch, capsys, text):
    DESIGN.save(tmp_path / "design.json")
    assert run(monkeypatch, [str(tmp_path / "design.json")], text) == 2
    error = capsys.readouterr().err
    assert error.startswith("Error: ")
    assert error.count("\n") == 1
    assert "SECRET" not in error


def test_command_without_a_design_says_how_to_use_it(tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, [], "{}") == 2
    assert run(monkeypatch, [str(tmp_path / "none.json")], "{}") == 2
    assert "Usage" in capsys.readouterr().err
