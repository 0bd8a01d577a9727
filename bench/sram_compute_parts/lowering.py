"""Lowering: the host's CPU time from plans to commands, at table 3's sizes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.lib.measurements import measure_all
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from bench.sram_compute_parts.workloads import PAPER_CHANGES, TABLE_3, sizes_text, workload
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator
from gnarl.sw.compiler.sram_compute.optimise.saturate import optimise_plan
from gnarl.sw.compiler.sram_compute.tdfg.plan import Region, Repeat, Step, plan
from gnarl.sw.compiler.sram_compute.tdfg.run import iterations
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.workloads.loops.ir.binding import Binding

BENCH = "sram_compute.lowering"
CONFIG = "sram_b4"
ITERATIONS = 5
"""Iterations of each loop that runs in order that are lowered: for stencils all."""
RUNS = 3
CALLS = 100
"""Calls of what is remembered, in a run: a single one is shorter than what the clock tells
apart."""

PUBLISHED_US = {"mean": 220.0, "gauss_elim": 1616.0}
REMEMBERED_US = 10.0
"""The limit of a nest that has been lowered at these sizes before."""

METRICS = {
    "regions": Metric("regions", "none"),
    "commands": Metric("commands", "lower"),
    "lower_s": Metric("s", "lower"),
    "us_a_region": Metric("µs/region", "lower"),
    "us_a_command": Metric("µs/command", "lower"),
    "remembered_us": Metric("µs", "lower"),
}
"""``regions``: that are run, each time that one is; ``remembered_us``: for all of them."""

_HEADER = {
    "regions": "regions run",
    "commands": "commands",
    "us_a_region": "CPU µs a region",
    "us_a_command": "a command",
    "remembered_us": "µs, remembered",
}


@dataclass(frozen=True)
class Job:
    """A workload at a size, of whose loops in order ``ITERATIONS`` are lowered."""

    workload: str
    sizes: Mapping[str, int]
    seed: int
    changes: tuple[str, ...] = PAPER_CHANGES

    @property
    def labels(self) -> dict[str, Any]:
        return {"workload": self.workload, "sizes": sizes_text(self.sizes)}

    def configuration(self) -> NamedConfiguration:
        return load_configuration(CONFIG, self.changes)

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed, RUNS)

    def __str__(self) -> str:
        return self.workload


def measure(job: Job) -> dict[str, float | int]:
    """Values of ``METRICS``, times as medians; what depends on the plan alone is ready by then."""
    config = job.configuration().config
    assert isinstance(config, SramConfig)
    measured = workload(job.workload, job.sizes, job.seed)
    steps = optimise_plan(plan(measured.nest, streams=False), reassociate=True)
    steps = shortened(steps, ITERATIONS)
    generator = CodeGenerator(measured.nest, steps, config)
    commands = generator.generate(measured.binding).commands
    fresh: list[float] = []
    remembered: list[float] = []
    for _ in range(RUNS):
        generator.forget()
        for times, calls in ((fresh, 1), (remembered, CALLS)):
            begin = time.process_time()
            for _ in range(calls):
                generator.generate(measured.binding)
            times.append((time.process_time() - begin) / calls)
    regions = regions_run(steps, measured.binding, measured.binding.sizes)
    return {
        "regions": regions,
        "commands": commands,
        "lower_s": median(fresh),
        "us_a_region": 1e6 * median(fresh) / regions,
        "us_a_command": 1e6 * median(fresh) / commands,
        "remembered_us": 1e6 * median(remembered),
    }


def shortened(steps: tuple[Step, ...], most: int) -> tuple[Step, ...]:
    """Loops that run in order with the first ``most`` iterations, which must be there."""
    found: list[Step] = []
    for step in steps:
        if isinstance(step, Repeat):
            upper = step.lower + most * step.step
            found.append(replace(step, upper=upper, body=shortened(step.body, most)))
        else:
            found.append(step)
    return tuple(found)


def regions_run(steps: tuple[Step, ...], binding: Binding, names: Mapping[str, int]) -> int:
    """How often any region is run."""
    found = 0
    for step in steps:
        if isinstance(step, Region):
            found += 1
        elif isinstance(step, Repeat):
            for value in iterations(step, names, binding):
                found += regions_run(step.body, binding, {**names, step.variable: value})
    return found


def jobs(request: Request) -> list[Job]:
    """Table 3's workloads; one that is small where it must be quick."""
    if request.quick:
        return [Job("stencil1d", {"n": 4096, "steps": ITERATIONS}, request.seed, ())]
    return [Job(name, sizes, request.seed) for name, sizes in TABLE_3.items()]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether all went well."""
    return measure_all(BENCH, measure, jobs(request), METRICS, console=request.console)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each workload."""
    body = [cells(row, labels, _HEADER, 1) for labels, row in rows(records).items()]
    return {"Lowering": Cells(["workload", "sizes", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """The mean over workloads, as the paper has it, and the slowest one."""
    times = {workload: row["us_a_region"] for (workload, _), row in rows(records).items()}
    mean = float(np.mean(list(times.values())))
    slowest = max(times, key=times.__getitem__)
    limit = PUBLISHED_US["mean"]
    remembered = max(row["remembered_us"] for row in rows(records).values())
    return (
        f"fresh lowering, mean of {len(times)} workloads: {mean:,.0f} CPU µs a region, "
        f"limit {limit:,.0f} {mark(mean < limit)}\n"
        f"slowest: {slowest}, {times[slowest]:,.0f} µs (the paper's: gauss_elim, "
        f"{PUBLISHED_US['gauss_elim']:,.0f})\n"
        f"lowered before: at most {remembered:.1f} µs a nest, limit {REMEMBERED_US:.0f} "
        f"{mark(remembered <= REMEMBERED_US)}"
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """CPU time for a region."""
    times = {workload: row["us_a_region"] for (workload, _), row in rows(records).items()}
    figure, (axes,) = subplots(1, (8, 4.2))
    bars(axes, {"fresh lowering": list(times.values())})
    line_at(axes, PUBLISHED_US["mean"])
    axes.set_xticks(range(len(times)), list(times), rotation=30, ha="right")
    axes.set(ylabel="CPU µs a region", yscale="log")
    axes.set_title("Lowering, and the paper's mean", loc="left", fontsize=11)
    save(figure, path)
