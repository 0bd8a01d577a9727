"""Moves rows between bitlines, and fills them with constants."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.sram_compute.array.compute_array import operation_layout, read_layout
from gnarl.hw.sram_compute.isa import WIDTH_BITS
from gnarl.hw.sram_compute.microcode.tables import table

MERGE = table(lambda a, b, c, p: a if p else b)
"""Inward bits where the mask has them, and what the row held elsewhere."""

VALUE_BITS = 32


def move_layout(wordlines: int) -> data.StructLayout:
    """``n`` rows from ``d`` on become those from ``a`` on, where the mask has them.

    ``is_constant``: become the bits of ``value`` instead, the lowest first.
    """
    return data.StructLayout(
        {
            "a": range(wordlines),
            "d": range(wordlines),
            "n": unsigned(WIDTH_BITS),
            "is_constant": 1,
            "value": VALUE_BITS,
        }
    )


class Mover(wiring.Component):
    """Reads a row of all arrays a cycle, which comes back rotated two cycles later and is then
    merged with the row that it goes to. A move takes n + 1 cycles; between two moves there is none.

    Rows to be read and rows to be written are the same ones, or others altogether.

    Parameters: ``wordlines`` of the arrays.

    Members
    -------
    move
        in: a stream of ``move_layout``; ready when the last row's operation is given. Rotation and
        mask are held as long.
    read, operation
        out: for the arrays, in this cycle and in the next.
    is_constant, bit
        out: the operation of this cycle takes ``bit`` on all bitlines.
    """

    def __init__(self, wordlines: int) -> None:
        self._wordlines = wordlines
        super().__init__(
            {
                "move": In(stream.Signature(move_layout(wordlines))),
                "read": Out(read_layout(wordlines)),
                "operation": Out(operation_layout(wordlines)),
                "is_constant": Out(1),
                "bit": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        move, operation = self.move.payload, self.operation
        row = Signal(WIDTH_BITS)
        m.d.comb += [
            self.move.ready.eq(row == move.n),
            self.read.enable.eq(self.move.valid),
            self.read.a.eq(move.a + row),
            self.read.b.eq(move.d + row - 1),
            operation.enable.eq(self.move.valid & (row != 0)),
            operation.is_inward.eq(1),
            operation.write.eq(MERGE),
            operation.write_enable.eq(1),
            operation.d.eq(move.d + row - 1),
            self.is_constant.eq(move.is_constant),
            self.bit.eq((move.value >> (row - 1)[:5])[0]),
        ]
        with m.If(self.move.valid):
            m.d.sync += row.eq(row + 1)
            with m.If(self.move.ready):
                m.d.sync += row.eq(0)
        return m
