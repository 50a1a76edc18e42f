"""A product of channels applied to a table, one axis at a time; never a matrix of the joint.

A record of m attributes goes through P₁ ⊗ … ⊗ P_m. Each factor has the form a I + b J, so its effect on a table
along one axis is

    T ← a T + b · (sum of T over that axis)

and the whole product costs O(m · cells), whatever m is. ``apply`` does this for P, ``solve`` for P⁻¹ and
``solve_squared`` for the entrywise square of P⁻¹, which variances need. The dense matrix, and eq. (8) and the
Section 6 expansion of the paper, are here too, as references to test against on small cases.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from lambdarr.errors import DataError
from lambdarr.parallel import over_range, worth_compiling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.channel import Channel

    Floats = NDArray[np.float64]

_COMPILED_FROM = 1 << 22
_LOADED_FROM = 0  # once they are loaded, they are faster for every size
_THREADS_FROM = 1 << 20
_BLOCK = 80_000  # cells of a block that is worked on in the second-level cache, 640 kB
_PANEL = 64  # neighbouring columns that travel together: whole cache lines, and room for 1,250 rows of them

DENSE_LIMIT = 20_000
"""Cells above which no dense matrix of the joint is formed."""


def apply(channels: Sequence[Channel], table: ArrayLike, *, out: Floats | None = None) -> Floats:
    """Return (P₁ ⊗ … ⊗ P_k) applied to a table with one axis per channel: truths' distribution → reports'.

    ``out`` is where the result goes, and may be the table itself.

    Examples
    --------
    >>> from lambdarr import Channel
    >>> apply([Channel(2, 0.8), Channel(2, 0.4)], [[1, 0], [0, 0]])
    array([[0.63, 0.27],
           [0.07, 0.03]])
    """
    return _along_axes(channels, [channel.forward for channel in channels], table, out)


def solve(channels: Sequence[Channel], table: ArrayLike, *, out: Floats | None = None) -> Floats:
    """Return (P₁ ⊗ … ⊗ P_k)⁻¹ applied to a table with one axis per channel: reports' distribution → truths'.

    ``out`` is where the result goes, and may be the table itself.

    Examples
    --------
    >>> from lambdarr import Channel
    >>> solve([Channel(2, 0.8), Channel(2, 0.4)], [[0.63, 0.27], [0.07, 0.03]]).round(6) + 0.0
    array([[1., 0.],
           [0., 0.]])
    """
    return _along_axes(channels, [channel.backward for channel in channels], table, out)


def solve_squared(channels: Sequence[Channel], table: ArrayLike, *, out: Floats | None = None) -> Floats:
    """Return (A ∘ A) applied to a table, A = (P₁ ⊗ … ⊗ P_k)⁻¹.

    Notes
    -----
    (a I + b J)∘(a I + b J) = (a² + 2ab) I + b² J, so the entrywise square is again a Kronecker product.
    """
    pairs = [channel.backward for channel in channels]
    return _along_axes(channels, [(a * a + 2 * a * b, b * b) for a, b in pairs], table, out)


def _along_axes(
    channels: Sequence[Channel], coefficients: Sequence[tuple[float, float]], table: ArrayLike, out: Floats | None
) -> Floats:
    """Return ⊗ⱼ (aⱼ I + bⱼ J) applied to ``table``."""
    sizes = tuple(channel.size for channel in channels)
    if np.shape(table) != sizes:
        msg = f"table must have the shape {sizes} of its channels, got {np.shape(table)}"
        raise DataError(msg)
    result = np.empty(sizes) if out is None else out
    if result.shape != sizes or result.dtype != np.float64 or not result.flags.c_contiguous:
        msg = f"out must be a contiguous array of float64 with the shape {sizes}, got {result.dtype} {result.shape}"
        raise DataError(msg)
    if result is not table:
        result[...] = table
    if worth_compiling(result.size, enough=_COMPILED_FROM, loaded=_LOADED_FROM):
        _along_axes_compiled(result, coefficients)
    else:
        for axis, (a, b) in enumerate(coefficients):
            total = result.sum(axis=axis, keepdims=True)
            total *= b
            result *= a
            result += total
    return result


def _along_axes_compiled(table: Floats, coefficients: Sequence[tuple[float, float]]) -> None:
    """Apply ⊗ⱼ (aⱼ I + bⱼ J) in place, in as few passes over memory as the cache allows, on all cores.

    The last axes, as many as fit a cache-sized block, are one pass; the axes before them, in groups that fit the cache
    a panel of columns at a time, are one pass for each group. 5¹¹ cells take two.
    """
    from lambdarr import kernels

    sizes = table.shape
    threads = None if table.size >= _THREADS_FROM else 1
    last = len(sizes)
    while last > 0:
        inner = math.prod(sizes[last:])
        limit = _BLOCK if inner == 1 else _BLOCK // _PANEL
        first = last - 1
        while first > 0 and math.prod(sizes[first - 1 : last]) <= limit:
            first -= 1
        group = np.array(sizes[first:last])
        a, b = (np.array([pair[side] for pair in coefficients[first:last]]) for side in (0, 1))
        if inner == 1:
            rows = table.reshape(-1, math.prod(group.tolist()))
            over_range(
                functools.partial(kernels.along_trailing_axes, rows, group, a, b), rows.shape[0], threads=threads
            )
        else:
            parts = table.reshape(-1, math.prod(group.tolist()), inner)
            panels = parts.shape[0] * -(-inner // _PANEL)
            over_range(
                functools.partial(kernels.along_middle_axes, parts, group, a, b, _PANEL), panels, threads=threads
            )
        last = first


# References: exact, and only for cases small enough to write down.


def dense(channels: Sequence[Channel]) -> Floats:
    """Return P₁ ⊗ … ⊗ P_m as a matrix, for small cases.

    Examples
    --------
    >>> from lambdarr import Channel
    >>> dense([Channel(2, 0.8), Channel(2, 0.4)])[3]
    array([0.03, 0.07, 0.27, 0.63])
    """
    _check_dense(channels)
    return _product([channel.matrix() for channel in channels])


def dense_inverse(channels: Sequence[Channel]) -> Floats:
    """Return (P₁ ⊗ … ⊗ P_m)⁻¹ as a matrix, the product of the closed-form inverses, for small cases."""
    _check_dense(channels)
    return _product([channel.inverse() for channel in channels])


def inverse_by_subsets(channels: Sequence[Channel]) -> Floats:
    """Return (P₁ ⊗ … ⊗ P_m)⁻¹ as the 2^m terms of the paper's eq. (8): a reference for tests."""
    _check_dense(channels)
    total = np.zeros((_cells(channels),) * 2)
    for subset in itertools.product((0, 1), repeat=len(channels)):
        weight, factors = 1.0, []
        for chosen, channel in zip(subset, channels, strict=True):
            weight *= channel.backward[chosen]
            factors.append(np.ones((channel.size,) * 2) if chosen else np.eye(channel.size))
        total += weight * _product(factors)
    return total


def inverse_by_projections(channels: Sequence[Channel]) -> Floats:
    """Return (P₁ ⊗ … ⊗ P_m)⁻¹ as in Section 6, from the projections I − P* and P*: a reference for tests."""
    _check_dense(channels)
    total = np.zeros((_cells(channels),) * 2)
    for centred in itertools.product((False, True), repeat=len(channels)):
        weight, factors = 1.0, []
        for is_centred, channel in zip(centred, channels, strict=True):
            uniform = np.full((channel.size,) * 2, 1 / channel.size)
            weight *= 1 / channel.lam if is_centred else 1.0
            factors.append(np.eye(channel.size) - uniform if is_centred else uniform)
        total += weight * _product(factors)
    return total


def _product(matrices: Sequence[Floats]) -> Floats:
    product: Floats = np.ones((1, 1))
    for matrix in matrices:
        product = np.asarray(np.kron(product, matrix), dtype=np.float64)
    return product


def _cells(channels: Sequence[Channel]) -> int:
    cells = 1
    for channel in channels:
        cells *= channel.size
    return cells


def _check_dense(channels: Sequence[Channel]) -> None:
    if not channels:
        msg = "channels must not be empty"
        raise DataError(msg)
    if (cells := _cells(channels)) > DENSE_LIMIT:
        msg = f"a dense matrix over {cells:,} cells is larger than {DENSE_LIMIT:,}; use kronecker.apply or solve"
        raise DataError(msg)
