"""Whether reports behave as their design says: exact tests of counts, and what has to be counted for them.

Every test is of a count that is binomial if the randomizer is right, so its p-value is exact, however rare the cell. A
group of independent ones is judged in two ways: by its smallest p-value, which sees one bad place, and by Fisher's
χ² = −2 Σ ln p, which sees many slightly bad ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.domain import Attribute, Codes

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

CheckName = Literal["repeats", "cells", "others", "positions", "lags", "calls", "pairs", "epsilon"]
"""In the order in which they point to a cause: a wrong cell is also seen by all that follow."""

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


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a measured audit: several exact tests, and what they say together.

    Parameters
    ----------
    name : str
        ``repeats``, ``cells``, ``others``, ``positions``, ``lags``, ``calls``, ``pairs`` or ``epsilon``.
    attributes : tuple of str
        The attribute that it is about; for ``pairs`` two of them.
    tests : int
        How many counts were tested.
    chi_square, freedom : float, int
        Fisher's statistic −2 Σ ln p of the most suspicious group of tests, and its degrees of freedom.
    p_value : float
        The chance of anything as suspicious from a right randomizer, at most.
    finding : str
        What is wrong, in words; empty if the check passed.
    passed : bool
        Whether the p-value is above this check's share of the false-alarm rate.
    """

    name: CheckName
    attributes: tuple[str, ...]
    tests: int
    chi_square: float
    freedom: int
    p_value: float
    finding: str
    passed: bool


class Group(NamedTuple):
    """The p-values of independent tests, and how to tell of each."""

    p_values: Floats
    tell: Callable[[int], str]


def judge(name: CheckName, attributes: tuple[str, ...], groups: Iterable[Group], *, threshold: float) -> Check:
    """Return the check that groups of tests make; groups may depend on each other.

    Notes
    -----
    A group of m tests has p = 2 min(m min p, Pr(χ²₂ₘ ≥ −2 Σ ln p)), and G groups together G times the smallest of
    these: eq. (46) of docs/theory.md.
    """
    from scipy.special import gammaincc  # scipy.stats takes a second to import

    worst, tests, count = Check(name, attributes, 0, 0.0, 0, 1.0, "", True), 0, 0
    for group in groups:
        m = group.p_values.size
        if not m:
            continue
        tests, count = tests + m, count + 1
        statistic = float(-2 * np.log(np.maximum(group.p_values, 1e-300)).sum())
        place = int(group.p_values.argmin())
        alone, together = m * float(group.p_values[place]), float(gammaincc(m, statistic / 2))
        p_value = min(1.0, 2 * min(alone, together))
        if p_value < worst.p_value or not worst.finding:
            many = "" if alone <= together or m == 1 else f", and so on: {m:,} such counts together are unlikely"
            worst = Check(name, attributes, 0, statistic, 2 * m, p_value, group.tell(place) + many, True)
    p_value = min(1.0, count * worst.p_value)
    passed = p_value >= threshold
    finding = "" if passed else worst.finding  # something is always the most suspicious
    return Check(name, attributes, tests, worst.chi_square, worst.freedom, p_value, finding, passed)


def binomials(what: Callable[[int], str], tallied: Any, chance: Any) -> Group:
    """Return the exact two-sided tests of binomial counts, given with their trials; those without any are left out."""
    from scipy.special import betainc, betaincc

    observed, trials, chance = np.broadcast_arrays(*np.atleast_1d(*tallied, chance))
    places = np.flatnonzero(trials)
    observed, trials, chance = observed[places], trials[places], chance[places]
    others = trials - observed
    # Pr(N ≤ observed) and Pr(N ≥ observed), as incomplete beta functions
    below = np.where(others > 0, betaincc(observed + 1, np.maximum(others, 1), chance), 1.0)
    above = np.where(observed > 0, betainc(np.maximum(observed, 1), others + 1, chance), 1.0)

    def tell(place: int) -> str:
        share, expected = observed[place] / trials[place], chance[place]
        return f"{what(int(places[place]))} in {share:.2%} of {trials[place]:,} cases instead of {expected:.2%}"

    return Group(np.minimum(1.0, 2 * np.minimum(below, above)), tell)


def multinomial(what: Callable[[int, int], str], counts: Counts, chances: Floats) -> Group:
    """Return the exact tests of rows of multinomial counts: each cell given the cells before it.

    Notes
    -----
    Given n₀ … n_(y−1), the count n_y is binomial among what is left, with chance p_y / (1 − p₀ − … − p_(y−1)); these
    are independent, which Pearson's residuals are not.
    """
    left = counts.sum(axis=1, keepdims=True) - np.cumsum(counts, axis=1) + counts
    rest = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]  # from the end: no digits are lost where little is left
    given = np.divide(chances, rest, out=np.ones_like(rest), where=rest > 0)
    cells = counts.shape[1]
    exact = binomials(lambda place: "", (counts[:, :-1].ravel(), left[:, :-1].ravel()), given[:, :-1].ravel())
    shown = np.flatnonzero(left[:, :-1].ravel())
    totals = counts.sum(axis=1)

    def tell(place: int) -> str:
        row, cell = divmod(int(shown[place]), cells - 1)
        if cells == 2 and counts[row, 1] < counts[row, 0]:
            cell = 1  # of two cells tell the rarer one
        share = counts[row, cell] / totals[row]
        return f"{what(row, cell)} in {share:.2%} of {totals[row]:,} cases instead of {chances[row, cell]:.2%}"

    # what is left after the last but one may not be what has no chance
    impossible = ((counts > 0) & (chances == 0)).any(axis=1)
    p_values = exact.p_values
    if impossible.any():
        p_values = np.where(impossible[shown // (cells - 1)], 0.0, p_values)
    return Group(p_values, tell)


class Observed:
    """What was seen of one attribute, call by call.

    Parameters
    ----------
    attribute, channel : Attribute, Channel
        The attribute and what its reports should follow.
    chosen : array of int
        The truths for which every cell is counted.
    """

    def __init__(self, attribute: Attribute, channel: Channel, chosen: Codes) -> None:
        self.attribute, self.channel, self.chosen = attribute, channel, chosen
        self.cells: Counts = np.zeros((len(chosen), channel.size), dtype=np.int64)
        self._row_of = np.full(channel.size, len(chosen))
        self._row_of[chosen] = np.arange(len(chosen))
        self._by_truth: Counts = np.zeros((2, channel.size), dtype=np.int64)  # kept, of
        self._edges: Counts = np.zeros((2, 2, EDGE), dtype=np.int64)
        self._modulo = {modulus: np.zeros((2, modulus), dtype=np.int64) for modulus in MODULI}
        self._seams = {seam: np.zeros((2, 2), dtype=np.int64) for seam in SEAMS}
        self._lags: dict[int, Counts] = {lag: np.zeros((2, 3), dtype=np.int64) for lag in LAGS}
        self._calls: Counts = np.zeros((2, 3), dtype=np.int64)
        self._waiting: tuple[Codes, Codes] | None = None
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
            apart = foreign != own
            counts = self._others.setdefault(name, np.zeros(2, dtype=np.int64))
            counts += int(np.count_nonzero(told[apart] == foreign[apart])), int(np.count_nonzero(apart))

    def check_others(self, threshold: float) -> Check:
        """Check that a report depends on its own truth alone: another truth is named as often as any other category."""
        names = list(self._others)
        hits, of = (np.array([self._others[name][side] for name in names]) for side in (0, 1))
        group = binomials(
            lambda i: f"{self.attribute.name!r} is reported as {names[i]}", (hits, of), self.channel.off_diagonal
        )
        return judge("others", (self.attribute.name,), [group], threshold=threshold)

    def add(self, truths: Codes, reports: Codes, *, large: bool) -> None:
        """Count one call."""
        size, rows = self.channel.size, len(truths)
        kept = (truths == reports).view(np.uint8)
        if len(self.chosen) == size:
            self.cells += np.bincount(truths * size + reports, minlength=size * size).reshape(size, size)
        else:
            row = self._row_of[truths]
            shown = row < len(self.chosen)
            found = np.bincount(row[shown] * size + reports[shown], minlength=self.cells.size)
            self.cells += found.reshape(self.cells.shape)
            self._by_truth += np.bincount(truths[kept == 1], minlength=size), np.bincount(truths, minlength=size)
        self._changed += rows - int(np.count_nonzero(kept))
        near = min(rows, EDGE)
        self._edges[:, 0, :near] += kept[:near], np.ones(near, dtype=np.uint8)
        self._edges[:, 1, :near] += kept[::-1][:near], np.ones(near, dtype=np.uint8)
        if large:
            self._add_rows(kept)
            for lag, agreed in self._lags.items():
                if blocks := rows // (2 * lag):
                    first, second = (
                        tuple(a[: 2 * lag * blocks].reshape(blocks, 2, lag)[:, half] for a in (truths, reports, kept))
                        for half in (0, 1)
                    )
                    agreed += _agreements(first, second)
            self._search(truths, reports, kept)
        if self._waiting is None:
            self._waiting = truths, reports
        else:
            both = min(rows, len(self._waiting[0]))
            before = self._waiting[0][:both], self._waiting[1][:both]
            first = *before, (before[0] == before[1]).view(np.uint8)
            self._calls += _agreements(first, (truths[:both], reports[:both], kept[:both]))
            self._waiting = None

    def add_same(self, reports: Codes) -> None:
        """Note the reports of a call whose truths are those of all such calls."""
        self._same_calls, self._same_rows = self._same_calls + 1, len(reports)
        self._same.add(reports.tobytes())

    def _add_rows(self, kept: NDArray[np.uint8]) -> None:
        rows = len(kept)
        folded = _folded(kept, CYCLE) if rows > CYCLE else kept.astype(np.int64)
        for modulus, counts in self._modulo.items():
            counts[0] += _folded(folded, modulus)
            counts[1] += rows // modulus + (np.arange(modulus) < rows % modulus)
        for seam, ends in self._seams.items():
            for end, some in enumerate((kept[seam::seam], kept[seam - 1 : -1 : seam])):
                ends[:, end] += int(some.sum()), some.size

    def _search(self, truths: Codes, reports: Codes, kept: NDArray[np.uint8]) -> None:
        """Find suspicious distances in the first large call, to be tested in those that follow."""
        if self._searched or self.channel.width == 0:
            return
        self._searched = True
        rows = min(len(kept), _LONGEST_SEARCH)
        expected = self.channel.lam * truths[:rows] + (1 - self.channel.lam) * (self.channel.size - 1) / 2
        for residual in (kept[:rows] - self.channel.truthfulness, reports[:rows] - expected):
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
        # two of them are the same with chance (λ² + (1 − λ²)/r)^rows, whatever the truths
        log = self._same_rows * math.log(self._agree(True)) + math.log(max(1, calls * (calls - 1) // 2))
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


def _agreements(first: Any, second: Any) -> Counts:
    """Return how often rows agree, and of how many: in reports of the same truth, of others, and in being kept."""
    same_truth, same_report = first[0] == second[0], first[1] == second[1]
    rows, equal = same_truth.size, int(np.count_nonzero(same_truth))
    agreed, together = int(np.count_nonzero(same_report)), int(np.count_nonzero(same_report & same_truth))
    kept = int(np.count_nonzero(first[2] == second[2]))
    return np.array([[together, agreed - together, kept], [equal, rows - equal, rows]])


def _folded(values: NDArray[Any], modulus: int) -> Counts:
    """Return the sums over rows that are a multiple of ``modulus`` apart."""
    whole = len(values) // modulus * modulus
    sums = values[:whole].reshape(-1, modulus).sum(axis=0, dtype=np.int64)
    sums[: len(values) - whole] += values[whole:]
    return np.asarray(sums)
