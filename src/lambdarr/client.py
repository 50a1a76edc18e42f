"""A respondent's client in the standard library alone: one file that can be copied to a device as it is.

It reads a design, checks it, and randomizes one record with the operating system's randomness, by the rule of
spec/sampler.md. Nothing else of lambdarr is imported, and what it raises never repeats an answer.

    python -m lambdarr.client design.json < record.json
"""

from __future__ import annotations

import bisect
import datetime
import json
import math
import secrets
import sys
from typing import NamedTuple

SCHEMA_VERSION = 3
"""The newest version of a design that this client can follow; it follows older ones too."""

WORDS = 2**32
_MAX_SIZE = 65_536
_EPOCH = datetime.date(1970, 1, 1)


class ClientError(ValueError):
    """A design that cannot be followed, or a record that does not fit it."""


def report_from_word(truth: int, word: int, threshold: int, size: int) -> int:
    """Return the report that one uniform 32-bit word makes of one code: the rule itself, in plain integers.

    Examples
    --------
    >>> [report_from_word(1, word, 2**31, 2) for word in (0, 2**31, 2**32 - 1)]
    [1, 0, 1]
    """
    return truth if word < threshold else (word - threshold) // ((WORDS - threshold) // size)


def drawn_set(asked: int, count: int) -> list[int]:
    """Return ``asked`` of the places 0 … ``count`` − 1 in order, all such sets being equally likely.

    Floyd's rule, from the operating system's randomness: one word for each place, and another for a word that is beyond
    the last whole multiple of a bound.

    Examples
    --------
    >>> len(drawn_set(2, 5)), drawn_set(3, 3)
    (2, [0, 1, 2])
    """
    if asked == count:
        return list(range(count))
    chosen: set[int] = set()
    for last in range(count - asked, count):
        width = WORDS // (last + 1)
        while (place := secrets.randbits(32) // width) > last:
            pass
        chosen.add(last if place in chosen else place)
    return sorted(chosen)


class Client:
    """One respondent's side of a survey.

    Parameters
    ----------
    design : str
        The JSON text of the published design.

    Examples
    --------
    >>> client = Client(
    ...     '{"schema_version": 1, "attributes": '
    ...     '[{"name": "smokes", "categories": ["no", "yes"], "lambda": 1.0, "threshold": 4294967296}]}'
    ... )
    >>> client.randomize({"smokes": "yes"})
    {'smokes': 'yes'}
    """

    def __init__(self, design: str) -> None:
        self._attributes, self._asked = _read(design)

    def questions(self) -> list[str]:
        """Return the names of the attributes to ask this respondent, drawn where the design asks some of them only."""
        names = list(self._attributes)
        return [names[place] for place in drawn_set(self._asked, len(names))]

    def randomize(self, record: dict[str, object], questions: list[str] | None = None) -> dict[str, object]:
        """Return the report of a record, one word for each answer.

        Where the design says that a missing answer is public, it is reported as it is, without a word. Where it asks
        some of the attributes only, the record answers the ``questions`` that were drawn before; or it answers them
        all, and which are reported is drawn here. The others are reported as None, and a missing answer that is
        randomized as its text.
        """
        if not isinstance(record, dict):  # other things name their answers, not their questions, when looked through
            msg = f"the record must be a dict from attribute to answer, got {type(record).__name__}"
            raise ClientError(msg)
        if unknown := [name for name in record if name not in self._attributes]:
            msg = f"the record has {unknown[0]!r}, which the design does not; leave it out"
            raise ClientError(msg)
        asked = self._checked(questions, record) if questions is not None else self.questions()
        report: dict[str, object] = {}
        for name, (values, missing, missing_is_public, threshold, scale) in self._attributes.items():
            report[name] = None
            if questions is not None and name not in asked:
                continue
            if name not in record:
                msg = f"the record has no {name!r}; every attribute that is asked is answered"
                raise ClientError(msg)
            answer = None if missing is not None and record[name] == missing else record[name]
            if missing_is_public and answer is None:
                continue
            # also of what is not asked, though without a word: a record fits, or does not, by itself
            if scale is None or (answer is None and missing is not None):
                truth = _code(name, values, answer)
            else:
                truth = scale.code(name, answer, rounding=name in asked)
            if name in asked:
                report[name] = values[report_from_word(truth, secrets.randbits(32), threshold, len(values))]
                if report[name] is None and self._asked < len(self._attributes):
                    report[name] = missing  # as None is "not asked"
        return report

    def _checked(self, questions: list[str], record: dict[str, object]) -> list[str]:
        known = [name for name in dict.fromkeys(questions) if name in self._attributes]
        if len(known) != self._asked or len(questions) != self._asked:
            msg = f"questions must be the names of {self._asked} attributes of the design; draw them with questions()"
            raise ClientError(msg)
        if extra := [name for name in record if name not in known]:
            msg = f"the record has {extra[0]!r}, which was not asked; leave it out"
            raise ClientError(msg)
        return known


def _code(name: str, values: list[object], answer: object) -> int:
    for code, value in enumerate(values):
        if value == answer and type(value) is type(answer):  # True is not 1
            return code
    msg = f"the answer to {name!r} is not one of its {len(values)} categories; choose one of them"
    raise ClientError(msg)


class _Scale(NamedTuple):
    """How a number becomes one of the values: its bin, or one of the two edges around it."""

    edges: list[float]
    unit: str
    rounding: str
    outside: str

    def code(self, name: str, answer: object, *, rounding: bool) -> int:
        """Return the place of a number among the values, with a word to round it."""
        number, edges, first = self._number(name, answer), self.edges, int(self.outside == "count")
        if not edges[0] <= number <= edges[-1]:
            if self.outside == "refuse":
                msg = f"the answer to {name!r} is outside its bounds; correct it"
                raise ClientError(msg)
            if self.outside == "count":
                return 0 if number < edges[0] else len(edges) + (self.rounding == "random")
            number = edges[0] if number < edges[0] else edges[-1]
        place = min(bisect.bisect_right(edges, number), len(edges) - 1) - 1
        if self.rounding == "random" and rounding:
            part = (number - edges[place]) / (edges[place + 1] - edges[place])
            return first + place + (secrets.randbits(32) < math.floor(part * WORDS))
        return first + place

    def _number(self, name: str, answer: object) -> float:
        wanted = "number of seconds" if self.unit == "duration" else "number"
        if self.unit == "date":
            wanted = "date such as 2026-11-15"
            if isinstance(answer, datetime.date):
                answer = answer.isoformat()
            if isinstance(answer, str):
                try:
                    return float((datetime.datetime.fromisoformat(answer).date() - _EPOCH).days)
                except ValueError:
                    answer = None
        elif self.unit == "integer":
            wanted = "whole number"
        elif self.unit == "duration" and isinstance(answer, datetime.timedelta):
            answer = answer.total_seconds()
        fits = isinstance(answer, int | float) and not isinstance(answer, bool) and self.unit != "date"
        try:
            number = float(answer) if fits else math.nan  # type: ignore[arg-type]
        except OverflowError:
            number = math.nan
        if not math.isfinite(number) or (self.unit == "integer" and not number.is_integer()):
            msg = f"the answer to {name!r} must be a {wanted}"
            raise ClientError(msg)
        return number


class _Attribute(NamedTuple):
    values: list[object]
    """In the order of their codes, a missing one last if it is randomized."""
    missing: str | None
    missing_is_public: bool
    threshold: int
    scale: _Scale | None


def _read(design: str) -> tuple[dict[str, _Attribute], int]:
    """Return the attributes of a design by their names, and how many of them are asked."""
    try:
        document = json.loads(design)
        version = document["schema_version"]
        asked = document.get("asked", len(document["attributes"]))
        entries = [
            (
                e["name"],
                list(e["categories"]),
                e.get("missing"),
                e.get("missing_is_public", False),
                e["threshold"],
                e.get("scale"),
            )
            for e in document["attributes"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        msg = "the design is not one; fetch it again"
        raise ClientError(msg) from None
    if document.get("drawn"):
        msg = "the design draws columns over the individuals of a file, which is done centrally, not by a respondent"
        raise ClientError(msg)
    if version not in range(1, SCHEMA_VERSION + 1):
        msg = f"the design has schema_version {version!r}, this client follows up to {SCHEMA_VERSION}; use a newer one"
        raise ClientError(msg)
    found: dict[str, _Attribute] = {}
    for name, categories, missing, public, threshold, given in entries:
        if public is not False and not (public is True and missing is not None and version >= 2):
            msg = f"attribute {name!r} of the design is not clear about its missing answers; fetch the design again"
            raise ClientError(msg)
        values = categories if missing is None or public else [*categories, None]
        size = len(values)
        whole = isinstance(threshold, int) and not isinstance(threshold, bool)
        if not isinstance(name, str) or name in found or not 2 <= size <= _MAX_SIZE:
            msg = f"attribute {name!r} of the design has no name, or not from 2 to 65,536 categories; fetch it again"
            raise ClientError(msg)
        if not whole or not 0 < threshold <= WORDS or (WORDS - threshold) % size:
            msg = f"the threshold of attribute {name!r} does not fit its {size} categories; fetch the design again"
            raise ClientError(msg)
        scale = None if given is None else _read_scale(name, given, len(categories), version)
        found[name] = _Attribute(values, missing, public, threshold, scale)
    if not found:
        msg = "the design has no attributes; fetch it again"
        raise ClientError(msg)
    if isinstance(asked, bool) or not isinstance(asked, int) or not 1 <= asked <= len(found):
        msg = "the design is not clear about how many attributes are asked; fetch it again"
        raise ClientError(msg)
    if "asked" in document and version < 2:
        msg = "a design of this version does not say how many attributes are asked; fetch it again"
        raise ClientError(msg)
    if asked < len(found) and any(_is_unclear(attribute) for attribute in found.values()):
        msg = "the design has a missing answer that could not be told from one that is not asked; fetch it again"
        raise ClientError(msg)
    return found, asked


def _read_scale(name: str, given: object, size: int, version: int) -> _Scale:
    """Return the scale of a numerical attribute; its categories have to be as many as it makes."""
    msg = f"the scale of attribute {name!r} is not clear; fetch the design again"
    try:
        scale = _Scale(*(given[key] for key in _Scale._fields))  # type: ignore[index]
        clear = (
            version >= 3
            and scale.unit in ("number", "integer", "date", "duration")
            and scale.rounding in ("random", "none")
            and scale.outside in ("count", "clip", "refuse")
            and all(isinstance(edge, int | float) and not isinstance(edge, bool) for edge in scale.edges)
            and all(low < high for low, high in zip(scale.edges, scale.edges[1:], strict=False))
            and all(math.isfinite(edge) for edge in scale.edges)
            and size == len(scale.edges) - (scale.rounding == "none") + 2 * (scale.outside == "count")
        )
    except (KeyError, TypeError):
        raise ClientError(msg) from None
    if not clear:
        raise ClientError(msg)
    return scale


def _is_unclear(attribute: _Attribute) -> bool:
    """Return whether a report of it could be taken for "not asked"."""
    randomized = attribute.missing is not None and not attribute.missing_is_public
    return "" in attribute.values or (randomized and not (attribute.missing and isinstance(attribute.values[0], str)))


def _main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write("Usage: python -m lambdarr.client design.json < record.json\n")
        return 2
    try:
        with open(arguments[0], encoding="utf-8") as file:  # noqa: PTH123
            client = Client(file.read())
        record = json.loads(sys.stdin.read())
        report = client.randomize(record)
    except ClientError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"Error: cannot read the design {arguments[0]}: {error.strerror}\n")
        return 2
    except ValueError:
        sys.stderr.write("Error: the record must be JSON; write one object of answers\n")
        return 2
    sys.stdout.write(json.dumps(report, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
