"""Which attributes were asked in a measured audit: whether they are drawn as the design says, whatever the truths."""

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

MOST_SETS = 4_096
"""Up to so many sets each of them is counted; of more, only how often each attribute is asked."""

_ROWS = 1 << 25  # records times pairs of attributes


class ObservedSets:
    """The sets of attributes that were asked.

    Parameters
    ----------
    attributes, channels : sequences of Attribute and Channel
        All m attributes of the design, and what their reports should follow.
    asked : int
        The number m′ of them that each respondent answers.
    """

    def __init__(self, attributes: Sequence[Attribute], channels: Sequence[Channel], asked: int) -> None:
        self._attributes, self._channels, self._asked = attributes, channels, asked
        self._wrong = self._records = self._rows = 0
        self._given = [np.zeros((2, len(attributes), attribute.size), dtype=np.int64) for attribute in attributes]
        few = math.comb(len(attributes), asked) <= MOST_SETS
        # in the order in which `_ranks` numbers them: by their last member, then the one before
        every = sorted(combinations(range(len(attributes)), asked), key=lambda s: s[::-1]) if few else []
        self._sets, self._counts = every, np.zeros(len(every), dtype=np.int64)
        self._kept = np.zeros((len(attributes), 2, len(every)), dtype=np.int64)  # kept, of
        self._same = np.zeros((2, 2), dtype=np.int64)  # in neighbouring rows, in two calls
        self._waiting: NDArray[np.int64] | None = None

    def add(self, truths: Sequence[Codes], reports: Sequence[Codes], *, large: bool) -> None:
        """Count one call."""
        answered = np.stack([codes >= 0 for codes in reports])
        right = answered.sum(axis=0) == self._asked
        self._records, self._wrong = self._records + right.size, self._wrong + int(np.count_nonzero(~right))
        if large:
            self._add_given(truths, answered)
        if not self._sets:
            return
        ranks = np.where(right, _ranks(answered, self._asked), -1)
        self._counts += np.bincount(ranks[right], minlength=len(self._sets))
        for kept, truth, report, flags in zip(self._kept, truths, reports, answered & right, strict=True):
            for side, some in enumerate(((truth == report) & right, flags)):
                kept[side] += np.bincount(ranks[some], minlength=len(self._sets))
        pairs = ranks[: len(ranks) // 2 * 2].reshape(-1, 2)
        self._same[:, 0] += int(np.count_nonzero(pairs[:, 0] == pairs[:, 1])), len(pairs)
        if self._waiting is None:
            self._waiting = ranks
        else:
            both = min(len(ranks), len(self._waiting))
            self._same[:, 1] += int(np.count_nonzero(ranks[:both] == self._waiting[:both])), both
            self._waiting = None

    def _add_given(self, truths: Sequence[Codes], answered: NDArray[np.bool_]) -> None:
        some = slice(0, max(0, _ROWS // len(self._attributes) ** 2 - self._rows))
        self._rows += answered[0, some].size
        for counts, codes in zip(self._given, truths, strict=True):
            size = counts.shape[2]
            counts[0] += [np.bincount(codes[some][flags], minlength=size) for flags in answered[:, some]]
            counts[1] += np.bincount(codes[some], minlength=size)

    def check(self, threshold: float) -> Check:
        """Check that m′ are asked, every set as often as any other, whatever anyone's truth and whoever came before.

        And that an answer is as true in one set as in another.
        """
        names = tuple(attribute.name for attribute in self._attributes)
        number = f"a record has another number of answers than {self._asked} (what is not asked must be null)"
        groups = [binomials(lambda _: number, (self._wrong, self._records), 0.0)]
        if self._sets:
            chance = 1 / len(self._sets)
            groups.append(multinomial(self._tell_set, self._counts[None, :], np.full((1, len(self._sets)), chance)))
            where = "neighbouring rows", "the same rows of two calls"
            groups += [
                binomials(partial(lambda of, _: f"{of} are asked the same attributes", of), self._same[:, i], chance)
                for i, of in enumerate(where)
            ]
            groups += [
                binomials(partial(self._tell_kept, name), kept, channel.truthfulness)
                for name, kept, channel in zip(names, self._kept, self._channels, strict=True)
            ]
        groups += [self._given_group(i, j) for i in range(len(names)) for j in range(len(names))]
        return judge("asked", names, groups, threshold=threshold)

    def _tell_set(self, _: int, cell: int) -> str:
        names = (repr(self._attributes[place].name) for place in self._sets[cell])
        return f"the attributes asked are {', '.join(names)}"

    def _tell_kept(self, name: str, cell: int) -> str:
        return f"{name!r} is reported truly where {self._tell_set(0, cell)}"

    def _given_group(self, i: int, j: int) -> Group:
        name, other = self._attributes[i].name, self._attributes[j]
        return binomials(
            lambda x: f"{name!r} is asked where {other.name!r} is {other.labels[x]!r}",
            self._given[j][:, i],
            self._asked / len(self._attributes),
        )


def _ranks(answered: NDArray[np.bool_], asked: int) -> NDArray[np.int64]:
    """Return the number of each record's set, Σᵢ C(cᵢ, i) over its members c₁ < c₂ < …, counted from 0."""
    ranks, members = np.zeros(answered.shape[1], dtype=np.int64), np.zeros(answered.shape[1], dtype=np.int64)
    for place, flags in enumerate(answered):
        members += flags
        # those of few sets are all small; the others need not be numbered, and might not fit
        ways = np.array([min(math.comb(place, i), MOST_SETS) for i in range(asked + 1)])
        ranks += np.where(flags, ways[np.minimum(members, asked)], 0)
    return ranks
