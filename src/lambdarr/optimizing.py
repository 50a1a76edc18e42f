"""The λ's that make the tables an analyst wants most precise, within a budget and other demands.

In t = ln λ the problem is convex: ln c, with c the factor by which an attribute multiplies the variance of a table
(docs/theory.md, eq. (22)), is convex in t, and so is ε; bits are concave, and a product λᵢλⱼ is a sum tᵢ + tⱼ. So a
solver finds the one optimum, and multipliers prove how far from it a solution can be at most.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lambdarr.channel import WORDS
from lambdarr.errors import DesignError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_TABLES = 1_000_000
"""Tables of a workload."""

_NEARLY = 1e-9
"""How far a demand may be missed by rounding."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """How good optimal λ's are, and the proof that there are no much better ones.

    Parameters
    ----------
    error : float
        The mean variance of a cell, summed over the tables of the workload by their weights, for one report: divide by
        the number of reports.
    lower_bound : float
        No λ's that meet the demands have a smaller error than this.
    equal_lambda, equal_epsilon : float
        The error of the same budget spent on the same λ, or the same ε, for all attributes.
    """

    error: float
    lower_bound: float
    equal_lambda: float
    equal_epsilon: float

    @property
    def gap(self) -> float:
        """By which part of itself the error can at most be too large."""
        return 1 - self.lower_bound / self.error


class Budget(NamedTuple):
    """What all attributes together may give away at most, or have to leave: ε, or bits of deniability."""

    kind: str
    amount: float

    @property
    def limit(self) -> float:
        """What the attributes may spend: ε, or the negative of the bits they have to leave."""
        return self.amount if self.kind == "epsilon" else -self.amount

    def __str__(self) -> str:
        return f"{self.kind} = {self.amount:g}"


class Bound(NamedTuple):
    """A demand on one attribute: its λ is at least, or at most, some number."""

    attribute: int
    at_least: float
    at_most: float
    text: str

    def __str__(self) -> str:
        return self.text


class Relation(NamedTuple):
    """A demand on a pair: that at least, or at most, some part of its covariance survives."""

    first: int
    second: int
    part: float
    preserved: bool
    text: str

    def __str__(self) -> str:
        return self.text


Demand = Budget | Bound | Relation


def workload_of(workload: Any, names: Sequence[str]) -> dict[tuple[int, ...], float]:
    """Return the tables that a workload means, by the places of their attributes, with their weights."""
    if isinstance(workload, int) and not isinstance(workload, bool):
        if not 1 <= workload <= len(names):
            msg = f"workload must be an order of tables from 1 to {len(names)}, got {workload}"
            raise DesignError(msg)
        if (tables := math.comb(len(names), workload)) > MOST_TABLES:
            msg = f"there are {tables:,} tables of order {workload}, more than {MOST_TABLES:,}; name those you want"
            raise DesignError(msg)
        return dict.fromkeys(itertools.combinations(range(len(names)), workload), 1.0)
    given = workload if isinstance(workload, Mapping) else dict.fromkeys(workload if _is_list(workload) else (), 1.0)
    found: dict[tuple[int, ...], float] = {}
    for table, weight in given.items():
        listed = (table,) if isinstance(table, str) else tuple(table)
        for name in listed:
            if name not in names:
                msg = f"the workload names {name!r}, which is no attribute; there are: {', '.join(names)}"
                raise DesignError(msg)
        if not listed or len(set(listed)) < len(listed):
            msg = "a table of the workload must name at least one attribute, and each of them once"
            raise DesignError(msg)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
            msg = f"the weight of {' × '.join(listed)} in the workload must be a positive number, got {weight!r}"
            raise DesignError(msg)
        found[tuple(sorted(names.index(name) for name in listed))] = float(weight)
    if not found:
        msg = "workload must be an order of tables such as 2, a list of tables, or a mapping from tables to weights"
        raise DesignError(msg)
    return found


def _is_list(workload: Any) -> bool:
    return isinstance(workload, list | tuple | set | frozenset) and not isinstance(workload, str)


class Problem:
    """Attributes of these sizes, the tables wanted of them, and what is demanded.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of categories.
    workload : mapping
        Tables, as places of their attributes, with weights.
    demands : sequence of Demand
        At most one budget, and bounds and relations.
    """

    def __init__(
        self, sizes: Sequence[int], workload: Mapping[tuple[int, ...], float], demands: Sequence[Demand]
    ) -> None:
        self._r = np.array(sizes, dtype=np.float64)
        self._tables = np.zeros((len(workload), len(sizes)))
        for row, table in enumerate(workload):
            self._tables[row, list(table)] = 1
        # each table's weight, over its number of cells
        self._weights = np.log(list(workload.values())) - self._tables @ np.log(self._r)
        self._demands = list(demands)

    def solve(self) -> tuple[Floats, Certificate]:
        """Return the optimal λ's and their certificate, or say which demands conflict."""
        if (conflict := self._conflict()) is not None:
            msg = f"these demands cannot all be met: {'; '.join(map(str, conflict))}; give way in one of them"
            raise DesignError(msg)
        t = self._within_budget(self._minimized(self._log_error, self._demands))
        if not self._is_met(t):
            msg = "no λ's were found that meet all demands, though there are some; loosen one of them a little"
            raise DesignError(msg)
        error = math.exp(self._log_error(t)[0])
        budget = next((demand for demand in self._demands if isinstance(demand, Budget)), None)
        equal = dict.fromkeys(("lambda", "epsilon"), math.nan)
        if budget is not None:
            equal = {kind: math.exp(self._log_error(self._equal(kind, budget))[0]) for kind in equal}
        bound = error * math.exp(-self._gap(t))
        return np.exp(t), Certificate(error, bound, equal["lambda"], equal["epsilon"])

    # The functions, in t = ln λ, with their derivatives.

    def _log_error(self, t: Floats) -> tuple[float, Floats]:
        """Return ln Σ w Π c/R over the tables, and its gradient."""
        lam2 = np.exp(2 * t)
        logs = self._weights + self._tables @ np.log((1 + (self._r - 1) / lam2) / self._r)
        largest = logs.max()
        shares = np.exp(logs - largest)
        total = shares.sum()
        slope = -2 * (self._r - 1) / (lam2 + self._r - 1)
        return float(largest + math.log(total)), np.asarray(self._tables.T @ (shares / total) * slope)

    def _spent(self, kind: str, t: Floats) -> tuple[Floats, Floats]:
        """Return what each attribute takes of a budget, a convex function of t, and its derivative."""
        lam = np.minimum(np.exp(t), 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):  # λ = 1 spends without bound
            if kind == "epsilon":
                slope = lam * self._r / ((1 - lam) * (1 - lam + lam * self._r))
                return np.log1p(lam * self._r / (1 - lam)), slope
            d, o = lam + (1 - lam) / self._r, (1 - lam) / self._r
            bits = -d * np.log2(d) - (self._r - 1) * np.where(o > 0, o * np.log2(np.where(o > 0, o, 1)), 0)
            return -bits, lam * (self._r - 1) / self._r * np.log2(d / np.maximum(o, 1e-300))

    def _equal(self, kind: str, budget: Budget) -> Floats:
        """Return the same λ, or the same ε, for all, that spends the budget."""
        low, high = (float(self._least().max()), 0.0) if kind == "lambda" else (1e-9, 40.0)
        limit = budget.limit
        for _ in range(200):
            middle = (low + high) / 2
            t = np.full(len(self._r), middle)
            if kind == "epsilon":
                small = math.exp(-middle)
                t = np.log((1 - small) / (1 + (self._r - 1) * small))
            low, high = (middle, high) if self._spent(budget.kind, t)[0].sum() <= limit else (low, middle)
        return t

    # Demands as constraints.

    def _least(self) -> Floats:
        """Return the smallest ln λ of every attribute that the sampler has."""
        return np.log([(WORDS - (WORDS - 1) // int(r) * int(r)) / WORDS for r in self._r])

    def _box(self, demands: Sequence[Demand]) -> tuple[Floats, Floats]:
        """Return bounds of every ln λ; a budget bounds each, as none can spend more than all of it."""
        low, high = self._least(), np.zeros(len(self._r))
        for demand in demands:
            if isinstance(demand, Bound):
                low[demand.attribute] = max(low[demand.attribute], math.log(max(demand.at_least, 1e-300)))
                high[demand.attribute] = min(high[demand.attribute], math.log(max(demand.at_most, 1e-300)))
            if isinstance(demand, Budget):
                high = np.minimum(high, self._alone(demand))
        return low, high

    def _alone(self, budget: Budget) -> Floats:
        """Return the ln λ at which each attribute spends the whole budget by itself, if all others spend least."""
        least = self._spent(budget.kind, self._least())[0]
        rest = budget.limit - (least.sum() - least)
        low, high = self._least(), np.zeros(len(self._r))
        for _ in range(200):
            middle = (low + high) / 2
            fits = self._spent(budget.kind, middle)[0] <= rest
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.asarray(np.where(self._spent(budget.kind, np.zeros(len(self._r)))[0] <= rest, 0.0, low))

    def _relations(self, demands: Sequence[Demand]) -> tuple[Floats, Floats]:
        """Return A and b with A t ≤ b."""
        relations = [demand for demand in demands if isinstance(demand, Relation)]
        A, b = np.zeros((len(relations), len(self._r))), np.zeros(len(relations))
        for row, relation in enumerate(relations):
            sign = -1.0 if relation.preserved else 1.0
            A[row, [relation.first, relation.second]] = sign
            b[row] = sign * math.log(relation.part)
        return A, b

    def _conflict(self) -> list[Demand] | None:
        """Return demands that cannot all be met, none of which could be left out of that; None if all can."""
        if self._can_be_met(self._demands):
            return None
        kept = list(self._demands)
        for demand in self._demands:
            fewer = [other for other in kept if other is not demand]
            if not self._can_be_met(fewer):
                kept = fewer
        return kept

    def _can_be_met(self, demands: Sequence[Demand]) -> bool:
        from scipy import optimize

        low, high = self._box(demands)
        if (low > high + _NEARLY).any():
            return False
        high = np.maximum(low, high)
        A, b = self._relations(demands)
        point = optimize.linprog(
            np.ones(len(low)), A_ub=A if len(A) else None, b_ub=b + _NEARLY if len(A) else None,
            bounds=list(zip(low, high, strict=True)),
        )  # fmt: skip
        if point.status != 0:
            return False
        budget = next((demand for demand in demands if isinstance(demand, Budget)), None)
        if budget is None:
            return True
        if not len(A):
            return bool(self._spent(budget.kind, low)[0].sum() <= budget.limit + _NEARLY)
        least = self._minimized(
            lambda t: (float(self._spent(budget.kind, t)[0].sum()), self._spent(budget.kind, t)[1]),
            [demand for demand in demands if not isinstance(demand, Budget)],
        )
        return bool(self._spent(budget.kind, least)[0].sum() <= budget.limit + _NEARLY)

    def _minimized(self, function: Callable[[Floats], tuple[float, Floats]], demands: Sequence[Demand]) -> Floats:
        """Return where a convex function is smallest under the demands."""
        from scipy import optimize

        low, high = self._box(demands)
        high = np.maximum(low, high)
        A, b = self._relations(demands)
        constraints: list[dict[str, Any]] = []
        if len(A):
            constraints.append({"type": "ineq", "fun": lambda t: b - A @ t, "jac": lambda t: -A})
        for budget in demands:
            if isinstance(budget, Budget):
                limit = budget.limit
                constraints.append(
                    {
                        "type": "ineq",
                        "fun": lambda t, kind=budget.kind, limit=limit: limit - self._spent(kind, t)[0].sum(),
                        "jac": lambda t, kind=budget.kind: -self._spent(kind, t)[1],
                    }
                )
        options: Any = {"maxiter": 2_000, "ftol": 1e-14}
        minimize: Any = optimize.minimize
        best: Floats | None = None
        for start in self._starts(demands, low, high):
            found = minimize(
                function, start, jac=True, method="SLSQP", bounds=list(zip(low, high, strict=True)),
                constraints=constraints, options=options,
            )  # fmt: skip
            t = np.asarray(np.clip(np.nan_to_num(found.x), low, high))
            missed = [max(0.0, -float(np.min(constraint["fun"](t)))) for constraint in constraints]
            if max(missed, default=0.0) < 1e-6 and (best is None or function(t)[0] < function(best)[0]):
                best = t
                if found.success:
                    break
        return t if best is None else best

    def _starts(self, demands: Sequence[Demand], low: Floats, high: Floats) -> list[Floats]:
        """Return where to begin: at equal parts of the budget, and elsewhere should that fail."""
        ends = [np.maximum(low, -9.0), high]
        between = [(1 - part) * ends[0] + part * ends[1] for part in (0.5, 0.8, 0.2)]
        budget = next((demand for demand in demands if isinstance(demand, Budget)), None)
        equal = [] if budget is None else [self._equal(kind, budget) for kind in ("epsilon", "lambda")]
        return [np.clip(start, low, high) for start in (*equal, *between)]

    def _within_budget(self, t: Floats) -> Floats:
        """Return λ's that a solver left a hair above the budget, lowered until they are within it."""
        budget = next((demand for demand in self._demands if isinstance(demand, Budget)), None)
        if budget is None:
            return t
        low = self._box(self._demands)[0]
        step, lowered = 1e-12, t
        while self._spent(budget.kind, lowered)[0].sum() > budget.limit and step < 1e-5:
            lowered = np.maximum(low, t - step)
            step *= 2
        return lowered

    def _is_met(self, t: Floats) -> bool:
        """Return whether λ's meet all demands, to what rounding takes."""
        low, high = self._box(self._demands)
        A, b = self._relations(self._demands)
        within = all(
            self._spent(demand.kind, t)[0].sum() <= demand.limit + _NEARLY
            for demand in self._demands
            if isinstance(demand, Budget)
        )
        return bool(within and (t >= low - 1e-7).all() and (t <= high + 1e-7).all() and (A @ t <= b + 1e-6).all())

    def _gap(self, t: Floats) -> float:
        """Return by how much ln error can at most be too large: weak duality, with multipliers from the gradients.

        For any μ, ν ≥ 0 and every t' that meets the demands, convexity gives
        F(t') ≥ F(t) + g(t' − t) + μ (spent(t') − limit) + ν (A t' − b), whose right side falls apart into one convex
        function of each coordinate: its minimum over the box is a lower bound. Any multipliers are valid, so the best
        of some is taken.
        """
        choices = itertools.product((1e-7, 1e-5, 1e-3), (True, False))
        return min(self._gap_by(t, nearness, spent=spent) for nearness, spent in choices)

    def _gap_by(self, t: Floats, nearness: float, *, spent: bool) -> float:
        """Return that bound with the multipliers of the constraints that are this near, the budget if it is spent."""
        from scipy import optimize

        low, high = self._box(self._demands)
        high = np.maximum(low, high)
        gradient = self._log_error(t)[1]
        A, b = self._relations(self._demands)
        budget = next((demand for demand in self._demands if isinstance(demand, Budget) and spent), None)
        columns = [] if budget is None else [self._spent(budget.kind, t)[1]]
        columns += [row if limit - row @ t < 10 * nearness else 0 * row for row, limit in zip(A, b, strict=True)]
        active = []
        for place, unit in enumerate(np.eye(len(t))):
            for end, sign in ((low, -1.0), (high, 1.0)):
                if abs(t[place] - end[place]) < nearness:
                    active.append(sign * unit)
        multipliers = np.zeros(0)
        if columns or active:
            multipliers, _ = optimize.nnls(np.array([*columns, *active]).T, -gradient)
        mu = float(multipliers[0]) if budget is not None else 0.0
        first = int(budget is not None)
        nu = multipliers[first : first + len(A)]
        linear = gradient + (A.T @ nu if len(A) else 0.0)

        def each(at: Floats) -> Floats:
            return np.asarray(
                linear * at + (mu * self._spent(budget.kind, at)[0] if budget is not None and mu else 0.0)
            )

        left, right = low.copy(), high.copy()
        for _ in range(200):  # golden section, all coordinates at once
            one, two = left + 0.382 * (right - left), left + 0.618 * (right - left)
            lower = each(one) < each(two)
            left, right = np.where(lower, left, one), np.where(lower, two, right)
        smallest = np.minimum(each((left + right) / 2), np.minimum(each(low), each(high)))
        limit = 0.0 if budget is None else budget.limit
        return max(float(gradient @ t + mu * limit + nu @ b - smallest.sum()), 0.0) + _NEARLY
