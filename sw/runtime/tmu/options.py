"""Options of the TMU's compiler."""

from __future__ import annotations

from gnarl.sw.runtime.target.embedding_models import batch_option
from gnarl.sw.runtime.target.option import TargetOption, WholeNumber, reassociate_option

OPTIONS = (
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
