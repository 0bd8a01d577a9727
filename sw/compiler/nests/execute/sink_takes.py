"""What both ways behind a branch take from the data queue, each takes itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gnarl.sw.compiler.nests.execute.machine import BRANCHES, Block, Register, Step


def sink_takes(blocks: Sequence[Block]) -> None:
    """Sinks takes from the data queue, and what needs them, behind a branch that does not need
    them: in either way, into the instruction that uses them, which may be another one in each.

    In place. Left alone: ways that are reached from elsewhere, too. O(steps^2).
    """
    reached = Counter(number for block in blocks for number in set(block.following))
    for block in blocks:
        ways = set(block.following)
        if not block.steps or block.steps[-1].opcode not in BRANCHES:
            continue
        if len(ways) != 2 or any(reached[number] != 1 or number == 0 for number in ways):
            continue
        sunk = _sunk(block.steps)
        moved = [step for step, sinks in zip(block.steps, sunk, strict=True) if sinks]
        block.steps = [step for step, sinks in zip(block.steps, sunk, strict=True) if not sinks]
        for number in ways:
            blocks[number].steps[:0] = [replace(step) for step in moved]


def _sunk(steps: Sequence[Step]) -> list[bool]:
    """Marks the steps that no step that stays needs: takes behind the last one that stays, and what
    needs them."""
    sunk = _of_takes(steps)
    needed: set[Register] = set()
    written: set[Register] = set()
    has_taken = False
    for number in reversed(range(len(steps))):
        step = steps[number]
        sunk[number] &= (
            step.dst is not None
            and step.words is None
            and step.dst not in needed | written
            and written.isdisjoint(step.reads)
            and not (step.takes and has_taken)
        )
        if not sunk[number]:
            has_taken |= step.takes
            needed |= set(step.reads)
            if step.dst is not None:
                written.add(step.dst)
    return sunk


def _of_takes(steps: Sequence[Step]) -> list[bool]:
    """Marks the steps that take something, or need one that does."""
    made: set[Register | None] = set()
    takes = []
    for step in steps:
        takes.append(step.takes or not made.isdisjoint(step.reads))
        if takes[-1]:
            made.add(step.dst)
    return takes
