"""What is measured of several jobs, as records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from rich.console import Console

from bench.lib.jobs import Failure, run_jobs
from bench.lib.records import Metric, Record, Setting, records


class Job(Protocol):
    """What a record says besides figures; a job's text names it in progress and failures."""

    @property
    def labels(self) -> Mapping[str, Any]: ...

    def setting(self) -> Setting: ...


JobT = TypeVar("JobT", bound=Job)


def measure_all(
    bench: str,
    measure: Callable[[JobT], Mapping[str, Any]],
    jobs: Sequence[JobT],
    metrics: Mapping[str, Metric],
    *,
    console: Console,
    right: Callable[[Mapping[str, Any]], bool] = lambda values: True,
    also: Mapping[str, str] | None = None,
    processes: int = 1,
    fresh: bool = False,
) -> tuple[list[Record], bool]:
    """Records of what ``measure`` finds, and whether every job has a result that is ``right``.

    ``also`` as in ``records``, ``processes`` and ``fresh`` as in ``run_jobs``.
    """
    results = run_jobs(
        measure, jobs, title=bench, console=console, processes=processes, fresh=fresh
    )
    found: list[Record] = []
    well = True
    for job, values in zip(jobs, results, strict=True):
        if isinstance(values, Failure):
            well = False
            continue
        well = well and right(values)
        found += records(bench, job.labels, values, metrics, job.setting(), also=also)
    return found, well
