"""Pieces of the report: charts with captions, tables that scroll, paragraphs, notes, and how they lie side by side."""

from __future__ import annotations

from typing import Any

from lambdarr.reporting import drawing
from lambdarr.reporting.markup import text


def figure(key: str, chart: Any, heading: str, said: str, inside: str = "") -> str:
    """Return a chart with its caption, and what else belongs to it."""
    drawn = drawing.svg(chart, key=key, title=heading, description=said)
    return (
        f'<figure id="{key}"><figcaption><strong>{text(heading)}</strong> {text(said)}</figcaption>'
        f'<div class="drawing">{drawn}</div>{inside}</figure>'
    )


def folded(heading: str, table: str, *, dense: bool = False) -> str:
    """Return the numbers of a chart as a table to be unfolded."""
    label = f"Numbers: {heading.rstrip('.')}"
    return f"<details><summary>{text(label)}</summary>{scroll(label, table, dense=dense)}</details>"


def scroll(label: str, content: str, *, dense: bool = False) -> str:
    """Return content that may be wider than the screen, within reach of the keyboard."""
    kind = "scroll dense" if dense else "scroll"
    return f'<div class="{kind}" role="group" aria-label="{text(label)}" tabindex="0">{content}</div>'


def beside(words: str, drawn: str, below: str = "") -> str:
    """Return words with a chart at their side where the screen is wide enough, and what lies below both."""
    return f'<div class="beside"><div>{words}</div>{drawn}</div>{below}'


def grid(figures: list[str], kind: str = "") -> str:
    """Return figures in as many columns as the screen has room for."""
    if not figures:
        return ""
    return f'<div class="grid{f" {kind}" if kind else ""}">{"".join(figures)}</div>'


def lead(sentence: str) -> str:
    """Return what a section has to say, in larger letters."""
    return f'<p class="lead">{text(sentence)}</p>'


def paragraphs(*sentences: str) -> str:
    """Return a paragraph for each text that says something."""
    return "".join(f"<p>{text(sentence)}</p>" for sentence in sentences if sentence)


def note(*sentences: str) -> str:
    """Return what must not be overlooked."""
    return f'<div class="note">{paragraphs(*sentences)}</div>' if any(sentences) else ""
