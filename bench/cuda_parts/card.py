"""The GPU that all else is measured on: what it is, its clocks, and what it can do at best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cuda_parts.cold_start import ColdStart
from bench.cuda_parts.comparison import gpu_or_reason
from bench.cuda_parts.field import configuration_for
from bench.cuda_parts.limits import measure_limits
from bench.cuda_parts.probes import Probes
from bench.cuda_parts.protocol import PROTOCOL, counts, machine
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.runtime.cuda.gpu.driver import Context, GpuError, call, device_attribute
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo

BENCH = "cuda.card"

METRICS = {
    "multiprocessors": Metric("", "none"),
    "memory_gib": Metric("GiB", "none"),
    "l2_mib": Metric("MiB", "none"),
    "driver": Metric("", "none"),
    "most_mhz": Metric("MHz", "none"),
    "clock_mhz": Metric("MHz", "none"),
    "memory_mhz": Metric("MHz", "none"),
    "bandwidth": Metric("GB/s", "none"),
    "l2_bandwidth": Metric("GB/s", "none"),
    "empty_us": Metric("µs", "none"),
}
"""``driver``: the CUDA that it is of. ``most_mhz``, ``memory_mhz``: clocks by the driver;
``clock_mhz``: of a multiprocessor, measured. Then ``Limits``."""
_HEADER = {
    "multiprocessors": "multiprocessors",
    "memory_gib": "memory, GiB",
    "l2_mib": "L2, MiB",
    "driver": "CUDA",
    "most_mhz": "clock at most, MHz",
    "clock_mhz": "measured, MHz",
    "memory_mhz": "memory, MHz",
    "bandwidth": "copy, GB/s",
    "l2_bandwidth": "L2, GB/s",
    "empty_us": "empty kernel, µs",
}


@dataclass(frozen=True)
class Job:
    """A GPU."""

    gpu: GpuInfo
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"gpu": self.gpu.name}

    def setting(self) -> Setting:
        return Setting.of(configuration_for(self.gpu), self.seed)

    def key(self) -> dict[str, str]:
        return {"gpu": self.gpu.name, "protocol": str(PROTOCOL)}

    def __str__(self) -> str:
        return self.gpu.name


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures the first GPU. Nothing where there is none."""
    gpu = gpu_or_reason(request, BENCH)
    if gpu is None:
        return [], True
    return measure_all(
        BENCH,
        measure,
        [Job(gpu, request.seed)],
        METRICS,
        console=request.console,
        also=machine(gpu),
        key=Job.key,
        fresh=True,
        results=Results.begin(request.results, request.options["resume"], counts),
        deadline=request.options["deadline"],
    )


def measure(job: Job) -> dict[str, Any]:
    """Values of ``METRICS``."""
    gpu, context = job.gpu, Context(0)
    probes = Probes(context, gpu)
    limits = measure_limits(context, gpu, probes, ColdStart(context, probes))
    return {
        "multiprocessors": gpu.multiprocessors,
        "memory_gib": gpu.memory / (1 << 30),
        "l2_mib": gpu.l2 / (1 << 20),
        "driver": call("cuDriverGetVersion") / 1000,
        "most_mhz": _mhz("CLOCK_RATE"),
        "clock_mhz": probes.clock_mhz(),
        "memory_mhz": _mhz("MEMORY_CLOCK_RATE"),
        "bandwidth": 1e-9 * limits.memory,
        "l2_bandwidth": 1e-9 * limits.l2,
        "empty_us": 1e3 * limits.empty_ms,
    }


def _mhz(attribute: str) -> int | None:
    """A clock that the driver knows; ``None`` where it does not say."""
    try:
        return device_attribute(0, attribute) // 1000
    except GpuError:
        return None


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each GPU."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(measured).items()]
    return {"GPU": Cells(["GPU", *_HEADER.values()], body)}


def verdict(measured: Sequence[Record]) -> str:
    """Which GPUs there are."""
    return "\n".join(
        f"{name}: {row['bandwidth']:,.0f} GB/s, {row['clock_mhz']:,.0f} MHz"
        for (name,), row in rows(measured).items()
    )


def draw(measured: Sequence[Record], path: Path) -> None:
    """Bandwidths."""
    table = rows(measured)
    figure, (axes,) = subplots(1, (6, 4.2))
    names = ("bandwidth", "l2_bandwidth")
    bars(axes, {_HEADER[name]: [row[name] for row in table.values()] for name in names})
    axes.set_xticks(range(len(table)), [name for (name,) in table])
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)
