"""The RTL's simulator: the time to build it, and cycles that it runs a second of CPU time."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.lib.cycles import cycles_of
from bench.lib.jobs import Failure, run_jobs
from bench.lib.plots import PALETTE, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, records
from bench.lib.request import Request
from bench.lib.summary import cells, mark, split
from bench.lib.tables import Cells
from bench.sram_compute_parts.cycles import AFTER, compiled
from bench.sram_compute_parts.cycles import Job as Workload
from bench.sram_compute_parts.workloads import WHOLE, sizes_text
from gnarl.sw.runtime.report.stages import TimedStages, quiet
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration

BENCH = "sram_compute.simulation"
BUILD = "sram_compute.build"
CONFIG = "sram_b4"
SMALL = "sram_b2"

_SHORT = "vec_add"
WORKLOADS = ("vec_add", "stencil2d", "conv2d", "mm")

LIMIT_CYCLES_A_SECOND = 20_000
LIMIT_BUILD_S = 180.0

METRICS = {
    "cycles": Metric("cycles", "none"),
    "seconds": Metric("s", "lower"),
    "cycles_a_second": Metric("cycles/s", "higher"),
}
"""``seconds``: CPU time of a run, with what is written before and read after it."""

BUILD_METRICS = {
    "verilog_s": Metric("s", "lower"),
    "simulator_s": Metric("s", "lower"),
    "build_s": Metric("s", "lower"),
    "build_cpu_s": Metric("s", "lower"),
    "host_s": Metric("s", "none"),
}
"""Until there is a simulator: Verilog is generated, and translated and compiled by Verilator; of
both, CPU time, too. ``host_s``: CPU time of ``ADDITIONS`` in Python, which tells hosts apart, and
times when one is slow."""

ADDITIONS = 10_000_000

_HEADER = {"cycles": "cycles", "seconds": "CPU s", "cycles_a_second": "cycles a CPU s"}


@dataclass(frozen=True)
class Job:
    """Workloads with their sizes, one after the other on a simulator that is built for them."""

    config: str
    sizes: Mapping[str, Mapping[str, int]]
    seed: int

    def setting(self) -> Setting:
        return Setting.of(load_configuration(self.config), self.seed)

    def __str__(self) -> str:
        return f"{', '.join(self.sizes)} on {self.config}"


def measure(job: Job) -> tuple[dict[str, float], dict[str, dict[str, float | int]]]:
    """Values of ``BUILD_METRICS``, and those of ``METRICS`` by workload."""
    timed = TimedStages(quiet)
    by_workload: dict[str, dict[str, float | int]] = {}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["GNARL_CACHE"] = cache
        with Device(load_configuration(job.config), "rtl", stages=timed) as device:
            cpu_s = _built(device, job)
            for name, sizes in job.sizes.items():
                program, inputs = compiled(device, _run_of(job, name, sizes))
                begin = time.process_time()
                cycles = cycles_of(device.run(program, inputs))
                seconds = time.process_time() - begin
                by_workload[name] = {
                    "cycles": cycles,
                    "seconds": seconds,
                    "cycles_a_second": cycles / seconds,
                }
    verilog_s, simulator_s = (
        timed.seconds[stage] for stage in ("generate Verilog", "build simulator")
    )
    build = {
        "verilog_s": verilog_s,
        "simulator_s": simulator_s,
        "build_s": verilog_s + simulator_s,
        "build_cpu_s": cpu_s,
        "host_s": _host_s(),
    }
    return build, by_workload


def _host_s() -> float:
    begin = time.process_time()
    total = 0
    for number in range(ADDITIONS):
        total += number
    return time.process_time() - begin


def _built(device: Device, job: Job) -> float:
    """CPU seconds until a short run is over, before which everything is built."""
    program, inputs = compiled(device, _run_of(job, _SHORT, {}))
    begin = _cpu_s()
    device.run(program, inputs)
    return _cpu_s() - begin


def _run_of(job: Job, name: str, sizes: Mapping[str, int]) -> Workload:
    return Workload(name, sizes, AFTER, "rtl", job.seed, job.config)


def _cpu_s() -> float:
    """Processor time of this process and the processes that it has started."""
    return sum(os.times()[:4])


def job_of(request: Request) -> Job:
    """Several workloads on ``sram_b4``; a small one on ``sram_b2`` where it must be quick."""
    if request.quick:
        return Job(SMALL, {_SHORT: {}}, request.seed)
    return Job(CONFIG, {name: WHOLE[name] for name in WORKLOADS}, request.seed)


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures them, in a process of its own; whether that went well. The model has no simulator to
    build, and is not measured."""
    job = job_of(request)
    if request.backend == "model":
        return [], True
    (result,) = run_jobs(measure, [job], title=BENCH, console=request.console, fresh=True)
    if isinstance(result, Failure):
        return [], False
    build, speeds = result
    setting = job.setting()
    measured = records(BUILD, {"configuration": job.config}, build, BUILD_METRICS, setting)
    for name, values in speeds.items():
        labels = {"workload": name, "sizes": sizes_text(job.sizes[name])}
        measured += records(BENCH, labels, values, METRICS, setting)
    return measured, True


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each workload."""
    speeds, _ = split(measured, BENCH)
    body = [cells(row, labels, _HEADER) for labels, row in speeds.items()]
    return {"Simulation": Cells(["workload", "sizes", *_HEADER.values()], body, names=2)}


def verdict(measured: Sequence[Record]) -> str:
    """Both limits, of ``sram_b4`` as they are meant."""
    speeds, build = split(measured, BENCH)
    slowest = min(row["cycles_a_second"] for row in speeds.values())
    config = measured[0].setting.config
    return (
        f"{config} built in {build['build_cpu_s']:.0f} CPU s, limit {LIMIT_BUILD_S:g} "
        f"{mark(build['build_cpu_s'] <= LIMIT_BUILD_S)}; in {build['build_s']:.0f} s on the clock "
        f"{mark(build['build_s'] <= LIMIT_BUILD_S)} (Verilog "
        f"{build['verilog_s']:.0f} s, simulator {build['simulator_s']:.0f} s)\n"
        f"slowest of {len(speeds)} workloads: {slowest:,.0f} cycles a CPU s, at least "
        f"{LIMIT_CYCLES_A_SECOND:,} {mark(slowest >= LIMIT_CYCLES_A_SECOND)}\n"
        f"the host: {ADDITIONS:,} additions in Python take {build['host_s']:.2f} CPU s"
    )


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles a second of each workload, and the limit."""
    speeds, _ = split(measured, BENCH)
    figure, (axes,) = subplots(1, (7, 4))
    labels = [name for name, _ in speeds]
    axes.bar(labels, [row["cycles_a_second"] for row in speeds.values()], color=PALETTE[0])
    line_at(axes, LIMIT_CYCLES_A_SECOND)
    axes.set(ylabel="cycles a CPU s")
    axes.set_title("Simulation of the RTL", loc="left", fontsize=11)
    save(figure, path)
