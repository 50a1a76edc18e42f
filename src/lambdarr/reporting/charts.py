"""Altair charts of a design, an audit, an estimate and of relations, in colours that colour-blind people tell apart.

Each function returns an Altair chart: interactive in a notebook, ``.save("chart.svg")`` or ``.save("chart.png")`` for a
file, and ``svg`` for a page that has to open offline. Names and categories are only ever data, never fields or
expressions, so they can hold any sign.
"""

from __future__ import annotations

import html
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from lambdarr.channel import Channel
from lambdarr.errors import DataError, MissingExtraError
from lambdarr.expecting import error_factor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lambdarr.association import Correlation, Pair
    from lambdarr.auditing import Audit
    from lambdarr.designs import Design
    from lambdarr.estimation import Estimate
    from lambdarr.expecting import Order

MOST_ROWS = 30
"""Rows of one chart: beyond that, those that matter most are shown."""

MOST_MAPPED = 30
"""Attributes on the map of λᵢ λⱼ."""

MOST_CURVES = 24
"""Attributes with trade-off curves."""

_NUMBERED = 10  # attributes up to which the map has numbers in its cells
_WIDEST = 26  # letters of the names beside a chart
_SMALLEST = 0.05  # λ at which the curves start

# Okabe and Ito's palette, and neutral tones; page.css gives each its counterpart for a dark screen
INK, MUTED, LINE = "#24292f", "#57606a", "#d0d7de"
BLUE, ORANGE, PALE = "#0072b2", "#d55e00", "#c9d1d9"
ON_BLUE = "#fffffd"
_ON_PALE, _ON_DARK = "#111111", "#fefefe"  # on the map's own colours, which stay as they are


def altair() -> Any:
    """Return the package altair, once it is sure that charts can also be written to files."""
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError:
        msg = "charts need the packages altair and vl-convert-python: pip install 'lambdarr[report]'"
        raise MissingExtraError(msg) from None
    return altair


def svg(chart: Any, *, key: str, title: str, description: str) -> str:
    """Return a chart as an ``svg`` element for an HTML page: static, named for screen readers, without a background.

    Parameters
    ----------
    chart : altair chart
        The chart.
    key : str
        Tells its ids from those of other charts on the page.
    title, description : str
        What a screen reader says.
    """
    import vl_convert

    # the chart is ours: checking it against Vega-Lite's schema, as saving does, takes longer than drawing it
    spec = chart.to_dict(validate=False) | {"background": "transparent", "config": _config()}
    drawn = vl_convert.vegalite_to_svg(spec, vl_version=".".join(altair().SCHEMA_VERSION.split(".")[:2]))
    drawn = re.sub(r"<[^>]*>", lambda tag: _own(tag[0], key), drawn)  # tags alone: text may look like an attribute
    named = (
        f'<svg role="img" aria-labelledby="{key}-title {key}-desc"',
        f'<title id="{key}-title">{html.escape(title)}</title><desc id="{key}-desc">{html.escape(description)}</desc>',
    )
    opening, _, rest = drawn.partition(">")
    return f"{opening.replace('<svg', named[0], 1)}>{named[1]}{rest}"


def _own(tag: str, key: str) -> str:
    """Return an SVG tag with ids of its own, and without what only Vega's own page needs."""
    tag = re.sub(r'\bid="([^"]+)"', rf'id="{key}-\1"', tag)
    tag = re.sub(r"url\(#([^)]+)\)", rf"url(#{key}-\1)", tag)
    return re.sub(r' (aria-[a-z]+|role|class|pointer-events|xmlns:xlink)="[^"]*"', "", tag)


def _config() -> dict[str, Any]:
    words = {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    axis = {
        **words,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "gridColor": LINE,
        "labelLimit": 220,
        "labelFlush": False,
    }
    return {
        "axis": axis,
        "legend": {
            **words,
            "symbolSize": 80,
            "symbolStrokeWidth": 0,
            "labelLimit": 220,
            "columnPadding": 28,
            "gradientStrokeColor": LINE,
        },
        "title": {"color": INK, "fontSize": 13, "anchor": "start"},
        "header": words,
        "view": {"stroke": None},
        "font": "sans-serif",
        "padding": {"left": 16, "right": 16, "top": 4, "bottom": 4},  # the reader's letters may be wider than ours
    }


def finished(chart: Any) -> Any:
    """Return a chart with its looks, ready for a notebook or a file."""
    return chart.configure(**_config(), background="white")


# Designs.


def answers_chart(design: Design) -> Any:
    """Return how many of each attribute's answers are true, as bars."""
    alt = altair()
    shown = list(zip(_short_names(design.names[:MOST_ROWS]), design.channels, strict=False))
    kinds = ["true", "changed"]
    rows = [
        {"attribute": name, "answers": kind, "share": share, "start": start, "label": _percent(channel.truthfulness)}
        for name, channel in shown
        for kind, start, share in (
            ("true", 0.0, channel.truthfulness),
            ("changed", channel.truthfulness, 1.0),
        )
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(y=_names(alt, [name for name, _ in shown]))
    bars = base.mark_bar(height={"band": 0.7}).encode(
        x=alt.X("start:Q", axis=_percent_axis(alt, "share of answers"), scale=alt.Scale(domain=[0, 1])),
        x2="share:Q",
        color=alt.Color("answers:N", scale=alt.Scale(domain=kinds, range=[BLUE, PALE]), legend=_legend(alt)),
        tooltip=["attribute:N", "answers:N"],
    )
    numbers = base.mark_text(align="left", dx=6, color=ON_BLUE, fontSize=12).encode(x=alt.datum(0), text="label:N")
    return (bars + numbers.transform_filter("datum.answers == 'true'")).properties(width=270, height={"step": 26})


def tradeoff_chart(name: str, channel: Channel) -> Any:
    """Return what every λ would give an attribute: true answers, strength and the error factor, with the chosen λ."""
    alt = altair()
    grid = np.linspace(_SMALLEST, 1, 39)
    kinds = ["true answers", "strength β"]
    rows = [
        {"lam": at.lam, "measure": kind, "share": share, "factor": error_factor(at)}
        for at in (Channel(channel.size, float(lam)) for lam in grid)
        for kind, share in zip(kinds, (at.truthfulness, at.strength), strict=True)
    ]
    chosen = [
        {"attribute": name, "lam": channel.lam, "measure": kind, "share": share, "factor": error_factor(channel)}
        for kind, share in zip(kinds, (channel.truthfulness, channel.strength), strict=True)
    ]
    curves, points = alt.Chart(alt.Data(values=rows)), alt.Chart(alt.Data(values=chosen))

    def x(title: str | None) -> Any:
        axis = alt.Axis(title=title, labels=title is not None, values=[0, 0.2, 0.4, 0.6, 0.8, 1], format=".1f")
        return alt.X("lam:Q", axis=axis, scale=alt.Scale(domain=[0, 1], nice=False))

    share = alt.Y("share:Q", axis=_percent_axis(alt, None), scale=alt.Scale(domain=[0, 1]))
    color = alt.Color("measure:N", scale=alt.Scale(domain=kinds, range=[BLUE, ORANGE]), legend=_legend(alt))
    dash = alt.StrokeDash("measure:N", scale=alt.Scale(domain=kinds, range=[[1, 0], [5, 3]]), legend=None)
    shape = alt.Shape("measure:N", scale=alt.Scale(domain=kinds, range=["circle", "square"]), legend=_legend(alt))
    rule = points.mark_rule(color=MUTED, strokeDash=[2, 2])
    tooltip = [
        "attribute:N",
        alt.Tooltip("lam:Q", title="λ", format=".4f"),
        "measure:N",
        alt.Tooltip("share:Q", format=".1%"),
        alt.Tooltip("factor:Q", title="errors grow", format=".2f"),
    ]
    upper = alt.layer(
        rule.encode(x=x(None)),
        curves.mark_line(strokeWidth=2).encode(x=x(None), y=share, color=color, strokeDash=dash),
        points.mark_point(filled=True, size=90, opacity=1).encode(
            x=x(None), y=share, color=color, shape=shape, tooltip=tooltip
        ),
    ).properties(width=230, height=120)
    factor = alt.Y(
        "factor:Q",
        axis=alt.Axis(title=None, values=[1, 2, 5, 10, 20], labelExpr="'× ' + datum.label", format="d"),
        scale=alt.Scale(type="log", domain=[1, 20], clamp=True),
    )
    foot = "keep rate λ"
    heading = alt.TitleParams("errors grow", fontSize=12, fontWeight="normal", anchor="start", frame="group", offset=4)
    lower = alt.layer(
        rule.encode(x=x(foot)),
        curves.mark_line(strokeWidth=2, color=INK).encode(x=x(foot), y=factor),
        points.mark_point(filled=True, size=90, opacity=1, color=INK).encode(x=x(foot), y=factor, tooltip=tooltip),
    ).properties(width=230, height=70, title=heading)
    return alt.vconcat(upper, lower, spacing=6)


def attenuation_chart(design: Design) -> Any:
    """Return the map of λᵢ λⱼ, the share of each covariance that the reports keep."""
    alt = altair()
    names = _short_names(design.names[:MOST_MAPPED], 16)
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
        tone = alt.condition("datum.kept > 0.55", alt.value(_ON_DARK), alt.value(_ON_PALE))
        layers.append(base.mark_text(fontSize=11).encode(text="label:N", color=tone))
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
            tradeoff_chart(name, channel).properties(title=_short(name))
            for name, channel in list(zip(design.names, design.channels, strict=True))[:MOST_CURVES]
        ]
        return altair().concat(*panels, columns=3)
    msg = f"what must be 'curves', 'map' or 'answers', got {what!r}"
    raise DataError(msg)


def audit_chart(audit: Audit) -> Any:
    """Return how sure the best guess at a truth may become by one report, beside what it was before."""
    alt = altair()
    leaks = audit.attributes[:MOST_ROWS]
    names = _short_names([leak.name for leak in leaks])
    after, before = "after seeing one answer", "before, among equally likely"
    rows = [
        {"attribute": name, "guess": kind, "chance": chance, "before": 1 / leak.size, "after": leak.worst_posterior}
        for name, leak in zip(names, leaks, strict=True)
        for kind, chance in ((before, 1 / leak.size), (after, leak.worst_posterior))
        if kind == after or not audit.prior_given  # of a prior that was given, only what follows is known
    ]
    scale = {"domain": [before, after]}
    base = alt.Chart(alt.Data(values=rows)).encode(y=_names(alt, names))
    x = alt.X(
        "chance:Q",
        axis=_percent_axis(alt, "chance that a guess is right"),
        scale=alt.Scale(domain=[0, 1]),
    )
    lines = base.mark_rule(color=MUTED, strokeWidth=2).encode(x=x.copy(), x2="before:Q")
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=x,
        color=alt.Color("guess:N", scale=alt.Scale(**scale, range=[MUTED, ORANGE]), legend=_legend(alt, columns=1)),
        shape=alt.Shape(
            "guess:N", scale=alt.Scale(**scale, range=["circle", "diamond"]), legend=_legend(alt, columns=1)
        ),
        tooltip=["attribute:N", "guess:N", alt.Tooltip("chance:Q", format=".1%")],
    )
    return (points if audit.prior_given else lines + points).properties(width=270, height={"step": 26})


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
    short = [_short_names(attribute.labels, max(_WIDEST // len(axes) - 2, 4)) for attribute in axes]
    labels = _apart(" · ".join(of[code] for of, code in zip(short, codes, strict=True)) for codes in cells)
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
    pairs = strongest(found, MOST_ROWS // 2)
    short = dict(zip(found.attributes, _short_names(found.attributes, _WIDEST // 2 - 2), strict=True))
    labels = _apart(" × ".join(short[name] for name in pair.attributes) for pair in pairs)
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
    base = alt.Chart(alt.Data(values=rows)).encode(y=_names(alt, labels, field="cell"))
    axis = _percent_axis(alt, title) if percent else alt.Axis(title=title, tickCount=5)
    x = {"axis": axis, "scale": alt.Scale(zero=True, nice=True)}
    whiskers = base.mark_rule(color=MUTED, strokeWidth=2).encode(x=alt.X("lower:Q", **x), x2="upper:Q")
    scale = {"domain": kinds}
    legend = _legend(alt) if len(kinds) > 1 else None
    points = base.mark_point(filled=True, opacity=1).encode(
        x=alt.X("share:Q", **x),
        size=alt.condition("datum.value == 'unbiased'", alt.value(44), alt.value(100)),
        color=alt.Color("value:N", scale=alt.Scale(**scale, range=[BLUE, ORANGE][: len(kinds)]), legend=legend),
        shape=alt.Shape("value:N", scale=alt.Scale(**scale, range=["circle", "diamond"][: len(kinds)]), legend=legend),
        tooltip=["cell:N", "value:N", *(alt.Tooltip(f"{end}:Q", format=".4f") for end in ("share", "lower", "upper"))],
    )
    return (whiskers + points).properties(width=270, height={"step": 22})


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
            line.mark_text(color=ORANGE, align="left", baseline="middle", dx=6, fontSize=12, lineBreak="\n").encode(
                x=alt.value(width), text="label:N"
            )
        )
    return alt.layer(*layers).properties(width=width, height=200)


def _ends(order: Order) -> Iterable[tuple[str, float]]:
    return (("best", order.best), ("typical", order.typical), ("worst", order.worst))


def _decades(low: float, high: float) -> list[float]:
    decades = list(range(round(math.log10(low)), round(math.log10(high)) + 1))
    return [10.0**power for power in decades[:: max(1, len(decades) // 6)]]


# What charts share.


def _names(alt: Any, names: Sequence[str], field: str = "attribute") -> Any:
    """Return a vertical axis of names in their order, each with its label."""
    axis = alt.Axis(title=None, labelOverlap=False, ticks=False, domain=False, labelPadding=8)
    return alt.Y(f"{field}:N", sort=None, axis=axis, scale=alt.Scale(domain=list(names)))


def _percent_axis(alt: Any, title: str | None) -> Any:
    return alt.Axis(title=title, format="~%", tickCount=5)


def _legend(alt: Any, columns: int = 2) -> Any:
    return alt.Legend(title=None, orient="bottom", columns=columns)


def _percent(share: float) -> str:
    return f"{share:.0%}" if round(share, 2) < 1 or share == 1 else f"{share:.3%}"


def _short(text: str, most: int = 28) -> str:
    """Return a text without its middle where it is too long: names often differ at their ends.

    Examples
    --------
    >>> _short("How often do you smoke?", 15)
    'How ofte…smoke?'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) * 3 // 7
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def _short_names(names: Sequence[str], most: int = _WIDEST) -> list[str]:
    """Return names that fit beside a chart; numbered where they would look the same."""
    short = [_short(name, most) for name in names]
    if len(set(short)) == len(set(names)):
        return _apart(short)
    return [
        name if name == brief else f"{number}. {_short(name, max(most - len(f'{number}. '), 2))}"
        for number, (name, brief) in enumerate(zip(names, short, strict=True), start=1)
    ]


def _apart(labels: Iterable[str]) -> list[str]:
    """Return labels that all differ: those that look the same get a space that nobody sees."""
    seen: dict[str, int] = {}
    result = []
    for label in labels:
        again = seen.get(label, 0)
        seen[label] = again + 1
        result.append(label + "\u200b" * again)
    return result
