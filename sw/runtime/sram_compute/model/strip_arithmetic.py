"""What a stream engine computes, of many elements at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.hw.lib.formats import FLOAT_FORMATS

_NAN = np.uint32(FLOAT_FORMATS["float32"].canonical_nan)
_SIGN = np.uint32(1 << 31)

Words = np.ndarray
"""uint32 of any shape."""


def computed(operation: Opcode, a: Words, b: Words, c: Words) -> Words:
    """Results of an operation that is no ``STORE``. All four are uint32 of one shape."""
    with np.errstate(all="ignore"):
        return _OPERATIONS[operation](a, b, c).astype(np.uint32)


def _signed(words: Words) -> np.ndarray:
    return words.view(np.int32)


def _of_integers(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., Words]:
    return lambda a, b, c: function(_signed(a), _signed(b)).astype(np.int32).view(np.uint32)


def _of_floats(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., Words]:
    def apply(a: Words, b: Words, c: Words) -> Words:
        found = function(a.view(np.float32), b.view(np.float32))
        return np.where(np.isnan(found), _NAN, found.view(np.uint32))

    return apply


def _compared(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., Words]:
    return lambda a, b, c: function(a.view(np.float32), b.view(np.float32))


def _selected(a: Words, b: Words, c: Words) -> Words:
    return np.where(c != 0, a, b)


def _extreme(of_zeros: Callable[..., Words], takes_a: Callable[..., np.ndarray]) -> Callable:
    """Minimum and maximum: -0 is below +0, and a NaN prevails."""

    def apply(a: Words, b: Words, c: Words) -> Words:
        left, right = a.view(np.float32), b.view(np.float32)
        found = np.where(takes_a(left, right), a, b)
        found = np.where(left == right, of_zeros(a, b), found)
        return np.where(np.isnan(left) | np.isnan(right), _NAN, found)

    return apply


_OPERATIONS: dict[Opcode, Callable[..., Words]] = {
    Opcode.ADD: lambda a, b, c: a + b,
    Opcode.SUB: lambda a, b, c: a - b,
    Opcode.MUL: lambda a, b, c: a * b,
    Opcode.AND: lambda a, b, c: a & b,
    Opcode.OR: lambda a, b, c: a | b,
    Opcode.XOR: lambda a, b, c: a ^ b,
    Opcode.SHIFT_LEFT: lambda a, b, c: a << (b & np.uint32(31)),
    Opcode.SHIFT_RIGHT: _of_integers(lambda a, b: a >> (b & 31)),
    Opcode.MIN: _of_integers(np.minimum),
    Opcode.MAX: _of_integers(np.maximum),
    Opcode.LESS: _of_integers(np.less),
    Opcode.SELECT: _selected,
    Opcode.TO_FLOAT: lambda a, b, c: _signed(a).astype(np.float32).view(np.uint32),
    Opcode.FADD: _of_floats(np.add),
    Opcode.FSUB: _of_floats(np.subtract),
    Opcode.FMUL: _of_floats(np.multiply),
    Opcode.FDIV: _of_floats(np.divide),
    Opcode.FMIN: _extreme(np.bitwise_or, np.less),
    Opcode.FMAX: _extreme(np.bitwise_and, np.greater),
    Opcode.FABS: lambda a, b, c: a & ~_SIGN,
    Opcode.FLESS: _compared(np.less),
    Opcode.FLESS_EQUAL: _compared(np.less_equal),
    Opcode.FEQUAL: _compared(np.equal),
}
