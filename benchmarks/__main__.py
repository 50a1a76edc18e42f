"""Measure every bar in one run, print a table, and write benchmarks/results.md and results.json."""

from __future__ import annotations

import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import lambdarr as lr
from benchmarks.individuals import speed as drawing_speed
from benchmarks.peers import PEERS
from benchmarks.timing import best
from lambdarr import sampling

if TYPE_CHECKING:
    from lambdarr.domain import Codes

HERE = Path(__file__).parent
VALUES = 10**8
ROWS = 10**7
SIZES = (2, 3, 5, 7, 9, 12, 16, 20)


@dataclass(frozen=True)
class Bar:
    """One ratio beside the bar it has to reach."""

    what: str
    measured: float
    bar: str
    reached: bool
    detail: str = ""


def at_most(what: str, measured: float, bar: float, detail: str = "", unit: str = "×") -> Bar:
    return Bar(what, round(measured, 3), f"≤ {bar:g} {unit}", measured <= bar, detail)


def at_least(what: str, measured: float, bar: float, detail: str = "") -> Bar:
    return Bar(what, round(measured, 2), f"≥ {bar:,g} ×", measured >= bar, detail)


def randomizing() -> list[Bar]:
    """Codes in memory against the bare cipher, NumPy and the field."""
    codes, channel = (np.arange(VALUES) % 10).astype(np.uint8), lr.Channel(10, 0.5)
    words, reports = np.empty(sampling.BLOCK, dtype=np.uint32), np.zeros_like(codes)

    def cipher() -> None:
        span = sampling.SystemWords().span(VALUES)
        for _ in range(0, VALUES, sampling.BLOCK):
            span.fill(words)

    def one_core() -> None:
        sampling.randomize_codes(codes, channel, sampling.SystemWords(), out=reports, threads=1)

    def two_cores() -> None:
        sampling.randomize_codes(codes, channel, sampling.SystemWords(), out=reports, threads=2)

    def pcg64() -> None:
        generator = np.random.default_rng()
        kept = generator.random(VALUES) < 0.5
        np.where(kept, codes, generator.integers(0, 10, VALUES, dtype=np.uint8))

    aes, one, two = best(cipher, one_core, two_cores)
    (numpy_time,) = best(pcg64, rounds=2)
    say(f"cipher {ns(aes)}, one core {ns(one)}, two cores {ns(two)}, NumPy {ns(numpy_time)} ns per value")
    bars = [
        at_most("randomize 10⁸ codes, one core / the AES-CTR stream alone", one / aes, 2, f"{ns(one)} / {ns(aes)} ns"),
        at_least("the same, one core / two cores", one / two, 1.7, f"{ns(one)} / {ns(two)} ns"),
        at_least("vectorized NumPy with PCG64 / the same on all cores", numpy_time / two, 10, f"{ns(numpy_time)} ns"),
    ]
    for peer in PEERS:
        found = peer.measure()
        ratio = float(str(found["ns"])) / (two / VALUES * 1e9)
        detail = f"{float(str(found['ns'])):,.0f} ns; {peer.note}"
        bars.append(at_least(f"{peer.package} {found['version']} / the same on all cores", ratio, 300, detail))
        say(f"{peer.package} {found['version']}: {detail}")
    return bars


def drawing() -> list[Bar]:
    """A column of numbers drawn over its individuals, against the gather that any such exchange needs."""
    ours, gather = drawing_speed()
    say(f"10⁷ numbers drawn over individuals: {ours:.3f} s, NumPy's gather {gather:.3f} s")
    detail = f"{ours:.3f} / {gather:.3f} s"
    return [at_most("10⁷ float64 drawn over individuals / NumPy's permutation gather", ours / gather, 4, detail)]


def ns(seconds: float, values: int = VALUES) -> str:
    return f"{seconds / values * 1e9:.2f}"


def parquet(folder: Path) -> list[Bar]:
    """A file of ten million records through the whole pipe, and a table with its errors out of it."""
    path, out = folder / "truths.parquet", folder / "out.parquet"
    generator = np.random.default_rng(0)
    columns, attributes = {}, []
    for place, size in enumerate(SIZES):
        attribute = lr.Attribute(f"a{place}", [f"category {code} of {place}" for code in range(size)])
        codes = pa.array(generator.integers(0, size, ROWS).astype(np.int32))
        columns[attribute.name] = pa.DictionaryArray.from_arrays(codes, pa.array(attribute.categories)).cast(
            pa.string()
        )
        attributes.append(attribute)
    pq.write_table(pa.table(columns), path)
    del columns
    design = lr.design(attributes, lam=0.6)
    connection = duckdb.connect()

    def ours() -> None:
        lr.randomize_file(path, out, design, force=True)

    def arrow() -> None:
        pq.write_table(pq.read_table(path), out)

    def copy() -> None:
        connection.execute(f"COPY (SELECT * FROM '{path}') TO '{out}' (FORMAT parquet)")

    mine, theirs, duck = best(ours, arrow, copy)
    say(f"Parquet to Parquet: lambdarr {mine:.2f} s, PyArrow {theirs:.2f} s, DuckDB {duck:.2f} s")

    def table() -> None:
        lr.estimate(path, design, ["a2", "a3", "a4"], method="inverse")

    def group() -> None:
        connection.execute(f"SELECT a2, a3, a4, count(*) FROM '{path}' GROUP BY ALL").fetchall()

    tally, grouped = best(table, group, rounds=7)
    say(f"three-way table: lambdarr {tally:.3f} s, DuckDB's GROUP BY {grouped:.3f} s")
    return [
        at_most(
            "Parquet → randomized Parquet, 10⁷ × 8 texts / PyArrow reading and writing it",
            mine / theirs,
            1.15,
            f"{mine:.2f} / {theirs:.2f} s",
        ),
        at_most("the same / DuckDB's plain COPY", mine / duck, 1, f"{mine:.2f} / {duck:.2f} s"),
        at_most(
            "three-way tally + estimate + errors from that file / DuckDB's GROUP BY",
            tally / grouped,
            1.5,
            f"{tally:.3f} / {grouped:.3f} s",
        ),
    ]


def products() -> list[Bar]:
    """The inverse over a large joint, against copying it; and over a small one, against solving the dense system."""
    channels = [lr.Channel(5, 0.6)] * 11
    table = np.random.default_rng(0).random((5,) * 11)
    other = table.copy()
    copied, solved = best(
        lambda: np.copyto(other, table), lambda: lr.kronecker.solve(channels, other, out=other), rounds=5
    )
    say(f"5¹¹ cells: copy {copied:.3f} s, inverse {solved:.3f} s")
    six = [lr.Channel(5, lam) for lam in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)]
    small = np.random.default_rng(1).random((5,) * 6)
    (ours,) = best(lambda: lr.kronecker.solve(six, small), rounds=20)
    matrix = lr.kronecker.dense(six)
    start = time.perf_counter()
    answer = np.linalg.solve(matrix, small.ravel())
    dense = time.perf_counter() - start
    np.testing.assert_allclose(lr.kronecker.solve(six, small).ravel(), answer, atol=1e-7)
    say(f"15,625 cells: numpy.linalg.solve {dense:.1f} s, axis by axis {ours * 1e6:.0f} µs")
    return [
        at_most("P⁻¹ on 5¹¹ cells, in place / copying the table", solved / copied, 6, f"{solved:.3f} / {copied:.3f} s"),
        at_least(
            "numpy.linalg.solve on 15,625 cells / the exact inverse",
            dense / ours,
            10_000,
            f"{dense:.1f} s / {ours * 1e6:.0f} µs",
        ),
    ]


_STREAM = r"""
import re, sys
from pathlib import Path
import lambdarr as lr
design = lr.Design.load(sys.argv[1])
lr.randomize_file(sys.argv[2], sys.argv[3], design)
# not ru_maxrss, which a child inherits from the process that started it
print(int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) / 2**20)
"""


def estimating() -> list[Bar]:
    """Tables of ten attributes and a million reports, and a model of eight of them."""
    generator, people = np.random.default_rng(1), 10**6
    columns = [generator.integers(0, 10, people)]
    for _ in range(9):
        columns.append(np.where(generator.random(people) < 0.3, columns[-1], generator.integers(0, 10, people)))
    truths = pa.table({f"a{place}": column for place, column in enumerate(columns)})
    design = lr.design({name: range(10) for name in truths.column_names}, lam=0.5)
    reports = lr.randomize(truths, design, rng=lr.SeededWords(1))
    pairs = list(itertools.combinations(design.names, 2))

    def all_pairs() -> None:
        for counts in lr.tallies(reports, design, pairs):
            lr.estimate(counts, design)

    pair_tables, five_way, model = best(
        all_pairs,
        lambda: lr.estimate(reports, design, design.names[:5]),
        lambda: lr.model(reports, design, design.names[:8]),
        rounds=1,
    )
    return [
        at_most("45 pair tables of 10⁶ reports, with errors", pair_tables, 5, unit="s"),
        at_most("auto on a 5-way table of 10⁵ cells", five_way, 10, unit="s"),
        at_most("a model of 8 attributes", model, 60, unit="s"),
        *regressing(reports, design),
    ]


def regressing(reports: pa.Table, design: lr.Design) -> list[Bar]:
    """Regressions of a million reports on 20 dummies, or on 21 of which one is public and different for everyone."""
    dummies = "C(a1) + C(a2) + I(a3 > 4) + I(a4 > 4)"
    age = pa.array(np.random.default_rng(2).uniform(20, 60, reports.num_rows))
    beside = reports.append_column("age", age)
    linear, with_age, logistic = best(
        lambda: lr.regress(f"a0 ~ {dummies}", reports, design),
        lambda: lr.regress(f"a0 ~ age + {dummies}", beside, design),
        lambda: lr.regress(f"I(a0 > 4) ~ {dummies}", reports, design, family="logistic"),
        rounds=1,
    )
    return [
        at_most("linear regression of 10⁶ reports on 20 dummies", linear, 3, unit="s"),
        at_most("the same with a public number", with_age, 3, unit="s"),
        at_most("logistic regression of 10⁶ reports on 20 dummies", logistic, 60, unit="s"),
    ]


def memory(folder: Path) -> list[Bar]:
    """10⁸ records of 4 attributes from file to file: the peak of the process, in GiB."""
    path = folder / "long.parquet"
    attributes = [lr.Attribute(f"a{place}", [f"answer {code}" for code in range(5)]) for place in range(4)]
    schema = pa.schema([(attribute.name, pa.string()) for attribute in attributes])
    generator = np.random.default_rng(0)
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(VALUES // 10**6):
            codes = generator.integers(0, 5, (4, 10**6)).astype(np.int32)
            texts = pa.array(attributes[0].categories)
            arrays = [pa.DictionaryArray.from_arrays(pa.array(row), texts).cast(pa.string()) for row in codes]
            writer.write_table(pa.table(arrays, schema=schema))
    lr.design(attributes, lam=0.5).save(folder / "design.json")
    arguments = [folder / "design.json", path, folder / "long-out.parquet"]
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", _STREAM, *arguments], check=True, capture_output=True, text=True)
    peak = float(done.stdout)
    say(f"10⁸ × 4 streamed in {time.perf_counter() - start:.0f} s, peak {peak:.2f} GiB")
    return [at_most("peak memory, 10⁸ rows × 4 attributes streamed, GiB", peak, 1, unit="GiB")]


def starting(folder: Path) -> list[Bar]:
    """How long a user waits before anything happens."""
    (folder / "small.csv").write_text("sex,vote\n" + "F,a\nM,b\nF,c\nM,a\n" * 250)
    lr.design(folder / "small.csv", lam=0.5).save(folder / "small.json")
    cli = [sys.executable, "-c", "from lambdarr.cli import run; run()"]
    randomize = [
        *cli,
        "randomize",
        folder / "small.csv",
        "-d",
        folder / "small.json",
        "-o",
        folder / "o.csv",
        "--force",
    ]

    def run(arguments: list[object]) -> None:
        subprocess.run([str(argument) for argument in arguments], check=True, stdout=subprocess.DEVNULL)

    imported, everything, helped, small = best(
        lambda: run([sys.executable, "-c", "import lambdarr"]),
        lambda: run([sys.executable, "-c", "from lambdarr import *"]),
        lambda: run([*cli, "--help"]),
        lambda: run(randomize),
        rounds=5,
    )
    return [
        at_most("import lambdarr, seconds", imported, 0.3, f"all public names: {everything:.2f} s", unit="s"),
        at_most("lambdarr --help, seconds", helped, 0.5, unit="s"),
        at_most("1,000-row CSV randomized, seconds, warm", small, 1.5, unit="s"),
    ]


def growth() -> tuple[list[Bar], list[dict[str, object]]]:
    """How the cost of one value, one attribute and one cell grows with their number."""
    rows: list[dict[str, object]] = []
    per_value = {}
    for exponent in (5, 6, 7, 8):
        n = 10**exponent
        codes, channel = (np.arange(n) % 10).astype(np.uint8), lr.Channel(10, 0.5)
        reports = np.zeros_like(codes)

        def one_core(codes: Codes = codes, channel: lr.Channel = channel, reports: Codes = reports) -> None:
            sampling.randomize_codes(codes, channel, sampling.SystemWords(), out=reports, threads=1)

        times = best(one_core, rounds=5 if n > 10**7 else 30)
        per_value[exponent] = times[0] / n * 1e9
        rows.append({"what": "randomize codes, one core", "size": f"{n:,} values", "ns": round(per_value[exponent], 3)})
    n = 10**6
    for m in (2, 5, 10, 20, 40):
        attributes = [lr.Attribute(f"a{place}", range(10)) for place in range(m)]
        design = lr.design(attributes, lam=0.5)
        table = pa.table({a.name: pa.array(np.arange(n) % 10) for a in attributes})
        times = best(lambda table=table, design=design: lr.randomize(table, design))
        rows.append(
            {"what": "randomize a table of 10⁶ rows", "size": f"{m} attributes", "ns": round(times[0] / n / m * 1e9, 2)}
        )
    for shape in ((10,) * 3, (10,) * 4, (10,) * 5, (10,) * 6, (10,) * 7, (5,) * 11):
        channels, cells = [lr.Channel(size, 0.6) for size in shape], np.random.default_rng(0).random(shape)
        times = best(lambda c=channels, t=cells: lr.kronecker.solve(c, t, out=t), rounds=5)
        per_cell = times[0] / cells.size * 1e9
        rows.append(
            {"what": "P⁻¹ in place", "size": f"{cells.size:,} cells, {len(shape)} axes", "ns": round(per_cell, 2)}
        )
    flat = max(per_value[e] for e in (6, 7, 8)) / min(per_value[e] for e in (6, 7, 8))
    bar = at_most("growth: time per value, slowest / fastest of 10⁶, 10⁷, 10⁸", flat, 1.15)
    return [bar], rows


def say(text: str) -> None:
    print(text, flush=True)


def write(bars: list[Bar], rows: list[dict[str, object]]) -> None:
    machine = {
        "date": datetime.now(UTC).date().isoformat(),
        "command": "make bench",
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "pyarrow", "numba", "cryptography", "duckdb")},
    }
    results = {"run": machine, "bars": [asdict(bar) for bar in bars], "growth": rows}
    (HERE / "results.json").write_text(json.dumps(results, ensure_ascii=False, indent=2) + "\n")
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    lines = [
        "# Benchmarks",
        "",
        f"`make bench` on {machine['date']}: {machine['cores']} cores, {machine['machine']}, Python "
        f"{machine['python']}, {versions}. Every figure is a ratio of two things measured in turn in this one run, the "
        "best of a few rounds each; the peers run in environments of their own, as their documentation calls them, "
        "with one thread.",
        "",
        "| what | measured | bar | reached | |",
        "| --- | ---: | ---: | --- | --- |",
        *(f"| {b.what} | {b.measured:,} | {b.bar} | {'yes' if b.reached else '**no**'} | {b.detail} |" for b in bars),
        "",
        "## How cost grows",
        "",
        "| what | size | ns per value, or per cell |",
        "| --- | ---: | ---: |",
        *(f"| {row['what']} | {row['size']} | {row['ns']} |" for row in rows),
        "",
        "Tables below four million cells go through NumPy unless the compiled loops are loaded already.",
        "",
    ]
    missed = [bar for bar in bars if not bar.reached]
    lines += (
        ["## Missed", "", *(f"- {bar.what}: {bar.measured} against {bar.bar}." for bar in missed)] if missed else []
    )
    (HERE / "results.md").write_text("\n".join(lines).rstrip() + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bars = [
            *starting(folder),
            *randomizing(),
            *drawing(),
            *parquet(folder),
            *products(),
            *estimating(),
            *memory(folder),
        ]
    grown, rows = growth()
    bars += grown
    write(bars, rows)
    table = Table("what", "measured", "bar", "reached", title="Bars")
    for bar in bars:
        table.add_row(bar.what, f"{bar.measured:,}", bar.bar, "yes" if bar.reached else "[red]no[/]")
    Console().print(table)


if __name__ == "__main__":
    main()
