"""Drives the two ends of a component with streams ``i`` and ``o``, of plain numbers."""

from __future__ import annotations

import random
from typing import Any

from amaranth.sim import Simulator


def run(component: Any, items: list[int], pauses: float, stalls: float) -> list[tuple[int, int]]:
    """The cycle in which each item was taken from ``o``, and the item.

    ``i`` offers nothing, and ``o`` is not ready, in these shares of cycles. What is offered must
    stay until it is taken.
    """
    noise = random.Random(f"{pauses} {stalls}")
    taken: list[tuple[int, int]] = []

    async def bench(ctx: Any) -> None:
        left = list(items)
        i, o = component.i, component.o
        offered = waits = None
        cycle = after = 0
        while after < 10:  # nothing more may come
            if offered is None and left and noise.random() >= pauses:
                offered = left.pop(0)
            ctx.set(i.valid, offered is not None)
            ctx.set(i.payload, -1 if offered is None else offered)
            ctx.set(o.ready, noise.random() >= stalls)
            seen = ctx.get(o.payload) if ctx.get(o.valid) else None
            if waits is not None:
                assert seen == waits
            waits = None
            if seen is not None and ctx.get(o.ready):
                taken.append((cycle, seen))
            else:
                waits = seen
            if ctx.get(i.valid) and ctx.get(i.ready):
                offered = None
            await ctx.tick()
            cycle += 1
            after += len(taken) >= len(items)
            assert cycle < 40 * len(items) + 40

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return taken
