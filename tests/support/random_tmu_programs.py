"""Program files of the TMU at random: right ones, damaged ones, and rows that are arbitrary.

Each is a program of one launch, with the nest, the arrays and the inputs of a compiled one, whose
arrays fill the memory; so it is loaded and run as any user's file is.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
from amaranth.lib import data

from hw.lib.execute_isa import (
    INSTRUCTION,
    INSTRUCTION_WORDS,
    OPERAND,
    Instruction,
    Opcode,
    Operand,
)
from hw.lib.lines.line_size import LINE_WORDS
from hw.tmu import access_isa as isa
from hw.tmu.access_isa import Event, EventKind, StreamKind
from hw.tmu.access_program import AccessProgram, EventStep
from hw.tmu.config import TmuConfig
from sw.compiler.passes import Trace
from sw.compiler.tmu.compile import compile
from sw.program.program import Program
from sw.workloads.loops.python_source import read_source
from sw.workloads.loops.workload import LoopWorkload
from tests.support.execute_programs import (
    DEQUEUE,
    HALT,
    IMMEDIATE,
    Raw,
    random_program,
    register,
)
from tests.support.random_access import Areas, random_access

Words = npt.NDArray[np.uint32]

SOURCE = """\
from sw.workloads.loops.notation import int32, nest, sizes

n, m = sizes("n", "m")


@nest
def added(x: int32[n], z: int32[n], rest: int32[m]):
    for i in range(n):
        z[i] = x[i] + rest[i]
"""

_N, _M = 4 * LINE_WORDS, 3968
"""Sizes of the arrays, which have the first 4096 words of memory."""

_USED = 2 * _N + _M

_DATA = 512
"""Before this word lies what random programs of the execute unit load and store."""

AREAS = Areas(range(_DATA, 3 * _DATA), range(3 * _DATA, 4 * _DATA))

_LAYOUTS: Mapping[str, data.StructLayout] = {
    "layers": isa.LAYER,
    "units": isa.UNIT,
    "streams": isa.STREAM,
    "events": isa.EVENT,
    "instructions": INSTRUCTION,
}


_INSTRUCTION = [(name, field.offset, field.width) for name, field in INSTRUCTION]


@dataclass(frozen=True)
class Case:
    """A program, and the words of all arrays: uint32 [``_USED``]."""

    program: Program
    memory: Words

    def tensors(self) -> dict[str, npt.NDArray[np.int32]]:
        """The inputs: the arrays as they lie in memory."""
        (launch,) = self.program.launches
        bases = dict(zip(("x", "z", "rest"), launch.sections["bases"].tolist(), strict=True))
        sizes = {"x": _N, "z": _N, "rest": _M}
        words = self.memory.view(np.int32)
        return {name: words[base : base + sizes[name]] for name, base in bases.items()}


@cache
def right_program(config: TmuConfig) -> Program:
    """The compiled one."""
    nest = read_source(SOURCE, "added.py")
    inputs = {
        "x": np.zeros(_N, np.int32),
        "z": np.zeros(_N, np.int32),
        "rest": np.zeros(_M, np.int32),
    }
    return compile(LoopWorkload("added", nest, inputs, {}), config, trace=Trace())


def right_case(config: TmuConfig, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    return Case(right_program(config), rng.integers(0, 2**32, _USED, dtype=np.uint32))


def made_case(config: TmuConfig, rng: random.Random) -> Case:
    """Keeps to all rules. The execute unit takes what is queued, now and then a little more or
    less; or it is arbitrary, as are tokens."""
    length = rng.randrange(3, 40)
    if rng.random() < 0.6:
        access = random_access(rng, config, AREAS, 1)
        return _case(config, *_drained(config, access, rng), _memory(rng))
    made = random_program(
        rng.getrandbits(32), lanes=config.lanes, length=length, memory_words=_DATA
    )
    instructions = made.program
    if len(instructions) > config.program_words:
        instructions = [*instructions[: config.program_words - 1], HALT]
    access = random_access(rng, config, AREAS, len(instructions))
    memory = _memory(rng)
    memory[:_DATA] = made.memory
    return _case(config, access, instructions, memory)


def _memory(rng: random.Random) -> Words:
    """Small numbers, which are bounds, indices and coordinates; ascending ones at places."""
    draws = np.random.default_rng(rng.getrandbits(32))
    words = draws.integers(0, 7, _USED, np.uint32)
    for _ in range(6):
        first = rng.choice(AREAS.read[:-40])
        words[first : first + 40] = np.cumsum(draws.integers(0, 3, 40))
    for _ in range(3):
        words[rng.choice(AREAS.read)] = rng.getrandbits(32)
    return words


def _drained(
    config: TmuConfig, access: AccessProgram, rng: random.Random
) -> tuple[AccessProgram, list[Raw]]:
    """With a case of the execute unit for each event, which stores its words."""
    begin = Instruction(Opcode.ADD, dst=1, a=IMMEDIATE, immediate=0)
    instructions: list[Raw] = [begin, Instruction(Opcode.JUMP_TOKEN)]
    layers = []
    for layer in access.layers:
        events: dict[Event, tuple[EventStep, ...]] = {}
        for event, steps in layer.events.items():
            words = [step for step in steps if step.kind != EventKind.TOKEN]
            takes = [
                config.lanes if step.kind == EventKind.VECTOR else 1
                for step in words
                if step.kind != EventKind.STORE
            ]
            if rng.random() < 0.04:
                takes = takes[1:] if rng.random() < 0.5 else [*takes, 1]
            if len(instructions) + len(takes) + 2 > config.program_words:
                continue
            token = EventStep(EventKind.TOKEN, token=len(instructions))
            events[event] = (*words, token) if rng.random() < 0.3 else (token, *words)
            instructions += [
                Instruction(Opcode.STORE, width > 1, a=register(1), c=DEQUEUE, increment=width)
                for width in takes
            ]
            instructions.append(Instruction(Opcode.JUMP_TOKEN))
        layers.append(replace(layer, events=events))
    while sum(len(each) for layer in layers for each in layer.events.values()) >= isa.EVENT_STEPS:
        layers = [replace(layer, events={}) for layer in layers]
    end = EventStep(EventKind.TOKEN, token=len(instructions))
    behind = layers[0].events.get(Event.END, ())
    layers[0] = replace(layers[0], events={**layers[0].events, Event.END: (*behind, end)})
    return AccessProgram(tuple(layers)), [*instructions, HALT]


def _case(config: TmuConfig, access: AccessProgram, instructions: list[Raw], memory: Words) -> Case:
    words = [_encoded(each) if isinstance(each, Instruction) else each for each in instructions]
    sections = {
        **access.rows(config),
        "instructions": np.array(words, np.uint32).reshape(-1, INSTRUCTION_WORDS),
    }
    return Case(with_sections(right_program(config), sections), memory)


def _encoded(instruction: Instruction) -> tuple[int, ...]:
    """As ``Instruction.words``, which takes its time."""
    bits = 0
    for name, first, width in _INSTRUCTION:
        value = getattr(instruction, name, 0)
        if isinstance(value, Operand):
            value = int(value.source) | value.index << OPERAND["index"].offset
        bits |= (int(value) & (1 << width) - 1) << first
    return tuple(bits >> 32 * word & 0xFFFF_FFFF for word in range(INSTRUCTION_WORDS))


def with_sections(program: Program, sections: Mapping[str, Words]) -> Program:
    """A program of one launch with other sections."""
    (launch,) = program.launches
    changed = replace(launch, sections={**launch.sections, **sections})
    return replace(program, launches=(changed,))


def damaged_case(rng: random.Random, of: Case) -> Case:
    """One field, or two or three, of rows that mean something are extreme, next to what they were,
    those of another row, or arbitrary."""
    (launch,) = of.program.launches
    sections = {name: launch.sections[name].copy() for name in _LAYOUTS}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(("layers", "units", "streams", "streams", "events", "instructions"))
        rows, layout = sections[name], _LAYOUTS[name]
        used = np.flatnonzero(rows.any(axis=1)).tolist()
        if not used:
            continue
        row = rng.choice(used) if rng.random() < 0.95 else rng.randrange(len(rows))
        fields = _fields(layout)
        first, width = rng.choice(fields)
        other = _get(rows[rng.choice(used)], first, width)
        _set(rows[row], first, width, _replaced(rng, _get(rows[row], first, width), width, other))
    return Case(with_sections(of.program, sections), of.memory)


def _replaced(rng: random.Random, value: int, width: int, other: int) -> int:
    most = (1 << width) - 1
    extreme = (0, 1, most, most >> 1, most - 1, 1 << width - 1)
    return rng.choice(
        (
            rng.choice(extreme),
            value + 1,
            value - 1,
            value ^ 1 << rng.randrange(width),
            rng.randint(0, 6),
            rng.getrandbits(width),
            other,
        )
    )


@cache
def _fields(layout: data.StructLayout) -> list[tuple[int, int]]:
    """First bit and bits of all fields, of those within others too."""
    found: list[tuple[int, int]] = []
    for _, field in layout:
        inner = field.shape
        if isinstance(inner, data.StructLayout):
            found += [(field.offset + first, width) for first, width in _fields(inner)]
        elif isinstance(inner, data.ArrayLayout):
            for place in range(inner.length):
                begin = field.offset + place * isa.STEPS.size
                found += [(begin + first, width) for first, width in _fields(isa.STEPS)]
        else:
            found.append((field.offset, field.width))
    return found


def _get(row: Words, first: int, width: int) -> int:
    return _bits(row) >> first & (1 << width) - 1


def _set(row: Words, first: int, width: int, value: int) -> None:
    mask = (1 << width) - 1
    bits = _bits(row) & ~(mask << first) | (value & mask) << first
    row[:] = [bits >> 32 * word & 0xFFFF_FFFF for word in range(len(row))]


def _bits(row: Words) -> int:
    return int.from_bytes(row.astype("<u4").tobytes(), "little")


def arbitrary_case(config: TmuConfig, rng: random.Random) -> Case:
    """Rows whose fields are small numbers that mean something, or any; few are right."""
    sections: dict[str, Words] = {}
    depth = rng.randint(0, config.layers)
    lanes, streams = config.lanes, config.streams
    counts = {
        "layers": config.layers,
        "units": config.layers * lanes,
        "streams": config.layers * lanes * streams,
        "events": rng.randint(0, isa.EVENT_STEPS),
        "instructions": rng.randint(1, 20),
    }
    in_use = {
        "layers": range(depth),
        "units": [place * lanes for place in range(depth)],
        "streams": [
            place * lanes * streams + number
            for place in range(depth)
            for number in range(rng.randint(1, streams))
        ],
        "events": range(counts["events"]),
        "instructions": range(counts["instructions"]),
    }
    for name, layout in _LAYOUTS.items():
        rows = sections[name] = np.zeros((counts[name], layout.size // 32), np.uint32)
        for row in in_use[name]:
            for first, width in _fields(layout):
                _set(rows[row], first, width, _drawn(rng, width))
    for place, row in enumerate(sections["streams"]):
        if place in in_use["streams"]:
            number = place % streams
            kind = StreamKind.INDUCTION if number == 0 else rng.choice((2, 2, 3, 4, 5))
            _set(row, *_place(isa.STREAM, "kind"), int(kind))
            _set(row, *_place(isa.STREAM, "queued"), 1)
            _set(row, *_place(isa.STREAM, "queue"), place // (lanes * streams) * 10 + 2 * number)
            _set(row, *_place(isa.STREAM, "base"), rng.randrange(_USED))
            for name in "ab":
                source = rng.choice((0, 0, 0, 1, 1, 2)) if number else 0
                _set(row, *_place(isa.STREAM, name), source)
    for row in sections["units"][: depth * lanes : lanes]:
        _set(row, *_place(isa.UNIT, "stride"), rng.choice((1, 1, 2, rng.randrange(1, 4096))))
        _set(row, *_place(isa.UNIT, "lower"), 0)
        _set(row, *_place(isa.UNIT, "upper"), 0)
    for row in sections["layers"][:depth]:
        for place in range(len(Event)):
            first = isa.LAYER["steps"].offset + place * isa.STEPS.size
            _set(row, first, 8, rng.randint(0, counts["events"]))
            _set(row, first + 8, 8, rng.choice((0, 0, 1, 2)))
        _set(row, *_place(isa.LAYER, "mode"), rng.choice((1, 1, 2, 3)))
        _set(row, *_place(isa.LAYER, "units"), 1)
        _set(row, *_place(isa.LAYER, "slots"), rng.choice((1, 2)))
    for row in sections["instructions"][:-1]:
        _set(row, *_place(INSTRUCTION, "opcode"), int(rng.choice([*Opcode])))
        if rng.random() < 0.9:
            _set(row, *_place(INSTRUCTION, "immediate"), rng.randrange(counts["instructions"]))
        for name in "abc":
            source = rng.choice((0, 0, 1, 1, 2, 3, 4, 5))
            _set(row, INSTRUCTION[name].offset + OPERAND["source"].offset, 3, source)
    sections["instructions"][-1] = 0
    return Case(with_sections(right_program(config), sections), _memory(rng))


@cache
def _place(layout: data.StructLayout, name: str) -> tuple[int, int]:
    return layout[name].offset, layout[name].width


def _drawn(rng: random.Random, width: int) -> int:
    if rng.random() < 0.05:
        return rng.getrandbits(width)
    return rng.choice((0, 0, 0, 0, 1, 1, rng.randint(0, 9)))


KINDS = ("made", "damaged", "damaged right", "arbitrary")


def case(config: TmuConfig, seed: int, number: int) -> tuple[str, Case]:
    """Case ``number`` of ``seed``, of the kinds in turn."""
    rng = random.Random(f"{seed}/{number}")
    kind = KINDS[number % len(KINDS)]
    if kind == "made":
        return kind, made_case(config, rng)
    if kind == "damaged":
        return kind, damaged_case(rng, made_case(config, rng))
    if kind == "damaged right":
        return kind, damaged_case(rng, right_case(config, number))
    return kind, arbitrary_case(config, rng)
