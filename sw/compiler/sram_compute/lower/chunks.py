"""Orders lines of an array so that neighbouring ones go to different banks, as far as it has any.

Banks transpose lines at the same time; where neighbouring lines go to one bank, the others wait.
"""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_BYTES
from gnarl.hw.sram_compute.isa import DIMENSIONS
from gnarl.sw.compiler.sram_compute.lower.records import Record
from gnarl.sw.program.jit import compiled_inner

BOX = np.dtype(
    [
        ("base", np.int64),
        ("sizes", np.int64, (DIMENSIONS,)),
        ("strides", np.int64, (DIMENSIONS,)),
        ("first_tile", np.int64),
        ("grid", np.int64, (DIMENSIONS,)),
        ("chunked", np.int64),
        ("chunk", np.int64),
        ("chunk_tiles", np.int64),
        ("chunks", np.int64),
    ]
)
"""An array, or a part of it, as its ``LAYOUT`` has it; ``strides``: of lines; ``grid``: tiles in
each dimension. ``chunks``: how many there are, of which no two begin in the same bank."""


@compiled_inner
def goes_on(stored: Record, tiles: Record) -> bool:
    """Whether dimension 2 of an array may be the rest of dimension 1: its tiles follow on those."""
    is_whole = stored.shape[1] == tiles.grid[1] * tiles.tile[1]
    return tiles.tile[2] == 1 and is_whole and tiles.strides[2] == tiles.strides[1] * tiles.grid[1]


@compiled_inner
def set_whole(box: Record, lines: int, stored: Record, tiles: Record, joins: bool) -> None:
    """A box becomes an array whose rows have so many ``lines``, in one chunk. ``joins``: dimension
    2 becomes the rest of dimension 1."""
    box.base, box.first_tile = stored.first_line, 0
    box.sizes[0], box.sizes[1], box.sizes[2] = lines, stored.shape[1], stored.shape[2]
    for dimension in range(DIMENSIONS):
        box.grid[dimension] = tiles.grid[dimension]
    box.chunks, box.chunked, box.chunk, box.chunk_tiles = 1, 0, 0, 0
    if joins:
        box.sizes[1] *= box.sizes[2]
        box.grid[1] *= box.grid[2]
        box.sizes[2] = box.grid[2] = 1
    box.strides[0], box.strides[1], box.strides[2] = 1, lines, lines * box.sizes[1]


@compiled_inner
def set_part(box: Record, cells: np.ndarray, lines: int, stored: Record, tiles: Record) -> None:
    """A box becomes a part of an array whose rows have so many ``lines``, in one chunk: int64
    [dimensions, first and, without, last], of dimension 0 lines. It begins with a tile in each
    dimension."""
    elements = LINE_BYTES >> stored.element
    strides = (1, lines, lines * stored.shape[1])
    box.base, box.first_tile = stored.first_line, 0
    box.chunks, box.chunked, box.chunk, box.chunk_tiles = 1, 0, 0, 0
    for dimension in range(DIMENSIONS):
        first, size = cells[dimension, 0], cells[dimension, 1] - cells[dimension, 0]
        unit = elements if dimension == 0 else 1
        box.base += first * strides[dimension]
        box.sizes[dimension], box.strides[dimension] = size, strides[dimension]
        box.first_tile += first * unit // tiles.tile[dimension] * tiles.strides[dimension]
        box.grid[dimension] = -(-size * unit // tiles.tile[dimension])


@compiled_inner
def cut(box: Record, element: int, tiles: Record, arrays: int) -> None:
    """Cuts an array into as many chunks of whole tiles as there may be where each is the ``arrays``
    of a bank at least. ``element``: log2 of its bytes."""
    elements = LINE_BYTES >> element
    for dimension in range(DIMENSIONS):
        if box.grid[dimension] == 1:
            continue
        stride, extent = tiles.strides[dimension], tiles.tile[dimension]
        count = -(-arrays // stride)
        if dimension == 0:
            row_tiles = max(1, elements // extent)  # of a line
            count = -(-count // row_tiles) * row_tiles
            chunk = count * extent // elements
        else:
            chunk = count * extent
        chunks = -(-box.sizes[dimension] // chunk)
        if chunks > box.chunks:
            box.chunked, box.chunk, box.chunk_tiles = dimension, chunk, count * stride
            box.chunks = chunks
