"""Arrays of blocks, and the rows of a memory that they share, by places that the host sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import numpy as np

from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.memory.placement import PAIRS, PLACES, WORDS, MemoryRows
from gnarl.hw.sam.memory_map import array_windows
from gnarl.sw.compiler.sam.placement import NO_PLACES, require_places
from gnarl.sw.program.rows import Rows


class Places:
    """Where arrays lie: ``of``, first row and number of rows by ``"{block}_{array}"``.

    ``placed``: uint32 [arrays, 2], as ``gnarl.sw.compiler.sam.placement.places`` gives it. Raises
    ``ProgramError`` as ``require_places`` does.
    """

    def __init__(self, config: SamConfig, placed: np.ndarray) -> None:
        self._windows = _windows(config)
        memory = MemoryRows.of(self._windows.values())
        self._first = {words: memory.first(words) for words in (1, 2)}
        require_places(config, placed)
        self._placed = placed
        self.of: dict[str, tuple[int, int]] = dict(
            zip(self._windows, map(tuple, placed.tolist()), strict=True)
        )

    @property
    def words(self) -> Rows:
        """What the host writes to the window ``places``."""
        return Rows.first(self._placed.reshape(-1, 1))

    def rows(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Rows of the memory's windows that are these rows of arrays."""
        return {window: np.sort(numbers) for window, numbers in _together(self._moved(arrays))}

    def to_memory(self, arrays: Mapping[str, Rows]) -> dict[str, Rows]:
        """The rows of arrays as rows of the memory's windows."""
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
        """The rows of those arrays that the memory's windows have."""
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
    return Places(config, NO_PLACES if words is None else words.words.reshape(-1, 2))
