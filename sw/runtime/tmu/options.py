"""Options of the TMU's compiler."""

from __future__ import annotations

import click

from sw.runtime.embedding_models import batch_option
from sw.runtime.target import TargetOption

OPTIONS = (
    TargetOption(
        "--opt",
        commands=("compile",),
        type=click.IntRange(0, 4),
        default=4,
        help="Level of optimisation: 1 vectorisation, 2 bufferisation, 3 queue alignment, 4 sums "
        "in registers.",
    ),
    batch_option("compile"),
)
