from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from amaranth.sim import Simulator

from gnarl.hw.lib.machine.memory_map import NO_LIMIT
from gnarl.hw.lib.machine.run_control import RunControl

INPUTS = ("start", "stop", "clear", "error", "fault", "finished", "works")
OUTPUTS = ("begin", "busy", "done", "cycles")


def run(
    *inputs: str, limit: int = NO_LIMIT, limit_bits: int = 48, outputs: Sequence[str] = OUTPUTS
) -> list[tuple[int, ...]]:
    """``outputs`` in each cycle, for the inputs that are set in it, as words."""
    control = RunControl(limit_bits=limit_bits)
    found = []

    async def bench(ctx: Any) -> None:
        ctx.set(control.limit, min(limit, (1 << limit_bits) - 1))
        for words in inputs:
            for name in INPUTS:
                ctx.set(getattr(control, name), name in words.split())
            found.append(tuple(ctx.get(getattr(control, name)) for name in outputs))
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


def ends(limit: int, *inputs: str, limit_bits: int = 48) -> list[tuple[int, ...]]:
    """Whether a run is busy, done, and at its limit, and its cycles, at each of ``inputs``."""
    names = ("busy", "done", "expired", "cycles")
    return run("start", *inputs, limit=limit, limit_bits=limit_bits, outputs=names)[1:]


@pytest.mark.parametrize("limit_bits", [3, 20, 32, 33, 48, 64])
def test_a_run_of_as_many_cycles_as_its_limit_ends_well(limit_bits):
    found = ends(3, "works", "", "works", "works finished", "", limit_bits=limit_bits)
    assert found[-1] == (0, 1, 0, 3)


@pytest.mark.parametrize("limit_bits", [3, 20, 32, 33, 48, 64])
@pytest.mark.parametrize("last", ["works", "works finished"])
def test_a_run_of_one_more_ends_at_its_limit(limit_bits, last):
    found = ends(3, *["works"] * 3, "", last, "", limit_bits=limit_bits)
    assert found[-3:] == [(1, 0, 0, 3), (1, 0, 0, 3), (0, 0, 1, 4)]


def test_what_ends_without_a_cycle_that_counts_is_within_the_limit():
    assert ends(2, "works", "works", "finished", "")[-1] == (0, 1, 0, 2)


@pytest.mark.parametrize("how", ["stop", "fault"])
def test_a_stop_and_a_fault_come_before_the_limit(how):
    assert ends(1, "works", f"works {how}", "")[-1] == (0, 0, 0, 2)


def test_the_limit_holds_until_clear():
    found = ends(1, "works", "works", "works", "error start", "works", "clear", "", "start", "")
    assert [each[2] for each in found] == [0, 0, 1, 1, 1, 1, 0, 0, 0]
    assert found[-1] == (1, 0, 0, 0)


def test_each_run_has_the_whole_limit():
    once = ("works", "works", "works finished", "start")
    found = ends(3, *once, *once, "")
    assert [each[:3] for each in found[3::4]] == [(0, 1, 0), (0, 1, 0)]


def test_all_ones_are_cycles_too():
    assert ends(7, *["works"] * 8, limit_bits=3)[-1][:3] == (1, 0, 0)
    assert ends(7, *["works"] * 9, limit_bits=3)[-1][:3] == (0, 0, 1)


@pytest.mark.parametrize("limit", [8, 9, 63, 64])
def test_long_runs(limit):
    found = ends(limit, *["works"] * (limit + 2))
    assert [each[2] for each in found] == [0] * (limit + 1) + [1]
