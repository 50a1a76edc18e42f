"""How a ratio is measured: both sides in one process, taking turns, the best of a few rounds of each."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def best(*functions: Callable[[], object], rounds: int = 3) -> list[float]:
    """Return the best time of each function in seconds, after one round that does not count."""
    times = [float("inf")] * len(functions)
    for number in range(rounds + 1):
        for place, function in enumerate(functions):
            start = time.perf_counter()
            function()
            elapsed = time.perf_counter() - start
            if number:
                times[place] = min(times[place], elapsed)
    return times
