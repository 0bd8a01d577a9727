"""The check of frames, a bit at a time."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.fpga.frame import CRC_BITS, CRC_POLYNOMIAL, CRC_START


class Crc(wiring.Component):
    """The check of the bits so far, as ``gnarl.hw.fpga.frame.crc16`` has it of bytes.

    Members: ``clear``: forgets them; ``strobe``: there is one more ``bit``; ``crc`` out, from the
    next cycle on. Bits that are those of the check itself, in order, leave 0.
    """

    def __init__(self) -> None:
        super().__init__(
            {"clear": In(1), "strobe": In(1), "bit": In(1), "crc": Out(CRC_BITS, init=CRC_START)}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        with m.If(self.clear):
            m.d.sync += self.crc.eq(CRC_START)
        with m.Elif(self.strobe):
            odd = self.crc[0] ^ self.bit
            m.d.sync += self.crc.eq((self.crc >> 1) ^ Mux(odd, CRC_POLYNOMIAL, 0))
        return m
