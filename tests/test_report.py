"""The report: its structure, what it says, and how it looks in a real browser without a network."""

import itertools
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import lambdarr as lr
from lambdarr.expecting import expected_errors
from lambdarr.reporting import charts, drawing, findings
from lambdarr.reporting.words import odds_in_words, share_in_words, shares_in_words
from tests.browser import browser, pixels
from tests.test_cli import refuse, run

SCRIPT = "<script>alert('x')</script>"
QUOTED = 'he said "a&b" <b>'
LONG = "How often in the last twelve months did you smoke, all kinds of tobacco taken together?"
VOID = {"meta", "link", "br", "img", "input", "hr"}


def people(n=3_000):
    """Return made-up answers with awkward names: smoking depends on the first attribute."""
    generator = np.random.default_rng(5)
    first = generator.integers(0, 3, n)
    smokes = (first + generator.integers(0, 2, n)) % 3
    many = generator.integers(0, 15, n)
    return pa.table(
        {
            SCRIPT: np.array([QUOTED, "it's", "c"])[first],
            LONG: np.array([f"a rather long answer, number {i} of three" for i in range(3)])[smokes],
            "fifteen": many,
            "region": np.array(["N", "S"])[generator.integers(0, 2, n)],
            "w": generator.uniform(0.5, 2, n),
        }
    )


TRUTHS = people()
DESIGN = lr.design(TRUTHS, lam={SCRIPT: 0.9, LONG: 0.8, "fifteen": 0.5, "region": 1.0}, keep=["w"])
CURVES = [f"chart-curve-{number}" for number in range(4)]
ALWAYS = ["chart-answers", *CURVES, "chart-map", "chart-noise", "chart-audit"]


@pytest.fixture(scope="module")
def reports():
    return lr.randomize(TRUTHS, DESIGN, rng=lr.SeededWords(7))


@pytest.fixture(scope="module")
def page(reports):
    return lr.report(DESIGN, reports=reports)


@pytest.fixture(scope="module")
def design_page():
    return lr.report(DESIGN)


@pytest.fixture(scope="module")
def chromium():
    with browser() as running:
        yield running


class Outline(HTMLParser):
    """What a page consists of; fails where its tags do not match."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.texts = [], [], {}
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def all(self, *names):
        return [(tag, attributes) for tag, attributes in self.tags if tag in names]


# What the page is.


def test_every_chart_is_on_the_page(page, design_page):
    shown = [attributes["id"] for _, attributes in Outline(design_page).all("figure")]
    assert shown == ALWAYS
    shown = [attributes["id"] for _, attributes in Outline(page).all("figure")]
    estimates = [key for key in shown if key.startswith("chart-estimate-")]
    assert len(estimates) == 5  # four attributes, and the one pair that depends
    assert set(shown) == {*ALWAYS, *estimates, "chart-relations"}
    assert page.count("<svg") == len(shown)


def test_names_and_categories_are_escaped(page, design_page):
    for text in (page, design_page):
        assert "<script" not in text
        assert "<b>" not in text
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in page
    assert "he said &quot;a&amp;b&quot; &lt;b&gt;" in page


def test_nothing_is_loaded_from_anywhere(page):
    outline = Outline(page)
    for _, attributes in outline.tags:
        for name, value in attributes.items():
            if name != "xmlns":
                assert "://" not in value
                assert "//" not in value[:2]
    assert {attributes["xmlns"] for _, attributes in outline.all("svg")} == {"http://www.w3.org/2000/svg"}
    assert outline.all("script", "img", "iframe", "object") == []
    assert "default-src 'none'" in page
    assert "url(http" not in page
    assert "@import" not in page


def test_a_page_is_made_for_screen_readers(page):
    outline = Outline(page)
    assert dict(outline.tags)["html"] == {"lang": "en"}
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in outline.all("svg"):
        assert attributes["role"] == "img"
        assert set(attributes["aria-labelledby"].split()) <= set(ids)
    levels = [int(tag[1]) for tag, _ in outline.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    tables = len(outline.all("table"))
    assert tables == len(outline.all("caption")) == len(outline.all("figure"))
    assert all(attributes["scope"] in ("col", "row") for _, attributes in outline.all("th"))
    targets = [attributes["href"].removeprefix("#") for _, attributes in outline.all("a")]
    assert set(targets) <= set(ids)
    assert {tag for tag, _ in outline.tags} >= {"header", "nav", "main", "footer"}


def _luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_of_every_theme_have_enough_contrast(page):
    """Text 4.5 to 1, marks of charts 3 to 1: WCAG 2.2, 1.4.3 and 1.4.11."""
    themes = re.findall(r":root \{([^}]*)\}", page)
    assert len(themes) == 3  # light, dark and print
    for theme in themes:
        colours = dict(re.findall(r"--([\w-]+): (#\w{6})", theme))
        wanted = [("ink", "paper", 4.5), ("muted", "paper", 4.5), ("link", "paper", 4.5), ("ink", "soft", 4.5)]
        wanted += [("ink", "note", 4.5), ("on-blue", "blue", 4.5), ("orange", "paper", 4.5), ("blue", "paper", 3)]
        for front, back, least in wanted:
            low, high = sorted((_luminance(colours[front]), _luminance(colours[back])))
            assert (high + 0.05) / (low + 0.05) >= least, (front, back)


def test_charts_take_their_colours_from_the_theme(page):
    """Every colour that a chart is drawn in is one that the style sheet knows, but for the map's own."""
    known = {getattr(drawing, name) for name in ("INK", "MUTED", "LINE", "BLUE", "ORANGE", "PALE", "ON_BLUE")}
    style = page[page.index("<style>") : page.index("</style>")]
    assert all(f'="{colour}"]' in style for colour in known)
    drawn = "".join(re.findall(r"<svg.*?</svg>", page))
    found = set(re.findall(r'(?:fill|stroke)="(#\w+|[a-z]+)"', drawn)) - {"none", "transparent"}
    assert found <= known | {"#111111", "#fefefe"}


# What it says.


def test_a_board_reads_what_the_design_means():
    page = lr.report(lr.design({"smokes": ["no", "yes"]}, lam=0.4))
    assert "7 in 10 answers are true. No single answer can be held against anyone more than 2.4 to 1." in page
    assert "The design has one attribute" in page


def test_what_is_not_protected_is_said():
    attributes = [lr.Attribute("income", ["low", "high"], missing="", missing_is_public=True)]
    page = lr.report(lr.design([*attributes, lr.Attribute("sex", ["F", "M"])], lam={"income": 0.5, "sex": 1}, keep="w"))
    assert "Not protected: “sex” and “w” are reported as they are" in page
    assert "everyone sees who gave no answer to “income”" in page
    assert "no limit" in page  # the odds of what is not randomized


def test_a_design_that_randomizes_nothing_says_so():
    assert "protects nobody" in lr.report(lr.design({"sex": ["F", "M"]}, lam=1.0))


@pytest.mark.parametrize(("share", "words"), [(0.7, "7 in 10"), (0.95, "95 in 100"), (0.004, "4 in 1,000")])
def test_shares_are_said_as_people_say_them(share, words):
    assert share_in_words(share) == words


def test_shares_side_by_side_are_of_the_same_number_of_people():
    assert shares_in_words([0.4, 0.733, 1]) == ["40 in 100", "73 in 100", "all"]
    assert shares_in_words([0.5, 0.9996]) == ["5,000 in 10,000", "9,996 in 10,000"]
    page = lr.report(lr.design({"a": ["F", "M"], "b": [1, 2, 3]}, lam={"a": 0.2, "b": 0.6}))
    assert "From 60 in 100 (“a”) to 73 in 100 (“b”) of the answers are true" in page


def test_what_is_reported_as_it_is_passes_no_lottery(page):
    assert "Every answer, but for “region”, passes a lottery" in page
    assert "λ = 1: reported as it is, no protection. No error is added." in page
    assert "“region”: reported as it is, so there is nothing to guess." in page
    assert "randomized answers are true" in page
    assert "There is no lottery" in lr.report(lr.design({"sex": ["F", "M"]}, lam=1.0))


def test_odds_are_never_said_too_small():
    for lam in np.linspace(0.05, 0.95, 19):
        channel = lr.Channel(3, float(lam))
        said = float(odds_in_words(channel.epsilon).split()[0])
        assert said >= np.exp(channel.epsilon) * (1 - 1e-5)


def test_estimates_are_those_of_the_verb(page, reports):
    found = lr.estimate(reports, DESIGN, ["region"])
    lower, upper = found.interval()
    assert f"<td>{found.values[0]:.2%}</td><td>{found.unbiased[0]:.2%}</td>" in page
    assert f"<td>{lower[0]:.2%} … {upper[0]:.2%}</td>" in page


def test_relations_are_those_of_the_verb(page, reports):
    pair = lr.correlate(reports, DESIGN).pair(SCRIPT, LONG)
    assert f"<td>{pair.cramers_v:.3f}</td>" in page
    assert "1 of 6 pairs stands out from chance" in page


def test_a_table_that_is_mostly_noise_is_warned_of(reports):
    page = lr.report(DESIGN, reports=reports.slice(0, 60), tables=[["fifteen", LONG]])
    assert "mostly noise. With 60 reports" in page
    assert re.search(r"With 60 reports, (tables of \d|even the table)", page)


def test_two_reports_are_mostly_noise_whatever_error_is_expected():
    from lambdarr.reporting.estimates import estimate_warning

    design = lr.design({"sex": ["F", "M"]}, lam=0.5)
    for answers in (["F", "M"], ["F", "F"]):
        found = lr.estimate(pa.table({"sex": answers}), design, ["sex"])
        assert "mostly noise. With 2 reports" in estimate_warning(found)
    many = lr.estimate(pa.table({"sex": ["F", "M"] * 500}), design, ["sex"])
    assert estimate_warning(many) is None


def test_limits_are_rounded_up():
    """λ = 0.37, r = 3: ε = ln(1 + 3 · 0.37/0.63) = 1.01592, posterior 0.58: no dust of the grid of λ is added."""
    page = lr.report(lr.design({"vote": ["A", "B", "C"]}, lam=0.37))
    assert "<td>1.016</td>" in page
    assert "<td>58.0%</td>" in page
    page = lr.report(lr.design({"vote": ["A", "B", "C"]}, lam=0.5004))
    assert "<td>66.7%</td>" in page  # 0.66693
    assert "<td>1.388</td>" in page  # 1.38749


def test_surest_guess_and_largest_odds_are_told_apart():
    two, many = lr.design({"sex": ["F", "M"]}, lam=0.5), lr.design({"sex": ["F", "M"], "age": range(9)}, lam=0.5)
    assert "surest of “sex”" in lr.report(many)
    assert "whose odds are shifted most: that is “age”, by up to 10 to 1" in lr.report(many)
    assert "shifted most" not in lr.report(two)


def test_without_reports_the_title_does_not_speak_of_what_they_say(page, design_page):
    assert "<h1>What the answers say, and what" in page
    assert "<h1>What the answers will tell, and what" in design_page


def test_commands_are_broken_into_lines(page):
    commands = Outline(page).texts["code"][0]
    lines = commands.splitlines()
    assert all(
        len(line) < 95 or line.startswith("    -") for line in lines
    )  # a table's names may be as long as they are
    assert sum(not line.startswith("    ") for line in lines) == commands.count("lambdarr ")
    assert " \\\n    -t " in commands


def test_names_of_usual_length_are_not_cut():
    names = {"nativeBorn": ["no", "yes"], "vocabulary": ["low", "high"], "ageGroup": ["18-29", "30-39"]}
    design = lr.design(names, lam=0.9)
    reports = lr.randomize(
        pa.table({name: [values[0], values[1]] * 300 for name, values in names.items()}), design, rng=lr.SeededWords(1)
    )
    page = lr.report(design, reports=reports, tables=[list(names)])
    assert ">nativeBorn × vocabulary</text>" in page
    assert ">no · low · 18-29</text>" in page


def test_weights_and_inference_reach_the_estimates(reports):
    page = lr.report(DESIGN, reports=reports, tables=["region"], weights="w", inference="finite")
    found = lr.estimate(reports, DESIGN, ["region"], weights="w", inference="finite")
    assert f"<td>{found.unbiased[0]:.2%}</td>" in page
    command = "lambdarr report design.json reports.csv -o report.html -t region --inference finite --weights w"
    assert command in page.replace(" \\\n   ", "")


def test_the_page_says_how_to_have_the_numbers_again(page):
    outline = Outline(page)
    commands, design = outline.texts["code"][:2]
    assert commands.splitlines()[0] == "lambdarr show design.json"
    assert lr.Design.from_json(design) == DESIGN
    assert f"lambdarr {lr.__version__}" in page
    assert re.search(r'<time datetime="\d{4}-\d\d-\d\d">', page)


def test_reports_can_be_read_once_only(reports):
    reader = pa.RecordBatchReader.from_batches(reports.schema, iter(reports.to_batches()))
    assert "chart-relations" in lr.report(DESIGN, reports=reader)


def test_no_tables_are_estimated_where_none_are_wanted(reports):
    page = lr.report(DESIGN, reports=reports, tables=iter(()))
    assert "chart-estimate" not in page
    assert "chart-relations" in page


def test_no_record_is_on_the_page(page):
    """Weights tell people apart: none of them is there."""
    assert not any(f"{weight:.6f}" in page for weight in TRUTHS["w"].to_pylist())


def test_a_design_of_many_attributes_and_categories_stays_readable(monkeypatch):
    """With the limits lowered, so as not to draw for long; the most categories are beyond them as they are."""
    monkeypatch.setattr(findings, "MOST_SINGLE", 2)
    monkeypatch.setattr(findings, "MOST_RELATED", 3)
    monkeypatch.setattr(charts, "MOST_CURVES", 2)
    wide = lr.design({"z": range(3_000), "y": range(60), **{f"a{j}": range(8) for j in range(298)}}, lam=0.1)
    answers = pa.table({name: np.zeros(10, dtype=np.int64) for name in wide.names})
    page = lr.report(wide, reports=answers)
    assert page.count('<figure id="chart-curve-') == 2
    assert "Of 300 attributes, 2 are estimated" in page
    assert "Of 300 attributes, 3 are looked at here" in page
    assert "Only the 30 largest of 60 cells are drawn" in page
    assert "The first 30 of 300 attributes are shown" in page
    assert len(page) < 700_000


# A part of the questions, several waves, and answers that nobody gave.


SMALL = {f"q{j}": ["no", "yes", "unsure"] for j in range(4)}


def answers_to(design, n, seed):
    generator = np.random.default_rng(seed)
    truths = pa.table({name: np.array(SMALL["q0"])[generator.choice(3, n, p=[0.6, 0.3, 0.1])] for name in design.names})
    return lr.randomize(truths, design, rng=lr.SeededWords(seed))


def test_a_design_that_asks_a_part_is_reported_with_the_share_asked():
    design = lr.design(SMALL, lam=0.5, asked=2)
    page = lr.report(design, reports=answers_to(design, 2_000, 1))
    assert "Each person is asked 2 of 4 questions, drawn at random. 67 in 100 answers are true." in page
    assert "Errors are at least 2.8 times as large, so at least 8.0 times as many people" in page  # 1/(0.5 √½)
    # θ = 0.5 · 0.01 + 0.5/3 = 0.1717: √(θ(1 − θ)/0.0099) · 2.83 = 10.7
    assert "Of an answer that 1 in 100 people give, they are 10.7 times as large." in page
    assert "the 17 in 100 people who are asked both questions" in page
    assert re.search(r"(9\d\d|10\d\d) of 2,000 reports have an answer", page)
    assert "Nobody is asked more than 2, so there are no larger tables" in page
    errors = expected_errors(design, 2_000)
    assert len(errors) == 2
    shown = float(re.search(r'<th scope="row">1</th><td>[\d.]+</td><td>([\d.]+)</td>', page)[1])
    assert shown == pytest.approx(errors[0].typical, rel=0.05)  # how many were asked is itself random


def test_a_design_that_asks_one_question_has_no_relations():
    design = lr.design(SMALL, lam=0.5, asked=1)
    page = lr.report(design, reports=answers_to(design, 500, 2))
    assert "tell nothing about how two go together" in page
    assert "chart-relations" not in page
    assert "chart-map" not in page
    assert "Each person is asked 1 of 4 questions" in lr.report(design)


def test_waves_are_reported_together():
    first, second = lr.design(SMALL, lam=0.5), lr.design({**SMALL, "more": SMALL["q0"]}, lam=0.8, asked=3)
    waves = [(answers_to(first, 1_500, 3), first), (answers_to(second, 900, 4), second)]
    page = lr.report(reports=waves)
    assert "2,400 reports in 2 waves" in page
    assert '<th scope="row">more</th><td>not in it</td><td>0.8</td>' in page
    assert "questions asked of each person</th><td>all</td><td>3 of 5</td>" in page
    assert "Wave 1, λ = 0.5: 67% true, strength 79%, errors × 2.0 at least." in page
    assert [key for key in ("chart-answers", "chart-map", "chart-audit") if f'id="{key}-wave-2"' not in page] == []
    found = lr.estimate(waves, attributes=["q1"])
    assert f"<td>{found.unbiased[0]:.2%}</td>" in page
    assert "-t q3 --wave reports-2.csv=design-2.json" in page.replace(" \\\n   ", "")
    assert "SHA-256 of design-2.json" in page
    assert Outline(page).texts["code"][1] == first.to_json()
    with pytest.raises(lr.DesignError, match="'more'"):
        lr.report(reports=waves, tables=["more"])
    with pytest.raises(lr.DesignError, match="left out"):
        lr.report(first, reports=waves)


@pytest.mark.parametrize("sampled", [{}, {"weights": "w"}, {"clusters": "k"}], ids=str)
def test_a_pair_that_nobody_answered_whole_is_said(sampled):
    """One half has no answer to a, the other none to b, and nobody one to d."""
    attributes = [lr.Attribute(name, ["x", "y"], missing="", missing_is_public=True) for name in "abcd"]
    design = lr.design(attributes, lam=0.6, keep=["w", "k"])
    half, none = ["x", "y"] * 100, [None] * 200
    columns = {"a": half + none, "b": none + half, "c": half + half, "d": pa.array(none + none, pa.string())}
    reports = pa.table({**columns, "w": np.linspace(1, 2, 400), "k": np.arange(400) % 40})
    page = lr.report(design, reports=reports, **sampled)
    assert "Nobody answered both “a” and “b”, and 3 more pairs." in page
    assert '<th scope="row">a</th><th scope="row">b</th><td>nobody answered both</td>' in page
    assert "Nobody answered “d”." in page
    assert "lambdarr correlate" not in page  # it would refuse
    alone = lr.report(design, reports=reports, tables=[["a", "b"]], **sampled)
    assert "nobody answered both" in alone
    assert "chart-estimate" not in alone


def test_truths_that_are_taken_for_reports_raise_an_alarm(page):
    """Reports raise it once in a million times, FALSE_ALARM of plausibility.py; seeded, so always the same here."""
    alarm = "These do not look like reports of this design"
    assert alarm not in page
    truths = TRUTHS.slice(0, 2_000).set_column(2, "fifteen", pa.array(np.arange(2_000) % 3))
    alarmed = lr.report(DESIGN, reports=truths)
    assert f"{alarm}. The answers to “fifteen” are spread as no truths can explain" in alarmed
    assert alarm not in lr.report(DESIGN, reports=truths, weights="w")  # weighted counts are not binomial


# How it is asked for.


def test_the_command_writes_the_page_and_names_only_the_file(tmp_path, reports):
    import pyarrow.csv as pacsv

    pacsv.write_csv(reports, tmp_path / "reports.csv")
    DESIGN.save(tmp_path / "d.json")
    arguments = [tmp_path / "d.json", tmp_path / "reports.csv", "-o", tmp_path / "r.html", "-t", "region,fifteen"]
    result = run("report", *arguments, "--title", "A <b>title</b>", "--level", "0.9")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert f"Report of {page.count('<figure')} charts" in result.stdout
    assert "<h1>A &lt;b&gt;title&lt;/b&gt;</h1>" in page
    assert page.count('id="chart-estimate-') == 1 + page.count('id="chart-estimate-0-')
    assert "lambdarr estimate reports.csv -d design.json -t region,fifteen --level 0.9" in page
    assert str(tmp_path) not in page
    assert "exists" in refuse("report", *arguments)
    run("report", tmp_path / "d.json", "-o", tmp_path / "r.html", "--force")
    assert "chart-estimate" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_the_command_takes_waves(tmp_path):
    import pyarrow.csv as pacsv

    for number, lam in ((1, 0.5), (2, 0.8)):
        design = lr.design(SMALL, lam=lam)
        design.save(tmp_path / f"d{number}.json")
        pacsv.write_csv(answers_to(design, 300, number), tmp_path / f"r{number}.csv")
    more = ["--wave", f"{tmp_path / 'r2.csv'}={tmp_path / 'd2.json'}"]
    run("report", tmp_path / "d1.json", tmp_path / "r1.csv", "-o", tmp_path / "r.html", *more)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "600 reports in 2 waves" in page
    assert "lambdarr report design.json r1.csv -o report.html --wave r2.csv=design-2.json" in page
    assert "first file of reports" in refuse("report", tmp_path / "d1.json", "-o", tmp_path / "s.html", *more)
    other = lr.design({**SMALL, list(SMALL)[1]: ["x", "y", "z"]}, lam=0.5)
    other.save(tmp_path / "d2.json")
    said = refuse("report", tmp_path / "d1.json", tmp_path / "r1.csv", "-o", tmp_path / "s.html", *more)
    assert f"{list(SMALL)[1]!r} has other categories in design 2" in said
    assert not (tmp_path / "s.html").exists()


def test_the_command_warns_of_truths(tmp_path):
    import pyarrow.csv as pacsv

    design = lr.design({"smokes": ["no", "yes"]}, lam=0.5)
    design.save(tmp_path / "d.json")
    for name, no, alarm in (("truths", 970, True), ("reports", 700, False)):
        pacsv.write_csv(pa.table({"smokes": ["no"] * no + ["yes"] * (1_000 - no)}), tmp_path / f"{name}.csv")
        done = run("report", tmp_path / "d.json", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}.html")
        assert ("Warning: these do not look like reports of this design" in done.stderr) is alarm


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "d.json", "--force"], "cannot be written over"),
        (["-o", "nowhere/r.html"], "there is no folder"),
        (["-o", "r.html", "-t", "region"], "give reports as well"),
        (["-o", "r.html", "--level", "2"], "level"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_report_that_cannot_be_is_refused_and_leaves_nothing(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    DESIGN.save("d.json")
    assert said in refuse("report", "d.json", *options)
    assert [path.name for path in tmp_path.iterdir()] == ["d.json"]
    assert lr.Design.load("d.json") == DESIGN


def test_an_unknown_attribute_is_refused(reports):
    with pytest.raises(lr.DesignError, match="height"):
        lr.report(DESIGN, reports=reports, tables=[["height"]])


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_without_the_extra_its_name_is_told(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    for work in (lambda: lr.report(DESIGN), DESIGN.plot, lr.audit(DESIGN).plot):
        with pytest.raises(lr.MissingExtraError, match=r"pip install 'lambdarr\[report\]'"):
            work()
    assert DESIGN._repr_html_()  # tables need nothing


# Notebooks.


def test_nouns_show_themselves_as_escaped_tables(reports):
    nouns = [DESIGN, lr.audit(DESIGN), lr.estimate(reports, DESIGN, [SCRIPT]), lr.correlate(reports, DESIGN)]
    for noun in nouns:
        shown = noun._repr_html_()
        Outline(shown)
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown
    assert "he said &quot;a&amp;b&quot; &lt;b&gt;" in nouns[2]._repr_html_()
    answer = lr.query(reports, DESIGN, {"region": "N"})
    assert f"<td>{answer.value:.4f}</td>" in answer._repr_html_()


def test_charts_are_altair_charts_and_save_themselves(tmp_path, reports):
    estimate, found = lr.estimate(reports, DESIGN, ["fifteen", "region"]), lr.correlate(reports, DESIGN)
    plots = {
        "curves": DESIGN.select([LONG]).plot(),
        "map": DESIGN.plot("map"),
        "answers": DESIGN.plot("answers"),
        "audit": lr.audit(DESIGN, prior={"region": [0.9, 0.1]}).plot(),
        "estimate": estimate.plot(level=0.9),
        "inverse": lr.estimate(reports, DESIGN, ["region"], method="inverse").plot(),
        "relations": found.plot(),
    }
    for name, chart in plots.items():
        chart.to_dict()  # as Vega-Lite's schema has it
        chart.save(tmp_path / f"{name}.svg")
        assert "<path" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
    titles = {name: chart.to_dict()["title"] for name, chart in plots.items()}
    assert titles["estimate"]["text"] == "fifteen × region"
    assert titles["estimate"]["subtitle"] == ["3,000 reports; 90% intervals of the unbiased values"]
    cut = lr.estimate(reports, DESIGN, ["fifteen", SCRIPT]).plot().to_dict()["title"]["subtitle"]
    assert cut[1] == "only the 30 largest of 45 cells"
    plots["map"].save(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(lr.DataError, match="'curves', 'map' or 'answers'"):
        DESIGN.plot("pie")
    with pytest.raises(lr.DataError, match="pairs of attributes"):
        DESIGN.select(["region"]).plot("map")


def test_labels_that_would_look_the_same_are_told_apart():
    """Thirty letters in common at both ends: the chart numbers them."""
    same = "x" * 40
    design = lr.design({"a": [f"{same}{i}{same}" for i in range(3)]}, lam=0.5)
    chart = lr.estimate(lr.Counts.from_array(["a"], [5, 3, 2]), design).plot().to_dict()
    labels = json.dumps(chart, ensure_ascii=False)
    assert all(f'"{number}. xxx' in labels for number in (1, 2, 3))


# A real browser.


@pytest.fixture
def opened(chromium, page, tmp_path):
    """Return a function that opens the page from a file, without a network, and a list of what it asked for."""
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    contexts, asked = [], []

    def open_page(**options):
        context = chromium.new_context(offline=True, **options)
        contexts.append(context)
        shown = context.new_page()
        shown.on("request", lambda request: asked.append(request.url))
        shown.on("console", lambda message: asked.append(message.text))
        shown.goto(path.as_uri())
        return shown

    yield open_page, asked
    for context in contexts:
        context.close()


BOXES = """() => [...document.querySelectorAll("figure svg")].map((svg) => {
  const box = svg.getBoundingClientRect();
  return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height, key: svg.closest("figure").id};
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_without_network_shows_every_chart(chromium, opened, page, scheme):
    open_page, asked = opened
    shown = open_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    boxes = shown.evaluate(BOXES)
    assert len(boxes) == page.count("<svg")
    for box, seen in zip(boxes, pixels(chromium, shown.screenshot(full_page=True), boxes), strict=True):
        assert box["width"] > 150, box
        assert box["height"] > 60, box
        assert seen["drawn"] > 0.01, box
        assert seen["coloured"] > 40, box
    assert len(asked) == 1  # the file itself, no request and no complaint beside it


def test_a_phone_shows_the_page_without_scrolling_sideways(opened):
    open_page, _ = opened
    shown = open_page(viewport={"width": 390, "height": 844})
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in shown.evaluate(BOXES))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_passes_an_accessibility_check(opened, scheme):
    from axe_playwright_python.sync_playwright import Axe

    open_page, _ = opened
    shown = open_page(bypass_csp=True, color_scheme=scheme, viewport={"width": 390, "height": 844})
    shown.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true })")
    found = Axe().run(shown)
    assert found.violations_count == 0, found.generate_report()
    assert len(found.response["passes"]) > 10


def test_the_page_prints_with_every_chart_and_number(opened, page):
    open_page, _ = opened
    shown = open_page(viewport={"width": 688, "height": 1000}, color_scheme="dark")  # A4 within its margins
    printed = shown.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) > 2
    shown.emulate_media(media="print")
    boxes = shown.evaluate(BOXES)
    assert len(boxes) == page.count("<svg")
    assert all(box["width"] > 100 and box["x"] + box["width"] <= 688 for box in boxes)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 688  # or everything would be printed smaller
    heights = shown.evaluate(
        "[...document.querySelectorAll('table')].map((table) => table.getBoundingClientRect().height)"
    )
    assert min(heights) > 20  # folded tables are unfolded
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
