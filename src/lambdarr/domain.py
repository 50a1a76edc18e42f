"""Attribute: ordered categories ↔ integer codes, the category that stands for a missing value, and numbers.

Categories keep their type: text, integer or boolean. A typed column (Parquet, Arrow, a frame) has to hold that very
type. A text file holds only text, so there the design decides: a field is compared with the categories as they are
written, and the text 01 is not the number 1.

The categories of a numerical attribute are those of its ``Scale``: its truths are numbers, its reports categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lambdarr.channel import MAX_SIZE, check_size
from lambdarr.errors import DataError, DesignError
from lambdarr.scales import OUTSIDE, Scale, read_numbers, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray


Category = str | int | bool
Kind = Literal["text", "integer", "boolean"]
Codes = np.ndarray[Any, np.dtype[np.integer[Any]]]

ABSENT = -MAX_SIZE - 1
"""The code of a missing value that is public: so far below all others that as an index it fails in any domain."""

UNKNOWN, NULL = ABSENT - 1, ABSENT - 2
"""What a lookup says of a value outside the domain, and of a null that the design does not foresee."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column to randomize: its name and its ordered categories.

    Parameters
    ----------
    name : str
        The column's name.
    categories : iterable of str, of int or of bool
        The categories in their order; all of one type.
    missing : str, optional
        If given, a null is one more category, the last one, randomized like any other. The text is how a missing
        value is written in a text file: "" for an empty field, or for example "NA".
    missing_is_public : bool
        Whether a null is public knowledge instead, as where a question was not asked: it is then no category, and is
        reported as it is, never randomized. Nothing protects the fact that an answer is missing.
    scale : Scale, optional
        How numbers become categories, which are then the scale's labels; see ``Attribute.on``.

    Examples
    --------
    >>> smokes = Attribute("smokes", ["never", "sometimes", "daily"], missing="NA")
    >>> smokes.size, smokes.labels
    (4, ('never', 'sometimes', 'daily', 'NA'))
    >>> Attribute("income", ["low", "high"], missing="NA", missing_is_public=True).labels
    ('low', 'high')
    """

    name: str
    categories: tuple[Category, ...]
    missing: str | None = None
    missing_is_public: bool = False
    scale: Scale | None = None

    def __init__(
        self,
        name: str,
        categories: Iterable[Category],
        missing: str | None = None,
        *,
        missing_is_public: bool = False,
        scale: Scale | None = None,
    ) -> None:
        object.__setattr__(self, "name", name)
        if isinstance(categories, str):
            msg = f"categories of attribute {name!r} must be a list, got one text; write ['a', 'b']"
            raise DesignError(msg)
        object.__setattr__(self, "categories", tuple(_plain(name, category) for category in categories))
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "missing_is_public", missing_is_public)
        object.__setattr__(self, "scale", scale)
        self._check()

    @classmethod
    def on(cls, name: str, scale: Scale, missing: str | None = None, *, missing_is_public: bool = False) -> Attribute:
        """Return a numerical attribute.

        Examples
        --------
        >>> Attribute.on("age", Scale((0, 60, 120), rounding="none", outside="refuse")).categories
        ('[0, 60)', '[60, 120]')
        """
        return cls(name, scale.labels, missing, missing_is_public=missing_is_public, scale=scale)

    def _check(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            msg = f"name of an attribute must be a text that is not empty, got {self.name!r}"
            raise DesignError(msg)
        if self.missing is not None and not isinstance(self.missing, str):
            msg = f"missing of attribute {self.name!r} must be a text or None, got {self.missing!r}"
            raise DesignError(msg)
        if not isinstance(self.missing_is_public, bool):
            kind = type(self.missing_is_public).__name__
            msg = f"missing_is_public of attribute {self.name!r} must be true or false, got {kind}"
            raise DesignError(msg)
        if self.missing_is_public and self.missing is None:
            msg = f"missing_is_public of attribute {self.name!r} needs missing: the text of a missing value, such as ''"
            raise DesignError(msg)
        texts = [text for text in (self.name, self.missing, *self.categories) if isinstance(text, str)]
        if any(not _is_unicode(text) for text in texts):
            msg = f"name and categories of attribute {self.name!r} must be complete Unicode text; write them again"
            raise DesignError(msg)
        if len({type(category) for category in self.categories}) > 1:
            msg = f"categories of attribute {self.name!r} must all be of one type: text, integers or booleans"
            raise DesignError(msg)
        if len(set(self.categories)) < len(self.categories):
            msg = f"categories of attribute {self.name!r} must differ from each other; name each one once"
            raise DesignError(msg)
        if self.missing is not None and self.missing in {spelling for spelling, _ in _written_spellings(self)}:
            msg = f"missing of attribute {self.name!r} is the text of one of its categories; choose another text"
            raise DesignError(msg)
        if self.scale is not None and self.scale.labels != self.categories:
            msg = f"categories of attribute {self.name!r} are not those of its scale; was the file edited by hand?"
            raise DesignError(msg)
        try:
            check_size(self.size)
        except DesignError as error:
            msg = f"attribute {self.name!r}: {error}"
            raise DesignError(msg) from None

    @property
    def has_missing_category(self) -> bool:
        """Whether a missing value is one of the r categories, and randomized like the others."""
        return self.missing is not None and not self.missing_is_public

    @property
    def is_rounded(self) -> bool:
        """Whether its truths are numbers, and its categories the edges that they are rounded to at random."""
        return self.scale is not None and self.scale.rounding == "random"

    @property
    def size(self) -> int:
        """Number r of categories, the missing one included if it is randomized."""
        return len(self.categories) + self.has_missing_category

    @property
    def kind(self) -> Kind:
        """The type of the categories."""
        first = self.categories[0] if self.categories else ""
        return "boolean" if isinstance(first, bool) else "integer" if isinstance(first, int) else "text"

    @property
    def labels(self) -> tuple[str, ...]:
        """All r categories as a person reads them, the missing one last."""
        missing = (self.missing or "(missing)",) if self.has_missing_category else ()
        return (*self._written(), *missing)

    @property
    def values(self) -> tuple[Category | None, ...]:
        """All r categories in their own type, the missing one last as None."""
        return (*self.categories, None) if self.has_missing_category else self.categories

    def code(self, value: object) -> int:
        """Return the code 0 … r − 1 of one value, or ``ABSENT`` for a missing one that is public.

        Examples
        --------
        >>> Attribute("smokes", ["never", "daily"], missing="NA").code(None)
        2
        """
        if value is None and self.missing is not None:
            return _null_code(self)
        try:
            plain = _plain(self.name, value)
        except DesignError:
            plain = None
        if self.missing is not None and self.kind == "text" and plain == self.missing:
            return _null_code(self)
        for code, category in enumerate(self.categories):
            if category == plain and type(category) is type(plain):  # True is not 1
                return code
        if value is None:
            msg = f"the value of attribute {self.name!r} is null; give the attribute a missing category in the design"
        else:
            msg = f"the value of attribute {self.name!r} is outside its domain of {self.size} categories; {_REMEDY}"
        raise DataError(msg)

    def truth_code(self, value: object, draw: Callable[[], int]) -> int:
        """Return the code of one answer: of a number, that which its scale gives it, with a word if it is rounded."""
        scale = self.scale
        if scale is None or value is None or (self.missing is not None and value == self.missing):
            return self.code(value)
        try:
            number = np.array([scale.number(value)])
        except DataError as error:
            msg = f"the answer to {self.name!r}: {error}"
            raise DataError(msg) from None
        rounds = scale.rounding == "random" and scale.edges[0] <= number[0] <= scale.edges[-1]
        code = int(scale.codes(number, np.array([draw() if rounds else 0], dtype=np.uint32))[0])
        if code == OUTSIDE:
            msg = f"the answer to {self.name!r} is outside its bounds; {_OUTSIDE_REMEDY}"
            raise DataError(msg)
        return code

    def category_code(self, value: object) -> int:
        """Return the code of a value that has to be one of the r categories."""
        code = self.code(value)
        if code == ABSENT:
            msg = (
                f"a missing value of attribute {self.name!r} is public, and no category; count the nulls of the "
                "reports instead, which are those of the truths"
            )
            raise DataError(msg)
        return code

    def _written(self) -> tuple[str, ...]:
        if self.kind == "boolean":
            return tuple(str(category).lower() for category in self.categories)
        return tuple(str(category) for category in self.categories)


_OUTSIDE_REMEDY = "correct it, or make the design with outside='count' or 'clip'"
_REMEDY = "add the category to the design, or map the value to one of its categories first"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character
        return False
    return True


def _plain(name: str, category: object) -> Category:
    """Return a category as the plain Python value that JSON holds."""
    if isinstance(category, bool | np.bool_):
        return bool(category)
    if isinstance(category, int | np.integer) and -(2**63) <= category < 2**63:
        return int(category)
    if isinstance(category, str):
        return str(category)
    kind = "a decimal number" if isinstance(category, float | np.floating) else f"of type {type(category).__name__}"
    msg = (
        f"categories of attribute {name!r} must be text, 64-bit integers or booleans, and one is {kind}; "
        "write it as text, or group numbers into classes"
    )
    raise DesignError(msg)


def encode(attribute: Attribute, column: pa.Array, *, as_text: bool, first_row: int, sampled: bool = False) -> Codes:
    """Return the codes of one batch of a column, as 32-bit integers; ``ABSENT`` where a missing value is public.

    Parameters
    ----------
    attribute : Attribute
        The column's domain.
    column : pyarrow.Array
        The values; a dictionary-encoded column is translated through its dictionary, never expanded.
    as_text : bool
        Whether the column comes from a text file, where categories are compared as they are written.
    first_row : int
        Number of the batch's first row in its table, for messages.
    sampled : bool
        Whether these are reports of respondents who were asked some attributes only: a null is then "not asked", also
        where the attribute has a missing category, which has its text.
    """
    if attribute.scale is not None:
        column = _as_labels(column, attribute.scale)
    if not pa.types.is_dictionary(column.type):
        codes = _lookup(attribute, column, as_text=as_text, sampled=sampled)
        suspect = codes
    else:
        lookup = _lookup(attribute, column.dictionary, as_text=as_text, sampled=sampled)
        indices = column.indices
        if indices.null_count:
            lookup = np.append(lookup, np.int32(_null_code(attribute, sampled=sampled)))
            indices = pc.fill_null(indices.cast(pa.int64()), len(lookup) - 1)
        places = indices.to_numpy(zero_copy_only=False)
        if places.size and not 0 <= places.min() <= places.max() < len(lookup):
            msg = f"column {attribute.name!r} has codes outside its dictionary; it is damaged: encode it again"
            raise DataError(msg)
        if np.array_equal(lookup, np.arange(len(lookup))):  # the dictionary is the domain: its indices are the codes
            codes = places.astype(np.int32, copy=False)
        else:
            codes = lookup.take(places)
        suspect = codes if lookup.size and lookup.min() < ABSENT else codes[:0]  # all is well if the dictionary is
    if suspect.size and suspect.min() < ABSENT:
        raise _misfit(attribute, codes, first_row=first_row)
    return codes


def _as_labels(column: pa.Array, scale: Scale) -> pa.Array:
    """Return reports that are edges as the texts they are, where a reader of text files has made numbers of them."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date(kind)):
        return column
    encoded = (column.cast(pa.date32()).cast(pa.int32()) if pa.types.is_date(kind) else column).dictionary_encode()
    texts = [written(value, scale.unit) for value in encoded.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(texts, pa.string()))


def encode_truths(
    attribute: Attribute,
    column: pa.Array,
    *,
    as_text: bool,
    first_row: int,
    words: NDArray[np.uint32] | None = None,
) -> Codes:
    """Return the codes of one batch of truths; those of a numerical attribute are numbers.

    ``words`` has one for each number, if its scale rounds at random.
    """
    scale = attribute.scale
    if scale is None:
        return encode(attribute, column, as_text=as_text, first_row=first_row)
    numbers, null = read_numbers(
        attribute.name, column, scale.unit, as_text=as_text, missing=attribute.missing, first_row=first_row
    )
    codes = scale.codes(numbers, words)
    outside = (codes == OUTSIDE) & ~null
    if outside.any():
        msg = (
            f"{int(outside.sum()):,} values of attribute {attribute.name!r} are outside its bounds, first at row "
            f"{first_row + int(outside.argmax()):,}; {_OUTSIDE_REMEDY}"
        )
        raise DataError(msg)
    if null.any():
        codes[null] = _null_code(attribute)
        if attribute.missing is None:
            raise _misfit(attribute, codes, first_row=first_row)
    return codes


class Decoder:
    """Codes → a column of one Arrow type.

    Parameters
    ----------
    attribute : Attribute
        The column's domain.
    kind : pyarrow.DataType
        The type wanted; a dictionary type gives codes, with a wider index if the domain needs it.
    as_text : bool
        Whether the column goes to a text file, where every category has to be written, the missing one too.
    declared : pyarrow.Array, optional
        A declared order of the categories, to be kept; only those of the domain come out.
    sampled : bool
        Whether a value may be "not asked": a null, or an empty field. A missing category is then its text.
    """

    def __init__(
        self,
        attribute: Attribute,
        kind: pa.DataType,
        *,
        as_text: bool = False,
        declared: pa.Array | None = None,
        sampled: bool = False,
    ) -> None:
        if as_text:
            missing = [] if attribute.missing is None else [attribute.missing]
            absent = [""] if sampled and not attribute.missing_is_public else []
            categories, self._null = pa.array([*attribute._written(), *missing, *absent]), False
        else:
            spelled = [attribute.missing] if sampled and attribute.has_missing_category else []
            categories = pa.array([*attribute.categories, *spelled], arrow_type(attribute))
            self._null = sampled or attribute.missing is not None
        # an absent value goes after all categories, one that stands for a missing value included
        self._place_of_absent = attribute.size if sampled or attribute.missing_is_public else None
        self._encoded = pa.types.is_dictionary(kind)
        plain = kind.value_type if self._encoded else kind
        try:
            categories = categories.cast(plain)
        except pa.ArrowInvalid:
            msg = (
                f"column {attribute.name!r} holds {plain}, which cannot hold every category; convert it to a wider type"
            )
            raise DataError(msg) from None
        if not self._encoded:
            # Arrow cannot take from views, nor does a null fit everywhere: plain values first, the type last
            values = categories.cast(pa.string()) if pa.types.is_string_view(plain) else categories
            self._values = pa.concat_arrays([values, pa.nulls(1, values.type)]) if self._null else values
            self.type = kind
            return
        self._values = categories if declared is None else _in_order_of(declared, categories)
        places = pc.index_in(_plain_text(categories), value_set=_plain_text(self._values)).to_numpy()
        self._places = np.append(places, np.int32(NULL)) if self._null else places
        wide = len(self._values) > 2 ** (kind.index_type.bit_width - 1)
        self.type = pa.dictionary(pa.int32() if wide else kind.index_type, plain, ordered=kind.ordered)

    def column(self, codes: Codes) -> pa.Array:
        """Return codes as a column."""
        if self._place_of_absent is not None:
            codes = np.where(codes == ABSENT, np.int32(self._place_of_absent), codes)
        if not self._encoded:
            return self._values.take(pa.array(codes)).cast(self.type)
        if self._null or not np.array_equal(self._places, np.arange(len(self._places))):
            codes = self._places.take(codes)
        indices = pa.array(codes, mask=codes < 0 if self._null else None).cast(self.type.index_type)
        return pa.DictionaryArray.from_arrays(indices, self._values, ordered=self.type.ordered)


def _in_order_of(declared: pa.Array, categories: pa.Array) -> pa.Array:
    """Return the categories, those that are declared first and in that order."""
    declared, known = _plain_text(declared), _plain_text(categories)
    first = declared.filter(pc.is_in(declared, value_set=known))
    rest = known.filter(pc.invert(pc.is_in(known, value_set=declared)))
    return pa.concat_arrays([first, rest]).cast(categories.type)


def has_declared_order(field: pa.Field) -> bool:
    """Return whether a dictionary's order was declared, for all to know, rather than found in the data.

    An encoder numbers texts as it meets them: the first text of such a dictionary is the first record's, and others may
    be of records that are gone. Only an ordered type (pandas, Arrow) or a Polars Enum says what it may hold.
    """
    enum = any(key.startswith(b"_PL_ENUM") for key in field.metadata or {})
    return bool(pa.types.is_dictionary(field.type) and (field.type.ordered or enum))


def _plain_text(values: pa.Array) -> pa.Array:
    return values.cast(pa.string()) if pa.types.is_string_view(values.type) else values


def arrow_type(attribute: Attribute) -> pa.DataType:
    """Return the Arrow type of an attribute's categories."""
    return {"text": pa.string(), "integer": pa.int64(), "boolean": pa.bool_()}[attribute.kind]


def _null_code(attribute: Attribute, *, sampled: bool = False) -> int:
    if sampled:
        return ABSENT
    if attribute.missing is None:
        return NULL
    return ABSENT if attribute.missing_is_public else attribute.size - 1


def _spellings(attribute: Attribute, *, as_text: bool, sampled: bool) -> list[tuple[Category, int]]:
    """Return every way a category may be given, with its code."""
    pairs: list[tuple[Category, int]]
    if not as_text:
        pairs = [(category, code) for code, category in enumerate(attribute.categories)]
    else:
        pairs = [*_written_spellings(attribute)]
    if attribute.missing is not None and (as_text or attribute.kind == "text"):
        pairs.append((attribute.missing, _null_code(attribute)))
    if as_text and not any(value == "" for value, _ in pairs):
        pairs.append(("", ABSENT if sampled else NULL))  # an empty field is a missing answer, not another category
    return pairs


def _written_spellings(attribute: Attribute) -> list[tuple[str, int]]:
    """Return every way a category may be written in a text file, with its code."""
    pairs = [(text, code) for code, text in enumerate(attribute._written())]
    if attribute.kind == "boolean":  # true and false as R, pandas and JSON write them
        return [(spell(text), code) for text, code in pairs for spell in (str.lower, str.title, str.upper)]
    return pairs


def _lookup(attribute: Attribute, values: pa.Array, *, as_text: bool, sampled: bool) -> NDArray[np.int32]:
    """Return the code of each value, ABSENT, UNKNOWN or NULL."""
    values = comparable(attribute.name, values)
    wanted = pa.string() if as_text else arrow_type(attribute)
    if values.type != wanted and not pa.types.is_null(values.type):
        column = {pa.string(): "text", pa.int64(): "integers", pa.bool_(): "booleans"}.get(values.type, values.type)
        msg = (
            f"attribute {attribute.name!r} has {attribute.kind} categories, but its column holds {column}; "
            "convert the column, or give the file's path, which the design then reads; is it the right design?"
        )
        raise DataError(msg)
    spellings = _spellings(attribute, as_text=as_text, sampled=sampled)
    null = _null_code(attribute, sampled=sampled)
    if pa.types.is_null(values.type):
        return np.full(len(values), null, dtype=np.int32)
    found = pc.index_in(values, value_set=pa.array([value for value, _ in spellings], values.type))
    code_of = np.array([*(code for _, code in spellings), UNKNOWN], dtype=np.int32)
    codes: NDArray[np.int32] = code_of[pc.fill_null(found, len(spellings)).to_numpy()]
    if values.null_count:
        codes[pc.is_null(values).to_numpy(zero_copy_only=False)] = null
    return codes


def comparable(name: str, values: pa.Array) -> pa.Array:
    """Return values as text, 64-bit integers or booleans: the types that categories have."""
    kind = values.type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return values.cast(pa.string())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        # whole numbers beside nulls become decimals in pandas: 1.0 is the integer 1, and nan a null
        if pa.types.is_floating(kind):
            values = pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
        try:
            return values.cast(pa.int64())
        except pa.ArrowInvalid:
            msg = (
                f"attribute {name!r} holds numbers that are not 64-bit integers; group them into classes, "
                "or leave the column out of the design"
            )
            raise DataError(msg) from None
    if pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return values
    msg = f"attribute {name!r} holds {kind}; categories are text, integers or booleans: convert it to text first"
    raise DataError(msg)


def _misfit(attribute: Attribute, found: NDArray[np.int32], *, first_row: int) -> DataError:
    """Say which attribute and row do not fit, but never the value itself."""
    nulls = bool(found[found < ABSENT][0] == NULL)
    bad = np.flatnonzero(found == (NULL if nulls else UNKNOWN))
    count, row = len(bad), first_row + int(bad[0])
    values = "value" if count == 1 else "values"
    if nulls:
        what = f"{count:,} {values} of attribute {attribute.name!r} missing, first at row {row:,}"
        msg = f"{what}; give the attribute a missing category in the design, or fill the column first"
    else:
        what = f"{count:,} {values} of attribute {attribute.name!r} outside its domain of {attribute.size} categories"
        msg = f"{what}, first at row {row:,}; {_REMEDY}"
    return DataError(msg)
