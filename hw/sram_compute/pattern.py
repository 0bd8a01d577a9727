"""Patterns of bitlines or tiles: start, and strides with counts. Source: Infinity Stream, 4.2."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

LEVELS = 3
"""Strides of a pattern: as many as a tile has dimensions."""


def pattern_layout(bits: int) -> data.StructLayout:
    """Places ``start`` + the sum of ``stride`` x 0 … ``count`` over the levels, below ``bits``.

    ``counts`` are one less than the places of their level.
    """
    numbers = data.ArrayLayout(range(bits), LEVELS)
    return data.StructLayout({"start": range(bits), "strides": numbers, "counts": numbers})


class PatternExpander(wiring.Component):
    """Expands patterns to masks: a cycle for the start, and one for each bit of a count. In each
    the mask becomes twice as long in its level, or so much less that both halves overlap.

    Members: ``pattern``, a stream of ``pattern_layout``; ``mask``, a stream of ``bits`` bits.
    Places beyond the last bit are left out.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        super().__init__(
            {
                "pattern": In(stream.Signature(pattern_layout(bits))),
                "mask": Out(stream.Signature(bits)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        given, mask = self.pattern.payload, self.mask.payload
        place = range(self._bits)
        strides = [Signal(place, name=f"stride_{level}") for level in range(LEVELS)]
        counts = [Signal(place, name=f"count_{level}") for level in range(LEVELS)]
        lefts = [Signal(place, name=f"left_{level}") for level in range(LEVELS)]  # ones: bits to go
        is_held, is_done, is_first = Signal(), Signal(), Signal()
        m.d.comb += [
            is_done.eq(~Cat(*lefts).any()),
            self.mask.valid.eq(is_held & is_done),
            self.pattern.ready.eq(~is_held | self.mask.valid & self.mask.ready),
        ]
        # The length of the level so far, in places of the mask, and what it is to become: of the
        # count's bits from the highest on, always one more than what they are as a number.
        stride, count, left = Signal(place), Signal(place), Signal(place)
        length, next_length = Signal(2 * len(stride) + 1), Signal(2 * len(stride) + 1)
        so_far, distance = Signal.like(length), Signal.like(length)
        doubles, moved = Signal(), Signal(self._bits)
        for level in reversed(range(LEVELS)):
            with m.If(lefts[level] != 0):
                m.d.comb += [
                    stride.eq(strides[level]),
                    count.eq(counts[level]),
                    left.eq(lefts[level]),
                ]
        m.d.comb += [
            so_far.eq(Mux(is_first, stride, length)),
            doubles.eq((count & left & ~(left >> 1)).any()),
            distance.eq(so_far - Mux(doubles, 0, stride)),
            next_length.eq(so_far + distance),
            moved.eq(Mux(distance[len(stride) :].any(), 0, mask << distance[: len(stride)])),
        ]
        with m.If(is_held & ~is_done):
            m.d.sync += [
                mask.eq(mask | moved),
                length.eq(next_length),
                is_first.eq(left == 1),
            ]
            for level in range(LEVELS):
                is_now = ~Cat(*lefts[:level]).any() if level else Const(1)
                with m.If(is_now):
                    m.d.sync += lefts[level].eq(lefts[level] >> 1)
        with m.If(self.pattern.ready):
            m.d.sync += [is_held.eq(self.pattern.valid), is_first.eq(1), mask.eq(1 << given.start)]
            for level in range(LEVELS):
                m.d.sync += [
                    strides[level].eq(given.strides[level]),
                    counts[level].eq(given.counts[level]),
                    lefts[level].eq(_up_to_highest(given.counts[level])),
                ]
        return m


def _up_to_highest(value: Value) -> Value:
    """Ones from bit 0 up to the highest that is set."""
    return Cat(value[place:].any() for place in range(len(value)))
