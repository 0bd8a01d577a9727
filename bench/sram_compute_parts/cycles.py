"""Whole workloads: cycles with and without the optimiser, and RTL against the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.lib.bits import same_bits
from bench.lib.cycles import cycles_of
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cell, cells, geometric_mean
from bench.lib.tables import Cells
from bench.sram_compute_parts.workloads import WHOLE, names, sizes_text, workload
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration

BENCH = "sram_compute.cycles"
CONFIG = "sram_b4"

BEFORE, AFTER = "before", "after"
QUICK = ("vec_add", "conv2d")

METRICS = {
    "cycles": Metric("cycles", "lower"),
    "cycles_compute": Metric("cycles", "lower"),
    "cycles_move": Metric("cycles", "lower"),
    "cycles_final": Metric("cycles", "lower"),
    "cycles_transfer": Metric("cycles", "lower"),
    "cycles_command": Metric("cycles", "lower"),
    "commands": Metric("commands", "lower"),
    "as_model": Metric("", "higher"),
    "bit_exact": Metric("", "higher"),
}
"""``as_model``: cycles, all counters and results are the model's; ``None`` where nothing but the
model was run."""

_HEADER = {
    "cycles": "cycles",
    "cycles_compute": "computing",
    "cycles_move": "moving",
    "cycles_final": "final reduction",
    "cycles_transfer": "main memory",
    "cycles_command": "commands",
    "commands": "number of commands",
    "as_model": "as the model",
    "bit_exact": "bit-exact",
}

ALL, INSIDE = "all", "without main memory"
_COMPARED: Mapping[str, Callable[[Mapping[str, Any]], int]] = {
    ALL: lambda row: int(row["cycles"]),
    INSIDE: lambda row: int(row["cycles"] - row["cycles_transfer"]),
    "computing": lambda row: int(row["cycles_compute"]),
    "moving": lambda row: int(row["cycles_move"]),
}
"""Cycles that are compared, of a run's figures."""


@dataclass(frozen=True)
class Job:
    """A workload at a size, compiled from the graphs before or after the optimiser."""

    workload: str
    sizes: Mapping[str, int]
    graphs: str
    backend: str
    seed: int
    config: str = CONFIG

    @property
    def labels(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "sizes": sizes_text(self.sizes),
            "graphs": self.graphs,
            "backend": self.backend,
        }

    def setting(self) -> Setting:
        return Setting.of(load_configuration(self.config), self.seed)

    def __str__(self) -> str:
        return f"{self.workload}, {self.graphs} optimisation, on {self.backend}"


def measure(job: Job) -> dict[str, float | int | bool | None]:
    """Values of ``METRICS``, on a machine that has run nothing before: what arrays hold where there
    are no elements decides on skips, too."""
    with _machine(job, job.backend) as device:
        program, inputs = compiled(device, job)
        result = device.run(program, inputs)
        bit_exact = device.verify(result).bit_exact
    as_model = None
    if job.backend == "rtl":
        model = _machine(job, "model").run(program, inputs)
        as_model = (
            model.cycles == result.cycles
            and model.counters == result.counters
            and same_bits(result, model)
        )
    counters = [name for name in METRICS if name in result.counters]
    return {
        "cycles": cycles_of(result),
        **{name: result.counters[name] for name in counters},
        "as_model": as_model,
        "bit_exact": bit_exact,
    }


def compiled(device: Device, job: Job) -> tuple[Program, dict[str, Any]]:
    """A job's program, and its inputs and sizes."""
    given = workload(job.workload, job.sizes, job.seed)
    program = device.compile(given, seed=job.seed, optimise=job.graphs == AFTER, place="memory")
    return program, {**given.inputs, **(given.sizes or {})}


def _machine(job: Job, backend: str) -> Device:
    return Device(load_configuration(job.config), backend)


def jobs(request: Request) -> list[Job]:
    """All workloads, before and after; few and small ones where it must be quick."""
    job = partial(Job, backend=request.backend, seed=request.seed)
    if request.quick:
        sizes: dict[str, Mapping[str, int]] = {name: {} for name in QUICK}
    else:
        sizes = {name: WHOLE.get(name, {}) for name in names()}
    return [job(name, given, graphs) for name, given in sizes.items() for graphs in (BEFORE, AFTER)]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits, and the model's cycles."""
    return measure_all(
        BENCH,
        measure,
        jobs(request),
        METRICS,
        console=request.console,
        right=lambda values: bool(values["bit_exact"]) and values["as_model"] is not False,
        results=Results.begin(request.results, resume=False),
    )


def ratios(records: Sequence[Record], compared: str) -> dict[str, float]:
    """Cycles after the optimiser over those before, by workload; which, ``_COMPARED`` says."""
    table: dict[str, dict[str, int]] = {}
    for (name, _, graphs, _), row in rows(records).items():
        table.setdefault(name, {})[graphs] = _COMPARED[compared](row)
    return {
        name: cycles[AFTER] / cycles[BEFORE]
        for name, cycles in table.items()
        if AFTER in cycles and cycles.get(BEFORE)
    }


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each run; and what the optimiser gave."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    labels = ["workload", "sizes", "optimiser", "on"]
    by_kind = {each: ratios(records, each) for each in _COMPARED}
    compared = [
        [name, *(cell(by_kind[each].get(name)) for each in _COMPARED)] for name in by_kind[ALL]
    ]
    return {
        "Runs": Cells([*labels, *_HEADER.values()], body, names=4),
        "After over before": Cells(["cycles after over before", *_COMPARED], compared),
    }


def verdict(records: Sequence[Record]) -> str:
    """Whether runs are right, and what the optimiser gave."""
    table = rows(records)
    exact = sum(row["bit_exact"] for row in table.values())
    lines = [f"bit-exact: {exact} of {len(table)} runs"]
    compared = [row["as_model"] for row in table.values() if row["as_model"] is not None]
    if compared:
        lines.append(
            f"cycles, counters and results on RTL those of the model: {sum(compared)} of "
            f"{len(compared)} runs"
        )
    cycles = ratios(records, ALL)
    if cycles:
        inside = ratios(records, INSIDE)
        lines.append(
            f"cycles after the optimiser over before, geometric mean of {len(cycles)} workloads: "
            f"{_range(cycles)}; {INSIDE}: {_range(inside)}"
        )
    return "\n".join(lines)


def _range(cycles: Mapping[str, float]) -> str:
    best, worst = min(cycles, key=cycles.__getitem__), max(cycles, key=cycles.__getitem__)
    mean = geometric_mean(list(cycles.values()))
    return f"{mean:.2f}, {cycles[best]:.2f} ({best}) to {cycles[worst]:.2f} ({worst})"


def draw(records: Sequence[Record], path: Path) -> None:
    """Cycles after over before."""
    cycles, inside = ratios(records, ALL), ratios(records, INSIDE)
    figure, (axes,) = subplots(1, (10, 4.2))
    bars(axes, {"all cycles": list(cycles.values()), INSIDE: list(inside.values())})
    line_at(axes, 1)
    axes.set_xticks(range(len(cycles)), list(cycles), rotation=45, ha="right", fontsize=8)
    axes.set(ylabel="after over before")
    axes.set_title("What the optimiser gives", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    save(figure, path)
