"""Reports that were made under different designs: waves of a survey, or respondents who chose their own λ.

Each wave is unbiased on its own, so any weighted mean of them is. The best weights go by how much noise a wave's λ's
leave, which its design says before any data are seen; a file that is itself the population has no choice: there every
record counts once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from lambdarr.designs import Design, check_design
from lambdarr.errors import DataError, DesignError
from lambdarr.surveys import Survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lambdarr.surveys import Numbering


class Wave(NamedTuple):
    """Reports of one design."""

    reports: Any
    design: Design
    survey: Survey


def waves_of(reports: Any, design: Design | None, survey: Survey) -> list[Wave]:
    """Return the waves that a user gave: reports and their design, or a list of such pairs and no design."""
    if not is_mixed(reports):
        if design is None:
            msg = "a design must be given, or the reports be a list of pairs, [(reports, design), …]"
            raise DesignError(msg)
        check_design(design)
        return [Wave(reports, design, survey)]
    if design is not None:
        msg = "design must be left out where every part of the reports has its own: [(reports, design), …]"
        raise DesignError(msg)
    known: Numbering = {"strata": {}, "clusters": {}}
    waves = []
    for number, (part, own) in enumerate(reports):
        check_design(own)
        asked = {kind: _of_wave(kind, getattr(survey, kind), number, len(reports)) for kind in Survey._fields[:3]}
        waves.append(Wave(part, own, Survey(**asked, known=known)))
    return waves


def is_mixed(reports: Any) -> bool:
    """Return whether reports are a list of pairs of reports and their design."""
    return (
        isinstance(reports, list | tuple)
        and len(reports) > 0
        and all(isinstance(part, list | tuple) and len(part) == 2 for part in reports)
    )


def _of_wave(kind: str, given: Any, number: int, count: int) -> Any:
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, list | tuple) or len(given) != count:
        msg = f"{kind} of {count} waves must be the name of a column, or a list of {count} arrays, one for each wave"
        raise DataError(msg)
    return given[number]


def shared(designs: Sequence[Design], names: Iterable[str]) -> Design:
    """Return the design of some attributes that all waves have, each with the smallest λ of any wave.

    Reports of a larger λ can be brought there in expectation, P(λ') = P(λ'/λ) P(λ), so tables of all waves can stand
    side by side under it.
    """
    wanted = tuple(names)
    parts = [design.select(wanted) for design in designs[:1]]
    for number, design in enumerate(designs[1:], start=2):
        for name in wanted:
            if name not in design.names:
                msg = f"attribute {name!r} is not in design {number}; designs have to share what is asked about"
                raise DesignError(msg)
        parts.append(design.select(wanted))
    for number, part in enumerate(parts[1:], start=2):
        for attribute, other in zip(parts[0].attributes, part.attributes, strict=True):
            if attribute != other:
                msg = (
                    f"attribute {attribute.name!r} has other categories in design {number} than in the first; "
                    "reports can be combined if their designs share the attributes that are asked about"
                )
                raise DesignError(msg)
    smallest = [
        min(channels, key=lambda channel: channel.lam) for channels in zip(*(p.channels for p in parts), strict=True)
    ]
    # reports may lack what any wave did not ask
    sampled = min(
        (part for part in parts if part.asked is not None), key=lambda part: part.asked or 0, default=parts[0]
    )
    return Design(parts[0].attributes, tuple(smallest), asked=sampled.asked, out_of=sampled.out_of)
