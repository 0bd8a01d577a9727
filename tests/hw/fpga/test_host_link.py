"""The link with a machine that takes its time, and what it costs on an FPGA."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.top import build
from gnarl.hw.fpga.board_machine import BoardMachine
from gnarl.hw.fpga.frame import pause
from gnarl.hw.fpga.host_link import HostLink
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.board.frames import (
    Response,
    read_request,
    take_response,
    write_request,
)
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.machines.yowasp import sound, yosys
from tests.support.parameters import slow_but

CLOCK_HZ, BAUD = 100_000, 25_000
BIT = CLOCK_HZ // BAUD


def exchange(frames: list[bytes], busy: int) -> tuple[list[Response], dict[int, int]]:
    """Responses to frames that follow each other, and what a memory holds then that takes a request
    so many cycles after the last."""
    link = HostLink(CLOCK_HZ, BAUD)
    memory: dict[int, int] = {}
    received = bytearray()

    async def send(ctx: Any) -> None:
        await ctx.tick().repeat(round(1.1 * pause(BAUD) * CLOCK_HZ))
        for byte in b"".join(frames):
            for level in "0" + f"{byte:08b}"[::-1] + "1":
                ctx.set(link.rx, int(level))
                await ctx.tick().repeat(BIT)
        await ctx.tick().repeat(busy * 30 + 60 * 10 * BIT)

    async def receive(ctx: Any) -> None:
        while True:
            await ctx.negedge(link.tx)
            await ctx.tick().repeat(BIT // 2)
            byte = 0
            for bit in range(8):
                await ctx.tick().repeat(BIT)
                byte |= ctx.get(link.tx) << bit
            received.append(byte)

    async def serve(ctx: Any) -> None:
        request, response = link.host.request, link.host.response
        while True:
            await ctx.tick().repeat(busy)
            ctx.set(request.ready, 1)
            while not ctx.get(request.valid):
                await ctx.tick()
            asked = ctx.get(request.payload)
            await ctx.tick()
            ctx.set(request.ready, 0)
            if asked.write:
                memory[asked.address] = asked.data
                continue
            ctx.set(response.payload, memory.get(asked.address, 0))
            ctx.set(response.valid, 1)
            while not ctx.get(response.ready):
                await ctx.tick()
            await ctx.tick()
            ctx.set(response.valid, 0)

    simulator = Simulator(link)
    simulator.add_clock(1 / CLOCK_HZ)
    simulator.add_testbench(send)
    for background in (receive, serve):
        simulator.add_testbench(background, background=True)
    simulator.run()
    found = []
    while (response := take_response(received)) is not None:
        found.append(response)
    assert not received
    return found, memory


FIRST, SECOND = (np.arange(20, dtype=np.uint32) + start for start in (100, 900))


@pytest.mark.parametrize("busy", [1, 7])
def test_a_slow_machine_gets_every_word_once(busy: int) -> None:
    frames = [write_request(1, 5, FIRST), write_request(2, 50, SECOND), read_request(9, 23, 4)]
    responses, memory = exchange(frames, busy)
    assert [(each.tag, each.last) for each in responses] == [(1, 1), (2, 2), (9, 2)]
    assert responses[-1].words.tolist() == [118, 119, 0, 0]
    assert memory == dict(zip([*range(5, 25), *range(50, 70)], [*FIRST, *SECOND], strict=True))


def test_words_that_are_still_read_are_not_overwritten() -> None:
    """A machine that takes its words more slowly than the line brings new ones."""
    frames = [write_request(1, 5, FIRST), write_request(2, 50, SECOND), read_request(9, 23, 1)]
    responses, memory = exchange(frames, busy=100)
    assert [(each.tag, each.last) for each in responses] == [(1, 1)]
    assert memory == dict(zip(range(5, 25), FIRST, strict=True))


def test_lint_finds_nothing() -> None:
    machine = build(DpuConfig(depth=1, banks=8, registers=16))
    assert lint(to_verilog(BoardMachine(machine, 75_000_000, 3_000_000), "board"), "board") == []


def test_two_generations_are_the_same() -> None:
    texts = {to_verilog(HostLink(48_000_000, 115_200), "link") for _ in range(2)}
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("clock_hz", "baud"),
    slow_but([(100_000_000, 9600)], [(75_000_000, 3_000_000), (100_000_000, 9600)]),
)
def test_the_cost_on_an_ecp5(clock_hz: int, baud: int, tmp_path: Path) -> None:
    (tmp_path / "design.v").write_text(to_verilog(HostLink(clock_hz, baud), "link"))
    yosys(tmp_path, f"{sound('link')}; synth_ecp5 -top link; tee -q -o cells.json stat -json")
    cells = json.loads((tmp_path / "cells.json").read_text())["design"]["num_cells_by_type"]
    # A CCU2C is two LUTs and their carry.
    assert cells["LUT4"] + 2 * cells["CCU2C"] <= 800
    assert cells["DP16KD"] == 1
    assert not {"TRELLIS_DPR16X4", "MULT18X18D"} & cells.keys()


@pytest.mark.slow
def test_synthesis_finds_no_latch_no_loop_and_no_conflict(tmp_path: Path) -> None:
    machine = build(DpuConfig(depth=1, banks=8, registers=16))
    text = to_verilog(BoardMachine(machine, 75_000_000, 3_000_000), "board")
    (tmp_path / "design.v").write_text(text)
    yosys(tmp_path, sound("board"))
