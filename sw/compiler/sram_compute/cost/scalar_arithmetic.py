"""What scalar instructions of the core compute, for the compiler's estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from hw.lib.execute_isa import Opcode
from sw.program.jit import inner, inner_floats

_SELECT, _TO_FLOAT = Opcode.SELECT.value, Opcode.TO_FLOAT.value
_ADD, _SUB, _MUL, _LESS = (each.value for each in (Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.LESS))
_AND, _OR, _XOR = Opcode.AND.value, Opcode.OR.value, Opcode.XOR.value
_SHIFT_LEFT, _SHIFT_RIGHT = Opcode.SHIFT_LEFT.value, Opcode.SHIFT_RIGHT.value
_MIN, _MAX = Opcode.MIN.value, Opcode.MAX.value
_FADD, _FSUB, _FMUL = Opcode.FADD.value, Opcode.FSUB.value, Opcode.FMUL.value
_FMUL_ADD, _FDIV, _FSQRT = Opcode.FMUL_ADD.value, Opcode.FDIV.value, Opcode.FSQRT.value
_FMIN, _FMAX, _FABS = Opcode.FMIN.value, Opcode.FMAX.value, Opcode.FABS.value
_FLESS, _FLESS_EQUAL = Opcode.FLESS.value, Opcode.FLESS_EQUAL.value
_FEQUAL = Opcode.FEQUAL.value

SCRATCH = 4
"""Words that ``scalar_result`` uses."""


@inner
def scalar_result(opcode: int, a: int, b: int, c: int, scratch: np.ndarray) -> int:
    """Of ``ADD`` to ``SELECT``, as a signed word; NaNs have any bits."""
    if opcode == _SELECT:
        return a if c != 0 else b
    if opcode < _TO_FLOAT:
        return _signed(_integer(opcode, a, b))
    scratch[0], scratch[1], scratch[2] = np.uint32(a), np.uint32(b), np.uint32(c)
    if opcode == _TO_FLOAT:
        scratch.view(np.float32)[3] = a
        return _signed(np.int64(scratch[3]))
    return _signed(_float(opcode, scratch))


@inner
def _signed(word: Any) -> int:
    return (word + (1 << 31) & 0xFFFF_FFFF) - (1 << 31)


@inner
def _integer(opcode: int, a: int, b: int) -> int:
    found = 0
    if opcode == _ADD:
        found = a + b
    elif opcode == _SUB:
        found = a - b
    elif opcode == _MUL:
        found = a * b
    elif opcode == _AND:
        found = a & b
    elif opcode == _OR:
        found = a | b
    elif opcode == _XOR:
        found = a ^ b
    elif opcode == _SHIFT_LEFT:
        found = a << (b & 31)
    elif opcode == _SHIFT_RIGHT:
        found = a >> (b & 31)
    elif opcode == _MIN:
        found = min(a, b)
    elif opcode == _MAX:
        found = max(a, b)
    elif opcode == _LESS:
        found = 1 if a < b else 0
    return found


@inner_floats
def _float(opcode: int, scratch: np.ndarray) -> Any:
    """Of the first three words of ``scratch``, through the fourth."""
    numbers = scratch.view(np.float32)
    a, b = numbers[0], numbers[1]
    if opcode == _FLESS:
        return np.int64(a < b)
    if opcode == _FLESS_EQUAL:
        return np.int64(a <= b)
    if opcode == _FEQUAL:
        return np.int64(a == b)
    if opcode == _FABS:
        return np.int64(scratch[0]) & 0x7FFF_FFFF
    if opcode == _FADD:
        numbers[3] = a + b
    elif opcode == _FSUB:
        numbers[3] = a - b
    elif opcode == _FMUL:
        numbers[3] = a * b
    elif opcode == _FMUL_ADD:
        numbers[3] = a * b
        numbers[3] += numbers[2]
    elif opcode == _FDIV:
        numbers[3] = a / b
    elif opcode == _FSQRT:
        numbers[3] = np.sqrt(a)
    elif opcode == _FMIN:
        numbers[3] = a if a < b or a != a else b
    elif opcode == _FMAX:
        numbers[3] = a if a > b or a != a else b
    return np.int64(scratch[3])
