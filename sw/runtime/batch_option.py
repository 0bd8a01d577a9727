"""The option ``--batch`` of targets that run models of embedding layers."""

from __future__ import annotations

import click

from sw.runtime.target import TargetOption
from sw.workloads.embedding.inputs import DEFAULT_BATCH
from sw.workloads.embedding.model import MAXIMUM_BATCH


def batch_option(command: str) -> TargetOption:
    """Of ``run``, or of ``compile`` where programs are made for a batch."""
    return TargetOption(
        "--batch",
        commands=(command,),
        type=click.IntRange(1, MAXIMUM_BATCH),
        help=f"Samples to look up, by default {DEFAULT_BATCH}.",
    )
