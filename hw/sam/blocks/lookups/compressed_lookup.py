"""Fiber lookup of a compressed level: the coordinates that are stored."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.bypass_queue import BypassQueue
from gnarl.hw.lib.stream.lookahead import Lookahead
from gnarl.hw.lib.stream.memory_ports import ReadPort
from gnarl.hw.sam.blocks.lookups.fetch import fetch
from gnarl.hw.sam.blocks.lookups.fiber_end import give_end
from gnarl.hw.sam.blocks.lookups.galloping_search import GallopingSearch
from gnarl.hw.sam.blocks.ports import FIBER_BITS, skip_hint
from gnarl.hw.sam.step import TokenStep, is_done, is_stop
from gnarl.hw.sam.token import LEVEL_BITS, Kind, token_layout, token_stream

# Lookups give no empty tokens: inside, they stand for rows that a search reads.
_PROBE = Kind.EMPTY

_WORTH_BITS = 3
"""A jump over 2 ** 3 rows takes no longer than to walk them, if answers come in the next cycle."""


class CompressedLookup(Instanced):
    """For a reference r, the coordinates in rows seg[r].start to seg[r].end - 1 with their rows as
    references; then a stop.

    The fiber of an empty token is empty; a stop without a reference before it is raised. Latency:
    two reads, 0 cycles for tokens that need none; one token a cycle. Source: SAM, compressed level
    scanner.

    With ``skip``, coordinates that ``hint`` says nobody needs are left out, as far as they were not
    offered already, but never a stop. The lookup ends the fiber, or jumps over them by a galloping
    search where that seems to be faster than to walk: where the next one needed is many times as
    far away as the last two coordinates were from each other, the more times the slower the memory.

    Parameters: ``width`` of coordinates and references; ``skip``; ``array_words``, rows of
    coordinates; ``in_flight``, most reads of an array under way; ``segment_rows``, rows of
    segments, if not as many.

    Members: ``ref`` in; ``out_crd``, ``out_ref`` out; ``mem_seg``, a ``ReadPort`` of rows (start,
    end), and ``mem_crd``; ``hint``, a ``skip_hint`` in, if ``skip``; ``fault`` out: a row beyond an
    array, or a segment that ends before it starts.
    """

    def __init__(
        self,
        width: int,
        skip: bool,
        array_words: int,
        in_flight: int = 8,
        segment_rows: int | None = None,
    ) -> None:
        self._width = width
        self._skip = skip
        self._array_words = array_words
        self._segment_rows = array_words if segment_rows is None else segment_rows
        self._in_flight = in_flight
        super().__init__(
            {
                "ref": In(token_stream(width)),
                "out_crd": Out(token_stream(width)),
                "out_ref": Out(token_stream(width)),
                "mem_seg": Out(ReadPort(width, width, 2)),
                "mem_crd": Out(ReadPort(width, width)),
                "fault": Out(1),
            }
            | ({"hint": In(skip_hint(width))} if skip else {})
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.parents = parents = BypassQueue(token_layout(LEVEL_BITS), self._in_flight)
        m.submodules.lookahead = lookahead = Lookahead(token_layout(LEVEL_BITS))
        m.submodules.asked = asked = BypassQueue(token_layout(self._width), self._in_flight)
        wiring.connect(m, parents.o, lookahead.i)
        fetch(m, self.ref, self.mem_seg.address, parents.i, self._segment_rows, self.fault)
        skips = None
        if self._skip:
            skips = _Skips(m, self.hint, self.mem_crd.data, asked, self._in_flight)
        self._walk(m, lookahead.head, lookahead.following, asked.i, skips)
        self._answer(m, asked.o, skips)
        return m

    def _walk(
        self, m: Module, parent: Any, following: Any, asked: Any, skips: _Skips | None
    ) -> None:
        """Reads the rows of segments, and says in ``asked`` what was read, and of stops."""
        segment, address = self.mem_seg.data, self.mem_crd.address
        step = TokenStep(m, inputs=[parent, following, segment], outputs=[address, asked])
        start, end = segment.payload
        has_begun, next_row = Signal(), Signal(self._width)
        row = Signal(self._width)
        m.d.comb += row.eq(Mux(has_begun, next_row, start))

        is_fiber = parent.payload.kind == Kind.DATA
        is_there = parent.valid & (~is_fiber | segment.valid)
        is_wrong = is_fiber & ((start > end) | (end > self._array_words))
        walks, ends = Signal(), Signal()
        may_walk = skips.allow_walk(is_there & is_fiber & (row != end)) if skips else 1
        with m.If(is_there & may_walk):
            with m.If(is_wrong):
                m.d.comb += self.fault.eq(1)
            with m.Elif(is_fiber & (row != end)):
                m.d.comb += walks.eq(1)
                step.send(address, row)
                step.give(asked, Kind.DATA, row)
                step.ready()
            with m.Else():
                m.d.comb += ends.eq(1)
                with m.If(is_fiber):
                    step.take(segment)
                give_end(m, step, parent, following, asked)
        with m.If(walks & step.done):
            m.d.sync += [has_begun.eq(1), next_row.eq(row + 1)]
        with m.If(ends & step.done):
            m.d.sync += has_begun.eq(0)

        if skips:
            probe = skips.search.probe
            with m.If(probe.valid):
                step.send(address, probe.payload)
                step.give(asked, _PROBE, probe.payload)
                step.ready()
            m.d.comb += probe.ready.eq(step.done)
            skips.follow_walk(step, walks, row, end, ends & ~is_done(parent))
            with m.If(skips.search.is_over):
                m.d.sync += next_row.eq(skips.search.resume)
            with m.Elif(skips.cuts):
                m.d.sync += [has_begun.eq(1), next_row.eq(end)]

    def _answer(self, m: Module, asked: Any, skips: _Skips | None) -> None:
        """Gives what was read, and stops, in the order in which they were asked for."""
        crd = self.mem_crd.data
        step = TokenStep(m, inputs=[asked, crd], outputs=[self.out_crd, self.out_ref])
        gives = Signal()
        with m.If(asked.valid):
            with m.If(asked.payload.kind == Kind.DATA):
                with m.If(crd.valid):
                    with m.If(~skips.is_passed if skips else 1):
                        m.d.comb += gives.eq(1)
                        step.give(self.out_crd, Kind.DATA, crd.payload[0])
                        step.give(self.out_ref, Kind.DATA, asked.payload.payload)
                    step.ready(asked, crd)
            if skips:
                with m.Elif(asked.payload.kind == _PROBE):
                    with m.If(crd.valid):
                        with m.If(skips.search.has_found):
                            step.give(self.out_crd, Kind.DATA, skips.search.found_crd)
                            step.give(self.out_ref, Kind.DATA, skips.search.found_row)
                        step.ready(asked, crd)
            with m.Else():
                step.pass_on(self.out_crd, asked)
                step.pass_on(self.out_ref, asked)
                step.ready(asked)
        if skips:
            skips.follow_answers(step, gives, is_stop(asked))


class _Skips:
    """What a lookup does about hints. Made in its ``elaborate``, as part of ``m``.

    ``search``: for the next coordinate that is needed; ``is_passed``: the one that was read last
    isn't; ``cuts``: none is of the segment that is walked.
    """

    def __init__(self, m: Module, hint: Any, read: Any, asked: BypassQueue, in_flight: int) -> None:
        self._m = m
        self._hint = hint
        self._crd = read.payload[0]
        width = len(self._crd)
        m.submodules.search = self.search = GallopingSearch(width, in_flight)
        # Fibers are counted by stops, where rows are asked for and where they are answered.
        self._walked, self._answered = Signal(FIBER_BITS), Signal(FIBER_BITS)
        self._is_offered = Signal()
        self._is_walk_stalled = Signal()
        self.is_passed, self.cuts = Signal(), Signal()
        # Coordinates beyond it are worth a search, and none before any was read.
        most_bits = _WORTH_BITS + (in_flight - 1).bit_length()
        self._worth = Signal(width + most_bits + 1)
        self._has_worth = Signal()
        # What a search has left over is walked.
        self._is_near = Signal()
        self._floor = Signal(width + 1)
        # Where nothing stalls, as many reads are under way as the memory needs cycles.
        self._worth_bits = Signal(range(most_bits + 1))
        with m.Switch(asked.level):
            for level in range(in_flight + 1):
                with m.Case(level):
                    bits = _WORTH_BITS + max(0, level - 1).bit_length()
                    m.d.comb += self._worth_bits.eq(bits)

        is_answer = (asked.level != 0) & read.valid
        self._is_walked = is_answer & (asked.first.kind == Kind.DATA)
        self._is_probed = is_answer & (asked.first.kind == _PROBE)
        self._is_hinted = hint.valid & (hint.fiber == self._answered)
        m.d.comb += [
            self.is_passed.eq(
                self._is_hinted & (hint.stop | (self._crd < hint.crd)) & ~self._is_offered
            ),
            self.search.answer_valid.eq(self._is_probed),
            self.search.answer_row.eq(asked.first.payload),
            self.search.answer_crd.eq(self._crd),
            self.search.is_earlier.eq(self._is_walked),
        ]

    def allow_walk(self, has_rows: Value) -> Value:
        """Whether the walk goes on in this cycle, where ``has_rows``: the segment has some left."""
        hint, search = self._hint, self.search
        is_free = ~search.is_active & ~search.probe.valid
        # What was offered stays so.
        may_cut = is_free & ~self._is_walk_stalled & has_rows
        self._m.d.comb += self.cuts.eq(
            may_cut & hint.valid & hint.stop & (hint.fiber == self._walked)
        )
        return is_free & ~self.cuts

    def follow_walk(
        self, step: TokenStep, walks: Value, row: Value, end: Value, ends_fiber: Value
    ) -> None:
        """Follows a walk. ``walks``: ``step`` reads ``row``; ``ends_fiber``: it gives a stop."""
        m, hint, search = self._m, self._hint, self.search
        m.d.sync += self._is_walk_stalled.eq(walks & ~step.done)
        with m.If(ends_fiber & step.done):
            m.d.sync += self._walked.eq(self._walked + 1)
        rows_left = (end - row)[: len(row)]
        pays = (
            self._is_hinted
            & ~hint.stop
            & self._has_worth
            & (hint.crd > self._worth)
            & (rows_left >> self._worth_bits).any()
        )
        m.d.comb += [
            search.begin.eq(
                pays & (self._walked == self._answered) & search.is_idle & walks & step.done
            ),
            search.first.eq(row + 1),
            search.end.eq(end),
            search.sought.eq(hint.crd),
        ]

    def follow_answers(self, step: TokenStep, gives: Value, ends_fiber: Value) -> None:
        """Follows answers of a walk. ``gives``: ``step`` gives a coordinate that was walked to;
        ``ends_fiber``: a stop."""
        m, search = self._m, self.search
        m.d.sync += self._is_offered.eq(gives & ~step.done)
        m.d.comb += search.answer_taken.eq(self._is_probed & step.done)
        with m.If(step.done):
            with m.If(ends_fiber):
                m.d.sync += [
                    self._answered.eq(self._answered + 1),
                    self._has_worth.eq(0),
                    self._is_near.eq(0),
                    self._floor.eq(0),
                ]
            with m.Elif(self._is_walked):
                spacing = (self._crd + 1 - self._floor)[: len(self._crd)]
                m.d.sync += [
                    self._worth.eq(self._crd + (spacing << self._worth_bits)),
                    self._has_worth.eq(gives | ~self._is_near),
                    self._floor.eq(self._crd + 1),
                ]
                with m.If(gives):
                    m.d.sync += self._is_near.eq(0)
            with m.Elif(search.has_found):
                m.d.sync += [self._has_worth.eq(0), self._floor.eq(search.found_crd + 1)]
        with m.If(search.is_over & ~search.has_found):
            m.d.sync += [self._has_worth.eq(0), self._is_near.eq(1)]
