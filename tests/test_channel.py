import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdarr import Channel, DesignError, bistochastic
from lambdarr.channel import WORDS
from tests.strategies import channels


@given(channels)
def test_rows_and_columns_of_the_matrix_sum_to_one(channel):
    assert bistochastic.is_bistochastic(channel.matrix())


@given(channels)
def test_inverse_agrees_with_numpy(channel):
    assert np.abs(channel.inverse() - np.linalg.inv(channel.matrix())).max() < 1e-12 / channel.lam


@given(channels)
def test_threshold_leaves_a_multiple_of_the_categories(channel):
    assert 0 < channel.threshold <= WORDS
    assert (WORDS - channel.threshold) % channel.size == 0
    assert channel.lam == channel.threshold / WORDS
    assert channel.threshold + channel.width * channel.size == WORDS


@given(st.integers(2, 65_536), st.floats(1e-3, 1.0))
def test_asked_keep_rate_moves_to_the_nearest_threshold(size, lam):
    channel = Channel(size, lam)
    assert abs(channel.lam - lam) <= size / 2 / WORDS or channel.width == 1


@pytest.mark.parametrize("size", [2, 1000, 65_536])
def test_keep_rate_below_one_never_becomes_one(size):
    assert Channel(size, 1 - 1e-12).width == 1
    assert Channel(size, 1.0).width == 0


@given(st.integers(2, 65_536), st.floats(1e-3, 1.0))
def test_private_rounding_never_keeps_more(size, lam):
    channel = Channel(size, lam, rounding="private")
    assert lam - size / WORDS < channel.lam <= lam


def test_tiny_keep_rate_moves_to_the_smallest_threshold():
    assert Channel(65_536, 1e-12).threshold == 65_536
    assert Channel(3, 1e-12).threshold == 1  # 2³² mod 3


@given(channels)
def test_bits_are_the_entropy_rate_of_the_matrix(channel):
    assert channel.bits == pytest.approx(bistochastic.entropy_rate(channel.matrix()), abs=1e-12)


@given(channels)
def test_epsilon_is_the_worst_ratio_of_the_matrix(channel):
    P = channel.matrix()
    expected = math.log(P.max() / P.min()) if channel.lam < 1 else math.inf
    assert channel.epsilon == pytest.approx(expected, rel=1e-9)


@given(channels)
def test_measures_lead_back_to_their_channel(channel):
    assert Channel.from_epsilon(channel.size, channel.epsilon) == channel
    assert Channel.from_truthfulness(channel.size, channel.truthfulness) == channel
    # entropy is flat near λ = 0: two neighbours on the grid may have the same float
    assert Channel.from_bits(channel.size, channel.bits).lam == pytest.approx(channel.lam, abs=1e-8)
    assert Channel.from_strength(channel.size, channel.strength).lam == pytest.approx(channel.lam, abs=1e-8)


@given(st.integers(2, 100), st.floats(0, 0.999), st.floats(0.001, 30))
def test_solved_channel_is_on_the_private_side_of_its_target(size, strength, epsilon):
    assert Channel.from_strength(size, strength).strength >= strength
    assert Channel.from_epsilon(size, epsilon).epsilon <= epsilon
    assert Channel.from_epsilon(size, epsilon).rounding == "private"


@given(st.integers(2, 1000), st.floats(0.01, 20))
def test_keep_rate_for_epsilon_has_the_closed_form(size, epsilon):
    closed = -math.expm1(-epsilon) / (1 + (size - 1) * math.exp(-epsilon))
    assert Channel.from_epsilon(size, epsilon).lam == pytest.approx(closed, abs=2 * size / WORDS)


def test_full_keep_rate_reports_the_truth():
    channel = Channel(4, 1.0)
    assert (channel.bits, channel.strength, channel.epsilon, channel.truthfulness) == (0, 0, math.inf, 1)
    assert np.array_equal(channel.matrix(), np.eye(4))


@pytest.mark.parametrize("lam", [0, -0.1, 1.0000001, math.nan, math.inf, True, "0.5", None])
def test_keep_rate_must_be_in_range(lam):
    with pytest.raises(DesignError, match="keep rate in"):
        Channel(2, lam)


@pytest.mark.parametrize("size", [1, 0, -3, 65_537, 2.0, True, "2"])
def test_size_must_be_possible(size):
    with pytest.raises(DesignError, match="size must be"):
        Channel(size, 0.5)


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (Channel.from_strength, 1),
        (Channel.from_strength, 1.2),
        (Channel.from_strength, -0.1),
        (Channel.from_strength, math.nan),
        (Channel.from_bits, 2),
        (Channel.from_bits, -1),
        (Channel.from_bits, math.nan),
        (Channel.from_epsilon, 0),
        (Channel.from_epsilon, -1),
        (Channel.from_epsilon, math.nan),
        (Channel.from_epsilon, 1e-12),
        (Channel.from_truthfulness, 0.25),
        (Channel.from_truthfulness, 1.1),
        (Channel.from_truthfulness, math.nan),
    ],
)
def test_unreachable_target_is_refused(make, target):
    with pytest.raises(DesignError):
        make(4, target)
