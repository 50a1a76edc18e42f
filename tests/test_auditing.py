import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lambdarr as lr
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
        ({"sex": [1.5, -0.5]}, "sum to 1"),
        ({"sex": [0.5, math.nan]}, "sum to 1"),
        ({"sex": [1.0]}, "2 probabilities"),
        ({"sex": {"X": 1.0}}, "not one of its categories"),
    ],
)
def test_impossible_prior_is_refused(prior, says):
    with pytest.raises(lr.DesignError, match=says):
        lr.audit(lr.design({"sex": ["F", "M"]}, lam=0.5), prior=prior)
