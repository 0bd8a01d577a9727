"""Reduce: the sum, or the maximum, of each fiber of values."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.operation import Operation
from gnarl.hw.sam.blocks.agreement import is_closed_by, level_of
from gnarl.hw.sam.blocks.values.interleaved_sums import InterleavedSums
from gnarl.hw.sam.blocks.values.running_sum import BARE, RunningSum
from gnarl.hw.sam.step import TokenStep, is_data, is_done, is_stop
from gnarl.hw.sam.token import LEVEL_BITS, Kind, token_stream

REDUCTIONS = {"add": Operation.ADD, "max": Operation.MAX}
"""Operations of arithmetic units by their names in graphs."""


class Reduce(Instanced):
    """One value for each fiber, in place of its stop; stops above level 0 follow, one lower.

    The first value of a fiber is copied, each later one put to what there is so far, in the order
    of the stream. Empty tokens count as the word 0, and so does an empty fiber. One value a cycle:
    a stop that follows a sum goes out while the next value comes in. An adder of several ``stages``
    sums several fibers at a time, as ``InterleavedSums`` has it.

    A bare stop may be an empty fiber, or none at all: the end of an empty fiber of the level
    around. With ``crd``, the coordinates of that level, every coordinate is owed one value, and
    nothing else is. Without, every stop counts as the end of a fiber. Source: SAM, reducers, and
    its fact that empty outer fibers yield a value too many there.

    Parameters: ``format`` of values; ``op``, a name of ``REDUCTIONS``; ``crd_width`` of
    coordinates, None for no ``crd``; ``stages`` >= 1 of the adder; ``words`` of a value, each of
    which is summed by itself.

    Members: ``val``, and ``crd`` if there is one, in; ``out_val`` out; ``fault`` out: ``val`` and
    ``crd`` disagree.
    """

    def __init__(
        self,
        format: NumberFormat,
        op: str,
        crd_width: int | None,
        stages: int = 1,
        words: int = 1,
    ) -> None:
        self._format = format
        self._stages = stages
        self._words = words
        self._op = REDUCTIONS[op]
        self._has_crd = crd_width is not None
        stream = token_stream(words * format.width)
        crd = {} if crd_width is None else {"crd": In(token_stream(crd_width))}
        super().__init__({"val": In(stream), "out_val": Out(stream), "fault": Out(1)} | crd)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        sums = (
            RunningSum(self._format, self._op, self._words)
            if self._stages == 1
            else InterleavedSums(self._format, self._op, self._stages, self._words)
        )
        m.submodules.sums = sums
        wiring.connect(m, sums.o, wiring.flipped(self.out_val))
        val, i = self.val, sums.i
        others = [self.crd] if self._has_crd else []
        step = TokenStep(m, inputs=[val, *others], outputs=[i])

        adds, has_values = Signal(), Signal()
        closes = Signal()  # the stop that ended a fiber ends one of ``crd``, too
        level = Signal(LEVEL_BITS)
        owes, is_bare, is_closed, ends = self._crd_says(has_values, level)
        with m.If(closes & is_closed):
            step.ready(*others)
        with m.If(val.valid & is_data(val)):
            with m.If(~closes | is_closed):
                m.d.comb += adds.eq(1)
                step.give(i, Kind.DATA, val.payload.payload)
                step.ready(val)
        with m.Elif(val.valid & is_stop(val) & ~closes):
            with m.If(owes | is_bare):
                step.give(i, Mux(owes, Kind.STOP, BARE), level_of(val))
                step.ready(val, *others)
        with m.Elif(val.valid & ends & ~closes):
            step.pass_on(i, val)
            step.ready(val, *others)

        with m.If(step.done):
            m.d.sync += [has_values.eq(adds), level.eq(level_of(val) - 1)]
        if self._has_crd:
            with m.If(step.done):
                m.d.sync += closes.eq(~closes & is_stop(val) & owes & (level_of(val) != 0))
            stuck = Mux(
                closes,
                ~is_closed,
                val.valid & Mux(is_stop(val), ~owes & ~is_bare, is_done(val) & ~ends),
            )
            m.d.comb += self.fault.eq(self.crd.valid & stuck)
        return m

    def _crd_says(self, has_values: Value, level: Value) -> tuple[Value, Value, Value, Value]:
        """Whether a stop of ``val`` ends an owed fiber, or none; whether ``crd`` has the stop of
        ``level``; and whether all is done."""
        if not self._has_crd:
            return Const(1), Const(0), Const(0), Const(1)
        crd = self.crd
        return (
            crd.valid & is_data(crd),
            crd.valid & is_closed_by(crd, self.val) & ~has_values,
            crd.valid & is_stop(crd) & (level_of(crd) == level),
            crd.valid & is_done(crd),
        )
