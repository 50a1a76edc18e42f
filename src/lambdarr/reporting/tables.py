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

    from lambdarr.association import Correlation
    from lambdarr.auditing import Audit, Leak
    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.estimation import Estimate
    from lambdarr.models import Model
    from lambdarr.queries import Answer
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
        "public_missing": list(design.public_missing),
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
    if design.public_missing:
        said.append(public_missing_sentence(design.public_missing))
    return said


def public_missing_sentence(names: Sequence[str]) -> str:
    """Return in words that some attributes' missing values are not protected."""
    return f"Missing values are public, and not protected: everyone sees who has no answer to {', '.join(names)}."


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
    complete = " with every answer" if estimate.design.public_missing else ""
    table.caption = (
        f"{estimate.n:,} reports{complete}{weighted}; errors for {_INFERENCES[estimate.inference]}.\n"
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


def pair_values(found: Correlation, level: float) -> list[dict[str, Any]]:
    """Return all that is known of every pair, by name; what is not known is None."""
    from lambdarr.association import row_of

    return [
        {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in (row_of(pair, level) for pair in found.pairs)
    ]


def correlation_csv(found: Correlation, level: float) -> str:
    """Return how attributes go together as CSV text, a row per pair; what is not known is empty."""
    rows = pair_values(found, level)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


_PAIR_HEADINGS = ("correlation", "Cramér's V", "bits shared", "χ² (df)", "p")


def _pair_cells(found: Correlation, level: float, interval: str) -> Iterator[tuple[str, ...]]:
    """Yield the texts of every pair: names, three measures with their intervals in some format, the test."""

    def with_interval(value: float | None, lower: float, upper: float) -> str:
        return "–" if value is None else f"{value:.3f}{interval.format(lower, upper)}"

    for row in pair_values(found, level):
        measures = (
            with_interval(row[name], row[f"{name}_lower"], row[f"{name}_upper"])
            for name in ("correlation", "cramers_v", "mutual_information")
        )
        p = "< 0.001" if row["p_value"] < 0.001 else f"{row['p_value']:.3f}"
        yield row["first"], row["second"], *measures, f"{row['chi_squared']:.1f} ({row['df']})", p


def correlation_table(found: Correlation, level: float) -> Table:
    """Return how attributes go together as a table."""
    table = Table(title="How attributes go together")
    table.show_lines = True
    for heading in ("", *_PAIR_HEADINGS):
        table.add_column(heading, justify="right" if heading else "left", overflow="fold", no_wrap=bool(heading))
    for cells in _pair_cells(found, level, "\n{:.3f}…{:.3f}"):
        first, second, *numbers = cells
        table.add_row(f"{escape(first)}\n{escape(second)}", *numbers)
    fewest = min(pair.n for pair in found.pairs)
    reports = f"{found.n:,}" if fewest == found.n else f"{fewest:,} to {found.n:,}"
    table.caption = (
        f"{reports} reports; {100 * level:.6g} % intervals for {_INFERENCES[found.inference]}. Corrected for the "
        "randomization, but for χ², which tests independence on the reports. –: no scores, or lost in noise."
    )
    return table


def correlation_latex(found: Correlation, level: float) -> str:
    """Return how attributes go together as a LaTeX table."""
    headings = ("", "", "Correlation", "Cramér's $V$", "Bits shared", "$\\chi^2$ (df)", "$p$")
    lines = [
        " & ".join(headings),
        *(" & ".join(map(_latex, cells)) for cells in _pair_cells(found, level, " [{:.3f}, {:.3f}]")),
    ]
    body = " \\\\\n".join([lines[0] + " \\\\\n\\midrule\n" + lines[1], *lines[2:]]) if len(lines) > 1 else lines[0]
    return f"\\begin{{tabular}}{{llrrrrr}}\n\\toprule\n{body} \\\\\n\\bottomrule\n\\end{{tabular}}\n"


def _latex(text: str) -> str:
    for sign in ("\\", "&", "%", "$", "#", "_", "{", "}"):
        text = text.replace(sign, "\\textbackslash{}" if sign == "\\" else f"\\{sign}")
    return text.replace("–", "--").replace("<", "$<$")


def model_sentences(model: Model) -> list[str]:
    """Return in words what a model has seen, and what it leaves out."""
    pairs = len(model.design.names) * (len(model.design.names) - 1) // 2
    if len(model.design.names) == 1:
        return []
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


def model_warning(model: Model) -> str | None:
    """Return which attribute's own shares are mostly noise, or None: then nothing of it can be trusted."""
    import numpy as np

    for name, channel, n in zip(model.design.names, model.design.channels, model.answered, strict=True):
        reported = np.asarray(channel.matrix()) @ model.table([name])
        spread = np.sqrt(reported * (1 - reported) / n).sum() / channel.lam
        if (error := 0.4 * float(spread)) > MOSTLY_NOISE:
            return (
                f"{name}: mostly noise. Its own shares have an expected total-variation error of {min(error, 1):.2f}, "
                "so the records tell nothing of it. Collect more reports, or use a larger λ."
            )
    return None


def answer_warning(answer: Answer) -> str | None:
    """Return what to know before quoting an answer, or None if it can be trusted."""
    if not -6 * answer.standard_error <= answer.value + 1 <= 2 + 6 * answer.standard_error:
        return "this is further from possible than chance explains; are these reports of this design?"
    if answer.standard_error > MOSTLY_NOISE / 2:
        return "mostly noise: the interval is wider than half of what is possible. Ask about fewer attributes at once."
    return None


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
