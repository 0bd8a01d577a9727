from __future__ import annotations

from typing import Any

from amaranth.sim import Simulator

from hw.sam.control import Control

OUTPUTS = ("busy", "done", "reset", "cycles")


def run(*inputs: str) -> list[tuple[int, ...]]:
    """``OUTPUTS`` in each cycle, for the inputs that are set in it, as words."""
    control = Control()
    found = []

    async def bench(ctx: Any) -> None:
        for words in inputs:
            for name in ("start", "stop", "clear", "error", "fault", "finished"):
                ctx.set(getattr(control, name), name in words.split())
            found.append(tuple(ctx.get(getattr(control, name)) for name in OUTPUTS))
            await ctx.tick()

    simulator = Simulator(control)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def test_a_run_counts_the_cycles_until_all_is_finished():
    assert run("", "start", "", "", "", "finished", "finished", "finished") == [
        (0, 0, 1, 0),
        (0, 0, 1, 0),
        (1, 0, 0, 0),
        (1, 0, 0, 1),
        (1, 0, 0, 2),
        (1, 0, 0, 3),
        (0, 1, 0, 3),
        (0, 1, 0, 3),
    ]


def test_the_next_start_resets_what_has_finished():
    *_, last, start, after = run("start", "", "finished", "finished", "start finished", "")
    assert (last, start, after) == ((0, 1, 0, 1), (0, 1, 1, 1), (1, 0, 0, 0))


def test_stop_and_fault_end_a_run_without_done():
    for word in ("stop", "fault", "stop finished", "fault finished"):
        assert run("start", "", word, "")[-1][:3] == (0, 0, 1)


def test_clear_forgets():
    assert run("start", "", "clear", "")[-1] == (0, 0, 1, 0)
    assert run("start", "", "finished", "clear finished", "")[-1] == (0, 0, 1, 0)


def test_a_start_that_does_not_count():
    for word in ("start error", "start stop", "start clear"):
        assert run(word, "")[-1] == (0, 0, 1, 0)
    assert run("start", "", "start", "")[-1] == (1, 0, 0, 2)
