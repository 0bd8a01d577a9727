"""How nextpnr is called for each family, and what is read from its reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gnarl.hw.fpga.boards import find_board
from gnarl.hw.fpga.clock import plan_clock
from gnarl.hw.fpga.family import Resources
from gnarl.sw.runtime.fpga.netlist import DesignMemory, Netlist
from gnarl.sw.runtime.fpga.place import (
    CriticalPath,
    critical_path,
    flow,
    look_up_tables,
    slowest_clock,
)
from gnarl.sw.runtime.fpga.synthesis import MappedMemory, MemoryResource, Synthesis
from tests.sw.runtime.fpga.test_netlist import NETLIST


def step(kind: str, begin: str, end: str, delay: float) -> dict[str, Any]:
    return {"type": kind, "from": {"cell": begin}, "to": {"cell": end}, "delay": delay}


def path(*steps: dict[str, Any], begin: str = "posedge clk") -> dict[str, Any]:
    return {"from": begin, "to": "posedge clk", "path": list(steps)}


MEMORY_CELL, FLIP_FLOP = "machine.core.memory.words.0.0", "misleading_TRELLIS_FF_Q"

REPORT = {
    "fmax": {"clk": {"achieved": 117.5, "constraint": 50}, "jtag": {"achieved": 200}},
    "utilization": {
        "DP16KD": {"available": 208, "used": 2},
        "TRELLIS_COMB": {"available": 83640, "used": 871},
    },
    "critical_paths": [
        path(
            step("clk-to-q", MEMORY_CELL, MEMORY_CELL, 5.61),
            step("routing", MEMORY_CELL, "some_LUT4_Z", 1.45),
            step("logic", "some_LUT4_Z", "some_LUT4_Z", 0.24),
            step("routing", "some_LUT4_Z", FLIP_FLOP, 1.2),
            step("setup", FLIP_FLOP, FLIP_FLOP, 0.0),
        ),
        path(step("source", "rx", "rx", 0), step("routing", "rx", "x", 99.0), begin="<async>"),
    ],
}


def synthesis(netlist: Netlist = NETLIST) -> Synthesis:
    memory = DesignMemory("machine.core.memory.words", 512, 64, is_ram=True)
    placed = [MappedMemory(memory, MemoryResource.BLOCK_RAM, 2)]
    return Synthesis(Path(), netlist, placed, Resources(3, 1, 0, 2), 1.0)


def test_the_critical_path_is_between_registers_by_their_names() -> None:
    expected = CriticalPath("machine.core.memory.words", "machine.core.count", 8.5, 5.85)
    assert critical_path(REPORT, synthesis()) == expected


@pytest.mark.parametrize("suffix", ["", "_LC", "_DFFLC"])
def test_cells_that_were_packed_together(suffix: str) -> None:
    end = f"lut{suffix}"
    report = {"critical_paths": [path(step("setup", end, end, 1.0))]}
    assert critical_path(report, synthesis()).end == "machine.core.count"


def test_the_clock_is_the_slowest() -> None:
    assert slowest_clock(REPORT) == 117_500_000


@pytest.mark.parametrize("name", ["TRELLIS_COMB", "ICESTORM_LC", "LUT4"])
def test_look_up_tables_of_each_family(name: str) -> None:
    assert look_up_tables({"utilization": {name: {"used": 7}}}) == 7


@pytest.mark.parametrize(
    ("board", "options", "packer"),
    [
        (
            "ulx3s_85f",
            "--85k --package CABGA381 --speed 6 --lpf design.lpf --textcfg design.config",
            "yowasp-ecppack --compress design.config design.bit",
        ),
        ("versa_ecp5", "--um-45k --package CABGA381 --speed 8", "yowasp-ecppack"),
        ("ecpix5_85", "--um5g-85k --package CABGA554 --speed 8", "yowasp-ecppack"),
        (
            "icebreaker",
            "--up5k --package sg48 --pcf design.pcf --asc design.asc",
            "yowasp-icepack design.asc design.bin",
        ),
        ("blackice", "--hx8k --package tq144:4k", "yowasp-icepack"),
        (
            "tang_primer_20k",
            "--device GW2A-LV18PG256C8/I7 --vopt family=GW2A-18C --vopt cst=design.cst",
            "gowin_pack -d GW2A-18C -o design.fs placed.json",
        ),
    ],
)
def test_commands(board: str, options: str, packer: str) -> None:
    pytest.importorskip("amaranth_boards")
    found = find_board(board)
    clock = plan_clock(found, found.oscillator_hz)
    tools = flow(found, clock, seed=3)
    placer = " ".join(tools.placer)
    assert options in placer
    assert "--json netlist.json --report timing.json --seed 3 --freq " in placer
    assert " ".join(tools.packer).startswith(packer)
