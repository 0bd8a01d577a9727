"""Moves, broadcasts and masked copies as commands without rows. Source: Infinity Stream, 4.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hw.sram_compute.isa import Opcode
from sw.compiler.sram_compute.decompose import decompose
from sw.compiler.sram_compute.shifts import shifts
from sw.compiler.sram_compute.tiles import Tiling

Cells = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Movement:
    """A command that moves rows: its fields but rows and width.

    within
        whether it reads the rows that it writes: of the result, not of the operand.
    """

    opcode: Opcode
    fields: dict[str, Any]
    within: bool = False


def move(
    cells: Cells, tiling: Tiling, dimension: int, distance: int, all_tiles: int
) -> list[Movement]:
    """``cells`` by a distance along a dimension, as algorithms 1 and 2 have it. ``all_tiles``: of
    the configuration, around which tiles are counted."""
    if any(low >= high for low, high in cells):
        return []
    first, last = (np.array(each, np.int64) for each in zip(*cells, strict=True))
    found = shifts(first, last, tiling, dimension, distance)
    made = []
    for bits, tiles, between, within in zip(
        found.bits.tolist(),
        found.tiles.tolist(),
        found.between.tolist(),
        found.within.tolist(),
        strict=True,
    ):
        bits[dimension] = [each + within for each in bits[dimension]]
        tiles[dimension] = [each + between for each in tiles[dimension]]
        fields = _places(bits, tiles, tiling)
        fields["distance"] = within * tiling.bit_strides[dimension] % tiling.bitlines
        if between:
            fields["between"] = between * tiling.tile_strides[dimension] % all_tiles
        made.append(Movement(Opcode.SHIFT if between else Opcode.MOVE, fields))
    return made


def copy(cells: Cells, tiling: Tiling) -> list[Movement]:
    """``cells`` alone, where they are."""
    if any(low >= high for low, high in cells):
        return []
    first, last = (np.array(each, np.int64) for each in zip(*cells, strict=True))
    made = []
    for part in decompose(first, last, np.array(tiling.tile)).tolist():
        bits, tiles = _of_part(part, tiling)
        made.append(Movement(Opcode.MOVE, {**_places(bits, tiles, tiling), "distance": 0}))
    return made


def broadcast(
    place: int, cells: Cells, tiling: Tiling, dimension: int, all_tiles: int
) -> list[Movement]:
    """What is in ``place`` of a dimension to all ``cells``: first to the first bitlines of each
    tile that has some, then within tiles, by powers of two."""
    if any(low >= high for low, high in cells):
        return []
    low, high = cells[dimension]
    extent, stride = tiling.tile[dimension], tiling.tile_strides[dimension]
    source, inside = divmod(place, extent)
    start, end = low // extent, -(-high // extent)
    # Within tiles all of every other dimension goes along.
    line = [[0, size] for size in tiling.tile]
    line[dimension] = [0, 1]
    whole = [[0, count] for count in tiling.grid]
    whole[dimension] = [source, source + 1]
    distance = -inside * tiling.bit_strides[dimension] % tiling.bitlines
    bitlines = _pattern("bitlines", line, tiling.bit_strides)
    made = []
    if (start, end) == (source, source + 1):
        tiles = _pattern("tiles", whole, tiling.tile_strides)
        made.append(Movement(Opcode.MOVE, {**bitlines, **tiles, "distance": distance}))
    else:
        sources = _pattern("sources", whole, tiling.tile_strides)
        for first, last in ((start, min(end, source)), (max(start, source), end)):
            if first < last:
                fields = {
                    "copies_start": (first - source) * stride % all_tiles,
                    "copies_strides": (stride if last - first > 1 else 0, 0, 0),
                    "copies_counts": (last - first - 1, 0, 0),
                }
                made.append(
                    Movement(
                        Opcode.BROADCAST, {**bitlines, **sources, **fields, "distance": distance}
                    )
                )
    whole[dimension] = [start, end]
    tiles = _pattern("tiles", whole, tiling.tile_strides)
    reached, needed = 1, min(extent, high - start * extent)
    while reached < needed:
        line[dimension] = [reached, 2 * reached]
        fields = {**_pattern("bitlines", line, tiling.bit_strides), **tiles}
        fields["distance"] = reached * tiling.bit_strides[dimension]
        made.append(Movement(Opcode.MOVE, fields, within=True))
        reached *= 2
    return made


def everywhere(tiling: Tiling) -> dict[str, Any]:
    """All bitlines of all tiles of the lattice."""
    bits = [[0, extent] for extent in tiling.tile]
    return _places(bits, [[0, count] for count in tiling.grid], tiling)


def _of_part(part: Sequence[Sequence[int]], tiling: Tiling) -> tuple[list[Any], list[Any]]:
    bits, tiles = [], []
    for (low, high), extent in zip(part, tiling.tile, strict=True):
        base = low // extent
        tiles.append([base, -(-high // extent)])
        bits.append([low - base * extent, min(high - base * extent, extent)])
    return bits, tiles


def _places(
    bits: Sequence[Sequence[int]], tiles: Sequence[Sequence[int]], tiling: Tiling
) -> dict[str, Any]:
    return {
        **_pattern("bitlines", bits, tiling.bit_strides),
        **_pattern("tiles", tiles, tiling.tile_strides),
    }


def _pattern(
    name: str, intervals: Sequence[Sequence[int]], strides: Sequence[int]
) -> dict[str, Any]:
    """A level for each dimension, none for one place alone."""
    pairs = list(zip(intervals, strides, strict=True))
    return {
        f"{name}_start": sum(low * stride for (low, _), stride in pairs),
        f"{name}_strides": tuple(stride if high - low > 1 else 0 for (low, high), stride in pairs),
        f"{name}_counts": tuple(high - low - 1 for low, high in intervals),
    }
