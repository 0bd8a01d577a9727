"""Patterns of bitlines or tiles: start, and strides with counts. Source: Infinity Stream, 4.2."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
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
    """Expands patterns to masks: a cycle for the start, and one for each step of a count.

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
        given = self.pattern.payload
        strides = [Signal(range(self._bits), name=f"stride_{level}") for level in range(LEVELS)]
        lefts = [Signal(range(self._bits), name=f"left_{level}") for level in range(LEVELS)]
        moving, mask = Signal(self._bits), self.mask.payload
        is_held, is_done = Signal(), Signal()
        m.d.comb += [
            is_done.eq(sum(left != 0 for left in lefts) == 0),
            self.mask.valid.eq(is_held & is_done),
            self.pattern.ready.eq(~is_held | self.mask.valid & self.mask.ready),
        ]
        # Level by level: what is there so far moves on by the stride, and is added each time.
        stride, ends_level = Signal(range(self._bits)), Signal()
        for level in reversed(range(LEVELS)):
            with m.If(lefts[level] != 0):
                m.d.comb += [stride.eq(strides[level]), ends_level.eq(lefts[level] == 1)]
        moved = Signal(self._bits)
        m.d.comb += moved.eq(moving << stride)
        with m.If(is_held & ~is_done):
            m.d.sync += [
                mask.eq(mask | moved),
                moving.eq(Mux(ends_level, mask | moved, moved)),
            ]
            for level in range(LEVELS):
                is_first = sum(left != 0 for left in lefts[:level]) == 0
                with m.If((lefts[level] != 0) & is_first):
                    m.d.sync += lefts[level].eq(lefts[level] - 1)
        with m.If(self.pattern.ready):
            first = Signal(self._bits)
            m.d.comb += first.eq(1 << given.start)
            m.d.sync += [is_held.eq(self.pattern.valid), mask.eq(first), moving.eq(first)]
            m.d.sync += [left.eq(given.counts[level]) for level, left in enumerate(lefts)]
            m.d.sync += [each.eq(given.strides[level]) for level, each in enumerate(strides)]
        return m
