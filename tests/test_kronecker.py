import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdarr import Channel, DataError, kronecker
from tests.strategies import products


def table_for(channels, seed):
    return np.random.default_rng(seed).normal(size=[channel.size for channel in channels])


@given(products, st.integers(0, 10**6))
def test_apply_agrees_with_the_dense_matrix(channels, seed):
    table = table_for(channels, seed)
    expected = kronecker.dense(channels) @ table.ravel()
    np.testing.assert_allclose(kronecker.apply(channels, table).ravel(), expected, atol=1e-12)


@given(products, st.integers(0, 10**6))
def test_solve_agrees_with_numpys_dense_inverse(channels, seed):
    channels = [Channel(channel.size, max(channel.lam, 0.2)) for channel in channels]
    table = table_for(channels, seed)
    table /= np.abs(table).sum()
    expected = np.linalg.inv(kronecker.dense(channels)) @ table.ravel()
    np.testing.assert_allclose(kronecker.solve(channels, table).ravel(), expected, atol=1e-12)


@given(products, st.integers(0, 10**6))
def test_solve_undoes_apply(channels, seed):
    table = table_for(channels, seed)
    amplification = np.prod([1 / channel.lam for channel in channels])
    np.testing.assert_allclose(
        kronecker.solve(channels, kronecker.apply(channels, table)), table, atol=1e-13 * amplification * 100
    )


@given(products)
def test_all_forms_of_the_inverse_agree(channels):
    dense = kronecker.dense_inverse(channels)
    scale = np.abs(dense).max()
    np.testing.assert_allclose(kronecker.inverse_by_subsets(channels), dense, atol=1e-12 * scale)
    np.testing.assert_allclose(kronecker.inverse_by_projections(channels), dense, atol=1e-12 * scale)
    np.testing.assert_allclose(dense @ kronecker.dense(channels), np.eye(len(dense)), atol=1e-12 * scale)


@given(products, st.integers(0, 10**6))
def test_squared_inverse_agrees_with_the_dense_square(channels, seed):
    table = np.abs(table_for(channels, seed))
    expected = kronecker.dense_inverse(channels) ** 2 @ table.ravel()
    np.testing.assert_allclose(kronecker.solve_squared(channels, table).ravel(), expected, rtol=1e-9)


@given(products, st.integers(0, 10**6))
def test_summing_out_an_axis_commutes_with_solving(channels, seed):
    table = table_for(channels, seed)
    whole = kronecker.solve(channels, table).sum(axis=-1)
    if len(channels) > 1:
        np.testing.assert_allclose(whole, kronecker.solve(channels[:-1], table.sum(axis=-1)), rtol=1e-7, atol=1e-7)
    else:
        assert whole == pytest.approx(table.sum(), abs=1e-9)


def test_input_is_not_changed():
    table = np.array([0.6, 0.4])
    kronecker.solve([Channel(2, 0.5)], table)
    assert table.tolist() == [0.6, 0.4]


def test_shape_must_be_that_of_the_channels():
    with pytest.raises(DataError, match="shape"):
        kronecker.solve([Channel(2, 0.5), Channel(3, 0.5)], np.ones((3, 2)))


def test_dense_matrix_of_a_large_joint_is_refused():
    with pytest.raises(DataError, match="use kronecker"):
        kronecker.dense([Channel(1000, 0.5), Channel(1000, 0.5)])


SHAPES = [(5,) * 8, (2,) * 19, (3, 70_000 // 3, 2), (65_536, 3), (3, 65_536), (7, 300, 31), (40, 50, 60)]


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("operation", [kronecker.apply, kronecker.solve, kronecker.solve_squared])
def test_compiled_passes_agree_with_numpys(sizes, operation, monkeypatch):
    channels = [Channel(size, 0.5 + 0.4 / (place + 1)) for place, size in enumerate(sizes)]
    table = np.random.default_rng(1).random(sizes)
    monkeypatch.setattr(kronecker, "worth_compiling", lambda *_, **__: False)
    plain = operation(channels, table)
    monkeypatch.setattr(kronecker, "worth_compiling", lambda *_, **__: True)
    np.testing.assert_allclose(operation(channels, table), plain, rtol=1e-9, atol=1e-12 * np.abs(plain).max())


@pytest.mark.parametrize("compiled", [False, True])
def test_result_can_go_where_it_is_told(compiled, monkeypatch):
    monkeypatch.setattr(kronecker, "worth_compiling", lambda *_, **__: compiled)
    channels, table = [Channel(2, 0.5), Channel(3, 0.6)], np.arange(6.0).reshape(2, 3)
    expected = np.linalg.solve(kronecker.dense(channels), table.ravel()).reshape(2, 3)
    elsewhere = np.empty((2, 3))
    assert kronecker.solve(channels, table, out=elsewhere) is elsewhere
    np.testing.assert_allclose(elsewhere, expected)
    assert kronecker.solve(channels, table, out=table) is table
    np.testing.assert_allclose(table, expected)


@pytest.mark.parametrize("out", [np.empty((3, 2)), np.empty((2, 3), dtype=np.float32), np.empty((2, 6))[:, ::2]])
def test_result_cannot_go_where_it_does_not_fit(out):
    with pytest.raises(DataError, match="out must be"):
        kronecker.solve([Channel(2, 0.5), Channel(3, 0.6)], np.ones((2, 3)), out=out)
