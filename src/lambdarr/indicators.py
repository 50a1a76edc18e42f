"""Reports → unbiased indicators: columns that any tool can sum, average or cross-multiply.

The indicator of a category, (1[y = c] − (1 − λ)/r)/λ, has the truth's indicator as its mean. Attributes are randomized
independently, so products of columns of *different* attributes are unbiased for the products of the truths'; of one
attribute they are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lambdarr.designs import listed
from lambdarr.domain import ABSENT
from lambdarr.sources import as_frame
from lambdarr.surveys import Survey
from lambdarr.tabulation import Coded, over_reports
from lambdarr.waves import shared, waves_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lambdarr.designs import Design


def unbiased(
    reports: Any, design: Design | None = None, attributes: Iterable[str] | None = None, *, library: str | None = None
) -> Any:
    """Return a frame with a column for every category of every attribute, and a row per report, in their order.

    Where an attribute is missing and that is public, or was not asked, its columns are null.

    Parameters
    ----------
    reports : table, path or list of (reports, Design)
        Randomized records; or several tables of them, each with the design it was made with.
    design : Design, optional
        The design they were made with, unless it is beside them.
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
    waves = waves_of(reports, design, Survey())
    wanted = waves[0].design.names if attributes is None else listed(attributes)
    attributes_of = shared([wave.design for wave in waves], wanted).attributes
    names = [f"{attribute.name}={label}" for attribute in attributes_of for label in attribute.labels]
    batches: list[pa.RecordBatch] = []
    for wave in waves:
        part = wave.design.select(wanted)

        def columns(coded: Coded, part: Design = part) -> tuple[pa.RecordBatch, str]:
            found = []
            for attribute, channel in zip(part.attributes, part.channels, strict=True):
                codes = coded.codes[attribute.name]
                a, b = channel.backward
                absent = codes == ABSENT if attribute.name in part.gaps else None
                found += [pa.array(np.where(codes == code, a + b, b), mask=absent) for code in range(attribute.size)]
            return pa.RecordBatch.from_arrays(found, names=names), coded.library

        for batch, came_in in over_reports(wave.reports, part, part.names, Survey(), columns):
            batches.append(batch)
            library = library or came_in
    return as_frame(pa.Table.from_batches(batches), library or "pyarrow")
