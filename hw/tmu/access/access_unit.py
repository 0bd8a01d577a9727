"""The access unit: layers that traverse ahead, and a marshaller that follows them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.arbiter import RoundRobin
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.select import selected
from gnarl.hw.tmu.access.context import ContextReader
from gnarl.hw.tmu.access.generator import Generator
from gnarl.hw.tmu.access.marshaller import WAITS as MARSHALLER_WAITS
from gnarl.hw.tmu.access.marshaller import Marshaller
from gnarl.hw.tmu.access.merge.lane_rows import STREAM_WORDS, UNIT_WORDS, word_signature
from gnarl.hw.tmu.access.merge.merged_fibers import MergedFibers
from gnarl.hw.tmu.access.requester import Requester, line_answer, line_request
from gnarl.hw.tmu.access.step_unit import store_layout
from gnarl.hw.tmu.access.steps import step_layout
from gnarl.hw.tmu.access.stream_store import StreamStore
from gnarl.hw.tmu.access_isa import EVENT, EVENT_STEPS, LAYER, STREAM, UNIT, Mode, StreamKind

WAITS = (
    "waits_iteration",
    *MARSHALLER_WAITS,
    "waits_slot",
    "waits_request",
    "waits_memory",
)


class AccessUnit(wiring.Component):
    """Runs an access program once after each reset. Source: Ember, section IV, figure 6.

    Members
    -------
    layers, units, descriptors, events
        in: the program's rows, as ``access_rules.check`` takes them; ``units`` and ``descriptors``
        those of each layer's unit 0. They stay the same during a run.
    unit_words, stream_words
        in: ``word_signature`` of ``unit_row`` and ``stream_row``, unit 0's too: of both, a word a
        cycle, before a run, through resets or not. Layers that merge go by them; rows of units that
        the program has not are 0, as they all are at first.
    request, answer
        streams of ``line_request`` out and ``line_answer`` in, which come in any order.
    put, put_vector, put_data, room
        of a ``DataQueue``.
    token, token_room
        out: a stream of tokens, which takes them where ``token_room``, in, says that it does.
    store
        out: a stream of ``store_layout``.
    faults
        out: for each layer, that a stream's index is beyond its array; and its stream, ``faulty``.
    disorders
        out: for each layer, that an upper bound is below the lower one, of an ``ordered`` unit.
    under_way
        out: lines that are asked for and not handed out.
    moves
        out: an iteration begins, or a coordinate is merged.
    waits
        out: a bit for each of ``WAITS``, which ``memory_map.ACCESS_EVENTS`` explains.
    done
        out: all is put into the queues, and stores are taken.
    """

    def __init__(
        self,
        layers: int,
        lanes: int,
        streams: int,
        stream_words: int,
        requests: int,
        address_bits: int,
        token_bits: int,
    ) -> None:
        self._layers = layers
        self._lanes = lanes
        self._streams = streams
        self._rows = stream_words
        self._address_bits = address_bits
        self._requests = requests
        self._token_bits = token_bits
        line_bits = address_bits - (LINE_WORDS - 1).bit_length()
        self._line_bits = line_bits
        tag_bits = max(1, (requests - 1).bit_length())
        super().__init__(
            {
                "layers": In(data.ArrayLayout(LAYER, layers)),
                "units": In(data.ArrayLayout(UNIT, layers)),
                "descriptors": In(data.ArrayLayout(data.ArrayLayout(STREAM, streams), layers)),
                "unit_words": In(word_signature(layers * lanes, UNIT_WORDS)),
                "stream_words": In(word_signature(layers * lanes * streams, STREAM_WORDS)),
                "events": In(data.ArrayLayout(EVENT, EVENT_STEPS)),
                "request": Out(stream.Signature(line_request(line_bits, tag_bits))),
                "answer": In(stream.Signature(line_answer(tag_bits))),
                "put": Out(1),
                "put_vector": Out(1),
                "put_data": Out(data.ArrayLayout(unsigned(32), lanes)),
                "room": In(32),
                "token": Out(stream.Signature(unsigned(token_bits))),
                "token_room": In(32),
                "store": Out(stream.Signature(store_layout(lanes, address_bits))),
                "faults": Out(layers),
                "faulty": Out(data.ArrayLayout(range(streams), layers)),
                "disorders": Out(layers),
                "under_way": Out(range(requests + 1)),
                "moves": Out(1),
                "waits": Out(len(WAITS)),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.store = store = StreamStore(self._lanes, self._rows)
        m.submodules.requester = requester = Requester(
            self._lanes, self._rows, self._line_bits, self._requests
        )
        m.submodules.marshaller = marshaller = Marshaller(
            self._layers,
            self._lanes,
            self._rows,
            self._streams,
            self._token_bits,
            self._address_bits,
        )
        generators = [self._make_generator(m, place) for place in range(self._layers)]
        contexts = [self._make_context(m, place) for place in range(self._layers)]
        merges = [
            self._make_merge(m, place, generator) for place, generator in enumerate(generators)
        ]
        for generator, context in zip(generators, contexts, strict=True):
            wiring.connect(m, context.context, generator.context)
            m.d.comb += generator.ends_around.eq(context.ends_around)
        self._connect_steps(m, generators, contexts, merges, marshaller)
        self._connect_store(m, generators, merges, marshaller, requester, store)
        self._connect_front(m, contexts, merges, store)
        wiring.connect(m, requester.request, wiring.flipped(self.request))
        wiring.connect(m, wiring.flipped(self.answer), requester.answer)

        innermost = Cat(marshaller.depth == place + 1 for place in range(self._layers))
        waits_slot = Cat(generator.waits_slot for generator in generators)
        self._connect_marshaller(m, marshaller)
        m.d.comb += [
            self.under_way.eq(requester.under_way),
            self.moves.eq(
                Cat(
                    *(each.steps.valid & each.steps.ready for each in generators),
                    *(merge.moves for merge in merges),
                ).any()
            ),
            self.waits.eq(
                Cat(
                    marshaller.waits_iteration,
                    marshaller.waits,
                    (waits_slot & innermost).any(),
                    requester.waits_request,
                    requester.waits_memory,
                )
            ),
            self.done.eq(marshaller.done),
        ]
        for place, (generator, merge) in enumerate(zip(generators, merges, strict=True)):
            m.d.comb += [
                self.faults[place].eq(generator.fault | merge.fault),
                self.faulty[place].eq(Mux(merge.fault, 1, generator.faulty)),
                self.disorders[place].eq(generator.disorder | merge.disorder),
            ]
        wiring.connect(m, marshaller.token, wiring.flipped(self.token))
        wiring.connect(m, marshaller.store, wiring.flipped(self.store))
        return m

    def _rows_of(self, rows: Any) -> list[Any]:
        return [rows[place] for place in range(self._layers)]

    def _singles(self) -> list[Value]:
        """For each layer, a bit for each stream that has one word for all lanes."""
        singles = []
        for layer, rows in zip(
            self._rows_of(self.layers), self._rows_of(self.descriptors), strict=True
        ):
            is_wide = layer.mode == Mode.LOCKSTEP
            is_single = layer.mode == Mode.SINGLE
            kinds = [rows[number].kind for number in range(self._streams)]
            singles.append(
                Cat(is_single | (is_wide & (kind == StreamKind.ADDRESS)) for kind in kinds)
            )
        return singles

    def _connect_marshaller(self, m: Module, marshaller: Marshaller) -> None:
        """Rows for the marshaller, and what it puts into queues."""
        modes = Cat(layer.mode != Mode.OFF for layer in self._rows_of(self.layers))
        m.d.comb += [
            marshaller.layers.eq(self.layers),
            marshaller.events.eq(self.events),
            marshaller.depth.eq(sum(modes[1:], modes[0])),
            *(
                marshaller.queues[place][number].eq(self.descriptors[place][number].queue)
                for place in range(self._layers)
                for number in range(self._streams)
            ),
            *(
                marshaller.singles[place].eq(singles)
                for place, singles in enumerate(self._singles())
            ),
            self.put.eq(marshaller.put),
            self.put_vector.eq(marshaller.put_vector),
            self.put_data.eq(marshaller.put_data),
            marshaller.room.eq(self.room),
            marshaller.token_room.eq(self.token_room),
        ]

    def _make_generator(self, m: Module, place: int) -> Generator:
        generator = Generator(self._lanes, self._rows, self._streams, self._address_bits)
        m.submodules[f"generator_{place}"] = generator
        m.d.comb += [
            generator.layer.eq(self.layers[place]),
            generator.unit.eq(self.units[place]),
            generator.descriptors.eq(self.descriptors[place]),
        ]
        return generator

    def _make_context(self, m: Module, place: int) -> ContextReader:
        context = ContextReader(self._lanes, self._rows, self._streams)
        m.submodules[f"context_{place}"] = context
        m.d.comb += [context.unit.eq(self.units[place])]
        m.d.comb += context.descriptors.eq(self.descriptors[place])
        if place:
            m.d.comb += context.around.eq(self.descriptors[place - 1])
            m.d.comb += context.around_slots.eq(self.layers[place - 1].slots)
        return context

    def _make_merge(self, m: Module, place: int, generator: Generator) -> MergedFibers:
        merge = MergedFibers(self._lanes, self._rows, self._streams, self._address_bits)
        m.submodules[f"merge_{place}"] = merge
        m.d.comb += [merge.layer.eq(self.layers[place]), generator.queued.eq(merge.queued)]
        wiring.connect(m, merge.merged, generator.merged)
        wiring.connect(m, merge.turn, generator.turn)
        if place:
            m.d.comb += merge.around.eq(self.descriptors[place - 1])
            m.d.comb += merge.around_slots.eq(self.layers[place - 1].slots)
        for words, written, count in (
            (self.unit_words, merge.unit_words, self._lanes),
            (self.stream_words, merge.stream_words, self._lanes * self._streams),
        ):
            first = place * count
            row = (words.row - first)[: len(words.row)]
            m.d.comb += [
                written.enable.eq(words.enable & (row < count)),
                written.row.eq(row),
                written.word.eq(words.word),
                written.data.eq(words.data),
            ]
        return merge

    def _connect_steps(
        self,
        m: Module,
        generators: list[Generator],
        contexts: list[ContextReader],
        merges: list[MergedFibers],
        marshaller: Marshaller,
    ) -> None:
        """Each layer's steps go to the layer inside of it, and to the marshaller.

        The outermost layer's loop runs once.
        """
        has_begun = Signal()
        around = [
            self._steps_around(m, place, context, merge)
            for place, (context, merge) in enumerate(zip(contexts, merges, strict=True))
        ]
        first = around[0]
        m.d.comb += first.payload.lanes.eq(1)
        m.d.comb += first.valid.eq(~has_begun & (self.layers[0].mode != Mode.OFF))
        with m.If(first.valid & first.ready):
            m.d.sync += has_begun.eq(1)
        width = step_layout(self._lanes).size
        for place, generator in enumerate(generators):
            is_inner = place + 1 < self._layers
            followers = [marshaller.steps[place]]
            uses: list[Any] = [Const(1)]
            if is_inner:
                followers.append(around[place + 1])
                uses.append(self.layers[place + 1].mode != Mode.OFF)
            fifos = []
            for name, follower, in_use in zip(("back", "front"), followers, uses, strict=False):
                fifo = SyncFIFOBuffered(width=width, depth=max(2, self._rows // 2))
                m.submodules[f"{name}_steps_{place}"] = fifo
                m.d.comb += [
                    fifo.w_data.eq(generator.steps.payload.as_value()),
                    follower.valid.eq(fifo.r_rdy),
                    follower.payload.eq(fifo.r_data),
                    fifo.r_en.eq(follower.ready),
                ]
                fifos.append((fifo, in_use))
            has_room = Cat(fifo.w_rdy | ~in_use for fifo, in_use in fifos).all()
            m.d.comb += generator.steps.ready.eq(has_room)
            for fifo, in_use in fifos:
                m.d.comb += fifo.w_en.eq(generator.steps.valid & has_room & in_use)
            m.d.comb += generator.release.eq(marshaller.release[place])

    def _steps_around(
        self, m: Module, place: int, context: ContextReader, merge: MergedFibers
    ) -> Any:
        """The steps around a layer, for the one of both that its mode takes."""
        steps = stream.Signature(step_layout(self._lanes)).create(path=(f"around_{place}",))
        mode = self.layers[place].mode
        is_merged = (mode == Mode.CONJUNCTIVE) | (mode == Mode.DISJUNCTIVE)
        m.d.comb += [
            context.steps.payload.eq(steps.payload),
            context.steps.valid.eq(steps.valid & ~is_merged),
            merge.steps.payload.eq(steps.payload),
            merge.steps.valid.eq(steps.valid & is_merged),
            steps.ready.eq(Mux(is_merged, merge.steps.ready, context.steps.ready)),
        ]
        return steps

    def _connect_store(
        self,
        m: Module,
        generators: list[Generator],
        merges: list[MergedFibers],
        marshaller: Marshaller,
        requester: Requester,
        store: StreamStore,
    ) -> None:
        """Lines that come in are written first; then, and for all else, outer layers go first."""
        wiring.connect(m, marshaller.back, store.back)
        for place, merge in enumerate(merges):
            is_its = requester.is_coordinates & (requester.layer == place)
            m.d.comb += [
                merge.write.lanes.eq(Mux(is_its, requester.write.lanes, 0)),
                merge.write.row.eq(requester.write.row),
                merge.write.phase.eq(requester.write.phase),
                merge.write.data.eq(requester.write.data),
            ]
        singles = [generator.write_single for generator in generators]
        ports = (
            (store.write, requester.write, requester.is_coordinates, [~each for each in singles]),
            (store.write_single, requester.write_single, Const(0), singles),
        )
        granted: list[list[Value]] = [[] for _ in generators]
        for port, lines, is_elsewhere, uses in ports:
            taken: Value = lines.lanes.any() & ~is_elsewhere
            writers = [(taken, lines)]
            for generator, is_its, grants in zip(generators, uses, granted, strict=True):
                wants = generator.write.lanes.any() & is_its
                grants.append(wants & ~taken)
                writers.append((grants[-1], generator.write))
                taken = taken | wants
            for name in ("lanes", "row", "phase", "data"):
                member = getattr(port, name)
                m.d.comb += Value.cast(member).eq(
                    selected(
                        (chosen, Value.cast(getattr(write, name))[: len(Value.cast(member))])
                        for chosen, write in writers
                    )
                )
        for generator, grants in zip(generators, granted, strict=True):
            m.d.comb += generator.granted.eq(Cat(grants).any())

        taken = Const(0)
        runs: list[tuple[Value, Value]] = []
        for place, (generator, merge) in enumerate(zip(generators, merges, strict=True)):
            for source in (generator.runs, merge.runs):
                run = Signal.like(source.payload, name=f"run_{len(runs)}")
                chosen = source.valid & ~taken
                m.d.comb += [run.eq(source.payload), run.layer.eq(place)]
                m.d.comb += source.ready.eq(requester.runs.ready & chosen)
                runs.append((chosen, run.as_value()))
                taken = taken | source.valid
        m.d.comb += [requester.runs.valid.eq(taken), requester.runs.payload.eq(selected(runs))]

    def _connect_front(
        self,
        m: Module,
        contexts: list[ContextReader],
        merges: list[MergedFibers],
        store: StreamStore,
    ) -> None:
        """Layers take turns: a word that has not arrived holds up nobody else's for long."""
        readers: list[tuple[ContextReader, MergedFibers]]
        readers = list(zip(contexts, merges, strict=True))
        m.submodules.turns = turns = RoundRobin(self._layers)
        around = [Const(0, self._streams), *self._singles()]
        chosen = [
            (
                turns.grant[number] & reader.wants,
                Cat(reader.row, reader.phase, Array(singles)[reader.stream], reader.lane),
            )
            for number, (pair, singles) in enumerate(zip(readers, around, strict=False))
            for reader in pair
        ]
        lane = Signal(range(self._lanes))
        m.d.comb += [
            turns.requests.eq(
                Cat(
                    context.wants | merge.wants
                    for context, merge in zip(contexts, merges, strict=True)
                )
            ),
            Cat(store.front.row, store.front.phase, store.front.single, lane).eq(selected(chosen)),
            store.front.enable.eq(1),
        ]
        has_arrived = Array(store.front.arrived)[lane]
        for number, pair in enumerate(readers):
            for reader in pair:
                m.d.comb += [
                    reader.granted.eq(turns.grant[number] & reader.wants & has_arrived),
                    reader.words.eq(store.front.data),
                ]
