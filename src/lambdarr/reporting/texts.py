"""Tables as the text of files, CSV and LaTeX, and wording that several of them share."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, Any

from lambdarr.auditing import upwards

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from lambdarr.designs import Design

INFERENCES = {"population": "the population behind the respondents", "finite": "this very file"}
"""What standard errors and intervals speak of."""

_LATEX = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "–": "--",
}


def finite(value: float) -> float | None:
    """Return a number as JSON holds it: what is infinite or unknown becomes null."""
    return value if math.isfinite(value) else None


def percent(share: float, *, up: bool = False) -> str:
    """Return a share in percent; what is nearly none or nearly all is not rounded to either, and a limit rounded up.

    Examples
    --------
    >>> percent(0.5), percent(0.99996), percent(1), percent(1e-9), percent(0)
    ('50.0%', '> 99.9%', '100.0%', '< 0.1%', '0.0%')
    >>> percent(0.8181), percent(0.8181, up=True), percent(0.9992, up=True)
    ('81.8%', '81.9%', '> 99.9%')
    """
    if 0 < share < 0.0005:
        return "< 0.1%"
    shown = upwards(share, 3) if up else share
    return "> 99.9%" if shown >= 0.9995 and share < 1 else f"{shown:.1%}"


def epsilon_text(epsilon: float, infinite: str = "∞") -> str:
    """Return ε, rounded up.

    Examples
    --------
    >>> epsilon_text(1.09861), epsilon_text(1386294.3611), epsilon_text(math.inf)
    ('1.099', '1,386,294.362', '∞')
    """
    return infinite if math.isinf(epsilon) else f"{upwards(epsilon, 3):,.3f}"


def three_digits(number: float) -> str:
    """Return a number with three digits that count, without a power of ten where it can be read.

    Examples
    --------
    >>> three_digits(2.043), three_digits(2213.4), three_digits(3.2e14)
    ('2.04', '2,210', '3.2e+14')
    """
    return f"{number:.3g}" if number < 100 or number >= 1e9 else f"{float(f'{number:.3g}'):,.0f}"


def terminal_table(title: str, headings: Sequence[str]) -> Table:
    """Return an empty table that fits 80 columns: names are folded where they must be, numbers never cut.

    Parameters
    ----------
    title : str
        What the table is about, as plain text.
    headings : sequence of str
        The headings of its columns; the first one holds names, all others numbers.
    """
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column(headings[0], overflow="fold")
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def csv_table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    r"""Return a table as CSV text; None is an empty field.

    Examples
    --------
    >>> csv_table(["name", "value"], [["a, b", 0.5], ["c", None]])
    'name,value\n"a, b",0.5\nc,\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return text.getvalue()


def _minus(cell: str) -> str:
    """Return a cell with its hyphens before digits as minus signs."""
    return re.sub(r"-(?=\d)", "$-$", cell) if re.fullmatch(r"[-\d.,\[\] ]*", cell) else cell


def latex_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, columns: str) -> str:
    r"""Return a table as LaTeX text for the package booktabs.

    Parameters
    ----------
    headings : sequence of str
        Headings of the columns, in LaTeX.
    rows : iterable of sequences of str
        Cells as plain text: what means something to LaTeX is escaped.
    columns : str
        Alignment of the columns, such as "llr".

    Examples
    --------
    >>> print(latex_table(["", "$p$"], [["R&D", "< 0.001"]], columns="lr"), end="")
    \begin{tabular}{lr}
    \toprule
     & $p$ \\
    \midrule
    R\&D & $<$ 0.001 \\
    \bottomrule
    \end{tabular}
    """
    escaped = str.maketrans(_LATEX)
    return "".join(
        (
            f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n",
            f"{' & '.join(headings)} \\\\\n\\midrule\n",
            *(f"{' & '.join(_minus(cell.translate(escaped)) for cell in row)} \\\\\n" for row in rows),
            "\\bottomrule\n\\end{tabular}\n",
        )
    )


def rounded_sentence(design: Design) -> str:
    """Return what the shares of numbers mean that were rounded at random; nothing if there are none."""
    if not design.rounded:
        return ""
    return (
        f"{', '.join(design.rounded)}: shares of the edges that numbers were rounded to at random, not of people in a "
        "range; means and quantiles come from `estimate --mean` and `--quantile`."
    )
