"""Maps a lattice to tiles, and its arrays to memory. Source: Infinity Stream, section 4.1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.sram_compute.config import LINE_BYTES, SramConfig
from gnarl.hw.sram_compute.isa import DIMENSIONS
from gnarl.sw.compiler.sram_compute.tiles import Tile, Tiling, best_tile, valid_tiles
from gnarl.sw.workloads.loops.ir.scalar_type import ScalarType

Shape = tuple[int, ...]


class LatticeError(CapacityError):
    """There are not enough tiles for a lattice."""


def element_bytes(type: ScalarType) -> int:
    return max(1, type.bits // 8)


def line_elements(type: ScalarType) -> int:
    return LINE_BYTES // element_bytes(type)


@dataclass(frozen=True)
class Stored:
    """An array in memory, each row of which begins with a line: dimension 0 first, three sizes."""

    type: ScalarType
    shape: Shape
    first_line: int

    @property
    def element(self) -> int:
        """log2 of an element's bytes."""
        return element_bytes(self.type).bit_length() - 1

    @property
    def row_lines(self) -> int:
        return -(-self.shape[0] // line_elements(self.type))

    @property
    def lines(self) -> int:
        return self.row_lines * prod(self.shape[1:])


def padded(shape: Shape) -> Shape:
    """The shape with three dimensions."""
    return (*shape, *(1,) * (DIMENSIONS - len(shape)))


def aligned(line: int, channels: int) -> int:
    """The line, or the next one with which all ``channels`` of memory begin."""
    return -(-line // channels) * channels


def stored(
    types: Sequence[ScalarType], shapes: Sequence[Shape], first_line: int, channels: int
) -> list[Stored]:
    """Arrays one behind the other, each ``aligned``."""
    arrays: list[Stored] = []
    for type, shape in zip(types, shapes, strict=True):
        arrays.append(Stored(type, shape, aligned(first_line, channels)))
        first_line = arrays[-1].first_line + arrays[-1].lines
    return arrays


NO_MOVES = np.zeros(DIMENSIONS, np.int64)


def tiling_of(
    types: Sequence[ScalarType],
    shapes: Sequence[Shape],
    config: SramConfig,
    tile: Tile | None = None,
    moves: np.ndarray = NO_MOVES,
) -> Tiling:
    """Tiles the smallest box that has all arrays, whose rows are whole lines: with ``tile``, or the
    valid one that seems the best for so many ``moves`` in each dimension. Raises ``LatticeError``
    where there are not enough tiles, and ``CapacityError`` where no tile is valid."""
    whole, tiles = _valid(types, shapes, config)
    if tile is None:
        chosen = best_tile(
            tiles,
            np.array(whole),
            moves,
            config.banks,
            config.arrays,
            config.line_cycles,
            config.memory_channels,
            config.wide_line_quarters,
            config.tree_bits,
            config.network_bits,
        )
        tile = tuple(tiles[chosen].tolist())
    elif tile not in map(tuple, tiles.tolist()):
        raise CapacityError(
            f"a tile of {_size(tile)} with arrays = {config.arrays} has no rows of whole lines, "
            f"{min(line_elements(type) for type in types)} elements, in a bank"
        )
    best = Tiling(whole, tile)
    if best.tiles > config.tiles:
        raise LatticeError(
            f"banks x arrays = {config.banks} x {config.arrays}: must be at least "
            f"{1 << (best.tiles - 1).bit_length()}, for a lattice of {_size(whole)} in "
            f"{best.tiles} tiles of {config.bitlines} bitlines"
        )
    return best


def tilings_of(
    types: Sequence[ScalarType], shapes: Sequence[Shape], config: SramConfig
) -> list[Tiling]:
    """All of the same box that there are enough tiles for. Raises ``CapacityError`` where there is
    none."""
    whole, tiles = _valid(types, shapes, config)
    tilings = [Tiling(whole, tuple(tile)) for tile in tiles.tolist()]
    fit = [each for each in tilings if each.tiles <= config.tiles]
    return fit or [tiling_of(types, shapes, config)]


def _valid(
    types: Sequence[ScalarType], shapes: Sequence[Shape], config: SramConfig
) -> tuple[Shape, np.ndarray]:
    """The box, and its tiles."""
    lines = [line_elements(type) for type in types]
    rows = [-(-shape[0] // line) * line for line, shape in zip(lines, shapes, strict=True)]
    others = [max(shape[at] for shape in shapes) for at in range(1, DIMENSIONS)]
    whole = (-(-max(rows) // max(lines)) * max(lines), *others)
    tiles = valid_tiles(whole, config.bitlines, config.arrays, min(lines))
    if not len(tiles):
        raise CapacityError(
            f"bitlines = {config.bitlines}, arrays = {config.arrays}: no tile has rows of whole "
            "lines in a bank"
        )
    return whole, tiles


def _size(shape: Shape) -> str:
    """Extents in the order of indices."""
    rank = max((at + 1 for at, extent in enumerate(shape) if extent > 1), default=1)
    return " x ".join(map(str, reversed(shape[:rank])))
