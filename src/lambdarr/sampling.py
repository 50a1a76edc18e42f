"""The exact sampler and its source of randomness.

No floating point decides a report. From one uniform 32-bit word w, a threshold T and r categories:

    w < T  →  the truth
    else   →  category (w − T) // ((2³² − T) / r)

As 2³² − T is a multiple of r, the keep rate is exactly λ = T / 2³² and the redraw exactly uniform, with one word per
value and no rejection. Words come from AES-256 in counter mode, keyed by the operating system. The rule is written
down for every language in spec/sampler.md.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from typing import TYPE_CHECKING, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

from lambdarr.client import WORDS, report_from_word
from lambdarr.errors import DesignError
from lambdarr.parallel import over_range, worth_compiling

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.domain import Codes

    Rule = Callable[[Codes, NDArray[np.uint32], Codes], None]

BLOCK = 1 << 18
"""Values per block: one MiB of words, which the cipher fills fastest and the cache still holds."""

SPAN = 1 << 20
"""Values per span: what one thread takes at a time of a large array."""

COMPILED_FROM = 1 << 25
"""Values from which loading the compiled rule, a third of a second, pays."""

_ZEROS = bytes(4 * BLOCK)  # what the cipher encrypts: the result is the bare key stream


class Span:
    """A run of words that belongs to one thread."""

    def __init__(self, key: bytes, block: int = 0) -> None:
        # counter mode may start at any 16-byte block of its stream
        self._stream = Cipher(AES256(key), CTR(block.to_bytes(16, "big"))).encryptor()

    def fill(self, words: NDArray[np.uint32]) -> None:
        """Fill an array of at most BLOCK words."""
        raw = words.view(np.uint8)
        self._stream.update_into(memoryview(_ZEROS)[: raw.size], raw.data)


class Words(Protocol):
    """A source of uniform 32-bit words."""

    @property
    def seeded(self) -> bool:
        """Whether the words can be foretold, so that nothing made from them is private."""

    def span(self, count: int) -> Span:
        """Return the next ``count`` words, for one thread to draw."""


class SystemWords:
    """Words from AES-256-CTR, each span under its own fresh key of the operating system: the source for real reports.

    There is no state to share, so no two spans, threads, processes or forks can ever draw the same words.
    """

    seeded = False

    def span(self, count: int) -> Span:
        """Return a span of words under a key of its own."""
        return Span(secrets.token_bytes(32))


class SeededWords:
    """Words that follow from a seed: for tests and simulations only, never for people's answers.

    Whoever knows the seed can undo the randomization. A table made from it is marked as seeded in its metadata.

    Examples
    --------
    >>> SeededWords(7).words(2)
    array([ 770155993, 1189417733], dtype=uint32)
    """

    seeded = True

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int):
            msg = f"seed must be a whole number, got {seed!r}"
            raise DesignError(msg)
        self._key = hashlib.sha256(f"lambdarr seeded words {seed}".encode()).digest()
        self._block = 0
        self._lock = threading.Lock()

    def span(self, count: int) -> Span:
        """Return the next words of the one stream; a span starts on a whole block of four."""
        with self._lock:
            span = Span(self._key, self._block)
            self._block += -(-count // 4)
        return span

    def words(self, count: int) -> NDArray[np.uint32]:
        """Return the next words as an array."""
        return _words(self, count)


def source_of_words(rng: Words | None) -> Words:
    """Return the source to draw from: the operating system's, unless another was asked for by name."""
    if rng is None:
        return SystemWords()
    if isinstance(rng, SystemWords | SeededWords):
        return rng
    msg = (
        f"rng must be None (the system's randomness) or lambdarr.SeededWords(seed), got {type(rng).__name__}; "
        "a seed makes reports that anyone who knows it can undo, so it has to be asked for by name"
    )
    raise DesignError(msg)


def randomize_codes(
    truths: Codes, channel: Channel, rng: Words, *, out: Codes | None = None, threads: int | None = None
) -> Codes:
    """Return the reports of an array of codes, one word for each, on all cores.

    ``out`` is where they go, and may be the truths themselves. The reports that a seeded source gives do not depend on
    the number of threads.
    """
    reports = np.empty_like(truths) if out is None else out
    compiled = worth_compiling(truths.size, enough=COMPILED_FROM)
    starts = range(0, truths.size, SPAN)
    spans = [rng.span(min(SPAN, truths.size - start)) for start in starts]

    def work(first: int, last: int) -> None:
        for number in range(first, last):
            piece = slice(number * SPAN, (number + 1) * SPAN)
            report_span(truths[piece], reports[piece], channel, spans[number], compiled=compiled)

    over_range(work, len(spans), threads=threads)
    return reports


def drawn_sets(rng: Words, records: int, *, asked: int, count: int) -> NDArray[np.bool_]:
    """Return which of ``count`` attributes each record is asked: a row per attribute, a column per record.

    Every set of ``asked`` < ``count`` attributes is exactly as likely as any other. The rule is that of
    ``client.drawn_set``, for many records at once.

    Examples
    --------
    >>> drawn_sets(SeededWords(1), 4, asked=2, count=3).sum(axis=0)
    array([2, 2, 2, 2])
    """
    chosen, every = np.zeros((count, records), dtype=np.bool_), np.arange(records)
    for last in range(count - asked, count):
        place = _drawn_below(rng, records, last + 1)
        place = np.where(chosen[place, every], last, place)
        chosen[place, every] = True
    return chosen


def _drawn_below(rng: Words, count: int, bound: int) -> NDArray[np.uint32]:
    """Return uniform integers below a bound, one word for each; one beyond the last whole multiple is drawn again."""
    width = np.uint32(WORDS // bound)
    found = _words(rng, count) // width
    while (again := np.flatnonzero(found >= bound)).size:
        found[again] = _words(rng, again.size) // width
    return found


def drawn_places(rng: Words, count: int, threshold: int, *, threads: int | None = None) -> NDArray[np.uint32]:
    """Return whose value each of ``count`` individuals reports: their own, or that of one drawn uniformly from all.

    From one word w for each place: w < T keeps it; else from the next word v, v // (2³² // count), drawn again while
    that is ``count`` or more. Places beyond are drawn again at the end, so that a seeded source gives the same whatever
    the number of threads.

    Examples
    --------
    >>> drawn_places(SeededWords(1), 5, 2**31)
    array([0, 0, 2, 2, 4], dtype=uint32)
    """
    places = np.arange(count, dtype=np.uint32)
    if threshold == WORDS:  # no 32-bit number
        return places
    starts = range(0, count, SPAN)
    spans = [(rng.span(SPAN), rng.span(SPAN)) for _ in starts]  # a second word for every place: most go undrawn
    beyond: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)] * len(spans)
    limit, width = np.uint32(threshold), np.uint32(WORDS // count)

    def work(first: int, last: int) -> None:
        words = np.empty(min(BLOCK, count), dtype="<u4")
        for number in range(first, last):
            keeps, draws = spans[number]
            stop, again = min((number + 1) * SPAN, count), []
            for start in range(number * SPAN, stop, BLOCK):
                piece = places[start : min(start + BLOCK, stop)]
                keeps.fill(words[: piece.size])
                redrawn = np.flatnonzero(words[: piece.size] >= limit)
                draws.fill(words[: redrawn.size])
                found = words[: redrawn.size] // width
                piece[redrawn] = found
                again.append(start + redrawn[found >= count])
            beyond[number] = np.concatenate(again)

    over_range(work, len(spans), threads=threads)
    again = np.concatenate(beyond)
    places[again] = _drawn_below(rng, again.size, count)
    return places


def _words(rng: Words, count: int) -> NDArray[np.uint32]:
    return words_of(rng.span(count), count)


def words_of(span: Span, count: int) -> NDArray[np.uint32]:
    """Return the words of a span as an array."""
    words = np.empty(count, dtype="<u4")
    for start in range(0, count, BLOCK):
        span.fill(words[start : start + BLOCK])
    return words


def report_span(truths: Codes, reports: Codes, channel: Channel, span: Span, *, compiled: bool) -> None:
    """Write the reports of truths from the words of one span, block by block through the cache."""
    if channel.width == 0:  # λ = 1 reports the truth, and its threshold 2³² is no 32-bit number
        reports[...] = truths
        return
    rule = _compiled_rule(channel) if compiled else _numpy_rule(channel)
    words = np.empty(min(BLOCK, truths.size), dtype="<u4")
    for start in range(0, truths.size, BLOCK):
        block = slice(start, start + BLOCK)
        drawn = words[: truths[block].size]
        span.fill(drawn)
        rule(truths[block], drawn, reports[block])


def _numpy_rule(channel: Channel) -> Rule:
    def rule(truths: Codes, words: NDArray[np.uint32], reports: Codes) -> None:
        reports[...] = reports_from_words(truths, words, channel)

    return rule


def _compiled_rule(channel: Channel) -> Rule:
    from lambdarr import kernels

    constants = (channel.threshold, *division(channel.width))

    def rule(truths: Codes, words: NDArray[np.uint32], reports: Codes) -> None:
        kernels.report(truths, words, reports, *constants)

    return rule


def division(width: int) -> tuple[int, int, int]:
    """Return (multiplier, addend, shift) with n // width = (n · multiplier + addend) >> shift for all n < 2³².

    Notes
    -----
    A division takes seven times as long as all the rest of the rule. With shift = 32 + ⌊log₂ width⌋, either the
    reciprocal rounded down, applied to n + 1, or rounded up, applied to n, is exact for every 32-bit n, and the product
    fits 64 bits (A. D. Robison, "N-bit unsigned division via N-bit multiply-add", ARITH 2005).

    Examples
    --------
    >>> multiplier, addend, shift = division(7)
    >>> (48 * multiplier + addend) >> shift, (49 * multiplier + addend) >> shift
    (6, 7)
    """
    shift = 31 + width.bit_length()
    down, rest = divmod(1 << shift, width)
    if rest == 0:
        return down, 0, shift
    if rest <= 1 << (shift - 32):
        return down, down, shift
    return down + 1, 0, shift


def reports_from_words(truths: Codes, words: NDArray[np.uint32], channel: Channel) -> Codes:
    """Return the reports that these words make: the rule itself, in NumPy.

    Examples
    --------
    >>> from lambdarr import Channel
    >>> reports_from_words(np.array([1, 1, 1]), np.array([0, 2**31, 2**32 - 1], dtype=np.uint32), Channel(2, 0.5))
    array([1, 0, 1])
    """
    if channel.width == 0:
        return truths.copy()
    threshold, width = np.uint32(channel.threshold), np.uint32(channel.width)
    redraw = (words - threshold) // width  # where w < T the difference wraps around, and is not used
    return np.where(words < threshold, truths, redraw).astype(truths.dtype)


def draw_word() -> int:
    """Return a word of the operating system's randomness."""
    return secrets.randbits(32)


def randomize_code(truth: int, channel: Channel) -> int:
    """Return the report of one code, from the operating system's randomness."""
    return report_from_word(truth, draw_word(), channel.threshold, channel.size)
