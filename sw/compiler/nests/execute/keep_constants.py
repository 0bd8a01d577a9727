"""Registers that have the same number in all cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.sw.compiler.nests.execute.machine import Block, Register, Step


def keep_constants(blocks: Sequence[Block]) -> bool:
    """What cases put into a register again and again, a number or a mask of so many lanes, the
    first block puts there once; equal ones share a register. In place; whether anything was kept.

    Left alone: programs without tokens; and how often loops run, from which their iterations' order
    is found. O(steps).
    """
    first, *cases = blocks
    if not first.steps or first.steps[-1].opcode != Opcode.JUMP_TOKEN:
        return False
    everything = [step for block in blocks for step in block.steps]
    writers = Counter(step.dst for step in everything)
    counts = {each for step in everything if step.opcode == Opcode.LOOP for each in step.reads}
    kept: dict[tuple[Opcode, int], Register] = {}
    for step in first.steps:
        key = _number(step)
        if key is not None and step.dst is not None and writers[step.dst] == 1:
            kept.setdefault(key, step.dst)
    known = len(kept)
    names: dict[Register, Register] = {}
    fixed = {each for each in writers if writers[each] > 1} | counts
    for block in cases:
        names |= _take_out(block, fixed, kept)
    _rename(cases, names)
    first.steps[-1:-1] = [Step(opcode, dst=kept[opcode, a], a=a) for opcode, a in [*kept][known:]]
    return bool(names)


def _take_out(
    block: Block, fixed: Collection[Register | None], kept: dict[tuple[Opcode, int], Register]
) -> dict[Register, Register]:
    """Leaves out the block's numbers but those of ``fixed`` registers: what has them instead."""
    names: dict[Register, Register] = {}
    left = []
    for step in block.steps:
        key = _number(step)
        if key is None or step.dst is None or step.dst in fixed:
            left.append(step)
            continue
        names[step.dst] = kept.setdefault(key, step.dst)
    block.steps = left
    return names


def _rename(blocks: Sequence[Block], names: Mapping[Register, Register]) -> None:
    for block in blocks:
        for step in block.steps:
            for old in set(step.reads) & set(names):
                step.renamed(old, names[old])


def _number(step: Step) -> tuple[Opcode, int] | None:
    """What a step puts into a register, if that is a number or a mask of known lanes."""
    if not isinstance(step.a, int) or step.b != 0 or step.vector:
        return None
    return (step.opcode, step.a) if step.opcode in (Opcode.ADD, Opcode.FIRST_LANES) else None
