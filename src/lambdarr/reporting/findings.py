"""What the reports show: estimates, relations and the error to expect, from one pass over each wave."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

from lambdarr.association import related
from lambdarr.estimation import estimated, independent_reports
from lambdarr.expecting import pooled_errors
from lambdarr.plausibility import inexplicable
from lambdarr.reporting.charts import standing_out
from lambdarr.tabulation import tallied_as_found
from lambdarr.waves import shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lambdarr.association import Correlation
    from lambdarr.designs import Design
    from lambdarr.estimation import Estimate, Inference
    from lambdarr.expecting import Order
    from lambdarr.tabulation import Counts
    from lambdarr.waves import Wave

MOST_SINGLE = 24
"""One-way tables that are estimated where none are asked for."""

MOST_PAIRS = 4
"""Tables of pairs that are estimated where none are asked for: those whose dependence is surest."""

MOST_RELATED = 20
"""Attributes whose pairs are related: 190 pairs."""

LARGEST_RELATED = 50
"""Categories of the largest attribute that is related to others."""

LARGEST_SINGLE = 1_000
"""Categories of the largest attribute that is estimated without being asked for."""


class Found(NamedTuple):
    """What the reports show."""

    estimates: list[Estimate]
    relations: Correlation | None
    inference: Inference
    reports: tuple[int, ...]
    """Number of reports of each wave."""
    independent: float
    """How many independent reports of equal weight, with all answers that were asked for, tell as much."""
    errors: list[Order]
    """The error to expect of tables of 1, 2, … attributes."""
    unanswered: list[tuple[str, ...]]
    """Tables and pairs of which nobody answered all attributes."""
    inexplicable: list[str]
    """Attributes that are reported as no truths explain: these are not the reports of this design."""
    only_estimated: str
    """How many attributes are estimated where that is not all of them, in words."""
    only_related: str
    """The same of relations."""

    @property
    def n(self) -> int:
        """Number of all reports."""
        return sum(self.reports)


def common(designs: Sequence[Design]) -> list[str]:
    """Return the attributes that all designs have, with the same categories."""
    attributes = [dict(zip(design.names, design.attributes, strict=True)) for design in designs]
    first = attributes[0]
    return [name for name in first if all(other.get(name) == first[name] for other in attributes[1:])]


def find(waves: Sequence[Wave], asked: list[tuple[str, ...]] | None, inference: Inference) -> Found:
    """Estimate and relate; ``asked`` are the tables that somebody wants, if any."""
    designs = [wave.design for wave in waves]
    for names in asked or []:
        shared(designs, names)  # what not all of them have is told before the work
    sizes = {name: designs[0].by_name[name].size for name in common(designs)}
    single = [(name,) for name, size in sizes.items() if size <= LARGEST_SINGLE][:MOST_SINGLE]
    relatable = [name for name, size in sizes.items() if size <= LARGEST_RELATED][:MOST_RELATED]
    some, of = f"Of {len(sizes)} attributes", len(sizes)
    only_estimated = f"{some}, {len(single)} are estimated; ask for the others by name." if len(single) < of else ""
    only_related = f"{some}, {len(relatable)} are looked at here." if len(relatable) < of else ""
    # where a wave asks one question of each, nobody answers two
    pairs = [] if any(design.asked == 1 for design in designs) else list(itertools.combinations(relatable, 2))
    wanted = single if asked is None else asked
    counted = [tallied_as_found(*wave[:2], [*wanted, *pairs], wave.survey) for wave in waves]
    tables = [
        [(counts, design) for counts, design in zip(of_waves, designs, strict=True) if counts.n]
        for of_waves in zip(*(tables for _, tables in counted), strict=True)
    ]
    own, of_pairs = tables[: len(wanted)], dict(zip(pairs, tables[len(wanted) :], strict=True))
    unanswered = [names for names, table in zip([*wanted, *pairs], tables, strict=True) if not table]
    relations = None
    if answered := [table for table in of_pairs.values() if table]:
        relations = related(answered, shared(designs, relatable), inference=inference)
        if asked is None:
            surest = [of_pairs[pair.attributes] for pair in standing_out(relations)[:MOST_PAIRS]]
            own += sorted(
                surest, key=lambda table: table[0][0].values.size
            )  # neighbours on the page are alike in height
    estimates = [estimated(table, method="auto", inference=inference) for table in own if table]
    numbers = [_independent(tables, design) for (_, tables), design in zip(counted, designs, strict=True)]
    parts = [design.select(sizes) for design in designs] if sizes else []
    errors = pooled_errors(list(zip(parts, numbers, strict=False)), finite=inference == "finite") if parts else []
    one_way = [
        (counts, design) for (_, tables), design in zip(counted, designs, strict=True) for counts in _one_way(tables)
    ]
    return Found(
        estimates, relations, inference, tuple(rows for rows, _ in counted), math.fsum(numbers), errors,
        list(dict.fromkeys(unanswered)), inexplicable(one_way), only_estimated if asked is None else "", only_related,
    )  # fmt: skip


def _independent(tables: Sequence[Counts], design: Design) -> float:
    """Return how many independent respondents a wave has: those of its largest table, and those not asked for it."""
    most = max(tables, key=lambda counts: counts.n, default=None)
    if most is None or not most.n:
        return 1.0
    return independent_reports(most) / design.share_asked_all(len(most.attributes))


def _one_way(tables: Sequence[Counts]) -> list[Counts]:
    """Return the counts of each single attribute, of the table that has most reports of it."""
    largest: dict[str, Counts] = {}
    for counts in tables:
        for name in counts.attributes:
            if counts.n > (largest[name].n if name in largest else 0):
                largest[name] = counts
    return [counts.marginal([name]) for name, counts in largest.items()]
