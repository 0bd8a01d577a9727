"""Reads of a memory's rows through streams."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.memory.shared import RowSignature
from gnarl.hw.lib.stream.memory_ports import ReadPort


class RowReader(Instanced):
    """Answers reads from a memory's rows a cycle after they came, one a cycle.

    Whether it takes a request does not depend on whether an answer is taken in the same cycle: it
    has room for one answer that waits, beside the memory's own.

    Parameters: ``window``; ``address_bits`` of requests, whose upper ones are ignored.

    Members: ``port``, a ``ReadPort`` in; ``core``, a ``RowSignature`` out.
    """

    def __init__(self, window: Window, address_bits: int) -> None:
        super().__init__(
            {
                "port": In(ReadPort(address_bits, window.word_bits, window.words)),
                "core": Out(RowSignature(window)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        address, answer, core = self.port.address, self.port.data, self.core
        fresh = Signal()  # the memory shows an answer that nobody has taken
        waits = Signal()
        waiting = Signal.like(answer.payload)
        m.d.comb += [
            address.ready.eq(~(fresh & waits)),
            core.row.eq(address.payload),
            core.read_enable.eq(address.valid & address.ready),
            answer.valid.eq(fresh | waits),
            answer.payload.eq(Mux(waits, waiting.as_value(), core.read_data.as_value())),
        ]
        with m.If(core.read_enable):
            m.d.sync += fresh.eq(1)
        with m.Elif(answer.ready & ~waits):
            m.d.sync += fresh.eq(0)
        with m.If(waits):
            with m.If(answer.ready):
                m.d.sync += waits.eq(0)
        with m.Elif(fresh & core.read_enable & ~answer.ready):
            m.d.sync += waits.eq(1)
        with m.If(~waits):
            m.d.sync += waiting.eq(core.read_data)
        return m
