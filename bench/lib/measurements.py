"""What is measured of several jobs, as records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from rich.console import Console

from bench.lib.jobs import Failure, run_jobs
from bench.lib.records import Metric, Record, Setting, records, rows
from bench.lib.request import Request
from bench.lib.results import Results


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
    key: Callable[[JobT], Mapping[str, str]] = lambda job: {},
    processes: int = 1,
    alone: Callable[[JobT], bool] = lambda job: False,
    fresh: bool = False,
    results: Results | None = None,
    deadline: float | None = None,
) -> tuple[list[Record], bool]:
    """Records of what ``measure`` finds, and whether every job has a result that is ``right``.

    ``also`` as in ``records``, with what ``key`` has of a job besides; ``processes``, ``fresh``
    and ``deadline`` as in ``run_jobs``.

    alone
        which jobs need most of the memory: these run first, one at a time, each in a process of
        its own.
    results
        where records are kept as they are found; jobs that it has, of the same ``key``, are not
        measured again, and all
        that it has is returned.
    """
    measured: list[Record] = []

    def keep(job: JobT, values: Mapping[str, Any]) -> None:
        tools = {**(also or {}), **key(job)}
        made = records(bench, job.labels, values, metrics, job.setting(), also=tools)
        measured.extend(made)
        if results is not None:
            results.add(made)

    def known(job: JobT) -> bool:
        return results is not None and results.has(bench, job.labels, job.setting(), key(job))

    left = [job for job in jobs if not known(job)]
    done = [
        result
        for is_alone, at_once in ((True, 1), (False, processes))
        for result in run_jobs(
            measure,
            [job for job in left if alone(job) == is_alone],
            title=bench,
            console=console,
            processes=at_once,
            fresh=fresh or is_alone,
            deadline=deadline,
            finished=keep,
        )
    ]
    if results is not None:
        measured = results.load()
    order = {tuple(job.labels.values()): at for at, job in enumerate(jobs)}
    measured.sort(key=lambda record: order.get(tuple(record.labels.values()), -1))
    failed = any(isinstance(each, Failure) for each in done)
    return measured, not failed and all(right(values) for values in rows(measured).values())


def measure_exact(
    bench: str,
    measure: Callable[[JobT], Mapping[str, Any]],
    jobs: Sequence[JobT],
    metrics: Mapping[str, Metric],
    request: Request,
    *,
    resume: bool = False,
    processes: int = 1,
    alone: Callable[[JobT], bool] = lambda job: False,
) -> tuple[list[Record], bool]:
    """Records of all, kept as they are found; whether every result has the golden model's bits.

    ``resume``: what this commit has measured before is not measured again. ``processes`` as in
    ``run_jobs``, ``alone`` as in ``measure_all``.
    """
    return measure_all(
        bench,
        measure,
        jobs,
        metrics,
        console=request.console,
        right=lambda values: bool(values["bit_exact"]),
        processes=processes,
        alone=alone,
        results=Results.begin(request.results, resume),
    )
