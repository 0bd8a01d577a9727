"""An access unit in a simulator, between a memory and two queues."""

from __future__ import annotations

import functools
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from amaranth.lib.wiring import Component

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access.access_unit import WAITS, AccessUnit
from gnarl.hw.tmu.access_isa import MERGES
from gnarl.hw.tmu.access_program import AccessProgram
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.execute.values.output import Output
from tests.support.machines.kept_simulators import KeptSimulator
from tests.support.machines.verilated_bench import VerilatedBench

CONFIG = TmuConfig(
    layers=3,
    lanes=4,
    stream_words=256,
    requests=8,
    program_words=64,
    l1_bytes=1 << 10,
    l2_bytes=1 << 11,
    memory_bytes=1 << 14,
)


@dataclass
class Memory:
    """Answers requests for lines ``latency`` cycles later, or more where ``reorders``; is written
    by stores."""

    words: npt.NDArray[np.uint32]
    latency: int = 5
    reorders: float = 0.0
    pauses: float = 0.0
    waiting: list[tuple[int, int, int]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


@dataclass
class Result:
    """What came out, in how many cycles, of which so many had each of ``WAITS``; or the layer and
    stream of a fault, or the layer of bounds that decrease; or it waits for ever."""

    output: Output
    cycles: int
    fault: tuple[int, int] | None = None
    disorder: int | None = None
    is_stuck: bool = False
    waits: Counter[str] = field(default_factory=Counter)


_PATIENCE = 400
"""Cycles in which nothing moves behind which nothing will."""


def run(
    program: AccessProgram,
    memory: Memory,
    *,
    config: TmuConfig = CONFIG,
    seed: int = 0,
    takes: float = 1.0,
    room: int = 64,
    limit: int = 20000,
) -> Result:
    """Runs a program; in a share ``takes`` of cycles a consumer takes up to a vector of words."""
    rng = random.Random(seed)
    result = Result(Output(), 0)
    bench = _machine(config)
    unit: AccessUnit = bench.component

    async def process(ctx: Any) -> None:
        await _configure(ctx, unit, program, config)
        held = tokens_held = quiet = 0
        while result.cycles < limit:
            ctx.set(unit.room, room - held)
            ctx.set(unit.token_room, room - tokens_held)
            ctx.set(unit.token.ready, 1)
            _serve(ctx, unit, memory, result.cycles, rng)
            if ctx.get(unit.put):
                count = config.lanes if ctx.get(unit.put_vector) else 1
                result.output.words += [ctx.get(unit.put_data[place]) for place in range(count)]
                held += count
                assert held <= room
            if ctx.get(unit.token.valid):
                result.output.tokens.append(ctx.get(unit.token.payload))
                tokens_held += 1
                assert tokens_held <= room
            _store(ctx, unit, memory, rng)
            if faults := ctx.get(unit.faults):
                layer = faults.bit_length() - 1
                result.fault = layer, ctx.get(unit.faulty[layer])
                return
            if disorders := ctx.get(unit.disorders):
                result.disorder = disorders.bit_length() - 1
                return
            waits = ctx.get(unit.waits)
            result.waits.update(name for place, name in enumerate(WAITS) if waits >> place & 1)
            if ctx.get(unit.done):
                return
            if rng.random() < takes:
                held = max(0, held - config.lanes)
                tokens_held = max(0, tokens_held - 1)
            answered = ctx.get(unit.answer.valid) and ctx.get(unit.answer.ready)
            moves = (unit.put, unit.token.valid, unit.request.valid, unit.store.valid)
            quiet = 0 if answered or any(map(ctx.get, moves)) else quiet + 1
            if quiet > _PATIENCE:
                result.is_stuck = True
                return
            await ctx.tick()
            if answered:
                ctx.set(unit.answer.valid, 0)
            result.cycles += 1
        raise AssertionError(f"not done in {limit} cycles: {result.output}")

    bench.run(process)
    return result


@functools.cache
def _machine(config: TmuConfig) -> VerilatedBench | KeptSimulator:
    """On Verilator where many programs are run, which is worth a build."""
    unit = AccessUnit(
        config.layers,
        config.lanes,
        config.streams,
        config.stream_words,
        config.requests,
        config.address_bits,
        config.pc_bits,
    )
    return VerilatedBench(unit) if config == CONFIG else KeptSimulator(unit)


async def _configure(ctx: Any, unit: Component, program: AccessProgram, config: TmuConfig) -> None:
    rows = program.rows(config)

    def bits(row: npt.NDArray[np.uint32]) -> int:
        return sum(int(word) << 32 * place for place, word in enumerate(row))

    if any(layer.mode in MERGES for layer in program.layers):
        await _write_words(ctx, unit.unit_words, rows["units"])
        await _write_words(ctx, unit.stream_words, rows["streams"])
    for layer in range(config.layers):
        first = layer * config.lanes
        ctx.set(unit.layers[layer].as_value(), bits(rows["layers"][layer]))
        ctx.set(unit.units[layer].as_value(), bits(rows["units"][first]))
        for number in range(config.streams):
            row = rows["streams"][first * config.streams + number]
            ctx.set(unit.descriptors[layer][number].as_value(), bits(row))
    for number, row in enumerate(rows["events"]):
        ctx.set(unit.events[number].as_value(), bits(row))


async def _write_words(ctx: Any, port: Any, rows: npt.NDArray[np.uint32]) -> None:
    """All but rows of 0, which they are."""
    ctx.set(port.enable, 1)
    for row in rows.any(axis=1).nonzero()[0]:
        for word, value in enumerate(rows[row]):
            ctx.set(port.row, int(row))
            ctx.set(port.word, word)
            ctx.set(port.data, int(value))
            await ctx.tick()
    ctx.set(port.enable, 0)


def _store(ctx: Any, unit: Component, memory: Memory, rng: random.Random) -> None:
    """Takes a store, if not in a pause."""
    ready = rng.random() >= memory.pauses
    ctx.set(unit.store.ready, ready)
    if ready and ctx.get(unit.store.valid):
        address, lanes = ctx.get(unit.store.payload.address), ctx.get(unit.store.payload.lanes)
        for lane in range(len(unit.store.payload.lanes)):
            if lanes >> lane & 1:
                memory.words[address + lane] = ctx.get(unit.store.payload.data[lane])


def _serve(ctx: Any, unit: Component, memory: Memory, cycle: int, rng: random.Random) -> None:
    """Takes a request and offers an answer, which stays the same until it is taken."""
    request, answer = unit.request, unit.answer
    ready = rng.random() >= memory.pauses
    ctx.set(request.ready, ready)
    if ready and ctx.get(request.valid):
        line, tag = ctx.get(request.payload.line), ctx.get(request.payload.tag)
        memory.lines.append(line)
        memory.waiting.append((cycle + memory.latency, line, tag))
    due = [each for each in memory.waiting if each[0] <= cycle]
    if due and not ctx.get(answer.valid) and rng.random() >= memory.pauses:
        chosen = rng.choice(due) if rng.random() < memory.reorders else due[0]
        memory.waiting.remove(chosen)
        _, line, tag = chosen
        ctx.set(answer.payload.tag, tag)
        for place in range(LINE_WORDS):
            ctx.set(answer.payload.data[place], int(memory.words[line * LINE_WORDS + place]))
        ctx.set(answer.valid, 1)
