"""``gnarl run``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from gnarl.sw.commands.boundary import DIFFERENT, begun
from gnarl.sw.commands.options import (
    TargetCommand,
    allow_python_option,
    configuration_argument,
    json_option,
    max_cycles_option,
    output_option,
    overrides_option,
    own_options,
    require_limits,
    seed_option,
    sizes_option,
    tensors_option,
    values_option,
)
from gnarl.sw.commands.output import page, print_result, stderr, workload_of
from gnarl.sw.commands.path_types import OutputPath
from gnarl.sw.commands.progress import ConsoleStages
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.target.contract import AnyTarget
from gnarl.sw.runtime.target.presenter import is_trace


@click.command(cls=TargetCommand)
@configuration_argument
@click.argument("workload", required=False, metavar="[WORKLOAD|PROGRAM]")
@allow_python_option
@tensors_option
@sizes_option
@overrides_option
@click.option(
    "--backend",
    metavar="BACKEND",
    help="What to run on: rtl, the simulated hardware, model, the interpreter of its programs, or "
    "fpga, a board; for cuda a GPU (cuda) or its emulation on the CPU. By default rtl, or a GPU if "
    "there is one.",
)
@click.option(
    "--port",
    metavar="PORT",
    help="With --backend fpga: the serial port of a board with CONFIG's bitstream, e.g. "
    "/dev/ttyUSB0.",
)
@click.option(
    "--baud",
    type=click.IntRange(min=1),
    help="With --backend fpga: the board's baud rate.  [default: as `gnarl fpga` builds it]",
)
@values_option
@seed_option
@max_cycles_option
@json_option
@click.option(
    "-o",
    "--output",
    type=OutputPath(),
    help="Write all outputs: an .npz file of arrays by name, or a folder of fibertree files.",
)
@output_option(
    "--waves",
    help="Write the RTL's signals to this file, in FST format, and beside it .gtkw and .sucl "
    "files, which show the most important ones in GTKWave and Surfer; to a .saif file, how often "
    "they change.",
)
@output_option(
    "--timeline",
    help="Draw what the machine does, cycle by cycle (cuda: task by task; a model of tmu: "
    "instruction by instruction), to this PNG file; to a .json file, as trace events for "
    "ui.perfetto.dev.",
)
@click.option(
    "--lines",
    is_flag=True,
    help="Also report which lines of the source the cycles go to, and to which arrays; the model "
    "runs once more for it (sram).",
)
def run(
    config: str,
    workload: str | None,
    tensors: dict[str, str],
    sizes: dict[str, int],
    overrides: tuple[str, ...],
    backend: str | None,
    port: str | None,
    baud: int | None,
    values: Path | None,
    seed: int,
    max_cycles: int | None,
    as_json: bool,
    output: Path | None,
    waves: Path | None,
    timeline: Path | None,
    lines: bool,
    own: dict[str, Any],
) -> int:
    """Run a workload, or a program file with --values, and compare with the golden model.

    WORKLOAD is what CONFIG's target takes; it may be left out where CONFIG names one.

    WORKLOADS

    Example: gnarl run dpu_d3_b64 circuit.psdd --timeline circuit.png

    Example: gnarl run sam_fp32 "x(i)=B(i,j)*c(j) -f=x:s -f=B:ss -f=c:s" --tensor B=b.mtx
    --tensor c=c.tns -o x.npz

    Example: gnarl run tmu_l8 embedding_bag:rm1 --opt 3

    Example: gnarl run sram_b4 examples/vec_add.c --size n=64

    Example: gnarl run sram_b4_512 vec_add.npz --tensor a=a.npy --tensor b=b.npy

    Example: gnarl run cuda_sm90 examples/embedding_model.py:model --batch 256

    Example: gnarl run cuda_sm90 "X(i,j)=B(i,k)*C(k,j) -f=B:ds" --tensor B=b.mtx --tensor C=c.npy
    """
    from gnarl.sw.runtime.report.output_files import check_output_path
    from gnarl.sw.runtime.run.session import run_once

    configuration = load_configuration(config, overrides)
    target = configuration.target
    _check_run(target, backend, waves, timeline)
    if lines and not target.presenter.knows_lines:
        raise click.UsageError(f"--lines: not supported by target {target.name}.")
    require_limits([target], max_cycles)
    source = workload_of(configuration, workload)
    if output is not None:
        check_output_path(output)
    report = run_once(
        configuration,
        source,
        backend=backend,
        values=values,
        tensors=tensors,
        sizes=sizes,
        seed=seed,
        options=own_options(target, "run", own),
        max_cycles=max_cycles,
        waves=waves,
        port=port,
        baud=baud,
        timeline=timeline,
        lines=lines,
        output=output,
        stages=ConsoleStages(stderr()),
        begun=begun(),
    )
    if as_json:
        print_result(json.dumps(report.to_json(), allow_nan=False) + "\n")
    else:
        print_result(page(report.print))
    return 0 if report.matches else DIFFERENT


def _check_run(
    target: AnyTarget, backend: str | None, waves: Path | None, timeline: Path | None
) -> None:
    """Raises ``UsageError`` for a backend that there is not, or that cannot show what is asked."""
    backends = target.executor.backends
    if backend is not None and backend not in backends:
        raise click.UsageError(
            f"--backend {backend}: target {target.name} runs on {' or '.join(backends)}."
        )
    if waves and (backend or backends[0]) != "rtl":
        raise click.UsageError(
            f"--waves shows the RTL: not for --backend {backend or backends[0]}."
        )
    if timeline is not None and not target.presenter.draws:
        raise click.UsageError(f"--timeline: not supported by target {target.name}.")
    if timeline is not None and is_trace(timeline) and not target.presenter.traces:
        raise click.UsageError(
            f"--timeline {timeline}: target {target.name} draws pictures only, must be a .png file."
        )
