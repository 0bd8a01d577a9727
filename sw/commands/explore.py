"""``gnarl explore``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gnarl.sw.commands.boundary import DIFFERENT
from gnarl.sw.commands.options import (
    TargetCommand,
    allow_python_option,
    configuration_argument,
    folder_option,
    json_option,
    max_cycles_option,
    overrides_option,
    own_options,
    require_limits,
    seed_option,
    sizes_option,
    tensors_option,
    values_option,
)
from gnarl.sw.commands.output import page, print_result, stderr, workload_of
from gnarl.sw.commands.progress import ConsoleStages
from gnarl.sw.runtime.target.contract import AnyTarget

if TYPE_CHECKING:
    from gnarl.sw.runtime.explore.explore import Runner


@click.command(cls=TargetCommand)
@configuration_argument
@click.argument("workload", required=False)
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    required=True,
    metavar="FIELD=A,B,…",
    help="Values for a field of the configuration, each as --set takes it; may be given again, for "
    "all combinations.",
)
@folder_option(
    "-o", "--output", "folder", required=True, help="Folder for results; one that has some goes on."
)
@allow_python_option
@tensors_option
@sizes_option
@overrides_option
@click.option(
    "--backend",
    metavar="BACKEND",
    help="What points run on, as in gnarl run, but for boards; by default the model.",
)
@click.option(
    "--area",
    is_flag=True,
    help="Estimate each point's area as gnarl area does, without a library of cells: minutes for "
    "each hardware.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Points that run at once, each in a process.  [default: one a core]",
)
@click.option(
    "--dask",
    "cluster",
    metavar="ADDRESS",
    help="Have a Dask cluster run the points, which has this scheduler and the same files: "
    "tcp://HOST:8786.",
)
@values_option
@seed_option
@max_cycles_option
@json_option
def explore(
    config: str,
    workload: str | None,
    sweeps: tuple[str, ...],
    folder: Path,
    tensors: dict[str, str],
    sizes: dict[str, int],
    overrides: tuple[str, ...],
    backend: str | None,
    area: bool,
    jobs: int | None,
    cluster: str | None,
    values: Path | None,
    seed: int,
    max_cycles: int | None,
    as_json: bool,
    own: dict[str, Any],
) -> int:
    """Run a workload on all combinations of values of a configuration's fields.

    Results are in the folder as soon as they are there; the same command goes on after an end of
    any kind. At the end there are points.csv, points.json and pareto.png. The table marks the
    points that no other dominates: with as few cycles, and with --area as few gates and bits of
    memory. A point that the workload does not fit is a result. WORKLOAD is what `gnarl run` takes,
    but for programs.

    Example: gnarl explore dpu_d1_b8 circuit.psdd --sweep registers=8,16,32 --sweep banks=8,16 -o
    circuit
    """
    from gnarl.sw.runtime.explore.explore import Job, check_workload
    from gnarl.sw.runtime.explore.explore import explore as run_sweep
    from gnarl.sw.runtime.explore.sweep import read_sweep

    if jobs is not None and cluster is not None:
        raise click.UsageError("--jobs: a cluster has as many as it has workers: not for --dask.")
    sweep = read_sweep(config, overrides, sweeps)
    target = sweep.configuration.target
    require_limits([target], max_cycles)
    _check_area(target, config, area)
    job = Job(
        config,
        overrides,
        workload_of(sweep.configuration, workload),
        _backend(target, backend),
        values,
        tensors,
        sizes,
        seed,
        own_options(target, "explore", own),
        max_cycles,
        area,
    )
    console = stderr()
    stages = ConsoleStages(console)
    with stages("load"):
        check_workload(sweep, job)
    show: Callable[[str], None] = partial(console.print, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        show = _dropped
    with _runner(jobs, cluster) as run:
        points = run_sweep(sweep, job, folder, run, stages, show)
    if as_json:
        print_result(json.dumps(points.to_json(), allow_nan=False) + "\n")
    else:
        print_result(page(points.print))
    return 0 if points.matches else DIFFERENT


def _dropped(line: str) -> None:
    """Lines as points are done are for terminals; others have the file of results."""


def _runner(jobs: int | None, cluster: str | None) -> AbstractContextManager[Runner]:
    """What runs points: processes of this machine, or a cluster that answers."""
    from gnarl.sw.runtime.explore.dask_cluster import on_cluster
    from gnarl.sw.runtime.explore.point_run import run_point
    from gnarl.sw.runtime.explore.processes import run_in_processes

    if cluster is not None:
        return on_cluster(run_point, cluster)
    at_once = jobs or len(os.sched_getaffinity(0))
    return nullcontext(partial(run_in_processes, run_point, jobs=at_once))


def _backend(target: AnyTarget, given: str | None) -> str:
    """The backend of all points. Raises ``UsageError`` for one that there is not."""
    known = [name for name in target.executor.backends if name != "fpga"]
    if given is None and "model" in known:
        return "model"
    if given not in known:
        problem = "Missing option '--backend'" if given is None else f"--backend {given}"
        raise click.UsageError(
            f"{problem}: points of target {target.name} run on {' or '.join(known)}."
        )
    return given


def _check_area(target: AnyTarget, config: str, is_asked: bool) -> None:
    if is_asked and target.executor.generator is None:
        raise click.UsageError(f"--area: {config}: target {target.name} has no Verilog.")
