"""A bank's end of the network, and of the bus between its own tiles."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.select import at_index
from gnarl.hw.sram_compute.network.bit_packer import packed, unpacked


class ExchangePort(Instanced):
    """Packs the bits of a row that are to travel, sends them ``network_bits`` at a time, and puts
    together those of another bank; or gives its own bank's bits back, all at once.

    Parameters: ``bitlines``; ``banks``, a power of two; ``network_bits``, a divisor of
    ``bitlines``.

    Members
    -------
    number
        in: the bank's.
    row, load
        in: a row, whose bits of ``mask`` are those to be sent from the next cycle on.
    mask, moves
        in: as of ``bit_packer.PackPlan``.
    flit
        in: which part is sent and taken.
    sent
        out: the part of this bank.
    links
        in: those of all banks.
    source
        in: the bank whose part is taken; for the own one, all at once.
    data
        out: the bits, at their places, with the last part in the cycle in which it is taken.
    """

    def __init__(self, bitlines: int, banks: int, network_bits: int) -> None:
        self._bitlines = bitlines
        self._banks = banks
        self._network_bits = network_bits
        stages = (bitlines - 1).bit_length()
        super().__init__(
            {
                "number": In(range(max(2, banks))),
                "row": In(bitlines),
                "load": In(1),
                "mask": In(bitlines),
                "moves": In(data.ArrayLayout(bitlines, stages)),
                "flit": In(range(bitlines // network_bits)),
                "sent": Out(network_bits),
                "links": In(data.ArrayLayout(network_bits, banks)),
                "source": In(range(max(2, banks))),
                "data": Out(bitlines),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        stages = (self._bitlines - 1).bit_length()
        moves = [self.moves[stage] for stage in range(stages)]
        bus, taken, kept = (Signal(self._bitlines, name=name) for name in ("bus", "taken", "kept"))
        link = at_index([self.links[bank] for bank in range(self._banks)], self.source)
        m.d.comb += [
            self.sent.eq(at_index(_parts(bus, self._network_bits), self.flit)),
            taken.eq(
                Cat(
                    Mux(self.flit == number, link, part)
                    for number, part in enumerate(_parts(kept, self._network_bits))
                )
            ),
            self.data.eq(unpacked(m, Mux(self.source == self.number, bus, taken), moves)),
        ]
        m.d.sync += kept.eq(taken)
        with m.If(self.load):
            m.d.sync += bus.eq(packed(m, self.row, self.mask, moves))
        return m


def _parts(row: Value, width: int) -> list[Value]:
    return [row[at : at + width] for at in range(0, len(row), width)]
