"""Spreads jobs over devices: each has a thread that takes the next job when it is done with one."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gnarl.sw.compiler.cuda.tune.measurer import DeviceFailure, Job, JobFailure, LocalJob, Measurer

_WAKE_S = 0.2
"""How often the caller looks up from waiting, so that it can be interrupted."""


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    times
        as ``Measurer`` gives them: of a local job's candidates, in cycles, or the one of a fused
        kernel, in ns; none if it failed.
    failure
        why it failed, or empty.
    """

    times: tuple[float, ...]
    failure: str = ""


def distribute(
    jobs: Sequence[Job],
    measurer: Measurer,
    finished: Callable[[Job, Outcome], None],
    lost: dict[int, str],
    note: Callable[[str], None],
) -> None:
    """Measures all jobs, each once. ``finished`` is called by one thread at a time.

    A device that fails leaves its job to the others; ``note`` gets a line, and ``lost`` the
    reason by its number, both before and after. Raises ``DeviceFailure`` when none is
    left, and whatever else a measurer raises; jobs under way are finished first.
    """
    if not jobs:
        return
    measurer.prepare(jobs)
    shared = _Shared(deque(jobs), measurer, finished, lost, note)
    threads = [
        threading.Thread(target=shared.work, args=(device,), name=f"GPU {device}", daemon=True)
        for device in range(measurer.devices())
        if device not in lost
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(_WAKE_S)
    finally:
        shared.close()
    if shared.error is not None:
        raise shared.error
    if shared.waiting:
        failures = "; ".join(f"GPU {device}: {lost[device]}" for device in sorted(lost))
        raise DeviceFailure(f"no GPU to measure {len(shared.waiting)} kernels on: {failures}")


@dataclass
class _Shared:
    """What the threads have in common."""

    waiting: deque[Job]
    measurer: Measurer
    finished: Callable[[Job, Outcome], None]
    lost: dict[int, str]
    note: Callable[[str], None]
    error: BaseException | None = None
    under_way: int = 0
    stopped: bool = False
    closed: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)

    def work(self, device: int) -> None:
        while (job := self._take()) is not None:
            outcome: Outcome | None = None
            try:
                outcome = self._measure(device, job)
            except BaseException as error:
                self._fail(error)
            with self.changed:
                self.under_way -= 1
                if outcome is None:
                    self.waiting.appendleft(job)
                elif not self.closed:
                    try:
                        self.finished(job, outcome)
                    except BaseException as error:
                        self.closed = True
                        self._fail(error)
                self.changed.notify_all()
            if outcome is None:
                return

    def stop(self) -> None:
        """No thread takes another job."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()

    def close(self) -> None:
        """Nor does any report an outcome: the caller was interrupted, and waits for none."""
        with self.changed:
            self.closed = True
        self.stop()

    def _take(self) -> Job | None:
        """The next job; waits while a device that may fail still works on one."""
        with self.changed:
            while not self.stopped and not self.waiting and self.under_way:
                self.changed.wait()
            if self.stopped or not self.waiting:
                return None
            self.under_way += 1
            return self.waiting.popleft()

    def _measure(self, device: int, job: Job) -> Outcome | None:
        """``None`` where the device fails."""
        try:
            if isinstance(job, LocalJob):
                return Outcome(tuple(self.measurer.local(device, job)))
            return Outcome((self.measurer.fused(device, job),))
        except JobFailure as failure:
            return Outcome((), str(failure))
        except DeviceFailure as failure:
            self.lost[device] = str(failure)
            self.note(f"GPU {device}: {failure}")
            return None

    def _fail(self, error: BaseException) -> None:
        """The first error is the caller's."""
        self.error = self.error or error
        self.stop()
