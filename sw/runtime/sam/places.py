"""Arrays of blocks, and the rows of a memory that they share, by places that the host sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import numpy as np

from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.memory.placement import PAIRS, PLACES, WORDS, MemoryRows
from gnarl.hw.sam.memory_map import array_windows
from gnarl.sw.compiler.sam.placement import NO_PLACES, require_places
from gnarl.sw.program.rows import Rows


class Places(ABC):
    """Where arrays lie: ``of``, base and number of rows by ``"{block}_{array}"``.

    ``placed``: uint32 [arrays, 2], as ``gnarl.sw.compiler.sam.placement.places`` gives it. Raises
    ``ProgramError`` as ``require_places`` does.
    """

    def __init__(self, config: SamConfig, placed: np.ndarray) -> None:
        self._windows = _windows(config)
        require_places(config, placed)
        self._placed = placed
        self.of: dict[str, tuple[int, int]] = dict(
            zip(self._windows, map(tuple, placed.tolist()), strict=True)
        )

    @property
    def words(self) -> Rows:
        """What the host writes to the window ``places``."""
        return Rows.first(self._placed.reshape(-1, 1))

    @abstractmethod
    def rows(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Rows of the memory's windows that hold these rows of arrays."""

    @abstractmethod
    def to_memory(self, arrays: Mapping[str, Rows]) -> dict[str, Rows]:
        """The rows of arrays as rows of the memory's windows."""

    @abstractmethod
    def from_memory(self, memory: Mapping[str, Rows], arrays: Iterable[str]) -> dict[str, Rows]:
        """The rows of those arrays that the memory's windows have."""


class SharedPlaces(Places):
    """Places in a shared memory: an array's base is its first row."""

    def __init__(self, config: SamConfig, placed: np.ndarray) -> None:
        super().__init__(config, placed)
        memory = MemoryRows.of(self._windows.values())
        self._first = {words: memory.first(words) for words in (1, 2)}

    def rows(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {window: np.sort(numbers) for window, numbers in _together(self._moved(arrays))}

    def to_memory(self, arrays: Mapping[str, Rows]) -> dict[str, Rows]:
        words: dict[str, list[np.ndarray]] = {PAIRS: [], WORDS: []}
        numbers = {name: rows.numbers for name, rows in arrays.items()}
        for name, rows in arrays.items():
            words[self._window(name)].append(rows.words)
        found = {}
        for window, all_numbers in _together(self._moved(numbers)):
            # Blocks that read the same array share its place.
            distinct, at = np.unique(all_numbers, return_index=True)
            found[window] = Rows(distinct, np.concatenate(words[window])[at])
        return found

    def from_memory(self, memory: Mapping[str, Rows], arrays: Iterable[str]) -> dict[str, Rows]:
        return {name: self._taken(name, memory.get(self._window(name))) for name in arrays}

    def _taken(self, name: str, rows: Rows | None) -> Rows:
        words = self._windows[name].words
        if rows is None:
            return Rows(np.zeros(0, np.int64), np.zeros((0, words), np.uint32))
        base, count = self.of[name]
        first = base - self._first[words]
        start, end = np.searchsorted(rows.numbers, [first, first + count])
        return Rows(rows.numbers[start:end] - first, rows.words[start:end])

    def _moved(self, arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
        for name, numbers in arrays.items():
            first = self.of[name][0] - self._first[self._windows[name].words]
            yield self._window(name), numbers + first

    def _window(self, name: str) -> str:
        return PAIRS if self._windows[name].words == 2 else WORDS


class LinePlaces(Places):
    """Places in a memory of lines: an array's base is its first line."""

    def __init__(self, config: SamConfig, placed: np.ndarray) -> None:
        super().__init__(config, placed)
        self._line_words = config.line_words

    def rows(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        words = [self._words(name, numbers).reshape(-1) for name, numbers in arrays.items()]
        return {WORDS: np.unique(np.concatenate(words))} if words else {}

    def to_memory(self, arrays: Mapping[str, Rows]) -> dict[str, Rows]:
        if not arrays:
            return {}
        numbers = [self._words(name, rows.numbers).reshape(-1) for name, rows in arrays.items()]
        words = np.concatenate([rows.words.reshape(-1) for rows in arrays.values()])
        # Blocks that read the same array share its place.
        distinct, at = np.unique(np.concatenate(numbers), return_index=True)
        return {WORDS: Rows(distinct, words[at][:, np.newaxis])}

    def from_memory(self, memory: Mapping[str, Rows], arrays: Iterable[str]) -> dict[str, Rows]:
        return {name: self._taken(name, memory.get(WORDS)) for name in arrays}

    def _taken(self, name: str, words: Rows | None) -> Rows:
        window = self._windows[name]
        if words is None:
            return Rows(np.zeros(0, np.int64), np.zeros((0, window.words), np.uint32))
        base, count = self.of[name]
        first = base * self._line_words
        start, end = np.searchsorted(words.numbers, [first, first + count * window.stride])
        rows, places = np.divmod(words.numbers[start:end] - first, window.stride)
        numbers = np.unique(rows)
        found = np.zeros((len(numbers), window.stride), np.uint32)
        found[np.searchsorted(numbers, rows), places] = words.words[start:end, 0]
        return Rows(numbers, found[:, : window.words])

    def _words(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Numbers of the words that rows of an array have: int64 [rows, words]."""
        window = self._windows[name]
        first = self.of[name][0] * self._line_words + rows * window.stride
        found: np.ndarray = first[:, np.newaxis] + np.arange(window.words)
        return found


@lru_cache(maxsize=16)
def _windows(config: SamConfig) -> dict[str, Window]:
    return {window.name: window for window in array_windows(config)}


def _together(parts: Iterator[tuple[str, np.ndarray]]) -> Iterator[tuple[str, np.ndarray]]:
    """All row numbers of each window, in the order in which they come."""
    found: dict[str, list[np.ndarray]] = {}
    for window, numbers in parts:
        found.setdefault(window, []).append(numbers)
    for window, each in found.items():
        yield window, np.concatenate(each)


def places_in(config: SamConfig, image: Mapping[str, Rows]) -> Places | None:
    """The places that a machine with ``image`` has; ``None`` if its arrays have memories of their
    own. Raises ``ProgramError`` as ``Places`` does."""
    if config.memory == "local":
        return None
    words = image.get(PLACES)
    return places_of(config, NO_PLACES if words is None else words.words.reshape(-1, 2))


def places_of(config: SamConfig, placed: np.ndarray) -> Places:
    """The places of a machine whose arrays share a memory. Raises as ``Places`` does."""
    kind = LinePlaces if config.memory == "lines" else SharedPlaces
    return kind(config, placed)
