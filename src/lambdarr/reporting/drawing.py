"""What charts share: their colours and letters, how names become labels, and how a chart becomes part of a page.

Colours are those that colour-blind people tell apart. Names and categories are only ever data, never fields or
expressions, so they can hold any sign.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from lambdarr.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDEST = 24
"""Letters of the names beside a chart."""

WIDEST_ROW = 40
"""Letters of the names of several categories side by side."""

WIDTH = 240
"""Of a chart with names beside it: with them it fills a phone's screen at nearly its own size."""

LETTERS = 13
"""Size of all letters."""

# Okabe and Ito's palette, and neutral tones; page.css gives each its counterpart for a dark screen
INK, MUTED, LINE = "#24292f", "#57606a", "#d0d7de"
BLUE, ORANGE, PALE = "#0072b2", "#d55e00", "#c9d1d9"
ON_BLUE = "#fffffd"
ON_PALE, ON_DARK = "#111111", "#fefefe"  # on the map's own colours, which stay as they are


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
        "labelFontSize": LETTERS,
        "titleFontSize": LETTERS,
        "titleFontWeight": "normal",
    }
    axis = {
        **words,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "gridColor": LINE,
        "labelLimit": 340,
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
        "title": {"color": INK, "fontSize": 14, "anchor": "start", "subtitleColor": MUTED, "subtitleFontSize": 12},
        "header": words,
        "view": {"stroke": None},
        "font": "sans-serif",
        "padding": {"left": 28, "right": 16, "top": 4, "bottom": 4},  # the reader's letters may be wider than ours
    }


def finished(chart: Any) -> Any:
    """Return a chart with its looks, ready for a notebook or a file."""
    return chart.configure(**_config(), background="white")


def titled(chart: Any, title: str, *subtitle: str) -> Any:
    """Return a chart that says what it shows, where no page around it does."""
    lines = [line for line in subtitle if line]
    return chart.properties(title=altair().TitleParams(title, subtitle=lines, offset=12))


# Axes, legends and labels.


def names_axis(alt: Any, names: Sequence[str], field: str = "attribute") -> Any:
    """Return a vertical axis of names in their order, each with its label."""
    axis = alt.Axis(title=None, labelOverlap=False, ticks=False, domain=False, labelPadding=8)
    return alt.Y(f"{field}:N", sort=None, axis=axis, scale=alt.Scale(domain=list(names)))


def percent_axis(alt: Any, title: str | None) -> Any:
    """Return an axis of shares."""
    return alt.Axis(title=title, format="~%", tickCount=5)


def legend_below(alt: Any, columns: int = 2) -> Any:
    """Return a legend in the place where it takes no width."""
    return alt.Legend(title=None, orient="bottom", columns=columns)


def in_percent(share: float) -> str:
    """Return a share in whole percent, but never 100% of what is not all."""
    return f"{share:.0%}" if round(share, 2) < 1 or share == 1 else f"{share:.3%}"


def shortened(text: str, most: int = 28) -> str:
    """Return a text without its middle where it is too long: names often differ at their ends.

    Examples
    --------
    >>> shortened("How often do you smoke?", 15)
    'How ofte…smoke?'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) * 3 // 7
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def short_names(names: Sequence[str], most: int = WIDEST) -> list[str]:
    """Return names that fit beside a chart; numbered where they would look the same."""
    short = [shortened(name, most) for name in names]
    if len(set(short)) == len(set(names)):
        return apart(short)
    return [
        name if name == brief else f"{number}. {shortened(name, max(most - len(f'{number}. '), 2))}"
        for number, (name, brief) in enumerate(zip(names, short, strict=True), start=1)
    ]


def letters_for(columns: Sequence[Sequence[str]], most: int = WIDEST) -> list[int]:
    """Return how many letters each column of labels may have side by side: what short ones leave, long ones get.

    Examples
    --------
    >>> letters_for([["10", "11"], ["did not drive in the last month"]], 20)
    [2, 18]
    """
    wanted = [max(map(len, labels)) for labels in columns]
    given = [0] * len(columns)
    for number, place in enumerate(sorted(range(len(columns)), key=wanted.__getitem__)):
        given[place] = min(wanted[place], max((most - sum(given)) // (len(columns) - number), 4))
    return given


def apart(labels: Iterable[str]) -> list[str]:
    """Return labels that all differ: those that look the same get a space that nobody sees."""
    seen: dict[str, int] = {}
    result = []
    for label in labels:
        again = seen.get(label, 0)
        seen[label] = again + 1
        result.append(label + "\u200b" * again)
    return result
