"""How many attributes to ask of each respondent: fewer answers, each with a larger λ, at the same ε.

Of a table of k attributes only those who were asked all of it count, so fewer people; but each of their answers says
more. The expected error of both is known before any data are seen, so the better one can be chosen by calculation.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lambdarr.errors import DesignError
from lambdarr.optimizing import workload_of
from lambdarr.solving import design
from lambdarr.sources import as_frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lambdarr.designs import Design


@dataclass(frozen=True, slots=True, repr=False)
class AskedPlan:
    """What to expect if each respondent answers so many attributes.

    Parameters
    ----------
    asked : int
        Number m′ of attributes that each respondent answers.
    design : Design
        The best design with that ``asked`` and the ε compared.
    reports : float
        Expected number of reports that have the largest table of the workload.
    error : float
        Expected squared error of a cell of the unbiased estimates, summed over the tables by their weights.
    gain : float
        How many times smaller that is than the least error if everyone answers everything.
    """

    asked: int
    design: Design
    reports: float
    error: float
    gain: float

    def __repr__(self) -> str:
        return f"<AskedPlan: {self.asked} of {len(self.design.names)} asked, {self.gain:.3g} × less error than all>"

    @property
    def lams(self) -> tuple[float, ...]:
        """λ of each attribute."""
        return tuple(channel.lam for channel in self.design.channels)


@dataclass(frozen=True, slots=True, repr=False)
class AskedComparison:
    """Plans for every number of attributes that may be asked. Made by ``lambdarr.compare_asked``.

    Parameters
    ----------
    plans : tuple of AskedPlan
        From as many as the largest table has to all.
    """

    plans: tuple[AskedPlan, ...]

    @property
    def best(self) -> AskedPlan:
        """The plan with the smallest error; of equals the one that asks most."""
        return min(reversed(self.plans), key=lambda plan: plan.error)

    def __repr__(self) -> str:
        best, count = self.best, len(self.best.design.names)
        return (
            f"<AskedComparison of {self.plans[0].asked} to {self.plans[-1].asked} of {count} attributes asked: best is "
            f"{best.asked}, with {best.gain:.3g} × less error than all>"
        )

    def _repr_html_(self) -> str:
        from lambdarr.reporting.notebooks import asked_html

        return asked_html(self)

    def to_frame(self, *, library: str = "pyarrow") -> Any:
        """Return the plans as a frame, a row for each."""
        columns: dict[str, Any] = {
            "asked": [plan.asked for plan in self.plans],
            "reports": [plan.reports for plan in self.plans],
            "error": [plan.error for plan in self.plans],
            "gain": [plan.gain for plan in self.plans],
        }
        for place, name in enumerate(self.plans[0].design.names):
            columns[f"lambda {name}"] = [plan.lams[place] for plan in self.plans]
        return as_frame(pa.table(columns), library)


def compare_asked(
    source: Any, *, epsilon: float, workload: Any = 1, n: int = 1_000, columns: Iterable[str] | None = None
) -> AskedComparison:
    """Return the error to expect of the tables wanted for every number of attributes that may be asked, at the same ε.

    Parameters
    ----------
    source : table, path, or attributes
        As for ``lambdarr.design``.
    epsilon : float
        ε of the whole report, spread over the attributes in the way that is best for the workload.
    workload : int, list or mapping
        The tables that matter, as for ``lambdarr.design``: 1 for shares, 2 for how pairs go together, a list of tables,
        or a mapping from tables to weights.
    n : int
        Number of respondents; it does not decide which number is best.
    columns : iterable of str, optional
        Which columns become attributes; by default all.

    Notes
    -----
    Eq. (42) and (43) of docs/theory.md, for evenly spread people; other people's errors hardly differ. The best
    of these designs is what ``lambdarr.design`` makes with ``asked="auto"``.

    Examples
    --------
    >>> import lambdarr as lr
    >>> found = lr.compare_asked({"sex": ["F", "M"], "vote": ["A", "B", "C"], "age": range(6)}, epsilon=1)
    >>> [(plan.asked, round(plan.gain, 2)) for plan in found.plans], found.best.asked
    ([(1, 3.21), (2, 1.43), (3, 1.0)], 1)
    """
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 1:
        msg = f"n must be a whole number, 1 or more, got {n!r}"
        raise DesignError(msg)
    attributes = design(source, epsilon=epsilon, columns=columns).attributes
    count = len(attributes)
    largest = max(map(len, workload_of(workload, [attribute.name for attribute in attributes])))
    designs = [
        design(attributes, epsilon=epsilon, workload=workload, asked=asked) for asked in range(largest, count + 1)
    ]
    errors = [made.certificate.error for made in designs if made.certificate is not None]
    plans = (
        AskedPlan(made.asked or count, made, n * made.share_asked_all(largest), error / n, errors[-1] / error)
        for made, error in zip(designs, errors, strict=True)
    )
    return AskedComparison(tuple(plans))
