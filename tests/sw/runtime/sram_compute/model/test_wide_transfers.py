"""Transfers of lines side by side, and of those that are not, on RTL and in the model, against
NumPy."""

from __future__ import annotations

import random
from functools import cache
from math import prod
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import Command, assemble, command
from gnarl.hw.sram_compute.wide_lines import is_wide
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from tests.support.parameters import slow_but
from tests.support.sram_compute import machine
from tests.support.sram_compute.machine import MORE_LINES, program, random_lines, require_same
from tests.support.sram_compute.programs import FIRST_LINE, right_program

SMALL = ("core_lanes=0", "near_lanes=0", "formats=[]")
WHOLE = "four, slower than a cycle"
"""The machine that has a core and stream engines, too."""
MACHINES = {
    WHOLE: ("formats=[]", "memory_channels=4", "arrays=8", "bandwidth=51.2"),
    "two, as fast as may be": (*SMALL, "memory_channels=2", "arrays=4", "bandwidth=64"),
    "four, far away": (*SMALL, "memory_channels=4", "arrays=2", "bandwidth=1", "latency=90"),
    "four in one bank": (*SMALL, "memory_channels=4", "banks=1", "arrays=16", "bandwidth=64"),
}
MOST_LINES = MORE_LINES // 2 - 8
ROUNDS = 40


@cache
def named(machine: str) -> NamedConfiguration:
    return load_configuration("sram_b2", MACHINES[machine])


def layout(config: SramConfig, chance: random.Random) -> dict[str, Any]:
    """Fields of a layout, but for the number and the base: whole tiles of rows, or less, perhaps in
    chunks, each element on a bitline of its own."""
    bits = (config.bitlines - 1).bit_length()
    while True:
        first = chance.choice([bits, 5, 4, 4, 4, 3, chance.randrange(bits + 1)])
        second = chance.randrange(bits - first + 1)
        tile = first, second, bits - first - second
        element = chance.choice([0, 1, 2, 2, 2])
        elements = LINE_BYTES >> element
        grid = [chance.choice([1, 1, 2, 3, 4, 8]) for _ in tile]
        row = (grid[0] << tile[0]) // elements
        sizes = [
            row - chance.choice([0, 0, chance.randrange(max(1, row))]),
            chance.randint(1, grid[1] << tile[1]),
            chance.randint(1, grid[2] << tile[2]),
        ]
        if prod(grid) <= config.tiles and 0 < sizes[0] and prod(sizes) <= MOST_LINES:
            break
    strides = sizes[0], sizes[0] * sizes[1]
    found: dict[str, Any] = {
        "element": element,
        "sizes": sizes,
        "line_strides": strides,
        "tile": tile,
        "tile_strides": (grid[0], grid[0] * grid[1]),
    }
    chunked = chance.randrange(3)
    tiles = chance.randint(1, grid[chunked])
    chunk = (tiles << tile[chunked]) // (elements if chunked == 0 else 1)
    if chance.random() < 0.6 and 0 < chunk and chunk * elements % (1 << tile[0]) == 0:
        found |= {
            "chunked": chunked,
            "chunk": chunk,
            "chunk_lines": chunk * (1, *strides)[chunked],
            "chunk_tiles": tiles * (1, grid[0], grid[0] * grid[1])[chunked],
        }
    return found


def transfers(config: SramConfig, seed: int) -> tuple[list[Command], np.ndarray, int]:
    """Commands that copy the lines of an array through tiles to others; of the array in these, bool
    [z, y, words], those that change; how many lines are moved at once."""
    chance = random.Random(seed)
    fields = layout(config, chance)
    lines = prod(fields["sizes"])
    away = chance.choice([0, 0, 0, chance.randrange(4)])
    step = config.memory_channels
    commands = [
        command(Opcode.LAYOUT, layout=number, base=base, **fields)
        for number, base in enumerate((FIRST_LINE, FIRST_LINE + -(-lines // step) * step + away))
    ]
    is_changed = np.ones((*fields["sizes"][:0:-1], fields["sizes"][0] * LINE_WORDS), bool)
    margins: dict[str, Any] = {}
    if chance.random() < 0.5:
        margins = {
            name: [chance.choice([0, chance.randrange(4)]) for _ in range(3)]
            for name in ("before", "after")
        }
        margins["before"][0] = chance.randrange(is_changed.shape[2])
        inside = tuple(
            slice(first, max(0, size - end))
            for first, end, size in zip(
                margins["before"][::-1], margins["after"][::-1], is_changed.shape, strict=True
            )
        )
        is_changed[:] = False
        is_changed[inside] = True
    bits = 8 << fields["element"]
    commands += [
        command(Opcode.LOAD, layout=0, row=0, n=bits),
        command(Opcode.STORE, layout=1, row=0, n=bits, **margins),
        command(Opcode.LOAD, layout=0, row=64, n=bits, hollow=1, **margins),
        command(Opcode.END),
    ]
    wide = [is_wide(step, dict(each.fields)) for each in commands[:2]]
    return commands, is_changed, sum(wide)


def check(device: Device[Any], model: Device[Any], config: SramConfig, seed: int) -> int:
    commands, is_changed, wide = transfers(config, seed)
    found = run(device, config, commands, seed)
    lines = random_lines(seed)
    source, target = (each.fields["base"] - FIRST_LINE for each in commands[:2])
    count = is_changed.size // LINE_WORDS
    copied = lines[source : source + count].reshape(is_changed.shape)
    kept = lines[target : target + count].reshape(is_changed.shape)
    lines[target : target + count] = np.where(is_changed, copied, kept).reshape(-1, LINE_WORDS)
    np.testing.assert_array_equal(found.outputs["results"], lines)
    require_same(found, run(model, config, commands, seed))
    return wide


def run(device: Device[Any], config: SramConfig, commands: list[Command], seed: int) -> Result[Any]:
    return machine.run(device, program(config, assemble(commands)), seed)


@pytest.mark.parametrize("machine", slow_but([WHOLE], MACHINES))
def test_rtl_is_numpy_and_the_model(machine: str):
    given = named(machine)
    with Device(given, "rtl") as device, Device(given, "model") as model:
        assert sum(check(device, model, given.config, seed) for seed in range(ROUNDS)) > ROUNDS // 4


@pytest.mark.parametrize("machine", MACHINES)
def test_the_model_is_numpy(machine: str):
    given = named(machine)
    with Device(given, "model") as device:
        for seed in range(100, 100 + 4 * ROUNDS):
            check(device, device, given.config, seed)


def test_other_commands_do_what_the_model_does():
    """The core, stream engines and copies, which move single lines."""
    given = named(WHOLE)
    with Device(given, "rtl") as device, Device(given, "model") as model:
        for seed in range(12):
            commands = right_program(given.config, seed)
            found = run(device, given.config, commands, seed)
            require_same(found, run(model, given.config, commands, seed))
