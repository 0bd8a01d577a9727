"""The order of a block's steps, and their operands from the queue, of fewest cycles."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

from gnarl.sw.compiler.nests.execute.late_takes import late_takes
from gnarl.sw.compiler.nests.execute.latency import cycles, waits_behind
from gnarl.sw.compiler.nests.execute.machine import Block, Register, Step
from gnarl.sw.compiler.nests.execute.queue_operands import queue_operands, takers
from gnarl.sw.compiler.nests.execute.schedule import schedule

MOST_TAKERS = 3
"""Kinds of steps of which all choices are tried that take operands from the queue at once."""

MOST_TRIED = 32
"""Steps of a block of which orders are tried that take from the queue as late as they can, and that
allow for what the block itself has begun when it comes again."""


def best_order(block: Block, live: Collection[Register], window: int) -> list[Step]:
    """The best order of a block's steps. ``live``: registers that are needed behind the block;
    ``window``: as ``schedule`` has it. O(choices x steps x window)."""
    tried = choices(block.steps, live)
    if len(block.steps) <= MOST_TRIED:
        late = choices(late_takes(block.steps, live), live)
        tried += [steps for steps in late if steps not in tried]
    tries = [
        schedule(steps, window, is_free=is_free) for steps in tried for is_free in (False, True)
    ]
    if len(block.steps) <= MOST_TRIED:
        # A block that comes again waits for what it has computed itself.
        tries += [schedule(each, window, earlier=waits_behind(each)) for each in tries]
    return min(tries, key=lambda steps: (cycles(steps), len(steps)))


def choices(steps: Sequence[Step], live: Collection[Register]) -> list[list[Step]]:
    """The steps with operands from the queue, in the ways that are worth a try."""
    kinds = takers(steps, live)[:MOST_TAKERS]
    ways: list[list[Step]] = []
    for count in reversed(range(len(kinds) + 1)):
        for eager in combinations(kinds, count):
            made = queue_operands(steps, live, eager)
            if made not in ways:
                ways.append(made)
    return ways
