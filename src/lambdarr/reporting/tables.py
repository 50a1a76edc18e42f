"""Designs, estimates and audits as plain values for files, and as tables for the terminal."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lambdarr.auditing import Audit, Leak
    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.estimation import Estimate
    from lambdarr.models import Model
    from lambdarr.reporting.paper import Item

MOSTLY_NOISE = 0.25
"""Expected total-variation error from which a table is called noisy: a quarter of its mass may be misplaced."""

_WIDEST_ATTENUATION = 7


def finite(value: float) -> float | None:
    """Return a number as JSON holds it: an infinite ε becomes null."""
    return value if math.isfinite(value) else None


# Designs.


def design_values(design: Design) -> dict[str, Any]:
    """Return what ``show --json`` prints."""
    return {
        "attributes": [
            {
                "name": attribute.name,
                "size": channel.size,
                "lambda": channel.lam,
                "threshold": channel.threshold,
                **_measures(channel),
            }
            for attribute, channel in zip(design.attributes, design.channels, strict=True)
        ],
        "joint": {**_measures(design), "noise_amplification": finite(design.noise_amplification)},
        "attenuation": design.attenuation().tolist(),
        "released": list(design.released),
    }


def _measures(thing: Channel | Design) -> dict[str, float | None]:
    return {
        "bits": thing.bits,
        "strength": thing.strength,
        "epsilon": finite(thing.epsilon),
        "truthfulness": thing.truthfulness,
    }


def design_table(design: Design) -> Table:
    """Return the design as a table, the joint last."""
    table = Table(title="Design")
    table.add_column("attribute")
    for heading in ("categories", "λ", "bits", "strength β", "ε", "true reports"):
        table.add_column(heading, justify="right")
    for attribute, channel in zip(design.attributes, design.channels, strict=True):
        table.add_row(escape(attribute.name), f"{channel.size:,}", f"{channel.lam:.4f}", *_measure_cells(channel))
    table.add_section()
    table.add_row("joint", _cells(design), "", *_measure_cells(design), style="bold")
    return table


def _measure_cells(thing: Channel | Design | Leak) -> tuple[str, str, str, str]:
    epsilon = "∞" if math.isinf(thing.epsilon) else f"{thing.epsilon:.3f}"
    return f"{thing.bits:.3f}", f"{thing.strength:.1%}", epsilon, f"{thing.truthfulness:.1%}"


def _cells(design: Design) -> str:
    cells = math.prod(channel.size for channel in design.channels)
    return f"{cells:,}" if cells < 10**9 else f"about 10^{len(str(cells)) - 1}"


def attenuation_table(design: Design) -> Table | None:
    """Return λᵢ λⱼ as a table, or None if there is one attribute or too many to print."""
    if not 1 < len(design.names) <= _WIDEST_ATTENUATION:
        return None
    table = Table(title="Share of each covariance that the reports keep, λᵢ λⱼ")
    table.add_column("")
    for name in design.names:
        table.add_column(escape(name), justify="right")
    for i, (name, row) in enumerate(zip(design.names, design.attenuation(), strict=True)):
        table.add_row(escape(name), *("" if i == j else f"{value:.3f}" for j, value in enumerate(row)))
    return table


def design_sentences(design: Design) -> list[str]:
    """Return what the design means, in words."""
    share = f"{design.truthfulness:.1%}" if design.truthfulness >= 0.001 else "Less than 0.1%"
    said = [
        f"{share} of the reported records are true in every attribute.",
        f"The inverse of the full joint may amplify noise up to {design.noise_amplification:,.3g} times; "
        "tables of few attributes fare better.",
    ]
    if not math.isinf(design.epsilon):
        said.insert(1, f"No whole report can shift the odds about anyone by more than {_odds(design.epsilon)} to 1.")
    if design.released:
        said.append(f"Released unrandomized: {', '.join(design.released)}. Nothing here protects that.")
    return said


def _odds(epsilon: float) -> str:
    odds = math.exp(min(epsilon, 700))
    return f"{odds:.2f}" if odds < 100 else f"{odds:,.0f}" if odds < 10**7 else f"{odds:.1e}"


# Audits.


def audit_values(audit: Audit) -> dict[str, Any]:
    """Return what ``audit --json`` prints."""
    values = audit.to_dict()
    for leak in (*values["attributes"], values["joint"]):
        leak["epsilon"] = finite(leak["epsilon"])
    return values


def audit_table(audit: Audit) -> Table:
    """Return the audit as a table, the joint last."""
    table = Table(title="What one report gives away")
    table.add_column("attribute")
    for heading in ("bits", "strength", "ε", "true", "capacity", "gain", "posterior"):
        table.add_column(heading, justify="right")
    for leak in (*audit.attributes, audit.joint):
        if leak is audit.joint:
            table.add_section()
        gain = f"× {leak.guess_gain:,.3g}"
        table.add_row(
            escape(leak.name), *_measure_cells(leak), f"{leak.capacity:.3f}", gain, f"{leak.worst_posterior:.1%}"
        )
    return table


# Estimates.


def estimate_values(estimate: Estimate, level: float) -> dict[str, Any]:
    """Return one estimated table as plain values."""
    return {
        "attributes": list(estimate.attributes),
        "method": _method(estimate),
        "inference": estimate.inference,
        "n": estimate.n,
        "level": level,
        "interval": estimate.interval(level).kind,
        "expected_error": estimate.expected_error,
        "reason": estimate.reason,
        "cells": [
            {
                "categories": [a.values[code] for a, code in zip(estimate.design.attributes, codes, strict=True)],
                **dict(zip(_NUMBERS, numbers, strict=True)),
            }
            for codes, *numbers in _numbered_cells(estimate, level)
        ],
    }


def estimates_csv(estimates: Sequence[Estimate], level: float) -> str:
    """Return estimated tables as CSV text, one row per cell; columns of attributes a table does not have stay empty."""
    names = list(dict.fromkeys(name for estimate in estimates for name in estimate.attributes))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table_" if "table" in names else "table", *names, *_numbers_beside(names)])
    for estimate in estimates:
        places = [estimate.attributes.index(name) if name in estimate.attributes else None for name in names]
        labels = [attribute.labels for attribute in estimate.design.attributes]
        for codes, *values in _numbered_cells(estimate, level):
            shown = ["" if place is None else labels[place][codes[place]] for place in places]
            writer.writerow([" × ".join(estimate.attributes), *shown, *values])
    return text.getvalue()


_INFERENCES = {"population": "the population behind the respondents", "finite": "this very file"}
_NUMBERS = ("estimate", "unbiased", "standard_error", "lower", "upper", "count")


def _numbers_beside(names: Sequence[str]) -> list[str]:
    """Return the headings of the numbers, apart from any attribute of the same name."""
    return [f"{number}_" if number in names else number for number in _NUMBERS]


def _numbered_cells(estimate: Estimate, level: float) -> Iterator[tuple[Any, ...]]:
    import numpy as np

    lower, upper = estimate.interval(level)
    for codes in np.ndindex(estimate.values.shape):
        yield (
            codes,
            float(estimate.values[codes]),
            float(estimate.unbiased[codes]),
            float(estimate.standard_errors[codes]),
            float(lower[codes]),
            float(upper[codes]),
            float(estimate.counts.values[codes]),
        )


def estimate_table(estimate: Estimate, level: float, *, truth: Any = None, most: int = 100) -> Table:
    """Return an estimate as a table of at most ``most`` cells; ``truth`` is shown beside it where it is known."""
    table = Table(title=" × ".join(escape(name) for name in estimate.attributes))
    for name in estimate.attributes:
        table.add_column(escape(name), overflow="fold")
    unbiased_too = estimate.method != "inverse"  # errors are the unbiased value's: it stands beside them
    errors = ["s.e.", f"{100 * level:.6g} % interval"]
    headings = ["estimate", "unbiased", *errors] if unbiased_too else ["estimate", *errors, "reported"]
    for heading in [*headings, *(["truth"] if truth is not None else [])]:
        table.add_column(heading, justify="right", no_wrap=True)
    labels = [attribute.labels for attribute in estimate.design.attributes]
    total = estimate.counts.total
    weighted = ", weighted" if estimate.counts.squares is not None else ""
    table.caption = (
        f"{estimate.n:,} reports{weighted}; errors for {_INFERENCES[estimate.inference]}.\n"
        f"Estimate ({_method(estimate)}): {escape(estimate.reason)}."
    )
    if unbiased_too:
        table.caption += " s.e. and interval are of the unbiased value."
    for number, (codes, value, unbiased, error, lower, upper, count) in enumerate(_numbered_cells(estimate, level)):
        if number == most:
            table.caption += f"\n{estimate.values.size - most:,} more cells: --format csv has all."
            break
        known = [f"{truth[codes]:.2%}"] if truth is not None else []
        table.add_row(
            *(escape(label[code]) for label, code in zip(labels, codes, strict=True)),
            f"{value:.2%}",
            *([f"{unbiased:.2%}"] if unbiased_too else []),
            f"{error:.2%}",
            f"{lower:.2%} … {upper:.2%}",
            *([] if unbiased_too else [f"{count / total:.2%}"]),
            *known,
        )
    return table


def _method(estimate: Estimate) -> str:
    return estimate.method if isinstance(estimate.method, str) else "interactions"


def estimate_warning(estimate: Estimate) -> str | None:
    """Return what to know before quoting the table, or None if it can be trusted."""
    name = " × ".join(estimate.attributes)
    if estimate.is_implausible:
        return f"{name}: some cells are further from possible than chance explains; are these reports of this design?"
    error = estimate.expected_error
    if error < MOSTLY_NOISE:
        return None
    size = f"{error:.2f}, where 0 is exact and 1 as wrong as can be" if error < 1 else "above 1: it says nothing"
    return (
        f"{name}: mostly noise. With {estimate.n:,} report{'s' if estimate.n != 1 else ''} the expected "
        f"total-variation error of this table is {size}. Ask for fewer attributes or categories, collect more reports, "
        "or use a larger λ."
    )


def model_sentences(model: Model) -> list[str]:
    """Return in words what a model has seen, and what it leaves out."""
    pairs = len(model.design.names) * (len(model.design.names) - 1) // 2
    if not model.pairs:
        return ["No dependence stands out in these reports: the attributes are drawn independently of each other."]
    strongest = ", ".join(" × ".join(pair) for pair in model.pairs[:5])
    more = f" and {len(model.pairs) - 5} more" if len(model.pairs) > 5 else ""
    seen = f"{len(model.pairs)} of {pairs} pairs depend in a way that has to be modelled"
    sentences = [f"{model.n:,} reports show that {seen}: {strongest}{more}."]
    if model.left_out:
        left = ", ".join(" × ".join(pair) for pair in model.left_out[:5])
        more = f" and {len(model.left_out) - 5} more" if len(model.left_out) > 5 else ""
        sentences.append(f"Left out, as their tables would be too large, but for what others carry: {left}{more}.")
    return sentences


# The paper.


def paper_table(items: Sequence[Item]) -> Table:
    """Return the paper's numbers beside ours."""
    table = Table(title="The paper, number by number")
    for heading in ("", "where", "published", "computed"):
        table.add_column(heading)
    for number, item in enumerate(items, start=1):
        mark = "[green]agrees[/]" if item.agrees else f"[red]differs {number}[/]"
        table.add_row(mark, escape(item.where), escape(str(item.published)), escape(str(item.computed)))
    return table


def paper_notes(items: Sequence[Item]) -> list[str]:
    """Return why the published and the computed differ, under the numbers of the table."""
    return [f"  {number}. {item.where}: {item.note}" for number, item in enumerate(items, start=1) if not item.agrees]
