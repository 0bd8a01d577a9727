"""The data queue: words in rows of a vector."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out


class DataQueue(wiring.Component):
    """A queue of ``words`` words that takes and gives a word or ``lanes`` of them in a cycle.

    A vector that lies in two rows is given in its second cycle at the head. Latency: 2 cycles.
    Source: Ember, section VII.C.

    Members
    -------
    put, put_vector
        in: takes ``put_data``, its first word or all; there must be ``room``.
    room
        out: words that there is room for at least.
    take, take_vector
        in: the first word, or the first ``lanes`` words, are taken where ``valid``.
    valid
        out: as many are there as ``take_vector`` says, and a second cycle has passed if they need
        one. It does not depend on ``take``.
    words
        out: the first ``lanes`` words.
    """

    def __init__(self, words: int, lanes: int) -> None:
        self._rows = words // lanes
        self._lanes = lanes
        vector = data.ArrayLayout(unsigned(32), lanes)
        super().__init__(
            {
                "put": In(1),
                "put_vector": In(1),
                "put_data": In(vector),
                "room": Out(range(words + 1)),
                "take": In(1),
                "take_vector": In(1),
                "valid": Out(1),
                "words": Out(vector),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes = self._lanes
        # Word i of all is in bank i modulo lanes.
        first_free, first = Signal(range(lanes)), Signal(range(lanes))
        put, took = Signal(range(lanes + 1)), Signal(range(lanes + 1))
        takes = self.take & self.valid
        m.d.comb += [
            put.eq(Mux(self.put, Mux(self.put_vector, lanes, 1), 0)),
            took.eq(Mux(takes, Mux(self.take_vector, lanes, 1), 0)),
        ]
        m.d.sync += [first_free.eq(first_free + put), first.eq(first + took)]
        banks = []
        for number in range(lanes):
            # One more than there is room for: of its words, one cannot be put while none is at the
            # head, which is so for a cycle.
            bank = SyncFIFOBuffered(width=32, depth=self._rows + 1)
            m.submodules[f"bank_{number}"] = bank
            banks.append(bank)
            place, taken_place = Signal(range(lanes)), Signal(range(lanes))
            m.d.comb += [
                place.eq(number - first_free),
                bank.w_data.eq(Array(self.put_data)[place]),
                bank.w_en.eq(place < put),
                taken_place.eq(number - first),
                bank.r_en.eq(taken_place < took),
            ]
        under_way = Signal.like(self.room, init=self._rows * lanes)
        m.d.sync += under_way.eq(under_way - put + took)
        m.d.comb += self.room.eq(under_way)

        ready = Array(bank.r_rdy for bank in banks)
        heads = Array(bank.r_data for bank in banks)
        places = [Signal(range(lanes), name=f"place_{word}") for word in range(lanes)]
        for word, place in enumerate(places):
            m.d.comb += [place.eq(first + word), self.words[word].eq(heads[place])]
        has_vector = Signal()
        waited = Signal()
        is_split = self.take_vector & (first != 0)
        m.d.comb += [
            has_vector.eq(1),
            self.valid.eq(Mux(self.take_vector, has_vector & (waited | ~is_split), ready[first])),
        ]
        for bank in banks:
            with m.If(~bank.r_rdy):
                m.d.comb += has_vector.eq(0)
        m.d.sync += waited.eq(has_vector & is_split & ~takes)
        return m
