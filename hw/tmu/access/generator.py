"""A layer's loop: its iterations, and the values and requests of its streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access.context import context_layout
from gnarl.hw.tmu.access.integer_alu import integer_alu, is_division
from gnarl.hw.tmu.access.lane_divider import LaneDivider
from gnarl.hw.tmu.access.merge.lane_turns import turn_signature
from gnarl.hw.tmu.access.merge.merger import merged_layout
from gnarl.hw.tmu.access.run import run_layout
from gnarl.hw.tmu.access.run_maker import RunMaker
from gnarl.hw.tmu.access.steps import SLOT_BITS, SlotCounter, step_layout
from gnarl.hw.tmu.access.stream_store import write_signature
from gnarl.hw.tmu.access_isa import LAYER, STREAM, UNIT, AluOperation, Mode, Source, StreamKind


class Generator(wiring.Component):
    """Runs one fiber after the other: a cycle for each stream of an iteration that has work to do,
    at least one an iteration, and one for a fiber of none.

    Induction variables without a queue have none, nor words that were asked for with those before.
    A division takes 34 cycles a lane.

    A layer that merges goes by what ``MergedFibers`` gives, not by its context and unit 0's rows: a
    cycle for each stream from 2 on of each unit in use that has work to do, and one more if there
    are any, and one for the end of the fiber. Streams 0 and 1 are written meanwhile, where the
    store is free.

    Members: ``layer``, ``unit``, ``descriptors`` in: rows; ``context`` in, a stream of
    ``context_layout``; ``ends_around`` in: forgets what bounds have accumulated; ``steps`` out, a
    stream of ``step_layout``; ``runs`` out, one of ``run_layout``; ``write`` out, a
    ``write_signature`` that is obeyed in cycles with ``granted``; ``write_single`` out: it is for
    the memory of layers of one unit; ``release`` in: the oldest iteration's slot is free again;
    ``merged``, ``turn``, ``queued`` in: of ``MergedFibers``; ``waits_slot`` out: an iteration waits
    for a free slot; ``fault`` out: an index beyond its array, of stream ``faulty``; ``disorder``
    out: an upper bound below the lower one, of a unit that is ``ordered``.
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
                "write_single": Out(1),
                "granted": In(1),
                "release": In(1),
                "merged": In(stream.Signature(merged_layout(lanes))),
                "turn": In(turn_signature(lanes, streams)),
                "queued": In(streams),
                "waits_slot": Out(1),
                "fault": Out(1),
                "faulty": Out(range(streams)),
                "disorder": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        layer, unit = self.layer, self.unit
        is_wide, merges = Signal(), Signal()
        m.d.comb += [
            is_wide.eq(layer.mode == Mode.LOCKSTEP),
            merges.eq((layer.mode == Mode.CONJUNCTIVE) | (layer.mode == Mode.DISJUNCTIVE)),
        ]
        merged = self.merged.payload
        is_busy = Signal()
        index, upper = Signal(signed(32)), Signal(signed(32))
        # Wider than words: a step from the last induction variables does not come round.
        reached = [index + self.unit.stride * lane for lane in range(self._lanes)]
        fiber = Signal.like(self.context.payload)
        slot = SlotCounter(m, "own", layer.slots)
        used = Signal(SLOT_BITS)

        inductions, in_use = self._lanes_of(m, merges, is_wide, reached, upper)

        # The stream whose turn it is.
        m.submodules.maker = maker = RunMaker(
            self._lanes, self._rows_of_store, self._streams, self._address_bits
        )
        todo, done, turn, row = self._choose_turn(m, merges, maker.covers)

        m.submodules.divider = divider = LaneDivider(self._lanes)
        has_slot = used != layer.slots
        iterates, ends_fiber, turns = self._progress(m, merges, is_busy, in_use, todo, has_slot)
        m.d.comb += self.waits_slot.eq(iterates & ~has_slot)
        # Lanes whose turn it is.
        its_turn = Signal(self._lanes)
        m.d.comb += its_turn.eq(Mux(merges, turns << self.turn.lane, in_use))
        values, operands_a, operands_b = self._values(
            m, row, turn, its_turn, merges, fiber, inductions, divider, maker.address
        )
        is_memory = row.kind == StreamKind.MEMORY
        is_address = row.kind == StreamKind.ADDRESS
        is_beyond = is_address & maker.is_beyond
        wiring.connect(m, maker.runs, wiring.flipped(self.runs))
        lanes_in_use = Signal(range(self._lanes + 1))
        m.d.comb += [
            lanes_in_use.eq(Mux(merges, 1, sum(in_use[1:], in_use[0]))),
            maker.first.eq(Mux(merges, self.turn.lane, 0)),
            maker.row.eq(row),
            maker.turn.eq(turn),
            maker.asks.eq(turns & is_memory),
            maker.lanes_in_use.eq(lanes_in_use),
            maker.is_single.eq(layer.mode == Mode.SINGLE),
            maker.is_wide.eq(is_wide),
            maker.has_unit_stride.eq((unit.stride == 1) & ~merges),
            maker.left.eq(upper - index),
            maker.free_slots.eq(layer.slots - used),
            maker.slots.eq(layer.slots),
            maker.slot.eq(slot.slot),
            maker.phase.eq(slot.phase),
            *(maker.a[lane].eq(value) for lane, value in enumerate(operands_a)),
            *(maker.b[lane].eq(value) for lane, value in enumerate(operands_b)),
            self.fault.eq(maker.fault | (turns & is_beyond)),
            self.faulty.eq(turn),
        ]
        did, divides, has_value = Signal(), Signal(), Signal()
        m.d.comb += [
            divides.eq(turns & (row.kind == StreamKind.ALU) & is_division(row.operation)),
            divider.asks.eq(divides),
            divider.wants_remainder.eq(row.operation == AluOperation.MOD),
            divider.first.eq(maker.first),
            divider.lanes_in_use.eq(lanes_in_use),
            divider.taken.eq(did),
            *(divider.a[lane].eq(value) for lane, value in enumerate(operands_a)),
            *(divider.b[lane].eq(value) for lane, value in enumerate(operands_b)),
            has_value.eq(turns & ~is_memory & ~is_beyond & (~divides | divider.done)),
            did.eq(Mux(is_memory, turns & maker.has_all, has_value & (~row.queued | self.granted))),
            self.write.phase.eq(slot.phase),
            self.write_single.eq((layer.mode == Mode.SINGLE) | (is_wide & is_address)),
            self.turn.did.eq(did),
        ]
        goes_on = Signal()
        fills, to_fill, filling = self._fill(m, merges, in_use, goes_on)
        is_filled = Signal()
        m.d.comb += is_filled.eq(~to_fill.any())
        with m.If(has_value & row.queued):
            m.d.comb += [
                self.write.lanes.eq(Mux(is_wide & ~is_address, ~0, its_turn)),
                self.write.row.eq(slot.row(row.queue)),
                *self._written(in_use, values),
            ]
        with m.Elif(iterates & has_slot & to_fill.any()):
            is_merged = filling < 2
            m.d.comb += [
                fills.eq(1),
                is_filled.eq(self.granted & (to_fill == lowest_one(to_fill))),
                self.write.lanes.eq(Mux(is_merged, ~0, ~in_use)),
                self.write.row.eq(slot.row(Array(one.queue for one in self._rows())[filling])),
                *self._written(
                    in_use, [Mux(filling == 0, each, merged.coordinate) for each in inductions]
                ),
            ]

        # The iteration ends with its last stream, the fiber when no lane has anything left.
        is_last = Mux(
            merges,
            self.turn.is_over | (self.turn.is_last & did),
            (todo == lowest_one(todo)) & (did | ~todo.any()),
        )
        ends_iteration = iterates & has_slot & is_last & is_filled
        step = Mux(is_wide, unit.stride * self._lanes, unit.stride)
        following = Signal(signed(34))
        is_end = Signal()
        m.d.comb += [
            following.eq(index + step),
            is_end.eq(ends_fiber | (~merges & (following >= upper))),
            self.steps.valid.eq(ends_iteration | ends_fiber),
            self.steps.payload.is_end.eq(is_end),
            self.steps.payload.lanes.eq(Mux(ends_fiber, 0, in_use)),
            self.context.ready.eq(~is_busy | (self.steps.valid & self.steps.ready & is_end)),
            self.merged.ready.eq(self.steps.valid & self.steps.ready & merges),
        ]
        m.d.comb += [
            goes_on.eq(ends_iteration & self.steps.ready),
            maker.skipped.eq(Mux(goes_on, maker.covers & ~done, 0)),
        ]
        with m.If(goes_on):
            m.d.sync += [index.eq(following), done.eq(0)]
            slot.advance()
        with m.Elif(did):
            m.d.sync += done.eq(done | lowest_one(todo))
        m.d.sync += used.eq(used + goes_on - self.release)
        self._begin(m, is_busy, index, upper, fiber)
        return m

    def _lanes_of(
        self, m: Module, merges: Signal, is_wide: Signal, reached: list[Value], upper: Signal
    ) -> tuple[list[Signal], Signal]:
        """Lanes' induction variables, and which of them are in use."""
        merged = self.merged.payload
        inductions = [Signal(signed(32), name=f"induction_{lane}") for lane in range(self._lanes)]
        in_use = Signal(self._lanes)
        for lane, induction in enumerate(inductions):
            with m.If(merges):
                m.d.comb += [
                    induction.eq(merged.positions[lane]),
                    in_use[lane].eq(merged.lanes[lane]),
                ]
            with m.Else():
                m.d.comb += [
                    induction.eq(reached[lane]),
                    in_use[lane].eq((reached[lane] < upper) & (is_wide if lane else 1)),
                ]
        return inductions, in_use

    def _choose_turn(
        self, m: Module, merges: Signal, covers: Value
    ) -> tuple[Signal, Signal, Signal, Any]:
        """Streams that have work to do in an iteration, and have done it; the one whose turn it is,
        and its row."""
        works = Cat(
            (row.kind == StreamKind.MEMORY)
            | (row.kind == StreamKind.ALU)
            | (row.kind == StreamKind.FORWARD)
            | (row.kind == StreamKind.ADDRESS)
            | ((row.kind == StreamKind.INDUCTION) & row.queued)
            for row in self._rows()
        )
        done = Signal(self._streams)
        todo = Signal(self._streams)
        turn = Signal(range(self._streams))
        row = Signal(STREAM)
        m.d.comb += [
            todo.eq(works & ~done & ~covers),
            turn.eq(Mux(merges, self.turn.stream, position(lowest_one(todo)))),
            row.eq(
                Mux(
                    merges,
                    self.turn.row.as_value(),
                    Array(one.as_value() for one in self._rows())[turn],
                )
            ),
        ]
        return todo, done, turn, row

    def _progress(
        self,
        m: Module,
        merges: Signal,
        is_busy: Signal,
        in_use: Signal,
        todo: Signal,
        has_slot: Value,
    ) -> tuple[Signal, Signal, Signal]:
        """Whether there is an iteration, or the end of a fiber, and whether a stream has its turn
        in it."""
        merged = self.merged.payload
        iterates, ends_fiber, turns = Signal(), Signal(), Signal()
        with m.If(merges):
            m.d.comb += [
                iterates.eq(self.merged.valid & ~merged.is_end),
                ends_fiber.eq(self.merged.valid & merged.is_end),
                turns.eq(iterates & has_slot & self.turn.valid),
            ]
        with m.Else():
            m.d.comb += [
                iterates.eq(is_busy & in_use[0]),
                ends_fiber.eq(is_busy & ~in_use[0]),
                turns.eq(iterates & has_slot & todo.any()),
            ]
        return iterates, ends_fiber, turns

    def _written(self, in_use: Signal, values: Sequence[Value]) -> list[Any]:
        """Statements that write lanes' words."""
        return [
            self.write.data[lane].eq(Mux(in_use[lane], value, 0))
            for lane, value in enumerate(values)
        ]

    def _rows(self) -> list[Any]:
        return [self.descriptors[number] for number in range(self._streams)]

    def _begin(self, m: Module, is_busy: Signal, index: Signal, upper: Signal, fiber: Any) -> None:
        """Takes the next fiber's context, which is ready where the one before ends."""
        context = self.context
        end = Signal(32)
        offset = Mux(self.unit.accumulates, end, 0)
        with m.If(context.valid & context.ready):
            m.d.comb += self.disorder.eq(
                self.unit.ordered
                & (context.payload.upper.as_signed() < context.payload.lower.as_signed())
            )
            m.d.sync += [
                is_busy.eq(1),
                fiber.eq(context.payload),
                index.eq(context.payload.lower + offset),
                upper.eq(context.payload.upper + offset),
                end.eq(Mux(context.payload.is_last, 0, context.payload.upper + offset)),
            ]
        with m.Else():
            with m.If(context.ready):
                m.d.sync += is_busy.eq(0)
            with m.If(self.ends_around):
                m.d.sync += end.eq(0)

    def _fill(
        self, m: Module, merges: Signal, in_use: Signal, goes_on: Signal
    ) -> tuple[Signal, Signal, Signal]:
        """What is written of a merged iteration besides its turns: what is merged, and 0 to
        lanes that are not in use, so that all have their word.

        Gives whether it is written, to be set; the streams it is to be done for; and the first.
        """
        fills = Signal()
        wanted, filled, left = (Signal(self._streams) for _ in range(3))
        some_lack = Cat(
            (lane < self.layer.units) & ~in_use[lane] for lane in range(self._lanes)
        ).any()
        with m.If(merges):
            is_merged = Const(3, self._streams)
            m.d.comb += wanted.eq(self.queued & (is_merged | some_lack.replicate(self._streams)))
        m.d.comb += left.eq(wanted & ~filled)
        with m.If(goes_on):
            m.d.sync += filled.eq(0)
        with m.Elif(fills & self.granted):
            m.d.sync += filled.eq(filled | lowest_one(left))
        first = Signal(range(self._streams))
        m.d.comb += first.eq(position(lowest_one(left)))
        return fills, left, first

    def _values(
        self,
        m: Module,
        row: Any,
        turn: Value,
        its_turn: Signal,
        merges: Signal,
        fiber: Any,
        inductions: list[Signal],
        divider: LaneDivider,
        address: Value,
    ) -> tuple[list[Signal], list[Signal], list[Signal]]:
        """Value and operands of the stream whose turn it is, lane by lane. ``address``: the value
        of an ``ADDRESS``."""
        signals: tuple[list[Signal], list[Signal], list[Signal]] = ([], [], [])
        a_around, b_around = Signal(32), Signal(32)
        m.d.comb += [
            a_around.eq(Mux(merges, self.turn.a, Array(fiber.a)[turn])),
            b_around.eq(Mux(merges, self.turn.b, Array(fiber.b)[turn])),
        ]
        for lane, induction in enumerate(inductions):
            earlier = [induction[:32]] + [
                Signal(32, name=f"own_{lane}_{n}") for n in range(1, self._streams)
            ]
            coordinate = Mux(merges, self.merged.payload.coordinate, earlier[1])
            known = Array([earlier[0], coordinate, *earlier[2:]])
            a, b = Signal(32, name=f"a_{lane}"), Signal(32, name=f"b_{lane}")
            value = Signal(32, name=f"value_{lane}")
            result = integer_alu(m, f"result_{lane}", row.operation, a, b)
            m.d.comb += [
                a.eq(Mux(row.a.source == Source.OWN, known[row.a.stream], a_around)),
                b.eq(Mux(row.b.source == Source.OWN, known[row.b.stream], b_around)),
            ]
            with m.Switch(row.kind):
                with m.Case(StreamKind.INDUCTION):
                    m.d.comb += value.eq(induction)
                with m.Case(StreamKind.FORWARD):
                    m.d.comb += value.eq(a)
                with m.Case(StreamKind.ADDRESS):
                    m.d.comb += value.eq(address)
                with m.Case(StreamKind.ALU):
                    with m.If(is_division(row.operation)):
                        m.d.comb += value.eq(divider.values[lane])
                    with m.Else():
                        m.d.comb += value.eq(result)
            for number in range(1, self._streams):
                with m.If(its_turn[lane] & (turn == number)):
                    m.d.sync += earlier[number].eq(value)
            for values, one in zip(signals, (value, a, b), strict=True):
                values.append(one)
        return signals
