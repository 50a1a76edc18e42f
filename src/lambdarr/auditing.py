"""What a design gives away, attribute by attribute and for the whole record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from lambdarr.channel import is_number
from lambdarr.conditions import probabilities_of
from lambdarr.designs import check_design
from lambdarr.errors import DesignError
from lambdarr.estimation import Estimate
from lambdarr.exposing import DrawnLeak, drawn_leaks
from lambdarr.likelihood import project_to_simplex
from lambdarr.releases import Release, expected_release

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.conditions import Prior
    from lambdarr.designs import Design
    from lambdarr.domain import Attribute


MOST_TOGETHER = 4_096
"""Cells of a joint prior."""


@dataclass(frozen=True, slots=True)
class Leak:
    """What one attribute, or the whole record, gives away.

    Parameters
    ----------
    name : str
        The attribute's name; "joint" for the record.
    size : int
        Number of categories, or of possible records.
    bits, strength, epsilon, truthfulness : float
        As of ``Channel`` and ``Design``.
    capacity : float
        log₂ r − H(P): the most bits that one report can tell about its truth, whatever the prior.
    guess_gain : float
        By how much a report multiplies the chance that the best single guess is right, for the given prior;
        1 + (r − 1)λ for the uniform one, which is the worst case.
    worst_posterior : float
        The highest probability of a truth that any report can leave an observer with, for the given prior.
    """

    name: str
    size: int
    bits: float
    strength: float
    epsilon: float
    truthfulness: float
    capacity: float
    guess_gain: float
    worst_posterior: float


@dataclass(frozen=True, slots=True)
class Together:
    """What a whole report gives away about one attribute, by way of the others that go with it.

    Parameters
    ----------
    name : str
        The attribute; "joint" for the record.
    guess_before, guess_after : float
        The chance that the best guess of it is right, before and after seeing the whole report.
    worst_posterior : float
        The highest probability of any of its categories that a whole report can leave an observer with.

    Notes
    -----
    Where respondents answer m′ of the attributes, a report has these alone. Both numbers after it are then for those m′
    of the prior's attributes that tell most, each for its own worst set.
    """

    name: str
    guess_before: float
    guess_after: float
    worst_posterior: float


@dataclass(frozen=True, slots=True, repr=False)
class Shuffled:
    """The ε of a record whose report is shuffled among others, so that nobody knows whose is whose.

    Parameters
    ----------
    epsilon : float
        What is known to hold, but for a chance δ: a bound below the ε of the report itself, or that.
    reports : int
        Number n of reports that are shuffled.
    delta : float
        The chance δ.
    reason : str
        Why nothing is gained; empty if something is.
    """

    epsilon: float
    reports: int
    delta: float
    reason: str

    def __repr__(self) -> str:
        gained = f": nothing gained, {self.reason}" if self.reason else ""
        limits = f"ε ≤ {upwards(self.epsilon, 4):,.4f}, δ = {self.delta:.2g}"
        return f"<Shuffled among {_reports(self.reports)}: {limits}{gained}>"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON; what is infinite is None."""
        return _plain(asdict(self))


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """What a design gives away.

    Parameters
    ----------
    attributes : tuple of Leak
        One for each attribute.
    joint : Leak
        The whole record; under the prior, attributes count as independent.
    released : tuple of str
        What is released unrandomized: nothing above speaks of it.
    prior_given : bool
        Whether guess gain and posterior are for a prior that was given, or for the uniform one.
    public_missing : tuple of str
        Attributes whose missing values are public: all see who did not answer, and the above speaks of those who did.
    asked : int or None
        How many of the attributes each respondent answers; None if all. An attribute's measures are then those of an
        answer that was asked for. Of the record's, ε and worst posterior are of the worst set of attributes, bits,
        strength, capacity, truthfulness and guess gain the mean over all sets.
    together : tuple of Together
        What a whole report tells about each attribute and the record, if a joint prior was given.
    release : Release, optional
        What a file's release leaves of it, if the truths were given.
    reports : int
        How many fresh reports of the same truth this is about.
    drawn : tuple of DrawnLeak
        The columns drawn over the individuals of the file. The joint does not speak of them: there is no finite ε.
    """

    attributes: tuple[Leak, ...]
    joint: Leak
    released: tuple[str, ...]
    prior_given: bool
    public_missing: tuple[str, ...]
    asked: int | None = None
    together: tuple[Together, ...] = ()
    release: Release | None = None
    reports: int = 1
    drawn: tuple[DrawnLeak, ...] = ()

    def __repr__(self) -> str:
        about = "one report" if self.reports == 1 else f"{self.reports:,} reports"
        joint = self.joint
        known = not math.isnan(joint.worst_posterior)
        believed = f", posterior up to {upwards(joint.worst_posterior, 3):.1%}" if known else ""
        return (
            f"<Audit of {about} of {len(self.attributes)} attributes: ε ≤ {upwards(joint.epsilon, 3):,.3f}{believed}>"
        )

    def repeated(self, times: int) -> Audit:
        """Return what several fresh reports of the same truth give away.

        ε adds up; the worst case is that all of them say the same. A report that is kept and given again tells nothing
        new, and one that is randomized once more, by P(λ'), is a report with λλ'. Bits, strength and the guess gain of
        several reports are not known here: they are nan, and left out wherever the audit is shown.
        """
        _check_number("times (--repeated)", times)
        leaks = tuple(_repeated(leak, times) for leak in self.attributes)
        # where a part of the attributes is asked, it is another part each time
        posterior = math.prod(leak.worst_posterior for leak in leaks) if self.asked is None else math.nan
        joint = replace(_repeated(self.joint, times), worst_posterior=posterior)
        return replace(self, attributes=leaks, joint=joint, together=(), release=None, reports=times * self.reports)

    def shuffled(self, n: int, delta: float = 1e-6) -> Shuffled:
        """Return the ε of the record after its report is shuffled among n of them, with a chance δ of more.

        Eq. (44) of docs/theory.md, by Feldman, McMillan and Talwar (Hiding Among the Clones, FOCS 2021):
        an upper bound, and a weak one where ε is large. Where it gains nothing the ε of the report itself is returned,
        with the reason: too few reports, or something public that tells them apart, as kept columns and who answered
        what.

        Examples
        --------
        >>> import lambdarr as lr
        >>> found = lr.audit(lr.design({"sex": ["F", "M"]}, epsilon=1.0))
        >>> found.shuffled(1_000_000).epsilon
        0.0320
        >>> found.shuffled(500).reason
        'among 500 reports the bound says nothing; it takes 662'
        """
        _check_number("n (--shuffled)", n)
        if not is_number(delta) or not 0 < delta < 1:
            msg = f"delta must be a probability between 0 and 1, got {delta!r}"
            raise DesignError(msg)
        local = self.joint.epsilon
        amplified, reason = local, self._why_not_shuffled(n, delta)
        if not reason:
            spread = 8 * math.sqrt(math.exp(local) * math.log(4 / delta) / n) + 8 * math.exp(local) / n
            amplified = math.log1p(-math.expm1(-local) * spread) * (1 + 1e-12)  # more than rounding takes
            if amplified >= local:
                reason = (
                    f"among {_reports(n)} the bound is {amplified:.4g}, no less than without; it takes more of them"
                )
        return Shuffled(min(local, amplified), n, delta, reason)

    def _why_not_shuffled(self, n: int, delta: float) -> str:
        """Return why eq. (44) does not apply, if it does not."""
        if self.drawn:
            return "columns drawn over the individuals of the file have no finite ε"
        if self.released or self.public_missing or self.asked is not None:
            return "what is public (columns released as they are, or who answered what) tells reports apart"
        fewest = math.log(16 * math.log(4 / delta)) + self.joint.epsilon
        if fewest > math.log(n):
            needed = f"{math.ceil(math.exp(fewest)):,}" if fewest < 30 else f"10^{fewest / math.log(10):.0f}"
            return f"among {_reports(n)} the bound says nothing; it takes {needed}"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain values, ready for JSON; what is infinite is None, what is not known is left out."""
        values = asdict(self)
        return {
            **values,
            "attributes": [*map(_plain, values["attributes"])],
            "joint": _plain(values["joint"]),
            "drawn": [
                {**_plain(leak), "sentence": of.sentence} for leak, of in zip(values["drawn"], self.drawn, strict=True)
            ],
        }

    def plot(self) -> Any:
        """Return an Altair chart of how sure a guess may become by one report; needs the extra ``report``."""
        from lambdarr.reporting.notebooks import audit_plot

        return audit_plot(self)

    def _repr_html_(self) -> str:
        from lambdarr.reporting.notebooks import audit_html

        return audit_html(self)


def audit(
    design: Design,
    prior: Mapping[str, Prior] | Estimate | None = None,
    *,
    truths: Any = None,
    individuals: int | None = None,
) -> Audit:
    """Return what a design gives away.

    Parameters
    ----------
    design : Design
        The design; no data are needed.
    prior : mapping, optional
        What an observer believes before seeing a report: attribute → probabilities, in the categories' order or as a
        mapping from category. Attributes that are not named are uniform. An ``Estimate`` is a joint prior: what a whole
        report tells by way of attributes that go together is then in ``together``.
    truths : table or path, optional
        The file that is to be released, for what of it is expected to be left true. It does not go anywhere. Columns
        that are released with it count only if the design keeps them: ``design.keeping(["region"])``.
    individuals : int, optional
        How many people are in the file, for drawn columns: they are its categories. The truths tell it as well.

    Examples
    --------
    >>> import lambdarr as lr
    >>> found = lr.audit(lr.design({"sex": ["F", "M"]}, lam=0.8), prior={"sex": [0.9, 0.1]})
    >>> found.joint.capacity, found.joint.guess_gain, found.joint.worst_posterior
    (0.531, 1.0, 0.988)
    """
    check_design(design)
    drawn = drawn_leaks(design, individuals, truths)
    together: tuple[Together, ...] = ()
    if isinstance(prior, Estimate):
        together, prior = _together(design, prior), _marginals(prior)
    if prior is not None and not isinstance(prior, Mapping):
        msg = f"prior must be a mapping from attribute to probabilities, got {type(prior).__name__}"
        raise DesignError(msg)
    given = {} if prior is None else dict(prior)
    for name in given:
        if name not in design.names:
            msg = f"the prior names {name!r}, which is no attribute of the design; it has: {', '.join(design.names)}"
            raise DesignError(msg)
    priors = [_prior(attribute, given.get(attribute.name)) for attribute in design.attributes]
    leaks = tuple(map(_leak, design.attributes, design.channels, priors))
    joint = Leak(
        name="joint",
        size=math.prod(leak.size for leak in leaks),
        bits=design.bits,
        strength=design.strength,
        epsilon=math.inf if design.drawn else _epsilon(design.channels, design.asked),
        truthfulness=design.truthfulness,
        capacity=design.share_asked * math.fsum(leak.capacity for leak in leaks),
        guess_gain=design.mean_product([leak.guess_gain for leak in leaks]),
        worst_posterior=_worst_posterior(design, leaks, priors),
    )
    return Audit(
        attributes=leaks,
        joint=joint,
        released=design.released,
        prior_given=bool(given),
        public_missing=design.public_missing,
        asked=design.asked,
        together=together,
        release=None if truths is None else expected_release(design, truths),
        drawn=drawn,
    )


def _worst_posterior(design: Design, leaks: Sequence[Leak], priors: Sequence[NDArray[np.float64]]) -> float:
    """Return the highest belief in a whole record: raised by a report in what is asked, as it was in the rest."""
    before = [float(pi.max()) for pi in priors]
    raised = sorted((leak.worst_posterior / most for leak, most in zip(leaks, before, strict=True)), reverse=True)
    return math.prod(before) * math.prod(raised[: design.asked])


def _prior(attribute: Attribute, given: Prior | None) -> NDArray[np.float64]:
    return np.full(attribute.size, 1 / attribute.size) if given is None else probabilities_of(attribute, given)


def _check_number(name: str, reports: object) -> None:
    if isinstance(reports, bool) or not isinstance(reports, int) or reports < 1:
        msg = f"{name} must be a whole number of reports, 1 or more, got {reports!r}"
        raise DesignError(msg)


def upwards(number: float, decimals: int) -> float:
    """Return a limit rounded up to so many decimals, as it is shown: what is stated is a promise.

    Examples
    --------
    >>> upwards(1.09861, 3), upwards(0.9, 3), upwards(0.9004, 3)
    (1.099, 0.9, 0.901)
    """
    if not math.isfinite(number):
        return number
    scale = 10.0**decimals
    dust = 1e-9 * min(number, 1.0)  # λ lies on a grid, so that 0.9 may be 0.90000000004
    return math.ceil((number - dust) * scale) / scale


def _reports(n: int) -> str:
    return "1 report" if n == 1 else f"{n:,} reports"


_DIGITS = Context(prec=60)


def _epsilon(channels: Sequence[Channel], asked: int | None = None) -> float:
    """Return the smallest float that is no smaller than the exact ε: what is stated is a promise.

    ε = ln Π (T + h)/h over the channels, or over as many as are asked, those that give away most: a logarithm of one
    ratio of whole numbers, taken to 60 digits.
    """
    if any(channel.width == 0 for channel in channels):
        return math.inf
    ratios = sorted((Fraction(c.threshold + c.width, c.width) for c in channels), reverse=True)[:asked]
    ratio = math.prod(ratios, start=Fraction(1))
    exact = _DIGITS.ln(_DIGITS.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    above = _DIGITS.multiply(exact, Decimal("1." + 49 * "0" + "1"))  # the last ten digits are left to rounding
    nearest = float(above)
    return nearest if Decimal(nearest) >= above else _rounded_up(nearest)


def _rounded_up(value: float) -> float:
    return math.nextafter(value, math.inf)


def _repeated(leak: Leak, times: int) -> Leak:
    """Return the leak of several fresh reports; the worst posterior is after all of them named the same category."""
    epsilon = _rounded_up(times * leak.epsilon)
    odds = leak.worst_posterior / (1 - leak.worst_posterior) if leak.worst_posterior < 1 else math.inf
    # one report has shifted the odds by e^ε already
    shifted = odds * math.exp(min((times - 1) * leak.epsilon, 700.0)) if math.isfinite(odds) else math.inf
    posterior = shifted / (1 + shifted) if math.isfinite(shifted) else 1.0
    return replace(leak, epsilon=epsilon, capacity=min(times * leak.capacity, math.log2(leak.size)),
                   worst_posterior=posterior, guess_gain=math.nan, bits=math.nan, strength=math.nan)  # fmt: skip


def _marginals(prior: Estimate) -> dict[str, Prior]:
    """Return the one-way tables of an estimate, without negative shares."""
    proper = project_to_simplex(prior.values)
    axes = range(proper.ndim)
    return {
        name: proper.sum(axis=tuple(other for other in axes if other != axis))
        for axis, name in enumerate(prior.attributes)
    }


def _together(design: Design, prior: Estimate) -> tuple[Together, ...]:
    """Return what a whole report tells about each attribute of a joint prior, and about the record."""
    part = design.select(prior.attributes)
    pi = project_to_simplex(prior.values)
    if pi.shape != tuple(channel.size for channel in part.channels):
        msg = "the prior has other categories than the design; estimate it with this design"
        raise DesignError(msg)
    if pi.size > MOST_TOGETHER:
        msg = f"a joint prior of {pi.size:,} cells is larger than {MOST_TOGETHER:,}; estimate fewer attributes"
        raise DesignError(msg)
    # more answers never tell less, so the worst sets have as many of the prior's attributes as anyone is asked
    sets = combinations(range(pi.ndim), min(design.asked or pi.ndim, pi.ndim))
    before = _beliefs(pi, part.channels, asked=())[:, 0]
    after = np.max([_beliefs(pi, part.channels, asked) for asked in sets], axis=0)
    names = (*part.names, "joint")
    return tuple(Together(name, *map(float, numbers)) for name, *numbers in zip(names, before, *after.T, strict=True))


def _beliefs(pi: NDArray[np.float64], channels: Sequence[Channel], asked: Sequence[int]) -> NDArray[np.float64]:
    """Return the best guess and the highest belief about each attribute, and the record, after a report of some."""
    P: NDArray[Any] = np.ones((1, 1))
    for axis, channel in enumerate(channels):
        # who is not asked has one report, whatever the truth
        P = np.kron(P, channel.matrix() if axis in asked else np.ones((channel.size, 1)))
    both = pi[..., None] * P.reshape(*pi.shape, -1)  # truth × report
    reported = both.sum(axis=tuple(range(pi.ndim)))
    found = []
    for axis in (*range(pi.ndim), None):
        others = () if axis is None else tuple(other for other in range(pi.ndim) if other != axis)
        best = both.sum(axis=others).reshape(-1, reported.size).max(axis=0)
        found.append((best.sum(), (best[reported > 0] / reported[reported > 0]).max()))
    return np.array(found)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if value == math.inf else value
        for name, value in values.items()
        if not (isinstance(value, float) and math.isnan(value))
    }


def _leak(attribute: Attribute, channel: Channel, pi: NDArray[np.float64]) -> Leak:
    d, o = channel.truthfulness, channel.off_diagonal
    # Seeing y, the best guess is y itself (π_y d) or the likeliest other category (π_x o).
    likeliest, second = (np.sort(pi)[-1], np.sort(pi)[-2])
    best_other = np.where(pi == likeliest, likeliest if (pi == likeliest).sum() > 1 else second, likeliest)
    right = np.maximum(pi * d, best_other * o).sum()
    return Leak(
        name=attribute.name,
        size=channel.size,
        bits=channel.bits,
        strength=channel.strength,
        epsilon=_epsilon([channel]),
        truthfulness=channel.truthfulness,
        capacity=channel.max_bits - channel.bits,
        guess_gain=float(right / likeliest),
        worst_posterior=channel.worst_posterior(pi),
    )
