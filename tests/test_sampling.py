"""The sampled distribution itself: per cell, and per position with the first and last row included."""

import json
import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lambdarr as lr
from lambdarr import kernels, sampling
from lambdarr.client import report_from_word
from tests.make_vectors import cases, records
from tests.statistics import assert_plausible, binomial, chi_square

_VECTORS = json.loads((Path(__file__).parents[1] / "spec" / "vectors.json").read_text())
VECTORS, RECORDS = _VECTORS["cases"], _VECTORS["records"]


def drawn(source, count):
    words = np.empty(count, dtype=np.uint32)
    source.span(count).fill(words)
    return words


def assert_no_words_in_common(draws):
    """Fail if two draws share more words than chance allows: 1,000 against 1,000 share one 1 time in 4,000."""
    for i, first in enumerate(draws):
        for second in draws[:i]:
            assert np.isin(first, second).sum() <= 3


def channel_of(case):
    return lr.Channel(case["size"], case["threshold"] / 2**32)


def test_vectors_are_what_their_generator_writes():
    assert list(cases()) == VECTORS
    assert list(records()) == RECORDS


def test_plain_rule_passes_the_vectors():
    for case in VECTORS:
        found = report_from_word(case["truth"], case["word"], case["threshold"], case["size"])
        assert found == case["report"]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int32])
def test_numpy_rule_passes_the_vectors(dtype):
    for case in VECTORS:
        if case["size"] - 1 > np.iinfo(dtype).max:
            continue
        channel = channel_of(case)
        assert channel.threshold == case["threshold"]
        truths = np.array([case["truth"]], dtype=dtype)
        found = sampling.reports_from_words(truths, np.array([case["word"]], dtype=np.uint32), channel)
        assert found.dtype == dtype
        assert found.tolist() == [case["report"]]


@pytest.mark.parametrize(("size", "width"), [(2, 2**29), (3, 10**9), (10, 4 * 10**8), (256, 2**23)])
def test_every_category_is_redrawn_by_equally_many_words(size, width):
    """The rule is monotone in the word, so its boundaries say it all."""
    threshold = 2**32 - size * width
    for category in range(size):
        first = threshold + category * width
        assert report_from_word(0, first, threshold, size) == category
        assert report_from_word(0, first + width - 1, threshold, size) == category
    assert threshold + size * width == 2**32


@pytest.mark.parametrize(("size", "lam"), [(2, 0.5), (3, 0.9), (5, 0.05), (10, 0.3), (300, 0.6)])
def test_reports_follow_the_channel_cell_by_cell(size, lam):
    channel, rng, n = lr.Channel(size, lam), sampling.SeededWords(size), 200_000
    p_values = []
    for truth in {0, 1, size // 2, size - 1}:
        truths = np.full(n, truth, dtype=np.uint16)
        counts = np.bincount(sampling.randomize_codes(truths, channel, rng), minlength=size)
        p_values.append(chi_square(counts, channel.matrix()[truth]))
    assert_plausible(p_values)


def test_reports_follow_the_channel_at_every_position():
    """A pooled test would pass with one row left unrandomized; this one looks at each row, first and last included."""
    channel, rng, rows, repetitions = lr.Channel(4, 0.3), sampling.SeededWords(11), 37, 4_000
    truths = np.arange(rows, dtype=np.uint8) % 4
    counts = np.zeros((rows, 4))
    for _ in range(repetitions):
        counts[np.arange(rows), sampling.randomize_codes(truths, channel, rng)] += 1
    assert_plausible(chi_square(counts, channel.matrix()[truths]))


def test_every_position_of_a_whole_table_is_randomized():
    design = lr.design({"a": list("xyz"), "b": [True, False]}, lam={"a": 0.4, "b": 0.2})
    table = pa.table({"a": list("xyzzyxx"), "b": [True, False, False, True, True, False, True]})
    rng, repetitions = lr.SeededWords(3), 3_000
    kept = {name: np.zeros(table.num_rows) for name in design.names}
    for _ in range(repetitions):
        reports = lr.randomize(table, design, rng=rng)
        for name in kept:
            kept[name] += [a == b for a, b in zip(reports[name].to_pylist(), table[name].to_pylist(), strict=True)]
    for name, channel in zip(design.names, design.channels, strict=True):
        assert_plausible(binomial(kept[name], repetitions, channel.truthfulness))


def test_attributes_are_randomized_independently():
    channels = lr.Channel(3, 0.5), lr.Channel(4, 0.2)
    design = lr.Design((lr.Attribute("a", range(3)), lr.Attribute("b", range(4))), channels)
    n = 100_000
    table = pa.table({"a": np.full(n, 1), "b": np.full(n, 2)})
    counts = lr.tally(lr.randomize(table, design, rng=lr.SeededWords(8)), design, ["a", "b"]).values
    assert_plausible(chi_square(counts.ravel(), lr.kronecker.dense(channels)[1 * 4 + 2]))


def test_neighbouring_rows_are_randomized_independently():
    channel = lr.Channel(3, 0.4)
    reports = sampling.randomize_codes(np.ones(300_001, dtype=np.uint8), channel, sampling.SeededWords(21))
    pairs = np.bincount(3 * reports[0:-1:2].astype(int) + reports[1::2], minlength=9)
    assert_plausible(chi_square(pairs, np.outer(channel.matrix()[1], channel.matrix()[1]).ravel()))


def test_one_record_follows_the_channel():
    design = lr.design({"a": list("xyz")}, lam=0.4)
    n = 6_000
    reports = [lr.randomize_record({"a": "y"}, design)["a"] for _ in range(n)]
    counts = [reports.count(category) for category in "xyz"]
    assert_plausible(chi_square(counts, design.channels[0].matrix()[1]))


def test_blocks_of_words_join_without_a_seam():
    channel, n = lr.Channel(5, 0.5), sampling.BLOCK + 1000
    truths = np.arange(n, dtype=np.uint8) % 5
    words = sampling.SeededWords(4).words(n)
    found = sampling.randomize_codes(truths, channel, sampling.SeededWords(4))
    assert np.array_equal(found, sampling.reports_from_words(truths, words, channel))


def test_words_are_uniform_bit_by_bit():
    words = drawn(sampling.SystemWords(), 200_000)
    ones = [int(((words >> bit) & 1).sum()) for bit in range(32)]
    assert_plausible(binomial(ones, len(words), 0.5))


def test_two_sources_never_give_the_same_words():
    source = sampling.SystemWords()
    draws = [drawn(source, 1000), drawn(source, 1000), drawn(sampling.SystemWords(), 1000)]
    assert_no_words_in_common(draws)


def _words_of_child(source, queue):
    queue.put(drawn(source, 1000))


def test_forked_process_draws_other_words_than_its_parent():
    source = sampling.SystemWords()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_words_of_child, args=(source, queue)) for _ in range(2)]
    for child in children:
        child.start()
    draws = [queue.get(timeout=60) for _ in children] + [drawn(source, 1000)]
    for child in children:
        child.join()
    assert_no_words_in_common(draws)


def test_threads_draw_other_words_than_each_other():
    source = sampling.SystemWords()
    with ThreadPoolExecutor(8) as pool:
        assert_no_words_in_common(list(pool.map(lambda _: drawn(source, 1000), range(16))))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.uint32])
def test_compiled_rule_passes_the_vectors(dtype):
    for case in VECTORS:
        channel = channel_of(case)
        if case["size"] - 1 > np.iinfo(dtype).max or channel.width == 0:
            continue
        truths, reports = np.array([case["truth"]], dtype=dtype), np.zeros(1, dtype=dtype)
        words = np.array([case["word"]], dtype=np.uint32)
        kernels.report(truths, words, reports, channel.threshold, *sampling.division(channel.width))
        assert reports.tolist() == [case["report"]]


@pytest.mark.parametrize(("dtype", "size"), [(np.uint8, 10), (np.uint16, 1000), (np.int32, 65_536)])
@pytest.mark.parametrize("lam", [0.001, 0.3, 0.999, 1.0])
def test_compiled_rule_gives_the_reports_of_the_numpy_rule(dtype, size, lam):
    channel, n = lr.Channel(size, lam), sampling.BLOCK + 12_345
    truths = (np.arange(n) * 7 % size).astype(dtype)
    plain, compiled = np.empty_like(truths), np.empty_like(truths)
    sampling.report_span(truths, plain, channel, sampling.SeededWords(3).span(n), compiled=False)
    sampling.report_span(truths, compiled, channel, sampling.SeededWords(3).span(n), compiled=True)
    assert np.array_equal(plain, compiled)


@given(st.integers(1, 2**31))
def test_division_by_multiplying_is_exact(width):
    """The product is monotone in n, so the last n of each quotient and the first of the next are the whole proof."""
    multiplier, addend, shift = sampling.division(width)
    last = (2**32 - 1) // width
    quotients = {1, 2, last // 3, last // 2, last - 1, last} | set(range(1, min(last, 300)))
    for quotient in (q for q in quotients if 0 < q <= last):
        first = quotient * width
        assert (first * multiplier + addend) >> shift == quotient
        assert ((first - 1) * multiplier + addend) >> shift == quotient - 1
    assert ((2**32 - 1) * multiplier + addend) >> shift == last
    assert (2**32 - 1) * multiplier + addend < 2**64


def test_reports_of_a_seed_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(sampling, "SPAN", 1 << 12)
    truths, channel = np.arange(50_000, dtype=np.uint8) % 5, lr.Channel(5, 0.5)
    one, two, eight = (
        sampling.randomize_codes(truths, channel, sampling.SeededWords(4), threads=threads) for threads in (1, 2, 8)
    )
    assert np.array_equal(one, two)
    assert np.array_equal(one, eight)


def test_reports_can_take_the_place_of_the_truths():
    truths, channel = np.arange(5_000, dtype=np.uint8) % 5, lr.Channel(5, 0.5)
    expected = sampling.randomize_codes(truths, channel, sampling.SeededWords(4))
    assert sampling.randomize_codes(truths, channel, sampling.SeededWords(4), out=truths) is truths
    assert np.array_equal(truths, expected)


def test_every_position_is_randomized_where_spans_and_threads_meet(monkeypatch):
    monkeypatch.setattr(sampling, "SPAN", 16)
    channel, rows, repetitions = lr.Channel(3, 0.3), 53, 3_000
    truths, kept = np.arange(rows, dtype=np.uint8) % 3, np.zeros(rows)
    rng = sampling.SeededWords(6)
    for _ in range(repetitions):
        kept += sampling.randomize_codes(truths, channel, rng, threads=2) == truths
    assert_plausible(binomial(kept, repetitions, channel.truthfulness))


def test_seed_gives_the_same_words_again_and_another_seed_others():
    assert np.array_equal(sampling.SeededWords(1).words(10), sampling.SeededWords(1).words(10))
    assert not np.array_equal(sampling.SeededWords(1).words(10), sampling.SeededWords(2).words(10))


@pytest.mark.parametrize("rng", [7, np.random.default_rng(1), "seed", os.urandom])
def test_seed_must_be_asked_for_by_name(rng):
    table, design = pa.table({"a": ["x"]}), lr.design({"a": ["x", "y"]}, lam=0.5)
    with pytest.raises(lr.DesignError, match="SeededWords"):
        lr.randomize(table, design, rng=rng)


def test_real_reports_differ_from_run_to_run():
    table, design = pa.table({"a": ["x", "y"] * 500}), lr.design({"a": ["x", "y"]}, lam=0.5)
    assert not lr.randomize(table, design).equals(lr.randomize(table, design))


def test_no_numpy_generator_decides_a_report():
    package = Path(lr.__file__).parent
    # they draw folds, simulated files and synthetic records, never anyone's report
    simulating = {package / "choosing.py", package / "models.py"}
    assert not [path for path in set(package.rglob("*.py")) - simulating if "np.random" in path.read_text()]
