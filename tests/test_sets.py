"""Measured audits and joint priors of designs that ask each respondent a part of the attributes."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import lambdarr as lr
from lambdarr import kronecker, sampling, sets
from tests import samplers
from tests.statistics import FALSE_ALARM

MIXED = lr.design(
    [
        lr.Attribute("smokes", ["no", "yes"], missing="NA"),
        lr.Attribute("income", ["low", "high"], missing="?", missing_is_public=True),
        lr.Attribute("age", [1, 2, 3]),
        lr.Attribute("region", [f"r{i}" for i in range(30)]),
    ],
    lam={"smokes": 0.6, "income": 0.2, "age": 0.5, "region": 0.4},
    asked=2,
)
FOUR = lr.design({"a": range(3), "b": range(2), "c": range(4), "d": range(2)}, lam=0.3, asked=2)


BROKEN = [
    (samplers.AsksAll, "another number of answers than 2 (what is not asked must be null) in 100.00%"),
    (samplers.AsksOneMoreInTheLastRow, "another number of answers than 2"),
    (samplers.AsksOneAttributeTooOften, "asked"),
    (samplers.AsksByTheTruth, "the attributes asked are 'a'"),
    (samplers.AsksByAnotherTruth, "where 'b' is"),
    (samplers.AsksTheSameInEveryCall, "two calls are asked the same"),
    (samplers.AsksNeighboursAlike, "neighbouring rows are asked the same"),
    (samplers.AsksSomePairsOnly, "the attributes asked are"),
    (samplers.TellsTheTruthWhenAsked, "is reported as"),
    (samplers.TellsMoreInSomeSets, "'a' is reported truly where the attributes asked are 'a', "),
    (samplers.LeavesTheLastRowOfThoseAsked, "in the last row in 100.00%"),
]


@pytest.mark.parametrize("mode", ["table", "file", "record", "client"])
def test_own_randomizer_passes_in_every_mode(mode):
    draws, seeded = (40_000, lr.SeededWords(5)) if mode in ("table", "file") else (10_000, None)
    found = lr.measure(MIXED, mode=mode, draws=draws, rng=seeded, false_alarm=FALSE_ALARM)
    assert found.passed, found.reason
    assert [check.name for check in found.checks].count("asked") == 1
    assert sorted(bound.bound for bound in found.attributes)[-2:] == pytest.approx(
        [found.joint.bound - max(b.bound for b in found.attributes), max(b.bound for b in found.attributes)]
    )
    assert found.joint.epsilon == MIXED.epsilon


def test_one_of_many_has_no_pairs():
    design = lr.design({name: range(3) for name in "abcde"}, lam=0.5, asked=1)
    found = lr.measure(design, draws=20_000, rng=lr.SeededWords(1))
    assert found.passed, found.reason
    assert "pairs" not in {check.name for check in found.checks}
    assert found.joint.bound == max(bound.bound for bound in found.attributes)


def test_bound_nears_epsilon_of_the_worst_set():
    found = lr.measure(FOUR, draws=10**6, rng=lr.SeededWords(2))
    assert found.passed, found.reason
    assert 0.9 < found.joint.share < 1


def test_right_function_passes():
    found = lr.measure(FOUR, samplers.Asks(FOUR), mode="table", draws=100_000)
    assert found.passed, found.reason
    records = lr.measure(
        MIXED, lambda records: [lr.randomize_record(record, MIXED) for record in records], draws=10_000
    )
    assert records.passed, records.reason


@pytest.mark.parametrize(("broken", "says"), BROKEN)
def test_broken_sets_are_caught(broken, says):
    assert broken in samplers.BROKEN_SETS
    found = lr.measure(FOUR, broken(FOUR), mode="table", draws=100_000, false_alarm=FALSE_ALARM)
    assert not found.passed
    assert says in " ".join(check.finding for check in found.failures)


def test_a_part_of_a_design_cannot_be_measured():
    with pytest.raises(lr.DesignError, match="a part of a design"):
        lr.measure(FOUR.select(["a", "b"]))


@pytest.mark.parametrize(("count", "asked"), [(4, 1), (4, 2), (5, 3), (6, 5), (80, 79)])
def test_every_set_has_its_own_number(count, asked):
    every = list(itertools.combinations(range(count), asked))
    flags = np.zeros((count, len(every)), dtype=bool)
    for column, members in enumerate(every):
        flags[list(members), column] = True
    assert sorted(sets._ranks(flags, asked)) == list(range(math.comb(count, asked)))
    design = lr.design({f"a{j}": [0, 1] for j in range(count)}, lam=0.5)
    seen = sets.ObservedSets(design.attributes, design.channels, asked)
    assert [seen._sets[rank] for rank in sets._ranks(flags, asked)] == every


def test_p_values_of_right_sets_are_no_smaller_than_uniform_ones():
    """150 seeded sets of calls: the share below 1 %, 10 % and 50 % is at most that, but for chance."""
    rng, found = lr.SeededWords(4), []
    for _ in range(150):
        seen = sets.ObservedSets(FOUR.attributes, FOUR.channels, 2)
        for _ in range(2):
            truths = [(rng.words(300) % a.size).astype(np.int32) for a in FOUR.attributes]
            asked = sampling.drawn_sets(rng, 300, asked=2, count=4)
            reports = [
                np.where(flags, sampling.reports_from_words(codes, rng.words(300), channel), -1)
                for flags, codes, channel in zip(asked, truths, FOUR.channels, strict=True)
            ]
            seen.add(truths, reports, large=True)
        found.append(seen.check(0).p_value)
    for level in (0.01, 0.1, 0.5):
        below = (np.array(found) < level).sum()
        assert stats.binom.sf(below - 1, 150, level) > FALSE_ALARM / 3


def test_right_measurements_have_no_smaller_p_values_than_uniform_ones():
    """60 seeded measurements; checks of one kind in a measurement go by the smallest, times their number."""
    found = {}
    for seed in range(60):
        for check in lr.measure(FOUR, draws=2_000, rng=lr.SeededWords(seed)).checks:
            found.setdefault((check.name, seed), []).append(check.p_value)
    for name in {name for name, _ in found}:
        smallest = np.array([min(p) * len(p) for (kind, _), p in found.items() if kind == name])
        for level in (0.01, 0.1):
            assert stats.binom.sf((smallest < level).sum() - 1, 60, level) > FALSE_ALARM / 18


# Joint priors.


def prior_of(pi, design):
    counts = lr.Counts.from_array(design.names, 1e6 * kronecker.apply(design.channels, pi))
    return lr.estimate(counts, lr.Design(design.attributes, design.channels), method="inverse")


@pytest.mark.parametrize("asked", [1, 2])
def test_a_joint_prior_is_for_the_worst_set_that_may_be_asked(asked):
    """Against Bayes' rule written out for every set, report and truth."""
    sizes, lams = (2, 3, 2), (0.5, 0.7, 0.3)
    whole = lr.design(
        {name: range(r) for name, r in zip("abc", sizes, strict=True)}, lam=dict(zip("abc", lams, strict=True))
    )
    design = lr.Design(whole.attributes, whole.channels, asked=asked)
    pi = np.random.default_rng(3).dirichlet(np.ones(12) * 0.4).reshape(sizes)
    found = {each.name: each for each in lr.audit(design, prior_of(pi, whole)).together}
    matrices = [channel.matrix() for channel in whole.channels]
    truths = list(itertools.product(*map(range, sizes)))
    best = dict.fromkeys([*"abc", "joint"], (0.0, 0.0))
    for chosen in itertools.combinations(range(3), asked):
        guesses, worst = dict.fromkeys(best, 0.0), dict.fromkeys(best, 0.0)
        for report in itertools.product(*(range(sizes[j]) for j in chosen)):
            chance = {
                t: pi[t] * math.prod(matrices[j][t[j], y] for j, y in zip(chosen, report, strict=True)) for t in truths
            }
            total = sum(chance.values())
            for name in best:
                of = [{t} for t in truths] if name == "joint" else [
                    {t for t in truths if t["abc".index(name)] == x} for x in range(sizes["abc".index(name)])
                ]  # fmt: skip
                likeliest = max(sum(chance[t] for t in some) for some in of)
                guesses[name] += likeliest
                worst[name] = max(worst[name], likeliest / total)
        best = {name: (max(a, guesses[name]), max(b, worst[name])) for name, (a, b) in best.items()}
    for name, numbers in best.items():
        assert (found[name].guess_after, found[name].worst_posterior) == pytest.approx(numbers)
    assert found["joint"].guess_before == pytest.approx(pi.max())


def test_a_prior_of_few_attributes_may_be_asked_as_a_whole():
    whole = lr.Design(FOUR.attributes, FOUR.channels)
    pi = np.random.default_rng(3).dirichlet(np.ones(6)).reshape(3, 2)
    prior = prior_of(pi, whole.select(["a", "b"]))
    for some, every in zip(lr.audit(FOUR, prior).together, lr.audit(whole, prior).together, strict=True):
        assert some == every
    own = lr.estimate(lr.randomize(pa.table({n: [0, 1] * 50 for n in "abcd"}), FOUR), FOUR, ["a", "b"])
    assert len(lr.audit(FOUR, own).together) == 3
