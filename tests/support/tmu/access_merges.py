"""Access programs that merge: sorted fibers, and nests of them at random."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gnarl.hw.tmu.access_isa import MERGES, AluOperation, Event, EventKind, Mode, StreamKind
from gnarl.hw.tmu.access_program import (
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
from gnarl.hw.tmu.config import TmuConfig
from tests.support.tmu.access_programs import INDUCTION, load

STEP, LAST = 20, 21
"""Tokens."""


class Image:
    """Memory that arrays are put into, one behind the other with a gap."""

    def __init__(self, words: int) -> None:
        self.words = np.full(words, 0xDEAD_BEEF, np.uint32)
        self._end = 5

    def put(self, array: npt.NDArray[np.integer]) -> int:
        """Where it lies."""
        base = self._end
        self._end = base + len(array) + 3
        self.words[base : base + len(array)] = array
        return base


def merge(
    mode: Mode, fibers: Sequence[Sequence[int]], words: int, slots: int = 8
) -> tuple[AccessProgram, npt.NDArray[np.uint32]]:
    """Merges fibers whose values are ten times the coordinate and their number.

    Each step gives the mask, the coordinates, the values, and a token.
    """
    image = Image(words)
    units = []
    for number, fiber in enumerate(fibers):
        coordinates = np.array(fiber, np.uint32)
        base, values = image.put(coordinates), image.put(coordinates * 10 + number)
        count = len(fiber)
        streams = (INDUCTION, load(base, count), load(values, count, queue=slots))
        units.append(Unit(upper_immediate=count, streams=streams))
    events = {
        Event.ITERATION: (
            EventStep(EventKind.MASK),
            EventStep(EventKind.VECTOR, stream=1),
            EventStep(EventKind.VECTOR, stream=2),
            EventStep(EventKind.TOKEN, token=STEP),
        ),
        Event.END: (EventStep(EventKind.TOKEN, token=LAST),),
    }
    return AccessProgram((Layer(mode, tuple(units), slots, events=events),)), image.words


_MOST = 12
"""Elements of a level."""

_QUEUES = 6
"""Streams of a unit, all of them queued."""

_OPERATIONS = tuple(AluOperation)


def random_nest(
    rng: random.Random, config: TmuConfig
) -> tuple[AccessProgram, npt.NDArray[np.uint32]]:
    """Levels of tensors, one a unit, under each other: each element has a fiber of the next level.

    Streams are the position, the coordinate, where the fiber of the next level begins and ends,
    one of integers, and one of the layer around. Modes, units, bounds and events are arbitrary.
    """
    image = Image(config.memory_words)
    depth = rng.randint(1, min(config.layers, config.stream_words // _QUEUES))
    slots = rng.choice((1, 2, 5, 7))
    slots = min(slots, config.stream_words // (depth * _QUEUES))
    sizes = [rng.randint(1, _MOST) for _ in range(depth + 1)]
    modes = [rng.choice((*MERGES, *MERGES, Mode.SINGLE, Mode.LOCKSTEP)) for _ in range(depth)]
    counts = [rng.randint(2, config.lanes) if mode in MERGES else 1 for mode in modes]
    widths = [
        config.lanes if mode == Mode.LOCKSTEP else count
        for mode, count in zip(modes, counts, strict=True)
    ]
    steps_left = 28
    layers: list[Layer] = []
    for place in range(depth):
        around = 0 if place == 0 else widths[place - 1]
        units = []
        for lane in range(counts[place]):
            bounds = _bounds(rng, sizes[place], lane, around)
            units.append(_unit(rng, image, place, bounds, sizes, around, slots, modes[place]))
        events: dict[Event, tuple[EventStep, ...]] = {}
        for event in Event:
            seen = place if event in (Event.BEGIN, Event.END) else place + 1
            count = min(rng.choice((0, 0, 1, 2, 3)), steps_left)
            steps_left -= count
            events[event] = tuple(_step(rng, widths[:seen]) for _ in range(count))
        found = {event: steps for event, steps in events.items() if steps}
        layers.append(Layer(modes[place], tuple(units), slots, rng.randint(0, 4), found))
    return AccessProgram(tuple(layers)), image.words


def _bounds(rng: random.Random, size: int, lane: int, around: int) -> dict[str, Operand | int]:
    stride = rng.choice((1, 1, 1, 2, 3))
    if not around or rng.random() < 0.1:
        lower = rng.randint(0, size)
        return {"lower_immediate": lower, "upper_immediate": size, "stride": stride}
    of = lane if lane < around else rng.randrange(around)
    return {"lower": parent(2, of), "upper": parent(3, of), "stride": stride}


def _unit(
    rng: random.Random,
    image: Image,
    place: int,
    bounds: dict[str, Operand | int],
    sizes: list[int],
    around: int,
    slots: int,
    mode: Mode,
) -> Unit:
    size, below = sizes[place : place + 2]
    begins = np.sort(np.array([rng.randint(0, below) for _ in range(size + 1)]))
    coordinates = np.sort(
        np.array([rng.choice((rng.randint(0, 14), 2**32 - 1)) for _ in range(size)])
    )
    base, pointers = image.put(coordinates), image.put(begins)
    queues = [(place * _QUEUES + number) * slots for number in range(_QUEUES)]

    def operand() -> Operand:
        choices = [IMMEDIATE, own(0)] + ([own(1)] if mode in MERGES else [])
        if around:
            choices.append(parent(rng.randint(0, 5), rng.randrange(around)))
        return rng.choice(choices)

    coordinate = load(base, size, queue=queues[1])
    if mode in MERGES and rng.random() < 0.2:
        operation = rng.choice((AluOperation.ADD, AluOperation.MUL, AluOperation.SHIFT_LEFT))
        coordinate = Stream(
            rng.choice((StreamKind.FORWARD, StreamKind.INDUCTION, StreamKind.ALU)),
            operation,
            own(0),
            immediate=rng.randint(0, 3),
            queued=True,
            queue=queues[1],
        )
    streams = (
        Stream(StreamKind.INDUCTION, queued=True, queue=queues[0]),
        coordinate,
        load(pointers, size + 1, queue=queues[2]),
        load(pointers, size + 1, immediate=1, queue=queues[3]),
        Stream(
            StreamKind.ALU,
            rng.choice(_OPERATIONS),
            operand(),
            operand(),
            immediate=rng.randint(0, 9),
            queued=True,
            queue=queues[4],
        ),
        _last(rng, operand(), queues[5]),
    )
    return Unit(streams=streams, **bounds)  # type: ignore[arg-type]


def _last(rng: random.Random, operand: Operand, queue: int) -> Stream:
    if rng.random() < 0.5:
        return Stream(StreamKind.FORWARD, a=operand, immediate=7, queued=True, queue=queue)
    return Stream(
        StreamKind.ADDRESS,
        a=own(0),
        scale=rng.randint(0, 3),
        immediate=rng.randint(0, 9),
        base=99,
        length=4 * _MOST + 20,
        queued=True,
        queue=queue,
    )


def _step(rng: random.Random, widths: list[int]) -> EventStep:
    kind = rng.choice((EventKind.WORD, EventKind.VECTOR, EventKind.MASK, EventKind.TOKEN))
    if not widths or kind == EventKind.TOKEN:
        return EventStep(EventKind.TOKEN, token=rng.randrange(64))
    layer = rng.randrange(len(widths))
    return EventStep(kind, layer, rng.randrange(widths[layer]), rng.randint(0, 5))
