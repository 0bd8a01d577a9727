"""Driving plain ports from arrays."""

import re
from pathlib import Path

import numpy as np
import pytest
from amaranth.back import verilog
from amaranth.hdl import Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tests.support.machines.vectors import Port, VectorSimulator, module_ports


class Accumulator(wiring.Component):
    """A register of all sums so far, and the number that comes in, doubled."""

    a: In(signed(8))
    wide: In(64)
    total: Out(16)
    doubled: Out(9)
    inverted: Out(64)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.total.eq(self.total + self.a)
        m.d.comb += [self.doubled.eq(self.a << 1), self.inverted.eq(~self.wide)]
        return m


VERILOG = verilog.convert(
    Accumulator(), name="accumulator", emit_src=False, strip_internal_attrs=True
)


@pytest.fixture
def simulator() -> VectorSimulator:
    return VectorSimulator(VERILOG, "accumulator")


def test_ports_are_read_from_the_module() -> None:
    assert sorted(module_ports(VERILOG, "accumulator")) == [
        Port("input", "a", 8),
        Port("input", "clk", 1),
        Port("input", "rst", 1),
        Port("input", "wide", 64),
        Port("output", "doubled", 9),
        Port("output", "inverted", 64),
        Port("output", "total", 16),
    ]


def test_one_value_a_cycle_and_outputs_before_the_clock(simulator: VectorSimulator) -> None:
    results = simulator.run({"a": [1, 2, -3, 100], "wide": 0})
    assert results["total"].tolist() == [0, 1, 3, 0]
    assert results["doubled"].tolist() == [2, 4, (1 << 9) - 6, 200]


def test_state_lives_on_between_runs(simulator: VectorSimulator) -> None:
    simulator.run({"a": [1, 2], "wide": 0})
    assert simulator.run({"a": [0], "wide": 0})["total"].tolist() == [3]


def test_each_simulator_has_a_state_of_its_own(simulator: VectorSimulator) -> None:
    simulator.run({"a": [1, 2], "wide": 0})
    other = VectorSimulator(VERILOG, "accumulator")
    assert other.run({"a": [0], "wide": 0})["total"].tolist() == [0]


def test_all_64_bits_arrive(simulator: VectorSimulator) -> None:
    words = np.array([0, 1 << 63, (1 << 64) - 1, 0x0123456789ABCDEF], np.uint64)
    results = simulator.run({"a": 0, "wide": words})
    assert np.array_equal(results["inverted"], ~words)


def test_single_numbers_are_held_for_the_cycles_asked_for(simulator: VectorSimulator) -> None:
    results = simulator.run({"a": 1, "wide": 0}, cycles=5)
    assert results["total"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"a": [1]}, "inputs are a, wide; given: a"),
        ({"a": 1, "wide": 0}, "every input is a single number: say how many cycles"),
        ({"a": [1, 2], "wide": [0]}, "input wide has 1 values for 2 cycles"),
        ({"a": [1, 256], "wide": 0}, "input a has 8 bits: 256 doesn't fit"),
        ({"a": [-129], "wide": 0}, "input a has 8 bits: -129 doesn't fit"),
        ({"a": [0.5], "wide": 0}, "input a must be whole numbers, not float64"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    simulator: VectorSimulator, inputs: dict[str, object], text: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        simulator.run(inputs)  # type: ignore[arg-type]


def test_wide_ports_are_refused() -> None:
    text = "module w(input [64:0] a, output o);\nassign o = ^a;\nendmodule\n"
    declared = "module w(a, o);\n  input [64:0] a;\n  output o;\n  assign o = ^a;\nendmodule\n"
    assert module_ports(text, "w") == []
    with pytest.raises(ValueError, match=r"^w\.a has 65 bits: at most 64 will do$"):
        VectorSimulator(declared, "w")


def test_an_unknown_module_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^no module 'other' in the Verilog text$"):
        module_ports(VERILOG, "other")


def test_a_wave_file_is_written(tmp_path: Path) -> None:
    wave = tmp_path / "waves.fst"
    with VectorSimulator(VERILOG, "accumulator", wave=wave) as simulator:
        results = simulator.run({"a": np.arange(100), "wide": 0})
    assert results["total"][-1] == sum(range(99))
    content = wave.read_bytes()
    # An FST header block: type 0, length 329; then start and end time, two a cycle and for reset.
    assert content[:9] == bytes([0, 0, 0, 0, 0, 0, 0, 1, 73])
    assert int.from_bytes(content[17:25]) == 2 * 100 + 1
    assert b"accumulator" in content
