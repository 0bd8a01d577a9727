from __future__ import annotations

from typing import Any

from amaranth.sim import Simulator

from gnarl.hw.lib.machine.counters import Counters


def test_each_counts_on_its_own_while_watched():
    counters = Counters(3, 4)

    async def bench(ctx: Any) -> None:
        for watch, happens in ((1, 0b001), (1, 0b101), (0, 0b111), (1, 0b100), (1, 0b101)):
            ctx.set(counters.watch, watch)
            ctx.set(counters.happens, happens)
            await ctx.tick()
        assert [ctx.get(counters.o[event]) for event in range(3)] == [3, 0, 3]
        ctx.set(counters.clear, 1)
        await ctx.tick()
        assert [ctx.get(counters.o[event]) for event in range(3)] == [0, 0, 0]

    simulator = Simulator(counters)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
