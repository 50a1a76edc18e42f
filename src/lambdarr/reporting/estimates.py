"""Estimates as plain values for files and as tables for the terminal, and what to know before quoting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from lambdarr.reporting.texts import INFERENCES, csv_table, finite, rounded_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lambdarr.estimation import Estimate
    from lambdarr.models import Model
    from lambdarr.queries import Answer

MOSTLY_NOISE = 0.25
"""Expected total-variation error from which a table is called noisy: a quarter of its mass may be misplaced."""

_WIDE = 0.75  # width of a share's interval from which it says next to nothing, whatever error is expected

_NUMBERS = ("estimate", "unbiased", "standard_error", "lower", "upper", "count")


def estimate_values(estimate: Estimate, level: float) -> dict[str, Any]:
    """Return one estimated table as plain values."""
    return {
        "attributes": list(estimate.attributes),
        "method": _method(estimate),
        "inference": estimate.inference,
        "n": estimate.n,
        "level": level,
        "interval": estimate.interval(level).kind,
        "expected_error": finite(estimate.expected_error),
        "reason": estimate.reason,
        "cells": [
            {
                "categories": [a.values[code] for a, code in zip(estimate.design.attributes, codes, strict=True)],
                **dict(zip(_NUMBERS, map(finite, numbers), strict=True)),
            }
            for codes, *numbers in _numbered_cells(estimate, level)
        ],
    }


def estimates_csv(estimates: Sequence[Estimate], level: float) -> str:
    """Return estimated tables as CSV text, one row per cell; columns of attributes a table does not have stay empty."""
    names = list(dict.fromkeys(name for estimate in estimates for name in estimate.attributes))
    headings = ["table_" if "table" in names else "table", *names, *_numbers_beside(names)]
    return csv_table(headings, (row for estimate in estimates for row in _csv_rows(estimate, names, level)))


def _csv_rows(estimate: Estimate, names: Sequence[str], level: float) -> Iterator[list[Any]]:
    places = [estimate.attributes.index(name) if name in estimate.attributes else None for name in names]
    labels = [attribute.labels for attribute in estimate.design.attributes]
    for codes, *values in _numbered_cells(estimate, level):
        shown = ["" if place is None else labels[place][codes[place]] for place in places]
        yield [" × ".join(estimate.attributes), *shown, *values]


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
    complete = " with every answer" if estimate.design.gaps else ""
    weighted = ", weighted" if estimate.counts.squares is not None else ""
    table.caption = (
        f"{estimate.n:,} reports{complete}{weighted}; errors for {INFERENCES[estimate.inference]}.\n"
        f"Estimate ({_method(estimate)}): {escape(estimate.reason)}."
    )
    if unbiased_too:
        table.caption += " s.e. and interval are of the unbiased value."
    if rounded := rounded_sentence(estimate.design):
        table.caption += f"\n{escape(rounded)}"
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
    error = round(estimate.expected_error, 3)  # as it is shown
    if error < MOSTLY_NOISE:
        lower, upper = estimate.interval(0.95)
        if (upper - lower).max() < _WIDE:
            return None
        return (
            f"{name}: mostly noise. With {estimate.n:,} report{'s' if estimate.n != 1 else ''} an interval spans "
            f"{(upper - lower).max():.0%} of all that is possible. Collect more reports, or use a larger λ."
        )
    size = f"{error:.2f}, where 0 is exact and 1 as wrong as can be" if error < 1 else "above 1: it says nothing"
    return (
        f"{name}: mostly noise. With {estimate.n:,} report{'s' if estimate.n != 1 else ''} the expected "
        f"total-variation error of this table is {size}. Ask for fewer attributes or categories, collect more reports, "
        "or use a larger λ."
    )


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
