"""The output side of a sparse accumulator: sorted sums become streams of coordinates and values."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.sam.blocks.values.sum_bank import sums
from gnarl.hw.sam.step import TokenStep, is_done
from gnarl.hw.sam.token import LEVEL_BITS, Kind, token_stream

FIBER_BITS = LEVEL_BITS + 1
"""Payload of the stop that ends what was summed: its level, and above it whether sums exist."""


class DrainedFibers(wiring.Component):
    """Splits the keys of sums into coordinates, adds the stops, and what a full level lacks.

    One token a cycle on every output; a step for each sum and each stop.

    Parameters: ``key_bits``; ``width`` of coordinates; ``value_width``; ``full``, for each index,
    innermost first: all its coordinates are given, absent ones with value 0 or an empty fiber.

    Members: ``fibers`` in: a stop for all that is drained at a time, see ``FIBER_BITS``, and done;
    ``sums`` in, theirs; ``inner_bits`` in: how many low bits of a key are the inner coordinate;
    ``size0``, ``size1`` in, the sizes of full indices; ``out_crd0``, for two indices ``out_crd1``,
    and ``out_val`` out.
    """

    def __init__(self, key_bits: int, width: int, value_width: int, full: tuple[bool, ...]) -> None:
        self._full = full
        places = range(len(full))
        super().__init__(
            {
                "fibers": In(token_stream(FIBER_BITS)),
                "sums": In(sums(key_bits, value_width)),
                "inner_bits": In(range(key_bits + 1)),
                **{f"size{place}": In(width) for place in places if full[place]},
                **{f"out_crd{place}": Out(token_stream(width)) for place in places},
                "out_val": Out(token_stream(value_width)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        fibers, sums = self.fibers, self.sums
        crds = [getattr(self, f"out_crd{place}") for place in range(len(self._full))]
        inner_out, outer_out = crds[0], crds[-1]
        two = len(crds) == 2
        width = len(inner_out.payload.payload)
        step = TokenStep(m, inputs=[fibers, sums], outputs=[*crds, self.out_val])

        # What is open: a row, if there are two indices, and which coordinates come next.
        in_row = Signal(init=0 if two else 1)
        outer = Signal(width)
        inner = Signal(width)
        drained = Signal()

        key = sums.payload.key
        left = fibers.payload.payload[LEVEL_BITS] & ~drained
        row = Signal(width)
        here = Signal()
        if two:
            sum_outer = Signal(width)
            sum_inner = Signal(width)
            m.d.comb += [
                sum_outer.eq(key >> self.inner_bits),
                sum_inner.eq(key & ((1 << self.inner_bits) - 1)),
                row.eq(outer if self._full[1] else Mux(in_row, outer, sum_outer)),
                here.eq(left & (sum_outer == row)),
            ]
        else:
            sum_inner = key
            m.d.comb += here.eq(left)

        crd: Value = sum_inner
        has_sum: Value = here
        has_element: Value = here
        if self._full[0]:
            crd = inner
            has_sum = here & (sum_inner == inner)
            has_element = inner < self.size0
        another_row: Value = Const(0)
        is_row: Value = Const(1)
        if two:
            another_row = outer + 1 < self.size1 if self._full[1] else left
            is_row = in_row | (outer < self.size1 if self._full[1] else left)

        element, row_ends = Signal(), Signal()
        with m.If(fibers.valid & is_done(fibers)):
            for out in (*crds, self.out_val):
                step.give(out, Kind.DONE)
            step.ready(fibers)
        with m.Elif(fibers.valid & (sums.valid | ~left)):
            step.ready()
            with m.If(is_row & ~in_row):
                step.give(outer_out, Kind.DATA, row)
            with m.If(is_row & has_element):
                m.d.comb += element.eq(1)
                step.give(inner_out, Kind.DATA, crd)
                step.give(self.out_val, Kind.DATA, Mux(has_sum, sums.payload.value, 0))
                with m.If(has_sum):
                    step.take(sums)
            with m.Elif(is_row & another_row):
                m.d.comb += row_ends.eq(1)
                step.give(inner_out, Kind.STOP, 0)
                step.give(self.out_val, Kind.STOP, 0)
            with m.Elif(in_row | ~is_row):
                level = fibers.payload.payload[:LEVEL_BITS]
                for place, out in enumerate(reversed(crds)):
                    step.give(out, Kind.STOP, level + place)
                step.give(self.out_val, Kind.STOP, level + len(crds) - 1)
                step.take(fibers)

        with m.If(step.done):
            with m.If(fibers.ready):
                m.d.sync += [in_row.eq(in_row.init), outer.eq(0), inner.eq(0), drained.eq(0)]
            with m.Elif(row_ends):
                m.d.sync += [in_row.eq(0), outer.eq(outer + 1), inner.eq(0)]
            with m.Else():
                m.d.sync += [in_row.eq(1), outer.eq(row), inner.eq(inner + element)]
                with m.If(sums.ready & sums.payload.last):
                    m.d.sync += drained.eq(1)
        return m
