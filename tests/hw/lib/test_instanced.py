"""Equal components become instances of one module, which behaves as each of them would."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import ClockSignal, DomainError, DomainRenamer, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from gnarl.hw.lib.instanced import EnableInserter, Instanced, ResetInserter
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.machines.vectors import VectorSimulator


def modules(verilog: str) -> list[str]:
    return re.findall(r"^module (\S+?) ?\(", verilog, re.M)


def instances(verilog: str, module: str) -> int:
    return len(re.findall(rf"^  {module} \S+ \($", verilog, re.M))


class ComputeArray(Instanced):
    """A row of a memory, and a full adder for each of its columns."""

    def __init__(self, rows: int, columns: int) -> None:
        self._ram = rows, columns
        bits = (rows - 1).bit_length()
        super().__init__(
            {"row": In(bits), "target": In(bits), "write": In(1), "carry": Out(columns)}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.ram = ram = TwoPortRam(*self._ram)
        m.d.comb += [
            ram.read_address.eq(self.row),
            ram.read_enable.eq(1),
            ram.write_address.eq(self.target),
            ram.write_enable.eq(self.write),
        ]
        for column in range(self._ram[1]):
            a, b, carry = ram.read_data[column], Signal(name=f"b_{column}"), self.carry[column]
            m.d.sync += [b.eq(a), carry.eq((a & b) | (carry & (a ^ b)))]
            m.d.comb += ram.write_data[column].eq(a ^ b ^ carry)
        return m


class Arrays(wiring.Component):
    """Arrays of these sizes, driven alike."""

    def __init__(self, *sizes: tuple[int, int]) -> None:
        self._sizes = sizes
        bits = max((rows - 1).bit_length() for rows, _ in sizes)
        super().__init__(
            {"row": In(bits), "target": In(bits), "write": In(1), "any": Out(len(sizes))}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for place, size in enumerate(self._sizes):
            m.submodules[f"array_{place}"] = array = ComputeArray(*size)
            m.d.comb += [
                array.row.eq(self.row),
                array.target.eq(self.target),
                array.write.eq(self.write),
                self.any[place].eq(array.carry.any()),
            ]
        return m


def test_sixteen_equal_arrays_are_one_module():
    verilog = to_verilog(Arrays(*[(256, 256)] * 16), "top")
    assert sorted(modules(verilog)) == ["top", "top_compute_array", "two_port_ram_256x256"]
    assert instances(verilog, "top_compute_array") == 16
    assert instances(verilog, "two_port_ram_256x256") == 1


def test_other_arguments_are_another_module_numbered_as_they_come():
    verilog = to_verilog(Arrays((8, 3), (4, 3), (8, 3), (4, 2)), "top")
    kinds = ["top_compute_array", "top_compute_array_2", "top_compute_array_3"]
    rams = ["two_port_ram_4x2", "two_port_ram_4x3", "two_port_ram_8x3"]
    assert sorted(modules(verilog)) == ["top", *kinds, *rams]
    assert [instances(verilog, kind) for kind in kinds] == [2, 1, 1]
    assert lint(verilog, "top") == []


class Counter(Instanced):
    """Counts to ``ends["limit"]``, from ``start`` on; ``unused`` has no bits."""

    def __init__(self, ends: dict[str, int], start: int = 0) -> None:
        self._limit = ends["limit"]
        self._start = start
        super().__init__({"step": In(4), "unused": In(0), "o": Out(data.StructLayout({"n": 8}))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        count = Signal(8, init=self._start)
        with m.If(count < self._limit):
            m.d.sync += count.eq(count + self.step)
        m.d.comb += self.o.n.eq(count)
        return m


class Pair(Instanced):
    """Two counters, one of which ``clear`` resets."""

    def __init__(self, start: int) -> None:
        self._start = start
        super().__init__({"step": In(4), "clear": In(1), "free": Out(8), "cleared": Out(8)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.free = free = Counter({"limit": 99}, start=self._start)
        cleared = Counter({"limit": 99}, self._start)
        m.submodules.cleared = ResetInserter(self.clear)(cleared)
        m.d.comb += [
            free.step.eq(self.step),
            cleared.step.eq(self.step),
            self.free.eq(free.o.n),
            self.cleared.eq(cleared.o.n),
        ]
        return m


class Pairs(wiring.Component):
    """Four counters, as two pairs, one of which ``clear_all`` resets."""

    def __init__(self) -> None:
        super().__init__({"step": In(4), "clear": In(1), "clear_all": In(1), "o": Out(32)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for place in range(2):
            pair = Pair(start=7)
            m.submodules[f"pair_{place}"] = ResetInserter(self.clear_all)(pair) if place else pair
            m.d.comb += [
                pair.step.eq(self.step + place),
                pair.clear.eq(self.clear),
                self.o[16 * place :][:8].eq(pair.free),
                self.o[16 * place + 8 :][:8].eq(pair.cleared),
            ]
        return m


def test_instances_within_instances_behave_as_what_they_stand_for():
    chance = np.random.default_rng(1)
    inputs = {
        "step": chance.integers(0, 15, 500),
        "clear": chance.integers(0, 20, 500) == 0,
        "clear_all": chance.integers(0, 30, 500) == 0,
    }
    expected = []
    pairs = Pairs()

    async def bench(context: Any) -> None:
        for values in zip(*inputs.values(), strict=True):
            for name, value in zip(inputs, values, strict=True):
                context.set(getattr(pairs, name), int(value))
            expected.append(context.get(pairs.o))
            await context.tick()

    simulator = Simulator(pairs)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()

    verilog = to_verilog(Pairs(), "top")
    assert sorted(modules(verilog)) == ["top", "top_counter", "top_pair"]
    assert lint(verilog, "top") == []
    assert VectorSimulator(verilog, "top").run(inputs)["o"].tolist() == expected
    assert {8 * byte for byte in range(4) if len({word >> 8 * byte & 255 for word in expected}) > 9}


class Around(wiring.Component):
    """A component that has ``part``."""

    def __init__(self, part: Any) -> None:
        self._part = part
        super().__init__({"enable": In(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.part = self._part
        return m


def test_a_domain_is_renamed_around_an_instance():
    verilog = to_verilog(Around(DomainRenamer("fast")(Counter({"limit": 9}))), "top")
    assert ".clk(fast_clk)" in verilog
    assert ".rst(fast_rst)" in verilog


class Fast(Instanced):
    """Has a clock domain of its own."""

    def __init__(self) -> None:
        super().__init__({"o": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.o.eq(ClockSignal("fast"))
        return m


def test_another_domain_inside_is_refused():
    with pytest.raises(DomainError, match=r"^Domain 'fast' is used but not defined$"):
        to_verilog(Around(Fast()), "top")


def test_a_clock_enable_around_an_instance_is_refused():
    around = Around(Counter({"limit": 9}))
    with pytest.raises(ValueError, match=r"^instance of top_counter: has no clock enable$"):
        to_verilog(Around(EnableInserter(around.enable)(around)), "top")


def test_an_instanced_top_is_defined_itself():
    assert modules(to_verilog(Counter({"limit": 9}), "top")) == ["top"]
