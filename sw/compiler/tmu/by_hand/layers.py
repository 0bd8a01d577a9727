"""Layers of the access unit, written from the outermost in, each with one unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hw.lib.errors import CapacityError
from hw.tmu.access_isa import UNBOUNDED, Event, EventKind, Mode, StreamKind
from hw.tmu.access_program import AccessProgram, EventStep, Layer, Operand, Stream, Unit
from hw.tmu.access_program import own as own_stream
from hw.tmu.access_program import parent as parent_stream
from hw.tmu.config import TmuConfig
from sw.compiler.tmu.by_hand.site import Array
from sw.compiler.tmu.stream_queues import slots_of_layers


@dataclass(frozen=True)
class Value:
    """What stream ``number`` of the layer at ``depth`` has in an iteration."""

    depth: int
    number: int


@dataclass(frozen=True)
class Fiber:
    """A layer's iterations. ``ordered``, ``accumulates``: as ``hw.tmu.access_program.Unit`` has
    them."""

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


def store(value: Value, address: Value) -> EventStep:
    return replace(vector(value), kind=EventKind.STORE, address=address.number)


class WrittenLayer:
    """A layer of ``Layers``; ``induction``: its induction variable."""

    def __init__(self, layers: Layers, mode: Mode, fiber: Fiber) -> None:
        self._layers = layers
        self._mode = mode
        self._depth = len(layers.all)
        self._streams: list[Stream] = []
        self._forwarded: dict[Value, Value] = {}
        self._queued: set[int] = set()
        self._events: dict[Event, list[EventStep | Token]] = {}
        self._toggle = 0
        lower, first = self._bound(fiber.lower)
        upper, last = self._bound(fiber.upper)
        self._unit = Unit(lower, upper, fiber.stride, fiber.accumulates, fiber.ordered, first, last)
        self.induction = self._add(Stream(StreamKind.INDUCTION))

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
        base, length = array.base + first, array.words - first
        word = self._word(StreamKind.MEMORY, base, length, index, plus, scale)
        return self._add(replace(word, temporal=temporal))

    def address(self, array: Array, index: Value, plus: Value, *, scale: int) -> Value:
        """Where ``memory`` would read."""
        kind = StreamKind.ADDRESS
        return self._add(self._word(kind, array.base, array.words, index, plus, scale))

    def linear(self, index: Value, plus: Value, *, scale: int) -> Value:
        """index x scale + plus, unchecked."""
        return self._add(self._word(StreamKind.ADDRESS, 0, UNBOUNDED, index, plus, scale))

    def on(self, event: Event, *steps: EventStep | Token) -> None:
        """Does ``steps`` at an event, behind those that it has."""
        for step in steps:
            if isinstance(step, EventStep):
                queued = self._layers.all[step.layer]._queued
                queued.add(step.stream)
                if step.kind == EventKind.STORE:
                    queued.add(step.address)
            self._events.setdefault(event, []).append(step)

    def toggles(self, value: Value) -> None:
        """``Event.TOGGLE`` comes where it changes."""
        self._toggle = value.number
        self._queued.add(value.number)

    @property
    def queued(self) -> list[int]:
        """Numbers of streams that have a queue."""
        return sorted(self._queued)

    @property
    def trips(self) -> int | None:
        """Iterations of the loop, where they are known."""
        unit = self._unit
        if unit.lower != Operand() or unit.upper != Operand():
            return None
        return len(range(unit.lower_immediate, unit.upper_immediate, unit.stride))

    def _word(
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

    def _add(self, stream: Stream) -> Value:
        self._streams.append(stream)
        return Value(self._depth, len(self._streams) - 1)

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
        self._queued.add(value.number)
        return value

    def finished(self, slots: int, row: int, tokens: Mapping[str, int]) -> Layer:
        """With queues of ``slots`` from ``row`` on; ``tokens``: by label."""
        config = self._layers.config
        if len(self._streams) > config.streams:
            raise CapacityError(
                f"streams = {config.streams}: must be at least {len(self._streams)}"
            )
        streams = list(self._streams)
        for at, number in enumerate(self.queued):
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
        unit = replace(self._unit, streams=tuple(streams))
        return Layer(self._mode, (unit,), slots, self._toggle, events)


class Layers:
    """An access program as it is being written; ``all``: its layers, the outermost first."""

    def __init__(self, config: TmuConfig) -> None:
        self.config = config
        self.all: list[WrittenLayer] = []

    def single(self, fiber: Fiber) -> WrittenLayer:
        return self._add(Mode.SINGLE, fiber)

    def lockstep(self, count: int) -> WrittenLayer:
        """A vector a step, of ``count`` elements."""
        return self._add(Mode.LOCKSTEP, Fiber(0, count))

    def _add(self, mode: Mode, fiber: Fiber) -> WrittenLayer:
        if len(self.all) == self.config.layers:
            raise CapacityError(
                f"layers = {self.config.layers}: must be at least {len(self.all) + 1}"
            )
        self.all.append(WrittenLayer(self, mode, fiber))
        return self.all[-1]

    def program(self, tokens: Mapping[str, int]) -> AccessProgram:
        """``tokens``: addresses of labels. Raises ``CapacityError``."""
        queued = [len(layer.queued) for layer in self.all]
        trips = [layer.trips for layer in self.all]
        shares = slots_of_layers(self.config.stream_words, queued, trips)
        layers, row = [], 0
        for layer, slots, count in zip(self.all, shares, queued, strict=True):
            layers.append(layer.finished(slots, row, tokens))
            row += slots * count
        return AccessProgram(tuple(layers))
