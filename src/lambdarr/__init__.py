"""λ-randomization: multi-dimensional randomized response, with estimates and their errors.

One idea, five verbs: design → randomize → tally → estimate → audit.
"""

from lambdarr import bistochastic, kronecker
from lambdarr.auditing import Audit, Leak, audit
from lambdarr.channel import Channel
from lambdarr.designs import Design
from lambdarr.domain import Attribute
from lambdarr.errors import DataError, DesignError, LambdarrError, MissingExtraError, SourceError
from lambdarr.estimation import Estimate, Interval, estimate
from lambdarr.randomization import randomize, randomize_file, randomize_record
from lambdarr.sampling import SeededWords
from lambdarr.solving import design
from lambdarr.tabulation import Counts, tally

__version__ = "0.1.0"

__all__ = [
    "Attribute",
    "Audit",
    "Channel",
    "Counts",
    "DataError",
    "Design",
    "DesignError",
    "Estimate",
    "Interval",
    "LambdarrError",
    "Leak",
    "MissingExtraError",
    "SeededWords",
    "SourceError",
    "audit",
    "bistochastic",
    "design",
    "estimate",
    "kronecker",
    "randomize",
    "randomize_file",
    "randomize_record",
    "tally",
]
