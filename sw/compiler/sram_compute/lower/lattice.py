"""Where a lattice lies in tiles, and its arrays in memory. Source: Infinity Stream, section 4.1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from hw.lib.errors import CapacityError
from hw.sram_compute.config import LINE_BYTES, SramConfig
from hw.sram_compute.isa import DIMENSIONS
from sw.compiler.sram_compute.tiles import Tiling, valid_tiles
from sw.program.jit import compiled
from sw.workloads.loops.scalar_type import ScalarType

Shape = tuple[int, ...]


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
    """With three dimensions."""
    return (*shape, *(1,) * (DIMENSIONS - len(shape)))


def stored(types: Sequence[ScalarType], shapes: Sequence[Shape], first_line: int) -> list[Stored]:
    """Arrays one behind the other."""
    found: list[Stored] = []
    for type, shape in zip(types, shapes, strict=True):
        found.append(Stored(type, shape, first_line))
        first_line += found[-1].lines
    return found


def tiling_of(types: Sequence[ScalarType], shapes: Sequence[Shape], config: SramConfig) -> Tiling:
    """Of the smallest box that has all arrays, whose rows are whole lines: the valid tile that
    needs the fewest tiles, of these the one that is the nearest to a cube. Raises
    ``CapacityError`` where there are not enough tiles."""
    lines = [line_elements(type) for type in types]
    rows = [-(-shape[0] // line) * line for line, shape in zip(lines, shapes, strict=True)]
    others = [max(shape[at] for shape in shapes) for at in range(1, DIMENSIONS)]
    longest = -(-max(rows) // max(lines)) * max(lines)
    whole = (longest, *others)
    found = valid_tiles(whole, config.bitlines, config.arrays, min(lines))
    if not len(found):
        raise CapacityError(f"no tile of {config.bitlines} bitlines has rows of whole lines")
    best = Tiling(whole, tuple(found[_best_tile(found, np.array(whole))].tolist()))
    if best.tiles > config.tiles:
        size = " x ".join(map(str, whole))
        raise CapacityError(
            f"a lattice of {size} needs {best.tiles} tiles of {config.bitlines} bitlines: "
            f"there are {config.tiles}"
        )
    return best


@compiled
def _best_tile(tiles: np.ndarray, shape: np.ndarray) -> int:
    """Of int64 [tiles, dimensions]."""
    best, least, least_ratio = -1, 0, 0
    for number in range(len(tiles)):
        count, longest, shortest = 1, 1, tiles[number, 0]
        for dimension in range(len(shape)):
            extent = tiles[number, dimension]
            count *= -(-shape[dimension] // extent)
            longest, shortest = max(longest, extent), min(shortest, extent)
        ratio = longest // shortest
        if best < 0 or count < least or (count == least and ratio < least_ratio):
            best, least, least_ratio = number, count, ratio
    return best
