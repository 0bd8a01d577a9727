"""Options of the compiler for in-SRAM computing."""

from __future__ import annotations

import click

from sw.compiler.sram_compute.places import PLACES
from sw.runtime.target import TargetOption, reassociate_option

OPTIONS = (
    TargetOption(
        "--place",
        commands=("compile",),
        type=click.Choice(PLACES),
        help="Where a loop nest runs: in memory, that is, on the bitlines of its arrays; on the "
        "vector core, or near, on stream engines, if the configuration has them; or auto, the "
        "default: loops that memory takes there, all else on the core.",
    ),
    reassociate_option("Add up in the source's order: no sums by halves, no common factors."),
)
