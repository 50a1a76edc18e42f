"""Log-linear models of the truths behind a table of reports, fitted by the likelihood of the reports.

A model is a set of margins: the table is the one of largest likelihood among all that are products of factors, one for
each margin. One-way margins alone are independence; all pairs are the pairwise graphical model; the whole table is the
saturated model. Fitting is EM with one round of proportional scaling for its second half, which never lowers the
likelihood either.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from lambdarr.likelihood import CALM, Support, accelerated, backward, maximum_likelihood, most_steps, prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel

    Floats = NDArray[np.float64]

Margin = tuple[int, ...]

VISIBLE = 2.0
"""A pair is kept if its X² on the reports exceeds this many times its degrees of freedom: Akaike's criterion."""


def margin_of(table: Floats, axes: Sequence[int]) -> Floats:
    """Return the margin of some axes, the others kept with length 1."""
    return np.asarray(table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes), keepdims=True))


def independent(channels: Sequence[Channel], theta: Floats, *, n: float) -> Floats:
    """Return the product of the one-way tables of largest likelihood: no cell of it is zero."""
    product = np.ones((1,) * theta.ndim)
    for axis, channel in enumerate(channels):
        margin = margin_of(theta, (axis,)).ravel()
        start = np.full(channel.size, 1 / channel.size)
        values = maximum_likelihood([channel], margin, n=n, start=start).values
        values = np.maximum(values, 1e-9)  # a start for other models, which could not leave zero
        shape = [1] * theta.ndim
        shape[axis] = -1
        product = product * (values / values.sum()).reshape(shape)
    return np.asarray(product)


def visible_pairs(theta: Floats, *, n: float) -> list[Margin]:
    """Return the pairs of attributes whose dependence the reports show.

    Notes
    -----
    P(λ) keeps independent attributes independent, so Pearson's statistic of the reports' two-way table,
    X² = n Σ (θ̂ − θ̂ᵢ θ̂ⱼ)²/(θ̂ᵢ θ̂ⱼ), tests the truths' independence; its mean is right even where cells are many and
    reports few. What does not stand out would add more noise than signal.
    """
    found: list[Margin] = []
    for pair in itertools.combinations(range(theta.ndim), 2):
        both = margin_of(theta, pair)
        expected = margin_of(both, pair[:1]) * margin_of(both, pair[1:])
        possible = expected > 0
        statistic = n * float(((both[possible] - expected[possible]) ** 2 / expected[possible]).sum())
        if statistic > VISIBLE * math.prod(theta.shape[axis] - 1 for axis in pair):
            found.append(pair)
    return found


def fit(channels: Sequence[Channel], theta: Floats, margins: Sequence[Margin], *, n: float, start: Floats) -> Floats:
    """Return the table of largest likelihood of the model with these margins.

    ``start`` has to be of the model itself; the independent table is of all of them.
    """
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
        step, start, Support(channels, theta).log_likelihood, lambda: False,
        most=most_steps(theta.size), gain=CALM / n, in_logs=True,
    )  # fmt: skip
    return values
