"""Programs of the compiler against those written by hand for both units, Ember's ref-dae."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.measurements import measure_exact
from bench.lib.plots import PALETTE, save, subplots
from bench.lib.records import Metric, Record, rows
from bench.lib.request import Request
from bench.lib.summary import cell, cells, geometric_mean, mark
from bench.lib.tables import Cells
from bench.tmu_parts import merging
from bench.tmu_parts.coupled import WORKLOADS, Job
from bench.tmu_parts.runs import run_named

BENCH = "tmu.ref"

BY_HAND, LEVEL_3, LEVEL_4 = "by hand", "level 3", "level 4"
PROGRAMS: Mapping[str, Mapping[str, Any]] = {
    BY_HAND: {"ref": True},
    LEVEL_3: {"opt": 3},
    LEVEL_4: {"opt": 4},
}
COMPILED = (LEVEL_3, LEVEL_4)

AIM = 0.99
"""Speed of level 4 over that by hand, geometric mean of table I. Ember's level 3 has as much; see
its figure 16."""

VECTORS = (
    "vector_product:p10",
    "vector_sum:p10",
    "compressed_vector_product:p10",
    "compressed_vector_sum:p10",
)
MATRICES = (
    "matrix_elementwise_product",
    "matrix_sum",
    "matrix_product",
    "compressed_matrix_elementwise_product",
    "compressed_matrix_sum",
    "compressed_matrix_product",
)
"""Operations of merging, these of a matrix of a file."""

METRICS = {
    "cycles": Metric("cycles", "lower"),
    "instructions": Metric("instructions", "lower"),
    "share": Metric("", "higher"),
    "bit_exact": Metric("", "higher"),
}

_HEADER = {"cycles": "cycles", "share": "share of bound", "instructions": "instructions"}


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``."""
    run = run_named(job.name, job.changes, job.backend, job.seed, **PROGRAMS[job.program])
    return {
        "cycles": run.cycles,
        "instructions": run.instructions,
        "share": run.statistics["lower_bound"] / run.cycles,
        "bit_exact": run.bit_exact,
    }


def jobs(request: Request) -> list[Job]:
    """All operations; none of matrices that merge if the matrix is absent."""
    workloads: dict[str, Path | None] = dict.fromkeys(WORKLOADS[: 1 if request.quick else None])
    if not request.quick:
        workloads |= dict.fromkeys(VECTORS)
        if file := merging.matrix(request, BENCH):
            workloads |= {f"{operation}:{file.stem}": file for operation in MATRICES}
    return [
        Job(workload, program, request.backend, request.seed, file=file)
        for workload, file in workloads.items()
        for program in PROGRAMS
    ]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request)


def speeds(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    """Cycles by hand over those of compiled programs, by level and workload."""
    cycles = {labels[:2]: row["cycles"] for labels, row in rows(records).items()}
    ratios: dict[str, dict[str, float]] = {level: {} for level in COMPILED}
    for (workload, program), count in cycles.items():
        if program in ratios and (workload, BY_HAND) in cycles:
            ratios[program][workload] = cycles[workload, BY_HAND] / count
    return ratios


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each run; and how fast compiled programs are."""
    body = [cells(row, labels[:2], _HEADER, 3) for labels, row in rows(records).items()]
    ratios = speeds(records)
    workloads = dict.fromkeys(workload for level in COMPILED for workload in ratios[level])
    compared = [
        [workload, *(cell(ratios[level].get(workload), 3) for level in COMPILED)]
        for workload in workloads
    ]
    return {
        "By hand and compiled": Cells(["workload", "program", *_HEADER.values()], body, names=2),
        "Cycles by hand over compiled": Cells(["workload", *COMPILED], compared, names=1),
    }


def verdict(records: Sequence[Record]) -> str:
    """Geometric means over operations of table I and over those of merging, by level."""
    lines = []
    for level, ratios in speeds(records).items():
        embedding = [ratio for workload, ratio in ratios.items() if workload in WORKLOADS]
        merged = [ratio for workload, ratio in ratios.items() if workload not in WORKLOADS]
        for what, values in (("of table I", embedding), ("of merging", merged)):
            if values:
                mean = geometric_mean(values)
                aim = f", at least {AIM:.0%} {mark(mean >= AIM)}" if level == LEVEL_4 else ""
                lines.append(
                    f"{level}, share of the speed of programs by hand, geometric mean of "
                    f"{len(values)} operations {what}: {mean:.1%}{aim}"
                )
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """How fast compiled programs are."""
    ratios = speeds(records)
    workloads = list(dict.fromkeys(labels[0] for labels in rows(records)))
    figure, (axes,) = subplots(1, (8, 5))
    width = 0.8 / len(COMPILED)
    for number, (level, color) in enumerate(zip(COMPILED, PALETTE, strict=False)):
        known = ratios[level]
        places = np.array([workloads.index(each) for each in known]) + (number - 0.5) * width
        axes.barh(places, list(known.values()), width, label=level, color=color)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(workloads)), workloads)
    axes.invert_yaxis()
    axes.set(xlabel="cycles by hand over cycles compiled")
    axes.set_title("Compiled programs against those by hand", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(COMPILED))
    save(figure, path)
