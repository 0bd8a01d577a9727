"""Tasks in processes, some of which are killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from gnarl.sw.runtime.explore.processes import run_in_processes

KILLED = "signal 9 ended its process, 2 times: out of memory?"


def work(task: tuple[Path, int, int]) -> dict[str, Any]:
    """Notes the task's number in a file; kills its process the first few times."""
    log, number, kills = task
    with log.open("a") as file:
        file.write(f"{number}\n")
    if log.read_text().split().count(str(number)) <= kills:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"result": {"number": number}}


def test_only_what_was_killed_is_run_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    kills = {2: 1, 4: 2}
    tasks = {number: (log, number, kills.get(number, 0)) for number in range(7)}
    results = dict(run_in_processes(work, tasks, 2))
    expected = {number: {"result": {"number": number}} for number in range(7)}
    assert results == {**expected, 4: {"result": {"error": KILLED}}}
    runs = sorted(map(int, log.read_text().split()))
    assert runs == [0, 1, 2, 2, 3, 4, 4, 5, 6]


def end(status: int) -> dict[str, Any]:
    os._exit(status)


def test_a_process_that_ends_by_itself_is_a_defect() -> None:
    assert list(run_in_processes(end, {0: 7}, 1)) == [
        (0, {"defect": "a process ended with status 7"})
    ]
