"""What fused embedding kernels do, in figures: ``python -m bench.cuda``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.cuda_parts import emulation, kernels, page
from bench.cuda_parts.models import MODELS_OPTION
from bench.lib.command import Benchmark

main = Benchmark(
    "cuda",
    {"kernels": kernels, "emulation": emulation},
    page.PAGE,
    backends=(),
    options=(
        MODELS_OPTION,
        click.option(
            "--batches",
            type=click.IntRange(1),
            default=128,
            show_default=True,
            help="To measure on a GPU.",
        ),
        click.option(
            "--schedules",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path("build/schedules"),
            show_default=True,
            help="Folder of what was tuned: MODEL.json, and MODEL.separate.json to compare with; "
            "without, the cost model chooses.",
        ),
    ),
).command(
    """Measure fused embedding kernels; both PARTS by default.

    \b
    kernels    time on a GPU, against uniform schedules, PyTorch, TorchRec and the bound of the
               memory; left out where there is no GPU
    emulation  results and loads of small batches on the CPU
    page       no measurement: writes build/bench into docs/results/cuda.md and README.md

    Exit status: 0 when all results are bit-exact, 1 when one is not or is missing, 2 for bad input.

    Example: python -m bench.cuda kernels --models A,C --batches 32
    """
)

if __name__ == "__main__":
    main()
