"""The execute unit against the interpreter of its instructions."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode, Operand, Source
from gnarl.hw.lib.execute.sequencer import KNOWN_JUMPS
from tests.hw.lib.execute.compare import check
from tests.support.execute.machine import Machine, Pace
from tests.support.execute.programs import (
    CORNERS,
    DEQUEUE,
    HALT,
    IMMEDIATE,
    WORD,
    random_program,
    register,
    scalar,
    set_scalar,
    set_vector,
)

PACES = (Pace(), Pace(0.5, 0.5, 3, 20), Pace(0.2, 1.0, 1, 5), Pace(1.0, 0.3, 10))
"""Of queues and memory: at once; late and out of order; starved; narrow and slow."""


def check_random(machine: Machine, seed: int, pace: Pace) -> None:
    case = random_program(seed, lanes=machine.lanes)
    check(
        machine,
        case.program,
        case.memory,
        words=case.words,
        tokens=case.tokens,
        pace=pace,
        seed=seed,
    )


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), pace=st.sampled_from(PACES))
def test_random_programs(machine, seed, pace):
    check_random(machine, seed, pace)


@pytest.mark.slow
@pytest.mark.parametrize("lanes, stages, loads", [(2, 1, 1), (4, 2, 3), (4, 4, 16), (8, 6, 5)])
def test_random_programs_of_other_machines(lanes, stages, loads):
    machine = Machine(lanes=lanes, stages=stages, loads=loads)
    for seed in range(200):
        check_random(machine, seed, PACES[seed % len(PACES)])


@pytest.mark.slow
def test_many_random_programs(machine):
    for seed in range(2000):
        check_random(machine, seed, PACES[seed % len(PACES)])


ARITHMETIC = [
    opcode
    for opcode in Opcode
    if Opcode.ADD <= opcode <= Opcode.FEQUAL and opcode not in (Opcode.FMUL_ADD, Opcode.FDIV)
]


@pytest.mark.parametrize("opcode", [*ARITHMETIC, Opcode.FDIV])
def test_corners_of_arithmetic(machine, opcode):
    """All pairs of vectors: subnormals, NaN, infinities, zeros of both signs, least integers."""
    compares = opcode in (Opcode.FLESS, Opcode.FLESS_EQUAL, Opcode.FEQUAL)
    mask = 1 if compares else 0
    program = [
        set_scalar(1, 49),
        Instruction(Opcode.LOOP, a=register(1), immediate=6),
        Instruction(Opcode.OR, True, dst=1, a=DEQUEUE),
        Instruction(opcode, True, dst=2 - mask, a=register(1), b=DEQUEUE),
        Instruction(
            Opcode.SELECT, True, 3, mask, register(1 if compares else 2), IMMEDIATE, immediate=7
        ),
        Instruction(Opcode.STORE, True, a=register(2), c=register(3), increment=4),
        HALT,
    ]
    pairs = np.array([*product(CORNERS, CORNERS)], np.uint32).reshape(49, 4, 2)
    words = [int(word) for pair in pairs for side in pair.T for word in side]
    check(machine, program, words=words)


def test_corners_of_scalar_arithmetic(machine):
    """As of vectors, of some pairs, and without lanes."""
    rng = np.random.default_rng(5)
    for opcode in [*ARITHMETIC, Opcode.FDIV]:
        pairs = rng.choice(np.array(CORNERS, np.uint32), (16, 2))
        program = [
            *(
                instruction
                for place in range(16)
                for instruction in (
                    Instruction(Opcode.OR, dst=1, a=WORD),
                    Instruction(opcode, dst=2, a=register(1), b=WORD),
                    Instruction(Opcode.STORE, c=register(2), immediate=place),
                )
            ),
            HALT,
        ]
        check(machine, program, words=pairs.ravel().tolist())


def test_products_are_rounded_before_they_are_added(machine):
    """(1 + 2**-12)**2 - (1 + 2**-11) is 2**-24, which the product does not have."""
    one, less = 0x3F80_0800, 0xBF80_1000
    program = [
        set_vector(1, one),
        set_vector(2, less),
        Instruction(Opcode.FMUL_ADD, True, 3, 0, register(1), register(1), register(2)),
        Instruction(Opcode.STORE, True, c=register(3)),
        set_scalar(1, one),
        Instruction(
            Opcode.FMUL_ADD, False, 3, 0, register(1), register(1), IMMEDIATE, immediate=less
        ),
        Instruction(Opcode.STORE, c=register(3), immediate=4),
        HALT,
    ]
    memory = np.ones(machine.memory_words, np.uint32)
    check(machine, program, memory)
    assert memory[:5].tolist() == [0] * 5


def test_sums_over_lanes_are_a_fixed_tree(machine):
    """Lanes 0 and 2, then 1 and 3: by neighbours, or from both ends, each 1 would be lost."""
    values = np.array([2.0**25, 1.0, -(2.0**25), 1.0], np.float32)
    memory = np.zeros(machine.memory_words, np.uint32)
    memory[:4] = values.view(np.uint32)
    program = [
        Instruction(Opcode.LOAD, True, dst=1),
        Instruction(Opcode.REDUCE_ADD, True, dst=1, a=register(1)),
        Instruction(Opcode.STORE, c=register(1), immediate=8),
        HALT,
    ]
    check(machine, program, memory)
    assert memory[8] == np.float32(2.0).view(np.uint32)


@pytest.mark.parametrize("opcode", [Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN])
@pytest.mark.parametrize("lanes", [0b0000, 0b0101, 0b1000, 0b1111])
def test_lanes_that_are_left_out_of_a_reduction(machine, opcode, lanes):
    program = [
        Instruction(Opcode.LANES, dst=1, a=IMMEDIATE, immediate=lanes),
        Instruction(opcode, True, dst=1, mask=1, a=DEQUEUE),
        Instruction(Opcode.STORE, c=register(1)),
        HALT,
    ]
    words = np.array([-3.5, 2.0, -0.0, 9.0], np.float32).view(np.uint32).tolist()
    check(machine, program, words=words)


def test_every_lane_can_be_extracted(machine):
    program = [Instruction(Opcode.OR, True, dst=1, a=DEQUEUE)]
    for place in range(6):
        program += [
            Instruction(Opcode.EXTRACT, True, dst=place, a=register(1), immediate=place),
            Instruction(Opcode.STORE, c=register(place), immediate=place),
        ]
    memory = np.zeros(machine.memory_words, np.uint32)
    check(machine, [*program, HALT], memory, words=[5, 6, 7, 8])
    assert memory[:6].tolist() == [5, 6, 7, 8, 5, 6]


@pytest.mark.parametrize("count", [-5, -1, 0, 1, 2, 7, 100, 0x8000_0000])
def test_loop_counts(machine, count):
    program = [
        set_scalar(1, count),
        Instruction(Opcode.LOOP, a=register(1), immediate=3),
        Instruction(Opcode.ADD, dst=2, a=register(2), b=IMMEDIATE, immediate=1),
        Instruction(Opcode.STORE, c=register(2)),
        HALT,
    ]
    memory = np.zeros(machine.memory_words, np.uint32)
    check(machine, program, memory)
    assert memory[0] == (max(count, 0) if count < 0x8000_0000 else 0)


@pytest.mark.parametrize("outer, inner", [(3, 2), (2, 0), (0, 2), (4, 1)])
def test_nested_loops(machine, outer, inner):
    """The inner loop twice in a body, so that the stack is used again."""
    count = [
        Instruction(Opcode.ADD, dst=3, a=register(3), b=IMMEDIATE, immediate=1),
        Instruction(Opcode.ADD, dst=4, a=register(4), b=register(3)),
    ]
    program = [
        set_scalar(1, outer),
        set_scalar(2, inner),
        Instruction(Opcode.LOOP, a=register(1), immediate=10),
        Instruction(Opcode.LOOP, a=register(2), immediate=6),
        *count,
        Instruction(Opcode.LOOP, a=register(2), immediate=8),
        count[0],
        count[1],
        Instruction(Opcode.XOR, dst=4, a=register(4), b=register(3)),
        Instruction(Opcode.STORE, c=register(4)),
        HALT,
    ]
    check(machine, program)


def test_a_token_out_of_both_loops_ends_them(machine):
    """Else the two loops behind would be a third and a fourth one."""
    program = [
        set_scalar(1, 5),
        Instruction(Opcode.LOOP, a=register(1), immediate=8),
        Instruction(Opcode.LOOP, a=register(1), immediate=7),
        Instruction(Opcode.ADD, dst=2, a=register(2), b=IMMEDIATE, immediate=1),
        Instruction(Opcode.JUMP_TOKEN),
        Instruction(Opcode.ADD, dst=2, a=register(2), b=IMMEDIATE, immediate=10),
        HALT,
        HALT,
        Instruction(Opcode.LOOP, a=register(1), immediate=13),
        Instruction(Opcode.LOOP, a=register(1), immediate=12),
        Instruction(Opcode.ADD, dst=2, a=register(2), b=IMMEDIATE, immediate=100),
        Instruction(Opcode.ADD, dst=2, a=register(2), b=IMMEDIATE, immediate=1000),
        Instruction(Opcode.ADD, dst=3, a=register(2)),
        Instruction(Opcode.STORE, c=register(2)),
        HALT,
    ]
    check(machine, program, tokens=[5, 5, 8])


_CASES = st.lists(
    st.lists(st.sampled_from(["add", "take", "branch", "loop", "body"]), max_size=3),
    min_size=1,
    max_size=KNOWN_JUMPS + 1,
)


@settings(max_examples=30)
@given(
    cases=_CASES,
    turns=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=40),
    pace=st.sampled_from(PACES),
    seed=st.integers(0, 99),
)
def test_tables_of_callbacks(machine, cases, turns, pace, seed):
    """Callbacks end in a jump by token, whatever is before it: sums, words taken, a branch to the
    end that is taken in the end, a loop; some are in a loop's body, which the token leaves. Tokens
    name cases, and a few what is behind their first instructions."""
    count = Instruction(Opcode.ADD, dst=2, a=register(2), b=IMMEDIATE, immediate=1)
    program = [set_scalar(1, 2), set_scalar(3, 12), Instruction(Opcode.JUMP_TOKEN)]
    starts = []
    for case in cases:
        starts.append(len(program))
        for kind in case:
            behind = len(program) + 1
            program += {
                "add": [count],
                "take": [Instruction(Opcode.ADD, dst=2, a=register(2), b=WORD)],
                "branch": [Instruction(Opcode.BRANCH_GE, a=register(2), b=register(3))],
                "loop": [
                    Instruction(Opcode.LOOP, a=register(1), immediate=behind + 2),
                    *[count] * 2,
                ],
                "body": [Instruction(Opcode.LOOP, a=register(1), immediate=behind + 8)],
            }[kind]
        program += [Instruction(Opcode.JUMP_TOKEN), *[count] * 8]
    end = len(program)
    program = [
        replace(each, immediate=end) if each.opcode == Opcode.BRANCH_GE else each
        for each in program
    ]
    program += [Instruction(Opcode.STORE, c=register(2)), HALT]
    tokens = [starts[case % len(starts)] + max(0, place - 7) for case, place in turns]
    check(
        machine,
        program,
        words=[1] * 200,
        tokens=[*tokens, *[end] * 4],
        pace=pace,
        seed=seed,
    )


def test_a_jump_within_a_body_goes_on_with_its_loop(machine):
    program = [
        set_scalar(1, 4),
        Instruction(Opcode.LOOP, a=register(1), immediate=6),
        Instruction(Opcode.JUMP, immediate=4),
        HALT,
        Instruction(Opcode.BRANCH_EQ, immediate=5),
        Instruction(Opcode.ADD, dst=2, a=register(2), b=IMMEDIATE, immediate=1),
        Instruction(Opcode.STORE, c=register(2)),
        HALT,
    ]
    memory = np.zeros(machine.memory_words, np.uint32)
    check(machine, program, memory)
    assert memory[0] == 4


def test_what_lies_behind_a_taken_branch_does_nothing(machine):
    """A word taken, a loop begun, a store, a token taken, registers written."""
    behind = [
        Instruction(Opcode.OR, dst=1, a=WORD),
        Instruction(Opcode.STORE, a=register(5), c=IMMEDIATE, immediate=9, increment=3),
        Instruction(Opcode.JUMP_TOKEN),
        Instruction(Opcode.LOOP, a=register(7), immediate=20),
        set_vector(1, 3),
        HALT,
    ]
    for count in range(len(behind)):
        program = [
            set_vector(1, 1),
            set_scalar(7, 3),
            Instruction(Opcode.BRANCH_GE, immediate=9),
            *(behind[count:] + behind[:count]),
            Instruction(Opcode.STORE, True, a=register(5), c=register(1), immediate=16),
            Instruction(Opcode.STORE, c=register(1), immediate=20),
            HALT,
        ]
        check(machine, program, words=[1, 2, 3, 4], tokens=[9])


@pytest.mark.parametrize("opcode", [o for o in Opcode if o.name.startswith("BRANCH")])
@pytest.mark.parametrize("a, b", [(0, 0), (1, 2), (2, 1), (-1, 1), (1, -1), (-(2**31), 1)])
def test_branches_compare_signed(machine, opcode, a, b):
    program = [
        set_scalar(1, a),
        set_scalar(2, b),
        Instruction(opcode, a=register(1), b=register(2), immediate=4),
        HALT,
        Instruction(Opcode.STORE, c=register(1), immediate=3),
        HALT,
    ]
    check(machine, program)


def test_words_of_the_queue_are_operands_of_all_kinds(machine):
    """Also of what is a scalar whatever the instruction works on: addresses, counts, masks."""
    program = [
        Instruction(Opcode.LOOP, a=DEQUEUE, immediate=8),
        Instruction(Opcode.FIRST_LANES, True, dst=1, a=DEQUEUE),
        Instruction(Opcode.LOAD, True, dst=1, mask=1, a=DEQUEUE),
        Instruction(Opcode.ADD, True, dst=1, a=register(1), b=WORD),
        Instruction(
            Opcode.FMUL_ADD, True, 2, 0, register(1), IMMEDIATE, DEQUEUE, immediate=0x4040_0000
        ),
        Instruction(Opcode.STORE, True, a=register(1), c=DEQUEUE, increment=4),
        Instruction(Opcode.BRANCH_NE, a=WORD, immediate=7),
        Instruction(Opcode.STORE, True, a=register(1), c=register(2), increment=4),
        HALT,
    ]
    words = [2]
    for turn in range(2):
        words += [3 - turn, 30 + turn, 5, *range(11, 15), *range(21, 25), 1]
    check(machine, program, np.arange(256, dtype=np.uint32), words=words, pace=Pace(0.4))


def test_a_load_into_its_address_register_keeps_what_it_loads(machine):
    program = [
        set_scalar(1, 3),
        Instruction(Opcode.LOAD, dst=1, a=register(1), increment=5),
        Instruction(Opcode.STORE, a=register(1), c=register(1), increment=2),
        Instruction(Opcode.STORE, c=register(1), immediate=50),
        HALT,
    ]
    memory = np.arange(100, 356, dtype=np.uint32)
    check(machine, program, memory)
    assert (memory[103], memory[50]) == (103, 105)


@pytest.mark.parametrize("increment", [-512, -1, 0, 1, 511])
def test_increments_are_there_at_once(machine, increment):
    program = [
        set_scalar(1, 600),
        Instruction(Opcode.PREFETCH, a=register(1), increment=increment),
        Instruction(Opcode.ADD, dst=2, a=register(1), b=register(1)),
        Instruction(Opcode.STORE, c=register(2)),
        HALT,
    ]
    memory = np.zeros(machine.memory_words, np.uint32)
    check(machine, program, memory)
    assert memory[0] == 2 * (600 + increment)


def test_prefetches_out_of_memory_have_no_effect(machine):
    """But for the increment; inside, they ask for their first word alone, whatever the mask."""
    program = [
        Instruction(Opcode.PREFETCH, True, mask=1, a=IMMEDIATE, immediate=100),
        Instruction(Opcode.PREFETCH, True, a=register(1), immediate=255, increment=1),
        Instruction(Opcode.PREFETCH, a=register(1), immediate=255, increment=1),
        Instruction(Opcode.PREFETCH, a=register(1), immediate=-3),
        Instruction(Opcode.STORE, a=register(1)),
        HALT,
    ]
    assert check(machine, program).prefetches == [200, 255]


def test_vectors_at_the_end_of_memory_need_their_mask(machine):
    program = [
        Instruction(Opcode.FIRST_LANES, dst=1, a=IMMEDIATE, immediate=2),
        Instruction(Opcode.LOAD, True, dst=1, mask=1, a=IMMEDIATE, immediate=127),
        Instruction(Opcode.STORE, True, mask=1, c=IMMEDIATE, immediate=254),
        Instruction(Opcode.STORE, True, c=register(1)),
        HALT,
    ]
    check(machine, program, np.arange(500, 756, dtype=np.uint32))


def test_no_lanes_are_outside_of_no_memory(machine):
    """Vectors without lanes load zeros and store nothing, wherever they are."""
    program = [
        set_vector(1, 7),
        Instruction(Opcode.LOAD, True, dst=1, mask=1, a=IMMEDIATE, immediate=0x4000_0000),
        Instruction(Opcode.STORE, True, mask=1, c=register(1), immediate=300),
        Instruction(Opcode.STORE, True, c=register(1)),
        HALT,
    ]
    memory = np.ones(machine.memory_words, np.uint32)
    check(machine, program, memory)
    assert memory[:5].tolist() == [0, 0, 0, 0, 1]


def test_it_has_not_halted_before_the_last_store_has_landed(machine):
    program = [Instruction(Opcode.STORE, c=IMMEDIATE, immediate=9), HALT]
    landed = [check(machine, program, pace=Pace(latency=latency)).cycles for latency in (1, 51)]
    assert landed[1] - landed[0] == 50


def test_a_reset_at_any_time_forgets_what_was_under_way(machine):
    case = random_program(3, lanes=machine.lanes)
    clean = random_program(4, lanes=machine.lanes)
    for cycles in (1, 2, 3, 5, 9, 17, 33, 60):
        with pytest.raises(AssertionError, match="not done"):
            machine.run(
                case.program,
                case.memory.copy(),
                words=case.words,
                tokens=case.tokens,
                pace=PACES[1],
                limit=cycles,
            )
        check(machine, clean.program, clean.memory.copy(), words=clean.words, tokens=clean.tokens)


def test_scalars_in_every_lane(machine):
    program = [
        set_scalar(1, 0x4000_0000),
        set_vector(1, 0x4040_0000),
        Instruction(Opcode.FMUL, True, dst=2, a=register(1), b=scalar(1)),
        Instruction(Opcode.FMUL_ADD, True, 3, 0, scalar(1), register(2), scalar(1)),
        Instruction(Opcode.STORE, True, c=register(3)),
        Instruction(Opcode.STORE, True, c=scalar(1), immediate=4),
        Instruction(Opcode.STORE, True, c=Operand(Source.ZERO), immediate=8),
        HALT,
    ]
    memory = np.ones(machine.memory_words, np.uint32)
    check(machine, program, memory)
    assert memory[:12].tolist() == [0x4160_0000] * 4 + [0x4000_0000] * 4 + [0] * 4


def test_registers_are_0_at_the_start(machine):
    """Whatever an earlier run has left: of vectors read at once, a cycle behind a write, and long
    behind one."""
    writes = [set_vector(number, number + 1) for number in range(32)]
    check(machine, [*writes, HALT])
    reads = [
        Instruction(Opcode.STORE, True, c=register(number), immediate=machine.lanes * number)
        for number in (0, 5, 6, 31)
    ]
    sums = [
        set_vector(5, 7),
        Instruction(Opcode.ADD, True, 6, a=register(6), b=register(5)),
        Instruction(Opcode.ADD, True, 6, a=register(6), b=register(31)),
        Instruction(Opcode.ADD, True, 0, a=register(31), b=register(5)),
    ]
    memory = np.full(machine.memory_words, 9, np.uint32)
    check(machine, [*reads, *sums, *reads, HALT], memory)
    check(machine, [*sums, *reads, HALT])
