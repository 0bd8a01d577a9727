"""What a host does besides computing, in figures: ``python -m bench.host``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.host_parts import back_door, page, values
from bench.lib.command import Benchmark

main = Benchmark(
    "host", {"back_door": back_door, "values": values}, page.PAGE, backends=()
).command(
    """Measure what runs cost on the host's side; all PARTS by default.

    \b
    back_door  time to write and read memories of 256 MiB of a simulator
    values     time that a million values cost through the models, besides what computes
    page       no measurement: writes build/bench into docs/results/host.md and README.md

    Exit status: 0 when all that was written is read again, 1 when not or something is missing,
    2 for bad input.

    Example: python -m bench.host back_door --json back_door.json
    """
)

if __name__ == "__main__":
    main()
