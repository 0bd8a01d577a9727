"""A compute array, and the rows that are brought to it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sram_compute.array.compute_array import ComputeArray, compute_layout, read_layout


def inward_layout(bitlines: int) -> data.StructLayout:
    """The source of the row of the next cycle's inward operation: from ``outside``; from the array
    itself, ``distance`` bitlines up, those at the end around, where it ``is_own``; or it is ``bit``
    everywhere."""
    return data.StructLayout(
        {"is_outside": 1, "is_own": 1, "is_constant": 1, "bit": 1, "distance": range(bitlines)}
    )


class ShiftingArray(Instanced):
    """``ComputeArray``, whose inward row is its own row a of the cycle before, shifted, or another.

    Parameters: ``wordlines``, ``bitlines``.

    Members: ``read``, ``compute``, ``row`` and ``any_predicate`` as of ``ComputeArray``;
    ``inward``, an ``inward_layout``, and ``outside``, a row, for the operation of the next cycle;
    ``mask``, of this cycle's, on ``is_enabled`` arrays.
    """

    def __init__(self, wordlines: int, bitlines: int) -> None:
        self._wordlines = wordlines
        self._bitlines = bitlines
        super().__init__(
            {
                "read": In(read_layout(wordlines)),
                "compute": In(compute_layout(wordlines)),
                "inward": In(inward_layout(bitlines)),
                "outside": In(bitlines),
                "mask": In(bitlines),
                "is_enabled": In(1),
                "row": Out(bitlines),
                "any_predicate": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.array = array = ComputeArray(self._wordlines, self._bitlines)
        own, brought = Signal(self._bitlines), Signal(self._bitlines)
        m.d.comb += [
            array.read.eq(self.read),
            array.compute.eq(self.compute),
            array.inward.eq(brought),
            array.mask.eq(Mux(self.is_enabled, self.mask, 0)),
            self.row.eq(array.row),
            self.any_predicate.eq(array.any_predicate),
        ]
        with m.If(self.inward.is_own):  # else it stands still
            m.d.comb += own.eq(rotated(m, array.row, self.inward.distance))
        m.d.sync += brought.eq(own)
        with m.If(self.inward.is_outside):
            m.d.sync += brought.eq(self.outside)
        with m.Elif(self.inward.is_constant):
            m.d.sync += brought.eq(self.inward.bit.replicate(self._bitlines))
        return m


def rotated(m: Module, row: Value, distance: Value) -> Value:
    """Bit b goes to b + ``distance``: a stage for each bit of that."""
    for stage, bit in enumerate(distance):
        before = named(m, f"rotated_{stage}", row)
        row = Mux(bit, before.rotate_left(1 << stage), before)
    return row
