"""The access unit: an interpreter of its programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.machine.memory_map import NO_LIMIT
from gnarl.hw.tmu.access_isa import (
    MERGES,
    UNBOUNDED,
    AluOperation,
    Event,
    EventKind,
    Mode,
    Source,
    StreamKind,
)
from gnarl.hw.tmu.access_program import AccessProgram, Layer, Operand, Stream, Unit
from gnarl.hw.tmu.config import MAX_STREAMS
from gnarl.sw.execute.values.output import Output
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.tmu.model.line_requests import LineRequests

MOST_HELD = 1 << 24
"""The number of words, tokens and requests, all of which the model holds until its end: 1 GiB and
more."""

_WORD = 0xFFFF_FFFF

_NOTHING = (0,) * MAX_STREAMS
"""Values of a lane that is not in use."""

_TOKENS, _DATA = -1, -2
"""Behind the layers: the queues."""


class StreamError(GnarlError):
    """A stream's index lies beyond its array."""

    def __init__(self, layer: int, lane: int, stream: int, index: int, length: int) -> None:
        super().__init__(
            f"layer {layer}, unit {lane}, stream {stream}: index {index}: must be below {length}"
        )
        self.place = layer, lane, stream


class BoundsError(GnarlError):
    """An upper bound of an ``ordered`` unit lies below the lower one."""

    def __init__(self, layer: int, lane: int, lower: int, upper: int) -> None:
        super().__init__(f"layer {layer}, unit {lane}: from {lower} to {upper}: must not decrease")
        self.place = layer, lane, 0


@dataclass(frozen=True)
class _Iteration:
    """Values of a layer's ``MAX_STREAMS`` streams in one of its iterations, by lane, 0 where there
    is none; which lanes are in use."""

    values: tuple[tuple[int, ...], ...]
    lanes: int


def run(
    program: AccessProgram,
    memory: npt.NDArray[np.uint32],
    lanes: int,
    max_cycles: int = NO_LIMIT,
) -> Output:
    """Runs ``program``, which keeps to ``gnarl.hw.tmu.access_rules``, on ``memory`` (uint32
    [words]), which ``STORE`` events write.

    Raises ``StreamError`` for an index beyond its array, ``BoundsError`` for bounds that decrease,
    ``CycleLimitError`` where a layer has more than ``max_cycles`` steps, or more is put into one of
    the queues: the unit does one of each in a cycle.
    """
    return _Traversal(program, memory, lanes, max_cycles).run()


class _Traversal:
    def __init__(
        self,
        program: AccessProgram,
        memory: npt.NDArray[np.uint32],
        lanes: int,
        max_cycles: int,
    ) -> None:
        self._max_cycles = max_cycles
        self._spent = [0] * (len(program.layers) + 2)
        self._program = program
        self._memory = memory
        self._lanes = lanes
        self._output = Output()
        self._current: list[_Iteration | None] = [None] * len(program.layers)
        self._ends = [[0] * lanes for _ in program.layers]
        self._requests = {
            place: LineRequests(layer, lanes)
            for place, layer in enumerate(program.layers)
            if layer.mode in (Mode.SINGLE, Mode.LOCKSTEP)
        }

    def run(self) -> Output:
        self._loop(0)
        return self._output

    def _loop(self, place: int) -> None:
        """The loop of a layer, for the current iteration of the layer around it."""
        layer = self._program.layers[place]
        self._happens(place, Event.BEGIN)
        if place + 1 < len(self._program.layers):
            self._ends[place + 1] = [0] * self._lanes
        last: int | None = None
        for iteration in self._iterations(place, layer):
            self._current[place] = iteration
            watched = iteration.values[0][layer.toggle]
            if watched != last:
                self._happens(place, Event.TOGGLE)
            last = watched
            self._happens(place, Event.ITERATION)
            if place + 1 < len(self._program.layers):
                self._loop(place + 1)
        self._current[place] = None
        self._happens(place, Event.END)

    def _spend(self, part: int) -> None:
        """A cycle of a layer, or of ``_TOKENS`` or ``_DATA``, to which it puts."""
        self._spent[part] += 1
        if self._spent[part] > self._max_cycles:
            raise CycleLimitError(self._max_cycles)
        output = self._output
        if len(output.words) + len(output.tokens) + len(output.requests) > MOST_HELD:
            raise GnarlError(
                f"the access unit gives more than {MOST_HELD} words, tokens and requests: the "
                "model holds no more"
            )

    def _happens(self, place: int, event: Event) -> None:
        for step in self._program.layers[place].events.get(event, ()):
            if step.kind == EventKind.TOKEN:
                self._spend(_TOKENS)
                self._output.tokens.append(step.token)
                self._output.puts.append(0)
                continue
            at = self._current[step.layer]
            assert at is not None
            self._spend(_DATA)
            if step.kind == EventKind.WORD:
                self._put([at.values[step.lane][step.stream]])
            elif step.kind == EventKind.MASK:
                self._put([at.lanes])
            elif step.kind == EventKind.STORE:
                address = at.values[0][step.address]
                for lane, values in enumerate(at.values):
                    if at.lanes >> lane & 1:
                        self._memory[address + lane] = values[step.stream]
            else:
                self._put(
                    [
                        at.values[lane][step.stream] if at.lanes >> lane & 1 else 0
                        for lane in range(self._lanes)
                    ]
                )

    def _put(self, words: list[int]) -> None:
        self._output.words += words
        self._output.puts.append(len(words))

    def _iterations(self, place: int, layer: Layer) -> Iterator[_Iteration]:
        if layer.mode in MERGES:
            yield from self._merged(place, layer)
            return
        unit = layer.units[0]
        width = 1 if layer.mode == Mode.SINGLE else self._lanes
        lower, upper = self._bounds(place, 0, unit)
        for first in range(lower, upper, unit.stride * width):
            self._spend(place)
            inductions = range(first, min(upper, first + width * unit.stride), unit.stride)
            values, addresses = self._vectors(place, unit, inductions)
            for number, words in addresses.items():
                for line in self._requests[place].lines(number, words, upper - first):
                    self._output.requests.append((place, number, line))
            others = _filled(
                [
                    value if stream.kind == StreamKind.ADDRESS else 0
                    for stream, value in zip(unit.streams, values[0], strict=False)
                ]
            )
            used = len(inductions)
            yield _Iteration((*values, *[others] * (width - used)), (1 << used) - 1)

    def _vectors(
        self, place: int, unit: Unit, inductions: range
    ) -> tuple[list[tuple[int, ...]], dict[int, list[int]]]:
        """The values of a unit's streams in the lanes in use, stream after stream, and the
        addresses that each of them reads."""
        lanes: list[list[int]] = [[] for _ in inductions]
        addresses: dict[int, list[int]] = {}
        for number in range(len(unit.streams)):
            for lane, index in enumerate(inductions):
                head = lanes[0][number] if lane else None
                value = self._value(place, lane, unit, number, index, lanes[lane], head, addresses)
                lanes[lane].append(value & _WORD)
        return [_filled(values) for values in lanes], addresses

    def _merged(self, place: int, layer: Layer) -> Iterator[_Iteration]:
        """A step for each coordinate, stream 1 of each unit, that all units or any have.

        Other streams have a value only in steps. Without a coordinate that all have, all units
        but those at the greatest go on.
        """
        bounds = [self._bounds(place, lane, unit) for lane, unit in enumerate(layer.units)]
        fibers = [
            self._fiber(place, lane, unit, *bounds[lane]) for lane, unit in enumerate(layer.units)
        ]
        heads = [next(fiber, None) for fiber in fibers]
        wants_all = layer.mode == Mode.CONJUNCTIVE
        while any(heads) and not (wants_all and None in heads):
            self._spend(place)
            coordinates = [head[1] for head in heads if head is not None]
            least, greatest = min(coordinates), max(coordinates)
            if wants_all and least < greatest:
                goes_on = [coordinate < greatest for coordinate in coordinates]
            else:
                starts = _indices_at(heads, least)
                goes_on = [start is not None for start in starts]
                yield self._step(place, layer, starts)
            for lane, fiber in enumerate(fibers):
                if goes_on[lane]:
                    heads[lane] = next(fiber, None)

    def _step(self, place: int, layer: Layer, starts: Sequence[int | None]) -> _Iteration:
        """The step of units at such iterations; those with ``None`` are not in it."""
        values = tuple(
            _NOTHING if start is None else self._values(place, lane, unit, start)
            for lane, (start, unit) in enumerate(zip(starts, layer.units, strict=True))
        )
        lanes = sum((start is not None) << lane for lane, start in enumerate(starts))
        return _Iteration(values, lanes)

    def _fiber(
        self, place: int, lane: int, unit: Unit, lower: int, upper: int
    ) -> Iterator[tuple[int, int]]:
        """Induction variables and coordinates."""
        for index in range(lower, upper, unit.stride):
            yield index, self._values(place, lane, unit, index, streams=2)[1]

    def _bounds(self, place: int, lane: int, unit: Unit) -> tuple[int, int]:
        lower = self._operand(place, unit.lower, (), unit.lower_immediate)
        upper = self._operand(place, unit.upper, (), unit.upper_immediate)
        if unit.ordered and _signed(upper) < _signed(lower):
            raise BoundsError(place, lane, _signed(lower), _signed(upper))
        if unit.accumulates:
            lower += self._ends[place][lane]
            upper += self._ends[place][lane]
            self._ends[place][lane] = upper
        return _signed(lower), _signed(upper)

    def _values(
        self, place: int, lane: int, unit: Unit, index: int, streams: int = MAX_STREAMS
    ) -> tuple[int, ...]:
        """Values of the first ``streams`` streams of a unit that merges, in the iteration
        ``index``."""
        values: list[int] = []
        for number in range(min(streams, len(unit.streams))):
            value = self._value(place, lane, unit, number, index, values, None, {})
            values.append(value & _WORD)
        return _filled(values)

    def _value(
        self,
        place: int,
        lane: int,
        unit: Unit,
        number: int,
        index: int,
        values: list[int],
        head: int | None,
        addresses: dict[int, list[int]],
    ) -> int:
        """The value of a stream in the iteration ``index``, perhaps with more than 32 bits, behind
        the ``values`` of those before it; adds to the ``addresses`` that each stream reads.
        ``head``: in lockstep lane 0's value, for the other lanes."""
        stream = unit.streams[number]
        a = self._operand(place, stream.a, values, stream.immediate)
        b = self._operand(place, stream.b, values, stream.immediate)
        if stream.kind == StreamKind.INDUCTION:
            return index
        if stream.kind == StreamKind.MEMORY:
            address = self._address(place, lane, number, stream, a, b)
            addresses.setdefault(number, []).append(address)
            return int(self._memory[address])
        if stream.kind == StreamKind.ADDRESS and head is not None:
            self._check(place, lane, number, stream, head - stream.base + lane & _WORD)
            return head
        if stream.kind == StreamKind.ADDRESS:
            return self._address(place, lane, number, stream, a, b)
        if stream.kind == StreamKind.ALU:
            return _alu(stream.operation, a, b)
        return a if stream.kind == StreamKind.FORWARD else 0

    def _address(self, place: int, lane: int, number: int, stream: Stream, a: int, b: int) -> int:
        index = a * stream.scale + b & _WORD
        self._check(place, lane, number, stream, index)
        return stream.base + index

    def _check(self, place: int, lane: int, number: int, stream: Stream, index: int) -> None:
        is_unbounded = stream.kind == StreamKind.ADDRESS and stream.length == UNBOUNDED
        if index >= stream.length and not is_unbounded:
            raise StreamError(place, lane, number, index, stream.length)

    def _operand(
        self, place: int, operand: Operand, values: list[int] | tuple[()], immediate: int
    ) -> int:
        if operand.source == Source.IMMEDIATE:
            return immediate
        if operand.source == Source.OWN:
            return values[operand.stream]
        around = self._current[place - 1]
        assert around is not None
        return around.values[operand.lane][operand.stream]


def _filled(values: list[int]) -> tuple[int, ...]:
    return (*values, *_NOTHING[len(values) :])


def _signed(word: int) -> int:
    return (word & _WORD) - ((word & 1 << 31) << 1)


def _alu(operation: AluOperation, a: int, b: int) -> int:
    if operation == AluOperation.ADD:
        return a + b
    if operation == AluOperation.SUB:
        return a - b
    if operation == AluOperation.MUL:
        return a * b
    if operation == AluOperation.DIV:
        return a // b if b else _WORD
    if operation == AluOperation.MOD:
        return a % b if b else a
    if operation == AluOperation.SHIFT_LEFT:
        return a << b % 32
    return a >> b % 32


def _indices_at(heads: Sequence[tuple[int, int] | None], coordinate: int) -> list[int | None]:
    """The iterations of heads that are at a coordinate."""
    return [head[0] if head is not None and head[1] == coordinate else None for head in heads]
