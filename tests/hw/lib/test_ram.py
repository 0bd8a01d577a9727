"""The single-port memory, in Amaranth's simulator and as the Verilog that replaces it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from hw.lib.ram import Ram
from hw.lib.verilog import to_verilog
from sw.runtime.lint import lint
from sw.runtime.vectors import VectorSimulator

PORTS = ("address", "read_enable", "write_enable", "write_data")


class Top(wiring.Component):
    """A ``Ram`` below the top, as it is everywhere."""

    def __init__(self, rows: int, width: int) -> None:
        self._ram = Ram(rows, width)
        super().__init__(self._ram.signature)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.ram = self._ram
        wiring.connect(m, wiring.flipped(self), self._ram)
        return m


def vectors(rows: int, width: int, cycles: int, seed: int) -> dict[str, np.ndarray]:
    """Random accesses after every row was written once."""
    chance = np.random.default_rng(seed)
    found = {
        "address": chance.integers(0, rows, cycles),
        "read_enable": chance.integers(0, 2, cycles),
        "write_enable": chance.integers(0, 2, cycles),
        "write_data": chance.integers(0, 1 << width, cycles),
    }
    found["address"][:rows] = range(rows)
    found["write_enable"][:rows] = 1
    found["read_enable"][rows] = 1
    found["write_enable"][rows] = 0
    return found


def expected(rows: int, inputs: dict[str, np.ndarray]) -> list[int]:
    """``read_data`` before the edge of each cycle after the first read."""
    words, shown, found = [0] * rows, 0, []
    for address, read, write, data in zip(*(inputs[name] for name in PORTS), strict=True):
        found.append(shown)
        if write:
            words[address] = data
        elif read:
            shown = words[address]
    return found[rows + 1 :]


def in_amaranth(rows: int, width: int, inputs: dict[str, np.ndarray]) -> list[int]:
    ram = Ram(rows, width)
    found = []

    async def bench(context: Any) -> None:
        for values in zip(*(inputs[name] for name in PORTS), strict=True):
            for name, value in zip(PORTS, values, strict=True):
                context.set(getattr(ram, name), int(value))
            found.append(context.get(ram.read_data))
            await context.tick()

    simulator = Simulator(ram)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found[rows + 1 :]


def in_verilog(rows: int, width: int, inputs: dict[str, np.ndarray]) -> list[int]:
    with VectorSimulator(to_verilog(Top(rows, width), "top"), "top") as simulator:
        return simulator.run(inputs)["read_data"][rows + 1 :].tolist()


@pytest.mark.parametrize("simulate", [in_amaranth, in_verilog])
@pytest.mark.parametrize("rows, width", [(1, 1), (5, 13)])
def test_reads_give_what_was_written_last(simulate, rows, width):
    seed = int(np.random.default_rng().integers(1 << 32))
    print(f"seed {seed}")
    inputs = vectors(rows, width, 300, seed)
    assert simulate(rows, width, inputs) == expected(rows, inputs)


@pytest.mark.parametrize("rows, width", [(1, 1), (5, 13)])
def test_verilog_is_clean(rows, width):
    assert lint(to_verilog(Top(rows, width), "top"), "top") == []
