"""Write spec/vectors.json: words at and beside every boundary of the rule, by arithmetic with Python's integers."""

import json
from pathlib import Path

WORDS = 2**32


def cases():
    for size in (2, 3, 5, 10, 97, 256, 257, 65_536):
        widest = (WORDS - 1) // size
        for width in sorted({0, 1, widest // 3, widest // 2, widest - 1, widest}):
            threshold = WORDS - width * size
            edges = {0, 1, WORDS // 2, WORDS - 1, threshold - 1, threshold, threshold + 1}
            for category in (1, size // 2, size - 1):
                edges |= {threshold + category * width + step for step in (-1, 0, 1)}
            for word in sorted(edge for edge in edges if 0 <= edge < WORDS):
                truth = word % size
                report = truth if word < threshold else (word - threshold) // width
                yield {"word": word, "threshold": threshold, "size": size, "truth": truth, "report": report}


def records():
    """Yield records with answers that are missing, randomized and public, or not asked; words are used in order."""
    half = {"threshold": WORDS // 2, "lambda": 0.5}
    income = {"name": "income", "categories": ["low", "high"], "missing": "NA", "missing_is_public": True, **half}
    smokes = {
        "name": "smokes",
        "categories": ["no", "yes", "daily"],
        "missing": "",
        **half,
    }  # four with the missing one
    age = {"name": "age", "categories": [1, 2], **half}
    design = {"schema_version": 2, "attributes": [income, smokes, age]}
    keep, first, last = 0, WORDS // 2, WORDS - 1
    for truths, words, reports in [
        ((None, None, 2), (last, first), (None, None, 1)),
        ((None, "yes", 1), (first, keep), (None, "no", 1)),
        (("NA", "", 1), (keep, last), (None, None, 2)),
        (("low", "yes", 2), (last, last, keep), ("high", None, 2)),
        (("high", None, 2), (keep, keep, first), ("high", None, 1)),
    ]:
        names = [attribute["name"] for attribute in design["attributes"]]
        record, report = (dict(zip(names, answers, strict=True)) for answers in (truths, reports))
        yield {"design": design, "record": record, "words": list(words), "report": report}
    # two of three are asked: a place below 2, then one below 3, where the last word is drawn again
    design = {"schema_version": 2, "asked": 2, "attributes": [income, {**smokes, "missing": "NA"}, age]}
    second, third = WORDS // 2, WORDS // 3
    for truths, words, reports in [
        (("low", "yes", 2), (0, 0, keep, first), ("low", None, 1)),  # 0, then 0 again: 0 and 2
        (("low", "yes", 2), (second, last, 2 * third, last, first), (None, "NA", 1)),  # 1, none, 2: 1 and 2
        (("high", None, 1), (second - 1, third, first, keep), ("low", "NA", None)),  # 0, then 1
        ((None, "NA", 1), (second, third, keep, last), (None, "NA", 2)),  # 1, then 1 again: 1 and 2
        ((None, "no", 1), (0, last, last, third - 1, last), (None, None, 2)),  # 0, twice none, 0 again: 0 and 2
        (("NA", "daily", 2), (last, 2 * third - 1, keep, first), (None, "daily", 1)),  # 1, then 1 again
    ]:
        record, report = (dict(zip(names, answers, strict=True)) for answers in (truths, reports))
        yield {"design": design, "record": record, "words": list(words), "report": report}
    yield from numbers()


def numbers():
    """Yield records of numbers, dates and durations: words at and beside the boundary of the rounding."""
    half = {"threshold": WORDS // 2, "lambda": 0.5}
    age = {
        "name": "age",
        "categories": ["below 0", "0", "10", "40", "above 40"],
        "scale": {"edges": [0, 10, 40], "unit": "integer", "rounding": "random", "outside": "count"},
        "missing": "NA",
        "threshold": WORDS // 4,
        "lambda": 0.25,
    }  # six with the missing one
    born = {
        "name": "born",
        "categories": ["[1970-01-01, 1970-02-01)", "[1970-02-01, 1970-03-01]"],
        "scale": {"edges": [0, 31, 59], "unit": "date", "rounding": "none", "outside": "clip"},
        **half,
    }
    waited = {
        "name": "waited",
        "categories": ["0", "0.5"],
        "scale": {"edges": [0, 0.5], "unit": "duration", "rounding": "random", "outside": "refuse"},
        **half,
    }
    design = {"schema_version": 3, "attributes": [age, born, waited]}
    keep, last, tenth = 0, WORDS - 1, WORDS // 10
    for truths, words, reports in [
        ((1, "1970-01-31", 0.125), (tenth - 1, keep, keep, WORDS // 4 - 1, keep), ("10", 0, "0.5")),
        ((1, "1970-02-01", 0.125), (tenth, keep, keep, WORDS // 4, keep), ("0", 1, "0")),
        ((10, "1969-12-31", 0), (0, keep, keep, 0, keep), ("10", 0, "0")),
        ((40, "2026-11-15", 0.5), (last, keep, keep, last, keep), ("40", 1, "0.5")),
        ((-1, "1970-03-01", 0.5), (keep, keep, 0, last), ("below 0", 1, "0.5")),
        ((41, "1970-01-01", 0.5), (last, keep, last, keep), (None, 0, "0.5")),
        ((None, "1970-01-01", 0.25), (keep, keep, WORDS // 2 - 1, WORDS // 2), (None, 0, "0")),
        (("NA", "1970-01-01", 0.25), (WORDS // 4, last, WORDS // 2, keep), ("below 0", 1, "0")),
    ]:
        record = dict(zip(["age", "born", "waited"], truths, strict=True))
        of_age, of_born, of_waited = reports
        report = {"age": of_age, "born": born["categories"][of_born], "waited": of_waited}
        yield {"design": design, "record": record, "words": list(words), "report": report}


if __name__ == "__main__":
    lines = ",\n".join("    " + json.dumps(case) for case in cases())
    whole = ",\n".join("    " + json.dumps(record) for record in records())
    text = f'{{\n  "version": 1,\n  "cases": [\n{lines}\n  ],\n  "records": [\n{whole}\n  ]\n}}\n'
    (Path(__file__).parents[1] / "spec" / "vectors.json").write_text(text)
