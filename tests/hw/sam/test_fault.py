from __future__ import annotations

from typing import Any

from amaranth.sim import Simulator

from gnarl.hw.sam.fault import fault_recorder
from gnarl.hw.sam.memory_map import ErrorCause


def run(*cycles: dict[str, int]) -> list[tuple[int, ErrorCause, int]]:
    """Fault and cause of a recorder of 4 units in each cycle, and the detail a cycle later."""
    recorder = fault_recorder(4)
    found = []

    async def bench(ctx: Any) -> None:
        for values in cycles:
            ctx.set(recorder.watch, values.get("watch", 0))
            ctx.set(recorder.clear, values.get("clear", 0))
            ctx.set(
                recorder.faults,
                {name: values.get(name, 0) for name in ("faults", "stuck", "offers")},
            )
            fault, cause = ctx.get(recorder.fault), ctx.get(recorder.cause)
            await ctx.tick()
            found.append((fault, cause, ctx.get(recorder.detail)))

    simulator = Simulator(recorder)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


GOES, STUCK = {"watch": 1, "offers": 0b0001}, {"watch": 1, "stuck": 1, "offers": 0b1010}
NONE = (0, ErrorCause.NONE, 0)


def test_the_lowest_block_counts():
    fault, after, cleared = run(GOES | {"faults": 0b1100}, {}, {"clear": 1})
    assert fault[0] == 1
    assert after == (0, ErrorCause.FAULT, 2)
    assert cleared == (0, ErrorCause.FAULT, 0)
    assert run(GOES | {"faults": 0b1100}, {"clear": 1}, {})[-1] == NONE


def test_what_is_not_watched_is_no_fault():
    assert run({"faults": 0b1111, "stuck": 1}, {}) == [NONE, NONE]


def test_offers_alone_are_no_fault():
    assert run(GOES, GOES, {}) == [NONE] * 3


def test_a_deadlock_names_the_first_block_that_offers():
    assert run(GOES, STUCK, {}, {"faults": 0b1111}) == [
        NONE,
        (1, ErrorCause.NONE, 0),
        (0, ErrorCause.DEADLOCK, 1),
        (0, ErrorCause.DEADLOCK, 1),
    ]


def test_a_deadlock_in_which_no_block_offers_anything():
    assert run({"watch": 1, "stuck": 1}, {})[-1] == (0, ErrorCause.DEADLOCK, 4)


def test_a_fault_comes_before_a_deadlock():
    assert run(STUCK | {"faults": 0b1000}, {})[-1] == (0, ErrorCause.FAULT, 3)
