"""A bank's end of the network, and its tree, for rows that arrays send by bits."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.select import at_index


def chunks(arrays: int, tree_bits: int, network_bits: int) -> int:
    """Into how many parts the network cuts what all arrays of a bank send in a cycle."""
    return max(1, arrays * tree_bits // network_bits)


class TreePort(Instanced):
    """Brings each array the bits of the one that is ``turn`` arrays before it, around the end: of
    this bank, or where that is another bank's, a chunk of them a cycle over the network.

    Source: Infinity Stream, table 2: the H-tree of a bank.

    Parameters: ``arrays`` of a bank; ``banks``; ``tree_bits``, ``network_bits``: powers of two.

    Members
    -------
    sent, load
        in: bits of all arrays, those to be brought from the next cycle on.
    turn
        in: how many arrays up.
    foreign
        in: arrays that take another bank's bits.
    chunk, link
        in, out: which part is sent, and it.
    links, source
        in: the parts of all banks; whose is taken.
    received
        out: the bits for each array; of foreign ones, those of the chunk are right.
    """

    def __init__(self, arrays: int, banks: int, tree_bits: int, network_bits: int) -> None:
        self._arrays = arrays
        self._banks = banks
        self._tree_bits = tree_bits
        self._network_bits = network_bits
        bits = data.ArrayLayout(tree_bits, arrays)
        super().__init__(
            {
                "sent": In(bits),
                "load": In(1),
                "turn": In(range(max(2, arrays))),
                "foreign": In(arrays),
                "chunk": In(range(max(2, chunks(arrays, tree_bits, network_bits)))),
                "link": Out(network_bits),
                "links": In(data.ArrayLayout(network_bits, banks)),
                "source": In(range(max(2, banks))),
                "received": Out(bits),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        width, network = self._arrays * self._tree_bits, self._network_bits
        turned = Signal(width)
        parts = [turned[at : at + network] for at in range(0, width, network)]
        link = at_index([self.links[bank] for bank in range(self._banks)], self.source)
        m.d.comb += self.link.eq(at_index(parts, self.chunk) if len(parts) > 1 else parts[0])
        for array in range(self._arrays):
            first = array * self._tree_bits
            from_bank = link[first % network :][: self._tree_bits]
            own = turned[first : first + self._tree_bits]
            m.d.comb += self.received[array].eq(Mux(self.foreign[array], from_bank, own))
        with m.If(self.load):
            m.d.sync += turned.eq(self._turned(m, Cat(self.sent)))
        return m

    def _turned(self, m: Module, bits: Value) -> Value:
        for stage, bit in enumerate(self.turn[: (self._arrays - 1).bit_length()]):
            before = named(m, f"turned_{stage}", bits)
            bits = Mux(bit, before.rotate_left(self._tree_bits << stage), before)
        return bits
