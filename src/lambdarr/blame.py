"""What the user's own code raised, in one line, with the line of theirs that did it."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

_MOST = 300
"""Characters of a message; some quote a whole table."""


def told(error: BaseException) -> str:
    """Return the type and message of an exception, and the last line of the user's own code on its way.

    Examples
    --------
    >>> told(KeyError("vote"))
    "KeyError: 'vote'"
    """
    said = " ".join(str(error).split())
    said = f"{said[:_MOST]} …" if len(said) > _MOST else said
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_the_users(frame.filename)]
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{': ' if said else ''}{said}{place}"


def _is_the_users(file: str) -> bool:
    paths = sysconfig.get_paths()
    others = Path(__file__).parent, *(Path(paths[name]) for name in ("stdlib", "purelib", "platlib"))
    return not file.startswith("<") and not any(Path(file).is_relative_to(folder) for folder in others)
