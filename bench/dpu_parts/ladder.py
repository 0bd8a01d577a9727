"""How much of the distance to the paper's compiler is the DAG, and how much the machine.

The paper's authors compile larger DAGs from the same files. Here, this project's compiler compiles
those too, and comes to its own result step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from bench.dpu_parts.measure import Job, run_program, warm_up
from bench.dpu_parts.reference_dag import read_reference
from bench.dpu_parts.table import CONFIG, REFERENCE_CYCLES
from bench.lib.inputs import existing
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cell, geometric_mean
from bench.lib.tables import Cells
from gnarl.sw.compiler.dpu.compile import PASSES
from gnarl.sw.compiler.dpu.compile import compile as compile_dag
from gnarl.sw.compiler.passes import without

BENCH = "dpu.ladder"


@dataclass(frozen=True)
class Rung:
    """How far a step is from the paper's compiler.

    reference_dag
        whether it compiles the paper's DAG, not this project's.
    merges
        whether equal nodes become one, and sums of sums one sum.
    overlap
        whether loads and stores may run beside ``exec``.
    """

    name: str
    reference_dag: bool
    merges: bool
    overlap: bool

    def job(self, path: Path, request: Request) -> Job:
        """A job, on the model where the instruction set is the paper's: there is no RTL of it
        built."""
        if self.overlap:
            return Job(path, CONFIG, (), request.backend, request.seed)
        return Job(path, CONFIG, ("overlap=false",), "model", request.seed)


RUNGS = (
    Rung("the paper's DAG and instructions", True, False, False),
    Rung("with overlap", True, False, True),
    Rung("with merging", True, True, True),
    Rung("this project's DAG", False, True, True),
)

METRICS = {
    "operations": Metric("operations", "none"),
    "reference_cycles": Metric("cycles", "none"),
    "cycles": Metric("cycles", "lower"),
    "ratio": Metric("cycles/cycle", "lower"),
    "bit_exact": Metric("", "higher"),
}


@dataclass(frozen=True)
class Step:
    """A rung for one workload, for which the paper's compiler needs ``reference_cycles``."""

    job: Job
    rung: Rung
    reference_cycles: int

    @property
    def labels(self) -> dict[str, str]:
        job = self.job
        return {"workload": job.workload, "rung": self.rung.name, "backend": job.backend}

    def setting(self) -> Setting:
        return self.job.setting()

    def __str__(self) -> str:
        return f"{self.job}, {self.rung.name}"


def measure(step: Step) -> dict[str, Any]:
    """Values of ``METRICS``."""
    warm_up()
    job, rung = step.job, step.rung
    if rung.reference_dag:
        workload = read_reference(job.path, job.seed)
    else:
        workload = job.device.workload(job.path, job.seed)
    if rung.merges:
        program = job.device.compile(workload, seed=job.seed)
    else:
        config: Any = job.configuration().config
        passes = without(PASSES, ["simplify"])
        program = compile_dag(workload, config, seed=job.seed, passes=passes)
    cycles, bit_exact = run_program(job, program, workload)
    return {
        "operations": program.statistics["operations"],
        "reference_cycles": step.reference_cycles,
        "cycles": cycles,
        "ratio": cycles / step.reference_cycles,
        "bit_exact": bit_exact,
    }


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures the rungs for every workload that exists; whether all went well."""
    files = existing(request, BENCH, list(REFERENCE_CYCLES)[: 2 if request.quick else None])
    reference = {request.workloads / path: cycles for path, cycles in REFERENCE_CYCLES.items()}
    steps = [
        Step(rung.job(file, request), rung, reference[file]) for file in files for rung in RUNGS
    ]
    right = itemgetter("bit_exact")
    return measure_all(BENCH, measure, steps, METRICS, console=request.console, right=right)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """Cycles over the reference's, and operations: a row a workload, a column a rung."""
    names = _names(records)
    ratios, operations = [], []
    for workload, row in _by_workload(records).items():
        reference = next(iter(row.values()))["reference_cycles"]
        ratios.append([workload, cell(reference), *_cells(row, names, "ratio")])
        operations.append([workload, *_cells(row, names, "operations")])
    means = [cell(mean) for mean in mean_ratios(records).values()]
    return {
        "Cycles over the reference's": Cells(
            ["cycles / reference", "reference", *names], [*ratios, ["geometric mean", "", *means]]
        ),
        "Operations": Cells(["operations", *names], operations),
    }


def mean_ratios(records: Sequence[Record]) -> dict[str, float]:
    """Geometric mean over the workloads of cycles over the reference's, by rung."""
    table = _by_workload(records).values()
    return {
        rung: geometric_mean([row[rung]["ratio"] for row in table if rung in row])
        for rung in _names(records)
    }


def verdict(records: Sequence[Record]) -> str:
    """How many results are right, and the means in a line."""
    table = rows(records)
    exact = sum(row["bit_exact"] for row in table.values())
    means = ", ".join(f"{name} {mean:.2f}" for name, mean in mean_ratios(records).items())
    return (
        f"bit-exact: {exact} of {len(table)} runs\ncycles over reference, geometric means: {means}"
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Cycles of each workload over the reference's, a bar for each rung."""
    names = _names(records)
    table = {name: row for name, row in _by_workload(records).items() if len(row) == len(names)}
    series = {rung: [row[rung]["ratio"] for row in table.values()] for rung in names}
    figure, (axes,) = subplots(1, (10, 4.2))
    bars(axes, series)
    line_at(axes, 1)
    axes.set_xticks(range(len(table)), list(table), rotation=20, ha="right")
    axes.set(ylabel="cycles / reference cycles")
    axes.set_title(f"{CONFIG}: from the paper's DAG to this project's", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(series))
    save(figure, path)


def _by_workload(records: Sequence[Record]) -> dict[str, dict[str, dict[str, Any]]]:
    """Values by workload, rung and metric."""
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for (workload, rung, _), row in rows(records).items():
        table.setdefault(workload, {})[rung] = row
    return table


def _names(records: Sequence[Record]) -> list[str]:
    """The rungs that have records, in their order."""
    known = {record.labels["rung"] for record in records}
    return [rung.name for rung in RUNGS if rung.name in known]


def _cells(row: dict[str, dict[str, Any]], names: Sequence[str], metric: str) -> list[str]:
    return [cell(row[name][metric]) if name in row else "" for name in names]
