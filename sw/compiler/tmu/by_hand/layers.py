"""Layers of the access unit, written from the outermost in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hw.lib.errors import CapacityError
from hw.tmu.access_isa import UNBOUNDED, AluOperation, Event, EventKind, Mode, StreamKind
from hw.tmu.access_program import AccessProgram, EventStep, Layer, Operand, Stream, Unit
from hw.tmu.access_program import own as own_stream
from hw.tmu.access_program import parent as parent_stream
from hw.tmu.config import TmuConfig
from sw.compiler.tmu.by_hand.site import Array
from sw.compiler.tmu.stream_queues import slots_of_layers


@dataclass(frozen=True)
class Value:
    """What stream ``number`` of a unit has in an iteration of its layer."""

    depth: int
    unit: int
    number: int


@dataclass(frozen=True)
class Fiber:
    """A unit's iterations. ``ordered``, ``accumulates``: as ``hw.tmu.access_program.Unit`` has
    them."""

    lower: Value | int
    upper: Value | int
    ordered: bool = False
    accumulates: bool = False


@dataclass(frozen=True)
class Token:
    """The token of the case that begins at ``label``."""

    label: str


def word(value: Value) -> EventStep:
    return _step(EventKind.WORD, value)


def vector(value: Value) -> EventStep:
    return _step(EventKind.VECTOR, value)


def store(value: Value, address: Value) -> EventStep:
    return replace(_step(EventKind.STORE, value), address=address.number)


def _step(kind: EventKind, value: Value) -> EventStep:
    return EventStep(kind, layer=value.depth, lane=value.unit, stream=value.number)


class WrittenLayer:
    """A layer of ``Layers``; ``inductions``: of its units."""

    def __init__(self, layers: Layers, mode: Mode, fibers: tuple[Fiber, ...], stride: int) -> None:
        self._layers = layers
        self._mode = mode
        self.depth = len(layers.all)
        self._streams: list[list[Stream]] = []
        self._units: list[Unit] = []
        self._forwarded: dict[Value, Value] = {}
        self._queued: set[tuple[int, int]] = set()
        self._events: dict[Event, list[EventStep | Token]] = {}
        self._toggle = 0
        self.inductions = []
        for fiber in fibers:
            lower, first = self._outer(fiber.lower)
            upper, last = self._outer(fiber.upper)
            self._units.append(
                Unit(lower, upper, stride, fiber.accumulates, fiber.ordered, first, last)
            )
            self._streams.append([])
            unit = len(self._units) - 1
            self.inductions.append(self._add(unit, Stream(StreamKind.INDUCTION)))

    @property
    def induction(self) -> Value:
        return self.inductions[0]

    def memory(
        self,
        array: Array,
        index: Value,
        plus: Value | None = None,
        *,
        scale: int = 1,
        first: int = 0,
        temporal: bool = True,
    ) -> Value:
        """The word ``first`` + index x scale + plus of an array, in the unit of its operands."""
        return self._word(StreamKind.MEMORY, array, index, plus, scale, first, temporal)

    def address(
        self, array: Array, index: Value, plus: Value | None = None, *, scale: int = 1
    ) -> Value:
        """Where ``memory`` would read."""
        return self._word(StreamKind.ADDRESS, array, index, plus, scale, 0, True)

    def anywhere(self, base: int, index: Value, plus: Value | None = None, scale: int = 1) -> Value:
        """base + index x scale + plus, unchecked."""
        return self._word(
            StreamKind.ADDRESS, Array(base, (UNBOUNDED,)), index, plus, scale, 0, True
        )

    def alu(self, operation: AluOperation, a: Value, b: Value | int) -> Value:
        unit = self._unit_of(a, b)
        right, immediate = (Operand(), b) if isinstance(b, int) else (self._operand(b), 0)
        stream = Stream(StreamKind.ALU, operation, self._operand(a), right, immediate=immediate)
        return self._add(unit, stream)

    def on(self, event: Event, *steps: EventStep | Token) -> None:
        """Does ``steps`` at an event, behind those that it has."""
        for step in steps:
            if isinstance(step, EventStep) and step.kind != EventKind.MASK:
                layer = self._layers.all[step.layer]
                layer._queued.add((step.lane, step.stream))
                if step.kind == EventKind.STORE:
                    layer._queued.add((0, step.address))
            self._events.setdefault(event, []).append(step)

    def toggles(self, value: Value) -> None:
        """``Event.TOGGLE`` comes where it changes."""
        self._toggle = value.number
        self._queued.add((value.unit, value.number))

    @property
    def trips(self) -> int | None:
        """Iterations of the loop, where they are known."""
        unit = self._units[0]
        if len(self._units) > 1 or unit.lower != Operand() or unit.upper != Operand():
            return None
        return len(range(unit.lower_immediate, unit.upper_immediate, unit.stride))

    @property
    def mask(self) -> EventStep:
        return EventStep(EventKind.MASK, layer=self.depth)

    def _word(
        self,
        kind: StreamKind,
        array: Array,
        index: Value,
        plus: Value | None,
        scale: int,
        first: int,
        temporal: bool,
    ) -> Value:
        stream = Stream(
            kind,
            a=self._operand(index),
            b=Operand() if plus is None else self._operand(plus),
            temporal=temporal,
            scale=scale,
            base=array.base + first,
            length=array.words if array.words == UNBOUNDED else array.words - first,
        )
        return self._add(self._unit_of(index, plus), stream)

    def _add(self, unit: int, stream: Stream) -> Value:
        self._streams[unit].append(stream)
        return Value(self.depth, unit, len(self._streams[unit]) - 1)

    def _unit_of(self, *operands: Value | int | None) -> int:
        own = [each.unit for each in operands if isinstance(each, Value) and self._is_own(each)]
        return own[0] if own else 0

    def _is_own(self, value: Value) -> bool:
        return value.depth == self.depth

    def _operand(self, value: Value) -> Operand:
        return own_stream(value.number) if self._is_own(value) else self._outer(value)[0]

    def _outer(self, value: Value | int) -> tuple[Operand, int]:
        """An operand, and an immediate, of outer layers; those far out are forwarded."""
        if isinstance(value, int):
            return Operand(), value
        near = self._layers.all[self.depth - 1]._here(value)
        return parent_stream(near.number, near.unit), 0

    def _here(self, value: Value) -> Value:
        """A value as a stream of this layer that can be read."""
        if not self._is_own(value):
            if value not in self._forwarded:
                stream = Stream(StreamKind.FORWARD, a=self._outer(value)[0])
                self._forwarded[value] = self._add(0, stream)
            value = self._forwarded[value]
        self._queued.add((value.unit, value.number))
        return value

    @property
    def queued(self) -> list[int]:
        """Numbers of streams that have a queue, which is at the same row in all units."""
        return sorted({number for _, number in self._queued})

    def finished(self, slots: int, row: int, tokens: Mapping[str, int]) -> Layer:
        """With queues of ``slots`` from ``row`` on."""
        most = max(map(len, self._streams))
        config = self._layers.config
        if most > config.streams:
            raise CapacityError(f"streams = {config.streams}: must be at least {most}")
        queues = {number: row + at * slots for at, number in enumerate(self.queued)}
        units = []
        for at, (unit, streams) in enumerate(zip(self._units, self._streams, strict=True)):
            # Unit 0's rows say where queues are, of streams that others alone have, too.
            least = 1 + max(queues, default=-1) if at == 0 else 0
            full = streams + [Stream()] * (least - len(streams))
            placed = (
                replace(stream, queued=(at, number) in self._queued, queue=queues.get(number, 0))
                for number, stream in enumerate(full)
            )
            units.append(replace(unit, streams=tuple(placed)))
        events = {
            event: tuple(
                EventStep(EventKind.TOKEN, token=tokens[step.label])
                if isinstance(step, Token)
                else step
                for step in steps
            )
            for event, steps in self._events.items()
        }
        return Layer(self._mode, tuple(units), slots, self._toggle, events)


class Layers:
    """An access program as it is being written; ``all``: its layers, the outermost first."""

    def __init__(self, config: TmuConfig) -> None:
        self.config = config
        self.all: list[WrittenLayer] = []

    def single(self, fiber: Fiber, stride: int = 1) -> WrittenLayer:
        return self._add(Mode.SINGLE, (fiber,), stride)

    def lockstep(self, count: int) -> WrittenLayer:
        """A vector a step, of ``count`` elements."""
        return self._add(Mode.LOCKSTEP, (Fiber(0, count),))

    def merge(self, mode: Mode, *fibers: Fiber) -> WrittenLayer:
        """The first stream of each unit behind its induction variable must be its coordinate."""
        return self._add(mode, fibers)

    def _add(self, mode: Mode, fibers: tuple[Fiber, ...], stride: int = 1) -> WrittenLayer:
        if len(self.all) == self.config.layers:
            raise CapacityError(
                f"layers = {self.config.layers}: must be at least {len(self.all) + 1}"
            )
        layer = WrittenLayer(self, mode, fibers, stride)
        self.all.append(layer)
        return layer

    def program(self, tokens: Mapping[str, int]) -> AccessProgram:
        """``tokens``: addresses of labels. Raises ``CapacityError``."""
        queued = [len(layer.queued) for layer in self.all]
        trips = [layer.trips for layer in self.all]
        slots = slots_of_layers(self.config.stream_words, queued, trips)
        if min(slots, default=1) < 1:
            raise CapacityError(
                f"stream_words = {self.config.stream_words}: must be at least "
                f"{2 * sum(queued[:-1])}: so many streams of outer loops are read"
            )
        layers, row = [], 0
        for layer, share, count in zip(self.all, slots, queued, strict=True):
            layers.append(layer.finished(share, row, tokens))
            row += share * count
        return AccessProgram(tuple(layers))
