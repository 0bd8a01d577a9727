"""Does the steps of events: what they name goes from streams' queues to the queues behind."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.tmu.access.steps import SLOT_BITS
from gnarl.hw.tmu.access.stream_store import read_signature
from gnarl.hw.tmu.access_isa import EVENT, EventKind


def store_layout(lanes: int, address_bits: int) -> data.StructLayout:
    """Words of ``lanes`` for memory, that of lane k for address ``address`` + k."""
    return data.StructLayout(
        {
            "address": unsigned(address_bits),
            "lanes": unsigned(lanes),
            "data": data.ArrayLayout(unsigned(32), lanes),
        }
    )


def tail_layout(token_bits: int) -> data.StructLayout:
    """What may go with the step before it: nothing at all, or a token."""
    return data.StructLayout(
        {"is_empty": unsigned(1), "is_token": unsigned(1), "token": unsigned(token_bits)}
    )


class StepUnit(wiring.Component):
    """A step a cycle, a store two: read in one cycle, put into a queue in the next.

    Members
    -------
    asks, step
        in: a row of ``EVENT`` is to be done, until ``can``, out.
    looks
        in: its word is to be read, and put nowhere; it is in ``back.data`` a cycle later.
    has_tail, tail
        in: a ``tail_layout`` comes behind it; ``did_tail``, out, with ``can``: is done with it.
    queues
        in: the first row of the queue of each stream of each layer.
    singles
        in: of each layer, the streams with one word for all lanes.
    slots, phases, lanes
        in: of each layer's current iteration: the slot and its phase, and the lanes in use.
    back
        out: a ``read_signature``.
    put, put_vector, put_data, room
        a ``DataQueue``'s.
    token
        out: a stream of tokens; ``token_room`` in: how many it takes at least.
    store
        out: a stream of ``store_layout``.
    idle
        out: all is put, and stores are taken.
    waits_words, waits_data_room, waits_token_room, waits_store
        out: a step is not done, for want of its words; of room in the data queue, in the control
        queue; or because the stores before are not taken yet.
    """

    def __init__(
        self, layers: int, lanes: int, rows: int, streams: int, token_bits: int, address_bits: int
    ) -> None:
        self._layers = layers
        self._lanes = lanes
        vector = data.ArrayLayout(unsigned(32), lanes)
        super().__init__(
            {
                "asks": In(1),
                "step": In(EVENT),
                "looks": In(1),
                "can": Out(1),
                "has_tail": In(1),
                "tail": In(tail_layout(token_bits)),
                "did_tail": Out(1),
                "queues": In(data.ArrayLayout(data.ArrayLayout(range(rows), streams), layers)),
                "singles": In(data.ArrayLayout(streams, layers)),
                "slots": In(data.ArrayLayout(SLOT_BITS, layers)),
                "phases": In(layers),
                "lanes": In(data.ArrayLayout(lanes, layers)),
                "back": Out(read_signature(lanes, rows)),
                "put": Out(1),
                "put_vector": Out(1),
                "put_data": Out(vector),
                "room": In(32),
                "token": Out(stream.Signature(unsigned(token_bits))),
                "token_room": In(32),
                "store": Out(stream.Signature(store_layout(lanes, address_bits))),
                "idle": Out(1),
                "waits_words": Out(1),
                "waits_data_room": Out(1),
                "waits_token_room": Out(1),
                "waits_store": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        step, back = self.step, self.back
        layout = store_layout(self._lanes, len(self.store.payload.address))
        m.submodules.stores = queue = Queue(layout, 2)
        store = queue.i
        wiring.connect(m, queue.o, wiring.flipped(self.store))
        of = Signal(range(self._layers))
        in_use, wanted = Signal(self._lanes), Signal(self._lanes)
        room, token_room = Signal(33), Signal(33)
        lacks_data_room, lacks_token_room, lacks_store, lacks_words = (Signal() for _ in range(4))
        reads, puts_data, puts_tail = Signal(), Signal(), Signal()
        # A store's address is read before its words: so no store is on its way when these are read.
        is_store = step.kind == EventKind.STORE
        has_address, reads_address = Signal(), Signal()
        number = Mux(reads_address, step.address, step.stream)
        slots = Array(self.slots[layer] for layer in range(self._layers))
        m.d.comb += [
            reads_address.eq(is_store & ~has_address),
            of.eq(step.layer),
            back.row.eq(Array(Array(rows) for rows in self.queues)[of][number] + slots[of]),
            back.phase.eq(Array(self.phases)[of]),
            back.single.eq(Array(Array(streams) for streams in self.singles)[of][number]),
            in_use.eq(Array(self.lanes[layer] for layer in range(self._layers))[of]),
            room.eq(self.room - Mux(self.put, Mux(self.put_vector, self._lanes, 1), 0)),
            token_room.eq(self.token_room - self.token.valid),
        ]
        with m.Switch(step.kind):
            with m.Case(EventKind.WORD):
                m.d.comb += [
                    wanted.eq(1 << step.lane),
                    puts_data.eq(~self.looks),
                    lacks_data_room.eq(~self.looks & (room == 0)),
                ]
            with m.Case(EventKind.VECTOR):
                m.d.comb += [
                    wanted.eq(in_use),
                    puts_data.eq(1),
                    lacks_data_room.eq(room < self._lanes),
                ]
            with m.Case(EventKind.MASK):
                m.d.comb += [puts_data.eq(1), lacks_data_room.eq(room == 0)]
            with m.Case(EventKind.TOKEN):
                m.d.comb += lacks_token_room.eq(token_room == 0)
            with m.Case(EventKind.STORE):
                m.d.comb += [
                    wanted.eq(Mux(reads_address, 1, in_use)),
                    lacks_store.eq(~reads_address & ~store.ready),
                ]
        m.d.comb += [
            lacks_words.eq((wanted & ~back.arrived).any()),
            reads.eq(
                self.asks & ~(lacks_data_room | lacks_token_room | lacks_store) & ~lacks_words
            ),
            self.can.eq(reads & ~reads_address),
            back.enable.eq(reads),
            # Behind no step there is no cycle in which it could be put.
            puts_tail.eq(self.tail.is_token & self.asks & puts_data),
            self.did_tail.eq(
                self.has_tail & (self.tail.is_empty | (puts_tail & (token_room != 0)))
            ),
            self.waits_words.eq(self.asks & lacks_words),
            self.waits_data_room.eq(self.asks & ~lacks_words & lacks_data_room),
            self.waits_token_room.eq(self.asks & lacks_token_room),
            self.waits_store.eq(self.asks & ~lacks_words & lacks_store),
        ]

        lanes = self._put(m, in_use, puts_data)
        self._store(m, queue, reads, reads_address, has_address, lanes)
        return m

    def _put(self, m: Module, in_use: Signal, puts_data: Signal) -> Signal:
        """Puts what was read a cycle ago into the data queue, and tokens; the lanes in use then."""
        step, back = self.step, self.back
        kind = Signal(EventKind)
        is_put, lanes, lane = Signal(), Signal(self._lanes), Signal(range(self._lanes))
        is_token = step.kind == EventKind.TOKEN
        m.d.sync += [
            is_put.eq(self.can & puts_data),
            kind.eq(step.kind),
            lanes.eq(in_use),
            lane.eq(step.lane),
            self.token.valid.eq(self.can & (is_token | (self.did_tail & self.tail.is_token))),
            self.token.payload.eq(Mux(is_token, step.token, self.tail.token)),
        ]
        words = Array(back.data[each] for each in range(self._lanes))
        m.d.comb += [self.put.eq(is_put), self.put_vector.eq(kind == EventKind.VECTOR)]
        with m.If(kind == EventKind.VECTOR):
            for each in range(self._lanes):
                m.d.comb += self.put_data[each].eq(Mux(lanes[each], words[each], 0))
        with m.Else():
            m.d.comb += self.put_data[0].eq(Mux(kind == EventKind.MASK, lanes, words[lane]))
        return lanes

    def _store(
        self,
        m: Module,
        queue: Queue,
        reads: Signal,
        reads_address: Signal,
        has_address: Signal,
        lanes: Signal,
    ) -> None:
        """Stores the words that were read a cycle ago, at the address that was read before."""
        back, store = self.back, queue.i
        is_store = self.step.kind == EventKind.STORE
        was_address = Signal()
        address = Signal.like(self.store.payload.address)
        m.d.sync += [
            was_address.eq(reads & reads_address),
            store.valid.eq(self.can & is_store),
        ]
        with m.If(reads & is_store):
            m.d.sync += has_address.eq(reads_address)
        with m.If(was_address):
            m.d.sync += address.eq(back.data[0])
        m.d.comb += [
            store.payload.address.eq(address),
            store.payload.lanes.eq(lanes),
            store.payload.data.eq(back.data),
            self.idle.eq(~self.put & ~self.token.valid & ~store.valid & ~queue.o.valid),
        ]
