"""What a measured audit proves and catches: ``make measured`` writes benchmarks/measured.md.

Bounds are of lambdarr's own randomizer with the system's words, at 10⁷ draws and 99 % confidence. Broken samplers are
those of tests/samplers.py, at the fewest of some numbers of draws that catch them.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests import samplers

import lambdarr as lr

DRAWS = 10**7
DESIGNS = {
    "2 categories, λ = 0.5": lr.design({"a": [0, 1]}, lam=0.5),
    "2 categories, λ = 0.05": lr.design({"a": [0, 1]}, lam=0.05),
    "5 categories, λ = 0.6": lr.design({"a": list(range(5))}, lam=0.6),
    "10 categories, λ = 0.9": lr.design({"a": list(range(10))}, lam=0.9),
    "16 categories, λ = 0.1": lr.design({"a": list(range(16))}, lam=0.1),
    "100 categories, λ = 0.3": lr.design({"a": list(range(100))}, lam=0.3),
    "1,000 categories, λ = 0.5": lr.design({"a": list(range(1000))}, lam=0.5),
    "two asked of three of 5 categories, λ = 0.9, 0.5, 0.4": lr.design(
        {name: list(range(5)) for name in "abc"}, lam={"a": 0.9, "b": 0.5, "c": 0.4}, asked=2
    ),
    "three of 5 categories, λ = 0.9, 0.5, 0.4": lr.design(
        {name: list(range(5)) for name in "abc"}, lam={"a": 0.9, "b": 0.5, "c": 0.4}
    ),
}
MODES = {"table": 10**6, "file": 10**6, "record": 10**5, "client": 10**5}
LADDER = 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000


def main() -> None:
    lr.measure(DESIGNS["2 categories, λ = 0.5"], draws=1_000)  # what is imported once
    lines = [
        "# Measured audits",
        "",
        f"`make measured`, {datetime.now(UTC):%-d %B %Y}. Seconds: two cores that had other work too.",
        "",
        f"## {DRAWS:,} draws of lambdarr's own randomizer",
        "",
        "| design | stated ε | ε at least | share | truths compared | passed | seconds |",
        "| --- | ---: | ---: | ---: | ---: | --- | ---: |",
    ]
    for name, design in DESIGNS.items():
        start = time.perf_counter()
        found = lr.measure(design, draws=DRAWS)
        joint, seconds = found.joint, time.perf_counter() - start
        lines.append(
            f"| {name} | {joint.epsilon:.4f} | {joint.bound:.4f} | {joint.share:.1%} "
            f"| {found.attributes[0].truths} | {'yes' if found.passed else 'no'} | {seconds:.1f} |"
        )
        print(lines[-1], flush=True)
    lines += ["", "## Modes, with the three attributes", "", "| mode | draws | share | passed | seconds |"]
    lines += ["| --- | ---: | ---: | --- | ---: |"]
    for mode, draws in MODES.items():
        start = time.perf_counter()
        found = lr.measure(design, mode=mode, draws=draws)
        seconds = time.perf_counter() - start
        lines.append(
            f"| {mode} | {draws:,} | {found.joint.share:.1%} | {'yes' if found.passed else 'no'} | {seconds:.1f} |"
        )
        print(lines[-1], flush=True)
    lines += ["", "## Broken samplers: the fewest draws that catch them", ""]
    lines += ["Two attributes, of 3 and 2 categories; a right one fails once in a million runs.", ""]
    lines += ["| sampler | λ = 0.05 | λ = 0.5 | λ = 0.9 |", "| --- | ---: | ---: | ---: |"]
    for broken in samplers.BROKEN:
        cells = []
        for lam in (0.05, 0.5, 0.9):
            design = lr.design({"a": list("xyz"), "b": [1, 2]}, lam=lam)
            cells.append(_fewest(design, broken, mode="records"))
        lines.append(f"| {broken.__name__} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    lines += ["", "## Broken sets of attributes: the fewest draws that catch them", ""]
    lines += ["Two asked of four attributes, of 3, 2, 4 and 2 categories, λ = 0.3.", ""]
    lines += ["| sampler | draws |", "| --- | ---: |"]
    design = lr.design({"a": range(3), "b": range(2), "c": range(4), "d": range(2)}, lam=0.3, asked=2)
    for broken in samplers.BROKEN_SETS:
        lines.append(f"| {broken.__name__} | {_fewest(design, broken, mode='table')} |")
        print(lines[-1], flush=True)
    (Path(__file__).parent / "measured.md").write_text("\n".join(lines) + "\n")


def _fewest(design: lr.Design, broken: Any, mode: Any) -> str:
    """Return the fewest draws of the ladder that catch a broken sampler."""
    for draws in LADDER:
        if not lr.measure(design, broken(design), mode=mode, draws=draws).passed:
            return f"{draws:,}"
    return f"> {LADDER[-1]:,}"


if __name__ == "__main__":
    main()
