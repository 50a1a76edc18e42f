"""measure: run a randomizer, and see whether its reports give away no more than the design states.

An audit reckons with the channel of a design. Here the reports themselves are looked at, so the code that draws them is
part of what is examined, whoever wrote it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from lambdarr.channel import is_number
from lambdarr.checks import Check, CheckName, Group, judge
from lambdarr.designs import check_design, check_whole
from lambdarr.errors import DesignError
from lambdarr.observing import Observed, ObservedPair, agreement
from lambdarr.randomizers import opened
from lambdarr.sampling import SeededWords
from lambdarr.sets import ObservedSets
from lambdarr.wholes import ObservedRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.domain import Codes
    from lambdarr.randomizers import Mode, Randomizer
    from lambdarr.sampling import Words

FEWEST_DRAWS = 1_000

SIZES = 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100
"""Rows of the small calls. Each size comes twice in a row, so that two calls can be compared."""

_SMALL_CALLS = 320, 1_600
_SAME_CALLS = 16
_LOOKUPS = 2 * 10**6
_FULL_SIZE = 16
_PAIRED_ROWS = 1 << 25  # records times pairs of attributes
_MOST_SUMS = 20  # pairs of other attributes whose sums a report is compared with

# The truths are made up, and follow from a seed of their own: nobody's, and other words than any report is made from.
_SEED = 0x6D656173757265

# of checks that fail alike, the first of these is told
_TELLING = get_args(CheckName)


@dataclass(frozen=True, slots=True)
class Bound:
    """What the reports prove about the ε of one attribute, or of the whole record.

    Parameters
    ----------
    name : str
        The attribute's name; "joint" for the record.
    epsilon : float
        The ε that the design states.
    bound : float
        A lower bound on the ε of the randomizer, at the measurement's confidence.
    truths : int
        How many truths were compared; all categories, or some of many.
    """

    name: str
    epsilon: float
    bound: float
    truths: int

    @property
    def share(self) -> float:
        """The share of the stated ε that the reports prove."""
        return self.bound / self.epsilon


@dataclass(frozen=True, slots=True, repr=False)
class Measurement:
    """A measured audit: what a randomizer did, beside what its design states.

    Parameters
    ----------
    randomizer : str
        What was measured.
    attributes : tuple of Bound
        One for each attribute.
    joint : Bound
        The whole record: the sum over attributes, which holds if they are randomized independently (``pairs``,
        ``records``); where some are asked, over as many as are, those with the largest bounds.
    checks : tuple of Check
        Every check, with its p-value.
    draws, calls : int
        How many records were randomized, in how many calls.
    confidence : float
        The chance that all bounds hold together, at least.
    false_alarm : float
        The chance that a right randomizer fails, at most.
    """

    randomizer: str
    attributes: tuple[Bound, ...]
    joint: Bound
    checks: tuple[Check, ...]
    draws: int
    calls: int
    confidence: float
    false_alarm: float

    def __repr__(self) -> str:
        outcome = "passed" if self.passed else "failed"
        bound = f"ε ≥ {self.joint.bound:.4g}, stated {self.joint.epsilon:.4g}"
        return f"<Measurement of {self.randomizer}: {outcome}, {bound}, {self.draws:,} draws>"

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed, the most telling first."""
        failed = [check for check in self.checks if not check.passed]

        def rank(check: Check) -> tuple[bool, float, int]:
            return check.name != "repeats", max(check.p_value, 1e-30), _TELLING.index(check.name)

        return tuple(sorted(failed, key=rank))

    @property
    def reason(self) -> str:
        """Why the randomizer failed, in one sentence; empty if it passed."""
        return f"{self.failures[0].finding} (p = {self.failures[0].p_value:.2g})." if self.failures else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as plain values, ready for JSON; what is infinite is None."""
        values = asdict(self)
        for values_of, bound in zip(
            (*values["attributes"], values["joint"]), (*self.attributes, self.joint), strict=True
        ):
            values_of["share"] = bound.share
            values_of["epsilon"] = bound.epsilon if math.isfinite(bound.epsilon) else None
        return {**values, "passed": self.passed, "reason": self.reason}

    def _repr_html_(self) -> str:
        from lambdarr.reporting.notebooks import measurement_html

        return measurement_html(self)


def measure(
    design: Design,
    randomizer: Callable[[Any], Any] | str | None = None,
    *,
    mode: Mode | None = None,
    draws: int = 10**6,
    confidence: float = 0.99,
    false_alarm: float = 1e-6,
    rng: Words | None = None,
    progress: Callable[[int], None] | None = None,
) -> Measurement:
    """Return what a randomizer gives away, measured: a lower bound on its ε, and checks of its reports.

    Parameters
    ----------
    design : Design
        What the randomizer is said to follow.
    randomizer : callable or str, optional
        A function, or the http(s) address of an endpoint to which a JSON array of records is posted and which answers
        with the array of their reports. By default lambdarr's own.
    mode : str, optional
        How the truths are handed over. lambdarr's own: ``"table"`` (the default), ``"file"``, ``"record"`` or
        ``"client"``. A function: ``"records"``, a list of dicts (the default); ``"table"``, a PyArrow table;
        ``"record"``, one dict at a time. It returns the same, or any table that lambdarr reads.
    draws : int
        How many made-up records are randomized, in calls of many sizes.
    confidence : float
        The chance that all bounds hold together, at least.
    false_alarm : float
        The chance that a right randomizer fails, at most.
    rng : SeededWords, optional
        For tests, in lambdarr's own modes table and file.
    progress : callable, optional
        Told the number of records done, after each call.

    Notes
    -----
    ε ≥ max ln(L[x, y] / U[x′, y]) over truths x, x′ and reports y, with L and U the ends of Clopper–Pearson intervals
    that hold all together, eq. (45) of docs/theory.md.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({"smokes": ["no", "yes"]}, lam=0.5)
    >>> found = lr.measure(design, draws=20_000, rng=lr.SeededWords(1))
    >>> found.passed, found.joint.bound < design.epsilon
    (True, True)
    >>> lr.measure(design, lambda records: records, draws=20_000).passed
    False
    """
    check_design(design)
    check_whole(design)
    if design.drawn:
        msg = f"measure does not cover drawn columns ({', '.join(design.drawn_names)}); measure the design without them"
        raise DesignError(msg)
    _check_arguments(draws, confidence, false_alarm)
    with opened(randomizer, design, mode=mode, rng=rng) as chosen:
        return _Watch(design, chosen, draws, progress).result(confidence, false_alarm)


def _check_arguments(draws: int, confidence: float, false_alarm: float) -> None:
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < FEWEST_DRAWS:
        msg = f"draws must be a whole number from {FEWEST_DRAWS:,}, got {draws!r}"
        raise DesignError(msg)
    for name, value in (("confidence", confidence), ("false_alarm", false_alarm)):
        if not is_number(value) or not 0 < value < 1:
            msg = f"{name} must be a probability between 0 and 1, got {value!r}"
            raise DesignError(msg)


class _Watch:
    """Runs a randomizer on made-up truths and keeps count of what comes back."""

    def __init__(
        self, design: Design, randomizer: Randomizer, draws: int, progress: Callable[[int], None] | None
    ) -> None:
        self._design, self._randomizer, self._draws = design, randomizer, draws
        self._words = SeededWords(_SEED)
        pairs = list(zip(design.attributes, design.channels, strict=True))
        share = design.share_asked
        self._seen = [Observed(a, c, _chosen_truths(c, share * draws), share) for a, c in pairs]
        self._sets = None if design.asked is None else ObservedSets(design.attributes, design.channels, design.asked)
        shares = [_shares(seen.chosen, seen.channel.size) for seen in self._seen]
        self._pairs = {
            (i, j): ObservedPair((pairs[i][0], pairs[j][0]), (pairs[i][1], pairs[j][1]), (shares[i], shares[j]))
            for i, j in combinations(range(len(pairs)), 2)
            if design.asked != 1  # nobody answers two
        }
        asked = len(pairs) if design.asked is None else design.asked
        self._wholes = ObservedRecords(design.attributes, design.channels, asked) if asked > 1 else None
        self._done = self._calls = 0
        self._progress = progress
        self._run()

    def _run(self) -> None:
        """Make all calls: a few with the same truths, many small ones, and large ones for what is left."""
        rows = self._rows_of_same_calls()
        same = self._truths(rows)
        for _ in range(_SAME_CALLS):
            reports = self._call(same, large=False)
            for seen, codes in zip(self._seen, reports, strict=True):
                seen.add_same(codes)
        for size in self._small_sizes():
            self._call(self._truths(size), large=False)
        for end in (0, -1):  # people who all have the same answers: who redraws from the data is found out
            size = max(1, min(self._draws // 20, self._randomizer.largest))
            self._call([np.full(size, seen.chosen[end], dtype=same[0].dtype) for seen in self._seen], large=False)
        for size in self._large_sizes():
            truths = self._truths(size)
            reports = self._call(truths, large=True)
            self._add_others(truths, reports)
            for (i, j), pair in self._pairs.items():
                some = slice(0, max(0, _PAIRED_ROWS // len(self._pairs) - pair.rows))
                pair.add((truths[i][some], truths[j][some]), (reports[i][some], reports[j][some]))

    def _add_others(self, truths: list[Codes], reports: list[Codes]) -> None:
        """Compare reports with truths that are not theirs: of other attributes, of two of them, of rows before."""
        rows = min(len(truths[0]), _PAIRED_ROWS)
        for place, seen in enumerate(self._seen):
            names = {i: a.name for i, a in enumerate(self._design.attributes) if i != place}
            others = {f"the truth of {name!r}": truths[i][:rows] for i, name in names.items()}
            for i, j in list(combinations(names, 2))[:_MOST_SUMS]:
                others[f"the sum of {names[i]!r} and {names[j]!r}"] = (
                    truths[i][:rows].astype(np.int64) + truths[j][:rows]
                )
            seen.add_others(truths[place][:rows], reports[place][:rows], others)

    def _call(self, truths: list[Codes], *, large: bool) -> list[Codes]:
        reports = self._randomizer.run(truths)
        for seen, before, after in zip(self._seen, truths, reports, strict=True):
            seen.add(before, after, large=large)
        if self._sets is not None:
            self._sets.add(truths, reports, large=large)
        if self._wholes is not None:
            self._wholes.add(truths, reports, large=large)
        self._calls += 1
        self._done += len(truths[0])
        if self._progress is not None:
            self._progress(self._done)
        return reports

    def _truths(self, rows: int) -> list[Codes]:
        return [_drawn(self._words.words(rows), seen.chosen, seen.channel.size) for seen in self._seen]

    def _rows_of_same_calls(self) -> int:
        """Return how many rows it takes until two whole calls are never the same by chance."""
        wanted = 1
        for channel in self._design.channels:
            if channel.width:
                agree = agreement(channel, self._design.share_asked)
                wanted = max(wanted, math.ceil(math.log(1e-18) / math.log(agree)))
        return min(wanted, 2_000, max(1, self._draws // (4 * _SAME_CALLS)))

    def _small_sizes(self) -> Iterator[int]:
        # so many that a row which is never randomized stands out from one that is seldom changed
        changed = min((1 - c.truthfulness for c in self._design.channels if c.width), default=1.0)
        changed *= self._design.share_asked
        fewest, most = _SMALL_CALLS
        calls, budget = min(most, max(fewest, math.ceil(40 / changed))), self._draws // 2
        # each call of a table looks up all categories, so of very many it has to be fewer calls
        calls = min(calls, max(2 * len(SIZES), _LOOKUPS // sum(c.size for c in self._design.channels)))
        for number in range(0, calls, 2):
            size = SIZES[number // 2 % len(SIZES)]
            if self._done + 2 * size > budget:
                return
            yield from (size, size)

    def _large_sizes(self) -> Iterator[int]:
        left = self._draws - self._done
        count = max(2, -(-left // self._randomizer.largest))
        count += count % 2  # they are compared two by two
        for number in range(count):
            yield left * (number + 1) // count - left * number // count

    def result(self, confidence: float, false_alarm: float) -> Measurement:
        of_records = [each for each in (self._sets, self._wholes) if each is not None]
        threshold = false_alarm / (7 * len(self._seen) + len(self._pairs) + len(of_records))
        checks = [
            check
            for seen in self._seen
            for check in (
                seen.check_cells(threshold),
                seen.check_others(threshold),
                seen.check_positions(threshold),
                seen.check_lags(threshold),
                seen.check_calls(threshold),
                seen.check_repeats(threshold),
                _check_epsilon(seen, threshold),
            )
        ]
        checks += [pair.check(threshold) for pair in self._pairs.values()]
        checks += [each.check(threshold) for each in of_records]
        # so many ends of intervals have to hold at once
        alpha = (1 - confidence) / sum(2 * seen.cells.size for seen in self._seen)
        bounds = [_bound(seen, alpha) for seen in self._seen]
        joint = Bound(
            "joint",
            self._design.epsilon,
            # of those that may be asked together, the ones that give away most
            math.fsum(sorted((bound.bound for bound in bounds), reverse=True)[: self._design.asked]),
            math.prod(bound.truths for bound in bounds),
        )
        return Measurement(
            self._randomizer.name, tuple(bounds), joint, tuple(checks), self._done, self._calls, confidence, false_alarm
        )


# Truths.


def _chosen_truths(channel: Channel, draws: float) -> Codes:
    """Return the truths for which all cells are counted: all of few, and of many so few that they can be told apart."""
    size = channel.size
    if size <= _FULL_SIZE or channel.width == 0:
        count = min(size, 256)
    else:
        # draws per truth after which chance takes a twentieth of ε off the bound, at 4.5 standard errors
        spread = 1 / math.sqrt(channel.off_diagonal) + 1 / math.sqrt(channel.truthfulness)
        wanted = (4.5 * spread / (0.05 * channel.epsilon)) ** 2
        count = min(size, 256, max(2, int(draws / (2 * wanted))))
    return np.unique(np.linspace(0, size - 1, count).round().astype(np.int32))


def _drawn(words: NDArray[np.uint32], chosen: Codes, size: int) -> Codes:
    """Return truths: uniform among all, or half of them so and half uniform among the chosen."""
    wide = words.astype(np.uint64)
    if len(chosen) == size:
        return ((wide * np.uint64(size)) >> np.uint64(32)).astype(np.int32)
    high = wide >> np.uint64(1)
    some = chosen[((high * np.uint64(len(chosen))) >> np.uint64(31)).astype(np.int64)]
    every = ((high * np.uint64(size)) >> np.uint64(31)).astype(np.int32)
    return np.where(words & np.uint32(1), some, every)


def _shares(chosen: Codes, size: int) -> NDArray[np.float64]:
    """Return the distribution that ``_drawn`` draws from."""
    if len(chosen) == size:
        return np.full(size, 1 / size)
    shares = np.full(size, 0.5 / size)
    shares[chosen] += 0.5 / len(chosen)
    return shares


# The bound.


def clopper_pearson(
    counts: NDArray[np.int64], totals: NDArray[np.int64], alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of exact binomial intervals, each end missing the truth with a chance of at most ``alpha``.

    Examples
    --------
    >>> lower, upper = clopper_pearson(np.array([1, 5]), np.array([10, 10]), 0.025)
    >>> lower, upper
    (array([0.00252858, 0.18708603]), array([0.44501612, 0.81291397]))
    """
    from scipy.special import betainccinv, betaincinv

    some, not_all = counts > 0, counts < totals
    lower = np.where(some, betaincinv(np.where(some, counts, 1), totals - counts + 1, alpha), 0.0)
    upper = np.where(not_all, betainccinv(counts + 1, np.where(not_all, totals - counts, 1), alpha), 1.0)
    return lower, upper


def _bound(seen: Observed, alpha: float) -> Bound:
    lower, upper = clopper_pearson(seen.cells, seen.cells.sum(axis=1, keepdims=True), alpha)
    best, least = lower.max(axis=0), upper.min(axis=0)
    ratio = float((best / least).max())
    bound = math.log(ratio) if ratio > 1 else 0.0
    return Bound(seen.attribute.name, seen.channel.epsilon, bound, len(seen.chosen))


def _check_epsilon(seen: Observed, threshold: float) -> Check:
    """Check that no pair of truths can be told apart better than ε allows.

    The p-value is the smallest α at which the bound of the most suspicious pair is above ε.
    """
    cells, totals = seen.cells, seen.cells.sum(axis=1, keepdims=True)
    name, labels = seen.attribute.name, seen.attribute.labels
    lower, upper = clopper_pearson(cells, totals, threshold / (2 * cells.size))
    y = int((lower.max(axis=0) / upper.min(axis=0)).argmax())
    x, other = int(lower[:, y].argmax()), int(upper[:, y].argmin())
    limit = math.exp(min(seen.channel.epsilon, 700))

    def exceeds(alpha: float) -> bool:
        low, _ = clopper_pearson(cells[x, y], totals[x, 0], alpha)
        _, high = clopper_pearson(cells[other, y], totals[other, 0], alpha)
        return bool(low > limit * high)

    p_value = 1.0
    if math.isfinite(seen.channel.epsilon) and exceeds(0.5):
        small, large = -700.0, math.log(0.5)
        while large - small > 0.01:
            middle = (small + large) / 2
            small, large = (small, middle) if exceeds(math.exp(middle)) else (middle, large)
        p_value = min(1.0, 2 * cells.size * math.exp(large))
    told = (
        f"the report {labels[y]!r} of {name!r} tells {labels[int(seen.chosen[x])]!r} from "
        f"{labels[int(seen.chosen[other])]!r} better than the stated ε = {seen.channel.epsilon:.4g} allows"
    )
    return judge("epsilon", (name,), [Group(np.array([p_value / 2]), lambda _: told)], threshold=threshold)
