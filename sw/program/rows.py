"""What travels to and from a machine: rows of its memories, and its counters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rows:
    """Some rows of one memory window.

    numbers
        int64 [n], ascending.
    words
        uint32 [n, words of a row].
    """

    numbers: np.ndarray
    words: np.ndarray

    @classmethod
    def first(cls, words: np.ndarray) -> Rows:
        """The first rows of a window, uint32 [n, words of a row]."""
        return cls(np.arange(len(words)), words)

    def spans(self) -> Iterator[tuple[int, np.ndarray]]:
        """Runs of neighbours: number of the first row, and words uint32 [rows, words of a row]."""
        for first, last in row_spans(self.numbers):
            yield int(self.numbers[first]), self.words[first:last]

    def at(self, rows: np.ndarray, words: np.ndarray) -> np.ndarray:
        """The words at places of rows that are all here: uint32 [k] for int [k], int [k]."""
        return self.words[np.searchsorted(self.numbers, rows), words]

    def chosen(self, chosen: np.ndarray) -> Rows:
        """The rows at places that are chosen, as an index of NumPy's."""
        return Rows(self.numbers[chosen], self.words[chosen])

    def merged(self, others: Rows) -> Rows:
        """These rows, and ``others``, which are none of them."""
        numbers = np.concatenate([self.numbers, others.numbers])
        order = np.argsort(numbers)
        return Rows(numbers[order], np.concatenate([self.words, others.words])[order])

    def among(self, numbers: np.ndarray) -> Rows:
        """Rows ``numbers``, int64 [n], ascending: 0 where they are not here."""
        words = np.zeros((len(numbers), self.words.shape[1]), self.words.dtype)
        _, here, there = np.intersect1d(
            self.numbers, numbers, assume_unique=True, return_indices=True
        )
        words[there] = self.words[here]
        return Rows(numbers, words)


@dataclass(frozen=True)
class Samples:
    """Counters in the course of a run.

    cycles
        of the run, from first to last.
    counts
        by name of counter: cycles, int64 [n], ascending, and what had been counted by then, int64
        [n]. The first are 0, the last those of the whole run.
    """

    cycles: int
    counts: Mapping[str, tuple[np.ndarray, np.ndarray]]

    def edges(self) -> np.ndarray:
        """Cycles of samples, those of the counter that has most: int64 [n], from 0 to the last."""
        return max((times for times, _ in self.counts.values()), key=len)

    def rates(self, name: str, edges: np.ndarray) -> np.ndarray:
        """What a counter counts in the mean cycle between neighbouring edges, float64 [n - 1]:
        evenly from one sample to the next."""
        return np.diff(np.interp(edges, *self.counts[name])) / np.diff(edges)


@dataclass(frozen=True)
class MachineRun:
    """What a machine returned: rows by window, its cycle counter, if it counts cycles, and the
    target's counters."""

    memory: dict[str, Rows]
    cycles: int | None
    counters: dict[str, int]


Wanted = Callable[[Mapping[str, int]], Mapping[str, np.ndarray]]
"""Rows to read after a run with these counters, by window: int [n], ascending."""


def row_spans(numbers: np.ndarray) -> list[tuple[int, int]]:
    """Runs of neighbours in ascending ``numbers``: index of the first, and one past the last."""
    if not len(numbers):
        return []
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    edges = [0, *breaks.tolist(), len(numbers)]
    return list(zip(edges[:-1], edges[1:], strict=True))
