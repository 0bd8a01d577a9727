"""A set-associative cache of lines that does not wait for its misses."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.integer.lowest_one import position
from gnarl.hw.lib.lines.cache_set import CacheSet
from gnarl.hw.lib.lines.fetches import Fetches
from gnarl.hw.lib.lines.line_port import WORD_BITS, LinePort
from gnarl.hw.lib.lines.set_memory import SetMemory
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.lib.stream.queue import Queue


class Cache(wiring.Component):
    """A cache of ``sets`` × ``ways`` lines between two line ports; writes go through.

    Line address a belongs to set a modulo ``sets``. What a request does is decided in the order in
    which requests were accepted, whatever the time that fetches take:

    - A read that is ``cached`` and ``temporal`` makes its line the one of its set that was used
      last. If the set doesn't hold it, it takes the place of the line that was used longest ago;
      the places that were never used come before. The set holds a line from here on, not only
      from when it has come.
    - Other requests change neither which lines are held nor their order. A read that is
      ``cached`` only is answered from a line that is held, else by a fetch of its own; one that
      is not ``cached`` always by a fetch of its own. A write changes the line where it is held.

    A hit's answer is offered ``latency`` cycles after the request was accepted, and a request is
    accepted in every cycle, unless an earlier request must wait: for room; a read, for the line
    that it displaces, if that is still being fetched; a write, for a fetch of its line; and both,
    while answers of a fetch are given. Answers come out of order: hits overtake misses.
    After a reset the cache is empty, and accepts nothing for ``sets`` cycles; what is below must be
    reset with it. Requests that go down keep their flags; tags of writes mean nothing there.

    Parameters: ``sets``, ``ways``, powers of two, at least 2; ``line_bits`` of addresses, more than
    select a set; ``line_words``; ``tag_bits`` upstream; ``misses``, fetches at a time; ``waiting``,
    reads that wait for them at a time; ``queue`` >= 2, requests that wait for the port below.

    Members: ``up``, a ``LinePort`` in; ``down``, a ``LinePort`` out with ``fetch_bits`` of tags;
    pulses out, one for a ``cached`` read each: ``hit``, its line is here; ``merged``, it is being
    fetched for another; ``miss``, it is not held.
    """

    def __init__(
        self,
        *,
        sets: int,
        ways: int,
        line_bits: int,
        line_words: int,
        tag_bits: int,
        misses: int,
        waiting: int,
        queue: int = 2,
    ) -> None:
        self._sets = sets
        self._set_bits = (sets - 1).bit_length()
        self._set = CacheSet(ways, line_bits - self._set_bits)
        self._line_words = line_words
        self._tag_bits = tag_bits
        self._misses = misses
        self._waiting = waiting
        self._queue = queue
        self.fetch_bits = max(1, (misses - 1).bit_length())
        super().__init__(
            {
                "up": In(LinePort(line_bits, line_words, tag_bits)),
                "down": Out(LinePort(line_bits, line_words, self.fetch_bits)),
                "hit": Out(1),
                "merged": Out(1),
                "miss": Out(1),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from a hit's request to its answer."""
        return 3

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        up, down = self.up, self.down
        place_bits = self._set_bits + self._set.way_bits
        m.submodules.fetches = fetches = Fetches(
            self._misses, self._waiting, self._tag_bits, place_bits
        )
        m.submodules.answers = answers = Queue(up.response.payload.shape(), 2)
        m.submodules.requests = requests = Queue(down.request.payload.shape(), self._queue)
        wiring.connect(m, answers.o, wiring.flipped(up.response))
        wiring.connect(m, requests.o, wiring.flipped(down.request))

        # First cycle: the set's state is read.
        looks = Signal()  # a request is in the second cycle
        decided = Signal()  # and leaves it
        asked = Signal.like(up.request.payload)
        m.submodules.sets = sets = SetMemory(self._sets, self._set.layout.size, self._set.empty)
        m.d.comb += [
            up.request.ready.eq(sets.ready & (~looks | decided)),
            sets.read_row.eq(up.request.payload.line[: self._set_bits]),
            sets.read_enable.eq(up.request.valid & up.request.ready),
        ]
        with m.If(sets.read_enable):
            m.d.sync += [looks.eq(1), asked.eq(up.request.payload)]
        with m.Elif(decided):
            m.d.sync += looks.eq(0)

        # Second cycle: what becomes of the request.
        key = asked.line[self._set_bits :]
        state = Signal(self._set.layout)
        holders = Signal.like(state.held)
        present = Signal()
        way = Signal(self._set.way_bits)
        is_read = asked.write == 0
        keeps = asked.cached & asked.temporal
        goes = Signal()  # down, too
        m.d.comb += [
            state.eq(sets.state),
            holders.eq(self._set.holders(state, key)),
            present.eq(holders.any()),
            way.eq(Mux(present, position(holders), state.order[-1])),
            sets.write_row.eq(asked.line),
            sets.write_enable.eq(decided & is_read & keeps),
            sets.write_state.eq(self._set.used(state, way, key)),
            fetches.place.eq(Cat(way, asked.line[: self._set_bits])),
            fetches.tag.eq(asked.tag),
            fetches.keeps.eq(keeps),
            fetches.join.eq(self.merged),
            requests.i.valid.eq(goes),
            requests.i.payload.tag.eq(fetches.free_fetch),
        ]
        for name in ("line", "write", "data", "cached", "temporal"):
            m.d.comb += requests.i.payload[name].eq(asked[name])

        come = down.response
        fills = Signal()  # a line that has come is written
        hits = Signal()  # an answer is in the third cycle
        hit_answered = Signal()  # and leaves it
        with m.If(looks):
            with m.If(~is_read):
                waits = present & (fetches.found | fills)
                m.d.comb += [decided.eq(requests.i.ready & ~waits), goes.eq(decided)]
            with m.Elif(~(asked.cached & present)):
                waits = ~fetches.can_start | (keeps & fetches.found)
                m.d.comb += [
                    decided.eq(requests.i.ready & ~waits),
                    goes.eq(decided),
                    fetches.start.eq(decided),
                    self.miss.eq(decided & asked.cached),
                ]
            with m.Elif(fetches.found):
                waits = come.valid & (come.payload.tag == fetches.found_fetch)
                m.d.comb += [decided.eq(fetches.can_wait & ~waits), self.merged.eq(decided)]
            with m.Else():
                m.d.comb += [decided.eq(~hits | hit_answered), self.hit.eq(decided)]

        hit_line = self._answer(m, fetches, answers.i, asked, hits, hit_answered, fills)
        m.d.comb += up.idle.eq(
            ~(looks | hits | answers.o.valid | requests.o.valid) & fetches.idle & down.idle
        )
        self._add_words(m, hit_line, fetches, fills, asked, Mux(goes & present, asked.write, 0))
        return m

    def _answer(
        self,
        m: Module,
        fetches: Fetches,
        answer: Any,
        asked: Any,
        hits: Signal,
        hit_answered: Signal,
        fills: Signal,
    ) -> Signal:
        """The third cycle of hits: the line is there, and given.

        They take turns with lines from below, either of which may come in every cycle for long:
        else all behind a second hit would wait as long.
        """
        come = self.down.response
        hit_tag = Signal.like(asked.tag)
        hit_line = Signal.like(asked.data)
        gives_hit, hit_is_next = Signal(), Signal()
        m.d.comb += [
            fetches.fetch.eq(come.payload.tag),
            gives_hit.eq(hits & (~come.valid | hit_is_next)),
            fetches.served.eq(come.valid & answer.ready & ~gives_hit),
            come.ready.eq(fetches.served & fetches.last),
            fills.eq(come.valid & come.ready & fetches.fills),
            hit_answered.eq(answer.ready & gives_hit),
            answer.valid.eq(come.valid | hits),
            answer.payload.tag.eq(Mux(gives_hit, hit_tag, fetches.answered_tag)),
            answer.payload.data.eq(Mux(gives_hit, hit_line, come.payload.data.as_value())),
        ]
        with m.If(self.hit):
            m.d.sync += [hits.eq(1), hit_tag.eq(asked.tag)]
        with m.Elif(hit_answered):
            m.d.sync += hits.eq(0)
        with m.If(answer.ready):
            m.d.sync += hit_is_next.eq(hits & ~gives_hit)
        return hit_line

    def _add_words(
        self,
        m: Module,
        hit_line: Signal,
        fetches: Fetches,
        fills: Signal,
        asked: Any,
        changes: Value,
    ) -> None:
        """Memories of words, read by hits; written by lines that come, and by words of a request
        that ``changes`` its line."""
        come = self.down.response
        for word in range(self._line_words):
            m.submodules[f"word_{word}"] = ram = TwoPortRam(
                self._sets << self._set.way_bits, WORD_BITS
            )
            m.d.comb += [
                ram.read_address.eq(fetches.place),
                ram.read_enable.eq(self.hit),
                hit_line[word].eq(ram.read_data),
                ram.write_address.eq(Mux(fills, fetches.filled, fetches.place)),
                ram.write_enable.eq(fills | changes[word]),
                ram.write_data.eq(Mux(fills, come.payload.data[word], asked.data[word])),
            ]
