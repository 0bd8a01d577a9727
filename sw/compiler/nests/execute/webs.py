"""Registers of their own for values that have nothing to do with each other."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.sw.compiler.nests.execute.liveness import live_out
from gnarl.sw.compiler.nests.execute.machine import Block, Register, registers_of


def split_webs(blocks: Sequence[Block]) -> None:
    """What is written and read in one block alone is in a register that no other block uses, and
    that nothing else is written to. In place. O(steps). Source: Muchnick, "Advanced Compiler Design
    and Implementation", section 16.3.3."""
    number = max((each.number for each in registers_of(blocks)), default=0)
    for block, live in zip(blocks, live_out(blocks), strict=True):
        last = {step.dst: step for step in block.steps if step.dst is not None}
        names: dict[Register, Register] = {}
        for step in block.steps:
            for read in set(step.reads):
                step.renamed(read, names.get(read, read))
            if step.dst is None:
                continue
            old = step.dst
            names[old] = old
            if old not in live or last[old] is not step:
                number += 1
                step.dst = names[old] = Register(old.kind, number)
