"""Operands straight from the data queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from gnarl.hw.lib.encoding.execute_isa import CONTROL, Opcode
from gnarl.sw.compiler.nests.execute.latency import latency
from gnarl.sw.compiler.nests.execute.machine import BRANCHES, Register, Step, Taken


def queue_operands(
    steps: Sequence[Step], live: Collection[Register], eager: Collection[Opcode]
) -> list[Step]:
    """What a step takes from the data queue into a register for one other step, that one takes
    itself: at its place, or at that of the other if something else is taken between the two.

    ``live``: registers that are needed behind the steps. ``eager``: what such steps are that take
    it also where they have to wait, and with them all that take something later. O(steps^2).
    """
    queued = [replace(step) for step in steps]
    for number in reversed(range(len(queued))):
        take = queued[number]
        if take.opcode != Opcode.ADD or not isinstance(take.a, Taken) or take.b != 0:
            continue
        assert take.dst is not None
        place = _user(queued, number, take.dst)
        if place is None or take.dst in live:
            continue
        user, between = queued[place], queued[number + 1 : place]
        comes_first = any(each.takes for each in [*between, user])
        if comes_first and not _is_movable(user, between, take.dst):
            continue
        before = queued[: number if comes_first else place]
        if user.opcode in eager or not _waits(before, user, take.dst):
            user.renamed(take.dst, take.a)
            if comes_first:
                del queued[place]
                queued[number] = user
            else:
                del queued[number]
    return queued


def _user(steps: Sequence[Step], number: int, register: Register) -> int | None:
    """The one step that reads a register, as one operand, which only step ``number`` writes."""
    places = [place for place, step in enumerate(steps) if register in step.reads]
    writers = sum(step.dst == register for step in steps)
    if len(places) != 1 or places[0] < number or writers != 1:
        return None
    user = steps[places[0]]
    is_control = user.opcode in CONTROL and user.opcode not in BRANCHES
    if is_control or list(user.reads).count(register) != 1:
        return None
    return places[0]


def _is_movable(user: Step, between: Sequence[Step], taken: Register) -> bool:
    """Whether a step can be done before those ``between`` what it takes and itself."""
    if user.takes or user.words is not None or user.opcode in CONTROL:
        return False
    reads, dst = set(user.reads) - {taken}, user.dst
    return not any(each.dst in reads or dst in (each.dst, *each.reads) for each in between)


def _waits(before: Sequence[Step], user: Step, taken: Register) -> bool:
    """Whether another operand takes long, other than what a step of this kind has summed up."""
    for register in set(user.reads) - {taken}:
        makers = [step for step in before if step.dst == register]
        if makers and makers[-1].opcode != user.opcode and latency(makers[-1], user) > 2:
            return True
    return False


def takers(steps: Sequence[Step], live: Collection[Register]) -> list[Opcode]:
    """What steps are that could take something from the data queue themselves."""
    queued = queue_operands(steps, live, eager=tuple(Opcode))
    before = [step.opcode for step in steps if step.takes]
    counts = Counter(step.opcode for step in queued if step.takes)
    counts.subtract(before)
    return [opcode for opcode, count in counts.items() if count > 0]
