"""The sections of the report, top to bottom: each says in words what its chart shows, with the numbers as a table."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import lambdarr
from lambdarr.channel import Channel
from lambdarr.expecting import error_factor, expected_errors, reports_needed
from lambdarr.reporting import charts
from lambdarr.reporting.markup import table, text
from lambdarr.reporting.texts import INFERENCES
from lambdarr.reporting.words import (
    count_in_words,
    design_in_words,
    error_in_words,
    odds_in_words,
    share_in_words,
    times_in_words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lambdarr.association import Correlation
    from lambdarr.auditing import Audit
    from lambdarr.designs import Design
    from lambdarr.estimation import Estimate, Inference
    from lambdarr.expecting import Order

MOST_LISTED = 200
"""Rows of a table of numbers."""

_DENSE = 8  # attributes above which the table of λᵢ λⱼ is set small


class Found(NamedTuple):
    """What the reports show."""

    estimates: list[Estimate]
    relations: Correlation | None
    inference: Inference
    n: int
    """Reports, of the table that has most."""
    independent: float
    """How many independent reports of equal weight tell as much."""
    only_estimated: str
    """How many attributes are estimated where that is not all of them, in words."""
    only_related: str
    """The same of relations."""


def _figure(
    key: str, chart: Any, heading: str, said: str, numbers: str, *, plain: bool = False, dense: bool = False
) -> str:
    """Return a chart with its caption, and its numbers as a table: to be unfolded, or in plain sight."""
    drawn = charts.svg(chart, key=key, title=heading, description=said)
    label = f"Numbers: {heading.rstrip('.')}"
    shown = _scroll(label, numbers, dense=dense)
    if not plain:
        shown = f"<details><summary>{text(label)}</summary>{shown}</details>"
    beside = ' class="plain"' if plain else ""
    return (
        f'<figure id="{key}"{beside}><figcaption><strong>{text(heading)}</strong> {text(said)}</figcaption>'
        f'<div class="drawing">{drawn}</div>{shown}</figure>'
    )


def _scroll(label: str, content: str, *, dense: bool = False) -> str:
    """Return content that may be wider than the screen, within reach of the keyboard."""
    kind = "scroll dense" if dense else "scroll"
    return f'<div class="{kind}" role="group" aria-label="{text(label)}" tabindex="0">{content}</div>'


def _paragraphs(*sentences: str) -> str:
    return "".join(f"<p>{text(sentence)}</p>" for sentence in sentences if sentence)


def _note(*sentences: str) -> str:
    return f'<div class="note">{_paragraphs(*sentences)}</div>' if any(sentences) else ""


def words_section(design: Design) -> str:
    """Return what the design means for an answer, attribute by attribute."""
    pairs = list(zip(design.names, design.channels, strict=True))
    rows = [
        (
            name,
            f"{channel.size:,}",
            share_in_words(channel.truthfulness),
            odds_in_words(channel.epsilon),
            f"{channel.bits:.2f} of {channel.max_bits:.2f}",
            f"{channel.lam:.4g}",
        )
        for name, channel in pairs
    ]
    headings = ("attribute", "categories", "true answers", "odds at most", "bits deniable", "keep rate λ")
    open_names = [f"“{name}”" for name in design.released]
    missing = [f"“{name}”" for name in design.public_missing]
    more = f" The chart has the first {charts.MOST_ROWS}." if len(pairs) > charts.MOST_ROWS else ""
    return (
        f'<p class="lead">{text(design_in_words(design))}</p>'
        + _paragraphs(
            "Every answer passes a lottery before anyone sees it. With the keep rate λ the answer is reported as it "
            "is; otherwise one of the categories is drawn by chance and reported instead, which may happen to be the "
            "true one. Nobody can tell from an answer which of the two happened: that is why it can always be "
            "denied. How often each happens is known, so shares among many people can still be worked out.",
        )
        + _note(
            f"Not protected: {', '.join(open_names)} {'is' if len(open_names) == 1 else 'are'} released as "
            f"{'it is' if len(open_names) == 1 else 'they are'}, without a lottery."
            if open_names
            else "",
            f"Not protected: everyone sees who gave no answer to {', '.join(missing)}." if missing else "",
        )
        + _figure(
            "chart-answers",
            charts.answers_chart(design),
            "How many answers are true.",
            "Of all answers to a question, the share that is reported true, and the share that is changed." + more,
            table("The design, attribute by attribute", headings, rows[:MOST_LISTED]),
            plain=True,
        )
        + _paragraphs(
            "Odds: whoever thought two answers of a person equally likely can be brought by the report to think one "
            "of them at most so many times as likely as the other. Bits deniable: how much chance is mixed in, of the "
            "most that could be."
        )
    )


def curves_section(design: Design) -> str:
    """Return what every λ would do to each attribute, with the chosen one."""
    shown = list(zip(design.names, design.channels, strict=True))[: charts.MOST_CURVES]
    figures = []
    for number, (name, channel) in enumerate(shown):
        factor = error_factor(channel)
        said = (
            f"λ = {channel.lam:.4g}: {channel.truthfulness:.0%} true, strength {channel.strength:.0%}. Errors are "
            f"{times_in_words(factor)} as large, so {times_in_words(factor**2)} as many people are needed for the "
            "same precision."
        )
        figures.append(
            _figure(
                f"chart-curve-{number}",
                charts.tradeoff_chart(name, channel),
                f"{name}, {channel.size:,} categories.",
                said,
                _curve_table(name, channel),
            )
        )
    more = (
        f"Of {len(design.names)} attributes, the first {len(shown)} are drawn."
        if len(shown) < len(design.names)
        else ""
    )
    return (
        _paragraphs(
            "A larger λ keeps more answers true, and protects less. Strength β is the share of an answer that stays "
            "deniable: 100 % would tell nothing, 0 % everything. The lower curve shows how many times as large the "
            "errors of a share are as they would be with true answers. The dotted line marks the λ that was chosen.",
            more,
        )
        + f'<div class="grid small">{"".join(figures)}</div>'
    )


def _curve_table(name: str, chosen: Channel) -> str:
    def row(channel: Channel, label: str) -> tuple[str, ...]:
        return (
            label,
            f"{channel.truthfulness:.1%}",
            f"{channel.strength:.1%}",
            f"{channel.bits:.2f}",
            f"× {error_factor(channel):.2f}",
        )

    fifths = (fifth / 5 for fifth in range(1, 6))
    steps = [Channel(chosen.size, lam) for lam in fifths if abs(lam - chosen.lam) > 0.005]
    rows = [(channel.lam, row(channel, f"{channel.lam:.1f}")) for channel in steps]
    rows.append((chosen.lam, row(chosen, f"{chosen.lam:.4g} (chosen)")))
    headings = ("λ", "true answers", "strength β", "bits", "errors")
    return table(f"What λ does to {name}", headings, [cells for _, cells in sorted(rows)])


def map_section(design: Design) -> str:
    """Return how much of each covariance the answers keep."""
    names = list(design.names)[: charts.MOST_MAPPED]
    if len(names) < 2:
        return _paragraphs("The design has one attribute, so there are no relations to keep.")
    factors = design.attenuation()
    dense = len(names) > _DENSE  # numbers head the columns, in percent, so that a page is wide enough

    def cell(i: int, j: int) -> str:
        return "–" if i == j else f"{100 * factors[i, j]:.0f}" if dense else f"{factors[i, j]:.3f}"

    rows = [
        (f"{i + 1}. {name}" if dense else name, *(cell(i, j) for j in range(len(names))))
        for i, name in enumerate(names)
    ]
    headings = ("attribute", *(range(1, len(names) + 1) if dense else names))
    more = (
        f" The first {len(names)} of {len(design.names)} attributes are shown."
        if len(names) < len(design.names)
        else ""
    )
    off = [float(factors[i, j]) for i in range(len(names)) for j in range(i)]
    return _paragraphs(
        "The lottery hides relations as well. Of the covariance of two attributes the answers keep the share λᵢλⱼ, "
        "the product of their keep rates. It is known exactly, so it is undone in every estimate; but what is left "
        "has to be told from chance, and that takes more people where the share is small. Here it is from "
        f"{min(off):.0%} to {max(off):.0%}."
    ) + _figure(
        "chart-map",
        charts.attenuation_chart(design),
        "Share of each covariance that the answers keep.",
        "Dark is much, pale is little." + more,
        table(f"Share of each covariance that the answers keep, λᵢλⱼ{', in percent' if dense else ''}", headings, rows),
        dense=dense,
    )


def estimates_section(found: Found, level: float) -> str:
    """Return the estimated tables, and which of them are mostly noise."""
    from lambdarr.reporting.estimates import estimate_warning

    figures, warnings = [], []
    for number, estimate in enumerate(found.estimates):
        warnings.append(estimate_warning(estimate) or "")
        cells = charts.shown_cells(estimate)
        part = (
            f" The {len(cells)} largest of {estimate.values.size:,} cells are drawn."
            if len(cells) < estimate.values.size
            else ""
        )
        said = (
            f"{estimate.n:,} reports. Expected error of the whole table: {error_in_words(estimate.expected_error)}."
            f"{f' Estimate: {estimate.reason}.' if len(estimate.attributes) > 1 else ''}{part}"
        )
        figures.append(
            _figure(
                f"chart-estimate-{number}",
                charts.estimate_chart(estimate, level),
                f"{' × '.join(estimate.attributes)}.",
                said,
                estimate_table(estimate, level),
            )
        )
    return (
        _paragraphs(
            f"Shares of people, worked out from {reports_in_words(found)}. The line is the {100 * level:g} % "
            f"interval: it holds the true share in about {share_in_words(level)} cases. Errors are for "
            f"{INFERENCES[found.inference]}. The unbiased value is right on average and may be impossible, below "
            "zero for instance; the estimate is the one to read as a table. The interval is that of the unbiased "
            "value. The expected error of a table is the share of people that it is expected to put into a wrong "
            "cell: 0 is exact, 1 as wrong as can be.",
            found.only_estimated,
        )
        + _note(*warnings)
        + f'<div class="grid">{"".join(figures)}</div>'
    )


def estimate_table(estimate: Estimate, level: float, most: int = MOST_LISTED) -> str:
    """Return an estimate as an HTML table of at most ``most`` cells, those with the most people."""
    lower, upper = estimate.interval(level)
    labels = [attribute.labels for attribute in estimate.design.attributes]
    cells = charts.shown_cells(estimate, most)
    rows = [
        (
            *(label[code] for label, code in zip(labels, codes, strict=True)),
            f"{estimate.values[codes]:.2%}",
            f"{estimate.unbiased[codes]:.2%}",
            f"{estimate.standard_errors[codes]:.2%}",
            f"{lower[codes]:.2%} … {upper[codes]:.2%}",
        )
        for codes in cells
    ]
    headings = (*estimate.attributes, "estimate", "unbiased", "s.e.", f"{100 * level:g} % interval")
    more = (
        f", the {len(cells):,} largest of {estimate.values.size:,} cells" if len(cells) < estimate.values.size else ""
    )
    caption = f"Shares of {' × '.join(estimate.attributes)}{more}"
    return table(caption, headings, rows, names=len(estimate.attributes))


def relations_section(found: Correlation, only: str, level: float) -> str:
    """Return how attributes go together, the surest first; ``only`` says which, if not all."""
    pairs = charts.strongest(found, len(found.pairs))
    rows = []
    for pair in pairs[:MOST_LISTED]:
        lower, upper = pair.interval("cramers_v", level)
        correlation = "–" if math.isnan(pair.correlation.value) else f"{pair.correlation.value:.3f}"
        information = "–" if math.isnan(pair.mutual_information) else f"{pair.mutual_information:.3f}"
        p = "< 0.001" if pair.p_value < 0.001 else f"{pair.p_value:.3f}"
        rows.append(
            (*pair.attributes, f"{pair.cramers_v:.3f}", f"{lower:.3f} … {upper:.3f}", correlation, information, p)
        )
    sure = charts.standing_out(found)
    many = f"{len(found.pairs)} pairs" if len(found.pairs) > 1 else "1 pair"
    words = (
        f"{len(sure)} of {many} {'stands' if len(sure) == 1 else 'stand'} out from chance, all that were looked at "
        "taken into account (p below 0.05 divided by their number)."
        if sure
        else f"Of {many}, none stands out from chance."
    )
    headings = ("first", "second", "Cramér's V", f"{100 * level:g} % interval", "correlation", "bits shared", "p")
    if not pairs:
        return _paragraphs("The relations of these attributes are lost in noise.")
    return _paragraphs(
        "How strongly two attributes go together, with the lottery undone. Cramér's V is 0 if one tells nothing about "
        f"the other, and 1 if it tells all. {words}",
        only,
    ) + _figure(
        "chart-relations",
        charts.relations_chart(found, level),
        "The surest relations.",
        f"Cramér's V with {100 * level:g} % intervals; at most {charts.MOST_ROWS // 2} pairs are drawn.",
        table("How attributes go together", headings, rows, names=2),
    )


def noise_section(design: Design, found: Found | None) -> str:
    """Return from how many attributes on a table is mostly noise; without reports, how many it would need."""
    from lambdarr.reporting.estimates import MOSTLY_NOISE

    words = (
        "Every attribute in a table adds noise. A table is mostly noise where a quarter of the people or more are "
        "expected in a wrong cell. The numbers are for unbiased tables and evenly spread answers; estimates that "
        "believe less of a table can do better, and say their own expected error."
    )
    needed = reports_needed(design, MOSTLY_NOISE)
    headings = ("attributes", "easiest", "typical", "hardest")
    if found is None:
        rows = [(order.attributes, *(count_in_words(number) for number in order[1:])) for order in needed]
        return _paragraphs(words, _needed_in_words(needed)) + _figure(
            "chart-noise",
            charts.needed_chart(needed),
            "How many reports a table needs.",
            "So that it is not mostly noise. The point is for typical attributes, the bar from the easiest to the "
            "hardest.",
            table("Reports that a table needs not to be mostly noise", headings, rows),
        )
    orders = expected_errors(design, found.independent, finite=found.inference == "finite")
    rows = [(order.attributes, *(error_in_words(number) for number in order[1:])) for order in orders]
    first = next((order.attributes for order in orders if order.typical >= MOSTLY_NOISE), None)
    many = reports_in_words(found)
    if first == 1:
        verdict = f"With {many}, even the table of a single typical attribute is mostly noise."
    elif first is not None:
        verdict = f"With {many}, tables of {first} typical attributes or more are mostly noise."
    else:
        verdict = f"With {many}, tables of up to {len(orders)} typical attributes are not mostly noise."
    return (
        f'<p class="lead">{text(verdict)}</p>'
        + _paragraphs(words)
        + _figure(
            "chart-noise",
            charts.noise_chart(orders, MOSTLY_NOISE),
            "Expected error of a table, by its number of attributes.",
            "The share of people expected in a wrong cell. The point is for typical attributes, the bar from the "
            "easiest to the hardest; more than 1 is drawn as 1.",
            table("Expected total-variation error of a table", headings, rows),
        )
    )


def _needed_in_words(needed: Sequence[Order]) -> str:
    ones = f"{count_in_words(needed[0].typical)} reports for one typical attribute"
    if len(needed) == 1:
        return f"It takes about {ones}."
    last = needed[-1]
    return f"It takes about {ones}, and {count_in_words(last.typical)} for {last.attributes} of them together."


def audit_section(audit: Audit) -> str:
    """Return what one report gives away."""
    rows = [
        (
            leak.name if leak is not audit.joint else "the whole record",
            "no limit" if math.isinf(leak.epsilon) else f"{leak.epsilon:.3f}",
            odds_in_words(leak.epsilon),
            f"{leak.bits:.3f}",
            f"{leak.strength:.1%}",
            f"{leak.capacity:.3f}",
            f"× {leak.guess_gain:,.3g}",
            f"{leak.worst_posterior:.1%}",
        )
        for leak in (*audit.attributes, audit.joint)
    ]
    headings = ("attribute", "ε", "odds at most", "bits", "strength", "capacity", "guess gain", "posterior")
    kept = [*rows[:MOST_LISTED], rows[-1]] if len(rows) > MOST_LISTED else rows
    worst = max(audit.attributes, key=lambda leak: leak.worst_posterior)
    return (
        _paragraphs(
            "Somebody who knows nothing about a person but this design sees one answer, and guesses the truth. The "
            f"most telling attribute is “{worst.name}”: the guess is right for {share_in_words(1 / worst.size)} "
            f"people without the answer, and for {share_in_words(worst.worst_posterior)} with it."
        )
        + _figure(
            "chart-audit",
            charts.audit_chart(audit),
            "How sure a guess becomes by one answer.",
            "From knowing nothing to having seen the answer.",
            table("What one report gives away", headings, kept),
            plain=True,
        )
        + _paragraphs(
            "ε: the most that a report can shift anyone's odds, as a logarithm. Bits and strength: the deniability "
            "left. Capacity: the most bits that a report can tell. Guess gain: how many times as likely a guess is "
            "right with the report as without. Posterior: how sure a guess can become. All speak of one report per "
            "person: who answers the same question again gives away more. Whoever knew more before is surer after."
        )
    )


def reproduce_section(design: Design, found: Found | None, commands: Sequence[str]) -> str:
    """Return the version, the commands and the design: all that it takes to have the numbers again."""
    published = design.to_json()
    lines = text("\n".join(commands))
    digest = hashlib.sha256(published.encode()).hexdigest()
    return (
        _paragraphs(
            f"With lambdarr {lambdarr.__version__}, the design below saved as design.json"
            + (" and the file of reports" if found is not None else "")
            + ", these commands give the numbers of this page."
        )
        + _scroll("Commands", f"<pre><code>{lines}</code></pre>")
        + "<details><summary>The design, as it is published</summary>"
        + _scroll("The design", f"<pre><code>{text(published)}</code></pre>")
        + "</details>"
        + f'<p>SHA-256 of design.json: <code class="long">{digest}</code></p>'
    )


def reports_in_words(found: Found) -> str:
    """Return how many reports there are, in words."""
    return f"{found.n:,} report{'s' if found.n != 1 else ''}"
