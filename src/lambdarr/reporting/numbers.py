"""Numerical attributes for people: what their scales are, why they have their bins, and their means and quantiles."""

from __future__ import annotations

import datetime
import math
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from lambdarr.reporting.texts import csv_table
from lambdarr.scales import FEWEST_BINS, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lambdarr.binning import Binning
    from lambdarr.designs import Design
    from lambdarr.estimation import Inference
    from lambdarr.scales import Scale

_HEADINGS = ("attribute", "measure", "estimate", "std. error", "interval")
_DAY = 86_400.0
_FEW = f" Too few to tell how much it varies: correlations, and predictors of a regression, take {FEWEST_BINS} or more."
_OUTSIDE = {
    "count": "numbers outside are counted as such",
    "clip": "numbers outside are taken for the bound",
    "refuse": "numbers outside are refused",
}


def scale_sentences(design: Design) -> Iterator[str]:
    """Yield what the numbers of each numerical attribute become, and why it has its bins."""
    for attribute in design.attributes:
        if attribute.scale is not None:
            yield f"{attribute.name}: {_scale_text(attribute.scale)}."
    for binning in design.binnings:
        yield _binning_sentence(binning)


def _scale_text(scale: Scale) -> str:
    low, high = (_bound(edge, scale) for edge in (scale.edges[0], scale.edges[-1]))
    bins = _bins(scale.bins)
    what = {"date": "dates", "duration": "seconds"}.get(scale.unit, "numbers")
    even = "" if scale.spacing == "equal" else " that are not of the same width"
    how = f"rounded at random to the {scale.inside} edges of {bins}" if scale.rounding == "random" else f"in {bins}"
    how += even
    return f"{what} from {low} to {high}, {how}; {_OUTSIDE[scale.outside]}"


def _bound(edge: float, scale: Scale) -> str:
    return written(edge, scale.unit) if scale.unit == "date" else f"{edge:,.10g}"


def _bins(count: int) -> str:
    return "1 bin" if count == 1 else f"{count} bins"


def _binning_sentence(binning: Binning) -> str:
    """Return what was chosen for whom, and what about half and twice as many bins would have meant."""
    chosen = binning.scale.bins
    tried = {alternative.bins: alternative.error for alternative in binning.alternatives}
    fewer = [bins for bins in tried if bins <= chosen / 2][-1:]
    more = [bins for bins in tried if bins >= 2 * chosen][:1]
    beside = ", ".join(f"{_bins(bins)} {tried[bins]:.2%}" for bins in (*fewer, *more))
    of = "of all people, at worst" if binning.target == "ranges" else "of the range"
    if binning.target in ("quantiles", "histogram") and binning.scale.spacing != "equal":
        of += " (on the scale of its bins, which is not even)"
    kind = {"mean": "mean", "quantiles": "median and 90 % quantile", "ranges": "shares below a number"}
    return (
        f"{binning.name} has {_bins(chosen)} because of {binning.n:,} respondents and its "
        f"target, {binning.target}: the {kind.get(binning.target, 'distribution')} will be off by about "
        f"{tried[chosen]:.2%} {of}, over typical shapes{f' ({beside})' if beside else ''}."
        + (_FEW if binning.scale.hides_variance else "")
    )


def figure_rows(
    reports: Any,
    design: Design,
    wanted: Sequence[tuple[str, str, Any]],
    *,
    level: float,
    inference: Inference,
    weights: Any,
    scores: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return means, quantiles and correlations, each with its error and interval, a row each."""
    import lambdarr

    distributions: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    value: Any
    error: Any
    ends: Any
    for name, measure, more in wanted:
        if measure == "correlation":
            given = {key: value for key, value in scores.items() if key in (name, more)}
            pair = lambdarr.correlate(
                reports, design, [name, more], scores=given, inference=inference, weights=weights
            ).pair(name, more)
            value, error = pair.correlation
            ends, n, what = pair.interval("correlation", level), pair.n, f"correlation with {more}"
        else:
            if name not in distributions:
                distributions[name] = lambdarr.distribution(
                    reports, design, name, inference=inference, weights=weights, scores=scores.get(name)
                )
            found = distributions[name].mean() if measure == "mean" else distributions[name].quantile(more)
            value, error, n = found.value, found.standard_error, found.n
            ends, what = found.interval(level), "mean" if measure == "mean" else f"{more:g} quantile"
            scale = None if name not in design.names else design.select([name]).attributes[0].scale
            if scale is not None and scale.unit == "date":  # the error stays in days
                value, ends = as_date(value), tuple(as_date(end) for end in ends)
            unit = _DAY if isinstance(value, datetime.date) else 1.0
            value, error, *ends = (_plain(number, unit) for number in (value, error, *ends))
        lower, upper = ends
        rows.append({
            "attribute": name, "measure": what, "value": value, "standard_error": error, "lower": lower,
            "upper": upper, "n": n,
        })  # fmt: skip
    return rows


def _plain(value: Any, unit: float) -> float | str:
    """Return a date or time as ISO text, and a duration as seconds; or as days, where it is the error of a date."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds() / unit
    return value if isinstance(value, str) else float(value)


def figure_values(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return figures for JSON: what is not known is None, and so is the open end of an interval."""
    return [
        {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}
        for row in rows
    ]


def figures_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return figures as CSV text."""
    values = figure_values(rows)
    return csv_table(list(values[0]), [list(row.values()) for row in values])


def figures_table(rows: Sequence[dict[str, Any]], level: float) -> Table:
    """Return figures as a table."""
    table = Table(title="Numbers")
    for heading in _HEADINGS:
        text = f"{100 * level:.6g} % interval" if heading == "interval" else heading
        table.add_column(text, justify="left" if heading in ("attribute", "measure") else "right", overflow="fold")
    for row in rows:
        value, error = _shown(row["value"]), _shown(row["standard_error"])
        lower, upper = ("" if _is_open(row[end]) else _shown(row[end]) for end in ("lower", "upper"))
        if isinstance(row["value"], str) and error != "–":  # a date or time
            error += " days"
        table.add_row(escape(row["attribute"]), escape(row["measure"]), value, error, f"{lower} … {upper}".strip())
    if any(_is_open(row[end]) for row in rows for end in ("lower", "upper")):
        table.caption = "An interval with one end is open: so few reports do not say how far the other may be."
    return table


def _is_open(end: float | str) -> bool:
    return isinstance(end, float) and math.isinf(end)


def _shown(value: float | str) -> str:
    if isinstance(value, str):
        return _to_the_minute(value)
    if not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.5g}"


def _to_the_minute(text: str) -> str:
    """Return a date as it is, and a point in time without its seconds, which nobody reads off a mean."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return text
    return text if "T" not in text else moment.isoformat(" ", "minutes")


def lost_sentence(rows: Sequence[dict[str, Any]]) -> str | None:
    """Return which correlations are not given, and why; None if all are."""
    lost = [f"{row['attribute']} ({row['measure']})" for row in rows if _is_lost(row["value"])]
    if not lost:
        return None
    return (
        f"noise hides how much one of the two varies, or its bins do not tell, so there is no {', '.join(lost)}; it "
        "takes more reports, a larger λ or more bins"
    )


def _is_lost(value: float | str) -> bool:
    return isinstance(value, float) and math.isnan(value)


def as_date(days: float) -> str | float:
    """Return days since 1970-01-01 as a date."""
    return written(days, "date") if math.isfinite(days) else days
