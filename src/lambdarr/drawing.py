"""Drawn: a column whose categories are the individuals of the file themselves.

A number has too many values to be categories of their own, and they would have to be known beforehand. Centrally the
file is at hand, so each individual is a category (P(λ) with r = n): a value is kept with probability λ, and otherwise
replaced by that of an individual drawn uniformly from all n. The column keeps its distribution and its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from lambdarr.channel import WORDS, is_number
from lambdarr.errors import DesignError

if TYPE_CHECKING:
    from collections.abc import Sequence

Method = Literal["drawn", "expected"]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A column that is randomized over the individuals of its file; central mode only.

    Parameters
    ----------
    name : str
        The column's name.
    threshold : int
        T, 0 < T ≤ 2³²: the keep rate is λ = T / 2³² exactly.
    method : {"drawn", "expected"}
        "drawn" replaces a value that is not kept by that of an individual drawn uniformly. "expected" is the paper's
        deterministic form x′ = λx + (1 − λ) · mean, which protects nobody: whoever knows λ undoes it exactly.
    missing : str, optional
        Given, a value may be missing, and this is how that is written in a text file. A missing value is then drawn
        like any other, unless it is public.
    missing_is_public : bool
        Whether missing values stay where they are, and draws are among the individuals who have a value.

    Examples
    --------
    >>> Drawn.with_keep_rate("income", 0.8).lam
    0.8
    """

    name: str
    threshold: int
    method: Method = "drawn"
    missing: str | None = None
    missing_is_public: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            msg = f"the name of a drawn column must be a text that is not empty, got {self.name!r}"
            raise DesignError(msg)
        whole = isinstance(self.threshold, int) and not isinstance(self.threshold, bool)
        if not whole or not 0 < self.threshold <= WORDS:
            msg = f"threshold of drawn column {self.name!r} must be an integer in (0, 2³²], got {self.threshold!r}"
            raise DesignError(msg)
        if self.method not in get_args(Method):
            msg = f"method of drawn column {self.name!r} must be 'drawn' or 'expected', got {self.method!r}"
            raise DesignError(msg)
        if self.missing is not None and not isinstance(self.missing, str):
            msg = f"missing of drawn column {self.name!r} must be the text of a missing value, or None"
            raise DesignError(msg)
        if not isinstance(self.missing_is_public, bool) or (self.missing_is_public and self.missing is None):
            msg = f"missing_is_public of drawn column {self.name!r} must be true or false, and needs a text for missing"
            raise DesignError(msg)
        if self.is_expected and self.missing is not None and not self.missing_is_public:
            msg = f"drawn column {self.name!r} has no expected value where it is missing; declare its missing public"
            raise DesignError(msg)

    @classmethod
    def with_keep_rate(cls, name: str, lam: float, **rest: Any) -> Drawn:
        """Return a drawn column with the keep rate nearest to ``lam``; any multiple of 2⁻³² is one."""
        if not is_number(lam) or not 0 < lam <= 1:  # also catches nan
            msg = f"lam of drawn column {name!r} must be in (0, 1], got {lam!r}; 1 publishes the truth"
            raise DesignError(msg)
        return cls(name, max(round(lam * WORDS), 1), **rest)

    @property
    def lam(self) -> float:
        """The keep rate λ = T / 2³²."""
        return self.threshold / WORDS

    @property
    def is_expected(self) -> bool:
        """Whether the column is released in the deterministic form, which anyone can undo."""
        return self.method == "expected"

    def to_document(self) -> dict[str, Any]:
        """Return the entry of spec/design.schema.json."""
        return {
            "name": self.name,
            "lambda": self.lam,
            "threshold": self.threshold,
            "method": self.method,
            "missing": self.missing,
            "missing_is_public": self.missing_is_public,
        }

    @classmethod
    def from_document(cls, entry: Any) -> Drawn:
        """Return the drawn column that an entry describes."""
        try:
            found = cls(
                entry["name"],
                entry["threshold"],
                entry.get("method", "drawn"),
                entry.get("missing"),
                entry.get("missing_is_public", False),
            )
            lam = entry["lambda"]
        except (KeyError, TypeError, AttributeError):
            msg = "a drawn column of the design must be a JSON object with name, lambda and threshold"
            raise DesignError(msg) from None
        if lam != found.lam:
            msg = (
                f"lambda and threshold of drawn column {found.name!r} disagree: {lam} is not {found.threshold} / 2³²; "
                "was the file edited by hand? make the design again"
            )
            raise DesignError(msg)
        return found


def undone_sentence(names: tuple[str, ...]) -> str:
    """Return in words that the expected form protects nobody."""
    return (
        f"Not protected: {', '.join(names)}. x′ = λx + (1 − λ) · mean is deterministic, and whoever knows λ undoes it "
        "exactly, from the released column alone."
    )


def drawn_columns(
    names: tuple[str, ...],
    lam: float | Mapping[str, float] | None,
    method: Method,
    missing: Mapping[str, str],
    public_missing: tuple[str, ...],
    *,
    attributes: Sequence[str],
) -> tuple[float | Mapping[str, float] | None, tuple[Drawn, ...]]:
    """Return what of ``lam`` is left for the attributes, and the drawn columns.

    ``missing`` has the text of a missing value for columns with any.
    """
    if not names:
        if method != "drawn":
            msg = f"method {method!r} is of drawn columns; name them: drawn=['income'] (--drawn income)"
            raise DesignError(msg)
        return lam, ()
    own = lam if isinstance(lam, Mapping) else dict.fromkeys(names, lam)
    found = []
    for name in names:
        rate = own.get(name)
        if rate is None:
            msg = (
                f"drawn column {name!r} needs lam: its categories are the individuals of the file, so strength, bits "
                f"and the like are not known before; give lam={{{name!r}: 0.8}} (--lam {name}=0.8), beside any target "
                "of the others"
            )
            raise DesignError(msg)
        public = name in public_missing
        found.append(
            Drawn.with_keep_rate(name, rate, method=method, missing=missing.get(name), missing_is_public=public)
        )
    if not isinstance(lam, Mapping):
        return lam, tuple(found)
    rest = {name: value for name, value in lam.items() if name not in names}
    if unknown := [name for name in rest if name not in attributes]:
        msg = f"there is no column or attribute {unknown[0]!r}; there are: {', '.join([*attributes, *names])}"
        raise DesignError(msg)
    return rest or None, tuple(found)
