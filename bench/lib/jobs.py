"""Runs measurements in processes of their own, and reports their progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
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

from hw.lib.errors import GnarlError

_PLAIN: dict[str, Any] = {"markup": False, "highlight": False, "soft_wrap": True}

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
) -> list[Result | Failure]:
    """``function`` of each job, a function of a module; results in the jobs' order.

    processes
        how many run at once.
    fresh
        whether each job has a process of its own, as peak memory needs.

    A ``GnarlError``, and the death of a process, make a ``Failure`` of the job's result.
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    results: dict[int, Result | Failure] = {}
    with (
        Progress(
            *columns, console=console, transient=True, disable=not console.is_interactive
        ) as progress,
        # Spawned, for a process forked from this one would start with all of its memory.
        ProcessPoolExecutor(
            processes, get_context("spawn"), max_tasks_per_child=1 if fresh else None
        ) as pool,
    ):
        task = progress.add_task(title, total=len(jobs))
        running = {pool.submit(_guarded, function, job): at for at, job in enumerate(jobs)}
        for future in as_completed(running):
            job = jobs[running[future]]
            try:
                result = future.result()
            except BrokenProcessPool:
                result = Failure("the process was killed: out of memory?")
            results[running[future]] = result
            if isinstance(result, Failure):
                console.print(f"{title}: {job}: {result.text}", style="red", **_PLAIN)
            elif not console.is_interactive:
                console.print(f"{title}: {job}: done", **_PLAIN)
            progress.update(task, advance=1, description=f"{title}: {job}")
    return [results[at] for at in range(len(jobs))]


def _guarded(function: Callable[[Job], Result], job: Job) -> Result | Failure:
    try:
        return function(job)
    except GnarlError as error:
        return Failure(" ".join(str(error).split()))
