"""What the release of a file is expected to leave of its truths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from lambdarr.domain import ABSENT
from lambdarr.errors import DataError, DesignError
from lambdarr.exposing import drawn_values
from lambdarr.surveys import Survey
from lambdarr.tabulation import over_reports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lambdarr.designs import Design
    from lambdarr.tabulation import Coded


@dataclass(frozen=True, slots=True)
class Release:
    """What the release of a file is to be expected to leave of its truths.

    Parameters
    ----------
    records : int
        Number of records.
    key : tuple of str
        The columns that are released, by which records are told apart: the attributes, those that the design keeps, and
        those drawn over the individuals.
    true_records : float
        How many records are expected to be reported true in every attribute and drawn column. A missing value that is
        public is always reported as it is. A drawn value that c of n individuals have is true with λ + (1 − λ) c/n; the
        expected form, which anyone undoes, always.
    true_values : dict
        The expected share of true values of each attribute and drawn column, among those that are not missing in
        public.
    uniques : int
        Records that nobody else in the file shares, by the whole key.
    surviving_uniques : float
        How many of these are expected to be reported true in every attribute and drawn column. An observer who does not
        know the other rows cannot tell which.
    exposed : int
        Records that nobody else shares by what is released as it is: kept columns, whatever has λ = 1, drawn columns in
        the expected form, and who has a missing value that is public. No randomization hides these from anyone who
        knows that much of them.

    Notes
    -----
    Where each respondent is asked a part of the attributes, a true record is true in all that was asked; a report then
    never has the whole key, and ``exposed`` takes every attribute with λ = 1 as asked.
    """

    records: int
    key: tuple[str, ...]
    true_records: float
    true_values: dict[str, float]
    uniques: int
    surviving_uniques: float
    exposed: int


class _Groups(NamedTuple):
    """Records that are alike: a row of values for each kind of them, and how many they are."""

    values: pa.Table
    counts: Any


def expected_release(design: Design, truths: Any) -> Release:
    """Return what a file's release is expected to leave of its truths; columns that the design has not are dropped."""
    if on_scale := [attribute.name for attribute in design.attributes if attribute.scale is not None]:
        msg = (
            f"{on_scale[0]!r} is reported on a scale, by respondents; a release is audited of categories and of "
            "columns drawn over its individuals: leave the truths out (--truths)"
        )
        raise DesignError(msg)
    kept = design.kept
    everyone = replace(design, asked=None, out_of=None)  # in truths a null is a missing value, never "not asked"

    def columns(coded: Coded) -> pa.Table:
        codes = [pa.array(coded.codes[name]) for name in design.names]
        return pa.table([*codes, *(_plain(coded.public[name]) for name in kept)], [*design.names, *kept])

    # a drawn column is read for itself; where there is nothing else, it says how many records there are
    over_individuals = _over_individuals(design, truths)
    if design.names or kept:
        table = pa.concat_tables(over_reports(truths, everyone, design.names, Survey(), columns, public=kept))
        for name, column in over_individuals.items():
            table = table.append_column(name, column.codes)
    else:
        table = pa.table({name: column.codes for name, column in over_individuals.items()})
    alike = _alike(table, kept)
    alone = alike.counts == 1
    # one factor for each kind of record: a missing value in public is reported as it is
    factors: list[Any] = [
        np.where(alike.values[place].to_numpy() == ABSENT, 1.0, channel.truthfulness)
        for place, channel in enumerate(design.channels)
    ]
    true: Any = design.mean_product(factors) if factors else np.ones(len(alike.counts))
    places = {name: place for place, name in enumerate(table.column_names)}
    for name, drawn in over_individuals.items():
        true = true * drawn.chance_of(alike.values[places[name]].to_numpy())
    return Release(
        records=table.num_rows,
        key=tuple(table.column_names),
        true_records=float((alike.counts * true).sum()),
        true_values={name: channel.truthfulness for name, channel in design.by_name.items()}
        | {name: column.true_share for name, column in over_individuals.items()},
        uniques=int(alone.sum()),
        surviving_uniques=float(true[alone].sum()),
        exposed=_exposed(design, table),
    )


class _OverIndividuals(NamedTuple):
    """A drawn column of the truths: which of its values each record has, and the chance that it reports it."""

    codes: pa.Array
    chances: NDArray[np.float64]

    def chance_of(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the chance that records with these codes report their own value, theirs or another's that is equal."""
        return np.where(codes == ABSENT, 1.0, self.chances.take(np.maximum(codes, 0)))

    @property
    def true_share(self) -> float:
        """The expected share of true values, among those that are not missing in public."""
        codes = self.codes.to_numpy()
        return float(self.chances.take(codes[codes != ABSENT]).mean())


def _over_individuals(design: Design, truths: Any) -> dict[str, _OverIndividuals]:
    found = {}
    values = drawn_values(design, truths) if design.drawn else {}
    for column in design.drawn:
        encoded = values[column.name].dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        if column.missing_is_public:
            codes = np.where(values[column.name].is_null().to_numpy(zero_copy_only=False), ABSENT, codes)
        there = codes[codes != ABSENT]
        shares = np.bincount(there, minlength=len(encoded.dictionary)) / len(there)
        lam = 1.0 if column.is_expected else column.lam
        found[column.name] = _OverIndividuals(pa.array(codes), lam + (1 - lam) * shares)
    return found


def _exposed(design: Design, table: pa.Table) -> int:
    """Return how many records are alone by what is released as it is."""
    plain = [table[name] for name in dict.fromkeys((*design.released, *design.undone))]
    missing = [pa.array(table[name].to_numpy() == ABSENT) for name in design.public_missing]
    if not plain and not missing:
        return 0
    columns = [*plain, *missing]
    return int((_alike(pa.table(columns, list(map(str, range(len(columns))))), design.kept).counts == 1).sum())


def _alike(table: pa.Table, kept: Sequence[str]) -> _Groups:
    numbered = table.rename_columns([str(place) for place in range(table.num_columns)])
    try:
        found = numbered.group_by(numbered.column_names).aggregate([([], "count_all")])
    except pa.ArrowNotImplementedError:
        msg = f"kept columns must hold plain values to tell records apart by; convert or drop one of: {', '.join(kept)}"
        raise DataError(msg) from None
    return _Groups(found.select(numbered.column_names), found["count_all"].to_numpy())


def _plain(column: pa.Array) -> pa.Array:
    """Return a column without its dictionary, which may differ from batch to batch."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
