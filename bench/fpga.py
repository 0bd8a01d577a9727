"""What machines cost on FPGA boards, in figures: ``python -m bench.fpga``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.fpga_parts import (
    boards,
    dpu_points,
    dpu_registers,
    page,
    sam_attention,
    sam_registers,
)
from bench.lib.command import Benchmark

PARTS = {
    "boards": boards,
    "dpu_registers": dpu_registers,
    "dpu_points": dpu_points,
    "sam_registers": sam_registers,
    "sam_attention": sam_attention,
}

main = Benchmark("fpga", PARTS, page.PAGE, backends=()).command(
    """Build configurations for boards; all PARTS by default.

    \b
    boards         utilisation, clock and processor time of each configuration on each board
    dpu_registers  clock and cycles before and after each register of a DPU
    dpu_points     operations per second, and per LUT, for D and B
    sam_registers  clock and cycles before and after each register of a SAM machine
    sam_attention  clock and utilisation of a head of attention that is one SAM graph
    page           no measurement: writes build/bench into docs/results/fpga.md and README.md

    Needs gnarl[fpga]. Exit status: 0 when all clocks are met, 1 when not or something is missing,
    2 for bad input.

    Example: python -m bench.fpga --seed 1
    """
)

if __name__ == "__main__":
    main()
