"""Goes through the lines of an array in memory, and where they are in tiles."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.select import at_index
from gnarl.hw.sram_compute.config import LINE_BITS
from gnarl.hw.sram_compute.isa import DIMENSIONS, LAYOUT

ENTRY = data.StructLayout(
    {name: field.shape for name, field in LAYOUT if name not in ("opcode", "layout")}
)
"""An entry of the layout override table: as ``LAYOUT`` has it."""

PLACE = data.ArrayLayout(LAYOUT["sizes"].shape.elem_shape, DIMENSIONS)
"""A line's number in dimension 0, and those of its elements in dimensions 1 and 2."""

_LINE_BITS = 21
_TILE_BITS = 15
"""A bit more than numbers in entries have: one behind the last is known as that."""


class _Shape(NamedTuple):
    """Elements of a line; bitlines from one element to the next in dimensions 1 and 2; tiles that
    a line is in."""

    elements: Signal
    stride_1: Signal
    stride_2: Signal
    row_tiles: Signal


class LayoutWalker(Instanced):
    """Gives an array's lines, one in each cycle: those at the same place of each chunk, one behind
    the other, at places in the order of dimensions.

    Source: Infinity Stream, section 5.2 (map of addresses to bitlines).

    Parameters: ``lines`` of memory, ``tiles``, ``bitlines`` of a tile; ``channels``: lines that
    are one if they are wide.

    Members
    -------
    entry
        in: the array, held during a walk; its tiles have ``bitlines``.
    wide
        in, held as ``entry`` is: it gives the first of ``channels`` lines, which are as one.
    start, next
        in: begins; goes on to the next line. Shows from the next cycle on.
    valid
        out: there is a line.
    line, tile, bitline
        out: the line, and where its first element is. Where it has more elements than a row of a
        tile, the rest is in the tiles behind, up to ``last_tile``, on the same bitlines.
    place
        out: the line's numbers in the dimensions of the array; wide lines are counted as one.
    is_outside, is_beyond
        out: the line is none of memory; it has tiles beyond the last one.
    """

    def __init__(self, lines: int, tiles: int, bitlines: int, channels: int = 1) -> None:
        self._lines = lines
        self._channels = channels
        self._tiles = tiles
        self._bitlines = bitlines
        super().__init__(
            {
                "entry": In(ENTRY),
                "wide": In(1),
                "start": In(1),
                "next": In(1),
                "valid": Out(1),
                "line": Out(range(lines)),
                "tile": Out(range(tiles)),
                "last_tile": Out(range(tiles)),
                "bitline": Out(range(bitlines)),
                "place": Out(PLACE),
                "is_outside": Out(1),
                "is_beyond": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        entry = self.entry
        shape = self._shape(m)
        counts = [Signal(unsigned(20), name=f"count_{dimension}") for dimension in range(3)]
        ends = [Signal(name=f"ends_{dimension}") for dimension in range(3)]
        lines = [Signal(_LINE_BITS, name=f"line_{dimension}") for dimension in range(3)]
        tiles = [Signal(_TILE_BITS, name=f"tile_{dimension}") for dimension in range(3)]
        places = [Signal(range(self._bitlines), name=f"place_{each}") for each in range(3)]
        row, chunk = self._along_rows(m)
        sizes = [row, *(entry.sizes[dimension] for dimension in (1, 2)), Const(0)]
        line, tile = Signal(_LINE_BITS), Signal(_TILE_BITS)
        at, next_at, ends_chunks = Signal(_LINE_BITS), Signal(_LINE_BITS + 1), Signal()
        self._find_ends(m, ends, counts, sizes, chunk)
        m.d.comb += [
            next_at.eq(at + chunk),
            ends_chunks.eq((entry.chunk == 0) | (next_at >= at_index(sizes, entry.chunked))),
        ]
        numbers = [
            Mux((entry.chunk != 0) & (entry.chunked == dimension), at, count)
            for dimension, count in enumerate(counts)
        ]
        self._give(m, line, tile, places, numbers, shape)

        next_places, wraps = self._next_places(m, places, shape)
        with m.If(self.start):
            m.d.sync += [self.valid.eq(1), at.eq(0)]
            m.d.sync += [each.eq(0) for each in (*counts, *places)]
            m.d.sync += [each.eq(entry.base) for each in (line, *lines)]
            m.d.sync += [each.eq(entry.first_tile) for each in (tile, *tiles)]
        with m.Elif(self.next & ~ends_chunks):
            m.d.sync += [
                at.eq(next_at),
                line.eq(line + entry.chunk_lines),
                tile.eq(tile + entry.chunk_tiles),
            ]
        with m.Elif(self.next):
            for dimension in range(3):
                moves = m.If if dimension == 0 else m.Elif
                with moves(~ends[dimension]):
                    next_count = counts[dimension] + 1
                    outer = [next_count, *counts[dimension + 1 :], Const(0)]
                    next_line, next_tile = self._step_from(
                        m, dimension, lines[dimension], tiles[dimension], wraps[dimension], shape
                    )
                    m.d.sync += [
                        counts[dimension].eq(next_count),
                        places[dimension].eq(Mux(wraps[dimension], 0, next_places[dimension])),
                        line.eq(next_line),
                        tile.eq(next_tile),
                        at.eq(at_index([Const(0)] * dimension + outer, entry.chunked)),
                    ]
                    inner_pairs = zip(counts[:dimension], places[:dimension], strict=True)
                    m.d.sync += [each.eq(0) for each in chain.from_iterable(inner_pairs)]
                    for inner in range(dimension + 1):
                        m.d.sync += [lines[inner].eq(next_line), tiles[inner].eq(next_tile)]
            with m.Else():
                m.d.sync += self.valid.eq(0)
        return m

    @property
    def _wide(self) -> Value:
        return self.wide if self._channels > 1 else Const(0)

    def _along_rows(self, m: Module) -> tuple[Value, Value]:
        """Lines of a row, and of a chunk or whatever its dimension counts; wide ones as one."""
        entry, shift = self.entry, (self._channels - 1).bit_length()
        row, chunk = Signal.like(entry.sizes[0]), Signal.like(entry.chunk)
        is_cut = self._wide & (entry.chunked == 0)
        m.d.comb += [
            row.eq(Mux(self._wide, entry.sizes[0] >> shift, entry.sizes[0])),
            chunk.eq(Mux(is_cut, entry.chunk >> shift, entry.chunk)),
        ]
        return row, chunk

    def _shape(self, m: Module) -> _Shape:
        entry, most = self.entry, self._channels * LINE_BITS // 8
        bits = range(self._bitlines + 1)
        elements = Signal(range(most + 1))
        stride_1, stride_2 = Signal(bits), Signal(bits)
        row_tiles = Signal(range(most + 1))
        m.d.comb += [
            elements.eq(Mux(self._wide, most, LINE_BITS // 8) >> entry.element),
            stride_1.eq(1 << entry.tile[0]),
            stride_2.eq(stride_1 << entry.tile[1]),
            row_tiles.eq(Mux(elements > stride_1, elements >> entry.tile[0], 1)),
        ]
        return _Shape(elements, stride_1, stride_2, row_tiles)

    def _find_ends(
        self,
        m: Module,
        ends: list[Signal],
        counts: list[Signal],
        sizes: list[Value],
        chunk: Value,
    ) -> None:
        """A dimension ends with the first chunk, which no other exceeds."""
        entry = self.entry
        for dimension, (end, count) in enumerate(zip(ends, counts, strict=True)):
            size = sizes[dimension]
            is_cut = (chunk != 0) & (entry.chunked == dimension) & (chunk < size)
            m.d.comb += end.eq(count + 1 == Mux(is_cut, chunk, size))

    def _give(
        self,
        m: Module,
        line: Signal,
        tile: Signal,
        places: list[Signal],
        numbers: list[Value],
        shape: _Shape,
    ) -> None:
        """A line with its ``numbers`` in the dimensions, at ``places`` of a tile in each."""
        last_tile = Signal(_TILE_BITS + 1)
        m.d.comb += [
            self.line.eq(line),
            self.tile.eq(tile),
            self.bitline.eq(places[0] | places[1] | places[2]),
            *(self.place[dimension].eq(number) for dimension, number in enumerate(numbers)),
            last_tile.eq(tile + shape.row_tiles - 1),
            self.last_tile.eq(last_tile),
            self.is_outside.eq(self.valid & (line >= self._lines)),
            self.is_beyond.eq(self.valid & (last_tile >= self._tiles)),
        ]

    def _next_places(
        self, m: Module, places: list[Signal], shape: _Shape
    ) -> tuple[list[Signal], list[Signal]]:
        """Where one step further in each dimension leads in a tile, and whether it leaves that."""
        elements, stride_1, stride_2, _ = shape
        bits = range(self._bitlines + 1)
        next_places = [Signal(bits, name=f"next_place_{each}") for each in range(3)]
        wraps = [Signal(name=f"wraps_{each}") for each in range(3)]
        m.d.comb += [
            next_places[0].eq(Mux(elements > stride_1, stride_1, places[0] + elements)),
            next_places[1].eq(places[1] + stride_1),
            next_places[2].eq(places[2] + stride_2),
            wraps[0].eq(next_places[0] == stride_1),
            wraps[1].eq(next_places[1] == stride_2),
            wraps[2].eq(next_places[2] == self._bitlines),
        ]
        return next_places, wraps

    def _step_from(
        self,
        m: Module,
        dimension: int,
        line: Signal,
        tile: Signal,
        wraps: Signal,
        shape: _Shape,
    ) -> tuple[Signal, Signal]:
        """The line and tile one step further."""
        entry = self.entry
        in_row = Mux(self._wide, self._channels, 1)
        line_step = entry.line_strides[dimension - 1] if dimension else in_row
        tile_step = entry.tile_strides[dimension - 1] if dimension else shape.row_tiles
        next_line = Signal(_LINE_BITS, name=f"next_line_{dimension}")
        next_tile = Signal(_TILE_BITS, name=f"next_tile_{dimension}")
        m.d.comb += [
            next_line.eq(line + line_step),
            next_tile.eq(tile + Mux(wraps, tile_step, 0)),
        ]
        return next_line, next_tile
