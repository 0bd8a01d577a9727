"""What the RTL costs in silicon, in figures: ``python -m bench.silicon``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

import click

from bench.lib.command import Benchmark
from bench.silicon_parts import components, page, pe
from bench.silicon_parts.libraries import OSU018

main = Benchmark(
    "silicon",
    {"pe": pe, "components": components},
    page.PAGE,
    backends=(),
    options=[
        click.option(
            "--liberty",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            multiple=True,
            help=f"A library of cells; may be given again. By default {OSU018}, if it is there.",
        )
    ],
).command(
    """Measure the RTL's gates with libraries of cells, before layout; both PARTS by default.

    \b
    pe          a float32 PE at 1 to 10 stages, placed for an FPGA or for silicon
    components  DPUs by component, beside the paper's
    page        no measurement: writes build/bench into docs/results/silicon.md and README.md

    Exit status: 0 when all is measured, 1 when something is missing, 2 for bad input.

    Example: python -m bench.silicon pe --liberty cells.lib
    """
)

if __name__ == "__main__":
    main()
