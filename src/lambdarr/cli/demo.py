"""The whole job on a made-up survey, with the truth known, so that every estimate can be seen beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

import lambdarr
from lambdarr.reporting.designs import design_sentences, design_table
from lambdarr.reporting.estimates import estimate_table, estimate_warning, estimates_csv
from lambdarr.sinks import write_file

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

PEOPLE = 20_000
_MARK = ".made-by-lambdarr-demo"
TABLES = (["drugs"], ["sex", "smokes"], ["age", "drugs"])


def survey(people: int = PEOPLE) -> pa.Table:
    """Return made-up answers in which smoking depends on sex, and drug use on age and smoking.

    The answers follow from a seed: they are an example, and always the same one.
    """
    draws = lambdarr.SeededWords(2026).words(4 * people).reshape(people, 4) / 2**32
    sexes, ages = ("female", "male"), ("16-24", "25-44", "45-64", "65+")
    habits, answers = ("never", "sometimes", "daily"), ("no", "yes")
    rows = []
    for sex_draw, age_draw, smoke_draw, drug_draw in draws.tolist():
        sex = int(sex_draw >= 0.52)
        age = sum(age_draw >= limit for limit in (0.16, 0.48, 0.80))
        smokes = sum(smoke_draw >= limit for limit in ((0.80, 0.90), (0.70, 0.84))[sex])
        chance = (0.30, 0.16, 0.06, 0.02)[age] * (1, 1.6, 2.2)[smokes]
        rows.append((sexes[sex], ages[age], habits[smokes], answers[drug_draw < chance]))
    columns = zip(*rows, strict=True)
    return pa.table(
        {name: list(column) for name, column in zip(("sex", "age", "smokes", "drugs"), columns, strict=True)}
    )


def run(folder: Path, console: Console) -> None:
    """Run the demo, leaving its files in ``folder``."""
    truths, reports = folder / "truths.csv", folder / "reports.csv"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot make the folder {folder}: {error.strerror}; choose another name"
        raise lambdarr.SourceError(msg) from None
    if any(folder.iterdir()) and not (folder / _MARK).exists():
        msg = f"the folder {folder} has files that are not the demo's; choose another name"
        raise lambdarr.SourceError(msg)
    (folder / _MARK).write_text("The files in this folder were made by `lambdarr demo`, which writes over them.\n")

    def step(number: int, text: str, command: str) -> None:
        console.print(f"\n[bold]{number}. {text}[/]")
        console.print(f"   $ {command}", soft_wrap=True, markup=False, highlight=False)

    console.print(
        f"[bold]A made-up survey of {PEOPLE:,} people[/], one question of it sensitive. Files go to {folder}/."
    )
    table = survey()
    write_file(truths, table.schema, table.to_batches(), force=True)

    targets = "--lam sex=0.9 --lam age=0.8 --lam smokes=0.6 --lam drugs=0.4"
    step(1, "Design: one keep rate λ per attribute.", f"lambdarr design truths.csv -o design.json {targets}")
    design = lambdarr.design(truths, lam={"sex": 0.9, "age": 0.8, "smokes": 0.6, "drugs": 0.4})
    design.save(folder / "design.json")
    console.print(design_table(design))
    for sentence in design_sentences(design):
        console.print(sentence, highlight=False)

    step(
        2,
        "Randomize, from the system's secure randomness.",
        "lambdarr randomize truths.csv -d design.json -o reports.csv",
    )
    rows = lambdarr.randomize_file(truths, reports, design, force=True)
    console.print(f"{rows:,} records randomized into {reports.name}; every run gives other reports.")

    asked = " ".join(f"-t {','.join(names)}" for names in TABLES)
    step(
        3,
        "Estimate, from the reports and the design alone. The last column, the truth, is known only here.",
        f"lambdarr estimate reports.csv -d design.json {asked} --inference finite",
    )
    estimates, inside, cells = [], 0, 0
    for names in TABLES:
        found = lambdarr.estimate(reports, design, names, inference="finite")
        truth = lambdarr.tally(truths, design, names).values / PEOPLE
        console.print(estimate_table(found, 0.95, truth=truth))
        if (warning := estimate_warning(found)) is not None:
            console.print(f"Warning: {warning}")
        lower, upper = found.interval(0.95)
        inside += int(((lower <= truth) & (truth <= upper)).sum())
        cells += truth.size
        estimates.append(found)
    (folder / "estimates.csv").write_text(estimates_csv(estimates, 0.95), encoding="utf-8")
    console.print(f"{inside} of {cells} intervals hold the truth; about 95 % do in the long run.")
    console.print(
        f"\n{folder}/ now has truths.csv, design.json, reports.csv and estimates.csv. "
        f"Next: lambdarr audit {folder}/design.json, lambdarr paper, lambdarr --help"
    )
