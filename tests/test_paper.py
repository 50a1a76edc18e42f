"""Every result of Nicolas Ruiz, "λ-randomization: multi-dimensional randomized response made easy", by its own number.

General statements (eq. (1) to (9), Theorems 1 to 3, Corollary 1, Properties 1 and 2) are property tests in
test_channel.py, test_kronecker.py and test_bistochastic.py; here are the paper's own numbers and its protocol.
"""

import functools
import json
import math

import numpy as np
import pyarrow as pa
import pytest

import lambdarr as lr
from lambdarr import bistochastic, kronecker
from lambdarr.reporting.paper import SCENARIOS, items
from tests.statistics import assert_plausible, chi_square

inverse_of = functools.partial(lr.estimate, method="inverse")


def published():
    return {item.where: item for item in items()}


def test_section_3_example_is_the_product_of_the_two_channels():
    product = kronecker.dense([lr.Channel(2, 0.8), lr.Channel(2, 0.4)])
    expected = [[0.63, 0.27, 0.07, 0.03], [0.27, 0.63, 0.03, 0.07], [0.07, 0.03, 0.63, 0.27], [0.03, 0.07, 0.27, 0.63]]
    np.testing.assert_allclose(product, expected, atol=1e-9)
    assert bistochastic.is_bistochastic(product)


@pytest.mark.parametrize(
    ("lams", "strengths", "joint"),
    list(zip(SCENARIOS, [(24.2, 41.1, 54.9), (90.9, 95.7, 98.9), (66.5, 54.9, 84.4)], (40.1, 95.1, 68.6), strict=True)),
)
def test_table_1_for_five_categories(lams, strengths, joint):
    design = lr.design({f"x{j}": range(5) for j in range(3)}, lam={f"x{j}": lam for j, lam in enumerate(lams)})
    assert [100 * c.strength for c in design.channels] == pytest.approx(strengths, abs=0.05)
    assert 100 * design.strength == pytest.approx(joint, abs=0.05)


def test_seven_of_nine_printed_strengths_are_those_of_four_categories():
    printed = [25, 41, 56, 92, 96, 99, 68, 52, 85]
    lams = [lam for scenario in SCENARIOS for lam in scenario]
    agree = [round(100 * lr.Channel(4, lam).strength) == p for lam, p in zip(lams, printed, strict=True)]
    assert sum(agree) == 7


def test_section_6_expansion_is_the_inverse_of_the_joint():
    channels = [lr.Channel(5, lam) for lam in (0.6, 0.7, 0.4)]
    expansion = kronecker.inverse_by_projections(channels)
    assert expansion.shape == (125, 125)
    np.testing.assert_allclose(expansion @ kronecker.dense(channels), np.eye(125), atol=1e-12)


def test_class_contains_epsilon_private_randomized_response():
    for epsilon in (0.1, 1.0, 3.0):
        channel = lr.Channel.from_epsilon(6, epsilon)
        P = channel.matrix()
        assert (P[:, None, :] / P[None, :, :]).max() == pytest.approx(math.exp(epsilon), rel=1e-6)
        assert channel.lam == pytest.approx((math.exp(epsilon) - 1) / (math.exp(epsilon) + 5), abs=1e-8)


def test_expected_numerical_attribute_is_undone_by_whoever_knows_lambda():
    x = np.random.default_rng(1).normal(size=50)
    channel = lr.Channel(50, 0.3)
    sent = channel.matrix() @ x
    assert sent.mean() == pytest.approx(x.mean())
    np.testing.assert_allclose((sent - (1 - channel.lam) * sent.mean()) / channel.lam, x, atol=1e-9)


def test_equation_9_shrinks_the_covariance_by_the_product_of_lambdas():
    generator = np.random.default_rng(2)
    x, y = generator.normal(size=(2, 40))
    first, second = lr.Channel(40, 0.6), lr.Channel(40, 0.5)
    ratio = np.cov(first.matrix() @ x, second.matrix() @ y)[0, 1] / np.cov(x, y)[0, 1]
    assert ratio == pytest.approx(first.lam * second.lam)


TRUTHS = np.random.default_rng(7).choice(12, size=20_000, p=np.random.default_rng(8).dirichlet(np.ones(12)))


def _protocol_design():
    """Steps 1 to 3: λ's, their matrices, and the joint's protection by eq. (3), raised until it is enough."""
    attributes = {"a": ["x", "y", "z"], "b": [1, 2, 3, 4]}
    for lam in (0.9, 0.7, 0.5, 0.3):
        design = lr.design(attributes, lam=lam)
        if design.strength >= 0.7:
            break
    assert design.bits == pytest.approx(bistochastic.entropy_rate(kronecker.dense(design.channels)))
    assert design.strength >= 0.7
    return design


def _check_estimate(found, truths):
    """Step 5, by eq. (2): the true joint comes back within its errors."""
    target = np.bincount(truths, minlength=12).reshape(3, 4) / len(truths)
    assert found.values.sum() == pytest.approx(1)
    assert np.abs((found.values - target) / found.standard_errors).max() < 6  # 12 normal scores: alarm below 1e-7


def test_protocol_in_central_mode():
    design = _protocol_design()
    a, b = np.unravel_index(TRUTHS, (3, 4))
    table = pa.table({"a": np.array(["x", "y", "z"])[a], "b": b + 1})
    reports = lr.randomize(table, design, rng=lr.SeededWords(1))
    _check_estimate(inverse_of(reports, design, ["a", "b"], inference="finite"), TRUTHS)


def test_protocol_in_local_mode(monkeypatch):
    """Record by record, each from its own words; the words are seeded here only to make the test repeatable."""
    design = _protocol_design()
    words = iter(lr.SeededWords(2).words(2 * 5_000).tolist())
    monkeypatch.setattr("lambdarr.sampling.secrets.randbits", lambda bits: next(words))
    a, b = np.unravel_index(TRUTHS[:5_000], (3, 4))
    records = [{"a": "xyz"[i], "b": int(j) + 1} for i, j in zip(a, b, strict=True)]
    reports = pa.Table.from_pylist([lr.randomize_record(record, design) for record in records])
    _check_estimate(inverse_of(reports, design, ["a", "b"], inference="finite"), TRUTHS[:5_000])


def test_record_goes_through_the_kronecker_product():
    """Step 4: randomizing the attributes one by one is randomizing the record with P₁ ⊗ P₂."""
    design = _protocol_design()
    n = 50_000
    table = pa.table({"a": ["y"] * n, "b": [3] * n})
    counts = lr.tally(lr.randomize(table, design, rng=lr.SeededWords(9)), design, ["a", "b"]).values
    assert_plausible(chi_square(counts.ravel(), kronecker.dense(design.channels)[1 * 4 + 2]))


@pytest.mark.parametrize(
    ("where", "computed"),
    [
        ("Section 3, 4×4 product, row 4, column 2", 0.07),
        ("Table 1, {0.9; 0.8; 0.7}, attribute 1 (λ = 0.9), %", 24.2),
        ("Table 1, {0.6; 0.7; 0.4}, attribute 2 (λ = 0.7), %", 54.9),
        ("Table 1, {0.9; 0.8; 0.7}, joint distribution, %", 40.1),
        ("Table 1, {0.3; 0.2; 0.1}, joint distribution, %", 95.1),
        ("Table 1, {0.6; 0.7; 0.4}, joint distribution, %", 68.6),
    ],
)
def test_misprinted_figure_is_marked_and_corrected(where, computed):
    item = published()[where]
    assert not item.agrees
    assert item.computed == pytest.approx(computed, abs=1e-9)
    assert item.note


def test_every_place_where_the_text_does_not_hold_is_marked():
    differing = [item.where for item in items() if not item.agrees]
    for start in (
        "Section 3, 4×4",
        "Section 4, means",
        "Eq. (9)",
        "Section 6, the first scenario",
        "Table 1, {0.9; 0.8; 0.7}, attribute",
        "Table 1, {0.9; 0.8; 0.7}, joint",
        "Appendix, last display",
        "Section 5, numerical",
        "Section 4, one does not need",
    ):
        assert any(where.startswith(start) for where in differing), start
    assert all(item.note for item in items() if not item.agrees)


def test_all_equations_and_theorems_agree_but_the_unfinished_one():
    found = published()
    for where in (
        "Eq. (1)",
        "Eq. (2)",
        "Definition 1",
        "Theorem 1",
        "Theorem 2, eq. (3)",
        "Theorem 3, eq. (4)",
        "Corollary 1, eq. (5)",
        "Eq. (6)",
        "Property 1, eq. (7)",
        "Property 2, eq. (8)",
    ):
        assert found[where].agrees, where


def test_items_are_plain_json():
    text = json.dumps([item.to_dict() for item in items()], allow_nan=False)
    assert all(set(item) == {"where", "published", "computed", "agrees", "note"} for item in json.loads(text))
