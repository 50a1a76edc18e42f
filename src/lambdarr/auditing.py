"""What a design gives away, attribute by attribute and for the whole record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lambdarr.designs import check_design
from lambdarr.errors import DesignError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.domain import Attribute

    Prior = Sequence[float] | Mapping[Any, float] | NDArray[np.float64]


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
    """

    attributes: tuple[Leak, ...]
    joint: Leak
    released: tuple[str, ...]
    prior_given: bool
    public_missing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain values, ready for JSON."""
        return asdict(self)

    def plot(self) -> Any:
        """Return an Altair chart of how sure a guess may become by one report; needs the extra ``report``."""
        from lambdarr.reporting.notebooks import audit_plot

        return audit_plot(self)

    def _repr_html_(self) -> str:
        from lambdarr.reporting.notebooks import audit_html

        return audit_html(self)


def audit(design: Design, prior: Mapping[str, Prior] | None = None) -> Audit:
    """Return what a design gives away.

    Parameters
    ----------
    design : Design
        The design; no data are needed.
    prior : mapping, optional
        What an observer believes before seeing a report: attribute → probabilities, in the categories' order or as a
        mapping from category. Attributes that are not named are uniform.

    Examples
    --------
    >>> import lambdarr as lr
    >>> found = lr.audit(lr.design({"sex": ["F", "M"]}, lam=0.8), prior={"sex": [0.9, 0.1]})
    >>> found.joint.capacity, found.joint.guess_gain, found.joint.worst_posterior
    (0.531, 1.0, 0.988)
    """
    check_design(design)
    if prior is not None and not isinstance(prior, Mapping):
        msg = f"prior must be a mapping from attribute to probabilities, got {type(prior).__name__}"
        raise DesignError(msg)
    given = {} if prior is None else dict(prior)
    for name in given:
        if name not in design.names:
            msg = f"the prior names {name!r}, which is no attribute of the design; it has: {', '.join(design.names)}"
            raise DesignError(msg)
    leaks = tuple(
        _leak(attribute, channel, given.get(attribute.name))
        for attribute, channel in zip(design.attributes, design.channels, strict=True)
    )
    joint = Leak(
        name="joint",
        size=math.prod(leak.size for leak in leaks),
        bits=design.bits,
        strength=design.strength,
        epsilon=design.epsilon,
        truthfulness=design.truthfulness,
        capacity=math.fsum(leak.capacity for leak in leaks),
        guess_gain=math.prod(leak.guess_gain for leak in leaks),
        worst_posterior=math.prod(leak.worst_posterior for leak in leaks),
    )
    return Audit(leaks, joint, design.released, bool(given), design.public_missing)


def _leak(attribute: Attribute, channel: Channel, prior: Prior | None) -> Leak:
    pi = np.full(channel.size, 1 / channel.size) if prior is None else _probabilities(attribute, prior)
    d, o = channel.truthfulness, channel.off_diagonal
    # Seeing y, the best guess is y itself (π_y d) or the likeliest other category (π_x o).
    likeliest, second = (np.sort(pi)[-1], np.sort(pi)[-2])
    best_other = np.where(pi == likeliest, likeliest if (pi == likeliest).sum() > 1 else second, likeliest)
    right = np.maximum(pi * d, best_other * o).sum()
    # A report y ≠ x never makes x likelier than it was before, so the worst case is on the diagonal.
    reported = channel.lam * pi + o
    posterior = np.divide(pi * d, reported, out=np.zeros_like(pi), where=reported > 0)
    return Leak(
        name=attribute.name,
        size=channel.size,
        bits=channel.bits,
        strength=channel.strength,
        epsilon=channel.epsilon,
        truthfulness=channel.truthfulness,
        capacity=channel.max_bits - channel.bits,
        guess_gain=float(right / likeliest),
        worst_posterior=float(posterior.max()),
    )


def _probabilities(attribute: Attribute, prior: Prior) -> NDArray[np.float64]:
    if isinstance(prior, Mapping):
        prior = {None if key == attribute.missing is not None else key: chance for key, chance in prior.items()}
        if unknown := [key for key in prior if key not in attribute.values]:
            msg = f"the prior of {attribute.name!r} names {unknown[0]!r}, which is not one of its categories"
            raise DesignError(msg)
        pi = np.array([prior.get(category, 0.0) for category in attribute.values], dtype=np.float64)
    else:
        try:
            pi = np.asarray(prior, dtype=np.float64)
        except (TypeError, ValueError):
            msg = f"the prior of {attribute.name!r} must be probabilities in the order of its categories, or a mapping"
            raise DesignError(msg) from None
    if pi.shape != (attribute.size,):
        msg = f"the prior of {attribute.name!r} must have {attribute.size} probabilities, got {pi.size}"
        raise DesignError(msg)
    if not (pi >= 0).all() or not math.isclose(pi.sum(), 1, abs_tol=1e-6):  # also catches nan
        msg = f"the prior of {attribute.name!r} must be probabilities that sum to 1, got a sum of {pi.sum():.6g}"
        raise DesignError(msg)
    return np.asarray(pi / pi.sum())
