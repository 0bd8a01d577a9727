"""Shifts whose arrays send bits all at once, on RTL and in the model, against NumPy and the
estimate, in machines that cut what goes to another bank into chunks, or have one bank."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

from cocotb_tests.sram_compute.programs import pattern
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import command
from gnarl.sw.compiler.sram_compute.lower.columns import column, table
from gnarl.sw.compiler.sram_compute.lower.command_times import clock, movement_cycles
from gnarl.sw.compiler.sram_compute.lower.records import Records
from gnarl.sw.program.jit import compiled
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.model import exchange
from gnarl.sw.runtime.sram_compute.model.tiles import pattern as model_pattern
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from tests.support.parameters import slow_but
from tests.support.sram_compute.tile_elements import run_on_elements

SMALL = ("core_lanes=0", "near_lanes=0", "formats=[]")
MACHINES = {
    "two chunks": (*SMALL, "banks=4", "arrays=4", "tree_bits=4", "network_bits=8"),
    "a chunk for each array": (*SMALL, "banks=2", "arrays=8", "tree_bits=2", "network_bits=2"),
    "one bank": (*SMALL, "banks=1", "arrays=4", "tree_bits=1", "network_bits=1"),
    "a row at once": (*SMALL, "banks=2", "arrays=2", "tree_bits=8", "network_bits=64"),
}
ROW, ROUNDS = 64, 12


@cache
def named(machine: str) -> NamedConfiguration:
    return load_configuration("sram_b2", MACHINES[machine])


def subset(chance: random.Random, name: str, size: int) -> tuple[dict[str, Any], list[int]]:
    """A pattern of places below ``size``, of up to two levels that do not overlap, and these."""
    inner = chance.choice([1, 1, 2, 3, size // 2, size])
    apart = chance.choice([1, 1, 2, 5]) if inner < size // 5 else 1
    outer = chance.randint(1, size // (inner * apart))
    start = chance.randrange(size - inner * apart * outer + 1)
    levels = (apart, inner), (inner * apart % size, outer)
    places = [start + apart * x + inner * apart * y for y in range(outer) for x in range(inner)]
    return pattern(name, start, *levels), sorted({place for place in places if place < size})


def shift(config: SramConfig, chance: random.Random) -> tuple[dict[str, Any], np.ndarray]:
    """Fields of a packed one, and which elements change, bool [tiles, bitlines]."""
    bitlines, bits = subset(chance, "bitlines", config.bitlines)
    tiles, changed = subset(chance, "tiles", config.tiles)
    changes = np.zeros((config.tiles, config.bitlines), bool)
    changes[np.ix_(changed, bits)] = True
    between = chance.randint(1 - config.arrays, config.arrays - 1) % config.tiles
    distance = chance.randrange(config.bitlines)
    fields = {"between": between, "distance": distance, "packed": 1, **bitlines, **tiles}
    return fields, changes


def check(device: Device[Any], model: Device[Any], config: SramConfig, seed: int) -> None:
    chance = random.Random(seed)
    n = chance.choice([1, 2, 7, 32])
    fields, changes = shift(config, chance)
    everywhere = pattern("bitlines", 0, (1, config.bitlines)) | pattern(
        "tiles", 0, (1, config.tiles)
    )
    commands = [
        command(Opcode.FILL, d=ROW, n=n, value=0x5A5A_5A5A, **everywhere),
        command(Opcode.SHIFT, a=0, d=ROW, n=n, **fields),
        command(Opcode.SYNC),
    ]
    before, after, found = run_on_elements(device, config, commands, ROW, n)
    moved = np.roll(np.roll(before, fields["between"], axis=0), fields["distance"], axis=1)
    kept = np.uint32(0x5A5A_5A5A & (1 << n) - 1)
    np.testing.assert_array_equal(after, np.where(changes, moved, kept))
    assert found == run_on_elements(model, config, commands, ROW, n)[2]


@pytest.mark.parametrize("machine", slow_but(["two chunks"], MACHINES))
def test_rtl_is_numpy_and_the_model(machine: str):
    given = named(machine)
    with Device(given, "rtl") as device, Device(given, "model") as model:
        for seed in range(ROUNDS):
            check(device, model, given.config, seed)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_model_is_numpy(machine: str):
    given = named(machine)
    with Device(given, "model") as device:
        for seed in range(100, 100 + 8 * ROUNDS):
            check(device, device, given.config, seed)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_estimate_chooses_what_the_model_finds_faster(machine: str):
    config = named(machine).config
    for seed in range(200):
        chance = random.Random(seed)
        n = chance.choice([1, 2, 7, 32])
        fields, _ = shift(config, chance)
        costs = [_cost(config, fields | {"packed": packed}, n) for packed in (0, 1)]
        row = table([command(Opcode.SHIFT, n=n, **fields)])[0]
        estimate = _estimate(clock(config), row, n)
        if config.banks > 1 or _stays(config, fields):
            assert estimate == min(costs)
            assert row[column(Opcode.SHIFT, "packed")] == (costs[1] < costs[0])


@compiled
def _estimate(clocks: Records, row: np.ndarray, n: int) -> int:
    return movement_cycles(clocks[0], row, n)


def _stays(config: SramConfig, fields: dict[str, Any]) -> bool:
    """Whether no tile takes what is around the end of the only bank, which no program does."""
    tiles = np.flatnonzero(model_pattern(fields, "tiles").places(config.tiles))
    between = fields["between"]
    between -= config.tiles if 2 * between > config.tiles else 0
    return bool(np.all((tiles - between >= 0) & (tiles - between < config.tiles)))


def _cost(config: SramConfig, fields: dict[str, Any], n: int) -> int:
    tiles = model_pattern(fields, "tiles")
    given = exchange.Exchange(
        0,
        ROW,
        n,
        fields["distance"],
        model_pattern(fields, "bitlines"),
        [tiles],
        exchange.shift_steps(config, tiles, fields["between"]),
        packed=bool(fields["packed"]),
    )
    return exchange.cost(config, given).cycles
