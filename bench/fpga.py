"""What machines cost on FPGA boards, in figures: ``python -m bench.fpga``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.fpga_parts import boards, page
from bench.lib.command import Benchmark

main = Benchmark("fpga", {"boards": boards}, page.PAGE, backends=()).command(
    """Build configurations for boards, with three seeds each; all PARTS by default.

    \b
    boards  utilisation, clock and processor time of each configuration on each board
    page    no measurement: writes build/bench into docs/results/fpga.md and README.md

    Needs gnarl[fpga]. Exit status: 0 when all clocks are met, 1 when not or something is missing,
    2 for bad input.

    Example: python -m bench.fpga --seed 1
    """
)

if __name__ == "__main__":
    main()
