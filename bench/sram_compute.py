"""What in-SRAM computing and its compiler do, in figures: ``python -m bench.sram_compute``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.lib.command import Benchmark
from bench.sram_compute_parts import (
    bitlines,
    breakdown,
    c_kernels,
    cycles,
    energy,
    lowering,
    operations,
    optimiser,
    page,
    placement,
    places,
    pointnet,
    regimes,
    simulation,
    tiles,
    tiles_at_size,
)

PARTS = {
    "operations": operations,
    "optimiser": optimiser,
    "cycles": cycles,
    "placement": placement,
    "places": places,
    "regimes": regimes,
    "energy": energy,
    "bitlines": bitlines,
    "tiles": tiles,
    "breakdown": breakdown,
    "tiles_at_size": tiles_at_size,
    "pointnet": pointnet,
    "lowering": lowering,
    "c_kernels": c_kernels,
    "simulation": simulation,
}

main = Benchmark("sram_compute", PARTS, page.PAGE).command(
    """Measure in-SRAM computing.

    \b
    operations  cycles of integer and float32 operations on real data
    optimiser   what it saves, and its time and memory, region by region
    cycles      workloads before and after the optimiser, and RTL against the model
    placement   workloads in memory, on the core, and where the compiler places them, on RTL
    places      workloads in memory, near it, on the core, and where the compiler places them
    regimes     memory and near where arrays are loaded, where results stay, and where all is there
    energy      bytes on the network and energy in each place, and dataflows, on the model
    bitlines    workloads in memory and near it, over bitlines a lane, on the model
    tiles       workloads in every tile that fits, on the model
    breakdown   where cycles and bytes go at the paper's size, on the model
    tiles_at_size  cycles in every tile at the paper's size, by the compiler's estimate
    pointnet    PointNet++'s classifiers by stage and place, on the model
    lowering    host time of lowering at the sizes of the paper's table 3
    c_kernels   small kernels in C: which places take them, with gcc's bits, on the model
    simulation  building the RTL's simulator, and its cycles a second
    page        no measurement: writes build/bench into docs/results/sram_compute.md and README.md

    Exit status: 0 when all results are right, 1 when one is not or is missing, 2 for bad input.

    Example: python -m bench.sram_compute operations --json operations.json
    """
)

if __name__ == "__main__":
    main()
