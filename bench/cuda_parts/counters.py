"""Counters of a GPU's profiler, of one launch: RecFlex, table II."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.cuda_parts.comparison import results_of, run_on_gpu
from bench.cuda_parts.contenders import LeftOut
from bench.cuda_parts.field import config_for, configuration_for, our_schedules
from bench.cuda_parts.measure import OURS, UNIFORM
from bench.cuda_parts.model_sources import ModelFolder
from bench.cuda_parts.models import models
from bench.cuda_parts.protocol import key_of, machine, newest
from bench.cuda_parts.uniform import uniform_schedules
from bench.lib.jobs import Failure, require_time
from bench.lib.plots import bars, save, subplots
from bench.lib.records import ROOT, Metric, Record, Setting, records, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.compiler.cuda.fusion import KERNEL
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo

BENCH = "cuda.counters"

PROFILER = "ncu"
SAMPLES = (1, 512)
LAUNCHES = 5
"""The first, which loads the code, does not count."""
SECONDS = 50.0
"""For the profiler, at most."""

_QUICK_SAMPLES = (1,)
_MICROSECONDS, _MEGAHERTZ = 1e-3, 1e-6

_COUNTERS = {
    "us": ("gpu__time_duration.sum", _MICROSECONDS),
    "clock_mhz": ("smsp__cycles_elapsed.avg.per_second", _MEGAHERTZ),
    "instructions": ("smsp__inst_executed.sum", 1.0),
    "issue_slots": ("smsp__issue_active.avg.pct_of_peak_sustained_active", 1.0),
    "lanes": ("smsp__thread_inst_executed_per_inst_executed.ratio", 1.0),
    "warps": ("sm__warps_active.avg.pct_of_peak_sustained_active", 1.0),
    "memory_wait": (
        "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
        1.0,
    ),
    "code_wait": ("smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio", 1.0),
    "memory_bytes": ("dram__bytes.sum", 1.0),
    "of_memory": ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 1.0),
    "l2_bytes": ("lts__t_bytes.sum", 1.0),
    "registers": ("launch__registers_per_thread", 1.0),
}
"""The profiler's name of each metric, and what its value is multiplied by."""

METRICS = {
    "us": Metric("µs", "lower"),
    "clock_mhz": Metric("MHz", "none"),
    "instructions": Metric("", "lower"),
    "issue_slots": Metric("%", "none"),
    "lanes": Metric("", "higher"),
    "warps": Metric("%", "none"),
    "memory_wait": Metric("cycles", "lower"),
    "code_wait": Metric("cycles", "lower"),
    "memory_bytes": Metric("bytes", "lower"),
    "of_memory": Metric("%", "higher"),
    "l2_bytes": Metric("bytes", "lower"),
    "registers": Metric("", "none"),
}
"""Medians of launches, each with caches emptied. ``instructions`` of warps; ``issue_slots`` in use;
``lanes`` of an instruction; ``warps`` that are resident; ``memory_wait``, ``code_wait``: cycles
that a warp waits for an instruction's operands from memory, and for the instruction itself."""
_HEADER = {
    "us": "µs",
    "clock_mhz": "MHz",
    "instructions": "warp instructions",
    "issue_slots": "issue slots, %",
    "lanes": "lanes",
    "warps": "resident warps, %",
    "memory_wait": "wait on memory, cycles",
    "code_wait": "on instructions",
    "memory_bytes": "bytes of memory",
    "of_memory": "of its bandwidth, %",
    "l2_bytes": "bytes of L2",
    "registers": "registers",
}


class NoCounters(LeftOut):
    """This machine has no profiler, or its profiler no counters."""


@dataclass(frozen=True)
class Job:
    """A kernel of a model with one batch; ``stored``: the folder of a ``StoredBatches``."""

    source: ModelFolder
    kernel: str
    samples: int
    gpu: GpuInfo
    seed: int
    schedules: Path
    results: Results
    deadline: float | None
    stored: Path = Path()

    @property
    def labels(self) -> dict[str, Any]:
        return {"model": self.source.name, "kernel": self.kernel, "samples": self.samples}

    def setting(self) -> Setting:
        return Setting.of(configuration_for(self.gpu), self.seed)

    def program(self) -> EmbeddingProgram:
        model, config = self.source.load(), config_for(self.gpu)
        if self.kernel == UNIFORM:
            return build_program(model, uniform_schedules(model, config))
        return build_program(model, our_schedules(self.source.name, self.schedules, model, config))

    def __str__(self) -> str:
        return f"{self.source.name}, {self.kernel}, {self.samples}"


def run(request: Request) -> tuple[list[Record], bool]:
    """Counts for every model; whether all went well. Nothing where there is no GPU, or no
    profiler."""
    folders = models(request)
    options = request.options

    def jobs(results: Results, gpu: GpuInfo) -> list[Job]:
        return [
            Job(
                ModelFolder(path),
                kernel,
                size,
                gpu,
                request.seed,
                options["schedules"].absolute(),
                results,
                options["deadline"],
            )
            for path in folders
            for size in samples(request.quick)
            for kernel in (OURS, UNIFORM)
        ]

    done = run_on_gpu(request, BENCH, _count, jobs, fresh=False)
    if done is None:
        return [], True
    for reason in dict.fromkeys(each for _, each in done if isinstance(each, str)):
        request.console.print(f"{BENCH}: left out: {reason}", style="yellow", soft_wrap=True)
    return results_of(request), not any(isinstance(each, Failure) for _, each in done)


def samples(quick: bool) -> tuple[int, ...]:
    """Sizes of the batches that are counted."""
    return _QUICK_SAMPLES if quick else SAMPLES


def _count(job: Job) -> str | None:
    """``measure``, or why it cannot be."""
    try:
        measure(job)
    except NoCounters as error:
        return str(error)
    return None


def measure(job: Job) -> None:
    """Adds the job's records to its results, unless they are there.

    Raises ``NoCounters``, and ``TimeLimit`` when the deadline has passed.
    """
    key = key_of(job.gpu, job.program())
    if job.results.has(BENCH, job.labels, job.setting(), key):
        return
    require_time(job.deadline)
    values = read_counters(_profile(job))
    also = machine(job.gpu) | key
    job.results.add(records(BENCH, job.labels, values, METRICS, job.setting(), also=also))


def _profile(job: Job) -> str:
    """What the profiler prints of the launches."""
    asked = {
        "path": str(job.source.path.absolute()),
        "uniform": job.kernel == UNIFORM,
        "samples": job.samples,
        "seed": job.seed,
        "launches": LAUNCHES,
        "schedules": str(job.schedules.absolute()),
        "stored": str(job.stored.absolute()),
    }
    command = [
        *(PROFILER, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"),
        *("--kernel-name", KERNEL, "--metrics", ",".join(name for name, _ in _COUNTERS.values())),
        *(sys.executable, "-m", "bench.cuda_parts.counted_launch", json.dumps(asked)),
    ]
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError:
        raise NoCounters(f"{PROFILER} is not installed") from None
    left = SECONDS if job.deadline is None else min(SECONDS, job.deadline - time.time())
    try:
        printed, _ = process.communicate(timeout=left)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            require_time(job.deadline)
            raise GnarlError(f"{PROFILER} took more than {left:.0f} s") from None
        raise
    if process.returncode:
        raise _refusal(printed)
    return printed


def _refusal(printed: str) -> GnarlError:
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    complaints = [line for line in lines if line.startswith("==ERROR==")]
    if any("ERR_NVGPUCTRPERM" in line for line in complaints):
        return NoCounters(f"{PROFILER} may not read counters here (ERR_NVGPUCTRPERM)")
    if complaints:
        return NoCounters(f"{PROFILER}: {complaints[0].removeprefix('==ERROR==').strip()}")
    return GnarlError(f"{PROFILER} failed: {lines[-1] if lines else 'it prints nothing'}")


def read_counters(printed: str) -> dict[str, float | None]:
    """Values of ``METRICS``, from comma-separated lines of the raw page, a launch a line.

    Raises ``NoCounters`` where there are none.
    """
    lines = printed.splitlines()
    begins = [at for at, line in enumerate(lines) if line.startswith('"ID"')]
    if not begins:
        raise NoCounters(f"{PROFILER} reports no launch of {KERNEL}")
    of_launches = [
        row for row in csv.DictReader(lines[begins[0] :]) if (row["ID"] or "").strip().isdecimal()
    ]
    counted = of_launches[1:] or of_launches
    if not counted:
        raise NoCounters(f"{PROFILER} reports no launch of {KERNEL}")
    return {name: _median(counted, *counter) for name, counter in _COUNTERS.items()}


def _median(launches: Sequence[Mapping[str, str]], counter: str, factor: float) -> float | None:
    """``None`` for a counter that this GPU does not have."""
    texts = [(row.get(counter) or "").replace(",", "") for row in launches]
    try:
        value = factor * median(map(float, texts))
    except ValueError:
        return None
    return int(value) if factor == 1.0 and value.is_integer() else value


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model, kernel and size."""
    table = rows(_newest(measured))
    body = [cells(row, labels, _HEADER, 1) for labels, row in table.items()]
    return {"Counters": Cells(["model", "kernel", "samples", *_HEADER.values()], body, names=3)}


def verdict(measured: Sequence[Record]) -> str:
    """What is had of memory's bandwidth, and lanes in use, at the largest size."""
    lines = []
    for (model, kernel, size), row in rows(_newest(measured)).items():
        if size == SAMPLES[-1] and None not in (row["of_memory"], row["lanes"]):
            lines.append(
                f"{model}, {kernel}, {size} samples: {row['of_memory']:.3g} % of memory's "
                f"bandwidth, {row['lanes']:.3g} lanes"
            )
    return "\n".join(lines or ["counters of large batches: not measured"])


def draw(measured: Sequence[Record], path: Path) -> None:
    """Warp instructions of each model, by kernel and size."""
    table = rows(_newest(measured))
    figure, (axes,) = subplots(1, (8, 4.2))
    names = list(dict.fromkeys(model for model, _, _ in table))
    kinds = list(dict.fromkeys(labels[1:] for labels in table))
    bars(
        axes,
        {
            f"{kernel}, {size}": [
                table.get((name, kernel, size), {}).get("instructions") or 0.0 for name in names
            ]
            for kernel, size in kinds
        },
    )
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="warp instructions")
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)


def _newest(measured: Sequence[Record]) -> list[Record]:
    return newest(measured, ("model", "kernel"))
