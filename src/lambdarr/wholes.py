"""Whole records in a measured audit: which of their answers are true together.

Each attribute may follow its channel, and each pair be independent, while a few records come back as they were. ε is of
the record, so its answers are counted together too.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from lambdarr.checks import Check, Group, binomials, judge, multinomial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.domain import Attribute, Codes

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

MOST_CELLS = 4_096
"""Up to so many kinds of records each of them is counted; of more, only how many of their answers are true."""

MOST_IN_THREES = 30
"""Of so many attributes, the first ones, every three are compared."""

_PRODUCTS = 1 << 34  # records times threes
_BLOCK = 1 << 15


class ObservedRecords:
    """Which answers of a record are true together.

    Parameters
    ----------
    attributes, channels : sequences of Attribute and Channel
        All m attributes of the design, and what their reports should follow.
    asked : int
        The number m′ of them that each respondent answers.
    """

    def __init__(self, attributes: Sequence[Attribute], channels: Sequence[Channel], asked: int) -> None:
        self._attributes, self._channels, self._asked = attributes, channels, asked
        self._part = asked < len(attributes)
        self._numbers: Counts = np.zeros(asked + 1, dtype=np.int64)  # 0 … m′ true answers
        sizes = [channel.size for channel in channels]
        # what happened to each answer: true or not; where there are few records, by how much it was changed
        self._states = [np.array([c.truthfulness, 1 - c.truthfulness]) for c in channels]
        self._shifts = [np.append(c.truthfulness, np.full(c.size - 1, c.off_diagonal)) for c in channels]
        self._patterns = self._empty(self._states)
        self._changes = self._empty(self._shifts)
        few = math.prod(sizes) <= MOST_CELLS
        self._by_truth: Counts = np.zeros((2, math.prod(sizes) if few else 0), dtype=np.int64)  # wholly true, of
        threes = min(len(attributes), MOST_IN_THREES) if asked > 2 else 0
        self._threes: Counts = np.zeros((2, threes, threes, threes), dtype=np.int64)  # Σ of products, of
        self._rows = 0

    def _empty(self, states: Sequence[Floats]) -> Counts:
        cells = math.prod(len(chances) + self._part for chances in states)
        return np.zeros(cells if cells <= MOST_CELLS else 0, dtype=np.int64)

    def add(self, truths: Sequence[Codes], reports: Sequence[Codes], *, large: bool) -> None:
        """Count one call; of records with another number of answers, which is for others to tell, nothing."""
        if self._part:
            right = np.sum([codes >= 0 for codes in reports], axis=0) == self._asked
            truths, reports = [codes[right] for codes in truths], [codes[right] for codes in reports]
        kept = [truth == report for truth, report in zip(truths, reports, strict=True)]
        number: Counts = np.sum(kept, axis=0, dtype=np.int64)
        self._numbers += np.bincount(number, minlength=self._asked + 1)
        absent = [report < 0 for report in reports]
        if self._patterns.size:
            flags = [(~same).astype(np.int64) for same in kept]
            self._patterns += self._tallied(flags, absent, self._states)
        if self._changes.size:
            shifts = [
                (report.astype(np.int64) - truth) % channel.size
                for truth, report, channel in zip(truths, reports, self._channels, strict=True)
            ]
            self._changes += self._tallied(shifts, absent, self._shifts)
        if cells := self._by_truth.shape[1]:
            place = np.zeros(len(number), dtype=np.int64)
            for truth, channel in zip(truths, self._channels, strict=True):
                place = place * channel.size + truth
            true = place[number == self._asked]
            self._by_truth += np.bincount(true, minlength=cells), np.bincount(place, minlength=cells)
        if large and self._threes.size:
            self._add_threes(kept, absent)

    def _tallied(self, states: Sequence[Counts], absent: Sequence[NDArray[np.bool_]], of: Sequence[Floats]) -> Counts:
        """Return how often each combination of states was seen; where some are asked, "not asked" is the last state."""
        place = np.zeros(len(states[0]), dtype=np.int64)
        for state, lacking, chances in zip(states, absent, of, strict=True):
            place = place * (len(chances) + self._part) + (np.where(lacking, len(chances), state))
        return np.bincount(place, minlength=math.prod(len(chances) + self._part for chances in of))

    def _add_threes(self, kept: Sequence[NDArray[np.bool_]], absent: Sequence[NDArray[np.bool_]]) -> None:
        """Add up products of three signs, 1 for a true answer and −1 for another, over those who were asked all three.

        Single precision is exact: no block has more than 2²⁴ records.
        """
        first = self._threes.shape[1]
        rows = min(len(kept[0]), max(0, _PRODUCTS // first**3 - self._rows))
        self._rows += rows
        for start in range(0, rows, _BLOCK):
            some = slice(start, min(start + _BLOCK, rows))
            there = np.stack([~lacking[some] for lacking in absent[:first]]).astype(np.float32)
            signs = np.where(np.stack([same[some] for same in kept[:first]]), np.float32(1), np.float32(-1)) * there
            for side, values in enumerate((signs, there)):
                if side and not self._part:
                    self._threes[1] += there.shape[1]
                    continue
                for i in range(first - 2):
                    self._threes[side, i] += ((values[i] * values) @ values.T).astype(np.int64)

    def check(self, threshold: float) -> Check:
        """Check how many answers of a record are true, which ones, of which truths, and every three of them."""
        names = tuple(attribute.name for attribute in self._attributes)
        d = [channel.truthfulness for channel in self._channels]
        numbers = numbers_true(d, self._asked)
        # all of them come first: that is what gives a record away
        groups = [multinomial(self._tell_number, self._numbers[None, ::-1], numbers[None, ::-1])]
        for counts, states in ((self._patterns, self._states), (self._changes, self._shifts)):
            if counts.size:
                groups.append(self._of_states(counts, states))
        if self._by_truth.size:
            groups.append(binomials(self._tell_truth, self._by_truth, float(numbers[-1])))
        groups += [self._of_three(*three) for three in combinations(range(self._threes.shape[1]), 3)]
        return judge("records", names, groups, threshold=threshold)

    def _of_states(self, counts: Counts, states: Sequence[Floats]) -> Group:
        chances, answers = np.ones(1), np.zeros(1, dtype=np.int64)
        for of_each in states:
            chances = np.multiply.outer(chances, np.append(of_each, [1.0] * self._part)).ravel()
            answers = np.add.outer(answers, np.append(np.ones(len(of_each), int), [0] * self._part)).ravel()
        possible = answers == self._asked
        some = math.comb(len(states), self._asked)
        cells = np.flatnonzero(possible)
        tell = partial(self._tell_state, cells, [len(of_each) + self._part for of_each in states])
        return multinomial(tell, counts[None, cells], chances[None, cells] / some)

    def _of_three(self, i: int, j: int, k: int) -> Group:
        total, of = (int(side[i, j, k]) for side in self._threes)
        names = [repr(self._attributes[place].name) for place in (i, j, k)]
        expected = math.prod(2 * self._channels[place].truthfulness - 1 for place in (i, j, k))
        told = f"of {', '.join(names)}, all three or one alone is true"
        return binomials(lambda _: told, ((total + of) // 2, of), (1 + expected) / 2)

    def _tell_number(self, _: int, cell: int) -> str:
        number = self._asked - cell
        said = "all" if not cell else "none" if not number else f"{number}"
        return f"{said} of the {self._asked} answers of a record are true"

    def _tell_truth(self, place: int) -> str:
        codes = np.unravel_index(place, [channel.size for channel in self._channels])
        truths = (f"{a.name!r} {a.labels[int(code)]!r}" for a, code in zip(self._attributes, codes, strict=True))
        return f"all answers are true where the truths are {', '.join(truths)}"

    def _tell_state(self, cells: Counts, sizes: Sequence[int], _: int, cell: int) -> str:
        states = np.unravel_index(int(cells[cell]), sizes)
        of = list(zip(self._attributes, states, sizes, strict=True))
        answered = [(a.name, int(state)) for a, state, size in of if not (self._part and state == size - 1)]
        true = ", ".join(repr(name) for name, state in answered if not state)
        by = max(sizes) > 2 + self._part
        changed = ", ".join(f"{name!r}" + f" (by {state})" * by for name, state in answered if state)
        return f"of the answers of a record, {true or 'none'} came back true and {changed or 'none'} changed"


def numbers_true(truthfulness: Sequence[float], asked: int) -> Floats:
    """Return the chances that 0 … m′ answers are true, where m′ of the attributes are asked, every set as often.

    Notes
    -----
    The coefficients of zᵐ′ in Πⱼ (1 + z(1 − dⱼ + dⱼ t)), over their number of sets: eq. (69) of docs/theory.md.

    Examples
    --------
    >>> numbers_true([0.5, 0.8], 2), numbers_true([0.5, 0.8], 1)
    (array([0.1, 0.5, 0.4]), array([0.35, 0.65]))
    """
    ways = np.zeros((asked + 1, asked + 1))  # asked so far, true so far
    ways[0, 0] = 1.0
    for d in truthfulness:
        more = ways.copy()
        more[1:] += (1 - d) * ways[:-1]
        more[1:, 1:] += d * ways[:-1, :-1]
        ways = more
    # all terms are positive, so no digits are lost
    return np.asarray(ways[asked] / math.comb(len(truthfulness), asked))
