from __future__ import annotations

from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.lib.run_control import RunControl

INPUTS = ("start", "stop", "clear", "error", "fault", "finished", "works")
OUTPUTS = ("begin", "busy", "done", "cycles")


def run(*inputs: str) -> list[tuple[int, ...]]:
    """``OUTPUTS`` in each cycle, for the inputs that are set in it, as words."""
    control = RunControl()
    found = []

    async def bench(ctx: Any) -> None:
        for words in inputs:
            for name in INPUTS:
                ctx.set(getattr(control, name), name in words.split())
            found.append(tuple(ctx.get(getattr(control, name)) for name in OUTPUTS))
            await ctx.tick()

    simulator = Simulator(control)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def test_a_run_counts_the_cycles_that_work():
    assert run("", "start", "works", "works", "", "works finished", "works", "finished") == [
        (0, 0, 0, 0),
        (1, 0, 0, 0),
        (0, 1, 0, 0),
        (0, 1, 0, 1),
        (0, 1, 0, 2),
        (0, 1, 0, 2),
        (0, 0, 1, 3),
        (0, 0, 1, 3),
    ]


def test_the_next_start_forgets_that_the_last_run_is_done():
    *_, last, start, after = run("start", "works", "finished", "", "start", "")
    assert (last, start, after) == ((0, 0, 1, 1), (1, 0, 1, 1), (0, 1, 0, 0))


@pytest.mark.parametrize("how", ["stop", "fault", "clear"])
@pytest.mark.parametrize("when", ["", "finished"])
def test_an_early_end_leaves_nothing_done(how, when):
    cycles = 0 if how == "clear" else 2
    found = run("start", "works", f"works {how} {when}", "finished", "")
    assert found[-2:] == [(0, 0, 0, cycles)] * 2


def test_stop_and_fault_are_no_ops_while_idle():
    found = run("start", "works", "finished", "stop", "fault", "finished", "clear", "")
    assert found[-2:] == [(0, 0, 1, 1), (0, 0, 0, 0)]


@pytest.mark.parametrize("word", ["error", "stop", "clear"])
def test_a_start_that_does_not_count(word):
    assert run(f"start {word}", "")[-2:] == [(0, 0, 0, 0)] * 2


def test_a_start_in_a_run_does_not_count():
    assert run("start", "works", "start works", "")[-2:] == [(0, 1, 0, 1), (0, 1, 0, 2)]
