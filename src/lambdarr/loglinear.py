"""Log-linear models of the truths behind a table of reports.

A model is a set of margins: the table is the one of largest likelihood among all that are products of factors, one for
each margin. One-way margins alone are independence; all pairs are the pairwise graphical model; the whole table is the
saturated model. ``fit`` finds that table from the reports: EM with one round of proportional scaling for its second
half, which never lowers the likelihood either. ``scaled_to`` finds the model's table when the margins are known.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from lambdarr.likelihood import CALM, Support, accelerated, backward, maximum_likelihood, most_steps, prepare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel

    Floats = NDArray[np.float64]

Margin = tuple[int, ...]

SWEEPS = 50
"""Rounds of proportional scaling after which margins that contradict each other are left as they are."""

_CLOSE = 1e-5  # total difference between the margins wanted and those reached at which scaling ends
_ABOVE_ZERO = 1e-9  # of a share: EM and scaling could never leave zero


def margin_of(table: Floats, axes: Sequence[int]) -> Floats:
    """Return the margin of some axes, the others kept with length 1."""
    shape = tuple(size if axis in axes else 1 for axis, size in enumerate(table.shape))
    runs, summed = _runs(table.shape, shape)
    return np.asarray(table.reshape(runs).sum(axis=summed)).reshape(shape)


def _runs(shape: tuple[int, ...], margin: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a table's shape with neighbouring axes merged that a margin all has, or all sums, and those summed.

    NumPy's loops run along one axis at a time: with many short axes they would hardly begin before they end.
    """
    runs: list[int] = []
    last, summed = None, []
    for size, kept in zip(shape, margin, strict=True):
        if last is not None and (kept > 1) == last:
            runs[-1] *= size
        else:
            last = kept > 1
            runs.append(size)
            if not last:
                summed.append(len(runs) - 1)
    return tuple(runs), tuple(summed)


def shares(channels: Sequence[Channel], theta: Floats, *, n: float) -> list[Floats]:
    """Return the one-way table of largest likelihood of every axis, kept above zero, in the shape of its margin."""
    found = []
    for axis, channel in enumerate(channels):
        margin = margin_of(theta, (axis,))
        start = np.full(channel.size, 1 / channel.size)
        values = maximum_likelihood([channel], margin.ravel(), n=n, start=start).values
        values = np.maximum(values, _ABOVE_ZERO)
        found.append((values / values.sum()).reshape(margin.shape))
    return found


def product(factors: Iterable[Floats]) -> Floats:
    """Return the product of margins."""
    result = np.ones(())
    for factor in factors:
        result = result * factor
    return np.asarray(result)


def independent(channels: Sequence[Channel], theta: Floats, *, n: float) -> Floats:
    """Return the product of the one-way tables of largest likelihood: no cell of it is zero."""
    return product(shares(channels, theta, n=n))


def scaled_to(margins: Sequence[Floats], start: Floats) -> Floats:
    """Return the table with these margins that differs from ``start`` by a factor for each of them.

    Proportional scaling. Margins have length 1 on the axes they are not about. Where they contradict each other, as
    margins estimated one by one do a little, the table is between them.
    """
    table = np.array(start)
    views = []
    for wanted in margins:
        runs, summed = _runs(table.shape, wanted.shape)
        view = table.reshape(runs)
        views.append((view, summed, wanted.reshape(view.sum(axis=summed, keepdims=True).shape)))
    for _ in range(SWEEPS):
        furthest = 0.0
        for view, summed, wanted in views:
            has = view.sum(axis=summed, keepdims=True)
            furthest = max(furthest, float(np.abs(has - wanted).sum()))
            view *= np.divide(wanted, has, out=np.zeros_like(wanted), where=has > 0)
        if furthest < _CLOSE:
            break
    table /= table.sum()
    return table


def all_of_order(axes: int, order: int) -> list[Margin]:
    """Return the margins of every ``order`` of so many axes."""
    return list(itertools.combinations(range(axes), order))


def fit(channels: Sequence[Channel], theta: Floats, margins: Sequence[Margin], *, n: float) -> Floats:
    """Return the table of largest likelihood of the model with these margins."""
    start = independent(channels, theta, n=n)
    if any(len(margin) == theta.ndim for margin in margins):  # the model has all tables
        return maximum_likelihood(channels, theta, n=n, start=start).values
    prepare(theta.size)
    covered = {axis for margin in margins for axis in margin}
    whole = [*margins, *((axis,) for axis in range(theta.ndim) if axis not in covered)]

    def step(pi: Floats) -> Floats:
        factor, _ = backward(channels, theta, pi)
        expected = pi * factor
        for margin in whole:
            wanted, has = margin_of(expected, margin), margin_of(pi, margin)
            pi = pi * np.divide(wanted, has, out=np.zeros_like(has), where=has > 0)
        return pi

    values, _ = accelerated(
        step, _near(channels, theta, margins, n=n, start=start), Support(channels, theta).log_likelihood,
        lambda: False, most=most_steps(theta.size), gain=CALM / n, in_logs=True,
    )  # fmt: skip
    return values


def _near(channels: Sequence[Channel], theta: Floats, margins: Sequence[Margin], *, n: float, start: Floats) -> Floats:
    """Return a table of the model near its maximum: scaled to the margins that are likeliest each on its own."""
    likeliest = []
    for margin in margins:
        reported, independently = margin_of(theta, margin), margin_of(start, margin)
        some = [channels[axis] for axis in margin]
        sizes = [channel.size for channel in some]
        found = maximum_likelihood(some, reported.reshape(sizes), n=n, start=independently.reshape(sizes)).values
        likeliest.append(0.999 * found.reshape(reported.shape) + 0.001 * independently)  # it must be able to leave 0
    return scaled_to(likeliest, start)
