"""Arithmetic on words of any number format, one at a time: bit for bit that of
``gnarl.sw.golden.arithmetic``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.layout import (
    EXPONENT,
    FIXED,
    FLOAT32,
    FORMAT,
    FRACTION,
    WIDTH,
)

ADD, SUB, MUL, MAX, MIN = range(5)
"""Operations, in the order of ``gnarl.hw.sam.block_types.ALU_OPERATIONS``."""

_NAN32 = 0x7FC00000


@inner_integers
def compute(s: np.ndarray, operation: int, left: int, right: int) -> int:
    """``left operation right``, of words of the machine's format."""
    if s[FORMAT] == FIXED:
        return _fixed(s, operation, left, right)
    if operation >= MAX:
        return _select(s, operation, left, right)
    if s[FORMAT] == FLOAT32:
        return _float32(operation, left, right)
    return from_float(s, _apply(operation, to_float(s, left), to_float(s, right)))


@inner_integers
def _float32(operation: int, left: int, right: int) -> int:
    a, b = np.uint32(left).view(np.float32), np.uint32(right).view(np.float32)
    if operation == ADD:
        return _word32(a + b)
    return _word32(a - b) if operation == SUB else _word32(a * b)


@inner_integers
def _word32(number: np.floating) -> int:
    if number != number:
        return _NAN32
    word: Any = np.int64(np.float32(number).view(np.uint32))
    return word


@inner_integers
def _apply(operation: int, a: float, b: float) -> float:
    """In float64, which has more than twice as many bits: rounded twice is rounded once."""
    if operation == ADD:
        return a + b
    return a - b if operation == SUB else a * b


@inner_integers
def to_float(s: np.ndarray, word: int) -> float:
    """The number of a word."""
    fraction, exponent_bits = s[FRACTION], s[EXPONENT]
    bias = (1 << exponent_bits - 1) - 1
    magnitude = word & (1 << fraction + exponent_bits) - 1
    exponent = magnitude >> fraction
    significand = magnitude & (1 << fraction) - 1
    if exponent == (1 << exponent_bits) - 1:
        value = math.nan if significand else math.inf
    else:
        significand |= (exponent != 0) << fraction
        value = math.ldexp(float(significand), max(exponent, 1) - bias - fraction)
    return -value if word >> fraction + exponent_bits else value


@inner_integers
def from_float(s: np.ndarray, value: float) -> int:
    """The word of a number, rounded to nearest even; any NaN is the canonical one."""
    fraction, exponent_bits = s[FRACTION], s[EXPONENT]
    bias = (1 << exponent_bits - 1) - 1
    infinity = (1 << exponent_bits) - 1 << fraction
    if value != value:
        return infinity | 1 << fraction - 1
    sign = (math.copysign(1.0, value) < 0) << fraction + exponent_bits
    magnitude = abs(value)
    if magnitude == math.inf:
        return sign | infinity
    exponent = 1 - bias
    if magnitude > 0:
        exponent = max(math.frexp(magnitude)[1] - 1, exponent)
    significand = np.int64(np.rint(math.ldexp(magnitude, fraction - exponent)))
    word = significand + (exponent + bias - 1 << fraction)
    return sign | min(word, infinity)


@inner_integers
def _select(s: np.ndarray, operation: int, left: int, right: int) -> int:
    """Maximum or minimum: NaN prevails, -0 is below +0."""
    sign = 1 << s[WIDTH] - 1
    infinity = (1 << s[EXPONENT]) - 1 << s[FRACTION]
    if left & sign - 1 > infinity or right & sign - 1 > infinity:
        return infinity | 1 << s[FRACTION] - 1
    left_rank = sign - 1 - left if left & sign else left
    right_rank = sign - 1 - right if right & sign else right
    return left if (left_rank >= right_rank) == (operation == MAX) else right


@inner_integers
def _fixed(s: np.ndarray, operation: int, left: int, right: int) -> int:
    sign = 1 << s[WIDTH] - 1
    a, b = (left ^ sign) - sign, (right ^ sign) - sign
    o = a + b
    if operation == SUB:
        o = a - b
    elif operation == MUL:
        o = a * b
        places = s[FRACTION]
        if places:
            down = o >> places
            o = down + ((o & (1 << places) - 1) + (down & 1) > 1 << places - 1)
    elif operation == MAX:
        o = max(a, b)
    elif operation == MIN:
        o = min(a, b)
    return o & 2 * sign - 1
