"""What SAM graphs and their compiler do, in figures: ``python -m bench.sam``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.lib.command import Benchmark
from bench.sam_parts import levels, page, speed, suite, table

main = Benchmark(
    "sam",
    {"table": table, "suite": suite, "speed": speed, "levels": levels},
    page.PAGE,
).command(
    """Measure SAM graphs; all four PARTS by default.

    \b
    table    cycles on real matrices, against the SAM project's simulator
    suite    every kernel over random tensors of many shapes and densities, against NumPy
    speed    simulated cycles a second, and seconds from an expression to its result
    levels   look-up tables one behind the other in each type of block, by Yosys
    page     no measurement: writes build/bench into docs/results/sam.md and README.md

    Exit status: 0 when all results are bit-exact, 1 when one is not or is missing, 2 for bad input.

    Example: python -m bench.sam table --backend model --json table.json
    """
)

if __name__ == "__main__":
    main()
