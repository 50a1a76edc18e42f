"""Measured audits, as a table and sentences for the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from lambdarr.measuring import Measurement

_CHECKS = "cells", "positions", "lags", "calls"


def measurement_table(measured: Measurement) -> Table:
    """Return bounds beside the stated ε, and the p-values of the checks, the joint last."""
    table = Table(title=f"What {escape(measured.randomizer)} gives away, measured")
    table.add_column("attribute")
    for heading in ("stated ε", "ε at least", "share", *_CHECKS):
        table.add_column(heading, justify="right")
    p_values = {(check.name, check.attributes): check for check in measured.checks}
    for bound in (*measured.attributes, measured.joint):
        stated = f"{bound.epsilon:.4f}" if math.isfinite(bound.epsilon) else "∞"
        cells = [escape(bound.name), stated, f"{bound.bound:.4f}", f"{bound.share:.1%}"]
        if bound is measured.joint:
            table.add_section()
            table.add_row(*cells, *("" for _ in _CHECKS), style="bold")
        else:
            found = [p_values[name, (bound.name,)] for name in _CHECKS]  # type: ignore[index]
            table.add_row(*cells, *(f"{c.p_value:.2g}" if c.passed else f"[red]{c.p_value:.2g}[/red]" for c in found))
    return table


def measurement_sentences(measured: Measurement) -> list[str]:
    """Return what the measurement means, in words; the reason of a failure is not among them."""
    said = [
        f"{measured.draws:,} made-up records were randomized in {measured.calls:,} calls. With a confidence of "
        f"{measured.confidence:.4g}, ε is at least what stands beside the stated one.",
        "cells, positions, lags, calls: the p-values of checks that reports follow the channel in every cell and every "
        "row, and depend neither on each other nor on earlier calls.",
    ]
    if pairs := [check.p_value for check in measured.checks if check.name == "pairs"]:
        which = "" if len(pairs) == 1 else f" for the most suspicious of {len(pairs):,} pairs"
        said.append(f"Independence between attributes: p = {min(pairs):.2g}{which}.")
    if not measured.passed:
        return said
    if above := [bound.name for bound in measured.attributes if bound.bound > bound.epsilon]:
        said.append(
            f"The bound of {', '.join(above)} is above the stated ε. Chance alone does that in at most "
            f"{1 - measured.confidence:.2g} of such measurements; measure again with more draws."
        )
    said.append(f"Passed. A right randomizer fails in at most {measured.false_alarm:.2g} of such measurements.")
    return said
