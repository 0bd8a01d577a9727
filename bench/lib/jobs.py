"""Runs measurements in processes of their own, and reports their progress."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from gnarl.hw.lib.errors import GnarlError

AT_ONCE = min(2, os.cpu_count() or 1)
"""Jobs that run at once where none is timed and each may take gigabytes."""

_PLAIN: dict[str, Any] = {"highlight": False, "soft_wrap": True}

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Failure:
    """Why a measurement gave no result."""

    text: str


def run_jobs(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    title: str,
    console: Console,
    processes: int = 1,
    fresh: bool = False,
    deadline: float | None = None,
    finished: Callable[[Job, Result], None] = lambda job, result: None,
) -> list[Result | Failure]:
    """``function`` of each job, a function of a module; results in the jobs' order.

    processes
        how many run at once.
    fresh
        whether each job has a process of its own, as peak memory needs.
    deadline
        of ``time.time``: jobs that have not begun by then are failures.
    finished
        called with each result as soon as it is there.

    Jobs begin one by one, so that an interrupt leaves none to run. A ``GnarlError``, and the death
    of a process, make a ``Failure`` of the job's result.
    """

    def new_pool() -> ProcessPoolExecutor:
        # Spawned, for a process forked from this one would start with all of its memory.
        return ProcessPoolExecutor(
            processes, get_context("spawn"), max_tasks_per_child=1 if fresh else None
        )

    results: dict[int, Result | Failure] = {}
    waiting = iter(enumerate(jobs))
    running: dict[Future[Result | Failure], int] = {}
    with _progress(console) as progress, ExitStack() as pools:
        task = progress.add_task(title, total=len(jobs))
        pool = pools.enter_context(new_pool())
        while True:
            for at, job in islice(waiting, processes - len(running)):
                running[pool.submit(_guarded, function, job, deadline)] = at
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                at = running.pop(future)
                job = jobs[at]
                try:
                    result = future.result()
                except BrokenProcessPool:
                    result = Failure("the process was killed: out of memory?")
                    pool = pools.enter_context(new_pool())
                results[at] = result
                if isinstance(result, Failure):
                    console.print(f"{title}: {job}: {result.text}", style="red", **_PLAIN)
                else:
                    finished(job, result)
                    if not console.is_interactive:
                        console.print(f"{title}: {job}: done", **_PLAIN)
                progress.update(task, advance=1, description=f"{title}: {job}")
    return [results[at] for at in range(len(jobs))]


def _progress(console: Console) -> Progress:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_interactive)


class TimeLimit(GnarlError):
    """It is too late to begin."""


def require_time(deadline: float | None) -> None:
    """Raises ``TimeLimit`` after a deadline of ``time.time``, if there is one."""
    if deadline is not None and time.time() >= deadline:
        raise TimeLimit("the time limit has passed")


def _guarded(
    function: Callable[[Job], Result], job: Job, deadline: float | None
) -> Result | Failure:
    try:
        require_time(deadline)
        return function(job)
    except GnarlError as error:
        return Failure(" ".join(str(error).split()))
