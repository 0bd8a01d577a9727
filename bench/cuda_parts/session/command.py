"""The command ``session`` of the CUDA benchmark."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from bench.cuda_parts.models import MODELS_OPTION, models
from bench.cuda_parts.protocol import PROTOCOL
from bench.cuda_parts.session.runner import Limits, Report, run, summary
from bench.cuda_parts.session.state import MOST_BYTES, State
from bench.lib.command import BAD_INPUT, WORKLOADS_OPTION, WRONG
from bench.lib.request import Request
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.program.atomic import write_text
from gnarl.sw.runtime.cuda.gpu.driver import ON_THE_CPU, GpuError

_NAME = "bench.cuda session"

_SPARE_S = 20.0
"""From the end of a session to that of a command, at least: for the machine's start of Python."""


@click.command("session")
@click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    default=9.0,
    show_default=True,
    help="End after so long: begin no step that may not fit.",
)
@click.option(
    "--state",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help=f"Folder of what is done, at most {MOST_BYTES >> 20} MiB: go on from there, and save each "
    "step to it. -o FOLDER of the page reads it.",
)
@MODELS_OPTION
@WORKLOADS_OPTION
@click.option(
    "--schedules",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("build/schedules"),
    show_default=True,
    help="Folder of schedules to measure, MODEL.json; without, the cost model chooses.",
)
@click.option("--seed", default=0, show_default=True, help="For inputs.")
@click.option("--quick", is_flag=True, help="A little of each kind of step, of the first model.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what was done, by step, to this file, too.",
)
@click.option(
    "--cores",
    type=click.IntRange(1),
    default=len(os.sched_getaffinity(0)),
    show_default="all",
    help="Of the machine: one measures, the others make data.",
)
@click.option(
    "--memory",
    metavar="GIB",
    type=click.FloatRange(0, min_open=True),
    default=16.0,
    show_default=True,
    help="Of the machine, for data that are made ahead, in the folder for temporary files.",
)
@click.option(
    "--command-seconds",
    type=click.FloatRange(0, min_open=True),
    default=600.0,
    show_default=True,
    help="The machine ends commands after so long.",
)
@click.option(
    "--step-seconds",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="A step is ended after so long.",
)
def session(
    minutes: float,
    folder: Path,
    workloads: Path,
    schedules: Path,
    seed: int,
    quick: bool,
    json_file: Path | None,
    cores: int,
    memory: float,
    command_seconds: float,
    step_seconds: float,
    **options: tuple[str, ...],
) -> None:
    """Measure on a GPU for some minutes, unattended; called again, go on.

    Steps of at most a minute come in the order of their worth: the GPU, bits, fixed cost and
    slope, counters, times against uniform schedules; then parts of the design, tuning, long
    batches, static mappings; then other projects' kernels, large models, whole models, more
    batches. Each is saved when it is done. Results count as long as kernel, schedules, GPU and
    protocol are the same, whatever the commit.

    Exit status: 0 when all that this machine can do is done and bit-exact, 1 when something is
    wrong or missing, as after the minutes, 2 for bad input.

    Example: python -m bench.cuda session --minutes 9 --state state
    """
    begin = time.time()
    if 60 * minutes > command_seconds - _SPARE_S:
        raise click.BadParameter(
            f"{minutes:g}: must leave {_SPARE_S:.0f} of the {command_seconds:.0f} s that a command "
            "may take (--command-seconds)",
            param_hint="--minutes",
        )
    if json_file is not None and not json_file.parent.is_dir():
        raise click.BadParameter(f"{json_file.parent}: no such folder", param_hint="--json")

    def say(line: str) -> None:
        click.echo(f"[{time.time() - begin:5.0f} s] {line}")

    try:
        console = Console(stderr=True, markup=False)
        request = Request(workloads, folder, "", seed, False, console, options)
        paths = [path.absolute() for path in models(request)]
        state = State.open(folder)
        limits = Limits(begin + 60 * minutes, cores, int(memory * (1 << 30)))
        report = run(paths, state, schedules.absolute(), seed, quick, step_seconds, limits, say)
    except GpuError as error:
        click.echo(f"{_NAME}: {str(error).removesuffix(f': {ON_THE_CPU}')}", err=True)
        sys.exit(WRONG)
    except GnarlError as error:
        click.echo(f"{_NAME}: {error}", err=True)
        sys.exit(BAD_INPUT)
    if json_file is not None:
        write_text(json_file, json.dumps(_content(report, state), indent=1) + "\n")
    say(summary(report, state))
    sys.exit(0 if report.well else WRONG)


def _content(report: Report, state: State) -> dict[str, object]:
    return {
        "protocol": PROTOCOL,
        "gpu": report.gpu,
        "steps": {name: asdict(outcome) for name, outcome in report.statuses.items()},
        "left": report.left,
        "state_bytes": state.size(),
    }
