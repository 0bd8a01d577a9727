"""The command ``gnarl fpga``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from gnarl.hw.fpga.baud import BAUD
from gnarl.sw.commands.boundary import DIFFERENT
from gnarl.sw.commands.options import (
    GnarlCommand,
    configuration_argument,
    folder_option,
    json_option,
    overrides_option,
)
from gnarl.sw.commands.output import hardware, page, print_result, print_table, stderr
from gnarl.sw.commands.progress import ConsoleStages


@click.command(cls=GnarlCommand)
@configuration_argument
@click.argument("workload", required=False)
@click.option("--board", "board_name", metavar="BOARD", help="A board that --list shows.")
@click.option("--list", "lists", is_flag=True, help="Show which boards the configuration fits.")
@overrides_option
@click.option(
    "--clock",
    "clock_mhz",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MHZ",
    help="The machine's clock, from the board's PLL; by default one that most designs meet.",
)
@click.option(
    "--baud",
    type=click.IntRange(min=1),
    default=BAUD,
    show_default=True,
    help="Bits a second on the serial port.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="For the placement.",
)
@click.option(
    "--allow-register-memories",
    is_flag=True,
    help="Build it even if memories do not become RAM, but flip-flops.",
)
@folder_option(
    "-o", "--output", "folder", help="Folder to write to; by default build/fpga/NAME-BOARD."
)
@json_option
def fpga(
    config: str,
    workload: str | None,
    board_name: str | None,
    lists: bool,
    overrides: tuple[str, ...],
    clock_mhz: float | None,
    baud: int,
    seed: int,
    allow_register_memories: bool,
    folder: Path | None,
    as_json: bool,
) -> int:
    """Build a configuration for an FPGA board: a bitstream, or a project for the vendor's tool.

    The machine is behind the board's serial port, where `gnarl run --backend fpga` finds it. Of
    ECP5, iCE40 and Gowin devices there are bitstreams; of Xilinx 7 series and Cyclone V, projects
    for Vivado and Quartus. BOARD is one of amaranth-boards. Where a target's hardware is made for
    its workload, WORKLOAD says for which.

    The exit status is 1 where the clock is not met; there is no bitstream then.

    Example: gnarl fpga dpu_d1_b8 --board ulx3s_85f --set data_rows=256

    Example: gnarl fpga dpu_d1_b8 --list
    """
    if lists == (board_name is not None):
        raise click.UsageError("Missing option '--board' or '--list': must be one of them.")
    configuration = hardware(config, overrides, workload)
    stages = ConsoleStages(stderr())
    if lists:
        from gnarl.sw.runtime.fpga.fit import COLUMNS, fits

        candidates = fits(configuration, Path("build/fpga"), stages)
        if as_json:
            print_result(json.dumps([each.to_json() for each in candidates]) + "\n")
        else:
            print_table(COLUMNS, [each.cells() for each in candidates])
        return 0
    from gnarl.hw.fpga.boards import find_board
    from gnarl.sw.runtime.fpga.build import build

    assert board_name is not None
    report = build(
        configuration,
        find_board(board_name),
        folder or Path("build/fpga") / f"{configuration.name}-{board_name}",
        clock_hz=None if clock_mhz is None else round(clock_mhz * 1e6),
        baud=baud,
        seed=seed,
        allow_register_memories=allow_register_memories,
        stages=stages,
    )
    if as_json:
        print_result(json.dumps(report.to_json(), allow_nan=False) + "\n")
    else:
        print_result(page(report.print))
    return DIFFERENT if report.meets_clock is False else 0
