from __future__ import annotations

from typing import Any

from amaranth.sim import Simulator

from hw.sam.fault import FaultRecorder
from hw.sam.memory_map import ErrorCause


def run(*cycles: dict[str, int]) -> list[tuple[int, ErrorCause, int]]:
    """Fault, cause and detail in each cycle of a recorder of 4 blocks with 3 cycles' patience."""
    recorder = FaultRecorder(4, 3)
    found = []

    async def bench(ctx: Any) -> None:
        for values in cycles:
            for name in ("watch", "faults", "offers", "moves", "clear"):
                ctx.set(getattr(recorder, name), values.get(name, 0))
            found.append(
                (ctx.get(recorder.fault), ctx.get(recorder.cause), ctx.get(recorder.detail))
            )
            await ctx.tick()

    simulator = Simulator(recorder)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


GOES, STANDS = {"watch": 1, "moves": 1}, {"watch": 1, "offers": 0b1010}
NONE = (0, ErrorCause.NONE, 0)


def test_the_lowest_block_counts():
    fault, after, cleared = run(GOES | {"faults": 0b1100}, {}, {"clear": 1})[0:3]
    assert fault[0] == 1
    assert after == (0, ErrorCause.FAULT, 2)
    assert cleared == after
    assert run(GOES | {"faults": 0b1100}, {"clear": 1}, {})[-1] == NONE


def test_what_is_not_watched_is_no_fault():
    assert run({"faults": 0b1111}, {}) == [NONE, NONE]


def test_standing_still_is_a_deadlock():
    found = run(GOES, STANDS, STANDS, STANDS, STANDS, {})
    assert [fault for fault, _, _ in found] == [0, 0, 0, 0, 1, 0]
    assert found[-1] == (0, ErrorCause.DEADLOCK, 1)


def test_any_movement_starts_the_wait_anew():
    assert run(*[STANDS, STANDS, STANDS, GOES] * 3, STANDS)[-1] == NONE
    assert run(*[STANDS] * 3, {}, *[STANDS] * 3)[-1] == NONE


def test_a_deadlock_in_which_no_block_offers_anything():
    assert run(*[{"watch": 1}] * 4, {})[-1] == (0, ErrorCause.DEADLOCK, 4)


def test_a_fault_comes_before_a_deadlock():
    assert run(*[STANDS] * 3, STANDS | {"faults": 0b1000}, {})[-1] == (0, ErrorCause.FAULT, 3)
