"""Ranks schedules without a GPU, and chooses those of a whole model.

A feature's cost is its part of the fused kernel's latency by equation (2) of RecFlex (IV-A): the
times of its blocks, over the blocks that the device runs at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.block_estimates import block_times
from gnarl.sw.compiler.cuda.code_sharing import TOLERANCES, Options, share_codes
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.device_rates import RATES
from gnarl.sw.compiler.cuda.feature_groups import BlockSize, FeatureGroup, block_sizes, schedule_set
from gnarl.sw.compiler.cuda.occupancy import register_limit, shared_limit
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.workloads.embedding.model import EmbeddingModel

Ranked = list[tuple[float, Schedule]]
"""Schedules with their costs, the best ones first."""


@dataclass(frozen=True)
class Costs:
    """Costs of a group's candidates, ns [candidates].

    latency
        what the group's features add to the kernel's.
    longest
        time of the block with the longest bag.
    """

    latency: np.ndarray
    longest: np.ndarray


Chooser = Callable[[list[FeatureGroup], CudaConfig, int], "Choice | None"]
"""The best schedules at an occupancy; ``None`` where a group has none that fits."""


@dataclass(frozen=True)
class Choice:
    """A schedule for each group at an occupancy; ns that the fused kernel takes."""

    latency: float
    blocks_per_sm: int
    of_group: list[Schedule]


def rank_group(group: FeatureGroup, arch: str, block_threads: int, blocks_per_sm: int) -> Ranked:
    """A group's candidates with their cost in ns, least first; of equals the earlier first.

    A cost is that of all its features together. Those that need more shared memory than the
    occupancy leaves are left out.
    """
    costs = _costs(group, arch, block_threads, blocks_per_sm, blocks_per_sm).latency
    order = [at for at in np.argsort(costs, kind="stable") if np.isfinite(costs[at])]
    return [(float(costs[at]), group.estimates.candidates[at]) for at in order]


def choose_schedules(model: EmbeddingModel, config: CudaConfig) -> ScheduleSet:
    """Chooses as ``choose_for_sizes`` does, by the features' factors."""
    return choose_for_sizes(model, block_sizes(model, config))


def choose_for_sizes(model: EmbeddingModel, sizes: Sequence[BlockSize]) -> ScheduleSet:
    """Schedules by estimates alone, for the groups that ``block_sizes`` made of the model.

    The occupancy is the configuration's, or that of the least latency; so is the size of blocks.
    O(sizes * groups * candidates). Raises ``WorkloadError`` as ``feature_candidates`` does, or if
    the configuration's occupancy leaves a feature no schedule.
    """
    return best_of_sizes(model, sizes, _choose, "cost model") or _refuse(sizes[0])


def best_of_sizes(
    model: EmbeddingModel, sizes: Sequence[BlockSize], choose: Chooser, origin: str
) -> ScheduleSet | None:
    """What ``choose`` finds to take least time; ``None`` where it finds nothing."""
    found = [(size, best_choice(size, choose)) for size in sizes]
    fitting = [(size, choice) for size, choice in found if choice is not None]
    if not fitting:
        return None
    size, best = min(fitting, key=lambda each: each[1].latency)
    return schedule_set(model, size, best.of_group, best.blocks_per_sm, origin)


def best_choice(size: BlockSize, choose: Chooser) -> Choice | None:
    """The choice at the configuration's occupancy, or at that of the least latency."""
    config = size.config
    found = [choose(size.groups, config, blocks_per_sm) for blocks_per_sm in config.occupancies]
    choices = [choice for choice in found if choice is not None]
    return min(choices, key=lambda choice: choice.latency, default=None)


def latency_at(size: BlockSize, blocks_per_sm: int) -> float:
    """ns that the kernel of the best schedules takes at an occupancy at which all groups fit."""
    best = choose_at(size, blocks_per_sm)
    return math.inf if best is None else best.latency


def choose_at(size: BlockSize, blocks_per_sm: int) -> Choice | None:
    """The best schedules at an occupancy; ``None`` where a group has none that fits."""
    return _choose(size.groups, size.config, blocks_per_sm)


def _choose(groups: list[FeatureGroup], config: CudaConfig, blocks_per_sm: int) -> Choice | None:
    """The best schedules at an occupancy; ``None`` where a group has none that fits."""
    costs = group_costs(groups, config, blocks_per_sm, blocks_per_sm)
    limit = longest_block(costs)
    if limit is None:
        return None
    picks = [_cheapest(each, limit) for each in costs]
    blocks = sum(
        float(group.estimates.blocks[pick]) * len(group.features)
        for group, pick in zip(groups, picks, strict=True)
    )
    resident = resident_blocks(blocks, config.arch, blocks_per_sm)
    if resident < blocks_per_sm:  # the grid does not fill the device
        costs = group_costs(groups, config, blocks_per_sm, resident)
        limit = longest_block(costs)
    assert limit is not None, "what fits does not depend on how full the device is"
    if config.workers == "warps":  # whose codes are few, and tasks as short as a batch wants them
        schedules = [
            group.estimates.candidates[int(np.argmin(each.latency))]
            for group, each in zip(groups, costs, strict=True)
        ]
    else:
        schedules = share_codes(
            [
                affordable(group, group.estimates.candidates, each, limit)
                for group, each in zip(groups, costs, strict=True)
            ]
        )
    return Choice(kernel_latency(groups, costs, schedules), blocks_per_sm, schedules)


def kernel_latency(
    groups: list[FeatureGroup], costs: list[Costs], schedules: Sequence[Schedule]
) -> float:
    """ns, of the fused kernel: all blocks' load, and the longest block; see ``longest_block``."""
    picks = [
        group.estimates.candidates.index(schedule)
        for group, schedule in zip(groups, schedules, strict=True)
    ]
    load = sum(float(each.latency[pick]) for each, pick in zip(costs, picks, strict=True))
    return load + max(float(each.longest[pick]) for each, pick in zip(costs, picks, strict=True))


def resident_blocks(blocks: float, arch: str, blocks_per_sm: int) -> float:
    """Blocks that a multiprocessor runs at a time, of a grid of so many."""
    return min(blocks_per_sm, max(1.0, blocks / RATES[arch].multiprocessors))


def group_costs(
    groups: list[FeatureGroup], config: CudaConfig, blocks_per_sm: int, resident: float
) -> list[Costs]:
    """Costs of groups where ``resident`` blocks are of the ``blocks_per_sm`` that there is room
    for."""
    return [
        _costs(group, config.arch, config.block_threads, blocks_per_sm, resident)
        for group in groups
    ]


def _costs(
    group: FeatureGroup, arch: str, block_threads: int, blocks_per_sm: int, resident: float
) -> Costs:
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
    fits = estimates.shared_bytes <= shared_limit(arch, blocks_per_sm)
    return Costs(np.where(fits, latency, np.inf), np.where(fits, longest, np.inf))


def longest_block(costs: Sequence[Costs]) -> float | None:
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


def _cheapest(costs: Costs, limit: float) -> int:
    return int(np.argmin(np.where(costs.longest <= limit, costs.latency, np.inf)))


def affordable(
    group: FeatureGroup, candidates: Sequence[Schedule], costs: Costs, limit: float = math.inf
) -> Options:
    """Candidates whose blocks keep to the limit, with their costs.

    Without those that cost so much more than the best that code is never shared for them.
    """
    latency = np.where(costs.longest <= limit, costs.latency, np.inf)
    fitting = np.flatnonzero(latency <= (1 + TOLERANCES[-1]) * latency.min())
    options = {candidates[int(at)]: float(costs.latency[at]) for at in fitting}
    return group.example.kind, options


def _refuse(size: BlockSize) -> NoReturn:
    """All schedules of a feature need too much shared memory, even at the least occupancy."""
    arch, blocks_per_sm = size.config.arch, min(size.config.occupancies)
    room = shared_limit(arch, blocks_per_sm)
    for group in size.groups:
        least = int(group.estimates.shared_bytes.min())
        if least > room:
            break
    raise WorkloadError(
        f"feature {group.example.name}: its schedules need at least {least:,} bytes of shared "
        f"memory a block: must be at most {room:,} with blocks_per_sm = {blocks_per_sm} on {arch}"
    )
