"""How compile time and memory grow with the size of a DAG."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.dpu_parts.measure import warm_up
from bench.lib.jobs import Failure, run_jobs
from bench.lib.peak_memory import peak_bytes
from bench.lib.plots import PALETTE, save, subplots
from bench.lib.records import Metric, Record, Setting, records, rows
from bench.lib.request import Request
from bench.lib.summary import mark
from bench.lib.tables import Cells
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.dag.generate import random_dag

BENCH = "dpu.scaling"

CONFIG = "dpu_d3_b64"
OVERRIDES = ("instruction_words=131072", "data_rows=131072")
"""Memories that hold the largest program."""

SIZES = (1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
QUICK_SIZES = SIZES[:3:2]

RUNS = 3
"""DAGs of each size."""

LIMIT_S = 600.0
LIMIT_BYTES = 8 * 2**30

_METRICS = {
    "operations": Metric("operations", "none"),
    "compile_s": Metric("s", "lower"),
    "compile_us_per_operation": Metric("µs/operation", "lower"),
    "schedules": Metric("schedules", "none"),
    "schedule_us_per_operation": Metric("µs/operation/schedule", "lower"),
    "peak_bytes": Metric("bytes", "lower"),
    "instructions": Metric("instructions", "lower"),
    "ops_per_instruction": Metric("operations/instruction", "higher"),
}


@dataclass(frozen=True)
class Point:
    """A generated DAG."""

    operations: int
    seed: int

    def __str__(self) -> str:
        return f"{self.operations:,} operations, seed {self.seed}"


def measure(point: Point) -> dict[str, float]:
    """Values of ``_METRICS``, if this process has done nothing else.

    The time is the compiler's, from DAG to program. The peak of memory is of all: interpreter,
    libraries, the DAG and its generation.
    """
    warm_up()
    configuration = load_configuration(CONFIG, OVERRIDES)
    shares: list[float] = []
    trace = Trace(progress=shares.append)
    workload = random_dag(point.operations, point.seed)
    begin = time.perf_counter()
    program = configuration.target.compiler.compile(
        workload, configuration.config, seed=point.seed, trace=trace
    )
    compile_s = time.perf_counter() - begin
    operations = program.statistics["operations"]
    instructions = program.statistics["instructions"]
    return {
        "operations": operations,
        "compile_s": compile_s,
        "compile_us_per_operation": 1e6 * compile_s / operations,
        # The compiler reports its progress after each schedule that it has tried.
        "schedules": len(shares),
        "schedule_us_per_operation": 1e6 * compile_s / operations / len(shares),
        "peak_bytes": peak_bytes(),
        "instructions": instructions,
        "ops_per_instruction": operations / instructions,
    }


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures generated DAGs, each in a process of its own; whether all went well."""
    configuration = load_configuration(CONFIG, OVERRIDES)
    points = [
        Point(size, request.seed + run)
        for size in (QUICK_SIZES if request.quick else SIZES)
        for run in range(1 if request.quick else RUNS)
    ]
    results = run_jobs(measure, points, title=BENCH, console=request.console, fresh=True)
    measured: list[Record] = []
    for size in dict.fromkeys(point.operations for point in points):
        runs = [
            result
            for point, result in zip(points, results, strict=True)
            if point.operations == size and not isinstance(result, Failure)
        ]
        if not runs:
            continue
        values, spreads = {}, {}
        for metric in _METRICS:
            each = [run[metric] for run in runs]
            values[metric] = median(each)
            if len(each) > 1:
                spreads[metric] = (min(each), max(each))
        setting = Setting.of(configuration, request.seed, len(runs))
        measured += records(BENCH, {"size": size}, values, _METRICS, setting, spreads)
    return measured, not any(isinstance(result, Failure) for result in results)


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """Tables by title, with a row for each size."""
    header = [
        *("operations", "compile s", "µs/operation", "schedules", "µs/operation/schedule"),
        *("peak GiB", "instructions", "operations/instruction"),
    ]
    body = [
        [
            f"{row['operations']:,.0f}",
            f"{row['compile_s']:.2f}",
            f"{row['compile_us_per_operation']:.0f}",
            f"{row['schedules']:.0f}",
            f"{row['schedule_us_per_operation']:.1f}",
            f"{row['peak_bytes'] / 2**30:.2f}",
            f"{row['instructions']:,.0f}",
            f"{row['ops_per_instruction']:.1f}",
        ]
        for row in rows(measured).values()
    ]
    return {"Time to compile generated DAGs": Cells(header, body, names=0)}


def verdict(measured: Sequence[Record]) -> str:
    """The largest DAG against its limits, in a line each."""
    row: dict[str, Any] = list(rows(measured).values())[-1]
    gibibytes = row["peak_bytes"] / 2**30
    marks = [mark(good) for good in (row["compile_s"] <= LIMIT_S, gibibytes <= 8)]
    return (
        f"{row['operations']:,.0f} operations compile in {row['compile_s']:.0f} s, "
        f"limit {LIMIT_S:.0f} s for 1,000,000 {marks[0]}\n"
        f"their peak memory is {gibibytes:.2f} GiB, limit {LIMIT_BYTES >> 30} GiB {marks[1]}"
    )


def draw(measured: Sequence[Record], path: Path) -> None:
    """Compile time, and time per operation, over operations; both axes logarithmic."""
    table = list(rows(measured).values())
    operations = [row["operations"] for row in table]
    seconds = [row["compile_s"] for row in table]
    figure, (total, each) = subplots(2, (10, 4.2))
    total.loglog(operations, seconds, "o-", color=PALETTE[0], label="compile time")
    linear = [seconds[-1] * count / operations[-1] for count in operations]
    total.loglog(operations, linear, "--", color=PALETTE[-1], linewidth=1, label="proportional")
    total.axhline(LIMIT_S, color=PALETTE[3], linewidth=1, label="limit for 1,000,000 operations")
    total.set(xlabel="operations", ylabel="s")
    for metric, color, label in (
        ("compile_us_per_operation", PALETTE[0], "in all"),
        ("schedule_us_per_operation", PALETTE[1], "for one schedule"),
    ):
        each.loglog(operations, [row[metric] for row in table], "o-", color=color, label=label)
    each.set(xlabel="operations", ylabel="µs/operation")
    each.legend(frameon=False)
    total.legend(frameon=False)
    total.set_title(f"{CONFIG}: time to compile generated DAGs", loc="left", fontsize=11)
    each.set_title("by operation", loc="left", fontsize=11)
    save(figure, path)
