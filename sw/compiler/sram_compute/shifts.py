"""Moves of tensors as shifts within and between tiles. Source: Infinity Stream, algorithm 2."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.sw.compiler.sram_compute.decompose import decompose
from gnarl.sw.program.jit import compiled


class Shifts(NamedTuple):
    """Commands, one a row; of each dimension [first, last).

    bits
        int64 [commands, dimensions, 2]: coordinates in a tile that are moved.
    tiles
        int64 [commands, dimensions, 2]: the tiles they are moved in.
    between, within
        int64 [commands]: by how many tiles, and by how many coordinates in a tile, along the
        dimension of the move.
    """

    bits: np.ndarray
    tiles: np.ndarray
    between: np.ndarray
    within: np.ndarray


@compiled
def shifts(
    first: np.ndarray,
    last: np.ndarray,
    shape: np.ndarray,
    tile: np.ndarray,
    dimension: int,
    distance: int,
) -> Shifts:
    """Commands that move the tensor [first, last) of an array of ``shape`` in tiles of ``tile``
    elements, int64 [dimensions] each; it is not
    empty. What would leave the array is not moved. O(commands)."""
    first, last = first.copy(), last.copy()
    first[dimension] = max(first[dimension], -distance)
    last[dimension] = min(last[dimension], shape[dimension] - distance)
    rank, t = len(tile), tile[dimension]
    parts = np.empty((0, rank, 2), np.int64)
    if first[dimension] < last[dimension]:
        parts = decompose(first, last, tile)
    # With floor division, moves back need no case of their own: the coordinates below t - within
    # stay in their tile, seen from the tile that is ``between`` further on.
    between, within = distance // t, distance % t
    most = 2 * len(parts)
    bits, tiles = np.empty((most, rank, 2), np.int64), np.empty((most, rank, 2), np.int64)
    tile_steps, bit_steps = np.empty(most, np.int64), np.empty(most, np.int64)
    count = 0
    for part in parts:
        for low, high, tile_step, bit_step in (
            (0, t - within, between, within),
            (t - within, t, between + 1, within - t),
        ):
            for k in range(rank):
                base = part[k, 0] // tile[k]
                tiles[count, k] = base, -(-part[k, 1] // tile[k])
                bits[count, k, 0] = part[k, 0] - base * tile[k]
                bits[count, k, 1] = min(part[k, 1] - base * tile[k], tile[k])
            bits[count, dimension, 0] = max(bits[count, dimension, 0], low)
            bits[count, dimension, 1] = min(bits[count, dimension, 1], high)
            if bits[count, dimension, 0] < bits[count, dimension, 1]:
                tile_steps[count], bit_steps[count] = tile_step, bit_step
                count += 1
    return Shifts(bits[:count], tiles[:count], tile_steps[:count], bit_steps[:count])
