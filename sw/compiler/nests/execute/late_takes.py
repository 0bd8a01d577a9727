"""Takes from the data queue where what they take is needed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from gnarl.hw.lib.encoding.execute_isa import CONTROL, Opcode
from gnarl.sw.compiler.nests.execute.copies import compute_in_place
from gnarl.sw.compiler.nests.execute.machine import Block, Register, Step

_SHORT = (
    Opcode.ADD,
    Opcode.SUB,
    Opcode.AND,
    Opcode.OR,
    Opcode.XOR,
    Opcode.SHIFT_LEFT,
    Opcode.SHIFT_RIGHT,
)
"""Opcodes of scalars whose results are there in the next cycle."""


def late_takes(steps: Sequence[Step], live: Collection[Register]) -> list[Step]:
    """A block's steps, of which those that take something stand, in their order, before what needs
    it, and so do sums of what they take; what such a sum is copied into later, it then is computed
    in, as what reads that before stands before it. ``live``: registers that are needed behind the
    block. O(steps^2).
    """
    late = [replace(step) for step in steps]
    results: set[Register] = set()
    moves = []
    for step in late:
        is_short = step.opcode in _SHORT and not step.vector
        moves.append(step.takes or (is_short and not results.isdisjoint(step.reads)))
        if moves[-1] and step.dst is not None:
            results.add(step.dst)
    pairs = list(zip(late, moves, strict=True))
    for number in reversed(range(len(pairs))):
        step, is_moved = pairs[number]
        if is_moved and step.dst is not None and step.words is None:
            place = next(
                (at for at in range(number + 1, len(pairs)) if _holds(step, pairs[at][0])),
                len(pairs),
            )
            pairs.insert(place - 1, pairs.pop(number))
    block = Block([step for step, _ in pairs])
    compute_in_place(block, set(live))
    return block.steps


def _holds(step: Step, later: Step) -> bool:
    """Whether a step must stay before a later one."""
    return (
        step.dst in set(later.reads)
        or later.dst == step.dst
        or (later.dst is not None and later.dst in set(step.reads))
        or (step.takes and later.takes)
        or later.opcode in CONTROL
    )
