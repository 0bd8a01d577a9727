"""What the fibers of all units need to know of the layer around, read before they begin."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.tmu.access.merge.lane_rows import OPERANDS
from gnarl.hw.tmu.access.steps import SLOT_BITS, SlotCounter, step_layout
from gnarl.hw.tmu.access_isa import STREAM

FIBERS = 8
"""Iterations around whose fibers are read ahead, or merged."""

PAIR = data.ArrayLayout(unsigned(32), 2)
"""The parent's words for both operands of a place; undefined where they are not the parent's."""


class LaneContexts(Instanced):
    """Reads contexts in the order of the iterations around, ``FIBERS`` ahead of the last one's end.

    A word a cycle, of those that have arrived, and three cycles more. Pairs are read a cycle after
    they are asked for. Places are those of ``LaneRows``.

    Members
    -------
    units
        in: how many are in use.
    needs, operand_place, operands
        in, out, and in: of ``LaneRows``.
    around, around_slots
        in: the parent's rows of streams, and its number of slots.
    steps
        in: a stream of the parent's steps.
    wants, stream, lane, row, phase, granted, words
        as a ``ContextReader``'s.
    published
        out: the next iteration's contexts are there, from the next cycle on.
    is_fresh
        out: of each iteration, whether it begins a loop.
    released
        in: the oldest iteration's contexts are not needed any more.
    fiber, begin_lane, begin_stream, begin_pair
        in, and out: an iteration, a lane and stream 0 or 1; its pair.
    place, pair
        in, and out: a place of the oldest iteration, and its pair.
    """

    def __init__(self, lanes: int, rows: int, streams: int) -> None:
        self._lanes = lanes
        self._streams = streams
        places = lanes * streams
        super().__init__(
            {
                "units": In(range(lanes + 1)),
                "needs": In(data.ArrayLayout(2, places)),
                "operand_place": Out(range(places)),
                "operands": In(OPERANDS),
                "around": In(data.ArrayLayout(STREAM, streams)),
                "around_slots": In(SLOT_BITS),
                "steps": In(stream.Signature(step_layout(lanes))),
                "wants": Out(1),
                "stream": Out(range(streams)),
                "lane": Out(range(lanes)),
                "row": Out(range(rows)),
                "phase": Out(1),
                "granted": In(1),
                "words": In(data.ArrayLayout(unsigned(32), lanes)),
                "published": Out(1),
                "is_fresh": Out(FIBERS),
                "released": In(1),
                "fiber": In(range(FIBERS)),
                "begin_lane": In(range(lanes)),
                "begin_stream": In(1),
                "begin_pair": Out(PAIR),
                "place": In(range(places)),
                "pair": Out(PAIR),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        wanted = len(self.needs.as_value())
        slot = SlotCounter(m, "around", self.around_slots)
        newest, oldest = Signal(range(FIBERS)), Signal(range(FIBERS))
        held = Signal(range(FIBERS + 1))
        is_busy = Signal()
        pending, rest = Signal(wanted), Signal(wanted)
        is_shown, is_read = Signal(), Signal()
        shown, read = Signal(range(wanted)), Signal(range(wanted))
        following = Signal(range(wanted))
        lane = Signal(range(self._lanes))
        operand = Signal.like(self.operands[0])
        is_iteration = self.steps.valid & self.steps.payload.lanes.any()
        begins, is_whole = Signal(), Signal()
        needs = self._needs_in_use()
        m.d.comb += [
            begins.eq(is_iteration & ~is_busy & (held != FIBERS)),
            is_whole.eq(is_busy & ~pending.any() & ~is_shown & ~is_read),
            rest.eq(Mux(self.granted, pending & (pending - 1), pending)),
            following.eq(position(lowest_one(rest))),
            self.operand_place.eq(following >> 1),
            operand.eq(Mux(shown[0], self.operands[1].as_value(), self.operands[0].as_value())),
            self.wants.eq(is_shown),
            self.stream.eq(operand.stream),
            self.lane.eq(operand.lane),
            self.row.eq(
                slot.row(Array(self.around[n].queue for n in range(self._streams))[operand.stream])
            ),
            self.phase.eq(slot.phase),
            self.published.eq(is_whole),
        ]
        m.d.sync += [
            pending.eq(Mux(begins, needs, rest)),
            shown.eq(following),
            is_shown.eq(rest.any()),
            is_read.eq(self.granted),
            read.eq(shown),
            lane.eq(self.lane),
            held.eq(held + is_whole - self.released),
            oldest.eq(oldest + self.released),
        ]
        ends_around = self.steps.valid & ~self.steps.payload.lanes.any()
        m.d.comb += self.steps.ready.eq(is_whole | ends_around)
        is_first = Signal(init=1)
        with m.If(begins):
            m.d.sync += is_busy.eq(1)
        with m.If(is_whole):
            m.d.sync += [
                is_busy.eq(0),
                newest.eq(newest + 1),
                is_first.eq(self.steps.payload.is_end),
                self.is_fresh.bit_select(newest, 1).eq(is_first),
            ]
            slot.advance()
        with m.If(ends_around):
            m.d.sync += is_first.eq(1)
        self._add_memories(m, newest, oldest, lane, is_read, read)
        return m

    def _needs_in_use(self) -> Value:
        """Operands that are the parent's, of units in use."""
        return Cat(
            self.needs[place] & (place // self._streams < self.units).replicate(2)
            for place in range(self._lanes * self._streams)
        )

    def _add_memories(
        self,
        m: Module,
        newest: Signal,
        oldest: Signal,
        lane: Signal,
        is_read: Signal,
        read: Signal,
    ) -> None:
        """Operands of fibers, of begins and of streams: of the newest they are written where they
        were ``read``, for a lane."""
        word = Array(self.words[each] for each in range(self._lanes))[lane]
        place = read >> 1
        begin_place, is_begin = Signal(range(2 * self._lanes)), Signal()
        for number in range(2 * self._lanes):
            with m.If(place == number // 2 * self._streams + number % 2):
                m.d.comb += [begin_place.eq(number), is_begin.eq(1)]
        memories = (
            (
                "begin",
                (self.begin_pair, self.fiber, Cat(self.begin_stream, self.begin_lane)),
                (2 * self._lanes, begin_place, is_begin),
            ),
            (
                "stream",
                (self.pair, oldest, self.place),
                (self._lanes * self._streams, place, Const(1)),
            ),
        )
        for name, (pair, fiber, read_place), (rows, write_place, is_its) in memories:
            for number in range(2):
                ram = TwoPortRam(FIBERS * rows, 32)
                m.submodules[f"{name}_{number}"] = ram
                m.d.comb += [
                    ram.write_address.eq(newest * rows + write_place),
                    ram.write_enable.eq(is_read & is_its & (read[0] == number)),
                    ram.write_data.eq(word),
                    ram.read_address.eq(fiber * rows + read_place),
                    ram.read_enable.eq(1),
                    pair[number].eq(ram.read_data),
                ]
