"""Takes out copies from register to register."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.sw.compiler.nests.execute.liveness import live_out
from gnarl.sw.compiler.nests.execute.machine import Block, Register, Step, Value


def copy(dst: Register, value: Value) -> Step:
    return Step(Opcode.ADD, dst.kind == "v", dst, a=value)


def remove_copies(blocks: Sequence[Block]) -> None:
    """What reads a copy reads what was copied, while that is the same; what computes a value for a
    copy alone computes it into the copy; steps whose result nobody reads go. In place.

    O(steps x length of a block).
    """
    for block in blocks:
        _forward(block)
    _drop_all_unused(blocks)
    for block, live in zip(blocks, live_out(blocks), strict=True):
        compute_in_place(block, live)


def fill_gaps(blocks: Sequence[Block]) -> None:
    """A register that has no value for a while takes what is computed from its last one, in place.

    O(steps x length of a block).
    """
    for block, live in zip(blocks, live_out(blocks), strict=True):
        _fill_gaps(block, live)


def _drop_all_unused(blocks: Sequence[Block]) -> None:
    changes = True
    while changes:
        changes = False
        for block, live in zip(blocks, live_out(blocks), strict=True):
            changes |= _drop_unused(block, live)


def _is_copy(step: Step) -> bool:
    return step.opcode == Opcode.ADD and step.b == 0 and step.dst is not None


def _forward(block: Block) -> None:
    source: dict[Register, Register] = {}
    for step in block.steps:
        for read in set(step.reads):
            if read in source:
                step.renamed(read, source[read])
        if step.dst is None:
            continue
        for gone in [each for each, value in source.items() if value == step.dst]:
            del source[gone]
        source.pop(step.dst, None)
        a = step.a
        if _is_copy(step) and isinstance(a, Register) and a.kind == step.dst.kind and a != step.dst:
            source[step.dst] = a


def compute_in_place(block: Block, live: set[Register]) -> None:
    """``t = …; …; v = t`` becomes ``v = …`` where nothing in between uses v, or t behind it."""
    steps = block.steps
    place = 0
    while place < len(steps):
        first = _first_of_copied(steps, place, live)
        if first is None:
            place += 1
            continue
        copied, target = steps[place].a, steps[place].dst
        assert isinstance(copied, Register) and target is not None
        for step in steps:
            if copied in step.reads:
                step.renamed(copied, target)
        steps[first].dst = target
        del steps[place]


def _first_of_copied(steps: Sequence[Step], place: int, live: set[Register]) -> int | None:
    """The step that computes what a step copies, if it can compute into the copy's register."""
    step = steps[place]
    copied, target = step.a, step.dst
    if not _is_copy(step) or not isinstance(copied, Register) or copied == target:
        return None
    assert target is not None
    first = _definition(steps, place, copied)
    if first is None or copied in live or copied.kind != target.kind:
        return None
    between = steps[first + 1 : place]
    uses_target = any(each.dst == target or target in each.reads for each in between)
    if uses_target or not _is_used_inside(steps, copied, first, place):
        return None
    return first


def _fill_gaps(block: Block, live: set[Register]) -> None:
    """``t = f(v); …; v = g(t)`` becomes ``v = f(v); …; v = g(v)``, where v has no value in between
    and is in use around the block: two registers would be taken for it otherwise."""
    steps = block.steps
    for number, step in enumerate(steps):
        result = step.dst
        if result is None or result in live:
            continue
        for kept in [each for each in step.reads if each in live and each.kind == result.kind]:
            end = _gap_end(steps, number, kept)
            if end is not None and _is_used_inside(steps, result, number, end):
                for each in steps:
                    if result in each.reads:
                        each.renamed(result, kept)
                step.dst = kept
                break


def _is_used_inside(steps: Sequence[Step], register: Register, first: int, last: int) -> bool:
    """Whether the first step alone writes a register, and no step reads it but those behind it, up
    to the last."""
    writers = sum(each.dst == register for each in steps)
    reads = [number for number, each in enumerate(steps) if register in each.reads]
    return writers == 1 and all(first < number <= last for number in reads)


def _gap_end(steps: Sequence[Step], number: int, kept: Register) -> int | None:
    """Where a register is written again behind a step; ``None`` where it is not, or read before."""
    for place in range(number + 1, len(steps)):
        if kept in steps[place].reads:
            return None
        if steps[place].dst == kept:
            return place
    return None


def _definition(steps: Sequence[Step], place: int, register: Register) -> int | None:
    for number in reversed(range(place)):
        if steps[number].dst == register:
            return number
    return None


def _drop_unused(block: Block, live: set[Register]) -> bool:
    kept: list[Step] = []
    needed = set(live)
    for step in reversed(block.steps):
        if step.dst is not None and step.dst not in needed and not step.takes:
            continue
        if step.opcode == Opcode.ADD and step.b == 0 and step.a == step.dst:
            continue
        if step.dst is not None:
            needed.discard(step.dst)
        needed |= set(step.reads)
        kept.append(step)
    changes = len(kept) != len(block.steps)
    block.steps = kept[::-1]
    return changes
