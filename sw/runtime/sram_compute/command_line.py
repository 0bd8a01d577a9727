"""In-SRAM computing on the command line."""

from __future__ import annotations

from gnarl.sw.compiler.sram_compute.places import ENGINES
from gnarl.sw.runtime.target.command_line import NEST_ARRAYS, CommandLine
from gnarl.sw.runtime.target.option import Choice, TargetOption, reassociate_option

_OPTIONS = (
    TargetOption(
        "--place",
        commands=("compile",),
        type=Choice(ENGINES),
        help="Where a loop nest runs: in memory, that is, on the bitlines of its arrays; on the "
        "vector core, or near, on stream engines, if the configuration has them; or auto, the "
        "default: each loop where it seems to take the fewest cycles. A compiled nest may run in "
        "another place.",
    ),
    TargetOption(
        "--tile",
        commands=("compile",),
        metavar="EXTENTS",
        help="The tiles that arrays of a loop nest are in: an extent for each dimension, as 16x16 "
        "or 2x128, in the order of indices, powers of two of as many elements as an array has "
        "bitlines; or best, for the tiles of the fewest cycles. By default a rule says it.",
    ),
    reassociate_option("Add up in the source's order: no sums by halves, no common factors."),
)

COMMAND_LINE = CommandLine(
    workloads=(
        "a loop nest: a .c or .py file, with :FUNCTION behind it where there are several, whose"
        " arrays are given by --tensor or made up, results as zeros; its program is for any "
        "sizes, and runs on any configuration; or a PyTorch module: a .pt2 file that "
        "torch.export.save wrote; or a .sram file of commands"
    ),
    options=_OPTIONS,
    shared={
        "--tensor": (NEST_ARRAYS,),
        "--size": ("",),
        "--dot": ("its tensor dataflow graphs",),
        "--max-cycles": ("",),
    },
)
