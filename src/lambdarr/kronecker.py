"""A product of channels applied to a table, one axis at a time; never a matrix of the joint.

A record of m attributes goes through P₁ ⊗ … ⊗ P_m. Each factor has the form a I + b J, so its effect on a table
along one axis is

    T ← a T + b · (sum of T over that axis)

and the whole product costs O(m · cells), whatever m is. ``apply`` does this for P, ``solve`` for P⁻¹ and
``solve_squared`` for the entrywise square of P⁻¹, which variances need. The dense matrix, and eq. (8) and the
Section 6 expansion of the paper, are here too, as references to test against on small cases.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from lambdarr.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.channel import Channel

DENSE_LIMIT = 20_000
"""Cells above which no dense matrix of the joint is formed."""


def apply(channels: Sequence[Channel], table: ArrayLike) -> NDArray[np.float64]:
    """Return (P₁ ⊗ … ⊗ P_k) applied to a table with one axis per channel: truths' distribution → reports'.

    Examples
    --------
    >>> from lambdarr import Channel
    >>> apply([Channel(2, 0.8), Channel(2, 0.4)], [[1, 0], [0, 0]])
    array([[0.63, 0.27],
           [0.07, 0.03]])
    """
    return along_axes(table, [channel.forward for channel in channels], channels)


def solve(channels: Sequence[Channel], table: ArrayLike) -> NDArray[np.float64]:
    """Return (P₁ ⊗ … ⊗ P_k)⁻¹ applied to a table with one axis per channel: reports' distribution → truths'.

    Examples
    --------
    >>> from lambdarr import Channel
    >>> solve([Channel(2, 0.8), Channel(2, 0.4)], [[0.63, 0.27], [0.07, 0.03]]).round(6) + 0.0
    array([[1., 0.],
           [0., 0.]])
    """
    return along_axes(table, [channel.backward for channel in channels], channels)


def solve_squared(channels: Sequence[Channel], table: ArrayLike) -> NDArray[np.float64]:
    """Return (A ∘ A) applied to a table, A = (P₁ ⊗ … ⊗ P_k)⁻¹.

    Notes
    -----
    (a I + b J)∘(a I + b J) = (a² + 2ab) I + b² J, so the entrywise square is again a Kronecker product.
    """
    pairs = [channel.backward for channel in channels]
    return along_axes(table, [(a * a + 2 * a * b, b * b) for a, b in pairs], channels)


def along_axes(
    table: ArrayLike, coefficients: Sequence[tuple[float, float]], channels: Sequence[Channel]
) -> NDArray[np.float64]:
    """Return ⊗ⱼ (aⱼ I + bⱼ J) applied to ``table``, one axis per channel."""
    result = np.array(table, dtype=np.float64)
    sizes = tuple(channel.size for channel in channels)
    if result.shape != sizes:
        msg = f"table must have the shape {sizes} of its channels, got {result.shape}"
        raise DataError(msg)
    for axis, (a, b) in enumerate(coefficients):
        total = result.sum(axis=axis, keepdims=True)
        total *= b
        result *= a
        result += total
    return result


# References: exact, and only for cases small enough to write down.


def dense(channels: Sequence[Channel]) -> NDArray[np.float64]:
    """Return P₁ ⊗ … ⊗ P_m as a matrix, for small cases.

    Examples
    --------
    >>> from lambdarr import Channel
    >>> dense([Channel(2, 0.8), Channel(2, 0.4)])[3]
    array([0.03, 0.07, 0.27, 0.63])
    """
    _check_dense(channels)
    return _product([channel.matrix() for channel in channels])


def dense_inverse(channels: Sequence[Channel]) -> NDArray[np.float64]:
    """Return (P₁ ⊗ … ⊗ P_m)⁻¹ as a matrix, the product of the closed-form inverses, for small cases."""
    _check_dense(channels)
    return _product([channel.inverse() for channel in channels])


def inverse_by_subsets(channels: Sequence[Channel]) -> NDArray[np.float64]:
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


def inverse_by_projections(channels: Sequence[Channel]) -> NDArray[np.float64]:
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


def _product(matrices: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    product: NDArray[np.float64] = np.ones((1, 1))
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
