"""The TMU on the command line."""

from __future__ import annotations

from gnarl.sw.runtime.target.command_line import EXPRESSION_TENSORS, NEST_ARRAYS, CommandLine
from gnarl.sw.runtime.target.embedding_models import batch_option
from gnarl.sw.runtime.target.option import TargetOption, WholeNumber, reassociate_option

_OPTIONS = (
    TargetOption(
        "--opt",
        commands=("compile",),
        type=WholeNumber(0, 4),
        help="Level of optimisation: 1 vectorisation, 2 bufferisation, 3 queue alignment, 4 sums "
        "in registers, which is the default.",
    ),
    TargetOption(
        "--coupled",
        commands=("compile",),
        is_flag=True,
        help="The whole nest on the execute unit, without the access unit: the baseline of "
        "decoupling. Has no levels.",
    ),
    TargetOption(
        "--ref",
        commands=("compile",),
        is_flag=True,
        help="The program that was written by hand for a named operation, instead of a compiled "
        "one; with --coupled for the execute unit alone.",
    ),
    reassociate_option("Add up in the source's order: no sums by lanes."),
    batch_option("compile"),
)

COMMAND_LINE = CommandLine(
    workloads=(
        "the name of an operation; an expression, a .py file of a loop nest or a dump's .mlir "
        "file, with a --tensor for each of its arrays; a model: a folder of table_config.txt "
        "and data_config.txt, or a .py file; or a PyTorch module: a .pt2 file that "
        "torch.export.save wrote"
    ),
    options=_OPTIONS,
    shared={
        "--tensor": (EXPRESSION_TENSORS, NEST_ARRAYS),
        "--allow-python": ("",),
        "--max-cycles": ("",),
    },
)
