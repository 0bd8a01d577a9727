"""Time of fused kernels on a GPU, against other schedules, other projects and the memory's bound.

Source of what is compared: RecFlex, VI-B (figure 9), VI-D (figures 11 and 13).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.cuda_parts.measure import (
    AVERAGE,
    BEST_UNIFORM,
    MAXIMUM,
    METRICS,
    MODEL_METRICS,
    ON_DEVICE,
    OURS,
    SEPARATE,
    TORCH,
    TORCH_EAGER,
    TORCHREC,
    UNIFORM,
    Job,
    Measured,
    measure,
    require_gpu_of,
)
from bench.cuda_parts.models import models
from bench.lib.jobs import Failure, run_jobs
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, installed, records, rows
from bench.lib.request import Request
from bench.lib.summary import cell, cells, geometric_mean, mark
from bench.lib.tables import Cells
from sw.runtime.cuda.gpu.driver import ON_THE_CPU, GpuError
from sw.runtime.cuda.gpu.gpus import GpuInfo

BENCH = "cuda.kernels"

GOAL_SPEEDUP = 2.64
"""Over the uniform schedule, mean of the models: RecFlex over TorchRec (VI-B)."""
GOAL_OF_BOUND = 0.8
"""On models at least half of whose features are multi-hot."""
GOAL_MAPPING = 0.05

_QUICK_BATCHES = 4

_SUMMARY = {
    "mean_speedup": Metric("", "none"),
    "least_of_bound": Metric("", "higher"),
    "most_mapping_share": Metric("", "lower"),
}
_KERNELS = (OURS, UNIFORM, BEST_UNIFORM, TORCHREC, TORCH, TORCH_EAGER)
_STRATEGIES = (OURS, SEPARATE, AVERAGE, MAXIMUM)


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every model; whether all went well. Nothing where there is no GPU."""
    try:
        gpu = require_gpu_of(0)
    except GpuError as error:
        reason = str(error).removesuffix(f": {ON_THE_CPU}")
        request.console.print(f"{BENCH}: left out: {reason}", style="yellow", soft_wrap=True)
        return [], True
    batches = _QUICK_BATCHES if request.quick else request.options["batches"]
    jobs = [
        Job(path, batches, request.seed, request.options["schedules"])
        for path in models(request, BENCH)
    ]
    # In processes of their own, which leave nothing on the GPU.
    results = run_jobs(measure, jobs, title=BENCH, console=request.console, fresh=True)
    found: list[Record] = []
    well = bool(jobs)
    for job, measured in zip(jobs, results, strict=True):
        if isinstance(measured, Failure):
            well = False
            continue
        for text in measured.left_out:
            request.console.print(f"{BENCH}: {job.name}: left out: {text}", soft_wrap=True)
        well = well and all(row["bit_exact"] is not False for row in measured.contenders.values())
        found += _records(job, measured, gpu)
    if found:
        summary = summarise(found)
        found += records(
            f"{BENCH}.summary",
            {"model": "all"},
            summary,
            _SUMMARY,
            jobs[0].setting(gpu),
            also=_machine(gpu),
        )
    return found, well


def _machine(gpu: GpuInfo) -> dict[str, str]:
    return {**installed(("nvidia-cuda-nvrtc", "torch", "fbgemm-gpu")), "gpu": gpu.name}


def _records(job: Job, measured: Measured, gpu: GpuInfo) -> list[Record]:
    setting, also = job.setting(gpu), _machine(gpu)
    labels = {"model": job.name, "schedules": measured.origin}
    found = records(f"{BENCH}.models", labels, measured.model, MODEL_METRICS, setting, also=also)
    for name, values in measured.contenders.items():
        labels = {"model": job.name, "kernel": name}
        found += records(BENCH, labels, values, METRICS, setting, also=also)
    return found


def summarise(found: Sequence[Record]) -> dict[str, float]:
    """Of all models: see ``GOAL_SPEEDUP`` and the others."""
    table = rows(record for record in found if record.bench == BENCH)
    of_model = rows(record for record in found if record.bench == f"{BENCH}.models")
    multi_hot = {name for (name, _), row in of_model.items() if row["multi_hot_share"] >= 0.5}
    ours = {name: row for (name, kernel), row in table.items() if kernel == OURS}
    uniform = [row["speedup"] for (_, kernel), row in table.items() if kernel == UNIFORM]
    bounds = [row["of_bound"] for name, row in ours.items() if name in multi_hot]
    summary = {
        "mean_speedup": geometric_mean(uniform),
        "most_mapping_share": max(row["mapping_share"] for row in ours.values()),
    }
    return summary | ({"least_of_bound": min(bounds)} if bounds else {})


def tables(found: Sequence[Record]) -> dict[str, Cells]:
    """Kernels against each other, and strategies of tuning and mapping."""
    table = rows(record for record in found if record.bench == BENCH)
    of_model = rows(record for record in found if record.bench == f"{BENCH}.models")
    return {
        "Kernels": _comparison(table, of_model, _KERNELS),
        "Tuning and thread mapping": _comparison(table, of_model, _STRATEGIES),
        "Models": Cells(
            ["model", "schedules", "batches", "bound, ms", "without caches, ms", "copy, GB/s"],
            [
                cells(
                    {**row, "batches": int(row["batches"])},
                    labels,
                    ("batches", "bound_ms", "without_cache_ms", "bandwidth"),
                )
                for labels, row in of_model.items()
            ],
            names=2,
        ),
    }


_Rows = Mapping[tuple[Any, ...], dict[str, Any]]


def _comparison(table: _Rows, of_model: _Rows, kernels: Sequence[str]) -> Cells:
    """A row for each model: this project's kernel, then its speedup over each of the others."""
    known = {kernel for _, kernel in table}
    others = [kernel for kernel in kernels if kernel in known and kernel != OURS]
    body = []
    for model, _ in of_model:
        ours = table[model, OURS]
        speedups = [table.get((model, kernel), {}).get("speedup") for kernel in others]
        body.append(
            [
                model,
                *cells(ours, [], ("kernel_ms",)),
                f"{100 * ours['of_bound']:.0f} %",
                _percent(ours["mapping_share"]),
                _percent(table[model, ON_DEVICE]["mapping_share"]),
                *map(cell, speedups),
                cell(ours["bit_exact"]),
            ]
        )
    header = [
        "model",
        "ms",
        "of the bound",
        "mapping",
        "on the GPU",
        *(f"× {name}" for name in others),
    ]
    return Cells([*header, "bit-exact"], body)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def verdict(found: Sequence[Record]) -> str:
    """The figures that have goals, in a line each."""
    table = rows(record for record in found if record.bench == BENCH)
    summary: dict[str, Any] = {
        record.metric: record.value for record in found if record.bench == f"{BENCH}.summary"
    }
    checked = [row["bit_exact"] for row in table.values() if row["bit_exact"] is not None]
    speedup, mapping = summary["mean_speedup"], summary["most_mapping_share"]
    lines = [
        f"bit-exact: {sum(checked)} of {len(checked)} kernels",
        f"speedup over {UNIFORM}, geometric mean: {speedup:.3g}, goal {GOAL_SPEEDUP:g} "
        f"{mark(speedup >= GOAL_SPEEDUP)}",
    ]
    if "least_of_bound" in summary:
        least = summary["least_of_bound"]
        lines.append(
            f"of the bound, least of the multi-hot models: {100 * least:.0f} %, goal "
            f"{100 * GOAL_OF_BOUND:.0f} % {mark(least >= GOAL_OF_BOUND)}"
        )
    hidden = "" if mapping > 1 else "; below 100 % it is hidden behind the kernel before"
    lines.append(
        f"thread mapping on the host over the kernel's time, most: {100 * mapping:.1f} %, goal "
        f"{100 * GOAL_MAPPING:.0f} % {mark(mapping <= GOAL_MAPPING)}{hidden}"
    )
    return "\n".join(lines)


def draw(found: Sequence[Record], path: Path) -> None:
    """Times as multiples of this project's, and its share of the bound."""
    table = rows(record for record in found if record.bench == BENCH)
    names = list(dict.fromkeys(model for model, _ in table))
    known = {kernel for _, kernel in table}

    def series(kernels: Sequence[str]) -> dict[str, list[float]]:
        return {
            kernel: [table.get((name, kernel), {}).get("speedup") or 0.0 for name in names]
            for kernel in kernels
            if kernel in known
        }

    figure, panels = subplots(3, (15, 4.2))
    bound = {"this project": [table[name, OURS]["of_bound"] for name in names]}
    for axes, kernels, title in zip(
        panels,
        (series(_KERNELS), series(_STRATEGIES), bound),
        ("time over this project's: kernels", "tuning and thread mapping", "share of the bound"),
        strict=True,
    ):
        bars(axes, kernels)
        line_at(axes, 1)
        axes.set_xticks(range(len(names)), names)
        axes.set_title(title, loc="left", fontsize=11)
    for axes in panels[:2]:
        axes.set_yscale("log")
        axes.legend(frameon=False, fontsize=8)
    save(figure, path)
