"""Sources → the attributes of a design: what is given, or the categories and bounds that a table holds.

Categories that are found in a table are published with the design. So would be the bounds of a numerical column, and
these are two people's own answers: they are taken from a table only if they are declared public.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lambdarr.channel import MAX_SIZE
from lambdarr.designs import listed
from lambdarr.domain import Attribute, comparable, has_declared_order
from lambdarr.errors import DataError, DesignError
from lambdarr.numeric import Numeric
from lambdarr.scales import read_numbers, written
from lambdarr.sources import Source, check_present, open_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from lambdarr.domain import Category
    from lambdarr.numeric import Number
    from lambdarr.scales import Unit

_FEW = 20  # as many categories as a person would write down
_ALMOST = 0.8  # share of rows with a value of their own from which a column tells people apart
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Found(NamedTuple):
    """What a design is made for."""

    attributes: tuple[Attribute | Numeric, ...]
    rows: int | None = None
    """Number of records of the table; None where attributes were given instead."""
    gaps: frozenset[str] = frozenset()
    """Which of the drawn columns have missing values."""
    drawn: tuple[pa.RecordBatch, ...] = ()
    """The drawn columns of the table."""
    as_text: bool = False
    """Whether it is a text file."""


def attributes_in(
    source: Any,
    *,
    numeric: Iterable[Numeric],
    drawn: tuple[str, ...],
    columns: Iterable[str] | None,
    keep: tuple[str, ...],
    missing: str,
    public_missing: tuple[str, ...],
    public_bounds: bool,
) -> Found:
    """Return the attributes that a source gives, or those of a table's columns; parameters as for ``design``."""
    wanted = None if columns is None else listed(columns)
    numeric = (numeric,) if isinstance(numeric, Numeric) else tuple(numeric)
    if wrong := [item for item in numeric if not isinstance(item, Numeric)]:
        msg = f"numeric must be lambdarr.Numeric objects, got {type(wrong[0]).__name__}; see lr.Numeric"
        raise DesignError(msg)
    given: tuple[Attribute | Numeric, ...]
    if isinstance(source, Mapping):
        given = tuple(Attribute(name, categories) for name, categories in source.items())
    elif isinstance(source, Attribute | Numeric):
        given = (source,)
    elif isinstance(source, list | tuple) and all(isinstance(item, Attribute | Numeric) for item in source):
        given = tuple(source)
    else:
        columns_of = _Columns(open_source(source), wanted, numeric, drawn, keep, missing, public_missing)
        where = str(source) if isinstance(source, str | Path) else "the table"
        return columns_of.found(where, public_bounds=public_bounds)
    if set(public_missing) - set(drawn):
        msg = (
            "public_missing is for columns of a table; say it of an attribute: lr.Attribute(…, missing_is_public=True)"
        )
        raise DesignError(msg)
    given = (*given, *numeric)
    for item in given:
        if isinstance(item, Numeric) and not item.has_bounds:
            raise _no_bounds(item.name)
    if wanted is None:
        return Found(given)
    names = [attribute.name for attribute in given]
    return Found(tuple(given[place_of(name, names)] for name in wanted))


def _no_bounds(name: str) -> DesignError:
    return DesignError(
        f"numerical attribute {name!r} has no bounds; give low and high that are public, known before any answer is. "
        "Those of a table are two people's own answers: if they may be published, say public_bounds=True "
        "(--public-bounds)"
    )


class _Columns:
    """The columns of a table that become attributes."""

    def __init__(
        self,
        source: Source,
        columns: tuple[str, ...] | None,
        numeric: tuple[Numeric, ...],
        drawn: tuple[str, ...],
        keep: tuple[str, ...],
        missing: str,
        public_missing: tuple[str, ...],
    ) -> None:
        self._numeric = {item.name: item for item in numeric}
        check_present((*(columns or ()), *self._numeric, *keep, *drawn), source.names)
        others = {*keep, *drawn}
        if columns is None:
            self._names = [name for name in source.names if name not in others]
        else:
            self._names = [*columns, *(name for name in self._numeric if name not in columns)]
        for (first, some), (second, more) in combinations(
            {"columns": columns or (), "keep": keep, "drawn": drawn}.items(), 2
        ):
            if twice := [name for name in some if name in more]:
                msg = (
                    f"column {twice[0]!r} is named twice, in {first} (--{first}) and {second} (--{second}); choose one"
                )
                raise DesignError(msg)
        if twice := [name for name in self._numeric if name in others]:
            what = "kept as it is" if twice[0] in keep else "drawn over the individuals"
            msg = f"column {twice[0]!r} is to be reported on its scale, and {what}; choose one"
            raise DesignError(msg)
        if not self._names and not drawn:
            msg = "no column is left to randomize; name columns, or keep fewer"
            raise DesignError(msg)
        for name in public_missing:
            place_of(name, [*self._names, *drawn])
        self._drawn, self._source, self._missing, self._public_missing = drawn, source, missing, public_missing

    def found(self, where: str, *, public_bounds: bool) -> Found:
        """Return an attribute per column, with the categories that the table holds."""
        for name, item in self._numeric.items():
            if not item.has_bounds and not public_bounds:
                raise _no_bounds(name)
        distinct: dict[str, pa.Array] = {}
        ranges = {name: _Range() for name in self._numeric}
        gaps: set[str] = set()
        rows = 0
        whole: list[pa.RecordBatch] = []
        for batch in self._source.batches(list(dict.fromkeys([*self._names, *self._drawn]))):
            gaps |= {name for name in self._drawn if self._has_gaps(batch.column(name))}
            whole.append(batch.select(self._drawn))
            for name in self._names:
                column = batch.column(name)
                if name in self._numeric:
                    ranges[name].take(*self._read(name, column, rows + 1))
                else:
                    declared = has_declared_order(self._source.schema.field(name))
                    distinct[name] = _union(name, distinct.get(name), column, declared=declared)
            rows += batch.num_rows
        if not rows:
            msg = (
                f"{where} has no rows, so its categories are not known; give one with answers, or the categories "
                "themselves in Python: lr.design({name: categories, …}, …)"
            )
            raise DataError(msg)
        for name, values in distinct.items():
            if _FEW < len(values) <= MAX_SIZE and len(values) > _ALMOST * rows:
                msg = (
                    f"column {name!r} is different in almost every row, and a design publishes its categories; keep or "
                    "drop it, choose the columns to randomize, group its values first, or declare it numerical: "
                    f"lr.Numeric({name!r}, low, high) (--numeric {name}:LOW:HIGH)"
                )
                raise DesignError(msg)
        return Found(
            tuple(
                self._with_bounds(name, ranges[name])
                if name in self._numeric
                else _attribute(name, distinct[name], self._source, self._missing, name in self._public_missing)
                for name in self._names
            ),
            rows,
            frozenset(gaps),
            tuple(whole),
            self._source.as_text,
        )

    def _has_gaps(self, column: pa.Array) -> bool:
        written = self._source.as_text and pc.any(pc.equal(column, self._missing)).as_py()
        return bool(column.null_count or written)

    def _read(self, name: str, column: pa.Array, first_row: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        item = self._numeric[name]
        unit = item.measured_in if item.has_bounds or item.unit is not None else _unit_of(column)
        missing = self._missing if item.missing is None else item.missing
        as_text = self._source.as_text
        return read_numbers(name, column, unit, as_text=as_text, missing=missing, first_row=first_row)

    def _with_bounds(self, name: str, found: _Range) -> Numeric:
        """Return a numerical attribute with what was found in its column: bounds, and whether values are missing."""
        item, public = self._numeric[name], name in self._public_missing
        if item.missing is None and (public or found.has_nulls):
            item = replace(item, missing=self._missing, missing_is_public=public)
        if item.has_bounds:
            return item
        if not found.low < found.high:
            msg = f"column {name!r} holds one value only, or none; there is nothing to randomize: keep or drop it"
            raise DesignError(msg)
        kind = self._source.schema.field(name).type
        unit = item.unit or ("number" if self._source.as_text else _unit_of(pa.nulls(0, kind)))
        return replace(item, low=_as_bound(found.low, unit), high=_as_bound(found.high, unit), unit=unit)


class _Range:
    """The lowest and the highest number of a column, and whether any is missing."""

    def __init__(self) -> None:
        self.low, self.high, self.has_nulls = math.inf, -math.inf, False

    def take(self, values: NDArray[np.float64], null: NDArray[np.bool_]) -> None:
        there = values[~null]
        self.has_nulls |= bool(null.any())
        if there.size:
            self.low, self.high = min(self.low, float(there.min())), max(self.high, float(there.max()))


def _unit_of(column: pa.Array) -> Unit:
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "date"
    return "duration" if pa.types.is_duration(kind) else "number"


def _as_bound(value: float, unit: Unit) -> Number:
    return written(value, unit) if unit == "date" else value


def _union(name: str, known: pa.Array | None, column: pa.Array, *, declared: bool) -> pa.Array:
    if declared:  # observed or not, in their declared order
        fresh = comparable(name, column.dictionary)
        if column.null_count:
            fresh = pa.concat_arrays([fresh, pa.nulls(1, fresh.type)])
    elif pa.types.is_dictionary(column.type):  # only what is there: a dictionary may hold texts of records long gone
        fresh = comparable(name, column.unique().dictionary_decode())
    else:
        fresh = comparable(name, column).unique()
    values = fresh if known is None else pa.concat_arrays([known, fresh]).unique()
    if len(values) > MAX_SIZE + 1:
        msg = (
            f"column {name!r} has more than {MAX_SIZE:,} different values; keep or drop it, choose the columns to "
            "randomize, or group its values first"
        )
        raise DesignError(msg)
    return values


def _attribute(name: str, values: pa.Array, source: Source, missing: str, public: bool) -> Attribute:
    try:
        found: list[Category] = values.drop_null().to_pylist()
    except UnicodeDecodeError:
        msg = f"column {name!r} holds text that is not UTF-8; write it again in that encoding"
        raise DataError(msg) from None
    # what is declared holds for other files too, whether or not this one has a missing value
    has_missing = public or values.null_count > 0 or (source.as_text and missing in found)
    if source.as_text:
        found = _read_text(name, [str(text) for text in found if text != missing])
    if not has_declared_order(source.schema.field(name)):
        found.sort()
    if not found:
        msg = f"column {name!r} holds no value; leave it out of the design"
        raise DesignError(msg)
    try:
        return Attribute(name, found, missing if has_missing else None, missing_is_public=public)
    except DesignError as error:
        if len(found) + (has_missing and not public) > 1:
            raise
        msg = f"{error}; give its categories by hand, or keep or drop the column"
        raise DesignError(msg) from None


def _read_text(name: str, texts: list[str]) -> list[Category]:
    """Return texts as integers or booleans if every one of them is exactly how such a value is written."""
    if len(texts) > _FEW and all(_NUMBER.fullmatch(text) for text in texts) and any("." in text for text in texts):
        msg = (
            f"column {name!r} holds decimal numbers; declare it numerical with public bounds, lr.Numeric({name!r}, "
            f"low, high) (--numeric {name}:LOW:HIGH), randomize it centrally over the individuals, drawn=[{name!r}] "
            f"(--drawn {name}), group its values into classes, or leave it out"
        )
        raise DataError(msg)
    if set(texts) <= {"true", "false"}:
        return [text == "true" for text in texts]
    try:
        numbers = [int(text) for text in texts]
    except ValueError:
        return [*texts]
    exact = all(str(number) == text and abs(number) < 2**63 for number, text in zip(numbers, texts, strict=True))
    return [*numbers] if exact else [*texts]


def place_of(name: str, names: Sequence[str]) -> int:
    """Return the place of a name among those of attributes."""
    if name not in names:
        msg = f"there is no column or attribute {name!r}; there are: {', '.join(names)}"
        raise DesignError(msg)
    return names.index(name)
