from __future__ import annotations

from typing import Any

from amaranth.sim import Simulator

from gnarl.hw.lib.machine.watchdog import Watchdog

GOES, STANDS, IDLE = (1, 1), (1, 0), (0, 0)


def stuck(*cycles: tuple[int, int]) -> list[int]:
    """``stuck`` in each cycle with these ``watch`` and ``moves``, with 3 cycles' patience."""
    watchdog = Watchdog(3)
    found = []

    async def bench(ctx: Any) -> None:
        for watch, moves in cycles:
            ctx.set(watchdog.watch, watch)
            ctx.set(watchdog.moves, moves)
            found.append(ctx.get(watchdog.stuck))
            await ctx.tick()

    simulator = Simulator(watchdog)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def test_standing_still_too_long():
    assert stuck(GOES, STANDS, STANDS, STANDS, STANDS) == [0, 0, 0, 0, 1]


def test_any_movement_starts_the_wait_again():
    assert not any(stuck(*[STANDS, STANDS, STANDS, GOES] * 3, STANDS))


def test_the_end_of_a_run_starts_the_wait_again():
    assert not any(stuck(*[STANDS] * 3, IDLE, *[STANDS] * 3))
