"""The paper's 48 points of D, B and R: what each does with the same workloads.

Source: DPU-v2, section V, figure 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.dpu_parts.measure import METRICS, Job, measure
from bench.lib.inputs import existing, generated
from bench.lib.measurements import measure_all
from bench.lib.plots import PALETTE, save, subplots
from bench.lib.records import Record, Setting, rows
from bench.lib.request import Request
from bench.lib.tables import Cells

BENCH = "dpu.points"

CONFIG = "dpu_d3_b64"

DEPTHS = (1, 2, 3)
BANKS = (8, 16, 32, 64)
REGISTERS = (16, 32, 64, 128)

WORKLOADS = ("dag/tretail.psdd", "dag/HB_bp_200_L.mtx")

# Those also run on RTL: each D, each R, and small B, for their simulators are built in seconds.
RTL_POINTS = ((1, 8, 16), (2, 8, 32), (3, 8, 128), (1, 16, 64), (3, 16, 32), (2, 32, 64))
QUICK_POINTS = ((1, 8, 16), (3, 16, 32))

PROCESSES = 2

_KEPT = ("operations", "cycles", "ops_per_cycle", "copies", "spills", "lower_bound", "bit_exact")


@dataclass(frozen=True)
class Point:
    """A workload's file on a machine of these D, B and R."""

    path: Path
    depth: int
    banks: int
    registers: int
    backend: str
    seed: int

    @property
    def job(self) -> Job:
        shape = (f"depth={self.depth}", f"banks={self.banks}", f"registers={self.registers}")
        return Job(self.path, CONFIG, shape, self.backend, self.seed)

    @property
    def labels(self) -> dict[str, str | int]:
        return {
            "workload": self.job.workload,
            "depth": self.depth,
            "banks": self.banks,
            "registers": self.registers,
            "backend": self.backend,
        }

    def setting(self) -> Setting:
        return self.job.setting()

    def __str__(self) -> str:
        return str(self.job)


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every point on the workloads; whether all went well.

    With the backend ``rtl``, ``RTL_POINTS`` run on RTL and model, the others on the model only.
    Without the workloads, two generated ones.
    """
    files = existing(request, BENCH, WORKLOADS)
    if len(files) < len(WORKLOADS):
        files = generated(request, BENCH)
    points = QUICK_POINTS if request.quick else tuple(product(DEPTHS, BANKS, REGISTERS))
    # Simulators are built first, so that no processor waits for the last of them.
    points = tuple(sorted(points, key=lambda point: point not in RTL_POINTS))
    jobs = []
    for shape in points:
        backend = request.backend if shape in RTL_POINTS else "model"
        for file in files[: 1 if request.quick else None]:
            jobs.append(Point(file, *shape, backend, request.seed))
    return measure_all(
        BENCH,
        measure_point,
        jobs,
        METRICS,
        console=request.console,
        right=itemgetter("bit_exact"),
        processes=PROCESSES,
    )


def measure_point(point: Point) -> dict[str, Any]:
    """The values that are kept of a point's job."""
    values = measure(point.job)
    return {name: values[name] for name in _KEPT}


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """Tables by title: cycles, with a row for each workload, D and R and a column for each B; ``*``
    marks points that ran on RTL too."""
    table = rows(records)
    cycles = {
        (workload, depth, banks, registers): f"{row['cycles']:,}{' *' * (backend == 'rtl')}"
        for (workload, depth, banks, registers, backend), row in table.items()
    }
    names = sorted({(workload, depth, registers) for workload, depth, _, registers, _ in table})
    all_banks = sorted({banks for _, _, banks, _, _ in table})
    body = [
        [workload, str(depth), str(registers)]
        + [cycles.get((workload, depth, banks, registers), "") for banks in all_banks]
        for workload, depth, registers in names
    ]
    header = ["workload", "D", "R", *(f"B = {banks}" for banks in all_banks)]
    return {"Cycles": Cells(header, body, names=3)}


def verdict(records: Sequence[Record]) -> str:
    """How many points are right, and the fastest, in a line each."""
    table = rows(records)
    exact = sum(row["bit_exact"] for row in table.values())
    on_rtl = [labels[1:4] for labels in table if labels[-1] == "rtl"]
    points = mean_cycles(records)
    depth, banks, registers = min(points, key=lambda point: points[point])
    return (
        f"bit-exact: {exact} of {len(table)} runs at {len(points)} points, "
        f"{len(dict.fromkeys(on_rtl))} of the points on RTL too\n"
        f"fewest cycles an operation: D = {depth}, B = {banks}, R = {registers}"
    )


def mean_cycles(records: Sequence[Record]) -> dict[tuple[int, int, int], float]:
    """Cycles an operation, mean over workloads, by (D, B, R)."""
    values: dict[tuple[int, int, int], list[float]] = {}
    for (_, depth, banks, registers, _), row in rows(records).items():
        each = values.setdefault((depth, banks, registers), [])
        each.append(row["cycles"] / row["operations"])
    return {point: fmean(each) for point, each in values.items()}


def draw(records: Sequence[Record], path: Path) -> None:
    """Cycles an operation over B, a panel for each D and a line for each R; the best marked."""
    points = mean_cycles(records)
    best = min(points, key=lambda point: points[point])
    depths = sorted({depth for depth, _, _ in points})
    all_registers = sorted({registers for _, _, registers in points})
    all_banks = sorted({banks for _, banks, _ in points})
    figure, panels = subplots(len(depths), (10, 4.2), sharey=True)
    for axes, depth in zip(panels, depths, strict=True):
        for at, registers in enumerate(all_registers):
            line = [
                (banks, points[depth, banks, registers])
                for banks in all_banks
                if (depth, banks, registers) in points
            ]
            if line:
                # Smaller and smaller, for the lines often lie on one another.
                style = {"color": PALETTE[at], "markersize": 11 - 2 * at, "linewidth": 1}
                axes.plot(*zip(*line, strict=True), "o-", label=f"R = {registers}", **style)
        axes.set_title(f"D = {depth}", loc="left", fontsize=11)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:.2g}")
        axes.set_xticks(all_banks, [str(banks) for banks in all_banks])
        axes.set(xlabel="B, banks")
        if depth == best[0]:
            axes.plot(best[1], points[best], "o", markersize=16, fillstyle="none", color="black")
    panels[0].set(ylabel="cycles/operation, mean of workloads")
    panels[-1].legend(frameon=False)
    save(figure, path)
