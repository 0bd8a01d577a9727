"""What ``cmp`` nodes compute, on NumPy arrays. ``gnarl.sw.workloads.loops.ir.nest`` defines the
meaning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, ScalarType

_NAN = np.uint32(0x7FC00000).view(np.float32)


def apply(function: str, operands: Sequence[np.ndarray], type: ScalarType) -> np.ndarray:
    """Element by element, of operands of one shape or scalars; ``type`` is the result's."""
    with np.errstate(all="ignore"):
        return _apply(function, operands, type)


def _apply(function: str, operands: Sequence[np.ndarray], type: ScalarType) -> np.ndarray:
    match function, operands:
        case "select", (condition, chosen, other):
            return np.where(condition, chosen, other)
        case "cast", (value,):
            return value.astype(type.dtype)
        case "and", (left, right):
            return left & right
        case "or", (left, right):
            return left | right
        case "not", (value,):
            return ~value
        case "min" | "max", (left, right) if type == FLOAT32:
            return _canonical(_extreme(function, left, right))
        case "neg" | "abs", (value,) if type == FLOAT32:
            sign = np.uint32(1 << 31)
            bits = value.view(np.uint32)
            return (bits ^ sign if function == "neg" else bits & ~sign).view(np.float32)
    result: np.ndarray = _FUNCTIONS[function](*operands)
    return _canonical(result) if result.dtype == np.float32 else result


def identity(function: str, type: ScalarType) -> float:
    """What changes nothing in a sum, or as an extremum."""
    if type.is_integer:
        return {"+": 0, "min": type.most, "max": type.least}[function]
    return {"+": -0.0, "min": np.inf, "max": -np.inf}[function]


_FUNCTIONS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "<<": np.left_shift,
    ">>": np.right_shift,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
}


def _extreme(function: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """IEEE 754-2019, clause 9.6: a NaN is the result; -0 is below +0."""
    is_least = function == "min"
    extreme = np.minimum(left, right) if is_least else np.maximum(left, right)
    zeros = (left == 0) & (right == 0)
    signed = np.signbit(left) | np.signbit(right)
    if not is_least:
        signed = np.signbit(left) & np.signbit(right)
    zero = np.where(signed, np.float32(-0.0), np.float32(0.0))
    return np.where(zeros, zero, extreme)


def _canonical(values: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), _NAN, values)
