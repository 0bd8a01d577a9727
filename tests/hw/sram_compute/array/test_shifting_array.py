"""Moves in arrays, by the mover, against rows of NumPy."""

from __future__ import annotations

import random
import re
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sram_compute.array.shifting_array import ShiftingArray
from gnarl.hw.sram_compute.bank.issue_stage import IssueStage
from gnarl.hw.sram_compute.bank.mover import Mover
from gnarl.sw.runtime.machine.verilate import SHIM_FOLDER, lint

WORDLINES, BITLINES = 16, 8
ONES = (1 << BITLINES) - 1


class Moving(wiring.Component):
    """A mover and an array."""

    def __init__(self) -> None:
        self.mover = Mover(WORDLINES)
        self.array = ShiftingArray(WORDLINES, BITLINES, 2)
        super().__init__({"distance": In(range(BITLINES)), "mask": In(BITLINES)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.mover = mover = self.mover
        m.submodules.array = array = self.array
        m.submodules.stage = stage = IssueStage(WORDLINES)
        mask = Signal(BITLINES)
        m.d.sync += mask.eq(self.mask)
        m.d.comb += [
            stage.read.eq(mover.read),
            stage.operation.eq(mover.operation),
            array.read.eq(mover.read),
            array.compute.eq(stage.compute),
            array.inward.distance.eq(self.distance),
            array.inward.is_own.eq(1),
            array.inward.is_constant.eq(mover.is_constant),
            array.inward.bit.eq(mover.bit),
            array.mask.eq(mask),
            array.is_enabled.eq(1),
        ]
        return m


def rotated(row: int, distance: int) -> int:
    return (row << distance | row >> BITLINES - distance) & ONES


def moved(rows: list[int], move: dict[str, int], distance: int, mask: int) -> list[int]:
    rows = list(rows)
    taken = [rotated(rows[(move["a"] + row) % WORDLINES], distance) for row in range(move["n"])]
    for row in range(move["n"]):
        new = ONES * (move["value"] >> row & 1) if move["is_constant"] else taken[row]
        place = move["d"] + row
        rows[place] = new & mask | rows[place] & ~mask
    return rows


def random_move(chance: random.Random) -> tuple[dict[str, int], int, int]:
    n = chance.randrange(1, 6)
    a = chance.randrange(WORDLINES - n + 1)
    others = [d for d in range(WORDLINES - n + 1) if d == a or d + n <= a or a + n <= d]
    move = {"a": a, "d": chance.choice(others), "n": n}
    move |= {"is_constant": chance.random() < 0.2, "value": chance.getrandbits(32)}
    return move, chance.randrange(BITLINES), chance.choice([ONES, chance.getrandbits(BITLINES)])


def test_rows_move_one_a_cycle():
    """Move after move, each in n + 1 cycles."""
    chance = random.Random(4)
    dut = Moving()
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)

    async def perform(ctx: Any, move: dict[str, int], distance: int, mask: int) -> int:
        ctx.set(dut.mover.move.payload, move)
        ctx.set(dut.mover.move.valid, 1)
        ctx.set(dut.distance, distance)
        ctx.set(dut.mask, mask)
        cycles = 1
        while not ctx.get(dut.mover.move.ready):
            await ctx.tick()
            cycles += 1
        await ctx.tick()
        return cycles

    async def testbench(ctx: Any) -> None:
        rows = [0] * WORDLINES
        for row in range(WORDLINES):  # a bitline at a time, so that all rows are known
            for bitline in range(BITLINES):
                bit = chance.getrandbits(1)
                move = {"a": 0, "d": row, "n": 1, "is_constant": 1, "value": bit}
                await perform(ctx, move, 0, 1 << bitline)
                rows[row] |= bit << bitline
        for _ in range(120):
            move, distance, mask = random_move(chance)
            assert await perform(ctx, move, distance, mask) == move["n"] + 1
            rows = moved(rows, move, distance, mask)
        # All rows come by as row a, of moves that change nothing.
        for row in range(WORDLINES):
            ctx.set(
                dut.mover.move.payload,
                {"a": row, "d": 0, "n": 1, "is_constant": 0, "value": 0},
            )
            ctx.set(dut.mask, 0)
            await ctx.tick()
            assert ctx.get(dut.array.row) == rows[row]
            await ctx.tick()

    simulator.add_testbench(testbench)
    simulator.run()


def test_lint_finds_nothing():
    assert lint(to_verilog(Moving(), "moving"), "moving") == []


def test_simulators_keep_all_ports() -> None:
    """So that arrays share functions, see ``arrays.vlt``."""
    kept = (SHIM_FOLDER / "arrays.vlt").read_text()
    modules, names = zip(*re.findall(r'-module "\*(\w+)" -var "(\w+)"', kept), strict=True)
    (suffix,) = set(modules)
    found = re.search(rf"^module moving{suffix}\((.*)\);", to_verilog(Moving(), "moving"), re.M)
    assert found
    assert sorted([*names, "clk"]) == sorted(found[1].split(", "))
