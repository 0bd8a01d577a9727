"""Projects that Vivado and Quartus build with one command."""

from __future__ import annotations

from pathlib import Path

from gnarl.hw.fpga.boards import Board
from gnarl.hw.fpga.clock import Clock
from gnarl.hw.fpga.family import Family
from gnarl.hw.fpga.pll import mhz
from gnarl.sw.runtime.fpga.constraints import pin_constraints, timing_constraints

_VIVADO = """\
# Vivado: vivado -mode batch -source build.tcl
read_verilog {name}.v
read_xdc {name}.xdc
synth_design -top {name} -part {part}
opt_design
place_design
phys_opt_design
route_design
report_utilization -hierarchical -file utilization.rpt
report_timing_summary -file timing.rpt
write_bitstream -force {name}.bit
"""

_QUARTUS = """\
set_global_assignment -name FAMILY "Cyclone V"
set_global_assignment -name DEVICE {part}
set_global_assignment -name TOP_LEVEL_ENTITY {name}
set_global_assignment -name VERILOG_FILE {name}.v
set_global_assignment -name SDC_FILE {name}.sdc
set_global_assignment -name PROJECT_OUTPUT_DIRECTORY output
"""

_README = """\
# {name} on {board}

A machine with its serial link for {board} ({part}), with a clock of {clock} MHz{pll}.
{tool} builds it, here:

    {command}

The bitstream is `{bitstream}`; {reports}
say what it needs and whether the clock is met. `report.json` has Yosys's estimate of the former.

Power-up: the machine is in reset until the clock is stable; memories are undefined until the host
writes them.
"""


def write_project(folder: Path, name: str, board: Board, clock: Clock) -> None:
    """Writes all of a project for module ``name`` to ``folder``, besides the Verilog itself."""
    texts = _vivado(name, board) if board.family == Family.XILINX else _quartus(name, board, clock)
    texts["README.md"] = _readme(name, board, clock)
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")


def _vivado(name: str, board: Board) -> dict[str, str]:
    script = _VIVADO.format(name=name, part=board.part)
    return {"build.tcl": script, f"{name}.xdc": pin_constraints(board)}


def _quartus(name: str, board: Board, clock: Clock) -> dict[str, str]:
    settings = _QUARTUS.format(name=name, part=board.part)
    return {
        f"{name}.qpf": f'PROJECT_REVISION = "{name}"\n',
        f"{name}.qsf": settings + pin_constraints(board),
        f"{name}.sdc": timing_constraints(board, clock),
    }


def _readme(name: str, board: Board, clock: Clock) -> str:
    of = f", which a PLL makes of the board's {mhz(clock.source_hz)} MHz" if clock.has_pll else ""
    if board.family == Family.XILINX:
        tool, command = "Vivado", "vivado -mode batch -source build.tcl"
        bitstream, reports = f"{name}.bit", "`utilization.rpt` and `timing.rpt`"
    else:
        tool, command = "Quartus", f"quartus_sh --flow compile {name}"
        bitstream, reports = f"output/{name}.sof", f"`output/{name}.fit.rpt` and `.sta.rpt`"
    return _README.format(
        name=name,
        board=board.name,
        part=board.part,
        clock=mhz(clock.hz),
        pll=of,
        tool=tool,
        command=command,
        bitstream=bitstream,
        reports=reports,
    )
