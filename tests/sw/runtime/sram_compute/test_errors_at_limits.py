"""RTL and model decide alike which comes first, an error or the limit of cycles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cocotb_tests.sram_compute.near_programs import near
from gnarl.hw.lib.encoding.execute_assembly import assemble as assembled
from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.sram_compute.isa import UNIT_WORDS, WORD_BITS, Opcode
from gnarl.hw.sram_compute.program import Command, assemble, command
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.execute.programs import DEQUEUE, register
from tests.support.sram_compute.machine import MOST_CYCLES, ending, program
from tests.support.sram_compute.programs import FIRST_LINE

NAMED = load_configuration("sram_b2", ["banks=1", "arrays=2", "formats=[]"])
CONFIG = NAMED.config


def _word(instruction: Instruction) -> str:
    return f".word {', '.join(map(str, instruction.words()))}"


TWO = _word(Instruction(ExecuteOpcode.ADD, dst=1, a=DEQUEUE, b=DEQUEUE))
WAITS = _word(Instruction(ExecuteOpcode.FMUL_ADD, dst=1, a=DEQUEUE, b=DEQUEUE, c=register(1)))
"""Take two operands from the queue."""

CORES = {
    "the first instruction": TWO,
    "behind one that waits": f"""
        load s1, [1024]
        add s2, s1, 1
        {TWO}""",
    "one that would wait": f"""
        fdiv s1, s2, s3
        {WAITS}""",
    "an address that is loaded": """
        load s1, [1024]
        or s1, s1, 0x40000000
        store s2, [s1]""",
    "an address behind requests": """
        load.v v1, [1024]
        load.v v2, [1056]
        load.v v3, [1088]
        load.v v4, [1120]
        load.v v5, [1152]
        load.v v6, [1184]
        store.v v6, [1200]
        load.v v7, [0x7fffffff]""",
    "a mask that is compared": """
        first_lanes m1, 1
        fless.v m1, v1, v2
        store.v v1, [0x7fffffff], m0""",
    "a jump at the end of a body": """
        add s9, zero, 3
        loop s9, end
        add s1, s1, 1
        jump end
        end: halt""",
    "a branch at the end of a body, behind a loop that does not run": """
        add s9, zero, 3
        loop s9, end
        loop zero, inner
        add s1, s1, 1
        inner: branch_ge s1, s2, end
        end: halt""",
    "behind a branch": f"""
        branch_eq zero, zero, there
        add s1, s1, 1
        there: {TWO}""",
    "a jump that holds, behind a branch": """
        branch_ne zero, zero, there
        add s9, zero, 2
        loop s9, there
        there: halt""",
    "behind a long loop": f"""
        add s9, zero, 300
        loop s9, end
        fmul_add s1, s2, s3, s1
        load s4, [s5 + 1024], s5 += 7
        end: {TWO}""",
    "behind the last instruction": f"jump {CONFIG.core_instructions - 1}",
}
"""Programs of the core that end in a fault."""

LATER = [*[command(Opcode.SYNC)] * 4, command(Opcode.FILL, d=0, n=0)]
"""A line that is there, and an error in the one behind it."""

UNKNOWN = np.full((1, UNIT_WORDS), 0xFFFF_FFFF, np.uint32)

COMMANDS: dict[str, list[Command]] = {
    "an operand": [command(Opcode.FILL, d=0, n=0)],
    "bits that words do not have": [command(Opcode.FILL, d=0, n=33)],
    "rows beyond the last": [command(Opcode.FILL, d=CONFIG.wordlines - 7, n=8)],
    "rows of an array": [command(Opcode.LOAD, row=CONFIG.wordlines - 7, n=8)],
    "bitlines beyond the last": [command(Opcode.FILL, d=0, n=8, bitlines_start=CONFIG.bitlines)],
    "steps of bitlines": [command(Opcode.FILL, d=0, n=8, bitlines_strides=(0, 0, CONFIG.bitlines))],
    "a distance of bitlines": [command(Opcode.MOVE, a=0, d=40, n=8, distance=CONFIG.bitlines)],
    "a distance of tiles": [command(Opcode.SHIFT, a=0, d=40, n=8, between=CONFIG.tiles)],
    "tiles beyond the last": [command(Opcode.FILL, d=0, n=8, tiles_counts=(CONFIG.tiles, 0, 0))],
    "sources beyond the last": [
        command(Opcode.BROADCAST, a=0, d=40, n=8, sources_start=CONFIG.tiles)
    ],
    "copies beyond the last": [
        command(Opcode.BROADCAST, a=0, d=40, n=8, copies_start=CONFIG.tiles)
    ],
    "rows that overlap": [command(Opcode.MOVE, a=0, d=7, n=8)],
    "no SYNC": [
        command(Opcode.SHIFT, a=0, d=40, n=8, bitlines_counts=(3, 0, 0), between=1),
        command(Opcode.FILL, d=0, n=8),
    ],
    "a layout that makes no sense": [command(Opcode.LAYOUT, layout=1, element=3)],
    "a layout that was never set": [command(Opcode.LOAD, layout=2, row=0, n=8)],
    "lines beyond memory": [command(Opcode.COPY, line=CONFIG.memory_lines - 1, words=0, lines=2)],
    "operations that were never set": [command(Opcode.NEAR, counts=(1, 1, 1), last=3)],
    "behind what takes long": [
        command(Opcode.COPY, line=FIRST_LINE, words=0, lines=8),
        *near([{"operation": ExecuteOpcode.ADD.value, "d": 1}], counts=(2000, 3, 1)),
        command(Opcode.FILL, d=0, n=0),
    ],
}


def _streaming(
    stream: Command | None,
    *,
    before: int = 0,
    counts: tuple[int, int, int] = (70, 2, 1),
    **fields: int,
) -> list[Command]:
    """``before`` operations on registers, then one on a stream."""
    others = [{"operation": ExecuteOpcode.ADD.value, "d": 2, "a": 1, "b": 3}] * before
    usual: dict[str, int] = {"operation": ExecuteOpcode.ADD.value, "reads": 1, "stream": 1, "d": 1}
    return [*([stream] if stream else []), *near([*others, usual | fields], counts=counts, owner=1)]


def _stream(**fields: Any) -> Command:
    return command(Opcode.STREAM, **{"stream": 1, "strides": (1, 0, 0), "scale": 1} | fields)


WORDS = CONFIG.banks * CONFIG.bank_words
STORE = {"operation": ExecuteOpcode.STORE.value, "reads": 0}
COPIES = [command(Opcode.COPY, line=FIRST_LINE, words=word, lines=2) for word in (0, 2)]

STREAMS: dict[str, list[Command]] = {
    "a stream that was never set": _streaming(None),
    "one that is stored": _streaming(None, **STORE),
    "one whose first element is one too many": _streaming(_stream(base=WORDS)),
    "the second element": _streaming(_stream(base=WORDS - 1), before=2),
    "a later element": _streaming(_stream(base=WORDS - 9), before=1),
    "an element of a later strip": _streaming(_stream(base=WORDS - 40)),
    "of the last strip": _streaming(_stream(base=WORDS - 69), before=3),
    "a word of all elements": _streaming(_stream(base=WORDS, strides=(0, 0, 0))),
    "a word that is stored": _streaming(_stream(base=WORDS - 5), **STORE),
    "words that are far apart": _streaming(_stream(base=WORDS - 200, strides=(17, 0, 0))),
    "rows of the second line": _streaming(_stream(base=WORDS - 75, strides=(1, 7, 0))),
    "an index": _streaming(_stream(is_indirect=1, length=0), before=1),
    "a row of bits": _streaming(_stream(is_transposed=1, row=CONFIG.wordlines - 7)),
    "a row of bits that is stored": _streaming(
        _stream(is_transposed=1, row=CONFIG.wordlines - 7), **STORE
    ),
    "behind copies": [*COPIES, *_streaming(_stream(base=WORDS - 9))],
    "a word that is being copied": [
        *COPIES,
        *_streaming(_stream(base=4, strides=((1 << WORD_BITS) - 1, 0, 0))),
    ],
    "a store to what is being copied": [*COPIES, *_streaming(_stream(base=WORDS - 3), **STORE)],
}
"""Elements of streams that are none."""


def _layout(**fields: Any) -> Command:
    """A layout of eight lines: four of a tile, of two tiles."""
    usual: dict[str, Any] = {"layout": 1, "element": 2, "base": FIRST_LINE, "sizes": (4, 2, 1)}
    usual |= {"line_strides": (4, 8), "tile": (6, 0, 0), "tile_strides": (1, 1)}
    return command(Opcode.LAYOUT, **usual | fields)


LAYOUTS = {
    "the first line": _layout(base=CONFIG.memory_lines),
    "a line behind": _layout(base=CONFIG.memory_lines - 1),
    "a line of another tile": _layout(base=CONFIG.memory_lines - 6),
    "the last line": _layout(base=CONFIG.memory_lines - 7),
    "a tile": _layout(first_tile=CONFIG.tiles - 1),
    "a chunk": _layout(base=CONFIG.memory_lines - 5, chunked=0, chunk=3, chunk_lines=2),
    "a chunk of rows": _layout(base=CONFIG.memory_lines - 5, chunked=1, chunk=1, chunk_lines=4),
}
"""Whose lines or tiles leave memory or the arrays."""

WAYS = {
    "loaded": command(Opcode.LOAD, layout=1, row=8, n=9),
    "stored": command(Opcode.STORE, layout=1, row=8, n=9),
    "stored but for margins": command(
        Opcode.STORE, layout=1, row=8, n=32, before=(20, 0, 0), after=(1, 0, 0)
    ),
}


def of_core(text: str) -> Program:
    instructions = assembled(text).words()
    if "jump" in text and len(instructions) == 1:  # to the last of all, which only adds
        last = np.tile(assembled("add s1, s1, 1").words(), (CONFIG.core_instructions - 1, 1))
        instructions = np.concatenate([instructions, last])
    return program(CONFIG, assemble([command(Opcode.CORE), command(Opcode.END)]), instructions)


PROGRAMS = {
    "a line that is fetched behind a program of the core": program(
        CONFIG,
        assemble([*[command(Opcode.SYNC)] * 3, command(Opcode.CORE), *LATER]),
        assembled("halt").words(),
    ),
    **{f"core: {name}": of_core(text) for name, text in CORES.items()},
    **{
        name: program(CONFIG, assemble([*commands, command(Opcode.END)]))
        for name, commands in (COMMANDS | STREAMS).items()
    },
    **{
        f"{layout}, {way}": program(CONFIG, assemble([LAYOUTS[layout], WAYS[way]]))
        for layout in LAYOUTS
        for way in WAYS
    },
    "a line that is fetched behind a transfer": program(
        CONFIG,
        assemble(
            [
                _layout(),
                command(Opcode.SYNC),
                command(Opcode.LOAD, layout=1, row=8, n=32),  # ends when memory is idle
                *LATER,
            ]
        ),
    ),
    "a command that there is not": program(
        CONFIG, np.concatenate([assemble([command(Opcode.SYNC)]), UNKNOWN])
    ),
}


@pytest.fixture(scope="module")
def rtl() -> Iterator[Device[Any]]:
    with Device(NAMED, "rtl") as device:
        yield device


@pytest.fixture(scope="module")
def model() -> Iterator[Device[Any]]:
    with Device(NAMED, "model") as device:
        yield device


def least_limit(device: Device[Any], given: Program) -> int:
    """The least limit of cycles with which the error is told in place of the limit."""
    low, high = 0, MOST_CYCLES
    assert ending(device, given, 1, high).error not in ("CYCLES", "")
    while high - low > 1:
        middle = (low + high) // 2
        is_late = ending(device, given, 1, middle).error == "CYCLES"
        low, high = (middle, high) if is_late else (low, middle)
    return high


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_limit_before_an_error(model: Device[Any], rtl: Device[Any], name: str):
    limit = least_limit(model, PROGRAMS[name])
    found = [ending(rtl, PROGRAMS[name], 1, limit - less).error for less in (0, 1)]
    assert found == [ending(model, PROGRAMS[name], 1, limit).error, "CYCLES"]
