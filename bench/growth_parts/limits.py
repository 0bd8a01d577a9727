"""What stops a workload that grows on a configuration as it is, and how long it takes to say so."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.growth_parts.workloads import GROWING
from bench.lib.jobs import Failure, run_jobs
from bench.lib.plots import save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.records import records as records_of
from bench.lib.request import Request
from bench.lib.tables import Cells
from gnarl.hw.lib.errors import GnarlError

BENCH = "growth.limits"

_TIMES = 4
"""Each size over the one before."""

METRICS = {"largest": Metric("", "higher"), "refused_s": Metric("s", "lower")}
"""``largest``: the largest size tried that runs."""

NONE = "none found"


@dataclass(frozen=True)
class Job:
    """A workload of ``GROWING``, up to so many sizes."""

    workload: str
    sizes: int
    seed: int

    def setting(self) -> Setting:
        return Setting(GROWING[self.workload].config, (), "", self.seed)

    def __str__(self) -> str:
        return self.workload


@dataclass(frozen=True)
class Limit:
    """The first size that does not run, seconds until it was refused, and the message."""

    largest: int
    refused: int
    seconds: float
    message: str


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures each workload; with ``quick`` one size of it."""
    jobs = [Job(name, 1 if request.quick else 6, request.seed) for name in GROWING]
    found = run_jobs(measure, jobs, title=BENCH, console=request.console, fresh=True)
    made: list[Record] = []
    for job, limit in zip(jobs, found, strict=True):
        if isinstance(limit, Limit):
            labels = {"workload": job.workload, "size": limit.refused, "message": limit.message}
            values = {"largest": limit.largest, "refused_s": limit.seconds}
            made += records_of(BENCH, labels, values, METRICS, job.setting())
    return made, not any(isinstance(limit, Failure) for limit in found)


def measure(job: Job) -> Limit:
    """Runs larger and larger workloads until one is refused."""
    growing = GROWING[job.workload]
    size, largest = growing.sizes[0], 0
    for _ in range(job.sizes):
        with tempfile.TemporaryDirectory() as name:
            begin = time.process_time()
            try:
                growing.run(size, job.seed, Path(name, "files"), ())
            except GnarlError as error:
                message = str(error).replace(f"{name}/files/", "")
                return Limit(largest, size, time.process_time() - begin, message)
        largest, size = size, _TIMES * size
    return Limit(largest, 0, 0.0, NONE)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each workload."""
    body = [
        [
            GROWING[name].title,
            message,
            f"{row['largest']:,} {GROWING[name].unit}",
            f"{size:,}" if size else "",
            f"{row['refused_s']:.2f}" if size else "",
        ]
        for (name, size, message), row in rows(records).items()
    ]
    return {"Limits": Cells(["workload", "message", "runs", "refused", "after, CPU s"], body, 2)}


def verdict(records: Sequence[Record]) -> str:
    """What takes longest to be refused."""
    refused = {labels: row["refused_s"] for labels, row in rows(records).items() if labels[1]}
    if not refused:
        return "nothing was refused"
    slowest = max(refused, key=lambda labels: refused[labels])
    return (
        f"{len(refused)} of {len(rows(records))} end at a limit of the configuration, said in at "
        f"most {refused[slowest]:.1f} CPU s ({slowest[0]}, {slowest[1]:,})"
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """The largest size of each workload that runs."""
    table = rows(records)
    figure, (axes,) = subplots(1, (7, 3.6))
    axes.barh([str(labels[0]) for labels in table], [row["largest"] for row in table.values()])
    axes.set(xscale="log", xlabel="size that runs")
    axes.invert_yaxis()
    save(figure, path)
