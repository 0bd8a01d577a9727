"""What each unit moves through the queues if the other is ideal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from bench.lib.cycles import cycles_of
from bench.lib.measurements import measure_exact
from bench.lib.plots import PALETTE, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from bench.tmu_parts.apart import APART, Unit
from bench.tmu_parts.bags import LARGE, LEVELS, MODELS
from bench.tmu_parts.runs import CONFIG, words_queued
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.workloads.loops.sources import named_workload

BENCH = "tmu.rates"

METRICS = {
    "words": Metric("words", "none"),
    "tokens": Metric("tokens", "none"),
    "access_cycles": Metric("cycles", "lower"),
    "execute_cycles": Metric("cycles", "lower"),
    "access_rate": Metric("words a cycle", "higher"),
    "execute_rate": Metric("words a cycle", "higher"),
    "bit_exact": Metric("", "higher"),
}

_HEADER = {
    "words": "words",
    "tokens": "tokens",
    "access_cycles": "cycles of the access unit",
    "execute_cycles": "of the execute unit",
    "access_rate": "words a cycle of the access unit",
    "execute_rate": "of the execute unit",
}

_TICKS = (0.25, 0.5, 1, 2, 4, 8)

_UNITS = {Unit.ACCESS: "access_rate", Unit.EXECUTE: "execute_rate"}


@dataclass(frozen=True)
class Job:
    """A shape of EmbeddingBag at a level, on a configuration with ``changes``."""

    model: str
    level: int
    backend: str
    seed: int
    config: str = CONFIG
    changes: tuple[str, ...] = (LARGE,)

    @property
    def labels(self) -> dict[str, Any]:
        return {"model": self.model, "level": self.level, "backend": self.backend}

    def configuration(self) -> NamedConfiguration:
        return load_configuration(self.config, self.changes)

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def __str__(self) -> str:
        return f"{self.model} level {self.level}"


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``. The bits are those that the execute unit makes of what the access unit
    has put into the queues."""
    device = _device(job.config, job.changes, job.backend)
    workload = named_workload(f"embedding_bag:{job.model}", job.seed)
    program = device.compile(workload, opt=job.level)
    access = device.run(program, workload.inputs, unit=Unit.ACCESS)
    execute = device.run(program, workload.inputs, unit=Unit.EXECUTE)
    words = words_queued(program, access.counters)
    access_cycles, execute_cycles = cycles_of(access), cycles_of(execute)
    return {
        "words": words,
        "tokens": access.counters["tokens_queued"],
        "access_cycles": access_cycles,
        "execute_cycles": execute_cycles,
        "access_rate": words / access_cycles,
        "execute_rate": words / execute_cycles,
        "bit_exact": device.verify(execute).bit_exact,
    }


@cache
def _device(config: str, changes: tuple[str, ...], backend: str) -> Device:
    return Device(replace(load_configuration(config, changes), target=APART), backend)


def jobs(request: Request) -> list[Job]:
    """All models at all levels but 0, which takes ten times as long as all others, and has the same
    rates for all models: the first one at that."""
    job = partial(Job, backend=request.backend, seed=request.seed)
    if request.quick:
        return [job("tiny", level, config="tmu_l2", changes=()) for level in (0, 4)]
    return [
        job(model, level) for model in MODELS for level in LEVELS if level or model == MODELS[0]
    ]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each level of a model."""
    body = [cells(row, labels[:2], _HEADER, 2) for labels, row in rows(records).items()]
    return {"Rates": Cells(["model", "level", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """Rates of each model, and where which unit is the slower one."""
    lines = []
    for model, levels in _by_model(records).items():
        rates = ", ".join(
            f"{row['access_rate']:.2f} / {row['execute_rate']:.2f} at level {level}"
            for level, row in levels.items()
        )
        slower = {
            unit.value: [str(level) for level, row in levels.items() if _slower(row) == unit]
            for unit in Unit
        }
        named = "; ".join(
            f"the {unit} unit is the slower one at {', '.join(where)}"
            for unit, where in slower.items()
            if where
        )
        lines.append(f"{model.upper()}, access / execute unit, words a cycle: {rates}; {named}")
    return "\n".join(lines)


def _slower(row: dict[str, Any]) -> Unit:
    return min(_UNITS, key=lambda unit: row[_UNITS[unit]])


def _by_model(records: Sequence[Record]) -> dict[str, dict[int, dict[str, Any]]]:
    """Rows by model and level."""
    models: dict[str, dict[int, dict[str, Any]]] = {}
    for (model, level, _), row in rows(records).items():
        models.setdefault(model, {})[level] = row
    return models


def draw(records: Sequence[Record], path: Path) -> None:
    """Rates of both units by level, and where they are equal, as in Ember's figure 14."""
    figure, (axes,) = subplots(1, (7, 5))
    for (model, levels), color in zip(_by_model(records).items(), PALETTE, strict=False):
        access, execute = (
            [row[rate] for row in levels.values()] for rate in ("access_rate", "execute_rate")
        )
        axes.plot(access, execute, marker="o", color=color, label=model.upper())
        for level, *place in zip(levels, access, execute, strict=True):
            axes.annotate(str(level), place, xytext=(4, 4), textcoords="offset points")
    axes.axline((1, 1), slope=1, color=PALETTE[-1], linestyle="--", linewidth=1)
    axes.set(xlabel="access unit, words a cycle", ylabel="execute unit, words a cycle")
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(_TICKS, map(str, _TICKS))
    axes.set_yticks(_TICKS, map(str, _TICKS))
    axes.minorticks_off()
    axes.set_title("rates by level, each with the other unit ideal", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(MODELS))
    save(figure, path)
