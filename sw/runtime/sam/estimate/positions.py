"""The coordinates at which stored tensors have positions, level by level."""

from __future__ import annotations

import numpy as np

from gnarl.sw.workloads.tensor.storage import BitvectorLevel, CompressedLevel, Level, Storage


def coordinates_of(stored: Storage, depth: int) -> list[np.ndarray]:
    """Coordinates of every position of the level ``depth`` - 1: int64 [positions] for each level up
    to it, outermost first. O(positions · depth + words)."""
    found: list[np.ndarray] = []
    fibers = 1
    for level in stored.levels[:depth]:
        lengths, own = _fibers(level, fibers)
        found = [np.repeat(each, lengths) for each in found]
        found.append(own)
        fibers = len(own)
    return found


def _fibers(level: Level, fibers: int) -> tuple[np.ndarray | int, np.ndarray]:
    """Positions of each fiber, or of all alike, and the coordinates of all."""
    match level:
        case CompressedLevel(_, segments, coordinates):
            return np.diff(segments), coordinates
        case BitvectorLevel(_, words, word_bits):
            occupied = np.flatnonzero(words)
            bits = words[occupied, np.newaxis] >> np.arange(word_bits, dtype=np.uint32) & 1
            word, bit = np.nonzero(bits)
            fiber, offset = np.divmod(occupied[word], level.words_per_fiber)
            return np.bincount(fiber, minlength=fibers), offset * word_bits + bit
    return level.size, np.tile(np.arange(level.size), fibers)
