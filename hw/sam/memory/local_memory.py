"""A memory of its own for each array of each block."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.memory.shared import SharedMemory
from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.lib.stream.row_reader import RowReader
from gnarl.hw.sam.memory.arrays import Arrays, array_ports, array_windows


class LocalArrays(wiring.Component):
    """For each array a memory, which is its block's during a run, and the host's otherwise.

    Parameters: ``arrays``, windows and whether their blocks write them; ``address_bits`` of ports,
    whose upper ones are ignored; ``latency``, cycles from a request to its answer: 1, or 2 with
    registers behind the memories.

    Members: ``ports.WINDOW``, a ``ReadPort`` or ``WritePort`` in for each array;
    ``windows.WINDOW``, a ``WindowSignature`` in; ``busy`` in: a run is going on; ``reset`` in:
    forgets requests under way.
    """

    def __init__(self, arrays: Arrays, address_bits: int, latency: int = 1) -> None:
        self._arrays = tuple(arrays)
        self._address_bits = address_bits
        self._latency = latency
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
                    memory.core.write_enable.eq(port.write.valid.replicate(window.words)),
                    memory.core.write_data.eq(port.write.payload.data),
                ]
            else:
                reader = RowReader(window, self._address_bits)
                m.submodules[f"{window.name}_reader"] = ResetInserter(self.reset)(reader)
                wiring.connect(m, reader.core, memory.core)
                wiring.connect(m, reader.port.address, wiring.flipped(port.address))
                answer = reader.port.data
                if self._latency == 2:
                    queue = Queue(answer.payload.shape(), 2)
                    m.submodules[f"{window.name}_answers"] = ResetInserter(self.reset)(queue)
                    wiring.connect(m, answer, queue.i)
                    answer = queue.o
                wiring.connect(m, answer, wiring.flipped(port.data))
        return m
