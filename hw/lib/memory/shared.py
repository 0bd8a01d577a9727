"""Memories that accelerator and host share."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.machine.host import WindowSignature
from gnarl.hw.lib.machine.memory_map import Window, word_ram
from gnarl.hw.lib.memory.ram import Ram


class RowSignature(wiring.Signature):
    """A bus from an accelerator's core to whole rows of a memory: one access a cycle.

    Members: ``row``; ``read_enable``; ``write_enable``, a bit for each word; ``write_data``, an
    array of words; and ``read_data`` in, the row that was last read, from a cycle later on. Words
    that are written are not read: their ``read_data`` stays as it was.
    """

    def __init__(self, window: Window) -> None:
        words = data.ArrayLayout(unsigned(window.word_bits), window.words)
        super().__init__(
            {
                "row": Out(max(1, window.row_bits)),
                "read_enable": Out(1),
                "write_enable": Out(window.words),
                "write_data": Out(words),
                "read_data": In(words),
            }
        )


class SharedMemory(wiring.Component):
    """A single-port memory of rows, which belongs to the core while ``busy``, else to the host.

    Each word of a row is a ``Ram`` of its own, so every FPGA tool finds block RAM with a write
    enable for each word. Words are undefined until they are written. Latency: 1 cycle. Throughput:
    one row a cycle.

    Parameters: ``window``, which gives rows, words and bits.   Members: ``busy``; ``core``, a
    ``RowSignature`` in; ``host``, a ``WindowSignature`` in.
    """

    def __init__(self, window: Window) -> None:
        self._window = window
        super().__init__(
            {
                "busy": In(1),
                "core": In(RowSignature(window)),
                "host": In(WindowSignature(window)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        window, core, host = self._window, self.core, self.host
        row = Signal.like(host.row)
        m.d.comb += row.eq(Mux(self.busy, core.row, host.row))

        for word in range(window.words):
            m.submodules[word_ram(word)] = ram = Ram(window.rows, window.word_bits)
            host_writes = host.write_enable & (host.lane == word)
            m.d.comb += [
                ram.address.eq(row),
                ram.read_enable.eq(core.read_enable | ~self.busy),
                ram.write_enable.eq(Mux(self.busy, core.write_enable[word], host_writes)),
                ram.write_data.eq(Mux(self.busy, core.write_data[word], host.write_data)),
                core.read_data[word].eq(ram.read_data),
            ]

        lane = Signal.like(host.lane)
        m.d.sync += lane.eq(host.lane)
        with m.Switch(lane):
            for word in range(window.words):
                with m.Case(word):
                    m.d.comb += host.read_data.eq(core.read_data[word])
        return m
