"""Cycles on real workloads against those of the paper's compiler, and where they go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.dpu_parts.measure import METRICS, Job, measure
from bench.lib.inputs import existing, generated
from bench.lib.jobs import Failure, run_jobs
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, records, rows
from bench.lib.request import Request
from bench.lib.summary import cells, geometric_mean, mark, split
from bench.lib.tables import Cells

BENCH = "dpu.table"

CONFIG = "dpu_d3_b64"

# How many instructions the DPU-v2 authors' own compiler makes of the same files for the same
# configuration (D = 3, B = 64, R = 32); its machine, too, issues one a cycle.
REFERENCE_CYCLES = {
    "dag/tretail.psdd": 494,
    "dag/mnist.psdd": 458,
    "dag/msnbc.psdd": 2508,
    "dag/msweb.psdd": 2617,
    "dag/HB_bp_200_L.mtx": 944,
    "dag/HB_west2021_L.mtx": 852,
    "dag/MathWorks_Sieber_L.mtx": 2310,
    "dag/Bai_rdb968_L.mtx": 4171,
    "dag/Bai_dw2048_L.mtx": 6675,
}

LIMIT_MEAN = 1.0
LIMIT_WORST = 1.1
LIMIT_COMPILE_S = 30.0

_OWN = {
    "reference_cycles": Metric("cycles", "none"),
    "ratio": Metric("cycles/cycle", "lower"),
    "cycles_without_overlap": Metric("cycles", "lower"),
    "ratio_without_overlap": Metric("cycles/cycle", "lower"),
    "bit_exact_without_overlap": Metric("", "higher"),
}
_SUMMARY = {
    "mean_ratio": Metric("cycles/cycle", "lower"),
    "worst_ratio": Metric("cycles/cycle", "lower"),
    "mean_ratio_without_overlap": Metric("cycles/cycle", "lower"),
    "slowest_compile_s": Metric("s", "lower"),
}

_HEADER = {
    "operations": "operations",
    "reference_cycles": "reference",
    "cycles": "cycles",
    "ratio": "ratio",
    "cycles_without_overlap": "no overlap",
    "ratio_without_overlap": "ratio",
    "lower_bound": "bound",
    "distance": "distance",
    "ops_per_cycle": "ops/cycle",
    "compile_s": "compile s",
    "bit_exact": "bit-exact",
}
_SPENT_HEADER = {
    **{name: name for name in ("cycles", "blocks", "copies", "loads", "stores", "spills", "nops")},
    "bound_operations": "operations/PEs",
    "bound_inputs": "inputs/B",
    "bound_critical_path": "critical path",
}


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures the workloads that are there; whether all went well.

    Without any of them, two generated ones, which have no reference.
    """
    wanted = list(REFERENCE_CYCLES)[: 2 if request.quick else None]
    files = existing(request, BENCH, wanted)
    reference = {request.workloads / path: cycles for path, cycles in REFERENCE_CYCLES.items()}
    if not files:
        files = generated(request, BENCH)
    jobs = []
    for file in files:
        jobs.append(Job(file, CONFIG, (), request.backend, request.seed))
        # The paper's own instruction set: loads and stores take cycles of their own.
        jobs.append(Job(file, CONFIG, ("overlap=false",), "model", request.seed))
    results = run_jobs(measure, jobs, title=BENCH, console=request.console)

    measured: list[Record] = []
    well = True
    for at, file in enumerate(files):
        job, without = jobs[2 * at : 2 * at + 2]
        values, others = results[2 * at : 2 * at + 2]
        if isinstance(values, Failure) or isinstance(others, Failure):
            well = False
            continue
        well = well and bool(values["bit_exact"]) and bool(others["bit_exact"])
        labels = {"workload": job.workload, "backend": request.backend}
        own: dict[str, Any] = {}
        if file in reference:
            own["reference_cycles"] = reference[file]
            own["ratio"] = values["cycles"] / reference[file]
        measured += records(BENCH, labels, {**values, **own}, METRICS | _OWN, job.setting())
        own = {
            "cycles_without_overlap": others["cycles"],
            "bit_exact_without_overlap": others["bit_exact"],
        }
        if file in reference:
            own["ratio_without_overlap"] = others["cycles"] / reference[file]
        measured += records(BENCH, labels, own, _OWN, without.setting())
    if measured:
        summary = summarise(list(rows(measured).values()))
        labels = {"workload": "all", "backend": request.backend}
        measured += records(f"{BENCH}.summary", labels, summary, _SUMMARY, jobs[0].setting())
    return measured, well


def summarise(table: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Geometric means and extremes over workloads; ratios of those that have a reference."""
    summary = {"slowest_compile_s": max(row["compile_s"] for row in table)}
    ratios = [row["ratio"] for row in table if "ratio" in row]
    if ratios:
        without = [row["ratio_without_overlap"] for row in table if "ratio" in row]
        summary["mean_ratio"] = geometric_mean(ratios)
        summary["worst_ratio"] = max(ratios)
        summary["mean_ratio_without_overlap"] = geometric_mean(without)
    return summary


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """Tables by title: cycles, with their mean as the last row if there is a reference; and what
    cycles are spent on, beside lower bounds."""
    table, summary = split(measured, BENCH)
    body = [cells(row, [name], _HEADER) for (name, _), row in table.items()]
    if "mean_ratio" in summary:
        mean = {
            "ratio": summary["mean_ratio"],
            "ratio_without_overlap": summary["mean_ratio_without_overlap"],
        }
        body.append(cells(mean, ["geometric mean"], _HEADER))
    spent = [cells(row, [name], _SPENT_HEADER) for (name, _), row in table.items()]
    return {
        "Cycles": Cells(["workload", *_HEADER.values()], body),
        "Where they go": Cells(["workload", *_SPENT_HEADER.values()], spent),
    }


def verdict(measured: Sequence[Record]) -> str:
    """The figures that have limits, in a line each."""
    table, summary = split(measured, BENCH)
    exact = sum(row["bit_exact"] for row in table.values())
    backend = next(iter(table))[1]
    lines = [f"bit-exact on {backend}: {exact} of {len(table)} workloads"]
    limits = {
        "mean_ratio": ("cycles over reference, geometric mean", LIMIT_MEAN, ""),
        "worst_ratio": ("cycles over reference, worst", LIMIT_WORST, ""),
        "slowest_compile_s": ("slowest compilation", LIMIT_COMPILE_S, " s"),
    }
    for name, (text, limit, unit) in limits.items():
        if name in summary:
            kept = mark(summary[name] <= limit)
            lines.append(f"{text}: {summary[name]:.3g}{unit}, limit {limit:g}{unit} {kept}")
    return "\n".join(lines)


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles of each workload as shares of the reference; of our own cycles where it has none."""
    table, _ = split(measured, BENCH)
    names = [name for name, _ in table]
    whole = [row.get("reference_cycles", row["cycles"]) for row in table.values()]
    series = {
        label: [row[metric] / cycles for row, cycles in zip(table.values(), whole, strict=True)]
        for metric, label in (
            ("cycles", "DPU of this project"),
            ("cycles_without_overlap", "without loads and stores beside exec"),
            ("lower_bound", "lower bound"),
        )
    }
    figure, (axes,) = subplots(1, (10, 4.2))
    bars(axes, series)
    line_at(axes, 1)
    axes.set_xticks(range(len(names)), names, rotation=20, ha="right")
    axes.set(ylabel="cycles / reference cycles")
    axes.set_title(f"{CONFIG}: cycles against the paper's compiler", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(series))
    save(figure, path)
