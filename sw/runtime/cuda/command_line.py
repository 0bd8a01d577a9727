"""CUDA on the command line."""

from __future__ import annotations

from gnarl.sw.compiler.cuda.schedule import MAPPINGS, QUICK_CANDIDATES, STRATEGIES
from gnarl.sw.runtime.target.command_line import EXPRESSION_TENSORS, CommandLine
from gnarl.sw.runtime.target.embedding_models import batch_option
from gnarl.sw.runtime.target.option import Choice, FilePath, TargetOption, WholeNumber

DEFAULT_HISTORY = 16
"""Batches to tune on."""

_OPTIONS = (
    TargetOption(
        "--schedules",
        commands=("compile",),
        type=FilePath.READ,
        help="Schedules that `gnarl tune` found; without, the cost model chooses.",
    ),
    batch_option("run"),
    TargetOption(
        "--mapping",
        commands=("run",),
        type=Choice(MAPPINGS),
        help=f"How blocks of the grid are given to features, by default {MAPPINGS[0]}.",
    ),
    TargetOption(
        "--strategy",
        commands=("tune",),
        type=Choice(STRATEGIES),
        default=STRATEGIES[0],
        help="Measure candidates side by side under interference, then whole kernels; each "
        "alone; or trust the cost model.",
    ),
    TargetOption(
        "--batches",
        commands=("tune",),
        type=WholeNumber(1),
        default=DEFAULT_HISTORY,
        help="Historical batches to tune on.",
    ),
    TargetOption(
        "--candidates",
        commands=("tune",),
        type=WholeNumber(1),
        default=8,
        help="Schedules of each feature to measure: the best by the cost model.",
    ),
    TargetOption(
        "--quick",
        commands=("tune",),
        is_flag=True,
        help=f"Measure at most {QUICK_CANDIDATES} candidates, at the occupancy alone that the cost "
        "model finds best.",
    ),
    TargetOption(
        "--journal",
        commands=("tune",),
        type=FilePath.WRITTEN,
        help="File for what has been measured until the tuning ends, to resume from; by default "
        "OUTPUT.journal.",
    ),
)

COMMAND_LINE = CommandLine(
    workloads=(
        "an expression, whose kernel is made for the sizes of its tensors; a model: a folder"
        " of table_config.txt and data_config.txt, or a .py file; or a PyTorch module made of"
        " nn.EmbeddingBag: a .pt2 file that torch.export.save wrote"
    ),
    options=_OPTIONS,
    shared={
        "--tensor": (EXPRESSION_TENSORS,),
        "--allow-python": ("",),
    },
)
