"""What Einsum statements compute of elements, as expressions of nests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.program import EinsumExpression
from gnarl.sw.workloads.loops.ir.nest import (
    Binary,
    BinaryOperator,
    Constant,
    Expression,
    Unary,
    UnaryOperator,
)
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, ScalarType
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.tensor import expression as einsum

_UNARY = {"neg": UnaryOperator.NEGATE, "sqrt": UnaryOperator.SQRT}
_BINARY = {
    "add": BinaryOperator.ADD,
    "sub": BinaryOperator.SUBTRACT,
    "mul": BinaryOperator.MULTIPLY,
    "div": BinaryOperator.DIVIDE,
    "max": BinaryOperator.MAXIMUM,
    "min": BinaryOperator.MINIMUM,
}
FUNCTIONS = (*_BINARY, *_UNARY, "relu", "reciprocal")
"""Those that nests have."""

Leaf: TypeAlias = Callable[[einsum.Access], Expression]
"""An element of a tensor."""


def number(value: float, type: ScalarType, place: Location) -> Constant:
    """A number of a type, rounded to float32 if it is not of an integer type."""
    if type.is_integer:
        return Constant(int(value), type, place)
    with np.errstate(over="ignore"):
        return Constant(float(np.float32(value)), FLOAT32, place)


def element(
    expression: EinsumExpression, leaf: Leaf, place: Location, type: ScalarType = FLOAT32
) -> Expression:
    """What an expression of elements is in a nest; its reductions are over single elements.

    ``type``: of all elements. Raises ``WorkloadError`` naming the place and a function that nests
    do not have.
    """

    def of(part: EinsumExpression) -> Expression:
        return element(part, leaf, place, type)

    match expression:
        case einsum.Access():
            return leaf(expression)
        case einsum.Constant(value):
            return number(value, type, place)
        case einsum.Reduction(part=part):
            return of(part)
        case einsum.Call("max", (part, einsum.Call("neg", (other,)))) if part == other:
            return Unary(UnaryOperator.ABS, of(part), place)
        case einsum.Call("relu", (part,)):
            return Binary(BinaryOperator.MAXIMUM, of(part), number(0, type, place), place)
        case einsum.Call("reciprocal", (part,)):
            return Binary(BinaryOperator.DIVIDE, number(1, type, place), of(part), place)
        case einsum.Call(function, (part,)) if function in _UNARY:
            return Unary(_UNARY[function], of(part), place)
        case einsum.Call(function, (left, right)):
            return Binary(_BINARY[function], of(left), of(right), place)
    raise WorkloadError(
        f"{place}: {expression.function}: not supported in loop nests: must be of "
        f"{', '.join(sorted(FUNCTIONS))}"
    )
