"""Turn the formulas of a page into MathML when the site is built, so that pages need no script and no network."""

import html
import re

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_TAG = re.compile(r"\\tag\{(\d+)\}")


def on_page_content(page_html, **_):
    """Replace every formula that arithmatex marked."""
    return _FORMULA.sub(_mathml, page_html)


def _mathml(match):
    latex = html.unescape(match[2]).strip()
    number = _TAG.search(latex)
    latex = _TAG.sub("", latex)
    if match[1] == "span":
        return convert(latex)
    shown = f'<span style="float:right">({number[1]})</span>' if number else ""
    anchor = f' id="eq-{number[1]}"' if number else ""
    return f"<div{anchor}>{shown}{convert(latex, display='block')}</div>"
