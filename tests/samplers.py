"""Randomizers for the measured audit to judge: a right one, and those that are broken as real ones have been.

Each takes a list of records and returns the list of their reports, from words that follow from a seed; those that ask a
part of the attributes take a table.
"""

import numpy as np
import pyarrow as pa

import lambdarr as lr
from lambdarr import sampling


class Sampler:
    """The right one. A broken one says in which of these steps it goes wrong."""

    def __init__(self, design, seed=1):
        self.design, self.seeded = design, lr.SeededWords(seed)

    def __call__(self, records):
        columns = []
        for attribute, channel in zip(self.design.attributes, self.design.channels, strict=True):
            truths = np.array([attribute.code(record[attribute.name]) for record in records])
            reports = self.report(truths, self.words(len(truths)), channel)
            columns.append([attribute.values[code] for code in reports])
        return [dict(zip(self.design.names, row, strict=True)) for row in zip(*columns, strict=True)]

    def words(self, count):
        return self.seeded.words(count)

    def report(self, truths, words, channel):
        return sampling.reports_from_words(truths, words, channel)


class LeavesTheLastRow(Sampler):
    def report(self, truths, words, channel):
        return np.append(super().report(truths, words, channel)[:-1], truths[-1])


class LeavesTheFirstRow(Sampler):
    def report(self, truths, words, channel):
        return np.append(truths[:1], super().report(truths, words, channel)[1:])


class LeavesEveryThousandthRow(Sampler):
    def report(self, truths, words, channel):
        reports = super().report(truths, words, channel)
        reports[999::1000] = truths[999::1000]
        return reports


class RedrawsWithABias(Sampler):
    """The keep rate is right, but the redraw takes the first category one time in five too often."""

    def report(self, truths, words, channel):
        reports = super().report(truths, words, channel)
        redrawn = words >= channel.threshold
        reports[redrawn & (words % 5 == 0)] = 0
        return reports


class RedrawsAnotherCategory(Sampler):
    """The redraw never gives the truth: the textbook's other definition of the keep rate."""

    def report(self, truths, words, channel):
        redrawn = (truths + 1 + words % (channel.size - 1)) % channel.size
        return np.where(words < channel.threshold, truths, redrawn)


class KeepsTooMuch(Sampler):
    def report(self, truths, words, channel):
        return super().report(truths, words, lr.Channel(channel.size, min(1.0, channel.lam + 0.02)))


class RepeatsItsWordsInEveryCall(Sampler):
    def words(self, count):
        return lr.SeededWords(3).words(count)


class RepeatsItsWordsWithinACall(Sampler):
    block = 64

    def words(self, count):
        return np.resize(super().words(self.block), count)


class RepeatsItsWordsAfterAnOddNumberOfRows(RepeatsItsWordsWithinACall):
    block = 4_999


class RepeatsItsWordsNowAndThen(Sampler):
    """A few seeds take turns, as where a clock gives them."""

    def words(self, count):
        return lr.SeededWords(int(self.seeded.words(1)[0] % 7)).words(count)


class RepeatsItsWordsInEveryAttribute(Sampler):
    calls = 0

    def words(self, count):
        self.calls += 1
        return lr.SeededWords((self.calls - 1) // len(self.design.names)).words(count)


BROKEN = [
    LeavesTheLastRow,
    LeavesTheFirstRow,
    LeavesEveryThousandthRow,
    RedrawsWithABias,
    RedrawsAnotherCategory,
    KeepsTooMuch,
    RepeatsItsWordsInEveryCall,
    RepeatsItsWordsWithinACall,
    RepeatsItsWordsAfterAnOddNumberOfRows,
    RepeatsItsWordsNowAndThen,
    RepeatsItsWordsInEveryAttribute,
]


class LeavesSomeRecords:
    """Right in all but 3 records of 1,000, drawn at random, which come back whole; takes a table, as the next one."""

    def __init__(self, design, seed=1):
        self.design, self.seeded = design, lr.SeededWords(seed)

    def __call__(self, table):
        reports, left = {}, self.left(table.num_rows)
        for name, channel in zip(self.design.names, self.design.channels, strict=True):
            truths = table[name].to_numpy()
            words = self.words(name, len(truths))
            reports[name] = np.where(left, truths, sampling.reports_from_words(truths, words, channel))
        return pa.table(reports)

    def left(self, rows):
        return self.seeded.words(rows) < 0.003 * 2**32

    def words(self, name, count):
        return self.seeded.words(count)


class AddsItsWords(LeavesSomeRecords):
    """The last attribute's word is the sum of the two before it: every two are independent, and the three are not."""

    def left(self, rows):
        return np.zeros(rows, dtype=bool)

    def words(self, name, count):
        if name == self.design.names[0]:
            self.before = []
        words = sum(self.before[-2:]) if name == self.design.names[-1] else super().words(name, count)
        self.before.append(words)
        return words


class Asks:
    """A right one of Arrow tables, for designs that ask two of four attributes."""

    def __init__(self, design, seed=1):
        self.design, self.seeded = design, lr.SeededWords(seed)

    def __call__(self, table):
        truths = [table[name].to_numpy() for name in self.design.names]
        asked = self.asked(truths)
        columns = {}
        for name, codes, flags, channel in zip(self.design.names, truths, asked, self.design.channels, strict=True):
            reports = sampling.reports_from_words(codes, self.seeded.words(len(codes)), channel)
            columns[name] = pa.array(self.reported(codes, reports, flags), mask=~flags)
        return pa.table(columns)

    def asked(self, truths):
        count = len(self.design.names)
        return sampling.drawn_sets(self.seeded, len(truths[0]), asked=self.design.asked, count=count)

    def reported(self, truths, reports, flags):
        return reports


class AsksAll(Asks):
    def asked(self, truths):
        return np.ones((len(truths), len(truths[0])), dtype=bool)


class AsksOneMoreInTheLastRow(Asks):
    def asked(self, truths):
        flags = super().asked(truths)
        flags[:, -1] = True
        return flags


class AsksOneAttributeTooOften(Asks):
    def asked(self, truths):
        flags = super().asked(truths)
        some = self.seeded.words(flags.shape[1]) % 20 == 0
        flags[:, some] = np.array([[True], [True], [False], [False]])
        return flags


class AsksByTheTruth(Asks):
    """a is asked more often where it is 0."""

    def asked(self, truths):
        flags, other = super().asked(truths), super().asked(truths)
        again = (truths[0] == 0) & ~flags[0]
        flags[:, again] = other[:, again]
        return flags


class AsksByAnotherTruth(Asks):
    def asked(self, truths):
        flags = super().asked(truths)
        swapped = (truths[1] == 1) & (flags[2] & ~flags[0])
        back = (truths[1] == 0) & (flags[0] & ~flags[2])
        for some in (swapped, back):
            flags[np.ix_([0, 2], some)] = ~flags[np.ix_([0, 2], some)]
        return flags


class AsksTheSameInEveryCall(Asks):
    def asked(self, truths):
        return sampling.drawn_sets(lr.SeededWords(3), len(truths[0]), asked=self.design.asked, count=len(truths))


class AsksNeighboursAlike(Asks):
    def asked(self, truths):
        return np.repeat(super().asked(truths), 2, axis=1)[:, : len(truths[0])]


class AsksSomePairsOnly(Asks):
    """Every attribute as often as it should be, but always a and b, or c and d."""

    def asked(self, truths):
        first = self.seeded.words(len(truths[0])) % 2 == 0
        return np.stack([first, first, ~first, ~first])


class TellsTheTruthWhenAsked(Asks):
    """One in ten of those asked is reported as is."""

    def reported(self, truths, reports, flags):
        return np.where(flags & (self.seeded.words(len(truths)) % 10 == 0), truths, reports)


class TellsMoreInSomeSets(Asks):
    """λ of a is larger where b is asked too, and smaller where c is."""

    def __call__(self, table):
        reports = super().__call__(table)
        truths, flags = table["a"].to_numpy(), [reports[name].is_valid().to_numpy() for name in "abc"]
        chance = self.seeded.words(len(truths)) % 20 == 0
        redrawn = (self.seeded.words(len(truths)) % 3).astype(truths.dtype)
        told = np.where(flags[0], reports["a"].fill_null(0).to_numpy(), 0)
        told = np.where(chance & flags[1], truths, np.where(chance & flags[2], redrawn, told))
        return reports.set_column(0, "a", pa.array(told, mask=~flags[0]))


class LeavesTheLastRowOfThoseAsked(Asks):
    def reported(self, truths, reports, flags):
        return np.append(reports[:-1], truths[-1])


BROKEN_SETS = [
    AsksAll,
    AsksOneMoreInTheLastRow,
    AsksOneAttributeTooOften,
    AsksByTheTruth,
    AsksByAnotherTruth,
    AsksTheSameInEveryCall,
    AsksNeighboursAlike,
    AsksSomePairsOnly,
    TellsTheTruthWhenAsked,
    TellsMoreInSomeSets,
    LeavesTheLastRowOfThoseAsked,
]
