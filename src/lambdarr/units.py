"""What the numbers of a column mean: numbers, days, or seconds; and the way back to dates and times."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from lambdarr.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DAY = 86_400.0
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_of_time(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds dates, times or durations."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_date(kind))


def is_measured(kind: pa.DataType) -> bool:
    """Return whether a column of this type has a unit: numbers, dates, times or durations."""
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(is_number or is_of_time(kind))


@dataclass(frozen=True, slots=True)
class Unit:
    """What one of a column's numbers is: itself, a day since 1970, or a second of a time or duration.

    Examples
    --------
    >>> Unit("date").value(365.0), Unit("duration").value(90.0)
    (datetime.date(1971, 1, 1), datetime.timedelta(seconds=90))
    """

    kind: Literal["number", "date", "time", "duration"]
    zone: str | None = None
    per_unit: float = 1.0
    """How many of the stored integers make one second."""

    @classmethod
    def of(cls, kind: pa.DataType, name: str) -> Unit:
        """Return the unit of a column's type, or say that it has none."""
        if pa.types.is_timestamp(kind):
            return cls("time", kind.tz, _PER_SECOND[kind.unit])
        if pa.types.is_duration(kind):
            return cls("duration", None, _PER_SECOND[kind.unit])
        if pa.types.is_date(kind):
            return cls("date")
        if is_measured(kind):
            return cls("number")
        msg = f"column {name!r} holds no numbers, dates or times ({kind}); it has no mean, quantile or covariance"
        raise DataError(msg)

    def numbers(self, column: pa.Array, name: str) -> NDArray[np.float64]:
        """Return a column as numbers, nan where it is missing."""
        if self.kind in ("time", "duration"):
            column = column.cast(pa.int64())
        elif self.kind == "date":
            column = column.cast(pa.date32()).cast(pa.int32())
        found = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
        if np.isinf(found).any() or np.isnan(found).sum() > column.null_count:
            row = int(np.flatnonzero(np.isinf(found) | (np.isnan(found) & column.is_valid().to_numpy(False)))[0]) + 1
            msg = f"column {name!r} holds nan or an infinite number, first at row {row:,}"
            raise DataError(msg)
        return found / self.per_unit

    def number(self, value: Any) -> float:
        """Return a value of the column as its number."""
        try:
            if self.kind == "date":
                return float((dt.date(value.year, value.month, value.day) - dt.date(1970, 1, 1)).days)
            if self.kind == "time":
                aware = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
                return float((aware - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)).total_seconds())
            number = float(value.total_seconds() if self.kind == "duration" else value)
        except (AttributeError, TypeError, ValueError):
            what = {"date": "a date", "time": "a datetime", "duration": "a timedelta", "number": "a number"}[self.kind]
            msg = f"a value of this column must be {what}, got {type(value).__name__}"
            raise DataError(msg) from None
        if math.isnan(number):
            msg = "a value of this column must be a number, got nan"
            raise DataError(msg)
        return number

    def value(self, number: float) -> Any:
        """Return a number of the column as a value."""
        if self.kind == "date":
            return dt.date(1970, 1, 1) + dt.timedelta(days=round(number))
        return self.moment(number)

    def moment(self, number: float) -> Any:
        """Return what may lie between values, such as a mean: of dates it is a point in time."""
        if self.kind == "number":
            return number
        if self.kind == "duration":
            return dt.timedelta(seconds=number)
        since = dt.timedelta(seconds=number * (_DAY if self.kind == "date" else 1.0))
        if self.zone is None:
            return dt.datetime(1970, 1, 1) + since  # as the column has it, without a zone
        return (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + since).astimezone(ZoneInfo(self.zone))

    def duration(self, number: float) -> Any:
        """Return a difference of numbers as one of values."""
        if self.kind == "number":
            return number
        return dt.timedelta(seconds=number * (_DAY if self.kind == "date" else 1.0))
