"""The compiled loops, for inputs large enough to be worth loading a compiler's output.

Nothing imports this module at the top: numba takes a third of a second to import, so a verb reaches for it only when
there are millions of values, and does small work with NumPy. Compiled code is cached on disk, beside this file or in
the user's cache folder; every function releases the GIL, so that threads run it side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba  # noqa: TID253
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lambdarr.domain import Codes

    Floats = NDArray[np.float64]
    Cells = NDArray[np.int64]

# Sums may be taken in another order, which changes their last digits; infinities and nan keep their meaning.
_OPTIONS: dict[str, Any] = {"nogil": True, "boundscheck": False, "fastmath": {"contract", "reassoc", "nsz", "arcp"}}


def _compiled(function: Callable[..., None]) -> Callable[..., None]:
    try:
        compiled: Callable[..., None] = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no folder to cache in: compile for this process alone
        compiled = numba.njit(**_OPTIONS)(function)
    return compiled


@_compiled
def report(
    truths: Codes, words: NDArray[np.uint32], reports: Codes, threshold: int, multiplier: int, addend: int, shift: int
) -> None:
    """Write the report that each word makes of each truth: the sampler's rule, its division done by multiplying."""
    limit = np.uint32(threshold)
    times, plus, by = np.uint64(multiplier), np.uint64(addend), np.uint64(shift)
    for i in range(truths.size):
        word = words[i]
        redraw = (np.uint64(np.uint32(word - limit)) * times + plus) >> by
        # both as signed integers: of a signed and an unsigned one, numba would make a float
        reports[i] = np.int64(truths[i]) if word < limit else np.int64(redraw)


@_compiled
def locate(cells: Cells, codes: Codes, size: int) -> None:
    """Move each record's cell one axis further: cell ← cell · size + code."""
    for i in range(cells.size):
        cells[i] = cells[i] * size + codes[i]


# Products of a I + b J along axes. A block of the table that fits the cache is taken through several axes at a time,
# two by two. Slices instead of computed indices are what lets the compiler use vector instructions.


@_compiled
def _along_axis(block: Floats, size: int, inner: int, a: float, b: float, totals: Floats) -> None:
    """Take a block, seen as (…, size, inner), through a I + b J along its middle axis."""
    for start in range(0, block.size, size * inner):
        part = block[start : start + size * inner]
        if inner == 1:
            total = 0.0
            for k in range(size):
                total += part[k]
            total *= b
            for k in range(size):
                part[k] = a * part[k] + total
        else:
            sums = totals[:inner]
            sums[:] = 0.0
            for k in range(size):
                line = part[k * inner : (k + 1) * inner]
                for i in range(inner):
                    sums[i] += line[i]
            for i in range(inner):
                sums[i] *= b
            for k in range(size):
                line = part[k * inner : (k + 1) * inner]
                for i in range(inner):
                    line[i] = a * line[i] + sums[i]


@_compiled
def _along_last_two_axes(
    block: Floats, first: int, second: int, a1: float, b1: float, a2: float, b2: float, rows: Floats, columns: Floats
) -> None:
    """Take a block, seen as (…, first, second), through (a₁ I + b₁ J) ⊗ (a₂ I + b₂ J)."""
    below = columns[:second]
    for start in range(0, block.size, first * second):
        part = block[start : start + first * second]
        below[:] = 0.0
        grand = 0.0
        for j in range(first):
            line = part[j * second : (j + 1) * second]
            total = 0.0
            for k in range(second):
                total += line[k]
                below[k] += line[k]
            rows[j] = total
            grand += total
        for k in range(second):
            below[k] = b1 * a2 * below[k] + b1 * b2 * grand
        for j in range(first):
            line = part[j * second : (j + 1) * second]
            total = a1 * b2 * rows[j]
            for k in range(second):
                line[k] = a1 * a2 * line[k] + (total + below[k])


@_compiled
def _along_two_axes(
    block: Floats,
    first: int,
    second: int,
    inner: int,
    a1: float,
    b1: float,
    a2: float,
    b2: float,
    rows: Floats,
    columns: Floats,
    totals: Floats,
) -> None:
    """Take a block, seen as (…, first, second, inner), through (a₁ I + b₁ J) ⊗ (a₂ I + b₂ J) on its middle axes."""
    for start in range(0, block.size, first * second * inner):
        part = block[start : start + first * second * inner]
        columns[: second * inner] = 0.0
        grand = totals[:inner]
        grand[:] = 0.0
        for j in range(first):
            right = rows[j * inner : (j + 1) * inner]
            right[:] = 0.0
            for k in range(second):
                line = part[(j * second + k) * inner : (j * second + k + 1) * inner]
                below = columns[k * inner : (k + 1) * inner]
                for i in range(inner):
                    right[i] += line[i]
                    below[i] += line[i]
            for i in range(inner):
                grand[i] += right[i]
        for k in range(second):
            below = columns[k * inner : (k + 1) * inner]
            for i in range(inner):
                below[i] = b1 * a2 * below[i] + b1 * b2 * grand[i]
        for j in range(first):
            right = rows[j * inner : (j + 1) * inner]
            for i in range(inner):
                right[i] *= a1 * b2
            for k in range(second):
                line = part[(j * second + k) * inner : (j * second + k + 1) * inner]
                below = columns[k * inner : (k + 1) * inner]
                for i in range(inner):
                    line[i] = a1 * a2 * line[i] + (right[i] + below[i])


@_compiled
def _along_axes(block: Floats, inner: int, sizes: Cells, a: Floats, b: Floats, space: Any) -> None:
    """Take a block, seen as (*sizes, inner), through aⱼ I + bⱼ J along all of ``sizes``, last ones first."""
    j = sizes.size
    while j >= 2:
        if inner == 1:
            _along_last_two_axes(
                block, sizes[j - 2], sizes[j - 1], a[j - 2], b[j - 2], a[j - 1], b[j - 1], space[0], space[1]
            )
        else:
            _along_two_axes(
                block,
                sizes[j - 2],
                sizes[j - 1],
                inner,
                a[j - 2],
                b[j - 2],
                a[j - 1],
                b[j - 1],
                space[0],
                space[1],
                space[2],
            )
        inner *= sizes[j - 2] * sizes[j - 1]
        j -= 2
    if j == 1:
        _along_axis(block, sizes[0], inner, a[0], b[0], space[0])


@_compiled
def along_trailing_axes(table: Floats, sizes: Cells, a: Floats, b: Floats, first: int, last: int) -> None:
    """Take the rows ``first`` to ``last`` of a 2-way table, each seen as a table of ``sizes``, through its axes."""
    space = np.empty((3, table.shape[1]))
    for row in range(first, last):
        _along_axes(table[row], 1, sizes, a, b, space)


@_compiled
def along_middle_axes(table: Floats, sizes: Cells, a: Floats, b: Floats, panel: int, first: int, last: int) -> None:
    """Take the middle axis of a 3-way table, seen as a table of ``sizes``, through its axes.

    The work is cut into panels of ``panel`` neighbouring columns, numbered through all outer rows; each is copied
    into the cache, taken through all its axes there, and copied back.
    """
    rows, columns = table.shape[1], table.shape[2]
    panels = (columns + panel - 1) // panel
    scratch, space = np.empty(rows * panel), np.empty((3, rows * panel))
    for number in range(first, last):
        outer, start = number // panels, (number % panels) * panel
        width = min(panel, columns - start)
        for row in range(rows):
            there, here = table[outer, row, start : start + width], scratch[row * width : (row + 1) * width]
            for i in range(width):
                here[i] = there[i]
        _along_axes(scratch[: rows * width], width, sizes, a, b, space)
        for row in range(rows):
            there, here = table[outer, row, start : start + width], scratch[row * width : (row + 1) * width]
            for i in range(width):
                there[i] = here[i]
