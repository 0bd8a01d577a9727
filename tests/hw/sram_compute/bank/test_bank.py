"""A bank against the model: words, moves, programs, and cycles."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gnarl.hw.sram_compute.bank.bank import WORD_BITS, Bank
from gnarl.hw.sram_compute.bank.bank_command import CommandKind
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.integer import add, move
from gnarl.hw.sram_compute.microcode.program import Microinstruction, assemble
from gnarl.hw.sram_compute.microcode.rows import A, D, n
from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.hw.sram_compute.pattern import LEVELS
from gnarl.sw.runtime.sram_compute.model.bank import Bank as Model
from gnarl.sw.runtime.sram_compute.model.bank import Command, Compute, Move, Pattern
from tests.support.machines.verilated_bench import VerilatedBench

WORDLINES, BITLINES, ARRAYS, TILES, FIRST = 32, 64, 2, 8, 4
GROUPS = BITLINES // WORD_BITS
ALL = (1 << WORD_BITS) - 1


def negate_if(p: Builder) -> None:
    """D = -A where A is odd and nothing elsewhere; ends with a block that may be skipped."""
    p.sweep(1, A.at(), predicate=lambda a, b, c, p: a)
    with p.if_any_predicate():
        p.sweep(
            n,
            A.up(),
            D.up(),
            D.up(),
            start_carry=lambda c, p: 1,
            write=lambda a, b, c, p: (1 - a) ^ c if p else b,
            carry=lambda a, b, c, p: (1 - a) & c,
        )


def short(p: Builder) -> None:
    """All but the highest bit of A, nothing at a width of 1."""
    p.sweep(n - 1, A.up(), d=D.up(), write=lambda a, b, c, p: a)


def assembled() -> list[tuple[Microinstruction, ...]]:
    found = []
    for function in (move, add, negate_if, short):
        p = Builder()
        function(p)
        found.append(assemble(p.program()))
    return found


PROGRAMS = assembled()
ROM = [each.word() for program in PROGRAMS for each in program]
ENTRIES = [sum(len(program) for program in PROGRAMS[:number]) for number in range(len(PROGRAMS))]


def pattern_fields(pattern: Pattern) -> dict[str, Any]:
    levels = [*pattern.levels, *[(0, 1)] * (LEVELS - len(pattern.levels))]
    return {
        "start": pattern.start,
        "strides": [stride for stride, _ in levels],
        "counts": [count - 1 for _, count in levels],
    }


def fields(command: Command) -> dict[str, Any]:
    if isinstance(command, Compute):
        bases = [command.bases.get(base, 0) for base in Base]
        entry = ENTRIES[PROGRAMS.index(command.program)]  # type: ignore[arg-type]
        return {
            "kind": CommandKind.COMPUTE,
            "program": {"entry": entry, "n": command.n, "bases": bases},
        }
    return {
        "kind": CommandKind.MOVE,
        "move": {
            "a": command.a,
            "d": command.d,
            "n": command.n,
            "is_constant": command.value is not None,
            "value": command.value or 0,
        },
        "distance": command.distance,
        "bitlines": pattern_fields(command.bitlines),
        "tiles": pattern_fields(command.tiles),
    }


def random_pattern(chance: random.Random, size: int) -> Pattern:
    levels = [(chance.choice([1, 2, 4, size // 2]), chance.choice([1, 2, 3, 8])) for _ in range(2)]
    return Pattern(chance.randrange(size), tuple(levels))


def random_command(chance: random.Random) -> Command:
    width = chance.randrange(1, 9)
    if chance.random() < 0.5:
        places = chance.sample([0, 8, 16, 24], 3)
        bases = dict(zip((Base.A, Base.B, Base.D), places, strict=True))
        return Compute(chance.choice(PROGRAMS), width, bases)
    a, d = chance.sample([0, 8, 16, 24], 2) if chance.random() < 0.8 else (8, 8)
    return Move(
        a,
        d,
        width,
        chance.randrange(BITLINES),
        random_pattern(chance, BITLINES),
        random_pattern(chance, TILES),
        chance.getrandbits(32) if chance.random() < 0.3 else None,
    )


async def accessed(ctx: Any, dut: Bank, requests: Sequence[dict[str, int]]) -> list[int]:
    """Words that requests read, all one behind the other."""
    found: list[int] = []
    ctx.set(dut.response.ready, 1)
    reads = sum(not each["write"] for each in requests)
    for request in requests:
        ctx.set(dut.request.payload, request)
        ctx.set(dut.request.valid, 1)
        is_taken = False
        while not is_taken:
            is_taken = bool(ctx.get(dut.request.ready))
            if ctx.get(dut.response.valid):
                found.append(ctx.get(dut.response.payload))
            await ctx.tick()
    ctx.set(dut.request.valid, 0)
    while len(found) < reads:
        if ctx.get(dut.response.valid):
            found.append(ctx.get(dut.response.payload))
        await ctx.tick()
    return found


async def commanded(ctx: Any, dut: Bank, commands: Sequence[Command]) -> int:
    """Cycles from the first command on, until the bank is no longer busy."""
    cycles = -1
    for command in commands:
        ctx.set(dut.command.payload, fields(command))
        ctx.set(dut.command.valid, 1)
        is_taken = False
        while not is_taken:
            is_taken = bool(ctx.get(dut.command.ready))
            await ctx.tick()
            cycles += 1
    ctx.set(dut.command.valid, 0)
    while ctx.get(dut.busy):
        await ctx.tick()
        cycles += 1
    return cycles


def places() -> list[dict[str, int]]:
    return [
        {"array": array, "row": row, "group": group}
        for row in range(WORDLINES)
        for array in range(ARRAYS)
        for group in range(GROUPS)
    ]


@pytest.fixture(scope="module")
def bench() -> VerilatedBench:
    return VerilatedBench(Bank(WORDLINES, BITLINES, ARRAYS, 2, TILES, ROM, True))


@pytest.mark.parametrize("seed", [11, 12])
def test_commands_do_what_the_model_does(bench, seed):
    chance = random.Random(seed)
    dut = bench.component

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.first_tile, FIRST)
        model = Model(WORDLINES, BITLINES, ARRAYS, FIRST, tiles=TILES)
        model.arrays.planes[:] = np.random.default_rng(2).integers(
            0, 1 << 64, model.arrays.planes.shape, np.uint64
        )
        words = [int(word) for word in model.arrays.planes.view("<u4").ravel()]
        await accessed(
            ctx,
            dut,
            [
                place | {"write": ALL, "data": word}
                for place, word in zip(places(), words, strict=True)
            ],
        )
        for _ in range(6):
            commands = [random_command(chance) for _ in range(chance.randrange(1, 8))]
            expected = model.run(commands)
            assert await commanded(ctx, dut, commands) == expected, commands
            found = await accessed(
                ctx, dut, [place | {"write": 0, "data": 0} for place in places()]
            )
            assert found == [int(word) for word in model.arrays.planes.view("<u4").ravel()]

    bench.run(testbench)
