from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import signed
from amaranth.sim import Simulator

from gnarl.hw.lib.stream.bypass_queue import BypassQueue
from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.lib.verilog import to_verilog
from tests.hw.lib.stream.simulate import run

ITEMS = [(7 * place) % 31 - 15 for place in range(60)]
LATENCY = {Queue: 1, BypassQueue: 0}


@pytest.mark.parametrize("kind", LATENCY)
@pytest.mark.parametrize("depth", [2, 3, 8, 65])
def test_one_item_a_cycle_after_the_latency(kind, depth):
    taken = run(kind(signed(6), depth), ITEMS, 0.0, 0.0)
    assert taken == [(LATENCY[kind] + place, item) for place, item in enumerate(ITEMS)]


@pytest.mark.parametrize("kind", LATENCY)
@pytest.mark.parametrize("depth", [2, 5])
@pytest.mark.parametrize("pauses, stalls", [(0.6, 0.0), (0.0, 0.7), (0.5, 0.5), (0.2, 0.9)])
def test_pauses_and_stalls_lose_nothing_and_keep_the_order(kind, depth, pauses, stalls):
    taken = run(kind(signed(6), depth), ITEMS, pauses, stalls)
    assert [item for _, item in taken] == ITEMS


@pytest.mark.parametrize("kind", LATENCY)
@pytest.mark.parametrize("depth", [2, 5, 65])
def test_room_for_as_many_items_as_its_depth(kind, depth):
    queue = kind(8, depth)

    async def bench(ctx: Any) -> None:
        ctx.set(queue.i.valid, 1)
        for place in range(depth):
            ctx.set(queue.i.payload, 10 + place)
            assert ctx.get(queue.i.ready)
            await ctx.tick()
        assert not ctx.get(queue.i.ready)
        assert (ctx.get(queue.o.valid), ctx.get(queue.o.payload)) == (1, 10)

    simulator = Simulator(queue)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_long_queues_are_in_block_ram():
    assert "two_port_ram_63x6" in to_verilog(Queue(signed(6), 65), "queue")
    assert "ram" not in to_verilog(Queue(signed(6), 64), "queue")


def test_a_bypass_queue_shows_what_has_waited():
    queue = BypassQueue(8, 3)
    seen = []

    async def bench(ctx: Any) -> None:
        for item, ready in ((5, 0), (6, 0), (None, 1), (7, 1), (None, 1)):
            ctx.set(queue.i.valid, item is not None)
            ctx.set(queue.i.payload, item or 0)
            ctx.set(queue.o.ready, ready)
            level = ctx.get(queue.level)
            seen.append((level, ctx.get(queue.first) if level else None))
            await ctx.tick()

    simulator = Simulator(queue)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [(0, None), (1, 5), (2, 5), (1, 6), (1, 7)]
