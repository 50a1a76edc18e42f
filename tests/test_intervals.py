"""Intervals: against their defining equation, against Wilson's, and against what they cover."""

import numpy as np
import pytest
from scipy import stats

import lambdarr as lr
from lambdarr import choosing, intervals, kronecker
from tests.strategies import design_of


def files(pi, lam, n, repetitions, *, finite, seed):
    """Yield designs, counts of simulated files and the table to be covered."""
    generator = np.random.default_rng(seed)
    channels = [lr.Channel(size, lam) for size in pi.shape]
    design = design_of(channels)
    truths = generator.multinomial(n, pi.ravel()).reshape(pi.shape)
    for _ in range(repetitions):
        if not finite:
            truths = generator.multinomial(n, pi.ravel()).reshape(pi.shape)
        counts = choosing.randomized(truths, channels, generator)
        yield design, lr.Counts.from_array(design.names, counts), truths / n if finite else pi


def covered(lower, goal, upper):
    return (lower <= goal + 1e-12) & (goal <= upper + 1e-12)


@pytest.mark.parametrize("counts", [[0, 10, 40], [3, 3, 4], [1, 0, 0], [500, 1, 2]])
def test_without_randomization_it_is_wilsons(counts):
    design = lr.design({"a": range(3)}, lam=1)
    lower, upper = lr.estimate(lr.Counts.from_array("a", counts), design, method="inverse").interval(0.9)
    n = sum(counts)
    for count, low, high in zip(counts, lower, upper, strict=True):
        wilson = stats.binomtest(count, n).proportion_ci(0.9, method="wilson")
        assert (low, high) == pytest.approx((wilson.low, wilson.high), abs=1e-12)


@pytest.mark.parametrize("finite", [False, True])
def test_ends_are_z_standard_errors_of_the_end_away(finite):
    """The variance at the end, from the dense matrices, with the people outside the cell spread as is plausible."""
    channels = [lr.Channel(3, 0.6), lr.Channel(2, 0.7)]
    generator = np.random.default_rng(3)
    plausible = 0.999 * generator.dirichlet(np.ones(6)) + 0.001 / 6
    A, P = kronecker.dense_inverse(channels), kronecker.dense(channels)
    estimate = plausible + generator.normal(0, 0.02, 6)
    as_given = (plausible - 0.001 / 6) / 0.999
    ends = intervals.score_interval(
        channels, estimate.reshape(3, 2), as_given.reshape(3, 2), n=400, finite=finite, z=1.7
    )
    for end in ends:
        for cell, p in enumerate(end.ravel()):
            if not 0 <= p <= 1:  # beyond, the variance stays what it is at the boundary
                continue
            pi = plausible * (1 - p) / (1 - plausible[cell])
            pi[cell] = p
            variance = ((A**2 @ P @ pi)[cell] - (p if finite else p**2)) / 400
            assert (estimate[cell] - p) ** 2 == pytest.approx(1.7**2 * variance, rel=1e-6)


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize(("lam", "concentration"), [(0.2, 1.0), (0.5, 0.3), (0.8, 0.2), (0.95, 0.3)])
def test_they_cover_as_they_say_in_rare_cells_too(lam, concentration, finite):
    """Every cell of a table, many of them with fewer than ten people: 93 to 97 % on average, and no cell below 90 %.

    1,000 files and 20 cells: the mean has a standard error below 0.3 %, so a false alarm is as good as impossible.
    """
    pi = np.random.default_rng(1).dirichlet(np.full(20, concentration)).reshape(5, 4)
    hits = [
        covered(found.lower, goal, found.upper)
        for design, counts, goal in files(pi, lam, 500, 1_000, finite=finite, seed=2)
        for found in [
            lr.estimate(counts, design, method="inverse", inference="finite" if finite else "population").interval()
        ]
    ]
    assert 0.93 < np.mean(hits) < 0.97
    assert np.mean(hits, axis=0).min() > 0.90


@pytest.mark.parametrize("method", ["auto", "ml", "pairwise", "independence"])
def test_they_are_the_same_whatever_the_method(method):
    """Values may be drawn towards a model; the interval still covers, though the attributes depend."""
    pi = np.array([[0.3, 0.05, 0.02], [0.03, 0.25, 0.05], [0.1, 0.0, 0.2]])
    hits = []
    for design, counts, goal in files(pi, 0.6, 800, 120, finite=False, seed=4):
        lower, upper = lr.estimate(counts, design, method=method).interval()
        plain = lr.estimate(counts, design, method="inverse").interval()
        np.testing.assert_allclose(lower, np.clip(plain.lower, 0, 1))
        hits.append(covered(lower, goal, upper))
    assert 0.93 < np.mean(hits) < 0.97  # standard error 0.7 %: out of bounds by chance once in 200 seeds


@pytest.mark.parametrize("inference", ["population", "finite"])
@pytest.mark.parametrize("method", ["pairwise", [("a0", "a1")]])
def test_bootstrap_covers_where_the_model_holds(method, inference):
    """100 files of 8 cells; cells of one file hang together, so the mean has a standard error of about 1.3 %."""
    generator = np.random.default_rng(9)
    one, two, three = (generator.dirichlet(np.full(2, 4.0)) for _ in range(3))
    pi = np.einsum("i,j,k->ijk", one, two, three)
    hits, widths = [], []
    for design, counts, goal in files(pi, 0.6, 2_000, 100, finite=inference == "finite", seed=6):
        found = lr.estimate(counts, design, method=method, inference=inference)
        near = found.interval(around="values")
        assert near.kind == "bootstrap of the model"
        hits.append(covered(near.lower, goal, near.upper))
        wide = found.interval()
        widths.append(np.mean(near.upper - near.lower) / np.mean(wide.upper - wide.lower))
    assert 0.91 < np.mean(hits) < 0.99
    assert np.mean(widths) < 1


def test_interval_says_what_it_is():
    design = lr.design({"a": range(2), "b": range(2)}, lam=0.7)
    table = [{"a": 0, "b": 1, "w": 2.0}, {"a": 1, "b": 0, "w": 1.0}] * 50
    assert lr.estimate(table, design, ["a", "b"]).interval().kind == "asymptotic (score)"
    assert lr.estimate(table, design, ["a", "b"], weights="w").interval().kind == "asymptotic (Wald)"
    with pytest.raises(lr.DataError, match="'auto' have no interval of their own"):
        lr.estimate(table, design, ["a", "b"]).interval(around="values")
    with pytest.raises(lr.DataError, match="around must be 'unbiased' or 'values'"):
        lr.estimate(table, design, ["a", "b"]).interval(around="truth")
