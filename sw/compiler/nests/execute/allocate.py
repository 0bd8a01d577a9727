"""Registers of the unit for virtual ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnarl.hw.lib.encoding.execute_isa import MASK_REGISTERS, SCALAR_REGISTERS, VECTOR_REGISTERS
from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.nests.execute.liveness import live_out
from gnarl.sw.compiler.nests.execute.machine import Block, Register

_COUNTS = {
    "s": range(SCALAR_REGISTERS),
    "v": range(VECTOR_REGISTERS),
    "m": range(1, MASK_REGISTERS),
}
_NAMES = {"s": "scalar", "v": "vector", "m": "mask"}


class RegistersError(CapacityError):
    """More values are in use than there are registers."""


def allocate(blocks: Sequence[Block]) -> Mapping[Register, int]:
    """Allocates registers by linear scan; a register that is free again is reused as late as
    possible.

    Raises ``RegistersError``. O(registers log registers). Source: Poletto and Sarkar, "Linear Scan
    Register Allocation" (1999).
    """
    spans = _spans(blocks)
    free = {kind: list(numbers) for kind, numbers in _COUNTS.items()}
    active: list[tuple[int, Register]] = []
    allocated: dict[Register, int] = {}
    for register, (begin, end) in sorted(spans.items(), key=lambda item: (item[1], item[0].number)):
        for last, other in [each for each in active if each[0] <= begin]:
            active.remove((last, other))
            free[other.kind].append(allocated[other])
        if not free[register.kind]:
            raise RegistersError(
                f"more {_NAMES[register.kind]} registers than there are are needed"
            )
        allocated[register] = free[register.kind].pop(0)
        active.append((end, register))
    return allocated


def _spans(blocks: Sequence[Block]) -> dict[Register, tuple[int, int]]:
    """The span of each register, from the first place where a register has a value to the last
    where that is read. A step reads at an even place and writes at the odd one behind it."""
    spans: dict[Register, tuple[int, int]] = {}

    def covers(register: Register, place: int) -> None:
        first, last = spans.get(register, (place, place))
        spans[register] = (min(first, place), max(last, place))

    place = 0
    lives = live_out(blocks)
    starts = []
    for block in blocks:
        starts.append(place)
        place += 2 * len(block.steps) + 2
    for block, start, live in zip(blocks, starts, lives, strict=True):
        needed = set(live)
        for register in live:
            covers(register, start + 2 * len(block.steps) + 1)
        for number in reversed(range(len(block.steps))):
            step = block.steps[number]
            if step.dst is not None:
                covers(step.dst, start + 2 * number + 1)
                needed.discard(step.dst)
            for register in step.reads:
                covers(register, start + 2 * number)
                needed.add(register)
        for register in needed:
            covers(register, start)
    return spans
