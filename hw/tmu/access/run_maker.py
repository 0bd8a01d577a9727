"""Makes runs of words that lie together of an iteration's addresses."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access.run import run_layout
from gnarl.hw.tmu.access.steps import SLOT_BITS
from gnarl.hw.tmu.access_isa import STREAM, UNBOUNDED, Source

_OFFSET_BITS = (LINE_WORDS - 1).bit_length()


class RunMaker(wiring.Component):
    """Asks for the words of a memory stream, an iteration's at a time.

    Where an index grows by one with each lane and iteration, a run goes as far as its line and the
    fiber do, into iterations to come, which then find their words asked for; it waits for as many
    free slots. Else each lane's word is a run of its own. A run a cycle. That with a fiber's last
    word pads its slot.

    Members
    -------
    row, turn
        in: the stream's row and number.
    asks
        in: the iteration wants this stream's words, until ``has_all``, out.
    a, b
        in: the stream's operands, by lane.
    first, lanes_in_use
        in: the first lane that has an iteration, and how many have one from there on.
    is_single, is_wide, has_unit_stride
        in: of the layer and its unit.
    left
        in: inductions from lane 0's to the fiber's end.
    free_slots
        in: of the layer's queues, this iteration's included.
    slots, slot, phase
        in: the layer's number of slots, and this iteration's slot.
    covers
        out: the streams of which all words of a whole vector are asked for; these need not ask.
    skipped
        in: the iteration is over, and these streams have not asked.
    runs
        out: a stream of ``run_layout``.
    fault
        out: an index is beyond the array; nothing is asked for then.
    address, is_beyond
        out, of a stream whose words are not asked for: lane ``first``'s address, and that the array
        ends before that of the last lane in use, where lanes are neighbours.
    """

    def __init__(self, lanes: int, rows: int, streams: int, address_bits: int) -> None:
        self._lanes = lanes
        self._streams = streams
        self._address_bits = address_bits
        words = data.ArrayLayout(unsigned(32), lanes)
        run = run_layout(lanes, rows, address_bits - _OFFSET_BITS)
        super().__init__(
            {
                "row": In(STREAM),
                "turn": In(range(streams)),
                "asks": In(1),
                "has_all": Out(1),
                "a": In(words),
                "b": In(words),
                "first": In(range(lanes)),
                "lanes_in_use": In(range(lanes + 1)),
                "is_single": In(1),
                "is_wide": In(1),
                "has_unit_stride": In(1),
                "left": In(signed(33)),
                "free_slots": In(SLOT_BITS),
                "slots": In(SLOT_BITS),
                "slot": In(SLOT_BITS),
                "phase": In(1),
                "covers": Out(streams),
                "skipped": In(streams),
                "runs": Out(stream.Signature(run)),
                "fault": Out(1),
                "address": Out(32),
                "is_beyond": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        row, run = self.row, self.runs.payload
        # Words that are asked for already, from the iteration's first on, by stream.
        covered = Array(
            Signal(range(LINE_WORDS + self._lanes), name=f"covered_{number}")
            for number in range(self._streams)
        )
        here, reached = Signal.like(covered[0]), Signal.like(covered[0])
        is_covered = here >= self.lanes_in_use
        lane = Signal(range(self._lanes))
        index = Signal(32)
        address = self.address
        left = Signal(signed(33))
        m.d.comb += left.eq(self.left - lane)
        is_dense, count, waits = self._count(m, lane, left, address[:_OFFSET_BITS])
        has_last = Mux(is_dense, left == count, lane + 1 == self.lanes_in_use)
        m.d.comb += [
            here.eq(covered[self.turn]),
            lane.eq(self.first + Mux(is_covered, 0, here)),
            index.eq(Array(self.a)[lane] * row.scale + Array(self.b)[lane]),
            address.eq(row.base + index),
            self.is_beyond.eq((index + self.lanes_in_use > row.length) & (row.length != UNBOUNDED)),
            self.fault.eq(self.asks & ~is_covered & (index + count > row.length)),
            self.runs.valid.eq(self.asks & ~is_covered & ~waits & (index + count <= row.length)),
            run.line.eq(address[_OFFSET_BITS : self._address_bits]),
            run.offset.eq(address[:_OFFSET_BITS]),
            run.count.eq(count),
            run.lane.eq(lane),
            run.single.eq(self.is_single),
            run.wide.eq(self.is_wide & is_dense),
            run.pads.eq(self.is_wide & has_last),
            run.slot.row.eq(row.queue + self.slot),
            run.slot.phase.eq(self.phase),
            run.queue.first.eq(row.queue),
            run.queue.last.eq(row.queue + self.slots - 1),
            run.cached.eq(row.cached),
            run.temporal.eq(row.temporal),
            reached.eq(here + Mux(self.runs.valid & self.runs.ready, count, 0)),
            self.has_all.eq(reached >= self.lanes_in_use),
        ]
        width = Mux(self.is_wide, self._lanes, 1)
        for number, count_of in enumerate(covered):
            m.d.comb += self.covers[number].eq(count_of >= width)
            with m.If(self.skipped[number]):
                m.d.sync += count_of.eq(count_of - self.lanes_in_use)
        with m.If(self.asks):
            beyond = Mux(self.has_all, self.lanes_in_use, 0)
            m.d.sync += covered[self.turn].eq(reached - beyond)
        return m

    def _count(
        self, m: Module, lane: Signal, left: Signal, offset: Any
    ) -> tuple[Signal, Signal, Signal]:
        """Whether neighbours are asked for together; how many words from ``lane`` on, with ``left``
        to the fiber's end; and whether they wait for free slots, so that a line is not asked for
        twice."""
        a, b = self.row.a, self.row.b
        a_counts = (a.source == Source.OWN) & (a.stream == 0) & (self.row.scale == 1)
        b_counts = (b.source == Source.OWN) & (b.stream == 0)
        a_stays, b_stays = a.source != Source.OWN, b.source != Source.OWN
        is_dense, waits = Signal(), Signal()
        count = Signal(range(LINE_WORDS + 1))
        in_line, wanted = Signal.like(count), Signal.like(count)
        free = Signal(SLOT_BITS + (self._lanes - 1).bit_length())
        m.d.comb += [
            is_dense.eq(self.has_unit_stride & ((a_counts & b_stays) | (b_counts & a_stays))),
            in_line.eq(LINE_WORDS - offset),
            wanted.eq(Mux(left < in_line, left, in_line)),
            free.eq(Mux(self.is_wide, self.free_slots * self._lanes, self.free_slots) - lane),
            count.eq(1),
        ]
        with m.If(is_dense & (wanted <= free)):
            m.d.comb += count.eq(wanted)
        with m.Elif(is_dense):
            # More than all slots hold is asked for in parts.
            m.d.comb += [count.eq(free), waits.eq(self.free_slots != self.slots)]
        return is_dense, count, waits
