"""Chooses the tiles of a nest's arrays: by a rule, by search, or as the user says."""

from __future__ import annotations

import re
from math import prod

from gnarl.hw.lib.errors import CapacityError, WorkloadError, quoted
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.lower.lattice import padded
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator, MemoryCode
from gnarl.sw.compiler.sram_compute.tiles import Tile
from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.nest import Nest

BEST = "best"

TileChoice = Tile | str | None
"""A tile; ``BEST``: the one of the fewest cycles; ``None``: the one that the rule of
``lower.lattice.tiling_of`` finds."""


def tile_choice(text: str | None, nest: Nest, config: SramConfig) -> TileChoice:
    """What an option says, extents as indices have them: ``2x128``. Raises ``WorkloadError``."""
    if text is None or text == BEST:
        return text
    problem = f"--tile {quoted(text)}: must be {BEST}, or "
    rank = max(len(array.shape) for array in nest.arrays.values())
    if not re.fullmatch(r"[1-9][0-9]{0,8}(x[1-9][0-9]{0,8})*", text):
        raise WorkloadError(f"{problem}an extent for each dimension, as 16x16")
    tile = tuple(int(extent) for extent in reversed(text.split("x")))
    if len(tile) != rank:
        raise WorkloadError(
            f"{problem}have {rank} extents: the nest has arrays of {rank} dimensions"
            if rank > 1
            else f"{problem}have 1 extent: the nest's arrays have 1 dimension"
        )
    if any(extent & (extent - 1) for extent in tile):
        raise WorkloadError(f"{problem}extents that are powers of two")
    if prod(tile) != config.bitlines:
        raise WorkloadError(
            f"{problem}have {config.bitlines} elements, the bitlines of an array, not {prod(tile)}"
        )
    return padded(tile)


def generate_in_tile(
    generator: CodeGenerator, binding: Binding, tile: TileChoice, whole: Binding | None = None
) -> MemoryCode:
    """The program in these tiles. ``whole`` and errors are those of ``CodeGenerator.generate``."""
    if tile == BEST:
        return search_tiles(generator, binding, whole)
    assert not isinstance(tile, str)
    return generator.generate(binding, tile, whole)


def search_tiles(
    generator: CodeGenerator, binding: Binding, whole: Binding | None = None
) -> MemoryCode:
    """The program of the fewest estimated cycles, of several the one in the tile that the rule
    finds, or the first. O(tiles x commands), of which there are at most 45 for 256 bitlines."""
    best, problem = None, CapacityError("")
    tilings = generator.tilings(binding)
    for tile in (None, *(each.tile for each in tilings)):
        try:
            code = generator.generate(binding, tile, whole)
        except CapacityError as error:
            problem = error
            continue
        if best is None or code.estimate < best.estimate:
            best = code
    if best is None:
        raise problem
    return best
