"""Random programs of the execute unit that have corners on purpose, made from ``random_program``.

Any of the 32 registers; vectors that end with memory or a word beyond it; instructions of which a
field is another, so that loops nest too deep, jumps leave the program and operands come twice from
the queue; as many words in the queue as are taken, or fewer.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import (
    SCALAR_REGISTERS,
    VECTOR_REGISTERS,
    Instruction,
    Opcode,
    Operand,
    Source,
)
from tests.support.execute.programs import HALT, Raw, random_program

KINDS = (
    *("any registers", "end of memory", "beyond memory", "last lane alone", "other field"),
    *("deep loops", "short queue", "long"),
)
"""What a program may have, by name."""

_MEMORY = (Opcode.LOAD, Opcode.STORE, Opcode.PREFETCH)
_TO_VECTOR = (
    *(range(Opcode.ADD, Opcode.FSQRT + 1)),
    *(Opcode.SELECT, Opcode.LOAD),
)
_COMPARED = (Opcode.FLESS, Opcode.FLESS_EQUAL, Opcode.FEQUAL)
_SCALAR_PLACES = (
    *(Opcode.BRANCH_EQ, Opcode.BRANCH_NE, Opcode.BRANCH_LT, Opcode.BRANCH_GE, Opcode.LOOP),
    *(Opcode.FIRST_LANES, Opcode.LANES),
)
_ACROSS = (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN, Opcode.EXTRACT)


@dataclass
class CornerProgram:
    """A program, what it takes from the queues, memory, and which of ``KINDS`` it has."""

    program: list[Raw]
    words: list[int]
    tokens: list[int]
    memory: npt.NDArray[np.uint32]
    kinds: frozenset[str]


def corner_program(
    seed: int, *, lanes: int = 4, program_words: int = 128, memory_words: int = 256
) -> CornerProgram:
    """The program of a seed, which may fault, starve or never end; with HALT behind it, up to
    ``program_words``."""
    rng = random.Random(seed)
    kinds = {kind for kind in KINDS if rng.random() < 0.25}
    length = 60 if "long" in kinds else rng.randint(1, 40)
    made = random_program(seed, lanes=lanes, length=length, memory_words=memory_words)
    program = made.program
    if "any registers" in kinds:
        program = _renamed(rng, program)
    places = [at for at, each in enumerate(program) if isinstance(each, Instruction)]
    used = [at for at in places if program[at].opcode in _MEMORY]  # type: ignore[union-attr]
    chosen = rng.sample(used, min(len(used), 2))
    kinds -= set() if chosen else {"end of memory", "beyond memory", "last lane alone"}
    for at in chosen:
        program[at] = _at_the_end(rng, program[at], kinds, lanes, memory_words)
    if "deep loops" in kinds:
        program = _with_loops(rng, program)
    if "other field" in kinds:
        for at in rng.sample(places, min(len(places), rng.randint(1, 3))):
            program[at] = _changed(rng, program[at])
    words = made.words[: rng.randint(0, 60)] if "short queue" in kinds else made.words
    assert len(program) <= program_words
    program = program + [HALT] * (program_words - len(program))
    return CornerProgram(program, words, made.tokens, made.memory, frozenset(kinds))


def _renamed(rng: random.Random, program: list[Raw]) -> list[Raw]:
    """With other registers, each for one."""
    scalars = rng.sample(range(SCALAR_REGISTERS), SCALAR_REGISTERS)
    vectors = rng.sample(range(VECTOR_REGISTERS), VECTOR_REGISTERS)
    return [
        _with_registers(each, scalars, vectors) if isinstance(each, Instruction) else each
        for each in program
    ]


def _with_registers(each: Instruction, scalars: list[int], vectors: list[int]) -> Instruction:
    def operand(name: str) -> Operand:
        found: Operand = getattr(each, name)
        is_scalar = not each.vector or each.opcode in _SCALAR_PLACES
        is_scalar = is_scalar or (each.opcode in _MEMORY and name == "a")
        if each.opcode in _ACROSS:
            is_scalar = False
        if found.source == Source.SCALAR or (found.source == Source.REGISTER and is_scalar):
            return replace(found, index=scalars[found.index])
        return replace(found, index=vectors[found.index])

    dst = each.dst
    if each.opcode not in (Opcode.FIRST_LANES, Opcode.LANES):
        is_mask = each.vector and each.opcode in _COMPARED
        to_vector = each.vector and each.opcode in _TO_VECTOR
        dst = dst if is_mask else (vectors if to_vector else scalars)[dst]
    return replace(each, dst=dst, a=operand("a"), b=operand("b"), c=operand("c"))


def _at_the_end(rng: random.Random, given: Raw, kinds: set[str], lanes: int, words: int) -> Raw:
    """An access to the last words of memory, or to a word behind them."""
    assert isinstance(given, Instruction)
    if not kinds & {"end of memory", "beyond memory", "last lane alone"}:
        return given
    size = lanes if given.vector else 1
    first = words - size + int("beyond memory" in kinds and rng.random() < 0.5)
    mask = rng.randrange(1, 4) if "last lane alone" in kinds else given.mask
    return replace(given, a=Operand(), mask=mask, immediate=first)


def _with_loops(rng: random.Random, program: list[Raw]) -> list[Raw]:
    """Ends with loops that nest one to three deep, which two may: their bodies add."""
    depth, count = rng.randint(1, 3), rng.choice((1, 2, 3))
    start = len(program) - 1  # in place of HALT
    one, two = (Operand(Source.REGISTER, number) for number in (1, 2))
    step = Instruction(Opcode.ADD, dst=1, a=one, b=two)
    found = list(program[:start])
    found.append(Instruction(Opcode.ADD, dst=2, a=Operand(Source.IMMEDIATE), immediate=count))
    begin = len(found)
    for level in range(depth):
        behind = begin + depth + 2 + depth - level
        found.append(Instruction(Opcode.LOOP, a=two, immediate=behind))
    found += [step] * (2 + depth)
    found.append(Instruction(Opcode.STORE, c=one, immediate=40))
    return [*found, program[-1]]


def _changed(rng: random.Random, given: Raw) -> Raw:
    """With one bit of the encoding, or one field, other than it was."""
    assert isinstance(given, Instruction)
    kind = rng.randrange(4)
    if kind == 0:
        words = list(given.words())
        words[rng.randrange(3)] ^= 1 << rng.randrange(32)
        return tuple(words)
    if kind == 1:
        return replace(given, opcode=rng.choice(list(Opcode)))
    if kind == 2:
        return replace(given, immediate=rng.choice((0, 1, 5, 40, 100, 0xFFFF_FFFF, 1 << 31)))
    operand = Operand(rng.choice(list(Source)), rng.randrange(32))
    return replace(given, **{rng.choice("abc"): operand})
