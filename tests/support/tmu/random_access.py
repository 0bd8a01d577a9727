"""Access programs at random that keep to all rules of ``gnarl.hw.tmu.access_rules``."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gnarl.hw.tmu.access_isa import (
    MERGES,
    UNBOUNDED,
    AluOperation,
    Mode,
    Source,
    StreamKind,
)
from gnarl.hw.tmu.access_program import (
    IMMEDIATE,
    AccessProgram,
    Layer,
    Operand,
    Stream,
    Unit,
    own,
    parent,
)
from gnarl.hw.tmu.config import TmuConfig
from tests.support.tmu.random_events import with_events

CORNERS = (
    *(0, 1, 2, 3, 15, 16, 17, 4095, 4096, 1 << 16, 1 << 30),
    *((1 << 31) - 2, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 3, (1 << 32) - 2),
    (1 << 32) - 1,
)
"""Words that are special as addresses, indices, bounds or shifts."""


@dataclass(frozen=True)
class Areas:
    """Words of memory: what access programs mostly read, and what they mostly store to."""

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
_NO_STREAM = Stream(cached=False, temporal=False, scale=0)
"""Behind a unit's last stream: its row is 0."""


def random_access(
    rng: random.Random, config: TmuConfig, areas: Areas, tokens: int
) -> AccessProgram:
    """Any modes, units, bounds, streams, queues, events and stores; tokens are below ``tokens``.

    Loops are short, the shorter the more of them there are, with few exceptions: bounds that are
    loaded are what memory has, and some lie where induction variables end. Indices are mostly
    inside of their arrays, which are mostly in ``areas``. Fields that mean nothing may have
    anything.
    """
    while not (program := _Maker(rng, config, areas, tokens).program()).layers:
        pass
    return program


class _Rows:
    """Rows of a memory for queues, of which some are taken."""

    def __init__(self, rng: random.Random, count: int) -> None:
        self._rng = rng
        self._count = count
        self._taken: set[int] = set()

    def place(self, slots: int) -> int | None:
        """The first of so many neighbours that are free: the lowest ones, the highest, or any; none
        if there are no more."""
        free = [
            first
            for first in range(self._count - slots + 1)
            if not any(row in self._taken for row in range(first, first + slots))
        ]
        if not free:
            return None
        found = self._rng.choice((free[0], free[0], free[-1], self._rng.choice(free)))
        self._taken |= {*range(found, found + slots)}
        return found


class _Maker:
    def __init__(self, rng: random.Random, config: TmuConfig, areas: Areas, tokens: int) -> None:
        self._rng = rng
        self._config = config
        self._areas = areas
        self._tokens = tokens
        self._rows = {is_single: _Rows(rng, config.stream_words) for is_single in (False, True)}
        self._depth = rng.randint(1, config.layers)
        self._has_junk = rng.random() < 0.2

    def program(self) -> AccessProgram:
        layers: list[Layer] = []
        for _ in range(self._depth):
            layer = self._layer(layers)
            if layer is None:
                break
            layers.append(layer)
        made = with_events(self._rng, layers, self._config.lanes, self._tokens, self._has_junk)
        return AccessProgram(tuple(made))

    # Layers.

    def _layer(self, around: Sequence[Layer]) -> Layer | None:
        """The next one inside; none where there is no room for it."""
        rng, config = self._rng, self._config
        mode = rng.choice((Mode.SINGLE, Mode.SINGLE, Mode.LOCKSTEP, *MERGES))
        count = rng.randint(1, config.lanes) if mode in MERGES else 1
        slots = rng.choice((1, 1, 2, 3, 5, 8))
        if rng.random() < 0.03:
            slots = rng.choice((config.stream_words, config.stream_words // 2))
        least = 2 if mode in MERGES else 1
        names = range(rng.randint(least, config.streams))
        units = [self._unit(mode, around[-1] if around else None, len(names)) for _ in range(count)]
        if count > 1 and rng.random() < 0.1:  # the last of which have fewer streams
            left = rng.randint(least, len(names))
            fewer = (*units[-1].streams[:left], *[_NO_STREAM] * (len(names) - left))
            units[-1] = replace(units[-1], streams=fewer)
        for number in names:
            rows = [unit.streams[number] for unit in units]
            if not any(row.queued for row in rows):
                continue
            is_single = mode == Mode.SINGLE or (
                mode == Mode.LOCKSTEP and rows[0].kind == StreamKind.ADDRESS
            )
            queue = self._rows[is_single].place(slots)
            if queue is None:
                return None
            units = [
                _with_queue(unit, number, queue) if rows[lane].queued or not lane else unit
                for lane, unit in enumerate(units)
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
            rng.choice((1, 1, 1, 2, 3, 4095, rng.randint(1, 4095))),
            rng.random() < 0.1,
            rng.random() < 0.1,
            first,
            last,
            tuple(streams),
        )

    def _bounds(self, around: Layer | None) -> tuple[Operand, Operand, int, int]:
        rng, immediate = self._rng, self._operand(IMMEDIATE)
        match rng.randrange(40):
            case 0:  # where an induction variable has nothing behind
                return immediate, immediate, 2**31 - rng.randint(1, 9), 2**31 - 1
            case 1:  # nor before
                return immediate, immediate, -(2**31), -(2**31) + rng.randint(0, 6)
            case 2:
                return immediate, immediate, rng.randint(-9, -1), rng.randint(-9, 3)
            case 3:  # empty, however large
                return immediate, immediate, rng.choice((0, 2**31 - 1)), -rng.choice((0, 1, 2**31))
        most = {1: 7, 2: 7, 3: 7, 4: 4, 5: 3}.get(self._depth, 2)
        lower, upper = rng.choice((0, 0, 0, rng.randint(0, 3))), rng.randint(0, most)
        operands = [immediate, immediate]
        for place, share in enumerate((0.3, 0.5)):
            if around is not None and rng.random() < share:
                operands[place] = self._parent(around) or immediate
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
            kind = rng.choice((*_COORDINATES, StreamKind.FORWARD))
        else:
            kind = rng.choice(_VALUES)
        operations = [*AluOperation]
        if is_coordinate:
            operations.remove(AluOperation.DIV)
            operations.remove(AluOperation.MOD)
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
            return self._operand(rng.choice(choices))

        a = self._operand(own(0)) if number and rng.random() < 0.5 else operand()
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
            queue=rng.getrandbits(32) if self._has_junk and not is_queued else 0,
            immediate=rng.choice((0, 0, 1, 2, rng.randint(0, 40), self._word())),
            scale=rng.choice((1, 1, 1, 0, 2, 5, self._word())),
            base=base,
            length=length,
        )

    def _word(self) -> int:
        return self._rng.choice((self._rng.choice(CORNERS), self._rng.getrandbits(32)))

    def _array(self, kind: StreamKind) -> tuple[int, int]:
        rng, config = self._rng, self._config
        if kind not in (StreamKind.MEMORY, StreamKind.ADDRESS):
            return (self._word(), self._word()) if self._has_junk else (0, 0)
        if kind == StreamKind.ADDRESS and rng.random() < 0.3:
            return self._word(), UNBOUNDED
        area = self._areas.stored if kind == StreamKind.ADDRESS else self._areas.read
        behind = config.lanes - 1  # units of layers that merge store there
        if (chance := rng.random()) < 0.1:
            # At the end of memory, or anywhere.
            length = rng.choice((0, 1, 16, 40))
            last = config.memory_words - length - behind * (kind == StreamKind.ADDRESS)
            return (last if chance < 0.05 else rng.randint(0, last)), length
        most = len(area) - behind
        length = rng.choice((most, most, most, rng.randint(0, 40)))
        return area.start + rng.randint(0, most - length), length

    def _operand(self, operand: Operand) -> Operand:
        """With anything where it has no meaning."""
        if not self._has_junk or operand.source == Source.PARENT:
            return operand
        lane, stream = self._rng.randrange(16), operand.stream
        if operand.source == Source.IMMEDIATE:
            stream = self._rng.randrange(8)
        return replace(operand, lane=lane, stream=stream)

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


def _with_queue(unit: Unit, number: int, queue: int) -> Unit:
    stream = replace(unit.streams[number], queue=queue)
    return replace(unit, streams=(*unit.streams[:number], stream, *unit.streams[number + 1 :]))
