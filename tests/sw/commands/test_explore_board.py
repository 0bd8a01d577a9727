"""``gnarl explore --board``: what is estimated, placed and marked; estimates and placements are
given here, but for one."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gnarl.hw.fpga.boards import find_board
from gnarl.hw.fpga.clock import Clock
from gnarl.hw.fpga.family import Resources
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.commands import explore as command
from gnarl.sw.runtime.explore.explore import CSV, JSON, PICTURE
from gnarl.sw.runtime.explore.results_file import NAME
from gnarl.sw.runtime.fpga import fastest as fastest_module
from gnarl.sw.runtime.fpga import fit as fit_module
from gnarl.sw.runtime.fpga.fastest import Fastest
from gnarl.sw.runtime.fpga.place import CriticalPath, Placement
from gnarl.sw.runtime.fpga.synthesis import Synthesis
from gnarl.sw.runtime.fpga.tool_run import FpgaError
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from tests.acceptance.test_sam_graphs import SOFTMAX, A
from tests.support.commands import gnarl, refusal
from tests.support.machines.yowasp import needs_ecp5
from tests.support.targets.counted import run_here
from tests.support.targets.memory_target import configuration
from tests.sw.commands.test_explore import MATRIX
from tests.sw.runtime.fpga.test_netlist import NETLIST

pytest.importorskip("amaranth_boards")
pytestmark = needs_ecp5

BOARD = "ulx3s_85f"


class Flow:
    """A stand-in for estimates and placements.

    estimates
        look-up tables, by ``registers`` of a DPU.
    placements
        look-up tables and clock in MHz, or an error, by ``registers``.
    placed
        ``registers`` of what was placed.
    """

    def __init__(
        self,
        estimates: dict[int, int],
        placements: dict[int, tuple[int, float] | BaseException],
    ) -> None:
        self._estimates, self.placements = estimates, placements
        self.placed: list[int] = []

    def estimated(self, hardware: NamedConfiguration, *_: Any) -> Resources:
        return Resources(self._estimates[hardware.config.registers], 10, 0, 4)

    def fastest(self, hardware: NamedConfiguration, *_: Any) -> Fastest:
        registers = hardware.config.registers
        self.placed.append(registers)
        found = self.placements[registers]
        if isinstance(found, BaseException):
            raise found
        luts, mhz = found
        return Fastest(Resources(luts, 9, 0, 4), round(1e6 * mhz), 150_000_000)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[Flow], Flow]:
    """Has points run in this process, on a flow."""
    monkeypatch.setattr(command, "_runner", lambda *_: nullcontext(run_here))

    def install(flow: Flow) -> Flow:
        monkeypatch.setattr(fit_module, "estimated", flow.estimated)
        monkeypatch.setattr(fastest_module, "fastest", flow.fastest)
        return flow

    return install


def source(folder: Path) -> Path:
    path = folder / "sum.mtx"
    path.write_text(MATRIX)
    return path


def explored(folder: Path, registers: str, *more: str) -> Any:
    """The same cycles for all that have room."""
    words = ("--sweep", f"registers={registers}", "--board", BOARD, "-o", folder / "out", *more)
    return gnarl("explore", "dpu_d1_b8", source(folder), *words)


def boards(folder: Path) -> dict[int, dict[str, Any]]:
    points = json.loads((folder / "out" / JSON).read_text())["points"]
    return {each["point"]["registers"]: each for each in points}


def test_what_none_dominates_is_placed_and_compared(
    tmp_path: Path, install: Callable[[Flow], Flow]
) -> None:
    estimates = {8: 9_000, 16: 9_000, 32: 9_500, 64: 200_000}
    flow = install(Flow(estimates, {8: (9_100, 50.0), 16: (9_000, 80.0)}))
    result = explored(tmp_path, "8,16,32,64")
    assert (result.exit_code, result.stderr) == (0, "")
    assert flow.placed == [8, 16]
    found = json.loads((tmp_path / "out" / JSON).read_text())
    assert (found["board"], found["costs"]) == (BOARD, ["microseconds", "luts"])
    points = boards(tmp_path)
    cycles = points[8]["cycles"]
    assert points[16]["board"] == {
        "estimate": {"luts": 9_000, "flip_flops": 10, "dsps": 0, "block_rams": 4},
        "placed": {
            **{"luts": 9_000, "flip_flops": 9, "dsps": 0, "block_rams": 4},
            **{"clock_hz": 80_000_000, "goal_hz": 150_000_000, "microseconds": cycles / 80},
        },
        "error": None,
    }
    assert points[32]["board"]["placed"] is None and points[32]["board"]["error"] is None
    large = "too large by estimate: about 200,000 LUTs where there are 83,640"
    assert (points[64]["board"]["error"], points[64]["error"]) == (large, None)
    assert [registers for registers, each in points.items() if each["pareto"]] == [16]
    assert f"✘ registers=64 on {BOARD}: {large}\n" in result.stdout
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line.split()}
    assert rows["8"][3:7] == ["9,000", "9,100", "50.0", f"{cycles / 50:,.2f}"]
    assert rows["◆"][4:8] == ["9,000", "9,000", "80.0", f"{cycles / 80:,.2f}"]
    assert rows["32"][3:5] == ["9,500", "✔"]
    text = (tmp_path / "out" / CSV).read_text()
    table = {row["registers"]: row for row in csv.DictReader(io.StringIO(text))}
    shown = ("estimated_luts", "luts", "clock_mhz", "microseconds", "board_error")
    assert [table["8"][name] for name in shown] == [
        *("9000", "9100", "50.0", str(cycles / 50)),
        "",
    ]
    assert [table["32"][name] for name in shown] == ["9500", "", "", "", ""]
    assert [table["64"][name] for name in shown] == ["200000", "", "", "", large]
    with Image.open(tmp_path / "out" / PICTURE) as picture:
        assert picture.width > 1500


def test_what_does_not_fit_makes_room_for_the_next(
    tmp_path: Path, install: Callable[[Flow], Flow]
) -> None:
    """Estimates of up to a fifth too much decide nothing, and may be wrong the other way."""
    estimates = {8: 83_000, 16: 84_000, 32: 90_000, 64: 101_000}
    too_large = FpgaError("dpu_d1_b8 is too large")
    flow = install(Flow(estimates, {8: too_large, 16: too_large, 32: (83_000, 20.0)}))
    assert explored(tmp_path, "8,16,32,64").exit_code == 0
    assert flow.placed == [8, 16, 32]
    points = boards(tmp_path)
    assert points[8]["board"]["error"] == "dpu_d1_b8 is too large"
    assert points[8]["board"]["placed"] is None and not points[8]["pareto"]
    assert points[32]["pareto"]


def test_it_goes_on_with_the_placement_that_was_cut(
    tmp_path: Path, install: Callable[[Flow], Flow]
) -> None:
    estimates = {8: 9_000, 16: 9_000, 32: 9_000}
    placements: dict[int, tuple[int, float] | BaseException] = {8: (9_100, 50.0)}
    flow = install(Flow(estimates, {**placements, 16: KeyboardInterrupt()}))
    assert explored(tmp_path, "8,16,32").exit_code == 130
    assert flow.placed == [8, 16]
    lines = (tmp_path / "out" / NAME).read_text().splitlines()
    assert len(lines) == 1 + 3 + 1
    flow = install(Flow({}, {16: (9_200, 40.0), 32: (9_000, 60.0)}))
    result = explored(tmp_path, "8,16,32")
    assert result.exit_code == 0
    assert flow.placed == [16, 32]
    assert all(each["board"]["placed"] for each in boards(tmp_path).values())
    flow = install(Flow({}, {}))
    assert explored(tmp_path, "8,16,32").stdout == result.stdout
    assert flow.placed == []


def test_a_sweep_for_another_board_is_another(
    tmp_path: Path, install: Callable[[Flow], Flow]
) -> None:
    install(Flow({8: 9_000}, {8: (9_100, 50.0)}))
    assert explored(tmp_path, "8").exit_code == 0
    words = ("--sweep", "registers=8", "-o", tmp_path / "out")
    assert refusal(tmp_path, "explore", "dpu_d1_b8", tmp_path / "sum.mtx", *words) == (
        f"gnarl: {tmp_path / 'out' / NAME}: results of another sweep: "
        f'board was "{BOARD}", is null; must be another folder'
    )


def test_estimates_that_fail_are_results(tmp_path: Path, install: Callable[[Flow], Flow]) -> None:
    def fail(*_: Any) -> Resources:
        raise GnarlError("no estimate")

    flow = Flow({}, {})
    flow.estimated = fail  # type: ignore[method-assign]
    install(flow)
    result = explored(tmp_path, "8,16")
    assert result.exit_code == 0
    assert f"✘ 2 points on {BOARD}: no estimate\n" in result.stdout
    assert f"None is placed on {BOARD}: no point is marked.\n" in result.stdout
    with Image.open(tmp_path / "out" / PICTURE) as picture:
        assert picture.format == "PNG"


def test_all_are_placed_if_asked(tmp_path: Path, install: Callable[[Flow], Flow]) -> None:
    """As an answer to a sweep that has placed the best alone, too."""
    flow = install(Flow({8: 9_000, 16: 9_500, 32: 200_000}, {8: (9_100, 40.0), 16: (9_900, 90.0)}))
    assert explored(tmp_path, "8,16,32").exit_code == 0
    assert flow.placed == [8]
    assert explored(tmp_path, "8,16,32", "--place-all").exit_code == 0
    assert flow.placed == [8, 16]
    points = boards(tmp_path)
    assert [points[registers]["pareto"] for registers in (8, 16, 32)] == [True, True, False]


def test_launches_with_hardware_of_their_own_have_no_board(
    tmp_path: Path, install: Callable[[Flow], Flow]
) -> None:
    flow = install(Flow({}, {}))
    tensor = tmp_path / "A.npy"
    np.save(tensor, A)
    words = ("--fuse", "none", "--sweep", "queue_depth=8", "--board", BOARD)
    result = gnarl(
        *("explore", "sam_fp32", SOFTMAX, "--tensor", f"A={tensor}", *words, "-o", tmp_path / "o")
    )
    assert (result.exit_code, result.stderr) == (0, "")
    assert re.search(rf"✘ queue_depth=8 on {BOARD}: its \d+ launches have hardware", result.stdout)
    assert flow.placed == []


def placement(mhz: float) -> Placement:
    path = CriticalPath("a", "b", 1.0, 1.0)
    return Placement(round(mhz * 1e6), path, 700, Path(), Path(), "nextpnr", 1.0)


@pytest.mark.parametrize(
    ("met", "goals"),
    [([117.0], [150]), ([160.0, 180.0], [150, 320]), ([250.0, 500.0], [150, 400])],
)
def test_the_goal_is_not_met(
    monkeypatch: pytest.MonkeyPatch, met: list[float], goals: list[int]
) -> None:
    """Or it is the fastest clock that the board's PLL makes."""
    asked: list[int] = []
    answers = iter(met)

    def place(synthesis: Any, board: Any, clock: Clock, *_: Any) -> Placement:
        asked.append(round(clock.hz / 1e6))
        return placement(next(answers))

    made = Synthesis(Path(), NETLIST, [], Resources(600, 1, 0, 2), 1.0)
    monkeypatch.setattr(fastest_module, "board_verilog", lambda *_: "")
    monkeypatch.setattr(fastest_module, "synthesise", lambda *_: made)
    monkeypatch.setattr(fastest_module, "place", place)
    found = fastest_module.fastest(configuration(), find_board("ulx3s_12f"))
    assert asked == goals
    assert found == Fastest(Resources(700, 1, 0, 2), round(met[-1] * 1e6), goals[-1] * 10**6)


def test_a_machine_is_placed(tmp_path: Path) -> None:
    """The link with a small memory, by the tools."""
    found = fastest_module.fastest(configuration(), find_board("ulx3s_12f"))
    assert 60e6 < found.clock_hz < found.goal_hz
    assert 300 < found.used.luts < 1500
    assert (found.used.dsps, found.used.block_rams) == (0, 2)


SMALL = ("index_bits=8", "array_words=16", "accumulator_words=32", "queue_depth=2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "sweep"),
    [
        (("sam_fp32", "x(i)=b(i)*c(i) -f=b:s -f=c:s -f=x:s"), "format=float16,bfloat16"),
        (("dpu_d1_b8", "MATRIX"), "format=float16"),
    ],
)
def test_machines_by_estimates_and_tools(
    tmp_path: Path, config: tuple[str, str], sweep: str
) -> None:
    name, workload = config
    words: list[str | Path] = [source(tmp_path)]
    if name == "sam_fp32":
        np.save(tmp_path / "b.npy", np.array([1, 0, 2, 3], np.float32))
        given = [f"{tensor}={tmp_path / 'b.npy'}" for tensor in "bc"]
        words = [workload, *(word for each in given for word in ("--tensor", each))]
        words += [word for each in SMALL for word in ("--set", each)]
    else:
        words += ["--set", "instruction_words=512", "--set", "data_rows=256"]
    result = gnarl(
        *("explore", name, *words, "--sweep", sweep, "--board", BOARD, "--jobs", "1"),
        *("-o", tmp_path / "out", "--json"),
    )
    assert result.exit_code == 0, result.stderr
    points = json.loads(result.stdout)["points"]
    placed = [each for each in points if each["board"]["placed"]]
    assert placed and any(each["pareto"] for each in placed)
    for each in placed:
        found, about = each["board"]["placed"], each["board"]["estimate"]
        assert found["clock_hz"] < found["goal_hz"]
        assert found["luts"] == pytest.approx(about["luts"], rel=0.25)
        time = each["cycles"] / found["clock_hz"] * 1e6
        assert found["microseconds"] == pytest.approx(time, abs=0.001)


def test_bad_boards(tmp_path: Path) -> None:
    given = (
        "explore",
        "dpu_d1_b8",
        source(tmp_path),
        "--sweep",
        "registers=8",
        "-o",
        tmp_path / "o",
    )
    see = " See gnarl explore --help"
    assert refusal(tmp_path, *given, "--place-all") == (
        f"gnarl explore: --place-all: only with --board.{see}"
    )
    assert refusal(tmp_path, *given, "--board", "nothing").startswith("gnarl: board nothing: ")
    assert refusal(tmp_path, *given, "--board", "kc705") == (
        "gnarl: board kc705: no open tools place designs for xc7k325tffg900-2"
    )
    cuda = ("explore", "cuda_sm90", tmp_path / "sum.mtx", "-o", tmp_path / "o")
    more = ("--sweep", "workers=warps", "--backend", "emulation", "--board", BOARD)
    assert refusal(tmp_path, *cuda, *more) == (
        f"gnarl explore: --board: cuda_sm90: target cuda has no Verilog.{see}"
    )
    model = ("explore", "sam_fp32", "x(i)=b(i)", "-o", tmp_path / "o", "--search")
    assert refusal(tmp_path, *model, "--estimate", "b=0.5", "--board", BOARD) == (
        f"gnarl explore: --board: nothing runs: not for --estimate.{see}"
    )
