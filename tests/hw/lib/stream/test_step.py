from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from gnarl.hw.lib.stream.step import Step


class Split(wiring.Component):
    """Sums of two streams go to ``sum``, and those that are odd to ``odd``, too."""

    def __init__(self) -> None:
        number, total = stream.Signature(8), stream.Signature(9)
        super().__init__({"a": In(number), "b": In(number), "sum": Out(total), "odd": Out(total)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        step = Step(m, inputs=[self.a, self.b], outputs=[self.sum, self.odd])
        total = self.a.payload + self.b.payload
        with m.If(self.a.valid & self.b.valid):
            step.send(self.sum, total)
            with m.If(total[0]):
                step.send(self.odd, total)
            step.ready(self.a, self.b)
        return m


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_every_step_gives_each_output_its_item_once(share):
    """Also where one output accepts cycles before the other."""
    noise = random.Random(f"{share}")
    numbers = [(noise.randrange(256), noise.randrange(256)) for _ in range(60)]
    split = Split()
    taken: dict[str, list[int]] = {"sum": [], "odd": []}
    cycles = []

    async def bench(ctx: Any) -> None:
        left = {"a": [a for a, _ in numbers], "b": [b for _, b in numbers]}
        for cycle in range(1200):
            for name, items in left.items():
                port = getattr(split, name)
                ctx.set(port.valid, bool(items))
                ctx.set(port.payload, items[0] if items else 0)
            for name in taken:
                ctx.set(getattr(split, name).ready, noise.random() >= share)
            for name, items in taken.items():
                port = getattr(split, name)
                if ctx.get(port.valid) and ctx.get(port.ready):
                    items.append(ctx.get(port.payload))
            for name, items in left.items():
                if items and ctx.get(getattr(split, name).ready):
                    del items[0]
            if not cycles and not any(left.values()):
                cycles.append(cycle + 1)
            await ctx.tick()

    simulator = Simulator(split)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    sums = [a + b for a, b in numbers]
    assert taken == {"sum": sums, "odd": [total for total in sums if total % 2]}
    if share == 0.0:
        assert cycles == [len(numbers)]
