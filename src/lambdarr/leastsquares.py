"""Linear regression on reports: least squares from unbiased moments, in closed form.

With x the predictors of a record as its truth has them, β = (Σ w x xᵀ)⁻¹ Σ w x y. A report gives an unbiased value of
each product: of attributes that differ, the product of what each is worth; within one attribute, what the product
itself is worth. So with z what a report is worth for x,

    M = z zᵀ + K,     K[c, d] = T(f_c f_d) − T f_c · T f_d     for columns that share an attribute

is unbiased for x xᵀ, and z y for x y. K is a small table over the categories of the attributes shared: no record is
looked at more than once. Equations (35) and (36) of docs/theory.md.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lambdarr.conditions import times, worth
from lambdarr.scales import UNEVEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.conditions import Product
    from lambdarr.domain import Codes
    from lambdarr.formulas import Columns, Outcome
    from lambdarr.scales import Scale

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

_CHUNK = 1 << 16


class _Shared(NamedTuple):
    """Two sets of columns that have attributes in common."""

    first: Places
    second: Places
    attributes: tuple[str, ...]
    sizes: tuple[int, ...]
    table: Floats
    """K for each cell of the attributes: cells × first × second."""
    plain: bool
    """Whether their public parts are all 1."""


class LinearReports:
    """What reports of one design are worth for a linear regression.

    Parameters
    ----------
    columns : Columns
        The predictors.
    outcome : Outcome
        The outcome.
    channels : dict
        The channel of each attribute in the formula.
    codes : dict
        The reported codes of each attribute.
    weights : array
        One per report.
    scales : dict
        The scales of numerical attributes, whose rounding adds to squares and products of their functions.
    """

    def __init__(
        self,
        columns: Columns,
        outcome: Outcome,
        channels: Mapping[str, Channel],
        codes: dict[str, Codes],
        weights: Floats,
        scales: Mapping[str, Scale],
    ) -> None:
        self._columns, self._outcome, self._channels = columns, outcome, channels
        self._codes, self.weights, self._scales = codes, weights, scales
        self._worths = [worth(channels, function) for function in columns.functions]
        self._of_outcome = None
        if outcome.attribute is not None:
            self._of_outcome = worth(channels, {outcome.attribute: outcome.values})[outcome.attribute]
        public = columns.public
        self._plain = np.ones(len(columns.names), dtype=bool) if public is None else (public == 1).all(axis=0)
        self._shared = list(_all_shared(columns.functions, self._worths, channels, scales, self._plain))

    @property
    def is_exact(self) -> bool:
        """Whether predictors are as the truths have them."""
        return not any(shared.table.any() for shared in self._shared)

    def moments(self) -> tuple[Floats, Floats]:
        """Return unbiased estimates of Σ w x xᵀ and Σ w x y."""
        size = len(self._columns.names)
        squares, products = np.zeros((size, size)), np.zeros(size)
        for rows in self._chunks():
            z, w = self._worth(rows), self.weights[rows]
            weighted = z * w
            squares += weighted @ z.T
            products += weighted @ self._outcome_worth(rows)
            for shared in self._shared:
                squares[np.ix_(shared.first, shared.second)] += self._sum_of(shared, rows, w)
        return squares, products

    def unsure(self, column: int) -> float:
        """Return the standard error of Σ w x² of one column that is due to how numbers fill their bins."""
        function, total = self._columns.functions[column], 0.0
        for name in self._scales.keys() & function.keys():
            added = {other: values**2 for other, values in function.items()}
            added[name] = self._scales[name].excess(function[name], function[name])
            worths = worth(self._channels, added)
            for rows in self._chunks():
                w = self.weights[rows] if self._plain[column] else self.weights[rows] * self._public(rows, column) ** 2
                found = np.ones(len(w))
                for other, values in worths.items():
                    found *= values.take(self._codes[other][rows])
                total += float(w @ found)
        return UNEVEN * abs(total)

    def noise(self, column: int) -> float:
        """Return the variance that the randomization gives Σ w x², of one column: an unbiased estimate."""
        function = self._columns.functions[column]
        if all(self._channels[name].lam == 1 for name in function):
            return 0.0
        square = times(function, function)
        second, fourth = worth(self._channels, square), worth(self._channels, times(square, square))
        total = 0.0
        for rows in self._chunks():
            w = self.weights[rows] if self._plain[column] else self.weights[rows] * self._public(rows, column) ** 2
            found, own = np.ones(len(w)), np.ones(len(w))
            for name in function:
                codes = self._codes[name][rows]
                found *= second[name].take(codes)
                own *= fourth[name].take(codes)
            total += float(w**2 @ (found**2 - own))
        return total

    def _public(self, rows: slice, column: int) -> Floats:
        assert self._columns.public is not None
        return np.asarray(self._columns.public[rows, column])

    def scores(self, beta: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield the scores z (y − zβ) − Kβ of chunks of reports, a row per column; they sum to zero at the estimate."""
        for rows in self._chunks():
            z = self._worth(rows)
            found = z * (self._outcome_worth(rows) - beta @ z)
            for shared in self._shared:
                pulled, cells = shared.table @ beta[shared.second], self._cells(shared, rows)
                if shared.plain:
                    for place, column in enumerate(shared.first):
                        found[column] -= pulled[:, place].take(cells)
                else:
                    found[shared.first] -= self._public_part(shared, rows, cells, beta).T
            yield rows, found

    def along(self, vector: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield vᵀ M v of chunks of reports."""
        for rows in self._chunks():
            found = (vector @ self._worth(rows)) ** 2
            for shared in self._shared:
                cells = self._cells(shared, rows)
                if shared.plain:
                    found += (shared.table @ vector[shared.second] @ vector[shared.first]).take(cells)
                else:
                    found += self._public_part(shared, rows, cells, vector) @ vector[shared.first]
            yield rows, found

    def _chunks(self) -> Iterator[slice]:
        n = len(self.weights)
        return (slice(first, min(first + _CHUNK, n)) for first in range(0, n, _CHUNK))

    def _worth(self, rows: slice) -> Floats:
        """Return z, a row per column of the regression."""
        public = self._columns.public
        z = np.ones((len(self._worths), rows.stop - rows.start))
        for column, function in enumerate(self._worths):
            if public is not None and not self._plain[column]:
                z[column] = self._public(rows, column)
            for name, values in function.items():
                z[column] *= values.take(self._codes[name][rows])
        return z

    def _outcome_worth(self, rows: slice) -> Floats:
        if self._of_outcome is None:
            return self._outcome.values[rows]
        assert self._outcome.attribute is not None
        return np.asarray(self._of_outcome.take(self._codes[self._outcome.attribute][rows]))

    def _cells(self, shared: _Shared, rows: slice) -> Places:
        cells = np.zeros(rows.stop - rows.start, dtype=np.int64)
        for name, size in zip(shared.attributes, shared.sizes, strict=True):
            cells = cells * size + self._codes[name][rows]
        return cells

    def _sum_of(self, shared: _Shared, rows: slice, w: Floats) -> Floats:
        """Return Σ w K over some reports."""
        cells, public = self._cells(shared, rows), self._columns.public
        if shared.plain or public is None:
            in_cell = np.bincount(cells, w, minlength=len(shared.table))
            return np.asarray(np.tensordot(in_cell, shared.table, axes=1))
        first, second = public[rows][:, shared.first] * w[:, None], public[rows][:, shared.second]
        return np.asarray(np.einsum("ic,id,icd->cd", first, second, shared.table[cells], optimize=True))

    def _public_part(self, shared: _Shared, rows: slice, cells: Places, vector: Floats) -> Floats:
        """Return K times a vector where public parts are not all 1, a row per report."""
        assert self._columns.public is not None
        first, second = (self._columns.public[rows][:, some] for some in (shared.first, shared.second))
        pulled = np.einsum("icd,id->ic", shared.table[cells], second * vector[shared.second])
        return np.asarray(first * pulled)


def _all_shared(
    functions: Sequence[Product],
    worths: Sequence[Product],
    channels: Mapping[str, Channel],
    scales: Mapping[str, Scale],
    plain: NDArray[np.bool_],
) -> Iterator[_Shared]:
    """Yield K for all sets of columns that have attributes in common."""
    sets: dict[tuple[tuple[str, ...], bool], list[int]] = {}
    for column, function in enumerate(functions):
        sets.setdefault((tuple(sorted(function)), bool(plain[column])), []).append(column)
    for ((names, one), first), ((others, other), second) in itertools.product(sets.items(), repeat=2):
        if not set(names) & set(others):
            continue
        attributes = tuple(sorted({*names, *others}))
        sizes = tuple(channels[name].size for name in attributes)

        def over_cells(
            function: Product, attributes: tuple[str, ...] = attributes, sizes: tuple[int, ...] = sizes
        ) -> Floats:
            axes = [function.get(name, np.ones(size)) for name, size in zip(attributes, sizes, strict=True)]
            return np.asarray(functools.reduce(np.multiply.outer, axes)).ravel()

        table = np.empty((int(np.prod(sizes)), len(first), len(second)))
        for (i, c), (j, d) in itertools.product(enumerate(first), enumerate(second)):
            product = worth(channels, _product(functions[c], functions[d], scales))
            table[:, i, j] = over_cells(product) - over_cells(times(worths[c], worths[d]))
        yield _Shared(np.array(first), np.array(second), attributes, sizes, table, one and other)


def _product(first: Product, second: Product, scales: Mapping[str, Scale]) -> Product:
    """Return the product of two functions of a record, less what rounding a number adds to it."""
    product = times(first, second)
    for name, scale in scales.items():
        if name in first and name in second:
            product[name] = product[name] - scale.excess(first[name], second[name])
    return product
