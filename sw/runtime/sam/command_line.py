"""SAM on the command line."""

from __future__ import annotations

from gnarl.sw.compiler.sam.fuse.choices import FUSIONS, ITERATIONS, PROGRAM_PASSES
from gnarl.sw.runtime.target.command_line import EXPRESSION_TENSORS, CommandLine
from gnarl.sw.runtime.target.option import Choice, FilePath, TargetOption

_OPTIONS = (
    TargetOption(
        "--fuse",
        commands=("compile",),
        type=Choice(FUSIONS),
        help="What of a model shares a graph: each statement has its own, or each layer, or all "
        "is one; by default layer, or what the schedule says.",
    ),
    TargetOption(
        "--no-copies",
        "copies",
        commands=("compile",),
        help="Store no tensor of a model once more, to suit an order of loops.",
        is_flag=True,
        flag_value=False,
    ),
    TargetOption(
        "--iteration",
        commands=("compile",),
        type=Choice(ITERATIONS),
        help="How products of sums of a model are iterated: each in a space of its own, factored, "
        "which is the default, or all in one, global.",
    ),
    TargetOption(
        "--schedule",
        commands=("compile",),
        type=FilePath.READ,
        metavar="FILE",
        help="Regions, loop orders, formats and association of a model, a .toml file.",
    ),
    TargetOption(
        "--schedule-out",
        commands=("compile",),
        type=FilePath.WRITTEN,
        metavar="FILE",
        help="Write the schedule that was used, whole, to this .toml file.",
    ),
)

COMMAND_LINE = CommandLine(
    workloads="an expression, a program of Einsums with ; between them, as text or in an .mlir "
    "file, or a .gv graph, each with a --tensor for each operand; or a PyTorch module: FILE.py:NAME"
    " of a function that gives it and its inputs, or a .pt2 file that torch.export.save wrote",
    options=_OPTIONS,
    shared={
        "--tensor": (EXPRESSION_TENSORS,),
        "--dot": ("in the dialect of the SAM tools",),
        "--max-cycles": ("",),
    },
    program_passes=PROGRAM_PASSES,
)
