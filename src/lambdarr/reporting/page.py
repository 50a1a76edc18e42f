"""The report: one HTML file that opens offline and prints, in words that need no statistics.

Charts are static SVG, so that the page needs no script; it forbids itself any, and any network, by its own content
policy. What a chart shows is also a table. Reports go in as counts: the page holds no record.
"""

from __future__ import annotations

import datetime
import itertools
import os
import shlex
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import lambdarr
from lambdarr.reporting import charts, sections
from lambdarr.reporting.markup import text
from lambdarr.reporting.sections import Found
from lambdarr.reporting.words import size_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from lambdarr.designs import Design
    from lambdarr.estimation import Inference

MOST_SINGLE = 24
"""One-way tables that are estimated where none are asked for."""

MOST_PAIRS = 4
"""Tables of pairs that are estimated where none are asked for: those whose dependence is surest."""

MOST_RELATED = 20
"""Attributes whose pairs are related: 190 pairs."""

LARGEST_RELATED = 50
"""Categories of the largest attribute that is related to others."""

LARGEST_SINGLE = 1_000
"""Categories of the largest attribute that is estimated without being asked for."""


def report(
    design: Design,
    output: str | os.PathLike[str] | None = None,
    *,
    reports: Any = None,
    tables: Iterable[Iterable[str]] | None = None,
    inference: Inference = "population",
    weights: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    clusters: str | ArrayLike | None = None,
    level: float = 0.95,
    title: str = "What the answers say, and what they keep to themselves",
    force: bool = False,
) -> str:
    """Return a report as one HTML page: the design in words, what it costs and keeps, estimates, and the audit.

    Parameters
    ----------
    design : Design
        The design.
    output : path, optional
        Where to write the page as well; it appears when it is complete, or not at all.
    reports : table or path, optional
        Randomized records. With them the report has estimates, relations, and where the noise wins.
    tables : iterable of iterables of str, optional
        The tables to estimate; by default that of every attribute, and of the pairs whose dependence is surest.
    inference : {"population", "finite"}
        As for ``estimate``.
    weights, strata, clusters : str or array, optional
        As for ``estimate``.
    level : float
        Level of the intervals.
    title : str
        The page's heading.
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

    check_design(design)
    if design.is_sampled:
        msg = "the report does not speak of designs that ask a part of the attributes yet; show and audit do"
        raise lambdarr.DesignError(msg)
    if design.drawn:
        msg = f"the report does not speak of drawn columns yet ({', '.join(design.drawn_names)}); show and audit do"
        raise lambdarr.DesignError(msg)
    if output is not None and Path(output).suffix.lower() not in (".html", ".htm"):
        msg = f"the report is an HTML page; the ending of {output} must be .html"
        raise lambdarr.DesignError(msg)
    charts.altair()  # what is missing is told before the work
    deviations(level)
    asked = None if tables is None else [listed(names) for names in ([tables] if isinstance(tables, str) else tables)]
    path = None if output is None else Path(output)
    if path is not None:
        check_target(path, force=force, sources=[Path(reports)] if isinstance(reports, str | os.PathLike) else [])
    found = None
    if reports is not None:
        survey = {"weights": weights, "strata": strata, "clusters": clusters}
        found = _found(design, reports, asked, survey, inference)
    elif tables is not None or weights is not None or strata is not None or clusters is not None:
        msg = "tables, weights, strata and clusters are about reports; give reports as well"
        raise lambdarr.DataError(msg)
    again = _Again.of(reports, asked, inference, weights, strata, clusters, level)
    page = _page(design, found, again, level, title)
    if path is not None:
        with replacing(path, force=force) as file:
            file.write(page.encode())
    return page


def _found(
    design: Design,
    reports: Any,
    asked: list[tuple[str, ...]] | None,
    survey: dict[str, Any],
    inference: Inference,
) -> Found:
    """Estimate and relate, from one pass over the reports."""
    from lambdarr.association import related
    from lambdarr.estimation import independent_reports
    from lambdarr.tabulation import tallies

    sizes = dict(zip(design.names, (channel.size for channel in design.channels), strict=True))
    single = [(name,) for name, size in sizes.items() if size <= LARGEST_SINGLE][:MOST_SINGLE]
    relatable = [name for name, size in sizes.items() if size <= LARGEST_RELATED][:MOST_RELATED]
    pairs = list(itertools.combinations(relatable, 2))
    only_estimated = only_related = ""
    if asked is None and len(single) < len(sizes):
        only_estimated = f"Of {len(sizes)} attributes, {len(single)} are estimated; ask for the others by name."
    if len(relatable) < len(sizes):
        only_related = f"Of {len(sizes)} attributes, {len(relatable)} are looked at here."
    wanted = single if asked is None else asked
    counted = tallies(reports, design, [*wanted, *pairs], **survey)
    own, of_pairs = counted[: len(wanted)], counted[len(wanted) :]
    relations = None
    if pairs:
        by_pair = dict(zip(pairs, of_pairs, strict=True))
        relations = related([[(counts, design)] for counts in of_pairs], design.select(relatable), inference=inference)
        if asked is None:
            own += [by_pair[pair.attributes] for pair in charts.standing_out(relations)[:MOST_PAIRS]]
    estimates = [lambdarr.estimate(counts, design, inference=inference) for counts in own]
    independent = max((independent_reports(counts) for counts in counted), default=1.0)
    most = max((counts.n for counts in counted), default=0)
    return Found(estimates, relations, inference, most, independent, only_estimated, only_related)


class _Again(NamedTuple):
    """How to have the same numbers again."""

    reports: str | None
    options: list[str]
    tables: list[str]

    @classmethod
    def of(
        cls, reports: Any, asked: Any, inference: str, weights: Any, strata: Any, clusters: Any, level: float
    ) -> _Again:
        """Return what can be said on the command line; of a path only the name, which betrays nobody's folders."""
        name = None
        if reports is not None:
            name = Path(reports).name if isinstance(reports, str | os.PathLike) else "reports.csv"
        options = ["--inference", inference] if inference != "population" else []
        for option, given in (("--weights", weights), ("--strata", strata), ("--clusters", clusters)):
            options += [option, given] if isinstance(given, str) else []
        options += ["--level", f"{level:g}"] if level != 0.95 else []
        return cls(name, options, [",".join(names) for names in asked or []])

    def commands(self, found: Found | None) -> list[str]:
        """Return the commands that give the numbers of the page, and the page."""
        lines = [["show", "design.json"], ["audit", "design.json"]]
        if self.reports is not None and found is not None:
            tables = [part for estimate in found.estimates for part in ("-t", ",".join(estimate.attributes))]
            if tables:
                lines.append(["estimate", self.reports, "-d", "design.json", *tables, *self.options])
            if found.relations is not None:
                columns = ["--columns", ",".join(found.relations.attributes)]
                lines.append(["correlate", self.reports, "-d", "design.json", *columns, *self.options])
        asked = [part for names in self.tables for part in ("-t", names)]
        data = [] if self.reports is None else [self.reports]
        lines.append(["report", "design.json", *data, "-o", "report.html", *asked, *self.options])
        return [shlex.join(["lambdarr", *line]) for line in lines]


# The page.


def _page(design: Design, found: Found | None, again: _Again, level: float, title: str) -> str:
    """Return the whole page."""
    audit = lambdarr.audit(design)
    today = datetime.datetime.now(datetime.UTC).date()
    parts = [
        ("design", "The design in words", sections.words_section(design)),
        ("curves", "What another λ would do", sections.curves_section(design)),
        ("map", "What is left of relations", sections.map_section(design)),
    ]
    if found is not None and found.estimates:
        parts.append(("estimates", "What the answers say", sections.estimates_section(found, level)))
    if found is not None and found.relations is not None:
        relations = sections.relations_section(found.relations, found.only_related, level)
        parts.append(("relations", "What goes together", relations))
    parts += [
        ("noise", "Where the noise wins", sections.noise_section(design, found)),
        ("audit", "What one answer gives away", sections.audit_section(audit)),
        ("again", "How to get the same numbers", sections.reproduce_section(design, found, again.commands(found))),
    ]
    made = f"{today.day} {today:%B %Y}"
    about = f"{size_in_words(design)}" + ("" if found is None else f" · {sections.reports_in_words(found)}")
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
        f'<nav aria-label="Contents"><ol>{links}</ol></nav></header>\n<main>{body}</main>\n'
        f"<footer><p>Made with lambdarr {lambdarr.__version__} on {made}. This page holds no one's answers, and loads "
        "nothing from anywhere.</p></footer></body></html>\n"
    )


def _style() -> str:
    return files("lambdarr.reporting").joinpath("page.css").read_text(encoding="utf-8")
