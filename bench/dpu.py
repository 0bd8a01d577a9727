"""What the DPU and its compiler do, in figures: ``python -m bench.dpu``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.dpu_parts import ladder, page, points, scaling, table
from bench.lib.command import Benchmark

main = Benchmark(
    "dpu",
    {"table": table, "ladder": ladder, "scaling": scaling, "points": points},
    page.PAGE,
).command(
    """Measure the DPU; all four PARTS by default.

    \b
    table    cycles on real workloads, against the paper's compiler
    ladder   the same, from the paper's DAG and instructions to this project's
    scaling  compile time and memory, from 10**3 to 10**6 operations
    points   cycles at the paper's 48 points of D, B and R
    page     no measurement: writes build/bench into docs/results/dpu.md and README.md

    Compile times are of a compiler that has compiled something small before, for numba translates
    its passes to machine code the first time.

    Exit status: 0 when all results are bit-exact, 1 when one is not or is missing, 2 for bad input.

    Example: python -m bench.dpu table --backend model --json table.json
    """
)

if __name__ == "__main__":
    main()
