"""Reports → regressions: linear, logistic and multinomial, where outcome and predictors may be randomized or public.

What is estimated is what the same regression on the truths would give. Errors are sandwich errors over what each report
is worth, so they hold whatever the distribution of the residuals, with weights, strata and clusters, and for both
inferences; with λ = 1 they are statsmodels' ``cov_type="HC0"``.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lambdarr.designs import check_together
from lambdarr.domain import ABSENT
from lambdarr.errors import DataError
from lambdarr.formulas import Formula, predictors_of
from lambdarr.intervals import deviations
from lambdarr.leastsquares import LinearReports
from lambdarr.logits import LogitReports, probabilities
from lambdarr.sources import check_present, open_source
from lambdarr.surveys import Sample, Survey, check_inference, joined
from lambdarr.tabulation import Coded, over_reports
from lambdarr.truths import Reported, Truths
from lambdarr.waves import shared, waves_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.domain import Codes
    from lambdarr.estimation import Inference
    from lambdarr.formulas import Columns, Outcome
    from lambdarr.surveys import Asked
    from lambdarr.waves import Wave

    Floats = NDArray[np.float64]

Family = Literal["linear", "logistic", "multinomial"]
Method = Literal["likelihood", "moments"]

_CLEAR = 2.0
"""Standard errors by which what predictors tell apart has to differ from nothing."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Regression:
    """A regression on the truths behind reports. Made by ``lambdarr.regress``.

    Parameters
    ----------
    formula : str
        As it was asked for.
    family : {"linear", "logistic", "multinomial"}
        What the outcome is.
    method : {"likelihood", "moments"}
        How the outcome's randomization was undone.
    names : tuple of str
        The columns, as statsmodels names them.
    classes : tuple of str
        The outcome's classes, the one they are compared with first; none in the linear family.
    values : array
        The coefficients, of each class after the other.
    errors : array
        Their covariance matrix.
    n : int
        Number of reports used.
    left_out : int
        Reports without a value in one of the columns.
    inference : {"population", "finite"}
        What the errors speak of.
    specification : object
        What formulaic needs for new records.
    design : Design
        The part of the design that the formula is about.
    scores : dict
        The numbers that stand for categories.
    waves : int
        How many designs the reports were made with; ``design`` then has the smallest λ of each attribute.
    """

    formula: str
    family: Family
    method: Method
    names: tuple[str, ...]
    classes: tuple[str, ...]
    values: Floats
    errors: Floats
    n: int
    left_out: int
    inference: Inference
    specification: Any
    design: Design | None
    scores: dict[str, Any]
    waves: int

    def __repr__(self) -> str:
        return f"<Regression {self.formula!r}: {self.family}, {self.n:,} reports, {self.inference}; see .summary()>"

    @property
    def coefficients(self) -> Any:
        """The coefficients by name, a pandas Series; in the multinomial family a frame with a column per class."""
        return self._shaped(self.values)

    @property
    def standard_errors(self) -> Any:
        """Their standard errors, in the same form."""
        return self._shaped(np.sqrt(np.diag(self.errors)))

    @property
    def covariance(self) -> Any:
        """Their covariance matrix, a pandas frame."""
        import pandas

        return pandas.DataFrame(self.errors, index=self._index(), columns=self._index())

    def interval(self, level: float = 0.95) -> Any:
        """Return a pandas frame with the lower and upper ends of the confidence intervals, a row per coefficient."""
        import pandas

        wide = deviations(level) * np.sqrt(np.diag(self.errors))
        return pandas.DataFrame({"lower": self.values - wide, "upper": self.values + wide}, index=self._index())

    def to_frame(self, level: float = 0.95) -> Any:
        """Return a pandas frame with all that is known of each coefficient."""
        rows = rows_of(self, level)
        import pandas

        return pandas.DataFrame(rows, index=self._index()).drop(columns=["class", "name"])

    def summary(self, level: float = 0.95) -> str:
        """Return the regression as a text to print."""
        headings = ("coef", "std err", "z", "P>|z|", f"[{(1 - level) / 2:.4g}", f"{(1 + level) / 2:.4g}]")
        wide = max(len(name) for name in self.names) + 1
        lines = [f"{self.family.capitalize()} regression of reports: {self.formula}", *self._about()]
        label = None
        for row in rows_of(self, level):
            if row["class"] != label:
                label = row["class"]
                lines.append("")
                if self.family == "multinomial":
                    lines.append(f"{self._outcome()} = {label}, compared with {self.classes[0]}")
                lines.append(" " * wide + "".join(f"{heading:>10}" for heading in headings))
            numbers = [row[key] for key in ("coefficient", "standard_error", "z", "p_value", "lower", "upper")]
            lines.append(f"{row['name']:<{wide}}" + "".join(map(_cell, numbers)))
        return "\n".join(lines)

    def predict(self, records: Any) -> Floats:
        """Return what the regression expects of records whose predictors are known.

        Parameters
        ----------
        records : table or path
            True values of the predictors, in the types that the design and the public columns have.

        Returns
        -------
        array
            The expected outcome; in the logistic family the probability of the second class, in the multinomial one a
            column of probabilities for each class.
        """
        attributes = () if self.design is None else self.design.attributes
        x = predictors_of(
            self.specification, attributes, _frame_of(records, Formula(self.formula).predictors), self.scores
        )
        if self.family == "linear":
            return np.asarray(x @ self.values)
        beta = self.values.reshape(len(self.classes) - 1, -1).T
        found = probabilities(x, beta)
        return found[:, 1] if self.family == "logistic" else found

    def _outcome(self) -> str:
        return self.formula.split("~")[0].strip()

    def _about(self) -> list[str]:
        about = f"{self.n:,} reports"
        if self.left_out:
            about += f", {self.left_out:,} more left out for missing values"
        if self.design is not None:
            at_least = "≥" if self.waves > 1 else "="
            pairs = zip(self.design.names, self.design.channels, strict=True)
            about += "; randomized: " + ", ".join(f"{name} (λ {at_least} {channel.lam:.4g})" for name, channel in pairs)
        if self.family == "logistic":
            about += f"; of the probability of {self._outcome()} = {self.classes[1]}"
        behind = "the population behind the respondents" if self.inference == "population" else "this very file"
        return textwrap.wrap(f"{about}. Errors for {behind}.", 80)

    def _index(self) -> Any:
        import pandas

        if self.family != "multinomial":
            return pandas.Index(self.names)
        return pandas.MultiIndex.from_product([self.classes[1:], self.names])

    def _shaped(self, values: Floats) -> Any:
        import pandas

        if self.family != "multinomial":
            return pandas.Series(values, index=self._index())
        return pandas.DataFrame(
            values.reshape(-1, len(self.names)).T, index=pandas.Index(self.names), columns=self.classes[1:]
        )


def _cell(number: float) -> str:
    return f"{round(number, 4) + 0.0:10.4f}" if abs(number) < 10_000 else f"{number:10.3g}"  # no −0.0000


def rows_of(found: Regression, level: float) -> list[dict[str, Any]]:
    """Return all that is known of each coefficient, by name."""
    ends = found.interval(level)
    classes = found.classes[1:] or ("",)
    labels = [(label, name) for label in classes for name in found.names]
    rows = []
    for (label, name), value, error, lower, upper in zip(
        labels, found.values, np.sqrt(np.diag(found.errors)), ends["lower"], ends["upper"], strict=True
    ):
        z = value / error if error > 0 else math.nan
        numbers = {"coefficient": value, "standard_error": error, "z": z, "p_value": math.erfc(abs(z) / math.sqrt(2))}
        rows.append({"class": label, "name": name} | {
            key: float(number) for key, number in {**numbers, "lower": lower, "upper": upper}.items()
        })  # fmt: skip
    return rows


def regress(
    formula: str,
    reports: Any,
    design: Design | None = None,
    *,
    family: Family = "linear",
    method: Method | None = None,
    scores: Mapping[str, Any] | None = None,
    inference: Inference = "population",
    weights: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    clusters: str | ArrayLike | None = None,
) -> Regression:
    """Return a regression on the truths behind reports, with standard errors that account for the randomization.

    Parameters
    ----------
    formula : str
        Such as ``"income ~ sex + education"``, with ``:``, ``*``, ``C()``, ``I()`` and functions as in statsmodels.
        Columns of the design are corrected for its randomization; all others are public and taken as they are.
    reports : table, path or list of (reports, Design)
        Randomized records; or several tables of them, each with the design it was made with.
    design : Design, optional
        The design they were made with, unless it is beside them.
    family : {"linear", "logistic", "multinomial"}
        What the outcome is: a number, one of two classes, or one of several. Of two categories, the second is what the
        probability is of; of several, the first is what they are compared with.
    method : {"likelihood", "moments"}, optional
        How the outcome's randomization is undone, in the logistic and multinomial family. "likelihood" has the channel
        in the likelihood, and has the smaller errors if the model holds. "moments", the default, solves the truths' own
        equations, unbiasedly estimated: its target is what the regression on the truths gives, whether or not the model
        holds. The linear family knows only these.
    scores : mapping, optional
        Attribute → the numbers of its categories, in order, or a mapping from category to number: it then enters as a
        number. Integers are numbers by themselves, ``C(age)`` makes them categories.
    inference : {"population", "finite"}
        As for ``estimate``.
    weights : str or array, optional
        Survey weights: the name of a column, or one number per report.
    strata, clusters : str or array, optional
        How people were sampled: the stratum of each report, and the cluster of people who were drawn together.

    Examples
    --------
    >>> import lambdarr as lr
    >>> design = lr.design({"sex": ["F", "M"], "income": [1, 2, 3]}, lam=0.8)
    >>> counts = {("F", 1): 250, ("F", 2): 150, ("F", 3): 100, ("M", 1): 150, ("M", 2): 100, ("M", 3): 250}
    >>> reports = [{"sex": sex, "income": income} for (sex, income), n in counts.items() for _ in range(n)]
    >>> found = lr.regress("income ~ sex", reports, design)
    >>> found.coefficients["sex[T.M]"].item(), found.standard_errors["sex[T.M]"].item()
    (0.781, 0.0818)
    """
    if family not in get_args(Family):
        msg = f"family must be 'linear', 'logistic' or 'multinomial', got {family!r}"
        raise DataError(msg)
    if method not in (None, *get_args(Method)) or (method == "likelihood" and family == "linear"):
        msg = f"method must be 'likelihood' (not in the linear family) or 'moments', got {method!r}"
        raise DataError(msg)
    survey = Survey(weights, strata, clusters)
    given = {} if scores is None else scores
    waves = waves_of(reports, design, survey)
    is_sampled = any(wave.design.is_sampled for wave in waves)
    check_inference(inference, is_complex=survey.is_complex, is_sampled=is_sampled)
    read = Formula(formula)
    data = _Data.of(waves, read.variables)
    if not isinstance(given, Mapping) or not set(given) <= set(data.names):
        msg = f"scores must map randomized attributes of the formula to their numbers: {', '.join(data.names)}"
        raise DataError(msg)
    domain = data.design
    attributes = () if domain is None else domain.attributes
    columns, specification = read.columns(attributes, data.public, given)
    outcome = read.outcome(attributes, data.public, given, family)
    if outcome.attribute in columns.attributes:
        msg = f"attribute {outcome.attribute!r} is on both sides of the formula"
        raise DataError(msg)
    _check_observed(data, outcome)
    chosen: Method = method or "moments"
    fitted = (
        _linear(data, columns, outcome, inference)
        if family == "linear"
        else _logit(data, columns, outcome, inference, likelihood=chosen == "likelihood")
    )
    return Regression(
        formula, family, chosen, columns.names, outcome.labels, *fitted, data.n, data.left_out, inference,
        specification, domain, dict(given), len(waves),
    )  # fmt: skip


class _Records(NamedTuple):
    """Reports of one wave."""

    channels: dict[str, Channel]
    codes: dict[str, Codes]
    weights: Floats
    sample: Sample | None
    rows: slice
    """Where they are among those of all waves."""


class _Data(NamedTuple):
    """All reports, and their public columns."""

    design: Design | None
    records: list[_Records]
    public: Any
    left_out: int

    @property
    def names(self) -> tuple[str, ...]:
        return () if self.design is None else self.design.names

    @property
    def n(self) -> int:
        return int(self.records[-1].rows.stop)

    @classmethod
    def of(cls, waves: Sequence[Wave], variables: Iterable[str]) -> _Data:
        import pandas

        randomized = [name for name in variables if any(name in wave.design.names for wave in waves)]
        public = [name for name in variables if name not in randomized]
        design = shared([wave.design for wave in waves], randomized) if randomized else None
        records, frames, left_out, start = [], [], 0, 0
        for wave in waves:
            if randomized:
                check_together(wave.design.select(randomized))
            codes, asked, frame = _read(wave, randomized, public)
            complete = np.array(frame.notna().all(axis=1)) if public else np.ones(len(frame), dtype=bool)
            for column in codes.values():
                complete &= column != ABSENT
            left_out += int((~complete).sum())
            if not complete.all():
                frame = frame[complete]
                codes = {name: column[complete] for name, column in codes.items()}
                asked = asked.at(complete)
            n = len(frame)
            if not n:
                msg = "no report has a value in every column of the formula"
                raise DataError(msg)
            sample = Sample.of(asked.strata, asked.clusters, n) if wave.survey.is_complex else None
            weights = np.ones(n) if asked.weights is None else asked.weights
            if not weights.any():
                msg = "weights must not all be zero"
                raise DataError(msg)
            records.append(_Records(wave.design.by_name, codes, weights, sample, slice(start, start + n)))
            frames.append(frame)
            start += n
        return cls(design, records, pandas.concat(frames, ignore_index=True), left_out)


def _read(wave: Wave, randomized: Sequence[str], public: Sequence[str]) -> tuple[dict[str, Codes], Asked, Any]:
    """Return the codes of the attributes, the sample, and the public columns as a pandas frame."""

    def batch(coded: Coded) -> Coded:
        return coded

    batches = list(over_reports(wave.reports, wave.design, randomized, wave.survey, batch, public=public))
    codes = {name: np.concatenate([coded.codes[name] for coded in batches]) for name in randomized}
    columns = {name: pa.chunked_array([coded.public[name] for coded in batches]) for name in public}
    return (
        codes,
        joined([coded.asked for coded in batches]),
        _frame(columns, sum(coded.rows for coded in batches), as_text=batches[0].as_text),
    )


def _frame(columns: dict[str, pa.ChunkedArray], n: int, *, as_text: bool) -> Any:
    """Return public columns for formulas: truth values are categories, and texts that are numbers are numbers."""
    import pandas

    found = {}
    for name, column in columns.items():
        if as_text:
            column = _typed(column)
        series = column.to_pandas()
        if pa.types.is_boolean(column.type):
            series = pandas.Series(pandas.Categorical(series, categories=[False, True]))
        found[name] = series
    return pandas.DataFrame(found, index=range(n))


_MISSING = ("", "NA", "NaN", "nan", "null")


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a text file's column as numbers, if all that is there is."""
    text = column.cast(pa.string())
    try:
        return pc.if_else(pc.is_in(text, value_set=pa.array(_MISSING)), None, text).cast(pa.float64())
    except pa.ArrowException:
        return pc.if_else(pc.equal(text, ""), None, text)


def _frame_of(table: Any, names: Sequence[str]) -> Any:
    """Return some columns of a table as a pandas frame."""
    source = open_source(table)
    check_present(names, source.names)
    found = pa.Table.from_batches(source.batches(names), pa.schema([source.schema.field(name) for name in names]))
    columns = {name: found.column(name) for name in names}
    return _frame(columns, found.num_rows, as_text=source.as_text)


def _check_observed(data: _Data, outcome: Outcome) -> None:
    """Refuse attributes that show one category only: nothing can be compared."""
    for name in data.names:
        if len({int(code) for records in data.records for code in np.unique(records.codes[name])}) < 2:
            msg = f"all reports have the same category of {name!r}, so nothing can be compared; leave it out"
            raise DataError(msg)
    if outcome.attribute is None and len(np.unique(outcome.values)) < 2:
        msg = f"the outcome {outcome.name} is the same in all reports; there is nothing to explain"
        raise DataError(msg)


def _linear(data: _Data, columns: Columns, outcome: Outcome, inference: Inference) -> tuple[Floats, Floats]:
    """Return coefficients and their covariance matrix."""
    parts = []
    for records in data.records:
        here = outcome if outcome.attribute is not None else outcome._replace(values=outcome.values[records.rows])
        parts.append(LinearReports(columns.at(records.rows), here, records.channels, records.codes, records.weights))
    moments = [part.moments() for part in parts]

    def solved(factors: Sequence[float]) -> tuple[Floats, Floats]:
        squares = sum(factor * A for factor, (A, _) in zip(factors, moments, strict=True))
        products = sum(factor * v for factor, (_, v) in zip(factors, moments, strict=True))
        _check_determined(np.asarray(squares), columns.names, lambda vector: _spread_along(parts, factors, vector))
        return np.asarray(np.linalg.solve(squares, products)), np.asarray(squares)

    def meats(beta: Floats) -> list[Floats]:
        found = []
        for part, records in zip(parts, data.records, strict=True):
            if records.sample is not None:
                scores = np.concatenate([score for _, score in part.scores(beta)], axis=1) * part.weights
                found.append(records.sample.variance(scores.T))
                continue
            meat = np.zeros((len(beta), len(beta)))
            for rows, score in part.scores(beta):
                score *= part.weights[rows]
                meat += score @ score.T
            found.append(meat)
        if inference == "finite":
            for place, records in enumerate(data.records):
                found[place] -= _truths_own(columns, outcome, records, beta)
        return found

    return _combined(solved, meats, data, inference)


def _combined(solved: Any, meats: Any, data: _Data, inference: Inference) -> tuple[Floats, Floats]:
    """Return coefficients and covariance, of several waves with the weights that make the errors smallest."""
    factors = [1.0] * len(data.records)
    beta, bread = solved(factors)
    found = meats(beta)
    if len(factors) > 1 and inference == "population":
        total = np.linalg.solve(bread, np.linalg.solve(bread, sum(found)).T)
        for place, (meat, records) in enumerate(zip(found, data.records, strict=True)):
            share = records.weights.sum() / sum(other.weights.sum() for other in data.records)
            alone = np.linalg.solve(bread, np.linalg.solve(bread, meat).T) / share**2
            factors[place] = float(1 / (share * (np.diag(alone) / np.diag(total)).mean()))
        beta, bread = solved(factors)
        found = [factor**2 * meat for factor, meat in zip(factors, meats(beta), strict=True)]
    half = np.linalg.solve(bread, np.asarray(sum(found)))
    covariance = np.linalg.solve(bread, half.T)
    if (np.diag(covariance) < 0).any():  # an unbiased variance of next to nothing
        covariance = covariance - np.diag(np.minimum(np.diag(covariance), 0))
    return beta, np.asarray((covariance + covariance.T) / 2)


def _check_determined(bread: Floats, names: Sequence[str], spread: Any) -> None:
    """Refuse predictors that the reports cannot tell apart.

    ``spread`` gives the variance of vᵀ bread v, so that noise is not taken for information.
    """
    scale = np.sqrt(np.abs(np.diag(bread)))
    if (scale == 0).any():
        nothing = names[int(np.flatnonzero(scale == 0)[0])]
        msg = f"{nothing} is 0 for everyone; leave it out"
        raise DataError(msg)
    values, vectors = np.linalg.eigh(bread / np.outer(scale, scale))
    vector = vectors[:, 0] / scale
    collinear = values[0] <= 1e-10 * values[-1]
    if not collinear and values[0] > _CLEAR * math.sqrt(max(spread(vector), 0.0)):
        return
    strongest = np.argsort(-np.abs(vectors[:, 0]))
    together = [names[place] for place in strongest if abs(vectors[place, 0]) > 0.2][:4]
    why = (
        "they are collinear"
        if collinear
        else "they are collinear, or drowned in the noise of so small λ's or so few reports"
    )
    msg = f"the reports cannot tell the effects of {', '.join(together)} apart: {why}; leave one out"
    raise DataError(msg)


def _spread_along(parts: Sequence[LinearReports], factors: Sequence[float], vector: Floats) -> float:
    """Return the variance of vᵀ (Σ w M) v over reports."""
    total = 0.0
    for part, factor in zip(parts, factors, strict=True):
        if part.is_exact:
            continue
        for rows, found in part.along(vector):
            total += float(((factor * part.weights[rows] * found) ** 2).sum())
    return total


def _truths_own(columns: Columns, outcome: Outcome, records: _Records, beta: Floats) -> Floats:
    """Return an unbiased estimate of Σ w² ψψᵀ of the truths, ψ = x (y − xβ): what of the meat is not randomization."""
    public = None if outcome.attribute is not None else outcome.values[records.rows]
    truths = Truths.of(
        columns.at(records.rows), records.channels, records.codes, records.weights,
        _reported(outcome, records, np.arange(len(outcome.values)) if public is None else None), beside=public,
    )  # fmt: skip
    people = truths.people(truths.squares, outcome=True)
    total = np.zeros((len(beta), len(beta)))
    for groups in truths.chunks():
        x = truths.predictors(groups)
        y = outcome.values if public is None else public[truths.first[groups]][:, None, None]
        weights = people[groups] * (y - (x @ beta)[:, :, None]) ** 2
        flat = x.reshape(-1, len(beta))
        total += (flat * weights.sum(axis=2).reshape(-1, 1)).T @ flat
    return total


def _reported(outcome: Outcome, records: _Records, classes: NDArray[np.int64] | None) -> Reported:
    """Return the outcome's class of each report; ``classes`` are those of its categories, None for one class only."""
    if outcome.attribute is None:
        if classes is None:
            return Reported(np.zeros(len(records.weights), dtype=np.int64), 1.0, np.ones(1))
        found = outcome.values[records.rows].astype(np.int64)
        return Reported(found, 1.0, np.full(len(outcome.labels), 1 / len(outcome.labels)))
    assert classes is not None
    channel = records.channels[outcome.attribute]
    redrawn = np.bincount(classes) / len(classes)
    return Reported(classes.take(records.codes[outcome.attribute]), channel.lam, redrawn)


def _logit(
    data: _Data, columns: Columns, outcome: Outcome, inference: Inference, *, likelihood: bool
) -> tuple[Floats, Floats]:
    """Return coefficients, of each class after the other, and their covariance matrix."""
    waves = [
        Truths.of(
            columns.at(records.rows), records.channels, records.codes, records.weights,
            _reported(outcome, records, outcome.values.astype(np.int64)),
        )
        for records in data.records
    ]  # fmt: skip
    reports = LogitReports(waves, likelihood=likelihood)
    names = [
        f"{label}: {name}" if len(outcome.labels) > 2 else name
        for label in outcome.labels[1:]
        for name in columns.names
    ]

    def solved(factors: Sequence[float]) -> tuple[Floats, Floats]:
        design = sum(
            (flat := wave.predictors(groups).reshape(-1, reports.columns)).T @ flat
            for wave in waves
            for groups in wave.chunks()
        )
        _check_determined(np.asarray(design), columns.names, lambda _: 0.0)
        fit = reports.fit(factors)
        bread = np.asarray(sum(fit.information))
        _check_determined(bread, names, lambda _: 0.0)
        return fit.coefficients.T.ravel(), bread

    def meats(values: Floats) -> list[Floats]:
        beta = values.reshape(-1, reports.columns).T
        found = []
        for wave, records in zip(waves, data.records, strict=True):
            meat = np.zeros((len(values), len(values)))
            each = np.empty((len(records.weights), len(values))) if records.sample is not None else None
            people = wave.people(wave.squares, outcome=True) if inference == "finite" else None
            size = wave.counts.shape[1] * wave.counts.shape[2]
            order = np.argsort(wave.places, kind="stable")
            for groups, of_report, of_truth in reports.scores(beta, wave):
                flat = of_report.reshape(-1, len(values))
                if each is not None:
                    ends = np.searchsorted(wave.places, [groups.start * size, groups.stop * size], sorter=order)
                    here = order[ends[0] : ends[1]]
                    each[here] = flat[wave.places[here] - groups.start * size] * records.weights[here][:, None]
                    continue
                meat += (flat * wave.squares[groups].reshape(-1, 1)).T @ flat
                if people is not None:
                    true = of_truth.reshape(-1, len(values))
                    meat -= (true * people[groups].reshape(-1, 1)).T @ true
            found.append(meat if each is None or records.sample is None else records.sample.variance(each))
        return found

    return _combined(solved, meats, data, inference)
