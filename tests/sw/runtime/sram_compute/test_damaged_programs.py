"""Programs of commands and of the core whose fields, words or commands are damaged."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cocotb_tests.sram_compute.near_programs import near
from cocotb_tests.sram_compute.programs import clearing
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import UNIT_WORDS, Opcode
from gnarl.hw.sram_compute.program import Command, assemble, command, decode, numbers
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.sram_compute.machine import ending, program
from tests.support.sram_compute.programs import (
    FIRST_LINE,
    damaged_core_program,
    damaged_mixed_program,
    damaged_program,
    right_program,
)

NAMED = load_configuration("sram_b2")
CONFIG = NAMED.config

PATTERN = {"bitlines_counts": (3, 0, 0), "tiles_counts": (1, 0, 0)}
ROWS = {"a": 0, "d": 40, "n": 8}
LAYOUT = {"layout": 1, "element": 2, "base": FIRST_LINE, "sizes": (2, 2, 1), "tile": (6, 0, 0)}

SMALL = [
    *clearing(CONFIG),
    command(Opcode.LAYOUT, **LAYOUT, line_strides=(2, 4), tile_strides=(1, 1)),
    command(Opcode.LOAD, layout=1, row=0, n=32),
    command(
        Opcode.COMPUTE,
        entry=CONFIG.rom.entry(CONFIG.operations["add"], 8),
        n=8,
        bases=(0, 32, 64, 0, 0),
    ),
    command(Opcode.MOVE, **ROWS, **PATTERN, distance=1),
    command(Opcode.FILL, d=8, n=8, value=77, **PATTERN),
    command(Opcode.SHIFT, **ROWS, **PATTERN, between=1),
    command(Opcode.BROADCAST, **ROWS, bitlines_counts=(3, 0, 0), copies_counts=(1, 0, 0)),
    command(Opcode.SYNC),
    command(Opcode.STORE, layout=1, row=64, n=8, before=(1, 0, 0)),
    command(Opcode.COPY, line=FIRST_LINE, words=2, lines=3),
    command(Opcode.STREAM, stream=1, strides=(1, 0, 0), length=5, scale=1),
    *near(
        [{"operation": ExecuteOpcode.ADD.value, "reads": 1, "stream": 1, "d": 1, "b": 2}],
        counts=(40, 1, 1),
        owner=1,
    ),
    command(Opcode.END),
]
"""Of all commands but ``CORE``."""

SECONDS, BYTES = 1.0, 200_000_000
"""More than the small program takes, of processor time and memory."""


@pytest.fixture(scope="module")
def model() -> Iterator[Device[Any]]:
    with Device(NAMED, "model") as device:
        yield device


def with_number(given: Command, offset: int, width: int, value: int) -> Command:
    units = assemble([given])
    whole = int.from_bytes(np.ascontiguousarray(units, "<u4").tobytes(), "little")
    whole = whole & ~((1 << width) - 1 << offset) | value << offset
    octets = whole.to_bytes(4 * units.size, "little")
    return decode(np.frombuffer(octets, "<u4").reshape(-1, UNIT_WORDS))


def extremes(value: int) -> list[list[Command]]:
    """The small program with each number of each command as large as it can be, less ``value``, or
    half of that."""
    found = []
    for place, given in enumerate(SMALL):
        if SMALL.index(given) < len(clearing(CONFIG)) - 1:
            continue
        for number in numbers(given.opcode):
            if number.field != "opcode":
                most = (1 << number.width) - 1
                changed = with_number(given, number.offset, number.width, max(0, most - value))
                found.append([*SMALL[:place], changed, *SMALL[place + 1 :]])
    return found


@pytest.mark.parametrize("less", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_extreme_fields_are_refused_or_done_in_little_time_and_memory(
    model: Device[Any], less: int
):
    assert ending(model, program(CONFIG, assemble(SMALL)), 0).error == ""
    before = time.process_time()
    ending(model, program(CONFIG, assemble(SMALL)), 0)
    usual = time.process_time() - before
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for commands in extremes(less):
        given = program(CONFIG, assemble(commands))
        before = time.process_time()
        ending(model, given, 0)
        assert time.process_time() - before < usual + SECONDS, commands
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - largest
        assert 1024 * grown < BYTES, commands


@pytest.mark.parametrize("count", [30, pytest.param(100_000, marks=pytest.mark.slow)])
def test_damaged_commands_end_or_are_refused(model: Device[Any], count: int):
    """With no error but those that are named; a right program is as before behind them."""
    right = program(CONFIG, assemble(right_program(CONFIG, 1)))
    wanted = ending(model, right, 1)
    assert wanted.error == ""
    for seed in range(count):
        ending(model, program(CONFIG, damaged_program(CONFIG, seed)), seed)
    assert ending(model, right, 1) == wanted


@pytest.mark.parametrize("make", [damaged_core_program, damaged_mixed_program])
@pytest.mark.parametrize("count", [40, pytest.param(50_000, marks=pytest.mark.slow)])
def test_damaged_programs_of_the_core_end_or_are_refused(
    model: Device[Any],
    make: Callable[[SramConfig, int], tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]],
    count: int,
):
    ran = 0
    for seed in range(count):
        units, words = make(CONFIG, seed)
        with suppress(CapacityError):  # words that are no instruction
            given = program(CONFIG, units, words)
            ending(model, given, seed)
            ran += 1
    assert ran > count // 3
