"""λ-randomization: multi-dimensional randomized response, with estimates and their errors.

One idea, five verbs: design → randomize → tally → estimate → audit.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Names are imported when they are first used: a device that wants lambdarr.client alone never loads NumPy.
_HOMES = {
    "Answer": "queries",
    "Attribute": "domain",
    "Audit": "auditing",
    "BinnedDistribution": "distributions",
    "Channel": "channel",
    "Correlation": "association",
    "Counts": "tabulation",
    "DataError": "errors",
    "Design": "designs",
    "DesignError": "errors",
    "Drawn": "drawing",
    "Estimate": "estimation",
    "Interval": "intervals",
    "LambdarrError": "errors",
    "Leak": "auditing",
    "Measurement": "measuring",
    "MissingExtraError": "errors",
    "Model": "models",
    "Numeric": "numeric",
    "Plan": "planning",
    "Regression": "regression",
    "Scale": "scales",
    "SeededWords": "sampling",
    "SourceError": "errors",
    "UnprotectedWarning": "errors",
    "audit": "auditing",
    "bistochastic": "",
    "compare_asked": "asking",
    "correlate": "association",
    "design": "solving",
    "distribution": "distributions",
    "draw_questions": "randomization",
    "estimate": "estimation",
    "kronecker": "",
    "measure": "measuring",
    "model": "models",
    "plan": "planning",
    "query": "queries",
    "randomize": "randomization",
    "randomize_file": "randomization",
    "randomize_record": "randomization",
    "readable_order": "planning",
    "regress": "regression",
    "report": "reporting.page",
    "tallies": "tabulation",
    "tally": "tabulation",
    "unbiased": "indicators",
}

__all__ = [
    "Answer",
    "Attribute",
    "Audit",
    "BinnedDistribution",
    "Channel",
    "Correlation",
    "Counts",
    "DataError",
    "Design",
    "DesignError",
    "Drawn",
    "Estimate",
    "Interval",
    "LambdarrError",
    "Leak",
    "Measurement",
    "MissingExtraError",
    "Model",
    "Numeric",
    "Plan",
    "Regression",
    "Scale",
    "SeededWords",
    "SourceError",
    "UnprotectedWarning",
    "audit",
    "bistochastic",
    "compare_asked",
    "correlate",
    "design",
    "distribution",
    "draw_questions",
    "estimate",
    "kronecker",
    "measure",
    "model",
    "plan",
    "query",
    "randomize",
    "randomize_file",
    "randomize_record",
    "readable_order",
    "regress",
    "report",
    "tallies",
    "tally",
    "unbiased",
]

if TYPE_CHECKING:
    from lambdarr import bistochastic, kronecker
    from lambdarr.asking import compare_asked
    from lambdarr.association import Correlation, correlate
    from lambdarr.auditing import Audit, Leak, audit
    from lambdarr.channel import Channel
    from lambdarr.designs import Design
    from lambdarr.distributions import BinnedDistribution, distribution
    from lambdarr.domain import Attribute
    from lambdarr.drawing import Drawn
    from lambdarr.errors import (
        DataError,
        DesignError,
        LambdarrError,
        MissingExtraError,
        SourceError,
        UnprotectedWarning,
    )
    from lambdarr.estimation import Estimate, estimate
    from lambdarr.indicators import unbiased
    from lambdarr.intervals import Interval
    from lambdarr.measuring import Measurement, measure
    from lambdarr.models import Model, model
    from lambdarr.numeric import Numeric
    from lambdarr.planning import Plan, plan, readable_order
    from lambdarr.queries import Answer, query
    from lambdarr.randomization import draw_questions, randomize, randomize_file, randomize_record
    from lambdarr.regression import Regression, regress
    from lambdarr.reporting.page import report
    from lambdarr.sampling import SeededWords
    from lambdarr.scales import Scale
    from lambdarr.solving import design
    from lambdarr.tabulation import Counts, tallies, tally


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module 'lambdarr' has no attribute {name!r}"
        raise AttributeError(msg)
    home = _HOMES[name]
    value = getattr(import_module(f"lambdarr.{home}"), name) if home else import_module(f"lambdarr.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
