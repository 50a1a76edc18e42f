"""Plans of surveys, as plain values and as sentences for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lambdarr.planning import Plan


def plan_values(plan: Plan, order: int) -> dict[str, Any]:
    """Return what ``plan --json`` prints."""
    return {
        "n": plan.n,
        "of": str(plan.question),
        "margin": plan.margin,
        "level": plan.level,
        "readable_order": order,
        "lambda": {name: channel.lam for name, channel in plan.design.by_name.items()},
    }


def keep_rates_sentence(plan: Plan) -> str:
    """Return in words the λ's that a plan found."""
    spelled = ", ".join(f"{name} {channel.lam:.4g}" for name, channel in plan.design.by_name.items())
    return f"The strongest protection of what the question names that allows this has the keep rates λ: {spelled}."


def readable_sentence(order: int, n: int) -> str:
    """Return in words the highest order of tables worth reading."""
    what = (
        f"tables of up to {order} attributes" if order > 1 else "one-way tables" if order else "not even one-way tables"
    )
    people = "1 respondent" if n == 1 else f"{n:,} respondents"
    return f"With {people}, {what} are worth reading as a whole by the exact inverse."
