"""Measured audits, as a table and sentences for the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.markup import escape

from lambdarr.reporting.texts import terminal_table

if TYPE_CHECKING:
    from rich.table import Table

    from lambdarr.measuring import Measurement

_CHECKS = "cells", "positions", "lags", "calls"
_OTHER_CHECKS = {
    "asked": "Sets of attributes asked, and whether they tell of the truths",
    "others": "Reports beside truths that are not theirs",
    "repeats": "Calls that come again as a whole",
    "pairs": "Independence between attributes",
    "records": "Whole records: how many of their answers are true, and which together",
    "epsilon": "No pair of truths told apart better than ε allows",
}
HEADINGS = "attribute", "stated ε", "at least", "share", *_CHECKS


def _p_value(p: float, equals: str = "") -> str:
    """Return a p-value; what is smaller than anyone needs to know is told as such."""
    return f"{equals}{p:.2g}" if p >= 1e-30 else "< 1e-30"


def measurement_rows(measured: Measurement) -> list[tuple[str, ...]]:
    """Return bounds beside the stated ε, and the p-values of checks of one attribute, the joint last."""
    p_values: dict[tuple[str, tuple[str, ...]], str] = {
        (check.name, check.attributes): _p_value(check.p_value) for check in measured.checks
    }
    rows = []
    for bound in (*measured.attributes, measured.joint):
        stated = f"{bound.epsilon:.4f}" if math.isfinite(bound.epsilon) else "∞"
        of_checks = ("" if bound is measured.joint else p_values[name, (bound.name,)] for name in _CHECKS)
        rows.append((bound.name, stated, f"{bound.bound:.4f}", f"{bound.share:.1%}", *of_checks))
    return rows


def measurement_table(measured: Measurement) -> Table:
    """Return the measurement as a table; p-values of failed checks are red."""
    table = terminal_table(f"What {measured.randomizer} gives away, measured", HEADINGS)
    failed = {(check.name, check.attributes) for check in measured.failures}
    *rows, joint = measurement_rows(measured)
    for row in rows:
        name, numbers, p_values = row[0], row[1 : -len(_CHECKS)], row[-len(_CHECKS) :]
        told = (
            f"[red]{p}[/red]" if (check, (name,)) in failed else p for check, p in zip(_CHECKS, p_values, strict=True)
        )
        table.add_row(escape(name), *numbers, *told)
    table.add_section()
    table.add_row(*joint, style="bold")
    return table


def measurement_sentences(measured: Measurement) -> list[str]:
    """Return what the measurement means, in words; the reason of a failure is not among them."""
    said = [
        f"{measured.draws:,} made-up records were randomized in {measured.calls:,} calls. With a confidence of "
        f"{measured.confidence:.4g}, ε is at least what stands beside the stated one.",
        "cells, positions, lags, calls: the p-values of checks that reports follow the channel in every cell and every "
        "row, and depend neither on each other nor on earlier calls.",
    ]
    for name, what in _OTHER_CHECKS.items():
        if p_values := [check.p_value for check in measured.checks if check.name == name]:
            which = "" if len(p_values) == 1 else f", the smallest of {len(p_values):,}"
            said.append(f"{what}: p {_p_value(min(p_values), '= ')}{which}.")
    if not measured.passed:
        return said
    if above := [bound.name for bound in measured.attributes if bound.bound > bound.epsilon]:
        said.append(
            f"The bound of {', '.join(above)} is above the stated ε. Chance alone does that in at most "
            f"{1 - measured.confidence:.2g} of such measurements; measure again with more draws."
        )
    said.append(f"Passed. A right randomizer fails in at most {measured.false_alarm:.2g} of such measurements.")
    return said
