"""Unbiased indicators: their means are the estimate, and products across attributes are its joint."""

import numpy as np
import polars
import pyarrow as pa
import pytest

import lambdarr as lr

DESIGN = lr.design({"sex": ["F", "M"], "n": [1, 2, 3]}, lam={"sex": 0.7, "n": 0.4})
GENERATOR = np.random.default_rng(1)
REPORTS = pa.table({"n": GENERATOR.integers(1, 4, 500), "sex": GENERATOR.choice(["F", "M"], 500)})


def test_means_and_products_are_the_unbiased_tables():
    found = lr.unbiased(REPORTS, DESIGN)
    assert found.column_names == ["sex=F", "sex=M", "n=1", "n=2", "n=3"]
    sex, n = (np.array([found[name] for name in names]) for names in (found.column_names[:2], found.column_names[2:]))
    expected = lr.estimate(REPORTS, DESIGN, ["sex", "n"], method="inverse").values
    np.testing.assert_allclose(sex @ n.T / 500, expected, atol=1e-12)
    np.testing.assert_allclose(n.mean(axis=1), expected.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(sex.sum(axis=0), 1)


def test_rows_keep_their_order_over_batches():
    batches = pa.Table.from_batches(REPORTS.to_batches(max_chunksize=70))
    assert lr.unbiased(batches, DESIGN, ["sex"]).equals(lr.unbiased(REPORTS, DESIGN, ["sex"]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_come_back_as_they_came(library):
    frame = REPORTS.to_pandas() if library == "pandas" else polars.from_arrow(REPORTS)
    assert type(lr.unbiased(frame, DESIGN)) is type(frame)


def test_wrong_input_is_told():
    with pytest.raises(lr.LambdarrError, match="'x' is not in the design"):
        lr.unbiased(REPORTS, DESIGN, ["x"])
