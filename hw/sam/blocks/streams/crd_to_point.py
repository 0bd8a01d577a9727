"""Coordinates to points: nested coordinates as pairs."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.blocks.ports import nested_pair
from gnarl.hw.sam.blocks.streams.crd_hold import CrdHold
from gnarl.hw.sam.step import is_stop


class CrdToPoint(Instanced):
    """A pair of coordinates for each inner one, in two streams without stops.

    One inner token a cycle; stops take a cycle, too. Source: SAM, coordinate hold and stop drop.

    Parameters: ``width`` of coordinates.

    Members: ``outer``, ``inner`` in; ``out_outer``, ``out_inner`` out; ``fault`` out: the levels of
    the two disagree.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__(nested_pair(width, width))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.hold = hold = CrdHold(self._width)
        wiring.connect(m, wiring.flipped(self.outer), hold.outer)
        wiring.connect(m, wiring.flipped(self.inner), hold.inner)
        m.d.comb += self.fault.eq(hold.fault)
        for source, point in ((hold.out_outer, self.out_outer), (hold.out_inner, self.out_inner)):
            m.d.comb += [
                point.payload.eq(source.payload),
                point.valid.eq(source.valid & ~is_stop(source)),
                source.ready.eq(point.ready | is_stop(source)),
            ]
        return m
