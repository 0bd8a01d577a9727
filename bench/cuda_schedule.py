"""A GPU that runs fused embedding kernels, modelled: ``python -m bench.cuda_schedule``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.cuda_parts.models import MODELS_OPTION
from bench.cuda_schedule_parts import balance, calibration, page, times, untuned
from bench.lib.command import Benchmark

main = Benchmark(
    "cuda_schedule",
    {"calibration": calibration, "balance": balance, "times": times, "untuned": untuned},
    page.PAGE,
    backends=(),
    options=(MODELS_OPTION,),
).command(
    """Model how a GPU runs fused embedding kernels, without one; all PARTS by default.

    \b
    calibration  recorded times of the design with blocks, and the model's
    balance      bytes of the fullest multiprocessor: blocks, and warps
    times        time over the paper's batches, before and after, of the memory-only bound
    untuned      the plan as made, against plans at random
    page         no measurement: writes build/bench into docs/results/cuda_schedule.md and README.md

    Exit status: 0 when all is modelled, 1 when something is not, 2 for bad input.

    Example: python -m bench.cuda_schedule calibration --models D --json d.json
    """
)

if __name__ == "__main__":
    main()
