"""Asks for the coordinates of fibers before they are merged."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.arbiter import RoundRobin
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.integer.lowest_one import position
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.tmu.access.integer_alu import integer_alu
from gnarl.hw.tmu.access.merge.lane_contexts import FIBERS, PAIR
from gnarl.hw.tmu.access.run import run_layout
from gnarl.hw.tmu.access_isa import STREAM, UNIT, Source, StreamKind

_OFFSET_BITS = (LINE_WORDS - 1).bit_length()

BOUNDS = data.StructLayout({"lower": signed(32), "upper": signed(32), "stride": unsigned(12)})
"""Bounds of a fiber, as they are in the end."""

POSITION = signed(33)
"""An induction variable, or what would be the one behind the last."""


class _State(enum.Enum):
    """It waits for contexts, reads the units' bounds, chooses a unit, or fetches for it."""

    WAIT = 0
    BEGIN = 1
    CHOOSE = 2
    FETCH = 3


class FiberFetcher(Instanced):
    """Fetches all coordinates of the fibers of an iteration around, then of the next.

    Units in use take turns, as far as their queues have room for; a turn is two cycles, for a run
    of neighbours in a line, or for one word of another stream. A stream that is not in memory is
    found here, divisions excepted. The fibers begin in a cycle for each unit, and two more.

    Members
    -------
    units
        in: how many are in use.
    published, is_fresh, begin_pair
        in: of ``LaneContexts``; ``fiber``, ``begin_lane``, ``begin_stream`` out.
    lane, unit, coordinate
        out, and in: of ``LaneRows``.
    tails, free, reserved
        in, in, and out: of each unit's ``CoordinateQueue``.
    runs
        out: a stream of ``run_layout``, for rows of those queues.
    write, row, phase, word
        out: a lane's word that is found here.
    begun
        out: bounds of the iteration ``fiber`` are written, from the next cycle on.
    bounds_fiber, bounds_lane, bounds
        in, in, and out a cycle later: bounds.
    is_busy
        out: fetches for ``fiber``, from ``positions`` on, out.
    beyond
        out: units whose index at ``positions`` is beyond its array, so that no more is fetched.
    disorder
        out: an upper bound is below the lower one, of a unit that is ``ordered``.
    cancel, cancelled
        in: ``fiber`` needs no more; out: from the next cycle on, nothing is fetched for it.
    """

    def __init__(self, lanes: int, rows: int, depth: int, address_bits: int) -> None:
        self._lanes = lanes
        self._depth = depth
        self._address_bits = address_bits
        self._most = min(LINE_WORDS, depth // 2)
        run = run_layout(lanes, rows, address_bits - _OFFSET_BITS)
        super().__init__(
            {
                "units": In(range(lanes + 1)),
                "published": In(1),
                "is_fresh": In(FIBERS),
                "begin_pair": In(PAIR),
                "fiber": Out(range(FIBERS)),
                "begin_lane": Out(range(lanes)),
                "begin_stream": Out(1),
                "lane": Out(range(lanes)),
                "unit": In(UNIT),
                "coordinate": In(STREAM),
                "tails": In(data.ArrayLayout(range(2 * depth), lanes)),
                "free": In(data.ArrayLayout(range(depth + 1), lanes)),
                "reserved": Out(data.ArrayLayout(range(LINE_WORDS + 1), lanes)),
                "runs": Out(stream.Signature(run)),
                "write": Out(lanes),
                "row": Out(range(depth)),
                "phase": Out(1),
                "word": Out(32),
                "begun": Out(1),
                "bounds_fiber": In(range(FIBERS)),
                "bounds_lane": In(range(lanes)),
                "bounds": Out(BOUNDS),
                "is_busy": Out(1),
                "positions": Out(data.ArrayLayout(POSITION, lanes)),
                "beyond": Out(lanes),
                "disorder": Out(1),
                "cancel": In(1),
                "cancelled": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        state = Signal(_State)
        waiting = Signal(range(FIBERS + 1))
        uppers = Signal.like(self.positions)
        begin = Signal(range(self._lanes + 1))
        chosen = Signal(range(self._lanes))
        ends_begin, ends = Signal(), Signal()

        m.submodules.turns = turns = RoundRobin(self._lanes)
        left = Cat(
            (self.positions[lane] < uppers[lane]) & (lane < self.units)
            for lane in range(self._lanes)
        )
        has_room = Cat(self.free[lane] >= self._most for lane in range(self._lanes))
        m.d.comb += [
            turns.requests.eq(Mux(state == _State.CHOOSE, left & has_room & ~self.beyond, 0)),
            self.begin_lane.eq(self.lane),
            self.begin_stream.eq(state != _State.BEGIN),
            self.is_busy.eq((state == _State.CHOOSE) | (state == _State.FETCH)),
            self.begun.eq(ends_begin),
        ]
        m.d.sync += waiting.eq(waiting + self.published - ends_begin)
        did = self._fetch(m, state == _State.FETCH, chosen, uppers)
        with m.Switch(state):
            with m.Case(_State.WAIT):
                with m.If(waiting != 0):
                    m.d.sync += [state.eq(_State.BEGIN), begin.eq(0), self.beyond.eq(0)]
            with m.Case(_State.BEGIN):
                m.d.comb += [self.lane.eq(begin), ends_begin.eq(begin == self.units)]
                m.d.sync += begin.eq(begin + 1)
                with m.If(ends_begin):
                    m.d.sync += state.eq(_State.CHOOSE)
            with m.Case(_State.CHOOSE):
                m.d.comb += [
                    self.lane.eq(position(turns.grant)),
                    self.cancelled.eq(self.cancel),
                    ends.eq(self.cancel | ~left.any()),
                ]
                m.d.sync += chosen.eq(self.lane)
                with m.If(ends):
                    m.d.sync += [state.eq(_State.WAIT), self.fiber.eq(self.fiber + 1)]
                with m.Elif(turns.grant.any()):
                    m.d.sync += state.eq(_State.FETCH)
            with m.Case(_State.FETCH):
                m.d.comb += self.lane.eq(chosen)
                with m.If(did):
                    m.d.sync += state.eq(_State.CHOOSE)
        self._begin(m, state == _State.BEGIN, begin, uppers)
        return m

    def _begin(self, m: Module, is_begin: Value, begin: Signal, uppers: Any) -> None:
        """Finds the bounds of the unit that was read in the cycle before."""
        m.submodules.ends = last_ends = TwoPortRam(self._lanes, 32)
        m.submodules.bounds = memory = TwoPortRam(FIBERS * self._lanes, BOUNDS.size)
        has_bounds = Signal()
        lane = Signal(range(self._lanes))
        found = Signal(BOUNDS)
        unit, pair = self.unit, self.begin_pair
        offset, lower, upper = Signal(32), Signal(32), Signal(32)
        accumulates = unit.accumulates & ~Array(self.is_fresh)[self.fiber]
        m.d.comb += [
            has_bounds.eq(is_begin & (begin != 0)),
            lane.eq(begin - 1),
            offset.eq(Mux(accumulates, last_ends.read_data, 0)),
            lower.eq(Mux(unit.lower.source == Source.PARENT, pair[0], unit.lower_immediate)),
            upper.eq(Mux(unit.upper.source == Source.PARENT, pair[1], unit.upper_immediate)),
            found.lower.eq(lower + offset),
            found.upper.eq(upper + offset),
            found.stride.eq(unit.stride),
            self.disorder.eq(has_bounds & unit.ordered & (upper.as_signed() < lower.as_signed())),
            last_ends.read_address.eq(begin),
            last_ends.read_enable.eq(1),
            last_ends.write_address.eq(lane),
            last_ends.write_enable.eq(has_bounds),
            last_ends.write_data.eq(found.upper),
            memory.write_address.eq(self.fiber * self._lanes + lane),
            memory.write_enable.eq(has_bounds),
            memory.write_data.eq(found.as_value()),
            memory.read_address.eq(self.bounds_fiber * self._lanes + self.bounds_lane),
            memory.read_enable.eq(1),
            self.bounds.as_value().eq(memory.read_data),
        ]
        with m.If(has_bounds):
            m.d.sync += [
                Array(self.positions)[lane].eq(found.lower),
                Array(uppers)[lane].eq(found.upper),
            ]

    def _fetch(self, m: Module, is_fetch: Value, chosen: Signal, uppers: Any) -> Signal:
        """The next words of unit ``chosen``, whose rows were read in the cycle before."""
        row, run = self.coordinate, self.runs.payload
        here = Signal(POSITION)
        a, b = Signal(32), Signal(32)
        index, address = Signal(32), Signal(32)
        m.d.comb += here.eq(Array(self.positions)[chosen])
        self._connect_operands(m, here, a, b)
        is_memory = row.kind == StreamKind.MEMORY
        a_counts = (row.a.source == Source.OWN) & (row.scale == 1) & (row.b.source != Source.OWN)
        b_counts = (row.b.source == Source.OWN) & (row.a.source != Source.OWN)
        is_dense = is_memory & (self.unit.stride == 1) & (a_counts | b_counts)
        limits = (
            LINE_WORDS - address[:_OFFSET_BITS],
            (Array(uppers)[chosen] - here)[:32],
            (row.length - index)[:32],
        )
        count: Value = Const(self._most, range(LINE_WORDS + 1))
        for limit in limits:
            count = Mux(limit < count, limit, count)
        taken = Signal(range(LINE_WORDS + 1))
        is_inside, did = Signal(), Signal()
        tail = Signal(range(2 * self._depth))
        bits = len(self.row)
        m.d.comb += [
            index.eq(a * row.scale + b),
            address.eq(row.base + index),
            is_inside.eq(index < row.length),
            taken.eq(Mux(is_dense, count, 1)),
            tail.eq(Array(self.tails)[chosen]),
            did.eq(is_fetch & (~is_memory | ~is_inside | self.runs.ready)),
            self.runs.valid.eq(is_fetch & is_memory & is_inside),
            run.line.eq(address[_OFFSET_BITS : self._address_bits]),
            run.offset.eq(address[:_OFFSET_BITS]),
            run.count.eq(taken),
            run.lane.eq(chosen),
            run.slot.row.eq(tail[:bits]),
            run.slot.phase.eq(~tail[bits]),
            run.queue.last.eq(self._depth - 1),
            run.cached.eq(row.cached),
            run.temporal.eq(row.temporal),
            run.is_coordinates.eq(1),
            self.write.eq(Mux(is_fetch & ~is_memory, 1 << chosen, 0)),
            self.row.eq(tail[:bits]),
            self.phase.eq(~tail[bits]),
        ]
        self._connect_word(m, here, a, b)
        with m.If(did & is_memory & ~is_inside):
            m.d.sync += Array(self.beyond)[chosen].eq(1)
        with m.Elif(did):
            m.d.comb += Array(self.reserved)[chosen].eq(taken)
            m.d.sync += Array(self.positions)[chosen].eq(
                here + Mux(is_dense, taken, self.unit.stride)
            )
        return did

    def _connect_operands(self, m: Module, here: Signal, a: Signal, b: Signal) -> None:
        row = self.coordinate
        for value, operand, word in zip((a, b), (row.a, row.b), self.begin_pair, strict=True):
            with m.Switch(operand.source):
                with m.Case(Source.OWN):
                    m.d.comb += value.eq(here)
                with m.Case(Source.PARENT):
                    m.d.comb += value.eq(word)
                with m.Default():
                    m.d.comb += value.eq(row.immediate)

    def _connect_word(self, m: Module, here: Signal, a: Signal, b: Signal) -> None:
        """What is computed of operands, for rows that read no memory."""
        row = self.coordinate
        result = integer_alu(m, "result", row.operation, a, b)
        with m.Switch(row.kind):
            with m.Case(StreamKind.INDUCTION):
                m.d.comb += self.word.eq(here)
            with m.Case(StreamKind.FORWARD):
                m.d.comb += self.word.eq(a)
            with m.Case(StreamKind.ALU):
                m.d.comb += self.word.eq(result)
