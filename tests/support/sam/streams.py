"""Drives one SAM block in Amaranth's simulator: streams of tokens in, streams of tokens out."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from amaranth.lib import wiring

from gnarl.hw.sam.token import DONE
from tests.support.machines.kept_simulators import simulator_of
from tests.support.sam.tokens import pack, unpack


def width_of(stream: Any) -> int:
    """Bits of payload of a stream of tokens."""
    return len(stream.payload.payload)


IN_FLIGHT = 2
"""Requests that a memory takes before its first answer is taken, beyond those its latency needs."""


class ReadMemory:
    """Answers a block's ``ReadPort``: ``rows`` of words, ``latency`` cycles after a request.

    ``stalls``: share of cycles in which it takes no request, or keeps an answer to itself. Beyond
    ``rows`` it answers with ones. Fails where the block changes or takes back a request.
    """

    def __init__(self, port: Any, rows: Sequence[Sequence[int]], latency: int) -> None:
        self._port = port
        self._rows = [self._bits(row) for row in rows]
        self._latency = latency
        self._under_way: deque[tuple[int, int]] = deque()
        self._offers = False
        self._waiting: int | None = None
        self.reads = 0

    def _bits(self, row: Sequence[int]) -> int:
        width = len(self._port.data.payload[0])
        return sum(word << place * width for place, word in enumerate(row))

    def begin_cycle(self, ctx: Any, cycle: int, noise: random.Random, stalls: float) -> None:
        address, answer = self._port.address, self._port.data
        is_there = bool(self._under_way) and self._under_way[0][0] <= cycle
        self._offers = is_there and (self._offers or noise.random() >= stalls)
        ctx.set(answer.valid, self._offers)
        bits = self._under_way[0][1] if self._offers else noise.getrandbits(8)
        ctx.set(answer.payload.as_value(), bits)
        has_room = len(self._under_way) < self._latency + IN_FLIGHT - 1
        ctx.set(address.ready, has_room and noise.random() >= stalls)

    def end_cycle(self, ctx: Any, cycle: int) -> None:
        address, answer = self._port.address, self._port.data
        if self._offers and ctx.get(answer.ready):
            self._under_way.popleft()
            self._offers = False
        row = ctx.get(address.payload) if ctx.get(address.valid) else None
        assert self._waiting in (None, row), f"row {self._waiting} became {row}"
        self._waiting = row
        if row is not None and ctx.get(address.ready):
            bits = self._rows[row] if row < len(self._rows) else -1
            self._under_way.append((cycle + self._latency, bits))
            self._waiting = None
            self.reads += 1


def run_block(
    block: wiring.Component,
    inputs: Mapping[str, Sequence[int]],
    outputs: Sequence[str],
    *,
    settings: Mapping[str, int] | None = None,
    memories: Mapping[str, Sequence[Sequence[int]]] | None = None,
    latency: int = 1,
    drive: Callable[[Mapping[str, list[int]]], Mapping[str, Any]] | None = None,
    stalls: float = 0.0,
    seed: int = 0,
    cycles: int = 100_000,
) -> dict[str, list[int]]:
    """Tokens of ``outputs`` by name, up to their done token each.

    ``inputs``: tokens by name, integers of ``gnarl.hw.sam.token``; ``settings``: values of other
    inputs. ``memories``: rows of words by name of a ``ReadPort``, which answers ``latency`` cycles
    after a request. ``drive``: asked in every cycle for values of other inputs, given the tokens so
    far. ``stalls``: share of cycles in which each stream pauses. Fails where an output changes or
    takes back what it offers, where ``fault`` is set, and after ``cycles``. ``["cycles"]``: how
    many it took until the last output was done, in a list of one; ``["reads_NAME"]`` likewise, how
    many rows were read.
    """
    noise = random.Random(seed)
    simulator = simulator_of(block)
    block = simulator.component
    readers = {
        name: ReadMemory(getattr(block, name), rows, latency)
        for name, rows in (memories or {}).items()
    }
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
            for reader in readers.values():
                reader.begin_cycle(ctx, cycle, noise, stalls)
            for name, value in (drive(collected) if drive else {}).items():
                ctx.set(getattr(block, name), value)
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
            for reader in readers.values():
                reader.end_cycle(ctx, cycle)
            if hasattr(block, "fault"):
                assert not ctx.get(block.fault), f"fault in cycle {cycle}"
            await ctx.tick()
            if all(tokens and tokens[-1] == DONE for tokens in collected.values()):
                collected["cycles"] = [cycle + 1]
                for name, reader in readers.items():
                    collected[f"reads_{name}"] = [reader.reads]
                return
        raise AssertionError(f"not done after {cycles} cycles: {collected}, left {left}")

    simulator.run(bench)
    return collected
