"""A respondent's client in the standard library alone: one file that can be copied to a device as it is.

It reads a design, checks it, and randomizes one record with the operating system's randomness, by the rule of
spec/sampler.md. Nothing else of lambdarr is imported, and what it raises never repeats an answer.

    python -m lambdarr.client design.json < record.json
"""

from __future__ import annotations

import json
import secrets
import sys
from typing import NamedTuple

SCHEMA_VERSION = 2
"""The newest version of a design that this client can follow; it follows older ones too."""

_WORDS = 2**32
_MAX_SIZE = 65_536


class ClientError(ValueError):
    """A design that cannot be followed, or a record that does not fit it."""


def report_from_word(truth: int, word: int, threshold: int, size: int) -> int:
    """Return the report that one uniform 32-bit word makes of one code: the rule itself, in plain integers.

    Examples
    --------
    >>> [report_from_word(1, word, 2**31, 2) for word in (0, 2**31, 2**32 - 1)]
    [1, 0, 1]
    """
    return truth if word < threshold else (word - threshold) // ((_WORDS - threshold) // size)


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
        self._attributes = _attributes(design)

    def randomize(self, record: dict[str, object]) -> dict[str, object]:
        """Return the report of a record that answers every attribute of the design, one word for each answer.

        Where the design says that a missing answer is public, it is reported as it is, without a word.
        """
        if not isinstance(record, dict):  # other things name their answers, not their questions, when looked through
            msg = f"the record must be a dict from attribute to answer, got {type(record).__name__}"
            raise ClientError(msg)
        if unknown := [name for name in record if name not in self._attributes]:
            msg = f"the record has {unknown[0]!r}, which the design does not; leave it out"
            raise ClientError(msg)
        report: dict[str, object] = {}
        for name, (values, missing, missing_is_public, threshold) in self._attributes.items():
            if name not in record:
                msg = f"the record has no {name!r}; every attribute of the design is answered"
                raise ClientError(msg)
            answer = None if missing is not None and record[name] == missing else record[name]
            if missing_is_public and answer is None:
                report[name] = None
                continue
            truth = _code(name, values, answer)
            report[name] = values[report_from_word(truth, secrets.randbits(32), threshold, len(values))]
        return report


def _code(name: str, values: list[object], answer: object) -> int:
    for code, value in enumerate(values):
        if value == answer and type(value) is type(answer):  # True is not 1
            return code
    msg = f"the answer to {name!r} is not one of its {len(values)} categories; choose one of them"
    raise ClientError(msg)


class _Attribute(NamedTuple):
    values: list[object]
    """In the order of their codes, a missing one last if it is randomized."""
    missing: str | None
    missing_is_public: bool
    threshold: int


def _attributes(design: str) -> dict[str, _Attribute]:
    """Return the attributes of a design by their names."""
    try:
        document = json.loads(design)
        version = document["schema_version"]
        entries = [
            (e["name"], list(e["categories"]), e.get("missing"), e.get("missing_is_public", False), e["threshold"])
            for e in document["attributes"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        msg = "the design is not one; fetch it again"
        raise ClientError(msg) from None
    if version not in range(1, SCHEMA_VERSION + 1):
        msg = f"the design has schema_version {version!r}, this client follows up to {SCHEMA_VERSION}; use a newer one"
        raise ClientError(msg)
    found: dict[str, _Attribute] = {}
    for name, categories, missing, public, threshold in entries:
        if public is not False and not (public is True and missing is not None and version == SCHEMA_VERSION):
            msg = f"attribute {name!r} of the design is not clear about its missing answers; fetch the design again"
            raise ClientError(msg)
        values = categories if missing is None or public else [*categories, None]
        size = len(values)
        whole = isinstance(threshold, int) and not isinstance(threshold, bool)
        if not isinstance(name, str) or name in found or not 2 <= size <= _MAX_SIZE:
            msg = f"attribute {name!r} of the design has no name, or not from 2 to 65,536 categories; fetch it again"
            raise ClientError(msg)
        if not whole or not 0 < threshold <= _WORDS or (_WORDS - threshold) % size:
            msg = f"the threshold of attribute {name!r} does not fit its {size} categories; fetch the design again"
            raise ClientError(msg)
        found[name] = _Attribute(values, missing, public, threshold)
    if not found:
        msg = "the design has no attributes; fetch it again"
        raise ClientError(msg)
    return found


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
