"""Writes that wait for others to their lines: what is read, what is written, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.lines.line_memory import LineMemory
from gnarl.hw.lib.lines.write_buffer import WriteBuffer
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.verilate import lint
from tests.hw.lib.lines.drive import Request, Traffic, drive, meaning

LINES, WORDS, ENTRIES, LATENCY = 8, 2, 3, 5


def run(requests: list[Request], **settings: Any) -> tuple[Traffic, list[tuple[int, int]]]:
    """What happens above, and lines and masks of what is written below, in order.

    The buffer is drained once the last request was accepted."""
    buffer = WriteBuffer(ENTRIES, 3, WORDS, 8)
    memory = LineMemory(Window("lines", LINES, WORDS), WORDS, LATENCY, tag_bits=8)
    accepted = Signal(range(len(requests) + 1))
    m = Module()
    m.submodules.buffer, m.submodules.memory = buffer, memory
    wiring.connect(m, buffer.down, memory.port)
    m.d.comb += [memory.busy.eq(1), buffer.drain.eq(accepted == len(requests))]
    with m.If(buffer.up.request.valid & buffer.up.request.ready):
        m.d.sync += accepted.eq(accepted + 1)
    found, written = [], []

    async def bench(ctx: Any) -> None:
        found.append(await drive(ctx, buffer.up, requests, **settings))

    async def watch(ctx: Any) -> None:
        request = buffer.down.request
        was = None
        async for _, _, valid, ready, payload in ctx.tick().sample(
            request.valid, request.ready, request.payload
        ):
            seen = (payload.line, payload.write, tuple(payload.data)) if valid else None
            assert was is None or seen == was
            was = None if ready else seen
            if valid and ready and payload.write:
                written.append((payload.line, payload.write))

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.add_process(watch)
    simulator.run()
    return found[0], written


def write(line: int, *words: int, mask: int = 0b11) -> Request:
    return Request(line, mask, words)


FILL = [write(line, line, line) for line in range(LINES)]


def answers(requests: list[Request], traffic: Traffic) -> None:
    expected = meaning(requests, np.zeros((LINES, WORDS), np.uint32))
    assert {tag: words for _, tag, words in traffic.answers} == expected


def test_a_line_written_again_and_again_goes_down_once():
    requests = [write(1, n, n, mask=1 + n % 2) for n in range(10)] + [Request(2)]
    _, written = run(requests)
    assert written == [(1, 0b11)]


def test_the_oldest_leaves_for_another():
    _, written = run([write(line, 0) for line in (4, 5, 4, 6, 7, 4)])
    assert written == [(4, 3), (5, 3), (6, 3), (7, 3), (4, 3)][: len(written)]
    assert len(written) == 5


def test_a_read_comes_behind_its_line_and_older_ones_alone():
    requests = [*FILL[:3], Request(1)]
    traffic, written = run(requests)
    answers(requests, traffic)
    assert written == [(0, 3), (1, 3), (2, 3)]


def test_only_words_that_were_written_are_written():
    _, written = run([write(3, 1, 2, mask=0b10)])
    assert written == [(3, 0b10)]


def test_a_read_of_another_line_passes_at_once():
    traffic, _ = run([write(0, 1), Request(5)])
    assert traffic.accepted == [0, 1]
    assert traffic.answers[0][0] == 1 + LATENCY


def test_writes_to_kept_lines_are_accepted_in_every_cycle():
    traffic, _ = run([write(n % ENTRIES, n) for n in range(12)])
    assert traffic.accepted == list(range(12))


@st.composite
def _requests(draw: st.DrawFn) -> list[Request]:
    requests = list(FILL)
    for _ in range(draw(st.integers(1, 40))):
        line = draw(st.integers(0, 5))
        data = tuple(draw(st.lists(st.integers(0, 99), min_size=WORDS, max_size=WORDS)))
        requests.append(Request(line, draw(st.integers(0, 3)), data))
    return requests


@given(_requests(), st.sampled_from((0.0, 0.4)), st.sampled_from((0.0, 0.6)), st.integers(0, 99))
@settings(max_examples=12, deadline=None)
def test_reads_see_the_writes_before_them(
    requests: list[Request], pauses: float, stalls: float, seed: int
):
    traffic, _ = run(requests, pauses=pauses, stalls=stalls, seed=seed)
    answers(requests, traffic)


@pytest.mark.parametrize("entries", (2, 3, 16))
def test_its_verilog_is_clean(entries: int):
    assert lint(to_verilog(WriteBuffer(entries, 8, 4, 3), "buffer"), "buffer") == []
