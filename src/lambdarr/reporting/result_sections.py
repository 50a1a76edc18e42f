"""The report's sections on what was reported: estimates, relations, and where the noise wins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lambdarr.expecting import reports_needed
from lambdarr.reporting import charts
from lambdarr.reporting.design_sections import MOST_LISTED
from lambdarr.reporting.figures import beside, figure, folded, grid, lead, note, paragraphs
from lambdarr.reporting.markup import table
from lambdarr.reporting.texts import INFERENCES, rounded_sentence
from lambdarr.reporting.words import count_in_words, error_in_words, quoted, share_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lambdarr.designs import Design
    from lambdarr.estimation import Estimate
    from lambdarr.expecting import Order
    from lambdarr.reporting.findings import Found


def doubts(found: Found) -> str:
    """Return a note where the reports cannot be of this design."""
    if not found.inexplicable:
        return ""
    return note(
        f"These do not look like reports of this design. The answers to {quoted(found.inexplicable)} are spread as no "
        "truths can explain: some are rarer, or more frequent, than the lottery allows. Were true answers read by "
        "mistake, or the reports of another design? Reports of this design raise this alarm once in a million times "
        "at most. Do not quote the estimates below before it is cleared."
    )


def estimates_section(found: Found, level: float) -> str:
    """Return the estimated tables, and which of them are mostly noise."""
    from lambdarr.reporting.estimates import estimate_warning  # loads rich, which importing lambdarr must not

    warnings = [estimate_warning(estimate) or "" for estimate in found.estimates if not estimate.is_implausible]
    impossible = [" × ".join(estimate.attributes) for estimate in found.estimates if estimate.is_implausible]
    if impossible and not found.inexplicable:
        warnings.append(
            f"{quoted(impossible)}: some cells are further from possible than chance explains; are these reports of "
            "this design?"
        )
    figures = [
        figure(
            f"chart-estimate-{number}",
            charts.estimate_chart(estimate, level),
            f"{' × '.join(estimate.attributes)}.",
            _estimate_in_words(estimate, found),
            folded(" × ".join(estimate.attributes), estimate_table(estimate, level)),
        )
        for number, estimate in enumerate(found.estimates)
    ]
    return (
        paragraphs(
            f"Shares of people, worked out from {reports_in_words(found)}. The line is the {100 * level:g}% "
            f"interval: it holds the true share in about {share_in_words(level)} cases. Errors are for "
            f"{INFERENCES[found.inference]}. The unbiased value is right on average and may be impossible, below "
            "zero for instance; the estimate is the one to read as a table. The interval is that of the unbiased "
            "value. A table's expected error is the share of people that it is expected to put into a wrong cell.",
            found.only_estimated,
            *(nobody(names) for names in found.unanswered if len(names) != 2 or found.relations is None),
        )
        + note(*warnings)
        + grid([drawn for drawn, estimate in zip(figures, found.estimates, strict=True) if estimate.values.ndim == 1])
        + grid(
            [drawn for drawn, estimate in zip(figures, found.estimates, strict=True) if estimate.values.ndim > 1],
            "long",
        )
    )


def _estimate_in_words(estimate: Estimate, found: Found) -> str:
    answered = (
        f"{estimate.n:,} of {found.n:,} reports have an answer." if estimate.n < found.n else f"{estimate.n:,} reports."
    )
    cells = charts.shown_cells(estimate)
    part = (
        f" Only the {len(cells)} largest of {estimate.values.size:,} cells are drawn."
        if len(cells) < estimate.values.size
        else ""
    )
    error = estimate.expected_error
    size = (
        "more than all that can be wrong" if error > 1 else f"{error:.1%} of people" if error >= 0.001 else "under 0.1%"
    )
    how = f" Estimate: {estimate.reason}." if len(estimate.attributes) > 1 else ""
    how += f" {rounded}" if (rounded := rounded_sentence(estimate.design)) else ""
    return f"{answered} Expected error: {size}.{how}{part}"


def nobody(names: Sequence[str]) -> str:
    """Return in words that there is no table of some attributes."""
    if len(names) == 1:
        return f"Nobody answered {quoted(names)}."
    return f"Nobody answered {'both' if len(names) == 2 else 'all of'} {quoted(names)}."


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
    headings = (*estimate.attributes, "estimate", "unbiased", "s.e.", f"{100 * level:g}% interval")
    more = (
        f", the {len(cells):,} largest of {estimate.values.size:,} cells" if len(cells) < estimate.values.size else ""
    )
    caption = f"Shares of {' × '.join(estimate.attributes)}{more}; s.e.: standard error"
    return table(caption, headings, rows, names=len(estimate.attributes))


def relations_section(found: Found, level: float) -> str:
    """Return how attributes go together, the surest first."""
    assert found.relations is not None
    pairs = charts.strongest(found.relations, len(found.relations.pairs))
    unanswered = [names for names in found.unanswered if len(names) == 2]
    if not pairs:
        return paragraphs("The relations of these attributes are lost in noise.", *map(nobody, unanswered))
    rows = []
    for pair in pairs[:MOST_LISTED]:
        lower, upper = pair.interval("cramers_v", level)
        correlation = "–" if math.isnan(pair.correlation.value) else f"{pair.correlation.value:z.3f}"
        information = "–" if math.isnan(pair.mutual_information) else f"{pair.mutual_information:.3f}"
        p = "< 0.001" if pair.p_value < 0.001 else f"{pair.p_value:.3f}"
        rows.append(
            (*pair.attributes, f"{pair.cramers_v:.3f}", f"{lower:.3f} … {upper:.3f}", correlation, information, p)
        )
    rows += [(*names, "nobody answered both", "–", "–", "–", "–") for names in unanswered]
    sure = charts.standing_out(found.relations)
    many = f"{len(found.relations.pairs)} pairs" if len(found.relations.pairs) > 1 else "1 pair"
    words = (
        f"{len(sure)} of {many} {'stands' if len(sure) == 1 else 'stand'} out from chance, all that were looked at "
        "taken into account (p below 0.05 divided by their number)."
        if sure
        else f"Of {many}, none stands out from chance."
    )
    drawn = min(len(pairs), charts.MOST_PAIRS)
    only = f" Only the surest {drawn} of {len(pairs)} pairs are drawn." if drawn < len(pairs) else ""
    some = f"{nobody(unanswered[0])[:-1]}, and {len(unanswered) - 1} more pairs." if len(unanswered) > 3 else ""
    headings = ("first", "second", "Cramér's V", f"{100 * level:g}% interval", "correlation", "bits shared", "p")
    heading = "The surest relations."
    return beside(
        paragraphs(
            "How strongly two attributes go together, with the lottery undone. Cramér's V is 0 if one tells nothing "
            f"about the other, and 1 if it tells all. {words}",
            found.only_related,
            *([some] if some else map(nobody, unanswered)),
        ),
        figure(
            "chart-relations",
            charts.relations_chart(found.relations, level),
            heading,
            f"Cramér's V with {100 * level:g}% intervals.{only}",
        ),
        folded(heading, table("How attributes go together", headings, rows, names=2)),
    )


def noise_section(designs: Sequence[Design], found: Found | None) -> str:
    """Return from how many attributes on a table is mostly noise; without reports, how many it would need."""
    from lambdarr.reporting.estimates import MOSTLY_NOISE

    words = (
        "Every attribute in a table adds noise. A table is mostly noise where a quarter of the people or more are "
        "expected in a wrong cell. The numbers are for unbiased tables and evenly spread answers; estimates that "
        "believe less of a table can do better, and say their own expected error."
    )
    asked = max((design.asked or 0 for design in designs), default=0) if all(d.is_sampled for d in designs) else 0
    largest = f"Nobody is asked more than {asked}, so there are no larger tables." if asked > 1 else ""
    largest = "Everyone is asked one question, so there are no larger tables." if asked == 1 else largest
    headings = ("attributes", "easiest", "typical", "hardest")
    if found is None or not found.errors:
        needed = reports_needed(designs[0], MOSTLY_NOISE)
        rows = [(order.attributes, *(count_in_words(number) for number in order[1:])) for order in needed]
        heading = "How many reports a table needs."
        chart = figure(
            "chart-noise",
            charts.needed_chart(needed),
            heading,
            "So that it is not mostly noise. The point is for typical attributes, the bar from the easiest to the "
            "hardest.",
        )
        numbers = table("Reports that a table needs not to be mostly noise", headings, rows)
        return beside(paragraphs(words, _needed_in_words(needed), largest), chart, folded(heading, numbers))
    rows = [(order.attributes, *(error_in_words(number) for number in order[1:])) for order in found.errors]
    heading = "Expected error of a table, by its number of attributes."
    chart = figure(
        "chart-noise",
        charts.noise_chart(found.errors, MOSTLY_NOISE),
        heading,
        "The share of people expected in a wrong cell. The point is for typical attributes, the bar from the "
        "easiest to the hardest; more than 1 is drawn as 1.",
    )
    numbers = table("Expected total-variation error of a table", headings, rows)
    return beside(lead(_verdict(found)) + paragraphs(words, largest), chart, folded(heading, numbers))


def _verdict(found: Found) -> str:
    from lambdarr.reporting.estimates import MOSTLY_NOISE

    many = reports_in_words(found)
    if found.independent < 0.9 * found.n:
        many += f", which tell as much as {found.independent:,.0f} complete and independent ones"
    first = next((order.attributes for order in found.errors if order.typical >= MOSTLY_NOISE), None)
    if first == 1:
        return f"With {many}, even the table of a single typical attribute is mostly noise."
    if first is not None:
        return f"With {many}, tables of {first} typical attributes or more are mostly noise."
    last = len(found.errors)
    of = f"up to {last} typical attributes" if last > 1 else "a typical attribute"
    return f"With {many}, tables of {of} are not mostly noise."


def _needed_in_words(needed: Sequence[Order]) -> str:
    ones = f"{count_in_words(needed[0].typical)} reports for one typical attribute"
    if len(needed) == 1:
        return f"It takes about {ones}."
    last = needed[-1]
    return f"It takes about {ones}, and {count_in_words(last.typical)} for {last.attributes} of them together."


def reports_in_words(found: Found) -> str:
    """Return how many reports there are, in words."""
    waves = f" in {len(found.reports)} waves" if len(found.reports) > 1 else ""
    return f"{found.n:,} report{'s' if found.n != 1 else ''}{waves}"
