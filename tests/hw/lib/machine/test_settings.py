from __future__ import annotations

from typing import Any

from amaranth.sim import Simulator

from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.machine.settings import Settings


def simulate(component: Any, bench: Any) -> None:
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_settings_keep_what_the_host_writes():
    settings = Settings(Window("settings", 4, 1, 16), [16, 3, 0])

    async def bench(ctx: Any) -> None:
        host = settings.host
        for row, word in enumerate([0x1234, 0xFFFF, 0xFFFF, 0xFFFF]):
            ctx.set(host.row, row)
            ctx.set(host.write_data, word)
            ctx.set(host.write_enable, 1)
            await ctx.tick()
        ctx.set(host.write_enable, 0)
        read = []
        for row in range(3):
            ctx.set(host.row, row)
            await ctx.tick()
            read.append(ctx.get(host.read_data))
        assert read == [0x1234, 7, 0]
        assert ctx.get(settings.values["0"]) == 0x1234
        assert ctx.get(settings.values["1"]) == 7

    simulate(settings, bench)
