from __future__ import annotations

from typing import Any

import pytest

from hw.dpu.control import Control
from hw.dpu.isa import COUNTERS
from tests.hw.dpu.simulate import simulate


async def cycle(ctx: Any, control: Control, *high: str) -> tuple[int, int, int]:
    """One cycle with these inputs high: ``busy``, ``issue`` and ``done`` in it."""
    for name in ("start", "stop", "clear", "error", "fault", "halt"):
        ctx.set(getattr(control, name), name in high)
    ctx.set(control.issued, {name: name in high for name in COUNTERS})
    seen = ctx.get(control.busy), ctx.get(control.issue), ctx.get(control.done)
    await ctx.tick()
    return seen


def state(ctx: Any, control: Control) -> tuple[int, int, int]:
    return ctx.get(control.busy), ctx.get(control.done), ctx.get(control.cycles)


IDLE, RUN, DRAIN, DONE = (0, 0, 0), (1, 1, 0), (1, 0, 0), (0, 0, 1)


@pytest.mark.parametrize("drain_cycles", [2, 3, 33])
def test_a_run_from_start_to_done(drain_cycles):
    control = Control(drain_cycles)

    async def process(ctx):
        assert await cycle(ctx, control) == IDLE
        for _ in range(2):
            await cycle(ctx, control, "start")
            for _ in range(5):
                assert await cycle(ctx, control, "nop") == RUN
            assert await cycle(ctx, control, "halt") == RUN
            for _ in range(drain_cycles - 1):
                assert await cycle(ctx, control) == DRAIN
            assert await cycle(ctx, control) == DONE
            assert await cycle(ctx, control) == DONE
            assert ctx.get(control.cycles) == 5 + drain_cycles
            assert ctx.get(control.counters.nop) == 5

    simulate(control, process)


def test_begin_is_a_start_that_counts():
    control = Control(2)

    async def process(ctx):
        async def begins(*high: str) -> int:
            for name in ("start", "stop", "clear", "error"):
                ctx.set(getattr(control, name), name in high)
            found = ctx.get(control.begin)
            await ctx.tick()
            return found

        assert await begins("start", "stop") == 0
        assert await begins("start", "clear") == 0
        assert await begins("start", "error") == 0
        assert await begins() == 0
        assert state(ctx, control) == (0, 0, 0)
        assert await begins("start") == 1
        assert state(ctx, control) == (1, 0, 0)
        assert await begins("start") == 0

    simulate(control, process)


@pytest.mark.parametrize("when", ["run", "halt", "drain", "last"])
@pytest.mark.parametrize("how", ["stop", "fault", "clear"])
def test_an_early_end_at_any_time_leaves_nothing_done(how, when):
    control = Control(4)

    async def process(ctx):
        await cycle(ctx, control, "start")
        await cycle(ctx, control)
        if when == "halt":
            await cycle(ctx, control, "halt", how)
        elif when == "run":
            await cycle(ctx, control, how)
        else:
            await cycle(ctx, control, "halt")
            for _ in range(2 if when == "last" else 0):
                assert await cycle(ctx, control) == DRAIN
            await cycle(ctx, control, how)
        busy = {"run": 2, "halt": 2, "drain": 3, "last": 5}[when]
        for _ in range(6):
            assert state(ctx, control) == (0, 0, 0 if how == "clear" else busy)
            await cycle(ctx, control)

    simulate(control, process)


def test_counters_count_what_issues_and_start_anew():
    control = Control(2)

    async def process(ctx):
        for _ in range(2):
            await cycle(ctx, control, "start")
            for high in [["exec"], ["exec", "load"], ["exec", "store"], ["copy"], ["nop"], []]:
                await cycle(ctx, control, *high)
            found = {name: ctx.get(getattr(control.counters, name)) for name in COUNTERS}
            assert found == {"exec": 3, "copy": 1, "load": 1, "store": 1, "nop": 1}
            await cycle(ctx, control, "stop")
        await cycle(ctx, control, "clear")
        assert ctx.get(control.counters.as_value()) == 0

    simulate(control, process)


def test_stop_and_fault_mean_nothing_to_an_idle_machine():
    control = Control(2)

    async def process(ctx):
        for name in ("start", "halt"):
            await cycle(ctx, control, name)
        await cycle(ctx, control)
        assert state(ctx, control) == (0, 1, 2)
        await cycle(ctx, control, "stop")
        await cycle(ctx, control, "fault")
        assert state(ctx, control) == (0, 1, 2)
        await cycle(ctx, control, "clear")
        assert state(ctx, control) == (0, 0, 0)

    simulate(control, process)
