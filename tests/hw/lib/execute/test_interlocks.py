"""Instructions that need registers, adders or masks which earlier ones still use, in order."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode
from tests.hw.lib.execute.compare import check
from tests.support.execute.machine import Pace
from tests.support.execute.programs import (
    HALT,
    IMMEDIATE,
    register,
    scalar,
    set_vector,
)


@pytest.mark.parametrize("latency", [1, 9, 40])
def test_earlier_and_longer_instructions_write_first(machine, latency):
    """Registers that are written twice, and read in between or not, by units of all latencies."""
    one = 0x3F80_0000
    long = [
        Instruction(Opcode.FDIV, True, dst=1, a=register(2), b=register(3)),
        Instruction(Opcode.LOAD, True, dst=1, immediate=8),
        Instruction(Opcode.FMUL_ADD, True, 1, 0, register(2), register(2), register(1)),
        Instruction(Opcode.FADD, True, dst=1, a=register(2), b=register(3)),
    ]
    short = set_vector(1, 5)
    for first in long:
        for between in ([], [Instruction(Opcode.STORE, True, c=register(1), immediate=20)]):
            for second in (short, *long):
                program = [
                    *(set_vector(number, one + number) for number in range(1, 4)),
                    first,
                    *between,
                    second,
                    Instruction(Opcode.STORE, True, c=register(1)),
                    HALT,
                ]
                memory = np.arange(256, dtype=np.uint32) << 20
                check(machine, program, memory, pace=Pace(latency=latency))


def test_an_addend_is_read_before_what_follows_writes_it(machine):
    """``FMUL_ADD`` reads its c late; another integer, load or sum must not come first."""
    fused = Instruction(Opcode.FMUL_ADD, True, 2, 0, register(3), register(3), register(1))
    followers = [
        set_vector(1, 0x4444_4444),
        Instruction(Opcode.LOAD, True, dst=1),
        Instruction(Opcode.FADD, True, dst=1, a=register(3), b=register(3)),
        Instruction(Opcode.FSQRT, True, dst=1, a=register(3)),
    ]
    for follower in followers:
        for distance in range(4):
            program = [
                *(set_vector(number, 0x3F80_0000 + number) for number in range(1, 4)),
                fused,
                *[Instruction(Opcode.JUMP, immediate=5 + n) for n in range(distance)],
                follower,
                Instruction(Opcode.STORE, True, c=register(1), immediate=4),
                Instruction(Opcode.STORE, True, c=register(2), immediate=8),
                HALT,
            ]
            check(machine, program, pace=Pace(latency=1))


@pytest.mark.parametrize("opcode", [Opcode.FMUL_ADD, Opcode.FADD, Opcode.REDUCE_ADD])
def test_a_sum_that_waits_leaves_the_adders_to_others(machine, opcode):
    """Its a comes from the adders in a cycle in which they begin another instruction's sum; its b
    is that sum, so it can't issue yet."""
    first = Instruction(Opcode.FMUL_ADD, True, 1, 0, register(3), register(3), register(1))
    other = Instruction(opcode, True, 2, 0, register(5), register(4), register(2))
    follows = Instruction(Opcode.FADD, True, dst=1, a=register(1), b=register(2))
    if opcode == Opcode.REDUCE_ADD:
        other = Instruction(opcode, True, dst=2, a=register(5))
        follows = replace(follows, b=scalar(2))
    for distance in range(8):
        program = [
            *(set_vector(number, 0x3F80_0000 + (number << 20)) for number in range(1, 6)),
            first,
            *(set_vector(6 + n, n) for n in range(distance)),
            other,
            follows,
            Instruction(Opcode.STORE, True, c=register(1)),
            HALT,
        ]
        check(machine, program)


def test_masks_are_written_in_order(machine):
    """A comparison is in the lanes when a count behind it is in the stage before."""
    sets = [
        Instruction(Opcode.FLESS, True, dst=1, a=register(1), b=register(2)),
        Instruction(Opcode.FIRST_LANES, dst=1, a=IMMEDIATE, immediate=2),
        Instruction(Opcode.LANES, dst=1, a=IMMEDIATE, immediate=0b0101),
    ]
    for first, second in product(sets, sets):
        program = [
            set_vector(1, 0xBF80_0000),
            set_vector(2, 0x3F80_0000),
            first,
            second,
            Instruction(Opcode.SELECT, True, 3, 1, IMMEDIATE, register(1), immediate=9),
            Instruction(Opcode.STORE, True, c=register(3)),
            HALT,
        ]
        check(machine, program)
