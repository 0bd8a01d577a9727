"""Finds steps of a loop that must follow others, of the same iteration or of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.sw.compiler.nests.execute.latency import latency
from gnarl.sw.compiler.nests.execute.machine import Register, Step


@dataclass(frozen=True)
class Dependence:
    """Step ``reader``, ``distance`` iterations later, comes ``cycles`` behind step ``maker``."""

    maker: int
    reader: int
    cycles: int
    distance: int


def loop_dependences(steps: Sequence[Step]) -> list[Dependence]:
    """Dependences between the steps of a loop's body, which control nothing. O(steps^2)."""
    dependences = [each for register in _registers(steps) for each in _of_register(steps, register)]
    takers = [number for number, step in enumerate(steps) if step.takes]
    dependences += _in_order(takers)
    arrays: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        if step.words is not None and step.opcode != Opcode.PREFETCH:
            arrays.setdefault(step.words.array, []).append(number)
    for accesses in arrays.values():
        if any(steps[number].opcode == Opcode.STORE for number in accesses):
            dependences += _in_order(accesses)
    return dependences


def _registers(steps: Sequence[Step]) -> list[Register]:
    """Registers that steps write."""
    return list(dict.fromkeys(step.dst for step in steps if step.dst is not None))


def _of_register(steps: Sequence[Step], register: Register) -> list[Dependence]:
    """Each read comes behind the write before it, and before the one after it; writes come in
    their order. The iteration before is what stands in front of the first one."""
    count = len(steps)
    uses = [
        (number + count * again, number)
        for again in range(2)
        for number, step in enumerate(steps)
        if step.dst == register or register in step.reads
    ]
    dependences: list[Dependence] = []
    writer: int | None = None
    readers: list[int] = []
    for at, number in uses:
        step = steps[number]

        def behind(other: int, cycles: int, at: int = at, number: int = number) -> None:
            distance = at // count - other // count
            if at >= count or distance == 0:
                dependences.append(Dependence(other % count, number, cycles, distance))

        if register in step.reads:
            if writer is not None:
                behind(writer, latency(steps[writer % count], step))
            readers.append(at)
        if step.dst == register:
            for reader in readers:
                if reader != at:
                    behind(reader, 0)
            if writer is not None:
                behind(writer, 1)
            writer, readers = at, [at] if register in step.reads else []
    return list(dict.fromkeys(dependences))


def _in_order(numbers: Sequence[int]) -> list[Dependence]:
    """One after the other, and all before the first one of the next iteration."""
    if not numbers:
        return []
    found = [Dependence(one, other, 1, 0) for one, other in zip(numbers, numbers[1:], strict=False)]
    return [*found, Dependence(numbers[-1], numbers[0], 1, 1)]
