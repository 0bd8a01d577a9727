"""Moves, broadcasts and masked copies as commands without rows. Source: Infinity Stream, 4.2.

``cells``: int64 [dimensions, 2], first and, without, last cell of each dimension; some. ``tiles``:
a ``TILES``.
"""

from __future__ import annotations

import numpy as np

from hw.sram_compute.isa import DIMENSIONS, Opcode
from sw.compiler.sram_compute.decompose import decompose
from sw.compiler.sram_compute.lower.commands import column
from sw.compiler.sram_compute.lower.compiled import inner
from sw.compiler.sram_compute.lower.steps import MOVEMENTS, WITHIN, Steps
from sw.compiler.sram_compute.shifts import shifts

_MOVE, _SHIFT, _BROADCAST = (each.value for each in (Opcode.MOVE, Opcode.SHIFT, Opcode.BROADCAST))
_DISTANCE, _BITLINES, _TILES = (
    column(Opcode.MOVE, name) for name in ("distance", "bitlines_start", "tiles_start")
)
_BETWEEN = column(Opcode.SHIFT, "between")
_SOURCES, _COPIES, _COPY_STRIDES, _COPY_COUNTS = (
    column(Opcode.BROADCAST, name)
    for name in ("sources_start", "copies_start", "copies_strides", "copies_counts")
)
_FILL_BITLINES, _FILL_TILES = (
    column(Opcode.FILL, name) for name in ("bitlines_start", "tiles_start")
)

MOST_MOVEMENTS = 2 * 3**DIMENSIONS
"""Of one tensor: two for each part."""


@inner
def move(found: Steps, tiles: np.void, cells: np.ndarray, dimension: int, distance: int) -> None:
    """``cells`` by a distance along a dimension, as algorithms 1 and 2 have it."""
    if is_empty(cells):
        return
    first, last = _ends(cells)
    made = shifts(first, last, tiles.shape, tiles.tile, dimension, distance)
    for number in range(len(made.between)):
        between, within = made.between[number], made.within[number]
        made.bits[number, dimension] += within
        made.tiles[number, dimension] += between
        row = _append(found, _SHIFT if between else _MOVE)
        row[_DISTANCE] = within * tiles.bit_strides[dimension] % tiles.bitlines
        pattern(row, _BITLINES, made.bits[number], tiles.bit_strides)
        pattern(row, _TILES, made.tiles[number], tiles.strides)
        if between:
            row[_BETWEEN] = between * tiles.strides[dimension] % tiles.all


@inner
def copy(found: Steps, tiles: np.void, cells: np.ndarray) -> None:
    """``cells`` alone, where they are."""
    if is_empty(cells):
        return
    first, last = _ends(cells)
    parts = decompose(first, last, tiles.tile)
    whole = np.empty_like(cells)
    for number in range(len(parts)):
        part = parts[number]
        for dimension in range(len(cells)):
            extent = tiles.tile[dimension]
            base = part[dimension, 0] // extent
            whole[dimension, 0] = base
            whole[dimension, 1] = -(-part[dimension, 1] // extent)
            part[dimension, 1] = min(part[dimension, 1] - base * extent, extent)
            part[dimension, 0] -= base * extent
        row = _append(found, _MOVE)
        pattern(row, _BITLINES, part, tiles.bit_strides)
        pattern(row, _TILES, whole, tiles.strides)


@inner
def broadcast(found: Steps, tiles: np.void, place: int, cells: np.ndarray, dimension: int) -> None:
    """What is in ``place`` of a dimension to all ``cells``: first to the first bitlines of each
    tile that has some, then within tiles, by powers of two."""
    if is_empty(cells):
        return
    low, high = cells[dimension, 0], cells[dimension, 1]
    extent, stride = tiles.tile[dimension], tiles.strides[dimension]
    source, inside = divmod(place, extent)
    start, end = low // extent, -(-high // extent)
    # Within tiles all of every other dimension goes along.
    line, whole = _all(tiles.tile), _all(tiles.grid)
    line[dimension, 0], line[dimension, 1] = 0, 1
    whole[dimension, 0], whole[dimension, 1] = source, source + 1
    distance = -inside * tiles.bit_strides[dimension] % tiles.bitlines
    if start == source and end == source + 1:
        row = _append(found, _MOVE)
        row[_DISTANCE] = distance
        pattern(row, _BITLINES, line, tiles.bit_strides)
        pattern(row, _TILES, whole, tiles.strides)
    else:
        for first, last in ((start, min(end, source)), (max(start, source), end)):
            if first < last:
                row = _append(found, _BROADCAST)
                row[_DISTANCE] = distance
                pattern(row, _BITLINES, line, tiles.bit_strides)
                pattern(row, _SOURCES, whole, tiles.strides)
                row[_COPIES] = (first - source) * stride % tiles.all
                row[_COPY_STRIDES] = stride if last - first > 1 else 0
                row[_COPY_COUNTS] = last - first - 1
    whole[dimension, 0], whole[dimension, 1] = start, end
    reached, needed = 1, min(extent, high - start * extent)
    while reached < needed:
        line[dimension, 0], line[dimension, 1] = reached, 2 * reached
        row = _append(found, _MOVE)
        row[_DISTANCE] = reached * tiles.bit_strides[dimension]
        row[WITHIN] = 1
        pattern(row, _BITLINES, line, tiles.bit_strides)
        pattern(row, _TILES, whole, tiles.strides)
        reached *= 2


@inner
def everywhere(row: np.ndarray, tiles: np.void) -> None:
    """All bitlines of all tiles of the lattice, for ``FILL``."""
    pattern(row, _FILL_BITLINES, _all(tiles.tile), tiles.bit_strides)
    pattern(row, _FILL_TILES, _all(tiles.grid), tiles.strides)


@inner
def pattern(row: np.ndarray, place: int, intervals: np.ndarray, strides: np.ndarray) -> None:
    """Puts start, strides and counts in a row, from column ``place`` on: a level for each
    dimension, none for one place alone."""
    row[place] = 0
    for level in range(DIMENSIONS):
        extent = intervals[level, 1] - intervals[level, 0]
        row[place] += intervals[level, 0] * strides[level]
        row[place + 1 + level] = strides[level] if extent > 1 else 0
        row[place + 1 + DIMENSIONS + level] = extent - 1


@inner
def is_empty(cells: np.ndarray) -> bool:
    found = False
    for dimension in range(DIMENSIONS):
        found |= cells[dimension, 0] >= cells[dimension, 1]
    return found


@inner
def _ends(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, last = np.empty(DIMENSIONS, np.int64), np.empty(DIMENSIONS, np.int64)
    for dimension in range(DIMENSIONS):
        first[dimension], last[dimension] = cells[dimension, 0], cells[dimension, 1]
    return first, last


@inner
def _all(extents: np.ndarray) -> np.ndarray:
    """Intervals from 0 on."""
    found = np.zeros((DIMENSIONS, 2), np.int64)
    for dimension in range(DIMENSIONS):
        found[dimension, 1] = extents[dimension]
    return found


@inner
def _append(found: Steps, opcode: int) -> np.ndarray:
    row = found.movements[found.counts[MOVEMENTS]]
    found.counts[MOVEMENTS] += 1
    row[:] = 0
    row[0] = opcode
    return row
