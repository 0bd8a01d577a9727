"""A memory of its own for each array of each block."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.lib.memory import RowSignature, SharedMemory
from hw.lib.memory_map import Window
from hw.sam.memory.arrays import Arrays, array_ports, array_windows
from hw.sam.memory.ports import ReadPort


class LocalReader(wiring.Component):
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


class LocalArrays(wiring.Component):
    """For each array a memory, which is its block's during a run, and the host's otherwise.

    Parameters: ``arrays``, windows and whether their blocks write them, which needs rows of one
    word; ``address_bits`` of ports, whose upper ones are ignored.

    Members: ``ports.WINDOW``, a ``ReadPort`` or ``WritePort`` in for each array;
    ``windows.WINDOW``, a ``WindowSignature`` in; ``busy`` in: a run is going on; ``reset`` in:
    forgets requests under way.
    """

    def __init__(self, arrays: Arrays, address_bits: int) -> None:
        self._arrays = tuple(arrays)
        self._address_bits = address_bits
        super().__init__(
            {
                "ports": In(array_ports(self._arrays, address_bits)),
                "windows": In(array_windows(self._arrays)),
                "busy": In(1),
                "reset": In(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for window, writes in self._arrays:
            m.submodules[window.name] = memory = SharedMemory(window)
            wiring.connect(m, memory.host, wiring.flipped(getattr(self.windows, window.name)))
            m.d.comb += memory.busy.eq(self.busy)
            port = getattr(self.ports, window.name)
            if writes:
                m.d.comb += [
                    port.write.ready.eq(1),
                    memory.core.row.eq(port.write.payload.address),
                    memory.core.write_enable.eq(port.write.valid),
                    memory.core.write_data[0].eq(port.write.payload.data),
                ]
            else:
                reader = LocalReader(window, self._address_bits)
                m.submodules[f"{window.name}_reader"] = ResetInserter(self.reset)(reader)
                wiring.connect(m, reader.core, memory.core)
                wiring.connect(m, reader.port, wiring.flipped(port))
        return m
