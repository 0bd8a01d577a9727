"""Parts of the network of words, of which each bank and each engine has one."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.integer.lowest_one import lowest_one
from gnarl.hw.lib.select import selected
from gnarl.hw.sram_compute.bank.bank import WORD_BITS
from gnarl.hw.sram_compute.streams.word_place import place_layout


class WordServer(Instanced):
    """Chooses whom a bank serves in a round: its own engine, else the one with the lowest number of
    those that want a word of it; and of those that read, all that want the same word.

    Parameters: ``wordlines``, ``bitlines``, ``arrays``, ``banks``.

    Members
    -------
    number
        in: of the bank, and of its own engine.
    pending, places, writes, is_write
        in: engines that are to be served, the ``place_layout`` of what each wants, and the bits
        that it writes; whether they all write.
    chosen, served
        out: the engine that the bank looks at, a mask of one or none; those that it serves.
    place, write
        out: what that engine wants.
    """

    def __init__(self, wordlines: int, bitlines: int, arrays: int, banks: int) -> None:
        self._banks = banks
        place = place_layout(wordlines, bitlines, arrays, banks)
        super().__init__(
            {
                "number": In(place["bank"].shape),
                "pending": In(banks),
                "places": In(data.ArrayLayout(place, banks)),
                "writes": In(data.ArrayLayout(WORD_BITS, banks)),
                "is_write": In(1),
                "chosen": Out(banks),
                "served": Out(banks),
                "place": Out(place),
                "write": Out(WORD_BITS),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        engines = range(self._banks)
        places = [Value.cast(self.places[engine]) for engine in engines]
        wanted, own, place = Signal(self._banks), Signal(self._banks), Value.cast(self.place)
        is_here = Cat(self.places[engine].bank == self.number for engine in engines)
        m.d.comb += [
            wanted.eq(self.pending & is_here),
            own.eq(1 << self.number),
            self.chosen.eq(Mux((wanted & own).any(), own, lowest_one(wanted))),
            place.eq(selected((self.chosen[engine], places[engine]) for engine in engines)),
            self.write.eq(
                selected((self.chosen[engine], self.writes[engine]) for engine in engines)
            ),
            self.served.eq(
                Mux(self.is_write, self.chosen, wanted & Cat(each == place for each in places))
            ),
        ]
        return m


class LinkSelector(Instanced):
    """Gives the link that is chosen; 0 where none is.

    Parameters: ``links``, of ``bits`` each.

    Members: ``links`` in; ``chosen`` in, a mask of one or none; ``link`` out.
    """

    def __init__(self, links: int, bits: int) -> None:
        self._links = links
        super().__init__(
            {
                "links": In(data.ArrayLayout(bits, links)),
                "chosen": In(links),
                "link": Out(bits),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pairs = ((self.chosen[number], self.links[number]) for number in range(self._links))
        m.d.comb += self.link.eq(selected(pairs))
        return m
