"""Iterations of hardware loops that overlap: software pipelining."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from gnarl.hw.lib.encoding.execute_isa import CONTROL, Opcode
from gnarl.sw.compiler.nests.execute.latency import cycles
from gnarl.sw.compiler.nests.execute.liveness import live_out
from gnarl.sw.compiler.nests.execute.machine import Block, Register, Step, Value
from gnarl.sw.compiler.nests.execute.modulo_schedule import ModuloSchedule, modulo_schedule
from gnarl.sw.compiler.nests.execute.order import best_order, choices

MOST_STEPS = 128
"""Steps of a body whose iterations overlap: others have enough to do while they wait."""


def overlap_iterations(blocks: Sequence[Block], window: int) -> set[int]:
    """Loops of one block and a known number of iterations begin an iteration before the one before
    has ended, where that takes fewer cycles: its first steps stand before the loop, the last ones
    of the last iteration behind it. In place; numbers of the loops' blocks, whose steps are in
    their order.

    Left alone: bodies of more than ``MOST_STEPS``, and loops of fewer iterations than overlap.
    O(steps^2) for each interval that is tried.
    """
    overlapped = set()
    lives = live_out(blocks)
    for number, block in enumerate(blocks):
        count = _count(blocks, number, lives[number - 1])
        if count is None or len(block.steps) > MOST_STEPS:
            continue
        live = lives[number]
        most = cycles(best_order(block, live, window))
        tries = [
            (scheduled, steps)
            for steps in choices(block.steps, live)
            if (scheduled := modulo_schedule(steps, window, most)) is not None
            and scheduled.stages <= _iterations(count)
        ]
        if tries:
            _replace(blocks, number, count, *min(tries, key=lambda each: each[0].interval))
            overlapped.add(number)
    return overlapped


def _count(blocks: Sequence[Block], number: int, live: Collection[Register]) -> Step | None:
    """What sets the number of iterations of a loop of this one block, if that is known, and nothing
    else reads it. ``live``: what is read behind the block before."""
    block = blocks[number]
    if not block.closes or block.following != [number, number + 1] or number == 0:
        return None
    if any(step.opcode in CONTROL for step in block.steps):
        return None
    *before, loop = blocks[number - 1].steps
    if loop.opcode != Opcode.LOOP or loop.target != number + 1 or loop.a in live:
        return None
    return _set_to_number(before, loop.a)


def _set_to_number(steps: Sequence[Step], register: Value | None) -> Step | None:
    """The one step that writes a register, if that is a number, and none reads it."""
    if any(register in [*step.reads] for step in steps):
        return None
    sets = [step for step in steps if step.dst is not None and step.dst == register]
    is_known = len(sets) == 1 and sets[0].opcode == Opcode.ADD and sets[0].b == 0
    return sets[0] if is_known and isinstance(sets[0].a, int) else None


def _iterations(count: Step) -> int:
    assert isinstance(count.a, int)
    return count.a


def _replace(
    blocks: Sequence[Block], number: int, count: Step, schedule: ModuloSchedule, steps: list[Step]
) -> None:
    last = schedule.stages - 1

    def of_stages(first: int, end: int) -> list[Step]:
        return [replace(steps[each]) for each in schedule.order(first, end)]

    before, behind = blocks[number - 1].steps, blocks[number + 1].steps
    before[-1:-1] = [each for stage in range(last) for each in of_stages(0, stage)]
    blocks[number].steps = of_stages(0, last)
    behind[:0] = [each for stage in range(1, last + 1) for each in of_stages(stage, last)]
    count.a = _iterations(count) - last
