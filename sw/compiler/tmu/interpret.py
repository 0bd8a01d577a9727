"""Runs modules of the levels from SCF to SLCV in xDSL's interpreter, on arrays of NumPy.

Numbers are NumPy's, of the types that the module gives them; vectors are arrays of one dimension.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects import arith, func, math, memref, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    MemRefType,
    ModuleOp,
    VectorType,
    f32,
    i1,
    i32,
)
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.interpreters.scf import ScfFunctions
from xdsl.ir import Attribute, Operation

from sw.compiler.tmu.dialects.slc import (
    AluStrOp,
    BlendOp,
    CallbackOp,
    ForOp,
    GetOp,
    MemStrOp,
    PopOp,
    PushOp,
    SetOp,
    StoreStrOp,
    StreamType,
)
from sw.compiler.tmu.functions import arrays_of, function_of

_DTYPES: dict[Attribute, Any] = {f32: np.float32, i32: np.int32, i1: np.bool_, IndexType(): int}

_COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
    "oeq": np.equal,
    "une": np.not_equal,
    "olt": np.less,
    "ole": np.less_equal,
    "ogt": np.greater,
    "oge": np.greater_equal,
}

_ELEMENTWISE: dict[type[Operation], Callable[..., Any]] = {
    arith.AddfOp: np.add,
    arith.SubfOp: np.subtract,
    arith.MulfOp: np.multiply,
    arith.DivfOp: np.divide,
    arith.MaximumfOp: np.maximum,
    arith.MinimumfOp: np.minimum,
    arith.NegfOp: np.negative,
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.ShLIOp: np.left_shift,
    arith.MaxSIOp: np.maximum,
    arith.MinSIOp: np.minimum,
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.SelectOp: np.where,
    arith.SIToFPOp: np.asarray,
    arith.IndexCastOp: np.asarray,
    math.AbsFOp: np.abs,
    math.SqrtOp: np.sqrt,
}
"""Operations, whose results are of the operation's type."""

_STREAM_OPERATIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "shift_left": np.left_shift,
}


def interpret(module: ModuleOp, arrays: Mapping[str, np.ndarray]) -> None:
    """Runs the module's function on ``arrays``, by name, in place.

    Raises xDSL's ``InterpretationError`` for operations of other levels.
    """
    function = function_of(module)
    interpreter = Interpreter(module)
    for functions in (_Elementwise(), _Memory(), _Streams(), ScfFunctions()):
        interpreter.register_implementations(functions)
    with np.errstate(all="ignore"):
        interpreter.run_ssacfg_region(
            function.body, tuple(arrays[each] for each in arrays_of(function).values())
        )


def _typed(value: Any, type: Attribute) -> Any:
    """A number, or a vector, which a number is the first element of, as a ``type``."""
    if isinstance(type, VectorType):
        (lanes,) = type.get_shape()
        found = np.zeros(lanes, _DTYPES[type.element_type])
        given = np.atleast_1d(value)
        found[: len(given)] = given
        return found
    number = np.atleast_1d(value)[0]
    return int(number) if type == IndexType() else _DTYPES[type](number)


def _elementwise(function: Callable[..., Any]) -> Callable[..., PythonValues]:
    def run(self: Any, interpreter: Interpreter, operation: Operation, args: Any) -> Any:
        type = operation.results[0].type
        return (_typed(function(*args), type),)

    return run


class _Elementwise(InterpreterFunctions):
    @impl(arith.ConstantOp)
    def constant(self, interpreter: Interpreter, operation: arith.ConstantOp, args: Any) -> Any:
        value: Any = operation.value
        if isinstance(value, DenseIntOrFPElementsAttr):
            numbers = value.get_values()
            type = operation.result.type
            assert isinstance(type, VectorType)
            return (_typed(np.resize(numbers, type.get_shape()), type),)
        return (_typed(value.value.data, operation.result.type),)

    @impl(arith.CmpiOp)
    def compare(self, interpreter: Interpreter, operation: arith.CmpiOp, args: Any) -> Any:
        name = arith.CMPI_COMPARISON_OPERATIONS[operation.predicate.value.data]
        return (_typed(_COMPARISONS[name](*args), operation.result.type),)

    @impl(arith.CmpfOp)
    def compare_floats(self, interpreter: Interpreter, operation: arith.CmpfOp, args: Any) -> Any:
        name = arith.CMPF_COMPARISON_OPERATIONS[operation.predicate.value.data]
        return (_typed(_COMPARISONS[name](*args), operation.result.type),)

    @impl(vector.BroadcastOp)
    def broadcast(self, interpreter: Interpreter, operation: vector.BroadcastOp, args: Any) -> Any:
        type = operation.results[0].type
        assert isinstance(type, VectorType)
        return (np.full(type.get_shape(), args[0], _DTYPES[type.element_type]),)

    @impl(vector.CreateMaskOp)
    def mask(self, interpreter: Interpreter, operation: vector.CreateMaskOp, args: Any) -> Any:
        type = operation.results[0].type
        assert isinstance(type, VectorType)
        return (np.arange(type.get_shape()[0]) < args[0],)

    @impl(vector.ExtractOp)
    def extract(self, interpreter: Interpreter, operation: vector.ExtractOp, args: Any) -> Any:
        (place,) = operation.static_position.get_values()
        return (args[0][place],)

    @impl(vector.ReductionOp)
    def reduce(self, interpreter: Interpreter, operation: vector.ReductionOp, args: Any) -> Any:
        """Adds by halves, and then to what is there."""
        lanes, *old = args
        while len(lanes) > 1:
            lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
        return (old[0] + lanes[0] if old else lanes[0],)


for _type, _function in _ELEMENTWISE.items():
    setattr(_Elementwise, f"run {_type.name}", impl(_type)(_elementwise(_function)))
register_impls(_Elementwise)


@register_impls
class _Memory(InterpreterFunctions):
    """Arrays are those of NumPy."""

    @impl_terminator(func.ReturnOp)
    def end(
        self, interpreter: Interpreter, operation: func.ReturnOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl(memref.AllocaOp)
    def allocate(self, interpreter: Interpreter, operation: memref.AllocaOp, args: Any) -> Any:
        type = operation.memref.type
        assert isinstance(type, MemRefType)
        return (np.zeros(type.get_shape(), _DTYPES[type.element_type]),)

    @impl(memref.LoadOp)
    def load(self, interpreter: Interpreter, operation: memref.LoadOp, args: Any) -> Any:
        return (args[0][args[1:]],)

    @impl(memref.StoreOp)
    def store(self, interpreter: Interpreter, operation: memref.StoreOp, args: Any) -> Any:
        args[1][args[2:]] = args[0]
        return ()

    @impl(vector.LoadOp)
    def load_vector(self, interpreter: Interpreter, operation: vector.LoadOp, args: Any) -> Any:
        type = operation.results[0].type
        assert isinstance(type, VectorType)
        *outer, first = args[1:]
        return (args[0][(*outer, slice(first, first + type.get_shape()[0]))].copy(),)

    @impl(vector.StoreOp)
    def store_vector(self, interpreter: Interpreter, operation: vector.StoreOp, args: Any) -> Any:
        value, array, *outer, first = args
        array[(*outer, slice(first, first + len(value)))] = value
        return ()

    @impl(vector.MaskedLoadOp)
    def load_lanes(self, interpreter: Interpreter, operation: Operation, args: Any) -> Any:
        array, *outer, first, mask, found = args
        (lanes,) = np.nonzero(mask)
        found = found.copy()
        found[lanes] = array[(*outer, first + lanes)]
        return (found,)

    @impl(vector.MaskedStoreOp)
    def store_lanes(self, interpreter: Interpreter, operation: Operation, args: Any) -> Any:
        array, *outer, first, mask, value = args
        (lanes,) = np.nonzero(mask)
        array[(*outer, first + lanes)] = value[lanes]
        return ()


@register_impls
class _Streams(InterpreterFunctions):
    """A stream is its value in the current iteration: the access unit runs just ahead."""

    def __init__(self) -> None:
        self._queue: deque[Any] = deque()
        self._variables: dict[str, Any] = {}
        self._ends: dict[Operation, int] = {}
        self._used: Any = True  # lanes of the innermost loop

    @impl(ForOp)
    def loop(self, interpreter: Interpreter, operation: ForOp, args: Any) -> Any:
        lower, upper = map(int, args)
        for each in operation.body.block.ops:
            self._ends.pop(each, None)
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

    @impl(MemStrOp)
    def memory(self, interpreter: Interpreter, operation: MemStrOp, args: Any) -> Any:
        array, *indices = args
        found = array[tuple(np.where(self._used, each, 0) for each in indices)]
        return (np.where(self._used, found, array.dtype.type(0)),)

    @impl(StoreStrOp)
    def store(self, interpreter: Interpreter, operation: StoreStrOp, args: Any) -> Any:
        value, array, *outer, first = args
        rows = tuple(np.ravel(each)[0] for each in outer)
        used = np.ravel(np.broadcast_to(self._used, np.shape(value)))
        (lanes,) = np.nonzero(used)
        array[(*rows, np.ravel(first)[0] + lanes)] = np.ravel(value)[lanes]
        return ()

    @impl(BlendOp)
    def blend(self, interpreter: Interpreter, operation: BlendOp, args: Any) -> Any:
        return (np.where(*args),)

    @impl(AluStrOp)
    def compute(self, interpreter: Interpreter, operation: AluStrOp, args: Any) -> Any:
        return (_STREAM_OPERATIONS[operation.operation.data](*args),)

    @impl(PushOp)
    def push(self, interpreter: Interpreter, operation: PushOp, args: Any) -> Any:
        (stream,) = (each.type for each in operation.operands)
        assert isinstance(stream, StreamType)
        self._queue.append(_typed(args[0], stream.element))
        return ()

    @impl(CallbackOp)
    def callback(self, interpreter: Interpreter, operation: CallbackOp, args: Any) -> Any:
        self._queue.extend(args)
        if operation.masked is not None:
            self._queue.append(self._used)
        values = [_typed(self._queue.popleft(), each.type) for each in operation.body.block.args]
        interpreter.run_ssacfg_region(operation.body, tuple(values))
        return ()

    @impl(PopOp)
    def pop(self, interpreter: Interpreter, operation: PopOp, args: Any) -> Any:
        return (_typed(self._queue.popleft(), operation.value.type),)

    @impl(GetOp)
    def get(self, interpreter: Interpreter, operation: GetOp, args: Any) -> Any:
        found = self._variables.get(operation.variable.data, 0)
        return (_typed(found, operation.value.type),)

    @impl(SetOp)
    def set(self, interpreter: Interpreter, operation: SetOp, args: Any) -> Any:
        self._variables[operation.variable.data] = args[0]
        return ()
