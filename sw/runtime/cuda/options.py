"""Options of CUDA's compiler, runs and tuner."""

from __future__ import annotations

import click

from gnarl.sw.compiler.cuda.schedule import MAPPINGS, QUICK_CANDIDATES, STRATEGIES
from gnarl.sw.runtime.target.contract import TargetOption
from gnarl.sw.runtime.target.embedding_models import batch_option
from gnarl.sw.runtime.target.path_types import InputFile, OutputPath

DEFAULT_HISTORY = 16
"""Batches to tune on."""

OPTIONS = (
    TargetOption(
        "--schedules",
        commands=("compile",),
        type=InputFile(),
        help="Schedules that `gnarl tune` found; without, the cost model chooses.",
    ),
    batch_option("run"),
    TargetOption(
        "--mapping",
        commands=("run",),
        type=click.Choice(MAPPINGS),
        help=f"How blocks of the grid are given to features, by default {MAPPINGS[0]}.",
    ),
    TargetOption(
        "--strategy",
        commands=("tune",),
        type=click.Choice(STRATEGIES),
        default=STRATEGIES[0],
        help="Measure candidates side by side under interference, then whole kernels; each "
        "alone; or trust the cost model.",
    ),
    TargetOption(
        "--batches",
        commands=("tune",),
        type=click.IntRange(min=1),
        default=DEFAULT_HISTORY,
        help="Historical batches to tune on.",
    ),
    TargetOption(
        "--candidates",
        commands=("tune",),
        type=click.IntRange(min=1),
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
        type=OutputPath(dir_okay=False),
        help="File for what has been measured until the tuning ends, to resume from; by default "
        "OUTPUT.journal.",
    ),
)
