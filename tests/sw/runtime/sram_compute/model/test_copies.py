"""Copies, each bank's lines beside those of others, on RTL and in the model, against NumPy."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

from cocotb_tests.sram_compute.near_programs import RandomStreams, clearing_engines
from cocotb_tests.sram_compute.programs import clearing
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import STRIP, Opcode
from gnarl.hw.sram_compute.program import Command, assemble, command
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from tests.support.parameters import slow_but
from tests.support.sram_compute import machine
from tests.support.sram_compute.machine import MORE_LINES, program, random_lines, require_same
from tests.support.sram_compute.programs import FIRST_LINE, fitting_loop

SMALL = ("core_lanes=0", "formats=[]", "wordlines=64", "arrays=2")
MACHINES = {
    "a line a cycle": (*SMALL, "banks=4", "bandwidth=64"),
    "a line in two cycles": (*SMALL, "banks=8", "bandwidth=4", "latency=5"),
    "one bank": (*SMALL, "banks=1", "bandwidth=64", "latency=2"),
    "slower than banks": (*SMALL, "banks=2", "bandwidth=1.5", "latency=40"),
    "channels": (*SMALL, "banks=4", "bandwidth=48", "memory_channels=4"),
}
ROUNDS = 24


@cache
def named(machine: str) -> NamedConfiguration:
    return load_configuration("sram_b2", MACHINES[machine])


def copies(config: SramConfig, chance: random.Random, count: int) -> list[Command]:
    """Of many lines and few, some of the same ones as before, from all places of a strip on."""
    there = config.banks * config.bank_words // LINE_WORDS
    found: list[Command] = []
    for _ in range(count):
        lines = chance.choice((1, 2, 3, chance.randint(1, 40), 4 * config.banks + 1))
        lines = min(lines, there)
        words = chance.randint(0, there - lines)
        if found and chance.random() < 0.4:
            words = min(int(found[-1].fields["words"]), there - lines)
        found.append(
            command(
                Opcode.COPY,
                is_store=chance.random() < 0.5,
                line=FIRST_LINE + chance.randint(0, MORE_LINES - lines),
                words=words,
                lines=lines,
            )
        )
    return found


def run(device: Device[Any], config: SramConfig, commands: list[Command], seed: int) -> Result[Any]:
    return machine.run(device, program(config, assemble([*commands, command(Opcode.END)])), seed)


def copied(given: list[Command], words: np.ndarray, seed: int) -> np.ndarray:
    """The lines of memory behind copies, one after the other; ``words`` of banks change."""
    lines = random_lines(seed)
    for each in given:
        fields = each.fields
        first = fields["line"] - FIRST_LINE
        memory = lines[first : first + fields["lines"]]
        banks = words[fields["words"] : fields["words"] + fields["lines"]]
        if fields["is_store"]:
            memory[:] = banks
        else:
            banks[:] = memory
    return lines


def check(device: Device[Any], model: Device[Any], config: SramConfig, seed: int) -> None:
    """Copies alone, then with engines beside them, which the model alone knows."""
    chance = random.Random(seed)
    there = config.banks * config.bank_words // LINE_WORDS
    given = copies(config, chance, chance.randint(1, 9))
    found = run(device, config, given, seed)
    lines = copied(given, np.zeros((there, LINE_WORDS), np.uint32), seed)
    np.testing.assert_array_equal(found.outputs["results"], lines)
    require_same(found, run(model, config, given, seed))
    streams = RandomStreams(config, chance, FIRST_LINE)
    mixed = [*clearing(config), *clearing_engines()]
    for _ in range(2):
        mixed += [*copies(config, chance, chance.randint(1, 5)), *fitting_loop(streams)]
    mixed += copies(config, chance, 2)
    require_same(run(device, config, mixed, seed), run(model, config, mixed, seed))


@pytest.mark.parametrize("machine", slow_but(["a line a cycle"], MACHINES))
def test_rtl_is_numpy_and_the_model(machine: str):
    given = named(machine)
    with Device(given, "rtl") as device, Device(given, "model") as model:
        for seed in range(ROUNDS):
            check(device, model, given.config, seed)


@pytest.mark.parametrize("is_store", [0, 1], ids=["load", "store"])
def test_lines_of_many_banks_are_copied_as_fast_as_memory_takes_them(is_store: int):
    """From the first one on, which takes as long as in any machine."""
    given = load_configuration("sram_b2", (*SMALL, "banks=32", "bandwidth=64", "latency=2"))
    lines = 3 * 32 * STRIP // LINE_WORDS // 2
    commands = [
        command(Opcode.COPY, is_store=is_store, line=FIRST_LINE, words=0, lines=lines)
        for lines in (1, lines)
    ]
    with Device(given, "model") as model:
        one, many = (run(model, given.config, [each], 0).cycles for each in commands)
    assert one is not None and many is not None
    assert many - one < lines + 2 * LINE_WORDS
