"""SLC and SLCV: a stream is its value in the current iteration, as if the access unit ran just
ahead."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from gnarl.sw.compiler.nests.dialects.slc import (
    AluStrOp,
    CallbackOp,
    ForOp,
    GetOp,
    MemStrOp,
    MergeOp,
    PopOp,
    PushOp,
    SetOp,
    StoreStrOp,
    StreamType,
    ToggleOp,
)
from gnarl.sw.compiler.tmu.interpreting.merging import fibers_of, merged
from gnarl.sw.compiler.tmu.interpreting.values import typed

_STREAM_OPERATIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "shift_left": np.left_shift,
}


@register_impls
class Variables(InterpreterFunctions):
    """Interprets variables of the execute unit."""

    def __init__(self) -> None:
        self._variables: dict[str, Any] = {}

    @impl(GetOp)
    def get(self, interpreter: Interpreter, operation: GetOp, args: Any) -> Any:
        found = self._variables.get(operation.variable.data, 0)
        return (typed(found, operation.value.type),)

    @impl(SetOp)
    def set(self, interpreter: Interpreter, operation: SetOp, args: Any) -> Any:
        self._variables[operation.variable.data] = args[0]
        return ()


@register_impls
class Streams(InterpreterFunctions):
    """Loops, streams and callbacks."""

    def __init__(self) -> None:
        self._queue: deque[Any] = deque()
        self._ends: dict[Operation, int] = {}
        self._watched: dict[Operation, int] = {}  # in the iteration before
        self._used: Any = True  # lanes of the innermost loop
        self._lacking: set[SSAValue] = set()  # streams of fibers that lack the coordinate

    def check_empty(self) -> None:
        """Raises ``InterpretationError`` where values are left in the queue."""
        if self._queue:
            raise InterpretationError(f"{len(self._queue)} values behind the end: must be none")

    @impl(ForOp)
    def loop(self, interpreter: Interpreter, operation: ForOp, args: Any) -> Any:
        lower, upper = map(int, args)
        for each in operation.body.block.ops:
            self._ends.pop(each, None)
            self._watched.pop(each, None)
        if operation.accumulates is not None:
            end = self._ends.get(operation, 0)
            lower, upper = lower + end, upper + end
            self._ends[operation] = upper
        step, vectors = operation.step.value.data, operation.vector
        lanes = np.arange(vectors.value.data) * step if vectors is not None else 0
        outer = self._used
        for first in range(lower, upper, step * np.size(lanes)):
            self._used = first + lanes < upper
            interpreter.run_ssacfg_region(operation.body, (first + lanes,))
        self._used = outer
        return ()

    @impl(MergeOp)
    def merge(self, interpreter: Interpreter, operation: MergeOp, args: Any) -> Any:
        for each in operation.body.block.ops:
            self._ends.pop(each, None)
        fibers, lowers = fibers_of(args)
        outer, self._used = (self._used, self._lacking), True
        for coordinate, places, has in merged(fibers, operation.is_disjunctive):
            self._lacking = {
                each for each, there in zip(operation.positions, has, strict=True) if not there
            }
            positions = [
                (lower + place) * there
                for lower, place, there in zip(lowers, places, has, strict=True)
            ]
            mask = [sum(there << fiber for fiber, there in enumerate(has))]
            interpreter.run_ssacfg_region(
                operation.body,
                (coordinate, *positions, *(mask if operation.is_disjunctive else [])),
            )
        self._used, self._lacking = outer
        return ()

    def _lacks(self, operation: AluStrOp | MemStrOp) -> bool:
        """Whether a stream is of a fiber that lacks the coordinate."""
        if self._lacking.isdisjoint(operation.operands):
            return False
        self._lacking.add(operation.stream)
        return True

    @impl(MemStrOp)
    def memory(self, interpreter: Interpreter, operation: MemStrOp, args: Any) -> Any:
        array, *indices = args
        if self._lacks(operation):
            return (array.dtype.type(0),)
        loaded = array[tuple(np.where(self._used, each, 0) for each in indices)]
        return (np.where(self._used, loaded, array.dtype.type(0)),)

    @impl(AluStrOp)
    def compute(self, interpreter: Interpreter, operation: AluStrOp, args: Any) -> Any:
        if self._lacks(operation):
            return (0,)
        return (_STREAM_OPERATIONS[operation.operation.data](*args),)

    @impl(StoreStrOp)
    def store(self, interpreter: Interpreter, operation: StoreStrOp, args: Any) -> Any:
        value, array, *outer, first = args
        rows = tuple(np.ravel(each)[0] for each in outer)
        used = np.ravel(np.broadcast_to(self._used, np.shape(value)))
        (lanes,) = np.nonzero(used)
        array[(*rows, np.ravel(first)[0] + lanes)] = np.ravel(value)[lanes]
        return ()

    @impl(PushOp)
    def push(self, interpreter: Interpreter, operation: PushOp, args: Any) -> Any:
        (stream,) = (each.type for each in operation.operands)
        assert isinstance(stream, StreamType)
        self._queue.append(typed(args[0], stream.element))
        return ()

    @impl(CallbackOp)
    def callback(self, interpreter: Interpreter, operation: CallbackOp, args: Any) -> Any:
        self._queue.extend(args)
        if operation.masked is not None:
            self._queue.append(self._used)
        values = [typed(self._queue.popleft(), each.type) for each in operation.body.block.args]
        interpreter.run_ssacfg_region(operation.body, tuple(values))
        return ()

    @impl(ToggleOp)
    def toggle(self, interpreter: Interpreter, operation: ToggleOp, args: Any) -> Any:
        value = int(args[0])
        if self._watched.get(operation) != value:
            self._queue.append(value)
            taken = typed(self._queue.popleft(), operation.value.type)
            interpreter.run_ssacfg_region(operation.body, (taken,))
        self._watched[operation] = value
        return ()

    @impl(PopOp)
    def pop(self, interpreter: Interpreter, operation: PopOp, args: Any) -> Any:
        return (typed(self._queue.popleft(), operation.value.type),)
