"""Reports → unbiased indicators: columns that any tool can sum, average or cross-multiply.

The indicator of a category, (1[y = c] − (1 − λ)/r)/λ, has the truth's indicator as its mean. Attributes are randomized
independently, so products of columns of *different* attributes are unbiased for the products of the truths'; of one
attribute they are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lambdarr.designs import check_design
from lambdarr.domain import ABSENT
from lambdarr.sources import as_frame
from lambdarr.tabulation import Coded, over_reports

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lambdarr.designs import Design


def unbiased(
    reports: Any, design: Design, attributes: Iterable[str] | None = None, *, library: str | None = None
) -> Any:
    """Return a frame with a column for every category of every attribute, and a row per report, in their order.

    Where an attribute is missing and that is public, its columns are null.

    Parameters
    ----------
    reports : table or path
        Randomized records.
    design : Design
        The design they were made with.
    attributes : iterable of str, optional
        All of the design by default.
    library : {"pandas", "polars", "pyarrow"}, optional
        Whose frame; by default the library the reports came in.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({"smokes": ["no", "yes"]}, lam=0.5)
    >>> lr.unbiased([{"smokes": "yes"}, {"smokes": "no"}], design, library="pyarrow").to_pydict()
    {'smokes=no': [-0.5, 1.5], 'smokes=yes': [1.5, -0.5]}
    """
    check_design(design)
    part = design if attributes is None else design.select(attributes)
    names = [f"{attribute.name}={label}" for attribute in part.attributes for label in attribute.labels]

    def columns(coded: Coded) -> tuple[pa.RecordBatch, str]:
        found = []
        for attribute, channel in zip(part.attributes, part.channels, strict=True):
            codes = coded.codes[attribute.name]
            a, b = channel.backward
            absent = codes == ABSENT if attribute.missing_is_public else None
            found += [pa.array(np.where(codes == code, a + b, b), mask=absent) for code in range(attribute.size)]
        return pa.RecordBatch.from_arrays(found, names=names), coded.library

    batches = list(over_reports(reports, part, part.names, None, columns))
    return as_frame(pa.Table.from_batches([batch for batch, _ in batches]), library or batches[-1][1])
