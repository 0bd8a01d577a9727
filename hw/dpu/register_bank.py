"""A register bank that chooses by itself where a word is written."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import memory
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.integer.lowest_one import lowest_one, position


class RegisterBank(Instanced):
    """Registers with one read port, and one write port to the lowest empty register.

    Source: DPU-v2, section III.B and figure 5(d). A written register is taken until ``valid_reset``
    frees it. Reading answers in the same cycle, and gives the word that is being written if it goes
    to that register. Reset, and ``clear``, empty the bank; words keep what they held.

    Parameters: ``width`` of a word in bits; ``registers`` in the bank.

    Members, all of one cycle:

    * ``read_enable``, ``read_address``; ``o``: the word, 0 if not enabled.
    * ``valid_reset``: frees register ``read_address`` at the end of the cycle.
    * ``write_enable``, ``word``: written at the end of the cycle, to the lowest register that was
      empty when the cycle began.
    * ``clear``: frees all registers at the end of the cycle.
    * ``empty``: a register is read that holds nothing. ``full``: a word is written, and no register
      is empty; it's lost.
    """

    def __init__(self, width: int, registers: int) -> None:
        self._width = width
        self._registers = registers
        super().__init__(
            {
                "read_enable": In(1),
                "read_address": In((registers - 1).bit_length()),
                "valid_reset": In(1),
                "o": Out(width),
                "write_enable": In(1),
                "word": In(width),
                "clear": In(1),
                "empty": Out(1),
                "full": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.words = words = memory.Memory(
            shape=self._width, depth=self._registers, init=[]
        )
        read, write = words.read_port(domain="comb"), words.write_port()

        # The address of the next write is found a cycle ahead, off the path to the crossbar.
        valid = Signal(self._registers)
        address = Signal(self.read_address.shape())
        all_valid = Signal()
        taken = Signal(self._registers)
        read_one = Signal(self._registers)
        freed = Signal(self._registers)
        after = Signal(self._registers)
        one = Const(1, 1)
        m.d.comb += [
            taken.eq(Mux(self.write_enable & ~all_valid, one << address, 0)),
            read_one.eq(one << self.read_address),
            freed.eq(Mux(self.valid_reset, read_one, 0)),
            after.eq(Mux(self.clear, 0, (valid | taken) & ~freed)),
        ]
        lowest = named(m, "lowest", lowest_one(~after))
        m.d.sync += [
            valid.eq(after),
            address.eq(position(lowest)),
            all_valid.eq(after.all()),
        ]

        forward = Signal()
        m.d.comb += [
            forward.eq(self.write_enable & ~all_valid & (address == self.read_address)),
            read.addr.eq(self.read_address),
            self.o.eq(Mux(self.read_enable, Mux(forward, self.word, read.data), 0)),
            write.addr.eq(address),
            write.data.eq(self.word),
            write.en.eq(self.write_enable & ~all_valid),
            self.empty.eq(self.read_enable & ~((valid | taken) & read_one).any()),
            self.full.eq(self.write_enable & all_valid),
        ]
        return m
