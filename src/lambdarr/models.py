"""Reports → a model of all attributes at once, also where their joint table could never be formed.

Twenty attributes of five categories have a joint of 10¹⁴ cells, and no file fills it. But dependences are seen in
pairs, and a model needs no more than the tables of attributes that hang together:

1. every pair's dependence is measured on the reports; those that stand out are edges of a graph, taken strongest
   first, as long as the graph falls apart into tables of at most a million cells;
2. each of these tables is estimated on its own, by ``choosing.choose``;
3. attributes, in an order that the graph gives, then depend each on a few of those before it:
   p(x) = Π p(xⱼ | its parents).

Any table, any probability and any number of synthetic records come out of that product.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from lambdarr import kronecker
from lambdarr.channel import is_number
from lambdarr.choosing import Dependence, choose, randomized_codes
from lambdarr.conditions import product_of
from lambdarr.designs import listed
from lambdarr.domain import ABSENT, Decoder, arrow_type
from lambdarr.errors import DataError
from lambdarr.estimation import estimated, independent_reports
from lambdarr.sinks import check_target, write_file
from lambdarr.sources import DELIMITERS, as_frame, format_of
from lambdarr.surveys import Survey
from lambdarr.tabulation import MAX_CELLS, Coded, Counts, check_complete, over_reports
from lambdarr.waves import shared, waves_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.conditions import Condition
    from lambdarr.designs import Design
    from lambdarr.waves import Wave

    Floats = NDArray[np.float64]
    Codes = NDArray[np.integer[Any]]

MOST_CELLS = 1 << 20
"""Cells of the largest table that a model is made of."""

MOST_RECORDS = 10**9
"""Synthetic records that are drawn at once."""

ALL_CELLS = 1 << 22
"""Cells of all tables together."""


Pair = tuple[int, int]


class Factor(NamedTuple):
    """The distribution of one attribute given some others."""

    attribute: int
    parents: tuple[int, ...]
    values: Floats
    """One axis per parent, the attribute's own last; sums to 1 along that."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Model:
    """A distribution of all attributes, fitted to reports. Made by ``lambdarr.model``.

    Parameters
    ----------
    design : Design
        The part of the design that the model is about.
    n : int
        Number of reports.
    factors : tuple of Factor
        The distribution of each attribute given its parents, in an order in which parents come first.
    pairs : tuple of (str, str)
        The pairs whose dependence is in the model, the strongest first.
    left_out : tuple of (str, str)
        Pairs whose dependence shows, but would have made a table too large, or one that no report has all attributes
        of; it is there as far as others carry it.
    library : str
        Where the reports came from, and synthetic records go to.
    independent : float
        How many reports of equal weight would tell as much; where answers are missing in plain sight, as much as
        about the table of the model that the fewest have answered.
    answered : tuple of int
        Number of reports that have each attribute.
    """

    design: Design
    n: int
    factors: tuple[Factor, ...]
    pairs: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[str, str], ...]
    library: str
    independent: float
    answered: tuple[int, ...]

    def __repr__(self) -> str:
        return (
            f"<Model of {', '.join(self.design.names)}: {self.n:,} reports, {len(self.pairs)} pairs that depend, "
            f"{len(self.left_out)} left out; "
            "see .table(), .probability() and .synthesize()>"
        )

    def table(self, attributes: Iterable[str]) -> Floats:
        """Return the distribution of some attributes: one axis for each, in the order asked for."""
        wanted = listed(attributes)
        part = self.design.select(wanted)
        if (cells := math.prod(attribute.size for attribute in part.attributes)) > MAX_CELLS:
            msg = f"a table of {' × '.join(wanted)} has {cells:,} cells, more than {MAX_CELLS:,}; ask for fewer"
            raise DataError(msg)
        return self._summed([self.design.names.index(name) for name in wanted], {})

    def to_frame(self, attributes: Iterable[str], *, library: str | None = None) -> Any:
        """Return the distribution of some attributes as a frame, a row per cell."""
        wanted = listed(attributes)
        values = self.table(wanted)
        codes = np.indices(values.shape).reshape(values.ndim, -1)
        columns: dict[str, Any] = {
            attribute.name: pa.array([attribute.values[code] for code in axis])
            for attribute, axis in zip(self.design.select(wanted).attributes, codes, strict=True)
        }
        columns["estimate" if "estimate" not in wanted else "estimate_"] = values.ravel()
        return as_frame(pa.table(columns), library or self.library)

    def probability(self, condition: Condition, *, given: Condition | None = None) -> float:
        """Return the share of people with a condition, among all or among those with another.

        Conditions are those of ``lambdarr.query``, which gives the same share without a model and with a standard
        error.
        """
        together = self._mean(condition, given)
        if given is None:
            return together
        if not (among := self._mean(given)) > 0:
            msg = "nobody has the condition in given, by this model; ask about a larger group"
            raise DataError(msg)
        return together / among

    def synthesize(self, n: int | None = None, *, seed: int | None = None, library: str | None = None) -> Any:
        """Return synthetic records drawn from the model: a frame with a column per attribute.

        Parameters
        ----------
        n : int, optional
            How many; as many as there were reports by default.
        seed : int, optional
            For the same records again.
        library : {"pandas", "polars", "pyarrow"}, optional
            Whose frame; by default the library the reports came in.

        Notes
        -----
        They are made from the reports alone, so they tell no more about anyone than the reports do; and no less, where
        λ is near 1. They have no nulls where missing values are public: the model is of the answers.
        """
        return as_frame(self._records(n, seed, as_text=False), library or self.library)

    def synthesize_file(
        self, output: str | Path, n: int | None = None, *, seed: int | None = None, force: bool = False
    ) -> int:
        """Write synthetic records to a file, and return how many; the ending says the format, as for all files."""
        path = Path(output)
        check_target(path, force=force)
        as_text = format_of(path) in DELIMITERS
        table = self._records(n, seed, as_text=as_text)
        return write_file(path, table.schema, table.to_batches(max_chunksize=1 << 16), force=force)

    def _records(self, n: int | None, seed: int | None, *, as_text: bool) -> pa.Table:
        if seed is not None and not (is_number(seed) and int(seed) == seed and seed >= 0):
            msg = f"seed must be a whole number, 0 or more, got {seed!r}"
            raise DataError(msg)
        codes = self._drawn(self.n if n is None else n, np.random.default_rng(None if seed is None else int(seed)))
        columns = {}
        for attribute, column in zip(self.design.attributes, codes, strict=True):
            kind = pa.string() if as_text else arrow_type(attribute)
            columns[attribute.name] = Decoder(attribute, kind, as_text=as_text).column(column)
        return pa.table(columns)

    def simulated_error(self, statistic: Callable[[Model], ArrayLike], *, repetitions: int = 20, seed: int = 0) -> Any:
        """Return the root mean square error of a statistic of the model, over simulated files.

        Each file has as many people as there were reports, or as tell as much where these have weights, drawn from
        this model and randomized by its design, and a
        model is fitted to it anew (a parametric bootstrap). What the truth has and this model has not is not in it.

        Parameters
        ----------
        statistic : callable
            From a model to a number or an array, such as ``lambda m: m.probability({"sex": "F"})``.
        repetitions : int
            Files to simulate; each takes as long as fitting the model did.
        seed : int
            For the same files again.
        """
        generator = np.random.default_rng(seed)
        goal = np.asarray(statistic(self), dtype=np.float64)
        squares = np.zeros(goal.shape)
        people = max(round(self.independent), 1)
        for _ in range(repetitions):
            codes = [
                randomized_codes(truths, channel, generator)
                for truths, channel in zip(self._drawn(people, generator), self.design.channels, strict=True)
            ]
            again = _fitted(_Records([_Wave(codes, None, self.design, self.library)], frozenset()), self.design)
            squares += (np.asarray(statistic(again), dtype=np.float64) - goal) ** 2
        return np.sqrt(squares / repetitions)[()]

    def _mean(self, *conditions: Condition | None) -> float:
        functions = {self.design.names.index(name): f for name, f in product_of(self.design, *conditions).items()}
        return float(self._summed([], functions))

    def _summed(self, axes: Sequence[int], functions: Mapping[int, Floats]) -> Floats:
        """Return Σ p(x) Π fⱼ(xⱼ) over all attributes but ``axes``, one attribute at a time."""
        needed = {*axes, *functions}
        for factor in reversed(self.factors):  # nothing depends on the last ones: unless asked for, they sum to 1
            if factor.attribute in needed:
                needed.update(factor.parents)
        kept = [factor for factor in self.factors if factor.attribute in needed]
        terms: list[_Term] = [(factor.values, (*factor.parents, factor.attribute)) for factor in kept]
        terms += [(values, (attribute,)) for attribute, values in functions.items()]
        left = {factor.attribute for factor in kept} - set(axes)
        while left:
            attribute = min(left, key=lambda attribute: (self._cells_around(attribute, terms), attribute))
            if (cells := self._cells_around(attribute, terms)) > MAX_CELLS:
                msg = f"this needs a table of {cells:,} cells on the way, more than {MAX_CELLS:,}; ask for fewer"
                raise DataError(msg)
            left.remove(attribute)
            here = [term for term in terms if attribute in term[1]]
            rest = sorted({axis for _, on in here for axis in on} - {attribute})
            terms = [term for term in terms if attribute not in term[1]] + [(_product_over(here, rest), tuple(rest))]
        return _product_over(terms, axes)

    def _cells_around(self, attribute: int, terms: Sequence[_Term]) -> int:
        """Return how many cells the product of all tables with an attribute has."""
        around = {axis for _, on in terms if attribute in on for axis in on}
        return math.prod(self.design.attributes[axis].size for axis in around)

    def _drawn(self, n: int, generator: np.random.Generator) -> list[NDArray[np.int32]]:
        """Return the codes of people drawn from the model, attribute by attribute."""
        check_number_of_records(n)
        codes: dict[int, NDArray[np.int32]] = {}
        for factor in self.factors:
            size = factor.values.shape[-1]
            rows = np.zeros(n, dtype=np.int64)
            for parent in factor.parents:
                rows = rows * self.design.attributes[parent].size + codes[parent]
            # each row's cumulative shares, shifted by its number, are one ascending list to search
            steps = np.cumsum(factor.values.reshape(-1, size), axis=1)
            steps = steps / steps[:, -1:] + np.arange(len(steps))[:, None]
            places = np.searchsorted(steps.ravel(), rows + generator.random(n), side="right")
            codes[factor.attribute] = np.minimum(places - rows * size, size - 1).astype(np.int32)
        return [codes[place] for place in range(len(codes))]


def check_number_of_records(n: Any) -> None:
    """Refuse to draw no records, or more than fit."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 < n <= MOST_RECORDS:
        msg = f"n must be a whole number of records, from 1 to {MOST_RECORDS:,}, got {n!r}"
        raise DataError(msg)


def model(
    reports: Any,
    design: Design | None = None,
    attributes: Iterable[str] | None = None,
    *,
    weights: str | ArrayLike | None = None,
) -> Model:
    """Return a model of many attributes at once, fitted from their pairs and the tables these hang together in.

    Parameters
    ----------
    reports : table, path or list of (reports, Design)
        Randomized records; or several tables of them, each with the design it was made with.
    design : Design, optional
        The design they were made with, unless it is beside them.
    attributes : iterable of str, optional
        The attributes of the model; all of the design by default.
    weights : str or array, optional
        Survey weights: the name of a column, or one number per report.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({"sex": ["F", "M"], "smokes": ["no", "yes"]}, lam=0.8)
    >>> reports = [{"sex": "F", "smokes": "no"}] * 500 + [{"sex": "M", "smokes": "yes"}] * 500
    >>> lr.model(reports, design).probability({"smokes": "yes"}, given={"sex": "M"}) > 0.95
    True
    """
    waves = waves_of(reports, design, Survey(weights))
    part = shared([wave.design for wave in waves], waves[0].design.names if attributes is None else listed(attributes))
    gaps = frozenset(part.names.index(name) for name in part.gaps)
    return _fitted(_Records([_Wave.of(wave, part.names) for wave in waves], gaps), part)


class _Wave(NamedTuple):
    """Reports as codes, a column per attribute; r, one more than the last code, where one is absent."""

    codes: Sequence[Codes]
    weights: Floats | None
    design: Design
    library: str

    @classmethod
    def of(cls, wave: Wave, names: Sequence[str]) -> _Wave:
        """Read all reports, in as few bytes as their categories need."""
        part = wave.design.select(names)

        def narrow(coded: Coded) -> tuple[list[Codes], Floats | None, str]:
            codes = [_narrowed(coded.codes[a.name], a.size, a.name in part.gaps) for a in part.attributes]
            return codes, coded.asked.weights, coded.library

        batches = list(over_reports(wave.reports, part, part.names, wave.survey, narrow))
        codes = [np.concatenate([batch[0][place] for batch in batches]) for place in range(len(part.names))]
        each = [batch[1] for batch in batches if batch[1] is not None]
        if each and not any(some.any() for some in each):
            msg = "weights must not all be zero"
            raise DataError(msg)
        return cls(codes, np.concatenate(each) if each else None, part, batches[-1][2])

    def counted(self, axes: Sequence[int], sizes: Sequence[int]) -> Counts:
        """Return the table of the reports that have all of some attributes."""
        codes, weights = [self.codes[axis] for axis in axes], self.weights
        if gaps := [axis for axis in axes if self.design.names[axis] in self.design.gaps]:
            there = np.all([self.codes[axis] < sizes[axis] for axis in gaps], axis=0)
            codes, weights = [column[there] for column in codes], None if weights is None else weights[there]
        cells = np.zeros(len(codes[0]), dtype=np.int64)
        for axis, column in zip(axes, codes, strict=True):
            cells *= sizes[axis]
            cells += column
        shape = tuple(sizes[axis] for axis in axes)
        table, *squares = (
            np.bincount(cells, of, minlength=math.prod(shape)).reshape(shape).astype(np.float64)
            for of in ([None] if weights is None else [weights, weights**2])
        )
        names = tuple(self.design.names[axis] for axis in axes)
        return Counts(names, table, len(cells), squares[0] if squares else None)


class _Records(NamedTuple):
    """The reports of all waves."""

    waves: Sequence[_Wave]
    gaps: frozenset[int]
    """The attributes that some reports may lack."""

    @property
    def n(self) -> int:
        return sum(len(wave.codes[0]) for wave in self.waves)

    def counted(self, axes: Sequence[int], sizes: Sequence[int]) -> _Reported:
        """Return the table of the reports that have all of some attributes, of several waves as under one design."""
        counts = [wave.counted(axes, sizes) for wave in self.waves]
        there = [(table, wave.design) for table, wave in zip(counts, self.waves, strict=True) if table.values.any()]
        if not there:
            return _Reported(np.zeros(counts[0].values.shape), 0.0)
        if len(self.waves) == 1:
            return _Reported(counts[0].values / counts[0].total, independent_reports(counts[0]))
        found = estimated(there, method="inverse", inference="population")
        return _Reported(found.reported, found.independent)

    def answered(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Return how many reports have each attribute."""
        return tuple(sum(wave.counted([axis], sizes).n for wave in self.waves) for axis in range(len(sizes)))


class _Reported(NamedTuple):
    """A table of reports."""

    shares: Floats
    n: float
    """How many reports of equal weight tell as much, (Σw)²/Σw²; 0 if no report has all of the attributes."""


def _narrowed(codes: Codes, size: int, may_be_absent: bool) -> Codes:
    """Return codes in as few bytes as they need."""
    if not may_be_absent:
        return codes.astype(np.min_scalar_type(size - 1))
    return np.where(codes == ABSENT, size, codes).astype(np.min_scalar_type(size))


def _fitted(records: _Records, part: Design) -> Model:
    sizes = [attribute.size for attribute in part.attributes]
    every = list(itertools.combinations(range(len(sizes)), 2))
    forest = []
    joined = {axis: {axis} for axis in range(len(sizes))}
    for pair in _strengths(records, part, sizes, every):
        if joined[pair[0]] is not joined[pair[1]]:
            forest.append(pair)
            together = joined[pair[0]] | joined[pair[1]]
            joined |= dict.fromkeys(together, together)
    tree = _assembled(records, part, sizes, forest, [])
    # What the strongest pairs explain already needs no edge of its own; but two that are independent do need one, where
    # a third that depends on both would tie them to each other.
    others = [pair for pair in every if pair not in forest]
    pairs, left_out = _affordable(records, sizes, forest, _strengths(records, part, sizes, others, beside=tree))
    return _assembled(records, part, sizes, pairs, left_out)


def _strengths(
    records: _Records,
    part: Design,
    sizes: Sequence[int],
    pairs: Iterable[Pair],
    *,
    beside: Model | None = None,
) -> list[Pair]:
    """Return the pairs whose dependence stands out, or differs from a model's, the strongest first."""
    strengths: dict[Pair, float] = {}
    for pair in pairs:
        reported = records.counted(pair, sizes)
        if not reported.n:
            continue  # of two that no report has both of, nothing can be seen
        channels = [part.channels[axis] for axis in pair]
        expected = None
        if beside is not None:
            expected = kronecker.apply(channels, beside.table([part.names[axis] for axis in pair]))
        test = Dependence.of(reported.shares, n=reported.n, expected=expected)
        if test.beyond_chance > 0:
            # φ² of the truths: what the reports show, undone for the λ's
            strengths[pair] = (test.statistic - test.freedom) / reported.n / (channels[0].lam * channels[1].lam) ** 2
    return sorted(strengths, key=lambda pair: -strengths[pair])


def _affordable(
    records: _Records, sizes: Sequence[int], forest: Sequence[Pair], others: Sequence[Pair]
) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs that tables of bearable size, and with reports, can hold, and those they cannot."""
    pairs, left_out = list(forest), list[Pair]()
    for pair in others:
        families = _families([*pairs, pair], sizes, records.gaps)
        cells = [_cells(family, sizes) for family in families]
        affordable = max(cells) <= MOST_CELLS and sum(cells) <= ALL_CELLS
        if affordable and records.gaps:
            affordable = all(records.counted(family, sizes).n for family in families)
        (pairs if affordable else left_out).append(pair)
    return pairs, left_out


def _assembled(
    records: _Records, part: Design, sizes: Sequence[int], pairs: Sequence[Pair], left_out: Sequence[Pair]
) -> Model:
    """Return the model with these pairs: the tables that they hang together in, each estimated on its own."""
    families = _families(pairs, sizes, records.gaps)

    def serves(other: tuple[int, ...], family: tuple[int, ...]) -> bool:
        """Return whether a table holds a family, and as many reports have it."""
        return set(family) <= set(other) and not records.gaps & (set(other) - set(family))

    largest = [
        family for family in families if not any(other != family and serves(other, family) for other in families)
    ]
    tables: dict[tuple[int, ...], Floats] = {}
    fewest = math.inf
    for family in largest:
        reported = records.counted(family, sizes)
        check_complete(math.ceil(reported.n), [part.names[axis] for axis in family])
        tables[family] = choose([part.channels[axis] for axis in family], reported.shares, n=reported.n).values
        fewest = min(fewest, reported.n)
    factors = []
    for family in reversed(families):
        home = next(other for other in tables if serves(other, family))
        factors.append(Factor(family[-1], family[:-1], _conditional(tables[home], home, family)))
    named = [tuple((part.names[i], part.names[j]) for i, j in some) for some in (pairs, left_out)]
    return Model(
        part,
        records.n,
        tuple(factors),
        named[0],
        named[1],
        records.waves[-1].library,
        fewest,
        records.answered(sizes),
    )


def _families(pairs: Iterable[Pair], sizes: Sequence[int], gaps: frozenset[int]) -> list[tuple[int, ...]]:
    """Return the attributes in an order of elimination, each after those that it depends on among the ones left.

    Always the one with the smallest table goes next; its neighbours then depend on each other. Of equals, one that some
    reports lack goes first: it then depends on others that all have, and not they on it.
    """
    left: dict[int, set[int]] = {axis: set() for axis in range(len(sizes))}
    for i, j in pairs:
        left[i].add(j)
        left[j].add(i)
    families = []
    while left:
        axis = min(left, key=lambda axis: (_cells((axis, *left[axis]), sizes), axis not in gaps, axis))
        parents = left.pop(axis)
        for parent in parents:
            left[parent] |= parents
            left[parent] -= {parent, axis}
        families.append((*sorted(parents), axis))
    return families


def _cells(axes: Iterable[int], sizes: Sequence[int]) -> int:
    return math.prod(sizes[axis] for axis in axes)


_Term = tuple["Floats", tuple[int, ...]]
"""A table, and the attributes of its axes."""


def _product_over(terms: Sequence[_Term], axes: Sequence[int]) -> Floats:
    """Return the product of tables, summed over all attributes but ``axes``."""
    if not terms:
        return np.ones(())
    label = {axis: place for place, axis in enumerate({axis for _, on in terms for axis in on})}
    operands: list[Any] = []
    for values, on in terms:
        operands += [values, [label[axis] for axis in on]]
    return np.asarray(np.einsum(*operands, [label[axis] for axis in axes], optimize="greedy"))


def _conditional(table: Floats, home: tuple[int, ...], family: tuple[int, ...]) -> Floats:
    """Return the distribution of a family's last attribute given the others, from a table that has them all."""
    joint = _product_over([(table, home)], family)
    alone = joint.sum(axis=tuple(range(joint.ndim - 1)))
    total = joint.sum(axis=-1, keepdims=True)
    # where nobody has these parents, no one is drawn either, but for what tables that overlap disagree about
    return np.asarray(np.where(total > 0, joint / np.where(total > 0, total, 1), alone / alone.sum()))
