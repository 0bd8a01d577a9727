"""A memory of lines: what it holds, when it answers, and what its channel carries."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from hw.lib.lines.line_memory import LEAST_LATENCY, LineMemory
from hw.lib.memory_map import Window
from hw.lib.verilog import to_verilog
from sw.runtime.verilate import lint

LINES, WORDS = 8, 4
WINDOW = Window("memory", LINES, WORDS)

Request = tuple[int, int, list[int]]
"""Line, words that are written, and their data."""


def drive(
    requests: list[Request],
    latency: int,
    words_per_cycle: int = 1,
    gives: float = 1.0,
    takes: float = 1.0,
) -> tuple[list[int], list[tuple[int, int, list[int]]]]:
    """The cycle in which each request is taken; and of each answer cycle, tag and words.

    Line n holds 10 n and what follows at first, from the host. Tags count the requests.
    """
    rng = random.Random(len(requests))
    memory = LineMemory(WINDOW, words_per_cycle, latency, tag_bits=8)
    simulator = Simulator(memory)
    simulator.add_clock(1e-6)
    taken: list[int] = []
    answers: list[tuple[int, int, list[int]]] = []

    async def testbench(ctx: Any) -> None:
        for line in range(LINES):
            for lane in range(WORDS):
                ctx.set(memory.host.row, line)
                ctx.set(memory.host.lane, lane)
                ctx.set(memory.host.write_data, 10 * line + lane)
                ctx.set(memory.host.write_enable, 1)
                await ctx.tick()
        ctx.set(memory.host.write_enable, 0)
        ctx.set(memory.busy, 1)
        request, answer = memory.port.request, memory.port.answer
        held = None
        cycle = 0
        while not (len(taken) == len(requests) and ctx.get(memory.idle)):
            offers = len(taken) < len(requests) and (ctx.get(request.valid) or rng.random() < gives)
            ctx.set(request.valid, offers)
            if offers:
                line, write, data = requests[len(taken)]
                words = {"line": line, "tag": len(taken), "write": write, "data": data}
                ctx.set(request.payload, words)
            ctx.set(answer.ready, rng.random() < takes)
            if ctx.get(answer.valid):
                payload = ctx.get(answer.payload)
                shown = payload.tag, list(payload.data)
                assert held is None or held == shown
                held = None if ctx.get(answer.ready) else shown
                if held is None:
                    answers.append((cycle, *shown))
            is_taken = offers and ctx.get(request.ready)
            await ctx.tick()
            if is_taken:
                taken.append(cycle)
                ctx.set(request.valid, 0)
            cycle += 1

    simulator.add_testbench(testbench)
    simulator.run()
    return taken, answers


def expected(requests: list[Request]) -> list[tuple[int, list[int]]]:
    lines = [[10 * line + lane for lane in range(WORDS)] for line in range(LINES)]
    found = []
    for tag, (line, write, data) in enumerate(requests):
        if not write:
            found.append((tag, list(lines[line])))
        for lane in range(WORDS):
            if write >> lane & 1:
                lines[line][lane] = data[lane]
    return found


@settings(max_examples=15, deadline=None)
@given(
    requests=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from([0, 0, 1, 6, 15]),
            st.lists(st.integers(0, 2**32 - 1), min_size=WORDS, max_size=WORDS),
        ),
        max_size=40,
    ),
    latency=st.integers(LEAST_LATENCY, 12),
    words_per_cycle=st.sampled_from([1, 2, 4]),
    gives=st.sampled_from([0.4, 1.0]),
    takes=st.sampled_from([0.3, 1.0]),
)
def test_reads_see_the_writes_before_them(requests, latency, words_per_cycle, gives, takes):
    _, answers = drive(requests, latency, words_per_cycle, gives, takes)
    assert [(tag, words) for _, tag, words in answers] == expected(requests)


READ: Request = (3, 0, [0] * WORDS)


@pytest.mark.parametrize("latency", [LEAST_LATENCY, 5, 17])
@pytest.mark.parametrize("words_per_cycle, cycles", [(4, 1), (2, 2), (1, 4)])
def test_reads_take_their_latency_and_fill_the_channel(latency, words_per_cycle, cycles):
    taken, answers = drive([READ] * 20, latency, words_per_cycle)
    assert taken == list(range(0, 20 * cycles, cycles))
    assert [cycle for cycle, _, _ in answers] == [start + latency for start in taken]


def test_writes_hold_the_channel_for_the_pieces_they_touch():
    writes = [(0, mask, [1] * WORDS) for mask in (0b1111, 0b0001, 0b0110, 0b1100, 0b0001)]
    taken, _ = drive(writes, LEAST_LATENCY, words_per_cycle=2)
    assert taken == [0, 2, 3, 5, 6]


def test_it_is_idle_when_the_last_write_is_there():
    """``drive`` ends when it is idle: a read behind a write of four pieces has come by then."""
    taken, answers = drive([(1, 15, [7, 8, 9, 10]), (1, 0, [0] * WORDS)], 6)
    assert taken == [0, 4]
    assert answers == [(10, 1, [7, 8, 9, 10])]


def test_lint_finds_nothing():
    memory = LineMemory(Window("memory", 64, 16), 4, 100, tag_bits=6)
    assert lint(to_verilog(memory, "memory"), "memory") == []
