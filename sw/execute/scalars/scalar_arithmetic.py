"""What scalar instructions of the core compute, for the compiler's estimates."""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.sw.execute.arithmetic import compute_floats, compute_integers
from gnarl.sw.program.jit import inner

_SELECT, _TO_FLOAT = Opcode.SELECT.value, Opcode.TO_FLOAT.value
_A, _B, _C, _RESULT = range(4)

SCRATCH = _RESULT + 1
"""Rows of one word that ``scalar_result`` uses."""


@inner
def scalar_result(opcode: int, a: int, b: int, c: int, scratch: np.ndarray) -> int:
    """The signed word that an instruction of ``ADD`` to ``SELECT`` computes of signed words.

    ``scratch``: uint32 [``SCRATCH``, 1].
    """
    if opcode == _SELECT:
        return a if c != 0 else b
    scratch[_A, 0], scratch[_B, 0], scratch[_C, 0] = np.uint32(a), np.uint32(b), np.uint32(c)
    if opcode <= _TO_FLOAT:
        compute_integers(opcode, 1, scratch, _RESULT, _A, _B)
    else:
        compute_floats(opcode, 1, scratch, _RESULT, _A, _B, _C)
    return int(np.int32(scratch[_RESULT, 0]))
