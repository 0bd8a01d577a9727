"""Where a lattice lies in tiles, and its arrays in memory. Source: Infinity Stream, section 4.1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from hw.lib.errors import CapacityError
from hw.sram_compute.config import LINE_BYTES, SramConfig
from hw.sram_compute.isa import DIMENSIONS
from sw.compiler.sram_compute.tiles import Tiling, valid_tiles
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
    def row_lines(self) -> int:
        return -(-self.shape[0] // line_elements(self.type))

    @property
    def lines(self) -> int:
        return self.row_lines * prod(self.shape[1:])

    def layout(self, tiling: Tiling) -> dict[str, Any]:
        """Fields of ``LAYOUT``, without the entry."""
        return {
            "element": element_bytes(self.type).bit_length() - 1,
            "base": self.first_line,
            "sizes": (self.row_lines, *self.shape[1:]),
            "line_strides": (self.row_lines, self.row_lines * self.shape[1]),
            "tile": tuple(extent.bit_length() - 1 for extent in tiling.tile),
            "first_tile": 0,
            "tile_strides": tiling.tile_strides[1:],
        }


def padded(shape: Shape) -> Shape:
    """With three dimensions."""
    return (*shape, *(1,) * (DIMENSIONS - len(shape)))


def tiling_of(arrays: Mapping[str, tuple[ScalarType, Shape]], config: SramConfig) -> Tiling:
    """Of the smallest box that has all arrays, whose rows are whole lines: the valid tile that
    needs the fewest tiles, of these the one that is the nearest to a cube. Raises
    ``CapacityError`` where there are not enough tiles."""
    lines = [line_elements(type) for type, _ in arrays.values()]
    rows = [
        -(-shape[0] // line) * line for line, (_, shape) in zip(lines, arrays.values(), strict=True)
    ]
    others = [max(shape[at] for _, shape in arrays.values()) for at in range(1, DIMENSIONS)]
    longest = -(-max(rows) // max(lines)) * max(lines)
    whole = (longest, *others)
    found = [
        Tiling(whole, tile)
        for tile in valid_tiles(whole, config.bitlines, config.arrays, min(lines))
    ]
    if not found:
        raise CapacityError(f"no tile of {config.bitlines} bitlines has rows of whole lines")
    best = min(found, key=lambda each: (each.tiles, max(each.tile) / min(each.tile), each.tile))
    if best.tiles > config.tiles:
        size = " x ".join(map(str, whole))
        raise CapacityError(
            f"a lattice of {size} needs {best.tiles} tiles of {config.bitlines} bitlines: "
            f"there are {config.tiles}"
        )
    return best
