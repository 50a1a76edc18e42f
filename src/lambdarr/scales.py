"""Scale: how a number becomes one of some categories, by public edges, and what each category stands for.

A number is either put into its bin, or rounded at random to one of the two edges around it, the nearer one being the
likelier, so that the mean of what comes out is the number itself, however wide the bins are. What comes out is a
category like any other: it is randomized, tallied and estimated as all others are. A number outside the bounds has a
category of its own, or is moved to the bound, or is refused, as the scale says.

Edges are numbers in the scale's unit: days since 1970-01-01 for dates, seconds for durations.
"""

from __future__ import annotations

import datetime
import itertools
import math
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lambdarr.errors import DataError, DesignError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Unit = Literal["number", "integer", "date", "duration"]
Rounding = Literal["random", "none"]
Outside = Literal["count", "clip", "refuse"]

OUTSIDE = -1
"""The code of a number that the scale refuses."""

FEWEST_BINS = 4
"""Bins below which nobody knows how numbers fill them, and so how much a number that is rounded at random varies."""

UNEVEN = 0.2
"""Standard error of what rounding adds to squares, as a share of it: nobody knows how numbers fill their bins."""

_EPOCH = datetime.date(1970, 1, 1)
_WORDS = 2.0**32
_DIGITS = 12  # of an edge: few enough that its text is the number itself


@dataclass(frozen=True, slots=True)
class Scale:
    """Edges, and what is done with the numbers between and outside them.

    Parameters
    ----------
    edges : tuple of number
        The public edges of the bins, ascending: one more than there are bins.
    unit : {"number", "integer", "date", "duration"}
        What the numbers are. Whole numbers fill a bin differently from decimal ones: 4.5 is the middle of 0 to 9.
    rounding : {"random", "none"}
        Whether a number becomes one of the two edges around it, at random, or its bin.
    outside : {"count", "clip", "refuse"}
        What becomes of a number outside the edges: one of two categories of its own, the bound, or an error.

    Examples
    --------
    >>> Scale((0, 10, 20), rounding="none").labels
    ('below 0', '[0, 10)', '[10, 20]', 'above 20')
    >>> Scale((0, 10, 20), rounding="random", outside="clip").labels
    ('0', '10', '20')
    """

    edges: tuple[float, ...]
    unit: Unit = "number"
    rounding: Rounding = "random"
    outside: Outside = "count"

    def __post_init__(self) -> None:
        edges = tuple(_tidy(edge) for edge in self.edges)
        object.__setattr__(self, "edges", edges)
        for name, value, known in (
            ("unit", self.unit, get_args(Unit)),
            ("rounding", self.rounding, get_args(Rounding)),
            ("outside", self.outside, get_args(Outside)),
        ):
            if value not in known:
                msg = f"{name} must be one of {', '.join(known)}, got {value!r}"
                raise DesignError(msg)
        if len(edges) < 2 or any(not math.isfinite(edge) for edge in edges):
            msg = f"edges must be two or more finite numbers, got {len(edges)}"
            raise DesignError(msg)
        if any(first >= second for first, second in itertools.pairwise(edges)):
            msg = "edges must ascend, and no two may be the same to twelve digits; give them from low to high"
            raise DesignError(msg)
        if self.unit in ("integer", "date") and any(edge != int(edge) for edge in edges):
            msg = f"edges of a scale of {self.unit}s must be whole"
            raise DesignError(msg)
        if self.size < 2:
            msg = "one bin with nothing outside tells nothing; take two bins or more, or round to its edges"
            raise DesignError(msg)

    @property
    def bins(self) -> int:
        """Number of bins between the edges."""
        return len(self.edges) - 1

    @property
    def spacing(self) -> Literal["equal", "other"]:
        """Whether all bins have the same width, but for the rounding of their edges."""
        widths = np.diff(np.array(self.edges, dtype=np.float64))
        slack = 1 if self.unit in ("integer", "date") else 1e-9 * (self.edges[-1] - self.edges[0])
        return "equal" if widths.max() - widths.min() <= slack else "other"

    @property
    def inside(self) -> int:
        """Number of categories within the bounds: the bins, or the edges that numbers are rounded to."""
        return self.bins + (self.rounding == "random")

    @property
    def counts_outside(self) -> bool:
        """Whether numbers below and above the bounds have a category each, the first and the last."""
        return self.outside == "count"

    @property
    def hides_variance(self) -> bool:
        """Whether rounding leaves it open how much the numbers vary."""
        return self.rounding == "random" and self.bins < FEWEST_BINS

    @property
    def size(self) -> int:
        """Number of categories."""
        return self.inside + 2 * self.counts_outside

    @property
    def places(self) -> slice:
        """Where the categories within the bounds are among all."""
        return slice(int(self.counts_outside), int(self.counts_outside) + self.inside)

    @property
    def points(self) -> Floats:
        """The number that each category within the bounds stands for: the edge, or the middle of the bin."""
        edges = np.array(self.edges, dtype=np.float64)
        if self.rounding == "random":
            return edges
        middles = (edges[:-1] + edges[1:]) / 2
        if self.unit in ("integer", "date"):  # the whole numbers in [0, 10) are 0 … 9; the last bin has both its edges
            middles[:-1] -= 0.5
        return middles

    @property
    def examples(self) -> tuple[float, ...]:
        """A number for each category that becomes it for certain: an edge, the start of a bin, one outside."""
        edges = self.edges
        inside = edges if self.rounding == "random" else edges[:-1]
        width = edges[-1] - edges[0]
        return (edges[0] - width, *inside, edges[-1] + width) if self.counts_outside else inside

    @property
    def scores(self) -> Floats:
        """The number of every category, for products of attributes: outside, that of the bound."""
        points = self.points
        return np.concatenate([[self.edges[0]], points, [self.edges[-1]]]) if self.counts_outside else points

    def excess(self, first: Floats, second: Floats) -> Floats:
        """Return how much more the product of two functions is at a rounded number than at the number, on average.

        A function of edges is, on average over the rounding, the line between its values at the two edges around the
        number. The product of two such lines falls short of the line of the products, by Δf Δg u (1 − u) at the part u
        of the bin; by Δf Δg/6 on average over a bin that numbers fill evenly. Each edge has half of its bins' excess.

        Examples
        --------
        >>> scale = Scale((0, 10, 20), outside="clip")
        >>> scale.excess(scale.points, scale.points)  # of the square: h²/6
        array([16.667, 16.667, 16.667])
        """
        found = np.zeros(self.size)
        if self.rounding == "random":
            inside = found[self.places]
            in_bins = np.diff(first[self.places]) * np.diff(second[self.places]) / 6
            if self.unit in (
                "integer",
                "date",
            ):  # of h whole numbers one is the edge itself: less, and nothing if h = 1
                in_bins = in_bins * (1 - 1 / np.diff(np.array(self.edges, dtype=np.float64)) ** 2)
            inside[0], inside[-1] = in_bins[0], in_bins[-1]
            inside[1:-1] = (in_bins[:-1] + in_bins[1:]) / 2
        return found

    def undoes(self, function: Floats) -> bool:
        """Return whether a function of the categories is, on average over the rounding, that of the number itself.

        Of numbers that are rounded at random, lines are: a + b · x. Of others nothing can be said exactly.
        """
        if self.rounding == "none":
            return True
        slopes = np.diff(function[self.places]) / np.diff(self.points)
        return bool(np.ptp(slopes) <= 1e-9 * max(float(np.abs(slopes).max()), 1e-300))

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories as they are reported."""
        texts = [written(edge, self.unit) for edge in self.edges]
        if self.rounding == "random":
            inside = texts
        else:
            inside = [f"[{low}, {high})" for low, high in itertools.pairwise(texts)]
            inside[-1] = f"{inside[-1][:-1]}]"
        return (f"below {texts[0]}", *inside, f"above {texts[-1]}") if self.counts_outside else tuple(inside)

    def codes(self, values: Floats, words: NDArray[np.uint32] | None) -> NDArray[np.int32]:
        """Return the category of each number, ``OUTSIDE`` where it is refused.

        Parameters
        ----------
        values : array
            Finite numbers in the scale's unit.
        words : array, optional
            A uniform 32-bit word for each, for the rounding; none where numbers go into bins. With x between the edges
            a and b, the report is b if the word is below ⌊(x − a)/(b − a) · 2³²⌋.

        Examples
        --------
        >>> scale = Scale((0, 10, 20), outside="clip")
        >>> scale.codes(np.array([7.5, 7.5, 20.0]), np.array([0, 2**32 - 1, 2**32 - 1], dtype=np.uint32))
        array([1, 0, 2], dtype=int32)
        """
        edges = np.array(self.edges, dtype=np.float64)
        if not np.isfinite(values).all() or (self.rounding == "random" and words is None):
            msg = "numbers must be finite, and have a word each where they are rounded at random"
            raise DataError(msg)
        clipped = np.clip(values, edges[0], edges[-1])
        place = np.searchsorted(edges[1:-1], clipped, side="right")
        codes = place.astype(np.int32)
        if self.rounding == "random":
            assert words is not None
            part = (clipped - edges[place]) / (edges[place + 1] - edges[place])
            codes += words < np.floor(part * _WORDS)
        if self.outside == "clip":
            return codes
        below, above = values < edges[0], values > edges[-1]
        if self.outside == "refuse":
            codes[below | above] = OUTSIDE
            return codes
        codes += 1
        codes[below], codes[above] = 0, self.size - 1
        return codes

    def to_dict(self) -> dict[str, Any]:
        """Return the scale as the design's JSON has it."""
        return {"edges": list(self.edges), "unit": self.unit, "rounding": self.rounding, "outside": self.outside}

    def number(self, value: object) -> float:
        """Return one answer as a number in the scale's unit.

        Examples
        --------
        >>> Scale((0, 31), unit="date").number("1970-01-02")
        1.0
        """
        return number_of(value, self.unit)


def number_of(value: object, unit: Unit) -> float:
    """Return a number, date or duration as a number in a unit."""
    found = _number_of(value, unit)
    if not math.isfinite(found):
        msg = f"a value must be finite, and one is {'nan' if math.isnan(found) else 'infinite'}"
        raise DataError(msg)
    if unit == "integer" and found != int(found):
        msg = "a value must be a whole number, and one is not"
        raise DataError(msg)
    return found


def _number_of(value: object, unit: Unit) -> float:
    try:
        if unit == "date":
            if isinstance(value, str):
                value = datetime.datetime.fromisoformat(value)
            if isinstance(value, datetime.datetime):
                return float((value.date() - _EPOCH).days)
            if isinstance(value, datetime.date):
                return float((value - _EPOCH).days)
        elif unit == "duration" and isinstance(value, datetime.timedelta):
            return value.total_seconds()
        if unit != "date" and isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_):
            return float(value)
    except (ValueError, OverflowError):
        pass
    wanted = {"date": "a date such as 2026-11-15", "duration": "a duration, or a number of seconds"}
    msg = f"a value must be {wanted.get(unit, 'a number')}, and one is not"
    raise DataError(msg)


def written(value: float, unit: Unit) -> str:
    """Return a number as a person writes it: a date as a date.

    Examples
    --------
    >>> written(0.5, "number"), written(31, "date")
    ('0.5', '1970-02-01')
    """
    if unit == "date":
        return (_EPOCH + datetime.timedelta(days=round(value))).isoformat()
    return str(_tidy(value))


def _tidy(edge: float) -> float:
    """Return an edge with as many digits as its text has; a whole one as an integer, as JSON and people write it."""
    if isinstance(edge, bool) or not isinstance(edge, numbers.Real):
        msg = f"edges must be numbers in the scale's unit, and one is {type(edge).__name__}"
        raise DesignError(msg)
    if not math.isfinite(edge):
        return float(edge)
    if edge == int(edge) and abs(edge) < 2**53:
        return int(edge)
    return float(f"{float(edge):.{_DIGITS}g}")


def read_numbers(
    name: str, column: pa.Array, unit: Unit, *, as_text: bool, missing: str | None, first_row: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return a column's numbers in a unit, and where it is null; what is there in place of a null means nothing.

    Parameters
    ----------
    name : str
        The column's name, for messages.
    column : pyarrow.Array
        Numbers, dates or durations, or their texts where ``as_text``.
    missing : str, optional
        The text of a missing value; an empty text is one as well.
    first_row : int
        Number of the batch's first row in its table, for messages.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if as_text:
        column = _from_text(name, column, unit, missing=missing, first_row=first_row)
    found = _in_unit(name, column, unit)
    null = pc.is_null(column).to_numpy(zero_copy_only=False)
    if bad := _first(~np.isfinite(found) & ~null):
        row = first_row + bad.place
        msg = f"{bad.count:,} values of attribute {name!r} are nan or infinite, first at row {row:,}; {_REMEDY}"
        raise DataError(msg)
    if unit == "integer" and (bad := _first((found != np.floor(found)) & ~null)):
        row = first_row + bad.place
        msg = (
            f"{bad.count:,} values of attribute {name!r} are not whole, first at row {row:,}; round them, or give the "
            "attribute the unit number"
        )
        raise DataError(msg)
    return found, null


@dataclass(frozen=True, slots=True)
class _Bad:
    count: int
    place: int


def _first(bad: NDArray[np.bool_]) -> _Bad | None:
    return _Bad(int(bad.sum()), int(bad.argmax())) if bad.any() else None


_REMEDY = "leave them empty and give the attribute a missing category, or correct them first"


def _from_text(name: str, column: pa.Array, unit: Unit, *, missing: str | None, first_row: int) -> pa.Array:
    """Return a text file's column as numbers or dates, its empty fields and those that say so as nulls."""
    text = column.cast(pa.string())
    empty = pa.array(["", *([] if missing is None else [missing])])
    text = pc.if_else(pc.is_in(text, value_set=empty), None, text)
    kind = pa.date32() if unit == "date" else pa.float64()
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        row = first_row + next(place for place, value in enumerate(text) if not _is_castable(value, kind))
        what, hint = ("a date such as 2026-11-15", "") if unit == "date" else ("a number", "; of dates, say unit=date")
        msg = f"attribute {name!r} holds what is not {what}, first at row {row:,}; correct it, or leave it empty{hint}"
        raise DataError(msg) from None


def _is_castable(value: pa.Scalar, kind: pa.DataType) -> bool:
    try:
        value.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


_TYPES = {
    "duration": pa.types.is_duration,
    "date": lambda kind: pa.types.is_date(kind) or pa.types.is_timestamp(kind),
}


def _in_unit(name: str, column: pa.Array, unit: Unit) -> Floats:
    kind = column.type
    if pa.types.is_null(kind):
        return np.zeros(len(column))
    if unit == "date" and pa.types.is_temporal(kind) and not pa.types.is_duration(kind) and not pa.types.is_time(kind):
        # a moment is of its day; Arrow's cast would refuse to lose its hours
        column = (
            pc.floor_temporal(column, unit="day").cast(pa.date32())
            if pa.types.is_timestamp(kind)
            else column.cast(pa.date32())
        )
        column = column.cast(pa.int32())
    elif unit == "duration" and pa.types.is_duration(kind):
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        return np.asarray(pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False) / per_second)
    elif unit == "date" or not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        wanted = {"date": "dates", "duration": "durations or seconds"}.get(unit, "numbers")
        hint = next((unit for unit, of in _TYPES.items() if of(kind)), None)
        remedy = "convert the column first" if hint is None else f"say unit={hint}, or convert the column first"
        msg = f"attribute {name!r} is a scale of {wanted}, but its column holds {kind}; {remedy}"
        raise DataError(msg)
    if pa.types.is_floating(kind):  # pandas writes a null as nan, which Arrow may pass on as it is
        return np.asarray(pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False), dtype=np.float64)
    return np.asarray(pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False))
