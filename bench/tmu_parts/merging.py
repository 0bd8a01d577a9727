"""Products and sums of a real matrix by merging, beside SAM's graphs and the execute unit alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from bench.lib.measurements import measure_exact
from bench.lib.plots import PALETTE, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from bench.sam_parts import measure as sam
from bench.tmu_parts import coupled, merging_cells
from bench.tmu_parts.runs import CONFIG, run_named
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.workloads.loops.sources import named_workload

BENCH = "tmu.merging"

MATRIX = "lp_scsd1"

OPERATIONS: Mapping[str, str] = {
    "matrix_elementwise_product": "mat_elemmul",
    "matrix_sum": "mat_elemadd",
    "matrix_product": "matmul_ijk",
}
"""The nest, and SAM's statement with the same loops."""

DECOUPLED, SAM = "TMU, level 4", "SAM"
PROGRAMS: Mapping[str, Mapping[str, Any]] = {
    DECOUPLED: {"opt": 4},
    **{f"TMU, {name}": coupled.PROGRAMS[name] for name in (coupled.COUPLED, coupled.BY_HAND)},
}
MACHINES = (*PROGRAMS, SAM)

METRICS = {
    "cycles": Metric("cycles", "lower"),
    "instructions": Metric("instructions", "lower"),
    "bytes_read": Metric("bytes", "lower"),
    "bit_exact": Metric("", "higher"),
}

_HEADER = {
    "cycles": "cycles",
    "instructions": "instructions",
    "bytes_read": "bytes read",
}


@dataclass(frozen=True)
class Job:
    """An operation of the matrix of a file and the same one shifted, on a machine."""

    operation: str
    file: Path
    machine: str
    backend: str
    seed: int

    @property
    def labels(self) -> dict[str, Any]:
        return {
            "operation": self.operation,
            "matrix": self.file.stem,
            "machine": self.machine,
            "backend": self.backend,
        }

    def configuration(self) -> NamedConfiguration:
        return load_configuration(sam.CONFIG if self.machine == SAM else CONFIG)

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def __str__(self) -> str:
        return f"{self.operation} of {self.file.stem}, {self.machine}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``; of SAM cycles and bits alone."""
    name = f"{job.operation}:{job.file}"
    if job.machine == SAM:
        operands = _operands(job, named_workload(name, job.seed).inputs)
        measured = sam.run(SUITE[OPERATIONS[job.operation]], operands, job.backend)
        return {metric: measured[metric] for metric in ("cycles", "bit_exact")}
    run = run_named(name, (), job.backend, job.seed, **PROGRAMS[job.machine])
    return {
        "cycles": run.cycles,
        "instructions": run.counters["instructions"],
        "bytes_read": run.statistics["bytes_read"],
        "bit_exact": run.bit_exact,
    }


def _operands(job: Job, arrays: Mapping[str, np.ndarray]) -> dict[str, scipy.sparse.coo_array]:
    columns = 1 + max(int(arrays[side].max(initial=0)) for side in ("left", "right"))
    left, right = (
        scipy.sparse.csr_array(
            (arrays[f"{side}_values"], arrays[side], offsets), shape=(len(offsets) - 1, columns)
        )
        for side in ("left", "right")
        for offsets in [arrays[f"{side}_offsets"]]
    )
    is_product = job.operation == "matrix_product"
    return {"B": left.tocoo(), "C": (right.T if is_product else right).tocoo()}


def operations(request: Request) -> list[str]:
    return list(OPERATIONS)[: 1 if request.quick else None]


def jobs(request: Request) -> list[Job]:
    """All operations on all machines; none if the matrix is absent."""
    file = matrix(request, BENCH)
    if not file:
        return []
    return [
        Job(operation, file, machine, request.backend, request.seed)
        for operation in operations(request)
        for machine in MACHINES
    ]


def matrix(request: Request, bench: str) -> Path | None:
    """The file of ``MATRIX``; says that ``bench`` goes without it if it is absent."""
    file = request.workloads / "sam" / f"{MATRIX}.mtx"
    if file.is_file():
        return file
    request.console.print(f"{bench}: {file} is absent: skipped", style="yellow")
    return None


def machines(request: Request) -> list[merging_cells.Job]:
    """What costs gates: the TMU, and SAM's hardware for each operation."""
    found = [merging_cells.Job(name, OPERATIONS[name]) for name in operations(request)]
    return found if request.quick else [merging_cells.Job(merging_cells.ALL), *found]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether there is a matrix, and every result has the golden model's bits."""
    found = jobs(request)
    records, well = measure_exact(BENCH, measure, found, METRICS, request)
    if found:
        records, made = merging_cells.run(machines(request), request)
        well = well and made
    return records, well and bool(found)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each run; then one for each machine."""
    runs, costs = _parted(records)
    body = [cells(row, labels[:3], _HEADER, 3) for labels, row in rows(runs).items()]
    table = Cells(["operation", "matrix", "machine", *_HEADER.values()], body, names=3)
    return {"Merging": table, "Cells": merging_cells.table(costs)}


def _parted(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Splits records into those of runs and those of what machines cost."""
    runs = [record for record in records if record.bench == BENCH]
    return runs, [record for record in records if record.bench == merging_cells.BENCH]


def ratios(records: Sequence[Record], *machines: str) -> dict[str, float]:
    """Cycles of the best of some machines over those of decoupled programs, by operation."""
    cycles = _cycles(records)
    best: dict[str, float] = {}
    for (operation, machine), count in cycles.items():
        if machine in machines and (operation, DECOUPLED) in cycles:
            ratio = count / cycles[operation, DECOUPLED]
            best[operation] = min(ratio, best.get(operation, ratio))
    return best


def _cycles(records: Sequence[Record]) -> dict[tuple[str, str], int]:
    """Cycles by operation and machine."""
    runs, _ = _parted(records)
    return {(labels[0], labels[2]): row["cycles"] for labels, row in rows(runs).items()}


def verdict(records: Sequence[Record]) -> str:
    """Geometric means of cycles, and what the machines cost."""
    lines = []
    others = [machine for machine in PROGRAMS if machine != DECOUPLED]
    for machines, what in ((others, "the best coupled"), ([SAM], "SAM")):
        values = list(ratios(records, *machines).values())
        if values:
            mean = float(np.exp(np.mean(np.log(values))))
            lines.append(
                f"cycles of {what} over merging's, geometric mean of {len(values)} operations: "
                f"{mean:.2f} ×"
            )
    if costs := merging_cells.verdict(_parted(records)[1]):
        lines.append(costs)
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Cycles of all machines."""
    figure, (axes,) = subplots(1, (8, 4))
    width = 0.8 / len(MACHINES)
    table = _cycles(records)
    names = list(dict.fromkeys(operation for operation, _ in table))
    for number, (machine, color) in enumerate(zip(MACHINES, PALETTE, strict=False)):
        places = np.arange(len(names)) + (number - (len(MACHINES) - 1) / 2) * width
        heights = [table.get((operation, machine), np.nan) for operation in names]
        axes.bar(places, heights, width, label=machine, color=color)
    axes.set(ylabel="cycles", yscale="log")
    axes.set_xticks(range(len(names)), names)
    axes.set_title("Products and sums by merging", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(MACHINES))
    save(figure, path)
