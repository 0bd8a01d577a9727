"""SAM on the command line."""

from __future__ import annotations

from gnarl.sw.runtime.target.command_line import EXPRESSION_TENSORS, CommandLine

COMMAND_LINE = CommandLine(
    workloads="an expression or a .gv graph, with a --tensor for each of its operands",
    shared={
        "--tensor": (EXPRESSION_TENSORS,),
        "--dot": ("in the dialect of the SAM tools",),
        "--max-cycles": ("",),
    },
)
