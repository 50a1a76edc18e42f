import json
import math
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lambdarr as lr
from lambdarr import kronecker
from tests.strategies import channels, design_of, products


@given(products)
def test_joint_adds_bits_and_multiplies_chances(channels_):
    found = lr.audit(design_of(channels_))
    assert found.joint.capacity == pytest.approx(sum(math.log2(c.size) - c.bits for c in channels_))
    assert found.joint.guess_gain == pytest.approx(math.prod(1 + (c.size - 1) * c.lam for c in channels_))
    assert found.joint.worst_posterior == pytest.approx(found.joint.truthfulness)


@given(channels)
def test_strength_is_the_share_of_bits_that_cannot_leak(channel):
    leak = lr.audit(design_of([channel])).attributes[0]
    assert leak.strength == pytest.approx(1 - leak.capacity / math.log2(channel.size))


@given(channels, st.integers(0, 10**6))
def test_guesser_and_posterior_agree_with_bayes_rule_written_out(channel, seed):
    pi = np.random.default_rng(seed).dirichlet(np.ones(channel.size) * 0.5)
    joint = pi[:, None] * channel.matrix()  # truth × report
    leak = lr.audit(design_of([channel]), prior={"a0": pi}).attributes[0]
    assert leak.guess_gain == pytest.approx(joint.max(axis=0).sum() / pi.max())
    reported = joint.sum(axis=0)
    posterior = (joint[:, reported > 0] / reported[reported > 0]).max()
    assert leak.worst_posterior == pytest.approx(posterior)


@given(channels, st.integers(0, 10**6))
def test_no_prior_lets_more_through_than_the_capacity(channel, seed):
    pi = np.random.default_rng(seed).dirichlet(np.ones(channel.size))
    joint = pi[:, None] * channel.matrix()
    independent = np.outer(pi, joint.sum(axis=0))
    seen = joint > 0
    information = (joint[seen] * np.log2(joint[seen] / independent[seen])).sum()
    assert information <= lr.audit(design_of([channel])).attributes[0].capacity + 1e-9


def test_prior_may_name_categories():
    design = lr.design({"sex": ["F", "M"]}, lam=0.5)
    named, listed = (lr.audit(design, prior={"sex": p}) for p in ({"M": 0.7, "F": 0.3}, [0.3, 0.7]))
    assert named == listed
    assert named.prior_given


def test_audit_names_what_is_released():
    assert lr.audit(lr.design({"sex": ["F", "M"]}, lam=0.5, keep=["id"])).released == ("id",)


@pytest.mark.parametrize(
    ("prior", "says"),
    [
        ({"nobody": [1]}, "no attribute of the design"),
        ({"sex": [0.5, 0.6]}, "sum to 1"),
        ({"sex": [1.5, -0.5]}, "none of them negative, got -0.5"),
        ({"sex": [0.5, math.nan]}, "sum to 1"),
        ({"sex": [1.0]}, "2 probabilities"),
        ({"sex": {"X": 1.0}}, "not one of its categories"),
    ],
)
def test_impossible_prior_is_refused(prior, says):
    with pytest.raises(lr.DesignError, match=says):
        lr.audit(lr.design({"sex": ["F", "M"]}, lam=0.5), prior=prior)


def test_a_joint_prior_tells_what_a_whole_report_gives_away():
    design = lr.design({"a": [0, 1], "b": [0, 1, 2]}, lam={"a": 0.5, "b": 0.7})
    pi = np.array([[0.4, 0.1, 0.0], [0.05, 0.05, 0.4]])
    prior = lr.estimate(
        lr.Counts.from_array(["a", "b"], 1e6 * kronecker.apply(design.channels, pi)), design, method="inverse"
    )
    found = {together.name: together for together in lr.audit(design, prior).together}
    both = pi.ravel()[:, None] * kronecker.dense(design.channels)
    reported = both.sum(axis=0)
    assert found["joint"].worst_posterior == pytest.approx((both / reported).max())
    assert found["joint"].guess_after == pytest.approx(both.max(axis=0).sum())
    of_a = np.stack([both[:3].sum(axis=0), both[3:].sum(axis=0)])
    assert found["a"].worst_posterior == pytest.approx((of_a / reported).max())
    assert found["a"].guess_before == pytest.approx(0.5)
    alone = lr.audit(design, prior).attributes[0]
    assert found["a"].worst_posterior > alone.worst_posterior  # b tells about a
    wide = lr.design({"a": range(100), "b": range(100)}, lam=0.5)
    many = lr.estimate(lr.Counts.from_array(["a", "b"], np.ones((100, 100))), wide, method="inverse")
    with pytest.raises(lr.DesignError, match="larger than"):
        lr.audit(wide, many)


def test_fresh_reports_of_one_truth_add_up():
    design = lr.design({"a": [0, 1, 2], "b": [0, 1]}, lam=0.5)
    found = lr.audit(design).repeated(3)
    channel = design.channels[0]
    same = np.array([channel.truthfulness**3, *[channel.off_diagonal**3] * 2])
    assert found.attributes[0].worst_posterior == pytest.approx(same[0] / same.sum())
    assert found.joint.epsilon == pytest.approx(3 * design.epsilon)
    assert found.joint.worst_posterior == pytest.approx(np.prod([leak.worst_posterior for leak in found.attributes]))
    assert lr.audit(design).repeated(1).joint.epsilon == pytest.approx(design.epsilon)
    sure = lr.audit(lr.design({"a": [0, 1]}, lam=1.0)).repeated(2)
    assert sure.attributes[0].worst_posterior == 1
    for times in (0, 1.5, True):
        with pytest.raises(lr.DesignError, match="whole number of reports"):
            lr.audit(design).repeated(times)


def test_shuffling_never_states_more_than_the_report_itself():
    found = lr.audit(lr.design({"a": [0, 1]}, epsilon=1.0))
    assert found.shuffled(10).epsilon == found.joint.epsilon
    epsilons = [found.shuffled(n).epsilon for n in (10**4, 10**5, 10**6, 10**7)]
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[-1] == pytest.approx(epsilons[-2] / np.sqrt(10), rel=0.02)
    assert lr.audit(lr.design({"a": [0, 1]}, lam=1.0)).shuffled(10**6).epsilon == np.inf
    with pytest.raises(lr.DesignError, match="delta must be a probability"):
        found.shuffled(100, delta=2)
    with pytest.raises(lr.DesignError, match=r"n .* must be a whole number of reports"):
        found.shuffled(0)


def test_a_release_is_expected_to_keep_what_its_rates_say():
    generator = np.random.default_rng(4)
    truths = pa.table({"a": generator.integers(0, 30, 500), "b": generator.integers(0, 30, 500)})
    design = lr.design({"a": range(30), "b": range(30)}, lam=0.7)
    found = lr.audit(design, truths=truths).release
    records = list(zip(*truths.to_pydict().values(), strict=True))
    alone = [place for place, record in enumerate(records) if records.count(record) == 1]
    assert (found.records, found.uniques) == (500, len(alone))
    kept, survived, words = 0, 0, lr.SeededWords(5)
    for _ in range(200):
        reports = list(zip(*lr.randomize(truths, design, rng=words).to_pydict().values(), strict=True))
        same = [report == record for report, record in zip(reports, records, strict=True)]
        kept, survived = kept + sum(same), survived + sum(same[place] for place in alone)
    assert kept / 200 == pytest.approx(found.true_records, rel=0.02)
    assert survived / 200 == pytest.approx(found.surviving_uniques, rel=0.02)
    assert found.true_values["a"] == design.channels[0].truthfulness


def test_the_stated_epsilon_is_never_below_the_exact_one():
    """2,000 seeded designs against logarithms of 60 digits; nor is it more than one step above."""
    generator = np.random.default_rng(3)
    with localcontext() as context:
        context.prec = 60
        for number in range(2_000):
            sizes = [int(size) for size in generator.integers(2, 30, generator.integers(1, 9))]
            lams = np.where(generator.random(len(sizes)) < 0.2, 1e-7, generator.uniform(0.001, 0.999, len(sizes)))
            channels = [lr.Channel(size, float(lam)) for size, lam in zip(sizes, lams, strict=True)]
            asked = int(generator.integers(1, len(sizes) + 1)) if number % 2 else None
            found = lr.audit(replace(design_of(channels), asked=asked))
            exact = [(Decimal(channel.threshold) / channel.width + 1).ln() for channel in channels]
            whole = sum(sorted(exact)[-(asked or len(exact)) :])
            for leak, least in zip((*found.attributes, found.joint), (*exact, whole), strict=True):
                assert Decimal(math.nextafter(leak.epsilon, 0)) < least <= Decimal(leak.epsilon)
            several = found.repeated(7)
            assert Decimal(several.joint.epsilon) >= 7 * whole
            assert all(
                Decimal(leak.epsilon) >= 7 * least for leak, least in zip(several.attributes, exact, strict=True)
            )
    assert lr.audit(design_of([lr.Channel(2, 1.0), lr.Channel(2, 0.5)])).joint.epsilon == math.inf


def test_shuffling_says_why_it_gains_nothing():
    design = lr.design({"a": [0, 1], "b": [0, 1]}, epsilon=2.0)
    found = lr.audit(design)
    assert found.shuffled(10**6).reason == ""
    few = found.shuffled(1_000)
    assert few.epsilon == found.joint.epsilon
    needed = int(few.reason.rpartition(" ")[2].replace(",", ""))
    assert "says nothing" in few.reason
    assert "says nothing" in found.shuffled(needed - 1).reason
    assert "says nothing" not in found.shuffled(needed).reason
    weak = lr.audit(lr.design({"a": [0, 1]}, epsilon=0.1)).shuffled(400)
    assert weak.epsilon == pytest.approx(0.1, abs=1e-6)
    assert "no less than without" in weak.reason
    for apart in (design.keeping(["id"]), lr.Design(design.attributes, design.channels, asked=1)):
        assert "tells reports apart" in lr.audit(apart).shuffled(10**6).reason
    assert "10^" in lr.audit(lr.design({"a": range(9)}, lam=1 - 1e-9)).repeated(5).shuffled(10**6).reason


@pytest.mark.parametrize("asked", [None, 1])
def test_what_is_not_known_of_several_reports_is_left_out(asked):
    design = lr.design({"a": [0, 1, 2], "b": [0, 1]}, lam={"a": 1.0, "b": 0.5}, asked=asked)
    found = lr.audit(design).repeated(3)
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert values["reports"] == 3
    assert values["joint"]["epsilon"] is None
    assert {"bits", "strength", "guess_gain"}.isdisjoint(values["joint"])
    assert ("worst_posterior" in values["joint"]) is (asked is None)
    shown = found._repr_html_()
    assert "nan" not in shown
    assert "3 fresh reports of one truth" in shown
    assert ">true<" not in shown
    assert ("drawn anew" in shown) is (asked is not None)
    assert "gain" not in shown
    assert "gain" in lr.audit(design)._repr_html_()
    assert found.repeated(2).reports == 6
    assert "nan" not in repr(found)


def test_repr_is_one_short_line():
    design = lr.design({f"a{j}": range(5) for j in range(30)}, lam=0.1)
    shown = f"ε ≤ {np.ceil(1e3 * design.epsilon) / 1e3:.3f}, posterior up to 0.1%"
    assert repr(lr.audit(design)) == f"<Audit of one report of 30 attributes: {shown}>"


def test_shuffled_has_a_short_repr():
    found = lr.audit(lr.design({"sex": ["F", "M"]}, epsilon=1.0))
    assert repr(found.shuffled(10**6)) == "<Shuffled among 1,000,000 reports: ε ≤ 0.0321, δ = 1e-06>"
    assert "nothing gained, among 500 reports the bound says nothing" in repr(found.shuffled(500))
    assert "among 1 report the bound" in found.shuffled(1).reason


def test_release_counts_who_is_alone_by_all_that_is_released():
    """Against every record compared with every other."""
    generator = np.random.default_rng(6)
    n = 300
    income = [None if draw < 0.3 else int(draw * 10) for draw in generator.random(n)]
    truths = pa.table(
        {
            "sex": generator.integers(0, 2, n),
            "income": income,
            "region": pa.array([f"r{i}" for i in generator.integers(0, 40, n)]).dictionary_encode(),
            "year": generator.integers(0, 5, n),
            "note": ["x"] * n,
        }
    )
    attributes = [
        lr.Attribute("sex", [0, 1]),
        lr.Attribute("income", range(3, 10), missing="", missing_is_public=True),
        lr.Attribute("year", range(5)),
    ]
    design = lr.design(attributes, lam={"sex": 0.5, "income": 0.4, "year": 1.0}, keep=["region"])
    found = lr.audit(design, truths=truths).release
    records = list(zip(*(truths[name].to_pylist() for name in ("sex", "income", "year", "region")), strict=True))
    plain = [(income is None, year, region) for _, income, year, region in records]
    d, e = design.by_name["sex"].truthfulness, design.by_name["income"].truthfulness
    true = [d * (1 if income is None else e) for _, income, _, _ in records]
    alone = [records.count(record) == 1 for record in records]
    assert found.key == ("sex", "income", "year", "region")
    assert found.uniques == sum(alone)
    assert found.exposed == sum(plain.count(each) == 1 for each in plain) > 0
    assert found.true_records == pytest.approx(sum(true))
    assert found.surviving_uniques == pytest.approx(np.dot(true, alone))
    without = lr.audit(lr.design(attributes, lam=0.5), truths=truths).release
    assert without.uniques < found.uniques
    with pytest.raises(lr.DataError, match="region"):
        lr.audit(design, truths=truths.drop_columns(["region"]))
    nested = truths.set_column(2, "region", pa.array([[1]] * n))
    with pytest.raises(lr.DataError, match="plain values to tell records apart"):
        lr.audit(design, truths=nested)


def test_release_of_a_design_that_asks_a_part_is_the_mean_over_its_sets():
    attributes = [lr.Attribute("smokes", ["no", "yes"], missing="NA"), lr.Attribute("sex", ["F", "M"])]
    design = lr.design(attributes, lam={"smokes": 0.5, "sex": 0.2}, asked=1)
    truths = pa.table({"smokes": ["no", None, "yes", None], "sex": ["F", "F", "M", "F"]})
    found = lr.audit(design, truths=truths).release
    assert found.uniques == 2
    assert found.true_records == pytest.approx(4 * design.truthfulness)
    assert found.exposed == 0
    from lambdarr.reporting.designs import release_sentences

    said = " ".join(release_sentences(found, design.asked))
    assert "true in every attribute that was asked; of 2 that nobody else shares (by all of smokes, sex)" in said
    assert "No report has more than 1 of the attributes." in said
    assert "asked" not in " ".join(release_sentences(found))
