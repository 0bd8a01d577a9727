"""Words to rows of bits, and back: the tensor transpose unit."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class Transposer(wiring.Component):
    """Takes blocks of ``size`` words of ``size`` bits, and gives each transposed: word s of it has
    bit s of all, that of the first at the lowest place.

    Words of one block enter while those of the one before leave: as rows from below, while rows
    leave at the top, and in the next block as columns. Throughput: a word a cycle; a block leaves
    behind its last word. Where the next block's first word is late, the block before leaves alone,
    and that word waits for it. Source: Infinity Stream, section 5.2.

    Parameters: ``size``.   Members: streams ``i`` and ``o``; ``is_empty``, whether no block is
    held, in part or whole.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        super().__init__(
            {
                "i": In(stream.Signature(size)),
                "o": Out(stream.Signature(size)),
                "is_empty": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        size = self._size
        rows = [Signal(size, name=f"row_{number}") for number in range(size)]
        step = Signal(range(size))
        by_columns, has_block, leaves_alone = Signal(), Signal(), Signal()
        takes, gives, moves = Signal(), Signal(), Signal()
        alone = Signal()
        m.d.comb += [
            alone.eq(has_block & Mux(step == 0, ~self.i.valid, leaves_alone)),
            self.o.valid.eq(has_block & (alone | self.i.valid)),
            self.o.payload.eq(Mux(by_columns, Cat(row[0] for row in rows), rows[0])),
            self.i.ready.eq(~alone & (~has_block | self.o.ready)),
            takes.eq(self.i.valid & self.i.ready),
            gives.eq(self.o.valid & self.o.ready),
            moves.eq(takes | gives),
            self.is_empty.eq(~has_block & (step == 0)),
        ]
        with m.If(moves):
            for row, below, bit in zip(
                rows, [*rows[1:], self.i.payload], self.i.payload, strict=True
            ):
                m.d.sync += row.eq(Mux(by_columns, Cat(row[1:], bit), below))
            m.d.sync += [step.eq(Mux(step == size - 1, 0, step + 1)), leaves_alone.eq(alone)]
            with m.If(step == size - 1):
                m.d.sync += [has_block.eq(takes), by_columns.eq(by_columns ^ takes)]
        return m
