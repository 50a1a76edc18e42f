"""Numeric: a numerical attribute to be designed, before it is known how many bins it gets.

What is public of it, its bounds, and what will be asked of it. ``binning.py`` chooses the bins, and ``scales.py`` has
what comes of it.
"""

from __future__ import annotations

import datetime
import math
import numbers
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from lambdarr.errors import DataError, DesignError
from lambdarr.scales import Outside, Rounding, Scale, Unit, number_of

Target = Literal["mean", "quantiles", "ranges", "histogram"]
Spacing = Literal["equal", "log"]
Number = float | int | str | datetime.date | datetime.timedelta

_WIDE = 100  # the ratio of bounds from which most numbers are taken to be far nearer to the lower one


@dataclass(frozen=True, slots=True)
class Numeric:
    """A numerical attribute to be designed: its public bounds, and what will be asked of it.

    Parameters
    ----------
    name : str
        The column's name.
    low, high : number, date, timedelta or ISO date
        Public bounds, known before any answer is. None takes them from the table that is designed for, which must then
        be declared public.
    bins : int or "auto"
        Number of bins, or the number with the least predicted error for ``target``.
    spacing : {"equal", "log"}, optional
        Whether bins have the same width or the same ratio of their edges. By default "log" where ``high`` is a hundred
        times ``low`` or more, as for wages: most numbers are then near the lower bound.
    edges : iterable, optional
        The edges themselves, instead of bounds and a number of bins.
    target : {"mean", "quantiles", "ranges", "histogram"}
        What is to be estimated.
    rounding : {"random", "none"}, optional
        As for ``Scale``; by default random, so that means and relations are unbiased, and quantiles do not depend on
        where edges fall.
    outside : {"count", "clip", "refuse"}
        As for ``Scale``.
    unit : {"number", "integer", "date", "duration"}, optional
        As for ``Scale``; by default what the bounds are.
    missing, missing_is_public
        As for ``Attribute``.

    Examples
    --------
    >>> Numeric("age", 0, 120, bins=4, outside="clip").scale(4).labels
    ('0', '30', '60', '90', '120')
    """

    name: str
    low: Number | None = None
    high: Number | None = None
    bins: int | Literal["auto"] = "auto"
    edges: tuple[Number, ...] | None = None
    target: Target = "mean"
    rounding: Rounding | None = None
    outside: Outside = "count"
    unit: Unit | None = None
    missing: str | None = None
    missing_is_public: bool = False
    spacing: Spacing | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            msg = f"name of a numerical attribute must be a text that is not empty, got {self.name!r}"
            raise DesignError(msg)
        where = f"of numerical attribute {self.name!r}"
        for name, value, known in (
            ("target", self.target, get_args(Target)),
            ("rounding", self.rounding or "none", get_args(Rounding)),
            ("outside", self.outside, get_args(Outside)),
            ("unit", self.unit or "number", get_args(Unit)),
            ("spacing", self.spacing or "equal", get_args(Spacing)),
        ):
            if value not in known:
                msg = f"{name} {where} must be one of {', '.join(known)}, got {value!r}"
                raise DesignError(msg)
        if self.edges is not None:
            if (self.low, self.high, self.bins) != (None, None, "auto"):
                msg = f"edges {where} stand for low, high and bins; give one or the other"
                raise DesignError(msg)
            object.__setattr__(self, "edges", tuple(self.edges))
        elif (self.low is None) != (self.high is None):
            msg = f"low and high {where} must both be given"
            raise DesignError(msg)
        if self.bins != "auto" and (
            isinstance(self.bins, bool) or not isinstance(self.bins, numbers.Integral) or not 1 <= self.bins <= 65_534
        ):
            msg = f"bins {where} must be 'auto' or a whole number from 1 to 65,534, got {self.bins!r}"
            raise DesignError(msg)
        if self.low is not None and not self.bounds[0] < self.bounds[1]:
            low, high = self.bounds
            remedy = "a range has to have a width" if low == high else "give them the other way round"
            msg = f"low {where} must be less than high, got {self.low} and {self.high}; {remedy}"
            raise DesignError(msg)
        if self.spacing == "log" and self.low is not None and self.bounds[0] <= 0:
            msg = f"spacing {where} must be 'equal', as low is not above 0: the ratio of edges would have no end"
            raise DesignError(msg)
        if self.edges is not None:
            self.scale()  # which says what is wrong with them

    @property
    def has_bounds(self) -> bool:
        """Whether its bounds are given, or have yet to be found in a table."""
        return self.low is not None or self.edges is not None

    @property
    def measured_in(self) -> Unit:
        """The unit: as given, or that of the bounds."""
        if self.unit is not None:
            return self.unit
        given = (self.low, self.high) if self.edges is None else self.edges
        if any(isinstance(value, datetime.date | str) for value in given):
            return "date"
        return "duration" if any(isinstance(value, datetime.timedelta) for value in given) else "number"

    @property
    def rounded(self) -> Rounding:
        """The rounding: as given, or at random."""
        return self.rounding or "random"

    @property
    def spaced(self) -> Spacing:
        """The spacing: as given, or what the bounds suggest."""
        low, high = self.bounds
        wide = self.measured_in != "date" and 0 < low <= high / _WIDE
        return self.spacing or ("log" if wide else "equal")

    @property
    def bounds(self) -> tuple[float, float]:
        """Low and high in the unit."""
        first, last = (self.low, self.high) if self.edges is None else (self.edges[0], self.edges[-1])
        return self._number(first), self._number(last)

    def _number(self, value: Number | None) -> float:
        try:
            return number_of(value, self.measured_in)
        except DataError as error:
            what = str(error).replace("a value", "it").replace(", and one is not", "")
            what += "; or a number" if self.unit is None and isinstance(value, str) else ""
            msg = f"a bound of numerical attribute {self.name!r}: {what}"
            raise DesignError(msg) from None

    @property
    def most_bins(self) -> int:
        """The most bins that make sense: as many as there are whole numbers, or what an attribute can hold."""
        low, high = self.bounds
        whole = self.measured_in in ("integer", "date")
        return int(min(high - low, 65_534)) if whole else 65_534

    def scale(self, bins: int | None = None) -> Scale:
        """Return the scale with some number of bins, or with the edges given."""
        unit = self.measured_in
        try:
            if self.edges is not None:
                edges = tuple(self._number(edge) for edge in self.edges)
            else:
                count = bins if bins is not None else self.bins
                assert isinstance(count, int)
                edges = spaced_edges(*self.bounds, count, unit, self.spaced)
            return Scale(edges, unit, self.rounded, self.outside)
        except DesignError as error:
            msg = f"numerical attribute {self.name!r}: {error}"
            raise DesignError(msg) from None


def spaced_edges(low: float, high: float, bins: int, unit: Unit, spacing: Spacing = "equal") -> tuple[float, ...]:
    """Return the edges of bins of the same width, or of the same ratio; of whole numbers, as nearly as they can be.

    Examples
    --------
    >>> spaced_edges(0, 120, 4, "number"), spaced_edges(0, 10, 4, "integer")
    ((0.0, 30.0, 60.0, 90.0, 120.0), (0.0, 2.0, 5.0, 8.0, 10.0))
    >>> spaced_edges(1, 1_000, 3, "number", "log")
    (1.0, 10.0, 100.0, 1000.0)
    """
    edges = np.linspace(low, high, bins + 1) if spacing == "equal" else np.geomspace(low, high, bins + 1)
    if unit in ("integer", "date"):
        edges = np.unique(np.round(edges))
    else:  # edges are read by people: four digits of the narrowest bin will do, and the bounds as they were given
        decimals = 3 - math.floor(math.log10(np.diff(edges).min()))
        edges[1:-1] = np.round(edges[1:-1], decimals)
    return tuple(float(edge) for edge in edges)
