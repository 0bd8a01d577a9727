"""DLC, the access unit: layers that put words and tokens into queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.utils.exceptions import InterpretationError

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
from gnarl.hw.tmu.access_program import EventStep, Layer, Operand, Stream, Unit
from gnarl.sw.compiler.tmu.dialects.dlc import AccessOp, LayerOp, layer_of
from gnarl.sw.compiler.tmu.interpreting.merging import merged
from gnarl.sw.compiler.tmu.interpreting.queues import Queues, SharedMemory

_COORDINATE = 1
"""The stream by which units merge."""

_ALU: dict[AluOperation, Callable[[Any, Any], Any]] = {
    AluOperation.ADD: np.add,
    AluOperation.SUB: np.subtract,
    AluOperation.MUL: np.multiply,
    AluOperation.DIV: lambda a, b: np.where(b, a // np.maximum(b, 1), 0xFFFF_FFFF),
    AluOperation.MOD: lambda a, b: np.where(b, a % np.maximum(b, 1), a),
    AluOperation.SHIFT_LEFT: lambda a, b: a << (b & 31),
    AluOperation.SHIFT_RIGHT: lambda a, b: a >> (b & 31),
}


@dataclass(frozen=True)
class _Iteration:
    """``values``, uint32 [streams, lanes], of which ``used``, bool [lanes], are in use."""

    values: np.ndarray
    used: np.ndarray


@register_impls
class AccessUnit(InterpreterFunctions):
    """Runs the whole nest of layers, as if the queues had room for all it gives.

    ``tokens``: names of cases. Raises ``InterpretationError`` for an index beyond its array, and
    bounds of an ``ordered`` unit that decrease.
    """

    def __init__(
        self, memory: SharedMemory, queues: Queues, tokens: Sequence[str], lanes: int
    ) -> None:
        self._memory = memory
        self._queues = queues
        self._tokens = tokens
        self._lanes = lanes
        self._layers: list[Layer] = []
        self._depths: dict[LayerOp, int] = {}
        self._current: dict[int, _Iteration] = {}
        self._ends: dict[tuple[int, int], int] = {}

    @impl(AccessOp)
    def run(self, interpreter: Interpreter, operation: AccessOp, args: Any) -> Any:
        numbers = {name: number for number, name in enumerate(self._tokens)}
        layers = [each for each in operation.layers.block.ops if isinstance(each, LayerOp)]
        self._layers = [layer_of(each, numbers, self._memory.bases) for each in layers]
        self._depths = {each: depth for depth, each in enumerate(layers)}
        interpreter.run_op(layers[0])
        return ()

    @impl(LayerOp)
    def loop(self, interpreter: Interpreter, operation: LayerOp, args: Any) -> Any:
        """A layer's loop, in the current iteration of the layer around it."""
        depth, inner = self._depths[operation], operation.next_op
        layer = self._layers[depth]
        for place in [each for each in self._ends if each[0] == depth + 1]:
            del self._ends[place]
        self._happens(layer, Event.BEGIN)
        watched: int | None = None
        for iteration in self._iterations(layer, depth):
            self._current[depth] = iteration
            now = int(iteration.values[layer.toggle, 0])
            if now != watched:
                self._happens(layer, Event.TOGGLE)
            watched = now
            self._happens(layer, Event.ITERATION)
            if inner is not None:
                interpreter.run_op(inner)
        self._happens(layer, Event.END)
        return ()

    # Events.

    def _happens(self, layer: Layer, event: Event) -> None:
        for step in layer.events.get(event, ()):
            if step.kind == EventKind.TOKEN:
                self._queues.tokens.append(self._tokens[step.token])
            elif step.kind == EventKind.STORE:
                self._store(step)
            else:
                self._queues.words.extend(self._words(step))

    def _words(self, step: EventStep) -> np.ndarray:
        iteration = self._current[step.layer]
        if step.kind == EventKind.WORD:
            return iteration.values[step.stream, [step.lane]]
        if step.kind == EventKind.VECTOR:
            return np.where(iteration.used, iteration.values[step.stream], np.uint32(0))
        (used,) = np.nonzero(iteration.used)
        return np.array([np.bitwise_or.reduce(1 << used)], np.uint32)

    def _store(self, step: EventStep) -> None:
        iteration = self._current[step.layer]
        (used,) = np.nonzero(iteration.used)
        address = int(iteration.values[step.address, 0])
        self._memory.words[address + used] = iteration.values[step.stream, used]

    # Iterations.

    def _iterations(self, layer: Layer, depth: int) -> Iterator[_Iteration]:
        if layer.mode in MERGES:
            yield from self._merged(layer, depth)
            return
        (unit,) = layer.units
        width = self._lanes if layer.mode == Mode.LOCKSTEP else 1
        every = self._fiber(unit, depth, 0)
        for first in range(0, len(every), width):
            part = every[first : first + width]
            streams = self._values(unit, depth, part, len(unit.streams))
            values = np.zeros((len(unit.streams), self._lanes), np.uint32)
            values[:, : len(part)] = streams
            yield _Iteration(values, np.arange(self._lanes) < len(part))

    def _merged(self, layer: Layer, depth: int) -> Iterator[_Iteration]:
        fibers = [self._fiber(unit, depth, lane) for lane, unit in enumerate(layer.units)]
        coordinates = [
            self._values(unit, depth, fiber, _COORDINATE + 1)[_COORDINATE].view(np.int32)
            for unit, fiber in zip(layer.units, fibers, strict=True)
        ]
        most = max(len(unit.streams) for unit in layer.units)
        for _, places, has in merged(coordinates, layer.mode == Mode.DISJUNCTIVE):
            values = np.zeros((most, self._lanes), np.uint32)
            used = np.zeros(self._lanes, bool)
            used[: len(has)] = has
            for lane in np.flatnonzero(used):
                unit, place = layer.units[lane], places[lane]
                count, here = len(unit.streams), fibers[lane][place : place + 1]
                values[:count, lane] = self._values(unit, depth, here, count)[:, 0]
            yield _Iteration(values, used)

    def _fiber(self, unit: Unit, depth: int, lane: int) -> np.ndarray:
        """Induction variables, int64."""
        lower, upper = (
            int(self._operand(each, depth, np.empty((0, 1)), immediate).view(np.int32)[0])
            for each, immediate in (
                (unit.lower, unit.lower_immediate),
                (unit.upper, unit.upper_immediate),
            )
        )
        if unit.ordered and upper < lower:
            raise InterpretationError(
                f"layer {depth}, unit {lane}: from {lower} to {upper}: must not decrease"
            )
        if unit.accumulates:
            end = self._ends.get((depth, lane), 0)
            lower, upper = lower + end, upper + end
            self._ends[depth, lane] = upper
        return np.arange(lower, upper, unit.stride)

    # Streams.

    def _values(self, unit: Unit, depth: int, indices: np.ndarray, count: int) -> np.ndarray:
        """uint32 [count, iterations] of the first streams of a unit in some of its iterations."""
        values = np.zeros((count, len(indices)), np.uint32)
        for number, stream in enumerate(unit.streams[:count]):
            a, b = (
                self._operand(each, depth, values, stream.immediate)
                for each in (stream.a, stream.b)
            )
            if stream.kind == StreamKind.INDUCTION:
                values[number] = indices.astype(np.uint32)
            elif stream.kind == StreamKind.FORWARD:
                values[number] = a
            elif stream.kind == StreamKind.ALU:
                values[number] = _ALU[stream.operation](a, b)
            elif stream.kind in (StreamKind.MEMORY, StreamKind.ADDRESS):
                index = a * np.uint32(stream.scale) + b
                if stream.kind == StreamKind.ADDRESS:
                    index = index[0] + np.arange(len(indices), dtype=np.uint32)
                _check(stream, index, f"layer {depth}, stream {number}")
                at = np.broadcast_to(stream.base + index.astype(np.int64), len(indices))
                is_load = stream.kind == StreamKind.MEMORY
                values[number] = self._memory.words[at] if is_load else at[0]
        return values

    def _operand(
        self, operand: Operand, depth: int, values: np.ndarray, immediate: int
    ) -> np.ndarray:
        """Values of an operand in all iterations, or one value for all of them."""
        if operand.source == Source.IMMEDIATE:
            return np.array([immediate & 0xFFFF_FFFF], np.uint32)
        if operand.source == Source.OWN:
            return values[operand.stream]
        return self._current[depth - 1].values[operand.stream, [operand.lane]]


def _check(stream: Stream, index: np.ndarray, place: str) -> None:
    is_unbounded = stream.kind == StreamKind.ADDRESS and stream.length == UNBOUNDED
    if not is_unbounded and np.any(index >= stream.length):
        raise InterpretationError(f"{place}: index {index.max()}: must be below {stream.length}")
