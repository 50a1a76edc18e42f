"""Altair charts of a design, an audit, an estimate and of relations.

Each function returns an Altair chart: interactive in a notebook, ``.save("chart.svg")`` or ``.save("chart.png")`` for a
file, and ``drawing.svg`` for a page that has to open offline.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lambdarr.channel import Channel
from lambdarr.errors import DataError
from lambdarr.expecting import error_factor
from lambdarr.reporting.drawing import (
    BLUE,
    INK,
    LETTERS,
    MUTED,
    ON_BLUE,
    ON_DARK,
    ON_PALE,
    ORANGE,
    PALE,
    WIDEST,
    WIDEST_ROW,
    WIDTH,
    altair,
    apart,
    in_percent,
    legend_below,
    letters_for,
    names_axis,
    percent_axis,
    short_names,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lambdarr.association import Correlation, Pair
    from lambdarr.auditing import Audit
    from lambdarr.designs import Design
    from lambdarr.estimation import Estimate
    from lambdarr.expecting import Order

MOST_ROWS = 30
"""Rows of one chart: beyond that, those that matter most are shown."""

MOST_PAIRS = MOST_ROWS // 2
"""Pairs of the chart of relations."""

MOST_MAPPED = 30
"""Attributes on the map of λᵢ λⱼ."""

MOST_CURVES = 24
"""Attributes with trade-off curves."""

_NUMBERED = 10  # attributes up to which the map has numbers in its cells
_SMALLEST = 0.05  # λ at which the curves start
_SMALL = 220  # width of a curve: three of them side by side on a screen

# Designs.


def answers_chart(design: Design) -> Any:
    """Return how many of each attribute's answers are true, as bars."""
    alt = altair()
    shown = list(zip(short_names(design.names[:MOST_ROWS]), design.channels, strict=False))
    kinds = ["true", "changed"]
    rows = [
        {"attribute": name, "answers": kind, "share": share, "start": start, "label": in_percent(channel.truthfulness)}
        for name, channel in shown
        for kind, start, share in (
            ("true", 0.0, channel.truthfulness),
            ("changed", channel.truthfulness, 1.0),
        )
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(y=names_axis(alt, [name for name, _ in shown]))
    bars = base.mark_bar(height={"band": 0.7}).encode(
        x=alt.X("start:Q", axis=percent_axis(alt, "share of answers"), scale=alt.Scale(domain=[0, 1])),
        x2="share:Q",
        color=alt.Color("answers:N", scale=alt.Scale(domain=kinds, range=[BLUE, PALE]), legend=legend_below(alt)),
        tooltip=["attribute:N", "answers:N"],
    )
    numbers = base.mark_text(align="left", dx=6, color=ON_BLUE, fontSize=LETTERS).encode(x=alt.datum(0), text="label:N")
    return (bars + numbers.transform_filter("datum.answers == 'true'")).properties(width=WIDTH, height={"step": 26})


class Chosen(NamedTuple):
    """The λ that a design has for an attribute, the share of people who are asked for it, and the waves it is of."""

    channel: Channel
    share_asked: float = 1.0
    label: str = ""


def tradeoff_chart(name: str, chosen: Sequence[Chosen]) -> Any:
    """Return what every λ would give an attribute: true answers, strength and the error factor, with those chosen."""
    alt = altair()
    kinds = ["true answers", "strength β"]

    def rows_of(choice: Chosen) -> list[dict[str, Any]]:
        channel, asked, label = choice
        factor = error_factor(channel, share_asked=asked)
        of_both = {"attribute": name, "lam": channel.lam, "factor": factor, "asked": asked, "label": label}
        shares = zip(kinds, (channel.truthfulness, channel.strength), strict=True)
        return [{**of_both, "measure": kind, "share": share} for kind, share in shares]

    # the number of people asked moves the lower curve alone; waves may differ in it
    every = [
        Chosen(Channel(chosen[0].channel.size, float(lam)), asked)
        for asked in sorted({choice.share_asked for choice in chosen})
        for lam in np.linspace(_SMALLEST, 1, 39)
    ]
    curves, points = (
        alt.Chart(alt.Data(values=[row for choice in choices for row in rows_of(choice)]))
        for choices in (every, chosen)
    )

    def x(title: str | None) -> Any:
        axis = alt.Axis(title=title, labels=title is not None, values=[0, 0.2, 0.4, 0.6, 0.8, 1], format=".1f")
        return alt.X("lam:Q", axis=axis, scale=alt.Scale(domain=[0, 1], nice=False))

    share = alt.Y("share:Q", axis=percent_axis(alt, None), scale=alt.Scale(domain=[0, 1]))
    color = alt.Color("measure:N", scale=alt.Scale(domain=kinds, range=[BLUE, ORANGE]), legend=legend_below(alt))
    dash = alt.StrokeDash("measure:N", scale=alt.Scale(domain=kinds, range=[[1, 0], [5, 3]]), legend=None)
    shape = alt.Shape("measure:N", scale=alt.Scale(domain=kinds, range=["circle", "square"]), legend=legend_below(alt))
    rule = points.mark_rule(color=MUTED, strokeDash=[2, 2])
    tooltip = [
        "attribute:N",
        alt.Tooltip("lam:Q", title="λ", format=".4f"),
        "measure:N",
        alt.Tooltip("share:Q", format=".1%"),
        alt.Tooltip("factor:Q", title="errors grow, at least", format=".2f"),
    ]
    upper = alt.layer(
        rule.encode(x=x(None)),
        points.mark_text(baseline="bottom", dy=-2, color=INK, fontSize=LETTERS).encode(
            x=x(None), y=alt.value(0), text="label:N"
        ),
        curves.mark_line(strokeWidth=2).encode(x=x(None), y=share, color=color, strokeDash=dash, detail="asked:N"),
        points.mark_point(filled=True, size=90, opacity=1).encode(
            x=x(None), y=share, color=color, shape=shape, tooltip=tooltip
        ),
    ).properties(width=_SMALL, height=120)
    largest = 20 / math.sqrt(min(choice.share_asked for choice in chosen))
    ticks = [1]
    while ticks[-1] < largest:
        ticks.append(3 * ticks[-1] if len(ticks) % 2 else 10 * ticks[-2])
    factor = alt.Y(
        "factor:Q",
        axis=alt.Axis(title=None, values=ticks, labelExpr="'× ' + datum.label", format="d"),
        scale=alt.Scale(type="log", domain=[1, ticks[-1]], clamp=True),
    )
    foot = "keep rate λ"
    heading = alt.TitleParams(
        "errors grow, at least", fontSize=LETTERS, fontWeight="normal", anchor="start", frame="group", offset=4
    )
    lower = alt.layer(
        rule.encode(x=x(foot)),
        curves.mark_line(strokeWidth=2, color=INK).encode(x=x(foot), y=factor, detail="asked:N"),
        points.mark_point(filled=True, size=90, opacity=1, color=INK).encode(x=x(foot), y=factor, tooltip=tooltip),
    ).properties(width=_SMALL, height=70, title=heading)
    return alt.vconcat(upper, lower, spacing=6)


def attenuation_chart(design: Design) -> Any:
    """Return the map of λᵢ λⱼ, the share of each covariance that the reports keep."""
    alt = altair()
    names = short_names(design.names[:MOST_MAPPED], 16)
    factors = design.attenuation()
    rows = [
        {"first": one, "second": other, "kept": float(factors[i, j]), "label": f"{factors[i, j]:.2f}"}
        for i, one in enumerate(names)
        for j, other in enumerate(names)
        if i != j
    ]
    labelled = len(names) <= _NUMBERED
    step = 40 if labelled else max(11, 420 // len(names))
    axis = {"title": None, "grid": False, "domain": False, "ticks": False, "labelOverlap": False}
    place = {"sort": None, "scale": alt.Scale(domain=names)}
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("second:N", axis=alt.Axis(**axis, orient="top", labelAngle=-45), **place),
        y=alt.Y("first:N", axis=alt.Axis(**axis), **place),
    )
    legend = alt.Legend(title="share kept", orient="bottom", format=".0%", gradientLength=180, values=[0, 0.5, 1])
    cells = base.mark_rect().encode(
        color=alt.Color("kept:Q", scale=alt.Scale(domain=[0, 1], scheme="blues"), legend=legend),
        tooltip=["first:N", "second:N", alt.Tooltip("kept:Q", format=".3f")],
    )
    layers = [cells]
    if labelled:
        tone = alt.condition("datum.kept > 0.55", alt.value(ON_DARK), alt.value(ON_PALE))
        layers.append(base.mark_text(fontSize=12).encode(text="label:N", color=tone))
    return alt.layer(*layers).properties(width={"step": step}, height={"step": min(step, 28)})


def design_chart(design: Design, what: str = "curves") -> Any:
    """Return one of the charts of a design."""
    if what == "answers":
        return answers_chart(design)
    if what == "map":
        if len(design.names) < 2:
            msg = "the map is of pairs of attributes, and the design has one; ask for 'answers' or 'curves'"
            raise DataError(msg)
        return attenuation_chart(design)
    if what == "curves":
        panels = [
            tradeoff_chart(name, [Chosen(channel, design.share_asked)]).properties(title=shortened(name))
            for name, channel in list(zip(design.names, design.channels, strict=True))[:MOST_CURVES]
        ]
        return altair().concat(*panels, columns=3)
    msg = f"what must be 'curves', 'map' or 'answers', got {what!r}"
    raise DataError(msg)


def audit_chart(audit: Audit) -> Any:
    """Return how sure the best guess at a truth may become by one report, beside what it was before."""
    alt = altair()
    leaks = audit.attributes[:MOST_ROWS]
    names = short_names([leak.name for leak in leaks])
    after, before = "after seeing one answer", "before, among equally likely"
    rows = [
        {"attribute": name, "guess": kind, "chance": chance, "before": 1 / leak.size, "after": leak.worst_posterior}
        for name, leak in zip(names, leaks, strict=True)
        for kind, chance in ((before, 1 / leak.size), (after, leak.worst_posterior))
        if kind == after or not audit.prior_given  # of a prior that was given, only what follows is known
    ]
    scale = {"domain": [before, after]}
    base = alt.Chart(alt.Data(values=rows)).encode(y=names_axis(alt, names))
    x = alt.X(
        "chance:Q",
        axis=percent_axis(alt, "chance that a guess is right"),
        scale=alt.Scale(domain=[0, 1]),
    )
    lines = base.mark_rule(color=MUTED, strokeWidth=2).encode(x=x.copy(), x2="before:Q")
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=x,
        color=alt.Color(
            "guess:N", scale=alt.Scale(**scale, range=[MUTED, ORANGE]), legend=legend_below(alt, columns=1)
        ),
        shape=alt.Shape(
            "guess:N", scale=alt.Scale(**scale, range=["circle", "diamond"]), legend=legend_below(alt, columns=1)
        ),
        tooltip=["attribute:N", "guess:N", alt.Tooltip("chance:Q", format=".1%")],
    )
    return (points if audit.prior_given else lines + points).properties(width=WIDTH, height={"step": 26})


# Estimates.


def shown_cells(estimate: Estimate, most: int = MOST_ROWS) -> list[tuple[int, ...]]:
    """Return the cells of a table that a chart shows, in the table's order: all, or those with the most people."""
    cells = list(np.ndindex(estimate.values.shape))
    if len(cells) <= most:
        return cells
    largest = sorted(range(len(cells)), key=lambda place: -float(estimate.values[cells[place]]))[:most]
    return [cells[place] for place in sorted(largest)]


def estimate_chart(estimate: Estimate, level: float = 0.95) -> Any:
    """Return the shares of a table, estimated and unbiased, with the intervals of the unbiased ones."""
    alt = altair()
    lower, upper = estimate.interval(level)
    cells = shown_cells(estimate)
    axes = estimate.design.attributes
    # a row names a category of every attribute: with more of them the chart gets wider, up to what a page can hold
    most = min(WIDEST + 8 * (len(axes) - 1), WIDEST_ROW)
    room = letters_for([attribute.labels for attribute in axes], most - 3 * (len(axes) - 1))
    short = [short_names(attribute.labels, most) for attribute, most in zip(axes, room, strict=True)]
    labels = apart(" · ".join(of[code] for of, code in zip(short, codes, strict=True)) for codes in cells)
    kinds = ["estimate", "unbiased"]
    both = estimate.method != "inverse"
    rows = [
        {
            "cell": label,
            "value": kind,
            "share": float(share[codes]),
            "lower": float(lower[codes]),
            "upper": float(upper[codes]),
        }
        for codes, label in zip(cells, labels, strict=True)
        for kind, share in zip(kinds, (estimate.values, estimate.unbiased), strict=True)
        if both or kind == "estimate"
    ]
    return _dots_and_whiskers(alt, rows, labels, kinds if both else kinds[:1], "share of people", percent=True)


def relations_chart(found: Correlation, level: float = 0.95) -> Any:
    """Return Cramér's V of the strongest pairs, with intervals."""
    alt = altair()
    pairs = strongest(found, MOST_PAIRS)
    labels = apart(
        " × ".join(short_names(pair.attributes, most))
        for pair in pairs
        for most in [max(letters_for([[name] for name in pair.attributes], WIDEST + 3))]
    )
    rows = []
    for pair, label in zip(pairs, labels, strict=True):
        lower, upper = pair.interval("cramers_v", level)
        rows.append({"cell": label, "value": "estimate", "share": pair.cramers_v, "lower": lower, "upper": upper})
    return _dots_and_whiskers(alt, rows, labels, ["estimate"], "Cramér's V: 0 unrelated, 1 one tells the other")


def standing_out(found: Correlation, chance: float = 0.05) -> list[Pair]:
    """Return the pairs whose dependence stands out from chance, all pairs that were looked at taken into account."""
    return [pair for pair in strongest(found, len(found.pairs)) if pair.p_value < chance / len(found.pairs)]


def strongest(found: Correlation, most: int) -> list[Pair]:
    """Return the pairs whose dependence is surest: by the lower end of Cramér's V, then by its value."""
    known = [pair for pair in found.pairs if not math.isnan(pair.cramers_v)]
    return sorted(known, key=lambda pair: (-pair.interval("cramers_v")[0], -pair.cramers_v))[:most]


def _dots_and_whiskers(
    alt: Any, rows: list[dict[str, Any]], labels: list[str], kinds: list[str], title: str, *, percent: bool = False
) -> Any:
    base = alt.Chart(alt.Data(values=rows)).encode(y=names_axis(alt, labels, field="cell"))
    axis = percent_axis(alt, title) if percent else alt.Axis(title=title, tickCount=5)
    x = {"axis": axis, "scale": alt.Scale(zero=True, nice=True)}
    whiskers = base.mark_rule(color=MUTED, strokeWidth=2).encode(x=alt.X("lower:Q", **x), x2="upper:Q")
    scale = {"domain": kinds}
    legend = legend_below(alt) if len(kinds) > 1 else None
    points = base.mark_point(filled=True, opacity=1).encode(
        x=alt.X("share:Q", **x),
        size=alt.condition("datum.value == 'unbiased'", alt.value(44), alt.value(100)),
        color=alt.Color("value:N", scale=alt.Scale(**scale, range=[BLUE, ORANGE][: len(kinds)]), legend=legend),
        shape=alt.Shape("value:N", scale=alt.Scale(**scale, range=["circle", "diamond"][: len(kinds)]), legend=legend),
        tooltip=["cell:N", "value:N", *(alt.Tooltip(f"{end}:Q", format=".4f") for end in ("share", "lower", "upper"))],
    )
    return (whiskers + points).properties(width=WIDTH, height={"step": 22})


# What to expect.


def noise_chart(orders: Sequence[Order], limit: float) -> Any:
    """Return the error to expect of tables of 1, 2, … attributes, beside the limit from which they are mostly noise."""
    alt = altair()
    smallest = 10.0 ** math.floor(math.log10(max(min(order.best for order in orders), 1e-4)))
    rows = [
        {"attributes": order.attributes, **{kind: min(max(value, smallest), 1.0) for kind, value in _ends(order)}}
        for order in orders
    ]
    axis = alt.Axis(title="expected error of a table", values=_decades(smallest, 1), format="~g")
    return _by_order(alt, rows, axis, alt.Scale(type="log", domain=[smallest, 1], nice=False), limit, "mostly\nnoise")


def needed_chart(orders: Sequence[Order]) -> Any:
    """Return how many reports tables of 1, 2, … attributes need so as not to be mostly noise."""
    alt = altair()
    rows = [
        {"attributes": order.attributes, **{kind: max(value, 1.0) for kind, value in _ends(order)}} for order in orders
    ]
    largest = max(10.0 ** math.ceil(math.log10(max(row["worst"] for row in rows))), 100.0)
    axis = alt.Axis(title="reports needed", values=_decades(1, largest), format="~s")
    return _by_order(alt, rows, axis, alt.Scale(type="log", domain=[1, largest], nice=False))


def _by_order(
    alt: Any, rows: list[dict[str, Any]], axis: Any, scale: Any, limit: float | None = None, label: str = ""
) -> Any:
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("attributes:O", axis=alt.Axis(title="attributes in the table", labelAngle=0))
    )
    y, width = {"axis": axis, "scale": scale}, max(50 * len(rows), 160)
    layers = [
        base.mark_rule(color=BLUE, strokeWidth=5, opacity=0.35).encode(y=alt.Y("best:Q", **y), y2="worst:Q"),
        base.mark_point(filled=True, size=90, color=BLUE, opacity=1).encode(
            y=alt.Y("typical:Q", **y), tooltip=["attributes:O", "best:Q", "typical:Q", "worst:Q"]
        ),
    ]
    if limit is not None:
        line = alt.Chart(alt.Data(values=[{"limit": limit, "label": label}])).encode(y=alt.Y("limit:Q", **y))
        layers.append(line.mark_rule(color=ORANGE, strokeDash=[5, 3], strokeWidth=2))
        layers.append(
            line.mark_text(
                color=ORANGE, align="left", baseline="middle", dx=6, fontSize=LETTERS, lineBreak="\n"
            ).encode(x=alt.value(width), text="label:N")
        )
    return alt.layer(*layers).properties(width=width, height=200)


def _ends(order: Order) -> Iterable[tuple[str, float]]:
    return (("best", order.best), ("typical", order.typical), ("worst", order.worst))


def _decades(low: float, high: float) -> list[float]:
    decades = list(range(round(math.log10(low)), round(math.log10(high)) + 1))
    return [10.0**power for power in decades[:: max(1, len(decades) // 6)]]
