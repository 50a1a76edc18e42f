"""What drawn columns give away: over the individuals, and to someone who knows all other rows of the file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from lambdarr.channel import is_number
from lambdarr.drawing import undone_sentence
from lambdarr.errors import DesignError
from lambdarr.redrawing import checked_columns
from lambdarr.sources import check_present, open_source

if TYPE_CHECKING:
    import pyarrow as pa

    from lambdarr.designs import Design
    from lambdarr.drawing import Drawn, Method


@dataclass(frozen=True, slots=True)
class DrawnLeak:
    """What a drawn column gives away.

    Parameters
    ----------
    name : str
        The column.
    lam : float
        The keep rate λ.
    method : {"drawn", "expected"}
        How it is randomized; of the expected form, which anyone undoes, nothing is left to measure: 0 bits.
    individuals : int or None
        Number n of individuals; None if it was not told, and what depends on it is then nan.
    bits, strength : float
        H(P) and β over the n individuals: how uncertain it is whose value a row reports.
    truthfulness : float
        λ + (1 − λ)/n: the chance that a row reports its own individual's value, of which others may have the same.
    epsilon : float
        Infinite: a value that nobody else has can come from its owner alone.
    exposure : float
        The chance that a value nobody else has stands somewhere in the release. Someone who knows all other rows then
        knows it for certain, and whose it is.
    unique : int or None
        How many values of the file nobody else has, if the truths were given.
    """

    name: str
    lam: float
    method: Method
    individuals: int | None
    bits: float
    strength: float
    truthfulness: float
    epsilon: float
    exposure: float
    unique: int | None = None

    def posterior(self, prior: float, others: int) -> float:
        """Return the probability of a value from its row's report alone, for someone who knows all other rows' truths.

        The reports of the other rows tell more: this value may stand in more of them than the others' truths explain.
        Someone who has the whole release may therefore become surer than this says, at worst much surer.

        Parameters
        ----------
        prior : float
            The probability that they gave the value before.
        others : int
            How many of the other rows have this value.

        Notes
        -----
        With c others among n rows, a row whose truth is v reports v with probability λ + (1 − λ)(c + 1)/n, and one with
        another truth with (1 − λ) c/n: docs/theory.md, eq. (58). If c = 0, it is certain.

        Examples
        --------
        >>> import lambdarr as lr
        >>> leak = lr.audit(lr.design({}, lam=0.5, drawn=["income"]), individuals=1000).drawn[0]
        >>> leak.posterior(0.01, others=9), leak.posterior(0.01, others=0)
        (0.532, 1.0)
        """
        if not is_number(prior) or not 0 <= prior <= 1:
            msg = f"prior must be a probability, got {prior!r}"
            raise DesignError(msg)
        if self.individuals is None:
            msg = "a posterior needs the number of individuals; give lr.audit(…, individuals=n)"
            raise DesignError(msg)
        if isinstance(others, bool) or not isinstance(others, int) or not 0 <= others < self.individuals:
            msg = f"others must be a number of rows, from 0 to the {self.individuals - 1:,} others, got {others!r}"
            raise DesignError(msg)
        if self.method == "expected":
            return 1.0 if prior else 0.0
        redrawn = (1 - self.lam) / self.individuals
        own, else_ = prior * (self.lam + redrawn * (others + 1)), (1 - prior) * redrawn * others
        return own / (own + else_) if own else 0.0

    @property
    def sentence(self) -> str:
        """What this means, in words."""
        if self.method == "expected":
            return undone_sentence((self.name,))
        measured = (
            ""
            if self.individuals is None
            else f"{self.bits:.3f} bits over {self.individuals:,} individuals, strength {self.strength:.1%}, "
            f"{self.truthfulness:.1%} of the rows report their own value. "
        )
        unique = ""
        if self.unique is not None:
            are = "value of this file is" if self.unique == 1 else "values of this file are"
            unique = f" {self.unique:,} {are} of that kind."
        return (
            f"{self.name}, drawn with λ = {self.lam:.4g}: {measured}There is no finite ε: someone who knows all other "
            "rows sees a value that nobody else has for what it is, wherever it is reported, which happens with "
            f"probability {self.exposure:.1%}.{unique} Of a value that others share, a row alone tells less, and the "
            "whole release more than its row alone."
        )


def drawn_leaks(design: Design, individuals: int | None, truths: Any = None) -> tuple[DrawnLeak, ...]:
    """Return what the drawn columns of a design give away, for a number of individuals or a file."""
    if individuals is not None and (
        isinstance(individuals, bool) or not isinstance(individuals, int) or individuals < 2
    ):
        msg = f"individuals must be how many people are in the file, at least 2, got {individuals!r}"
        raise DesignError(msg)
    if not design.drawn:
        return ()
    files = drawn_values(design, truths) if truths is not None else {}
    return tuple(_leak(column, individuals, files.get(column.name)) for column in design.drawn)


def _leak(column: Drawn, n: int | None, values: pa.Array | None) -> DrawnLeak:
    unique = None
    if values is not None:
        values = values.drop_null() if column.missing_is_public else values
        n = len(values)
        unique = pc.sum(pc.equal(pc.value_counts(values).field("counts"), 1)).as_py() or 0
    if column.is_expected:
        return DrawnLeak(column.name, column.lam, column.method, n, 0.0, 0.0, 1.0, math.inf, 1.0, unique)
    lam = column.lam
    if n is None:
        exposure = 1 - (1 - lam) * math.exp(lam - 1)  # of many individuals
        return DrawnLeak(column.name, lam, column.method, None, math.nan, math.nan, math.nan, math.inf, exposure)
    redrawn = (1 - lam) / n
    own = lam + redrawn
    # −d log₂ d − (n − 1) o log₂ o, as for n categories
    bits = -own * math.log2(own) - ((n - 1) * redrawn * math.log2(redrawn) if redrawn else 0.0)
    exposure = 1 - (1 - own) * (1 - redrawn) ** (n - 1)
    return DrawnLeak(column.name, lam, column.method, n, bits, bits / math.log2(n), own, math.inf, exposure, unique)


def drawn_values(design: Design, truths: Any) -> dict[str, pa.Array]:
    """Return the drawn columns of a file, checked as they are before they are randomized; a text's numbers as such."""
    source = open_source(truths).again()
    check_present(design.drawn_names, source.names)
    columns = checked_columns(source.batches(design.drawn_names), design.drawn, is_text=source.as_text)
    return {name: column.typed for name, column in columns.items()}
