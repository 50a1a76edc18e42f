"""Whether reports can be of a design at all: the mistake of reading truths, or the reports of another design.

Whatever the truths are, a report of an attribute is category y with a chance between (1 − λ)/r and λ + (1 − λ)/r, and
independently of everyone else's. So a category that is reported far less or far more often than a binomial number with
these chances cannot be of the design. It is one-sided: truths that are spread evenly pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lambdarr.designs import Design
    from lambdarr.tabulation import Counts

FALSE_ALARM = 1e-6
"""The chance that any attribute of a set of reports is named although all are of the design: at most this."""


def inexplicable(tables: Sequence[tuple[Counts, Design]]) -> list[str]:
    """Return the attributes that are reported as no truths can explain, but for one set of reports in a million.

    Parameters
    ----------
    tables : sequence of (Counts, Design)
        One-way counts and the design they are of. Those of weighted reports are passed over.

    Notes
    -----
    Exact binomial tails, their chance divided by the number of categories and ends looked at (Bonferroni).

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({"smokes": ["no", "yes"]}, lam=0.5)
    >>> [inexplicable([(lr.Counts.from_array(["smokes"], [n, 1000 - n]), design)]) for n in (950, 700)]
    [['smokes'], []]
    """
    from scipy import stats

    looked_at = [(counts, design) for counts, design in tables if counts.squares is None]
    ends = 2 * sum(counts.values.size for counts, _ in looked_at)
    found = []
    for counts, design in looked_at:
        (name,) = counts.attributes
        kept, least = design.by_name[name].forward
        few = stats.binom.cdf(counts.values, counts.n, least)
        many = stats.binom.sf(counts.values - 1, counts.n, kept + least)
        if min(few.min(), many.min()) * ends < FALSE_ALARM and name not in found:
            found.append(name)
    return found
