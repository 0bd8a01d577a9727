"""Recorded times of the design with blocks beside the model's: what its constants are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.cuda_parts.goals import most_line
from bench.cuda_parts.models import models
from bench.cuda_schedule_parts.designs import CONFIG, schedules_of, with_blocks
from bench.cuda_schedule_parts.recorded import BATCHES, COLD_US, FITTED, SAMPLES
from bench.lib.measurements import measure_all
from bench.lib.plots import save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.recflex import load_model

BENCH = "cuda_schedule.calibration"

GOAL_ERROR = 15.0

_QUICK = SAMPLES[:2]
_LARGE = 512
"""Samples of batches of which one is enough."""

METRICS = {
    "recorded_us": Metric("µs", "none"),
    "model_us": Metric("µs", "none"),
    "error": Metric("%", "none"),
}
"""``error`` of the model's time; none where nothing was recorded."""
_HEADER = {"recorded_us": "recorded, µs", "model_us": "model, µs", "error": "error, %"}


@dataclass(frozen=True)
class Job:
    """A model with batches of so many samples."""

    path: Path
    samples: int
    seed: int

    @property
    def labels(self) -> dict[str, str | int]:
        return {"model": self.path.stem, "samples": self.samples}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed, self.batches)

    @property
    def batches(self) -> int:
        return BATCHES if self.samples < _LARGE else 1

    def __str__(self) -> str:
        return f"{self.path.stem}, {self.samples} samples"


def run(request: Request) -> tuple[list[Record], bool]:
    """Models every row."""
    samples = _QUICK if request.quick else SAMPLES
    jobs = [Job(path, each, request.seed) for path in models(request) for each in samples]
    return measure_all(BENCH, measure, jobs, METRICS, console=request.console)


def measure(job: Job) -> dict[str, float | None]:
    """Values of ``METRICS``; batches are those of the record."""
    model = load_model(job.path)
    schedules = schedules_of(model)
    at = SAMPLES.index(job.samples)
    times = [
        with_blocks(
            model, schedules, synthesise_batch(model, job.samples, job.seed, BATCHES * at + number)
        ).us
        for number in range(job.batches)
    ]
    found = median(times)
    recorded = COLD_US[job.path.stem][at] if job.path.stem in COLD_US else None
    error = None if recorded is None else 100 * (found / recorded - 1)
    return {"recorded_us": recorded, "model_us": found, "error": error}


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model and number of samples."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {"Calibration": Cells(["model", "samples", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """The largest errors: of rows that constants were fitted to, and of the others."""
    errors = {
        labels: abs(row["error"])
        for labels, row in rows(records).items()
        if row["error"] is not None
    }
    lines = []
    for fitted, what in ((True, "fitted to"), (False, "not fitted to")):
        own = [error for labels, error in errors.items() if (labels[0] in FITTED) == fitted]
        text = f"largest error of rows that constants were {what}"
        lines.append(most_line(text, max(own, default=None), GOAL_ERROR, "%"))
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """The model's times over those recorded."""
    figure, (axes,) = subplots(1, (6, 4.2))
    table = rows(records)
    for name in dict.fromkeys(labels[0] for labels in table):
        own = {labels[1]: row for labels, row in table.items() if labels[0] == name}
        axes.plot(list(own), [row["error"] or 0.0 for row in own.values()], "o-", label=name)
    axes.set(xscale="log", xlabel="samples", ylabel="error of the model, %")
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)
