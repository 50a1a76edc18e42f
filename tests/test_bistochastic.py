import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdarr import DesignError, bistochastic


@st.composite
def matrices(draw):
    """Draw a convex combination of permutations: by Theorem 3, any bistochastic matrix."""
    size = draw(st.integers(2, 6))
    permutations = draw(st.lists(st.permutations(range(size)), min_size=1, max_size=8))
    weights = np.array(draw(st.lists(st.floats(0.01, 1), min_size=len(permutations), max_size=len(permutations))))
    matrix = np.zeros((size, size))
    for weight, permutation in zip(weights / weights.sum(), permutations, strict=True):
        matrix[np.arange(size), permutation] += weight
    return matrix


@given(matrices())
def test_birkhoff_multiplies_back(matrix):
    found = bistochastic.birkhoff(matrix)
    np.testing.assert_allclose(found.matrix(), matrix, atol=1e-8)
    assert found.weights.sum() == pytest.approx(1)
    assert (found.weights > 0).all()
    assert len(found.weights) <= (len(matrix) - 1) ** 2 + 1
    for permutation in found.permutations:
        assert sorted(permutation) == list(range(len(matrix)))


@given(matrices())
def test_identity_weight_leaves_a_bistochastic_remainder(matrix):
    lam, remainder = bistochastic.identity_weight(matrix)
    assert bistochastic.is_bistochastic(remainder, tolerance=1e-6)
    np.testing.assert_allclose(lam * np.eye(len(matrix)) + (1 - lam) * remainder, matrix, atol=1e-8)


@given(matrices(), matrices())
def test_entropy_rates_of_a_product_add_up(P, Q):
    rate = bistochastic.entropy_rate(np.kron(P, Q))
    assert rate == pytest.approx(bistochastic.entropy_rate(P) + bistochastic.entropy_rate(Q), abs=1e-9)


@given(matrices(), matrices())
def test_product_of_bistochastic_matrices_is_bistochastic(P, Q):
    assert bistochastic.is_bistochastic(np.kron(P, Q))


@given(matrices(), st.integers(0, 10**6))
def test_bistochastic_matrix_never_lowers_entropy(matrix, seed):
    def entropy(p):
        return -(p[p > 0] * np.log2(p[p > 0])).sum()

    pi = np.random.default_rng(seed).dirichlet(np.ones(len(matrix)))
    assert entropy(matrix.T @ pi) >= entropy(pi) - 1e-9


@pytest.mark.parametrize("size", range(1, 7))
def test_average_of_all_permutations_is_perfect_privacy(size):
    np.testing.assert_allclose(bistochastic.average_of_permutations(size), bistochastic.perfect(size))


def test_identity_keeps_all_its_weight():
    assert bistochastic.identity_weight(np.eye(3)).lam == 1
    assert bistochastic.entropy_rate(np.eye(3)) == 0


@pytest.mark.parametrize(
    "matrix",
    [[[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]], [[1.1, -0.1], [-0.1, 1.1]], [[np.nan, 1], [1, 0]], [], [1.0]],
)
def test_other_matrices_are_refused(matrix):
    assert not bistochastic.is_bistochastic(matrix)
    for function in (bistochastic.entropy_rate, bistochastic.birkhoff, bistochastic.identity_weight):
        with pytest.raises(DesignError, match="bistochastic"):
            function(matrix)


def test_enumerating_the_permutations_of_many_categories_is_refused():
    with pytest.raises(DesignError, match="perfect"):
        bistochastic.average_of_permutations(9)
    assert len(list(itertools.permutations(range(bistochastic.ENUMERATED)))) == 40_320
