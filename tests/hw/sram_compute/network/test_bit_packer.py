"""Packing the bits of a row, and unpacking them."""

from __future__ import annotations

import random
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sram_compute.network.bit_packer import PackPlan, packed, unpacked
from gnarl.sw.runtime.machine.verilate import lint

BITS = 64


class Packing(wiring.Component):
    """A row packed, and unpacked again."""

    def __init__(self) -> None:
        self.plan = PackPlan(BITS)
        super().__init__(
            {
                "mask": In(BITS),
                "start": In(1),
                "row": In(BITS),
                "done": Out(1),
                "count": Out(range(BITS + 1)),
                "packed": Out(BITS),
                "unpacked": Out(BITS),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.plan = plan = self.plan
        moves = [plan.moves[stage] for stage in range(plan.latency)]
        narrow = Signal(BITS)
        m.d.comb += [
            plan.mask.eq(self.mask),
            plan.start.eq(self.start),
            self.done.eq(plan.done),
            self.count.eq(plan.count),
            narrow.eq(packed(m, self.row, self.mask, moves)),
            self.packed.eq(narrow),
            self.unpacked.eq(unpacked(m, narrow, moves)),
        ]
        return m


def masks(chance: random.Random) -> list[int]:
    every_eighth = sum(1 << place for place in range(0, BITS, 8))
    corners = [1, 1 << BITS - 1, (1 << BITS) - 1, 0xFF00, every_eighth, every_eighth << 7]
    return corners + [
        chance.getrandbits(BITS) & chance.getrandbits(BITS) | 1 << 7 for _ in range(20)
    ]


def test_bits_of_a_mask_lie_side_by_side():
    chance = random.Random(1)
    dut = Packing()
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)

    async def testbench(ctx: Any) -> None:
        for mask in masks(chance):
            row = chance.getrandbits(BITS)
            ctx.set(dut.mask, mask)
            ctx.set(dut.row, row)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            cycles = 0
            while not ctx.get(dut.done):
                await ctx.tick()
                cycles += 1
            assert cycles == dut.plan.latency
            places = [place for place in range(BITS) if mask >> place & 1]
            expected = sum((row >> place & 1) << at for at, place in enumerate(places))
            assert ctx.get(dut.count) == len(places)
            assert ctx.get(dut.packed) == expected
            assert ctx.get(dut.unpacked) & mask == row & mask

    simulator.add_testbench(testbench)
    simulator.run()


def test_lint_finds_nothing():
    assert lint(to_verilog(Packing(), "packing"), "packing") == []
