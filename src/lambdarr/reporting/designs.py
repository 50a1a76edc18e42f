"""Designs and their audits, as plain values for files and as tables for the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from lambdarr.auditing import upwards
from lambdarr.drawing import undone_sentence
from lambdarr.reporting.texts import epsilon_text, finite, percent, terminal_table, three_digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lambdarr.auditing import Audit, Shuffled
    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.optimizing import Certificate
    from lambdarr.releases import Release

_WIDEST_ATTENUATION = 7
_MOST_CATEGORIES = 12


def design_values(design: Design) -> dict[str, Any]:
    """Return what ``show --json`` prints."""
    return {
        "attributes": [
            {
                "name": attribute.name,
                "size": channel.size,
                "categories": list(attribute.values),
                "lambda": channel.lam,
                "threshold": channel.threshold,
                **_measures(channel),
            }
            for attribute, channel in zip(design.attributes, design.channels, strict=True)
        ],
        "drawn": [column.to_document() for column in design.drawn],
        "joint": {**_measures(design), "noise_amplification": finite(design.noise_amplification)},
        "attenuation": design.attenuation().tolist(),
        "released": list(design.released),
        "public_missing": list(design.public_missing),
        "asked": design.asked,
    }


def _measures(thing: Channel | Design) -> dict[str, float | None]:
    return {
        "bits": thing.bits,
        "strength": finite(thing.strength),
        "epsilon": finite(thing.epsilon),
        "truthfulness": thing.truthfulness,
    }


def design_table(design: Design) -> Table:
    """Return the design as a table, the joint last."""
    table = Table(title="Design")
    table.add_column("attribute")
    for heading in ("categories", "λ", "bits", "strength β", "ε", "true reports"):
        table.add_column(heading, justify="right")
    for attribute, channel in zip(design.attributes, design.channels, strict=True):
        table.add_row(escape(attribute.name), f"{channel.size:,}", f"{channel.lam:.4f}", *_measure_cells(channel))
    if design.attributes:
        table.add_section()
        table.add_row("joint", _cells(design), "", *_measure_cells(design), style="bold")
    if design.drawn:
        table.add_section()
    for column in design.drawn:
        how = "expected" if column.is_expected else "individuals"
        table.add_row(escape(column.name), how, f"{column.lam:.4f}", "", "", "∞", "")
    return table


def categories_table(design: Design) -> Table:
    """Return the categories of each attribute in their order, which priors and scores follow; of many, the ends."""
    table = Table(title="Categories, in their order")
    table.add_column("attribute")
    table.add_column("categories")
    for attribute in design.attributes:
        labels = attribute.labels
        few = labels if len(labels) <= _MOST_CATEGORIES else (*labels[: _MOST_CATEGORIES - 3], "…", *labels[-2:])
        missing = "; missing is public" if attribute.missing_is_public else ""
        table.add_row(escape(attribute.name), escape(", ".join(few) + missing))
    return table


def drawn_sentences(design: Design) -> list[str]:
    """Return what the drawn columns of a design mean, in words."""
    said = []
    if drawn := [column.name for column in design.drawn if not column.is_expected]:
        said.append(
            f"Drawn over the individuals of the file: {', '.join(drawn)}. Bits, strength and true reports do not speak "
            "of that, and there is no finite ε: see `lambdarr audit`."
        )
    if design.undone:
        said.append(undone_sentence(design.undone))
    return said


def _measure_cells(thing: Channel | Design) -> tuple[str, str, str, str]:
    return f"{thing.bits:.3f}", f"{thing.strength:.1%}", epsilon_text(thing.epsilon), f"{thing.truthfulness:.1%}"


def _cells(design: Design) -> str:
    cells = math.prod(channel.size for channel in design.channels)
    return f"{cells:,}" if cells < 10**9 else f"about 10^{len(str(cells)) - 1}"


def attenuation_table(design: Design) -> Table | None:
    """Return λᵢ λⱼ as a table, or None if nobody answers two attributes, or there are too many to print."""
    if not 1 < len(design.names) <= _WIDEST_ATTENUATION or design.asked == 1:
        return None
    table = Table(title="Share of each covariance that the reports keep, λᵢ λⱼ")
    table.add_column("")
    for name in design.names:
        table.add_column(escape(name), justify="right")
    for i, (name, row) in enumerate(zip(design.names, design.attenuation(), strict=True)):
        table.add_row(escape(name), *("" if i == j else f"{value:.3f}" for j, value in enumerate(row)))
    return table


def design_sentences(design: Design) -> list[str]:
    """Return what the design means, in words."""
    if not design.attributes:
        return drawn_sentences(design)
    share = f"{design.truthfulness:.1%}" if design.truthfulness >= 0.001 else "Less than 0.1%"
    said = [
        f"{share} of the reported records are true in every attribute{' that was asked' if design.is_sampled else ''}.",
    ]
    if design.noise_amplification > 1:
        said.append(
            f"The inverse of {_largest_table(design)} may amplify noise up to "
            f"{three_digits(design.noise_amplification)} times"
            f"{'.' if design.asked == 1 or len(design.names) == 1 else '; tables of few attributes fare better.'}"
        )
    if design.is_sampled:
        said.insert(0, f"{asked_sentence(design.asked, len(design.names))} {asked_rows_sentence(design.asked)}")
    if not math.isinf(design.epsilon):
        said.insert(-1, f"No whole report can shift the odds about anyone by more than {_odds(design.epsilon)} to 1.")
    if design.released:
        said.append(f"Released unrandomized: {', '.join(design.released)}. Nothing here protects that.")
    if design.public_missing:
        said.append(public_missing_sentence(design.public_missing))
    if (certificate := design.certificate) is not None:
        if certificate.by_asked:
            said.append(_chosen_number(certificate, design.asked or len(design.names), len(design.names)))
        said.append(_certified(certificate))
    return said + drawn_sentences(design)


def _chosen_number(certificate: Certificate, asked: int, count: int) -> str:
    """Return in words how many attributes are asked, and what asking all, one more or one fewer would have cost."""
    errors = certificate.by_asked
    near = dict.fromkeys(other for other in (count, asked + 1, asked - 1) if other in errors and other != asked)
    others = [f"{errors[other] / errors[asked]:,.3g} × less than asking {_number(other, count)}" for other in near]
    said = f"Asking {_number(asked, count)} has the least error for the tables wanted"
    return f"{said}: {', '.join(others) or 'no other number can meet the demands'}."


def _number(asked: int, count: int) -> str:
    return f"all {count}" if asked == count else f"{asked} of {count}"


def _certified(certificate: Certificate) -> str:
    best = "These λ's have the least error for the tables wanted"
    gap = 100 * max(certificate.gap, 1e-6)
    proof = f"It is proved that no λ's which meet the demands have an error more than {gap:.2g} % smaller."
    parts, same = (error / certificate.error for error in (certificate.equal_epsilon, certificate.equal_lambda))
    if math.isnan(parts):
        return f"{best}. {proof}"
    if max(parts, same) < 0.995:
        return f"{best}; with equal parts of ε or equal λ's, the demands would not be met. {proof}"
    return f"{best}: equal parts of ε would have {_times(parts)}, and equal λ's {_times(same)}. {proof}"


def _times(ratio: float) -> str:
    if ratio < 0.995:
        return "less, but not meet the demands"
    return "as much" if ratio < 1.005 else f"{ratio:.2f} × as much"


def public_missing_sentence(names: Sequence[str]) -> str:
    """Return in words that some attributes' missing values are not protected."""
    return f"Missing values are public, and not protected: everyone sees who has no answer to {', '.join(names)}."


def asked_sentence(asked: int | None, count: int) -> str:
    """Return in words that respondents answer some of the attributes only."""
    return f"Each respondent answers {asked} of the {count} attributes, drawn at random; which ones is public."


def asked_rows_sentence(asked: int | None) -> str:
    """Return what the rows of a table are about where respondents answer some of the attributes only."""
    return (
        "An attribute's row is about an answer that is given; the joint's ε is of the "
        f"{'attribute that leaks' if asked == 1 else f'{asked} attributes that leak'} most."
    )


def _largest_table(design: Design) -> str:
    if not design.is_sampled:
        return "the full joint"
    return "a one-way table" if design.asked == 1 else f"a table of {design.asked} attributes"


def _odds(epsilon: float) -> str:
    odds = math.exp(min(epsilon, 700)) * (1 - 1e-9)  # the grid of λ again, as in upwards
    if odds < 10**7:
        return f"{upwards(odds, 2):.2f}" if odds < 100 else f"{upwards(odds, 0):,.0f}"
    return f"{upwards(odds, 1 - math.floor(math.log10(odds))):.1e}"


def audit_title(audit: Audit) -> str:
    """Return what a table of an audit is about."""
    if audit.reports == 1:
        return "What one report gives away"
    return f"What {audit.reports:,} fresh reports of one truth give away"


def audit_columns(audit: Audit) -> dict[str, list[str]]:
    """Return what people read of an audit, heading by heading, the joint last; what is not known is left out."""
    leaks = (*audit.attributes, audit.joint)
    columns = {
        "bits": [(leak.bits, f"{leak.bits:.3f}") for leak in leaks],
        "strength": [(leak.strength, percent(leak.strength)) for leak in leaks],
        "ε": [(leak.epsilon, epsilon_text(leak.epsilon)) for leak in leaks],
        "true": [(leak.truthfulness, percent(leak.truthfulness)) for leak in leaks],
        "capacity": [(leak.capacity, f"{leak.capacity:.3f}") for leak in leaks],
        "gain": [(leak.guess_gain, f"× {leak.guess_gain:,.3g}") for leak in leaks],
        "posterior": [(leak.worst_posterior, percent(leak.worst_posterior, up=True)) for leak in leaks],
    }
    if audit.reports > 1:
        del columns["true"]  # it is that of each of them
    return {
        heading: ["–" if math.isnan(number) else cell for number, cell in cells]
        for heading, cells in columns.items()
        if not all(math.isnan(number) for number, _ in cells)
    }


def repeated_sentences(audit: Audit) -> list[str]:
    """Return in words what a table of several reports leaves out."""
    if not math.isnan(audit.joint.worst_posterior):
        return []
    return [
        "–: each report is about other attributes, drawn anew; how sure a guess at the whole record becomes is open."
    ]


def shuffled_sentence(shuffled: Shuffled) -> str:
    """Return in words what shuffling gains, or why nothing."""
    if shuffled.reason:
        return f"Shuffling gains nothing that is known: {shuffled.reason}."
    return (
        f"Shuffled among {shuffled.reports:,} reports, ε of a record is at most {upwards(shuffled.epsilon, 4):,.4f}, "
        f"but for a chance of {shuffled.delta:.2g}."
    )


def release_sentences(release: Release, asked: int | None = None, drawn: Sequence[str] = ()) -> list[str]:
    """Return in words what the release of a file leaves of its truths; ``asked`` where a report has a part of them.

    ``drawn`` are columns over the individuals, by which somebody who knows the other rows can tell some true ones.
    """
    key = ", ".join(release.key)
    several = "column" if drawn else "attribute"
    that = "" if asked is None else " that was asked"
    part = "" if asked is None else f" No report has more than {asked} of the attributes."
    said = [
        f"Of {release.records:,} records, {release.true_records:,.1f} are expected to be reported true in every "
        f"{several}{that}; of {release.uniques:,} that nobody else shares (by {'all of ' * (asked is not None)}{key}), "
        f"{release.surviving_uniques:,.1f}, and nobody{' who does not know other rows' if drawn else ''} can tell "
        f"which.{part}"
    ]
    if release.exposed:
        said.append(
            f"{release.exposed:,} records are told apart by what is released as it is: whoever knows that much of them "
            "finds them. Keep fewer columns, or make them attributes."
        )
    return said


def audit_table(audit: Audit) -> Table:
    """Return the audit as a table, the joint last."""
    columns = audit_columns(audit)
    table = terminal_table(audit_title(audit), ["attribute", *columns])
    for leak, *cells in zip((*audit.attributes, audit.joint), *columns.values(), strict=True):
        if leak is audit.joint:
            table.add_section()
        table.add_row(escape(leak.name), *cells)
    return table
