from __future__ import annotations

from typing import Any

import pytest

from gnarl.hw.dpu.issue import Issue
from tests.hw.dpu.simulate import simulate

RUN, DRAIN, LAST = (1, 0), (0, 0), (0, 1)


async def cycle(ctx: Any, issue: Issue, busy: int, halt: int = 0) -> tuple[int, int]:
    """``issue`` and ``finished`` in a cycle with these inputs."""
    ctx.set(issue.busy, busy)
    ctx.set(issue.halt, halt)
    seen = ctx.get(issue.issue), ctx.get(issue.finished)
    await ctx.tick()
    return seen


@pytest.mark.parametrize("drain_cycles", [2, 3, 33])
def test_a_run_from_start_to_finished(drain_cycles):
    issue = Issue(drain_cycles)

    async def process(ctx):
        for _ in range(2):
            assert await cycle(ctx, issue, busy=0) == (0, 0)
            for _ in range(5):
                assert await cycle(ctx, issue, busy=1) == RUN
            assert await cycle(ctx, issue, busy=1, halt=1) == RUN
            for _ in range(drain_cycles - 2):
                assert await cycle(ctx, issue, busy=1) == DRAIN
            assert await cycle(ctx, issue, busy=1) == LAST

    simulate(issue, process)


@pytest.mark.parametrize("drained", range(4))
def test_a_run_that_ends_early_leaves_the_next_one_whole(drained):
    issue = Issue(4)

    async def process(ctx):
        await cycle(ctx, issue, busy=1, halt=1)
        for _ in range(drained):
            await cycle(ctx, issue, busy=1)
        await cycle(ctx, issue, busy=0)
        assert [await cycle(ctx, issue, 1, halt) for halt in (0, 0, 1, 0, 0, 0)] == [
            RUN,
            RUN,
            RUN,
            DRAIN,
            DRAIN,
            LAST,
        ]

    simulate(issue, process)
