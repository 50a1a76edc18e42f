"""The report: one HTML file that opens offline and prints, in words that need no statistics.

Charts are static SVG, so that the page needs no script; it forbids itself any, and any network, by its own content
policy. What a chart shows is also a table. Reports go in as counts: the page holds no record.
"""

from __future__ import annotations

import datetime
import os
import shlex
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import lambdarr
from lambdarr.reporting import design_sections as of_design
from lambdarr.reporting import drawing, findings
from lambdarr.reporting import result_sections as of_results
from lambdarr.reporting.markup import text
from lambdarr.reporting.words import size_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from lambdarr.designs import Design
    from lambdarr.estimation import Inference
    from lambdarr.reporting.findings import Found
    from lambdarr.waves import Wave


def report(
    design: Design | None = None,
    output: str | os.PathLike[str] | None = None,
    *,
    reports: Any = None,
    tables: Iterable[Iterable[str]] | None = None,
    inference: Inference = "population",
    weights: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    clusters: str | ArrayLike | None = None,
    level: float = 0.95,
    title: str | None = None,
    force: bool = False,
) -> str:
    """Return a report as one HTML page: the design in words, what it costs and keeps, estimates, and the audit.

    Parameters
    ----------
    design : Design, optional
        The design, unless it is beside the reports.
    output : path, optional
        Where to write the page as well; it appears when it is complete, or not at all.
    reports : table, path or list of (reports, Design), optional
        Randomized records; or several tables of them, each with the design it was made with. With them the report has
        estimates, relations, and where the noise wins.
    tables : iterable of iterables of str, optional
        The tables to estimate; by default that of every attribute, and of the pairs whose dependence is surest.
    inference : {"population", "finite"}
        As for ``estimate``.
    weights, strata, clusters : str or array, optional
        As for ``estimate``.
    level : float
        Level of the intervals.
    title : str, optional
        The page's heading; by default what it is about.
    force : bool
        Replace the output if it exists.

    Notes
    -----
    Needs the extra ``report``. Reports are read once.

    Examples
    --------
    >>> import lambdarr as lr
    >>> page = lr.report(lr.design({"sex": ["F", "M"], "smokes": ["no", "yes"]}, lam=0.6))
    >>> "8 in 10 answers are true" in page, "://" in page.replace("http://www.w3.org/2000/svg", "")
    (True, False)
    """
    from lambdarr.designs import check_design, listed
    from lambdarr.intervals import deviations
    from lambdarr.sinks import check_target, replacing
    from lambdarr.surveys import Survey
    from lambdarr.waves import waves_of

    survey = Survey(weights, strata, clusters)
    waves: list[Wave] = [] if reports is None else waves_of(reports, design, survey)
    if not waves:
        check_design(design)
    designs: list[Any] = [wave.design for wave in waves] or [design]
    if drawn := [name for each in designs for name in each.drawn_names]:
        msg = f"the report does not speak of drawn columns yet ({', '.join(drawn)}); show and audit do"
        raise lambdarr.DesignError(msg)
    if output is not None and Path(output).suffix.lower() not in (".html", ".htm"):
        msg = f"the report is an HTML page; the ending of {output} must be .html"
        raise lambdarr.DesignError(msg)
    _check_categories(designs)
    drawing.altair()  # what is missing is told before the work
    deviations(level)
    asked = None if tables is None else [listed(names) for names in ([tables] if isinstance(tables, str) else tables)]
    path = None if output is None else Path(output)
    if path is not None:
        read = [Path(wave.reports) for wave in waves if isinstance(wave.reports, str | os.PathLike)]
        check_target(path, force=force, sources=read)
    if not waves and any(given is not None for given in (tables, weights, strata, clusters)):
        msg = "tables, weights, strata and clusters are about reports; give reports as well"
        raise lambdarr.DataError(msg)
    found = findings.find(waves, asked, inference) if waves else None
    again = _Again.of(waves, asked, inference, survey, level)
    about = "What the answers will tell" if found is None else "What the answers say"
    page = _page(designs, found, again, level, title or f"{about}, and what they keep to themselves")
    if path is not None:
        with replacing(path, force=force) as file:
            file.write(page.encode())
    return page


def _check_categories(designs: Sequence[Design]) -> None:
    """Refuse waves that share the name of an attribute and not its categories: it could only be left out."""
    seen: dict[str, Any] = {}
    for number, design in enumerate(designs, start=1):
        for attribute in design.attributes:
            if seen.setdefault(attribute.name, attribute) != attribute:
                msg = (
                    f"attribute {attribute.name!r} has other categories in design {number} than in an earlier one; "
                    "waves can be reported together if they agree on what they share"
                )
                raise lambdarr.DesignError(msg)


class _Again(NamedTuple):
    """How to have the same numbers again."""

    reports: list[str]
    options: list[str]
    tables: list[str]

    @classmethod
    def of(cls, waves: Sequence[Wave], asked: Any, inference: str, survey: Any, level: float) -> _Again:
        """Return what can be said on the command line; of a path only the name, which betrays nobody's folders."""
        names = [
            Path(wave.reports).name if isinstance(wave.reports, str | os.PathLike) else _numbered("reports.csv", number)
            for number, wave in enumerate(waves, start=1)
        ]
        options = ["--inference", inference] if inference != "population" else []
        for option, given in zip(("--weights", "--strata", "--clusters"), survey[:3], strict=True):
            options += [option, given] if isinstance(given, str) else []
        options += ["--level", f"{level:g}"] if level != 0.95 else []
        for number, name in enumerate(names[1:], start=2):
            options += ["--wave", f"{name}={_numbered('design.json', number)}"]
        return cls(names, options, [",".join(names) for names in asked or []])

    def commands(self, designs: list[str], found: Found | None) -> list[str]:
        """Return the commands that give the numbers of the page, and the page."""
        lines = [[verb, name] for name in designs for verb in ("show", "audit")]
        if found is not None:
            tables = [part for estimate in found.estimates for part in ("-t", ",".join(estimate.attributes))]
            if tables:
                lines.append(["estimate", self.reports[0], "-d", designs[0], *tables, *self.options])
            # correlate refuses a pair that nobody answered
            if found.relations is not None and not any(len(names) == 2 for names in found.unanswered):
                columns = ["--columns", ",".join(found.relations.attributes)]
                lines.append(["correlate", self.reports[0], "-d", designs[0], *columns, *self.options])
        asked = [part for names in self.tables for part in ("-t", names)]
        lines.append(["report", designs[0], *self.reports[:1], "-o", "report.html", *asked, *self.options])
        return [_in_lines(["lambdarr", *line]) for line in lines]


def _in_lines(words: Sequence[str], most: int = 90) -> str:
    r"""Return a command in lines that fit a page, each but the last with a backslash at its end.

    Examples
    --------
    >>> print(_in_lines(["show", "design.json", "-t", "a,b", "-t", "c"], 22))
    show design.json \
        -t a,b -t c
    """
    parts: list[list[str]] = [[]]
    for word in words:
        if word.startswith("-") and word != "-":
            parts.append([])
        parts[-1].append(word)
    lines: list[str] = []
    for part in map(shlex.join, parts):
        if lines and len(f"{lines[-1]} {part}") <= most:
            lines[-1] += f" {part}"
        else:
            lines.append(f"    {part}" if lines else part)
    return " \\\n".join(lines)


def _numbered(name: str, number: int) -> str:
    """Return the name of a file of the first wave, or of a later one."""
    return name if number == 1 else name.replace(".", f"-{number}.")


# The page.


def _page(designs: Sequence[Design], found: Found | None, again: _Again, level: float, title: str) -> str:
    """Return the whole page."""
    today = datetime.datetime.now(datetime.UTC).date()
    names = [_numbered("design.json", number) for number in range(1, len(designs) + 1)]
    commands = again.commands(names, found)
    parts = [
        ("design", "The design in words", of_design.words_section(designs, () if found is None else found.reports)),
        ("curves", "What another λ would do", of_design.curves_section(designs)),
        ("map", "What is left of relations", of_design.map_section(designs)),
    ]
    if found is not None and (found.estimates or found.unanswered):
        parts.append(("estimates", "What the answers say", of_results.estimates_section(found, level)))
    if found is not None and found.relations is not None:
        parts.append(("relations", "What goes together", of_results.relations_section(found, level)))
    parts += [
        ("noise", "Where the noise wins", of_results.noise_section(designs, found)),
        ("audit", "What one answer gives away", of_design.audit_section(designs)),
        (
            "again",
            "How to get the same numbers",
            of_design.reproduce_section(designs, commands, names, data=found is not None),
        ),
    ]
    made = f"{today.day} {today:%B %Y}"
    about = size_in_words(designs) + ("" if found is None else f" · {of_results.reports_in_words(found)}")
    doubts = "" if found is None else of_results.doubts(found)
    links = "".join(f'<li><a href="#{key}">{text(heading)}</a></li>' for key, heading, _ in parts)
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-heading"><h2 id="{key}-heading">{number}. {text(heading)}</h2>'
        f"{content}</section>"
        for number, (key, heading, content) in enumerate(parts, start=1)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        'img-src data:">'
        f'<meta name="generator" content="lambdarr {lambdarr.__version__}">'
        '<meta name="color-scheme" content="light dark">'
        f'<title>{text(title)}</title><link rel="icon" href="data:,">'
        f"<style>{_style()}</style></head>\n<body>"
        f'<header><h1>{text(title)}</h1><p class="made">{text(about)} · <time datetime="{today}">{made}</time></p>'
        f'<nav aria-label="Contents"><ol>{links}</ol></nav>{doubts}</header>\n<main>{body}</main>\n'
        f"<footer><p>Made with lambdarr {lambdarr.__version__} on {made}. This page holds no one's answers, and loads "
        "nothing from anywhere.</p></footer></body></html>\n"
    )


def _style() -> str:
    return files("lambdarr.reporting").joinpath("page.css").read_text(encoding="utf-8")
