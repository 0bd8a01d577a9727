"""Programs of the execute unit for tests, and random ones."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode, Operand, Source

IMMEDIATE = Operand(Source.IMMEDIATE)
DEQUEUE = Operand(Source.DEQUEUE)
WORD = Operand(Source.DEQUEUE_SCALAR)
HALT = Instruction(Opcode.HALT)

Raw = Instruction | tuple[int, ...]

CORNERS = (
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,  # the least subnormal
    0x807F_FFFF,  # the greatest
    0x0080_0000,
    0x3F80_0000,
    0xBF80_0000,
    0x7F7F_FFFF,
    0x7F80_0000,
    0xFF80_0000,
    0x7FC0_0000,
    0xFFAB_CDEF,  # another NaN
    0x4B80_0001,
    0xFFFF_FFFF,
)
"""Words that are special as numbers of some kind."""

REGISTERS = 6
"""Of each kind that random programs compute with, so that they often depend on each other."""

ADDRESSES = range(16, 18)
"""Scalar registers that random programs address memory with."""

_COUNT = 20
_TWO = (
    Opcode.ADD,
    Opcode.SUB,
    Opcode.MUL,
    Opcode.AND,
    Opcode.OR,
    Opcode.XOR,
    Opcode.SHIFT_LEFT,
    Opcode.SHIFT_RIGHT,
    Opcode.MIN,
    Opcode.MAX,
    Opcode.LESS,
    Opcode.FADD,
    Opcode.FSUB,
    Opcode.FMUL,
    Opcode.FMIN,
    Opcode.FMAX,
    Opcode.FLESS,
    Opcode.FLESS_EQUAL,
    Opcode.FEQUAL,
)
_OTHERS = (
    Opcode.TO_FLOAT,
    Opcode.FABS,
    Opcode.SELECT,
    Opcode.FIRST_LANES,
    Opcode.LANES,
    Opcode.REDUCE_ADD,
    Opcode.REDUCE_MAX,
    Opcode.REDUCE_MIN,
    Opcode.EXTRACT,
)
_MEMORY = (Opcode.LOAD, Opcode.STORE, Opcode.PREFETCH)
_BRANCHES = (Opcode.BRANCH_EQ, Opcode.BRANCH_NE, Opcode.BRANCH_LT, Opcode.BRANCH_GE)


def register(index: int) -> Operand:
    """A register of the instruction's own kind."""
    return Operand(Source.REGISTER, index)


def scalar(index: int) -> Operand:
    return Operand(Source.SCALAR, index)


def set_scalar(dst: int, value: int) -> Instruction:
    return Instruction(Opcode.ADD, dst=dst, a=IMMEDIATE, immediate=value)


def set_vector(dst: int, value: int) -> Instruction:
    return Instruction(Opcode.ADD, True, dst=dst, a=IMMEDIATE, immediate=value)


@dataclass
class RandomProgram:
    """A program, what it takes from the queues, and memory."""

    program: list[Raw]
    words: list[int]
    tokens: list[int]
    memory: npt.NDArray[np.uint32]


def random_program(
    seed: int, *, lanes: int = 4, length: int = 40, memory_words: int = 256
) -> RandomProgram:
    """Ends by itself; at its end, it stores all the registers that it has used, of which it may not
    have written some."""
    rng, writes = random.Random(seed), random.Random(seed + 1)
    maker = _Maker(rng, lanes, memory_words)
    vectors = [set_vector(n, maker.number()) for n in range(REGISTERS)]
    prologue: list[Raw] = [each for each in vectors if writes.random() < 0.8]
    prologue += [set_scalar(n, rng.choice([1, 40, 90])) for n in ADDRESSES]
    body = maker.block(length, depth=0)
    program = prologue + body
    epilogue = len(program)
    for pc, instruction in enumerate(program):
        assert isinstance(instruction, Instruction)
        if instruction.opcode == Opcode.LOOP:
            program[pc] = replace(instruction, immediate=pc + instruction.immediate)
        elif instruction.opcode in (Opcode.JUMP, *_BRANCHES):
            far = epilogue if rng.random() < 0.2 else min(pc + 6, epilogue)
            program[pc] = replace(instruction, immediate=rng.randint(pc + 1, far))
    if rng.random() < 0.05:
        program[rng.randrange(len(prologue), epilogue)] = tuple(
            rng.getrandbits(32) for _ in range(3)
        )
    tokens = [rng.randint(0, epilogue) for _ in range(rng.randint(0, 6))] + [epilogue] * 20
    words = [maker.number() for _ in range(2000)]
    memory = np.array([maker.number() for _ in range(memory_words)], np.uint32)
    memory[:32] = [rng.randrange(memory_words - 60) for _ in range(32)]
    return RandomProgram(program + stored_registers(lanes, memory_words), words, tokens, memory)


def stored_registers(lanes: int, memory_words: int) -> list[Raw]:
    """Stores what random programs use into the end of memory, and halts."""
    scalars = [*range(REGISTERS), *ADDRESSES]
    base = memory_words - len(scalars) - lanes * (REGISTERS + 3)
    found: list[Raw] = []
    for place, number in enumerate(scalars):
        found.append(Instruction(Opcode.STORE, c=register(number), immediate=base + place))
    base += len(scalars)
    for number in range(REGISTERS):
        at = base + lanes * number
        found.append(Instruction(Opcode.STORE, True, c=register(number), immediate=at))
    for mask in range(1, 4):
        at = base + lanes * (REGISTERS + mask - 1)
        select = Instruction(Opcode.SELECT, True, mask, mask, IMMEDIATE, immediate=at)
        found += [select, Instruction(Opcode.STORE, True, c=register(mask), immediate=at)]
    return [*found, HALT]


class _Maker:
    def __init__(self, rng: random.Random, lanes: int, memory_words: int) -> None:
        self._rng, self._lanes, self._memory_words = rng, lanes, memory_words

    def number(self) -> int:
        kind = self._rng.random()
        if kind < 0.4:
            return self._rng.choice(CORNERS)
        if kind < 0.6:
            return self._rng.randint(-9, 9) & 0xFFFF_FFFF
        if kind < 0.8:  # numbers of about the same size
            return self._rng.randint(120, 130) << 23 | self._rng.getrandbits(23)
        return self._rng.getrandbits(32)

    def block(self, length: int, depth: int) -> list[Raw]:
        """About so many instructions. Loops and jumps have places relative to themselves."""
        rng = self._rng
        found: list[Raw] = []
        while len(found) < length:
            kind = rng.random()
            if kind < 0.08 and depth < 2:
                body = self.block(rng.randint(1, 6), depth + 1)
                body.append(self._plain())
                found.append(set_scalar(_COUNT, rng.choice([-1, 0, 1, 2, 3, 3])))
                size = len(body) + 1
                found.append(Instruction(Opcode.LOOP, a=register(_COUNT), immediate=size))
                found += body
            elif kind < 0.16:
                opcode = rng.choice([Opcode.JUMP, Opcode.JUMP_TOKEN, *_BRANCHES * 2])
                a, b, _ = self._operands(vector=False)
                if opcode in _BRANCHES:
                    found.append(Instruction(opcode, a=a, b=b))
                else:
                    found.append(Instruction(opcode))
            else:
                found.append(self._plain())
        return found

    def _plain(self) -> Instruction:
        rng = self._rng
        kind = rng.random()
        vector = rng.random() < 0.6
        if kind < 0.25:
            return self._memory_access(vector)
        opcode = rng.choice(_TWO if kind < 0.65 else _OTHERS)
        if 0.85 < kind < 0.98:
            opcode = Opcode.FMUL_ADD
        elif kind >= 0.98:
            opcode = rng.choice([Opcode.FDIV, Opcode.FSQRT])
        a, b, c = self._operands(vector)
        dst = rng.randrange(REGISTERS)
        if opcode == Opcode.FMUL_ADD and c.source == Source.REGISTER and rng.random() < 0.5:
            c = register(dst)
        return Instruction(opcode, vector, dst, rng.randrange(4), a, b, c, immediate=self.number())

    def _memory_access(self, vector: bool) -> Instruction:
        rng = self._rng
        opcode = rng.choice([*_MEMORY, Opcode.LOAD])
        dst = rng.choice([*range(REGISTERS), *ADDRESSES])
        if vector:
            dst %= REGISTERS
        limit = self._memory_words - 60 - self._lanes
        a, immediate = Operand(), rng.randint(0, limit)
        increment = rng.randint(-3, 8)
        if rng.random() < 0.6:
            a = Operand(rng.choice([Source.REGISTER, Source.SCALAR]), rng.choice(ADDRESSES))
            immediate = rng.randint(-1, 20)
        c = self._operands(vector)[2] if opcode == Opcode.STORE else Operand()
        if c.source == Source.IMMEDIATE:
            c = Operand()
        return Instruction(
            opcode, vector, dst, rng.randrange(4), a, Operand(), c, increment, immediate
        )

    def _operands(self, vector: bool) -> list[Operand]:
        rng = self._rng
        sources = [Source.REGISTER] * 6 + [Source.SCALAR, Source.IMMEDIATE, Source.ZERO]
        found = [Operand(rng.choice(sources), rng.randrange(REGISTERS)) for _ in range(3)]
        if rng.random() < 0.2:
            source = rng.choice([Source.DEQUEUE, Source.DEQUEUE_SCALAR])
            found[rng.randrange(3)] = Operand(source)
        return found
