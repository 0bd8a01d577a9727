"""The bits of a row that a mask has, side by side, and back to their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.integer.count_ones import count_ones


class PackPlan(wiring.Component):
    """Finds which bits of a row move down by 1, 2, 4, … places, one after the other, so that those
    that a mask has come to lie from bit 0 on. Latency: log2(``bits``) cycles.

    A bit moves by as many places as the mask has zeros below it. Source: Hacker's Delight, 7-4.

    Parameters: ``bits`` of a row, a power of two of at least 4.

    Members: ``mask``, held while a plan is in use; ``start``, in the cycle before the first;
    ``done``, from the cycle after the last one on; ``moves``, the bits that move by 1, 2, 4, …;
    ``count`` of the mask's bits.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._stages = (bits - 1).bit_length()
        super().__init__(
            {
                "mask": In(bits),
                "start": In(1),
                "done": Out(1),
                "moves": Out(data.ArrayLayout(bits, self._stages)),
                "count": Out(range(bits + 1)),
            }
        )

    @property
    def latency(self) -> int:
        return self._stages

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        bits = self._bits
        mask, zeros = Signal(bits), Signal(bits)  # as far as it has moved; zeros yet to count
        stage, works = Signal(range(self._stages)), Signal()
        odd, moves, counted = Signal(bits), Signal(bits), Signal.like(self.count)
        m.d.comb += [
            odd.eq(_parities(m, zeros)),
            moves.eq(odd & mask),
            counted.eq(count_ones(self.mask)),
            self.done.eq(~works),
        ]
        with m.If(self.start):
            m.d.sync += [
                mask.eq(self.mask),
                zeros.eq(~self.mask << 1),
                stage.eq(0),
                works.eq(1),
                self.count.eq(counted),
            ]
        with m.Elif(works):
            moved = Array(moves >> (1 << each) for each in range(self._stages))[stage]
            m.d.sync += [
                mask.eq((mask ^ moves) | moved),
                zeros.eq(zeros & ~odd),
                self.moves[stage].eq(moves),
                stage.eq(stage + 1),
            ]
            with m.If(stage == self._stages - 1):
                m.d.sync += works.eq(0)
        return m


def packed(m: Module, row: Value, mask: Value, moves: Sequence[Value]) -> Value:
    """Bits of ``row`` that ``mask`` has, from bit 0 on, and 0 above."""
    row = row & mask
    for stage, which in enumerate(moves):
        before = named(m, f"packed_{stage}", row)
        row = (before & ~which) | ((before & which) >> (1 << stage))
    return row


def unpacked(m: Module, row: Value, moves: Sequence[Value]) -> Value:
    """Bits from bit 0 on at the places of the mask; whatever else elsewhere."""
    for stage, which in reversed(list(enumerate(moves))):
        before = named(m, f"unpacked_{stage}", row)
        row = (before & ~which) | ((before << (1 << stage))[: len(before)] & which)
    return row


def _parities(m: Module, row: Value) -> Value:
    """For each bit, the parity of itself and those below it."""
    distance = 1
    while distance < len(row):
        before = named(m, f"parities_{distance}", row)
        row = (before ^ (before << distance))[: len(before)]
        distance *= 2
    return row
