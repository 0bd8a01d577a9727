"""Tasks in processes, some of which are killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from gnarl.sw.runtime.explore.outcome import note
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


def noting(task: tuple[Path, int]) -> dict[str, Any]:
    """Kills its process the first time, after a note."""
    log, number = task
    note(f"begin {number}")
    if not log.exists():
        log.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    note("end")
    return {"result": {"number": number}}


def test_notes_come_before_results(tmp_path: Path) -> None:
    begin, end_, result = {"note": "begin 7"}, {"note": "end"}, {"result": {"number": 7}}
    found = list(run_in_processes(noting, {3: (tmp_path / "log", 7)}, 1))
    assert found == [(3, each) for each in (begin, begin, end_, result)]


def test_nobody_has_to_hear_notes(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    assert noting((tmp_path / "log", 7)) == {"result": {"number": 7}}
