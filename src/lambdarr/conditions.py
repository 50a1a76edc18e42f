"""Conditions on people, as users write them → functions of a record.

A condition maps attributes to a category, several of them, a range or scores. All of these are products over
attributes, which is what both the reports (``queries.py``) and a fitted model (``models.py``) can average.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lambdarr.channel import is_number
from lambdarr.errors import DataError, DesignError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.domain import Attribute

    Floats = NDArray[np.float64]

Condition = Mapping[str, Any]

Prior = Sequence[float] | Mapping[Any, float] | np.ndarray[Any, np.dtype[np.float64]]
"""What someone believes of an attribute before seeing a report: probabilities, in order or by category."""

Product = dict[str, "Floats"]
"""A function of a record as a product: for each attribute its value per category; 1 for attributes not named."""


def product_of(design: Design, *conditions: Condition | None) -> Product:
    """Return the function that is 1, or the product of the scores, where all conditions hold, and 0 elsewhere."""
    functions: Product = {}
    for condition in conditions:
        if condition is None:
            continue
        if not isinstance(condition, Mapping):
            msg = f"a condition must be a mapping from attribute to categories, got {type(condition).__name__}"
            raise DataError(msg)
        for name, wanted in condition.items():
            attribute = design.select([name]).attributes[0]
            values = _values(attribute, wanted)
            functions[name] = functions[name] * values if name in functions else values
    return functions


def times(first: Product, second: Product) -> Product:
    """Return the product of two functions."""
    product = dict(first)
    for name, values in second.items():
        product[name] = product[name] * values if name in product else values
    return product


def worth(channels: Mapping[str, Channel], function: Product) -> Product:
    """Return what a report is worth: (fⱼ − (1 − λⱼ) f̄ⱼ)/λⱼ for each attribute, whose product has the mean f(truth)."""
    found: Product = {}
    for name, values in function.items():
        lam = channels[name].lam
        found[name] = (values - (1 - lam) * values.mean()) / lam
    return found


def scores_of(attribute: Attribute, given: Any) -> Floats | None:
    """Return the numbers of an attribute's categories, or None if it has none."""
    if given is None:
        if attribute.has_missing_category:
            return None
        if attribute.scale is not None:
            return attribute.scale.scores
        if attribute.kind in ("integer", "boolean"):
            return np.array([float(category) for category in attribute.categories])
        return np.array([0.0, 1.0]) if attribute.size == 2 else None
    if isinstance(given, Mapping):
        numbers = [math.nan] * attribute.size
        for category, number in given.items():
            numbers[attribute.category_code(category)] = number
    else:
        numbers = list(given) if isinstance(given, Iterable) else []
    if len(numbers) != attribute.size or not all(is_number(x) and math.isfinite(x) for x in numbers):
        labels = ", ".join(attribute.labels[:20])
        msg = f"scores of {attribute.name!r} must be one finite number for each of its categories: {labels}"
        raise DataError(msg)
    return np.array(numbers, dtype=np.float64)


def probabilities_of(attribute: Attribute, prior: Prior) -> Floats:
    """Return a prior as probabilities in the order of the categories."""
    if isinstance(prior, Mapping):
        prior = {None if key == attribute.missing is not None else key: chance for key, chance in prior.items()}
        if unknown := [key for key in prior if key not in attribute.values]:
            msg = f"the prior of {attribute.name!r} names {unknown[0]!r}, which is not one of its categories"
            raise DesignError(msg)
        pi = np.array([prior.get(category, 0.0) for category in attribute.values], dtype=np.float64)
    else:
        try:
            pi = np.asarray(prior, dtype=np.float64)
        except (TypeError, ValueError):
            msg = f"the prior of {attribute.name!r} must be probabilities in the order of its categories, or a mapping"
            raise DesignError(msg) from None
    if pi.shape != (attribute.size,):
        msg = f"the prior of {attribute.name!r} must have {attribute.size} probabilities, got {pi.size}"
        raise DesignError(msg)
    if (pi < 0).any():
        msg = f"the prior of {attribute.name!r} must be probabilities, none of them negative, got {pi.min():.6g}"
        raise DesignError(msg)
    if not (pi >= 0).all() or not math.isclose(pi.sum(), 1, abs_tol=1e-6):  # also catches nan
        msg = f"the prior of {attribute.name!r} must be probabilities that sum to 1, got a sum of {pi.sum():.6g}"
        raise DesignError(msg)
    return np.asarray(pi / pi.sum())


def _values(attribute: Attribute, wanted: Any) -> Floats:
    """Return the function of one attribute that a condition means, one value per category."""
    values = np.zeros(attribute.size)
    if isinstance(wanted, Mapping):
        for category, score in wanted.items():
            if not is_number(score) or not math.isfinite(score):
                msg = f"scores of {attribute.name!r} must be finite numbers"
                raise DataError(msg)
            values[_code(attribute, category)] = float(score)
        return values
    if isinstance(wanted, slice):
        first = 0 if wanted.start is None else _code(attribute, wanted.start)
        last = len(attribute.categories) - 1 if wanted.stop is None else _code(attribute, wanted.stop)
        if wanted.step is not None or first > last:
            order = ", ".join(attribute.labels[:20])
            msg = f"the range of {attribute.name!r} must run from an earlier category to a later one; they are: {order}"
            raise DataError(msg)
        values[first : last + 1] = 1
    else:
        several = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
        for category in several:
            values[_code(attribute, category)] = 1
    if not values.any():
        msg = f"the condition on {attribute.name!r} names no category; name at least one"
        raise DataError(msg)
    return values


def _code(attribute: Attribute, category: object) -> int:
    try:
        return attribute.category_code(category)
    except DataError:
        msg = f"{category!r} is no category of {attribute.name!r}; it has: {', '.join(attribute.labels[:20])}"
        raise DesignError(msg) from None
