"""Models the accesses of a set-associative LRU cache that hit, as
``gnarl.hw.lib.lines.cache.Cache`` does."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import compiled


def lru_hits(
    lines: np.ndarray,
    sets: int,
    ways: int,
    cached: np.ndarray | None = None,
    temporal: np.ndarray | None = None,
) -> np.ndarray:
    """Whether each read finds its line held in a cache that is empty at first, bool [reads].

    Those that RTL counts as merged find it, too. ``lines`` int64 [reads], addresses from 0 on;
    ``sets`` and ``ways`` >= 1; ``cached``, ``temporal`` bool [reads], all true if not given, as
    in ``gnarl.hw.lib.lines.line_port``. Reads that are not ``cached`` find nothing. Writes make no
    difference and are to be left out. O(reads × ways).
    """
    everything = np.ones(len(lines), np.bool_)
    return _hits(
        np.ascontiguousarray(lines, np.int64),
        sets,
        ways,
        everything if cached is None else np.ascontiguousarray(cached, np.bool_),
        everything if temporal is None else np.ascontiguousarray(temporal, np.bool_),
    )


@compiled
def _hits(
    lines: np.ndarray, sets: int, ways: int, cached: np.ndarray, temporal: np.ndarray
) -> np.ndarray:
    held = np.full((sets, ways), -1, np.int64)  # of each set, the line used last first
    hits = np.zeros(len(lines), np.bool_)
    for read in range(len(lines)):
        if not cached[read]:
            continue
        line = lines[read]
        recent = held[line % sets]
        place = 0
        while place < ways and recent[place] != line:
            place += 1
        hits[read] = place < ways
        if temporal[read]:
            for older in range(min(place, ways - 1), 0, -1):
                recent[older] = recent[older - 1]
            recent[0] = line
    return hits
