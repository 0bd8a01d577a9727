"""``gnarl tune``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gnarl.sw.commands.options import (
    TargetCommand,
    allow_python_option,
    configuration_argument,
    output_option,
    overrides_option,
    own_options,
    seed_option,
)
from gnarl.sw.commands.output import stderr
from gnarl.sw.commands.progress import ConsoleStages
from gnarl.sw.runtime.target.configuration import load_configuration


@click.command(cls=TargetCommand)
@configuration_argument
@click.argument("workload")
@allow_python_option
@output_option("-o", "--output", required=True, help="The schedules' file to write.")
@overrides_option
@seed_option
def tune(
    config: str,
    workload: str,
    output: Path,
    overrides: tuple[str, ...],
    seed: int,
    own: dict[str, Any],
) -> None:
    """Find the compiler's best choices for WORKLOAD, for `gnarl run --schedules` (cuda).

    Measures on all GPUs; where there is none, the cost model's choice is written, and the file says
    so. Interrupted, it goes on where it was when called again.

    Example: gnarl tune cuda_sm90 examples/embedding_model.py:model -o schedules.json
    """
    configuration = load_configuration(config, overrides)
    summary = configuration.target.compiler.tune(
        configuration,
        workload,
        output,
        seed=seed,
        stages=ConsoleStages(stderr()),
        **own_options(configuration.target, "tune", own),
    )
    click.echo(f"{output}: {summary}")
