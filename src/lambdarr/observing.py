"""What a measured audit counts while a randomizer runs, and the checks that these counts make.

Where respondents answer some of the attributes only, a report lacks the others (``ABSENT``). "Not asked" is public, so
every count is of those who were asked; that being asked tells nothing about anyone is a check of its own.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lambdarr.checks import Check, Group, binomials, judge, multinomial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.domain import Attribute, Codes

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    _Seen = tuple[Codes, Codes, NDArray[np.uint8], Flags]

EDGE = 100
"""How many rows from the first and from the last are looked at one by one."""

CYCLE = 512_000
"""A multiple of all ``MODULI``: rows are first summed over it, which takes one pass whatever their number."""

MODULI = 2, 4, 5, 8, 10, 16, 32, 64, 100, 128, 256, 1000, 1024, 4096
"""Sizes of blocks within which every row is looked at."""

SEAMS = 1 << 13, 10_000, 1 << 14, 1 << 15, 1 << 16, 100_000, 1 << 17, 1 << 18
"""Larger blocks: their first and last rows are looked at."""

LAGS = *range(1, 17), *(1 << bits for bits in range(5, 19)), 20, 50, 100, 200, 500, 1000, 10_000, 100_000
"""How far apart rows are compared."""

_FOUND_LAGS = 6
_LONGEST_SEARCH = 1 << 18
_MOST_CELLS = 4096


class Observed:
    """What was seen of one attribute, call by call.

    Parameters
    ----------
    attribute, channel : Attribute, Channel
        The attribute and what its reports should follow.
    chosen : array of int
        The truths for which every cell is counted.
    share : float
        The share of records that are asked this attribute.
    """

    def __init__(self, attribute: Attribute, channel: Channel, chosen: Codes, share: float = 1.0) -> None:
        self.attribute, self.channel, self.chosen, self._share = attribute, channel, chosen, share
        self.cells: Counts = np.zeros((len(chosen), channel.size), dtype=np.int64)
        self._row_of = np.full(channel.size, len(chosen))
        self._row_of[chosen] = np.arange(len(chosen))
        self._by_truth: Counts = np.zeros((2, channel.size), dtype=np.int64)  # kept, of
        self._edges: Counts = np.zeros((2, 2, EDGE), dtype=np.int64)
        self._modulo = {modulus: np.zeros((2, modulus), dtype=np.int64) for modulus in MODULI}
        self._seams = {seam: np.zeros((2, 2), dtype=np.int64) for seam in SEAMS}
        self._lags: dict[int, Counts] = {lag: np.zeros((2, 3), dtype=np.int64) for lag in LAGS}
        self._calls: Counts = np.zeros((2, 3), dtype=np.int64)
        self._waiting: _Seen | None = None
        self._searched = False
        self._same: set[bytes] = set()
        self._same_calls = self._same_rows = self._changed = 0
        self._others: dict[str, Counts] = {}

    def add_others(self, truths: Codes, reports: Codes, others: Mapping[str, Codes]) -> None:
        """Count how often a report names what somebody else, or another attribute, has as the truth."""
        size = self.channel.size
        near = {f"the truth {lag} rows before": (truths[:-lag], lag) for lag in (1, 2, 3) if lag < len(truths)}
        for name, (codes, start) in (near | {name: (codes, 0) for name, codes in others.items()}).items():
            foreign, own, told = codes % size, truths[start:], reports[start:]
            apart = (foreign != own) & (told >= 0)
            counts = self._others.setdefault(name, np.zeros(2, dtype=np.int64))
            counts += int(np.count_nonzero(told[apart] == foreign[apart])), int(np.count_nonzero(apart))

    def check_others(self, threshold: float) -> Check:
        """Check that a report depends on its own truth alone: another truth is named as often as any other category."""
        # the same reports are compared again and again, so these counts are no group of independent ones
        groups = [
            binomials(partial(self._tell_other, name), counts, self.channel.off_diagonal)
            for name, counts in self._others.items()
        ]
        return judge("others", (self.attribute.name,), groups, threshold=threshold)

    def _tell_other(self, name: str, _: int) -> str:
        return f"{self.attribute.name!r} is reported as {name}"

    def add(self, truths: Codes, reports: Codes, *, large: bool) -> None:
        """Count one call."""
        size, rows = self.channel.size, len(truths)
        asked = reports >= 0
        kept = (truths == reports).view(np.uint8)  # never of those who were not asked
        own, told = (truths, reports) if asked.all() else (truths[asked], reports[asked])
        if len(self.chosen) == size:
            self.cells += np.bincount(own * size + told, minlength=size * size).reshape(size, size)
        else:
            row = self._row_of[own]
            shown = row < len(self.chosen)
            found = np.bincount(row[shown] * size + told[shown], minlength=self.cells.size)
            self.cells += found.reshape(self.cells.shape)
            self._by_truth += np.bincount(own[own == told], minlength=size), np.bincount(own, minlength=size)
        self._changed += own.size - int(np.count_nonzero(kept))
        near = min(rows, EDGE)
        self._edges[:, 0, :near] += kept[:near], asked[:near]
        self._edges[:, 1, :near] += kept[::-1][:near], asked[::-1][:near]
        seen = truths, reports, kept, asked
        if large:
            self._add_rows(kept, asked.view(np.uint8))
            for lag, agreed in self._lags.items():
                if blocks := rows // (2 * lag):
                    halves = ([a[: 2 * lag * blocks].reshape(blocks, 2, lag)[:, half] for a in seen] for half in (0, 1))
                    agreed += _agreements(*halves)
            self._search(*seen)
        if self._waiting is None:
            self._waiting = seen
        else:
            both = min(rows, len(self._waiting[0]))
            self._calls += _agreements([a[:both] for a in self._waiting], [a[:both] for a in seen])
            self._waiting = None

    def add_same(self, reports: Codes) -> None:
        """Note the reports of a call whose truths are those of all such calls."""
        self._same_calls, self._same_rows = self._same_calls + 1, len(reports)
        self._same.add(reports.tobytes())

    def _add_rows(self, *flags: NDArray[np.uint8]) -> None:
        """Count those kept, and those asked, by their place."""
        for side, each in enumerate(flags):
            folded = _folded(each, CYCLE) if len(each) > CYCLE else each.astype(np.int64)
            for modulus, counts in self._modulo.items():
                counts[side] += _folded(folded, modulus)
            for seam, ends in self._seams.items():
                ends[side] += int(each[seam::seam].sum()), int(each[seam - 1 : -1 : seam].sum())

    def _search(self, truths: Codes, reports: Codes, kept: NDArray[np.uint8], asked: Flags) -> None:
        """Find suspicious distances in the first large call, to be tested in those that follow."""
        if self._searched or self.channel.width == 0:
            return
        self._searched = True
        rows = min(len(kept), _LONGEST_SEARCH)
        expected = self.channel.lam * truths[:rows] + (1 - self.channel.lam) * (self.channel.size - 1) / 2
        for residual in (kept[:rows] - self.channel.truthfulness, reports[:rows] - expected):
            residual = np.where(asked[:rows], residual, 0.0)
            length = 1 << (2 * rows - 1).bit_length()  # other lengths may take a hundred times as long
            spectrum = np.fft.rfft(residual, length)
            related = np.abs(np.fft.irfft(spectrum * spectrum.conj(), length))[: rows // 4]
            related /= np.arange(rows, rows - rows // 4, -1)
            related[:1] = 0
            for lag in np.argsort(related)[-_FOUND_LAGS:].tolist():
                if lag:
                    self._lags.setdefault(lag, np.zeros((2, 3), dtype=np.int64))

    # What the counts say.

    def check_cells(self, threshold: float) -> Check:
        """Check every cell of P for the chosen truths, and for all truths how often they are reported."""
        labels, name = self.attribute.labels, self.attribute.name

        def cell(row: int, report: int) -> str:
            return f"{name!r} is reported as {labels[report]!r} where it is {labels[self.chosen[row]]!r}"

        chances = np.full(self.cells.shape, self.channel.off_diagonal)
        chances[np.arange(len(self.chosen)), self.chosen] = self.channel.truthfulness
        groups = [multinomial(cell, self.cells, chances)]
        if len(self.chosen) < self.channel.size:
            told = binomials(lambda x: f"{name!r} is reported truly where it is {labels[x]!r}", self._by_truth, self._d)
            groups.append(told)
        return judge("cells", (name,), groups, threshold=threshold)

    @property
    def _d(self) -> float:
        return self.channel.truthfulness

    def check_positions(self, threshold: float) -> Check:
        """Check every place in a call: from its first row, from its last, within and at the ends of blocks."""
        ends = "first", "last"
        groups = [binomials(partial(self._tell_edge, end), self._edges[:, i], self._d) for i, end in enumerate(ends)]
        groups += [binomials(partial(self._tell_row, m), counts, self._d) for m, counts in self._modulo.items()]
        groups += [binomials(partial(self._tell_seam, m), counts, self._d) for m, counts in self._seams.items()]
        return judge("positions", (self.attribute.name,), groups, threshold=threshold)

    def _tell_edge(self, end: str, i: int) -> str:
        return (
            f"{self.attribute.name!r} is reported truly in {f'row {i + 1} from the {end}' if i else f'the {end} row'}"
        )

    def _tell_row(self, block: int, i: int) -> str:
        return f"{self.attribute.name!r} is reported truly in row {i + 1:,} of blocks of {block:,}"

    def _tell_seam(self, block: int, i: int) -> str:
        return f"{self.attribute.name!r} is reported truly in the {'last' if i else 'first'} row of blocks of {block:,}"

    def check_lags(self, threshold: float) -> Check:
        """Check that rows some way apart agree no more and no less often than independent ones."""
        groups: list[Group] = []
        for lag, agreed in self._lags.items():
            apart = "neighbouring rows" if lag == 1 else f"rows {lag:,} apart"
            groups += self._agreement(agreed, apart)
        return judge("lags", (self.attribute.name,), groups, threshold=threshold)

    def check_calls(self, threshold: float) -> Check:
        """Check that the same rows of two calls agree no more and no less often than independent ones."""
        groups = self._agreement(self._calls, "the same rows of two calls")
        return judge("calls", (self.attribute.name,), groups, threshold=threshold)

    def check_repeats(self, threshold: float) -> Check:
        """Check that no call comes again as a whole, among those that had the same truths."""
        calls, again = self._same_calls, self._same_calls - len(self._same)
        log = self._same_rows * math.log(agreement(self.channel, self._share)) + math.log(
            max(1, calls * (calls - 1) // 2)
        )
        # where nothing is ever changed calls are the same for another reason, which the cells tell
        p_value = math.exp(max(-690.0, min(0.0, log))) if again and self._changed else 1.0
        told = f"{again} of {calls} calls with the same truths repeated all reports of {self.attribute.name!r}"
        group = Group(np.array([p_value]), lambda _: told)
        return judge("repeats", (self.attribute.name,), [group], threshold=threshold)

    def _agree(self, same_truth: bool) -> float:
        """Return the chance that two reports are the same: an entry of P(λ)² = P(λ²)."""
        square = self.channel.lam**2
        return square * same_truth + (1 - square) / self.channel.size

    def _agreement(self, agreed: Counts, which: str) -> list[Group]:
        truths = "the same truth", "different truths"
        reports = binomials(
            lambda i: f"{which} with {truths[i]} have the same report of {self.attribute.name!r}",
            agreed[:, :2],
            [self._agree(True), self._agree(False)],
        )
        d = self.channel.truthfulness
        both = binomials(
            lambda _: f"{which} are both true or both untrue in {self.attribute.name!r}",
            agreed[:, 2:],
            d**2 + (1 - d) ** 2,
        )
        return [reports, both]


class ObservedPair:
    """What was seen of two attributes together; their truths have to be drawn independently.

    Parameters
    ----------
    attributes, channels : tuples of two
        The attributes, and what their reports should follow.
    shares : tuple of two arrays
        The distributions that the truths are drawn from.
    """

    def __init__(
        self,
        attributes: tuple[Attribute, Attribute],
        channels: tuple[Channel, Channel],
        shares: tuple[Floats, Floats],
    ) -> None:
        self._attributes, self._channels = attributes, channels
        self._bins = [min(channel.size, math.isqrt(_MOST_CELLS)) for channel in channels]
        reported = [
            np.bincount(self._binned(np.arange(c.size), j), weights=c.lam * pi + c.off_diagonal)
            for j, (c, pi) in enumerate(zip(channels, shares, strict=True))
        ]
        self._chances: Floats = np.outer(*reported).ravel().astype(np.float64)
        self._counts: Counts = np.zeros(len(self._chances), dtype=np.int64)
        self._agreed = self.rows = 0

    def _binned(self, codes: Codes, place: int) -> Codes:
        size, bins = self._channels[place].size, self._bins[place]
        return codes if bins == size else codes.astype(np.int64) * bins // size

    def add(self, truths: Sequence[Codes], reports: Sequence[Codes]) -> None:
        """Count one call."""
        asked = (reports[0] >= 0) & (reports[1] >= 0)
        if not asked.all():
            truths, reports = [codes[asked] for codes in truths], [codes[asked] for codes in reports]
        first, second = (truth == report for truth, report in zip(truths, reports, strict=True))
        self._agreed += int(np.count_nonzero(first == second))
        self.rows += len(first)
        cells = self._binned(reports[0], 0) * self._bins[1] + self._binned(reports[1], 1)
        self._counts += np.bincount(cells, minlength=self._counts.size)

    def check(self, threshold: float) -> Check:
        """Check that the two are randomized independently of each other."""
        a, b = (attribute.name for attribute in self._attributes)
        d, e = (channel.truthfulness for channel in self._channels)
        both = binomials(
            lambda _: f"{a!r} and {b!r} are both true or both untrue",
            (self._agreed, self.rows),
            d * e + (1 - d) * (1 - e),
        )
        joint = multinomial(
            lambda _, cell: f"the reports of {a!r} and {b!r} together are in cell {cell + 1} of {self._counts.size}",
            self._counts[None, :],
            self._chances[None, :],
        )
        return judge("pairs", (a, b), [both, joint], threshold=threshold)


def agreement(channel: Channel, share: float) -> float:
    """Return the chance that two reports of one truth are the same, where a share of them is asked.

    Both are not asked, or both are and say the same, with an entry of P(λ)² = P(λ²).
    """
    return (1 - share) ** 2 + share**2 * (channel.lam**2 + (1 - channel.lam**2) / channel.size)


def _agreements(first: Sequence[Any], second: Sequence[Any]) -> Counts:
    """Return how often rows agree, and of how many: in reports of the same truth, of others, and in being kept.

    Only rows that were both asked are compared.
    """
    asked = first[3] & second[3]
    same_truth, same_report = (first[0] == second[0]) & asked, (first[1] == second[1]) & asked
    rows, equal = int(np.count_nonzero(asked)), int(np.count_nonzero(same_truth))
    agreed, together = int(np.count_nonzero(same_report)), int(np.count_nonzero(same_report & same_truth))
    kept = int(np.count_nonzero((first[2] == second[2]) & asked))
    return np.array([[together, agreed - together, kept], [equal, rows - equal, rows]])


def _folded(values: NDArray[Any], modulus: int) -> Counts:
    """Return the sums over rows that are a multiple of ``modulus`` apart."""
    whole = len(values) // modulus * modulus
    sums = values[:whole].reshape(-1, modulus).sum(axis=0, dtype=np.int64)
    sums[: len(values) - whole] += values[whole:]
    return np.asarray(sums)
