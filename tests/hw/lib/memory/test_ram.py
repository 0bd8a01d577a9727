"""The memories, in Amaranth's simulator and as the Verilog that replaces them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from gnarl.hw.lib.memory.ram import Ram, TwoPortRam
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.machines.vectors import VectorSimulator

PORTS = ("address", "read_enable", "write_enable", "write_data")
TWO_PORTS = ("read_address", "read_enable", "write_address", "write_enable", "write_data")


class Top(wiring.Component):
    """A memory below the top, as it is everywhere."""

    def __init__(self, ram: Ram | TwoPortRam) -> None:
        self._ram = ram
        super().__init__(ram.signature)

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


def two_port_vectors(rows: int, width: int, cycles: int, seed: int) -> dict[str, np.ndarray]:
    """Random accesses after every row was written once; many of them meet at one row."""
    chance = np.random.default_rng(seed)
    found = {
        "read_address": chance.integers(0, rows, cycles),
        "read_enable": chance.integers(0, 2, cycles),
        "write_address": chance.integers(0, rows, cycles),
        "write_enable": chance.integers(0, 2, cycles),
        "write_data": chance.integers(0, 1 << width, cycles),
    }
    found["write_address"][:rows] = range(rows)
    found["write_enable"][:rows] = 1
    found["read_enable"][:rows] = 0
    found["read_enable"][rows] = 1
    return found


def two_port_expected(rows: int, inputs: dict[str, np.ndarray]) -> list[int]:
    """``read_data`` before the edge of each cycle after the first read."""
    words, shown, found = [0] * rows, 0, []
    columns = (inputs[name] for name in TWO_PORTS)
    for read_row, read, write_row, write, data in zip(*columns, strict=True):
        found.append(shown)
        shown = words[read_row] if read else shown
        words[write_row] = data if write else words[write_row]
    return found[rows + 1 :]


def in_amaranth(ram: Ram | TwoPortRam, inputs: dict[str, np.ndarray]) -> list[int]:
    found = []

    async def bench(context: Any) -> None:
        for values in zip(*inputs.values(), strict=True):
            for name, value in zip(inputs, values, strict=True):
                context.set(getattr(ram, name), int(value))
            found.append(context.get(ram.read_data))
            await context.tick()

    simulator = Simulator(ram)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found[ram.rows + 1 :]


def in_verilog(ram: Ram | TwoPortRam, inputs: dict[str, np.ndarray]) -> list[int]:
    with VectorSimulator(to_verilog(Top(ram), "top"), "top") as simulator:
        return simulator.run(inputs)["read_data"][ram.rows + 1 :].tolist()


def fresh_seed() -> int:
    seed = int(np.random.default_rng().integers(1 << 32))
    print(f"seed {seed}")
    return seed


@pytest.mark.parametrize("simulate", [in_amaranth, in_verilog])
@pytest.mark.parametrize("rows, width", [(1, 1), (5, 13)])
def test_reads_give_what_was_written_last(simulate, rows, width):
    inputs = vectors(rows, width, 300, fresh_seed())
    assert simulate(Ram(rows, width), inputs) == expected(rows, inputs)


@pytest.mark.parametrize("simulate", [in_amaranth, in_verilog])
@pytest.mark.parametrize("rows, width", [(1, 1), (5, 13)])
def test_two_ports_read_what_was_written_before(simulate, rows, width):
    inputs = two_port_vectors(rows, width, 300, fresh_seed())
    assert simulate(TwoPortRam(rows, width), inputs) == two_port_expected(rows, inputs)


@pytest.mark.parametrize("kind", [Ram, TwoPortRam])
@pytest.mark.parametrize("rows, width", [(1, 1), (5, 13)])
def test_verilog_is_clean(kind, rows, width):
    assert lint(to_verilog(Top(kind(rows, width)), "top"), "top") == []
