"""What the TMU and its compiler do, in figures: ``python -m bench.tmu``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.lib.command import Benchmark
from bench.tmu_parts import bags, by_hand, coupled, gathers, graphs, merging, page, rates

PARTS = {
    "bags": bags,
    "rates": rates,
    "coupled": coupled,
    "ref": by_hand,
    "graphs": graphs,
    "gathers": gathers,
    "merging": merging,
}

main = Benchmark("tmu", PARTS, page.PAGE, backends=("rtl",)).command(
    """Measure the TMU.

    \b
    bags     EmbeddingBag at every level of optimisation, locality and bandwidth
    rates    EmbeddingBag on each unit at every level, with the other unit ideal
    coupled  decoupled programs against the execute unit alone
    ref      compiled programs against those written by hand
    graphs   SpMM over real graphs, and over power-law graphs of two sizes
    gathers  what L2 keeps from memory of BigBird's reads
    merging  products and sums of a sparse matrix, against SAM and the execute unit alone
    page     no measurement: writes build/bench into docs/results/tmu.md and README.md

    Exit status: 0 when all results are bit-exact, 1 when one is not or is missing, 2 for bad input.

    Example: python -m bench.tmu bags --json bags.json
    """
)

if __name__ == "__main__":
    main()
