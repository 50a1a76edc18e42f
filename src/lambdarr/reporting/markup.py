"""HTML in small: text and tables in which every name and category is escaped."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def text(value: object) -> str:
    """Return a value as HTML text, also fit for an attribute between double quotes."""
    return html.escape(str(value))


def table(caption: str, headings: Sequence[object], rows: Iterable[Sequence[object]], *, names: int = 1) -> str:
    """Return an HTML table; its first columns name the row, all others are numbers.

    Parameters
    ----------
    caption : str
        What the table is about.
    headings : sequence
        The headings of its columns.
    rows : iterable of sequences
        The cells, as they are to be read.
    names : int
        How many columns name the row.

    Examples
    --------
    >>> table("Shares", ["answer", "share"], [["<no>", "40 %"]])
    '<table>...<tbody><tr><th scope="row">&lt;no&gt;</th><td>40 %</td></tr></tbody></table>'
    """
    kinds = [' class="name"'] * names + [""] * (len(headings) - names)
    pairs = zip(kinds, headings, strict=True)
    head = "".join(f'<th scope="col"{kind}>{text(heading)}</th>' for kind, heading in pairs)
    lines = []
    for row in rows:
        cells = [
            f'<th scope="row">{text(cell)}</th>' if place < names else f"<td>{text(cell)}</td>"
            for place, cell in enumerate(row)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f"<table><caption>{text(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
