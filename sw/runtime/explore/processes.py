"""Runs tasks in processes of this machine, of which each may die."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from multiprocessing import connection, get_context, parent_process
from typing import Any

from gnarl.sw.runtime.explore.outcome import DEFECT, NOTE, RESULT, TRIES, notes_heard

_GRACE_S = 2.0
"""After which a process that is to end is killed."""

Function = Callable[[Any], dict[str, Any]]


def run_in_processes(
    function: Function, tasks: Mapping[int, Any], jobs: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """``function`` of each task, by the task's key, as the results come; and before these notes of
    what each is at, as objects with ``NOTE`` alone.

    function
        of a module; it takes and gives what can be pickled.
    jobs
        processes that run at once.

    A task whose process is killed is run once more, in another process; killed again, its result is
    an ``error``. No other task is lost or repeated. All processes end with this one, and with the
    iterator.
    """
    waiting, tries = deque(tasks), Counter[int]()
    idle: list[_Worker] = []
    busy: dict[connection.Connection, tuple[_Worker, int]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                worker = idle.pop() if idle else _Worker(function)
                if worker.begin(tasks[waiting[0]]):
                    busy[worker.connection] = worker, waiting.popleft()
            for ready in connection.wait(list(busy)):
                assert isinstance(ready, connection.Connection)
                worker, at = busy.pop(ready)
                result = worker.result()
                if result is not None and NOTE in result:
                    busy[ready] = worker, at
                    yield at, result
                    continue
                if result is not None:
                    idle.append(worker)
                    yield at, result
                    continue
                tries[at] += 1
                if tries[at] < TRIES:
                    waiting.appendleft(at)
                else:
                    yield at, _killed(worker.exit_code())
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            worker.end()


class _Worker:
    """A process that runs one task after the other."""

    def __init__(self, function: Function) -> None:
        # Spawned: a process forked from this one would start with its threads' locks.
        context = get_context("spawn")
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, function), daemon=True)
        self._process.start()
        self._is_busy = False
        other.close()

    def begin(self, task: Any) -> bool:
        """Gives the process a task, unless it is dead."""
        with suppress(OSError):
            self.connection.send(task)
            self._is_busy = True
            return True
        self.end()
        return False

    def result(self) -> dict[str, Any] | None:
        """The task's result, a note before it, or ``None`` if the process has died."""
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            result = self.connection.recv()
            self._is_busy = NOTE in result
            return result
        self.end()
        return None

    def exit_code(self) -> int | None:
        return self._process.exitcode

    def end(self) -> None:
        """Ends the process and what it has started."""
        self.connection.close()  # of which one that is idle hears
        if self._is_busy:
            self._process.terminate()
        self._process.join(_GRACE_S)
        if self._process.is_alive():
            self._process.kill()
        self._process.join()


def _killed(code: int | None) -> dict[str, Any]:
    """The result of a task whose processes have died: only a signal is its own fault."""
    if code is None or code >= 0:
        return {DEFECT: f"a process ended with status {code}"}
    return {RESULT: {"error": f"signal {-code} ended its process, {TRIES} times: out of memory?"}}


def _serve(requests: connection.Connection, function: Function) -> None:
    # The terminal's interrupts are for the first process, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.unraisablehook = _show_unraisable
    with suppress(EOFError, OSError, KeyboardInterrupt):
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends what it has started, too
        threading.Thread(target=_end_with_parent, daemon=True).start()
        with notes_heard(lambda text: requests.send({NOTE: text})):
            while True:
                requests.send(function(requests.recv()))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _show_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Shows what Python drops, but for interrupts: whoever sends one ends the process in time."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(_GRACE_S)
    os._exit(1)
