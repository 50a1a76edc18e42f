"""Tables as the text of files, CSV and LaTeX, and wording that several of them share."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
