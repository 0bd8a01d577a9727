"""The sequencer and arrays behind it against the model: rows and cycles."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sram_compute.bank.sequencer import Sequencer
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.integer import add, move
from gnarl.hw.sram_compute.microcode.program import (
    Loop,
    Microinstruction,
    Skip,
    Step,
    Sweep,
    assemble,
)
from gnarl.hw.sram_compute.microcode.rows import Row, i, linear, n
from gnarl.hw.sram_compute.microcode.sequence import cycles
from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.sw.runtime.machine.verilate import lint
from gnarl.sw.runtime.sram_compute.model.array import ComputeArray
from tests.support.sram_compute.compute_arrays import ARRAYS, BITLINES, ArraysSimulator

WORDLINES = 128
LATENCY = 1
"""Cycles of a command beyond those of its microprogram: it is read from the ROM, and added up while
``busy`` shows."""

Programs = list[tuple[Microinstruction, ...]]


def random_row(chance: random.Random, in_loop: bool) -> Row:
    number = linear(chance.randrange(6)) + chance.choice([0, 0, n])
    number += chance.choice([0, i]) if in_loop else 0
    return Row(chance.choice([*Base]), number, chance.choice([-1, 0, 1]))


def random_sweep(chance: random.Random, in_loop: bool) -> Sweep:
    """Any tables, on rows that are there for n from 1 to 8 and ``BASES``."""
    tables = [
        chance.getrandbits(bits) if chance.random() < 0.9 else 0 for bits in (16, 16, 16, 4, 4)
    ]
    count = linear(chance.choice([1, 1, 2, n, 3, n - 1, *([i, i + 1] if in_loop else [])]))
    rows = [random_row(chance, in_loop) for _ in range(3)]
    return Sweep(count, *rows[:2], rows[2] if chance.random() < 0.8 else None, *tables)


def random_program(chance: random.Random) -> tuple[Microinstruction, ...]:
    """Sweeps, loops and skips, some in each other, some with nothing around."""

    def body(depth: int, in_loop: bool) -> list[Step]:
        steps: list[Step] = []
        for _ in range(chance.randrange(1, 4)):
            steps.append(random_sweep(chance, in_loop))
            if depth < 3 and chance.random() < 0.4:
                steps.append(Skip(tuple(body(depth + 1, in_loop))))
        return steps

    steps: list[Step] = []
    for _ in range(chance.randrange(1, 4)):
        in_loop = chance.random() < 0.6
        inside = body(0, in_loop)
        if in_loop:
            trips = linear(chance.choice([1, 2, n, n + 1]))
            steps.append(Loop(trips, tuple(inside)))
        else:
            steps += inside
    return assemble(tuple(steps))


def rom_of(programs: Programs) -> tuple[list[int], list[int]]:
    """Words and entries."""
    entries, words = [], []
    for program in programs:
        entries.append(len(words))
        words += [each.word() for each in program]
    return words, entries


@cache
def _simulator(words: tuple[int, ...], skips: bool) -> ArraysSimulator:
    return ArraysSimulator(WORDLINES, words, skips)


def compare(
    programs: Programs, commands: list[tuple[int, int, dict[Base, int]]], skips: bool = True
) -> None:
    """``commands``: number of a program, n, bases."""
    words, entries = rom_of(programs)
    simulator = _simulator(tuple(words), skips)
    model = ComputeArray(WORDLINES, ARRAYS * BITLINES, np.random.default_rng(5))
    simulator.load(model.planes[:, 0])
    # Whatever the latches hold, as a command leaves them.
    expected = 0
    for number, width, bases in commands:
        expected += model.run(programs[number], bases, width, skips=skips)
    taken = simulator.run([(entries[number], width, bases) for number, width, bases in commands])
    assert (simulator.show() == model.planes[:, 0]).all()
    assert taken == expected + LATENCY


def clear(p: Builder) -> None:
    """Both latches to 0."""
    p.sweep(1, start_carry=lambda c, p: 0, start_predicate=lambda c, p: 0)


def programs_of(*functions: Callable[[Builder], None]) -> Programs:
    found = []
    for function in functions:
        p = Builder()
        function(p)
        found.append(assemble(p.program()))
    return found


BASES = {Base.A: 16, Base.B: 24, Base.D: 32, Base.E: 40, Base.S: 24}


@pytest.fixture(scope="module")
def programs() -> Programs:
    """Those that clear both latches, move rows and add rows, and random ones."""
    chance = random.Random(7)
    return [*programs_of(clear, move, add), *(random_program(chance) for _ in range(60))]


def test_commands_follow_without_a_cycle_between(programs):
    bases = {Base.A: 0, Base.B: 16, Base.D: 40}
    chained = {Base.A: 40, Base.B: 0, Base.D: 20}
    compare(programs, [(0, 0, {}), (1, 1, bases), (2, 16, bases), (2, 5, chained), (1, 1, chained)])


@pytest.mark.parametrize("skips", [True, False])
def test_random_programs_are_those_of_the_model(programs, skips):
    chance = random.Random(7)
    commands = [
        (number, chance.randrange(1, 9), BASES | {Base.B: chance.randrange(16, 32)})
        for number in range(1, len(programs))
    ]
    compare(programs, [(0, 0, {}), *commands], skips)
    ways = {
        cycles(program, 3, skips=True) - cycles(program, 3, skips=False) for program in programs
    }
    assert len(ways) > 5


def test_lint_finds_nothing():
    words, _ = rom_of(programs_of(move, add))
    assert lint(to_verilog(Sequencer(WORDLINES, words, True), "sequencer"), "sequencer") == []
