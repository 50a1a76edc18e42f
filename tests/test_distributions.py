"""Local numerical attributes: against brute force, against NumPy at λ = 1, by enumeration, and what intervals cover."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import lambdarr as lr
from lambdarr import association, kronecker, smoothing
from lambdarr.channel import Channel
from lambdarr.distributions import BinnedDistribution
from lambdarr.scales import Scale
from tests.statistics import assert_plausible, binomial

EDGES = tuple(range(0, 101, 10))


def made(values, scale, lam=1.0, *, inference="population", missing=0, generator=None):
    """Return the distribution of reports of some numbers, and of people without one."""
    generator = generator or np.random.default_rng(1)
    words = generator.integers(0, 2**32, len(values), dtype=np.uint32)
    codes = scale.codes(np.asarray(values, dtype=float), words)
    truths = np.bincount(codes, minlength=scale.size)
    size = scale.size + (missing > 0)
    if missing:
        truths = np.append(truths, missing)
    channel = Channel(size, lam)
    reports = sum(generator.multinomial(count, row) for count, row in zip(truths, channel.matrix(), strict=True))
    return BinnedDistribution(lr.Counts.from_array(["x"], reports), channel, scale, inference=inference)


def smooth_numbers(n, generator):
    return np.clip(generator.gamma(4, 8, n), 0, 100)


@pytest.mark.parametrize("outside", ["clip", "count"])
@pytest.mark.parametrize("unit", ["number", "integer"])
def test_with_fine_bins_and_no_noise_it_is_numpys(unit, outside):
    generator = np.random.default_rng(2)
    values = np.floor(smooth_numbers(200_000, generator))
    scale = Scale(tuple(range(101)), unit=unit, rounding="none", outside=outside)
    found = made(values, scale)
    if unit == "integer":
        assert found.mean().value == pytest.approx(values.mean(), abs=0.01)
        assert found.quantile(0.5).value == np.quantile(values, 0.5)
        assert found.cdf(30).value == pytest.approx((values <= 30).mean(), abs=0.003)
    assert found.variance().value == pytest.approx(values.var(), rel=0.01)
    assert found.mean().standard_error == pytest.approx(values.std() / math.sqrt(len(values)), rel=0.01)


@pytest.mark.parametrize("outside", ["clip", "count"])
def test_the_mean_of_random_rounding_is_exactly_unbiased(outside):
    """All roundings and all reports of three people, each with its probability."""
    scale = Scale((0, 10, 40), outside=outside)
    values, channel = [3.0, 10.0, 31.0], Channel(scale.size, 0.6)
    edges, points = np.array(scale.edges), np.zeros(scale.size)
    points[scale.places] = scale.points
    chances = []
    for value in values:
        place = min(int(np.searchsorted(edges, value, side="right")) - 1, 1)
        part = (value - edges[place]) / (edges[place + 1] - edges[place])
        truth = np.zeros(scale.size)
        truth[scale.places.start + place], truth[scale.places.start + place + 1] = 1 - part, part
        chances.append(truth @ channel.matrix())
    mean = 0.0
    for reports in itertools.product(range(scale.size), repeat=3):
        counts = np.bincount(reports, minlength=scale.size)
        chance = math.prod(chances[person][report] for person, report in enumerate(reports))
        mean += chance * float(kronecker.solve([channel], counts / 3) @ points)
        if outside == "clip":  # where some may be outside the mean is a ratio, whose numerator is unbiased
            found = BinnedDistribution(lr.Counts.from_array(["x"], counts), channel, scale).mean()
            assert found.value == pytest.approx(float(kronecker.solve([channel], counts / 3) @ points))
    assert mean == pytest.approx(np.mean(values))


@pytest.mark.parametrize("inference", ["population", "finite"])
def test_errors_of_the_mean_are_those_of_the_table(inference):
    """σ² = sᵀ Cov(π̂) s with the dense covariance matrix of the one-way table."""
    scale = Scale((0, 10, 40, 50), outside="clip")
    attribute = lr.Attribute("x", scale.labels, scale=scale)
    design = lr.Design((attribute,), (Channel(4, 0.4),))
    counts = lr.Counts.from_array(["x"], [50, 80, 60, 30])
    table = lr.estimate(counts, design, method="inverse", inference=inference)
    found = BinnedDistribution(counts, design.channels[0], scale, inference=inference).mean()
    assert found.value == pytest.approx(table.unbiased @ scale.points)
    variance = scale.points @ table.covariance() @ scale.points
    if inference == "finite":  # the table is of rounded numbers, and rounding is an error of the mean of the numbers
        variance += table.unbiased @ scale.excess(scale.points, scale.points) / counts.n
    assert found.standard_error == pytest.approx(math.sqrt(variance))


def test_finite_errors_have_the_rounding_in_them():
    """With λ = 1, rounding is all there is: Σ (x − a)(b − x)/n², here of numbers all over the bins."""
    scale = Scale((0, 10, 20, 30, 40), outside="clip")
    x = np.linspace(0, 40, 4_001)
    rounded = scale.codes(x, np.random.default_rng(1).integers(0, 2**32, x.size, dtype=np.uint32))
    counts = lr.Counts.from_array(["x"], np.bincount(rounded, minlength=5))
    found = BinnedDistribution(counts, Channel(5, 1.0), scale, inference="finite").mean()
    assert found.standard_error == pytest.approx(math.sqrt(((x % 10) * (10 - x % 10)).sum()) / x.size, rel=1e-3)


def test_weights_are_those_of_the_table():
    scale = Scale((0, 10, 40, 50), outside="clip")
    attribute = lr.Attribute("x", scale.labels, scale=scale)
    design = lr.Design((attribute,), (Channel(4, 0.4),))
    reports = pa.table({"x": list(scale.labels) * 30, "w": np.tile([1.0, 2.0, 0.5, 3.0], 30)})
    found = lr.distribution(reports, design, "x", weights="w").mean()
    table = lr.estimate(reports, design, ["x"], method="inverse", weights="w")
    assert found.value == pytest.approx(table.unbiased @ scale.points)
    assert found.standard_error == pytest.approx(math.sqrt(scale.points @ table.covariance() @ scale.points))


@pytest.mark.parametrize(("rounding", "within"), [("random", 0.02), ("none", 0.12)])
def test_the_variance_is_corrected_for_the_width_of_bins(rounding, within):
    """Edges 20 apart add about 20²/6 = 67 to a variance of 253; of bins the correction is less sure."""
    generator = np.random.default_rng(4)
    values = smooth_numbers(400_000, generator)
    found = made(values, Scale((0, 20, 40, 60, 80, 100), rounding=rounding, outside="clip"), generator=generator)
    assert found.variance().value == pytest.approx(values.var(), rel=within)
    assert found.standard_deviation().value == pytest.approx(values.std(), rel=within / 2)


def test_those_outside_are_counted_and_left_out():
    generator = np.random.default_rng(5)
    values = np.concatenate([generator.uniform(0, 100, 60_000), np.full(30_000, 500.0), np.full(10_000, -1.0)])
    found = made(values, Scale(EDGES), lam=0.5, missing=50_000, generator=generator)
    below, above = found.outside()
    for share, truth in ((below, 0.1), (above, 0.3)):
        assert share.standard_error < 0.01
        assert abs(share.value - truth) < 5 * share.standard_error
    assert abs(found.mean().value - 50) < 5 * found.mean().standard_error
    assert abs(found.quantile(0.9).value - 90) < 5 * found.quantile(0.9).standard_error


@pytest.mark.parametrize("rounding", ["random", "none"])
def test_the_distribution_function_never_falls(rounding):
    generator = np.random.default_rng(6)
    found = made(smooth_numbers(300, generator), Scale(EDGES, rounding=rounding, outside="clip"), lam=0.2)
    assert found.histogram().unbiased.min() < 0  # noise has left shares below zero
    values = [found.cdf(x).value for x in np.linspace(-10, 110, 241)]
    assert values[0] == 0
    assert values[-1] == 1
    assert (np.diff(values) >= 0).all()
    quantiles = [found.quantile(p).value for p in np.linspace(0.01, 0.99, 99)]
    assert (np.diff(quantiles) >= 0).all()


def test_ordered_categories_with_scores_use_the_same_machinery():
    truths = np.array([100, 400, 300, 200])
    design = lr.Design((lr.Attribute("mood", ["bad", "so-so", "good", "great"]),), (Channel(4, 1.0),))
    reports = pa.table({"mood": np.repeat(["bad", "so-so", "good", "great"], truths)})
    found = lr.distribution(reports, design, "mood", scores=[1, 2, 3, 5], inference="finite")
    people = np.repeat([1, 2, 3, 5], truths)
    assert found.mean().value == pytest.approx(people.mean())
    assert found.mean().standard_error == pytest.approx(0)
    assert found.variance().value == pytest.approx(people.var())
    assert found.quantile(0.9).value == 5
    assert found.quantile(0.9).interval() == (5, 5)
    assert found.cdf(2).value == pytest.approx(0.5, abs=0.02)


def test_without_rounding_smoothing_is_the_published_kernel():
    cells = smoothing.Cells.of(Scale((0, 1), outside="clip"), 2)
    spike = np.zeros(256)
    spike[7] = 1
    assert cells.smoothing(smoothing.STRONGEST)(spike)[5:10] == pytest.approx([0, 0.25, 0.5, 0.25, 0])
    spike = np.eye(256)[0]
    assert cells.smoothing(smoothing.STRONGEST)(spike)[:3] == pytest.approx([0.75, 0.25, 0])


@pytest.mark.parametrize("lam", [0.02, 0.3, 1.0])
def test_the_fit_is_the_fixed_point_of_plain_steps(lam):
    scale = Scale((0, 20, 50, 60, 100), outside="count")
    channel, cells = Channel(7, lam), smoothing.Cells.of(scale, 7)
    theta = np.array([0.1, 0.2, 0.25, 0.15, 0.12, 0.08, 0.1])
    found = smoothing.fit(cells, channel, theta, 100)
    chances = channel.lam * cells.chances + channel.off_diagonal
    pi, smooth = found.values, cells.smoothing(found.strength)
    for _ in range(200):
        pi = smooth(pi * ((theta / (chances @ pi)) @ chances))
    assert pi == pytest.approx(found.values, abs=1e-6)
    assert found.values.sum() == pytest.approx(1)


def test_smoothing_yields_to_many_reports():
    """A spike that a million exact reports show is not smoothed away."""
    scale = Scale(tuple(range(65)), rounding="none", outside="clip")
    counts = np.full(64, 1_000)
    counts[20] = 1_000_000
    found = BinnedDistribution(lr.Counts.from_array(["x"], counts), Channel(64, 1.0), scale)
    histogram = found.histogram()
    in_bin = histogram.shares[(histogram.bounds[:-1] >= 20) & (histogram.bounds[:-1] < 21)].sum()
    assert in_bin == pytest.approx(counts[20] / counts.sum(), abs=0.01)
    assert histogram.strength < smoothing.STRONGEST


def test_intervals_cover():
    """Of 600 files, binomial about 95 %; those of quantiles may cover more, as they allow for the shape within bins."""
    generator = np.random.default_rng(8)
    people = smooth_numbers(500_000, generator)
    scale, n, files = Scale(EDGES, outside="clip"), 4_000, 600
    channel = Channel(scale.size, 0.3)
    shares = np.bincount(scale.codes(people, generator.integers(0, 2**32, len(people), dtype=np.uint32)))
    theta = channel.matrix() @ (shares / shares.sum())
    truths = {"mean": people.mean(), "variance": people.var(), 0.5: np.median(people), 0.9: np.quantile(people, 0.9)}
    hits, sure = dict.fromkeys(truths, 0), 0
    for _ in range(files):
        counts = lr.Counts.from_array(["x"], generator.multinomial(n, theta))
        found = BinnedDistribution(counts, channel, scale)
        for name, truth in truths.items():
            answer = found.quantile(name) if isinstance(name, float) else getattr(found, name)()
            lower, upper = answer.interval()
            hits[name] += lower <= truth <= upper
        lower, upper = found.quantile(0.5).interval(shape="any")
        sure += lower <= truths[0.5] <= upper
    assert_plausible([binomial(hits[name], files, 0.95) for name in ("mean", "variance")])
    assert min(hits[0.5], hits[0.9]) / files > 0.93  # how people are spread within bins is allowed for
    assert sure / files > 0.97


def test_covariance_and_correlation_of_rounded_numbers():
    """Rounding adds to variances alone: the correlation of 5 by 5 edges is that of the numbers."""
    generator = np.random.default_rng(9)
    x = np.clip(generator.normal(50, 15, 300_000), 0, 100)
    y = np.clip(0.5 * x + generator.normal(25, 12, len(x)), 0, 100)
    scale = Scale((0, 25, 50, 75, 100), outside="count")
    codes = [scale.codes(z, generator.integers(0, 2**32, len(z), dtype=np.uint32)) for z in (x, y)]
    reports = pa.table({name: np.array(scale.labels)[code] for name, code in zip("xy", codes, strict=True)})
    design = lr.Design(tuple(lr.Attribute(name, scale.labels, scale=scale) for name in "xy"), (Channel(7, 1.0),) * 2)
    found = lr.correlate(reports, design)
    pair = found.pair("x", "y")
    assert pair.covariance.value == pytest.approx(np.cov(x, y)[0, 1], rel=0.02)
    assert pair.correlation.value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=0.01)
    assert found.variances["x"] == pytest.approx(x.var(), rel=0.02)
    naive = association._variance(
        np.bincount(codes[0], minlength=7) / len(x), association.numbers_of(design.attributes[0])
    )
    assert naive > 1.3 * x.var()


def test_people_outside_are_no_part_of_a_covariance():
    generator = np.random.default_rng(10)
    scale = Scale((0, 1, 2), outside="count")
    x, y = generator.integers(0, 3, (2, 50_000)).astype(float)
    y = np.where(generator.random(len(x)) < 0.5, x, y)
    far = generator.random(len(x)) < 0.2
    codes = [scale.codes(np.where(far, 99, z), np.zeros(len(z), dtype=np.uint32)) for z in (x, y)]
    reports = pa.table({name: np.array(scale.labels)[code] for name, code in zip("xy", codes, strict=True)})
    design = lr.Design(tuple(lr.Attribute(name, scale.labels, scale=scale) for name in "xy"), (Channel(5, 1.0),) * 2)
    found = lr.correlate(reports, design).pair("x", "y").covariance
    assert found.value == pytest.approx(np.cov(x[~far], y[~far], bias=True)[0, 1])
    centred = (x[~far] - x[~far].mean()) * (y[~far] - y[~far].mean())
    assert found.standard_error == pytest.approx(centred.std() / math.sqrt((~far).sum()), rel=0.01)


@pytest.mark.parametrize("edges", [(0, 10), (0, 3, 6, 10)])
def test_few_edges_have_a_mean_but_no_variance(edges):
    found = made([1.0, 2.0, 9.0], Scale(edges, outside="clip"))
    assert 0 <= found.mean().value <= 10
    with pytest.raises(lr.DataError, match=f"'x' has {len(edges) - 1} bins?, too few"):
        found.variance()


def test_wrong_input_gets_one_clear_error():
    scale, channel = Scale((0, 10, 20), outside="clip"), Channel(3, 0.5)
    counts = lr.Counts.from_array(["x"], [5, 6, 7])
    found = BinnedDistribution(counts, channel, scale)
    for share in (0, 1, -0.1, math.nan, "half", True):
        with pytest.raises(lr.DataError, match="share of a quantile must be between 0 and 1"):
            found.quantile(share)
    with pytest.raises(lr.DataError, match="level must be between 0 and 1"):
        found.quantile(0.5).interval(95)
    with pytest.raises(lr.DataError, match="shape must be 'smooth' or 'any'"):
        found.quantile(0.5).interval(shape="round")
    with pytest.raises(lr.DataError, match="not counted by its scale"):
        found.outside()
    with pytest.raises(lr.DataError, match="must be a number"):
        found.cdf("ten")
    with pytest.raises(lr.DataError, match="one attribute with the channel's 3 categories"):
        BinnedDistribution(lr.Counts.from_array(["x"], [5, 6]), channel, scale)
    with pytest.raises(lr.DataError, match="the channel must have the scale's 3 categories"):
        BinnedDistribution(lr.Counts.from_array(["x"], [5] * 7), Channel(7, 0.5), scale)
    with pytest.raises(lr.DataError, match="at least one report"):
        BinnedDistribution(lr.Counts.from_array(["x"], [0, 0, 0]), channel, scale)
    with pytest.raises(lr.DataError, match="a scale or scores, and not both"):
        BinnedDistribution(counts, channel)
    with pytest.raises(lr.DataError, match="scores must ascend"):
        BinnedDistribution(counts, channel, scores=np.array([1.0, 3.0, 2.0]))
    with pytest.raises(lr.DataError, match="inference must be"):
        BinnedDistribution(counts, channel, scale, inference="both")
    with pytest.raises(lr.DataError, match="too fine to be smoothed"):
        smoothing.Cells.of(Scale(tuple(range(5_000))), 5_002)
    design = lr.Design((lr.Attribute("mood", ["bad", "good", "great"]),), (channel,))
    with pytest.raises(lr.DataError, match="'mood' is no number; give the scores"):
        lr.distribution([{"mood": "bad"}], design, "mood")


def test_the_allowance_for_shape_vanishes_with_fine_bins():
    generator = np.random.default_rng(12)
    values = smooth_numbers(20_000, generator)
    coarse = made(values, Scale((0, 50, 100), outside="clip"), lam=0.5, generator=generator)
    fine = made(values, Scale(tuple(range(101)), outside="clip"), lam=0.5, generator=generator)
    sizes = []
    for found in (coarse, fine):
        functions = found._within(0.5)
        sizes.append(found._shape_errors(functions + 0.5 * found._inside).max() / found._errors(functions).max())
    assert sizes[0] > 1
    assert sizes[1] < 0.5


@pytest.mark.parametrize(
    ("numbers", "scale", "places"),
    [
        (lambda g: np.where(g.random(200_000) < 0.5, g.normal(20, 5, 200_000), g.normal(70, 8, 200_000)).clip(0, 100),
         Scale(tuple(range(0, 101, 10)), outside="clip"), (20, 45, 70)),
        (lambda g: g.poisson(3, 200_000).clip(0, 15).astype(float),
         Scale(tuple(range(16)), unit="integer", outside="clip"), (2, 4, 7)),
    ],
    ids=["two humps", "whole numbers"],
)  # fmt: skip
def test_intervals_of_the_distribution_function_cover(numbers, scale, places):
    """Where the smooth histogram is wrong, the interval has to know: at least 93 % of 150 files."""
    generator = np.random.default_rng(9)
    people = numbers(generator)
    channel, n, files = Channel.from_epsilon(scale.size, 2.0), 20_000, 150
    shares = np.bincount(
        scale.codes(people, generator.integers(0, 2**32, len(people), dtype=np.uint32)), minlength=scale.size
    )
    theta = channel.matrix() @ (shares / shares.sum())
    hits = np.zeros(len(places))
    for _ in range(files):
        found = BinnedDistribution(lr.Counts.from_array(["x"], generator.multinomial(n, theta)), channel, scale)
        for place, number in enumerate(places):
            lower, upper = found.cdf(number).interval()
            hits[place] += lower <= (people <= number).mean() <= upper
    assert hits.min() / files > 0.93


def test_one_report_is_no_certainty():
    scale = Scale((0, 5, 10), outside="clip")
    found = BinnedDistribution(lr.Counts.from_array(["x"], [0, 1, 0]), Channel(3, 0.5), scale)
    lower, upper = found.mean().interval()
    assert upper - lower > 10
