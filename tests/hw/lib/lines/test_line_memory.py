from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.lines.line_memory import LineMemory
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.verilate import lint
from tests.hw.lib.lines.drive import Request, Traffic, drive, meaning

LINES, WORDS = 8, 4


def line_memory(words_per_cycle: int = 2, latency: int = 6) -> LineMemory:
    return LineMemory(Window("lines", LINES, WORDS), words_per_cycle, latency, tag_bits=8)


def simulate(design: Any, bench: Any) -> None:
    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def run(memory: LineMemory, requests: list[Request], **settings: Any) -> Traffic:
    found = []

    async def bench(ctx: Any) -> None:
        ctx.set(memory.busy, 1)
        found.append(await drive(ctx, memory.port, requests, **settings))

    simulate(memory, bench)
    return found[0]


def fill(value: int = 0) -> list[Request]:
    """A write to each line."""
    return [Request(line, 0b1111, (value + line,)) for line in range(LINES)]


@pytest.mark.parametrize("latency", [2, 3, 4, 7, 20])
@pytest.mark.parametrize("words_per_cycle", [1, 2, 4])
def test_reads_fill_the_channel_and_answers_come_after_the_latency(words_per_cycle, latency):
    traffic = run(line_memory(words_per_cycle, latency), [Request(0)] * 30)
    starts = [place * WORDS // words_per_cycle for place in range(30)]
    assert traffic.accepted == starts
    assert [cycle for cycle, *_ in traffic.answers] == [start + latency for start in starts]


def test_slow_channels_take_cycles_for_a_piece():
    window = Window("lines", LINES, WORDS)
    memory = LineMemory(window, 2, latency=17, tag_bits=8, piece_cycles=5)
    traffic = run(memory, [Request(0)] * 3 + [Request(0, 0b0001), Request(0)])
    assert traffic.accepted == [0, 10, 20, 30, 35]
    assert [cycle for cycle, *_ in traffic.answers] == [17, 27, 37, 52]


@pytest.mark.parametrize(
    "mask, words_per_cycle, cycles",
    [
        (0b0001, 1, 1),
        (0b1010, 1, 2),
        (0b1111, 1, 4),
        (0b1000, 2, 1),
        (0b0110, 2, 2),
        (0b1100, 2, 1),
        (0b1111, 4, 1),
    ],
)
def test_a_write_has_the_channel_for_the_pieces_that_it_touches(mask, words_per_cycle, cycles):
    traffic = run(line_memory(words_per_cycle), [Request(1, mask)] * 3)
    assert traffic.accepted == [0, cycles, 2 * cycles]
    assert traffic.idle == (3 * cycles if cycles > 1 else 0)  # else each lands with the clock


def test_idle_from_the_cycle_after_the_last_answer():
    traffic = run(line_memory(latency=9), [Request(1)])
    assert traffic.answers[0][0] == 9
    assert traffic.idle == 10


def test_idle_at_once_after_reset():
    assert run(line_memory(), []).idle == 0


def test_a_write_changes_the_words_of_its_mask_only():
    requests = [Request(2, 0b1111, (1, 2, 3, 4)), Request(2, 0b0101, (9,)), Request(2)]
    assert run(line_memory(), requests).answers[0][1:] == (2, (9, 2, 9, 4))


def test_a_read_does_not_see_the_write_behind_it():
    requests = [Request(2, 0b1111, (1,)), Request(2), Request(2, 0b1111, (7,)), Request(2)]
    answers = run(line_memory(latency=20), requests).answers
    assert [words[0] for *_, words in answers] == [1, 7]


def test_no_more_reads_are_accepted_than_answers_have_room():
    memory = line_memory(words_per_cycle=4, latency=5)

    async def bench(ctx: Any) -> None:
        ctx.set(memory.busy, 1)
        ctx.set(memory.port.request.valid, 1)
        accepted = 0
        for _ in range(30):
            accepted += ctx.get(memory.port.request.ready)
            await ctx.tick()
        assert accepted == memory.in_flight == 6

    simulate(memory, bench)


def test_the_host_has_the_memory_while_not_busy():
    memory = line_memory()

    async def bench(ctx: Any) -> None:
        ctx.set(memory.port.request.valid, 1)
        assert not ctx.get(memory.port.request.ready)
        ctx.set(memory.port.request.valid, 0)
        for lane in range(WORDS):
            ctx.set(memory.host.row, 5)
            ctx.set(memory.host.lane, lane)
            ctx.set(memory.host.write_data, 10 + lane)
            ctx.set(memory.host.write_enable, 1)
            await ctx.tick()
        ctx.set(memory.host.write_enable, 0)
        ctx.set(memory.busy, 1)
        traffic = await drive(ctx, memory.port, [Request(5), Request(5, 0b0010, (77,))])
        assert traffic.answers[0][2] == (10, 11, 12, 13)
        ctx.set(memory.busy, 0)
        ctx.set(memory.host.lane, 1)
        await ctx.tick()
        assert ctx.get(memory.host.read_data) == 77

    simulate(memory, bench)


@pytest.mark.parametrize("at", [1, 3, 8, 9, 10])
def test_a_reset_forgets_what_is_under_way_and_keeps_the_lines(at):
    m = Module()
    reset = Signal()
    m.submodules.memory = memory = ResetInserter(reset)(line_memory(latency=8))
    port = memory.port

    async def bench(ctx: Any) -> None:
        ctx.set(memory.busy, 1)
        await drive(ctx, port, fill(40))
        ctx.set(port.response.ready, 0)
        ctx.set(port.request.payload, {"line": 1})
        ctx.set(port.request.valid, 1)
        await ctx.tick().repeat(at)
        ctx.set(port.request.valid, 0)
        ctx.set(reset, 1)
        await ctx.tick()
        ctx.set(reset, 0)
        assert ctx.get(port.idle) and not ctx.get(port.response.valid)
        requests = [Request(line) for line in range(LINES)]
        traffic = await drive(ctx, port, requests)
        assert [words[0] for *_, words in traffic.answers] == [40 + line for line in range(LINES)]

    simulate(m, bench)


REQUESTS = st.lists(
    st.builds(
        Request,
        line=st.integers(0, LINES - 1),
        write=st.one_of(st.just(0), st.integers(0, 15)),
        data=st.tuples(*[st.integers(0, 2**32 - 1)] * WORDS),
    ),
    max_size=60,
)


@settings(max_examples=12)
@given(
    requests=REQUESTS,
    words_per_cycle=st.sampled_from([1, 2, 4]),
    latency=st.integers(2, 12),
    pauses=st.sampled_from([0.0, 0.5]),
    stalls=st.sampled_from([0.0, 0.3, 0.9]),
    seed=st.integers(0, 1000),
)
def test_answers_in_order_whatever_is_asked_and_stalled(
    requests, words_per_cycle, latency, pauses, stalls, seed
):
    requests = fill() + requests
    traffic = run(
        line_memory(words_per_cycle, latency), requests, pauses=pauses, stalls=stalls, seed=seed
    )
    expected = meaning(requests, np.zeros((LINES, WORDS), np.uint32))
    assert [answer[1:] for answer in traffic.answers] == list(expected.items())
    times = dict(zip(range(len(requests)), traffic.accepted, strict=True))
    assert all(cycle >= times[tag] + latency for cycle, tag, _ in traffic.answers)


@pytest.mark.parametrize(
    "lines, words, words_per_cycle, latency", [(8, 4, 2, 6), (1, 1, 1, 2), (8, 4, 1, 3)]
)
def test_verilog_is_clean(lines, words, words_per_cycle, latency):
    memory = LineMemory(Window("lines", lines, words), words_per_cycle, latency, 4)
    assert lint(to_verilog(memory, "memory"), "memory") == []
