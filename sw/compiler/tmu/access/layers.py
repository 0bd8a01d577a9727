"""Layers, units and streams of the access unit, as they are being made from SLC."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import i1
from xdsl.ir import Block, SSAValue

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.tmu.access_isa import (
    UNBOUNDED,
    UNIT,
    AluOperation,
    Event,
    EventKind,
    Mode,
    StreamKind,
)
from gnarl.hw.tmu.access_program import EventStep, Layer, Operand, Stream, Unit, own, parent
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.dialects.slc import (
    AluStrOp,
    ForOp,
    MemStrOp,
    MergeOp,
    StoreStrOp,
    StreamType,
)
from gnarl.sw.compiler.nests.scf import place_of
from gnarl.sw.compiler.nests.values import constant_of
from gnarl.sw.compiler.tmu.access.index_offsets import is_needed, offset_of, part_from, shape_of
from gnarl.sw.compiler.tmu.access.index_streams import is_of_coordinate
from gnarl.sw.compiler.tmu.access.queues import slots_of_layers

_Term = tuple[SSAValue, int]
"""A stream, and what its values are multiplied by."""

_MODES = {True: Mode.DISJUNCTIVE, False: Mode.CONJUNCTIVE}
_INDUCTION = Stream(StreamKind.INDUCTION)
_MOST_STRIDE = (1 << UNIT["stride"].width) - 1
COORDINATE = 1
"""The stream by which units merge."""


@dataclass(frozen=True)
class StreamIndex:
    """The place of a stream among those of its layer."""

    unit: int
    number: int


@dataclass
class LayerInProgress:
    """What a loop becomes.

    places
        of the values that streams have, by unit.
    queued
        streams that somebody reads.
    toggle
        the stream whose changes are an event.
    """

    loop: ForOp | MergeOp
    units: list[Unit] = field(default_factory=list)
    streams: list[list[Stream]] = field(default_factory=list)
    places: dict[tuple[SSAValue, int], StreamIndex] = field(default_factory=dict)
    arrays: dict[tuple[int, int], str] = field(default_factory=dict)
    queued: set[StreamIndex] = field(default_factory=set)
    events: dict[Event, list[EventStep]] = field(default_factory=dict)
    slots: int = 1
    toggle: int = 0

    def step(self, event: Event, step: EventStep) -> None:
        self.events.setdefault(event, []).append(step)

    def add(self, unit: int, stream: Stream, value: SSAValue | None = None) -> StreamIndex:
        place = StreamIndex(unit, len(self.streams[unit]))
        self.streams[unit].append(stream)
        if value is not None:
            self.places[value, unit] = place
        return place

    @property
    def mode(self) -> Mode:
        if isinstance(self.loop, MergeOp):
            return _MODES[self.loop.is_disjunctive]
        return Mode.SINGLE if self.loop.vector is None else Mode.LOCKSTEP

    def finished(self) -> Layer:
        units = tuple(
            replace(unit, streams=tuple(streams))
            for unit, streams in zip(self.units, self.streams, strict=True)
        )
        events = {event: tuple(steps) for event, steps in self.events.items()}
        return Layer(self.mode, units, self.slots, self.toggle, events)


class AccessLayers:
    """Makes layers, the outermost first, and their streams. ``names``: of the arrays."""

    def __init__(self, config: TmuConfig, names: Mapping[SSAValue, str]) -> None:
        self.layers: list[LayerInProgress] = []
        self._config = config
        self._names = names
        self._depths: dict[SSAValue, int] = {}
        self._forwarded: dict[tuple[SSAValue, int], StreamIndex] = {}
        self._sums: dict[tuple[SSAValue, SSAValue, int, int], SSAValue] = {}

    def enter(self, loop: ForOp | MergeOp) -> LayerInProgress:
        """A layer for a loop inside of the last one."""
        layer = LayerInProgress(loop)
        self.layers.append(layer)
        depth = len(self.layers) - 1
        if depth >= self._config.layers:
            raise CapacityError(
                f"{place_of(loop)}: layers = {self._config.layers}: must be at least {depth + 1}"
            )
        self._depths |= dict.fromkeys(loop.body.block.args, depth)
        if isinstance(loop, MergeOp):
            self._merge(loop, layer, depth)
        else:
            unit = self._unit(loop.lower, loop.upper, depth)
            step = loop.step.value.data
            if step > _MOST_STRIDE:
                raise CapacityError(
                    f"{place_of(loop)}: a step of {step}: must be at most {_MOST_STRIDE}"
                )
            accumulates = loop.accumulates is not None
            layer.units = [replace(unit, stride=step, accumulates=accumulates)]
            layer.streams = [[]]
            layer.add(0, _INDUCTION, loop.induction)
        return layer

    def _merge(self, loop: MergeOp, layer: LayerInProgress, depth: int) -> None:
        if len(loop.coordinates) > self._config.lanes:
            raise CapacityError(
                f"{place_of(loop)}: lanes = {self._config.lanes}: must be at least "
                f"{len(loop.coordinates)}: so many fibers merge"
            )
        bounds = zip(loop.lowers, loop.uppers, strict=True)
        layer.units = [self._unit(lower, upper, depth) for lower, upper in bounds]
        layer.streams = [[] for _ in layer.units]
        for unit, (array, position) in enumerate(
            zip(loop.coordinates, loop.positions, strict=True)
        ):
            layer.add(unit, _INDUCTION, position)
            (length,) = shape_of(array)
            fiber = Stream(StreamKind.MEMORY, a=own(0), length=length)
            place = layer.add(unit, fiber, loop.coordinate)
            layer.arrays[unit, place.number] = self._names[array]

    def _unit(self, lower: SSAValue, upper: SSAValue, depth: int) -> Unit:
        first, last = constant_of(lower), constant_of(upper)
        return Unit(
            lower=Operand() if first is not None else self._parent(lower, depth),
            upper=Operand() if last is not None else self._parent(upper, depth),
            lower_immediate=first or 0,
            upper_immediate=last or 0,
            ordered=_is_element(upper) and (first == 0 or _is_element(lower)),
        )

    def add(self, operation: AluStrOp | MemStrOp) -> None:
        """A stream of the last layer."""
        depth = len(self.layers) - 1
        self._depths[operation.stream] = depth
        layer = self.layers[depth]
        if isinstance(operation, MemStrOp):
            unit = self._unit_of(operation, depth) or 0
            word = self._word(operation.array, operation.indices, depth, unit)
            stream = replace(word, temporal=self._is_temporal(operation, layer))
            place = layer.add(unit, stream, operation.stream)
            layer.arrays[unit, place.number] = self._names[operation.array]
        elif is_needed(operation):
            of_all = is_of_coordinate(operation.stream)
            for unit in (
                range(len(layer.units)) if of_all else [self._unit_of(operation, depth) or 0]
            ):
                if (operation.stream, unit) not in layer.places:
                    self._alu(operation, depth, unit)

    def store(self, store: StoreStrOp) -> EventStep:
        """Its value and its address become streams of one layer, in whose iterations it happens."""
        loops = [layer.loop for layer in self.layers]
        depth = next(at for at, loop in enumerate(loops) if loop is store.parent_op())
        layer = self.layers[depth]
        word = self._word(store.array, store.indices, depth, 0)
        address = layer.add(0, replace(word, kind=StreamKind.ADDRESS))
        layer.arrays[0, address.number] = self._names[store.array]
        layer.queued.add(address)
        value = self._at(store.value, depth)
        return EventStep(
            EventKind.STORE,
            layer=depth,
            lane=value.unit,
            stream=value.number,
            address=address.number,
        )

    def read(self, stream: SSAValue) -> list[tuple[int, StreamIndex]]:
        """Layer and places of what is to be queued for a stream. Of what is
        computed of a disjunctive merge's coordinate one a fiber, 0 where the fiber lacks it."""
        depth = self._depths[stream]
        layer = self.layers[depth]
        places = [place for (value, _), place in layer.places.items() if value is stream]
        if not (isinstance(layer.loop, MergeOp) and layer.loop.is_disjunctive):
            places = places[:1]
        layer.queued.update(places)
        return [(depth, place) for place in places]

    # Streams.

    def _unit_of(self, operation: AluStrOp | MemStrOp, depth: int) -> int | None:
        """The unit whose own values a stream needs, if any."""
        operands = operation.operands
        loop = self.layers[depth].loop
        for value in operands:
            if isinstance(loop, MergeOp) and value in loop.positions:
                return list(loop.positions).index(value)
            if self._depths.get(value) == depth and isinstance(value.owner, AluStrOp):
                unit = self._unit_of(value.owner, depth)
                if unit is not None:
                    return unit
        return None

    def _alu(self, operation: AluStrOp, depth: int, unit: int) -> StreamIndex:
        first, second = constant_of(operation.left), constant_of(operation.right)
        a = Operand() if first is not None else self._operand(operation.left, depth, unit)
        b = Operand() if second is not None else self._operand(operation.right, depth, unit)
        immediate = (first if first is not None else second) or 0
        name = AluOperation[operation.operation.data.upper()]
        made = Stream(StreamKind.ALU, name, a, b, immediate=immediate)
        return self.layers[depth].add(unit, made, operation.stream)

    def _is_temporal(self, load: MemStrOp, layer: LayerInProgress) -> bool:
        """Words of vectors are read once, in order; but fibers that merge wait for each other, so
        that a line is asked for again."""
        return len(shape_of(load.array)) != 1 or layer.mode in _MODES.values()

    def _word(self, array: SSAValue, indices: Sequence[SSAValue], depth: int, unit: int) -> Stream:
        """Operands, scale, base and length of a word in row-major order, for layer ``depth``."""
        shape = shape_of(array)
        base = 0
        terms: list[_Term] = []
        for axis, index in enumerate(indices):
            stride = math.prod(shape[axis + 1 :])
            stream, offset = offset_of(index)
            base += offset * stride
            if stream is not None:
                terms.append((stream, stride))
        # What outer loops give is added up there.
        terms.sort(key=lambda term: self._known_from(term[0], depth))
        while len(terms) > 2 or (len(terms) == 2 and terms[0][1] != 1 != terms[1][1]):
            terms[:2] = [self._sum(terms[0], terms[1], depth, unit)]
        if len(terms) == 2 and terms[1][1] != 1:
            terms.reverse()
        a, b, scale = Operand(), Operand(), 1
        if terms:
            a, scale = self._operand(terms[0][0], depth, unit), terms[0][1]
        if len(terms) == 2:
            b = self._operand(terms[1][0], depth, unit)
        base, length = part_from(base, math.prod(shape))
        return Stream(StreamKind.MEMORY, a=a, b=b, scale=scale, base=base, length=length)

    def _known_from(self, stream: SSAValue, depth: int) -> int:
        """The outermost layer up to ``depth`` in which it can be an operand."""
        known = self._depths[stream]
        layer = self.layers[known]
        kinds = [
            layer.streams[place.unit][place.number].kind
            for (value, _), place in layer.places.items()
            if value is stream
        ]
        return min(known + (StreamKind.MEMORY in kinds), depth)

    def _sum(self, left: _Term, right: _Term, depth: int, unit: int) -> _Term:
        """Both as one, as far out as it can be."""
        if left[1] % max(1, right[1]):
            left, right = right, left
        factor = left[1] // max(1, right[1])
        known = max(self._known_from(each[0], depth) for each in (left, right))
        if known < depth:
            own_places = [
                place.unit
                for (value, _), place in self.layers[known].places.items()
                if value in (left[0], right[0])
            ]
            unit = own_places[0] if own_places else 0
        key = left[0], right[0], factor, unit
        if key not in self._sums:
            operands = [self._operand(each[0], known, unit) for each in (left, right)]
            # Known by a value of its own.
            value: SSAValue = Block(arg_types=[StreamType(i1)]).args[0]
            self._depths[value] = known
            sum_stream = Stream(
                StreamKind.ADDRESS, a=operands[0], b=operands[1], scale=factor, length=UNBOUNDED
            )
            self.layers[known].add(unit, sum_stream, value)
            self._sums[key] = value
        return self._sums[key], right[1]

    def _operand(self, stream: SSAValue, depth: int, unit: int) -> Operand:
        if self._depths[stream] != depth:
            return self._parent(stream, depth)
        place = self.layers[depth].places.get((stream, unit))
        if place is None:
            # Of a coordinate, which all units have.
            assert isinstance(stream.owner, AluStrOp)
            place = self._alu(stream.owner, depth, unit)
        return own(place.number)

    def _parent(self, stream: SSAValue, depth: int) -> Operand:
        """A stream of the layer around ``depth``, which forwards those of layers further out."""
        place = self._at(stream, depth - 1)
        return parent(place.number, place.unit)

    def _at(self, stream: SSAValue, depth: int) -> StreamIndex:
        layer = self.layers[depth]
        if self._depths[stream] == depth:
            place = next(place for (value, _), place in layer.places.items() if value is stream)
        elif (stream, depth) in self._forwarded:
            place = self._forwarded[stream, depth]
        else:
            source = self._parent(stream, depth)
            place = layer.add(0, Stream(StreamKind.FORWARD, a=source))
            self._forwarded[stream, depth] = place
        layer.queued.add(place)
        return place

    # The whole.

    def divide_queues(self) -> None:
        """Divides queues among the streams that somebody reads. A stream's queue is at the same row
        in all units of a layer. Raises ``CapacityError``."""
        words = self._config.stream_words
        numbers = [_numbers(layer) for layer in self.layers]
        trips = [_trips(layer) for layer in self.layers]
        all_slots = slots_of_layers(words, [*map(len, numbers)], trips)
        row = 0
        for layer, queued, slots in zip(self.layers, numbers, all_slots, strict=True):
            for number in queued:
                self._place_queue(layer, number, row)
                row += slots
            layer.slots = slots

    def _place_queue(self, layer: LayerInProgress, number: int, row: int) -> None:
        first = layer.streams[0]
        first += [Stream()] * (number + 1 - len(first))
        for unit, streams in enumerate(layer.streams):
            if number < len(streams):
                is_queued = StreamIndex(unit, number) in layer.queued
                streams[number] = replace(streams[number], queued=is_queued, queue=row)

    def check(self) -> None:
        """Raises ``CapacityError``."""
        for layer in self.layers:
            most = max(map(len, layer.streams))
            if most > self._config.streams:
                raise CapacityError(
                    f"{place_of(layer.loop)}: streams = {self._config.streams}: must be at least "
                    f"{most}"
                )


def _is_element(bound: SSAValue) -> bool:
    """Whether it is a word of memory, as offsets and lengths are."""
    return isinstance(bound.owner, MemStrOp)


def _trips(layer: LayerInProgress) -> int | None:
    """Iterations of its loop, where they are known."""
    if isinstance(layer.loop, MergeOp):
        return None
    first, last = constant_of(layer.loop.lower), constant_of(layer.loop.upper)
    if first is None or last is None:
        return None
    return len(range(first, last, layer.loop.step.value.data))


def _numbers(layer: LayerInProgress) -> list[int]:
    """Streams that have a queue in some unit."""
    return sorted({place.number for place in layer.queued})
