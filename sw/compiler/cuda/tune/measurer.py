"""What a tuner asks of whoever measures: a GPU's runtime, or the simulation of a test."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet


@dataclass(frozen=True)
class LocalJob:
    """Candidates of one feature, executed side by side under interference (RecFlex, IV-A2).

    feature
        its number.
    candidates
        schedules to compare; each has a copy of the feature's table and inputs.
    padding
        features, by number, whose blocks fill the device meanwhile, with their schedules.
    arch, block_threads, blocks_per_sm
        as in ``ScheduleSet``; occupancy is to be neither lower nor higher.
    """

    feature: int
    candidates: tuple[Schedule, ...]
    padding: tuple[tuple[int, Schedule], ...]
    arch: str
    block_threads: int
    blocks_per_sm: int


@dataclass(frozen=True)
class FusedJob:
    """A fused kernel of some of the model's features.

    features
        their numbers.
    schedules
        of a model of just these features.
    """

    features: tuple[int, ...]
    schedules: ScheduleSet


Job = LocalJob | FusedJob


def job_key(job: Job) -> str:
    """What the job is known by in a journal: equal for equal jobs only."""
    kind = "local" if isinstance(job, LocalJob) else "fused"
    return f"{kind} {hashlib.sha256(repr(job).encode()).hexdigest()[:32]}"


def times_of(job: Job) -> int:
    """How many times its outcome has: see ``Measurer.local`` and ``Measurer.fused``."""
    return 2 * len(job.candidates) if isinstance(job, LocalJob) else 1


class JobFailure(GnarlError):
    """A kernel that cannot be measured, on any device; the device can measure others."""


class DeviceFailure(GnarlError):
    """A device that measures nothing more."""


class Measurer(Protocol):
    """Measures on the historical batches that it was made with.

    Methods may be called from several threads, but never twice at a time for one device. They raise
    ``JobFailure`` or ``DeviceFailure``; whatever else they raise ends the tuning.
    """

    def devices(self) -> int:
        """GPUs to measure on, numbered from 0."""

    def products(self) -> str:
        """Names of the GPUs: times of others cannot be compared with theirs."""

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Called once with the jobs to come, in their order, so that kernels can be compiled ahead.

        Returns at once.
        """

    def local(self, device: int, job: LocalJob) -> list[float]:
        """Measures for each candidate the sum of its blocks' times over all batches, in cycles; see
        eq. (3, 5). Then, for each again, its longest block's time, summed over the batches.

        By the device's clock, all candidates and the padding in one launch for each batch.
        """

    def fused(self, device: int, job: FusedJob) -> float:
        """The kernel's time over all batches, in ns; see eq. (4, 5)."""
