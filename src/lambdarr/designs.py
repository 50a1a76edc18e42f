"""Design: what is published before any data are seen. Attributes, their channels, and nothing that is secret.

Whoever holds a design can randomize, and can estimate from what was randomized; a report stays deniable although the
design is known to all.
"""

from __future__ import annotations

import json
import math
import numbers
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lambdarr.channel import WORDS, Channel
from lambdarr.domain import Attribute
from lambdarr.drawing import Drawn
from lambdarr.errors import DataError, DesignError, SourceError
from lambdarr.scales import Scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from lambdarr.binning import Binning
    from lambdarr.optimizing import Certificate

SCHEMA_VERSION = 3
"""Newest version of the JSON form, described by spec/design.schema.json.

Version 2 has ``missing_is_public`` and ``asked``, version 3 ``scale`` and ``drawn``. A design is written in the oldest
version that has all it needs, which older readers follow; they refuse others, instead of randomizing what should pass,
reporting what should not be asked, or taking a number for a category.
"""


_ASKED_AND_DRAWN = "asked is for respondents, and drawn columns are randomized centrally; leave one of them out"


@dataclass(frozen=True, slots=True, repr=False)
class Design:
    """Attributes and the channel of each: all that randomizing and estimating need.

    Parameters
    ----------
    attributes : tuple of Attribute
        The columns that are randomized, in their order.
    channels : tuple of Channel
        One channel per attribute, of the same size.
    kept : tuple of str
        Columns that are released as they are, unrandomized.
    asked : int, optional
        Number m′ of attributes that each respondent answers, drawn anew for every record, all sets of m′ being equally
        likely; the others are reported as null, "not asked". None if everyone answers all.
    out_of : int, optional
        The number m of attributes that these m′ are drawn from. It is more than the design has only where ``select``
        took a part of another.
    certificate : Certificate, optional
        How good its λ's are, where they were optimized. It belongs to the session that found them: a file holds what
        everyone needs to randomize and estimate, and not how it was chosen.
    binnings : tuple of Binning
        Why numerical attributes have the bins they have, where these were chosen for them; of the session as well.
    drawn : tuple of Drawn
        Columns, usually of numbers, whose categories are the individuals of the file; central mode only.

    Examples
    --------
    >>> attributes = Attribute("sex", ["F", "M"]), Attribute("vote", ["A", "B", "C"])
    >>> design = Design(attributes, (Channel(2, 0.8), Channel(3, 0.5)))
    >>> design.truthfulness, design.epsilon, design.noise_amplification
    (0.6, 3.583, 2.5)
    >>> Design(attributes, (Channel(2, 0.8), Channel(3, 0.5)), asked=1).epsilon  # one of them: the larger of the two
    2.197
    """

    attributes: tuple[Attribute, ...]
    channels: tuple[Channel, ...]
    kept: tuple[str, ...] = ()
    asked: int | None = None
    out_of: int | None = None
    certificate: Certificate | None = field(default=None, kw_only=True, compare=False)
    binnings: tuple[Binning, ...] = field(default=(), kw_only=True, compare=False)
    drawn: tuple[Drawn, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        object.__setattr__(self, "channels", tuple(self.channels))
        object.__setattr__(self, "kept", tuple(self.kept))
        object.__setattr__(self, "drawn", tuple(self.drawn))
        if not self.attributes and not self.drawn:
            msg = "a design must have at least one attribute or drawn column"
            raise DesignError(msg)
        if len(self.attributes) != len(self.channels):
            msg = f"a design must have one channel per attribute, got {len(self.channels)} for {len(self.attributes)}"
            raise DesignError(msg)
        names = [*self.names, *self.kept, *self.drawn_names]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            msg = f"attribute names must differ from each other and from kept columns; {repeated[0]!r} stands twice"
            raise DesignError(msg)
        for attribute, channel in zip(self.attributes, self.channels, strict=True):
            if attribute.size != channel.size:
                msg = (
                    f"the channel of attribute {attribute.name!r} has {channel.size} categories, "
                    f"the attribute {attribute.size}; they must be the same"
                )
                raise DesignError(msg)
        self._settle_asked()
        if self.drawn and self.asked is not None:
            raise DesignError(_ASKED_AND_DRAWN)

    def _settle_asked(self) -> None:
        count = max(len(self.attributes), self.out_of or 0)
        check_asked(self.asked, count)
        everything = self.asked is None or self.asked == count
        object.__setattr__(self, "asked", None if everything else int(self.asked or 0))
        object.__setattr__(self, "out_of", None if everything else count)
        if not everything:
            for attribute in self.attributes:
                _check_can_be_left_out(attribute)

    def __repr__(self) -> str:
        parts = (f"{a.name!r}: λ={c.lam:.4g}, r={c.size}" for a, c in zip(self.attributes, self.channels, strict=True))
        asked = f", {self.asked} of {self.out_of} asked" if self.is_sampled else ""
        drawn = (f"{column.name!r}: λ={column.lam:.4g}, {column.method}" for column in self.drawn)
        return f"<Design of {len(self.attributes) + len(self.drawn)}{asked}: {'; '.join((*parts, *drawn))}>"

    # Parts.

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def released(self) -> tuple[str, ...]:
        """What is released unrandomized: the kept columns, and the attributes with λ = 1."""
        truths = (a.name for a, c in zip(self.attributes, self.channels, strict=True) if c.lam == 1)
        return (*truths, *(column.name for column in self.drawn if column.lam == 1), *self.kept)

    @property
    def drawn_names(self) -> tuple[str, ...]:
        """The names of the drawn columns, in order."""
        return tuple(column.name for column in self.drawn)

    @property
    def undone(self) -> tuple[str, ...]:
        """The drawn columns in the expected form, which whoever knows λ undoes exactly."""
        return tuple(column.name for column in self.drawn if column.is_expected)

    @property
    def public_missing(self) -> tuple[str, ...]:
        """The attributes and drawn columns whose missing values are public: released as they are."""
        drawn = (column.name for column in self.drawn if column.missing_is_public)
        return (*(attribute.name for attribute in self.attributes if attribute.missing_is_public), *drawn)

    @property
    def rounded(self) -> tuple[str, ...]:
        """The attributes whose truths are numbers that are rounded at random."""
        return tuple(attribute.name for attribute in self.attributes if attribute.is_rounded)

    @property
    def is_sampled(self) -> bool:
        """Whether each respondent answers only some of the attributes."""
        return self.asked is not None

    @property
    def gaps(self) -> tuple[str, ...]:
        """The attributes that a report may lack: because they are missing in plain sight, or were not asked."""
        if self.is_sampled:
            return self.names
        return tuple(attribute.name for attribute in self.attributes if attribute.missing_is_public)

    def select(self, names: Iterable[str]) -> Design:
        """Return the design of some of the attributes, in the order given.

        Where respondents answer some of the attributes only, the part remembers of how many: reports may lack any of
        its attributes. Such a part can be estimated with; randomizing and saving need the whole.
        """
        wanted = listed(names)
        drawn = [name for name in wanted if name in self.drawn_names]
        if drawn or (not wanted and not self.attributes):
            msg = (
                f"{', '.join(drawn or self.drawn_names)}: drawn over the individuals of the file, and so without "
                "categories; ask for means and quantiles (--mean, --quantile, lr.distribution), or for relations "
                "(lr.correlate, lr.regress)"
            )
            raise DesignError(msg)
        if not wanted:
            msg = f"attributes must name at least one of: {', '.join(self.names)}"
            raise DesignError(msg)
        for name in wanted:
            if name in self.kept:
                msg = (
                    f"{name!r} is released unrandomized and is no attribute; to tabulate it with others, put it into "
                    "the design with λ = 1"
                )
                raise DesignError(msg)
            if name not in self.names:
                msg = f"attribute {name!r} is not in the design; it has: {', '.join((*self.names, *self.drawn_names))}"
                raise DesignError(msg)
        places = [self.names.index(name) for name in wanted]
        attributes, channels = tuple(self.attributes[p] for p in places), tuple(self.channels[p] for p in places)
        return Design(attributes, channels, asked=self.asked, out_of=self.out_of)

    @property
    def by_name(self) -> dict[str, Channel]:
        """The channel of each attribute, by its name."""
        return dict(zip(self.names, self.channels, strict=True))

    def keeping(self, names: Iterable[str]) -> Design:
        """Return the same design, with these columns listed as released unrandomized."""
        return replace(self, kept=(*self.kept, *(name for name in names if name not in self.kept)))

    # What the product of channels is, without forming it.

    @property
    def bits(self) -> float:
        """H = Σ H(Pⱼ), eq. (3) of the paper: the joint's bits of deniability.

        Where m′ of m attributes are asked, those of the answers that are given: (m′/m) Σ H(Pⱼ), their mean.
        """
        return self.share_asked * math.fsum(channel.bits for channel in self.channels)

    @property
    def strength(self) -> float:
        """β = Σ H(Pⱼ) / Σ log₂ rⱼ: of all log₂ r bits that the joint can hold, the share that cannot leak.

        It speaks of answers that are given, so it does not depend on how many are asked.
        """
        held = math.fsum(channel.bits for channel in self.channels)  # the share asked is in both, and drops out
        # drawn columns are over the individuals, whose number a design does not know: lr.audit speaks of them
        return held / math.fsum(channel.max_bits for channel in self.channels) if self.channels else math.nan

    @property
    def epsilon(self) -> float:
        """ε = Σ εⱼ: the nats that one whole record may leak; over the m′ largest εⱼ where m′ attributes are asked.

        Eq. (41) of docs/theory.md: the most that any set of m′ attributes can give away. Infinite with a drawn column.
        """
        if self.drawn:
            return math.inf
        return math.fsum(sorted((channel.epsilon for channel in self.channels), reverse=True)[: self.asked])

    @property
    def truthfulness(self) -> float:
        """Π dⱼ: the chance that a whole reported record is the truth, in every attribute that was asked."""
        return self.mean_product([channel.truthfulness for channel in self.channels])

    @property
    def noise_amplification(self) -> float:
        """1/Π λⱼ: by how much the inverse of the full joint may amplify noise; of any m′ where m′ are asked."""
        smallest = math.prod(sorted(channel.lam for channel in self.channels)[: self.asked])
        return 1 / smallest if smallest else math.inf  # hundreds of attributes: below what a float can hold

    @property
    def share_asked(self) -> float:
        """m′/m: the chance that a respondent is asked an attribute."""
        return 1.0 if self.asked is None or self.out_of is None else self.asked / self.out_of

    def share_asked_all(self, order: int) -> float:
        """Return the chance that a respondent is asked all of some attributes, eq. (42) of docs/theory.md."""
        return 1.0 if self.out_of is None else share_asked_all(order, self.asked, self.out_of)

    def mean_product(self, factors: Sequence[float]) -> float:
        """Return the product of one factor per attribute over those that are asked: its mean over all sets of them."""
        if self.asked is None or self.out_of is None:
            return math.prod(factors)
        # after j factors, the mean over all sets of i of them; the last one is in such a set with probability i/j
        means = [1.0] + [0.0] * self.asked
        for j, factor in enumerate([*factors, *[1.0] * (self.out_of - len(factors))], start=1):
            for i in range(min(j, self.asked), 0, -1):
                means[i] = i / j * factor * means[i - 1] + (j - i) / j * means[i]
        return means[self.asked]

    def attenuation(self) -> NDArray[np.float64]:
        """Return the matrix of λᵢ λⱼ: the factor by which randomizing shrinks the covariance of i and j.

        Eq. (9) of the paper. Off the diagonal it is exact. The diagonal is the factor between two independent reports
        of one attribute; an attribute's own variance does not follow this rule.
        """
        lams = np.array([channel.lam for channel in self.channels])
        return np.outer(lams, lams)

    # For people.

    def plot(self, what: str = "curves") -> Any:
        """Return an Altair chart, also for files: ``.save("curves.svg")`` or ``.save("curves.png")``.

        Parameters
        ----------
        what : {"curves", "map", "answers"}
            What every λ would give each attribute, with the chosen one; the map of λᵢ λⱼ, the share of each covariance
            that the reports keep; or how many answers are true.

        Notes
        -----
        Needs the extra ``report``.
        """
        from lambdarr.reporting.notebooks import design_plot

        return design_plot(self, what)

    def _repr_html_(self) -> str:
        from lambdarr.reporting.notebooks import design_html

        return design_html(self)

    # JSON.

    def to_json(self) -> str:
        """Return the design as the JSON text of spec/design.schema.json."""
        check_whole(self)
        attributes = [
            {
                "name": attribute.name,
                "categories": list(attribute.categories),
                "missing": attribute.missing,
                **({"missing_is_public": True} if attribute.missing_is_public else {}),
                **({} if attribute.scale is None else {"scale": attribute.scale.to_dict()}),
                "lambda": channel.lam,
                "threshold": channel.threshold,
                "rounding": channel.rounding,
            }
            for attribute, channel in zip(self.attributes, self.channels, strict=True)
        ]
        numeric = self.drawn or any(attribute.scale for attribute in self.attributes)
        version = 3 if numeric else 2 if self.gaps else 1
        asked = {"asked": self.asked} if self.is_sampled else {}
        drawn = {"drawn": [column.to_document() for column in self.drawn]} if self.drawn else {}
        document = {"schema_version": version, **asked, "attributes": attributes, **drawn, "kept": list(self.kept)}
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Design:
        """Return the design that a JSON text describes."""
        if not isinstance(text, str):
            msg = f"a design must be JSON text, got {type(text).__name__}; load a file with Design.load(path)"
            raise DesignError(msg)
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            msg = f"a design must be JSON, and this is not ({error}); was the file cut short or is it another file?"
            raise DesignError(msg) from None
        return _from_document(document)

    def save(self, path: str | Path) -> None:
        """Write the design to a JSON file."""
        try:
            Path(path).write_text(self.to_json(), encoding="utf-8")
        except OSError as error:
            msg = f"cannot write {path}: {error.strerror or error}"
            raise SourceError(msg) from error

    @classmethod
    def load(cls, path: str | Path) -> Design:
        """Read a design from a JSON file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            msg = f"cannot read the design {path}: {error.strerror or error}; check its name"
            raise SourceError(msg) from error
        except UnicodeDecodeError:
            msg = f"cannot read the design {path}: it is not UTF-8 text; a design is a JSON file"
            raise DesignError(msg) from None
        try:
            return cls.from_json(text)
        except DesignError as error:
            msg = f"{path}: {error}"
            raise DesignError(msg) from None


def share_asked_all(order: int, asked: int | None, count: int) -> float:
    """Return the chance that all of some attributes are among those asked out of so many; all are, if that is None."""
    return math.prod(max((asked or count) - i, 0) / (count - i) for i in range(order))


def listed(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; one name may be given as it is."""
    return (names,) if isinstance(names, str) else tuple(names)


def check_design(design: object) -> None:
    """Refuse what is no design, such as the path of one."""
    if not isinstance(design, Design):
        msg = f"design must be a lambdarr.Design, got {type(design).__name__}; load a file with Design.load(path)"
        raise DesignError(msg)


def check_rounding(rounded: Sequence[str], inference: str) -> None:
    """Refuse errors for a file itself that would know nothing of how its numbers were rounded."""
    if rounded and inference == "finite":
        msg = f"finite errors of {rounded[0]!r} would leave out its rounding; take the population inference"
        raise DataError(msg)


def check_asked(asked: object, count: int) -> None:
    """Refuse a number of attributes that nobody can be asked."""
    if asked is None:
        return
    if isinstance(asked, bool) or not isinstance(asked, numbers.Integral) or not 1 <= int(asked) <= count:
        msg = (
            f"asked must be a whole number from 1 to the {count} attributes of the design, got {asked!r}; it says how "
            "many of them each respondent answers"
        )
        raise DesignError(msg)


def check_together(part: Design) -> None:
    """Refuse a table of more attributes than any respondent was asked."""
    if part.asked is not None and len(part.names) > part.asked:
        msg = (
            f"no respondent was asked all of {', '.join(part.names)}; each answers {part.asked} of the {part.out_of} "
            f"attributes: take {part.asked} or fewer together, or fit lr.model, which puts them together"
        )
        raise DataError(msg)


def check_whole(design: Design) -> None:
    """Refuse a part of a design where the others' attributes decide what is asked."""
    if design.out_of is not None and design.out_of != len(design.attributes):
        msg = (
            f"this is a part of a design whose respondents answer {design.asked} of {design.out_of} attributes; it can "
            "be estimated with, but randomizing and saving need the whole design"
        )
        raise DesignError(msg)


def _check_can_be_left_out(attribute: Attribute) -> None:
    """Refuse an attribute of which "not asked" could be taken for an answer."""
    if attribute.has_missing_category and (attribute.kind != "text" or not attribute.missing):
        msg = (
            f"attribute {attribute.name!r} has a randomized missing category, which its reports could not tell from "
            "'not asked'; declare its missing values public, or give it text categories and a text for missing such "
            "as 'NA'"
        )
        raise DesignError(msg)
    if "" in attribute.categories:
        msg = (
            f"attribute {attribute.name!r} has an empty text among its categories, which a text file could not tell "
            "from 'not asked'; name that category"
        )
        raise DesignError(msg)


def _from_document(document: Any) -> Design:
    if not isinstance(document, dict) or "schema_version" not in document:
        msg = "a design must be a JSON object with a schema_version; make one with `lambdarr design`"
        raise DesignError(msg)
    version = document["schema_version"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        msg = f"schema_version of a design must be a whole number from 1, got {version!r}"
        raise DesignError(msg)
    if version > SCHEMA_VERSION:
        msg = f"the design has schema_version {version}, this lambdarr reads up to {SCHEMA_VERSION}; upgrade it"
        raise DesignError(msg)
    entries = _member(document, "attributes", list, "a design")
    kept = _member(document, "kept", list, "a design") if "kept" in document else []
    if not all(isinstance(name, str) for name in kept):
        msg = "kept of a design must be a list of column names"
        raise DesignError(msg)
    pairs = [_entry(entry, place) for place, entry in enumerate(entries, start=1)]
    if version < 2 and any(attribute.missing_is_public for attribute, _ in pairs):
        msg = "a design with missing_is_public must have schema_version 2, as older readers would pass over it"
        raise DesignError(msg)
    if version < 3 and any(attribute.scale for attribute, _ in pairs):
        msg = "a design with a scale must have schema_version 3, as older readers would take numbers for categories"
        raise DesignError(msg)
    asked = _member(document, "asked", int, "a design") if "asked" in document else None
    if version < 2 and asked is not None:
        msg = "a design with asked must have schema_version 2, as older readers would ask everything"
        raise DesignError(msg)
    columns = _member(document, "drawn", list, "a design") if "drawn" in document else []
    drawn = [Drawn.from_document(entry) for entry in columns]
    if drawn and asked is not None:
        raise DesignError(_ASKED_AND_DRAWN)
    if version < 3 and drawn:
        msg = "a design with drawn must have schema_version 3, as older readers would pass over it"
        raise DesignError(msg)
    return Design(tuple(a for a, _ in pairs), tuple(c for _, c in pairs), tuple(kept), asked, drawn=tuple(drawn))


def _entry(entry: Any, place: int) -> tuple[Attribute, Channel]:
    where = f"attribute {place} of the design"
    if not isinstance(entry, dict):
        msg = f"{where} must be a JSON object, got {type(entry).__name__}"
        raise DesignError(msg)
    name = _member(entry, "name", str, where)
    where = f"attribute {name!r} of the design"
    attribute = Attribute(
        name,
        _member(entry, "categories", list, where),
        entry.get("missing"),
        missing_is_public=entry.get("missing_is_public", False),
        scale=_scale(entry["scale"], where) if "scale" in entry else None,
    )
    lam = _member(entry, "lambda", (int, float), where)
    threshold = _member(entry, "threshold", int, where)
    rounding = entry.get("rounding", "nearest")
    if rounding not in ("nearest", "private"):
        msg = f"rounding of {where} must be 'nearest' or 'private', got {rounding!r}"
        raise DesignError(msg)
    if not 0 < threshold <= WORDS or (WORDS - threshold) % attribute.size:
        msg = (
            f"threshold of {where} must be in (0, 2³²] with 2³² − T a multiple of its {attribute.size} categories, "
            f"got {threshold}; was the file edited by hand? make the design again"
        )
        raise DesignError(msg)
    if lam != threshold / WORDS:
        msg = (
            f"lambda and threshold of {where} disagree: {lam} is not {threshold} / 2³²; "
            "was the file edited by hand? make the design again"
        )
        raise DesignError(msg)
    return attribute, Channel(attribute.size, threshold / WORDS, rounding=rounding)


def _scale(document: Any, where: str) -> Scale:
    if not isinstance(document, dict) or set(document) != {"edges", "unit", "rounding", "outside"}:
        msg = f"scale of {where} must have edges, unit, rounding and outside; make one with `lambdarr design`"
        raise DesignError(msg)
    edges = _member(document, "edges", list, f"the scale of {where}")
    try:
        return Scale(tuple(edges), document["unit"], document["rounding"], document["outside"])
    except DesignError as error:
        msg = f"scale of {where}: {error}"
        raise DesignError(msg) from None


def _member(document: dict[str, Any], key: str, kind: type | tuple[type, ...], where: str) -> Any:
    value = document.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        got = "nothing" if key not in document else type(value).__name__
        wanted = kind[-1] if isinstance(kind, tuple) else kind
        msg = f"{key} of {where} must be a JSON {_JSON_NAMES[wanted]}, got {got}; make one with `lambdarr design`"
        raise DesignError(msg)
    return value


_JSON_NAMES = {list: "array", str: "string", int: "integer", float: "number"}
