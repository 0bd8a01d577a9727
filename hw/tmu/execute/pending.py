"""Registers whose results are under way."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

NAMED = data.StructLayout({"enable": 1, "index": unsigned(5)})
"""A register, where ``enable``."""


class Pending(wiring.Component):
    """Which of 32 registers must not be read, or written by another instruction.

    Parameters: ``lookups``, at a time.

    Members: ``begins`` in, of ``NAMED``: its result is under way from the next cycle on, from
    memory where ``is_load``, in; ``ends`` in, two of ``NAMED``: that it can be read in the next
    cycle; ``asked`` in, of ``NAMED``; ``waits``, ``waits_memory`` out: any of those asked about is
    under way; is so from memory.
    """

    def __init__(self, lookups: int) -> None:
        self._lookups = lookups
        super().__init__(
            {
                "begins": In(NAMED),
                "is_load": In(1),
                "ends": In(data.ArrayLayout(NAMED, 2)),
                "asked": In(data.ArrayLayout(NAMED, lookups)),
                "waits": Out(1),
                "waits_memory": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pending = [Signal(name=f"pending_{number}") for number in range(32)]
        loading = [Signal(name=f"loading_{number}") for number in range(32)]
        for number in range(32):
            for place in range(2):
                with m.If(self.ends[place].enable & (self.ends[place].index == number)):
                    m.d.sync += pending[number].eq(0)
            with m.If(self.begins.enable & (self.begins.index == number)):
                m.d.sync += [pending[number].eq(1), loading[number].eq(self.is_load)]
        asked = [self.asked[place] for place in range(self._lookups)]
        waits = [each.enable & Array(pending)[each.index] for each in asked]
        from_memory = [
            wait & Array(loading)[each.index] for wait, each in zip(waits, asked, strict=True)
        ]
        m.d.comb += [self.waits.eq(Cat(waits).any()), self.waits_memory.eq(Cat(from_memory).any())]
        return m
