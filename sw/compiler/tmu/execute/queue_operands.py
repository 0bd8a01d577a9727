"""Operands straight from the data queue."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from hw.tmu.execute_isa import CONTROL, Opcode
from sw.compiler.tmu.execute.latency import latency
from sw.compiler.tmu.execute.machine import Register, Step, Taken


def queue_operands(steps: Sequence[Step], live: Collection[Register], *, eager: bool) -> list[Step]:
    """What a step takes from the data queue into a register for one other step, that one takes
    itself, where none between the two takes anything.

    ``live``: registers that are needed behind the steps. ``eager``: also where this other step has
    to wait, and with it all that take something later. O(steps^2).
    """
    found = [replace(step) for step in steps]
    for number in reversed(range(len(found))):
        take = found[number]
        if take.opcode != Opcode.ADD or not isinstance(take.a, Taken) or take.b != 0:
            continue
        assert take.dst is not None
        place = _user(found, number, take.dst)
        if place is None or take.dst in live:
            continue
        user = found[place]
        if any(each.takes for each in found[number + 1 : place + 1]):
            continue
        if eager or not _waits(found[:place], user, take.dst):
            user.renamed(take.dst, take.a)
            del found[number]
    return found


def _user(steps: Sequence[Step], number: int, register: Register) -> int | None:
    """The one step that reads a register, as one operand, which only step ``number`` writes."""
    places = [place for place, step in enumerate(steps) if register in step.reads]
    writers = sum(step.dst == register for step in steps)
    if len(places) != 1 or places[0] < number or writers != 1:
        return None
    user = steps[places[0]]
    if user.opcode in CONTROL or list(user.reads).count(register) != 1:
        return None
    return places[0]


def _waits(before: Sequence[Step], user: Step, taken: Register) -> bool:
    """Whether another operand takes long, other than what a step of this kind has summed up."""
    for register in set(user.reads) - {taken}:
        makers = [step for step in before if step.dst == register]
        if makers and makers[-1].opcode != user.opcode and latency(makers[-1], user) > 2:
            return True
    return False
