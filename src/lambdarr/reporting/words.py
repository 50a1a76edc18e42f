"""Numbers as people say them, for those who do not work with them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lambdarr.designs import Design


def design_in_words(design: Design) -> str:
    """Return in a few sentences what a design means for an answer.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design_in_words(lr.design({"smokes": ["no", "yes"]}, lam=0.4))
    '7 in 10 answers are true. No single answer can be held against anyone more than 2.4 to 1.'
    >>> design_in_words(lr.design({"smokes": ["no", "yes"], "drinks": ["no", "yes"]}, lam=0.4, asked=1))
    'Each person is asked 1 of 2 questions, drawn at random. 7 in 10 answers are true. ...'
    """
    channels = zip(design.names, design.channels, strict=True)
    pairs = [(channel.truthfulness, channel.epsilon, name) for name, channel in channels if channel.lam < 1]
    if not pairs:
        return "Every answer is true: this design randomizes nothing, and protects nobody."
    least, most = min(pairs), max(pairs)
    strongest = max(pairs, key=lambda pair: pair[1])
    answers = "answers" if len(pairs) == len(design.names) else "randomized answers"
    low, high = shares_in_words([least[0], most[0]])
    said = asked_in_words(design)
    if low == high:
        said += f"{low.capitalize()} {answers} are true."
    else:
        said += f"From {low} (“{least[2]}”) to {high} (“{most[2]}”) of the {answers} are true."
    of = f" (“{strongest[2]}”)" if len(pairs) > 1 else ""
    single = "answer" if answers == "answers" else "one of them"
    said += f" No single {single} can be held against anyone more than {odds_in_words(strongest[1])}{of}."
    together = sorted((pair[1] for pair in pairs), reverse=True)[: design.asked]
    if len(together) > 1:
        said += f" A whole record of {len(together)} answers: {odds_in_words(math.fsum(together))}."
    return said


def asked_in_words(design: Design) -> str:
    """Return how many of the questions each person is asked, and a space; nothing if all."""
    if not design.is_sampled:
        return ""
    return f"Each person is asked {design.asked} of {design.out_of} questions, drawn at random. "


def quoted(names: Sequence[str], most: int = 12) -> str:
    """Return names as a list in a sentence.

    Examples
    --------
    >>> quoted(["a", "b", "c"]), quoted(["a", "b", "c"], 2)
    ('“a”, “b” and “c”', '“a”, “b” and 1 more')
    """
    shown = [f"“{name}”" for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most:,} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def share_in_words(share: float) -> str:
    """Return a share as people say it.

    Examples
    --------
    >>> share_in_words(0.8), share_in_words(0.733), share_in_words(0.9996), share_in_words(1)
    ('8 in 10', '73 in 100', '9,996 in 10,000', 'all')
    """
    return shares_in_words([share])[0]


def shares_in_words(shares: Sequence[float]) -> list[str]:
    """Return shares that stand side by side, all of the same number of people: they are to be compared.

    Examples
    --------
    >>> shares_in_words([0.4, 0.733]), shares_in_words([0.5, 1])
    (['40 in 100', '73 in 100'], ['5 in 10', 'all'])
    """
    of = max((_people(share) for share in shares), default=10)
    return [_of_people(share, of) for share in shares]


def _people(share: float) -> int:
    """Return of how many people a share is best said: the fewest that do not round much of it away."""
    if share >= 1:
        return 10
    for of, slack in ((10, 0.05), (100, 0.5), (1_000, 0.5)):
        whole = round(share * of)
        if 0 < whole < of and abs(share * of - whole) <= slack:
            return of
    return 10_000


def _of_people(share: float, of: int) -> str:
    if share >= 1:
        return "all"
    whole = round(share * of)
    if 0 < whole < of:
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


def size_in_words(designs: Sequence[Design]) -> str:
    """Return how many attributes designs have, in words."""
    count = len({name for design in designs for name in design.names})
    return f"{count:,} attribute{'s' if count != 1 else ''}"


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
