"""Reports → what they say about every truth that may be behind them, cell by cell.

Where a statistic is no product over attributes, as the score of a logistic regression is not, the truths are
enumerated: all categories of the randomized attributes in the formula, for each set of public values that occurs. The
unbiased number of people in a cell is P⁻¹ applied to the reports, and what one report is worth for a function of the
truth is P⁻¹ applied to that function; both axis by axis.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lambdarr.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.domain import Codes
    from lambdarr.formulas import Columns

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

MOST_CELLS = 1 << 26
"""Sets of public values × categories of the predictors × outcomes: half a gigabyte for each table of them."""

_CHUNK = 1 << 22  # numbers in a block of scores


@dataclass(frozen=True, slots=True, eq=False)
class Reported:
    """The outcome of every report, as one of some classes.

    Parameters
    ----------
    classes : array
        The class of each report.
    lam : float
        The keep rate of the outcome; 1 if it is public.
    redrawn : array
        The share of each class in a redraw.
    """

    classes: Places
    lam: float
    redrawn: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Truths:
    """Reports of one design by public values, reported predictors and reported outcome.

    Parameters
    ----------
    channels : tuple of Channel
        Of the randomized predictors.
    outcome : Reported
        The outcome.
    functions : array
        The randomized part of the predictors: cells × columns.
    public : array
        Their public part: groups × columns.
    first : array
        A record of each group.
    counts, squares : array
        Σw and Σw² of the reports: groups × cells × classes.
    places : array
        Where each report is in these.
    """

    channels: tuple[Channel, ...]
    outcome: Reported
    functions: Floats
    public: Floats
    first: Places
    counts: Floats
    squares: Floats
    places: Places

    @classmethod
    def of(
        cls,
        columns: Columns,
        channels: Mapping[str, Channel],
        codes: dict[str, Codes],
        weights: Floats,
        outcome: Reported,
        *,
        beside: Floats | None = None,
    ) -> Truths:
        """Sort the reports; ``beside`` is one more public number per record that tells groups apart."""
        sizes = [channels[name].size for name in columns.attributes]
        group, first = _groups(columns, beside, len(weights))
        cells, classes = math.prod(sizes), len(outcome.redrawn)
        if (size := len(first) * cells * classes) > MOST_CELLS:
            msg = (
                f"{cells:,} combinations of the randomized predictors, for {len(first):,} different sets of public "
                f"values and {classes} outcomes, are {size:,} cells, more than {MOST_CELLS:,}; take fewer predictors, "
                "or round the public numbers"
            )
            raise DataError(msg)
        places = group
        for name, r in zip(columns.attributes, sizes, strict=True):
            places = places * r + codes[name]
        places = places * classes + outcome.classes
        shape = (len(first), cells, classes)
        return cls(
            tuple(channels[name] for name in columns.attributes),
            outcome,
            _over_cells(columns, sizes),
            np.ones((len(first), len(columns.names))) if columns.public is None else columns.public[first],
            first,
            np.bincount(places, weights, minlength=size).astype(np.float64).reshape(shape),
            np.bincount(places, weights**2, minlength=size).astype(np.float64).reshape(shape),
            places,
        )

    def chunks(self) -> Iterator[slice]:
        """Yield some groups at a time."""
        step = max(_CHUNK // (self.functions.size * len(self.outcome.redrawn) ** 2), 1)
        return (slice(first, first + step) for first in range(0, len(self.public), step))

    def predictors(self, groups: slice) -> Floats:
        """Return the predictors of every truth: groups × cells × columns."""
        return np.asarray(self.public[groups][:, None, :] * self.functions)

    def people(self, reported: Floats, *, outcome: bool) -> Floats:
        """Return the unbiased number of people behind sums over reports: groups × cells × classes.

        ``outcome`` says whether their class is the true one as well, or still the reported one.
        """
        found = self._along_predictors(reported)
        if not outcome:
            return found
        lam, total = self.outcome.lam, found.sum(axis=2, keepdims=True)
        return np.asarray((found - (1 - lam) * self.outcome.redrawn * total) / lam)

    def worth(self, function: Floats, *, outcome: bool) -> Floats:
        """Return what a report is worth for a function of the truth: groups × cells × classes × values."""
        found = self._along_predictors(function)
        if not outcome:
            return found
        lam, mean = self.outcome.lam, np.einsum("gkdv,d->gkv", found, self.outcome.redrawn)
        return np.asarray((found - (1 - lam) * mean[:, :, None, :]) / lam)

    def _along_predictors(self, table: Floats) -> Floats:
        """Return P⁻¹ applied to the cells, attribute by attribute."""
        result = table.reshape(len(table), *(channel.size for channel in self.channels), *table.shape[2:])
        for axis, channel in enumerate(self.channels, start=1):
            a, b = channel.backward
            result = a * result + b * result.sum(axis=axis, keepdims=True)
        return np.asarray(result.reshape(table.shape))


def _groups(columns: Columns, beside: Floats | None, n: int) -> tuple[Places, Places]:
    """Return the number of each record's set of public values, and a record of each set."""
    parts = [] if columns.public is None else list(columns.public[:, (columns.public != 1).any(axis=0)].T)
    if beside is not None:
        parts.append(beside)
    if not parts:
        return np.zeros(n, dtype=np.int64), np.zeros(1, dtype=np.int64)
    import pandas

    group = pandas.DataFrame(dict(enumerate(parts))).groupby(list(range(len(parts))), sort=False).ngroup().to_numpy()
    return group, np.unique(group, return_index=True)[1]


def _over_cells(columns: Columns, sizes: list[int]) -> Floats:
    """Return the randomized part of every column for every cell of the randomized predictors."""
    found = np.ones((math.prod(sizes), len(columns.names)))
    for column, function in enumerate(columns.functions):
        axes = [function.get(name, np.ones(r)) for name, r in zip(columns.attributes, sizes, strict=True)]
        if axes:
            found[:, column] = functools.reduce(np.multiply.outer, axes).ravel()
    return found
