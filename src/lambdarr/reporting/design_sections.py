"""The report's sections on designs: what they mean in words, what another λ would do, what is left, what leaks."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import lambdarr
from lambdarr.channel import Channel
from lambdarr.expecting import error_factor
from lambdarr.reporting import charts
from lambdarr.reporting.figures import beside, figure, folded, grid, lead, note, paragraphs, scroll
from lambdarr.reporting.findings import common
from lambdarr.reporting.markup import table, text
from lambdarr.reporting.texts import epsilon_text, percent
from lambdarr.reporting.words import (
    asked_in_words,
    design_in_words,
    odds_in_words,
    quoted,
    share_in_words,
    shares_in_words,
    times_in_words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lambdarr.auditing import Audit, Leak
    from lambdarr.designs import Design

MOST_LISTED = 200
"""Rows of a table of numbers."""

MOST_WAVES = 6
"""Waves whose design is shown in full; of the others, the λ's."""

_RARE = 0.01  # the share of a rare answer, whose errors are told beside the least ones
_DENSE = 60  # letters of all names above which the table of λᵢ λⱼ has numbers in their place


def wave_heading(number: int, designs: Sequence[Design]) -> str:
    """Return the heading of a wave's part of a section; none if there is one design."""
    return f"<h3>Wave {number}</h3>" if len(designs) > 1 else ""


def _keyed(key: str, number: int) -> str:
    return key if number == 1 else f"{key}-wave-{number}"


def _first_waves(designs: Sequence[Design]) -> str:
    return f"The first {MOST_WAVES} of {len(designs)} waves are shown." if len(designs) > MOST_WAVES else ""


def words_section(designs: Sequence[Design], reports: Sequence[int] = ()) -> str:
    """Return what the designs mean for an answer, attribute by attribute; ``reports`` is how many each wave has."""
    several = (
        paragraphs(
            f"The answers came in {len(designs)} waves, each with keep rates of its own. An answer is protected by its "
            "wave's; estimates are from all waves together, those that tell more counting for more.",
            _first_waves(designs),
        )
        + scroll("Keep rates of the waves", _waves_table(designs, reports))
        if len(designs) > 1
        else ""
    )
    shown = "".join(
        wave_heading(number, designs) + _words(design, number)
        for number, design in enumerate(designs[:MOST_WAVES], start=1)
    )
    return (
        several
        + shown
        + paragraphs(
            "Odds: whoever thought two answers of a person equally likely can be brought by the report to think one "
            "of them at most so many times as likely as the other. Bits deniable: how much chance is mixed in, of the "
            "most that could be."
        )
    )


def _waves_table(designs: Sequence[Design], reports: Sequence[int]) -> str:
    names = list(dict.fromkeys(name for design in designs for name in design.names))
    by_name = [design.by_name for design in designs]
    rows: list[tuple[str, ...]] = [
        (name, *(f"{channels[name].lam:.4g}" if name in channels else "not in it" for channels in by_name))
        for name in names[:MOST_LISTED]
    ]
    if any(design.is_sampled for design in designs):
        asked = (f"{design.asked} of {design.out_of}" if design.is_sampled else "all" for design in designs)
        rows.append(("questions asked of each person", *asked))
    rows.append(("number of reports", *(f"{n:,}" for n in reports)))
    headings = ("attribute", *(f"wave {number}" for number in range(1, len(designs) + 1)))
    return table("Keep rates λ, wave by wave", headings, rows)


def _words(design: Design, number: int) -> str:
    pairs = list(zip(design.names, design.channels, strict=True))
    shares = shares_in_words([channel.truthfulness for _, channel in pairs])
    rows = [
        (
            name,
            f"{channel.size:,}",
            share,
            odds_in_words(channel.epsilon),
            f"{channel.bits:.2f} of {channel.max_bits:.2f}",
            f"{channel.lam:.4g}",
        )
        for (name, channel), share in zip(pairs, shares, strict=True)
    ]
    headings = ("attribute", "categories", "true answers", "odds at most", "bits deniable", "keep rate λ")
    more = (
        f" The first {charts.MOST_ROWS} of {len(pairs)} attributes are drawn." if len(pairs) > charts.MOST_ROWS else ""
    )
    released, missing = design.released, design.public_missing
    words = (
        lead(design_in_words(design))
        + paragraphs(_lottery(design) if number == 1 else "")
        + note(
            f"Not protected: {quoted(released)} {'is' if len(released) == 1 else 'are'} reported as "
            f"{'it is' if len(released) == 1 else 'they are'}, without a lottery."
            if released
            else "",
            f"Not protected: everyone sees who gave no answer to {quoted(missing)}." if missing else "",
        )
    )
    chart = figure(
        _keyed("chart-answers", number),
        charts.answers_chart(design),
        "How many answers are true.",
        "Of all answers to a question, the share that is reported true, and the share that is changed." + more,
    )
    numbers = table("The design, attribute by attribute", headings, rows[:MOST_LISTED])
    return beside(words, chart, scroll("The design, attribute by attribute", numbers))


def _lottery(design: Design) -> str:
    as_they_are = [name for name, channel in design.by_name.items() if channel.lam == 1]
    if len(as_they_are) == len(design.names):
        return "There is no lottery: what is reported is what was answered."
    but = f", but for {quoted(as_they_are, 3)}," if as_they_are else ""
    which = " Which questions a person is asked is drawn anew for each, and anyone may know it." * design.is_sampled
    return (
        f"Every answer{but} passes a lottery before anyone sees it. With the chance λ, the keep rate, it is reported "
        "as it is; otherwise one of the categories is drawn by chance and reported instead, which may happen to be "
        "the true one. Nobody can tell from an answer which of the two happened: that is why it can always be denied. "
        f"How often each happens is known, so shares among many people can still be worked out.{which}"
    )


def curves_section(designs: Sequence[Design]) -> str:
    """Return what every λ would do to each attribute, with the chosen ones."""
    names = common(designs)
    shown = names[: charts.MOST_CURVES]
    figures = []
    for place, name in enumerate(shown):
        chosen = _chosen(name, designs)
        heading = f"{name}, {chosen[0].channel.size:,} categories."
        said = " ".join(map(_choice_in_words, chosen))
        numbers = folded(name, _curve_table(name, chosen))
        chart = charts.tradeoff_chart(name, chosen)
        figures.append(figure(f"chart-curve-{place}", chart, heading, said, numbers))
    asked = (
        "That not everyone is asked every question is counted in."
        if any(design.is_sampled for design in designs)
        else ""
    )
    return paragraphs(
        "A larger λ keeps more answers true, and protects less. Strength β is the share of an answer that stays "
        "deniable: 100% would tell nothing, 0% everything. The lower curve shows how many times as large "
        "the errors of the shares, taken together, are at least, compared with true answers: so many times if the "
        "answers are spread evenly over the categories, more if not, and far more for rare answers. The dotted "
        "line marks the λ that was chosen"
        f"{', with the number of its wave' if len(designs) > 1 else ''}. {asked}",
        f"Of {len(names)} attributes, the first {len(shown)} are drawn." if len(shown) < len(names) else "",
    ) + grid(figures, "small")


def _chosen(name: str, designs: Sequence[Design]) -> list[charts.Chosen]:
    """Return the λ's that waves have for an attribute, each once, with the numbers of its waves."""
    waves: dict[tuple[Channel, float], list[str]] = {}
    for number, design in enumerate(designs, start=1):
        waves.setdefault((design.by_name[name], design.share_asked), []).append(str(number))
    return [charts.Chosen(*key, ", ".join(of) if len(designs) > 1 else "") for key, of in waves.items()]


def _choice_in_words(choice: charts.Chosen) -> str:
    channel, asked, waves = choice
    factor = error_factor(channel, share_asked=asked)
    kept = (
        "reported as it is, no protection"
        if channel.lam == 1
        else f"{channel.truthfulness:.0%} true, strength {channel.strength:.0%}"
    )
    if waves:
        return f"Wave {waves}, λ = {channel.lam:.4g}: {kept}, errors × {factor:.1f} at least."
    if factor == 1:
        return f"λ = 1: {kept}. No error is added."
    return (
        f"λ = {channel.lam:.4g}: {kept}. Errors are at least {times_in_words(factor)} as large, so at least "
        f"{times_in_words(factor**2)} as many people are needed for the same precision. {_rare_in_words(choice)}"
    )


def _rare_in_words(choice: charts.Chosen) -> str:
    """Return how much more the errors of a rare answer grow; nothing where such an answer is not rare."""
    if choice.channel.size >= 1 / _RARE:
        return ""
    factor = error_factor(choice.channel, share_asked=choice.share_asked, share=_RARE)
    return f"Of an answer that {share_in_words(_RARE)} people give, they are {times_in_words(factor)} as large."


def _curve_table(name: str, chosen: Sequence[charts.Chosen]) -> str:
    def row(channel: Channel, asked: float, label: str) -> tuple[str, ...]:
        return (
            label,
            f"{channel.truthfulness:.1%}",
            f"{channel.strength:.1%}",
            f"× {error_factor(channel, share_asked=asked):.2f}",
            *([f"× {error_factor(channel, share_asked=asked, share=_RARE):.1f}"] if rare else []),
        )

    rare = chosen[0].channel.size < 1 / _RARE
    asked = chosen[0].share_asked
    fifths = (fifth / 5 for fifth in range(1, 6))
    steps = [lam for lam in fifths if all(abs(lam - choice.channel.lam) > 0.005 for choice in chosen)]
    rows = [(lam, row(Channel(chosen[0].channel.size, lam), asked, f"{lam:.1f}")) for lam in steps]
    for channel, share, label in chosen:
        rows.append((channel.lam, row(channel, share, f"{channel.lam:.4g} ({f'wave {label}' if label else 'chosen'})")))
    headings = ("λ", "true", "strength β", "errors, at least", *(["1% answer"] if rare else []))
    return table(f"What λ does to {name}", headings, [cells for _, cells in sorted(rows)])


def map_section(designs: Sequence[Design]) -> str:
    """Return how much of each covariance the answers keep."""
    if all(len(design.names) < 2 for design in designs):
        return paragraphs("The design has one attribute, so there are no relations to keep.")
    if all(design.asked == 1 for design in designs):
        return paragraphs("Each person is asked one question, so the answers tell nothing about how two go together.")
    mapped = [
        (number, design)
        for number, design in enumerate(designs[:MOST_WAVES], start=1)
        if len(design.names) > 1 and design.asked != 1
    ]
    words = (
        "The lottery hides relations as well. Of the covariance of two attributes the answers keep the share λᵢλⱼ, "
        "the product of their keep rates. It is known exactly, so it is undone in every estimate; but what is left "
        "has to be told from chance, and that takes more people where the share is small."
    )
    maps = [_map(design, f"Wave {number}: " if len(designs) > 1 else "", number) for number, design in mapped]
    kept, drawn, numbers = (list(parts) for parts in zip(*maps, strict=True))
    if len(designs) == 1:
        return beside(paragraphs(f"{words} Here it is {kept[0]}."), drawn[0], numbers[0])
    said = ", ".join(f"{of_wave} in wave {number}" for (number, _), of_wave in zip(mapped, kept, strict=True))
    return paragraphs(f"{words} Here it is {said}.", _first_waves(designs)) + grid(drawn) + "".join(numbers)


def _map(design: Design, wave: str, number: int) -> tuple[str, str, str]:
    """Return what is left of relations as a range, as a map, and as a table."""
    names = list(design.names)[: charts.MOST_MAPPED]
    factors = design.attenuation()
    dense = sum(map(len, names)) > _DENSE  # numbers head the columns, in percent, so that a page is wide enough

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
    low, high = f"{min(off):.0%}", f"{max(off):.0%}"
    kept = low if low == high else f"from {low} to {high}"
    asked = (
        f" It is of the {share_in_words(design.share_asked_all(2))} people who are asked both questions."
        if design.is_sampled
        else ""
    )
    heading = f"{wave}Share of each covariance that the answers keep."
    caption = f"{wave}Share of each covariance that the answers keep, λᵢλⱼ{', in percent' if dense else ''}"
    # the map's blues are the same on a dark screen, where "darker" would say the wrong thing
    said = f"The deepest blue keeps everything, the palest nothing.{asked}{more}"
    chart = figure(_keyed("chart-map", number), charts.attenuation_chart(design), heading, said)
    return kept, chart, folded(heading, table(caption, headings, rows), dense=dense)


def audit_section(designs: Sequence[Design]) -> str:
    """Return what one report gives away."""
    said = "".join(
        wave_heading(number, designs) + _audit(lambdarr.audit(design), design, number)
        for number, design in enumerate(designs[:MOST_WAVES], start=1)
    )
    return said + paragraphs(
        "ε: the most that a report can shift anyone's odds, as a logarithm. Bits and strength: the deniability "
        "left. Capacity: the most bits that a report can tell. Guess gain: how many times as likely a guess is "
        "right with the report as without. Posterior: how sure a guess can become. All speak of one report per "
        "person: who answers the same question again gives away more. Whoever knew more before is surer after.",
        _first_waves(designs),
    )


def _audit(audit: Audit, design: Design, number: int) -> str:
    rows = [
        (
            leak.name if leak is not audit.joint else "the whole record",
            epsilon_text(leak.epsilon, "no limit"),
            odds_in_words(leak.epsilon),
            f"{leak.bits:.3f}",
            f"{leak.strength:.1%}",
            f"{leak.capacity:.3f}",
            f"× {leak.guess_gain:,.3g}",
            percent(leak.worst_posterior, up=True),
        )
        for leak in (*audit.attributes, audit.joint)
    ]
    headings = ("attribute", "ε", "odds at most", "bits", "strength", "capacity", "guess gain", "posterior")
    kept = [*rows[:MOST_LISTED], rows[-1]] if len(rows) > MOST_LISTED else rows
    more = (
        f" The first {charts.MOST_ROWS} of {len(audit.attributes)} attributes are drawn."
        if len(audit.attributes) > charts.MOST_ROWS
        else ""
    )
    asked = (
        f"{asked_in_words(design)}Of the whole record, odds, ε and posterior are those of the questions that give away "
        "most, the others a mean."
        if design.is_sampled
        else ""
    )
    chart = figure(
        _keyed("chart-audit", number),
        charts.audit_chart(audit),
        "How sure a guess becomes by one answer.",
        "From knowing nothing to having seen the answer." + more,
    )
    numbers = scroll("What one report gives away", table("What one report gives away", headings, kept))
    return beside(paragraphs(*_guesses(audit), asked), chart, numbers)


def _guesses(audit: Audit) -> tuple[str, str]:
    """Return how much surer a guess becomes, of what is randomized; and that the rest needs no guess."""
    hidden: list[Leak] = [leak for leak in audit.attributes if not math.isinf(leak.epsilon)]
    open_names = [leak.name for leak in audit.attributes if math.isinf(leak.epsilon)]
    as_it_is = (
        f"{quoted(open_names)}: reported as {'it is' if len(open_names) == 1 else 'they are'}, so there is nothing to "
        "guess."
        if open_names
        else ""
    )
    if not hidden:
        return as_it_is, ""
    worst = max(hidden, key=lambda leak: leak.worst_posterior)
    before, after = shares_in_words([1 / worst.size, worst.worst_posterior])
    furthest = max(hidden, key=lambda leak: leak.epsilon)
    odds = (
        f" That is the easiest to guess, not the one whose odds are shifted most: that is “{furthest.name}”, by up to "
        f"{odds_in_words(furthest.epsilon)}. With many categories a guess stays unsure even so."
        if furthest.epsilon > worst.epsilon * (1 + 1e-6)
        else ""
    )
    return (
        "Somebody who knows nothing about a person but this design sees one answer, and guesses the truth. Such a "
        f"guess can become surest of “{worst.name}”: it is right for {before} people without the answer, and for "
        f"{after} with it.{odds}",
        as_it_is,
    )


def reproduce_section(designs: Sequence[Design], commands: Sequence[str], files: Sequence[str], *, data: bool) -> str:
    """Return the version, the commands and the designs: all that it takes to have the numbers again."""
    lines = text("\n".join(commands))
    published = [design.to_json() for design in designs]
    saved = f"the design below saved as {files[0]}" if len(files) == 1 else f"the designs below saved as {files[0]} …"
    return (
        paragraphs(
            f"With lambdarr {lambdarr.__version__}, {saved}{' and the file of reports' if data else ''}, these "
            "commands give the numbers of this page."
        )
        + scroll("Commands", f"<pre><code>{lines}</code></pre>")
        + "".join(
            f'<details class="published"><summary>{text(name)}: the design, as it is published</summary>'
            + scroll(f"The design {name}", f"<pre><code>{text(shown)}</code></pre>")
            + f'</details><p>SHA-256 of {text(name)}: <code class="long">{_digest(shown)}</code></p>'
            for name, shown in zip(files, published, strict=True)
        )
    )


def _digest(published: str) -> str:
    return hashlib.sha256(published.encode()).hexdigest()
