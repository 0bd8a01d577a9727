"""The data memory, with the pipeline of vector loads and stores."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.machine.host import WindowSignature
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.memory.shared import SharedMemory


class DataMemory(wiring.Component):
    """Loads and stores rows of words, one row a cycle. Source: DPU-v2, section III.D.

    A store that issues in cycle t is written in t + 1; words of a load come in t + ``latency``, and
    a load that issues in the cycle after a store sees what was stored.

    Parameters: ``window``, which gives rows, words and bits.

    Members
    -------
    busy
        in: the memory isn't the host's. What is under way when it falls is not written.
    row, load_enable, store_enable, words
        in: of the instruction that issues: a row; for each word, whether it's loaded, or stored
        from ``words``. One of the masks must be 0.
    clear
        in: forgets the loads and stores under way.
    loaded, loads
        out: a bit for each word that has been loaded, and the words.
    host
        in: ``WindowSignature``.
    """

    latency = 2

    def __init__(self, window: Window) -> None:
        self._window = window
        words = data.ArrayLayout(window.word_bits, window.words)
        super().__init__(
            {
                "busy": In(1),
                "row": In(window.row_bits),
                "load_enable": In(window.words),
                "store_enable": In(window.words),
                "words": In(words),
                "clear": In(1),
                "loaded": Out(window.words),
                "loads": Out(words),
                "host": In(WindowSignature(window)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.memory = memory = SharedMemory(self._window)
        wiring.connect(m, memory.host, wiring.flipped(self.host))

        row = Signal(self.row.shape(), reset_less=True)
        words = Signal(self.words.shape(), reset_less=True)
        load = Signal(self.load_enable.shape())
        store = Signal(self.store_enable.shape())
        m.d.sync += [
            row.eq(self.row),
            words.eq(self.words),
            load.eq(Mux(self.clear, 0, self.load_enable)),
            store.eq(Mux(self.clear, 0, self.store_enable)),
            self.loaded.eq(Mux(self.clear, 0, load)),
        ]
        m.d.comb += [
            memory.busy.eq(self.busy),
            memory.core.row.eq(row),
            memory.core.read_enable.eq(load.any()),
            memory.core.write_enable.eq(store),
            memory.core.write_data.eq(words),
            self.loads.eq(memory.core.read_data),
        ]
        return m
