"""Who has main memory: the fetch of commands, or copies."""

from __future__ import annotations

import random
from typing import Any

from amaranth.sim import Simulator

from gnarl.hw.sram_compute.core.memory_turns import MemoryTurns

REQUESTS = 60


def test_requests_go_in_the_order_in_which_they_come_and_answers_back():
    """What is offered stays until it is taken."""
    chance = random.Random(1)
    turns = MemoryTurns(8)
    offered: list[tuple[int, int]] = []
    accepted: list[int] = []
    answers: dict[str, list[int]] = {"fetch": [], "copy": []}

    def asks(name: str, number: int) -> Any:
        async def ask(ctx: Any) -> None:
            request = getattr(turns, name).request
            for line in range(number, 2 * REQUESTS, 2):
                await ctx.tick().repeat(chance.choice((1, 1, 2, 9)))
                ctx.set(request.payload.line, line)
                ctx.set(request.valid, 1)
                offered.append((cycle[0], line))
                while not (await ctx.tick().sample(request.ready))[2]:
                    pass
                ctx.set(request.valid, 0)

        return ask

    def takes(name: str) -> Any:
        async def take(ctx: Any) -> None:
            response = getattr(turns, name).response
            while True:
                ctx.set(response.ready, chance.getrandbits(1))
                found = await ctx.tick().sample(response.valid, response.ready, response.payload)
                if found[2] and found[3]:
                    answers[name].append(found[4].data[0])

        return take

    cycle = [0]

    async def memory(ctx: Any) -> None:
        """Answers in order, with the line."""
        request, response = turns.down.request, turns.down.response
        waiting: list[tuple[int, int]] = []
        held = None
        while len(accepted) < REQUESTS * 2 or waiting:
            ctx.set(request.ready, chance.random() < 0.4)
            if waiting:
                ctx.set(response.payload.tag, waiting[0][1])
                ctx.set(response.payload.data[0], waiting[0][0])
            ctx.set(response.valid, bool(waiting))
            found = await ctx.tick().sample(
                request.valid, request.ready, request.payload, response.ready, turns.is_fetch
            )
            valid, ready, payload, taken, is_fetch = found[2:]
            cycle[0] += 1
            if waiting and taken:
                waiting.pop(0)
            if valid:
                assert held in (None, payload.line)
                assert is_fetch == (payload.line % 2 == 0) == payload.tag
                held = None if ready else payload.line
                if ready:
                    accepted.append(payload.line)
                    waiting.append((payload.line, payload.tag))
        ctx.set(response.valid, 0)
        await ctx.tick().repeat(2)

    simulator = Simulator(turns)
    simulator.add_clock(1e-6)
    simulator.add_testbench(memory)
    simulator.add_testbench(asks("fetch", 0))
    simulator.add_testbench(asks("copy", 1))
    for name in ("fetch", "copy"):
        simulator.add_testbench(takes(name), background=True)
    simulator.run()
    for place, name in enumerate(("fetch", "copy")):
        wanted = list(range(place, 2 * REQUESTS, 2))
        assert answers[name] == wanted
        assert [line for line in accepted if line % 2 == place] == wanted
    came = [line for _, line in sorted(offered, key=lambda each: (each[0], each[1] % 2))]
    late = [abs(came.index(line) - place) for place, line in enumerate(accepted)]
    assert max(late) <= 1
