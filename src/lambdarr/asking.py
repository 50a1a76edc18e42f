"""How many attributes to ask of each respondent: fewer answers, each with a larger λ, at the same ε.

Of a table of k attributes only those who were asked all of it count, so fewer people; but each of their answers says
more. The expected error of both is known before any data are seen, so the better one can be chosen by calculation.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lambdarr.errors import DesignError
from lambdarr.solving import design
from lambdarr.sources import as_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lambdarr.designs import Design


@dataclass(frozen=True, slots=True)
class AskedPlan:
    """What to expect if each respondent answers so many attributes.

    Parameters
    ----------
    asked : int
        Number m′ of attributes that each respondent answers.
    design : Design
        The design with that ``asked`` and the ε compared.
    reports : float
        Expected number of reports that have a table of the order compared.
    error : float
        Expected squared error of the unbiased estimates, summed over cells and over all tables of that order.
    gain : float
        How many times smaller that is than if everyone answered everything.
    """

    asked: int
    design: Design
    reports: float
    error: float
    gain: float

    @property
    def lams(self) -> tuple[float, ...]:
        """λ of each attribute."""
        return tuple(channel.lam for channel in self.design.channels)


@dataclass(frozen=True, slots=True)
class AskedComparison:
    """Plans for every number of attributes that may be asked. Made by ``lambdarr.compare_asked``.

    Parameters
    ----------
    plans : tuple of AskedPlan
        From as many as the tables have to all.
    order : int
        Number k of attributes of the tables compared.
    """

    plans: tuple[AskedPlan, ...]
    order: int

    @property
    def best(self) -> AskedPlan:
        """The plan with the smallest error; of equals the one that asks most."""
        return min(reversed(self.plans), key=lambda plan: plan.error)

    def to_frame(self, *, library: str = "pyarrow") -> Any:
        """Return the plans as a frame, a row for each."""
        columns: dict[str, Any] = {
            "asked": [plan.asked for plan in self.plans],
            "reports": [plan.reports for plan in self.plans],
            "error": [plan.error for plan in self.plans],
            "gain": [plan.gain for plan in self.plans],
        }
        for place, name in enumerate(self.plans[0].design.names):
            columns[f"lambda {name}"] = [plan.lams[place] for plan in self.plans]
        return as_frame(pa.table(columns), library)


def compare_asked(
    source: Any, *, epsilon: float, order: int = 1, n: int = 1_000, columns: Iterable[str] | None = None
) -> AskedComparison:
    """Return the error to expect of all k-way tables for every number of attributes that may be asked, at the same ε.

    Parameters
    ----------
    source : table, path, or attributes
        As for ``lambdarr.design``.
    epsilon : float
        ε of the whole report, spread over the attributes that are asked in equal parts.
    order : int
        Number k of attributes of the tables that matter: 1 for shares, 2 for how pairs go together.
    n : int
        Number of respondents; it does not decide which number is best.
    columns : iterable of str, optional
        Which columns become attributes; by default all.

    Notes
    -----
    Eq. (42) and (43) of docs/theory.md, for evenly spread people; other people's errors hardly differ.

    Examples
    --------
    >>> import lambdarr as lr
    >>> found = lr.compare_asked({"sex": ["F", "M"], "vote": ["A", "B", "C"], "age": range(6)}, epsilon=1)
    >>> [(plan.asked, round(plan.gain, 2)) for plan in found.plans], found.best.asked
    ([(1, 3.93), (2, 1.63), (3, 1.0)], 1)
    """
    for name, value in (("order", order), ("n", n)):
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
            msg = f"{name} must be a whole number, 1 or more, got {value!r}"
            raise DesignError(msg)
    whole = design(source, epsilon=epsilon, columns=columns)
    count = len(whole.names)
    if order > count:
        msg = f"order must be at most the {count} attributes, got {order}; it is how many a table has"
        raise DesignError(msg)
    designs = [design(whole.attributes, epsilon=epsilon, asked=asked) for asked in range(order, count)] + [whole]
    errors = [_total_error(made, order) / (n * _share(made, order)) for made in designs]
    plans = (
        AskedPlan(made.asked or count, made, n * _share(made, order), error, errors[-1] / error)
        for made, error in zip(designs, errors, strict=True)
    )
    return AskedComparison(tuple(plans), order)


def _share(made: Design, order: int) -> float:
    """Return the chance that a respondent is asked all attributes of a table, C(m − k, m′ − k)/C(m, m′)."""
    if made.asked is None or made.out_of is None:
        return 1.0
    return math.prod((made.asked - i) / (made.out_of - i) for i in range(order))


def _total_error(made: Design, order: int) -> float:
    """Return E‖Aeᵧ − π‖² of one report, summed over all tables of an order, for evenly spread people."""
    squares = [(1 + (channel.size - 1) / channel.lam**2) / channel.size for channel in made.channels]
    return _products_of(squares, order) - _products_of([1 / channel.size for channel in made.channels], order)


def _products_of(factors: Sequence[float], order: int) -> float:
    """Return the sum over all sets of ``order`` factors of their product."""
    sums = [1.0] + [0.0] * order
    for factor in factors:
        for i in range(order, 0, -1):
            sums[i] += factor * sums[i - 1]
    return sums[order]
