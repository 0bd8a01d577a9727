"""Reduce: the sum, or the maximum, of each fiber of values."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.lib.arithmetic import ArithmeticUnit
from hw.lib.formats import NumberFormat
from hw.lib.instanced import EnableInserter, Instanced
from hw.lib.operation import Operation
from hw.sam.blocks.agreement import is_closed_by, level_of
from hw.sam.step import TokenStep, is_data, is_done, is_stop
from hw.sam.token import LEVEL_BITS, Kind, token_stream

REDUCTIONS = {"add": Operation.ADD, "max": Operation.MAX}
"""Operations of arithmetic units by their names in graphs."""


class Reduce(Instanced):
    """One value for each fiber, in place of its stop; stops above level 0 follow, one lower.

    The first value of a fiber is copied, each later one put to what there is so far, in the order
    of the stream. Empty tokens count as the word 0, and so does an empty fiber. One value a cycle:
    a stop that follows a sum goes out while the next value comes in.

    A bare stop may be an empty fiber, or none at all: the end of an empty fiber of the level
    around. With ``crd``, the coordinates of that level, every coordinate is owed one value, and
    nothing else is. Without, every stop counts as the end of a fiber. Source: SAM, reducers, and
    its fact that empty outer fibers yield a value too many there.

    Parameters: ``format`` of values; ``op``, a name of ``REDUCTIONS``; ``crd_width`` of
    coordinates, None for no ``crd``.

    Members: ``val``, and ``crd`` if there is one, in; ``out_val`` out; ``fault`` out: ``val`` and
    ``crd`` disagree.
    """

    def __init__(self, format: NumberFormat, op: str, crd_width: int | None) -> None:
        self._format = format
        self._op = REDUCTIONS[op]
        self._has_crd = crd_width is not None
        stream = token_stream(format.width)
        crd = {} if crd_width is None else {"crd": In(token_stream(crd_width))}
        super().__init__({"val": In(stream), "out_val": Out(stream), "fault": Out(1)} | crd)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        val, out = self.val, self.out_val
        others = [self.crd] if self._has_crd else []
        step = TokenStep(m, inputs=[val, *others], outputs=[out])

        # The sum so far is the unit's output register.
        adds = Signal()
        unit = ArithmeticUnit(self._format, stages=1)
        m.submodules.unit = EnableInserter(step.done & adds)(unit)
        started = Signal()
        m.d.comb += [
            unit.left.eq(unit.o),
            unit.right.eq(val.payload.payload),
            unit.operation.eq(Mux(started, self._op, Operation.PASS_RIGHT)),
        ]

        has_stop = Signal()  # the sum before it is given, the stop is not
        stop_level = Signal(LEVEL_BITS)
        owes, is_bare, is_closed, ends = self._crd_says(started, stop_level)
        with m.If(has_stop):
            with m.If(is_closed):
                step.give(out, Kind.STOP, stop_level)
                step.take(*others)
                with m.If(val.valid & is_data(val)):
                    m.d.comb += adds.eq(1)
                    step.take(val)
                step.ready()
        with m.Elif(val.valid & is_data(val)):
            m.d.comb += adds.eq(1)
            step.ready(val)
        with m.Elif(val.valid & is_stop(val)):
            with m.If(owes):
                step.give(out, Kind.DATA, Mux(started, unit.o, 0))
                step.ready(val, *others)
            with m.Elif(is_bare):
                step.give(out, Kind.STOP, level_of(val) - 1)
                step.ready(val, *others)
        with m.Elif(val.valid & ends):
            step.pass_on(out, val)
            step.ready(val, *others)

        with m.If(step.done):
            m.d.sync += [
                started.eq(adds),
                has_stop.eq(~has_stop & is_stop(val) & owes & (level_of(val) != 0)),
                stop_level.eq(level_of(val) - 1),
            ]
        if self._has_crd:
            stuck = Mux(
                has_stop,
                ~is_closed,
                val.valid & Mux(is_stop(val), ~owes & ~is_bare, is_done(val) & ~ends),
            )
            m.d.comb += self.fault.eq(self.crd.valid & stuck)
        return m

    def _crd_says(self, started: Value, stop_level: Value) -> tuple[Value, Value, Value, Value]:
        """Whether a stop of ``val`` ends an owed fiber, or none; whether the stop of
        ``stop_level`` may go out; and whether all is done."""
        if not self._has_crd:
            return Const(1), Const(0), Const(1), Const(1)
        crd = self.crd
        return (
            crd.valid & is_data(crd),
            crd.valid & is_closed_by(crd, self.val) & ~started,
            crd.valid & is_stop(crd) & (level_of(crd) == stop_level),
            crd.valid & is_done(crd),
        )
