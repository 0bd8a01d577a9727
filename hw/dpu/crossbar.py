"""The crossbar from register banks to tree inputs."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


class Crossbar(wiring.Component):
    """Hands any bank's word to any lane. Source: DPU-v2, section III.C. Latency: 1 cycle; no reset.

    Parameters: ``width`` of a word in bits; ``banks``, the number of banks and of lanes.

    Members: ``words`` [banks]; ``source`` [banks]: for each lane, the bank (the last one for
    numbers that no bank has); ``o`` [banks]: for each lane, the word, registered.
    """

    def __init__(self, width: int, banks: int) -> None:
        self._width = width
        self._banks = banks
        super().__init__(
            {
                "words": In(data.ArrayLayout(width, banks)),
                "source": In(data.ArrayLayout((banks - 1).bit_length(), banks)),
                "o": Out(data.ArrayLayout(width, banks)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        words = Array(self.words[bank] for bank in range(self._banks))
        for lane in range(self._banks):
            o = Signal(self._width, name=f"lane_{lane}", reset_less=True)
            m.d.sync += o.eq(words[self.source[lane]])
            m.d.comb += self.o[lane].eq(o)
        return m
