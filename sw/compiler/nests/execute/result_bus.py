"""When results of the execute unit's instructions are written: one a cycle.

Source: ``gnarl.hw.lib.execute.result_bus``.
"""

from __future__ import annotations

from collections.abc import Collection

from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES, INTEGERS, Opcode
from gnarl.sw.compiler.nests.execute.machine import Step

LEVELS = 3
"""Levels of a reduction's tree, of eight lanes."""

_INTEGER = 3
"""Cycles from the issue of an instruction to the one in which integer units' result is written."""

_OPERANDS = 2
"""Cycles from the issue of an instruction to float units."""

_FLOATS = (
    Opcode.FADD,
    Opcode.FSUB,
    Opcode.FMIN,
    Opcode.FMAX,
    Opcode.FMUL,
    Opcode.TO_FLOAT,
    Opcode.MUL,
)
_REDUCTIONS = (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN)


def bus_cycles(step: Step) -> tuple[int, ...]:
    """Cycles after its issue that a step takes of the result bus; none where others may go first,
    as before results of memory and of the divider."""
    opcode = step.opcode
    if opcode in _REDUCTIONS:
        return tuple(_OPERANDS + level * FLOAT_STAGES for level in range(1, LEVELS + 1))
    if opcode in _FLOATS:
        return (_OPERANDS + FLOAT_STAGES,)
    if opcode == Opcode.FMUL_ADD:
        return (_OPERANDS + 2 * FLOAT_STAGES,)
    # Scalar results of these have a way of their own.
    if opcode == Opcode.EXTRACT or (step.vector and opcode in INTEGERS):
        return (_INTEGER,)
    return ()


def first_free(step: Step, cycle: int, taken: Collection[int]) -> int:
    """The first cycle from ``cycle`` on in which a step can issue, of what ``taken`` cycles of the
    bus leave."""
    after = bus_cycles(step)
    while any(cycle + each in taken for each in after):
        cycle += 1
    return cycle
