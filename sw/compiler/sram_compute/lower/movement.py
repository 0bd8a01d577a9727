"""Moves, broadcasts and masked copies as commands without rows. Source: Infinity Stream, 4.2."""

from __future__ import annotations

import numpy as np

from gnarl.hw.sram_compute.isa import DIMENSIONS, Opcode
from gnarl.sw.compiler.sram_compute.lower.columns import COLUMNS, column
from gnarl.sw.compiler.sram_compute.lower.records import Record, Records
from gnarl.sw.compiler.sram_compute.lower.steps import COPIED, FOLDED
from gnarl.sw.compiler.sram_compute.shifts import shifts
from gnarl.sw.program.jit import compiled, compiled_inner

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

WITHIN = COLUMNS
"""The column of a row, behind those of a command, that says whether it reads what it writes."""

_MOST = 2 * 3**DIMENSIONS
"""Rows of one move: two for each part."""


@compiled
def movements(moved: Records, tiles: Records, rows: np.ndarray) -> int:
    """Makes commands of all of ``moved``, ``MOVED`` [n]: ``rows``, int64 [n, columns of a command
    + 1], in which rows and widths are 0. Gives how many; -1 where there is too little room, -2 - n
    where number n is of cells beyond the lattice. O(commands).

    ``tiles``: ``TILES`` [1].
    """
    count = 0
    for number in range(len(moved)):
        each = moved[number]
        each.first = count
        if len(rows) - count < _MOST:
            return -1
        is_empty = False
        for dimension in range(DIMENSIONS):
            is_empty |= each.cells[dimension, 0] >= each.cells[dimension, 1]
        if each.how == FOLDED:
            count = _fold(each, tiles[0], rows, count)
        elif not is_empty and _is_beyond(each, tiles[0]):
            return -2 - number
        elif not is_empty and each.how == COPIED:
            count = _broadcast(each, tiles[0], rows, count)
        elif not is_empty:
            count = _move(each, tiles[0], rows, count)
        each.end = count
    return count


@compiled_inner
def _is_beyond(moved: Record, tiles: Record) -> bool:
    """Whether cells that take part are none. What a move would bring beyond the lattice along its
    dimension is left out, and a broadcast takes all of other dimensions."""
    is_copied = moved.how == COPIED
    if is_copied and not 0 <= moved.by < tiles.shape[moved.dimension]:
        return True
    for at in range(DIMENSIONS):
        is_inside = moved.cells[at, 0] >= 0 and moved.cells[at, 1] <= tiles.shape[at]
        if (at == moved.dimension) == is_copied and not is_inside:
            return True
    return False


@compiled_inner
def _move(moved: Record, tiles: Record, rows: np.ndarray, count: int) -> int:
    """Adds the commands of a move, by algorithms 1 and 2."""
    dimension = moved.dimension
    first, last = np.empty(DIMENSIONS, np.int64), np.empty(DIMENSIONS, np.int64)
    for at in range(DIMENSIONS):
        first[at], last[at] = moved.cells[at, 0], moved.cells[at, 1]
    pieces = shifts(first, last, tiles.shape, tiles.tile, dimension, moved.by)
    for number in range(len(pieces.between)):
        between, within = pieces.between[number], pieces.within[number]
        for end in range(2):
            pieces.bits[number, dimension, end] += within
            pieces.tiles[number, dimension, end] += between
        row = _row(rows, count, _SHIFT if between else _MOVE)
        row[_DISTANCE] = within * tiles.bit_strides[dimension] % tiles.bitlines
        _pattern(row, _BITLINES, pieces.bits[number], tiles.bit_strides)
        _pattern(row, _TILES, pieces.tiles[number], tiles.strides)
        if between:
            row[_BETWEEN] = between * tiles.strides[dimension] % tiles.all
        count += 1
    return count


@compiled_inner
def _broadcast(moved: Record, tiles: Record, rows: np.ndarray, count: int) -> int:
    """First to the first bitlines of each tile that has some cells, then within tiles, by powers
    of two."""
    dimension, place = moved.dimension, moved.by
    low, high = moved.cells[dimension, 0], moved.cells[dimension, 1]
    extent, stride = tiles.tile[dimension], tiles.strides[dimension]
    source, inside = divmod(place, extent)
    start, end = low // extent, -(-high // extent)
    # Within tiles all of every other dimension goes along.
    line, whole = _all(tiles.tile), _all(tiles.grid)
    line[dimension, 0], line[dimension, 1] = 0, 1
    whole[dimension, 0], whole[dimension, 1] = source, source + 1
    distance = -inside * tiles.bit_strides[dimension] % tiles.bitlines
    if start == source and end == source + 1:
        row = _row(rows, count, _MOVE)
        count += 1
        row[_DISTANCE] = distance
        _pattern(row, _BITLINES, line, tiles.bit_strides)
        _pattern(row, _TILES, whole, tiles.strides)
    else:
        for first, last in ((start, min(end, source)), (max(start, source), end)):
            if first < last:
                row = _row(rows, count, _BROADCAST)
                count += 1
                row[_DISTANCE] = distance
                _pattern(row, _BITLINES, line, tiles.bit_strides)
                _pattern(row, _SOURCES, whole, tiles.strides)
                row[_COPIES] = (first - source) * stride % tiles.all
                row[_COPY_STRIDES] = stride if last - first > 1 else 0
                row[_COPY_COUNTS] = last - first - 1
    whole[dimension, 0], whole[dimension, 1] = start, end
    reached, needed = 1, min(extent, high - start * extent)
    while reached < needed:
        line[dimension, 0], line[dimension, 1] = reached, 2 * reached
        row = _row(rows, count, _MOVE)
        count += 1
        row[_DISTANCE] = reached * tiles.bit_strides[dimension]
        row[WITHIN] = 1
        _pattern(row, _BITLINES, line, tiles.bit_strides)
        _pattern(row, _TILES, whole, tiles.strides)
        reached *= 2
    return count


@compiled_inner
def _fold(moved: Record, tiles: Record, rows: np.ndarray, count: int) -> int:
    dimension = moved.dimension
    line = _all(tiles.tile)
    line[dimension, 1] = moved.by
    row = _row(rows, count, _MOVE)
    row[_DISTANCE] = -moved.by * tiles.bit_strides[dimension] % tiles.bitlines
    _pattern(row, _BITLINES, line, tiles.bit_strides)
    _pattern(row, _TILES, _all(tiles.grid), tiles.strides)
    return count + 1


@compiled_inner
def everywhere(row: np.ndarray, tiles: Record, floods: bool) -> None:
    """All bitlines of all tiles of the lattice, for ``FILL``; or of all that there are."""
    _pattern(row, _FILL_BITLINES, _all(tiles.tile), tiles.bit_strides)
    _pattern(row, _FILL_TILES, _all(tiles.grid), tiles.strides)
    if floods:
        for level in range(1, 2 * DIMENSIONS + 1):
            row[_FILL_TILES + level] = 0
        row[_FILL_TILES + 1], row[_FILL_TILES + 1 + DIMENSIONS] = 1, tiles.all - 1


@compiled_inner
def to_other_rows(tiles: Record) -> np.ndarray:
    """A ``MOVE`` of all bitlines of all tiles that there are, each to itself."""
    row = _row(np.empty((1, COLUMNS + 1), np.int64), 0, _MOVE)
    _pattern(row, _BITLINES, _all(tiles.tile), tiles.bit_strides)
    row[_TILES + 1], row[_TILES + 1 + DIMENSIONS] = 1, tiles.all - 1
    return row


@compiled_inner
def _pattern(row: np.ndarray, place: int, intervals: np.ndarray, strides: np.ndarray) -> None:
    """Puts start, strides and counts in a row, from column ``place`` on: a level for each
    dimension, none for one place alone."""
    row[place] = 0
    for level in range(DIMENSIONS):
        extent = intervals[level, 1] - intervals[level, 0]
        row[place] += intervals[level, 0] * strides[level]
        row[place + 1 + level] = strides[level] if extent > 1 else 0
        row[place + 1 + DIMENSIONS + level] = extent - 1


@compiled_inner
def _all(extents: Records) -> np.ndarray:
    """Intervals from 0 on."""
    intervals = np.zeros((DIMENSIONS, 2), np.int64)
    for dimension in range(DIMENSIONS):
        intervals[dimension, 1] = extents[dimension]
    return intervals


@compiled_inner
def _row(rows: np.ndarray, number: int, opcode: int) -> np.ndarray:
    row = rows[number]
    for at in range(COLUMNS + 1):
        row[at] = 0
    row[0] = opcode
    return row
