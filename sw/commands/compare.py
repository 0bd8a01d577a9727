"""The command ``gnarl compare``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from gnarl.sw.commands.boundary import DIFFERENT, begun
from gnarl.sw.commands.options import (
    TargetCommand,
    allow_python_option,
    json_option,
    max_cycles_option,
    output_option,
    overrides_option,
    refuse_foreign,
    require_limits,
    seed_option,
    sizes_option,
    tensors_option,
    values_option,
)
from gnarl.sw.commands.output import page, print_result, stderr
from gnarl.sw.commands.progress import ConsoleStages
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.runtime.target.contract import AnyTarget


@click.command(cls=TargetCommand)
@click.argument("workload")
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG...")
@allow_python_option
@tensors_option
@sizes_option
@overrides_option
@click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="BACKEND",
    help="What to run on, as in gnarl run; may be given again: each CONFIG runs on the first that "
    "its target has, or else on its target's default.",
)
@values_option
@seed_option
@max_cycles_option
@json_option
@output_option("--chart", help="Draw cycles and operations as bars to this PNG file.")
def compare(
    workload: str,
    configs: tuple[str, ...],
    tensors: dict[str, str],
    sizes: dict[str, int],
    overrides: tuple[str, ...],
    backends: tuple[str, ...],
    values: Path | None,
    seed: int,
    max_cycles: int | None,
    as_json: bool,
    chart: Path | None,
    own: dict[str, Any],
) -> int:
    """Run a workload on several configurations, and compare all with one golden model.

    WORKLOAD is what `gnarl run` takes, but for programs; every CONFIG's target must support it. The
    golden model is that of the first CONFIG. Where another adds in another order or rounds to
    another format, its results may be 64 units in the last place of the largest number off, and
    must be those of its own golden model. Options of targets go to the CONFIGs that have them, and
    so does --max-cycles.

    Example: gnarl compare embedding_bag:tiny tmu_l2 tmu_l8 --chart tmu.png

    Example: gnarl compare "x(i)=B(i,j)*c(j) -f=x:d -f=B:ds -f=c:d" sam_fp32 sam_fabric_small
    --tensor B=b.mtx --tensor c=c.npy
    """
    from gnarl.sw.runtime.run.comparison import run_all
    from gnarl.sw.runtime.run.comparison_report import draw_comparison, print_comparison, to_json

    if len(configs) < 2:
        raise click.UsageError("Missing argument 'CONFIG': there must be two or more.")
    for at, config in enumerate(configs):
        if config in configs[:at]:
            raise click.UsageError(f"{config}: given twice.")
    configurations = _configurations(configs, overrides)
    targets = [configuration.target for configuration in configurations]
    _check_backends(backends, targets)
    refuse_foreign(targets, "compare", own)
    require_limits(targets, max_cycles)
    comparison = run_all(
        configurations,
        workload,
        backends=backends,
        values=values,
        tensors=tensors,
        sizes=sizes,
        seed=seed,
        options=own,
        max_cycles=max_cycles,
        stages=ConsoleStages(stderr()),
        begun=begun(),
    )
    if chart is not None:
        draw_comparison(comparison, chart)
    if as_json:
        print_result(json.dumps(to_json(comparison), allow_nan=False) + "\n")
    else:
        print_result(page(lambda console: print_comparison(comparison, console)))
    return 0 if comparison.matches else DIFFERENT


def _check_backends(backends: Sequence[str], targets: Sequence[AnyTarget]) -> None:
    known = dict.fromkeys(name for target in targets for name in target.executor.backends)
    for backend in backends:
        if backend not in known:
            names = " or ".join(dict.fromkeys(target.name for target in targets))
            raise click.UsageError(
                f"--backend {backend}: target {names} runs on {' or '.join(known)}."
            )


def _configurations(names: Sequence[str], overrides: Sequence[str]) -> list[NamedConfiguration]:
    """The configurations, each with those of ``overrides`` whose field it has."""
    shipped = [load_configuration(name) for name in names]
    known = [{field.name for field in fields(each.target.configuration)} for each in shipped]
    configurations = []
    for name, own in zip(names, known, strict=True):
        meant = [
            text
            for text in overrides
            if (field := text.partition("=")[0].strip()) in own
            or not any(field in others for others in known)
        ]
        configurations.append(load_configuration(name, meant))
    return configurations
