"""What asking fewer attributes gains at the same ε: predicted by ``lr.compare_asked``, and simulated."""

import datetime
import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa

import lambdarr as lr

SIZES = (9, 16, 7, 15, 6, 5, 2, 2)
EPSILON = 1.0
N = 20_000
FILES = {1: 300, 2: 40}
ASKED = {1: (1, 2, 4, 8), 2: (2, 4, 8)}


def people(generator):
    """Return a file of people whose attributes are uneven, and depend on one another."""
    shares = generator.dirichlet(np.ones(3 * max(SIZES)))
    kind = generator.choice(len(shares), N, p=shares)
    return pa.table({f"a{j}": (kind * (j + 1) + generator.integers(0, 3, N)) % r for j, r in enumerate(SIZES)})


def simulated(design, truths, tables, files, rng):
    """Return the mean squared error of each table about the file, over files randomized anew."""
    plain = [counts.values / N for counts in lr.tallies(truths, lr.design(whole(), lam=1.0), tables)]
    errors = np.zeros((files, len(tables)))
    for file in range(files):
        counted = lr.tallies(lr.randomize(truths, design, rng=rng), design, tables)
        for place, (counts, pi) in enumerate(zip(counted, plain, strict=True)):
            channels = design.select(counts.attributes).channels
            found = lr.kronecker.solve(channels, counts.values / counts.total)
            errors[file, place] = ((found - pi) ** 2).mean()
    return errors.mean(axis=0)


def whole():
    return {f"a{j}": range(r) for j, r in enumerate(SIZES)}


def main():
    truths, rng = people(np.random.default_rng(1)), lr.SeededWords(1)
    lines = [
        "# Asking fewer attributes at the same ε",
        "",
        f"`python -m benchmarks.asking`, {datetime.datetime.now(tz=datetime.UTC).date()}. {len(SIZES)} attributes with "
        f"{', '.join(map(str, SIZES))} categories, {N:,} people,",
        f"ε = {EPSILON:g} for the whole report, spread as is best for the tables. Error: squared, of a cell of the",
        "unbiased estimates, summed over all tables of that order. Gain: how many times smaller it is than if everyone",
        "answers all, with the λ's that are best for that; the mean over tables is geometric, as they differ in size.",
        "",
        "| order | asked | predicted error | simulated | predicted gain | simulated | mean over tables |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for order, files in FILES.items():
        compared = lr.compare_asked(whole(), epsilon=EPSILON, workload=order, n=N)
        plans = {plan.asked: plan for plan in compared.plans}
        tables = list(itertools.combinations(whole(), order))
        errors = {m: simulated(plans[m].design, truths, tables, files, rng) for m in ASKED[order]}
        for m in ASKED[order]:
            total, everything = errors[m].sum(), errors[len(SIZES)].sum()
            by_table = np.exp(np.log(errors[len(SIZES)] / errors[m]).mean())
            cells = [order, m, f"{plans[m].error:.4g}", f"{total:.4g}"]
            cells += [f"{gain:.1f}" for gain in (plans[m].gain, everything / total, by_table)]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    text = "\n".join(lines) + "\n"
    (Path(__file__).parent / "asking.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
