import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lambdarr as lr
from lambdarr import tabulation
from lambdarr.tabulation import tallies
from tests.strategies import design_of

DESIGN = design_of([lr.Channel(3, 0.5), lr.Channel(2, 0.7), lr.Channel(4, 0.6)])
GENERATOR = np.random.default_rng(4)
CODES = {f"a{j}": GENERATOR.integers(0, size, 1_000) for j, size in enumerate((3, 2, 4))}
TABLE = pa.table(CODES)


@pytest.mark.parametrize("names", [n for k in (1, 2, 3) for n in itertools.permutations(DESIGN.names, k)])
def test_counts_agree_with_counting_by_hand(names):
    found = lr.tally(TABLE, DESIGN, names)
    for cell in np.ndindex(found.values.shape):
        expected = np.all([CODES[name] == code for name, code in zip(names, cell, strict=True)], axis=0).sum()
        assert found.values[cell] == expected
    assert found.n == 1_000


@given(st.lists(st.integers(1, 400), min_size=1, max_size=6))
def test_batches_of_any_size_tally_alike(sizes):
    cuts = [0, *np.minimum(np.cumsum(sizes), 1_000), 1_000]
    batches = [TABLE.slice(a, b - a).combine_chunks() for a, b in itertools.pairwise(cuts)]
    found = lr.tally(pa.concat_tables(batches), DESIGN, ["a0", "a2"])
    assert np.array_equal(found.values, lr.tally(TABLE, DESIGN, ["a0", "a2"]).values)


def test_table_with_more_cells_than_records_is_counted_too():
    design = design_of([lr.Channel(200, 0.5), lr.Channel(200, 0.5)])
    table = pa.table({"a0": [0, 199, 199], "a1": [5, 199, 199]})
    found = lr.tally(table, design, ["a0", "a1"], weights=[1, 2, 3])
    assert (found.values[0, 5], found.values[199, 199], found.values.sum()) == (1, 5, 6)
    assert (found.squares[0, 5], found.squares[199, 199]) == (1, 13)


def test_counts_of_two_parts_add_up():
    first, second = lr.tally(TABLE.slice(0, 300), DESIGN, ["a0"]), lr.tally(TABLE.slice(300), DESIGN, ["a0"])
    whole = lr.tally(TABLE, DESIGN, ["a0"])
    assert np.array_equal((first + second).values, whole.values)
    assert (first + second).n == whole.n
    with pytest.raises(lr.DataError, match="cannot be added"):
        first + lr.tally(TABLE, DESIGN, ["a1"])


def test_weighted_and_plain_counts_add_up_as_weight_one():
    weighted = lr.tally(TABLE.slice(0, 300), DESIGN, ["a0"], weights=np.full(300, 2.0))
    both = weighted + lr.tally(TABLE.slice(300), DESIGN, ["a0"])
    assert both.total == 600 + 700
    assert both.squares.sum() == 1200 + 700


def test_table_too_large_to_count_is_refused():
    design = design_of([lr.Channel(60_000, 0.5), lr.Channel(60_000, 0.5)])
    with pytest.raises(lr.DataError, match="3,600,000,000 cells"):
        lr.tally(pa.table({"a0": [0], "a1": [0]}), design, ["a0", "a1"])


def test_missing_category_is_counted_last():
    design = lr.design([lr.Attribute("x", ["a", "b"], missing="NA")], lam=0.5)
    assert lr.tally(pa.table({"x": ["a", None, "NA", "b"]}), design, ["x"]).values.tolist() == [1, 1, 2]


def test_several_tables_come_from_one_pass_over_a_stream():
    reader = pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=100))
    found = tallies(reader, DESIGN, [["a0"], ["a2", "a1"], ["a0", "a1", "a2"]])
    for counts in found:
        assert np.array_equal(counts.values, lr.tally(TABLE, DESIGN, counts.attributes).values)


@pytest.mark.parametrize("weights", [None, GENERATOR.random(1_000)])
def test_compiled_loops_count_like_numpys(weights, monkeypatch):
    plain = lr.tally(TABLE, DESIGN, ["a2", "a0"], weights=weights)
    monkeypatch.setattr(tabulation, "worth_compiling", lambda *_, **__: True)
    compiled = lr.tally(TABLE, DESIGN, ["a2", "a0"], weights=weights)
    assert np.array_equal(plain.values, compiled.values)
