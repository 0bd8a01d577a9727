"""Scalar integers, increments and branches: what is done in the stage after issue."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import Fault, Opcode
from gnarl.hw.lib.execute.decoded import DECODED
from gnarl.hw.lib.execute.integers import IntegerUnit
from gnarl.hw.lib.execute.scalar_file import WRITE


class ScalarStage(wiring.Component):
    """Combinational.

    Members: ``works``, ``instruction`` in, with its operands ``a``, ``b``, ``c``; ``write`` out, of
    ``WRITE``; ``redirects`` out: it goes on at its target; ``counts`` out: a loop begins, that
    runs a times; ``stops`` out: what is behind it is not what comes next, if anything does.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "works": In(1),
                "instruction": In(DECODED),
                "a": In(32),
                "b": In(32),
                "c": In(32),
                "write": Out(WRITE),
                "redirects": Out(1),
                "counts": Out(1),
                "stops": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.integer = integer = IntegerUnit()
        i, a, b = self.instruction, self.a, self.b
        m.d.comb += [
            integer.opcode.eq(i.opcode),
            integer.a.eq(a),
            integer.b.eq(b),
            integer.chosen.eq(self.c != 0),
            self.write.enable.eq(self.works & (i.at_once | i.increments)),
            self.write.index.eq(Mux(i.increments, i.a.index, i.dst)),
            self.write.value.eq(Mux(i.increments, a + i.increment, integer.o)),
        ]
        goes, runs = Signal(), Signal()
        m.d.comb += runs.eq(a.as_signed() > 0)
        with m.Switch(i.opcode):
            with m.Case(Opcode.BRANCH_EQ):
                m.d.comb += goes.eq(a == b)
            with m.Case(Opcode.BRANCH_NE):
                m.d.comb += goes.eq(a != b)
            with m.Case(Opcode.BRANCH_LT):
                m.d.comb += goes.eq(a.as_signed() < b.as_signed())
            with m.Case(Opcode.BRANCH_GE):
                m.d.comb += goes.eq(a.as_signed() >= b.as_signed())
            with m.Case(Opcode.LOOP):
                m.d.comb += goes.eq(~runs)
        is_sound = i.fault == Fault.NONE
        m.d.comb += [
            self.redirects.eq(self.works & is_sound & goes),
            self.counts.eq(self.works & is_sound & runs & (i.opcode == Opcode.LOOP)),
            self.stops.eq(self.works & (goes | ~is_sound | (i.opcode == Opcode.HALT))),
        ]
        return m
