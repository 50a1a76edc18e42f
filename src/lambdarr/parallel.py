"""Work on all cores: when compiled loops are worth loading, and how pieces of work are spread over threads.

Threads are enough, and simpler than processes: the cipher, the compiled loops, NumPy and Arrow all release the GIL.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def worth_compiling(values: int, *, enough: int, loaded: int = 1 << 19) -> bool:
    """Return whether compiled loops pay: there is enough work to load them, or for those that are loaded already."""
    return values >= enough or ("lambdarr.kernels" in sys.modules and values >= loaded)


def over_range(function: Callable[[int, int], None], stop: int, *, threads: int | None = None) -> None:
    """Call ``function(first, last)`` on pieces of 0 … stop, on all cores."""
    workers = threads or cores()
    if workers == 1 or stop <= 1:
        function(0, stop)
        return
    pieces = min(stop, 16 * workers)  # small enough that no core waits long for another
    edges = [stop * piece // pieces for piece in range(pieces + 1)]
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(function, edges[:-1], edges[1:]):
            pass


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items, the next one being made in a thread of its own meanwhile."""
    iterator, end = iter(items), object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, iterator, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, iterator, end)
            yield item  # type: ignore[misc]


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], *, depth: int | None = None
) -> Iterator[Result]:
    """Yield ``function(item)`` for each item, in order; a few are being worked on while one is used.

    Items are taken from the iterable one by one, in the caller's thread, and only a few ahead: memory stays bounded.
    """
    workers = cores()
    running: deque[Callable[[], Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                running.append(pool.submit(function, item).result)
                if len(running) > (depth or workers):
                    yield running.popleft()()
            while running:
                yield running.popleft()()
        finally:
            pool.shutdown(cancel_futures=True)
