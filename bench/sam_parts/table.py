"""Cycles on real matrices against those of the SAM project's own cycle simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.lib.jobs import Failure, run_jobs
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, records, rows
from bench.lib.request import Request
from bench.lib.summary import cells, geometric_mean, mark, split
from bench.lib.tables import Cells
from bench.sam_parts.kernels import AS_THERE, HALF_FULL, KERNELS, LANES, MATRICES
from bench.sam_parts.measure import CONFIG, METRICS, Job, measure

BENCH = "sam.table"

LIMIT_MEAN = 1.0

_ROOM_FOR_A_ROW = "queue_depth=256"
"""What lanes need to work side by side: results of a row wait for those of the row before."""

_OWN = {
    "reference_cycles": Metric("cycles", "none"),
    "ratio": Metric("cycles/cycle", "lower"),
    "cycles_without_skip": Metric("cycles", "lower"),
}
_SUMMARY = {
    "mean_ratio": Metric("cycles/cycle", "lower"),
    "mean_ratio_without_skip": Metric("cycles/cycle", "lower"),
    "worst_ratio": Metric("cycles/cycle", "lower"),
}
_HEADER = {
    "reference_cycles": "reference",
    "cycles": "cycles",
    "ratio": "ratio",
    "cycles_without_skip": "no skip",
    "bound": "longest stream",
    "distance": "distance",
    "results": "results",
    "bit_exact": "bit-exact",
}


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every kernel on the matrices that are there; whether all went well."""
    jobs = []
    for matrix in MATRICES[: 1 if request.quick else None]:
        folder = request.workloads / "sam" / matrix
        if not folder.is_dir():
            request.console.print(f"{BENCH}: {folder} is absent: skipped", style="yellow")
            continue
        for kernel in KERNELS:
            if request.quick and kernel.name == "mat_sddmm":
                continue
            for variant in kernel.variants:
                for overrides in ((), ("skip=false",)):
                    if variant == LANES:
                        overrides = (*overrides, _ROOM_FOR_A_ROW)
                    jobs.append(
                        Job(kernel.name, folder, variant, request.backend, request.seed, overrides)
                    )
    results = run_jobs(measure, jobs, title=BENCH, console=request.console)

    reference = {kernel.name: kernel.cycles for kernel in KERNELS}
    measured: list[Record] = []
    well = bool(jobs)
    for at in range(0, len(jobs), 2):
        job, values, without = jobs[at], results[at], results[at + 1]
        if isinstance(values, Failure) or isinstance(without, Failure):
            well = False
            continue
        well = well and bool(values["bit_exact"]) and bool(without["bit_exact"])
        labels = {
            "kernel": job.kernel,
            "matrix": job.folder.name,
            "variant": job.variant,
            "backend": request.backend,
        }
        own: dict[str, Any] = {"cycles_without_skip": without["cycles"]}
        if job.variant != HALF_FULL:
            own["reference_cycles"] = reference[job.kernel][job.folder.name]
            own["ratio"] = values["cycles"] / own["reference_cycles"]
        measured += records(BENCH, labels, {**values, **own}, METRICS | _OWN, job.setting())
    if measured:
        summary = summarise(rows(measured))
        labels = {"kernel": "all", "backend": request.backend}
        measured += records(f"{BENCH}.summary", labels, summary, _SUMMARY, jobs[0].setting())
    return measured, well


def summarise(table: Mapping[tuple[Any, ...], dict[str, Any]]) -> dict[str, float]:
    """Geometric means and the largest ratio, of what was run as the reference was, if any was."""
    compared = [row for (_, _, variant, _), row in table.items() if variant == AS_THERE]
    if not compared:
        return {}
    without = [row["cycles_without_skip"] / row["reference_cycles"] for row in compared]
    ratios = [row["ratio"] for row in compared]
    return {
        "mean_ratio": geometric_mean(ratios),
        "mean_ratio_without_skip": geometric_mean(without),
        "worst_ratio": max(ratios),
    }


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """Cycles, with their mean as the last row if there is one."""
    table, summary = split(measured, BENCH)
    names = ["kernel", "matrix", "variant"]
    body = [cells(row, labels[:3], _HEADER) for labels, row in table.items()]
    if "mean_ratio" in summary:
        mean = {"ratio": summary["mean_ratio"]}
        body.append(cells(mean, ["geometric mean", "", ""], _HEADER))
    return {"Cycles": Cells([*names, *_HEADER.values()], body, names=3)}


def verdict(measured: Sequence[Record]) -> str:
    """The figures that have limits, in a line each."""
    table, summary = split(measured, BENCH)
    exact = sum(row["bit_exact"] for row in table.values())
    backend = next(iter(table))[3]
    lines = [f"bit-exact on {backend}: {exact} of {len(table)} runs"]
    if "mean_ratio" in summary:
        mean = summary["mean_ratio"]
        lines += [
            f"cycles over reference, geometric mean: {mean:.3g}, limit "
            f"{LIMIT_MEAN:g} {mark(mean <= LIMIT_MEAN)}; without skipping "
            f"{summary['mean_ratio_without_skip']:.3g}",
            f"cycles over reference, worst: {summary['worst_ratio']:.3g}",
        ]
    return "\n".join(lines)


def draw(measured: Sequence[Record], path: Path) -> None:
    """Cycles of each kernel as shares of the reference."""
    table, _ = split(measured, BENCH)
    compared = {labels: row for labels, row in table.items() if labels[2] == AS_THERE}
    series = {
        label: [row[metric] / row["reference_cycles"] for row in compared.values()]
        for metric, label in (
            ("cycles", "RTL of this project"),
            ("cycles_without_skip", "without skipping"),
            ("bound", "longest stream without skipping"),
        )
    }
    figure, (axes,) = subplots(1, (11, 4.4))
    bars(axes, series)
    line_at(axes, 1)
    ticks = [f"{kernel}\n{matrix}" for kernel, matrix, *_ in compared]
    axes.set_xticks(range(len(compared)), ticks, rotation=35, ha="right", fontsize=8)
    axes.set(ylabel="cycles / reference cycles")
    axes.set_title(f"{CONFIG}: cycles against SAM's simulator", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(series))
    save(figure, path)
