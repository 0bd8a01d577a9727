"""Random programs of a vector core, which has no queues."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode, Operand, Source
from tests.support.execute.programs import (
    ADDRESSES,
    CORNERS,
    HALT,
    IMMEDIATE,
    REGISTERS,
    Raw,
    random_program,
    register,
    set_scalar,
    set_vector,
)

_TAKEN = (Source.DEQUEUE, Source.DEQUEUE_SCALAR)


@dataclass
class CoreProgram:
    """``instructions``, uint32 [n, 3], and ``memory``, uint32 [words], from address 0 on."""

    instructions: npt.NDArray[np.uint32]
    memory: npt.NDArray[np.uint32]


def computing_program(seed: int, lanes: int, *, length: int, memory_words: int) -> CoreProgram:
    """A program of all kinds of instructions, which depend on each other; some fault."""
    found = random_program(seed, lanes=lanes, length=length, memory_words=memory_words)
    return CoreProgram(_words(map(_without_queues, found.program, range(1 << 16))), found.memory)


def _without_queues(given: Raw, pc: int) -> Raw:
    if not isinstance(given, Instruction):
        return given
    if given.opcode == Opcode.JUMP_TOKEN:
        return Instruction(Opcode.JUMP, immediate=pc + 1)
    operands = {
        name: Operand() if getattr(given, name).source in _TAKEN else getattr(given, name)
        for name in "abc"
    }
    return replace(given, **operands)


def moving_program(seed: int, lanes: int, memory_words: int) -> CoreProgram:
    """A loop that mostly loads and stores: neighbours, strides, where words say, on few lines or
    on many."""
    rng = random.Random(seed)
    span = rng.choice([64, 512, 2048, memory_words // 2])
    memory = np.array([rng.randrange(span) for _ in range(memory_words)], np.uint32)
    pointers = (*ADDRESSES, ADDRESSES.stop)
    before = [set_vector(n, CORNERS[n]) for n in range(REGISTERS)]
    before += [set_scalar(pointer, rng.randrange(span)) for pointer in pointers]
    before += [set_scalar(2, rng.randrange(1 << lanes)), set_scalar(3, rng.randrange(lanes + 1))]
    before += [
        Instruction(Opcode.LANES, dst=1, a=register(2)),
        Instruction(Opcode.FIRST_LANES, dst=2, a=register(3)),
        set_scalar(1, rng.randrange(1, 70)),
    ]
    body = [_moving(rng, lanes, span, pointers) for _ in range(rng.randint(1, 25))]
    body += [_inside(pointer, span) for pointer in pointers]
    end = len(before) + 1 + len(body)
    loop = Instruction(Opcode.LOOP, a=register(1), immediate=end)
    return CoreProgram(_words([*before, loop, *body, HALT]), memory)


def _moving(rng: random.Random, lanes: int, span: int, pointers: tuple[int, ...]) -> Instruction:
    kind, pointer = rng.random(), rng.choice(pointers)
    a, vector = register(pointer), rng.randrange(REGISTERS)
    mask = rng.choice([0, 0, 0, 1, 2])
    increment = rng.choice([0, 1, lanes, 16, 64, 100])
    if kind < 0.25:
        return Instruction(Opcode.LOAD, dst=pointer, a=a, immediate=rng.randrange(40))
    if kind < 0.5:
        at = rng.randrange(100)
        return Instruction(Opcode.LOAD, True, vector, mask, a, increment=increment, immediate=at)
    if kind < 0.7:
        at, c = span + 400 + rng.randrange(900), register(vector)
        is_wide = rng.random() < 0.8
        return Instruction(
            Opcode.STORE, is_wide, 0, mask, a, c=c, increment=increment, immediate=at
        )
    if kind < 0.75:
        return Instruction(Opcode.PREFETCH, a=a, immediate=rng.randrange(200))
    if kind < 0.85:
        b, c = (register(rng.randrange(REGISTERS)) for _ in range(2))
        return Instruction(Opcode.FMUL_ADD, True, vector, a=register(vector), b=b, c=c)
    if kind < 0.9:
        return Instruction(Opcode.REDUCE_ADD, dst=5, a=register(vector))
    if kind < 0.93:
        opcode, b = rng.choice([Opcode.FDIV, Opcode.FSQRT]), register(4)
        return Instruction(opcode, rng.random() < 0.5, rng.choice([4, 5]), a=b, b=b)
    return _inside(pointer, span)


def _inside(pointer: int, span: int) -> Instruction:
    a = register(pointer)
    return Instruction(Opcode.AND, dst=pointer, a=a, b=IMMEDIATE, immediate=span - 1)


def _words(program: object) -> npt.NDArray[np.uint32]:
    words = [each.words() if isinstance(each, Instruction) else each for each in program]
    return np.array(words, np.uint32)
