"""Memory, the core, and what the compiler chooses of both: cycles of workloads at several sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.lib.cycles import cycles_of
from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cell, geometric_mean, mark
from bench.lib.tables import Cells
from bench.sram_compute_parts.in_memory import lowered_in_memory
from bench.sram_compute_parts.in_places import core_estimate, is_same
from bench.sram_compute_parts.workloads import SEVERAL, sizes_text, workload
from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.report.stages import quiet
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.workload import LoopWorkload

BENCH = "sram_compute.placement"
CONFIG = "sram_b4"
CHANGES = ("near_lanes=0",)
"""Without stream engines: with them there are three places, see ``places``."""

PLACES = ("memory", "core")
CHOSEN = "auto"

LIMIT = 1.1
"""Cycles of what is chosen over those of the best place."""

METRICS = {
    **{f"cycles_{place}": Metric("cycles", "lower") for place in (*PLACES, CHOSEN)},
    **{f"estimate_{place}": Metric("cycles", "none") for place in PLACES},
    "bit_exact": Metric("", "higher"),
}
"""``None`` for a place that does not run the workload."""


@dataclass(frozen=True)
class Job:
    """A workload at a size, in all places."""

    workload: str
    sizes: Mapping[str, int]
    seed: int
    backend: str = "rtl"
    config: str = CONFIG

    @property
    def labels(self) -> dict[str, Any]:
        return {"workload": self.workload, "sizes": sizes_text(self.sizes)}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(self.config, CHANGES), self.seed)

    def __str__(self) -> str:
        return f"{self.workload}, {sizes_text(self.sizes)}"


def measure(job: Job) -> dict[str, float | int | bool | None]:
    """Values of ``METRICS``, each run on a machine that has run nothing before."""
    measured = workload(job.workload, job.sizes, job.seed)
    config = load_configuration(job.config, CHANGES).config
    assert isinstance(config, SramConfig)
    figures: dict[str, float | int | bool | None] = {}
    exact = True
    done: list[tuple[Program, int]] = []
    for place in (*PLACES, CHOSEN):
        with Device(load_configuration(job.config, CHANGES), job.backend) as device:
            inputs = {**measured.inputs, **(measured.sizes or {})}
            try:
                fat = device.compile(measured, seed=job.seed, place=place)
                program = device.target.compiler.lowered(fat, inputs, config, quiet)
            except (WorkloadError, CapacityError):
                figures |= dict.fromkeys((f"cycles_{place}", f"estimate_{place}"))
                continue
            cycles = next((count for other, count in done if is_same(program, other)), None)
            if cycles is None:
                result = device.run(program, inputs)
                exact &= device.verify(result).bit_exact
                cycles = cycles_of(result)
        done.append((program, cycles))
        figures[f"cycles_{place}"] = cycles
        if place != CHOSEN:
            figures[f"estimate_{place}"] = _estimate(measured, config, program)
    return {**figures, "bit_exact": exact}


def _estimate(given: LoopWorkload, config: SramConfig, program: Program) -> int:
    """What the compiler takes the cycles for, of a program in one place."""
    if len(program.launches[0].sections["instructions"]):
        return core_estimate(program, config)
    return lowered_in_memory(given, config, None).estimate


def jobs(request: Request) -> list[Job]:
    """All workloads at five sizes each, the largest on the model, which takes minutes where the RTL
    takes hours; few and small ones where it must be quick."""
    if request.quick:
        return [Job("vec_add", {"n": n}, request.seed, config="sram_b2") for n in (16, 256)]
    return [
        Job(name, sizes, request.seed, "model" if sizes == several[-1] else "rtl")
        for name, several in SEVERAL.items()
        for sizes in several
    ]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request, resume=True)


def best(row: Mapping[str, Any]) -> int:
    """Cycles of the best place."""
    return min(int(row[name]) for place in PLACES if (row[name := f"cycles_{place}"]) is not None)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each workload and size."""
    body = []
    for labels, row in rows(records).items():
        errors = [_error(row, place) for place in PLACES]
        body.append(
            [
                *map(str, labels),
                *(cell(row[f"cycles_{place}"]) for place in (*PLACES, CHOSEN)),
                cell(row[f"cycles_{CHOSEN}"] / best(row)),
                *(cell(error) for error in errors),
                cell(row["bit_exact"]),
            ]
        )
    header = ["workload", "sizes", "in memory", "on the core", "auto", "auto over the best"]
    header += ["estimate over cycles, memory", "core", "bit-exact"]
    return {"Places": Cells(header, body, names=2)}


def _error(row: Mapping[str, Any], place: str) -> float | None:
    cycles = row[f"cycles_{place}"]
    return None if cycles is None else row[f"estimate_{place}"] / cycles


def verdict(records: Sequence[Record]) -> str:
    """How good the choice is, and the estimates that it is made by."""
    table = rows(records)
    over = {labels: row[f"cycles_{CHOSEN}"] / best(row) for labels, row in table.items()}
    worst = max(over, key=over.__getitem__)
    within = sum(ratio <= LIMIT for ratio in over.values())
    lines = [
        f"auto within 10 % of the best place: {within} of {len(over)} runs "
        f"{mark(within == len(over))}; at worst {over[worst]:.2f} ({', '.join(worst)})",
    ]
    for place in PLACES:
        ratio = [each for row in table.values() if (each := _error(row, place)) is not None]
        if ratio:
            lines.append(
                f"estimate over cycles, {place}: {min(ratio):.3f} to {max(ratio):.3f}, geometric "
                f"mean {geometric_mean(ratio):.3f}, of {len(ratio)} runs"
            )
    both = [row for row in table.values() if all(row[f"cycles_{each}"] for each in PLACES)]
    faster = sum(row["cycles_memory"] < row["cycles_core"] for row in both)
    exact = sum(row["bit_exact"] for row in table.values())
    lines.append(f"memory is the faster place in {faster} of {len(both)} runs that both take")
    lines.append(f"bit-exact: {exact} of {len(table)} runs")
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Cycles of the core over those of memory."""
    both = {
        labels: row["cycles_core"] / row["cycles_memory"]
        for labels, row in rows(records).items()
        if row["cycles_core"] and row["cycles_memory"]
    }
    figure, (axes,) = subplots(1, (12, 5))
    bars(axes, {"core over memory": list(both.values())})
    line_at(axes, 1)
    names = [", ".join(map(str, labels)) for labels in both]
    axes.set_xticks(range(len(both)), names, rotation=90, fontsize=6)
    axes.set(ylabel="cycles of the core over memory's", yscale="log")
    axes.set_title("Where workloads take fewer cycles", loc="left", fontsize=11)
    save(figure, path)
