"""What all strategies of a tuning share: the model in groups, and a way to measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gnarl.sw.compiler.cuda.cost_model import Ranked
from gnarl.sw.compiler.cuda.feature_groups import BlockSize, schedule_set
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.tune.candidates import best_candidates
from gnarl.sw.compiler.cuda.tune.distribute import Outcome, distribute
from gnarl.sw.compiler.cuda.tune.journal import Journal
from gnarl.sw.compiler.cuda.tune.measurer import Job, Measurer, job_key, times_of
from gnarl.sw.workloads.embedding.model import EmbeddingModel

Progress = Callable[[int, int, float | None], None]
"""Called with the kernels that are measured, those of the whole tuning, and the seconds left, or
``None`` before any has been measured."""


@dataclass
class Tuning:
    """One run of a strategy.

    sizes
        of blocks, with the model's groups for each.
    candidates
        schedules of a group to measure.
    origin
        of the schedules that it finds.
    """

    model: EmbeddingModel
    sizes: Sequence[BlockSize]
    candidates: int
    origin: str
    measurer: Measurer
    journal: Journal | None
    progress: Progress
    note: Callable[[str], None]
    _total: int = field(default=0, init=False)
    _outcomes: dict[str, Outcome] = field(default_factory=dict, init=False)
    _lost: dict[int, str] = field(default_factory=dict, init=False)
    _begin: float = field(default=0.0, init=False)
    _measured: int = field(default=0, init=False)

    def expect(self, kernels: int) -> None:
        """How many the strategy measures in all; called before any is, and when they change."""
        self._total = kernels
        self._begin = self._begin or time.monotonic()

    def ranked(self, size: BlockSize, blocks_per_sm: int) -> list[Ranked]:
        """What to measure of each group at an occupancy."""
        return [
            best_candidates(group, size.config, blocks_per_sm, self.candidates)
            for group in size.groups
        ]

    def measure(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Measures jobs, in their order; those that the journal has are not measured again."""
        keys = [job_key(job) for job in jobs]
        missing = {}
        for key, job in zip(keys, jobs, strict=True):
            known = None if self.journal is None else self.journal.known(key, times_of(job))
            if known is not None:
                self._outcomes[key] = known
            elif key not in self._outcomes:
                missing[key] = job
        self._report()
        distribute(list(missing.values()), self.measurer, self._finished, self._lost, self.note)
        return [self._outcomes[key] for key in keys]

    def schedules(
        self, size: BlockSize, of_group: Sequence[Schedule], blocks_per_sm: int, origin: str = ""
    ) -> ScheduleSet:
        """Schedules of the whole model."""
        return schedule_set(self.model, size, of_group, blocks_per_sm, origin)

    def final_origin(self) -> str:
        """How the schedules were found, with what went wrong."""
        failed = sum(1 for outcome in self._outcomes.values() if outcome.failure)
        return self.origin + (f"; {failed} kernels could not be measured" if failed else "")

    def _finished(self, job: Job, outcome: Outcome) -> None:
        key = job_key(job)
        if self.journal is not None:
            self.journal.add(key, outcome)
        self._outcomes[key] = outcome
        self._measured += 1
        self._report()

    def _report(self) -> None:
        done = len(self._outcomes)
        left = None
        if self._measured:
            left = (time.monotonic() - self._begin) / self._measured * (self._total - done)
        self.progress(done, self._total, left)
