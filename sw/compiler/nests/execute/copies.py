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
        step = steps[place]
        copied = step.a
        if not _is_copy(step) or not isinstance(copied, Register) or copied == step.dst:
            place += 1
            continue
        assert step.dst is not None
        first = _definition(steps, place, copied)
        if first is None or copied in live or copied.kind != step.dst.kind:
            place += 1
            continue
        between = steps[first + 1 : place]
        uses_target = any(each.dst == step.dst or step.dst in each.reads for each in between)
        reads = [number for number, each in enumerate(steps) if copied in each.reads]
        writers = sum(each.dst == copied for each in steps) > 1
        if uses_target or writers or not all(first < number <= place for number in reads):
            place += 1
            continue
        for number in reads:
            steps[number].renamed(copied, step.dst)
        steps[first].dst = step.dst
        del steps[place]


def _fill_gaps(block: Block, live: set[Register]) -> None:
    """``t = f(v); …; v = g(t)`` becomes ``v = f(v); …; v = g(v)``, where v has no value in between
    and is in use around the block: two registers would be taken for it otherwise."""
    steps = block.steps
    for number, step in enumerate(steps):
        result = step.dst
        if result is None or result in live:
            continue
        for kept in [each for each in step.reads if each in live and each.kind == result.kind]:
            end = next(
                (
                    place
                    for place in range(number + 1, len(steps))
                    if kept in steps[place].reads or steps[place].dst == kept
                ),
                None,
            )
            if end is None or kept in steps[end].reads:
                continue
            uses = [place for place, each in enumerate(steps) if result in each.reads]
            writers = sum(each.dst == result for each in steps)
            if writers == 1 and all(number < place <= end for place in uses):
                for place in uses:
                    steps[place].renamed(result, kept)
                step.dst = kept
                break


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
