"""Layers of the access unit, written from the outermost in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.tmu.access_isa import UNBOUNDED, Event, EventKind, Mode, StreamKind
from gnarl.hw.tmu.access_program import AccessProgram, EventStep, Layer, Operand, Stream, Unit
from gnarl.hw.tmu.access_program import own as own_stream
from gnarl.hw.tmu.access_program import parent as parent_stream
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.access.index_offsets import part_from
from gnarl.sw.compiler.tmu.access.queues import slots_of_layers
from gnarl.sw.compiler.tmu.by_hand.site import Array


@dataclass(frozen=True)
class Value:
    """What stream ``number`` of a unit of the layer at ``depth`` has in an iteration."""

    depth: int
    number: int
    unit: int


@dataclass(frozen=True)
class Fiber:
    """A unit's iterations. ``ordered``, ``accumulates``: as ``gnarl.hw.tmu.access_program.Unit``
    has them."""

    lower: Value | int
    upper: Value | int
    stride: int = 1
    ordered: bool = False
    accumulates: bool = False


@dataclass(frozen=True)
class Token:
    """The token of the case that begins at ``label``."""

    label: str


def vector(value: Value) -> EventStep:
    return EventStep(EventKind.VECTOR, layer=value.depth, stream=value.number)


def word(value: Value) -> EventStep:
    return replace(vector(value), kind=EventKind.WORD, lane=value.unit)


def mask(merged: WrittenLayer) -> EventStep:
    """A step that queues which fibers have the coordinate."""
    return EventStep(EventKind.MASK, layer=merged.induction.depth)


def store(value: Value, address: Value) -> EventStep:
    return replace(vector(value), kind=EventKind.STORE, address=address.number)


class WrittenLayer:
    """A layer of ``Layers``; ``inductions``: its units' induction variables, ``induction`` the
    first one's."""

    def __init__(self, layers: Layers, mode: Mode, fibers: Sequence[Fiber]) -> None:
        self._layers = layers
        self._mode = mode
        self._depth = len(layers.all)
        self._streams: list[list[Stream]] = [[] for _ in fibers]
        self._forwarded: dict[Value, Value] = {}
        self._queued: set[tuple[int, int]] = set()
        self._events: dict[Event, list[EventStep | Token]] = {}
        self._toggle = 0
        self._units = [self._unit(fiber) for fiber in fibers]
        self.inductions = [
            self._add(Stream(StreamKind.INDUCTION), unit) for unit in range(len(fibers))
        ]
        self.induction = self.inductions[0]

    def _unit(self, fiber: Fiber) -> Unit:
        lower, first = self._bound(fiber.lower)
        upper, last = self._bound(fiber.upper)
        return Unit(lower, upper, fiber.stride, fiber.accumulates, fiber.ordered, first, last)

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
        """The word ``first`` + index x scale + plus of an array."""
        begin, length = part_from(first, array.words)
        base = array.base + begin
        stream = self._indexed(StreamKind.MEMORY, base, length, index, plus, scale)
        return self._add(replace(stream, temporal=temporal), self._unit_of(index, plus))

    def address(
        self, array: Array, index: Value, plus: Value | None = None, *, scale: int = 1
    ) -> Value:
        """The address that ``memory`` would read."""
        kind = StreamKind.ADDRESS
        stream = self._indexed(kind, array.base, array.words, index, plus, scale)
        return self._add(stream, self._unit_of(index, plus))

    def linear(self, index: Value, plus: Value, *, scale: int) -> Value:
        """index x scale + plus, unchecked."""
        stream = self._indexed(StreamKind.ADDRESS, 0, UNBOUNDED, index, plus, scale)
        return self._add(stream, self._unit_of(index, plus))

    def on(self, event: Event, *steps: EventStep | Token) -> None:
        """Does ``steps`` at an event, behind those that it has."""
        for step in steps:
            if isinstance(step, EventStep):
                queued = self._layers.all[step.layer]._queued
                if step.kind != EventKind.MASK:
                    queued.add((step.lane, step.stream))
                if step.kind == EventKind.STORE:
                    queued.add((0, step.address))
            self._events.setdefault(event, []).append(step)

    def toggles(self, value: Value) -> None:
        """``Event.TOGGLE`` comes where it changes."""
        self._toggle = value.number
        self._queued.add((value.unit, value.number))

    @property
    def queued(self) -> list[int]:
        """Numbers of streams that have a queue."""
        return sorted({number for _, number in self._queued})

    @property
    def trips(self) -> int | None:
        """Iterations of the loop, where they are known."""
        unit, *others = self._units
        if others or unit.lower != Operand() or unit.upper != Operand():
            return None
        return len(range(unit.lower_immediate, unit.upper_immediate, unit.stride))

    def _indexed(
        self,
        kind: StreamKind,
        base: int,
        length: int,
        index: Value,
        plus: Value | None,
        scale: int,
    ) -> Stream:
        a, b = self._operand(index), Operand() if plus is None else self._operand(plus)
        return Stream(kind, a=a, b=b, scale=scale, base=base, length=length)

    def _unit_of(self, *operands: Value | None) -> int:
        """The unit whose values are among the operands; unit 0, where none is."""
        own = [each.unit for each in operands if each and each.depth == self._depth]
        return own[0] if own else 0

    def _add(self, stream: Stream, unit: int = 0) -> Value:
        self._streams[unit].append(stream)
        return Value(self._depth, len(self._streams[unit]) - 1, unit)

    def _bound(self, value: Value | int) -> tuple[Operand, int]:
        """An operand and an immediate, of which one is used."""
        return (Operand(), value) if isinstance(value, int) else (self._operand(value), 0)

    def _operand(self, value: Value) -> Operand:
        if value.depth == self._depth:
            return own_stream(value.number)
        return parent_stream(self._layers.all[self._depth - 1]._read(value).number)

    def _read(self, value: Value) -> Value:
        """A value of this layer or around it, which it then forwards, for others to read."""
        if value.depth != self._depth:
            if value not in self._forwarded:
                stream = Stream(StreamKind.FORWARD, a=self._operand(value))
                self._forwarded[value] = self._add(stream)
            value = self._forwarded[value]
        self._queued.add((value.unit, value.number))
        return value

    def finished(self, slots: int, row: int, tokens: Mapping[str, int]) -> Layer:
        """The layer with queues of ``slots`` from ``row`` on; ``tokens``: by label."""
        config = self._layers.config
        most = max(map(len, self._streams))
        if most > config.streams:
            raise CapacityError(f"streams = {config.streams}: must be at least {most}")
        for at, number in enumerate(self.queued):
            for unit, streams in enumerate(self._streams):
                if (unit, number) in self._queued:
                    streams[number] = replace(streams[number], queued=True, queue=row + at * slots)
        events = {
            event: tuple(
                EventStep(EventKind.TOKEN, token=tokens[step.label])
                if isinstance(step, Token)
                else step
                for step in steps
            )
            for event, steps in self._events.items()
        }
        units = tuple(
            replace(unit, streams=tuple(streams))
            for unit, streams in zip(self._units, self._streams, strict=True)
        )
        return Layer(self._mode, units, slots, self._toggle, events)


class Layers:
    """An access program as it is being written; ``all``: its layers, the outermost first."""

    def __init__(self, config: TmuConfig) -> None:
        self.config = config
        self.all: list[WrittenLayer] = []

    def single(self, fiber: Fiber) -> WrittenLayer:
        return self._add(Mode.SINGLE, fiber)

    def merged(self, mode: Mode, *fibers: Fiber) -> WrittenLayer:
        """Merges fibers; the first stream that a unit gets has its coordinates."""
        return self._add(mode, *fibers)

    def lockstep(self, count: int) -> WrittenLayer:
        """A vector a step, of ``count`` elements."""
        return self._add(Mode.LOCKSTEP, Fiber(0, count))

    def _add(self, mode: Mode, *fibers: Fiber) -> WrittenLayer:
        if len(self.all) == self.config.layers:
            raise CapacityError(
                f"layers = {self.config.layers}: must be at least {len(self.all) + 1}"
            )
        self.all.append(WrittenLayer(self, mode, fibers))
        return self.all[-1]

    def program(self, tokens: Mapping[str, int]) -> AccessProgram:
        """The access unit's program. ``tokens``: addresses of labels. Raises ``CapacityError``."""
        queued = [len(layer.queued) for layer in self.all]
        trips = [layer.trips for layer in self.all]
        shares = slots_of_layers(self.config.stream_words, queued, trips) if queued else []
        layers, row = [], 0
        for layer, slots, count in zip(self.all, shares, queued, strict=True):
            layers.append(layer.finished(slots, row, tokens))
            row += slots * count
        return AccessProgram(tuple(layers))
