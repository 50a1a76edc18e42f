"""The λ's that make the tables an analyst wants most precise, within a budget and other demands.

In t = ln λ the problem is convex: ln c, with c the factor by which an attribute multiplies the variance of a table
(docs/theory.md, eq. (22)), is convex in t, and so is ε; bits are concave, and a product λᵢλⱼ is a sum tᵢ + tⱼ. So a
solver finds the one optimum, and multipliers prove how far from it a solution can be at most. Where respondents answer
m′ of the attributes, a report spends at most the m′ largest ε, and their sum is convex too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
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
        The mean variance of a cell, summed over the tables of the workload by their weights, for one respondent out of
        evenly spread people: divide by the number of respondents. It is of the λ's that the design has, on the grid of
        the sampler, whose steps of r/2³² are wide where an attribute has very many categories and a small λ.
    lower_bound : float
        No λ's that meet the demands have a smaller error than this, on the grid or between its points.
    equal_lambda, equal_epsilon : float
        The error of the same budget spent on the same λ, or the same ε, for all attributes; on the grid too.
    by_asked : mapping
        The least error for every number of attributes that respondents could be asked, where the best was chosen.
    """

    error: float
    lower_bound: float
    equal_lambda: float
    equal_epsilon: float
    by_asked: Mapping[int, float] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """By which part of itself the error can at most be too large."""
        return 1 - self.lower_bound / self.error


class Budget(NamedTuple):
    """What all attributes together may give away at most, or have to leave: ε, or bits of deniability.

    Of ε, only the attributes that a respondent is asked count, whichever they are.
    """

    kind: str
    amount: float
    text: str
    asked: int | None = None

    @property
    def limit(self) -> float:
        """What the attributes may spend: ε, or the negative of the bits they have to leave."""
        return self.amount if self.kind == "epsilon" else -self.amount

    def taken(self, spent: Floats) -> float:
        """Return what is taken of the budget if each attribute spends so much: the sum of those asked, at most."""
        return float(spent.sum() if self.asked is None else np.sort(spent)[-self.asked :].sum())

    def __str__(self) -> str:
        return self.text


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
    given = workload.items() if isinstance(workload, Mapping) else _each_once(workload)
    found: dict[tuple[int, ...], float] = {}
    for table, weight in given:
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
        places = tuple(sorted(names.index(name) for name in listed))
        if places in found:
            msg = f"the workload names the table {' × '.join(listed)} twice; name it once, the order does not matter"
            raise DesignError(msg)
        found[places] = float(weight)
    if not found:
        msg = "workload must be an order of tables such as 2, a list of tables, or a mapping from tables to weights"
        raise DesignError(msg)
    return found


def _each_once(workload: Any) -> list[tuple[Any, float]]:
    return [(table, 1.0) for table in workload] if isinstance(workload, list | tuple | set | frozenset) else []


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
        cells = self._tables @ np.log(self._r)
        self._weights = np.log(list(workload.values())) - cells
        self._constant = float(np.exp(self._weights - cells).sum())  # Σ w ‖π‖²/R, which no λ changes
        self._demands = list(demands)
        self._budget = next((demand for demand in demands if isinstance(demand, Budget)), None)

    def solve(self) -> tuple[Floats, Certificate]:
        """Return the optimal λ's and their certificate, or say which demands conflict."""
        if (conflict := self._conflict()) is not None:
            msg = f"these demands cannot all be met: {'; '.join(map(str, conflict))}; give way in one of them"
            raise DesignError(msg)
        t = self._within_budget(self._minimized(self._demands))
        if not self._is_met(t):
            msg = "no λ's were found that meet all demands, though there are some; loosen one of them a little"
            raise DesignError(msg)
        equal = dict.fromkeys(("lambda", "epsilon"), math.nan)
        if self._budget is not None:
            equal = {kind: self._error(self._on_grid(self._equal(kind, self._budget))) for kind in equal}
        bound = self._error(t, less=self._gap(t))
        return np.exp(t), Certificate(self._error(t), bound, equal["lambda"], equal["epsilon"])

    def error(self, lams: Sequence[float]) -> float:
        """Return the error that λ's have."""
        return self._error(np.log(lams))

    # The functions, in t = ln λ, with their derivatives.

    def _error(self, t: Floats, *, less: float = 0.0) -> float:
        """Return Σ w (Π c − ‖π‖²)/R over the tables, for a first term whose logarithm is so much smaller."""
        return math.exp(self._log_error(t)[0] - less) - self._constant

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
            low, high = (middle, high) if budget.taken(self._spent(budget.kind, t)[0]) <= limit else (low, middle)
        return t

    # Demands as constraints.

    def _least(self) -> Floats:
        """Return the smallest ln λ of every attribute that the sampler has."""
        return np.log([(WORDS - (WORDS - 1) // int(r) * int(r)) / WORDS for r in self._r])

    def _on_grid(self, t: Floats) -> Floats:
        """Return λ's moved down to those that the sampler has, or to the smallest of them."""
        widths = np.ceil((1 - np.exp(t)) * (WORDS / self._r))
        return np.asarray(np.maximum(np.log(1 - np.minimum(widths * self._r / WORDS, 1 - 1 / WORDS)), self._least()))

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
        # where some are asked, the others need not be among them
        rest = budget.limit - (least.sum() - least) * (budget.asked is None)
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
            return budget.taken(self._spent(budget.kind, low)[0]) <= budget.limit + _NEARLY
        others = [demand for demand in demands if not isinstance(demand, Budget)]
        least = self._minimized(others, spending=budget)
        return budget.taken(self._spent(budget.kind, least)[0]) <= budget.limit + _NEARLY

    def _minimized(self, demands: Sequence[Demand], *, spending: Budget | None = None) -> Floats:
        """Return where the error is smallest under the demands; or, instead, what is taken of a budget."""
        from scipy import optimize

        low, high = self._box(demands)
        high = np.maximum(low, high)
        budget = spending or next((demand for demand in demands if isinstance(demand, Budget)), None)
        constraints = self._constraints(demands, budget)

        def function(x: Floats) -> tuple[float, Floats]:
            if spending is not None:
                return self._taken(spending, x)
            value, slope = self._log_error(x[: len(low)])
            return value, np.concatenate([slope, np.zeros(len(x) - len(low))])

        options: Any = {"maxiter": 2_000, "ftol": 1e-14}
        minimize: Any = optimize.minimize
        best: Floats | None = None
        for t in self._starts(demands, low, high):
            start = t if budget is None else self._lifted(budget, t)
            bounds = [*zip(low, high, strict=True), *[(0.0, None)] * (len(start) - len(t))]
            found = minimize(
                function, start, jac=True, method="SLSQP", bounds=bounds, constraints=constraints, options=options
            )
            x = np.nan_to_num(found.x)
            x[: len(low)] = np.clip(x[: len(low)], low, high)
            missed = [max(0.0, -float(np.min(constraint["fun"](x)))) for constraint in constraints]
            if max(missed, default=0.0) < 1e-6 and (best is None or function(x)[0] < function(best)[0]):
                best = x
                if found.success:
                    break
        return np.asarray((x if best is None else best)[: len(low)])

    # Where some are asked, the solver has more variables than t. The sum of the m′ largest ε is the smallest m′s + Σ z
    # with z ≥ 0 and z ≥ ε − s, which is smooth: s and z stand behind t.

    def _lifted(self, budget: Budget, t: Floats) -> Floats:
        """Return t as the solver takes it: with s and z behind it, where some are asked."""
        if budget.asked is None:
            return t
        spent = self._spent(budget.kind, t)[0]
        level = np.sort(spent)[-budget.asked]
        return np.concatenate([t, [level], np.maximum(spent - level, 0.0)])

    def _taken(self, budget: Budget, x: Floats) -> tuple[float, Floats]:
        """Return what is taken of a budget, and its gradient."""
        if budget.asked is None:
            spent, slope = self._spent(budget.kind, x)
            return float(spent.sum()), slope
        count = len(self._r)
        slope = np.concatenate([np.zeros(count), [budget.asked], np.ones(count)])
        return float(slope @ x), slope

    def _constraints(self, demands: Sequence[Demand], budget: Budget | None) -> list[dict[str, Any]]:
        """Return the demands, but for those of one attribute, as functions that must not be negative."""
        count = len(self._r)
        constraints: list[dict[str, Any]] = []

        def demand(function: Callable[[Floats], Any], slope: Callable[[Floats], Any]) -> None:
            constraints.append({"type": "ineq", "fun": function, "jac": slope})

        A, b = self._relations(demands)
        if len(A):
            lifted = 0 if budget is None or budget.asked is None else count + 1
            wide = np.hstack([A, np.zeros((len(A), lifted))])
            demand(lambda x: b - wide @ x, lambda x: -wide)
        if budget is not None and budget.asked is not None:
            kind, ones = budget.kind, np.hstack([np.ones((count, 1)), np.eye(count)])
            demand(
                lambda x: x[count] + x[count + 1 :] - self._spent(kind, x[:count])[0],
                lambda x: np.hstack([-np.diag(self._spent(kind, x[:count])[1]), ones]),
            )
        if budget is not None and budget in demands:
            demand(lambda x: budget.limit - self._taken(budget, x)[0], lambda x: -self._taken(budget, x)[1])
        return constraints

    def _starts(self, demands: Sequence[Demand], low: Floats, high: Floats) -> list[Floats]:
        """Return where to begin: at equal parts of the budget, and elsewhere should that fail."""
        ends = [np.maximum(low, -9.0), high]
        between = [(1 - part) * ends[0] + part * ends[1] for part in (0.5, 0.8, 0.2)]
        budget = next((demand for demand in demands if isinstance(demand, Budget)), None)
        equal = [] if budget is None else [self._equal(kind, budget) for kind in ("epsilon", "lambda")]
        return [np.clip(start, low, high) for start in (*equal, *between)]

    def _within_budget(self, t: Floats) -> Floats:
        """Return λ's that a solver left a hair above the budget, lowered until they are within it."""
        budget = self._budget
        if budget is None:
            return t
        low = self._box(self._demands)[0]
        step, lowered = 1e-12, t
        while budget.taken(self._spent(budget.kind, lowered)[0]) > budget.limit and step < 1e-5:
            lowered = np.maximum(low, t - step)
            step *= 2
        return lowered

    def _is_met(self, t: Floats) -> bool:
        """Return whether λ's meet all demands, to what rounding takes."""
        low, high = self._box(self._demands)
        A, b = self._relations(self._demands)
        budget = self._budget
        within = budget is None or budget.taken(self._spent(budget.kind, t)[0]) <= budget.limit + _NEARLY
        return bool(within and (t >= low - 1e-7).all() and (t <= high + 1e-7).all() and (A @ t <= b + 1e-6).all())

    def _gap(self, t: Floats) -> float:
        """Return by how much ln error can at most be too large: weak duality, with multipliers from the gradients.

        For any y, ν ≥ 0 and every t' that meets the demands, convexity gives
        F(t') ≥ F(t) + g(t' − t) + y spent(t') − μ limit + ν (A t' − b), where μ is the largest y, or Σ y/m′ if that is
        more: μ times the m′ largest of what is spent is at least y spent. The right side falls apart into one convex
        function of each coordinate: its minimum over the box is a lower bound. Any multipliers are valid, so the best
        of some is taken.
        """
        choices = itertools.product((1e-7, 1e-5, 1e-3), (True, False))
        return min(self._gap_by(t, nearness, spent=spent) for nearness, spent in choices)

    def _gap_by(self, t: Floats, nearness: float, *, spent: bool) -> float:
        """Return that bound with the multipliers of the constraints that are this near, the budget if it is spent."""
        low, high = self._box(self._demands)
        high = np.maximum(low, high)
        gradient = self._log_error(t)[1]
        A, b = self._relations(self._demands)
        budget = self._budget if spent else None
        active = [row if limit - row @ t < 10 * nearness else 0 * row for row, limit in zip(A, b, strict=True)]
        for end, sign in ((low, -1.0), (high, 1.0)):
            active += [sign * unit for unit, near in zip(np.eye(len(t)), abs(t - end) < nearness, strict=True) if near]
        y, others = self._multipliers(t, -gradient, budget, active, nearness)
        nu = others[: len(A)]
        linear = gradient + (A.T @ nu if len(A) else 0.0)
        taxed = y > 0  # elsewhere nothing is spent for nothing, even where λ = 1 spends without bound

        def each(at: Floats) -> Floats:
            prices = np.zeros(len(at)) if budget is None else self._spent(budget.kind, at)[0]
            return np.asarray(linear * at + np.where(taxed, y * np.where(taxed, prices, 0.0), 0.0))

        left, right = low.copy(), high.copy()
        for _ in range(200):  # golden section, all coordinates at once
            one, two = left + 0.382 * (right - left), left + 0.618 * (right - left)
            lower = each(one) < each(two)
            left, right = np.where(lower, left, one), np.where(lower, two, right)
        smallest = np.minimum(each((left + right) / 2), np.minimum(each(low), each(high)))
        charge = 0.0
        if budget is not None:
            charge = max(y.max(), y.sum() / (budget.asked or len(y))) * budget.limit
        return max(float(gradient @ t + charge + nu @ b - smallest.sum()), 0.0) + _NEARLY

    def _multipliers(
        self, t: Floats, downhill: Floats, budget: Budget | None, active: list[Floats], nearness: float
    ) -> tuple[Floats, Floats]:
        """Return multipliers of what each attribute spends, and of other constraints, that balance the gradient.

        Of the m′ largest, those above the m′-th have one multiplier μ. Those that tie with the m′-th share what is left
        of m′μ, none having more than μ: rows y + slack − μ = 0 and Σ y − kμ = 0 beside the gradient's.
        """
        from scipy import optimize

        count = len(t)
        if budget is None:
            found = optimize.nnls(np.array(active).T, downhill)[0] if active else np.zeros(0)
            return np.zeros(count), found
        spent, slope = self._spent(budget.kind, t)
        level = -math.inf if budget.asked is None else np.sort(spent)[-budget.asked] + 10 * nearness
        above = spent > level
        tied = np.flatnonzero(~above & (spent > level - 20 * nearness))
        ties = len(tied)
        columns = 1 + 2 * ties + len(active)  # μ, y, slack, others
        rows = np.zeros((count + ties + bool(ties), columns))
        rows[:count, 0] = above * slope
        rows[tied, 1 + np.arange(ties)] = slope[tied]
        for place, column in enumerate(active):
            rows[:count, 1 + 2 * ties + place] = column
        for place in range(ties):
            rows[count + place, [1 + place, 1 + ties + place, 0]] = 1.0, 1.0, -1.0
        if ties:
            rows[-1, 1 : 1 + ties] = 1.0
            rows[-1, 0] = float(above.sum()) - (budget.asked or 0)
        found, _ = optimize.nnls(rows, np.concatenate([downhill, np.zeros(len(rows) - count)]))
        y = above * found[0]
        y[tied] = found[1 : 1 + ties]
        return y, found[1 + 2 * ties :]
