"""A layer's loop: its iterations, and the values and requests of its streams."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.lib.lowest_one import lowest_one, position
from hw.tmu.access.context import context_layout
from hw.tmu.access.lane_divider import LaneDivider
from hw.tmu.access.run import run_layout
from hw.tmu.access.run_maker import RunMaker
from hw.tmu.access.steps import SLOT_BITS, SlotCounter, step_layout
from hw.tmu.access.stream_store import write_signature
from hw.tmu.access_isa import LAYER, STREAM, UNIT, AluOperation, Mode, Source, StreamKind
from hw.tmu.config import LINE_WORDS


class Generator(wiring.Component):
    """Runs one fiber after the other: a cycle for each stream of an iteration that has work to do,
    and one for the end of the fiber.

    Induction variables without a queue have none. A division takes 34 cycles a lane.

    Members: ``layer``, ``unit``, ``descriptors`` in: rows; ``context`` in, a stream of
    ``context_layout``; ``ends_around`` in: forgets what bounds have accumulated; ``steps`` out, a
    stream of ``step_layout``; ``runs`` out, one of ``run_layout``; ``write`` out, a
    ``write_signature`` that is obeyed in cycles with ``granted``; ``release`` in: the oldest
    iteration's slot is free again; ``fault`` out: an index beyond its array, of stream ``faulty``.
    """

    def __init__(self, lanes: int, rows: int, streams: int, address_bits: int) -> None:
        self._lanes = lanes
        self._streams = streams
        self._address_bits = address_bits
        self._rows_of_store = rows
        run = run_layout(lanes, rows, address_bits - (LINE_WORDS - 1).bit_length())
        super().__init__(
            {
                "layer": In(LAYER),
                "unit": In(UNIT),
                "descriptors": In(data.ArrayLayout(STREAM, streams)),
                "context": In(stream.Signature(context_layout(streams))),
                "ends_around": In(1),
                "steps": Out(stream.Signature(step_layout(lanes))),
                "runs": Out(stream.Signature(run)),
                "write": Out(write_signature(lanes, rows)),
                "granted": In(1),
                "release": In(1),
                "fault": Out(1),
                "faulty": Out(range(streams)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        layer, unit = self.layer, self.unit
        is_wide = Signal()
        m.d.comb += is_wide.eq(layer.mode == Mode.LOCKSTEP)
        is_busy = Signal()
        index, upper = Signal(signed(32)), Signal(signed(32))
        fiber = Signal.like(self.context.payload)
        slot = SlotCounter(m, "own", layer.slots)
        used = Signal(SLOT_BITS)

        # Lanes' induction variables, and which of them are below the end.
        inductions = [Signal(signed(32), name=f"induction_{lane}") for lane in range(self._lanes)]
        in_use = Signal(self._lanes)
        for lane, induction in enumerate(inductions):
            m.d.comb += induction.eq(index + unit.stride * lane)
            m.d.comb += in_use[lane].eq((induction < upper) & (is_wide if lane else 1))

        # The stream whose turn it is.
        works = Cat(
            (row.kind == StreamKind.MEMORY)
            | (row.kind == StreamKind.ALU)
            | (row.kind == StreamKind.FORWARD)
            | ((row.kind == StreamKind.INDUCTION) & row.queued)
            for row in self._rows()
        )
        done = Signal(self._streams)
        todo = Signal(self._streams)
        turn = Signal(range(self._streams))
        row = Signal(STREAM)
        m.d.comb += [
            todo.eq(works & ~done),
            turn.eq(position(lowest_one(todo))),
            row.eq(Array(one.as_value() for one in self._rows())[turn]),
        ]

        m.submodules.divider = divider = LaneDivider(self._lanes)
        values, operands_a, operands_b = self._values(m, row, turn, fiber, inductions, divider)
        iterates = is_busy & in_use[0]
        has_slot = used != layer.slots
        turns = Signal()
        m.d.comb += turns.eq(iterates & has_slot & todo.any())
        is_memory = row.kind == StreamKind.MEMORY
        m.submodules.maker = maker = RunMaker(
            self._lanes, self._rows_of_store, self._streams, self._address_bits
        )
        wiring.connect(m, maker.runs, wiring.flipped(self.runs))
        lanes_in_use = Signal(range(self._lanes + 1))
        m.d.comb += [
            lanes_in_use.eq(sum(in_use[1:], in_use[0])),
            maker.row.eq(row),
            maker.turn.eq(turn),
            maker.asks.eq(turns & is_memory),
            maker.lanes_in_use.eq(lanes_in_use),
            maker.is_wide.eq(is_wide),
            maker.has_unit_stride.eq(unit.stride == 1),
            maker.left.eq(upper - index),
            maker.free_slots.eq(layer.slots - used),
            maker.slots.eq(layer.slots),
            maker.slot.eq(slot.slot),
            maker.phase.eq(slot.phase),
            *(maker.a[lane].eq(value) for lane, value in enumerate(operands_a)),
            *(maker.b[lane].eq(value) for lane, value in enumerate(operands_b)),
            self.fault.eq(maker.fault),
            self.faulty.eq(turn),
        ]
        did, divides, has_value = Signal(), Signal(), Signal()
        is_division = (row.operation == AluOperation.DIV) | (row.operation == AluOperation.MOD)
        m.d.comb += [
            divides.eq(turns & (row.kind == StreamKind.ALU) & is_division),
            divider.asks.eq(divides),
            divider.wants_remainder.eq(row.operation == AluOperation.MOD),
            divider.lanes_in_use.eq(lanes_in_use),
            divider.taken.eq(did),
            *(divider.a[lane].eq(value) for lane, value in enumerate(operands_a)),
            *(divider.b[lane].eq(value) for lane, value in enumerate(operands_b)),
            has_value.eq(turns & ~is_memory & (~divides | divider.done)),
            did.eq(Mux(is_memory, turns & maker.has_all, has_value & (~row.queued | self.granted))),
            # A lane's phases change with every iteration, its words being 0 where it has none.
            self.write.lanes.eq(
                Mux(has_value & row.queued, in_use | is_wide.replicate(self._lanes), 0)
            ),
            self.write.row.eq(slot.row(row.queue)),
            self.write.phase.eq(slot.phase),
            *(
                self.write.data[lane].eq(Mux(in_use[lane], value, 0))
                for lane, value in enumerate(values)
            ),
        ]

        # The iteration ends with its last stream, the fiber when no lane has anything left.
        is_last = (todo == lowest_one(todo)) & (did | ~todo.any())
        ends_iteration = iterates & has_slot & is_last
        ends_fiber = is_busy & ~in_use[0]
        m.d.comb += [
            self.steps.valid.eq(ends_iteration | ends_fiber),
            self.steps.payload.is_end.eq(ends_fiber),
            self.steps.payload.lanes.eq(Mux(ends_fiber, 0, in_use)),
            self.context.ready.eq(~is_busy),
        ]
        goes_on = Signal()
        m.d.comb += goes_on.eq(ends_iteration & self.steps.ready)
        self._begin(m, is_busy, index, upper, fiber)
        with m.If(ends_fiber & self.steps.ready):
            m.d.sync += is_busy.eq(0)
        with m.If(goes_on):
            step = Mux(is_wide, unit.stride * self._lanes, unit.stride)
            m.d.sync += [index.eq(index + step), done.eq(0)]
            slot.advance()
        with m.Elif(did):
            m.d.sync += done.eq(done | lowest_one(todo))
        m.d.sync += used.eq(used + goes_on - self.release)
        return m

    def _rows(self) -> list[Any]:
        return [self.descriptors[number] for number in range(self._streams)]

    def _begin(self, m: Module, is_busy: Signal, index: Signal, upper: Signal, fiber: Any) -> None:
        """Takes the next fiber's context."""
        context = self.context
        end = Signal(32)
        offset = Mux(self.unit.accumulates, end, 0)
        with m.If(context.valid & context.ready):
            m.d.sync += [
                is_busy.eq(1),
                fiber.eq(context.payload),
                index.eq(context.payload.lower + offset),
                upper.eq(context.payload.upper + offset),
                end.eq(context.payload.upper + offset),
            ]
        with m.Elif(self.ends_around):
            m.d.sync += end.eq(0)

    def _values(
        self,
        m: Module,
        row: Any,
        turn: Value,
        fiber: Any,
        inductions: list[Signal],
        divider: LaneDivider,
    ) -> tuple[list[Signal], list[Signal], list[Signal]]:
        """Of the stream whose turn it is, lane by lane: its value, and its operands."""
        found: tuple[list[Signal], list[Signal], list[Signal]] = ([], [], [])
        a_around, b_around = Signal(32), Signal(32)
        m.d.comb += [a_around.eq(Array(fiber.a)[turn]), b_around.eq(Array(fiber.b)[turn])]
        for lane, induction in enumerate(inductions):
            earlier = Array(
                [induction[:32]]
                + [Signal(32, name=f"own_{lane}_{n}") for n in range(1, self._streams)]
            )
            a, b = Signal(32, name=f"a_{lane}"), Signal(32, name=f"b_{lane}")
            value = Signal(32, name=f"value_{lane}")
            m.d.comb += [
                a.eq(Mux(row.a.source == Source.OWN, earlier[row.a.stream], a_around)),
                b.eq(Mux(row.b.source == Source.OWN, earlier[row.b.stream], b_around)),
            ]
            with m.Switch(row.kind):
                with m.Case(StreamKind.INDUCTION):
                    m.d.comb += value.eq(induction)
                with m.Case(StreamKind.FORWARD):
                    m.d.comb += value.eq(a)
                with m.Case(StreamKind.ALU):
                    with m.Switch(row.operation):
                        with m.Case(AluOperation.ADD):
                            m.d.comb += value.eq(a + b)
                        with m.Case(AluOperation.SUB):
                            m.d.comb += value.eq(a - b)
                        with m.Case(AluOperation.MUL):
                            m.d.comb += value.eq(a * b)
                        with m.Case(AluOperation.DIV, AluOperation.MOD):
                            m.d.comb += value.eq(divider.values[lane])
                        with m.Case(AluOperation.SHIFT_LEFT):
                            m.d.comb += value.eq(a << b[:5])
                        with m.Case(AluOperation.SHIFT_RIGHT):
                            m.d.comb += value.eq(a >> b[:5])
            for number in range(1, self._streams):
                with m.If(turn == number):
                    m.d.sync += earlier[number].eq(value)
            for values, one in zip(found, (value, a, b), strict=True):
                values.append(one)
        return found
