import json
import math
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lambdarr as lr
from tests.strategies import design_of, products

SCHEMA = json.loads((Path(__file__).parents[1] / "spec" / "design.schema.json").read_text())


@st.composite
def designs(draw):
    channels = draw(products)
    kinds = st.sampled_from([lambda r: [f"c{i}" for i in range(r)], lambda r: list(range(r))])
    attributes = []
    for place, channel in enumerate(channels):
        missing = draw(st.sampled_from([None, "", "NA"]))
        public = missing is not None and draw(st.booleans())
        size = channel.size - (missing is not None and not public)
        attributes.append(lr.Attribute(f"attribute {place} é", draw(kinds)(size), missing, missing_is_public=public))
    kept = tuple(draw(st.sampled_from([[], ["id"], ["id", "w"]])))
    clear = all(not a.has_missing_category or (a.missing and a.kind == "text") for a in attributes)
    asked = draw(st.none() | st.integers(1, len(attributes))) if clear else None
    return lr.Design(tuple(attributes), tuple(channels), kept, asked)


@given(designs())
def test_json_gives_the_same_design_back(design):
    again = lr.Design.from_json(design.to_json())
    assert again == design
    assert [c.rounding for c in again.channels] == [c.rounding for c in design.channels]


@given(designs())
def test_json_fits_its_schema(design):
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(design.to_json()))


def test_file_gives_the_same_design_back(tmp_path):
    design = lr.design({"sex": ["F", "M"], "old": [True, False]}, strength=0.5, keep=["id"])
    design.save(tmp_path / "design.json")
    assert lr.Design.load(tmp_path / "design.json") == design


def test_categories_keep_their_type_in_json():
    attributes = [lr.Attribute("t", ["1", "2"]), lr.Attribute("i", [1, 2]), lr.Attribute("b", [True, False])]
    again = lr.Design.from_json(lr.design(attributes, lam=0.5).to_json())
    assert [type(attribute.categories[0]) for attribute in again.attributes] == [str, int, bool]


@given(products)
def test_joint_measures_are_those_of_the_product_matrix(channels):
    design, P = design_of(channels), lr.kronecker.dense(channels)
    assert design.bits == pytest.approx(lr.bistochastic.entropy_rate(P), abs=1e-9)
    assert design.strength == pytest.approx(design.bits / math.log2(len(P)))
    assert design.truthfulness == pytest.approx(P[0, 0])
    if all(channel.lam < 1 for channel in channels):
        assert design.epsilon == pytest.approx(math.log(P.max() / P.min()))
    assert design.noise_amplification == pytest.approx(1 / np.linalg.eigvalsh(P).min(), rel=1e-6)


def test_attenuation_is_what_happens_to_a_covariance():
    """Eq. (9), exactly: the covariance of the reports' distribution over that of the truths'."""
    channels = [lr.Channel(3, 0.6), lr.Channel(4, 0.5)]
    pi = np.random.default_rng(3).dirichlet(np.ones(12)).reshape(3, 4)
    s, t = np.array([1.0, 4.0, 2.0]), np.array([0.0, 1.0, 5.0, 2.0])

    def covariance(p):
        return s @ p @ t - (s @ p.sum(axis=1)) * (t @ p.sum(axis=0))

    ratio = covariance(lr.kronecker.apply(channels, pi)) / covariance(pi)
    assert design_of(channels).attenuation()[0, 1] == pytest.approx(ratio)


def test_design_lists_what_it_releases_unrandomized():
    design = lr.design({"sex": ["F", "M"], "region": ["N", "S"]}, lam={"sex": 0.5, "region": 1.0}, keep=["id"])
    assert design.released == ("region", "id")
    assert design.keeping(["weight"]).released == ("region", "id", "weight")


def test_part_of_a_design_comes_in_the_order_asked_for():
    design = lr.design({"a": [1, 2], "b": [1, 2, 3]}, lam=0.5)
    assert design.select(["b", "a"]).names == ("b", "a")
    with pytest.raises(lr.DesignError, match="'c' is not in the design"):
        design.select(["c"])


@pytest.mark.parametrize(
    ("attributes", "channels", "kept", "says"),
    [
        ((), (), (), "at least one attribute"),
        ((lr.Attribute("a", [1, 2]),), (), (), "one channel per attribute"),
        ((lr.Attribute("a", [1, 2]),), (lr.Channel(3, 0.5),), (), "must be the same"),
        ((lr.Attribute("a", [1, 2]),) * 2, (lr.Channel(2, 0.5),) * 2, (), "stands twice"),
        ((lr.Attribute("a", [1, 2]),), (lr.Channel(2, 0.5),), ("a",), "stands twice"),
    ],
)
def test_impossible_design_is_refused(attributes, channels, kept, says):
    with pytest.raises(lr.DesignError, match=says):
        lr.Design(attributes, channels, kept)


@pytest.mark.parametrize(
    ("name", "categories", "missing", "says"),
    [
        ("", ["a", "b"], None, "not empty"),
        ("  ", ["a", "b"], None, "not empty"),
        (3, ["a", "b"], None, "not empty"),
        ("x", ["a"], None, "at least 2"),
        ("x", [], "NA", "at least 2"),
        ("x", ["a", "a"], None, "differ"),
        ("x", ["a", 1], None, "one type"),
        ("x", [1, True], None, "one type"),
        ("x", [1.5, 2.5], None, "decimal"),
        ("x", [None, "a"], None, "NoneType"),
        ("x", "ab", None, "a list"),
        ("x", ["a", "NA"], "NA", "choose another text"),
        ("x", ["a", "b"], 7, "a text or None"),
        ("x", [True, False], "True", "choose another text"),
        ("x", range(65_537), None, "at most 65,536"),
        ("x", [2**63, 1], None, "64-bit"),
    ],
)
def test_impossible_attribute_is_refused(name, categories, missing, says):
    with pytest.raises(lr.DesignError, match=says):
        lr.Attribute(name, categories, missing)


def test_code_of_a_value_minds_its_type():
    assert lr.Attribute("i", [0, 1]).code(1) == 1
    for attribute, value in [
        (lr.Attribute("i", [0, 1]), True),
        (lr.Attribute("b", [False, True]), 1),
        (lr.Attribute("t", ["1", "2"]), 1),
        (lr.Attribute("i", [0, 1]), None),
        (lr.Attribute("i", [0, 1]), 0.5),
    ]:
        with pytest.raises(lr.DataError, match=attribute.name):
            attribute.code(value)
