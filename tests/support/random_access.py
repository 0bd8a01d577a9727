"""Access programs at random that keep to all rules of ``hw.tmu.access_rules``."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hw.tmu.access_isa import (
    EVENT_STEPS,
    MERGES,
    UNBOUNDED,
    AluOperation,
    Event,
    EventKind,
    Mode,
    StreamKind,
)
from hw.tmu.access_program import (
    IMMEDIATE,
    AccessProgram,
    EventStep,
    Layer,
    Operand,
    Stream,
    Unit,
    own,
    parent,
)
from hw.tmu.config import TmuConfig


@dataclass(frozen=True)
class Areas:
    """Words of memory: what access programs read, and what they store to."""

    read: range
    stored: range


_COORDINATES = (StreamKind.MEMORY, StreamKind.MEMORY, StreamKind.ALU, StreamKind.INDUCTION)
_VALUES = (
    *(StreamKind.MEMORY,) * 3,
    *(StreamKind.ALU,) * 2,
    StreamKind.FORWARD,
    StreamKind.ADDRESS,
    StreamKind.NONE,
)
_STEPS = (EventKind.WORD, EventKind.WORD, EventKind.VECTOR, EventKind.MASK, EventKind.TOKEN)


def random_access(
    rng: random.Random, config: TmuConfig, areas: Areas, tokens: int
) -> AccessProgram:
    """Any modes, units, bounds, streams, queues, events and stores; tokens are below ``tokens``.

    Loops are short, with few exceptions: bounds that are loaded are what memory has, and some lie
    where induction variables end. Indices are mostly inside of their arrays.
    """
    while not (program := _Maker(rng, config, areas, tokens).program()).layers:
        pass
    return program


class _Maker:
    def __init__(self, rng: random.Random, config: TmuConfig, areas: Areas, tokens: int) -> None:
        self._rng = rng
        self._config = config
        self._areas = areas
        self._tokens = tokens
        self._rows = {False: 0, True: 0}
        self._steps = EVENT_STEPS

    def program(self) -> AccessProgram:
        layers: list[Layer] = []
        for _ in range(self._rng.randint(1, self._config.layers)):
            layer = self._layer(layers)
            if layer is None:
                break
            layers.append(layer)
        return AccessProgram(tuple(self._with_events(layers)))

    # Layers.

    def _layer(self, around: Sequence[Layer]) -> Layer | None:
        """The next one inside; none where there is no room for it."""
        rng, config = self._rng, self._config
        mode = rng.choice((Mode.SINGLE, Mode.SINGLE, Mode.LOCKSTEP, *MERGES))
        count = rng.randint(1, config.lanes) if mode in MERGES else 1
        slots = rng.choice((1, 1, 2, 3, 5, 8))
        names = range(rng.randint(2 if mode in MERGES else 1, config.streams))
        units = [self._unit(mode, around[-1] if around else None, len(names)) for _ in range(count)]
        for number in names:
            rows = [unit.streams[number] for unit in units]
            if not any(row.queued for row in rows):
                continue
            is_single = mode == Mode.SINGLE or (
                mode == Mode.LOCKSTEP and rows[0].kind == StreamKind.ADDRESS
            )
            queue = self._rows[is_single]
            if queue + slots > config.stream_words:
                return None
            self._rows[is_single] += slots
            units = [
                replace(
                    unit,
                    streams=(
                        *unit.streams[:number],
                        replace(unit.streams[number], queue=queue),
                        *unit.streams[number + 1 :],
                    ),
                )
                for unit in units
            ]
        return Layer(mode, tuple(units), slots)

    def _unit(self, mode: Mode, around: Layer | None, count: int) -> Unit:
        rng = self._rng
        streams: list[Stream] = []
        for number in range(count):
            streams.append(self._stream(mode, around, streams, number))
        lower, upper, first, last = self._bounds(around)
        return Unit(
            lower,
            upper,
            rng.choice((1, 1, 1, 2, 3, rng.randint(1, 4095))),
            rng.random() < 0.1,
            rng.random() < 0.1,
            first,
            last,
            tuple(streams),
        )

    def _bounds(self, around: Layer | None) -> tuple[Operand, Operand, int, int]:
        rng = self._rng
        if rng.random() < 0.03:  # where an induction variable has nothing behind
            return IMMEDIATE, IMMEDIATE, 2**31 - rng.randint(1, 9), 2**31 - 1
        if rng.random() < 0.03:
            return IMMEDIATE, IMMEDIATE, rng.randint(-9, -1), rng.randint(-9, 3)
        lower, upper = rng.choice((0, 0, 0, rng.randint(0, 3))), rng.randint(0, 7)
        operands = [IMMEDIATE, IMMEDIATE]
        for place, share in enumerate((0.3, 0.5)):
            if around is not None and rng.random() < share:
                operands[place] = self._parent(around) or IMMEDIATE
        return operands[0], operands[1], lower, upper

    # Streams.

    def _stream(
        self, mode: Mode, around: Layer | None, before: Sequence[Stream], number: int
    ) -> Stream:
        rng = self._rng
        is_coordinate = number == 1 and mode in MERGES
        if number == 0:
            kind = StreamKind.INDUCTION
        elif is_coordinate:
            kind = rng.choice(_COORDINATES)
        else:
            kind = rng.choice(_VALUES)
        operations = [*AluOperation]
        if is_coordinate:
            operations = [AluOperation.ADD, AluOperation.MUL, AluOperation.SHIFT_LEFT]
        known = [
            place
            for place, stream in enumerate(before)
            if (place == 1 and mode in MERGES)
            or stream.kind not in (StreamKind.NONE, StreamKind.MEMORY)
        ]

        def operand() -> Operand:
            choices = [IMMEDIATE]
            if known and kind not in (StreamKind.NONE, StreamKind.INDUCTION):
                choices += [own(0), own(rng.choice(known))]
            if around is not None and rng.random() < 0.3:
                choices.append(self._parent(around) or IMMEDIATE)
            return rng.choice(choices)

        a = own(0) if number and rng.random() < 0.5 else operand()
        is_queued = kind == StreamKind.MEMORY and not is_coordinate
        is_queued |= kind != StreamKind.NONE and rng.random() < 0.6
        base, length = self._array(kind)
        return Stream(
            kind,
            rng.choice(operations),
            a,
            operand(),
            queued=is_queued,
            cached=rng.random() < 0.7,
            temporal=rng.random() < 0.7,
            immediate=rng.choice((0, 0, 1, 2, rng.randint(0, 40), rng.getrandbits(32))),
            scale=rng.choice((1, 1, 1, 0, 2, 5, rng.getrandbits(32))),
            base=base,
            length=length,
        )

    def _array(self, kind: StreamKind) -> tuple[int, int]:
        rng = self._rng
        if kind == StreamKind.ADDRESS and rng.random() < 0.3:
            return rng.choice((0, rng.getrandbits(32))), UNBOUNDED
        area = self._areas.stored if kind == StreamKind.ADDRESS else self._areas.read
        # Units of layers that merge store behind it.
        most = len(area) - self._config.lanes
        length = rng.choice((most, most, most, rng.randint(0, 40)))
        return area.start + rng.randint(0, most - length), length

    def _parent(self, around: Layer) -> Operand | None:
        """One of the layer around with a queue."""
        found = [
            parent(number, lane)
            for lane, unit in enumerate(around.units)
            for number, stream in enumerate(unit.streams)
            if stream.queued
        ]
        if not found:
            return None
        operand = self._rng.choice(found)
        if around.mode == Mode.LOCKSTEP:
            return replace(operand, lane=self._rng.randrange(self._config.lanes))
        return operand

    # Events.

    def _with_events(self, layers: Sequence[Layer]) -> list[Layer]:
        return [self._layer_with_events(layers, place) for place in range(len(layers))]

    def _layer_with_events(self, layers: Sequence[Layer], place: int) -> Layer:
        rng, layer = self._rng, layers[place]
        toggles = [n for n, stream in enumerate(layer.units[0].streams) if stream.queued]
        events: dict[Event, tuple[EventStep, ...]] = {}
        for event in Event:
            if event == Event.TOGGLE and (not toggles or rng.random() < 0.6):
                continue
            inside = place + (event in (Event.TOGGLE, Event.ITERATION))
            most = min(self._steps, rng.choice((0, 0, 1, 1, 2, 3)))
            steps = [self._step(layers[:inside]) for _ in range(most)]
            if steps:
                self._steps -= len(steps)
                events[event] = tuple(steps)
        return replace(layer, toggle=rng.choice(toggles) if toggles else 0, events=events)

    def _step(self, layers: Sequence[Layer]) -> EventStep:
        rng = self._rng
        kind = rng.choice(_STEPS)
        token = EventStep(EventKind.TOKEN, token=rng.randrange(self._tokens))
        if not layers or kind == EventKind.TOKEN:
            return token
        place = rng.randrange(len(layers))
        layer = layers[place]
        if kind == EventKind.MASK:
            return EventStep(kind, place)
        streams = layer.units[0].streams
        lane = rng.randrange(len(layer.units))
        of_lane = [n for n, each in enumerate(layer.units[lane].streams) if each.queued]
        of_all = [
            number
            for number in range(len(streams))
            if all(unit.streams[number].queued for unit in layer.units)
        ]
        addresses = [
            number
            for number, each in enumerate(streams)
            if each.kind == StreamKind.ADDRESS and each.queued and each.length != UNBOUNDED
        ]
        if addresses and of_all and rng.random() < 0.5:
            to = rng.choice(addresses)
            return EventStep(EventKind.STORE, place, stream=rng.choice(of_all), address=to)
        chosen = of_lane if kind == EventKind.WORD else of_all
        if not chosen:
            return token
        if kind == EventKind.WORD and layer.mode == Mode.LOCKSTEP:
            lane = rng.randrange(self._config.lanes)
        return EventStep(kind, place, lane, rng.choice(chosen))
