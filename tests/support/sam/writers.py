"""Drives one writer of SAM in Amaranth's simulator: a stream of tokens in, arrays out."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.lib import wiring

from tests.support.machines.kept_simulators import simulator_of
from tests.support.sam.streams import width_of
from tests.support.sam.tokens import pack


def run_writer(
    block: wiring.Component,
    tokens: Sequence[int],
    arrays: Sequence[str] = (),
    counts: Sequence[str] = (),
    *,
    settings: Mapping[str, int] | None = None,
    stalls: float = 0.0,
    seed: int = 0,
    cycles: int = 10_000,
) -> dict[str, Any]:
    """The rows that the only input of ``block`` made it write to ``arrays`` until it was done, each
    a list of words, by name.

    Counts are given by name, too. ``stalls``: share of cycles in which the stream pauses, and in
    which each memory takes no write. Fails where rows don't follow each other, a write changes or
    is taken back while it waits, ``fault`` is set, or the block does not hold on to ``done``, and
    after ``cycles``. ``["cycles"]``: how many it took until all tokens were taken.
    """
    noise = random.Random(seed)
    simulator = simulator_of(block)
    block = simulator.component
    found: dict[str, Any] = {name: [] for name in arrays}
    source = block.crd if hasattr(block, "crd") else block.val

    async def bench(ctx: Any) -> None:
        left = list(tokens)
        offered = False
        waiting: dict[str, tuple[int, list[int]]] = {}
        for name, value in (settings or {}).items():
            ctx.set(getattr(block, name), value)
        for cycle in range(cycles):
            offered = bool(left) and (offered or noise.random() >= stalls)
            ctx.set(source.valid, offered)
            if offered:
                ctx.set(source.payload.as_value(), pack(left[0], width_of(source)))
            for name in arrays:
                ctx.set(getattr(block, f"mem_{name}").write.ready, noise.random() >= stalls)
            assert not ctx.get(block.done), f"done in cycle {cycle} with {left} left"
            assert not hasattr(block, "fault") or not ctx.get(block.fault), (
                f"fault in cycle {cycle}"
            )
            if offered and ctx.get(source.ready):
                del left[0]
                offered = False
            for name in arrays:
                write = getattr(block, f"mem_{name}").write
                payload = ctx.get(write.payload)
                request = payload.address, list(payload.data)
                assert waiting.pop(name, request) == request, f"{name} changed a write"
                if ctx.get(write.valid & write.ready):
                    assert payload.address == len(found[name]), f"{name} left a row out"
                    found[name].append(list(payload.data))
                elif ctx.get(write.valid):
                    waiting[name] = request
            await ctx.tick()
            if not left:
                assert not waiting, f"done without the writes {waiting}"
                found["cycles"] = cycle + 1
                break
        assert not left, f"not done after {cycles} cycles: {found}, left {left}"
        for _ in range(3):
            assert ctx.get(block.done)
            await ctx.tick()
        for name in counts:
            found[name] = ctx.get(getattr(block, name))

    simulator.run(bench)
    return found
