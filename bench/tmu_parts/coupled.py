"""Decoupled programs against the best ones for the whole nest on the execute unit alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.measurements import measure_exact
from bench.lib.plots import PALETTE, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from bench.tmu_parts.runs import CONFIG, run_named
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

BENCH = "tmu.coupled"

WORKLOADS = (
    "embedding_bag:rm1",
    "embedding_bag:rm2",
    "embedding_bag_weighted:rm1",
    "embedding_bag_mean:rm1",
    "embedding_bag_weighted_mean:rm1",
    "embedding_bag_max:rm1",
    "embedding_bag_lengths:rm1",
    "spmm:arxiv",
    "spmm_coo:arxiv",
    "fused_mm:arxiv:512",
    "knowledge_graph_l1:biokg",
    "knowledge_graph_l2:biokg",
    "block_gather:b1",
    "block_gather:b8",
    "token_gather:b4",
)
MEMORY = "embedding_bag:rm1"
"""What is measured with other memories, too."""
LATENCIES = (50, 100, 200)
LOADS = (8, 16, 32)

COUPLED, BY_HAND, DECOUPLED = "coupled", "coupled, by hand", "level 4"
PROGRAMS: Mapping[str, Mapping[str, Any]] = {
    COUPLED: {"coupled": True},
    BY_HAND: {"coupled": True, "ref": True},
    DECOUPLED: {"opt": 4},
}

METRICS = {
    "cycles": Metric("cycles", "lower"),
    "instructions": Metric("instructions", "lower"),
    "waits_memory": Metric("cycles", "lower"),
    "waits_registers": Metric("cycles", "lower"),
    "bytes_read": Metric("bytes", "lower"),
    "share": Metric("", "higher"),
    "bit_exact": Metric("", "higher"),
}

_HEADER = {
    "cycles": "cycles",
    "instructions": "instructions",
    "waits_memory": "waits for loads",
    "waits_registers": "waits for registers",
    "bytes_read": "bytes read",
    "share": "share of bound",
}


@dataclass(frozen=True)
class Job:
    """A workload as a program of a kind, on a configuration with ``changes``; of the matrix in
    ``file``, where there is one."""

    workload: str
    program: str
    backend: str
    seed: int
    changes: tuple[str, ...] = ()
    file: Path | None = None

    @property
    def labels(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "program": self.program,
            "configuration": " ".join(self.changes) or "as shipped",
            "backend": self.backend,
        }

    @property
    def name(self) -> str:
        """The file's name behind the workload's, as ``named_workload`` takes it."""
        return f"{self.workload.partition(':')[0]}:{self.file}" if self.file else self.workload

    def configuration(self) -> NamedConfiguration:
        return load_configuration(CONFIG, self.changes)

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def __str__(self) -> str:
        return " ".join([self.workload, self.program, *self.changes])


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``."""
    run = run_named(job.workload, job.changes, job.backend, job.seed, **PROGRAMS[job.program])
    counters = run.counters
    return {
        "cycles": run.cycles,
        "instructions": counters["instructions"],
        "waits_memory": counters["waits_memory"],
        "waits_registers": counters["waits_registers"],
        "bytes_read": run.statistics["bytes_read"],
        "share": run.statistics["lower_bound"] / run.cycles,
        "bit_exact": run.bit_exact,
    }


def jobs(request: Request) -> list[Job]:
    """All workloads on the configuration as shipped; one on all memories."""
    job = partial(Job, backend=request.backend, seed=request.seed)
    workloads = WORKLOADS[:1] if request.quick else WORKLOADS
    all_jobs = [job(workload, program) for workload in workloads for program in PROGRAMS]
    if request.quick:
        return all_jobs
    shipped = load_configuration(CONFIG, ()).config
    assert isinstance(shipped, TmuConfig)
    for latency in LATENCIES:
        for loads in LOADS:
            if (latency, loads) == (shipped.latency, shipped.loads):
                continue
            changes = (f"latency={latency}", f"loads={loads}")
            all_jobs += [job(MEMORY, program, changes=changes) for program in PROGRAMS]
    return all_jobs


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request)


def best_of(cycles: Mapping[str, float]) -> str | None:
    """The coupled program with the fewest cycles; ``None`` if there is none. ``cycles``: by
    program."""
    known = [each for each in (COUPLED, BY_HAND) if each in cycles]
    return min(known, key=lambda each: cycles[each], default=None)


def baselines(records: Sequence[Record]) -> dict[tuple[str, str], tuple[str, float]]:
    """The best coupled program, and its cycles over those of the decoupled one, by workload and
    configuration."""
    cycles: dict[tuple[str, str], dict[str, float]] = {}
    for (workload, program, changes, *_), row in rows(records).items():
        cycles.setdefault((workload, changes), {})[program] = row["cycles"]
    return {
        place: (best, counts[best] / counts[DECOUPLED])
        for place, counts in cycles.items()
        if DECOUPLED in counts and (best := best_of(counts))
    }


def speedups(records: Sequence[Record]) -> dict[tuple[str, str], float]:
    """Cycles of the best coupled program over those of the decoupled one, by workload and
    configuration."""
    return {place: ratio for place, (_, ratio) in baselines(records).items()}


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each run; and how many times faster decoupled programs are than the best ones."""
    body = [cells(row, labels[:3], _HEADER, 3) for labels, row in rows(records).items()]
    names = ["workload", "program", "configuration"]
    ratios = [
        [workload, changes, best, f"{ratio:.2f}"]
        for (workload, changes), (best, ratio) in baselines(records).items()
    ]
    return {
        "Coupled and decoupled": Cells([*names, *_HEADER.values()], body, names=3),
        "Decoupled over coupled": Cells(
            [names[0], names[2], "best coupled", "times faster"], ratios, names=3
        ),
    }


def verdict(records: Sequence[Record]) -> str:
    """The geometric mean over operations, and the range over memories."""
    ratios = speedups(records)
    lines = []
    shipped = [ratio for (_, changes), ratio in ratios.items() if changes == "as shipped"]
    if shipped:
        mean = float(np.exp(np.mean(np.log(shipped))))
        lines.append(
            f"decoupled over the best coupled, geometric mean of {len(shipped)} operations: "
            f"{mean:.2f} ×"
        )
    memories = [ratio for (workload, _), ratio in ratios.items() if workload == MEMORY]
    if len(memories) > 1:
        lines.append(
            f"RM1 with latencies of {LATENCIES[0]} to {LATENCIES[-1]} and {LOADS[0]} to "
            f"{LOADS[-1]} loads under way: {min(memories):.2f} to {max(memories):.2f} ×"
        )
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """How many times faster decoupled programs are."""
    ratios = {
        workload: ratio
        for (workload, changes), ratio in speedups(records).items()
        if changes == "as shipped"
    }
    figure, (axes,) = subplots(1, (8, 4))
    axes.barh(list(ratios)[::-1], list(ratios.values())[::-1], color=PALETTE[0])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xlabel="coupled cycles over decoupled cycles")
    axes.set_title("Decoupled over coupled", loc="left", fontsize=11)
    save(figure, path)
