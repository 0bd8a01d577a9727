"""What L2 keeps from memory of the reads of BigBird's gathers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.measurements import measure_exact
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from bench.tmu_parts.runs import CONFIG, Run, run_named
from gnarl.hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.memory.hierarchy import L2_WAYS
from gnarl.sw.compiler.tmu.sections import bases_of
from gnarl.sw.golden.loop_code import MemoryLayout
from gnarl.sw.runtime.machine.lru_cache import lru_hits
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.runtime.tmu.image import golden_of
from gnarl.sw.workloads.loops.operation_inputs import BLOCKS

BENCH = "tmu.gathers"

PAPER = {"embeddings": (0.67, 0.74), "all": (0.50, 0.65)}
"""Shares of reads that are kept from memory. Source: Ember, section VIII-B."""

CLOSE = 0.001
"""The share by which misses may differ from the model's: the access unit reads indices ahead of the
rows that the nest reads before them."""

METRICS = {
    "embedding_reads": Metric("lines", "none"),
    "reads": Metric("lines", "none"),
    "kept_embeddings": Metric("", "higher"),
    "kept": Metric("", "higher"),
    "misses": Metric("lines", "lower"),
    "model_misses": Metric("lines", "none"),
    "cycles": Metric("cycles", "lower"),
    "bit_exact": Metric("", "higher"),
}

_HEADER = {
    "embedding_reads": "lines of embeddings read",
    "reads": "lines read",
    "kept_embeddings": "kept, of embeddings",
    "kept": "kept, of all",
    "misses": "misses of L2",
    "model_misses": "misses of a model of it",
    "cycles": "cycles",
}


@dataclass(frozen=True)
class Job:
    """A gather ``OPERATION:SHAPE``."""

    workload: str
    backend: str
    seed: int

    @property
    def labels(self) -> dict[str, Any]:
        return {"workload": self.workload, "backend": self.backend}

    def configuration(self) -> NamedConfiguration:
        return load_configuration(CONFIG)

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def __str__(self) -> str:
        return self.workload


def measure(job: Job) -> dict[str, float | int | bool]:
    """Values of ``METRICS``. A read is of a line, of neighbouring words as one; which of them are
    of embeddings, and which of these hit, is the model's word."""
    run = run_named(job.workload, (), job.backend, job.seed, opt=4)
    hits, embeddings = modelled(run)
    misses, reads = run.counters["l2_misses"], len(hits)
    return {
        "embedding_reads": int(embeddings.sum()),
        "reads": reads,
        "kept_embeddings": float(hits[embeddings].mean()),
        "kept": 1 - misses / reads,
        "misses": misses,
        "model_misses": int((~hits).sum()),
        "cycles": run.cycles,
        "bit_exact": run.bit_exact,
    }


def modelled(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Models the lines that the nest reads, in its order: which hit in a cache of L2's sets and
    ways, and which are of embeddings; bool [reads] each."""
    (launch,) = run.result.launches
    sections, config = launch.launch.sections, TmuConfig.from_dict(launch.launch.config)
    bases = bases_of(sections)
    work = golden_of(launch.launch).work(
        launch.job.operands.binding, MemoryLayout(bases, LINE_WORDS)
    )
    hits = lru_hits(work.lines, config.l2_bytes // (LINE_BYTES * L2_WAYS), L2_WAYS)
    first = bases["key"] // LINE_WORDS
    last = (bases["key"] + run.workload.inputs["key"].size - 1) // LINE_WORDS
    return hits, (work.lines >= first) & (work.lines <= last)


def jobs(request: Request) -> list[Job]:
    """All blocks; each vector once for a block of queries, and once for every query."""
    names = [f"{each}:b{block}" for each in ("block_gather", "token_gather") for block in BLOCKS]
    if request.quick:
        names = ["block_gather:tiny", "token_gather:tiny"]
    return [Job(name, request.backend, request.seed) for name in names]


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all; whether every result has the golden model's bits."""
    return measure_exact(BENCH, measure, jobs(request), METRICS, request)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each run."""
    body = [cells(row, labels[:1], _HEADER, 3) for labels, row in rows(records).items()]
    return {"Gathers": Cells(["workload", *_HEADER.values()], body, names=1)}


def verdict(records: Sequence[Record]) -> str:
    """Shares that are kept from memory, and misses beside the model's."""
    table = rows(records)
    lines = []
    for metric, what in (("kept_embeddings", "embeddings"), ("kept", "all")):
        shares = [row[metric] for row in table.values()]
        low, high = PAPER[what]
        lines.append(
            f"reads kept from memory, of {what}: {min(shares):.0%} to {max(shares):.0%}, "
            f"Ember's {low:.0%} to {high:.0%}"
        )
    off = max(abs(row["misses"] / row["model_misses"] - 1) for row in table.values())
    lines.append(
        f"misses at most {off:.2%} off those of a model of that L2, at most {CLOSE:.1%} "
        f"{mark(off <= CLOSE)}"
    )
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Shares that are kept from memory."""
    table = rows(records)
    figure, (axes,) = subplots(1, (8, 4))
    series = {"of embeddings": "kept_embeddings", "of all": "kept"}
    bars(
        axes,
        {label: [row[metric] for row in table.values()] for label, metric in series.items()},
    )
    axes.set_xticks(range(len(table)), [labels[0] for labels in table], rotation=30, ha="right")
    axes.set(ylabel="reads kept from memory", ylim=(0, 1))
    axes.set_title("BigBird gathers", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    save(figure, path)
