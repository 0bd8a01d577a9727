"""What can be said without a GPU: results of small batches in the emulation, bytes that kernels
load, blocks of the grid, and time of the thread mapping."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from bench.cuda_parts.contenders import equal
from bench.cuda_parts.field import our_schedules
from bench.cuda_parts.measure import OURS, UNIFORM
from bench.cuda_parts.models import models
from bench.cuda_parts.traffic import traffic
from bench.cuda_parts.uniform import uniform_schedules
from bench.lib.jobs import AT_ONCE
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.golden import embedding as golden
from gnarl.sw.runtime.cuda.emulation.embedding import EmulatedEmbedding
from gnarl.sw.runtime.cuda.task_map import map_tasks
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.recflex import load_model

BENCH = "cuda.emulation"

CONFIG = "cuda_sm90"
BATCH = 16
FULL_BATCH = 256
"""For grids and the mapping's time."""

_REPEATS = 20

_METRICS = {
    "codes": Metric("", "none"),
    "blocks": Metric("", "none"),
    "blocks_of_256": Metric("", "none"),
    "mapping_us": Metric("µs", "lower"),
    "loaded": Metric("bytes", "none"),
    "stored": Metric("bytes", "none"),
    "loaded_share": Metric("bytes/byte", "lower"),
    "bit_exact": Metric("", "higher"),
}
"""``loaded_share``: what a kernel loads over inputs and the rows of all look-ups; caches are not
emulated. ``blocks_of_256``, ``mapping_us``: for a batch of ``FULL_BATCH``."""
_HEADER = {
    "codes": "codes",
    "blocks": "blocks",
    "loaded": "bytes loaded",
    "loaded_share": "over look-ups",
    "blocks_of_256": "blocks at 256",
    "mapping_us": "mapping at 256, µs",
    "bit_exact": "bit-exact",
}


@dataclass(frozen=True)
class Job:
    """A model with one kind of schedules."""

    path: Path
    kernel: str
    seed: int
    schedules: Path

    @property
    def labels(self) -> dict[str, str]:
        return {"model": self.path.stem, "kernel": self.kernel}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return f"{self.path.stem}, {self.kernel}"


def run(request: Request) -> tuple[list[Record], bool]:
    """Runs every model in the emulation; whether all went well."""
    jobs = [
        Job(path, kernel, request.seed, request.options["schedules"])
        for path in models(request)
        for kernel in (OURS, UNIFORM)
    ]
    return measure_all(
        BENCH,
        measure,
        jobs,
        _METRICS,
        console=request.console,
        right=itemgetter("bit_exact"),
        processes=AT_ONCE,
        fresh=True,
        results=Results.begin(request.results, request.options["resume"]),
        deadline=request.options["deadline"],
    )


def measure(job: Job) -> dict[str, Any]:
    """Values of ``_METRICS``."""
    model, config = load_model(job.path), CudaConfig()
    schedules = (
        our_schedules(job.path.stem, job.schedules, model, config)
        if job.kernel == OURS
        else uniform_schedules(model, config)
    )
    program = build_program(model, schedules)
    tables = synthesise_tables(model, job.seed)
    batch = synthesise_batch(model, BATCH, job.seed)
    done = EmulatedEmbedding(program, tables).run(batch)
    moved = traffic(model, batch)

    large = synthesise_batch(model, FULL_BATCH, job.seed, 1)
    times = []
    for _ in range(_REPEATS):  # the first translates the mapping to machine code
        begin = time.perf_counter()
        values = large.counts
        mapping = map_tasks(program.block_counts, large.size, values)
        times.append(time.perf_counter() - begin)
    return {
        "codes": len(set(program.kernel.code_of_feature)),
        "blocks": done.statistics.blocks,
        "blocks_of_256": len(mapping.tasks),
        "mapping_us": 1e6 * sorted(times)[_REPEATS // 2],
        "loaded": done.statistics.global_load_bytes,
        "stored": done.statistics.global_store_bytes,
        "loaded_share": done.statistics.global_load_bytes / (moved.look_ups + moved.inputs),
        "bit_exact": equal(
            list(program.split(done.outputs).values()),
            golden.embedding_bags(model, tables, batch),
        ),
    }


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model and kind of schedules."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {
        f"In the emulation, batches of {BATCH}": Cells(
            ["model", "schedules", *_HEADER.values()], body, names=2
        )
    }


def verdict(records: Sequence[Record]) -> str:
    """How many results are right."""
    table = rows(records)
    exact = sum(row["bit_exact"] for row in table.values())
    return f"bit-exact in the emulation: {exact} of {len(table)} runs"


def draw(records: Sequence[Record], path: Path) -> None:
    """Bytes that kernels load, as multiples of those looked up."""
    table = rows(records)
    names = list(dict.fromkeys(model for model, _ in table))
    kernels = list(dict.fromkeys(kernel for _, kernel in table))
    figure, (axes,) = subplots(1, (8, 4.2))
    bars(
        axes,
        {
            kernel: [table.get((name, kernel), {}).get("loaded_share", 0.0) for name in names]
            for kernel in kernels
        },
    )
    line_at(axes, 1)
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="bytes loaded / bytes looked up")
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)
