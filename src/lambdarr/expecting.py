"""What a design lets be learnt, before any data: the error to expect of tables, and how many reports they need.

By eq. (22) of docs/theory.md the total error of a table hardly depends on the unknown distribution. For evenly spread
answers it is a product over the table's attributes, so that the best and the worst table of any order are known without
looking at all of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from lambdarr.designs import check_design
from lambdarr.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lambdarr.channel import Channel
    from lambdarr.designs import Design

_MEAN_ABSOLUTE = 0.5 * math.sqrt(2 / math.pi)  # half the mean absolute deviation of a normal with variance 1


class Order(NamedTuple):
    """A number for the tables of one order: of the easiest attributes, of typical ones, and of the hardest."""

    attributes: int
    """How many attributes a table has."""
    best: float
    typical: float
    worst: float


def error_factor(channel: Channel, *, share_asked: float = 1.0, share: float | None = None) -> float:
    """Return how many times as large the errors of an attribute's shares are as with true answers of everyone.

    Parameters
    ----------
    channel : Channel
        The attribute's channel.
    share_asked : float
        The share of respondents who are asked for it.
    share : float, optional
        The true share of an answer, for the error of that; by default answers are evenly spread.

    Notes
    -----
    √((c − 1/r)/(1 − 1/r)) = 1/λ with c of eq. (22) of docs/theory.md, for evenly spread answers. So 1/λ² times as many
    people have to be asked for the same precision, and of all respondents 1/(λ² · share asked) times as many. For all
    other answers that is the least, the errors of all shares taken together: Σθ(1 − θ) ≥ Σπ(1 − π), as reports are
    spread more evenly than truths. Of one share π it is √(θ(1 − θ)/π(1 − π))/λ, much more where π is small.

    Examples
    --------
    >>> from lambdarr import Channel
    >>> error_factor(Channel(3, 0.5))
    2.0
    >>> error_factor(Channel(3, 0.5), share_asked=0.25)
    4.0
    >>> error_factor(Channel(2, 0.5), share=0.01)
    8.76
    """
    least = 1 / (channel.lam * math.sqrt(share_asked))
    if share is None:
        return least
    reported = channel.lam * share + (1 - channel.lam) / channel.size
    return least * math.sqrt(reported * (1 - reported) / (share * (1 - share)))


def expected_errors(design: Design, n: float, *, finite: bool = False, most: int = 6) -> list[Order]:
    """Return the total-variation error to expect of the unbiased tables of 1, 2, … attributes.

    Parameters
    ----------
    design : Design
        The design.
    n : float
        Number of independent reports.
    finite : bool
        Whether the file is itself the population, and only the randomization is random.
    most : int
        The largest number of attributes.

    Notes
    -----
    ½ √(2/π) √(K V) for a table of K cells with the total variance V of eq. (22) of docs/theory.md, answers evenly
    spread: K V = (Π (1 + (r − 1)/λ²) − 1)/n, and K in the place of 1 for a finite population. It may exceed 1,
    as unbiased tables are not kept from being impossible.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({name: range(5) for name in "abcd"}, lam=0.5)
    >>> [order.typical for order in expected_errors(design, 50_000)]
    [0.007, 0.030, 0.125, 0.516]
    """
    check_design(design)
    if not n > 0:
        msg = f"n must be a positive number of reports, got {n}"
        raise DataError(msg)

    def error(k: int, spread: float, cells: float) -> float:
        return _MEAN_ABSOLUTE * _root(spread, cells if finite else 0.0, n * design.share_asked_all(k))

    return _orders(design, error, most)


def pooled_errors(waves: Sequence[tuple[Design, float]], *, finite: bool = False, most: int = 6) -> list[Order]:
    """Return the total-variation error to expect of unbiased tables that several waves estimate together.

    Parameters
    ----------
    waves : sequence of (Design, float)
        The design of each wave, all of the same attributes, and its number of independent reports.
    finite, most
        As for ``expected_errors``.

    Notes
    -----
    Waves have shares that make the error smallest, so 1/error² adds up; of a file that is itself the population, the
    error² of a wave counts with the square of its share of the records. The easiest and the hardest attributes are
    taken to be the same in all waves; if they are not, all tables lie between.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({name: range(5) for name in "abcd"}, lam=0.5)
    >>> [order.typical for order in pooled_errors([(design, 20_000), (design, 30_000)])]
    [0.007, 0.030, 0.125, 0.516]
    """
    alone = [expected_errors(design, n, finite=finite, most=most) for design, n in waves]
    total = math.fsum(n for _, n in waves)
    shares = [n / total for _, n in waves]

    def together(errors: Sequence[float]) -> float:
        if finite:
            return math.hypot(*(share * error for share, error in zip(shares, errors, strict=True)))
        return 0.0 if min(errors) == 0 else 1 / math.hypot(*(1 / error for error in errors))

    # no table has more attributes than every wave asks
    return [Order(of[0].attributes, *map(together, zip(*(order[1:] for order in of), strict=True)))
            for of in zip(*alone, strict=False)]  # fmt: skip


def reports_needed(design: Design, error: float, *, most: int = 6) -> list[Order]:
    """Return how many reports the unbiased tables of 1, 2, … attributes need for an expected total-variation error.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({name: range(5) for name in "abcd"}, lam=0.5)
    >>> [round(order.typical) for order in reports_needed(design, 0.25)]
    [41, 733, 12508, 212682]
    """
    check_design(design)
    if not error > 0:
        msg = f"error must be a positive total-variation error, got {error}"
        raise DataError(msg)

    def needed(k: int, spread: float, _: float) -> float:
        return (_MEAN_ABSOLUTE * _root(spread, 0.0, design.share_asked_all(k)) / error) ** 2

    return _orders(design, needed, most)


def _orders(design: Design, number: Callable[[int, float, float], float], most: int) -> list[Order]:
    """Return a number that grows with ln Π (1 + (r − 1)/λ²), and with ln Π r, for every order of tables.

    Where respondents answer a part of the attributes, no table has more.
    """
    spreads = sorted((math.log1p((c.size - 1) / c.lam**2), math.log(c.size)) for c in design.channels)
    typical = [math.fsum(column) / len(spreads) for column in zip(*spreads, strict=True)]

    def of(chosen: list[tuple[float, float]]) -> float:
        spread, cells = (math.fsum(column) for column in zip(*chosen, strict=True))
        return number(len(chosen), spread, cells)

    return [
        Order(k, of(spreads[:k]), number(k, k * typical[0], k * typical[1]), of(spreads[-k:]))
        for k in range(1, min(most, len(spreads), design.asked or len(spreads)) + 1)
    ]


def _root(spread: float, less: float, n: float) -> float:
    """Return √((e^spread − e^less)/n); six attributes of 65,536 categories at the smallest λ still fit a float."""
    return math.sqrt(max(math.exp(spread) - math.exp(less), 0.0) / n)
