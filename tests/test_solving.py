import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lambdarr as lr

ATTRIBUTES = {"sex": ["F", "M"], "vote": list("ABC"), "work": list("abcdefghi")}


def test_one_keep_rate_is_for_all_attributes():
    assert [c.lam for c in lr.design(ATTRIBUTES, lam=0.6).channels] == pytest.approx([0.6] * 3)


@given(st.floats(0.01, 0.99))
def test_joint_strength_is_met_by_every_attribute(strength):
    design = lr.design(ATTRIBUTES, strength=strength)
    assert design.strength >= strength - 1e-12
    assert design.strength == pytest.approx(strength, abs=1e-6)
    assert [c.strength for c in design.channels] == pytest.approx([strength] * 3, abs=1e-6)


@given(st.floats(0.01, 5.6))
def test_joint_bits_are_spread_by_size(bits):
    design = lr.design(ATTRIBUTES, bits=bits)
    assert design.bits == pytest.approx(bits, abs=1e-6)
    assert design.bits >= bits - 1e-12
    shares = [c.bits / math.log2(c.size) for c in design.channels]
    assert shares == pytest.approx([shares[0]] * 3, abs=1e-6)


@given(st.floats(0.01, 20))
def test_joint_epsilon_is_spread_in_equal_parts(epsilon):
    design = lr.design(ATTRIBUTES, epsilon=epsilon)
    assert design.epsilon <= epsilon * (1 + 1e-12)
    assert design.epsilon == pytest.approx(epsilon, rel=1e-5)
    assert [c.epsilon for c in design.channels] == pytest.approx([epsilon / 3] * 3, rel=1e-5)


def test_mappings_share_the_attributes_among_them():
    design = lr.design(ATTRIBUTES, lam={"sex": 0.9}, epsilon={"vote": 1.0}, bits={"work": 2.0})
    assert design.channels[0].lam == pytest.approx(0.9)
    assert design.channels[1].epsilon == pytest.approx(1)
    assert design.channels[2].bits == pytest.approx(2)
    assert [c.rounding for c in design.channels] == ["nearest", "private", "private"]


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        ({}, "needs a target"),
        ({"lam": 0.5, "epsilon": 1}, "goes with no other one, got lam and epsilon.* of its own$"),
        ({"lam": {"sex": 0.9}, "epsilon": 5}, "with a workload .*, lam fixes some attributes .* share epsilon"),
        ({"lam": {"sex": 0.5}}, "'vote' has no target"),
        ({"lam": {"sex": 0.5, "vote": 0.5, "work": 0.5}, "epsilon": {"sex": 1}}, "two targets"),
        ({"lam": {"nobody": 0.5}}, "no column or attribute 'nobody'"),
        ({"lam": 0}, "'sex'.*keep rate"),
        ({"lam": math.nan}, "'sex'.*keep rate"),
        ({"strength": 1.01}, "'sex'.*strength"),
        ({"bits": 6}, "the attributes hold Σ log₂ r = 5.75489 bits"),
        ({"bits": 6, "asked": 1}, "1 of the attributes hold on average"),
        ({"posterior": 0.9, "prior": {"sex": [-1, 2]}}, "none of them negative, got -1"),
        ({"bits": math.nan}, "bits"),
        ({"epsilon": -1}, "epsilon must be a positive number, got -1"),
        ({"lam": "much"}, "keep rate"),
    ],
)
def test_impossible_targets_are_refused(targets, says):
    with pytest.raises(lr.DesignError, match=says):
        lr.design(ATTRIBUTES, **targets)


def test_categories_are_found_in_a_table_and_sorted():
    frame = pd.DataFrame({"t": ["b", "a", "b"], "i": [10, 9, 2], "b": [True, False, True]})
    design = lr.design(frame, lam=0.5)
    assert [a.categories for a in design.attributes] == [("a", "b"), (2, 9, 10), (False, True)]


def test_declared_categories_keep_their_order_and_the_unobserved_ones():
    levels = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    design = lr.design(pd.DataFrame({"x": pd.Series(["high", "low"], dtype=levels)}), lam=0.5)
    assert design.attributes[0].categories == ("low", "middle", "high")


def test_missing_values_become_a_category():
    table = pa.table({"x": ["a", None, "b"], "y": [1, 2, 1]})
    design = lr.design(table, lam=0.5)
    assert [a.missing for a in design.attributes] == ["", None]
    assert [a.size for a in design.attributes] == [3, 2]


def test_whole_numbers_beside_nan_are_integers_in_pandas():
    design = lr.design(pd.DataFrame({"x": [1.0, np.nan, 2.0]}), lam=0.5)
    assert design.attributes[0].categories == (1, 2)
    assert design.attributes[0].missing == ""


@pytest.mark.parametrize(
    ("text", "categories", "missing"),
    [
        ("1\n10\n9\n", (1, 9, 10), None),
        ("01\n1\n", ("01", "1"), None),
        ("true\nfalse\n", (False, True), None),
        ("TRUE\nFALSE\n", ("FALSE", "TRUE"), None),
        ("1.5\n2\n", ("1.5", "2"), None),
        ("a\n\"\"\nb\n", ("a", "b"), ""),
        ("NA\na\n", ("NA", "a"), None),
    ],
)  # fmt: skip
def test_text_file_is_read_as_it_is_written(tmp_path, text, categories, missing):
    path = tmp_path / "x.csv"
    path.write_text("x\n" + text)
    attribute = lr.design(path, lam=0.5).attributes[0]
    assert (attribute.categories, attribute.missing) == (categories, missing)


def test_text_of_a_missing_value_can_be_said(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("x,y\nNA,1\na,2\nb,NA\n")
    design = lr.design(path, lam=0.5, missing="NA")
    assert [a.categories for a in design.attributes] == [("a", "b"), (1, 2)]
    assert [a.missing for a in design.attributes] == ["NA", "NA"]


def test_columns_can_be_chosen_and_kept():
    table = pa.table({"id": ["x", "y"], "a": [1, 2], "b": [1, 2]})
    assert lr.design(table, lam=0.5, columns=["b", "a"]).names == ("b", "a")
    design = lr.design(table, lam=0.5, keep=["id"])
    assert (design.names, design.kept) == (("a", "b"), ("id",))
    with pytest.raises(lr.DataError, match="'c' is not in the table; it has: id, a, b"):
        lr.design(table, lam=0.5, columns=["a", "c"])


def test_file_without_a_header_does_not_give_its_first_record_away(tmp_path):
    (tmp_path / "people.csv").write_text("SECRET,yes\nother,no\n")
    design = lr.design({"name": ["a", "b"], "drugs": ["yes", "no"]}, lam=0.5)
    for attempt in (
        lambda: lr.design(tmp_path / "people.csv", lam=0.5, columns=["drugs"]),
        lambda: lr.randomize_file(tmp_path / "people.csv", tmp_path / "out.csv", design),
        lambda: lr.estimate(tmp_path / "people.csv", design, ["drugs"]),
    ):
        with pytest.raises(lr.DataError, match="header") as caught:
            attempt()
        assert "SECRET" not in str(caught.value)


def test_column_that_tells_people_apart_is_not_published():
    table = pa.table({"id": [f"P{i}" for i in range(100)], "sex": ["F", "M"] * 50})
    with pytest.raises(lr.DesignError, match="'id' is different in almost every row"):
        lr.design(table, lam=0.5)


def test_decimal_numbers_of_a_text_file_are_refused_like_those_of_a_typed_one(tmp_path):
    (tmp_path / "x.csv").write_text("income\n" + "".join(f"{i % 60}.5\n" for i in range(600)))
    with pytest.raises(lr.DataError, match="'income' holds decimal numbers"):
        lr.design(tmp_path / "x.csv", lam=0.5)


@pytest.mark.parametrize("mark", [";", "|", "\t"])
def test_file_with_another_separator_is_not_taken_for_one_column(tmp_path, mark):
    (tmp_path / "x.csv").write_text(f"a{mark}b\n1{mark}2\n")
    with pytest.raises(lr.SourceError, match="separated by"):
        lr.design(tmp_path / "x.csv", lam=0.5)


@pytest.mark.parametrize(
    ("table", "error", "says"),
    [
        (pa.table({"x": ["a", "a"]}), lr.DesignError, "'x'.*at least 2"),
        (pa.table({"x": pa.array([], pa.string())}), lr.DataError, "no rows"),
        (pa.table({"x": pa.nulls(2)}), lr.DesignError, "holds no value"),
        (pa.table({"x": [0.5, 1.5]}), lr.DataError, "'x'.*classes"),
        (pa.table({"x": pa.array([1, 2], pa.date32())}), lr.DataError, "'x' holds date32"),
        (pa.table({"x": range(70_000)}), lr.DesignError, "'x' has more than 65,536"),
        ({"x": ["a"]}, lr.DesignError, "'x'.*at least 2"),
        (42, lr.DataError, "a table must be"),
    ],
)
def test_table_without_usable_categories_is_refused(table, error, says):
    with pytest.raises(error, match=says):
        lr.design(table, lam=0.5)
