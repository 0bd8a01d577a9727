"""Cycle for cycle the same as Amaranth's FIFO."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import fifo
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.stream.head_fifo import Fifo, HeadFifo
from gnarl.hw.lib.stream.ram_fifo import RamFifo

STEPS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 15)), max_size=60)


@settings(max_examples=20)
@given(depth=st.integers(2, 6), steps=STEPS)
def test_same_cycles_as_a_sync_fifo(depth: int, steps: list[tuple[bool, bool, int]]) -> None:
    compare(HeadFifo, depth, steps)


@settings(max_examples=40)
@given(depth=st.integers(4, 9), steps=STEPS)
def test_same_cycles_in_block_ram(depth: int, steps: list[tuple[bool, bool, int]]) -> None:
    compare(RamFifo, depth, steps)


@pytest.mark.parametrize("depth", [4, 5, 7, 70])
@pytest.mark.parametrize("writes, reads", [(1.0, 1.0), (0.9, 0.9), (0.5, 0.6), (0.8, 0.4)])
def test_same_cycles_for_long(depth: int, writes: float, reads: float) -> None:
    noise = random.Random(depth)
    steps = [
        (noise.random() < writes, noise.random() < reads and step > depth, noise.getrandbits(4))
        for step in range(500)
    ]
    compare(RamFifo, depth, steps)


def compare(kind: type[Fifo], depth: int, steps: list[tuple[bool, bool, int]]) -> None:
    m = Module()
    m.submodules.head = head = kind(width=4, depth=depth)
    m.submodules.plain = plain = fifo.SyncFIFO(width=4, depth=depth)

    async def bench(ctx: Any) -> None:
        for write, read, item in steps:
            for each in (head, plain):
                ctx.set(each.w_en, write)
                ctx.set(each.w_data, item)
                ctx.set(each.r_en, read)
            for name in ("w_rdy", "r_rdy", "level"):
                assert ctx.get(getattr(head, name)) == ctx.get(getattr(plain, name)), name
            if ctx.get(head.r_rdy):
                assert ctx.get(head.r_data) == ctx.get(plain.r_data)
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
