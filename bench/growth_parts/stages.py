"""Processor time and memory of every stage of a run, as its workload grows."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from operator import itemgetter
from pathlib import Path

from bench.growth_parts.workloads import GROWING, Growing
from bench.lib.measurements import measure_all
from bench.lib.peak_memory import peak_bytes
from bench.lib.plots import save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import mark
from bench.lib.tables import Cells
from gnarl.sw.runtime.report.stages import TimedStages, quiet

BENCH = "growth.stages"

MOST = 1.1
"""The exponent of time in size that a stage may have."""

OF_CYCLES = ("simulate", "report")
"""Stages whose time is compared with the cycles of the run, where they are counted: a program that
spills has more of them for each operation."""

SHORT_S = 0.1
"""Seconds at the largest size below which a stage is too short to have an exponent."""

STAGES = ("load", "compile", "build", "bind", "simulate", "verify", "report", "write")
_INNER = {"lower": "compile", "prepare compiler": "compile", "build kernel": "build"}
"""Stages that some targets have besides, and those that they are part of here."""

METRICS = {
    **{f"{stage}_s": Metric("s", "lower") for stage in STAGES},
    "peak_bytes": Metric("bytes", "lower"),
    "cycles": Metric("cycles", "none"),
    "bit_exact": Metric("", "higher"),
}


@dataclass(frozen=True)
class Job:
    """One size of a workload of ``GROWING``."""

    workload: str
    size: int
    seed: int

    @property
    def labels(self) -> dict[str, str | int]:
        return {"workload": self.workload, "size": self.size}

    def setting(self) -> Setting:
        growing = GROWING[self.workload]
        return Setting(growing.config, tuple(growing.overrides(self.size)), "", self.seed)

    def __str__(self) -> str:
        return f"{self.workload} of {self.size:,}"


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures each size in a process of its own; with ``quick`` the smallest."""
    jobs = [
        Job(name, size, request.seed)
        for name, growing in GROWING.items()
        for size in growing.sizes[: 1 if request.quick else None]
    ]
    return measure_all(
        BENCH,
        measure,
        jobs,
        METRICS,
        console=request.console,
        right=itemgetter("bit_exact"),
        fresh=True,
        results=Results.begin(request.results, False),
    )


def measure(job: Job) -> dict[str, float | bool]:
    """Values of ``METRICS``; what the smallest size has needed before is left out of memory, and
    what is done once in a process of all."""
    growing = GROWING[job.workload]
    with tempfile.TemporaryDirectory() as name:
        if growing.config.startswith("cuda"):
            os.environ["GNARL_CACHE"] = f"{name}/cache"  # so that kernels are built
        first = growing.sizes[0]
        growing.run(first, job.seed + 1, Path(name, "first"), growing.overrides(first))
        before = peak_bytes()
        stages = TimedStages(quiet, clock=_processor_s)
        overrides = growing.overrides(job.size)
        report = growing.run(job.size, job.seed, Path(name, "measured"), overrides, stages)
    by_stage = dict.fromkeys(STAGES, 0.0)
    for stage, taken in stages.seconds.items():
        outer = _INNER.get(stage, stage)
        if outer in by_stage:
            by_stage[outer] += taken
    return {
        **{f"{stage}_s": taken for stage, taken in by_stage.items()},
        "peak_bytes": peak_bytes() - before,
        **({} if report.cycles is None else {"cycles": report.cycles}),
        "bit_exact": report.verification.bit_exact,
    }


def _processor_s() -> float:
    """Of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A table for each workload: a row for each stage, with its exponent, and one for memory."""
    return {
        growing.title: _table(growing, sizes)
        for name, growing in GROWING.items()
        if (sizes := _by_size(records, name))
    }


def _table(growing: Growing, sizes: Mapping[int, Mapping[str, float]]) -> Cells:
    body = [
        [
            f"{stage}, CPU s",
            *(f"{row[f'{stage}_s']:.2f}" for row in sizes.values()),
            _text(exponent(sizes, stage)),
        ]
        for stage in STAGES
        if any(row[f"{stage}_s"] >= 0.005 for row in sizes.values())
    ]
    if all("cycles" in row for row in sizes.values()):
        body.append(["cycles", *(f"{row['cycles']:,}" for row in sizes.values()), ""])
    memory = (f"{row['peak_bytes'] / 1e6:,.0f}" for row in sizes.values())
    each = (f"{row['peak_bytes'] / size:,.0f}" for size, row in sizes.items())
    body += [["memory, MB", *memory, ""], ["bytes of it each", *each, ""]]
    # Pages have no titles above tables.
    head = f"{growing.title}: {growing.unit}"
    return Cells([head, *(f"{size:,}" for size in sizes), "exponent"], body)


def _text(found: float | None) -> str:
    return "" if found is None else f"{found:.2f} {mark(found <= MOST)}"


def exponent(sizes: Mapping[int, Mapping[str, float]], stage: str) -> float | None:
    """Of a stage's time in size, or in cycles, between the two largest; none where it is short."""
    if len(sizes) < 2:
        return None
    (small, before), (large, after) = list(sizes.items())[-2:]
    grown = large / small
    if stage in OF_CYCLES and "cycles" in before:
        grown = after["cycles"] / before["cycles"]
    metric = f"{stage}_s"
    if after[metric] < SHORT_S or before[metric] <= 0:
        return None
    return log(after[metric] / before[metric]) / log(grown)


def _by_size(records: Sequence[Record], workload: str) -> dict[int, Mapping[str, float]]:
    return {size: row for (name, size), row in rows(records).items() if name == workload}


def verdict(records: Sequence[Record]) -> str:
    """The stage whose time grows most, and whether all results were right."""
    found = [
        (grown, f"{stage} of {name}")
        for name in GROWING
        for stage in STAGES
        if (grown := exponent(_by_size(records, name), stage)) is not None
    ]
    right = [bool(row["bit_exact"]) for row in rows(records).values()]
    lines = [f"results with the golden model's bits: {sum(right)} of {len(right)}"]
    if found:
        most, where = max(found)
        above = sum(grown > MOST for grown, _ in found)
        lines.insert(
            0,
            f"time grows with size to the power of {most:.2f} at most ({where}), limit {MOST:g} "
            f"{mark(most <= MOST)}: {len(found) - above} of {len(found)} stages are within it",
        )
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Processor time by size, of each stage of each workload."""
    shown = [name for name in GROWING if _by_size(records, name)]
    figure, axes = subplots(len(shown), (3.2 * len(shown), 3.6))
    for axis, name in zip(axes, shown, strict=True):
        sizes = _by_size(records, name)
        for stage in STAGES:
            times = [row[f"{stage}_s"] for row in sizes.values()]
            if max(times) >= SHORT_S:
                axis.loglog(list(sizes), [max(time, 1e-3) for time in times], "o-", label=stage)
        axis.minorticks_off()
        axis.set(title=name, xlabel=GROWING[name].unit, ylabel="CPU s")
        if axis.lines:
            axis.legend(frameon=False, fontsize=7)
    save(figure, path)
