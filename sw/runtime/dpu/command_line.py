"""The DPU on the command line."""

from __future__ import annotations

from gnarl.sw.runtime.target.command_line import CommandLine
from gnarl.sw.runtime.target.option import reassociate_option

_OPTIONS = (
    reassociate_option("Combine the operands of a sum or product from left to right, as given."),
)

COMMAND_LINE = CommandLine(
    workloads=(
        "a file of a DAG: a .psdd circuit, a .mtx or .npz matrix of a triangular system, or a "
        "graph: .graphml, .gml, .json, .edgelist or .edges"
    ),
    options=_OPTIONS,
    shared={
        "--max-cycles": ("",),
    },
)
