"""Schedules: which template computes a feature, with which parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STRATEGIES = ("two-stage", "separate", "cost-model")
"""How schedules are found: by both stages of RecFlex (IV-A), by measuring each feature alone and
combining, or without measuring."""

QUICK_CANDIDATES = 3
"""Candidates of a feature that a quick tuning measures."""

MAPPINGS = ("contiguous", "interleaved", "device", "average", "maximum")
"""How the blocks of a grid are given to features: as many as the batch needs, in the features'
order or interleaved by cost, or in the features' order by the device itself; or as many as past
batches needed on average or at most (RecFlex, VI-D)."""


@dataclass(frozen=True, order=True)
class Schedule:
    """A template and a value for each of its parameters, in the template's order."""

    template: str
    parameters: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, template: str, **parameters: int) -> Schedule:
        return cls(template, tuple(parameters.items()))

    def __getitem__(self, parameter: str) -> int:
        for name, value in self.parameters:
            if name == parameter:
                return value
        raise KeyError(parameter)

    def __str__(self) -> str:
        return f"{self.template}({', '.join(f'{name}={value}' for name, value in self.parameters)})"


@dataclass(frozen=True)
class ScheduleSet:
    """Schedules for all features of a model, and what they share in the fused kernel.

    model
        digest of the model that they are for.
    arch
        architecture that they were chosen for, such as ``sm_90``.
    block_threads
        threads of every block of the fused kernel.
    blocks_per_sm
        occupancy that the kernel is bound to: blocks that a multiprocessor runs at a time.
    schedules
        those in use, each once.
    of_feature
        for each feature its index in ``schedules``.
    origin
        how they were chosen, in words.
    """

    model: str
    arch: str
    block_threads: int
    blocks_per_sm: int
    schedules: tuple[Schedule, ...]
    of_feature: tuple[int, ...]
    origin: str

    @classmethod
    def of(
        cls,
        schedules: Sequence[Schedule],
        *,
        model: str,
        arch: str,
        block_threads: int,
        blocks_per_sm: int,
        origin: str,
    ) -> ScheduleSet:
        """The set with a schedule for each feature."""
        used = {schedule: index for index, schedule in enumerate(dict.fromkeys(schedules))}
        of_feature = tuple(used[schedule] for schedule in schedules)
        return cls(model, arch, block_threads, blocks_per_sm, tuple(used), of_feature, origin)

    def schedule(self, feature: int) -> Schedule:
        return self.schedules[self.of_feature[feature]]
