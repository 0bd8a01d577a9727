"""Rows of a program that are all there at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.machine.host import WindowSignature
from gnarl.hw.lib.machine.memory_map import Window


class ProgramRows(wiring.Component):
    """Registers behind a window, which reads as 0. They are 0 until the host writes them.

    Parameters: ``window``; ``layout`` of a row, of as many words; ``rows``, the numbers of those
    that are kept.

    Members: ``host``, a ``WindowSignature`` in; ``values`` out, the rows that are kept.
    """

    def __init__(self, window: Window, layout: data.StructLayout, rows: Sequence[int]) -> None:
        self._rows = rows
        self._words = window.words
        super().__init__(
            {
                "host": In(WindowSignature(window)),
                "values": Out(data.ArrayLayout(layout, len(rows))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        host = self.host
        for place, row in enumerate(self._rows):
            words = Signal(data.ArrayLayout(32, self._words), name=f"row_{row}")
            m.d.comb += self.values[place].as_value().eq(words.as_value())
            with m.If(host.write_enable & (host.row == row)):
                for word in range(self._words):
                    with m.If(host.lane == word):
                        m.d.sync += words[word].eq(host.write_data)
        return m
