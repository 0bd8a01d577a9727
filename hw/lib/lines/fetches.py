"""The lines that a cache waits for, and the reads that wait for them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from gnarl.hw.lib.select import selected


class Fetches(Instanced):
    """Numbered fetches of lines, each with a place for its line or without, and reads' tags.

    Latency: what a pulse did shows in the next cycle.

    Parameters: ``misses``, fetches at a time; ``waiting``, reads at a time; ``tag_bits`` of reads;
    ``place_bits`` of a line's place in the cache.

    Members
    -------
    place, found, found_fetch
        in, out, out: whether a fetch will fill this place, and which.
    can_wait, can_start, free_fetch
        out: there is room for one more read; for one more fetch, too, which will have this number.
    tag, start, keeps, join
        in: a read of this tag waits, after the pulse ``start`` for a new fetch, into ``place`` if
        ``keeps``, or after ``join`` for the one that was found.
    fetch, answered_tag, last, filled, fills
        in, then out: the number of a line that has come, a read that waits for it, whether no other
        one does, its place, and whether it has one.
    served
        in: that read was answered. With the last one the fetch is over.
    idle
        out: there is no fetch.
    """

    def __init__(self, misses: int, waiting: int, tag_bits: int, place_bits: int) -> None:
        self._misses = misses
        self._waiting = waiting
        fetch_bits = max(1, (misses - 1).bit_length())
        super().__init__(
            {
                "place": In(place_bits),
                "found": Out(1),
                "found_fetch": Out(fetch_bits),
                "can_wait": Out(1),
                "can_start": Out(1),
                "free_fetch": Out(fetch_bits),
                "tag": In(tag_bits),
                "start": In(1),
                "keeps": In(1),
                "join": In(1),
                "fetch": In(fetch_bits),
                "answered_tag": Out(tag_bits),
                "last": Out(1),
                "filled": Out(place_bits),
                "fills": Out(1),
                "served": In(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        taken = Signal(self._misses)
        keeps = Signal(self._misses)
        places = [Signal.like(self.place, name=f"place_{n}") for n in range(self._misses)]
        finds = Signal(self._misses)
        free_fetch = Signal(self._misses)
        m.d.comb += [
            finds.eq(Cat(each == self.place for each in places) & taken & keeps),
            self.found.eq(finds.any()),
            self.found_fetch.eq(position(finds)),
            free_fetch.eq(lowest_one(~taken)),
            self.free_fetch.eq(position(free_fetch)),
            self.filled.eq(Array(places)[self.fetch]),
            self.fills.eq(Array(keeps)[self.fetch]),
            self.idle.eq(taken == 0),
        ]

        waits = Signal(self._waiting)
        tags = [Signal.like(self.tag, name=f"tag_{n}") for n in range(self._waiting)]
        fetches = [Signal.like(self.fetch, name=f"fetch_{n}") for n in range(self._waiting)]
        free = Signal(self._waiting)
        answerable = Signal(self._waiting)
        answered = Signal(self._waiting)
        m.d.comb += [
            free.eq(lowest_one(~waits)),
            self.can_wait.eq(free.any()),
            self.can_start.eq(free.any() & free_fetch.any()),
            answerable.eq(Cat(each == self.fetch for each in fetches) & waits),
            answered.eq(lowest_one(answerable)),
            self.answered_tag.eq(selected(zip(answered, tags, strict=True))),
            self.last.eq(answerable == answered),
        ]

        begins = Signal(self._misses)
        ends = Signal(self._misses)
        with m.If(self.start):
            m.d.comb += begins.eq(free_fetch)
        with m.If(self.served & self.last):
            m.d.comb += ends.eq(1 << self.fetch)
        m.d.sync += taken.eq((taken & ~ends) | begins)
        for number, place in enumerate(places):
            with m.If(begins[number]):
                m.d.sync += [place.eq(self.place), keeps[number].eq(self.keeps)]

        comes = Signal(self._waiting)
        goes = Signal(self._waiting)
        with m.If(self.start | self.join):
            m.d.comb += comes.eq(free)
        with m.If(self.served):
            m.d.comb += goes.eq(answered)
        m.d.sync += waits.eq((waits & ~goes) | comes)
        for number, (tag, fetch) in enumerate(zip(tags, fetches, strict=True)):
            with m.If(comes[number]):
                m.d.sync += tag.eq(self.tag)
                with m.If(self.start):
                    m.d.sync += fetch.eq(self.free_fetch)
                with m.Else():
                    m.d.sync += fetch.eq(self.found_fetch)
        return m
