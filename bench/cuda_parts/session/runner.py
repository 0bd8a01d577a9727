"""Runs the steps of a session: begins none that may not fit, and saves each when it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.cuda_parts.field import require_gpu_of
from bench.cuda_parts.session import tasks
from bench.cuda_parts.session.outcome import DONE, FAILED, NOT_POSSIBLE, UNFINISHED, WRONG, Outcome
from bench.cuda_parts.session.processes import Ended, call
from bench.cuda_parts.session.state import State
from bench.cuda_parts.session.steps import Plan, Step, all_steps
from bench.cuda_parts.session.supplies import Keys, Supplies
from bench.cuda_parts.stored_batches import StoredBatches
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.runtime.cuda.gpu.driver import GpuError
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo

_AHEAD = 4
"""Steps whose data are made while one runs."""

_SPARE_S = 2.0
"""From the end of a step to that of a session, at least: for saving."""

_GRACE_S = 3.0
"""Seconds that a step has to end by itself, of those that it may take."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Limits:
    """What a machine allows.

    until
        of ``time.time``: when the session must have ended.
    cores
        of the host.
    memory
        bytes of the host that batches may take.
    """

    until: float
    cores: int
    memory: int


@dataclass
class Report:
    """What is done, and what is left, by steps; and what was wrong in all."""

    gpu: str = ""
    statuses: dict[str, Outcome] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)

    @property
    def well(self) -> bool:
        """Whether all that is possible is done and right."""
        bad = (WRONG, FAILED, UNFINISHED)
        return not self.left and all(each.status not in bad for each in self.statuses.values())


def run(
    models: Sequence[Path],
    state: State,
    schedules: Path,
    seed: int,
    quick: bool,
    step_seconds: float,
    limits: Limits,
    say: Say,
) -> Report:
    """Runs what is not done yet.

    ``models``, ``schedules``, ``seed``, ``quick``, ``step_seconds``: as in ``Plan``. ``say`` has a
    line for every step. Raises ``GnarlError`` where there is no GPU, and ``StateError`` where the
    state has no room.
    """
    with (
        TemporaryDirectory(prefix="gnarl-session-") as folder,
        Supplies(Path(folder), limits.cores, limits.memory) as supplies,
    ):
        stored = StoredBatches(Path(folder))
        plan = Plan(models, state, schedules, stored, seed, quick, step_seconds)
        return _Session(state, all_steps(plan), supplies, limits, say).run(plan)


class _Session:
    """Steps, and the time that there is."""

    def __init__(
        self, state: State, steps: list[Step], supplies: Supplies, limits: Limits, say: Say
    ) -> None:
        self._state = state
        self._supplies = supplies
        self._limits = limits
        self._say = say
        # What has failed before comes last: it must not take the time of what has not.
        self._steps = sorted(steps, key=lambda step: state.failures(step.name))
        self._missing: dict[str, str] = {}
        self._report = Report()
        self._keys: Keys | None = None
        self._amount: dict[str, str] = {}

    def run(self, plan: Plan) -> Report:
        """Runs what is not done yet."""
        new = [step for step in self._steps if not self._state.has(step.name)]
        self._supplies.begin(item for step in new[:_AHEAD] for item in step.items)
        gpu = self._ask(require_gpu_of, 0, seconds=plan.step_seconds)
        assert isinstance(gpu, GpuInfo)
        self._supplies.gpu = gpu
        self._report.gpu = gpu.name
        self._keys = keys = self._supplies.keys(gpu)
        for step in self._steps:
            if step not in new:
                keys.ask(step.subject)
        self._amount = {"seed": str(plan.seed), "quick": str(plan.quick)}
        begin = time.time()
        results = self._state.results("card")
        self._ask(tasks.look_at_card, gpu, results, plan.seed, seconds=plan.step_seconds)
        self._say(f"{gpu.name}, {gpu.arch}: looked at in {time.time() - begin:.1f} s")
        waiting = [step for step in self._steps if not self._is_done(step)]
        for step in self._steps:
            if step not in waiting:
                entry = self._state.entries[step.name]
                self._report.statuses[step.name] = Outcome(entry.status, entry.reason)
        if known := len(self._steps) - len(waiting):
            self._say(f"{known} of {len(self._steps)} steps were done before")
        while waiting:
            step = waiting.pop(0)
            if self._left() >= step.seconds:
                for each in (step, *waiting[:_AHEAD]):
                    keys.ask(each.subject)
                    self._supplies.begin(each.items)
            self._take(step, gpu)
            needed = {item for each in waiting for item in each.items}
            self._supplies.drop(item for item in step.items if item not in needed)
        return self._report

    def _ask(self, function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
        """What a function says of the GPU. Raises ``GpuError`` if it says nothing."""
        try:
            return call(function, *arguments, seconds=min(seconds, self._left()))
        except GnarlError:
            raise
        except Exception as error:
            raise GpuError(f"the GPU: {error}") from error

    def _is_done(self, step: Step) -> bool:
        return self._state.has(step.name) and self._state.is_done(step.name, self._key(step))

    def _key(self, step: Step) -> dict[str, str]:
        """What the step's figures are known by, and how many there are."""
        assert self._keys is not None, "the GPU is known"
        return self._keys.of(step.subject, self._limits.until) | self._amount

    def _left(self) -> float:
        return self._limits.until - _SPARE_S - time.time()

    def _take(self, step: Step, gpu: GpuInfo) -> None:
        """Runs a step, if it fits and may be possible, and saves how it has ended."""
        if step.needs in self._missing:
            outcome = Outcome(NOT_POSSIBLE, self._missing[step.needs])
            self._save(step, outcome, 0.0, quiet=True)
            return
        if self._left() >= step.seconds:
            self._supplies.wait(step.items, self._limits.until - _SPARE_S - step.seconds)
        if self._left() < step.seconds:
            self._report.left.append(step.name)
            return
        begin = time.time()
        deadline = begin + max(step.seconds - _GRACE_S, step.seconds / 2)
        try:
            outcome = call(tasks.do, step.task, gpu, deadline, seconds=step.seconds)
        except Ended as error:
            outcome = Outcome(UNFINISHED, str(error))
        assert isinstance(outcome, Outcome)
        if outcome.status == NOT_POSSIBLE and step.needs:
            self._missing[step.needs] = outcome.reason
        self._save(step, outcome, time.time() - begin)

    def _save(
        self,
        step: Step,
        outcome: Outcome,
        seconds: float,
        *,
        quiet: bool = False,
    ) -> None:
        self._state.note(step.name, outcome, self._key(step), seconds)
        self._report.statuses[step.name] = outcome
        if removed := self._state.make_room():
            self._say(removed)
        if not quiet:
            reason = f": {outcome.reason}" if outcome.reason else ""
            self._say(f"{step.name}: {outcome.status} in {seconds:.1f} s{reason}")


def summary(report: Report, state: State) -> str:
    """How many steps have ended in what way, in a line; and what the state takes."""
    statuses = [outcome.status for outcome in report.statuses.values()]
    counted = [
        f"{statuses.count(status)} {status}"
        for status in (DONE, WRONG, FAILED, UNFINISHED, NOT_POSSIBLE)
        if status in statuses
    ]
    if report.left:
        counted.append(f"{len(report.left)} left")
    return f"steps: {', '.join(counted) or 'none'}; state: {state.size() / (1 << 20):.2f} MiB"
