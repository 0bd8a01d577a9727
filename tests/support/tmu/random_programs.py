"""Program files of the TMU at random: right ones, damaged ones, and rows that are arbitrary.

Each has the nest, the arrays and the inputs of a compiled one, whose arrays fill the memory; so it
is loaded and run as any user's file is. What is drawn:

- access programs of up to as many layers, lanes and streams as a configuration has, of all modes;
  units with fewer streams than others, queues anywhere in their memory and of all of it, long lists
  of steps; arrays at the end of memory or without a bound; bounds at both ends of 32 bits; special
  words in memory; anything in fields that mean nothing (``random_access``, ``random_events``);
- programs of the execute unit that take what is queued, by the mask that comes with it too, and
  store it at neighbouring places, or over what they stored; that load and store behind it, on lines
  and at words that the access unit uses (``random_drains``); or that are arbitrary;
- no access program; several launches, each on what the one before it left;
- compiled nests, of all levels and coupled, and models of embedding tables;
- fields of rows of all of these changed, and rows copied; rows that are arbitrary
  (``random_tmu_rows``).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import (
    INSTRUCTION,
    INSTRUCTION_WORDS,
    OPERAND,
    Instruction,
    Operand,
)
from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access_program import AccessProgram
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from gnarl.sw.workloads.loops.embedding_model import ModelWorkload
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.execute.programs import HALT, Raw, random_program
from tests.support.tmu.random_access import CORNERS, Areas, random_access
from tests.support.tmu.random_drains import drained
from tests.support.tmu.random_rows import damaged_rows, random_rows

Words = npt.NDArray[np.uint32]

SOURCE = """\
from gnarl.sw.workloads.loops.notation import int32, nest, sizes

n, m, k = sizes("n", "m", "k")


@nest
def added(z: int32[k], x: int32[n], rest: int32[m]):
    for i in range(n):
        z[i] = {}
"""

NESTS = (
    "x[i] + rest[i]",
    "rest[x[i]]",
    "z[i] + x[i] if x[i] > 3 else rest[i]",
)
"""What is stored; the first one's program is the one that runs behind all others."""

SIZES = {"z": 2048, "x": 4 * LINE_WORDS, "rest": 2048 - 4 * LINE_WORDS}
"""Of the arrays, which have the first 4096 words of memory in this order."""

_DATA = 512
"""Before this word lies what random programs of the execute unit load and store."""

_DRAINS = 1024
"""From this word on, to the end of ``z``, drains mostly store."""

AREAS = Areas(range(sum(SIZES.values()) - 1024, sum(SIZES.values())), range(_DATA, _DRAINS))

_MANNERS: Sequence[Mapping[str, bool | int]] = (
    *({"opt": level} for level in (0, 2, 4)),
    {"coupled": True},
)

_BAGS, _ROWS, _DIM = 3, 8, 4
"""Of a model's two features: samples, and rows of so many numbers."""


@dataclass(frozen=True)
class Case:
    """A program and its inputs by name."""

    program: Program
    tensors: Mapping[str, Array]


def of_memory(program: Program, memory: Words) -> Case:
    """``memory``: the words of all arrays, as they lie there."""
    places = np.cumsum(list(SIZES.values()))[:-1]
    arrays = np.split(memory.view(np.int32), places)
    return Case(program, dict(zip(SIZES, arrays, strict=True)))


@cache
def right_program(config: TmuConfig, stored: str = NESTS[0], **manner: bool | int) -> Program:
    """The compiled one, of a nest that stores so."""
    nest = read_source(SOURCE.format(stored), "added.py")
    inputs = {name: np.zeros(size, np.int32) for name, size in SIZES.items()}
    return compile(LoopWorkload("added", nest, inputs, {}), config, trace=Trace(), **manner)


def right_case(config: TmuConfig, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**32, sum(SIZES.values()), dtype=np.uint32)
    return of_memory(right_program(config), words)


def any_right_case(config: TmuConfig, rng: random.Random) -> Case:
    """A case of a compiled program, at any level, or of a model."""
    manner = rng.choice(_MANNERS)
    if rng.random() < 0.4:
        return _model_case(config, rng, manner)
    return of_memory(right_program(config, rng.choice(NESTS), **manner), _memory(rng))


@cache
def _model_program(config: TmuConfig, weighted: bool, **manner: bool | int) -> Program:
    """A program for features of which each run chooses how many rows it looks up."""
    features = (
        Feature(name, _ROWS, _DIM, index_type="int32", weighted=weighted) for name in ("f", "g")
    )
    workload = ModelWorkload(EmbeddingModel("features", tuple(features)))
    try:
        return compile(workload, config, batch=_BAGS, trace=Trace(), **manner)
    except CapacityError:
        return compile(workload, config, batch=_BAGS, trace=Trace(), coupled=True)


def _model_case(config: TmuConfig, rng: random.Random, manner: Mapping[str, bool | int]) -> Case:
    draws, weighted = np.random.default_rng(rng.getrandbits(32)), rng.random() < 0.5
    tensors: dict[str, Array] = {}
    for name in ("f", "g"):
        counts = draws.multinomial(draws.integers(0, 4), [1 / _BAGS] * _BAGS)
        table = draws.integers(0, 1 << 32, (_ROWS, _DIM), np.uint32).view(np.float32)
        tensors[f"{name}.table"] = table
        tensors[f"{name}.indices"] = draws.integers(0, _ROWS, counts.sum(), np.int32)
        tensors[f"{name}.offsets"] = np.cumsum([0, *counts], dtype=np.int32)
        if weighted:
            tensors[f"{name}.weights"] = draws.standard_normal(counts.sum(), np.float32)
    return Case(_model_program(config, weighted, **manner), tensors)


def made_case(config: TmuConfig, rng: random.Random) -> Case:
    """Keeps to all rules. The execute unit takes what is queued, now and then a little more or
    less; or it is arbitrary, as are tokens. Rarely there is no access program."""
    memory = _memory(rng)
    if rng.random() < 0.6:
        access = random_access(rng, config, AREAS, 1)
        return _case(config, *drained(config, access, rng, _DRAINS), memory)
    length = rng.randrange(3, 40)
    made = random_program(
        rng.getrandbits(32), lanes=config.lanes, length=length, memory_words=_DATA
    )
    instructions = made.program
    if len(instructions) > config.program_words:
        instructions = [*instructions[: config.program_words - 1], HALT]
    access = AccessProgram(())
    if rng.random() < 0.95:
        access = random_access(rng, config, AREAS, len(instructions))
    memory[:_DATA] = made.memory
    return _case(config, access, instructions, memory)


def launches_case(config: TmuConfig, rng: random.Random) -> Case:
    """A program of several launches, each of which finds in ``z`` what the one before it left
    there."""
    programs = []
    for _ in range(rng.choice((2, 2, 3))):
        access = random_access(rng, config, AREAS, 1)
        programs.append(drained(config, access, rng, _DRAINS, stays=True))
    launches = [
        replace(_launch(config, *each), name=f"launch {number}")
        for number, each in enumerate(programs)
    ]
    return of_memory(replace(right_program(config), launches=tuple(launches)), _memory(rng))


def _memory(rng: random.Random) -> Words:
    """Small numbers, which are bounds, indices and coordinates; ascending ones at places, and
    extreme ones at others."""
    draws = np.random.default_rng(rng.getrandbits(32))
    words = draws.integers(0, 7, sum(SIZES.values()), np.uint32)
    for _ in range(6):
        first = rng.choice(AREAS.read[:-40])
        words[first : first + 40] = np.cumsum(draws.integers(0, 3, 40))
    for _ in range(rng.choice((0, 3, 3, 100))):
        words[rng.choice(AREAS.read)] = rng.choice((rng.choice(CORNERS), rng.getrandbits(32)))
    if rng.random() < 0.1:  # behind the end of 32 bits
        first = rng.choice(AREAS.read[:-40])
        words[first : first + 40] = np.arange(-20, 20).astype(np.uint32)
    return words


def _case(config: TmuConfig, access: AccessProgram, instructions: list[Raw], memory: Words) -> Case:
    launch = _launch(config, access, instructions)
    return of_memory(replace(right_program(config), launches=(launch,)), memory)


def _launch(config: TmuConfig, access: AccessProgram, instructions: list[Raw]) -> Launch:
    words = [_encoded(each) if isinstance(each, Instruction) else each for each in instructions]
    (launch,) = right_program(config).launches
    sections = {
        **launch.sections,
        **access.rows(config),
        "instructions": np.array(words, np.uint32).reshape(-1, INSTRUCTION_WORDS),
    }
    return replace(launch, sections=sections)


_INSTRUCTION = [(name, field.offset, field.width) for name, field in INSTRUCTION]


def _encoded(instruction: Instruction) -> tuple[int, ...]:
    """As ``Instruction.words``, which takes its time."""
    bits = 0
    for name, first, width in _INSTRUCTION:
        value = getattr(instruction, name, 0)
        if isinstance(value, Operand):
            value = int(value.source) | value.index << OPERAND["index"].offset
        bits |= (int(value) & (1 << width) - 1) << first
    return tuple(bits >> 32 * word & 0xFFFF_FFFF for word in range(INSTRUCTION_WORDS))


def with_sections(program: Program, sections: Mapping[str, Words], number: int = 0) -> Program:
    """With other sections of a launch."""
    launches = list(program.launches)
    launch = launches[number]
    launches[number] = replace(launch, sections={**launch.sections, **sections})
    return replace(program, launches=tuple(launches))


def damaged_case(rng: random.Random, of: Case) -> Case:
    """Fields of rows of one launch."""
    number = rng.randrange(len(of.program.launches))
    sections = damaged_rows(rng, of.program.launches[number].sections)
    return replace(of, program=with_sections(of.program, sections, number))


def arbitrary_case(config: TmuConfig, rng: random.Random) -> Case:
    """Rows whose fields are small numbers that mean something, or any; few are right."""
    sections = random_rows(config, rng, sum(SIZES.values()))
    return of_memory(with_sections(right_program(config), sections), _memory(rng))


KINDS = ("made", "damaged", "launches", "damaged right", "made", "arbitrary")


def case(config: TmuConfig, seed: int, number: int) -> tuple[str, Case]:
    """Case ``number`` of ``seed``, of the kinds in turn."""
    rng = random.Random(f"{seed}/{number}")
    kind = KINDS[number % len(KINDS)]
    if kind == "made":
        return kind, made_case(config, rng)
    if kind == "launches":
        return kind, launches_case(config, rng)
    if kind == "damaged":
        make = made_case if rng.random() < 0.8 else launches_case
        return kind, damaged_case(rng, make(config, rng))
    if kind == "damaged right":
        return kind, damaged_case(rng, any_right_case(config, rng))
    return kind, arbitrary_case(config, rng)
