"""What fused models on SAM do, in figures: ``python -m bench.fuseflow``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.fuseflow_parts import (
    attention_queues,
    blocks,
    decoder,
    fusion,
    heuristic,
    kernels,
    lanes,
    layer,
    memory,
    models,
    orders,
    page,
    search,
    structure,
    sweep,
)
from bench.lib.command import Benchmark

main = Benchmark(
    "fuseflow",
    {
        "models": models,
        "layer": layer,
        "orders": orders,
        "sweep": sweep,
        "kernels": kernels,
        "attention": attention_queues,
        "decoder": decoder,
        "lanes": lanes,
        "blocks": blocks,
        "fusion": fusion,
        "memory": memory,
        "structure": structure,
        "heuristic": heuristic,
        "search": search,
    },
    page.PAGE,
    full="larger models and data, and more RTL",
).command(
    """Measure models on SAM; all PARTS by default.

    \b
    models     two-layer networks: unfused, by layer, in full, globally iterated, and associated
    layer      one layer, factored against global iteration
    orders     how many orders of loops fully fused networks have
    sweep      a nested product in all orders of its loops
    kernels    those of unfused models on one fabric: RTL against model
    attention  rows that wait for their own sums: cycles, and bits of queues
    decoder    attention of a decoder from PyTorch, fused and not
    lanes      products with one loop or two dealt to 1 to 64 lanes
    blocks     attention with blocks of 2 to 64 values, against one value at a time
    fusion     models with dense features, by what shares a graph, estimated
    memory     some of these in local memories and behind channels of lines, estimated
    structure  graphs that were made up, by sparsity and structure, estimated
    heuristic  estimates from 256 rows, and from sparsities alone, against runs
    search     schedules found by estimates: what is left out is worse
    page       no measurement: writes build/bench, or where it has results build/bench/full, into
               docs/results/fuseflow.md and README.md

    All parts take about 20 minutes on two cores, with 8 graphs in RTL.

    Exit status: 0 when all results are bit-exact, 1 when one is not or is missing, 2 for bad input.

    Example: python -m bench.fuseflow models --backend model --json models.json
    """
)

if __name__ == "__main__":
    main()
