"""What instructions take, in cycles."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode
from gnarl.hw.lib.encoding.execute_times import BITS_PER_CYCLE, INTEGER_CYCLES
from gnarl.hw.lib.execute.sequencer import KNOWN_JUMPS
from gnarl.hw.lib.integer.digits import OTHER_CYCLES, cycles_for
from tests.hw.lib.execute.compare import check
from tests.support.execute.machine import Machine, Pace
from tests.support.execute.programs import (
    DEQUEUE,
    HALT,
    IMMEDIATE,
    WORD,
    register,
    scalar,
    set_scalar,
    set_vector,
)

JUMP_TOKEN = Instruction(Opcode.JUMP_TOKEN)


def gaps(machine: Machine, program: list[Instruction], **options: object) -> list[int]:
    """Cycles from one issue to the next, ``HALT`` included."""
    result = check(machine, program, **options)
    return [later - earlier for earlier, later in pairwise(result.issues)]


def gap(machine: Machine, first: Instruction, second: Instruction, **options: object) -> int:
    """From ``first`` to ``second``, with nothing under way before."""
    before = [*(set_vector(number, 0x3F80_0000) for number in range(1, 5)), set_scalar(1, 1)]
    idle = [Instruction(Opcode.JUMP, immediate=len(before) + n + 1) for n in range(8)]
    return gaps(machine, [*before, *idle, first, second, HALT], **options)[-2]


def add(dst: int, count: int = 1) -> list[Instruction]:
    """Sums of vectors of the queue in registers ``dst`` and those behind."""
    return [
        Instruction(Opcode.FADD, True, dst=dst + n, a=register(dst + n), b=DEQUEUE)
        for n in range(count)
    ]


def test_sums_of_the_queue_take_a_cycle_each(machine):
    """In ``stages`` registers, since each waits for its own last one."""
    count = machine.stages
    sums = add(1, count) * 4
    clear = [set_vector(number, 0) for number in range(1, count + 1)]
    assert set(gaps(machine, [*clear, *sums, HALT], words=[0] * 4 * len(sums))) == {1}


def test_the_first_instruction_issues_two_cycles_after_the_reset(machine):
    assert check(machine, [HALT]).issues == [2]


def table(cases: int) -> tuple[list[Instruction], list[int]]:
    """A program of callbacks, a sum and a jump each, and where they begin."""
    program = [set_vector(number, 0) for number in range(1, cases + 1)]
    program.append(JUMP_TOKEN)
    starts = []
    for number in range(1, cases + 1):
        starts.append(len(program))
        program += [*add(number), JUMP_TOKEN]
    return [*program, HALT], [*starts, len(program)]


def test_tokens_that_wait_cost_their_cycle_alone(machine):
    """While they are new."""
    program, (*starts, end) = table(machine.stages)
    words = [0] * 4 * len(starts)
    assert set(gaps(machine, program, words=words, tokens=[*starts, end])) == {1}


@pytest.mark.parametrize("cases", [1, KNOWN_JUMPS, KNOWN_JUMPS + 1])
def test_tokens_of_known_jumps_cost_nothing(machine, cases):
    program, (*starts, end) = table(cases)
    turns = 6
    words = [0] * 4 * cases * turns
    result = check(machine, program, words=words, tokens=[*starts * turns, end])
    # Each jump is done once to be known; of one too many, none is when it comes again.
    assert result.counts["joined"] == (cases * (turns - 1) if cases <= KNOWN_JUMPS else 0)


def test_a_known_jump_waits_for_its_token_by_itself(machine):
    """It joins the sum before it, or else takes its own cycle behind."""
    program, (start, end) = table(1)
    tokens = [*[start] * 20, end]
    result = check(machine, program, words=[0] * 80, tokens=tokens, pace=Pace(0.3))
    assert 0 < result.counts["joined"] < 20
    assert result.counts["waits_token"]


def test_a_token_is_a_jump_a_cycle_after_it_comes(machine):
    result = check(machine, [Instruction(Opcode.JUMP_TOKEN), HALT], tokens=[1], pace=Pace(0.05))
    assert result.counts["waits_token"] == result.issues[0] - 2


def test_jumps_take_a_cycle(machine):
    program = [Instruction(Opcode.JUMP, immediate=target) for target in (2, 3, 1, 4)]
    assert gaps(machine, [*program, HALT]) == [1] * 4


@pytest.mark.parametrize("size", range(1, 5))
def test_loops_take_nothing_but_their_bodies(machine, size):
    """Once a loop has been seen to run: until then, its first end waits."""
    count = 5
    program = [
        set_scalar(1, count),
        Instruction(Opcode.LOOP, a=register(1), immediate=2 + size),
        *(set_scalar(number, 0) for number in range(2, 2 + size)),
        HALT,
    ]
    found = gaps(machine, program)
    start = max(0, 3 - size)
    assert sum(found) == len(found) + start
    assert found[1 + size :] == [1] * (len(found) - 1 - size)


def test_ends_of_nested_loops_take_nothing(machine):
    program = [
        set_scalar(1, 3),
        Instruction(Opcode.LOOP, a=register(1), immediate=7),
        Instruction(Opcode.LOOP, a=register(1), immediate=6),
        *(set_scalar(number, 0) for number in (2, 3, 4)),
        set_scalar(5, 0),
        HALT,
    ]
    found = gaps(machine, program)
    assert found[:3] == [1, 3, 1]  # a loop behind another waits until that is known to run
    assert set(found[2:]) == {1}


@pytest.mark.parametrize("opcode, cycles", [(Opcode.BRANCH_EQ, 3), (Opcode.BRANCH_NE, 1)])
def test_branches_that_are_taken_take_two_cycles_more(machine, opcode, cycles):
    program = [Instruction(opcode, immediate=3), *[set_scalar(1, 0)] * 3, HALT]
    assert gaps(machine, program)[0] == cycles


def test_a_loop_that_does_not_run_takes_two_cycles_more(machine):
    program = [Instruction(Opcode.LOOP, a=register(1), immediate=3), *[set_scalar(2, 0)] * 3, HALT]
    assert gaps(machine, program) == [3, 1]


def test_what_changes_loops_waits_behind_a_branch(machine):
    program = [Instruction(Opcode.BRANCH_NE, immediate=3), Instruction(Opcode.JUMP, immediate=2)]
    assert gaps(machine, [*program, HALT]) == [3, 1]


READ_SCALAR = Instruction(Opcode.ADD, dst=9, a=register(2))
READ_VECTOR = Instruction(Opcode.ADD, True, dst=9, a=register(6))


def test_scalars_are_there_a_cycle_later(machine):
    for opcode in (Opcode.ADD, Opcode.SHIFT_LEFT, Opcode.LESS, Opcode.FLESS, Opcode.SELECT):
        assert gap(machine, Instruction(opcode, dst=2, a=register(1)), READ_SCALAR) == 1
    increments = Instruction(Opcode.PREFETCH, a=register(2), increment=1)
    assert gap(machine, increments, READ_SCALAR) == 1
    branch = Instruction(Opcode.BRANCH_NE, a=register(2), b=register(2), immediate=0)
    assert gap(machine, increments, branch) == 1


def test_vectors_are_there_when_the_docstring_says(machine):
    stages = machine.stages
    ones = {"a": register(1), "b": register(2), "c": register(3)}
    for opcode, cycles in (
        (Opcode.ADD, 2),
        (Opcode.SELECT, 2),
        (Opcode.FABS, 2),
        (Opcode.FADD, stages + 1),
        (Opcode.FMUL, stages + 1),
        (Opcode.MUL, stages + 1),
        (Opcode.TO_FLOAT, stages + 1),
        (Opcode.FMUL_ADD, 2 * stages + 1),
    ):
        assert gap(machine, Instruction(opcode, True, dst=6, **ones), READ_VECTOR) == cycles, opcode


def test_other_scalars_are_there_when_the_docstring_says(machine):
    stages = machine.stages
    ones = {"a": register(1), "b": register(1), "c": register(1)}
    for opcode, cycles in (
        (Opcode.FADD, stages + 2),
        (Opcode.FMUL, stages + 2),
        (Opcode.MUL, stages + 2),
        (Opcode.TO_FLOAT, stages + 2),
        (Opcode.FMUL_ADD, 2 * stages + 2),
    ):
        assert gap(machine, Instruction(opcode, dst=2, **ones), READ_SCALAR) == cycles, opcode
    for opcode, cycles in ((Opcode.EXTRACT, INTEGER_CYCLES), (Opcode.REDUCE_ADD, 2 * stages + 2)):
        first = Instruction(opcode, True, dst=2, a=register(1))
        assert gap(machine, first, READ_SCALAR) == cycles, opcode


def test_masks_are_there_when_the_docstring_says(machine):
    selects = Instruction(Opcode.SELECT, True, dst=9, mask=1, a=register(1))
    sets = Instruction(Opcode.FIRST_LANES, dst=1, a=IMMEDIATE, immediate=2)
    compares = Instruction(Opcode.FLESS, True, dst=1, a=register(1), b=register(2))
    assert [gap(machine, first, selects) for first in (sets, compares)] == [1, 2]
    others = Instruction(Opcode.FLESS, True, dst=2, a=register(1), b=register(2))
    assert gap(machine, others, selects) == 1


def test_a_sum_is_an_addend_of_the_next_as_it_comes(machine):
    """As operand a of what adders do, whatever register that goes to; nowhere else."""
    stages = machine.stages
    operands = {"a": register(1), "b": register(2), "c": register(3)}
    for first, cycles in (
        (Opcode.FADD, stages),
        (Opcode.FMAX, stages),
        (Opcode.FMUL_ADD, 2 * stages),
        (Opcode.FMUL, stages + 1),
    ):
        result = Instruction(first, True, dst=6, **operands)
        for dst in (6, 7):
            second = Instruction(Opcode.FSUB, True, dst=dst, a=register(6), b=register(4))
            assert gap(machine, result, second) == cycles, first
    result = Instruction(Opcode.FADD, True, dst=6, **operands)
    for a, b, cycles in ((4, 6, stages + 1), (6, 6, stages + 1), (6, 4, stages)):
        other = Instruction(Opcode.FADD, True, dst=7, a=register(a), b=register(b))
        assert gap(machine, result, other) == cycles
    product = Instruction(Opcode.FMUL, True, dst=7, a=register(6), b=register(4))
    assert gap(machine, result, product) == stages + 1


def test_sums_of_products_follow_each_other_as_sums_do(machine):
    """Scaled vectors of the queue: each waits for its own last sum alone."""
    stages = machine.stages
    fused = Instruction(Opcode.FMUL_ADD, True, 6, 0, scalar(1), DEQUEUE, register(6))
    clear = [set_vector(6 + n, 0) for n in range(stages + 1)]
    assert gap(machine, fused, fused, words=[0] * 8) == stages + 1
    several = [set_scalar(1, 0x3F80_0000), clear[0], *[fused] * 4]
    several += [Instruction(Opcode.STORE, True, c=register(6)), HALT]
    words = [0x3F80_0000 + word for word in range(16)]
    assert gaps(machine, several, words=words)[2:5] == [stages + 1] * 3
    many = [
        Instruction(Opcode.FMUL_ADD, True, 6 + n, 0, scalar(1), DEQUEUE, register(6 + n))
        for n in range(stages + 1)
    ]
    assert set(gaps(machine, [*clear, *many * 3, HALT], words=[0] * 12 * len(many))) == {1}


@pytest.mark.parametrize("latency", [1, 7])
def test_loads_are_there_when_the_docstring_says(machine, latency):
    pace = Pace(latency=latency)
    scalar_load = Instruction(Opcode.LOAD, dst=2)
    assert gap(machine, scalar_load, READ_SCALAR, pace=pace) == latency + 4
    vector_load = Instruction(Opcode.LOAD, True, dst=6)
    assert gap(machine, vector_load, READ_VECTOR, pace=pace) == latency + 4


def test_loads_take_a_cycle_each_while_there_are_tags(machine):
    loads = [
        Instruction(Opcode.LOAD, True, dst=number, a=register(1), increment=4)
        for number in range(1, 7)
    ]
    result = check(machine, [*loads, HALT], pace=Pace(latency=20))
    assert gaps(machine, [*loads[:4], HALT], pace=Pace(latency=20)) == [1] * 4
    # Three cycles to the port, twenty there: then the tag is free for another.
    assert [issue - result.issues[0] for issue in result.issues[:6]] == [0, 1, 2, 3, 24, 25]
    assert result.counts["waits_memory"] == 20
    assert result.counts["waits_registers"] == 0


def test_stores_take_a_cycle_each(machine):
    store = Instruction(Opcode.STORE, True, a=register(1), c=scalar(1), increment=4)
    assert gaps(machine, [*[store] * 12, HALT]) == [1] * 12


def test_a_division_blocks_nothing_but_what_needs_it(machine):
    divides = Instruction(Opcode.FDIV, True, dst=6, a=register(1), b=register(2))
    assert gap(machine, divides, add(7)[0], words=[0] * 4) == 1
    cycles = cycles_for(26, BITS_PER_CYCLE) + OTHER_CYCLES + 3
    assert gap(machine, divides, READ_VECTOR) == cycles
    again = Instruction(Opcode.FDIV, True, dst=7, a=register(1), b=register(2))
    assert gap(machine, divides, again) == cycles


def test_roots_go_from_lane_to_lane(machine):
    per_lane = cycles_for(25, BITS_PER_CYCLE) + OTHER_CYCLES + 1
    root = Instruction(Opcode.FSQRT, True, dst=6, a=register(1))
    assert gap(machine, root, READ_VECTOR) == machine.lanes * per_lane + 4
    root = Instruction(Opcode.FSQRT, dst=2, a=register(1))
    assert gap(machine, root, READ_SCALAR) == per_lane + 4


def test_what_is_waited_for(machine):
    """One thing at a time, for as long as nothing issues."""
    slow = Pace(queue=0.1)
    words = check(
        machine, [*[Instruction(Opcode.OR, dst=1, a=WORD)] * 3, HALT], words=[1] * 3, pace=slow
    )
    assert words.counts["waits_data"] == words.issues[2] - 2 - 2
    late = [Instruction(Opcode.LOAD, dst=1), Instruction(Opcode.ADD, dst=2, a=register(1)), HALT]
    result = check(machine, late, pace=Pace(latency=30))
    assert result.counts["waits_memory"] == result.issues[1] - result.issues[0] - 1
    tight = [Instruction(Opcode.FADD, dst=1), Instruction(Opcode.FADD, dst=2, a=register(1)), HALT]
    assert check(machine, tight).counts["waits_registers"] == machine.stages + 1
