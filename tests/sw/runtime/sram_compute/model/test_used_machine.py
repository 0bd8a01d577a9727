"""What a run has not written reads as zeros, whatever ran before on the machine."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from cocotb_tests.sram_compute.near_programs import near
from cocotb_tests.sram_compute.programs import clearing
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.isa import REGISTERS, STRIP, WORD_BITS, Opcode, Second
from gnarl.hw.sram_compute.program import Command, assemble, command
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.sram_compute.machine import MORE_LINES, MOST_CYCLES, End, ending, program
from tests.support.sram_compute.programs import (
    FIRST_LINE,
    damaged_core_program,
    damaged_mixed_program,
    damaged_program,
    right_program,
)

NAMED = load_configuration("sram_b2", ["banks=1", "arrays=2", "formats=[]"])
CONFIG = NAMED.config
BANK_LINES = CONFIG.banks * CONFIG.bank_words // LINE_WORDS
UNWRITTEN = FIRST_LINE + MORE_LINES + 100
"""A line of no array."""

COPIED = command(Opcode.COPY, is_store=1, line=FIRST_LINE, lines=min(BANK_LINES, MORE_LINES))


def stored(register: int) -> list[Command]:
    """A register of engines goes to the first words of the banks."""
    stream = command(Opcode.STREAM, stream=0, strides=(1, 0, 0))
    store = {"operation": ExecuteOpcode.STORE.value, "b": register, "stream": 0}
    return [stream, *near([store], counts=(STRIP * CONFIG.banks, 1, 1))]


def everything() -> list[Command]:
    """Fills rows, registers of engines, transposers and lines of memory."""
    ones = {"b_source": Second.IMMEDIATE.value, "immediate": (1 << 32) - 1, "is_whole": 1}
    filled: list[dict[str, Any]] = [
        {"operation": ExecuteOpcode.OR.value, "d": register, **ones}
        for register in range(REGISTERS)
    ]
    turned = {"operation": ExecuteOpcode.OR.value, "a": 1, "d_is_turned": 1, **ones}
    return [
        *clearing(CONFIG),
        *near([*filled, turned]),
        command(Opcode.COPY, is_store=1, line=UNWRITTEN, lines=BANK_LINES),
        command(Opcode.STREAM, stream=5, base=(1 << WORD_BITS) - 1, strides=(7, 7, 7)),
    ]


READERS: dict[str, list[Command]] = {
    "rows": [COPIED],
    "registers": [*stored(REGISTERS - 1), COPIED],
    "lines": [command(Opcode.COPY, line=UNWRITTEN, lines=BANK_LINES), COPIED],
    "rows in part": [
        command(Opcode.FILL, d=0, n=32, value=0x5555_5555, bitlines_counts=(3, 0, 0)),
        COPIED,
    ],
    "an owner that was never set": [
        command(Opcode.STREAM, stream=0, strides=(1, 0, 0)),
        *near(
            [{"operation": ExecuteOpcode.STORE.value, "b_source": Second.X.value, "stream": 0}],
            counts=(40, 1, 1),
            owner=5,
        ),
        COPIED,
    ],
    "commands behind the last": [command(Opcode.SYNC)],
}


@pytest.fixture(scope="module", params=["model", "rtl"])
def used(request: pytest.FixtureRequest) -> Iterator[Device[Any]]:
    with Device(NAMED, request.param) as device:
        yield device


def run(device: Device[Any], commands: list[Command], *, ends: bool = True) -> End:
    end = [command(Opcode.END)] if ends else []
    return ending(device, program(CONFIG, assemble([*commands, *end])), 3)


@pytest.mark.parametrize("name", READERS)
def test_what_was_never_written_reads_as_zeros(used: Device[Any], name: str):
    assert run(used, everything()).error == ""
    found = run(used, READERS[name], ends=name != "commands behind the last")
    with Device(NAMED, "model") as fresh:
        assert found == run(fresh, READERS[name], ends=name != "commands behind the last")
    if name in ("rows", "registers", "lines"):
        words = np.frombuffer(found.memory, np.uint32)
        assert not words[: COPIED.fields["lines"] * LINE_WORDS].any()


@pytest.mark.parametrize(
    "first, count", [(0, 12), pytest.param(12, 5000, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_programs_one_after_the_other(used: Device[Any], first: int, count: int):
    """Each as on a fresh machine, damaged or not."""
    with Device(NAMED, "model") as fresh:
        for seed in range(first, first + count):
            units = damaged_program(CONFIG, seed)
            if seed % 3 == 0:
                units = assemble(right_program(CONFIG, seed))
            given = program(CONFIG, units)
            assert ending(used, given, seed) == ending(fresh, given, seed), seed


@pytest.mark.parametrize(
    "seeds",
    [(64, 106, 163, 169, 224), pytest.param(range(3500), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_programs_of_the_core_one_after_the_other(used: Device[Any], seeds: Sequence[int]):
    """The few begin behind what writes their vector registers; one writes over its ``END``."""
    with Device(NAMED, "model") as fresh:
        for seed in seeds:
            with suppress(CapacityError):  # words that are no instruction
                given = program(CONFIG, *damaged_core_program(CONFIG, seed))
                assert ending(used, given, seed) == ending(fresh, given, seed), seed


@pytest.mark.parametrize(
    "seeds", [range(12), pytest.param(range(12, 2000), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_mixed_programs_one_after_the_other(used: Device[Any], seeds: Sequence[int]):
    """Half of which come to a limit of cycles, if not to an error before it."""
    with Device(NAMED, "model") as fresh:
        for seed in seeds:
            chance = random.Random(seed)
            limit = MOST_CYCLES if chance.random() < 0.5 else chance.randrange(20, 3000)
            with suppress(CapacityError):  # words that are no instruction
                given = program(CONFIG, *damaged_mixed_program(CONFIG, seed))
                assert ending(used, given, seed, limit) == ending(fresh, given, seed, limit), seed
