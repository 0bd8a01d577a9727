"""What a run costs as its workload grows, in figures: ``python -m bench.growth``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.growth_parts import limits, page, stages
from bench.lib.command import Benchmark

main = Benchmark("growth", {"stages": stages, "limits": limits}, page.PAGE, backends=()).command(
    """Measure what runs cost as workloads grow; all PARTS by default.

    \b
    stages  processor time and memory of every stage of a run, at three sizes
    limits  the size that is refused, and with what message
    page    no measurement: writes build/bench into docs/results/growth.md and README.md

    Exit status: 0 when all results have the golden model's bits, 1 when not or something is
    missing, 2 for bad input.

    Example: python -m bench.growth stages --json growth.json
    """
)

if __name__ == "__main__":
    main()
