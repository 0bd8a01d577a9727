"""Runs that end with a fault: why, and where."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_isa import Fault, Instruction, Opcode, Operand, Source
from tests.hw.lib.execute.compare import fault_of
from tests.support.execute.machine import Pace
from tests.support.execute.programs import DEQUEUE, HALT, IMMEDIATE, WORD, register, set_scalar

NOTHING = set_scalar(9, 0)
LAST = 127  # instruction of the program's memory


def with_source(place: int, source: int) -> tuple[int, ...]:
    """An ``ADD`` with this number for the source of operand ``place``."""
    bits = Opcode.ADD | source << (14 + 8 * place)
    return bits & 0xFFFF_FFFF, bits >> 32, 0


@pytest.mark.parametrize(
    "wrong",
    [
        *((opcode, 0, 0) for opcode in (20, 36, 47, 51, 63)),
        *(with_source(place, source) for place in range(3) for source in (6, 7)),
        Instruction(Opcode.ADD, a=WORD, b=DEQUEUE),
        Instruction(Opcode.ADD, True, b=WORD, c=DEQUEUE),
        Instruction(Opcode.JUMP, a=WORD, c=WORD, immediate=3),
    ],
)
def test_no_instruction(machine, wrong):
    """Without waiting for words of the queue."""
    assert fault_of(machine, [NOTHING, wrong, HALT]) == (Fault.ENCODING, 1)


@pytest.mark.parametrize("opcode", [Opcode.JUMP, Opcode.BRANCH_EQ, Opcode.BRANCH_NE, Opcode.LOOP])
@pytest.mark.parametrize("target", [LAST + 1, -1])
def test_targets_beyond_the_program(machine, opcode, target):
    """Whether it is gone to or not."""
    program = [NOTHING, Instruction(opcode, immediate=target), HALT]
    assert fault_of(machine, program) == (Fault.CONTROL, 1)


def test_a_program_that_runs_out_of_its_memory(machine):
    program = [Instruction(Opcode.JUMP, immediate=LAST), *[HALT] * (LAST - 1), NOTHING]
    assert fault_of(machine, program) == (Fault.CONTROL, LAST + 1)


def loops(*targets: int, body: tuple[Instruction, ...] = (NOTHING,) * 5) -> list[Instruction]:
    """Loops that run once, one behind the other, and the ``body`` behind them."""
    begin = [Instruction(Opcode.LOOP, a=register(1), immediate=target) for target in targets]
    return [set_scalar(1, 1), *begin, *body, HALT, HALT]


@pytest.mark.parametrize(
    "program, pc",
    [
        (loops(8, 7, 6), 3),  # the third
        (loops(2), 1),  # no body
        (loops(1), 1),
        (loops(0), 1),
        (loops(6, 6), 2),  # ends with the one around
        (loops(6, 7), 2),  # ends behind it
        (loops(3, 5), 2),  # is its last instruction
        *(
            (loops(4, body=(NOTHING, Instruction(opcode, b=IMMEDIATE, immediate=5), NOTHING)), 3)
            for opcode in (Opcode.JUMP, Opcode.JUMP_TOKEN, Opcode.BRANCH_EQ, Opcode.BRANCH_NE)
        ),
    ],
)
def test_loops_and_jumps_out_of_place(machine, program, pc):
    assert fault_of(machine, program) == (Fault.CONTROL, pc)


@pytest.mark.parametrize("opcode", [Opcode.LOAD, Opcode.STORE])
@pytest.mark.parametrize(
    "vector, address, is_outside",
    [
        (False, 255, False),
        (False, 256, True),
        (False, -1, True),
        (False, 1 << 31, True),
        (True, 252, False),
        (True, 253, True),
        (True, 255, True),
        (True, -2, True),
    ],
)
def test_addresses(machine, opcode, vector, address, is_outside):
    program = [set_scalar(1, address), Instruction(opcode, vector, a=register(1)), HALT]
    expected = (Fault.ADDRESS, 1) if is_outside else (Fault.NONE, 0)
    assert fault_of(machine, program) == expected


def test_an_address_wraps_but_its_lanes_do_not(machine):
    wraps = [set_scalar(1, -1), Instruction(Opcode.LOAD, True, a=register(1), immediate=1), HALT]
    assert fault_of(machine, wraps) == (Fault.NONE, 0)
    behind = Instruction(Opcode.LANES, dst=1, a=IMMEDIATE, immediate=0b10)
    program = [behind, Instruction(Opcode.STORE, True, mask=1, a=Operand(), immediate=-1), HALT]
    assert fault_of(machine, program) == (Fault.ADDRESS, 1)


def test_the_first_of_two_faults_is_told(machine):
    outside = Instruction(Opcode.STORE, immediate=256)
    encoding = (63, 0, 0)
    assert fault_of(machine, [outside, encoding, HALT]) == (Fault.ADDRESS, 0)
    assert fault_of(machine, [encoding, outside, HALT]) == (Fault.ENCODING, 0)
    assert fault_of(machine, [HALT, encoding]) == (Fault.NONE, 0)
    skipped = [Instruction(Opcode.BRANCH_EQ, immediate=3), encoding, outside, HALT]
    assert fault_of(machine, skipped) == (Fault.NONE, 0)


@pytest.mark.parametrize(
    "wrong", [(63, 0, 0), Instruction(Opcode.LOAD, a=register(2), immediate=256)]
)
def test_nothing_happens_at_a_fault_or_behind(machine, wrong):
    """Stores before it are done; those behind are not, however long it waits."""
    program = [
        Instruction(Opcode.LOAD, dst=2, immediate=200),
        Instruction(Opcode.STORE, c=register(2), immediate=1),
        wrong,
        *(Instruction(Opcode.STORE, c=register(2), immediate=place) for place in range(2, 8)),
        HALT,
    ]
    memory = np.zeros(machine.memory_words, np.uint32)
    memory[200] = 3
    assert fault_of(machine, program, memory=memory, pace=Pace(latency=30))[0] != Fault.NONE
    assert memory[2:8].tolist() == [0] * 6


def test_a_vector_of_the_queue_and_a_word_are_two_operands(machine):
    source = Operand(Source.DEQUEUE_SCALAR)
    program = [Instruction(Opcode.FMUL_ADD, True, 1, 0, DEQUEUE, source, register(1)), HALT]
    assert fault_of(machine, program, words=[1] * 8) == (Fault.ENCODING, 0)
