"""Which steps the lines of Yosys and nextpnr say, and how a stage shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gnarl.hw.fpga.boards import find_board
from gnarl.hw.fpga.clock import plan_clock
from gnarl.sw.runtime.fpga import place as place_module
from gnarl.sw.runtime.fpga.build import build
from gnarl.sw.runtime.fpga.place import Flow
from gnarl.sw.runtime.fpga.synthesis import NETLIST
from gnarl.sw.runtime.fpga.tool_steps import step_of, steps_shown
from tests.support.machines.yowasp import needs_ecp5
from tests.support.targets.memory_target import configuration
from tests.sw.runtime.fpga.test_place import REPORT, synthesis


class Heard:
    """Stages that remember what begins and ends."""

    def __init__(self) -> None:
        self.events: list[str] = []

    @contextmanager
    def __call__(self, name: str) -> Iterator[Callable[[float], None]]:
        self.events.append(f"+ {name}")
        yield lambda share: None
        self.events.append(f"- {name}")


pytest.importorskip("amaranth_boards")


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("2. Executing SYNTH_ICE40 pass.", "SYNTH_ICE40 pass"),
        ("5.14. Executing SHARE pass (SAT-based resource sharing).", "SHARE pass"),
        ("5.8.1. Executing OPT_EXPR pass (perform const folding).", None),
        ("Info: Packing LUT-FFs..", "packing"),
        (
            "Info:     at initial placer iter 3, wirelen = 232",
            "first placement, iteration 3",
        ),
        (
            "Info:     at iteration #11, type ALL: wirelen solved = 1, spread = 2, legal = 3; time",
            "placement, iteration 11",
        ),
        (
            "Info:   at iteration #5: temp = 0.000000, timing cost = 2434, wirelen = 24252",
            "placement, refinement 5",
        ),
        ("Info: Setting up routing queue.", "routing"),
        (
            "Info:     iter=7 wires=7254 overused=19 overuse=12 tmgfail=0 archfail=NA",
            "routing, iteration 7, 19 wires overused",
        ),
        (
            "Info:       7000 |     1094       5874 |  212   775 |     10177|     0.35     3.83|",
            "routing, 10177 arcs left",
        ),
        ("Info: Checksum: 0x89873f8f", None),
        ("", None),
    ],
)
def test_steps(line: str, step: str | None) -> None:
    assert step_of(f"{line}\n") == step


def test_a_step_lasts_until_the_next_one() -> None:
    stages = Heard()
    with steps_shown(stages, "place") as hear:
        for line in ("Info: Packing IOs..", "Info: Packing RAMs..", "Info: x", "Info: Routing.."):
            hear(line)
    assert stages.events == [
        "+ place: packing",
        "- place: packing",
        "+ place: routing",
        "- place: routing",
    ]


def test_placement_shows_the_steps_of_its_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNARL_CACHE", str(tmp_path / "cache"))
    (tmp_path / NETLIST).write_text("{}")
    (tmp_path / "report").write_text(json.dumps(REPORT))
    placer = f"echo 'Info: Packing IOs..'; echo 'Info: Routing..'; cp {tmp_path}/report timing.json"
    tools = Flow(["sh", "-c", placer], ["touch", "design.bit"], "pytest", "design.bit")
    monkeypatch.setattr(place_module, "flow", lambda *_: tools)
    board = find_board("ulx3s_12f")
    design = replace(synthesis(), folder=tmp_path)
    stages = Heard()
    for _ in range(2):  # the second time from the cache
        placed = place_module.place(design, board, plan_clock(board), 0, stages)
        assert placed.clock_hz == 117_500_000
    assert stages.events == [
        "+ place and route: packing",
        "- place and route: packing",
        "+ place and route: routing",
        "- place and route: routing",
    ]


@pytest.mark.slow
@needs_ecp5
def test_a_build_shows_the_steps_of_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNARL_CACHE", str(tmp_path / "cache"))
    stages = Heard()
    report = build(configuration(), find_board("ulx3s_12f"), tmp_path / "out", stages=stages)
    begun = [event[2:] for event in stages.events if event[0] == "+"]
    assert [name for name in begun if ":" not in name] == list(report.seconds)
    for step in ("synthesise: ABC9 pass", "place and route: placement, iteration 1"):
        assert step in begun
    assert any(re.fullmatch("place and route: routing, [0-9]+ arcs left", name) for name in begun)
    assert len(stages.events) == 2 * len(begun)
