from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from gnarl.hw.lib.lines.line_memory import LineMemory
from gnarl.hw.lib.lines.line_mux import LineMux
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.verilate import lint
from tests.hw.lib.lines.drive import Request, Traffic, drive, meaning

LINES, WORDS, LATENCY = 12, 2, 5


def run(requests: list[list[Request]], **settings: Any) -> list[Traffic]:
    """What each port sees."""
    ports = len(requests)
    mux = LineMux(ports, 4, WORDS, 7)
    window = Window("lines", LINES, WORDS)
    memory = LineMemory(window, WORDS, LATENCY, tag_bits=7 + (ports - 1).bit_length())
    m = Module()
    m.submodules.mux, m.submodules.memory = mux, memory
    wiring.connect(m, mux.down, memory.port)
    m.d.comb += memory.busy.eq(1)
    found: dict[int, Traffic] = {}
    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    for number, its_requests in enumerate(requests):

        async def bench(ctx: Any, number: int = number, its: Any = its_requests) -> None:
            port = getattr(mux, f"up{number}")
            found[number] = await drive(ctx, port, its, seed=number, **settings)

        simulator.add_testbench(bench)
    simulator.run()
    return [found[number] for number in range(ports)]


def test_one_port_alone_has_the_whole_channel():
    alone, _ = run([[Request(1)] * 20, []])
    assert alone.accepted == list(range(20))
    assert [cycle for cycle, *_ in alone.answers] == [1 + LATENCY + n for n in range(20)]


def test_all_are_idle_when_the_last_answer_was_taken():
    traffic = run([[Request(1)], []])
    assert [each.idle for each in traffic] == [LATENCY + 2] * 2


def own_lines(port: int, ports: int, count: int) -> list[Request]:
    """Writes and reads of lines that no other port uses, each written before it is read."""
    chance = np.random.default_rng(port)
    lines = [line for line in range(LINES) if line % ports == port]
    requests = [Request(line, 0b11, (100 * port, line)) for line in lines]
    for _ in range(count):
        mask, word = int(chance.integers(4)), int(chance.integers(2**32))
        mask *= int(chance.integers(2))
        requests.append(Request(int(chance.choice(lines)), mask, (word,)))
    return requests


@pytest.mark.parametrize("ports", [2, 3, 4])
@pytest.mark.parametrize("pauses, stalls", [(0.0, 0.0), (0.5, 0.0), (0.0, 0.6), (0.3, 0.3)])
def test_each_port_gets_its_own_answers_in_order(ports, pauses, stalls):
    requests = [own_lines(port, ports, 40) for port in range(ports)]
    for its, traffic in zip(requests, run(requests, pauses=pauses, stalls=stalls), strict=True):
        expected = meaning(its, np.zeros((LINES, WORDS), np.uint32))
        assert [answer[1:] for answer in traffic.answers] == list(expected.items())


def test_turns_are_fair():
    first, second, third = run([[Request(1)] * 30] * 3)
    assert all(np.diff(each.accepted).max() <= 3 for each in (first, second, third))


@pytest.mark.parametrize("ports", [2, 3])
def test_verilog_is_clean(ports):
    assert lint(to_verilog(LineMux(ports, 4, 2, 3), "mux"), "mux") == []
