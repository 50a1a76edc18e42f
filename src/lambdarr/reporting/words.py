"""Numbers as people say them, for those who do not work with them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lambdarr.designs import Design


def design_in_words(design: Design) -> str:
    """Return in two sentences what a design means for an answer.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design_in_words(lr.design({"smokes": ["no", "yes"]}, lam=0.4))
    '7 in 10 answers are true. No single answer can be held against anyone more than 2.4 to 1.'
    """
    channels = zip(design.names, design.channels, strict=True)
    pairs = [(channel.truthfulness, channel.epsilon, name) for name, channel in channels if channel.lam < 1]
    if not pairs:
        return "Every answer is true: this design randomizes nothing, and protects nobody."
    least, most = min(pairs), max(pairs)
    strongest = max(pairs, key=lambda pair: pair[1])
    if share_in_words(least[0]) == share_in_words(most[0]):
        said = f"{share_in_words(least[0]).capitalize()} answers are true."
    else:
        low, high = share_in_words(least[0]), share_in_words(most[0])
        said = f"From {low} (“{least[2]}”) to {high} (“{most[2]}”) of the answers are true."
    of = f" (“{strongest[2]}”)" if len(pairs) > 1 else ""
    said += f" No single answer can be held against anyone more than {odds_in_words(strongest[1])}{of}."
    if len(pairs) > 1:
        whole = math.fsum(pair[1] for pair in pairs)
        said += f" A whole record of {len(pairs)} answers: {odds_in_words(whole)}."
    return said


def share_in_words(share: float) -> str:
    """Return a share as people say it.

    Examples
    --------
    >>> share_in_words(0.8), share_in_words(0.733), share_in_words(0.9996), share_in_words(1)
    ('8 in 10', '73 in 100', '9,996 in 10,000', 'all')
    """
    if share >= 1:
        return "all"
    for of, slack in ((10, 0.05), (100, 0.5), (1_000, 0.5), (10_000, 0.5)):
        whole = round(share * of)
        if 0 < whole < of and abs(share * of - whole) <= slack:
            return f"{whole:,} in {of:,}"
    return "almost all" if share > 0.5 else "next to none of the"


def odds_in_words(epsilon: float) -> str:
    """Return e^ε as odds, never too small: what is promised has to hold.

    Examples
    --------
    >>> odds_in_words(0.8755), odds_in_words(3.0), odds_in_words(40), odds_in_words(float("inf"))
    ('2.5 to 1', '21 to 1', '10¹⁸ to 1', 'no limit')
    """
    if math.isinf(epsilon):
        return "no limit"
    if epsilon > math.log(1e9):
        return f"{_power(math.ceil(epsilon / math.log(10)))} to 1"
    odds = math.exp(epsilon)
    dust = 1e-6 * odds  # λ lies on a grid, so that 5.5 may be 5.50000001
    return f"{math.ceil(10 * (odds - dust)) / 10:g} to 1" if odds < 20 else f"{math.ceil(odds - dust):,} to 1"


def size_in_words(design: Design) -> str:
    """Return how many attributes a design has, in words."""
    return f"{len(design.names):,} attribute{'s' if len(design.names) != 1 else ''}"


def times_in_words(factor: float) -> str:
    """Return how many times, as in: 2.8 times as many."""
    return f"{factor:,.1f} times" if factor < 100 else f"{factor:,.0f} times"


def error_in_words(error: float) -> str:
    """Return a total-variation error; beyond 1 it tells nothing more."""
    return "more than 1" if error > 1 else f"{error:.3f}" if error >= 0.001 else "less than 0.001"


def count_in_words(number: float) -> str:
    """Return a number of reports, rounded up to two digits.

    Examples
    --------
    >>> count_in_words(40.2), count_in_words(12_508.0), count_in_words(3e15)
    ('41', '13,000', 'about 10¹⁵')
    """
    number = max(number, 1.0)
    if number > 1e12:
        return f"about {_power(round(math.log10(number)))}"
    digits = max(len(f"{number:.0f}") - 2, 0)
    return f"{math.ceil(number / 10**digits) * 10**digits:,}"


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
