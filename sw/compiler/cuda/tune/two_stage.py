"""The tuner of RecFlex (IV-A2): local stage by feature and occupancy, then global stage.

Measures for each point a kernel of each group and up to three fused ones; a point is an occupancy,
with a size of blocks where that is to be found, too. Features of one group count once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gnarl.sw.compiler.cuda.code_sharing import share_codes
from gnarl.sw.compiler.cuda.cost_model import (
    Costs,
    Ranked,
    affordable,
    choose_at,
    group_costs,
    latency_at,
    longest_block,
)
from gnarl.sw.compiler.cuda.device_rates import RATES
from gnarl.sw.compiler.cuda.feature_groups import BlockSize, FeatureGroup
from gnarl.sw.compiler.cuda.occupancy import MAXIMUM_OCCUPANCIES
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.tune.candidates import padding
from gnarl.sw.compiler.cuda.tune.measurer import FusedJob, JobFailure, LocalJob
from gnarl.sw.compiler.cuda.tune.tuning import Tuning

_KERNELS = 3
"""Whole kernels to measure at a point, at most: see ``_choices``."""


@dataclass(frozen=True)
class _Point:
    """A size of blocks at an occupancy, and what to measure there of each group."""

    size: BlockSize
    blocks_per_sm: int
    ranked: list[Ranked]


def two_stage(tuning: Tuning) -> ScheduleSet:
    """Groups share code where that costs them hardly more than their best: see ``share_codes``.

    Where a group's kernel cannot be measured the cost model's figures take its place.

    Raises ``JobFailure`` where none of the fused kernels can be measured.
    """
    points = _points(tuning)
    assert points, "some schedule of every feature needs no shared memory"
    local = sum(len(point.size.groups) for point in points)
    tuning.expect(local + _KERNELS * len(points))
    sets = _local_stage(tuning, points)
    tuning.expect(local + len(sets))
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
    points = [
        _Point(size, blocks_per_sm, candidates)
        for size in tuning.sizes
        for blocks_per_sm in size.config.occupancies
        if all(candidates := tuning.ranked(size, blocks_per_sm))
    ]
    if len(tuning.sizes) > 1:
        points.sort(key=lambda point: latency_at(point.size, point.blocks_per_sm))
    return points[:MAXIMUM_OCCUPANCIES]


def _local_stage(tuning: Tuning, points: Sequence[_Point]) -> list[ScheduleSet]:
    """The schedules to fuse at each point, as ``_choices`` says."""
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
        costs = [
            _costs(point, group, candidates, next(outcomes).times)
            for group, candidates in zip(point.size.groups, point.ranked, strict=True)
        ]
        sets += [
            tuning.schedules(point.size, of_group, point.blocks_per_sm)
            for of_group in _choices(point, costs)
        ]
    return sets


def _choices(point: _Point, costs: Sequence[Costs]) -> list[list[Schedule]]:
    """Chooses up to ``_KERNELS`` different kernels, with a schedule for each group.

    Those with the least sum of block times, eq. (3) and (5). Those with the least sum among
    schedules whose blocks are short enough: a sum says nothing of a grid that does not fill the
    device many times, whose longest block the kernel waits for. Those of the cost model: what it
    gets wrong, as what the local stage does, shows in the fused kernel.
    """
    choices = [_pick(point, costs)]
    if (limit := longest_block(costs)) is not None:
        choices.append(_pick(point, costs, limit))
    if (estimated := choose_at(point.size, point.blocks_per_sm)) is not None:
        choices.append(estimated.of_group)
    return [each for place, each in enumerate(choices) if each not in choices[:place]]


def _pick(point: _Point, costs: Sequence[Costs], limit: float = math.inf) -> list[Schedule]:
    return share_codes(
        [
            affordable(group, [schedule for _, schedule in candidates], each, limit)
            for group, candidates, each in zip(point.size.groups, point.ranked, costs, strict=True)
        ]
    )


def _costs(point: _Point, group: FeatureGroup, candidates: Ranked, times: Sequence[float]) -> Costs:
    """Costs of the candidates, in ns: as measured, or the cost model's where there are no times."""
    config, blocks_per_sm = point.size.config, point.blocks_per_sm
    if not times:
        (estimated,) = group_costs([group], config, blocks_per_sm, blocks_per_sm)
        places = [group.estimates.candidates.index(schedule) for _, schedule in candidates]
        return Costs(estimated.latency[places], estimated.longest[places])
    rates = RATES[config.arch]
    total, longest = np.array(times).reshape(2, -1) / rates.clock
    parallel = rates.multiprocessors * blocks_per_sm
    return Costs(len(group.features) * total / parallel, longest)
