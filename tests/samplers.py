"""Randomizers for the measured audit to judge: a right one, and those that are broken as real ones have been.

Each takes a list of records and returns the list of their reports, from words that follow from a seed.
"""

import numpy as np

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
