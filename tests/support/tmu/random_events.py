"""Events of access programs at random that keep to all rules of ``gnarl.hw.tmu.access_rules``."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from gnarl.hw.tmu.access_isa import EVENT_STEPS, UNBOUNDED, Event, EventKind, Mode, StreamKind
from gnarl.hw.tmu.access_program import EventStep, Layer

_STEPS = (EventKind.WORD, EventKind.WORD, EventKind.VECTOR, EventKind.MASK, EventKind.TOKEN)


def with_events(
    rng: random.Random, layers: Sequence[Layer], lanes: int, tokens: int, has_junk: bool
) -> list[Layer]:
    """The layers with steps of any kind at their events, with tokens below ``tokens``; ``has_junk``
    in fields that mean nothing."""
    maker = _Maker(rng, layers, lanes, tokens, has_junk)
    return [maker.layer(place) for place in range(len(layers))]


class _Maker:
    def __init__(
        self, rng: random.Random, layers: Sequence[Layer], lanes: int, tokens: int, has_junk: bool
    ) -> None:
        self._rng = rng
        self._layers = layers
        self._lanes = lanes
        self._tokens = tokens
        self._has_junk = has_junk
        self._left = EVENT_STEPS

    def layer(self, place: int) -> Layer:
        rng, layer = self._rng, self._layers[place]
        toggles = [n for n, stream in enumerate(layer.units[0].streams) if stream.queued]
        events: dict[Event, tuple[EventStep, ...]] = {}
        for event in Event:
            if event == Event.TOGGLE and (not toggles or rng.random() < 0.6):
                continue
            inside = place + (event in (Event.TOGGLE, Event.ITERATION))
            count = rng.choice((0, 0, 1, 1, 2, 3))
            if rng.random() < 0.02:
                count = rng.choice((8, EVENT_STEPS))
            steps = [self._step(inside) for _ in range(min(self._left, count))]
            if steps:
                self._left -= len(steps)
                events[event] = tuple(steps)
        toggle = rng.choice(toggles) if toggles else 0
        if self._has_junk and Event.TOGGLE not in events:
            toggle = rng.randrange(8)
        return replace(layer, toggle=toggle, events=events)

    def _step(self, inside: int) -> EventStep:
        """A step of the first ``inside`` layers, which are in an iteration."""
        step = self._meaning(self._layers[:inside])
        if not self._has_junk:
            return step
        used = {
            EventKind.WORD: ("layer", "lane", "stream"),
            EventKind.VECTOR: ("layer", "stream"),
            EventKind.MASK: ("layer",),
            EventKind.TOKEN: ("token",),
            EventKind.STORE: ("layer", "stream", "address"),
        }[step.kind]
        bits = {"layer": 3, "lane": 4, "stream": 3, "address": 3, "token": 32}
        junk = {
            name: self._rng.getrandbits(width) for name, width in bits.items() if name not in used
        }
        return replace(step, **junk)

    def _meaning(self, layers: Sequence[Layer]) -> EventStep:
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
            lane = rng.randrange(self._lanes)
        return EventStep(kind, place, lane, rng.choice(chosen))
