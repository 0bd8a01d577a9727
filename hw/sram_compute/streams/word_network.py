"""Words between stream engines and banks."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.integer.count_ones import count_ones
from gnarl.hw.lib.select import at_index
from gnarl.hw.sram_compute.bank.bank import WORD_BITS, word_request_layout
from gnarl.hw.sram_compute.isa import COPY
from gnarl.hw.sram_compute.streams.word_place import place_layout
from gnarl.hw.sram_compute.streams.word_server import LinkSelector, WordServer

OPERAND_CYCLES = 2
"""From the last cycle of a step to that in which engines have the words that they read in it."""


def access_layout(wordlines: int, bitlines: int, arrays: int, banks: int) -> data.StructLayout:
    """What an engine wants in a step: a word of a bank, where ``enable`` is set. Where ``write`` is
    0, it is read; else the bits of ``write`` become those of ``data``. ``line``: of words, the one
    that it is in; ``is_transposed``: it is one of bitlines."""
    return data.StructLayout(
        {
            "enable": 1,
            "place": place_layout(wordlines, bitlines, arrays, banks),
            "write": WORD_BITS,
            "data": WORD_BITS,
            "line": COPY["words"].shape,
            "is_transposed": 1,
        }
    )


def word_cycles(network_bits: int) -> int:
    """Cycles in which a word goes from bank to bank."""
    return max(1, WORD_BITS // network_bits)


class WordNetwork(wiring.Component):
    """Does a step of all engines in rounds. In each a bank does what its own engine wants, else
    what the one with the lowest number wants that is left; of what is read, all that want the same
    word have it. A round takes a cycle, or where a word goes to or from another bank as many as
    that is under way: banks are accessed in the first of them where it is read, in the last where
    it is written. Source: Infinity Stream, section 5.1.

    Parameters: ``banks``, ``arrays``, ``wordlines``, ``bitlines``, ``network_bits``.

    Members
    -------
    access0, access1, …
        in: an ``access_layout`` of each engine, held until ``done``. All that want something want
        the same: to read, or to write.
    enable
        in: there is a step.
    is_early, is_taken
        in: words of the step are not to be accessed yet; banks are not to be in this cycle.
    waits
        out: for one of them.
    done
        out: this is its last cycle.
    request0, request1, …; accesses
        out: a ``word_request_layout`` to each bank; those that have one.
    response0, response1, …
        in: the words that were read, in the cycle behind.
    operand0, operand1, …
        out: the word that each engine has read, ``OPERAND_CYCLES`` behind the last cycle of a step.
    words_between_banks
        out: words that go to another bank, in the last cycle of a round.
    """

    def __init__(
        self, banks: int, arrays: int, wordlines: int, bitlines: int, network_bits: int
    ) -> None:
        self._banks = banks
        self._size = (wordlines, bitlines, arrays, banks)
        self._cycles = word_cycles(network_bits)
        self._bits = min(network_bits, WORD_BITS)
        access = access_layout(wordlines, bitlines, arrays, banks)
        request = word_request_layout(wordlines, bitlines, arrays)
        members: dict[str, Any] = {}
        for bank in range(banks):
            members |= {
                f"access{bank}": In(access),
                f"request{bank}": Out(request),
                f"response{bank}": In(WORD_BITS),
                f"operand{bank}": Out(WORD_BITS),
            }
        super().__init__(
            {
                **members,
                "enable": In(1),
                "is_early": In(1),
                "is_taken": In(banks),
                "waits": Out(1),
                "done": Out(1),
                "accesses": Out(banks),
                "words_between_banks": Out(range(banks + 1)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        banks = range(self._banks)
        wants = [getattr(self, f"access{engine}") for engine in banks]
        pending, served = Signal(self._banks), Signal(self._banks)
        before = Signal(self._banks)  # served in earlier rounds of the step
        flit, last = Signal(range(max(2, self._cycles))), Signal()
        takes = [Signal(self._banks, name=f"takes_{bank}") for bank in banks]
        chosen = [Signal(self._banks, name=f"chosen_{bank}") for bank in banks]
        others = Cat(
            taken[engine] for bank, taken in enumerate(takes) for engine in banks if engine != bank
        )
        crossing = named(m, "crossing", others)
        is_write, ends, accesses = Signal(), Signal(), Signal()
        is_asked = Signal(self._banks)
        m.d.comb += [
            pending.eq(Mux(self.enable, Cat(each.enable for each in wants), 0) & ~before),
            is_write.eq(Cat(each.enable & each.write.any() for each in wants).any()),
            served.eq(reduce(or_, takes)),
            ends.eq(~crossing.any() | (flit == self._cycles - 1)),
            accesses.eq(Mux(is_write, ends, flit == 0)),
            is_asked.eq(Cat(one.any() for one in chosen)),
            self.waits.eq(
                pending.any() & self.is_early & (flit == 0)
                | (is_asked & self.is_taken).any() & accesses
            ),
            last.eq(ends & ~self.waits),
            self.done.eq(last & ~(pending & ~served).any()),
            self.words_between_banks.eq(Mux(last, count_ones(crossing), 0) if len(crossing) else 0),
        ]
        with m.If(~self.waits):
            m.d.sync += flit.eq(Mux(last, 0, flit + 1))
        with m.If(last):
            m.d.sync += before.eq(Mux(self.done, 0, before | served))
        self._serve(m, wants, pending, is_write, takes, chosen)
        self._write(m, wants, chosen, flit, accesses & ~self.waits)
        self._read(m, is_write | self.waits, takes, flit)
        return m

    def _serve(
        self,
        m: Module,
        wants: list[Any],
        pending: Value,
        is_write: Value,
        takes: list[Signal],
        chosen: list[Signal],
    ) -> None:
        """Connects the engines that each bank serves in this round, and those that it looks at."""
        places = Signal(data.ArrayLayout(wants[0].place.shape(), self._banks))
        writes = Signal(data.ArrayLayout(WORD_BITS, self._banks))
        for engine, each in enumerate(wants):
            m.d.comb += [places[engine].eq(each.place), writes[engine].eq(each.write)]
        for bank in range(self._banks):
            m.submodules[f"server_{bank}"] = server = WordServer(*self._size)
            request = getattr(self, f"request{bank}")
            m.d.comb += [
                server.number.eq(bank),
                server.pending.eq(pending),
                server.places.eq(places),
                server.writes.eq(writes),
                server.is_write.eq(is_write),
                chosen[bank].eq(server.chosen),
                takes[bank].eq(server.served),
                *(request[name].eq(server.place[name]) for name in ("array", "row", "group")),
                request.write.eq(server.write),
            ]

    def _select(self, m: Module, name: str, links: data.View, chosen: Value) -> Signal:
        """The link that is chosen."""
        m.submodules[name] = selector = LinkSelector(self._banks, self._bits)
        m.d.comb += [selector.links.eq(links), selector.chosen.eq(chosen)]
        return selector.link

    def _write(
        self,
        m: Module,
        wants: list[Any],
        chosen: list[Signal],
        flit: Value,
        accesses: Value,
    ) -> None:
        bits = self._bits
        links = Signal(data.ArrayLayout(bits, self._banks))
        for engine, each in enumerate(wants):
            words = [each.data[place : place + bits] for place in range(0, WORD_BITS, bits)]
            m.d.comb += links[engine].eq(at_index(words, flit))
        for bank, one in enumerate(chosen):
            received = Signal(WORD_BITS, name=f"received_{bank}")
            whole = Signal(WORD_BITS, name=f"whole_{bank}")
            link = self._select(m, f"to_bank_{bank}", links, one)
            m.d.comb += [
                whole.eq(Cat(received[bits:], link)),
                getattr(self, f"request{bank}").data.eq(Mux(one[bank], wants[bank].data, whole)),
                self.accesses[bank].eq(one.any() & accesses),
            ]
            with m.If(~self.waits):
                m.d.sync += received.eq(whole)

    def _read(self, m: Module, is_none: Value, takes: list[Signal], flit: Value) -> None:
        """What was asked for in the cycle before comes, and goes on its way."""
        bits, banks = self._bits, range(self._banks)
        begins = Signal()
        m.d.sync += begins.eq(flit == 0)
        links, words = Signal(data.ArrayLayout(bits, self._banks)), []
        for bank in banks:
            held, word = (Signal(WORD_BITS, name=f"{name}_{bank}") for name in ("held", "word"))
            m.d.comb += word.eq(Mux(begins, getattr(self, f"response{bank}"), held))
            m.d.sync += held.eq(word >> bits)
            words.append(word)
            m.d.comb += links[bank].eq(word[:bits])
        for engine in banks:
            sources = Signal(self._banks, name=f"sources_{engine}")
            operand = getattr(self, f"operand{engine}")
            m.d.sync += sources.eq(Mux(is_none, 0, Cat(taken[engine] for taken in takes)))
            link = self._select(m, f"to_engine_{engine}", links, sources)
            with m.If(sources[engine]):
                with m.If(begins):
                    m.d.sync += operand.eq(words[engine])
            with m.Elif(sources.any()):
                m.d.sync += operand.eq(Cat(operand[bits:], link))
