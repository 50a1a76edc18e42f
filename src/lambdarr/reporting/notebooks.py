"""How nouns show themselves in a notebook: small static tables, and charts where they are asked for.

The one module of the faces that nouns import, in the methods that need it: ``_repr_html_`` and ``plot``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lambdarr.reporting.designs import drawn_sentences
from lambdarr.reporting.markup import table, text
from lambdarr.reporting.texts import epsilon_text
from lambdarr.reporting.words import asked_in_words

if TYPE_CHECKING:
    from lambdarr.asking import AskedComparison
    from lambdarr.association import Correlation
    from lambdarr.auditing import Audit
    from lambdarr.designs import Design
    from lambdarr.estimation import Estimate
    from lambdarr.measuring import Measurement
    from lambdarr.planning import Plan
    from lambdarr.queries import Answer

_MOST = 50
"""Rows of a table in a notebook."""


def design_html(design: Design) -> str:
    """Return a design as a table, the joint last."""
    rows = [
        (name, f"{c.size:,}", f"{c.lam:.4f}", f"{c.bits:.3f}", f"{c.strength:.1%}", _epsilon(c.epsilon), _true(c))
        for name, c in zip(design.names, design.channels, strict=True)
    ]
    joint = (f"{design.bits:.3f}", f"{design.strength:.1%}", _epsilon(design.epsilon), _true(design))
    headings = ("attribute", "categories", "λ", "bits", "strength β", "ε", "true reports")
    shown = table("Design", headings, [*rows[:_MOST], ("joint", "", "", *joint)]) if rows else ""
    return shown + _notes(
        f"{len(rows) - _MOST:,} more attributes are not shown." if len(rows) > _MOST else "",
        f"Released unrandomized: {', '.join(design.released)}." if design.released else "",
        f"Missing values are public: {', '.join(design.public_missing)}." if design.public_missing else "",
        f"{asked_in_words(design)}An attribute's row is about an answer that is given." if design.is_sampled else "",
        *drawn_sentences(design),
    )


def audit_html(audit: Audit) -> str:
    """Return an audit as a table, the joint last."""
    from lambdarr.reporting.designs import audit_columns, audit_title, repeated_sentences

    columns = audit_columns(audit)
    rows = [*zip((*(leak.name for leak in audit.attributes), "joint"), *columns.values(), strict=True)]
    shown = table(audit_title(audit), ("attribute", *columns), [*rows[:-1][:_MOST], rows[-1]])
    return (shown if audit.attributes else "") + _notes(
        f"{len(audit.attributes) - _MOST:,} more attributes are not shown." if len(audit.attributes) > _MOST else "",
        f"Released unrandomized: {', '.join(audit.released)}. Nothing above protects it." if audit.released else "",
        *(repeated_sentences(audit) if audit.reports > 1 else ()),
        *(leak.sentence for leak in audit.drawn),
    )


def plan_html(plan: Plan) -> str:
    """Return a plan as a sentence, and its keep rates as a table."""
    channels = list(plan.design.by_name.items())
    rows = [(name, f"{c.lam:.4g}", f"{c.strength:.1%}", _epsilon(c.epsilon)) for name, c in channels[:_MOST]]
    return _notes(f"{plan}.") + table("The design it is for", ("attribute", "λ", "strength β", "ε"), rows)


def asked_html(found: AskedComparison) -> str:
    """Return what to expect of every number of attributes that may be asked, as a table."""
    best = found.best
    rows = [
        (f"{plan.asked}{' (best)' if plan is best else ''}", f"{plan.reports:,.0f}", f"{plan.error:.3g}",
         f"{plan.gain:.3g} ×")
        for plan in found.plans
    ]  # fmt: skip
    headings = ("asked", "reports of the largest table", "squared error of a cell", "less than asking all")
    return table(f"How many of {len(best.design.names)} attributes to ask of each respondent", headings, rows)


def measurement_html(measured: Measurement) -> str:
    """Return a measured audit as a table of bounds, the joint last, and what it means."""
    from lambdarr.reporting.measurements import HEADINGS, measurement_rows, measurement_sentences

    *rows, joint = measurement_rows(measured)
    shown = table(f"What {measured.randomizer} gives away, measured", HEADINGS, [*rows[:_MOST], joint])
    return shown + _notes(
        f"{len(rows) - _MOST:,} more attributes are not shown." if len(rows) > _MOST else "",
        *measurement_sentences(measured),
        "" if measured.passed else f"Failed: {measured.reason}",
    )


def estimate_html(estimate: Estimate, level: float = 0.95) -> str:
    """Return an estimate as a table, a row per cell."""
    import numpy as np

    lower, upper = estimate.interval(level)
    labels = [attribute.labels for attribute in estimate.design.attributes]
    rows: list[tuple[str, ...]] = []
    for codes in np.ndindex(estimate.values.shape):
        if len(rows) == _MOST:
            break
        numbers = (estimate.values[codes], estimate.unbiased[codes], estimate.standard_errors[codes])
        names = (label[code] for label, code in zip(labels, codes, strict=True))
        rows.append((*names, *(f"{number:.2%}" for number in numbers), f"{lower[codes]:.2%} … {upper[codes]:.2%}"))
    headings = (*estimate.attributes, "estimate", "unbiased", "s.e.", f"{100 * level:g}% interval")
    caption = f"{' × '.join(estimate.attributes)}: {estimate.n:,} reports, {estimate.inference}"
    more = estimate.values.size - len(rows)
    return table(caption, headings, rows, names=len(estimate.attributes)) + _notes(
        f"{more:,} more cells: to_frame() has all." if more else "",
        f"Estimate: {estimate.reason}. Expected total-variation error: {estimate.expected_error:.3f}.",
    )


def answer_html(answer: Answer, level: float = 0.95) -> str:
    """Return an answer as a table of one row."""
    lower, upper = answer.interval(level)
    headings = ("value", "s.e.", f"{100 * level:g}% interval", "reports")
    row = (f"{answer.value:.4f}", f"{answer.standard_error:.4f}", f"{lower:.4f} … {upper:.4f}", f"{answer.n:,}")
    return table(f"Answer, {answer.inference}", headings, [row], names=0)


def correlation_html(found: Correlation, level: float = 0.95) -> str:
    """Return how attributes go together as a table, a row per pair."""
    rows = []
    for pair in found.pairs[:_MOST]:
        lower, upper = pair.interval("cramers_v", level)
        measures = (pair.cramers_v, pair.correlation.value, pair.mutual_information)
        v, correlation, bits = ("–" if math.isnan(number) else f"{number:z.3f}" for number in measures)
        rows.append((*pair.attributes, v, f"{lower:.3f} … {upper:.3f}", correlation, bits, f"{pair.p_value:.3g}"))
    headings = ("first", "second", "Cramér's V", f"{100 * level:g}% interval", "correlation", "bits shared", "p")
    more = len(found.pairs) - len(rows)
    shown = table(f"How attributes go together: {found.n:,} reports, {found.inference}", headings, rows, names=2)
    return shown + _notes(
        f"{more:,} more pairs: to_frame() has all." if more else "",
        "–: no scores, or lost in noise." if any("–" in row for row in rows) else "",
    )


def design_plot(design: Design, what: str) -> Any:
    """Return an Altair chart of a design."""
    from lambdarr.reporting import charts, drawing

    chart = charts.design_chart(design, what)
    titles = {
        "curves": ("What another λ would do", charts.MOST_CURVES),
        "map": ("Share of each covariance that the reports keep", charts.MOST_MAPPED),
        "answers": ("How many answers are true", charts.MOST_ROWS),
    }
    title, most = titles[what]
    return drawing.finished(drawing.titled(chart, title, _first(most, len(design.names))))


def audit_plot(audit: Audit) -> Any:
    """Return an Altair chart of an audit."""
    from lambdarr.reporting import charts, drawing

    cut = _first(charts.MOST_ROWS, len(audit.attributes))
    return drawing.finished(drawing.titled(charts.audit_chart(audit), "How sure a guess becomes by one answer", cut))


def estimate_plot(estimate: Estimate, level: float) -> Any:
    """Return an Altair chart of an estimate."""
    from lambdarr.reporting import charts, drawing

    shown, cells = len(charts.shown_cells(estimate)), estimate.values.size
    chart = drawing.titled(
        charts.estimate_chart(estimate, level),
        " × ".join(drawing.short_names(estimate.attributes)),
        f"{estimate.n:,} reports; {100 * level:g}% intervals of the unbiased values",
        f"only the {shown} largest of {cells:,} cells" if shown < cells else "",
    )
    return drawing.finished(chart)


def correlation_plot(found: Correlation, level: float) -> Any:
    """Return an Altair chart of how attributes go together."""
    from lambdarr.reporting import charts, drawing

    known = len(charts.strongest(found, len(found.pairs)))
    cut = f"only the surest {charts.MOST_PAIRS} of {known} pairs" if known > charts.MOST_PAIRS else ""
    chart = drawing.titled(
        charts.relations_chart(found, level),
        "How attributes go together",
        f"{found.n:,} reports; {100 * level:g}% intervals",
        cut,
    )
    return drawing.finished(chart)


def _first(most: int, count: int) -> str:
    return f"only the first {most} of {count} attributes" if count > most else ""


def _epsilon(epsilon: float) -> str:
    return epsilon_text(epsilon)


def _true(thing: Any) -> str:
    return f"{thing.truthfulness:.1%}"


def _notes(*sentences: str) -> str:
    return "".join(f"<p>{text(sentence)}</p>" for sentence in sentences if sentence)
