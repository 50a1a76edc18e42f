"""Reports → regressions: linear, logistic and multinomial, where outcome and predictors may be randomized or public.

What is estimated is what the same regression on the truths would give. Errors are sandwich errors over what each report
is worth, so they hold whatever the distribution of the residuals, with weights, strata and clusters, and for both
inferences; with λ = 1 they are statsmodels' ``cov_type="HC0"``.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from lambdarr.designs import check_rounding
from lambdarr.drawnsquares import fitted_with_drawn
from lambdarr.errors import DataError
from lambdarr.fitting import LinearEquations, LogitEquations
from lambdarr.formulas import Formula, predictors_of
from lambdarr.individuals import check_alike, check_plain, rounded_beside_drawn, undone
from lambdarr.intervals import deviations
from lambdarr.logits import probabilities
from lambdarr.records import Data, frame_of
from lambdarr.scales import FEWEST_BINS
from lambdarr.surveys import Survey, check_inference
from lambdarr.waves import waves_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.drawnsquares import Fit
    from lambdarr.estimation import Inference
    from lambdarr.fitting import Equations, Fitted
    from lambdarr.formulas import Columns, Outcome
    from lambdarr.waves import Wave

    Floats = NDArray[np.float64]

Family = Literal["linear", "logistic", "multinomial"]
Method = Literal["likelihood", "moments"]


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
    channels : tuple of dict
        The channels of every wave, by attribute.
    sampled : tuple of str
        Which of weights, strata and clusters are in the errors.
    degrees : float
        Degrees of freedom of the errors: clusters less strata; infinite for reports that are independent.
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
    channels: tuple[dict[str, Channel], ...]
    sampled: tuple[str, ...]
    degrees: float
    drawn: dict[str, float] = field(default_factory=dict)
    """The keep rate of each drawn column."""

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

        wide = deviations(level, degrees=self.degrees) * np.sqrt(np.diag(self.errors))
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
        lines = [f"{self.family.capitalize()} regression on the truths behind reports: {self.formula}", *self._about()]
        label = None
        for row in rows_of(self, level):
            if row["class"] != label:
                label = row["class"]
                lines.append("")
                if self.family == "multinomial":
                    lines.append(f"{self._outcome()} = {label}, compared with {self.classes[0]}")
                lines.append(" " * wide + "".join(f"{heading:>10}" for heading in headings))
            first, rest = ("coefficient", "standard_error"), ("lower", "upper")
            shown = [*(_cell(row[key]) for key in first), f"{row['z']:10.3f}", f"{row['p_value']:10.3f}"]
            lines.append(f"{row['name']:<{wide}}" + "".join([*shown, *(_cell(row[key]) for key in rest)]))
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
            self.specification,
            attributes,
            frame_of(records, Formula(self.formula).predictors, self.drawn),
            self.scores,
        )
        if self.family == "linear":
            return np.asarray(x @ self.values)
        beta = self.values.reshape(len(self.classes) - 1, -1).T
        found = probabilities(x, beta)
        return found[:, 1] if self.family == "logistic" else found

    def _outcome(self) -> str:
        return self.formula.split("~")[0].strip()

    def _about(self) -> list[str]:
        about = f"{self.n:,} report{'s' if self.n != 1 else ''}"
        if len(self.channels) > 1:
            about += f" of {len(self.channels)} waves"
        if self.left_out:
            about += f", {self.left_out:,} more left out for missing values"
        randomized = () if self.design is None else tuple((name, self._lams(name)) for name in self.design.names)
        if listed := (*randomized, *((name, f"{lam:.4g}") for name, lam in self.drawn.items())):
            about += "; randomized: " + ", ".join(f"{name} (λ = {lam})" for name, lam in listed)
        if self.family == "logistic":
            about += f"; of the probability of {self._outcome()} = {self.classes[1]}"
        if self.family != "linear":
            about += f"; by {self.method}"
        if self.sampled:
            about += f"; with {' and '.join(self.sampled)}"
        behind = "the population behind the respondents" if self.inference == "population" else "this very file"
        return textwrap.wrap(f"{about}. Errors for {behind}.", 80)

    def _lams(self, name: str) -> str:
        lams = sorted({channels[name].lam for channels in self.channels})
        return f"{lams[0]:.4g}" if len(lams) == 1 else f"{lams[0]:.4g} to {lams[-1]:.4g}"

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


def _p_value(z: float, degrees: float) -> float:
    if math.isinf(degrees):
        return math.erfc(abs(z) / math.sqrt(2))
    from scipy import stats

    return 2 * float(stats.t.sf(abs(z), max(degrees, 1)))


def _cell(number: float) -> str:
    if 0 < abs(number) < 0.0005 or abs(number) >= 10_000:
        return f"{number:10.2e}"
    return f"{round(number, 4) + 0.0:10.4f}"  # no −0.0000


def rows_of(found: Regression, level: float) -> list[dict[str, Any]]:
    """Return all that is known of each coefficient, by name."""
    ends = found.interval(level)
    classes = found.classes[1:] or ("",)
    labels = [(label, name) for label in classes for name in found.names]
    rows = []
    for (label, name), value, error, lower, upper in zip(
        labels, found.values, np.sqrt(np.diag(found.errors)), ends["lower"], ends["upper"], strict=True
    ):
        z = value / error if error > 1e-9 * abs(value) else math.nan
        numbers = {"coefficient": value, "standard_error": error, "z": z, "p_value": _p_value(z, found.degrees)}
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
        Columns of the design are corrected for its randomization; all others are public and taken as they are. With
        drawn columns the family is linear and has main effects only, each a function of one column.
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
    if method not in (None, *get_args(Method)):
        msg = f"method must be 'moments' or 'likelihood', got {method!r}"
        raise DataError(msg)
    if method == "likelihood" and family == "linear":
        msg = "method 'likelihood' is for the logistic and multinomial family; the linear one has moments only"
        raise DataError(msg)
    survey = Survey(weights, strata, clusters)
    given = {} if scores is None else scores
    waves = waves_of(reports, design, survey)
    is_sampled = any(wave.design.is_sampled for wave in waves)
    check_inference(inference, is_complex=survey.is_complex, is_sampled=is_sampled)
    read = Formula(formula)
    data = Data.of(waves, read.variables)
    drawn = _drawn(read, waves, data, survey, family, inference)
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
    _check_rounded(data, columns, outcome, family, inference, drawn=bool(drawn))
    chosen: Method = method or "moments"
    fitted: Fitted | Fit
    if drawn:
        fitted = fitted_with_drawn(read, data, columns, specification, outcome, drawn)
    else:
        equations: Equations
        if family == "linear":
            equations = LinearEquations(data, columns, outcome)
        else:
            equations = LogitEquations(data, columns, outcome, likelihood=chosen == "likelihood")
        fitted = equations.fitted(finite=inference == "finite")
    return Regression(
        formula=formula,
        family=family,
        method=chosen,
        names=columns.names,
        classes=outcome.labels,
        values=fitted.values,
        errors=fitted.covariance,
        n=data.n,
        left_out=data.left_out,
        inference=inference,
        specification=specification,
        design=domain,
        scores=dict(given),
        channels=tuple(wave.design.by_name for wave in waves),
        sampled=tuple(kind for kind in ("weights", "strata", "clusters") if getattr(survey, kind) is not None),
        degrees=fitted.degrees,
        drawn=drawn,
    )


def _check_rounded(
    data: Data, columns: Columns, outcome: Outcome, family: Family, inference: Inference, *, drawn: bool
) -> None:
    """Refuse what random rounding does not allow: its noise is not undone by the channel alone."""
    rounded = list(data.scales)
    attributes = () if data.design is None else data.design.attributes
    if unclear := [a.name for a in attributes if a.name in rounded and a.has_missing_category]:
        msg = (
            f"{unclear[0]!r} is a number with a randomized missing category, which is no number; declare its missing "
            "values public in the design (missing_is_public)"
        )
        raise DataError(msg)
    check_rounding(rounded, inference)
    if rounded and drawn:
        raise rounded_beside_drawn(rounded[0])
    terms = [*columns.functions, *([] if outcome.attribute is None else [{outcome.attribute: outcome.values}])]
    bent = [name for term in terms for name in rounded if name in term and not data.scales[name].undoes(term[name])]
    if bent and family == "linear":
        msg = (
            f"{bent[0]!r} is rounded at random, so that only {bent[0]} itself, or a line of it, can be undone; for a "
            "logarithm, a square or a comparison collect it in bins (rounding='none')"
        )
        raise DataError(msg)
    if (names := [name for name in rounded if name in columns.attributes]) and family != "linear":
        msg = (
            f"{names[0]!r} is rounded at random, which a {family} regression cannot undo in a predictor; regress "
            "linearly, or collect it in bins (rounding='none')"
        )
        raise DataError(msg)
    if few := [name for name in names if data.scales[name].hides_variance]:
        bins = data.scales[few[0]].bins
        msg = (
            f"{few[0]!r} has {bins} bins, too few to tell how much it varies, which a predictor has to; take "
            f"{FEWEST_BINS} or more in the design"
        )
        raise DataError(msg)


def _drawn(
    formula: Formula, waves: Sequence[Wave], data: Data, survey: Survey, family: Family, inference: Inference
) -> dict[str, float]:
    """Return the keep rates of drawn columns in a formula; those in the expected form are undone here, as they can be.

    Refuses what is not offered with drawn columns.
    """
    columns = {c.name: c for wave in waves for c in wave.design.drawn if c.name in formula.variables}
    if not columns:
        return {}
    named = ", ".join(columns)
    check_plain(len(waves), survey, named)
    if data.left_out:
        check_alike(waves[0].reports, waves[0].design, list(columns), data.n)
    for name, column in columns.items():
        if column.is_expected:
            data.public[name] = undone(np.asarray(data.public[name], dtype=np.float64), column.lam)
    lams = {name: column.lam for name, column in columns.items() if not column.is_expected}
    if lams and family != "linear":
        msg = (
            f"{named}: drawn over the individuals of the file, which only the linear family can undo, not the {family}"
        )
        raise DataError(msg)
    if lams and inference == "finite":
        msg = (
            f"errors of a regression with {named}, drawn over the individuals, are for a population; ask for inference "
            "'population', whose errors are on the safe side for the file"
        )
        raise DataError(msg)
    return lams


def _check_observed(data: Data, outcome: Outcome) -> None:
    """Refuse attributes that show one category only: nothing can be compared."""
    for name in data.names:
        if len({int(code) for records in data.waves for code in np.unique(records.codes[name])}) < 2:
            remedy = (
                "there is nothing to explain" if name == outcome.attribute else "nothing can be compared; leave it out"
            )
            msg = f"all reports have the same category of {name!r}, so {remedy}"
            raise DataError(msg)
    if outcome.attribute is None and len(np.unique(outcome.values)) < 2:
        msg = f"the outcome {outcome.name} is the same in all reports; there is nothing to explain"
        raise DataError(msg)
