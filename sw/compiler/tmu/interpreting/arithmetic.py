"""Arithmetic on numbers and vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Operation

from gnarl.sw.compiler.nests.dialects.slc import BlendOp
from gnarl.sw.compiler.tmu.interpreting.values import DTYPES, typed

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
    arith.ShRSIOp: np.right_shift,
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.SelectOp: np.where,
    arith.SIToFPOp: np.asarray,
    arith.IndexCastOp: np.asarray,
    arith.ExtUIOp: np.asarray,
    arith.TruncIOp: lambda value: np.bitwise_and(value, 1),
    math.AbsFOp: np.abs,
    math.SqrtOp: np.sqrt,
    BlendOp: np.where,
}
"""Operations, whose results are of the operation's type; ``arith.trunci`` gives i1 alone."""


def _elementwise(function: Callable[..., Any]) -> Callable[..., PythonValues]:
    def run(self: Any, interpreter: Interpreter, operation: Operation, args: Any) -> Any:
        type = operation.results[0].type
        return (typed(function(*args), type),)

    return run


class Arithmetic(InterpreterFunctions):
    @impl(arith.ConstantOp)
    def constant(self, interpreter: Interpreter, operation: arith.ConstantOp, args: Any) -> Any:
        value: Any = operation.value
        if isinstance(value, DenseIntOrFPElementsAttr):
            numbers = value.get_values()
            type = operation.result.type
            assert isinstance(type, VectorType)
            return (typed(np.resize(numbers, type.get_shape()), type),)
        return (typed(value.value.data, operation.result.type),)

    @impl(arith.CmpiOp)
    def compare(self, interpreter: Interpreter, operation: arith.CmpiOp, args: Any) -> Any:
        name = arith.CMPI_COMPARISON_OPERATIONS[operation.predicate.value.data]
        return (typed(_COMPARISONS[name](*args), operation.result.type),)

    @impl(arith.CmpfOp)
    def compare_floats(self, interpreter: Interpreter, operation: arith.CmpfOp, args: Any) -> Any:
        name = arith.CMPF_COMPARISON_OPERATIONS[operation.predicate.value.data]
        return (typed(_COMPARISONS[name](*args), operation.result.type),)

    @impl(arith.BitcastOp)
    def bits(self, interpreter: Interpreter, operation: arith.BitcastOp, args: Any) -> Any:
        type = operation.result.type
        element = type.element_type if isinstance(type, VectorType) else type
        return (typed(np.asarray(args[0]).view(DTYPES[element]), type),)

    @impl(vector.BroadcastOp)
    def broadcast(self, interpreter: Interpreter, operation: vector.BroadcastOp, args: Any) -> Any:
        type = operation.results[0].type
        assert isinstance(type, VectorType)
        return (np.full(type.get_shape(), args[0], DTYPES[type.element_type]),)

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
    setattr(Arithmetic, f"run {_type.name}", impl(_type)(_elementwise(_function)))
register_impls(Arithmetic)
