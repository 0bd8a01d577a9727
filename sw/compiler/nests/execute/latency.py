"""Cycles of the execute unit's instructions; see ``gnarl.hw.lib.execute.execute_unit``."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.hw.lib.encoding.execute_isa import CONTROL, FLOAT_STAGES, Opcode
from gnarl.sw.compiler.nests.execute.machine import Register, Step
from gnarl.sw.compiler.nests.execute.result_bus import LEVELS, bus_cycles, first_free

_LOAD = 10
"""From a load that finds its line in L1 to an instruction that needs the word."""
_DIVISION = 20

_SUMS = (Opcode.FADD, Opcode.FSUB, Opcode.FMIN, Opcode.FMAX)
_FLOATS = (*_SUMS, Opcode.FMUL, Opcode.MUL, Opcode.TO_FLOAT)
_DIVISIONS = (Opcode.FDIV, Opcode.FSQRT)
_REDUCTIONS = (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN)


def latency(maker: Step, reader: Step) -> int:
    """Cycles until ``reader`` may issue, which needs what ``maker`` writes."""
    late = 1 if maker.vector else 2
    match maker.opcode:
        case Opcode.LOAD:
            return _LOAD
        case opcode if opcode in _DIVISIONS:
            return _DIVISION
        case opcode if opcode in _FLOATS or opcode == Opcode.FMUL_ADD:
            units = 2 if opcode == Opcode.FMUL_ADD else 1
            if _reads_addend(reader, maker.dst):
                return max(1, (units - 1) * FLOAT_STAGES + late)
            is_sum = opcode in _SUMS or opcode == Opcode.FMUL_ADD
            if is_sum and reader.opcode in _SUMS and _reads_only(reader, maker.dst, "a"):
                return units * FLOAT_STAGES
            return units * FLOAT_STAGES + late
        case opcode if opcode in _REDUCTIONS:
            return LEVELS * FLOAT_STAGES + 2
        case Opcode.EXTRACT:
            return 3
    return 2 if maker.vector else 1


def cycles(steps: Sequence[Step]) -> int:
    """Cycles of steps that are repeated, with all words that they need in queues and caches."""
    taken: set[int] = set()
    first = _issue(steps, {}, taken, 0)
    writers = {step.dst: (time, step) for step, time in first if step.dst is not None}
    start = 1 + max((time for _, time in first), default=-1)
    second = _issue(steps, writers, taken, start)
    return 1 + max((time for _, time in second), default=start - 1) - start


def waits_behind(steps: Sequence[Step]) -> dict[Register, tuple[int, Step]]:
    """For each register that steps write, cycles from its last write's issue to the end of all, as
    a number of at most 0, and the step that writes it."""
    issued = _issue(steps, {}, set(), 0)
    end = 1 + max((time for _, time in issued), default=-1)
    return {step.dst: (time - end, step) for step, time in issued if step.dst is not None}


def _issue(
    steps: Sequence[Step],
    writers: dict[Register, tuple[int, Step]],
    taken: set[int],
    start: int,
) -> list[tuple[Step, int]]:
    """When each step issues, in order; ``taken``: cycles of the result bus, to which theirs are
    added."""
    writers = dict(writers)
    divided, time, issued = 0, start - 1, []
    for step in steps:
        if step.opcode in CONTROL:
            continue
        time += 1
        for register in step.reads:
            if register in writers:
                issued_at, maker = writers[register]
                time = max(time, issued_at + latency(maker, step))
        if step.opcode in _DIVISIONS:
            time = max(time, divided)
            divided = time + _DIVISION
        time = first_free(step, time, taken)
        taken.update(time + each for each in bus_cycles(step))
        if step.dst is not None:
            writers[step.dst] = (time, step)
        issued.append((step, time))
    return issued


def _reads_addend(reader: Step, register: Register | None) -> bool:
    is_vector = reader.opcode == Opcode.FMUL_ADD and reader.vector
    return is_vector and _reads_only(reader, register, "c")


def _reads_only(reader: Step, register: Register | None, operand: str) -> bool:
    """Whether a step reads a register only as this operand of a vector instruction."""
    if register is None or register.kind != "v":
        return False
    names = [name for name in ("a", "b", "c") if getattr(reader, name) == register]
    return names == [operand]
