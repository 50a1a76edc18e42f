"""The paper's numbers beside ours: Nicolas Ruiz, "λ-randomization: multi-dimensional randomized response made easy".

Every equation, theorem and printed figure is computed again. Where the printed text does not hold, the item says so
and why; nothing is adjusted to agree.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from lambdarr import bistochastic, kronecker
from lambdarr.channel import Channel

if TYPE_CHECKING:
    from collections.abc import Sequence

SCENARIOS = ((0.9, 0.8, 0.7), (0.3, 0.2, 0.1), (0.6, 0.7, 0.4))
"""The three rows of λ's in Table 1."""

_TABLE_1 = ((25, 41, 56), (92, 96, 99), (68, 52, 85))
_TABLE_1_JOINT = (31, 72, 51)
_SECTION_3 = (
    (0.63, 0.27, 0.07, 0.03),
    (0.27, 0.63, 0.03, 0.07),
    (0.07, 0.03, 0.63, 0.27),
    (0.03, 0.7, 0.27, 0.63),
)


@dataclass(frozen=True, slots=True)
class Item:
    """One statement of the paper, as published and as computed."""

    where: str
    published: str | float
    computed: str | float
    agrees: bool
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the item as plain values, ready for JSON."""
        return asdict(self)


def items() -> list[Item]:
    """Return every result of the paper, in its order, as published and as computed."""
    return [*_section_2(), *_section_3(), *_section_4(), *_section_5(), *_section_6(), *_appendix()]


def _exact(where: str, published: str, error: float, note: str = "") -> Item:
    """Return an identity: it agrees when its two sides differ by rounding only."""
    return Item(where, published, f"largest difference {error:.1e}", bool(error < 1e-9), note)


def _section_2() -> list[Item]:
    channel = Channel(5, 0.6)
    P = channel.matrix()
    pi = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    return [
        _exact("Eq. (1)", "rows of P sum to 1", float(np.abs(P.sum(axis=1) - 1).max())),
        _exact(
            "Eq. (2)",
            "(Pᵀ)⁻¹θ gives π back",
            float(np.abs(kronecker.solve([channel], P.T @ pi) - pi).max()),
            "unbiased, as E θ̂ = θ; for one file θ̂ differs from θ, and the standard errors say by how much",
        ),
        _exact("Section 2.2", "columns of P sum to 1", float(np.abs(P.sum(axis=0) - 1).max())),
        _exact(
            "Section 2.2, H(P*)",
            "log₂ r",
            abs(bistochastic.entropy_rate(bistochastic.perfect(5)) - math.log2(5)),
        ),
        _exact(
            "Definition 1",
            "β = H(P)/H(P*)",
            abs(channel.strength - bistochastic.entropy_rate(P) / math.log2(5)),
            f"r = 5, λ = 0.6: β = {channel.strength:.4f}",
        ),
    ]


def _section_3() -> list[Item]:
    # diagonals 0.9 and 0.7 of two categories are keep rates 0.8 and 0.4
    product = kronecker.dense([Channel(2, 0.8), Channel(2, 0.4)])
    printed = np.array(_SECTION_3)
    others = np.abs(product - printed)
    others[3, 1] = 0
    P, Q = Channel(3, 0.5).matrix(), Channel(4, 0.2).matrix()
    sum_of_rates = bistochastic.entropy_rate(P) + bistochastic.entropy_rate(Q)
    return [
        Item(
            "Section 3, 4×4 product, row 4, column 2",
            0.7,
            round(float(product[3, 1]), 9),
            agrees=False,
            note="a misprint: 0.1 × 0.7 = 0.07, and with 0.7 the row would sum to 1.63",
        ),
        Item(
            "Section 3, 4×4 product, the other 15 entries",
            "0.63, 0.27, 0.07, 0.03 …",
            f"largest difference {others.max():.1e}",
            bool(others.max() < 1e-8),
        ),
        Item("Section 3, truth (a₁, b₁) reported as such", 0.63, round(float(product[0, 0]), 9), agrees=True),
        Item("Section 3, truth (a₁, b₁) reported as (a₁, b₂)", 0.27, round(float(product[0, 1]), 9), agrees=True),
        Item(
            "Theorem 1",
            "P ⊗ Q is bistochastic",
            "it is" if bistochastic.is_bistochastic(np.kron(P, Q)) else "it is not",
            bistochastic.is_bistochastic(np.kron(P, Q)),
        ),
        _exact(
            "Theorem 2, eq. (3)", "H(P ⊗ Q) = H(P) + H(Q)", abs(bistochastic.entropy_rate(np.kron(P, Q)) - sum_of_rates)
        ),
    ]


def _section_4() -> list[Item]:
    P = np.array([[0.6, 0.3, 0.1], [0.1, 0.5, 0.4], [0.3, 0.2, 0.5]])
    parts = bistochastic.birkhoff(P)
    weight = bistochastic.identity_weight(P)
    rebuilt = weight.lam * np.eye(3) + (1 - weight.lam) * weight.remainder
    channels = [Channel(2, 0.7), Channel(3, 0.4), Channel(4, 0.9)]
    inverse = np.linalg.inv(kronecker.dense(channels))

    x = np.array([1.0, 2.0, 4.0, 8.0, 5.0])
    y = np.array([3.0, 1.0, 2.0, 9.0, 7.0])
    first, second = Channel(5, 0.6), Channel(5, 0.5)
    x_out, y_out = first.matrix() @ x, second.matrix() @ y
    shrunk = _covariance(x_out, y_out) / _covariance(x, y)
    uniform_term = (x - x.mean()) @ bistochastic.perfect(5) @ (y - y.mean()) / 5
    amplification = 1 / 0.5**4
    return [
        _exact("Theorem 3, eq. (4)", "P = Σ λⱼ Pⱼ over permutations", float(np.abs(parts.matrix() - P).max())),
        Item(
            "Corollary 1, eq. (5)",
            "P = λI + (1−λ)R, R bistochastic",
            f"λ = {weight.lam:.3g}, largest difference {np.abs(rebuilt - P).max():.1e}",
            bistochastic.is_bistochastic(weight.remainder) and bool(np.allclose(rebuilt, P)),
        ),
        _exact(
            "Section 4, average of all permutations",
            "1/J in every cell",
            float(np.abs(bistochastic.average_of_permutations(5) - 1 / 5).max()),
        ),
        _exact(
            "Eq. (6)",
            "P = λI + (1−λ)P*",
            float(np.abs(first.matrix() - (first.lam * np.eye(5) + (1 - first.lam) * bistochastic.perfect(5))).max()),
        ),
        _exact(
            "Property 1, eq. (7)",
            "P⁻¹ = (1/λ)(I − P*) + P*",
            float(np.abs(first.inverse() - np.linalg.inv(first.matrix())).max()),
        ),
        _exact(
            "Property 2, eq. (8)",
            "the sum of 2^I terms is the inverse",
            float(np.abs(kronecker.inverse_by_subsets(channels) - inverse).max()),
        ),
        Item(
            "Section 4, one does not need to bother with the conditioning",
            "no difficulty left",
            f"noise amplified up to {amplification:.0f} × at λ = 0.5 and four attributes",
            agrees=False,
            note=(
                "true of the arithmetic only: sampling noise still grows by up to 1/Πλ. Four attributes of 5 "
                f"categories, λ = 0.5, 49,000 people: expect a total-variation error of {_expected_error(49_000):.2f}"
            ),
        ),
        Item(
            "Section 4, means after randomizing",
            "mean of x′ = x′",
            f"mean of x′ = {x_out.mean():.6g} = mean of x = {x.mean():.6g}",
            agrees=False,
            note="a misprint: a mean cannot equal a vector; bistochastic matrices keep the mean",
        ),
        Item(
            "Eq. (9)",
            "cov(x′, y′) = (1/n) x̃ᵀ(λ₁λ₂ I + (1−λ₁λ₂)P*)ỹ",
            f"cov(x′, y′) = {shrunk:.6g} cov(x, y), and the P* term is {uniform_term:.1e}",
            agrees=False,
            note=(
                "correct but not finished: on centred vectors the P* term is zero, so the covariance shrinks by "
                "exactly λ₁λ₂ = 0.3 and dividing by it undoes that"
            ),
        ),
    ]


def _section_5() -> list[Item]:
    channel = Channel.from_epsilon(5, 1.0)
    P = channel.matrix()
    x = np.array([1.0, 2.0, 4.0, 8.0, 5.0])
    x_out = Channel(5, 0.6).matrix() @ x
    undone = (x_out - (1 - Channel(5, 0.6).lam) * x_out.mean()) / Channel(5, 0.6).lam
    ratio = math.log(P.max() / P.min())
    return [
        Item(
            "Section 5, the class contains ε-differentially private randomized response",
            "ε = 1",
            f"λ = {channel.lam:.6f} for r = 5: ln(max/min of a column) = {ratio:.6f}",
            abs(ratio - 1) < 1e-6,
        ),
        Item(
            "Section 5, numerical attributes as convex combinations of individuals",
            "offered as randomization",
            f"x′ = λx + (1−λ)·mean: x comes back with error {np.abs(undone - x).max():.1e}",
            agrees=False,
            note=(
                "nothing is random in it: whoever knows λ undoes it exactly, so it protects nobody. "
                "Keeping each value with probability λ, else drawing another individual's, does"
            ),
        ),
    ]


def _section_6() -> list[Item]:
    text = (0.9, 0.5, 0.4)
    found = [
        Item(
            "Section 6, the first scenario",
            "(0.9, 0.5, 0.4) in the text, {0.9; 0.8; 0.7} in Table 1",
            "strengths "
            + " and ".join(", ".join(f"{_percent(5, lam):.1f} %" for lam in lams) for lams in (text, SCENARIOS[0])),
            agrees=False,
            note="text and table disagree; the printed 25, 41, 56 % are near the table's λ's, so those are used below",
        )
    ]
    for lams, printed, printed_joint in zip(SCENARIOS, _TABLE_1, _TABLE_1_JOINT, strict=True):
        scenario = "{" + "; ".join(str(lam) for lam in lams) + "}"
        for number, (lam, percent) in enumerate(zip(lams, printed, strict=True), start=1):
            found.append(_strength_item(scenario, number, lam, percent))
        joint = math.fsum(Channel(5, lam).bits for lam in lams) / (3 * math.log2(5)) * 100
        found.append(
            Item(
                f"Table 1, {scenario}, joint distribution, %",
                printed_joint,
                round(joint, 1),
                agrees=round(joint) == printed_joint,
                note=f"eq. (3) gives the mean of the three; printed is their sum over four, {sum(printed) / 4:.4g}",
            )
        )
    channels = [Channel(5, lam) for lam in SCENARIOS[2]]
    inverse = np.linalg.inv(kronecker.dense(channels))
    error = float(np.abs(kronecker.inverse_by_projections(channels) - inverse).max())
    return [
        *found,
        _exact(
            "Section 6, terms (i) to (iv), scenario 3", "the 125×125 inverse", error, "eight terms from I − P* and P*"
        ),
    ]


def _strength_item(scenario: str, number: int, lam: float, printed: int) -> Item:
    computed, with_four = _percent(5, lam), _percent(4, lam)
    agrees = round(computed) == printed
    note = ""
    if not agrees and round(with_four) == printed:
        note = f"agrees with 4 categories ({with_four:.1f} %), not with the 5 of the text"
    elif not agrees:
        note = f"neither 5 categories nor 4 ({with_four:.1f} %) give it; the first scenario has 56 for the same λ"
    return Item(f"Table 1, {scenario}, attribute {number} (λ = {lam}), %", printed, round(computed, 1), agrees, note)


def _appendix() -> list[Item]:
    channels = [Channel(2, 0.7), Channel(3, 0.4)]
    sum_of_terms = kronecker.inverse_by_subsets(channels)
    left = np.linalg.inv(kronecker.dense_inverse(channels))
    weight = bistochastic.identity_weight(Channel(3, 0.4).matrix()).lam
    return [
        Item(
            "Appendix, proof of Corollary 1, the row sum of λI",
            1,
            round(weight, 6),
            agrees=False,
            note="a slip: Σⱼ λδᵢⱼ = λ, here that of P(0.4) with r = 3, not 1; the quotient above it is right",
        ),
        Item(
            "Appendix, last display",
            "⊗[(1/λ)(I − P*) + P*]⁻¹ = Σ …",
            f"the two sides differ by up to {np.abs(left - sum_of_terms).max():.2g}; without the inverse on the left "
            f"by {np.abs(kronecker.dense_inverse(channels) - sum_of_terms).max():.1e}",
            agrees=False,
            note="a stray inverse: the left side is already the product of the inverses",
        ),
    ]


def _percent(size: int, lam: float) -> float:
    return 100 * Channel(size, lam).strength


def _covariance(x: Any, y: Any) -> float:
    return float((x - x.mean()) @ (y - y.mean()) / len(x))


def _expected_error(n: int) -> float:
    """Return the expected total-variation error of a uniform 5×5×5×5 table at λ = 0.5: eq. (22) of docs/theory.md."""
    cells = 5**4
    variance = (((1 + 4 / 0.25) / 5) ** 4 - 1 / cells) / (n * cells)
    return 0.5 * cells * math.sqrt(2 / math.pi * variance)


def paper_table(items: Sequence[Item]) -> Table:
    """Return the paper's numbers beside ours."""
    table = Table(title="The paper, number by number")
    for heading in ("", "where", "published", "computed"):
        table.add_column(heading)
    for number, item in enumerate(items, start=1):
        mark = "[green]agrees[/]" if item.agrees else f"[red]differs {number}[/]"
        table.add_row(mark, escape(item.where), escape(str(item.published)), escape(str(item.computed)))
    return table


def paper_notes(items: Sequence[Item]) -> list[str]:
    """Return why the published and the computed differ, under the numbers of the table."""
    return [f"  {number}. {item.where}: {item.note}" for number, item in enumerate(items, start=1) if not item.agrees]
