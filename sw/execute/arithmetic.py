"""What instructions of the execute unit compute, for the model and for estimates, as numbers decide
which way a program goes.

``rows``: uint32 [rows, lanes].
"""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.sw.program.jit import inner, inner_floats

_NAN = FLOAT_FORMATS["float32"].canonical_nan
_SIGN = 1 << 31
_SHIFTS = 31

# Plain numbers for compiled code, which knows no Amaranth enumerations.
_ADD, _SUB, _MUL = Opcode.ADD.value, Opcode.SUB.value, Opcode.MUL.value
_AND, _OR, _XOR = Opcode.AND.value, Opcode.OR.value, Opcode.XOR.value
_SHIFT_LEFT, _SHIFT_RIGHT = Opcode.SHIFT_LEFT.value, Opcode.SHIFT_RIGHT.value
_MIN, _MAX, _LESS = Opcode.MIN.value, Opcode.MAX.value, Opcode.LESS.value
_TO_FLOAT = Opcode.TO_FLOAT.value
_FADD, _FSUB, _FMUL = Opcode.FADD.value, Opcode.FSUB.value, Opcode.FMUL.value
_FMUL_ADD, _FDIV, _FSQRT = Opcode.FMUL_ADD.value, Opcode.FDIV.value, Opcode.FSQRT.value
_FMIN, _FMAX, _FABS = Opcode.FMIN.value, Opcode.FMAX.value, Opcode.FABS.value
_FLESS, _FLESS_EQUAL = Opcode.FLESS.value, Opcode.FLESS_EQUAL.value
_FEQUAL = Opcode.FEQUAL.value


@inner
def compute_integers(
    opcode: int, width: int, rows: np.ndarray, result: int, a: int, b: int
) -> None:
    """``ADD`` to ``TO_FLOAT`` of rows a and b into row ``result``, in the first ``width`` lanes."""
    for lane in range(width):
        left, right = np.int64(np.int32(rows[a, lane])), np.int64(np.int32(rows[b, lane]))
        word = left
        if opcode == _ADD:
            word = left + right
        elif opcode == _SUB:
            word = left - right
        elif opcode == _MUL:
            word = left * right
        elif opcode == _AND:
            word = left & right
        elif opcode == _OR:
            word = left | right
        elif opcode == _XOR:
            word = left ^ right
        elif opcode == _SHIFT_LEFT:
            word = left << (right & _SHIFTS)
        elif opcode == _SHIFT_RIGHT:
            word = left >> (right & _SHIFTS)
        elif opcode == _MIN:
            word = min(left, right)
        elif opcode == _MAX:
            word = max(left, right)
        elif opcode == _LESS:
            word = np.int64(left < right)
        if opcode == _TO_FLOAT:
            rows.view(np.float32)[result, lane] = left
        else:
            rows[result, lane] = word


@inner_floats
def compute_floats(
    opcode: int, width: int, rows: np.ndarray, result: int, a: int, b: int, c: int
) -> None:
    """``FADD`` to ``FEQUAL`` of rows a, b and c into row ``result``, in the first ``width`` lanes.

    A NaN is the canonical one.
    """
    numbers = rows.view(np.float32)
    for lane in range(width):
        left, right = numbers[a, lane], numbers[b, lane]
        if opcode == _FABS:
            rows[result, lane] = rows[a, lane] & (_SIGN - 1)
            continue
        if opcode == _FLESS:
            rows[result, lane] = left < right
            continue
        if opcode == _FLESS_EQUAL:
            rows[result, lane] = left <= right
            continue
        if opcode == _FEQUAL:
            rows[result, lane] = left == right
            continue
        if opcode == _FADD:
            numbers[result, lane] = left + right
        elif opcode == _FSUB:
            numbers[result, lane] = left - right
        elif opcode == _FMUL:
            numbers[result, lane] = left * right
        elif opcode == _FMUL_ADD:
            # Each is rounded to float32: compiled without leave to fuse them.
            product = np.float32(left * right)
            numbers[result, lane] = product + numbers[c, lane]
        elif opcode == _FDIV:
            numbers[result, lane] = left / right
        elif opcode == _FSQRT:
            numbers[result, lane] = np.sqrt(left)
        elif left == right:  # the same bits, or zeros, whose signs decide
            both, either = rows[a, lane] & rows[b, lane], rows[a, lane] | rows[b, lane]
            rows[result, lane] = both if opcode == _FMAX else either
        else:
            takes_left = left > right if opcode == _FMAX else left < right
            numbers[result, lane] = left if takes_left else right
            if left != left:
                numbers[result, lane] = left
        if numbers[result, lane] != numbers[result, lane]:
            rows[result, lane] = _NAN
