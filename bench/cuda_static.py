"""Fused embedding kernels without a GPU, in figures: ``python -m bench.cuda_static``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.cuda_parts.models import MODELS_OPTION
from bench.cuda_static_parts import distinct, growth, instructions, kernels, loads, operator, page
from bench.lib.command import Benchmark

main = Benchmark(
    "cuda_static",
    {
        "kernels": kernels,
        "loads": loads,
        "instructions": instructions,
        "growth": growth,
        "distinct": distinct,
        "operator": operator,
    },
    page.PAGE,
    backends=(),
    options=(MODELS_OPTION,),
).command(
    """Measure the compiler of fused embedding kernels, without a GPU; all PARTS by default.

    \b
    kernels  time, registers, spills and shared memory of whole models on four architectures
    loads    rows in flight, what comes before the first, bytes loaded: before and now
    instructions what a batch executes, by running machine code on the CPU
    growth   time to compile more and more codes
    distinct time to compile a model whose features are all different
    operator time that PyTorch's operator takes on the host
    page     no measurement: writes build/bench into docs/results/cuda_static.md and README.md

    Exit status: 0 when all is compiled, 1 when something is not, 2 for bad input.

    Example: python -m bench.cuda_static kernels --models A --json a.json
    """
)

if __name__ == "__main__":
    main()
