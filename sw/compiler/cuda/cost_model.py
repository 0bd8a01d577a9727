"""Ranks schedules without a GPU, and chooses those of a whole model.

A feature's cost is its part of the fused kernel's latency by equation (2) of RecFlex (IV-A): the
times of its blocks, over the blocks that the device runs at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hw.lib.errors import WorkloadError
from sw.compiler.cuda.architectures import ARCHITECTURES
from sw.compiler.cuda.block_estimates import block_times, cold_share, estimate
from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.device_rates import RATES
from sw.compiler.cuda.feature_groups import FeatureGroup, group_features
from sw.compiler.cuda.occupancy import occupancies, register_limit
from sw.compiler.cuda.schedule import Schedule, ScheduleSet
from sw.compiler.cuda.templates import template
from sw.compiler.frontend.embedding_model import EmbeddingModel, Feature, FeatureKind
from sw.compiler.frontend.embedding_statistics import FeatureStatistics

MAXIMUM_CODES = 96
"""Branches of a fused kernel that a choice stays below where it can: compiling takes a second or
so for each."""

_TOLERANCES = (0.02, 0.05, 0.1, 0.2)
"""How much slower than its best a feature's schedule may be for sharing code, tried in order."""

_UNIFORM_TEMPLATE = "warp_per_sample"


@dataclass(frozen=True)
class _Costs:
    """Of a group's candidates, ns [candidates].

    latency
        what the group's features add to the kernel's.
    longest
        time of the block with the longest bag.
    """

    latency: np.ndarray
    longest: np.ndarray


@dataclass(frozen=True)
class _Choice:
    latency: float
    blocks_per_sm: int
    of_group: list[Schedule]


def rank(
    feature: Feature,
    candidates: Sequence[Schedule],
    statistics: FeatureStatistics,
    arch: str,
    block_threads: int,
    blocks_per_sm: int,
    batch: int = 256,
) -> list[tuple[float, Schedule]]:
    """The candidates with their cost in ns, least first; of equals the earlier first."""
    estimates = estimate(feature, candidates, statistics, block_threads, batch)
    cold = cold_share(feature, statistics, batch)
    group = FeatureGroup((0,), feature, statistics, estimates, cold)
    costs = _costs(group, arch, block_threads, blocks_per_sm, blocks_per_sm).latency
    order = np.argsort(costs, kind="stable")
    return [(float(costs[index]), candidates[index]) for index in order]


def choose_schedules(
    model: EmbeddingModel,
    config: CudaConfig,
    statistics: Sequence[FeatureStatistics] | None = None,
    batch: int = 256,
) -> ScheduleSet:
    """Schedules for batches of about so many samples, by estimates alone.

    The occupancy is the configuration's, or that of the least latency. ``statistics`` of each
    feature; by default what its factors say. O(groups of equal features * candidates). Raises
    ``WorkloadError`` as ``feature_candidates`` does, or if the configuration's occupancy leaves a
    feature no schedule.
    """
    groups = group_features(model, config.block_threads, statistics, batch)
    return _best(model, config, groups, _choose, "cost model")


def uniform_schedules(model: EmbeddingModel, config: CudaConfig, batch: int = 256) -> ScheduleSet:
    """One schedule for all features in the manner of TorchRec: a warp for each sample.

    A warp takes one row at a time, in the widest vectors that its feature allows. Whatever else the
    template lets one choose is what the cost model finds best for all features together, and so is
    the occupancy. Raises ``WorkloadError`` naming a feature that cannot be computed so.
    """
    groups = group_features(model, config.block_threads, None, batch, _warp_per_sample)
    return _best(model, config, groups, _choose_uniform, "uniform: a warp for each sample")


def _warp_per_sample(feature: Feature, block_threads: int) -> tuple[Schedule, ...]:
    """Of the template's candidates with one row at a time those with the widest vectors."""
    kind = template(_UNIFORM_TEMPLATE)
    found = [each for each in kind.candidates(feature, block_threads) if each["rows"] == 1]
    if not found:
        raise WorkloadError(
            f"feature {feature.name}: template {kind.name} does not take dim {feature.dim} of "
            f"{feature.table_type} with {block_threads} threads a block"
        )
    widest = max(each["vector"] for each in found)
    return tuple(each for each in found if each["vector"] == widest)


def _best(
    model: EmbeddingModel,
    config: CudaConfig,
    groups: list[FeatureGroup],
    choose: Callable[[list[FeatureGroup], CudaConfig, int], _Choice | None],
    origin: str,
) -> ScheduleSet:
    """At the configuration's occupancy, or at that of the least latency."""
    tried = (
        [config.blocks_per_sm]
        if config.blocks_per_sm
        else occupancies(config.arch, config.block_threads)
    )
    found = [choose(groups, config, blocks_per_sm) for blocks_per_sm in tried]
    choices = [choice for choice in found if choice is not None]
    if not choices:
        raise _no_room(groups, config)
    best = min(choices, key=lambda choice: choice.latency)
    return _schedule_set(model, config, groups, best, origin)


def _choose_uniform(
    groups: list[FeatureGroup], config: CudaConfig, blocks_per_sm: int
) -> _Choice | None:
    """What is left to choose, chosen for all features alike."""
    costs = [
        _costs(group, config.arch, config.block_threads, blocks_per_sm, blocks_per_sm)
        for group in groups
    ]
    numbers = [
        {_but_vector(each): number for number, each in enumerate(group.estimates.candidates)}
        for group in groups
    ]
    choices = []
    for rest in numbers[0]:
        if not all(rest in known for known in numbers):
            continue
        picks = [known[rest] for known in numbers]
        latency = sum(float(each.latency[pick]) for each, pick in zip(costs, picks, strict=True))
        longest = max(float(each.longest[pick]) for each, pick in zip(costs, picks, strict=True))
        schedules = [
            group.estimates.candidates[pick] for group, pick in zip(groups, picks, strict=True)
        ]
        choices.append(_Choice(latency + longest, blocks_per_sm, schedules))
    best = min(choices, key=lambda choice: choice.latency, default=None)
    return best if best is not None and math.isfinite(best.latency) else None


def _but_vector(schedule: Schedule) -> tuple[tuple[str, int], ...]:
    return tuple(each for each in schedule.parameters if each[0] != "vector")


def _choose(groups: list[FeatureGroup], config: CudaConfig, blocks_per_sm: int) -> _Choice | None:
    """The best schedules at an occupancy; ``None`` where a group has none that fits."""
    multiprocessors = RATES[config.arch].multiprocessors
    resident = float(blocks_per_sm)
    for _ in range(2):  # first for a full device; again if the grid turns out not to fill it
        costs = [
            _costs(group, config.arch, config.block_threads, blocks_per_sm, resident)
            for group in groups
        ]
        limit = _longest_block(costs)
        if limit is None:
            return None
        picks = [_cheapest(each, limit) for each in costs]
        blocks = sum(
            group.estimates.blocks[pick] * len(group.features)
            for group, pick in zip(groups, picks, strict=True)
        )
        resident = min(resident, max(1.0, float(blocks) / multiprocessors))
    picks = _share_codes(groups, costs, limit)
    latency = sum(float(each.latency[pick]) for each, pick in zip(costs, picks, strict=True))
    longest = max(float(each.longest[pick]) for each, pick in zip(costs, picks, strict=True))
    schedules = [
        group.estimates.candidates[pick] for group, pick in zip(groups, picks, strict=True)
    ]
    return _Choice(latency + longest, blocks_per_sm, schedules)


def _costs(
    group: FeatureGroup, arch: str, block_threads: int, blocks_per_sm: int, resident: float
) -> _Costs:
    """Infinite for candidates whose shared memory does not fit so many times."""
    rates = RATES[arch]
    estimates = group.estimates
    average, longest = (
        block_times(
            estimates,
            rates,
            cold=group.cold,
            block_threads=block_threads,
            registers_allowed=register_limit(arch, block_threads, blocks_per_sm),
            resident=resident,
            longest=which,
        )
        for which in (False, True)
    )
    parallel = rates.multiprocessors * resident
    latency = len(group.features) * estimates.blocks * average / parallel
    limits = ARCHITECTURES[arch]
    fits = estimates.shared_bytes <= limits.shared_per_block
    fits &= blocks_per_sm * estimates.shared_bytes <= limits.shared_per_sm
    return _Costs(np.where(fits, latency, np.inf), np.where(fits, longest, np.inf))


def _longest_block(costs: list[_Costs]) -> float | None:
    """How long a block may take so that the kernel's latency is least; ns.

    A device that gives free places to the next block takes at most the blocks' mean load and the
    longest block's time together (Graham, 1966). Cheap schedules have long blocks, so that the sum
    has a minimum. O(n log n) in candidates of all groups: each group's least cost is a falling step
    function of the limit, and the steps of all groups are summed in the order of limits.
    """
    limits, steps, least_limit = [], [], 0.0
    for each in costs:
        order = np.argsort(each.longest, kind="stable")
        order = order[np.isfinite(each.longest[order])]
        if not len(order):
            return None
        falling = np.minimum.accumulate(each.latency[order])
        limits.append(each.longest[order])
        steps.append(np.diff(falling, prepend=0.0))
        least_limit = max(least_limit, float(each.longest[order[0]]))
    limit, step = np.concatenate(limits), np.concatenate(steps)
    order = np.argsort(limit, kind="stable")
    limit, total = limit[order], np.cumsum(step[order])
    total = np.where(limit >= least_limit, total + limit, np.inf)
    # The last of equal limits has all their steps.
    last = np.append(limit[1:] != limit[:-1], True)
    return float(limit[last][np.argmin(total[last])])


def _cheapest(costs: _Costs, limit: float) -> int:
    return int(np.argmin(np.where(costs.longest <= limit, costs.latency, np.inf)))


def _share_codes(groups: list[FeatureGroup], costs: list[_Costs], limit: float) -> list[int]:
    """For each group a candidate near its best, so that few kinds and schedules need code."""
    for tolerance in _TOLERANCES:
        picks = _cover(groups, costs, limit, tolerance)
        codes = {
            (group.example.kind, group.estimates.candidates[pick])
            for group, pick in zip(groups, picks, strict=True)
        }
        if len(codes) <= MAXIMUM_CODES:
            break
    return picks


def _cover(
    groups: list[FeatureGroup], costs: list[_Costs], limit: float, tolerance: float
) -> list[int]:
    """Greedy set cover, kind by kind: the schedule that suits most groups comes first."""
    suits: dict[FeatureKind, dict[Schedule, dict[int, int]]] = {}
    for number, (group, each) in enumerate(zip(groups, costs, strict=True)):
        allowed = np.where(each.longest <= limit, each.latency, np.inf)
        of_kind = suits.setdefault(group.example.kind, {})
        for pick in np.flatnonzero(allowed <= allowed.min() * (1 + tolerance)):
            of_kind.setdefault(group.estimates.candidates[pick], {})[number] = int(pick)
    picks = [0] * len(groups)
    for of_kind in suits.values():
        left = {number for suited in of_kind.values() for number in suited}
        while left:
            best = min(
                of_kind,
                key=lambda schedule: _rating(costs, of_kind[schedule], left),  # noqa: B023
            )
            for number in left & of_kind[best].keys():
                picks[number] = of_kind[best][number]
            left -= of_kind[best].keys()
    return picks


def _rating(costs: list[_Costs], suited: dict[int, int], left: set[int]) -> tuple[int, float]:
    """Least for the schedule that suits most of the groups left; of equals, the cheapest."""
    still = sorted(left & suited.keys())
    return -len(still), sum(float(costs[number].latency[suited[number]]) for number in still)


def _schedule_set(
    model: EmbeddingModel,
    config: CudaConfig,
    groups: list[FeatureGroup],
    choice: _Choice,
    origin: str,
) -> ScheduleSet:
    of_feature: list[Schedule] = [choice.of_group[0]] * len(model.features)
    for group, schedule in zip(groups, choice.of_group, strict=True):
        for number in group.features:
            of_feature[number] = schedule
    used = {schedule: index for index, schedule in enumerate(dict.fromkeys(of_feature))}
    return ScheduleSet(
        model=model.digest,
        arch=config.arch,
        block_threads=config.block_threads,
        blocks_per_sm=choice.blocks_per_sm,
        schedules=tuple(used),
        of_feature=tuple(used[schedule] for schedule in of_feature),
        origin=origin,
    )


def _no_room(groups: list[FeatureGroup], config: CudaConfig) -> WorkloadError:
    """Every schedule of a feature needs too much shared memory at the occupancy asked for."""
    limits = ARCHITECTURES[config.arch]
    room = limits.shared_per_sm // max(1, config.blocks_per_sm)
    for group in groups:
        least = int(group.estimates.shared_bytes.min())
        if least > min(room, limits.shared_per_block):
            break
    return WorkloadError(
        f"feature {group.example.name}: its schedules need at least {least:,} bytes of shared "
        f"memory a block: blocks_per_sm = {config.blocks_per_sm} leaves {room:,}"
    )
