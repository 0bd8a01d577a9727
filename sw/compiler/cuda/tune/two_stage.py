"""The tuner of RecFlex (IV-A2): local stage by feature and occupancy, then global stage.

Measures points * groups + points kernels; a point is an occupancy, with a size of blocks where that
is to be found, too. Features of one group count once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sw.compiler.cuda.code_sharing import Options, share_codes
from sw.compiler.cuda.cost_model import Ranked, latency_at
from sw.compiler.cuda.feature_groups import BlockSize
from sw.compiler.cuda.occupancy import MAXIMUM_OCCUPANCIES
from sw.compiler.cuda.schedule import ScheduleSet
from sw.compiler.cuda.tune.candidates import padding
from sw.compiler.cuda.tune.measurer import FusedJob, JobFailure, LocalJob
from sw.compiler.cuda.tune.tuning import Tuning


@dataclass(frozen=True)
class _Point:
    """A size of blocks at an occupancy, and what to measure there of each group."""

    size: BlockSize
    blocks_per_sm: int
    ranked: list[Ranked]


def two_stage(tuning: Tuning) -> ScheduleSet:
    """Groups share code where that costs them hardly more than their best: see ``share_codes``.

    Where a group's kernel cannot be measured the cost model chooses for it.

    Raises ``JobFailure`` where none of the fused kernels can be measured.
    """
    points = _points(tuning)
    assert points, "some schedule of every feature needs no shared memory"
    tuning.expect(sum(len(point.size.groups) + 1 for point in points))
    sets = _local_stage(tuning, points)
    everything = tuple(range(len(tuning.model.features)))
    outcomes = tuning.measure([FusedJob(everything, schedules) for schedules in sets])
    measured = [
        (outcome.times[0], place) for place, outcome in enumerate(outcomes) if outcome.times
    ]
    if not measured:
        raise JobFailure(f"no fused kernel can be measured: {outcomes[0].failure}")
    return replace(sets[min(measured)[1]], origin=tuning.final_origin())


def _points(tuning: Tuning) -> list[_Point]:
    """Occupancies of each size of blocks at which all groups fit: of several sizes those that the
    cost model likes best, no more than one size alone would have."""
    found = [
        _Point(size, blocks_per_sm, candidates)
        for size in tuning.sizes
        for blocks_per_sm in size.config.occupancies
        if all(candidates := tuning.ranked(size, blocks_per_sm))
    ]
    if len(tuning.sizes) > 1:
        found.sort(key=lambda point: latency_at(point.size, point.blocks_per_sm))
    return found[:MAXIMUM_OCCUPANCIES]


def _local_stage(tuning: Tuning, points: Sequence[_Point]) -> list[ScheduleSet]:
    """For each point the best schedule of each group, by its blocks' times: eq. (3), (5)."""
    jobs = []
    for point in points:
        company = padding(tuning.model, point.size, point.blocks_per_sm)
        jobs += [
            LocalJob(
                feature=group.features[0],
                candidates=tuple(schedule for _, schedule in candidates),
                padding=company,
                arch=point.size.config.arch,
                block_threads=point.size.config.block_threads,
                blocks_per_sm=point.blocks_per_sm,
            )
            for group, candidates in zip(point.size.groups, point.ranked, strict=True)
        ]
    outcomes = iter(tuning.measure(jobs))
    sets = []
    for point in points:
        options: list[Options] = []
        for group, candidates in zip(point.size.groups, point.ranked, strict=True):
            times = next(outcomes).times or tuple(cost for cost, _ in candidates)
            schedules = (schedule for _, schedule in candidates)
            options.append((group.example.kind, dict(zip(schedules, times, strict=True))))
        sets.append(tuning.schedules(point.size, share_codes(options), point.blocks_per_sm))
    return sets
