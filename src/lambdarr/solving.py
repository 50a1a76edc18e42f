"""Targets → λ's: making a design from a table's columns and what is asked of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lambdarr.channel import MAX_SIZE, Channel, is_number
from lambdarr.designs import Design, check_asked, listed
from lambdarr.domain import Attribute, comparable, has_declared_order
from lambdarr.errors import DataError, DesignError
from lambdarr.sources import Source, check_present, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lambdarr.domain import Category

Target = float | Mapping[str, float]

_FEW = 20  # as many categories as a person would write down
_ALMOST = 0.8  # share of rows with a value of their own from which a column tells people apart
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def design(
    source: Any,
    *,
    lam: Target | None = None,
    strength: Target | None = None,
    bits: Target | None = None,
    epsilon: Target | None = None,
    columns: Iterable[str] | None = None,
    keep: Iterable[str] = (),
    missing: str = "",
    public_missing: Iterable[str] = (),
    asked: int | None = None,
) -> Design:
    """Return a design: the attributes of a source, and the λ's that meet a target.

    Parameters
    ----------
    source : table, path, or attributes
        A table or file whose columns become attributes with the categories found in them; or the attributes
        themselves, as ``Attribute`` objects or as a mapping from name to categories.
    lam, strength, bits, epsilon : number or mapping
        The target, one of them. A number is for the joint: the same λ for all; the same strength β for all, which is
        then the joint's; bits in proportion to log₂ r; ε in equal parts. A mapping gives each attribute its own, and
        several mappings may share the attributes among them. A solved λ is rounded to the private side.
    columns : iterable of str, optional
        Which columns become attributes; by default all that are not kept.
    keep : iterable of str
        Columns that will be released as they are, unrandomized.
    missing : str
        The text of a missing value in a text file; a column that has any gets a missing category.
    public_missing : iterable of str
        Columns of the table whose missing values are public: released as they are, and no category.
    asked : int, optional
        How many of the attributes each respondent answers, drawn at random; all by default. A joint ε is then spread
        over as many, which allows a larger λ. Joint bits are those of the answers that are given, on average.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({"sex": ["F", "M"], "vote": ["A", "B", "C"]}, strength=0.8)
    >>> design.strength, [channel.lam for channel in design.channels]
    (0.8, [0.514, 0.488])
    >>> both, one = (lr.design({"sex": ["F", "M"], "vote": ["A", "B", "C"]}, epsilon=1, asked=m) for m in (2, 1))
    >>> [channel.lam for channel in both.channels], [channel.lam for channel in one.channels], one.epsilon
    ([0.245, 0.178], [0.462, 0.364], 1.0)
    """
    kept = listed(keep)
    attributes = _attributes(source, columns=columns, keep=kept, missing=missing, public=listed(public_missing))
    check_asked(asked, len(attributes))
    targets = {"lam": lam, "strength": strength, "bits": bits, "epsilon": epsilon}
    given = {name: target for name, target in targets.items() if target is not None}
    channels = _channels(attributes, given, asked or len(attributes))
    return Design(attributes, channels, kept, asked)


# Attributes.


def _attributes(
    source: Any, *, columns: Iterable[str] | None, keep: tuple[str, ...], missing: str, public: tuple[str, ...]
) -> tuple[Attribute, ...]:
    wanted = None if columns is None else listed(columns)
    if isinstance(source, Mapping):
        given = tuple(Attribute(name, categories) for name, categories in source.items())
    elif isinstance(source, Attribute):
        given = (source,)
    elif isinstance(source, list | tuple) and all(isinstance(item, Attribute) for item in source):
        given = tuple(source)
    else:
        return _found_attributes(open_source(source), wanted, keep=keep, missing=missing, public=public)
    if public:
        msg = (
            "public_missing is for columns of a table; say it of an attribute: lr.Attribute(…, missing_is_public=True)"
        )
        raise DesignError(msg)
    if wanted is None:
        return given
    names = [attribute.name for attribute in given]
    return tuple(given[_place(name, names)] for name in wanted)


def _found_attributes(
    source: Source, columns: tuple[str, ...] | None, *, keep: tuple[str, ...], missing: str, public: tuple[str, ...]
) -> tuple[Attribute, ...]:
    """Return an attribute per column, with the categories that the table holds."""
    check_present((*(columns or ()), *keep), source.names)
    names = [name for name in source.names if name not in keep] if columns is None else list(columns)
    if not names:
        msg = "no column is left to randomize; name columns, or keep fewer"
        raise DesignError(msg)
    for name in public:
        _place(name, names)
    distinct: dict[str, pa.Array] = {}
    rows = 0
    for batch in source.batches(names):
        rows += batch.num_rows
        for name in names:
            declared = has_declared_order(source.schema.field(name))
            distinct[name] = _union(name, distinct.get(name), batch.column(name), declared=declared)
    if not rows:
        msg = "the table has no rows, so its categories are not known; give the attributes instead"
        raise DataError(msg)
    for name, values in distinct.items():
        if _FEW < len(values) <= MAX_SIZE and len(values) > _ALMOST * rows:
            msg = (
                f"column {name!r} is different in almost every row, and a design publishes its categories; keep or "
                "drop it, choose the columns to randomize, or group its values first"
            )
            raise DesignError(msg)
    return tuple(_attribute(name, values, source, missing, name in public) for name, values in distinct.items())


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
        msg = f"column {name!r} holds decimal numbers; group them into classes, or leave the column out of the design"
        raise DataError(msg)
    if set(texts) <= {"true", "false"}:
        return [text == "true" for text in texts]
    try:
        numbers = [int(text) for text in texts]
    except ValueError:
        return [*texts]
    exact = all(str(number) == text and abs(number) < 2**63 for number, text in zip(numbers, texts, strict=True))
    return [*numbers] if exact else [*texts]


# Channels.


def _channels(attributes: tuple[Attribute, ...], targets: dict[str, Target], asked: int) -> tuple[Channel, ...]:
    if not targets:
        msg = "a design needs a target: lam, strength, bits or epsilon"
        raise DesignError(msg)
    names = [attribute.name for attribute in attributes]
    shares: dict[str, tuple[str, float]] = {}
    for kind, target in targets.items():
        if isinstance(target, Mapping):
            for name in target:
                _place(name, names)
            spread = dict(target)
        elif len(targets) > 1:
            msg = f"targets must be one number, or mappings that share the attributes; got {' and '.join(targets)}"
            raise DesignError(msg)
        else:
            spread = _SPREAD[kind](attributes, target, asked)
        for name, value in spread.items():
            if name in shares:
                msg = f"attribute {name!r} has two targets, {shares[name][0]} and {kind}; give it one"
                raise DesignError(msg)
            shares[name] = (kind, value)
    for name in names:
        if name not in shares:
            msg = f"attribute {name!r} has no target; give it one, or leave it out of the design"
            raise DesignError(msg)
    return tuple(_channel(attribute, *shares[attribute.name]) for attribute in attributes)


def _channel(attribute: Attribute, kind: str, value: float) -> Channel:
    make: dict[str, Callable[[int, float], Channel]] = {
        "lam": Channel,
        "strength": Channel.from_strength,
        "bits": Channel.from_bits,
        "epsilon": Channel.from_epsilon,
    }
    try:
        return make[kind](attribute.size, value)
    except DesignError as error:
        msg = f"attribute {attribute.name!r}: {error}"
        raise DesignError(msg) from None


def _same(attributes: tuple[Attribute, ...], value: float, asked: int) -> dict[str, float]:
    return {attribute.name: value for attribute in attributes}


def _bits_by_size(attributes: tuple[Attribute, ...], bits: float, asked: int) -> dict[str, float]:
    available = math.fsum(math.log2(attribute.size) for attribute in attributes) * (asked / len(attributes))
    if not is_number(bits) or not 0 <= bits < available:  # also catches nan
        msg = (
            f"bits must be in [0, {available:.6g}), got {bits!r}; what is asked holds Σ log₂ r = {available:.6g} bits, "
            "reached only by λ = 0"
        )
        raise DesignError(msg)
    return {attribute.name: math.log2(attribute.size) * (bits / available) for attribute in attributes}


def _epsilon_in_parts(attributes: tuple[Attribute, ...], epsilon: float, asked: int) -> dict[str, float]:
    if not is_number(epsilon) or not epsilon > 0:  # also catches nan
        msg = f"epsilon must be a positive number, got {epsilon!r}; ε = 0 needs λ = 0, which reports nothing"
        raise DesignError(msg)
    return _same(attributes, epsilon / asked, asked)


_SPREAD: dict[str, Callable[[tuple[Attribute, ...], float, int], dict[str, float]]] = {
    "lam": _same,
    "strength": _same,
    "bits": _bits_by_size,
    "epsilon": _epsilon_in_parts,
}


def _place(name: str, names: list[str]) -> int:
    if name not in names:
        msg = f"there is no column or attribute {name!r}; there are: {', '.join(names)}"
        raise DesignError(msg)
    return names.index(name)
