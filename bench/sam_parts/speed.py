"""Simulated cycles a second, and seconds from an expression to its result."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.lib.cycles import cycles_of
from bench.lib.measurements import measure_all
from bench.lib.plots import PALETTE, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.sam_machine import LIMIT_FASTER, machine_s
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from bench.sam_parts.kernels import KERNELS, operands
from bench.sam_parts.measure import CONFIG
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.runtime.report.stages import TimedStages, quiet
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration

BENCH = "sam.speed"

MATRIX = "lp_scsd1"
LIMIT_CYCLES_A_SECOND = 100_000
LIMIT_S = {"rtl": 60.0, "model": 3.0}

METRICS = {
    "cycles": Metric("cycles", "none"),
    "first_s": Metric("s", "lower"),
    "verilog_s": Metric("s", "lower"),
    "build_s": Metric("s", "lower"),
    "again_s": Metric("s", "lower"),
    "cycles_a_second": Metric("cycles/s", "higher"),
    "machine_cycles_a_second": Metric("cycles/s", "higher"),
}
"""``first_s``: from expression to result, nothing cached; ``again_s``: once more, with loading and
reading; ``cycles_a_second``: cycles over ``again_s``; ``machine_cycles_a_second``: cycles over
``machine_s``."""

_ALONE = "machine_cycles_a_second"

_HEADER = {
    "cycles": "cycles",
    "first_s": "first result s",
    "verilog_s": "Verilog s",
    "build_s": "simulator s",
    "again_s": "once more s",
    "cycles_a_second": "cycles/s",
    "machine_cycles_a_second": "machine's cycles/s",
}


@dataclass(frozen=True)
class Job:
    """A kernel on the operands of a matrix."""

    kernel: str
    folder: Path
    backend: str
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"kernel": self.kernel, "matrix": self.folder.name, "backend": self.backend}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return f"{self.kernel} on {self.folder.name}, {self.backend}"


def measure(job: Job) -> dict[str, float | int]:
    """Values of ``METRICS``; on RTL, of a simulator that is rebuilt."""
    kernel = next(kernel for kernel in KERNELS if kernel.name == job.kernel)
    inputs = operands(kernel, job.folder, half=False, seed=job.seed)
    timed = TimedStages(quiet)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["GNARL_CACHE"] = cache
        begin = time.perf_counter()
        with Device(load_configuration(CONFIG), job.backend, stages=timed) as device:
            workload = device.workload((SUITE[kernel.variant], inputs))
            program = device.compile(workload)
            result = device.run(program, workload.inputs)
            first_s = time.perf_counter() - begin
            begin = time.perf_counter()
            device.run(program, workload.inputs)
            again_s = time.perf_counter() - begin
            alone_s = machine_s(device, timed, program, workload.inputs)
    cycles = cycles_of(result)
    return {
        "cycles": cycles,
        "first_s": first_s,
        "verilog_s": timed.seconds.get("generate Verilog", 0.0),
        "build_s": timed.seconds.get("build simulator", 0.0),
        "again_s": again_s,
        "cycles_a_second": cycles / again_s,
        "machine_cycles_a_second": cycles / alone_s,
    }


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every kernel of the table on one matrix; whether all went well."""
    folder = request.workloads / "sam" / MATRIX
    if not folder.is_dir():
        request.console.print(f"{BENCH}: {folder} is absent: skipped", style="yellow")
        return [], True
    kernels = [kernel.name for kernel in KERNELS[: 1 if request.quick else None]]
    backends = ("model",) if request.backend == "model" else ("rtl", "model")
    jobs = [
        Job(kernel, folder, backend, request.seed) for backend in backends for kernel in kernels
    ]
    # A process for each: what one has imported or compiled is no help to another.
    return measure_all(BENCH, measure, jobs, METRICS, console=request.console, fresh=True)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each kernel and backend."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    names = ["kernel", "matrix", "backend"]
    return {"Speed": Cells([*names, *_HEADER.values()], body, names=3)}


def verdict(records: Sequence[Record]) -> str:
    """The figures that have limits, in a line each."""
    table = rows(records)
    lines = []
    for backend, limit in LIMIT_S.items():
        times = [row["first_s"] for labels, row in table.items() if labels[2] == backend]
        if times:
            lines.append(
                f"expression to result on {backend}, slowest: {max(times):.1f} s, limit "
                f"{limit:g} s {mark(max(times) <= limit)}"
            )
    for labels, row in table.items():
        if labels[0] == "mat_sddmm" and labels[2] == "rtl":
            speed = row["cycles_a_second"]
            lines.append(
                f"mat_sddmm on {labels[1]}: {speed:,.0f} cycles/s, at least "
                f"{LIMIT_CYCLES_A_SECOND:,} {mark(speed >= LIMIT_CYCLES_A_SECOND)}"
            )
            simulator = table.get((*labels[:2], "model"))
            if simulator is not None:
                faster = simulator[_ALONE] / row[_ALONE]
                lines.append(
                    f"mat_sddmm on {labels[1]}: cycles/s of the cycle simulator over those of the "
                    f"Verilated machine, {faster:.1f}, at least {LIMIT_FASTER:g} "
                    f"{mark(faster >= LIMIT_FASTER)}"
                )
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Draws where the time to a first result on RTL goes; on the model, if there is no RTL."""
    table = rows(records)
    shown = {labels: row for labels, row in table.items() if labels[2] == "rtl"} or table
    figure, (axes,) = subplots(1, (9, 4.2))
    places, below = np.arange(len(shown)), np.zeros(len(shown))
    parts = {
        "generate Verilog": [row["verilog_s"] for row in shown.values()],
        "build simulator": [row["build_s"] for row in shown.values()],
        "all else": [row["first_s"] - row["verilog_s"] - row["build_s"] for row in shown.values()],
    }
    for (label, seconds), color in zip(parts.items(), PALETTE, strict=False):
        axes.bar(places, seconds, 0.7, bottom=below, label=label, color=color)
        below += seconds
    axes.set_xticks(places, [labels[0] for labels in shown], rotation=20, ha="right")
    axes.set(ylabel="s")
    axes.set_title("From an expression to its first result", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(parts))
    save(figure, path)
