"""``gnarl explore``."""

from __future__ import annotations

import json
import math
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
    from gnarl.sw.runtime.explore.schedules import Search


LANES = (1, 4, 16)
WORDS = (1,)
KEEP = 1.25


class Numbers(click.ParamType):
    """Whole numbers from 1, separated by commas."""

    name = "numbers"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in value.split(",")]
        if not all(part.isdecimal() and len(part) < 6 and int(part) for part in parts):
            self.fail(f"{value!r}: must be whole numbers from 1, as 1,4,16.", parameter, context)
        return tuple(dict.fromkeys(int(part) for part in parts))


class Factor(click.FloatRange):
    """A finite number from 1."""

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> float:
        found = float(super().convert(value, parameter, context))
        if not math.isfinite(found):
            self.fail(f"{value!r}: must be a finite number.", parameter, context)
        return found


class Sparsities(click.ParamType):
    """Shares by name, as ``adj=0.998,x=0.9,adj*x=0.5``."""

    name = "sparsities"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> dict[str, float]:
        if isinstance(value, dict):
            return value
        found: dict[str, float] = {}
        for part in value.split(","):
            name, _, share = (each.strip() for each in part.partition("="))
            try:
                number = float(share)
            except ValueError:
                number = math.nan
            if not name or not 0 <= number <= 1:
                problem = "must be a name and a share from 0 to 1, as adj=0.998"
                self.fail(f"{part!r}: {problem}.", parameter, context)
            if name in found:
                self.fail(f"{part!r}: {name} is given twice.", parameter, context)
            found[name] = number
        return found


@click.command(cls=TargetCommand)
@configuration_argument
@click.argument("workload", required=False)
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="FIELD=A,B,…",
    help="Values for a field of the configuration, each as --set takes it; may be given again, for "
    "all combinations.",
)
@click.option(
    "--search",
    "is_search",
    is_flag=True,
    help="Look for schedules of a SAM model or expression: what shares a graph, association, "
    "loop orders, blocks of values, lanes. "
    "Each is estimated, and run if no other is taken to be far better.",
)
@click.option(
    "--lanes",
    type=Numbers(),
    metavar="N,…",
    help="With --search, numbers of lanes that outermost loops may have.  "
    f"[default: {','.join(map(str, LANES))}]",
)
@click.option(
    "--words",
    type=Numbers(),
    metavar="N,…",
    help="With --search, words of the blocks of values that regions may have, along the index that "
    f"gains most.  [default: {','.join(map(str, WORDS))}]",
)
@click.option(
    "--keep",
    type=Factor(),
    metavar="FACTOR",
    help="With --search, leave schedules out that are taken to need more than FACTOR times the "
    f"cycles of another, and no fewer blocks.  [default: {KEEP}]",
)
@click.option(
    "--estimate",
    "sparsities",
    type=Sparsities(),
    metavar="NAME=SHARE,…",
    help="With --search, run nothing, and estimate with inputs of which only these shares of "
    "zeros are known, and, by A*B=SHARE, of coordinates of A at which B has entries.",
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
    "--board",
    metavar="BOARD",
    help="Estimate each point's look-up tables on a board of gnarl fpga that has bitstreams; then "
    "place and route those that no other is taken to dominate, for their clocks: minutes for each.",
)
@click.option(
    "--place-all",
    "places_all",
    is_flag=True,
    help="With --board, place all points that may fit: where registers cost cycles and look-up "
    "tables, and give a faster clock.",
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
    is_search: bool,
    lanes: tuple[int, ...] | None,
    words: tuple[int, ...] | None,
    keep: float | None,
    sparsities: dict[str, float] | None,
    folder: Path,
    tensors: dict[str, str],
    sizes: dict[str, int],
    overrides: tuple[str, ...],
    backend: str | None,
    area: bool,
    board: str | None,
    places_all: bool,
    jobs: int | None,
    cluster: str | None,
    values: Path | None,
    seed: int,
    max_cycles: int | None,
    as_json: bool,
    own: dict[str, Any],
) -> int:
    """Run a workload on all combinations of values of a configuration's fields, with a model's
    schedules, or both.

    Results are in the folder as soon as they are there; the same command goes on after an end of
    any kind. At the end there are points.csv, points.json and pareto.png. The table marks the
    points that no other dominates: with as few cycles, and with --area as few gates and bits of
    memory; with --board, with as little time there and as few look-up tables. A point that the
    workload does not fit is a result. WORKLOAD is what `gnarl run` takes, but for programs.

    Example: gnarl explore dpu_d1_b8 circuit.psdd --sweep registers=8,16,32 --sweep banks=8,16 -o
    circuit
    """
    from gnarl.sw.runtime.explore.explore import Job, read_job
    from gnarl.sw.runtime.explore.explore import explore as run_sweep
    from gnarl.sw.runtime.explore.schedules import explorer_of
    from gnarl.sw.runtime.explore.sweep import read_sweep

    if jobs is not None and cluster is not None:
        raise click.UsageError("--jobs: a cluster has as many as it has workers: not for --dask.")
    if not sweeps and not is_search:
        raise click.UsageError("Missing option '--sweep' or '--search'.")
    search = _search(is_search, lanes, words, keep, sparsities)
    sweep = read_sweep(config, overrides, sweeps)
    target = sweep.configuration.target
    require_limits([target], max_cycles)
    _check_area(target, config, area)
    if places_all and board is None:
        raise click.UsageError("--place-all: only with --board.")
    _check_board(target, config, board, sparsities)
    options = own_options(target, "explore", own)
    if is_search:
        explorer_of(sweep)
        for name in options:
            flag = next(each.flag for each in target.command_line.options if each.name == name)
            raise click.UsageError(f"{flag}: schedules say so: not for --search.")
    job = Job(
        config,
        overrides,
        workload_of(sweep.configuration, workload),
        _backend(target, backend),
        values,
        tensors,
        sizes,
        seed,
        options,
        max_cycles,
        area,
        board,
        places_all,
    )
    console = stderr()
    stages = ConsoleStages(console)
    with stages("load"):
        read = read_job(sweep, job)
    show: Callable[[str], None] = partial(console.print, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        show = _dropped
    with _runner(jobs, cluster) as run:
        points = run_sweep(sweep, job, read, folder, run, stages, show, search)
    if as_json:
        print_result(json.dumps(points.to_json(), allow_nan=False) + "\n")
    else:
        print_result(page(points.print))
    return 0 if points.matches else DIFFERENT


def _search(
    is_search: bool,
    lanes: tuple[int, ...] | None,
    words: tuple[int, ...] | None,
    keep: float | None,
    sparsities: dict[str, float] | None,
) -> Search | None:
    """The search that options ask for. Raises ``UsageError`` for options of one without it."""
    from gnarl.sw.runtime.explore.schedules import Search

    if is_search:
        return Search(lanes or LANES, words or WORDS, keep or KEEP, sparsities)
    given = {"--lanes": lanes, "--words": words, "--keep": keep, "--estimate": sparsities}
    for flag, value in given.items():
        if value is not None:
            raise click.UsageError(f"{flag}: only with --search.")
    return None


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


def _check_board(
    target: AnyTarget, config: str, board: str | None, sparsities: dict[str, float] | None
) -> None:
    """Raises ``UsageError`` where no point can have figures of a board, ``GnarlError`` for one that
    there are no figures of."""
    if board is None:
        return
    if target.executor.generator is None:
        raise click.UsageError(f"--board: {config}: target {target.name} has no Verilog.")
    if sparsities is not None:
        raise click.UsageError("--board: nothing runs: not for --estimate.")
    from gnarl.sw.runtime.explore.board_point import usable_board

    usable_board(board)
