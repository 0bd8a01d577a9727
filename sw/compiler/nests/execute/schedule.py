"""The order of a block's steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gnarl.hw.lib.encoding.execute_isa import CONTROL, Opcode
from gnarl.sw.compiler.nests.execute.latency import latency
from gnarl.sw.compiler.nests.execute.machine import Register, Step, WordRange
from gnarl.sw.compiler.nests.execute.result_bus import bus_cycles, first_free


def schedule(
    steps: Sequence[Step],
    window: int,
    *,
    is_free: bool = False,
    earlier: Mapping[Register, tuple[int, Step]] = MappingProxyType({}),
) -> list[Step]:
    """A block's steps in another order: a step that would wait for its operands lets those behind
    it go before that need not; none overtakes more than ``window`` others, which bounds the
    registers that are in use. Otherwise the order stays: accesses of memory that iterations make
    are spread evenly, and what is taken from the data queue is taken in its order. Without
    ``is_free``, a step waits for the result bus, too, as it would in the hardware. ``earlier``:
    when, before the first step, which step has written what the steps find in registers.

    O(steps x window), and pairs of accesses of an array. Source: list scheduling, Muchnick,
    "Advanced Compiler Design and Implementation", section 17.1.2.
    """
    before = _dependences(steps)
    after: list[list[tuple[int, int]]] = [[] for _ in steps]
    for number, needed in enumerate(before):
        for other, wait in needed.items():
            after[other].append((number, wait))
    missing = [len(needed) for needed in before]
    earliest = _found_waits(steps, earlier)
    is_done = [False] * len(steps)
    ordered: list[Step] = []
    taken: set[int] = set()
    first, cycle = 0, 0
    while first < len(steps):
        ready = [
            number
            for number in range(first, min(first + window, len(steps)))
            if not is_done[number] and missing[number] == 0
        ]
        issues = {
            each: first_free(steps[each], max(earliest[each], cycle), taken) for each in ready
        }
        number = min(ready, key=lambda each: (issues[each], each))
        cycle = issues[number]
        if not is_free:
            taken.update(cycle + each for each in bus_cycles(steps[number]))
        ordered.append(steps[number])
        is_done[number] = True
        for other, wait in after[number]:
            missing[other] -= 1
            earliest[other] = max(earliest[other], cycle + wait)
        cycle += 1
        while first < len(steps) and is_done[first]:
            first += 1
    return ordered


def _found_waits(steps: Sequence[Step], earlier: Mapping[Register, tuple[int, Step]]) -> list[int]:
    """For each step, the cycle in which what it finds in registers is there."""
    written: set[Register | None] = set()
    ready = []
    for step in steps:
        makers = [earlier[each] for each in step.reads if each in earlier and each not in written]
        ready.append(max((time + latency(maker, step) for time, maker in makers), default=0))
        written.add(step.dst)
    return [max(0, each) for each in ready]


def _dependences(steps: Sequence[Step]) -> list[dict[int, int]]:
    """For each step, those that must come before it, and by how many cycles."""
    before: list[dict[int, int]] = []
    writer: dict[Register, int] = {}
    readers: dict[Register, list[int]] = {}
    accesses: dict[str, list[int]] = {}
    last_change: dict[Register, int] = {}
    last_take: int | None = None
    for number, step in enumerate(steps):
        waits: dict[int, int] = {}
        ahead: set[int] = set()
        for register in step.reads:
            if register in writer:
                waits[writer[register]] = latency(steps[writer[register]], step)
            readers.setdefault(register, []).append(number)
        if step.dst is not None:
            ahead |= set(readers.get(step.dst, ())) - {number}
            if step.dst in writer:
                ahead.add(writer[step.dst])
            writer[step.dst] = last_change[step.dst] = number
            readers[step.dst] = [number] if step.dst in step.reads else []
        if step.takes:
            if last_take is not None:
                ahead.add(last_take)
            last_take = number
        if step.words is not None and step.opcode != Opcode.PREFETCH:
            touched = accesses.setdefault(step.words.array, [])
            for other in touched:
                both_read = step.opcode == steps[other].opcode == Opcode.LOAD
                if not both_read and _may_meet(steps[other], step, last_change, other):
                    ahead.add(other)
            touched.append(number)
        if step.opcode in CONTROL:
            ahead |= set(range(number))
        # One step issues in a cycle.
        before.append(dict.fromkeys(ahead, 1) | waits)
    return before


def _may_meet(one: Step, other: Step, last_change: dict[Register, int], number: int) -> bool:
    """Whether an access and a later one may touch the same word."""
    left, right = one.words, other.words
    assert isinstance(left, WordRange) and isinstance(right, WordRange)
    if left.base != right.base:
        return True
    if left.base is not None and last_change.get(left.base, -1) >= number:
        return True
    return left.offset < right.offset + right.width and right.offset < left.offset + left.width
