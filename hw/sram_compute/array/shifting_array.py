"""A compute array, and the rows that are brought to it."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sram_compute.array.compute_array import ComputeArray, compute_layout, read_layout


def inward_layout(bitlines: int) -> data.StructLayout:
    """The source of the row of the next cycle's inward operation: from ``outside``; some bits that
    come ``by_bits``; from the array itself, ``distance`` bitlines up, those at the end around,
    where it ``is_own``; or it is ``bit`` everywhere."""
    return data.StructLayout(
        {
            "is_outside": 1,
            "by_bits": 1,
            "is_own": 1,
            "is_constant": 1,
            "bit": 1,
            "distance": range(bitlines),
        }
    )


def picks_layout(bitlines: int, tree_bits: int) -> data.ArrayLayout:
    """For each of ``tree_bits`` bits, the bitline that it is on: a mask of one, or of none."""
    return data.ArrayLayout(bitlines, tree_bits)


class ShiftingArray(Instanced):
    """``ComputeArray``, whose inward row is its own row a of the cycle before, shifted, or another,
    or single bits of another array.

    Parameters: ``wordlines``, ``bitlines``, ``tree_bits``.

    Members
    -------
    read, compute, row, any_predicate
        as of ``ComputeArray``.
    inward, outside
        in: an ``inward_layout``, and a row, for the operation of the next cycle.
    mask
        in: of this cycle's, on ``is_enabled`` arrays.
    picks, takes, sent
        in, in, out: a ``picks_layout``; in a cycle that ``takes``, bits there of row a of the cycle
        before are those that are sent from the next one on.
    places, received
        in: a ``picks_layout``, and the bits that go there, of what comes ``by_bits``.
    """

    def __init__(self, wordlines: int, bitlines: int, tree_bits: int) -> None:
        self._wordlines = wordlines
        self._bitlines = bitlines
        self._tree_bits = tree_bits
        super().__init__(
            {
                "read": In(read_layout(wordlines)),
                "compute": In(compute_layout(wordlines)),
                "inward": In(inward_layout(bitlines)),
                "outside": In(bitlines),
                "mask": In(bitlines),
                "is_enabled": In(1),
                "picks": In(picks_layout(bitlines, tree_bits)),
                "takes": In(1),
                "sent": Out(tree_bits),
                "places": In(picks_layout(bitlines, tree_bits)),
                "received": In(tree_bits),
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
        with m.Elif(self.inward.by_bits):
            bits = (
                self.places[lane] & self.received[lane].replicate(self._bitlines)
                for lane in range(self._tree_bits)
            )
            m.d.sync += brought.eq(reduce(or_, bits))
        with m.Elif(self.inward.is_constant):
            m.d.sync += brought.eq(self.inward.bit.replicate(self._bitlines))
        with m.If(self.takes):
            picked = ((array.row & self.picks[lane]).any() for lane in range(self._tree_bits))
            m.d.sync += self.sent.eq(Cat(picked))
        return m


def rotated(m: Module, row: Value, distance: Value) -> Value:
    """Bit b goes to b + ``distance``: a stage for each bit of that."""
    for stage, bit in enumerate(distance):
        before = named(m, f"rotated_{stage}", row)
        row = Mux(bit, before.rotate_left(1 << stage), before)
    return row
