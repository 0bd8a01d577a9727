"""Registers whose results are under way."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.select import at_index

NAMED = data.StructLayout({"enable": 1, "index": unsigned(5)})
"""A register, where ``enable``."""


class Pending(wiring.Component):
    """Tracks which of 32 registers must not be read, or written by another instruction.

    Those of the instruction that may issue are looked up a cycle before, as it becomes that.

    Parameters: ``lookups``, registers of an instruction.

    Members
    -------
    valid, asked
        in: there is an instruction that may issue; its registers, of ``NAMED``.
    begins, is_load, issues
        in: the register, of ``NAMED``, whose result is under way once it ``issues``, from memory
        where ``is_load``.
    advances, coming
        in: another instruction comes in its place with the next cycle; its registers.
    ends
        in: two of ``NAMED``, whose results can be read from the next cycle on.
    waits, from_memory
        out: of each of ``asked``: it is under way; from memory.
    """

    def __init__(self, lookups: int) -> None:
        self._lookups = lookups
        several = data.ArrayLayout(NAMED, lookups)
        super().__init__(
            {
                "valid": In(1),
                "asked": In(several),
                "begins": In(NAMED),
                "is_load": In(1),
                "issues": In(1),
                "advances": In(1),
                "coming": In(several),
                "ends": In(data.ArrayLayout(NAMED, 2)),
                "waits": Out(lookups),
                "from_memory": Out(lookups),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pending = [Signal(name=f"pending_{number}") for number in range(32)]
        loading = [Signal(name=f"loading_{number}") for number in range(32)]
        begins = self.begins
        for number in range(32):
            for place in range(2):
                with m.If(self.ends[place].enable & (self.ends[place].index == number)):
                    m.d.sync += pending[number].eq(0)
            with m.If(self.issues & begins.enable & (begins.index == number)):
                m.d.sync += [pending[number].eq(1), loading[number].eq(self.is_load)]
        for place in range(self._lookups):
            asked, coming = self.asked[place], self.coming[place]
            # What comes where there was an instruction finds that this one has issued.
            follows = self.valid & begins.enable & (begins.index == coming.index)
            is_pending = at_index(pending, coming.index) & ~self._ends(coming.index)
            with m.If(self.advances):
                m.d.sync += self.waits[place].eq(coming.enable & (follows | is_pending))
            with m.Elif(self._ends(asked.index)):
                m.d.sync += self.waits[place].eq(0)
            is_loading = at_index(loading, asked.index)
            m.d.comb += self.from_memory[place].eq(self.waits[place] & is_loading)
        return m

    def _ends(self, index: Value) -> Value:
        ends = [self.ends[place] for place in range(2)]
        return Cat(each.enable & (each.index == index) for each in ends).any()
