"""Formulas as statisticians write them → columns of a regression, each a product over attributes.

formulaic reads the formula, names the columns and decides which dummies are left out. A column such as
``sex[T.M]:age`` is then a product: a function of each randomized attribute in it, known per category, times a number
per record from the columns that are public. That is what the reports can be corrected for, attribute by attribute.
"""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from lambdarr.conditions import scores_of
from lambdarr.domain import ABSENT, encode
from lambdarr.errors import DataError, LambdarrError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from lambdarr.conditions import Product
    from lambdarr.domain import Attribute

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The predictors of a regression.

    Parameters
    ----------
    names : tuple of str
        As statsmodels has them.
    functions : tuple of Product
        For each column, its part that is a function of randomized attributes.
    public : array, optional
        Its other part, a row per record; None if all of it is 1.
    """

    names: tuple[str, ...]
    functions: tuple[Product, ...]
    public: Floats | None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The randomized attributes in them."""
        return tuple(dict.fromkeys(name for function in self.functions for name in function))

    def at(self, rows: slice | NDArray[np.int64]) -> Columns:
        """Return the columns of some records."""
        return self if self.public is None else Columns(self.names, self.functions, self.public[rows])


class Outcome(NamedTuple):
    """The left side: a function of one attribute, or a number per record."""

    name: str
    attribute: str | None
    values: Floats
    """Per category of the attribute, or per record. Of classes, their numbers."""
    labels: tuple[str, ...]
    """The classes' names; none for numbers."""


class Formula:
    """A formula that has been read, before any data are.

    Parameters
    ----------
    text : str
        Such as ``"income ~ sex + education"``.
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            msg = f"formula must be a text such as 'income ~ sex + education', got {type(text).__name__}"
            raise DataError(msg)
        self.text = text
        formulaic = _formulaic()
        try:
            read = formulaic.Formula(text)
        except (formulaic.errors.FormulaicError, SyntaxError):
            msg = f"the formula {text!r} cannot be read; write it as 'outcome ~ predictor + predictor'; names that are "
            msg += "no Python names stand in backticks"
            raise DataError(msg) from None
        left, right = getattr(read, "lhs", None), getattr(read, "rhs", None)
        if left is None or len(left) != 1 or not isinstance(right, formulaic.SimpleFormula):
            msg = f"the formula {text!r} must have one outcome on its left: 'outcome ~ predictor + predictor'"
            msg += "" if "~" in text else "; the formula comes first, then the reports"
            raise DataError(msg)
        self._left, self._right = left, right
        self.predictors: tuple[str, ...] = tuple(
            sorted(_variables(factor for term in right for factor in term.factors))
        )
        self.outcome_variables: tuple[str, ...] = tuple(sorted(_variables(next(iter(left)).factors)))
        self.variables = tuple(dict.fromkeys([*self.outcome_variables, *self.predictors]))

    def variables_of(self, specification: Any) -> dict[str, list[set[str]]]:
        """Return for each column of the regression what each of its factors is a function of."""
        return {
            name: [_variables([factor]) for factor in row.term.factors]
            for row in specification.structure
            for name in row.columns
        }

    def columns(self, attributes: Sequence[Attribute], public: Any, scores: Mapping[str, Any]) -> tuple[Columns, Any]:
        """Return the predictors, and formulaic's specification of them for new records.

        Parameters
        ----------
        attributes : sequence of Attribute
            Those in the formula that are randomized.
        public : pandas.DataFrame
            The other columns in it, a row per record.
        scores : mapping
            Attribute → numbers of its categories, for those that are to be numbers.
        """
        import pandas

        domains = {attribute.name: _as_series(attribute, scores) for attribute in attributes}
        # any records will do to learn the names of the columns; what is public may shape them, as in center(age)
        rows = len(public) if len(public.columns) else max(map(len, domains.values()), default=1)
        cycled = {name: series.take(np.arange(rows) % len(series)).array for name, series in domains.items()}
        prototype = pandas.DataFrame({**{name: public[name].array for name in public}, **cycled}, index=range(rows))
        factors = _Factors(attributes, public, scores)
        remarks = "".join(factors.remark(name) for name in self.predictors)
        spec = _evaluated(self._right, prototype, remark=remarks).model_spec
        functions: list[Product] = []
        parts: list[Floats | None] = []
        names: list[str] = []
        for row in spec.structure:
            found = {name: product for term in row.scoped_terms for name, product in factors.products(term)}
            for name in row.columns:
                names.append(name)
                functions.append(found[name][0])
                parts.append(found[name][1])
            if not row.columns:
                msg = f"{row.term} is the same for everyone; leave it out"
                raise DataError(msg)
        if repeated := [name for name in names if names.count(name) > 1]:
            msg = f"two columns of the regression are called {repeated[0]!r}; rename one of them"
            raise DataError(msg)
        if not names:
            msg = f"the formula {self.text!r} has nothing on its right; write 'outcome ~ 1' for a mean alone"
            raise DataError(msg)
        together = None
        if any(part is not None for part in parts):
            together = np.stack([np.ones(rows) if part is None else part for part in parts], axis=1)
            bad = ~np.isfinite(together)
            if bad.any():
                row, column = (int(place[0]) for place in np.nonzero(bad))
                msg = f"{names[column]} is not a finite number, first at complete row {row + 1:,}"
                raise DataError(msg)
        return Columns(tuple(names), tuple(functions), together), spec

    def outcome(self, attributes: Sequence[Attribute], public: Any, scores: Mapping[str, Any], family: str) -> Outcome:
        """Return the left side: a number for the linear family, classes for the others."""
        term = next(iter(self._left))
        factors = _Factors(attributes, public, scores)
        if len(term.factors) != 1:
            msg = f"the outcome {term} must be one column, or a function of one"
            raise DataError(msg)
        (factor,) = term.factors
        if any(str(other) == str(factor) for predictor in self._right for other in predictor.factors):
            msg = f"{factor} is on both sides of the formula"
            raise DataError(msg)
        attribute, frame = factors.frame_of(factor)
        name = str(factor).removeprefix("C(").removesuffix(")") if str(factor).startswith("C(") else str(factor)
        given = frame[name] if name in frame.columns else None
        if given is not None and (family == "multinomial" or name != str(factor) or not _is_numeric(given)):
            return _classes(str(factor), attribute, given, family, factors.remark(attribute))
        matrix = _evaluated(_formulaic().SimpleFormula([term]), frame)
        if matrix.shape[1] != 1:
            msg = f"the outcome {factor} must be one number per record; it has {matrix.shape[1]} columns"
            raise DataError(msg)
        values = _numbers(matrix, str(factor))[:, 0]
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
            where = f"first at complete row {row:,}" if attribute is None else "for some category"
            msg = f"the outcome {factor} is not a finite number, {where}"
            raise DataError(msg)
        if family == "multinomial":
            return _classes(str(factor), attribute, frame.assign(_=values)["_"], family, "")
        if family == "logistic":
            return _yes_or_no(str(factor), attribute, values)
        return Outcome(str(factor), attribute, values, ())


def predictors_of(
    specification: Any, attributes: Sequence[Attribute], records: Any, scores: Mapping[str, Any]
) -> Floats:
    """Return the predictors of new records, whose truths are known."""
    frame, absent = records.copy(), np.zeros(len(records), dtype=bool)
    for attribute in attributes:
        if attribute.name in frame:
            series = _as_series(attribute, scores)
            column = records[attribute.name]
            if attribute.scale is not None and _is_numeric(series) and attribute.name not in scores:
                continue  # truths are numbers, and enter as they are
            values = column.astype(object) if attribute.kind == "boolean" else column
            codes = encode(attribute, pa.array(values, from_pandas=True), as_text=False, first_row=1)
            absent |= codes == ABSENT
            frame[attribute.name] = series.take(np.where(codes == ABSENT, 0, codes)).array
    with warnings.catch_warnings():
        warnings.simplefilter("error", _formulaic().errors.DataMismatchWarning)  # which repeats the value
        found = _numbers(
            _evaluated(specification, frame, remark="; are these values the regression has seen?"), "a predictor"
        )
    found = found.copy()
    found[absent] = np.nan
    return found


class _Factors:
    """The factors of terms, evaluated once each: per category, or per record."""

    def __init__(self, attributes: Sequence[Attribute], public: Any, scores: Mapping[str, Any]) -> None:
        self._domains = {attribute.name: _as_series(attribute, scores) for attribute in attributes}
        self._public = public
        self._no_numbers = {
            attribute.name
            for attribute in attributes
            if (attribute.kind == "integer" or attribute.scale is not None)
            and attribute.has_missing_category
            and attribute.name not in scores
        }
        self._known: dict[tuple[str, bool], tuple[str | None, Any]] = {}

    def frame_of(self, factor: Any) -> tuple[str | None, Any]:
        """Return the attribute that a factor is a function of, or None, and the frame to evaluate it on."""
        names = _variables([factor])
        randomized = sorted(names & set(self._domains))
        others = sorted(names - set(self._domains))
        if len(randomized) > 1 or (randomized and others):
            msg = (
                f"{factor} mixes {', '.join([*randomized, *others])} in one function; a randomized attribute has "
                "to stand alone in its own: multiply terms with : or * instead"
            )
            raise DataError(msg)
        if not randomized:
            return None, self._public
        return randomized[0], self._domains[randomized[0]].to_frame()

    def remark(self, attribute: str | None) -> str:
        """Return why an attribute of integers is not a number here, if so."""
        if attribute not in self._no_numbers:
            return ""
        return f"; {attribute!r} has a missing category, so it is no number: give scores, or declare the missing public"

    def products(self, scoped: Any) -> list[tuple[str, tuple[Product, Floats | None]]]:
        """Return the columns of a term by name: functions of attributes, and the public part."""
        encoded = [self._encoded(factor) for factor in scoped.factors]
        found = []
        for choice in itertools.product(*(range(matrix.shape[1]) for _, matrix in encoded)):
            function: Product = {}
            public: Floats | None = None if scoped.scale == 1 else np.full(len(self._public), float(scoped.scale))
            for (attribute, matrix), column in zip(encoded, choice, strict=True):
                values = _numbers(matrix.iloc[:, column], str(matrix.columns[column]))
                if attribute is not None:
                    function[attribute] = function[attribute] * values if attribute in function else values
                else:
                    public = values if public is None else public * values
            names = [matrix.columns[column] for (_, matrix), column in zip(encoded, choice, strict=True)]
            found.append((":".join(names) or "Intercept", (function, public)))
        return found

    def _encoded(self, scoped: Any) -> tuple[str | None, Any]:
        key = (scoped.factor.expr, scoped.reduced)
        if key not in self._known:
            attribute, frame = self.frame_of(scoped.factor.factor)
            formulaic = _formulaic()
            term = formulaic.parser.types.Term([scoped.factor.factor])
            terms = [_intercept(), term] if scoped.reduced else [term]
            matrix = _evaluated(formulaic.SimpleFormula(terms), frame, remark=self.remark(attribute))
            if attribute is not None and any(matrix.model_spec.transform_state.values()):
                msg = (
                    f"{scoped.factor.expr} depends on how the truths of {attribute!r} are distributed, which only they "
                    "tell; write the numbers out, as in I(x - 3)"
                )
                raise DataError(msg)
            self._known[key] = attribute, matrix.drop(columns="Intercept") if scoped.reduced else matrix
        return self._known[key]


_MODULES = ("np", "numpy", "contr", "math")


def _variables(factors: Iterable[Any]) -> set[str]:
    """Return the columns that factors speak of; formulaic's own list lacks those in center() and its like."""
    found: set[str] = set()
    for factor in factors:
        if factor.eval_method.value == "lookup":
            found.add(factor.expr)
        elif factor.eval_method.value == "python":
            found |= set(re.findall("`([^`]+)`", factor.expr))
            try:
                tree = ast.parse(re.sub("`[^`]+`", "0", factor.expr.strip()), mode="eval")
            except SyntaxError:
                msg = f"{factor.expr} in the formula cannot be read; names that are no Python names stand in backticks"
                raise DataError(msg) from None
            called = set()
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    called.add(node.func)
                if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in _MODULES:
                    called.add(node.value)
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Q":
                    found |= {str(part.value) for part in node.args if isinstance(part, ast.Constant)}
                elif isinstance(node, ast.Name) and node not in called:
                    found.add(node.id)
    return found


def _as_series(attribute: Attribute, scores: Mapping[str, Any]) -> Any:
    """Return the categories as a column: numbers if they are numbers or have scores, else a categorical."""
    import pandas

    if attribute.name in scores:
        return pandas.Series(scores_of(attribute, scores[attribute.name]), name=attribute.name)
    if attribute.scale is not None and not attribute.has_missing_category:
        return pandas.Series(attribute.scale.scores, name=attribute.name)
    if attribute.kind == "integer" and not attribute.has_missing_category:
        return pandas.Series(attribute.categories, name=attribute.name)
    values: Sequence[Any] = attribute.labels if attribute.has_missing_category else attribute.categories
    return pandas.Series(pandas.Categorical(values, categories=list(values)), name=attribute.name)


def _is_numeric(series: Any) -> bool:
    return series.dtype.kind in "iuf" if hasattr(series.dtype, "kind") else False


def _classes(name: str, attribute: str | None, given: Any, family: str, remark: str) -> Outcome:
    """Return the outcome as classes, in the order of the categories, or sorted."""
    import pandas

    as_categories = pandas.Categorical(given)
    labels = tuple(f"{label:g}" if isinstance(label, float) else str(label) for label in as_categories.categories)
    if family == "linear":
        other = "logistic" if len(labels) == 2 else "multinomial"
        msg = f"the outcome {name} has categories, not numbers; give it scores, choose the {other} family, or write "
        msg += f"I({name} == ...){remark}"
        raise DataError(msg)
    if family == "logistic" and len(labels) != 2:
        msg = (
            f"the outcome {name} has {len(labels)} categories and the logistic family takes 2; choose the multinomial "
            f"family, or say which ones count: I({name} == ...)"
        )
        raise DataError(msg)
    return Outcome(name, attribute, as_categories.codes.astype(np.float64), labels)


def _yes_or_no(name: str, attribute: str | None, values: Floats) -> Outcome:
    found = np.unique(values)
    if len(found) > 2 or (attribute is None and not set(found) <= {0.0, 1.0}):
        msg = f"the outcome {name} must be 0 or 1 in the logistic family; say what counts: I({name} > ...)"
        raise DataError(msg)
    if len(found) == 2:
        values = (values == found[1]).astype(np.float64)
    low, high = (f"{value:g}" for value in (found if len(found) == 2 else (0, 1)))
    return Outcome(name, attribute, values, (low, high))


def _numbers(values: Any, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):  # whose message repeats the value
        msg = f"{name} is not a number for everyone"
        raise DataError(msg) from None


def _evaluated(formula: Any, frame: Any, *, remark: str = "") -> Any:
    """Return formulaic's matrix; what goes wrong is told without repeating data."""
    try:
        with np.errstate(all="ignore"):  # what is no finite number is refused later, by name
            return formula.get_model_matrix(frame, na_action="ignore", output="pandas")
    except LambdarrError:
        raise
    except Exception as error:  # anything that a user's function raises
        detail = f"; {error.__cause__.args[0]}" if isinstance(error.__cause__, NameError) else ""
        terms = getattr(formula, "formula", formula)
        what = " + ".join(str(term) for term in terms if str(term) != "1")
        msg = f"{what} cannot be evaluated ({type(error.__cause__ or error).__name__}{detail}){remark}"
        raise DataError(msg) from None


def _intercept() -> Any:
    return next(iter(_formulaic().Formula("1")))


def _formulaic() -> Any:
    try:
        import formulaic
        import formulaic.errors
        import formulaic.parser.types
    except ImportError:
        msg = "formulas need the package formulaic: pip install 'lambdarr[regression]'"
        raise MissingExtraError(msg) from None
    return formulaic
