"""Time that tuning takes on this machine's GPUs; schedules for the parts that come after."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cuda_parts.comparison import gpu_or_reason
from bench.cuda_parts.field import configuration_for
from bench.cuda_parts.goals import most_line
from bench.cuda_parts.models import models
from bench.cuda_parts.protocol import counts, key_of, machine
from bench.lib.jobs import require_time
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.compiler.cuda.tune.journal import journal_path
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo, gpus
from gnarl.sw.runtime.cuda.tuning import tune
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.workloads.embedding.recflex import load_model

BENCH = "cuda.tuning"

FULL, QUICK = "full", "quick"
FILES = {"two-stage": "{}.json", "separate": "{}.separate.json"}
"""Files of a model, by strategy, in the folder of schedules."""
GOALS_S = {FULL: 600.0, QUICK: 180.0}
"""Goals in seconds of a model, by two stages."""

METRICS = {"seconds": Metric("s", "lower"), "gpus": Metric("", "none")}
"""``seconds``: none of a tuning that was resumed."""
_HEADER = {"seconds": "seconds", "gpus": "GPUs"}


@dataclass(frozen=True)
class Job:
    """A model with one strategy."""

    path: Path
    strategy: str
    effort: str
    gpu: GpuInfo
    seed: int
    schedules: Path
    resume: bool
    deadline: float | None

    @property
    def labels(self) -> dict[str, str]:
        return {"model": self.path.stem, "strategy": self.strategy, "effort": self.effort}

    def configuration(self) -> NamedConfiguration:
        return configuration_for(self.gpu)

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def __str__(self) -> str:
        return f"{self.path.stem}, {self.strategy}, {self.effort}"


def run(request: Request) -> tuple[list[Record], bool]:
    """Tunes every model by all strategies; nothing where no tuning was asked for."""
    options = request.options
    if options["tuning"] is None:
        reason = "left out: neither --tune nor --quick-tune"
        request.console.print(f"{BENCH}: {reason}", style="yellow", soft_wrap=True)
        return [], True
    folders = models(request)
    gpu = gpu_or_reason(request, BENCH)
    if gpu is None:
        return [], True
    options["schedules"].mkdir(parents=True, exist_ok=True)
    jobs = [
        Job(
            path,
            strategy,
            options["tuning"],
            gpu,
            request.seed,
            options["schedules"],
            options["resume"],
            options["deadline"],
        )
        for strategy in FILES
        for path in folders
    ]
    return measure_all(
        BENCH,
        measure,
        jobs,
        METRICS,
        console=request.console,
        also=machine(gpu),
        key=key,
        fresh=True,
        results=Results.begin(request.results, options["resume"], counts),
        deadline=options["deadline"],
    )


def key(job: Job) -> dict[str, str]:
    """What the figures of a job are known by: the kernel is the one that tuning begins with."""
    config = job.configuration().config
    assert isinstance(config, CudaConfig)
    model = load_model(job.path)
    return key_of(job.gpu, build_program(model, choose_schedules(model, config)))


def measure(job: Job) -> dict[str, Any]:
    """Values of ``METRICS``. Raises ``TimeLimit`` when the deadline has passed: what has been
    measured until then is in the tuner's journal."""
    output = job.schedules / FILES[job.strategy].format(job.path.stem)
    journal = journal_path(output)
    if not job.resume:
        journal.unlink(missing_ok=True)
    resumed = journal.exists()

    def advance(share: float) -> None:
        require_time(job.deadline)

    @contextmanager
    def stages(name: str) -> Iterator[Callable[[float], None]]:
        yield advance

    begin = time.perf_counter()
    tune(
        job.configuration(),
        job.path,
        output,
        seed=job.seed,
        strategy=job.strategy,
        quick=job.effort == QUICK,
        stages=stages,
    )
    seconds = time.perf_counter() - begin
    return {"seconds": None if resumed else seconds, "gpus": len(gpus())}


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model and strategy."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {"Tuning": Cells(["model", "strategy", "effort", *_HEADER.values()], body, names=3)}


def verdict(records: Sequence[Record]) -> str:
    """The longest tuning by two stages, against its goal."""
    lines = []
    for effort, goal in GOALS_S.items():
        seconds = [
            row["seconds"]
            for (_, strategy, how), row in rows(records).items()
            if (strategy, how) == ("two-stage", effort) and row["seconds"] is not None
        ]
        what = f"{effort} tuning of a model by two stages, longest"
        lines.append(most_line(what, max(seconds, default=None), goal, "s"))
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Seconds by model and strategy."""
    table = rows(records)
    names = list(dict.fromkeys(model for model, _, _ in table))
    kinds = list(dict.fromkeys(labels[1:] for labels in table))
    figure, (axes,) = subplots(1, (8, 4.2))
    bars(
        axes,
        {
            ", ".join(kind): [table.get((name, *kind), {}).get("seconds") or 0.0 for name in names]
            for kind in kinds
        },
    )
    line_at(axes, GOALS_S[FULL])
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="seconds to tune")
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)
