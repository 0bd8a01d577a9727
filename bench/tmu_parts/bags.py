"""EmbeddingBag at every level of optimisation, locality and bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.measurements import measure_exact
from bench.lib.plots import PALETTE, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from bench.tmu_parts.runs import CONFIG, run_named
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "tmu.bags"

MODELS = ("rm1", "rm2", "rm3")
LEVELS = range(5)
AIMS = {"rm1": 0.90, "rm2": 0.95, "rm3": 0.95}
"""Share of the bound at level 4."""

LONGER_LATENCY = 1.05
"""At most so many times the cycles when the latency is 200 instead of 100, of RM2."""

LARGE = "memory_bytes=16777216"
"""What RM3 needs."""

METRICS = {
    "cycles": Metric("cycles", "lower"),
    "bound": Metric("cycles", "none"),
    "share": Metric("", "higher"),
    "instructions_an_element": Metric("", "lower"),
    "words_an_element": Metric("", "lower"),
    "tokens": Metric("tokens", "lower"),
    "bytes_read": Metric("bytes", "lower"),
    "lines_in_flight": Metric("lines", "higher"),
    "bit_exact": Metric("", "higher"),
}

_HEADER = {
    "cycles": "cycles",
    "bound": "bound",
    "share": "share of bound",
    "instructions_an_element": "instructions an element",
    "words_an_element": "words an element",
    "tokens": "tokens",
    "bytes_read": "bytes read",
    "lines_in_flight": "lines in flight",
}


@dataclass(frozen=True)
class Job:
    """A model's look-ups, of one locality, at a level, on a configuration with ``changes``."""

    model: str
    locality: str
    level: int
    backend: str
    seed: int
    changes: tuple[str, ...] = ()

    @property
    def labels(self) -> dict[str, Any]:
        changes = " ".join(self.changes) or "as shipped"
        return {
            "model": self.model,
            "locality": self.locality,
            "level": self.level,
            "configuration": changes,
            "backend": self.backend,
        }

    @property
    def overrides(self) -> tuple[str, ...]:
        return (*self.changes, LARGE) if self.model == "rm3" else self.changes

    def configuration(self) -> NamedConfiguration:
        return load_configuration(CONFIG, self.overrides)

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def __str__(self) -> str:
        return " ".join([self.model, self.locality, f"level {self.level}", *self.changes])


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``."""
    name = f"embedding_bag:{job.model}:{job.locality}"
    run = run_named(name, job.overrides, job.backend, job.seed, opt=job.level)
    inputs, cycles, counters = run.workload.inputs, run.cycles, run.counters
    elements = inputs["table"].shape[1] * len(inputs["indices"])
    bound = run.statistics["lower_bound"]
    return {
        "cycles": cycles,
        "bound": bound,
        "share": bound / cycles,
        "instructions_an_element": run.instructions / elements,
        "words_an_element": run.words / elements,
        "tokens": counters["tokens_queued"],
        "bytes_read": run.statistics["bytes_read"],
        "lines_in_flight": counters["requests_in_flight"] / cycles,
        "bit_exact": run.bit_exact,
    }


def jobs(request: Request) -> list[Job]:
    """All levels at locality L0; level 4 at the others, and with other memories."""
    job = partial(Job, backend=request.backend, seed=request.seed)
    if request.quick:
        return [job("rm1", "L0", level) for level in (3, 4)]
    all_jobs = [job(model, "L0", level) for model in MODELS for level in LEVELS]
    all_jobs += [job(model, locality, 4) for model in MODELS for locality in ("L1", "L2")]
    all_jobs += [
        job(model, "L0", 4, changes=(f"bandwidth={bandwidth}",))
        for bandwidth in (8, 32)
        for model in MODELS
    ]
    return [*all_jobs, job("rm2", "L0", 4, changes=("latency=200",))]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each run."""
    body = [cells(row, labels[:4], _HEADER, 3) for labels, row in rows(records).items()]
    names = ["model", "locality", "level", "configuration"]
    return {"EmbeddingBag": Cells([*names, *_HEADER.values()], body, names=4)}


def verdict(records: Sequence[Record]) -> str:
    """Shares of the bound at level 4, and what levels and latency do."""
    table = rows(records)
    cycles = {labels[:4]: row["cycles"] for labels, row in table.items()}
    lines = []
    for labels, row in table.items():
        model, locality, level, changes, _ = labels
        if (locality, level, changes) == ("L0", 4, "as shipped"):
            share, aim = row["share"], AIMS[model]
            lines.append(
                f"{model.upper()}, level 4: {share:.1%} of the bound, at least {aim:.0%} "
                f"{mark(share >= aim)}"
            )
    shipped = {labels[:3]: row for labels, row in table.items() if labels[3] == "as shipped"}
    for model in MODELS:
        first, last = (shipped.get((model, "L0", level)) for level in (0, 3))
        if first and last:
            lines.append(
                f"{model.upper()}, level 3 over level 0: {first['cycles'] / last['cycles']:.1f} ×, "
                f"{first['instructions_an_element']:.2f} instructions an element before and "
                f"{last['instructions_an_element']:.2f} after, "
                f"{first['words_an_element']:.2f} and {last['words_an_element']:.2f} words"
            )
    longer, usual = (
        cycles.get(("rm2", "L0", 4, changes)) for changes in ("latency=200", "as shipped")
    )
    if longer and usual:
        ratio = longer / usual
        lines.append(
            f"RM2 at a latency of 200: {ratio:.3f} × the cycles, at most {LONGER_LATENCY} "
            f"{mark(ratio <= LONGER_LATENCY)}"
        )
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Share of the bound by level."""
    table = rows(records)
    figure, (axes,) = subplots(1, (7, 4))
    width = 0.8 / len(MODELS)
    for number, (model, color) in enumerate(zip(MODELS, PALETTE, strict=False)):
        levels = {
            labels[2]: row["share"]
            for labels, row in table.items()
            if labels[:2] == (model, "L0") and labels[3] == "as shipped"
        }
        places = np.array(list(levels)) + (number - 1) * width
        axes.bar(places, list(levels.values()), width, label=model.upper(), color=color)
    axes.set(xlabel="level of optimisation", ylabel="share of the bound", ylim=(0, 1))
    axes.set_xticks(list(LEVELS))
    axes.set_title("EmbeddingBag, locality L0", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(MODELS))
    save(figure, path)
