"""Maps the elements of an array to tiles of bitlines. Source: Infinity Stream, section 4.1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import prod

import numpy as np

from gnarl.hw.sram_compute.config import QUARTERS
from gnarl.hw.sram_compute.isa import DIMENSIONS
from gnarl.sw.program.jit import compiled, compiled_inner

Tile = tuple[int, ...]
"""Extents, powers of two, dimension 0 first."""


@dataclass(frozen=True)
class Tiling:
    """An array of ``shape``, in tiles of ``tile`` elements, which are powers of two.

    Dimension 0 is the one whose elements are neighbours in memory, in bitlines and in tiles.
    """

    shape: tuple[int, ...]
    tile: tuple[int, ...]

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Tiles in each dimension."""
        return tuple(-(-size // extent) for size, extent in zip(self.shape, self.tile, strict=True))

    @property
    def tiles(self) -> int:
        return prod(self.grid)

    @property
    def bitlines(self) -> int:
        """Bitlines of a tile."""
        return prod(self.tile)

    @cached_property
    def bit_strides(self) -> tuple[int, ...]:
        """Bitlines from an element of a tile to the next one in each dimension."""
        return _strides(self.tile)

    @cached_property
    def tile_strides(self) -> tuple[int, ...]:
        """Tiles from a tile to the next one in each dimension."""
        return _strides(self.grid)


def _strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(sizes[:place]) for place in range(len(sizes)))


TILES = np.dtype(
    [
        ("shape", np.int64, (DIMENSIONS,)),
        ("tile", np.int64, (DIMENSIONS,)),
        ("grid", np.int64, (DIMENSIONS,)),
        ("bit_strides", np.int64, (DIMENSIONS,)),
        ("strides", np.int64, (DIMENSIONS,)),
        ("bitlines", np.int64),
        ("all", np.int64),
    ]
)
"""A ``Tiling`` of three dimensions, for compiled functions; ``strides``: of tiles; ``all``: tiles
of the configuration, around which they are counted."""


def tiles_of(tiling: Tiling, tiles: int) -> np.ndarray:
    """``TILES`` [1], with so many tiles in all."""
    record = np.empty(1, TILES)
    lines = tiling.shape, tiling.tile, tiling.grid, tiling.bit_strides, tiling.tile_strides
    record[0] = (*lines, tiling.bitlines, tiles)
    return record


def valid_tiles(
    shape: tuple[int, ...], bitlines: int, arrays: int, line_elements: int
) -> np.ndarray:
    """Tiles of an array that a bank's ``arrays`` can hold so that each line of memory is in one
    bank: of exactly ``bitlines`` elements, with rows of whole lines. int64 [tiles, dimensions];
    none if there are none.

    ``line_elements``: elements of a line of memory.
    """
    tiles = _tiles(bitlines.bit_length() - 1, len(shape))
    is_valid = tiles[:, 0] * arrays % line_elements == 0
    return tiles[is_valid & (shape[0] % line_elements == 0)]


@cache
def _tiles(bits: int, rank: int) -> np.ndarray:
    return 1 << np.array(_compositions(bits, rank), np.int64)


def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write ``total`` as a sum of ``parts``, in order."""
    if parts == 1:
        return [(total,)]
    return [
        (first, *rest)
        for first in range(total + 1)
        for rest in _compositions(total - first, parts - 1)
    ]


_LINE_RUN = 16
_ROWS = 32
"""Elements of a line that come to bitlines at once, at most, and their bits: of four bytes."""


@compiled
def best_tile(
    tiles: np.ndarray,
    shape: np.ndarray,
    moves: np.ndarray,
    banks: int,
    arrays: int,
    line_cycles: int,
    channels: int,
    wide_quarters: int,
    tree_bits: int,
    network_bits: int,
) -> int:
    """The number of the best of int64 [tiles, dimensions] for an array of ``shape``. First come
    tiles that the ``arrays`` of all ``banks`` can hold, if there are some, whose lines are
    transposed as fast as they come, ``line_cycles`` each, or ``wide_quarters`` of a cycle those of
    all ``channels``, in all banks that the array fills, and which have no extent in dimensions that
    the array lacks. Of these it is the one in which so many ``moves`` in each dimension, int64
    [dimensions], to neighbours take the fewest cycles; then the one that has the most of a row,
    then the one of the fewest tiles, with the smallest extent in dimension 1.

    Infinity Stream, section 4.1, has nearly square ones for shifts, where its network moves all
    tiles at once.
    """
    best, least = -1, (0, 0, 0, 0, 0, 0, 0)
    for number in range(len(tiles)):
        tile = tiles[number]
        count, unused = 1, 1
        for dimension in range(len(shape)):
            count *= -(-shape[dimension] // tile[dimension])
            if dimension and shape[dimension] == 1:
                unused *= tile[dimension]
        key = (
            max(0, count - banks * arrays),
            _line_time(
                tile[0],
                shape[0],
                max(1, count // arrays),
                line_cycles,
                channels,
                wide_quarters,
            ),
            unused,
            _move_cycles(tile, shape, moves, arrays, tree_bits, network_bits),
            -min(tile[0], shape[0]),
            count,
            tile[1] if len(shape) > 1 else 1,
        )
        if best < 0 or key < least:
            best, least = number, key
    return best


@compiled_inner
def _line_time(
    extent: int, size: int, banks: int, line_cycles: int, channels: int, wide_quarters: int
) -> int:
    """Sixteenths of a cycle that a line of elements of four bytes takes, where ``banks`` transpose
    one each. ``extent``: of a tile in dimension 0, in which the array has ``size``."""
    if channels > 1 and extent >= _LINE_RUN and size % (_LINE_RUN * channels) == 0:
        cycles = -(-(_ROWS * (channels // 2) + 2) // banks)
        return 4 // channels * max(wide_quarters, QUARTERS * cycles)
    run = min(_LINE_RUN, extent)
    return 4 * QUARTERS * max(line_cycles, -(-(_ROWS * (_LINE_RUN // run) + 2) // banks))


@compiled_inner
def _move_cycles(
    tile: np.ndarray,
    shape: np.ndarray,
    moves: np.ndarray,
    arrays: int,
    tree_bits: int,
    network_bits: int,
) -> int:
    """Cycles of moves. Tiles at an end of another dimension, of which a move has a part, go apart.
    Between tiles, all banks send from the same of their arrays at a time, a row a cycle, or where
    it goes to another bank as many as its bits take; or from all of them at once, ``tree_bits`` of
    a row of each, what is faster."""
    bitlines, tiles, again, all_parts = 1, 1, 0, 1
    for dimension in range(len(shape)):
        bitlines *= tile[dimension]
        grid = -(-shape[dimension] // tile[dimension])
        again += _sent_again(tile[dimension], grid, tiles, arrays)
        all_parts *= _parts(tile[dimension], grid)
        tiles *= grid
    cycles, stride = 0, 1
    for dimension in range(len(shape)):
        grid = -(-shape[dimension] // tile[dimension])
        parts = all_parts // _parts(tile[dimension], grid)
        if tile[dimension] > 1:
            cycles += moves[dimension] * parts * (1 + _ROWS)
        if grid > 1:
            own = _sent_again(tile[dimension], grid, stride, arrays)
            sending = min(arrays, tiles) + again - own
            face = bitlines // tile[dimension]
            crossing = min(sending, stride) if tiles > arrays else 0
            once = sending * (1 + _ROWS) + crossing * _ROWS * (-(-face // network_bits) - 1)
            if stride < arrays:
                chunks = max(1, -(-crossing * tree_bits // network_bits))
                once = min(once, parts * -(-face // tree_bits) * chunks * _ROWS)
            cycles += moves[dimension] * once
        stride *= grid
    return cycles


@compiled_inner
def _parts(extent: int, grid: int) -> int:
    return 2 if extent > 1 and grid > 1 else 1


@compiled_inner
def _sent_again(extent: int, grid: int, stride: int, arrays: int) -> int:
    """How many arrays send once more for tiles in which a dimension begins or ends, which go apart
    where they are the same arrays as others. ``stride``: tiles between neighbours."""
    return 2 * min(arrays, stride) if extent > 1 and grid > 1 and stride * grid > arrays else 0
