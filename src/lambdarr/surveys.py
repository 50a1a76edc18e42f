"""How people were asked: survey weights, strata and clusters, and the variance that these give a sum of scores.

Every estimate here is, to first order, a sum over reports of one unbiased score each. So the textbook variance of a
stratified, clustered sample holds for all of them: add up the scores of each cluster, and see how far the clusters of a
stratum are from one another (``variance``; docs/theory.md, eq. (34)).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lambdarr.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Groups = NDArray[np.int64]


Numbering = dict[str, dict[Any, int]]
"""The number that each stratum and each cluster has, by its name."""


class Survey(NamedTuple):
    """What a user says of the sample: for each, the name of a column, one value per report, or nothing."""

    weights: str | ArrayLike | None = None
    strata: str | ArrayLike | None = None
    clusters: str | ArrayLike | None = None
    known: Numbering | None = None
    """What several waves share: the same name is the same cluster in all of them."""

    @property
    def is_complex(self) -> bool:
        """Whether reports are not simply independent of each other."""
        return self.strata is not None or self.clusters is not None


def check_inference(inference: str, *, is_complex: bool, is_sampled: bool = False) -> None:
    """Refuse an inference that is none, or that strata, clusters or a sample of the attributes cannot have."""
    if inference not in ("population", "finite"):
        msg = f"inference must be 'population' or 'finite', got {inference!r}"
        raise DataError(msg)
    if inference == "finite" and is_complex:
        msg = (
            "strata and clusters say how people were sampled, and with inference 'finite' nobody was: the file is the "
            "population; leave them out, or ask for 'population'"
        )
        raise DataError(msg)
    if inference == "finite" and is_sampled:
        msg = (
            "not everyone was asked everything, so those who have an answer are a sample, and with inference 'finite' "
            "nobody is; ask for 'population', whose errors are on the safe side for the file"
        )
        raise DataError(msg)


class Asked(NamedTuple):
    """How the people behind one batch of reports were asked."""

    weights: Floats | None
    strata: Groups | None
    clusters: Groups | None

    def at(self, rows: NDArray[np.bool_]) -> Asked:
        """Return how some of them were asked."""
        return Asked(
            None if self.weights is None else self.weights[rows],
            None if self.strata is None else self.strata[rows],
            None if self.clusters is None else self.clusters[rows],
        )


def joined(parts: Sequence[Asked]) -> Asked:
    """Return how all people were asked, batch after batch."""
    return Asked(*(None if part[0] is None else np.concatenate(part) for part in zip(*parts, strict=True)))


def sample_of(waves: Sequence[Asked], sizes: Sequence[int]) -> Sample:
    """Return the sample of all waves; one without clusters is a sample of its own, with strata of its own."""
    if waves[0].clusters is None and len(waves) > 1:
        most = max(int(wave.strata.max()) for wave in waves if wave.strata is not None) + 1
        waves = [
            wave._replace(strata=wave.strata + most * number)
            for number, wave in enumerate(waves)
            if wave.strata is not None
        ]
    asked = joined(waves)
    return Sample.of(asked.strata, asked.clusters, sum(sizes))


class Reading:
    """The weights, strata and clusters of reports, checked as the reports go by."""

    def __init__(self, survey: Survey) -> None:
        self._weights = _Column("weights", survey.weights)
        self._groups = {kind: _Column(kind, getattr(survey, kind)) for kind in ("strata", "clusters")}
        self._known = {kind: {} for kind in self._groups} if survey.known is None else survey.known

    @property
    def columns(self) -> list[str]:
        """The columns to read beside the attributes."""
        return [column.name for column in (self._weights, *self._groups.values()) if column.name is not None]

    def of(self, batch: pa.RecordBatch, row: int) -> Asked:
        """Return what is known of a batch whose first row is ``row`` (from 0); batches have to come in order."""
        weights = self._weights.of(batch, row)
        return Asked(None if weights is None else _as_weights(weights, self._weights.name, row + 1), *(
            None if (values := column.of(batch, row)) is None else self._numbered(kind, values, row + 1)
            for kind, column in self._groups.items()
        ))  # fmt: skip

    def _numbered(self, kind: str, values: pa.Array, first_row: int) -> Groups:
        """Return the groups as numbers, the same ones in every batch."""
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        names = encoded.dictionary.to_pylist()
        if encoded.null_count or None in names or "" in names:
            row = first_row + next(place for place, value in enumerate(encoded) if value.as_py() in (None, ""))
            msg = f"{kind} must not be missing, and one is at row {row:,}; give every report its own, or leave it out"
            raise DataError(msg)
        known = self._known[kind]
        numbers = [known.setdefault(value, len(known)) for value in names]
        return np.asarray(np.array(numbers, dtype=np.int64).take(encoded.indices.to_numpy(zero_copy_only=False)))

    def check_end(self, n: int) -> None:
        """Refuse values that are more than the reports."""
        for column in (self._weights, *self._groups.values()):
            column.check_end(n)


class _Column:
    """One value per report: a column of the reports, or an array beside them."""

    def __init__(self, kind: str, given: str | ArrayLike | None) -> None:
        self._one_each = f"{kind} must be one {'number' if kind == 'weights' else 'value'} per report"
        self.name = given if isinstance(given, str) else None
        self._given: pa.Array | None = None
        if given is not None and self.name is None:
            try:
                values = np.asarray(given, dtype=np.float64 if kind == "weights" else None).ravel()
                self._given = pa.array(values.tolist() if values.dtype == object else values, from_pandas=True)
            except (TypeError, ValueError, pa.ArrowException):  # whose message repeats the value
                what = "numbers" if kind == "weights" else "values of one type"
                msg = f"{kind} must be {what}, one per report, or the name of a column"
                raise DataError(msg) from None

    def of(self, batch: pa.RecordBatch, row: int) -> pa.Array | None:
        if self.name is not None:
            return batch.column(self.name)
        if self._given is None:
            return None
        found = self._given.slice(row, batch.num_rows)
        if len(found) != batch.num_rows:
            msg = f"{self._one_each}, and end at row {row + len(found):,}"
            raise DataError(msg)
        return found

    def check_end(self, n: int) -> None:
        if self._given is not None and len(self._given) != n:
            msg = f"{self._one_each}, got {len(self._given):,} for {n:,} reports"
            raise DataError(msg)


def _as_weights(column: pa.Array, name: str | None, first_row: int) -> Floats:
    if pa.types.is_string(column.type):
        column = pc.if_else(pc.equal(column, ""), None, column)
    try:
        found = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except pa.ArrowException:
        row = first_row + next((place for place, value in enumerate(column) if not _is_number(value)), 0)
        msg = f"weights must be numbers, but column {name!r} holds something else, first at row {row:,}"
        raise DataError(msg) from None
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(bad):
        of = "weights" if name is None else f"weights in column {name!r}"
        msg = (
            f"{of} must not be negative, missing or infinite, and {len(bad):,} are, first at row "
            f"{first_row + int(bad[0]):,}; give every report a weight of 0 or more"
        )
        raise DataError(msg)
    return found


def _is_number(value: pa.Scalar) -> bool:
    try:
        value.cast(pa.float64())
    except pa.ArrowException:
        return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Which reports belong together: each one's cluster, numbered from 0, and each cluster's stratum.

    Parameters
    ----------
    cluster : array
        The cluster of every report.
    stratum : array
        The stratum of every cluster.
    """

    cluster: Groups
    stratum: Groups
    clusters_in: Groups = field(init=False)
    """How many clusters each stratum has."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "clusters_in", np.bincount(self.stratum))
        if (self.clusters_in == 1).any():
            alone = int((self.clusters_in == 1).sum())
            unit = "cluster" if len(self.stratum) < len(self.cluster) else "report"
            msg = (
                f"{alone:,} of {len(self.clusters_in):,} strata have one {unit} only, whose variance cannot be seen; "
                "join them to a similar stratum"
            )
            raise DataError(msg)

    @classmethod
    def of(cls, strata: Groups | None, clusters: Groups | None, n: int) -> Sample:
        """Return the sample of n reports; a cluster lies in one stratum, so the same name in another is another one."""
        if clusters is None:
            stratum = np.zeros(n, dtype=np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
            return cls(np.arange(n), stratum)
        if strata is None:
            strata = np.zeros(n, dtype=np.int64)
        both = strata * (int(clusters.max()) + 1) + clusters
        _, first, cluster = np.unique(both, return_index=True, return_inverse=True)
        return cls(cluster, np.unique(strata[first], return_inverse=True)[1])

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the variance: clusters less strata."""
        return len(self.stratum) - len(self.clusters_in)

    def totals(self, scores: Floats) -> Floats:
        """Return the sum of the scores (a row per report) of each cluster."""
        count = len(self.stratum)
        if count == len(self.cluster):
            return scores[np.argsort(self.cluster)]
        columns = [np.bincount(self.cluster, column, minlength=count) for column in scores.T]
        return np.stack(columns, axis=1) if columns else np.zeros((count, 0))

    def variance(self, scores: Floats) -> Floats:
        """Return the covariance matrix of the sum of all scores: docs/theory.md, eq. (34)."""
        totals = self.totals(scores)
        return np.asarray(self.spread(totals).T @ totals)

    def spread(self, totals: Floats) -> Floats:
        """Return the clusters' totals around the mean of their stratum, times n/(n − 1) of its n clusters."""
        count = len(self.clusters_in)
        sums = np.stack([np.bincount(self.stratum, column, minlength=count) for column in totals.T], axis=1)
        around = totals - (sums / self.clusters_in[:, None])[self.stratum]
        return np.asarray(around * self.factor[:, None])

    @property
    def factor(self) -> Floats:
        """n/(n − 1) of every cluster, n the number of clusters in its stratum."""
        return np.asarray((self.clusters_in / (self.clusters_in - 1))[self.stratum])


@dataclass(frozen=True, slots=True, eq=False)
class Clustered:
    """A table of reports, cluster by cluster: what its variance needs where reports are not independent.

    Parameters
    ----------
    sample : Sample
        The clusters, each as one report.
    totals : sparse matrix
        The weight in every cell of the table, a row per cluster.
    keys : array, optional
        Stratum and cluster of each row, numbered as in other waves; None where every report is its own cluster.
    """

    sample: Sample
    totals: Any
    keys: Groups | None

    @classmethod
    def of(cls, asked: Asked, places: Groups, cells: int) -> Clustered:
        """Return the table of reports that are in these cells; those in a cell below 0 are in none."""
        from scipy import sparse

        sample = Sample.of(asked.strata, asked.clusters, len(places))
        count, there = len(sample.stratum), places >= 0
        weights = np.ones(len(places)) if asked.weights is None else asked.weights
        totals = sparse.csr_array((weights[there], (sample.cluster[there], places[there])), shape=(count, cells))
        keys = None
        if asked.clusters is not None:
            first = np.unique(sample.cluster, return_index=True)[1]
            strata = np.zeros(len(places), dtype=np.int64) if asked.strata is None else asked.strata
            keys = np.stack([strata[first], asked.clusters[first]], axis=1)
        return cls(Sample(np.arange(count), sample.stratum), totals, keys)

    def marginal(self, cells: Groups) -> Clustered:
        """Return the table in which each cell is added to one of a smaller table."""
        from scipy import sparse

        shape = (len(cells), int(cells.max()) + 1)
        into = sparse.csr_array((np.ones(len(cells)), (np.arange(len(cells)), cells)), shape=shape)
        return Clustered(self.sample, self.totals @ into, self.keys)

    def covariance_with(self, other: Clustered) -> Floats:
        """Return the covariance matrix of the sums per cell, less what their total brings along, with another wave's.

        Both have the same clusters (``together``); with itself it is the covariance matrix of one table.
        """
        (weight, shares), (weight2, shares2) = self._weights_and_shares(), other._weights_and_shares()
        factor = self.sample.factor
        result = (self.totals.T * factor @ other.totals).toarray()
        result -= np.outer(self.totals.T @ (factor * weight2), shares2)
        result -= np.outer(shares, other.totals.T @ (factor * weight))
        result += float((weight * weight2) @ factor) * np.outer(shares, shares2)
        sums, sums2 = self._of_strata(weight, shares), other._of_strata(weight2, shares2)
        return np.asarray(result - (sums / (self.sample.clusters_in - 1)[:, None]).T @ sums2)

    def covariance_times(self, vector: Floats) -> Floats:
        """Return the covariance matrix times a vector, without forming it."""
        weight, shares = self._weights_and_shares()
        scores = self.totals @ vector - weight * float(shares @ vector)
        around = self.sample.spread(scores[:, None])[:, 0]
        return np.asarray(self.totals.T @ around - shares * float(weight @ around))

    def variances(self) -> Floats:
        """Return the diagonal of the covariance matrix."""
        weight, shares = self._weights_and_shares()
        factor = self.sample.factor
        result = self.totals.power(2).T @ factor - 2 * shares * (self.totals.T @ (factor * weight))
        result += float(weight**2 @ factor) * shares**2
        sums = self._of_strata(weight, shares)
        return np.asarray(result - (sums**2 / (self.sample.clusters_in - 1)[:, None]).sum(axis=0))

    def _of_strata(self, weight: Floats, shares: Floats) -> Floats:
        """Return the sum of the clusters' scores per stratum and cell."""
        from scipy import sparse

        stratum = self.sample.stratum
        into = sparse.csr_array((np.ones(len(stratum)), (stratum, np.arange(len(stratum)))))
        return np.asarray((into @ self.totals).toarray() - np.outer(np.asarray(into @ weight), shares))

    def _weights_and_shares(self) -> tuple[Floats, Floats]:
        weight = np.asarray(self.totals.sum(axis=1)).ravel()
        return weight, np.asarray(self.totals.sum(axis=0)).ravel() / weight.sum()


def together(tables: Sequence[Clustered]) -> list[Clustered]:
    """Return the tables of several waves with the clusters of all, so that those in two waves are seen as one."""
    from scipy import sparse

    keys = [table.keys for table in tables if table.keys is not None]
    if len(keys) < len(tables):
        return list(tables)
    every, places = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    sample = Sample.of(every[:, 0], np.arange(len(every)), len(every))
    sample = Sample(np.arange(len(every)), sample.stratum[sample.cluster])
    found, start = [], 0
    for table in tables:
        rows = places[start : start + table.totals.shape[0]]
        start += len(rows)
        into = sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(len(every), len(rows)))
        found.append(Clustered(sample, into @ table.totals, every))
    return found
