"""Designs and their audits, as plain values for files and as tables for the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from lambdarr.drawing import undone_sentence
from lambdarr.reporting.texts import finite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lambdarr.auditing import Audit, Leak
    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.optimizing import Certificate

_WIDEST_ATTENUATION = 7


def design_values(design: Design) -> dict[str, Any]:
    """Return what ``show --json`` prints."""
    return {
        "attributes": [
            {
                "name": attribute.name,
                "size": channel.size,
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


def _measure_cells(thing: Channel | Design | Leak) -> tuple[str, str, str, str]:
    epsilon = "∞" if math.isinf(thing.epsilon) else f"{thing.epsilon:.3f}"
    return f"{thing.bits:.3f}", f"{thing.strength:.1%}", epsilon, f"{thing.truthfulness:.1%}"


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
        f"The inverse of {_largest_table(design)} may amplify noise up to {design.noise_amplification:,.3g} times; "
        "tables of few attributes fare better.",
    ]
    if design.is_sampled:
        said.insert(0, asked_sentence(design.asked, len(design.names)))
    if not math.isinf(design.epsilon):
        said.insert(-1, f"No whole report can shift the odds about anyone by more than {_odds(design.epsilon)} to 1.")
    if design.released:
        said.append(f"Released unrandomized: {', '.join(design.released)}. Nothing here protects that.")
    if design.public_missing:
        said.append(public_missing_sentence(design.public_missing))
    if (certificate := design.certificate) is not None:
        said.append(_certified(certificate))
    return said + drawn_sentences(design)


def _certified(certificate: Certificate) -> str:
    proof = f"No λ's that meet the demands have an error more than {max(certificate.gap, 1e-6):.2g} of it smaller."
    if math.isnan(certificate.equal_epsilon):
        return f"These λ's are optimal for the tables wanted. {proof}"
    if certificate.equal_epsilon < certificate.error:
        return f"These λ's are optimal for the tables wanted; equal parts of ε would not meet the demands. {proof}"
    return (
        "These λ's are optimal for the tables wanted: the same budget in equal parts of ε would have "
        f"{certificate.equal_epsilon / certificate.error:.2f} times their variance, and with equal λ's "
        f"{certificate.equal_lambda / certificate.error:.2f} times. {proof}"
    )


def public_missing_sentence(names: Sequence[str]) -> str:
    """Return in words that some attributes' missing values are not protected."""
    return f"Missing values are public, and not protected: everyone sees who has no answer to {', '.join(names)}."


def asked_sentence(asked: int | None, count: int) -> str:
    """Return in words that respondents answer some of the attributes only."""
    return (
        f"Each respondent answers {asked} of the {count} attributes, drawn at random; which ones is public. An "
        f"attribute's row is about an answer that is given; the joint's ε is of the {asked} attributes that leak most."
    )


def _largest_table(design: Design) -> str:
    return f"a table of {design.asked} attributes" if design.is_sampled else "the full joint"


def _odds(epsilon: float) -> str:
    odds = math.exp(min(epsilon, 700))
    return f"{odds:.2f}" if odds < 100 else f"{odds:,.0f}" if odds < 10**7 else f"{odds:.1e}"


def audit_values(audit: Audit) -> dict[str, Any]:
    """Return what ``audit --json`` prints."""
    values = audit.to_dict()
    for leak in (*values["attributes"], values["joint"], *values["drawn"]):
        leak |= {name: finite(value) for name, value in leak.items() if isinstance(value, float)}
    return values


def audit_table(audit: Audit) -> Table:
    """Return the audit as a table, the joint last."""
    table = Table(title="What one report gives away")
    table.add_column("attribute")
    for heading in ("bits", "strength", "ε", "true", "capacity", "gain", "posterior"):
        table.add_column(heading, justify="right")
    for leak in (*audit.attributes, audit.joint):
        if leak is audit.joint:
            table.add_section()
        gain = f"× {leak.guess_gain:,.3g}"
        table.add_row(
            escape(leak.name), *_measure_cells(leak), f"{leak.capacity:.3f}", gain, f"{leak.worst_posterior:.1%}"
        )
    return table
