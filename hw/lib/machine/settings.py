"""Registers that the host sets before a run."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.machine.host import WindowSignature
from gnarl.hw.lib.machine.memory_map import Window


class Settings(wiring.Component):
    """A window whose words are all there at once. They are 0 until the host writes them.

    Parameters: ``window``, of one word a row; ``widths``, bits kept of each row; the rest of a word
    reads as 0.

    Members: ``host``, a ``WindowSignature`` in; ``values`` out, a structure with the fields
    ``"0"``, ``"1"``, ….
    """

    def __init__(self, window: Window, widths: list[int]) -> None:
        self._rows = len(widths)
        values = data.StructLayout({str(row): width for row, width in enumerate(widths)})
        super().__init__({"host": In(WindowSignature(window)), "values": Out(values)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        host = self.host
        answer = Signal.like(host.read_data)
        m.d.comb += host.read_data.eq(answer)
        with m.Switch(host.row):
            for row in range(self._rows):
                value = self.values[str(row)]
                with m.Case(row):
                    m.d.sync += answer.eq(value)
                    with m.If(host.write_enable):
                        m.d.sync += value.eq(host.write_data)
        return m
