"""The sum of one fiber after the other, in the register of an adder of one stage."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.operation import Operation
from gnarl.hw.sam.blocks.values.unit_row import UnitRow
from gnarl.hw.sam.step import TokenStep
from gnarl.hw.sam.token import LEVEL_BITS, Kind, token_stream

BARE = Kind.EMPTY
"""Stands for a stop that ends no fiber, in streams in which empty tokens have become values."""


class RunningSum(wiring.Component):
    """For each fiber its sum, then the stop that follows it, if there is one.

    The first value of a fiber is copied, each later one put to what there is so far. The sum of an
    empty fiber is the word 0. One token a cycle: a stop that follows a sum goes out while the next
    value comes in.

    Parameters: ``format`` of values; ``op``, which sums; ``words`` of a value, each summed by
    itself.

    Members: ``i`` in: values; stops that end a fiber, and ``BARE`` for those that do not, with
    their level among values; done. ``o`` out: sums; stops, one level lower, but for those of level
    0; done.
    """

    def __init__(self, format: NumberFormat, op: Operation, words: int = 1) -> None:
        self._format = format
        self._op = op
        self._words = words
        tokens = token_stream(words * format.width)
        super().__init__({"i": In(tokens), "o": Out(tokens)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i, o = self.i, self.o
        step = TokenStep(m, inputs=[i], outputs=[o])
        is_value = i.valid & (i.payload.kind == Kind.DATA)
        level = i.payload.payload[:LEVEL_BITS]

        # The sum so far is the units' output register.
        adds, started = Signal(), Signal()
        row = UnitRow(m, self._format, 1, self._words, step.done & adds)
        m.d.comb += [
            row.left.eq(row.o),
            row.right.eq(i.payload.payload),
            row.operation.eq(Mux(started, self._op, Operation.PASS_RIGHT)),
        ]

        has_stop = Signal()  # the sum before it is given, the stop is not
        stop_level = Signal(LEVEL_BITS)
        with m.If(has_stop):
            step.give(o, Kind.STOP, stop_level)
            step.ready()
        with m.If(is_value):
            m.d.comb += adds.eq(1)
            step.ready(i)
        with m.Elif(i.valid & ~has_stop):
            with m.Switch(i.payload.kind):
                with m.Case(Kind.STOP):
                    step.give(o, Kind.DATA, Mux(started, row.o, 0))
                with m.Case(BARE):
                    step.give(o, Kind.STOP, level - 1)
                with m.Default():
                    step.give(o, Kind.DONE)
            step.ready(i)
        with m.If(step.done):
            ends = ~has_stop & (i.payload.kind == Kind.STOP)
            m.d.sync += [
                started.eq(adds),
                has_stop.eq(i.valid & ends & (level != 0)),
                stop_level.eq(level - 1),
            ]
        return m
