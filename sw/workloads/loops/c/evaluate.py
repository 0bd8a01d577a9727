"""Values of expressions of constants, as C computes them when it compiles."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import Binary, Cast, Constant, Expression, Select, Unary
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, FLOAT32, ScalarType

_FUNCTIONS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "and": lambda left, right: left and right,
    "or": lambda left, right: left or right,
}
_INTEGER_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def evaluated(expression: Expression) -> Constant | None:
    """``None`` where it is no constant, or C leaves open what it is."""
    value = _value(expression)
    return None if value is None else _constant(value, expression)


def _constant(value: float, expression: Expression) -> Constant | None:
    type = expression.type
    if type == FLOAT32:
        return Constant(float(value), type, expression.place)
    if type == BOOL:
        return Constant(bool(value), type, expression.place)
    return Constant(_wrapped(int(value), type), type, expression.place)


def _wrapped(value: int, type: ScalarType) -> int:
    return (value - type.least & (1 << type.bits) - 1) + type.least


def _value(expression: Expression) -> float | None:
    """A float is one that float32 has."""
    match expression:
        case Constant(value):
            return value
        case Unary("-", operand):
            inner = _value(operand)
            return None if inner is None else _in_type(-inner, expression.type)
        case Cast(type, operand):
            return _cast(_value(operand), operand.type, type)
        case Select(condition, chosen, other):
            chooses = _value(condition)
            return None if chooses is None else _value(chosen if chooses else other)
        case Binary(function, left, right):
            one, two = _value(left), _value(right)
            return None if one is None or two is None else _applied(function, one, two, left.type)
    return None


def _cast(value: float | None, given: ScalarType, wanted: ScalarType) -> float | None:
    if value is None:
        return None
    if given == FLOAT32 != wanted and not wanted.least - 1 < value < wanted.most + 1:
        return None
    return _in_type(int(value) if wanted != FLOAT32 else value, wanted)


def _in_type(value: float, type: ScalarType) -> float:
    if type == FLOAT32:
        with np.errstate(all="ignore"):
            return float(np.float32(value))
    return _wrapped(int(value), type) if type.is_integer else value


def _applied(function: str, left: float, right: float, type: ScalarType) -> float | None:
    if function in _FUNCTIONS:
        return _in_type(_FUNCTIONS[function](left, right), type)
    if function == "/":
        with np.errstate(all="ignore"):
            return float(np.float32(left) / np.float32(right))
    if function in _INTEGER_FUNCTIONS:
        is_shift = function in ("<<", ">>")
        if right == 0 and function in ("//", "%") or is_shift and not 0 <= right < type.bits:
            return None
        return _in_type(_INTEGER_FUNCTIONS[function](int(left), int(right)), type)
    return None
