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
import os
import secrets
from typing import TYPE_CHECKING, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

from lambdarr.channel import WORDS
from lambdarr.errors import DesignError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.domain import Codes

BLOCK = 1 << 18
"""Values per block: one MiB of words, which the cipher fills fastest and the cache still holds."""


class Words(Protocol):
    """A source of uniform 32-bit words."""

    @property
    def seeded(self) -> bool:
        """Whether the words can be foretold, so that nothing made from them is private."""

    def words(self, count: int) -> NDArray[np.uint32]:
        """Return the next words."""


class SystemWords:
    """Words from AES-256-CTR under a fresh key from the operating system: the source for real reports.

    A process that was forked takes a new key before its first word, so that no two processes share their words.
    """

    seeded = False

    def __init__(self) -> None:
        self._rekey()

    def _rekey(self) -> None:
        self._process = os.getpid()
        self._stream = _keystream(secrets.token_bytes(32))

    def words(self, count: int) -> NDArray[np.uint32]:
        """Return the next words."""
        if os.getpid() != self._process:
            self._rekey()
        return _next_words(self._stream, count)


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
        self._stream = _keystream(hashlib.sha256(f"lambdarr seeded words {seed}".encode()).digest())

    def words(self, count: int) -> NDArray[np.uint32]:
        """Return the next words."""
        return _next_words(self._stream, count)


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


def randomize_codes(truths: Codes, channel: Channel, rng: Words) -> Codes:
    """Return the reports of an array of codes, one word for each."""
    if channel.width == 0:  # λ = 1 reports the truth, and its threshold 2³² is no 32-bit number
        return truths.copy()
    reports = np.empty_like(truths)
    for start in range(0, len(truths), BLOCK):
        block = slice(start, start + BLOCK)
        reports[block] = reports_from_words(truths[block], rng.words(len(truths[block])), channel)
    return reports


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


def report_from_word(truth: int, word: int, threshold: int, size: int) -> int:
    """Return the report that one word makes of one code: the rule in plain integers."""
    return truth if word < threshold else (word - threshold) // ((WORDS - threshold) // size)


def randomize_code(truth: int, channel: Channel) -> int:
    """Return the report of one code, from the operating system's randomness."""
    return report_from_word(truth, secrets.randbits(32), channel.threshold, channel.size)


def _keystream(key: bytes) -> CipherContext:
    # every key is used for one stream only, so the counter may start at zero
    return Cipher(AES256(key), CTR(bytes(16))).encryptor()


def _next_words(stream: CipherContext, count: int) -> NDArray[np.uint32]:
    buffer = np.zeros(count, dtype="<u4")
    if count:
        view = buffer.view(np.uint8).data
        stream.update_into(view, view)
    return buffer
