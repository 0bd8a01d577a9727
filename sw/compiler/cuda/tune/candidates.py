"""What a tuner measures of each group of features: the cost model's best, and their company."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import Ranked, choose_for_sizes, rank_group
from gnarl.sw.compiler.cuda.device_rates import RATES
from gnarl.sw.compiler.cuda.feature_groups import BlockSize, FeatureGroup
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.workloads.embedding.model import EmbeddingModel, FeatureKind

_DOUBTFUL = 2.0
"""How many times the cost of its best candidate the cost model may be wrong about a template."""

_PADDING_CODES = 2
"""Branches of a kernel under measurement that are its padding's."""

_PADDING_WAVES = 2
"""How often padding blocks fill the device, so that they outlast the candidates."""

_Filler = tuple[int, Schedule, int]
"""A feature, its schedule, and the blocks that it has."""


def best_candidates(
    group: FeatureGroup, config: CudaConfig, blocks_per_sm: int, count: int
) -> Ranked:
    """The ``count`` that the cost model ranks first at an occupancy, with their costs.

    The first of each template, where it may be the best if the cost model is wrong about it, comes
    before further ones of the templates that it likes best. Empty where none fits the occupancy.
    """
    ranked = rank_group(group, config.arch, config.block_threads, blocks_per_sm)
    firsts: dict[str, int] = {}
    for place, (cost, schedule) in enumerate(ranked):
        if cost <= _DOUBTFUL * ranked[0][0]:
            firsts.setdefault(schedule.template, place)
    places = dict.fromkeys([*firsts.values(), *range(len(ranked))])
    return [ranked[place] for place in sorted(list(places)[:count])]


def padding(
    model: EmbeddingModel, size: BlockSize, blocks_per_sm: int
) -> tuple[tuple[int, Schedule], ...]:
    """Features, with schedules, whose blocks fill a device with what most of the fused kernel does.

    They are those of the codes that take longest in the cost model's choice at the occupancy: of
    each code in turn one feature, again from the first where all of them are too few.
    """
    config, groups = replace(size.config, blocks_per_sm=blocks_per_sm), size.groups
    chosen = choose_for_sizes(model, [BlockSize(config, groups)])
    costs: dict[tuple[FeatureKind, Schedule], float] = {}
    features: dict[tuple[FeatureKind, Schedule], list[_Filler]] = {}
    for group in groups:
        schedule = chosen.schedule(group.features[0])
        ranked = rank_group(group, config.arch, config.block_threads, blocks_per_sm)
        code = (group.example.kind, schedule)
        costs[code] = costs.get(code, 0.0) + next(cost for cost, each in ranked if each == schedule)
        blocks = _blocks(group, schedule)
        features.setdefault(code, []).extend((each, schedule, blocks) for each in group.features)
    heaviest = sorted(costs, key=lambda code: -costs[code])[:_PADDING_CODES]
    turns = zip_longest(*(features[code] for code in heaviest))
    fillers = [filler for turn in turns for filler in turn if filler is not None]
    return _repeat(fillers, _PADDING_WAVES * blocks_per_sm * RATES[config.arch].multiprocessors)


def _blocks(group: FeatureGroup, schedule: Schedule) -> int:
    estimates = group.estimates
    return math.ceil(estimates.blocks[estimates.candidates.index(schedule)])


def _repeat(fillers: Sequence[_Filler], wanted: int) -> tuple[tuple[int, Schedule], ...]:
    """Repeats fillers in turn until they have as many blocks as wanted."""
    taken: list[tuple[int, Schedule]] = []
    while wanted > 0:
        number, schedule, blocks = fillers[len(taken) % len(fillers)]
        taken.append((number, schedule))
        wanted -= blocks
    return tuple(taken)
