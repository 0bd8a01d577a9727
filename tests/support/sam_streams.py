"""Drives one SAM block in Amaranth's simulator: streams of tokens in, streams of tokens out."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.lib import wiring
from amaranth.sim import Simulator

from hw.sam.token import DONE, pack, unpack


def width_of(stream: Any) -> int:
    """Bits of payload of a stream of tokens."""
    return len(stream.payload.payload)


def run_block(
    block: wiring.Component,
    inputs: Mapping[str, Sequence[int]],
    outputs: Sequence[str],
    *,
    settings: Mapping[str, int] | None = None,
    stalls: float = 0.0,
    seed: int = 0,
    cycles: int = 100_000,
) -> dict[str, list[int]]:
    """Tokens of ``outputs`` by name, up to their done token each.

    ``inputs``: tokens by name, integers of ``hw.sam.token``; ``settings``: values of other inputs.
    ``stalls``: share of cycles in which each stream pauses. Fails where an output changes or takes
    back what it offers, where ``fault`` is set, and after ``cycles``. ``["cycles"]``: how many it
    took until the last output was done, in a list of one.
    """
    noise = random.Random(seed)
    collected: dict[str, list[int]] = {name: [] for name in outputs}

    async def bench(ctx: Any) -> None:
        left = {name: list(tokens) for name, tokens in inputs.items()}
        offered = dict.fromkeys(left, False)
        waiting: dict[str, int] = {}
        for name, value in (settings or {}).items():
            ctx.set(getattr(block, name), value)
        for cycle in range(cycles):
            for name, tokens in left.items():
                stream = getattr(block, name)
                offered[name] = offered[name] or (bool(tokens) and noise.random() >= stalls)
                ctx.set(stream.valid, offered[name])
                if offered[name]:
                    bits = pack(tokens[0], width_of(stream))
                    ctx.set(stream.payload.as_value(), bits)
            for name in outputs:
                ctx.set(getattr(block, name).ready, noise.random() >= stalls)
            for name, tokens in left.items():
                if offered[name] and ctx.get(getattr(block, name).ready):
                    del tokens[0]
                    offered[name] = False
            for name in outputs:
                stream = getattr(block, name)
                valid = ctx.get(stream.valid)
                token = unpack(ctx.get(stream.payload.as_value()), width_of(stream))
                if name in waiting:
                    assert valid and token == waiting[name], f"{name} took back {waiting[name]:#x}"
                    del waiting[name]
                if valid and ctx.get(stream.ready):
                    collected[name].append(token)
                elif valid:
                    waiting[name] = token
            if hasattr(block, "fault"):
                assert not ctx.get(block.fault), f"fault in cycle {cycle}"
            await ctx.tick()
            if all(tokens and tokens[-1] == DONE for tokens in collected.values()):
                collected["cycles"] = [cycle + 1]
                return
        raise AssertionError(f"not done after {cycles} cycles: {collected}, left {left}")

    simulator = Simulator(block)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return collected
