"""Every exception that lambdarr raises on purpose.

The tree::

    LambdarrError
    ├── DesignError          a design that cannot be: λ out of (0, 1], an unreachable target, another version
    ├── DataError            a table that does not fit its design, or cannot be analysed as asked
    ├── SourceError          a file that cannot be read, or an output that cannot be written
    └── MissingExtraError    an optional package that this piece of work needs

    UnprotectedWarning       what was asked for protects nobody, and is done all the same

Each message says what was wrong, where (attribute, first row) and what to do. None of them repeats a value
of the data: messages travel further than the data may.
"""


class LambdarrError(Exception):
    """Anything that lambdarr refuses to do, and why."""


class DesignError(LambdarrError, ValueError):
    """A design that cannot be, or cannot be read."""


class DataError(LambdarrError, ValueError):
    """A table, record or set of counts that does not fit its design."""


class SourceError(LambdarrError, OSError):
    """A file that cannot be read, or an output that cannot be written."""


class MissingExtraError(LambdarrError, ImportError):
    """An optional package that is not installed."""


class UnprotectedWarning(UserWarning):
    """Something that was asked for by name and protects nobody: whoever knows the design undoes it."""
