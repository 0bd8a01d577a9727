"""Amaranth's own simulator: slow to run, nothing to build."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any

from amaranth.lib import wiring
from amaranth.sim import Simulator


def simulate(component: wiring.Component, process: Callable[[Any], Awaitable[None]]) -> None:
    """Runs a testbench, ``async def process(context)``, on a component with one clock."""
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


def simulate_combinational(
    component: wiring.Component, process: Callable[[Any], Awaitable[None]]
) -> None:
    """As ``simulate``, for a component without a clock."""
    simulator = Simulator(component)
    simulator.add_testbench(process)
    simulator.run()


def seeded(seed: int | None = None) -> random.Random:
    """Random numbers whose seed is printed, so that a failure can be repeated with it."""
    seed = random.randrange(1 << 32) if seed is None else seed
    print(f"seed {seed}")
    return random.Random(seed)
