"""What fused embedding kernels do, in figures: ``python -m bench.cuda``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

from bench.cuda_parts import (
    bits,
    card,
    counters,
    emulation,
    end_to_end,
    kernels,
    launches,
    outputs,
    page,
    scale,
    tuning,
    variants,
)
from bench.cuda_parts.models import MODELS_OPTION, names
from bench.cuda_parts.session.command import session
from bench.lib.command import Benchmark, with_others


def _sizes(context: click.Context, option: click.Parameter, text: str) -> tuple[str, ...]:
    sizes = names(context, option, text)
    for size in sizes:
        if size != kernels.VARYING and not (size.isdecimal() and int(size) in kernels.SAMPLES):
            raise click.BadParameter(
                f"{size!r}: must be {kernels.VARYING}, or samples from {kernels.SAMPLES[0]} to "
                f"{kernels.SAMPLES[-1]}"
            )
    return sizes


def _deadline(
    context: click.Context, option: click.Parameter, seconds: float | None
) -> float | None:
    return None if seconds is None else time.time() + seconds


measure = Benchmark(
    "cuda",
    {
        "card": card,
        "outputs": outputs,
        "tuning": tuning,
        "launches": launches,
        "counters": counters,
        "kernels": kernels,
        "variants": variants,
        "bits": bits,
        "scale": scale,
        "end_to_end": end_to_end,
        "emulation": emulation,
    },
    page.PAGE,
    backends=(),
    options=(
        MODELS_OPTION,
        click.option(
            "--batches",
            type=click.IntRange(1),
            default=128,
            show_default=True,
            help="To measure on a GPU, of varying sizes; fewer of one size.",
        ),
        click.option(
            "--batch-sizes",
            default=",".join(kernels.SIZES),
            show_default=True,
            callback=_sizes,
            help=f"Samples of the batches; {kernels.VARYING}: as in the paper.",
        ),
        click.option(
            "--schedules",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path("build/schedules"),
            show_default=True,
            help="Folder of what was tuned: MODEL.json, and MODEL.separate.json to compare with; "
            "without, the cost model chooses.",
        ),
        click.option(
            "--tune",
            "tuning",
            flag_value=tuning.FULL,
            help="Tune each model first, to the folder of schedules.",
        ),
        click.option(
            "--quick-tune",
            "tuning",
            flag_value=tuning.QUICK,
            help="The same in minutes: at one occupancy, with fewer candidates.",
        ),
        click.option(
            "--time-limit",
            "deadline",
            metavar="SECONDS",
            type=click.FloatRange(0),
            callback=_deadline,
            help="Begin nothing after so long, and end with what there is.",
        ),
        click.option(
            "--resume",
            is_flag=True,
            help="Go on where a run ended: skip what has been measured of the same kernel, with "
            "the same schedules, in the same setting.",
        ),
    ),
).command(
    """Measure fused embedding kernels; all PARTS by default. All but the last need a GPU, and are
    left out where there is none.

    \b
    card        the GPU: clocks, bandwidths, an empty kernel
    outputs     whether outputs of whole models are right, bit for bit
    tuning      time to tune each model, with --tune or --quick-tune
    launches    times of 1 to 2048 samples with caches cold, code warm, all warm
    counters    the profiler's counters of one launch
    kernels     times against uniform schedules, PyTorch, TorchRec, other tuning and mapping, and
                the bound of memory and L2 cache
    variants    parts of the design off and on
    bits        the emulation against the GPU, for every template, type and pooling
    scale       10,000 features; MLPerf's 26 tables
    end_to_end  times with dense layers of 1024, 256 and 128 behind the embedding layer
    emulation   results and loads of small batches on the CPU
    page        no measurement: writes build/bench into docs/results/cuda.md and README.md

    Results are saved after each model and each contender. Half an hour on a GPU, unattended:
    python -m bench.cuda session --help.

    Exit status: 0 when all results are bit-exact, 1 when one is not or is missing, as after a time
    limit, 2 for bad input.

    Example: python -m bench.cuda kernels --models A,C --batches 32
    """
)

main = with_others(measure, session)

if __name__ == "__main__":
    main()
