"""How attributes go together, and regressions: plain values for files, tables for the terminal and for print."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from lambdarr.reporting.texts import INFERENCES, csv_table, finite, latex_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lambdarr.association import Correlation
    from lambdarr.regression import Regression

_PAIR_HEADINGS = ("correlation", "Cramér's V", "bits shared", "χ² (df)", "p")


def pair_values(found: Correlation, level: float) -> list[dict[str, Any]]:
    """Return all that is known of every pair, by name; what is not known is None."""
    from lambdarr.association import row_of

    rows = [
        {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in (row_of(pair, level) for pair in found.pairs)
    ]
    return [row if row["chi_squared"] is not None else row | {"df": None} for row in rows]


def correlation_csv(found: Correlation, level: float) -> str:
    """Return how attributes go together as CSV text, a row per pair; what is not known is empty."""
    rows = pair_values(found, level)
    return csv_table(list(rows[0]), [list(row.values()) for row in rows])


def _pair_cells(found: Correlation, level: float, interval: str) -> Iterator[tuple[str, ...]]:
    """Yield the texts of every pair: names, three measures with their intervals in some format, the test."""

    def with_interval(value: float | None, lower: float, upper: float) -> str:
        return "–" if value is None else f"{value:z.3f}{interval.format(lower, upper)}"

    for row in pair_values(found, level):
        measures = (
            with_interval(row[name], row[f"{name}_lower"], row[f"{name}_upper"])
            for name in ("correlation", "cramers_v", "mutual_information")
        )
        chi_squared, p = "–", "–"
        if row["p_value"] is not None:
            p = "< 0.001" if row["p_value"] < 0.001 else f"{row['p_value']:.3f}"
            chi_squared = f"{row['chi_squared']:.1f} ({row['df']})"
        yield row["first"], row["second"], *measures, chi_squared, p


def correlation_table(found: Correlation, level: float) -> Table:
    """Return how attributes go together as a table."""
    table = Table(title="How attributes go together")
    table.show_lines = True
    for heading in ("", *_PAIR_HEADINGS):
        table.add_column(heading, justify="right" if heading else "left", overflow="fold", no_wrap=bool(heading))
    for cells in _pair_cells(found, level, "\n{:z.3f}…{:z.3f}"):
        first, second, *numbers = cells
        table.add_row(f"{escape(first)}\n{escape(second)}", *numbers)
    fewest = min(pair.n for pair in found.pairs)
    reports = f"{found.n:,}" if fewest == found.n else f"{fewest:,} to {found.n:,}"
    table.caption = (
        f"{reports} reports; {100 * level:.6g} % intervals for {INFERENCES[found.inference]}. Corrected for the "
        f"randomization, but for χ², which tests independence on the reports. –: {_unknown(found)}."
    )
    if any(abs(pair.correlation.value) > 1 for pair in found.pairs):
        table.caption += " A correlation beyond ±1 is the unbiased estimate, off by chance."
    return table


def _unknown(found: Correlation) -> str:
    """Return what it means that something is not known of a pair."""
    if all(pair.is_of_categories for pair in found.pairs):
        return "no scores, or lost in noise"
    return (
        "no scores, lost in noise, or not defined: V and bits are of categories, and a drawn or public column has "
        "none; its χ² tests that there is no correlation"
    )


def correlation_latex(found: Correlation, level: float) -> str:
    """Return how attributes go together as a LaTeX table."""
    headings = ("", "", "Correlation", "Cramér's $V$", "Bits shared", "$\\chi^2$ (df)", "$p$")
    return latex_table(headings, _pair_cells(found, level, " [{:z.3f}, {:z.3f}]"), columns="llrrrrr")


def regression_values(found: Regression, level: float) -> dict[str, Any]:
    """Return all that is known of a regression, by name."""
    about = {"formula": found.formula, "family": found.family, "method": found.method, "classes": list(found.classes)}
    lams = [
        {} if found.design is None else {name: channels[name].lam for name in found.design.names}
        for channels in found.channels
    ]
    numbers = {"n": found.n, "left_out": found.left_out, "inference": found.inference, "level": level}
    return {
        **about,
        **numbers,
        "sampled": list(found.sampled),
        "lambda": lams,
        "coefficients": _coefficients(found, level),
    }


def _coefficients(found: Regression, level: float) -> list[dict[str, Any]]:
    """Return the coefficients, row by row; a class is told where there are several."""
    from lambdarr.regression import rows_of

    left_out = () if found.family == "multinomial" else ("class",)
    return [
        {key: finite(value) if isinstance(value, float) else value for key, value in row.items() if key not in left_out}
        for row in rows_of(found, level)
    ]


def regression_csv(found: Regression, level: float) -> str:
    """Return a regression as CSV text, a row per coefficient."""
    rows = _coefficients(found, level)
    return csv_table(list(rows[0]), [list(row.values()) for row in rows])


def regression_latex(found: Regression, level: float) -> str:
    """Return a regression as a LaTeX table: coefficients, their errors and intervals."""
    headings = ("", "Coefficient", "S.e.", f"{100 * level:.6g}\\,\\% interval", "$p$")
    rows = []
    for row in _coefficients(found, level):
        name = f"{row['class']}: {row['name']}" if "class" in row else row["name"]
        p = row["p_value"]
        numbers = (f"{row['coefficient']:.4f}", f"{row['standard_error']:.4f}")
        ends = f"[{row['lower']:.4f}, {row['upper']:.4f}]"
        rows.append((name, *numbers, ends, "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"))
    about = [f"{found.family} regression: {found.formula}", f"{found.n:,} reports, {INFERENCES[found.inference]}"]
    if found.family == "multinomial":
        about.append(f"compared with {found.classes[0]}")
    return "".join(f"% {line}\n" for line in about) + latex_table(headings, rows, columns="lrrrr")


def regression_warning(found: Regression) -> str | None:
    """Return what to know before quoting a regression, or None."""
    if found.n < 10 * len(found.values):
        return (
            f"{found.n:,} reports for {len(found.values)} coefficients: errors and intervals hold for many more, ten "
            "for each at least."
        )
    return None
