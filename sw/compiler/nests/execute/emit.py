"""Emits instructions for blocks of virtual registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnarl.hw.lib.encoding.execute_isa import (
    ALL_LANES,
    CONTROL,
    Instruction,
    Opcode,
    Operand,
    Source,
)
from gnarl.sw.compiler.nests.execute.machine import Block, Register, Step, Taken, Value

_NOTHING = Step(Opcode.PREFETCH, immediate=1 << 31)
"""Where an instruction must stand; the address is outside memory."""


def emit(
    blocks: Sequence[Block], registers: Mapping[Register, int]
) -> tuple[list[Instruction], list[int]]:
    """Block behind block; and the address of each block's first instruction."""
    for block in blocks:
        # A loop's last instruction steers nothing, and is no other loop's.
        if block.closes and (not block.steps or block.steps[-1].opcode in CONTROL):
            block.steps.append(_NOTHING)
    addresses, count = [], 0
    for block in blocks:
        addresses.append(count)
        count += len(block.steps)
    code = [_instruction(step, registers, addresses) for block in blocks for step in block.steps]
    return code, addresses


def _instruction(
    step: Step, registers: Mapping[Register, int], addresses: Sequence[int]
) -> Instruction:
    immediate = step.immediate
    if step.target is not None:
        immediate = addresses[step.target]

    def operand(value: Value, is_address: bool = False) -> Operand:
        nonlocal immediate
        if isinstance(value, Register):
            is_scalar = value.kind == "s" and step.vector and not is_address
            return Operand(Source.SCALAR if is_scalar else Source.REGISTER, registers[value])
        if isinstance(value, Taken):
            is_word = value.kind == "s" and step.vector and not is_address
            return Operand(Source.DEQUEUE_SCALAR if is_word else Source.DEQUEUE)
        if value == 0:
            return Operand()
        assert immediate in (None, value)
        immediate = value
        return Operand(Source.IMMEDIATE)

    a = operand(step.a, step.words is not None)
    b, c = operand(step.b), operand(step.c)
    return Instruction(
        step.opcode,
        step.vector,
        registers[step.dst] if step.dst is not None else 0,
        registers[step.mask] if step.mask is not None else ALL_LANES,
        a,
        b,
        c,
        immediate=immediate or 0,
    )
