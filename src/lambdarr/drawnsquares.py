"""Linear regression where the outcome or predictors are drawn over the individuals of the file.

Second moments of one drawn column, or of functions of it, are those of its reports. Products of different columns are
centred and divided by their λ's; attributes of the design enter by what their reports are worth, public columns as they
are. The influence of a record on a coefficient is (u₀ + Σ u_g)(Σ w_g) over the groups g of terms that share a column,
so it is a sum of functions of one group and products of two: docs/theory.md, eq. (56).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lambdarr.conditions import worth
from lambdarr.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.domain import Codes
    from lambdarr.formulas import Columns, Formula, Outcome
    from lambdarr.records import Data

    Floats = NDArray[np.float64]

_CHUNK = 1 << 15
_CLEAR = 2.0  # standard errors by which what predictors tell apart has to differ from nothing, as in fitting.py


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The terms of a regression that are functions of one column: a drawn one, an attribute, or all public ones.

    Parameters
    ----------
    places : tuple of int
        Where its terms stand among all; the outcome is the last of all.
    functions : array
        The terms, a row each: per report, or per category of an attribute.
    lam : float
        λ of a drawn column; 1 otherwise.
    codes, channel
        Of an attribute.
    """

    places: tuple[int, ...]
    functions: Floats
    lam: float = 1.0
    codes: Codes | None = None
    channel: Channel | None = None

    def means(self) -> Floats:
        """Return unbiased estimates of the terms' means."""
        return np.asarray(self._seen(self.functions).mean(axis=1))

    def second_moments(self, centres: Floats) -> Floats:
        """Return unbiased estimates of the terms' covariances."""
        centred = self.functions - centres[:, None]
        if self.codes is None:
            return np.asarray(centred @ centred.T / centred.shape[1])
        products = (centred[:, None] * centred[None]).reshape(-1, centred.shape[1])
        return np.asarray(self._seen(products).mean(axis=1).reshape(len(centred), -1))

    def over(self, rows: slice, centres: Floats) -> Floats:
        """Return the centred terms of some reports, or of all categories."""
        some = self.functions[:, rows] if self.codes is None else self.functions
        return np.asarray(some - centres[:, None])

    def seen(self, functions: Floats, rows: slice) -> Floats:
        """Return numbers per report whose mean is that of functions of this group, given by ``over``."""
        return self._seen(functions, rows)

    def worth(self, functions: Floats, rows: slice) -> Floats:
        """Return numbers per report that are unbiased for centred functions of its own truth."""
        return self._seen(functions, rows) / self.lam

    def _seen(self, functions: Floats, rows: slice = slice(None)) -> Floats:
        if self.codes is None or self.channel is None:
            return functions
        worths = np.stack([worth({"": self.channel}, {"": function})[""] for function in functions])
        return worths[:, self.codes[rows]]


class Fit(NamedTuple):
    """Coefficients, the intercept first, and their covariance matrix."""

    values: Floats
    covariance: Floats
    degrees: float = math.inf


def fitted_with_drawn(
    formula: Formula, data: Data, columns: Columns, specification: Any, outcome: Outcome, lams: Mapping[str, float]
) -> Fit:
    """Return the regression that a formula means; ``lams`` are the keep rates of the drawn columns in it."""
    if columns.names[0] != "Intercept":
        msg = "a regression with drawn columns needs its intercept: products are taken around the means; leave out - 1"
        raise DataError(msg)
    records = data.waves[0]
    sources = _sources(formula, columns, specification, lams)
    of_outcome = _source_of_outcome(formula, outcome, lams)
    if of_outcome is not None and of_outcome in sources:
        msg = f"{of_outcome!r} is on both sides of the formula"
        raise DataError(msg)
    members: dict[str | None, list[int]] = {}
    for place, source in enumerate([*sources, of_outcome]):
        members.setdefault(source, []).append(place)

    def term(place: int, source: str | None) -> Floats:
        if place == len(sources):
            return outcome.values
        if source in records.codes:
            return columns.functions[place + 1][source]
        assert columns.public is not None  # as it holds the drawn columns too
        return np.asarray(columns.public[:, place + 1])

    groups = []
    for source, places in members.items():
        terms = np.stack([term(place, source) for place in places]).astype(np.float64)
        if source in records.codes:
            groups.append(Group(tuple(places), terms, 1.0, records.codes[source], records.channels[source]))
        else:
            groups.append(Group(tuple(places), terms, 1.0 if source is None else lams[source]))
    return fitted(groups, columns.names[1:], data.n)


def _sources(formula: Formula, columns: Columns, specification: Any, lams: Mapping[str, float]) -> list[str | None]:
    """Return the drawn column or attribute that each term after the intercept is a function of; None if public."""
    variables = formula.variables_of(specification)
    for expression, state in specification.transform_state.items():
        if state and (name := next((name for name in lams if name in re.findall(r"\w+", expression)), None)):
            msg = (
                f"{expression} depends on how the truths of {name!r} are distributed, which is not in the errors; "
                "write the numbers out, as in I(x - 3)"
            )
            raise DataError(msg)
    found: list[str | None] = []
    for place, term in enumerate(columns.names[1:], start=1):
        own = [name for factor in variables[term] for name in factor]
        attributes, drawn = list(columns.functions[place]), [name for name in own if name in lams]
        if (drawn and len(own) > 1) or len(attributes) > 1 or (attributes and len(set(own)) > 1):
            msg = (
                f"{term} is an interaction; a regression with drawn columns has main effects only, each a function of "
                "one drawn column, of one attribute, or of public columns"
            )
            raise DataError(msg)
        found.append(drawn[0] if drawn else attributes[0] if attributes else None)
    return found


def _source_of_outcome(formula: Formula, outcome: Outcome, lams: Mapping[str, float]) -> str | None:
    drawn = [name for name in formula.outcome_variables if name in lams]
    if drawn and len(formula.outcome_variables) > 1:
        msg = f"the outcome {outcome.name} mixes {', '.join(formula.outcome_variables)}; it has to be of one column"
        raise DataError(msg)
    return drawn[0] if drawn else outcome.attribute


def fitted(groups: Sequence[Group], names: Sequence[str], n: int) -> Fit:
    """Return the coefficients of all terms but the last, which is the outcome, and of the intercept."""
    size = len(names) + 1
    means = np.empty(size)
    for group in groups:
        means[list(group.places)] = group.means()
    squares = _second_moments(groups, means, n)
    predictors, products = squares[:-1, :-1], squares[:-1, -1]
    _check(predictors, groups, means, names, n)
    slopes = np.linalg.solve(predictors, products)
    intercept = means[-1] - means[:-1] @ slopes
    # a row for each coefficient: how it moves with u₀ and with every term
    inverse = np.linalg.inv(predictors)
    pull = np.zeros((size, size))
    pull[0, :-1], pull[1:, :-1] = -means[:-1] @ inverse, inverse
    constant = np.zeros((size, 1))
    constant[0] = 1.0
    residual = np.append(-slopes, 1.0)
    return Fit(np.append(intercept, slopes), _variance(groups, means, pull, constant, residual, n) / n)


def _second_moments(groups: Sequence[Group], means: Floats, n: int) -> Floats:
    """Return unbiased estimates of the covariances of all terms: of different groups, from what reports are worth."""
    total = np.zeros((len(means), len(means)))
    for rows in _chunks(n):
        z = np.empty((len(means), rows.stop - rows.start))
        for group in groups:
            places = list(group.places)
            z[places] = group.worth(group.over(rows, means[places]), rows)
        total += z @ z.T
    total /= n
    for group in groups:
        places = list(group.places)
        total[np.ix_(places, places)] = group.second_moments(means[places])
    return total


def _variance(
    groups: Sequence[Group], means: Floats, pull: Floats, constant: Floats, residual: Floats, n: int
) -> Floats:
    """Return n times the covariance matrix of the coefficients in a population: eq. (53) for this influence."""
    size, lams = len(pull), [group.lam for group in groups]
    # E S_g = E u_g w_g of each group, so that what is summed below is centred
    centres = [np.zeros((size, 1)) for _ in groups]
    of_products = np.zeros((size, 1))
    for rows in _chunks(n):
        parts = _parts(groups, means, pull, constant, residual, rows)
        for place, single in enumerate(parts.singles):
            centres[place] += single.sum(axis=1, keepdims=True) / n
        of_products += parts.products.sum(axis=1, keepdims=True) / n
    total = np.zeros((size, size))
    for rows in _chunks(n):
        parts = _parts(groups, means, pull, constant, residual, rows)
        singles = [single - centre for single, centre in zip(parts.singles, centres, strict=True)]
        shown = np.sum(singles, axis=0) + parts.products - of_products
        total += shown @ shown.T
        for g, (single, lam) in enumerate(zip(singles, lams, strict=True)):
            total += (1 - lam**2) * (single @ single.T)
            if lam < 1:
                within = parts.products_with[g]
                cross = (1 - lam) * (single @ (within + (parts.products - within) / lam).T)
                total += cross + cross.T
            for other, of_other in zip(singles[:g], lams[:g], strict=True):
                factor = 1 / (lam * of_other) - 1
                if factor:
                    cross = factor * (single @ other.T)
                    total += cross + cross.T
    return total / n


class _Parts(NamedTuple):
    singles: list[Floats]
    """Of each group, the part of the influence that is a function of it alone: coefficients × reports."""
    products: Floats
    """The part that is products of two groups."""
    products_with: list[Floats]
    """Of that, what each group is in."""


def _parts(
    groups: Sequence[Group], means: Floats, pull: Floats, constant: Floats, residual: Floats, rows: slice
) -> _Parts:
    singles, u, w = [], [], []
    for group in groups:
        places = list(group.places)
        centred = group.over(rows, means[places])
        of_u, of_w = pull[:, places] @ centred, residual[places] @ centred
        singles.append(group.seen((constant + of_u) * of_w, rows))
        u.append(group.worth(of_u, rows))
        w.append(group.worth(of_w[None], rows))
    all_u, all_w = np.sum(u, axis=0), np.sum(w, axis=0)
    products = all_u * all_w - np.sum([a * b for a, b in zip(u, w, strict=True)], axis=0)
    return _Parts(singles, products, [a * (all_w - b) + b * (all_u - a) for a, b in zip(u, w, strict=True)])


def _check(predictors: Floats, groups: Sequence[Group], means: Floats, names: Sequence[str], n: int) -> None:
    """Refuse predictors that the reports cannot tell apart."""
    spreads = np.diag(predictors)
    if (spreads <= 0).any():
        msg = f"nothing can be said about {names[int(np.argmin(spreads))]}: it is the same for everyone, by the reports"
        raise DataError(msg)
    if not len(spreads):
        return
    scale = np.sqrt(spreads)
    values, vectors = np.linalg.eigh(predictors / np.outer(scale, scale))
    direction = np.append(vectors[:, 0] / scale, 0.0)
    noise = 0.0
    for rows in _chunks(n):
        z = [
            direction[list(group.places)] @ group.worth(group.over(rows, means[list(group.places)]), rows)
            for group in groups
        ]
        crossed = np.sum(z, axis=0) ** 2 - np.sum([part**2 for part in z], axis=0)
        noise += float((crossed**2).sum())
    if values[0] <= max(1e-10, _CLEAR * np.sqrt(noise) / n if any(group.lam < 1 for group in groups) else 0.0):
        strongest = np.argsort(-np.abs(vectors[:, 0]))
        together = [names[place] for place in strongest if abs(vectors[place, 0]) > 0.2][:4]
        msg = (
            f"the reports cannot tell the effects of {', '.join(together)} apart: they are collinear, or drowned in "
            "noise at these λ's and numbers; leave one out"
        )
        raise DataError(msg)


def _chunks(n: int) -> list[slice]:
    return [slice(first, min(first + _CHUNK, n)) for first in range(0, n, _CHUNK)]
