"""Walks the nest in its order, and puts what its events say into the queues."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.tmu.access.steps import SLOT_BITS, SlotCounter, step_layout
from hw.tmu.access.stream_store import read_signature
from hw.tmu.access_isa import EVENT, EVENT_STEPS, LAYER, STEPS, Event, EventKind


class _At(enum.Enum):
    """Where the walk is in a layer: before its loop, at an iteration or the end, or in between
    while it looks at the stream whose changes are events."""

    BEGIN = 0
    LOOP = 1
    LOOK = 2
    TOGGLE = 3


def store_layout(lanes: int, address_bits: int) -> data.StructLayout:
    """Words of ``lanes`` for memory, that of lane k for address ``address`` + k."""
    return data.StructLayout(
        {
            "address": unsigned(address_bits),
            "lanes": unsigned(lanes),
            "data": data.ArrayLayout(unsigned(32), lanes),
        }
    )


class Marshaller(wiring.Component):
    """A step of an event a cycle, a store two; events without steps take a cycle only at the end of
    a loop.

    An iteration of the innermost layer with one step takes one cycle. What is put into a queue has
    been read a cycle before.

    Members
    -------
    layers, events, depth
        in: rows, and the number of layers in use; nothing happens before there is one.
    queues
        in: the first row of the queue of each stream of each layer.
    steps
        in: a stream of ``step_layout`` for each layer.
    back
        out: a ``read_signature``.
    release
        out: for each layer, its oldest iteration is over.
    put, put_vector, put_data, room
        a ``DataQueue``'s.
    token
        out: a stream of tokens; ``token_room`` in: how many it takes at least.
    store
        out: a stream of ``store_layout``.
    done
        out: the outermost loop has ended, all is put, and stores are taken.
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
        self._rows = rows
        self._streams = streams
        vector = data.ArrayLayout(unsigned(32), lanes)
        super().__init__(
            {
                "layers": In(data.ArrayLayout(LAYER, layers)),
                "events": In(data.ArrayLayout(EVENT, EVENT_STEPS)),
                "depth": In(range(layers + 1)),
                "queues": In(data.ArrayLayout(data.ArrayLayout(range(rows), streams), layers)),
                "steps": In(stream.Signature(step_layout(lanes))).array(layers),
                "back": Out(read_signature(lanes, rows)),
                "release": Out(layers),
                "put": Out(1),
                "put_vector": Out(1),
                "put_data": Out(vector),
                "room": In(32),
                "token": Out(stream.Signature(unsigned(token_bits))),
                "token_room": In(32),
                "store": Out(stream.Signature(store_layout(lanes, address_bits))),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        place = Signal(range(self._layers))
        at = Signal(_At)
        step_number = Signal(8)
        finished = Signal()
        self._stores = Signal()  # a store's words have been read
        slots = [
            SlotCounter(m, f"layer_{number}", self.layers[number].slots)
            for number in range(self._layers)
        ]
        layer, inner = Signal(LAYER), Signal(LAYER)
        head = Signal(step_layout(self._lanes))
        has_head = Signal()
        rows = Array(self.layers[number].as_value() for number in range(self._layers))
        m.d.comb += [
            layer.eq(rows[place]),
            inner.eq(rows[(place + 1)[: len(place)]]),
            head.eq(Array(steps.payload.as_value() for steps in self.steps)[place]),
            has_head.eq(Array(steps.valid for steps in self.steps)[place]),
        ]

        # The event, its step, and whether that can be done now.
        event = Signal(Event)
        happens = Signal()
        with m.If(at == _At.LOOP):
            m.d.comb += [
                event.eq(Mux(head.is_end, Event.END, Event.ITERATION)),
                happens.eq(has_head & ~finished),
            ]
        with m.Elif(at != _At.LOOK):
            m.d.comb += [
                event.eq(Mux(at == _At.BEGIN, Event.BEGIN, Event.TOGGLE)),
                happens.eq(self.depth != 0),
            ]
        looks, has_changed = self._look(m, place, layer, head, happens & (at == _At.LOOP))
        steps = Signal(STEPS)
        step = Signal(EVENT)
        numbers = range(EVENT_STEPS)
        m.d.comb += [
            steps.eq(Array(each.as_value() for each in layer.steps)[event]),
            step.eq(
                Array(self.events[number].as_value() for number in numbers)[
                    (steps.first + step_number)[: (EVENT_STEPS - 1).bit_length()]
                ]
            ),
        ]
        is_empty = steps.count == 0
        can = self._do(m, step, happens & ~looks & ~is_empty, looks, layer, place, slots)
        event_ends = Signal()
        m.d.comb += event_ends.eq(
            happens & ~looks & (is_empty | (can & (step_number + 1 == steps.count)))
        )
        with m.If(event_ends):
            m.d.sync += step_number.eq(0)
        with m.Elif(can & ~looks):
            m.d.sync += step_number.eq(step_number + 1)

        # What comes behind it.
        here = Signal(self._layers)
        pops = Signal(self._layers)
        m.d.comb += here.eq(1 << place)
        begins = inner.steps[Event.BEGIN.value].count != 0
        with m.If(at == _At.LOOK):
            m.d.sync += at.eq(Mux(has_changed, _At.TOGGLE, _At.LOOP))
        with m.Elif(looks):
            with m.If(can):
                m.d.sync += at.eq(_At.LOOK)
        with m.Elif(event_ends):
            m.d.sync += at.eq(_At.LOOP)
            with m.If((event == Event.ITERATION) & (place + 1 == self.depth)):
                m.d.comb += [pops.eq(here), self.release.eq(here)]
            with m.Elif(event == Event.ITERATION):
                m.d.sync += place.eq(place + 1)
                with m.If(begins):
                    m.d.sync += at.eq(_At.BEGIN)
            with m.Elif((event == Event.END) & (place == 0)):
                m.d.comb += pops.eq(here)
                m.d.sync += finished.eq(1)
            with m.Elif(event == Event.END):
                m.d.comb += [pops.eq(here | here >> 1), self.release.eq(here >> 1)]
                m.d.sync += place.eq(place - 1)
        for number, stream_of_steps in enumerate(self.steps):
            m.d.comb += stream_of_steps.ready.eq(pops[number])
            with m.If(self.release[number]):
                slots[number].advance()
        is_idle = ~self.put & ~self.token.valid & ~self.store.valid & ~self._stores
        m.d.comb += self.done.eq(finished & is_idle)
        return m

    def _look(
        self, m: Module, place: Signal, layer: Any, head: Any, is_next: Value
    ) -> tuple[Signal, Signal]:
        """When the stream whose changes are events is to be read before an iteration, and whether
        the word that has been read is another than the last one."""
        looks, has_changed = Signal(), Signal()
        # Of each layer: this iteration's word has been compared; the last one's is known.
        compared, known = Signal(self._layers), Signal(self._layers)
        lasts = Array(Signal(32, name=f"last_{number}") for number in range(self._layers))
        m.d.comb += [
            looks.eq(
                is_next
                & ~head.is_end
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

    def _do(
        self,
        m: Module,
        step: Any,
        does: Value,
        looks: Value,
        layer: Any,
        place: Signal,
        slots: list[SlotCounter],
    ) -> Signal:
        """Reads what a step, or a look at a stream, needs, and puts it into a queue a cycle later.

        Gives whether it can.
        """
        back = self.back
        of, number = Signal.like(place), Signal.like(step.stream)
        slot_rows = Array(Array(self.queues[each]) for each in range(self._layers))
        slot = Signal(SLOT_BITS)
        in_use, wanted = Signal(self._lanes), Signal(self._lanes)
        room, token_room = Signal(33), Signal(33)
        is_ready, can, reads = Signal(), Signal(), Signal()
        # A store's address is read before its words.
        is_store = ~looks & (step.kind == EventKind.STORE)
        has_address, reads_address = Signal(), Signal()
        m.d.comb += reads_address.eq(is_store & ~has_address)
        m.d.comb += [
            of.eq(Mux(looks, place, step.layer)),
            number.eq(Mux(looks, layer.toggle, Mux(reads_address, step.address, step.stream))),
            slot.eq(Array(each.slot for each in slots)[of]),
            back.row.eq(slot_rows[of][number] + slot),
            back.phase.eq(Array(each.phase for each in slots)[of]),
            in_use.eq(Array(steps.payload.lanes for steps in self.steps)[of]),
            room.eq(self.room - Mux(self.put, Mux(self.put_vector, self._lanes, 1), 0)),
            token_room.eq(self.token_room - self.token.valid),
        ]
        with m.If(looks):
            m.d.comb += [wanted.eq(1), is_ready.eq(1)]
        with m.Else():
            with m.Switch(step.kind):
                with m.Case(EventKind.WORD):
                    m.d.comb += [wanted.eq(1 << step.lane), is_ready.eq(room >= 1)]
                with m.Case(EventKind.VECTOR):
                    m.d.comb += [wanted.eq(in_use), is_ready.eq(room >= self._lanes)]
                with m.Case(EventKind.MASK):
                    m.d.comb += is_ready.eq(room >= 1)
                with m.Case(EventKind.TOKEN):
                    m.d.comb += is_ready.eq(token_room >= 1)
                with m.Case(EventKind.STORE):
                    m.d.comb += [
                        wanted.eq(Mux(reads_address, 1, in_use)),
                        is_ready.eq(reads_address | ~(self.store.valid | self._stores)),
                    ]
        m.d.comb += [
            reads.eq((does | looks) & is_ready & ((wanted & ~back.arrived) == 0)),
            can.eq(reads & ~reads_address),
            back.enable.eq(reads),
        ]

        kind = Signal(EventKind)
        is_put, lanes, token = Signal(), Signal(self._lanes), Signal.like(self.token.payload)
        lane = Signal(range(self._lanes))
        m.d.sync += [
            is_put.eq(can & ~looks),
            kind.eq(step.kind),
            lanes.eq(in_use),
            lane.eq(step.lane),
            token.eq(step.token),
        ]
        was_address = Signal()
        store = self.store
        address = Signal.like(store.payload.address)
        m.d.sync += was_address.eq(reads & reads_address)
        with m.If(reads & is_store):
            m.d.sync += has_address.eq(reads_address)
        with m.If(store.ready):
            m.d.sync += store.valid.eq(0)
        with m.If(was_address):
            m.d.sync += address.eq(back.data[0])
        with m.If(self._stores):
            m.d.sync += [
                store.valid.eq(1),
                store.payload.address.eq(address),
                store.payload.lanes.eq(lanes),
                store.payload.data.eq(back.data),
            ]
        m.d.comb += [
            self._stores.eq(is_put & (kind == EventKind.STORE)),
            self.put.eq(is_put & (kind != EventKind.TOKEN) & (kind != EventKind.STORE)),
            self.put_vector.eq(kind == EventKind.VECTOR),
            self.token.valid.eq(is_put & (kind == EventKind.TOKEN)),
            self.token.payload.eq(token),
        ]
        words = Array(back.data[each] for each in range(self._lanes))
        with m.If(kind == EventKind.VECTOR):
            for each in range(self._lanes):
                m.d.comb += self.put_data[each].eq(Mux(lanes[each], words[each], 0))
        with m.Else():
            m.d.comb += self.put_data[0].eq(Mux(kind == EventKind.MASK, lanes, words[lane]))
        return can
