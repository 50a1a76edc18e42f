"""The page on classifiers: the linear scores that it shows, against brute force and least squares."""

import inspect
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.classifiers import linear, moments
from sklearn.linear_model import LinearRegression

import lambdarr as lr

PAGE = Path(__file__).parents[1] / "docs" / "classifiers.md"
ATTRIBUTES = {"sex": ["F", "M"], "n": [1, 2, 3], "y": ["no", "yes"]}


def people(n):
    """Return records whose predictors go together, and a probability of the outcome that is linear in them."""
    generator = np.random.default_rng(1)
    sex = generator.integers(0, 2, n)
    number = np.where(generator.random(n) < 0.7, 2 * sex, generator.integers(0, 3, n))
    y = generator.random(n) < 0.1 + 0.2 * sex + 0.3 * number
    return pd.DataFrame({"sex": np.array(["F", "M"])[sex], "n": number + 1, "y": np.where(y, "yes", "no")})


def scores(reports, design, cells):
    """Return linear scores of true records."""
    weights, intercepts = linear(reports, design, "y")
    return lr.unbiased(cells, lr.design(ATTRIBUTES, lam=1.0))[weights.index] @ weights + intercepts


def test_the_page_shows_the_functions_that_are_measured_and_tested():
    assert all(inspect.getsource(function) in PAGE.read_text() for function in (moments, linear))


def test_moments_are_unbiased_for_every_truth():
    design = lr.design(ATTRIBUTES, lam={"sex": 0.7, "n": 0.4, "y": 0.5})
    cells = [dict(zip(ATTRIBUTES, cell, strict=True)) for cell in itertools.product(*ATTRIBUTES.values())]
    found = [moments(pd.DataFrame([report]), design)[:2] for report in cells]
    chances = lr.kronecker.dense(design.channels)
    for chance, truth in zip(chances, cells, strict=True):
        indicators = np.concatenate([np.equal(values, truth[name]) for name, values in ATTRIBUTES.items()])
        for order, goal in enumerate((indicators, np.outer(indicators, indicators))):
            expected = sum(share * some[order].to_numpy() for share, some in zip(chance, found, strict=True))
            np.testing.assert_allclose(expected, goal, atol=1e-6)


def test_linear_scores_of_truths_are_least_squares():
    truths = people(500)
    inputs = pd.get_dummies(truths[["sex", "n"]].astype(str))
    expected = LinearRegression().fit(inputs, truths["y"] == "yes").predict(inputs)
    found = scores(truths, lr.design(ATTRIBUTES, lam=1.0), truths)
    np.testing.assert_allclose(found["y=yes"], expected, atol=1e-8)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_linear_scores_of_many_reports_are_near_those_of_the_truths_and_least_squares_on_reports_is_not():
    truths, none, design = people(200_000), lr.design(ATTRIBUTES, lam=1.0), lr.design(ATTRIBUTES, lam=0.6)
    reports = lr.randomize(truths, design, rng=lr.SeededWords(1))
    cells = pd.DataFrame(itertools.product(*ATTRIBUTES.values()), columns=list(ATTRIBUTES))
    goal = scores(truths, none, cells)
    assert np.abs(scores(reports, design, cells) - goal).to_numpy().max() < 0.05
    assert np.abs(scores(reports, none, cells) - goal).to_numpy().max() > 0.15
