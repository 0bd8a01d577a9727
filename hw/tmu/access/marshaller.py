"""Walks the nest in its order, and does what its events say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.tmu.access.step_unit import StepUnit, store_layout
from gnarl.hw.tmu.access.steps import SlotCounter, step_layout
from gnarl.hw.tmu.access.stream_store import read_signature
from gnarl.hw.tmu.access_isa import EVENT, EVENT_STEPS, LAYER, STEPS, Event, EventKind, Mode

WAITS = ("waits_words", "waits_data_room", "waits_token_room", "waits_store")
"""Waits of ``StepUnit``."""


class _At(enum.Enum):
    """The position of the walk in a layer: before its loop, at an iteration or an end that has
    none, in between while it looks at the stream whose changes are events, or behind the last
    iteration."""

    BEGIN = 0
    LOOP = 1
    LOOK = 2
    TOGGLE = 3
    END = 4


@dataclass(frozen=True)
class _Walk:
    """Where the walk is: the ``place`` of a layer, where it is ``at`` there, and whether it has
    ``finished``; rows of that layer and the one inside, the steps at the layer's head, if it
    ``has_head``."""

    place: Signal
    at: Signal
    finished: Signal
    layer: Any
    inner: Any
    head: Any
    has_head: Signal
    is_innermost: Signal


class Marshaller(wiring.Component):
    """A step of an event a cycle, a store two; an event without steps a cycle.

    No cycle of their own have an ``END`` of the innermost layer that is empty, or a token behind
    a word or vector, for which there is room; and all but the first of a loop's ``ITERATION`` that
    are empty, with nothing at the begin of the loop inside either. So a vector takes a cycle in
    loops of any length. What is put into a queue has been read a cycle before. A step that names a
    layer which is not in an iteration is never done.

    Members
    -------
    layers, events, depth
        in: rows, and the number of layers in use; nothing happens before there is one.
    queues
        in: the first row of the queue of each stream of each layer.
    singles
        of ``StepUnit``.
    steps
        in: a stream of ``step_layout`` for each layer.
    back
        out: a ``read_signature``.
    release
        out: for each layer, its oldest iteration is over.
    put, put_vector, put_data, room, token, token_room, store
        of ``StepUnit``.
    done
        out: the outermost loop has ended, all is put, and stores are taken.
    waits_iteration
        out: nothing is done, because it is not known yet whether there is another iteration.
    waits
        out: a bit for each of ``WAITS``.
    """

    def __init__(
        self,
        layers: int,
        lanes: int,
        rows: int,
        streams: int,
        token_bits: int,
        address_bits: int,
    ) -> None:
        self._layers = layers
        self._lanes = lanes
        self._token_bits = token_bits
        self._unit = StepUnit(layers, lanes, rows, streams, token_bits, address_bits)
        super().__init__(
            {
                "layers": In(data.ArrayLayout(LAYER, layers)),
                "events": In(data.ArrayLayout(EVENT, EVENT_STEPS)),
                "depth": In(range(layers + 1)),
                "queues": In(data.ArrayLayout(data.ArrayLayout(range(rows), streams), layers)),
                "singles": In(data.ArrayLayout(streams, layers)),
                "steps": In(stream.Signature(step_layout(lanes))).array(layers),
                "back": Out(read_signature(lanes, rows)),
                "release": Out(layers),
                "put": Out(1),
                "put_vector": Out(1),
                "put_data": Out(data.ArrayLayout(unsigned(32), lanes)),
                "room": In(32),
                "token": Out(stream.Signature(unsigned(token_bits))),
                "token_room": In(32),
                "store": Out(stream.Signature(store_layout(lanes, address_bits))),
                "done": Out(1),
                "waits_iteration": Out(1),
                "waits": Out(len(WAITS)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.unit = unit = self._unit
        self._connect_unit(m)
        walk = self._walk(m)
        event, happens = self._next_event(m, walk)
        looks, has_changed = self._look(m, walk, happens & (walk.at == _At.LOOP))
        event_ends = self._do_step(m, walk, event, happens, looks)
        self._go_on(m, walk, event, event_ends, looks, has_changed)
        m.d.comb += self.done.eq(walk.finished & unit.idle)
        return m

    def _walk(self, m: Module) -> _Walk:
        place = Signal(range(self._layers))
        at = Signal(_At)
        finished = Signal()
        layer, inner = Signal(LAYER), Signal(LAYER)
        head = Signal(step_layout(self._lanes))
        has_head, is_innermost = Signal(), Signal()
        rows = Array(self.layers[number].as_value() for number in range(self._layers))
        m.d.comb += [
            layer.eq(rows[place]),
            inner.eq(rows[(place + 1)[: len(place)]]),
            head.eq(Array(steps.payload.as_value() for steps in self.steps)[place]),
            has_head.eq(Array(steps.valid for steps in self.steps)[place]),
            is_innermost.eq(place + 1 == self.depth),
        ]
        return _Walk(place, at, finished, layer, inner, head, has_head, is_innermost)

    def _do_step(
        self, m: Module, walk: _Walk, event: Signal, happens: Signal, looks: Signal
    ) -> Signal:
        """Does the steps of an event one after the other, or ``looks`` at a stream; whether the
        event ends."""
        unit, head = self._unit, walk.head
        step_number = Signal(8)
        steps = Signal(STEPS)
        step = Signal(EVENT)
        m.d.comb += [
            steps.eq(Array(each.as_value() for each in walk.layer.steps)[event]),
            step.eq(self._event(steps.first + step_number)),
        ]
        is_empty = steps.count == 0
        is_last = step_number + 1 == steps.count
        ends_loop, event_ends, has_value = Signal(), Signal(), Signal()
        m.d.comb += [
            ends_loop.eq((event == Event.ITERATION) & walk.is_innermost & head.is_end),
            has_value.eq(
                (step.kind == EventKind.TOKEN)
                | (step.layer < walk.place + event.matches(Event.TOGGLE, Event.ITERATION))
            ),
            unit.asks.eq(looks | (happens & ~is_empty & has_value)),
            unit.looks.eq(looks),
            unit.step.eq(step),
            unit.has_tail.eq(ends_loop & (is_empty | is_last)),
            event_ends.eq(happens & ~looks & (is_empty | (unit.can & is_last))),
            self.waits_iteration.eq(
                (walk.at == _At.LOOP) & ~walk.has_head & ~walk.finished & (self.depth != 0)
            ),
            self.waits.eq(Cat(getattr(unit, name) for name in WAITS)),
        ]
        with m.If(looks):
            m.d.comb += [
                unit.step.kind.eq(EventKind.WORD),
                unit.step.layer.eq(walk.place),
                unit.step.lane.eq(0),
                unit.step.stream.eq(walk.layer.toggle),
            ]
        with m.If(event_ends):
            m.d.sync += step_number.eq(0)
        with m.Elif(unit.can & ~looks):
            m.d.sync += step_number.eq(step_number + 1)
        return event_ends

    def _go_on(
        self,
        m: Module,
        walk: _Walk,
        event: Signal,
        event_ends: Signal,
        looks: Signal,
        has_changed: Signal,
    ) -> None:
        """What comes behind a step."""
        unit, place, at, head = self._unit, walk.place, walk.at, walk.head
        here = Signal(self._layers)
        popped, released = Signal(self._layers), Signal(self._layers)
        leaves = Signal()
        m.d.comb += here.eq(1 << place)
        begins = walk.inner.steps[Event.BEGIN.value].count != 0
        with m.If(at == _At.LOOK):
            m.d.sync += at.eq(Mux(has_changed, _At.TOGGLE, _At.LOOP))
        with m.Elif(looks):
            with m.If(unit.can):
                m.d.sync += at.eq(_At.LOOK)
        with m.Elif(event_ends):
            m.d.sync += at.eq(_At.LOOP)
            with m.If((event == Event.ITERATION) & walk.is_innermost):
                m.d.comb += [
                    released.eq(here),
                    popped.eq(Mux(head.is_end, 0, here)),
                    leaves.eq(unit.did_tail),
                ]
                with m.If(head.is_end & ~unit.did_tail):
                    m.d.sync += at.eq(_At.END)
            with m.Elif(event == Event.ITERATION):
                m.d.sync += place.eq(place + 1)
                with m.If(begins):
                    m.d.sync += at.eq(_At.BEGIN)
            with m.Elif(event == Event.END):
                m.d.comb += leaves.eq(1)
        self._leave(m, walk, leaves, here, popped, released)

    def _next_event(self, m: Module, walk: _Walk) -> tuple[Signal, Signal]:
        """The event at a place of the walk, and whether it happens."""
        at = walk.at
        event = Signal(Event)
        happens = Signal()
        with m.If(at == _At.LOOP):
            m.d.comb += [
                event.eq(Mux(walk.head.lanes.any(), Event.ITERATION, Event.END)),
                happens.eq(walk.has_head & ~walk.finished),
            ]
        with m.Elif(at == _At.END):
            m.d.comb += [event.eq(Event.END), happens.eq(1)]
        with m.Elif(at != _At.LOOK):
            m.d.comb += [
                event.eq(Mux(at == _At.BEGIN, Event.BEGIN, Event.TOGGLE)),
                happens.eq(self.depth != 0),
            ]
        return event, happens

    def _connect_unit(self, m: Module) -> None:
        """Each layer's current iteration, and what comes behind the innermost's, which stays the
        same."""
        unit = self._unit
        for name in ("back", "token", "store"):
            wiring.connect(m, getattr(unit, name), wiring.flipped(getattr(self, name)))
        for number, steps in enumerate(self.steps):
            slot = SlotCounter(m, f"layer_{number}", self.layers[number].slots)
            with m.If(self.release[number]):
                slot.advance()
            m.d.comb += [
                unit.slots[number].eq(slot.slot),
                unit.phases[number].eq(slot.phase),
                unit.lanes[number].eq(steps.payload.lanes),
            ]
        innermost = Signal(range(self._layers))
        ends, tail = Signal(STEPS), Signal(EVENT)
        m.d.comb += [
            unit.queues.eq(self.queues),
            unit.singles.eq(self.singles),
            unit.room.eq(self.room),
            unit.token_room.eq(self.token_room),
            self.put.eq(unit.put),
            self.put_vector.eq(unit.put_vector),
            self.put_data.eq(unit.put_data),
            innermost.eq(self.depth - 1),
            ends.eq(
                Array(
                    self.layers[number].steps[Event.END.value].as_value()
                    for number in range(self._layers)
                )[innermost]
            ),
            tail.eq(self._event(ends.first)),
        ]
        m.d.sync += [
            unit.tail.is_empty.eq(ends.count == 0),
            unit.tail.is_token.eq((ends.count == 1) & (tail.kind == EventKind.TOKEN)),
            unit.tail.token.eq(tail.token),
        ]

    def _event(self, number: Value) -> Value:
        rows = Array(self.events[row].as_value() for row in range(EVENT_STEPS))
        return rows[number[: (EVENT_STEPS - 1).bit_length()]]

    def _leave(
        self,
        m: Module,
        walk: _Walk,
        leaves: Signal,
        here: Value,
        popped: Value,
        released: Value,
    ) -> None:
        """Ends an iteration of the layer around, where the walk ``leaves`` a loop.

        If another one comes, and nothing happens before it is in this loop again, it stays here;
        whose next iteration is known only long after that around.
        """
        place, at = walk.place, walk.at
        ends_around, stays = Signal(), Signal()
        pops, passed_by = Signal(self._layers), Signal(self._layers)
        for number in range(self._layers - 1):
            layer, inner = self.layers[number], self.layers[number + 1]
            counts = (
                layer.steps[Event.ITERATION.value].count,
                layer.steps[Event.TOGGLE.value].count,
                inner.steps[Event.BEGIN.value].count,
            )
            m.d.sync += passed_by[number].eq(
                Cat(count == 0 for count in counts).all()
                & layer.mode.matches(Mode.SINGLE, Mode.LOCKSTEP)
            )
        ends = [steps.payload.is_end for steps in self.steps]
        around = here >> 1
        m.d.comb += [
            ends_around.eq(_around(ends)[place]),
            stays.eq(_around([*passed_by])[place]),
            pops.eq(popped | Mux(leaves, here | Mux(ends_around, 0, around), 0)),
            self.release.eq(released | Mux(leaves, around, 0)),
        ]
        with m.If(leaves & (place == 0)):
            m.d.sync += walk.finished.eq(1)
        with m.Elif(leaves & ends_around):
            m.d.sync += [at.eq(_At.END), place.eq(place - 1)]
        with m.Elif(leaves & ~stays):
            m.d.sync += place.eq(place - 1)
        for number, steps in enumerate(self.steps):
            m.d.comb += steps.ready.eq(pops[number])

    def _look(self, m: Module, walk: _Walk, is_next: Value) -> tuple[Signal, Signal]:
        """Whether the stream whose changes are events is to be read before an iteration, and
        whether the word that has been read is another than the last one."""
        place, layer = walk.place, walk.layer
        looks, has_changed = Signal(), Signal()
        # Of each layer: this iteration's word has been compared; the last one's is known.
        compared, known = Signal(self._layers), Signal(self._layers)
        lasts = Array(Signal(32, name=f"last_{number}") for number in range(self._layers))
        m.d.comb += [
            looks.eq(
                is_next
                & walk.head.lanes.any()
                & (layer.steps[Event.TOGGLE.value].count != 0)
                & ~Array(compared)[place]
            ),
            has_changed.eq(~Array(known)[place] | (lasts[place] != self.back.data[0])),
        ]
        was_looking = Signal()
        m.d.sync += was_looking.eq(looks & self.back.enable)
        with m.If(was_looking):
            m.d.sync += [
                lasts[place].eq(self.back.data[0]),
                Array(compared)[place].eq(1),
                Array(known)[place].eq(1),
            ]
        for number, steps in enumerate(self.steps):
            with m.If(steps.valid & steps.ready):
                m.d.sync += compared[number].eq(0)
                with m.If(steps.payload.is_end):
                    m.d.sync += known[number].eq(0)
        return looks, has_changed


def _around(values: list[Value]) -> Array[Value]:
    """Values of the layer around, by the index of a layer; any value for the outermost."""
    return Array([values[-1], *values[:-1]])
