"""The measured audit: right randomizers pass in every mode, broken ones are caught, and the bound keeps its word.

Randomizers that cannot be seeded (single records, the client) fail a run of these tests with a chance of at most
``FALSE_ALARM`` each; all others follow from their seeds.
"""

import dataclasses
import functools
import io
import itertools
import json
import math
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats
from typer.testing import CliRunner

import lambdarr as lr
from lambdarr import checks, endpoints, measuring, observing, sampling, wholes
from lambdarr.cli import app
from lambdarr.reporting.designs import audit_table
from lambdarr.reporting.measurements import measurement_sentences, measurement_table
from tests import samplers
from tests.statistics import FALSE_ALARM
from tests.strategies import design_of

DESIGN = lr.design({"vote": ["left", "right", "none"], "drugs": [True, False]}, lam={"vote": 0.5, "drugs": 0.3})
MIXED = lr.design(
    [
        lr.Attribute("smokes", ["no", "yes"], missing="NA"),
        lr.Attribute("income", [1, 2, 3], missing="", missing_is_public=True),
        lr.Attribute("region", [f"r{i}" for i in range(40)]),
        lr.Attribute("sex", ["F", "M"]),
    ],
    lam={"smokes": 0.6, "income": 0.2, "region": 0.4, "sex": 1.0},
    keep=["id"],
)

WIDE = lr.design({"a_name_that_is_much_longer_than_most": range(3)} | {f"q{j}": range(20) for j in range(9)}, lam=0.9)


# Right randomizers.


@pytest.mark.parametrize("design", [DESIGN, MIXED], ids=["plain", "mixed"])
@pytest.mark.parametrize("mode", ["table", "file"])
def test_seeded_randomizer_passes(mode, design):
    draws = {"table": 60_000, "file": 25_000}[mode]
    found = lr.measure(design, mode=mode, draws=draws, rng=lr.SeededWords(5))
    assert found.passed, found.reason
    assert found.reason == ""
    assert found.draws == draws
    assert found.randomizer == f"lambdarr ({mode})"


@pytest.mark.parametrize("design", [DESIGN, MIXED], ids=["plain", "mixed"])
@pytest.mark.parametrize("mode", ["table", "record", "client"])
def test_own_randomizer_passes_with_the_systems_words(mode, design):
    found = lr.measure(design, mode=mode, draws=30_000, false_alarm=FALSE_ALARM)
    assert found.passed, found.reason


def test_function_of_records_passes():
    found = lr.measure(MIXED, samplers.Sampler(MIXED), draws=30_000)
    assert found.passed, found.reason


def test_function_of_arrow_tables_passes():
    def function(table):
        assert isinstance(table, pa.Table)
        return lr.randomize(table, MIXED, rng=rng)

    rng = lr.SeededWords(2)
    found = lr.measure(MIXED, function, mode="table", draws=100_000)
    assert found.passed, found.reason
    assert found.randomizer.endswith("function")


def test_function_may_return_a_frame():
    rng = lr.SeededWords(2)
    found = lr.measure(DESIGN, lambda t: lr.randomize(pd.DataFrame(t), DESIGN, rng=rng), draws=30_000)
    assert found.passed, found.reason


def test_function_of_one_record_at_a_time_passes():
    sampler = samplers.Sampler(DESIGN)
    found = lr.measure(DESIGN, lambda record: sampler([record])[0], mode="record", draws=5_000)
    assert found.passed, found.reason


# Broken ones.


@pytest.mark.parametrize("broken", samplers.BROKEN)
def test_broken_randomizer_is_caught(broken):
    design = lr.design({"a": list("xyz"), "b": [1, 2]}, lam=0.3)
    found = lr.measure(design, broken(design), draws=200_000, false_alarm=FALSE_ALARM)
    assert not found.passed
    assert found.reason.startswith(found.failures[0].finding)


@pytest.mark.parametrize("lam", [0.05, 0.9])
@pytest.mark.parametrize(
    "broken", [samplers.LeavesTheLastRow, samplers.RedrawsWithABias, samplers.RepeatsItsWordsInEveryCall]
)
def test_the_three_that_must_never_pass_are_caught_with_few_draws_and_any_keep_rate(broken, lam):
    design = lr.design({"a": list("xyz"), "b": [1, 2]}, lam=lam)
    assert not lr.measure(design, broken(design), draws=40_000).passed


def test_the_reason_tells_the_cause():
    def reason(broken):
        return lr.measure(DESIGN, broken(DESIGN), draws=100_000).reason

    assert "in the last row in 100.00%" in reason(samplers.LeavesTheLastRow)
    assert "is reported as" in reason(samplers.RedrawsWithABias)
    assert "16 calls with the same truths repeated all reports" in reason(samplers.RepeatsItsWordsInEveryCall)
    assert "'vote' and 'drugs'" in reason(samplers.RepeatsItsWordsInEveryAttribute)
    assert "rows 4,999 apart" in reason(samplers.RepeatsItsWordsAfterAnOddNumberOfRows)


def test_larger_epsilon_than_stated_is_caught_as_such():
    stated, run = (lr.design({"a": list("xyz")}, lam=lam) for lam in (0.3, 0.35))
    found = lr.measure(stated, functools.partial(lr.randomize, design=run, rng=lr.SeededWords(1)), mode="table")
    assert "epsilon" in [check.name for check in found.failures]
    assert stated.epsilon < found.joint.bound < run.epsilon


def test_truths_are_caught():
    found = lr.measure(DESIGN, lambda records: records, draws=5_000)
    assert "is reported as" in found.reason
    assert found.joint.bound > DESIGN.epsilon


def test_pass_with_a_bound_above_epsilon_is_told():
    found = lr.measure(DESIGN, draws=5_000, rng=lr.SeededWords(1))
    bound = dataclasses.replace(found.attributes[0], bound=9.0)
    above = dataclasses.replace(found, attributes=(bound, found.attributes[1]))
    assert not any("above the stated" in sentence for sentence in measurement_sentences(found))
    assert any("of vote is above the stated" in sentence for sentence in measurement_sentences(above))


def test_change_of_what_must_not_change_is_caught():
    design = lr.design({"a": list("xyz")}, lam=1.0)
    assert lr.measure(design, lambda records: records, draws=2_000).passed
    assert not lr.measure(design, lambda records: [{"a": "x"}, *records[1:]], draws=2_000).passed


# The bound.


@pytest.mark.parametrize(("size", "lam"), [(2, 0.5), (4, 0.1), (3, 0.95)])
def test_bound_exceeds_epsilon_no_more_often_than_its_confidence_allows(size, lam):
    """300 runs at 95 %: at most 5 % of them, and no more than 15 + 5 standard errors by chance."""
    design, runs = design_of([lr.Channel(size, lam)]), 300
    above = failed = 0
    for seed in range(runs):
        rng = lr.SeededWords(seed)

        def report(truths, rng=rng):
            return sampling.reports_from_words(truths, rng.words(len(truths)), design.channels[0])

        seen = observing.Observed(design.attributes[0], design.channels[0], np.arange(size))
        truths = np.arange(2_000, dtype=np.int32) % size
        seen.add(truths, report(truths), large=True)
        found = measuring._bound(seen, 0.05 / (2 * size**2))
        above += found.bound > design.epsilon
        failed += measuring._check_epsilon(seen, 0.01).p_value < 0.01
    assert stats.binom.sf(above - 1, runs, 0.05) > FALSE_ALARM
    assert stats.binom.sf(failed - 1, runs, 0.01) > FALSE_ALARM
    assert above <= 0.05 * runs


@pytest.mark.parametrize(("size", "lam"), [(2, 0.5), (5, 0.3), (10, 0.8)])
def test_bound_nears_epsilon(size, lam):
    found = lr.measure(design_of([lr.Channel(size, lam)]), draws=10**6, rng=lr.SeededWords(size))
    assert found.passed
    assert 0.9 < found.joint.share < 1


def test_joint_bound_is_the_sum_of_its_attributes():
    found = lr.measure(DESIGN, draws=20_000, rng=lr.SeededWords(1))
    assert found.joint.bound == pytest.approx(sum(bound.bound for bound in found.attributes))
    assert found.joint.epsilon == DESIGN.epsilon
    assert found.joint.bound < DESIGN.epsilon


@given(st.integers(0, 60), st.integers(0, 60), st.floats(1e-6, 0.2))
def test_clopper_pearson_inverts_the_binomial(some, others, alpha):
    n = max(1, some + others)
    lower, upper = measuring.clopper_pearson(np.array([some]), np.array([n]), alpha)
    assert lower[0] <= some / n <= upper[0]
    if some:
        assert stats.binom.sf(some - 1, n, lower[0]) == pytest.approx(alpha, rel=1e-6)
    if some < n:
        assert stats.binom.cdf(some, n, upper[0]) == pytest.approx(alpha, rel=1e-6)


# The checks.


def test_p_values_of_right_counts_are_no_smaller_than_uniform_ones():
    """120 seeded sets of counts: the share below 1 %, 10 % and 50 % is at most that, but for chance."""
    channel, rng, found = lr.Channel(4, 0.4), lr.SeededWords(9), []
    attribute = lr.Attribute("a", range(4))
    for _ in range(120):
        seen = observing.Observed(attribute, channel, np.arange(4))
        truths = (rng.words(400) % 4).astype(np.int32)
        for _ in range(2):
            seen.add(truths, sampling.reports_from_words(truths, rng.words(400), channel), large=True)
        judged = seen.check_cells(0), seen.check_positions(0), seen.check_lags(0), seen.check_calls(0)
        found.append([check.p_value for check in judged])
    for level in (0.01, 0.1, 0.5):
        below = (np.array(found) < level).sum(axis=0)
        assert (stats.binom.sf(below - 1, 120, level) > FALSE_ALARM / 12).all()


def test_chain_of_binomials_is_independent_of_how_many_came_before():
    """By enumeration of a small multinomial: the p-values' joint distribution is never below the uniform one."""
    n, chances = 6, np.array([[0.5, 0.3, 0.2]])
    chance_of, p_values = [], []
    for a in range(n + 1):
        for b in range(n + 1 - a):
            counts = np.array([[a, b, n - a - b]])
            chance_of.append(stats.multinomial.pmf(counts[0], n, chances[0]))
            found = checks.multinomial(lambda row, cell: "", counts, chances).p_values
            p_values.append([*found, 1.0][:2])
    for s in (0.05, 0.3, 0.7):
        for t in (0.05, 0.3, 0.7):
            both = [p <= s and q <= t for p, q in p_values]
            assert np.dot(chance_of, both) <= s * t + 1e-12


@given(st.integers(0, 300), st.integers(0, 300), st.floats(0, 1))
def test_binomial_tests_are_those_of_scipy(some, others, chance):
    n = some + others
    found = checks.binomials(lambda _: "", ([some], [n]), chance).p_values
    below, above = stats.binom.cdf(some, n, chance), stats.binom.sf(some - 1, n, chance)
    assert found == pytest.approx([min(1, 2 * min(below, above))] if n else [], rel=1e-6, abs=1e-300)


def test_what_has_no_chance_is_never_passed():
    counts, chances = np.array([[5, 1], [0, 6]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    found = checks.multinomial(lambda row, cell: f"{row} {cell}", counts, chances)
    assert found.p_values.min() == 0
    counts = np.array([[6, 0], [0, 6]])
    assert checks.multinomial(lambda row, cell: "", counts, chances).p_values.min() == 1


@pytest.mark.parametrize("size", [3, 17, 300, 65_536])
def test_truths_follow_their_stated_shares(size):
    channel = lr.Channel(size, 0.5)
    chosen = measuring._chosen_truths(channel, 10**6)
    shares = measuring._shares(chosen, size)
    assert shares.sum() == pytest.approx(1)
    drawn = measuring._drawn(lr.SeededWords(1).words(10**6), chosen, size)
    assert 0 <= drawn.min() <= drawn.max() < size
    halves = np.bincount(drawn * 2 // size, minlength=2)
    expected = np.bincount(np.arange(size) * 2 // size, weights=shares)
    assert abs(halves - 10**6 * expected).max() < 5 * math.sqrt(10**6)


def test_many_categories_and_many_attributes_pass():
    design = lr.design({f"a{j}": list(range(size)) for j, size in enumerate([2, 3, 5, 40, 300, 2_000])}, lam=0.5)
    found = lr.measure(design, draws=100_000, rng=lr.SeededWords(3))
    assert found.passed, found.reason
    assert len(found.checks) == 7 * 6 + 15 + 1
    assert found.attributes[-1].truths < 2_000


# Results.


def test_result_is_plain_values():
    found = lr.measure(MIXED, draws=5_000, rng=lr.SeededWords(1))
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert values["passed"] is True
    assert values["joint"]["epsilon"] is None
    assert values["attributes"][0].keys() == {"name", "epsilon", "bound", "share", "truths"}
    assert values["checks"][0].keys() >= {"name", "attributes", "p_value", "chi_square", "freedom", "passed"}


def test_seeded_measurement_comes_again():
    one, two = (lr.measure(DESIGN, draws=10_000, rng=lr.SeededWords(1)) for _ in range(2))
    assert one == two


def test_progress_counts_to_the_end():
    told = []
    lr.measure(DESIGN, draws=5_000, rng=lr.SeededWords(1), progress=told.append)
    assert told[-1] == 5_000
    assert told == sorted(told)


def test_notebooks_and_repr_show_it_in_short():
    found = lr.measure(MIXED, draws=5_000, rng=lr.SeededWords(1))
    assert repr(found).startswith("<Measurement of lambdarr (table): passed, ε ≥ ")
    assert len(repr(found)) < 100
    shown = found._repr_html_()
    for said in ("<table>", "smokes", "∞", "positions", "5,000 made-up records", "Passed"):
        assert said in shown
    failed = lr.measure(DESIGN, lambda records: records, draws=2_000)
    assert "failed" in repr(failed)
    assert "Failed: &#x27;vote&#x27; is reported as" in failed._repr_html_()


def test_tables_show_every_number_in_80_columns():
    measured, audited = lr.measure(WIDE, lambda records: records, draws=2_000), lr.audit(WIDE)
    for table, number in (
        (measurement_table(measured), f"{measured.joint.bound:.4f}"),
        (audit_table(audited), f"× {audited.joint.guess_gain:.3g}"),
    ):
        page = io.StringIO()
        Console(file=page, width=80).print(table)
        assert "…" not in page.getvalue()
        assert max(map(len, page.getvalue().splitlines())) <= 80
        assert number in page.getvalue()


# Endpoints.


class _Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        records = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.server.answer(records)
        if answer is None:  # hang up
            return
        status, body = answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def endpoint():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.address = f"http://127.0.0.1:{server.server_port}/randomize"
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def answering(sampler):
    return lambda records: (200, json.dumps(sampler(records)).encode())


def test_endpoint_passes(endpoint):
    endpoint.answer = answering(samplers.Sampler(MIXED))
    found = lr.measure(MIXED, f"{endpoint.address}?token=secret", draws=20_000)
    assert found.passed, found.reason
    assert found.randomizer == endpoint.address


def test_broken_endpoint_is_caught(endpoint):
    endpoint.answer = answering(samplers.LeavesTheLastRow(DESIGN))
    assert not lr.measure(DESIGN, endpoint.address, draws=20_000).passed


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((500, b"left"), "status 500; it failed; its own log"),
        ((404, b"left"), "status 404; there is nothing at this path"),
        ((405, b"left"), "status 405; it does not take POST"),
        ((403, b"left"), "status 403; it does not let"),
        ((422, b"left"), "status 422; it must take a JSON array"),
        ((308, b"left"), "status 308; it is elsewhere"),
        ((200, b"<html>left"), "no JSON; is it the right address"),
        ((200, b""), "this is empty"),
        ((200, b'{"vote": "left"}'), "an array of objects, got dict"),
        ((200, b"[]"), "a report for every record, got 0"),
    ],
)
def test_endpoint_that_answers_nonsense_is_refused(endpoint, answer, says):
    endpoint.answer = lambda _: answer
    with pytest.raises(lr.LambdarrError, match=says) as caught:
        lr.measure(DESIGN, endpoint.address, draws=2_000)
    assert "left" not in str(caught.value)


def test_endpoint_that_cannot_be_reached_is_told(endpoint):
    address = endpoint.address.replace(str(endpoint.server_port), "1")
    with pytest.raises(lr.SourceError, match=r"cannot reach http://127\.0\.0\.1:1/randomize: nothing listens there"):
        lr.measure(DESIGN, address, draws=2_000)
    with pytest.raises(lr.SourceError, match=r"there is no such host|nothing listens"):
        lr.measure(DESIGN, "http://nowhere.invalid/", draws=2_000)
    with pytest.raises(lr.SourceError, match=r"certificate is not trusted|broke off without an answer"):
        lr.measure(DESIGN, endpoint.address.replace("http", "https"), draws=2_000)


def test_endpoint_that_takes_too_long_is_told(endpoint, monkeypatch):
    monkeypatch.setattr(endpoints, "SECONDS", 0.2)
    done = threading.Event()
    endpoint.answer = lambda _: done.wait(5) and None
    with pytest.raises(lr.SourceError, match=r"no answer to \d+ records within 0.2 seconds"):
        lr.measure(DESIGN, endpoint.address, draws=2_000)
    done.set()


def test_endpoint_that_hangs_up_is_told(endpoint):
    endpoint.answer = lambda _: None
    with pytest.raises(lr.SourceError, match="broke off without an answer"):
        lr.measure(DESIGN, endpoint.address, draws=2_000)


# Refusals.


def _raises(records):
    raise KeyError("left")


@pytest.mark.parametrize(
    ("function", "mode", "says"),
    [
        (lambda records: records[1:], "records", "a report for every record"),
        (lambda records: [{"vote": r["vote"]} for r in records], "records", "no 'drugs'"),
        (lambda records: [r | {"left": 1} for r in records], "records", "more columns"),
        (lambda records: [r | {"vote": "leftish"} for r in records], "records", "none of its 3 categories"),
        (lambda records: [r | {"drugs": 1} for r in records], "records", "none of its 2 categories; it is of type int"),
        (
            lambda records: [r | {"drugs": "true"} for r in records],
            "records",
            "it is 'true', of type str, where True is",
        ),
        (lambda records: [r | {"vote": ["left"]} for r in records], "records", "none of its 3 categories"),
        (lambda records: ["left" for _ in records], "records", "one is of type str"),
        (lambda records: None, "records", "got None; does it end"),
        (lambda records: "left.csv", "records", "got str"),
        (lambda record: "left", "record", "one is of type str"),
        (lambda table: table.slice(1), "table", "a report for every record"),
        (lambda table: table.select(["vote"]), "table", "no 'drugs'"),
        (lambda table: table.append_column("left", table["vote"]), "table", "more columns"),
        (lambda table: table.set_column(0, "vote", pa.array(["leftish"] * len(table))), "table", "outside its domain"),
        (lambda table: table.set_column(0, "vote", pa.array([1.5] * len(table))), "table", "do not fit the design"),
    ],
)
def test_function_that_returns_something_else_is_refused(function, mode, says):
    with pytest.raises(lr.DataError, match=says) as caught:
        lr.measure(DESIGN, function, mode=mode, draws=2_000)
    assert "left" not in str(caught.value)


def test_text_of_a_number_is_told_from_the_number():
    design = lr.design({"income": [1, 2, 3], "code": ["01", "2"]}, lam=0.5)
    for name, value, says in (("income", "3", "it is '3', of type str, where 3 is meant"), ("code", 2, "where '2' is")):
        with pytest.raises(lr.DataError, match=says):
            lr.measure(design, lambda records, more={name: value}: [r | more for r in records], draws=2_000)


def test_what_a_function_raises_is_shown_with_its_line():
    """The truths are made up, so what its message quotes is nobody's."""
    line = _raises.__code__.co_firstlineno + 1
    with pytest.raises(lr.DataError, match=rf"raised KeyError: 'left' \(test_measuring.py, line {line}\)") as caught:
        lr.measure(DESIGN, _raises, draws=2_000)
    assert isinstance(caught.value.__cause__, KeyError)
    assert "a list of dicts, " in str(caught.value)
    line = _deep.__code__.co_firstlineno + 1
    with pytest.raises(
        lr.DataError, match=rf"raised TypeError: .* \(test_measuring.py, line {line}\) .* with one dict"
    ):
        lr.measure(DESIGN, _deep, mode="record", draws=2_000)
    with pytest.raises(lr.DataError, match=r"raised SystemExit: 0 .* PyArrow table of"):
        lr.measure(DESIGN, lambda table: sys.exit(0), mode="table", draws=2_000)
    with pytest.raises(lr.DataError, match=r"raised TypeError: .* object but received a 'list' when it was called"):
        lr.measure(DESIGN, int.__add__, draws=2_000)


def _deep(record):
    return json.dumps({"record": object()})


def test_answer_that_goes_missing_is_refused():
    for mode in ("records", "table"):

        def forget(truths):
            if isinstance(truths, list):
                return [record | {"income": None} for record in truths]
            return truths.set_column(1, "income", pa.nulls(len(truths), pa.int64()))

        with pytest.raises(lr.DataError, match="no answer to 'income'"):
            lr.measure(MIXED, forget, mode=mode, draws=2_000)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"draws": 10}, "draws must be"),
        ({"draws": 1e6}, "draws must be"),
        ({"confidence": 1}, "confidence must be"),
        ({"false_alarm": 0}, "false_alarm must be"),
        ({"mode": "records"}, "mode of lambdarr's own"),
        ({"randomizer": "ftp://x"}, "http:// or https://"),
        ({"randomizer": "http://x", "mode": "table"}, "mode of an endpoint"),
        ({"randomizer": _raises, "mode": "client"}, "mode of a function"),
        ({"randomizer": 7}, "randomizer must be"),
        ({"mode": "record", "rng": lr.SeededWords(1)}, "rng must be None"),
        ({"randomizer": _raises, "rng": lr.SeededWords(1)}, "rng must be None"),
        ({"rng": 7}, "SeededWords"),
    ],
)
def test_impossible_measurement_is_refused(arguments, says):
    with pytest.raises(lr.DesignError, match=says):
        lr.measure(DESIGN, **arguments)


# The command line.


@pytest.fixture
def design_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    DESIGN.save("design.json")
    return "design.json"


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)], env={"COLUMNS": "200"})


@pytest.mark.parametrize("mode", ["table", "file", "record", "client"])
def test_command_measures_lambdarr_itself(design_path, mode):
    done = run(design_path, "--measure", "--draws", 3_000, "--mode", mode)
    assert done.exit_code == 0, done.output
    for said in ("vote", "joint", "stated ε", "share", f"lambdarr ({mode})", "3,000 made-up records", "Passed"):
        assert said in done.stdout


def test_command_fails_on_a_broken_function_and_says_why(design_path, tmp_path):
    (tmp_path / "broken_survey.py").write_text("def same(records):\n    return records\n")
    done = run(design_path, "--measure", "--draws", 3_000, "--randomizer", "broken_survey:same", "--json")
    assert done.exit_code == 1
    assert done.stderr.startswith("Failed: ")
    assert json.loads(done.stdout)["passed"] is False
    assert "Passed" not in run(design_path, "--measure", "--draws", 3_000, "--randomizer", "broken_survey:same").stdout


def test_command_says_what_a_module_raises(design_path, tmp_path):
    for name, text, says in [
        ("divides", "\nx = 1 / 0", "it raised ZeroDivisionError: division by zero (divides.py, line 2)"),
        ("misspelt", "def f(:", "it raised SyntaxError: invalid syntax (misspelt.py, line 1)"),
        ("needs", "import no_such_package", "No module named 'no_such_package' (needs.py, line 1)"),
        ("leaves", "import sys\nsys.exit(0)", "it raised SystemExit: 0 (leaves.py, line 2)"),
        ("leaves_later", "def f(records):\n    raise SystemExit(0)", "raised SystemExit: 0 (leaves_later.py, line 2)"),
    ]:
        (tmp_path / f"{name}.py").write_text(text)
        done = run(design_path, "--measure", "--draws", 3_000, "--randomizer", f"{name}:f")
        assert done.exit_code == 2
        assert says in done.stderr


def test_command_measures_an_endpoint(design_path, endpoint):
    endpoint.answer = answering(samplers.Sampler(DESIGN))
    done = run(
        design_path, "--measure", "--draws", 3_000, "--randomizer", endpoint.address, "--confidence", 0.9, "--json"
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["confidence"] == 0.9


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--draws", "5000"], "--draws needs --measure"),
        (["--measure", "--repeated", "3"], "--repeated is about the design"),
        (["--measure", "--randomizer", "localhost:80"], "starts with http://"),
        (["--randomizer", "a:b"], "--randomizer needs --measure"),
        (["--measure", "--randomizer", "nowhere"], "MODULE:FUNCTION"),
        (["--measure", "--randomizer", "survey.py:f"], "leave out .py: survey:f"),
        (["--measure", "--randomizer", "ftp://me:secret@here"], "or an http:// or https:// address\n"),
        (["--measure", "--randomizer", "nowhere_at_all:f"], "no module 'nowhere_at_all' in this folder"),
        (["--measure", "--randomizer", "json.nowhere:f"], "no module 'json.nowhere' in this folder"),
        (["--measure", "--randomizer", "math:nothing"], "'math' has no 'nothing'; it has: acos, "),
        (["--measure", "--randomizer", "math:nothing"], " more\n"),
        (["--measure", "--randomizer", "math:pi"], "must name a function"),
        (["--measure", "--draws", "5"], "draws must be"),
    ],
)
def test_command_refuses_what_cannot_be(design_path, options, says):
    done = run(design_path, *options)
    assert done.exit_code == 2
    assert says in done.stderr


# Samplers that follow the design cell by cell, and leak other truths by way of the redraw.

FOUR = lr.design({"a": range(4), "b": range(4), "c": range(4)}, lam=0.3)


def leaking(how):
    """Return a randomizer whose redraws come from the data."""
    generator = np.random.default_rng(5)

    def randomize(table):
        a, b, c = (table[name].to_numpy() for name in "abc")
        n = len(a)
        uniform = [generator.integers(0, 4, n) for _ in range(3)]
        redrawn = [generator.random(n) >= 0.3 for _ in range(3)]
        if how == "from a random person":
            uniform = [truth[generator.integers(0, n, n)] for truth in (a, b, c)]
        elif how == "from the row before":
            uniform = [
                np.where(np.roll(again, 1), np.roll(truth, 1), even)
                for truth, again, even in zip((a, b, c), redrawn, uniform, strict=True)
            ]
        elif how == "from another attribute":
            uniform[1] = np.where(redrawn[0], a, uniform[1])
        elif how == "from two others":
            uniform[2] = (a + b) % 4
        reports = [np.where(again, even, truth) for again, even, truth in zip(redrawn, uniform, (a, b, c), strict=True)]
        return pa.table(dict(zip("abc", reports, strict=True)))

    return randomize


@pytest.mark.parametrize(
    "how", ["from a random person", "from the row before", "from another attribute", "from two others"]
)
def test_redraws_from_the_data_are_caught(how):
    assert not lr.measure(FOUR, leaking(how), mode="table", draws=50_000).passed
    assert lr.measure(FOUR, leaking("not"), mode="table", draws=50_000).passed


# Samplers whose attributes and pairs are right, and whose records are not.

TWELVE = lr.design({f"q{j}": [0, 1] for j in range(12)}, epsilon=2)
THREE = lr.design({"a": range(2), "b": range(2), "c": range(5)}, lam={"a": 0.5, "b": 0.3, "c": 0.6})
MANY = lr.design({f"q{j}": range(3) for j in range(15)}, lam=0.3)


def test_records_left_as_they_were_are_caught():
    """Of 12 attributes with ε = 2, 3 records in 1,000: the true ε is 3.75."""
    found = lr.measure(TWELVE, samplers.LeavesSomeRecords(TWELVE), mode="table", draws=200_000)
    assert [check.name for check in found.failures] == ["records"]
    assert "all of the 12 answers of a record are true in 0.3" in found.reason
    assert found.failures[0].attributes == TWELVE.names


@pytest.mark.parametrize("design", [THREE, MANY], ids=["cells", "threes"])
def test_words_that_are_independent_in_pairs_alone_are_caught(design):
    found = lr.measure(design, samplers.AddsItsWords(design), mode="table", draws=100_000)
    assert {check.name for check in found.failures} == {"records"}
    assert ("'q12', 'q13', 'q14'" in found.reason) == (design is MANY)


def test_records_of_one_kind_left_as_they_were_are_caught():
    """Where all truths are 0 and half of the time: one record in 40, and none of any other kind."""
    right = samplers.LeavesSomeRecords(THREE)
    right.left = lambda rows: np.zeros(rows, dtype=bool)

    def left(table):
        reports = right(table)
        same = np.all([table[name].to_numpy() == 0 for name in "abc"], axis=0) & (right.words("", len(table)) % 2 == 0)
        return pa.table({name: np.where(same, table[name], reports[name]) for name in "abc"})

    found = lr.measure(THREE, left, mode="table", draws=100_000)
    (records,) = [check for check in found.failures if check.name == "records"]
    assert "where the truths are 'a' '0', 'b' '0', 'c' '0'" in records.finding


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7), st.integers(1, 7))
def test_number_of_true_answers_follows_from_all_patterns(truthfulness, asked):
    asked = min(asked, len(truthfulness))
    expected, sets = np.zeros(asked + 1), list(itertools.combinations(truthfulness, asked))
    for some in sets:
        for true in itertools.product([False, True], repeat=asked):
            chance = math.prod(d if kept else 1 - d for d, kept in zip(some, true, strict=True))
            expected[sum(true)] += chance / len(sets)
    assert wholes.numbers_true(truthfulness, asked) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("asked", [None, 2, 4])
@pytest.mark.parametrize("lam", [0.3, 0.95])
def test_p_values_of_right_records_are_no_smaller_than_uniform_ones(asked, lam):
    """150 seeded sets of calls: the share below 1 %, 10 % and 50 % is at most that, but for chance."""
    design = lr.design(
        {"a": range(3), "b": range(2), "c": range(4), "d": range(2), "e": range(2)}, lam=lam, asked=asked
    )
    rng, found = lr.SeededWords(4), []
    for _ in range(150):
        seen = wholes.ObservedRecords(design.attributes, design.channels, asked or 5)
        for _ in range(2):
            truths = [(rng.words(500) % a.size).astype(np.int32) for a in design.attributes]
            flags = np.ones((5, 500), bool) if asked is None else sampling.drawn_sets(rng, 500, asked=asked, count=5)
            reports = [
                np.where(some, sampling.reports_from_words(codes, rng.words(500), channel), -1)
                for some, codes, channel in zip(flags, truths, design.channels, strict=True)
            ]
            seen.add(truths, reports, large=True)
        found.append(seen.check(0).p_value)
    for level in (0.01, 0.1, 0.5):
        below = (np.array(found) < level).sum()
        assert stats.binom.sf(below - 1, 150, level) > FALSE_ALARM / 18
