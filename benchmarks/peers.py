"""The field, each in a virtual environment of its own, called as its documentation calls it.

Every script randomizes n values of 10 categories at ε = 1 with one thread and prints nanoseconds per value. n is as
large as the peer's speed allows; a loop in Python is what these packages' own tutorials use.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENTS = Path(__file__).parents[1] / ".venv-bench"

_FRAME = """
import json, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from importlib.metadata import version
n = {n}
x = np.random.default_rng(0).integers(0, 10, n)
{prepare}
start = time.perf_counter()
{run}
print(json.dumps({{"ns": (time.perf_counter() - start) / n * 1e9, "version": version("{package}")}}))
"""


@dataclass(frozen=True)
class Peer:
    """A package, what to install for it, and how it randomizes."""

    package: str
    install: tuple[str, ...]
    n: int
    prepare: str
    run: str
    note: str

    def measure(self) -> dict[str, object]:
        """Install the peer if need be, run it, and return its version and nanoseconds per value."""
        folder = ENVIRONMENTS / self.package
        python = folder / "bin" / "python"
        if not (folder / ".installed").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            quiet = ["--quiet", "--disable-pip-version-check"]
            subprocess.run([python, "-m", "pip", "install", *quiet, *self.install], check=True)
            (folder / ".installed").touch()
        code = _FRAME.format(n=self.n, prepare=self.prepare, run=self.run, package=self.package)
        done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
        found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return found


PEERS = [
    Peer(
        "multi-freq-ldpy",
        ("multi-freq-ldpy==0.2.5",),
        1_000_000,
        "from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client\nGRR_Client(1, 10, 1.0)",
        "reports = [GRR_Client(int(v), 10, 1.0) for v in x]",
        "numba scalar call from a Python loop; not cryptographic",
    ),
    Peer(
        "pure-ldp",
        ("pure-ldp==1.2.0", "statsmodels", "scikit-learn"),
        1_000_000,
        "from pure_ldp.frequency_oracles.direct_encoding import DEClient\nclient = DEClient(epsilon=1.0, d=10)",
        "reports = [client.privatise(int(v) + 1) for v in x]",
        "Python's random; needs statsmodels and scikit-learn, which it does not declare",
    ),
    Peer(
        "diffprivlib",
        ("diffprivlib==0.6.5", "scikit-learn==1.5.2", "numpy<2"),
        50_000,
        """from diffprivlib.mechanisms import ExponentialCategorical
labels = [str(i) for i in range(10)]
utilities = [(a, b, 1) for i, a in enumerate(labels) for b in labels[:i]]
mechanism = ExponentialCategorical(epsilon=1.0, utility_list=utilities)""",
        "reports = [mechanism.randomise(labels[v]) for v in x]",
        "SystemRandom; floating point",
    ),
    Peer(
        "opendp",
        ("opendp==0.16.0", "numpy"),
        20_000,
        """import opendp.prelude as dp
dp.enable_features("contrib")
p = float(np.exp(1) / (np.exp(1) + 9))
measurement = dp.m.make_randomized_response(categories=list(range(10)), prob=p)""",
        "reports = [measurement(int(v)) for v in x]",
        "exact and cryptographic; one foreign call per value",
    ),
    Peer(
        "pram",
        ("pram==0.2.0", "pandas<3"),
        20_000,
        """import pandas as pd
from pram import Pram
frame = pd.DataFrame({"x": x.astype(str)})""",
        "reports = Pram.pram(frame, m=0.8, alpha=0.5)",
        "row by row; NumPy's generator; other matrix (PRAM's own)",
    ),
]
