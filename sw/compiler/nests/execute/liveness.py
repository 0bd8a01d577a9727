"""Finds the registers that are needed later."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.sw.compiler.nests.execute.machine import Block, Register


def live_out(blocks: Sequence[Block]) -> list[set[Register]]:
    """Registers that a block behind each block reads before any writes them.

    Backward data flow to a fixed point: O(blocks x depth of loops) sets.
    """
    needs: list[set[Register]] = []
    writes: list[set[Register]] = []
    for block in blocks:
        needed: set[Register] = set()
        written: set[Register] = set()
        for step in block.steps:
            needed |= {each for each in step.reads if each not in written}
            if step.dst is not None:
                written.add(step.dst)
        needs.append(needed)
        writes.append(written)
    live_in = [set(each) for each in needs]
    live: list[set[Register]] = [set() for _ in blocks]
    changes = True
    while changes:
        changes = False
        for number in reversed(range(len(blocks))):
            out: set[Register] = set()
            for following in blocks[number].following:
                out |= live_in[following]
            if out != live[number]:
                live[number] = out
                live_in[number] = needs[number] | (out - writes[number])
                changes = True
    return live
