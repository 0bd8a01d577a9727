"""One schedule for all features of a model: what heterogeneous schedules are compared with."""

from __future__ import annotations

from functools import partial

from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.cost_model import rank_group
from sw.compiler.cuda.feature_groups import FeatureGroup, group_features, spread
from sw.compiler.cuda.occupancy import occupancies
from sw.compiler.cuda.schedule import Schedule, ScheduleSet
from sw.compiler.cuda.templates import template, templates
from sw.compiler.frontend.embedding_model import EmbeddingModel, Feature

_Rest = tuple[tuple[str, int], ...]


def uniform_choices(model: EmbeddingModel, config: CudaConfig) -> list[ScheduleSet]:
    """For each template that takes all features, the parameters that the cost model finds best for
    them together, and the occupancy. Vectors are as wide as each feature's rows allow."""
    found = []
    for name in templates():
        threads = config.block_threads
        kinds = {feature.kind: feature for feature in model.features}
        if not all(_widest(name, feature, threads) for feature in kinds.values()):
            continue
        groups = group_features(model, threads, candidates_of=partial(_widest, name))
        choices = [
            (*_best(groups, config, blocks), blocks)
            for blocks in occupancies(config.arch, config.block_threads)
        ]
        cost, schedules, blocks = min(choices, key=lambda choice: choice[0])
        if schedules:
            found.append(
                ScheduleSet.of(
                    spread(groups, schedules),
                    model=model.digest,
                    arch=config.arch,
                    block_threads=config.block_threads,
                    blocks_per_sm=blocks,
                    origin=f"uniform: {name}",
                )
            )
    return found


def _widest(name: str, feature: Feature, block_threads: int) -> tuple[Schedule, ...]:
    """Of the template's candidates for each choice of other parameters that of widest vectors."""
    found: dict[_Rest, Schedule] = {}
    for schedule in template(name).candidates(feature, block_threads):
        known = found.setdefault(_rest(schedule), schedule)
        if dict(schedule.parameters).get("vector", 0) > dict(known.parameters).get("vector", 0):
            found[_rest(schedule)] = schedule
    return tuple(found.values())


def _best(
    groups: list[FeatureGroup], config: CudaConfig, blocks_per_sm: int
) -> tuple[float, list[Schedule]]:
    """The least cost of one choice of parameters for all groups, and its schedules."""
    of_group: list[dict[_Rest, tuple[float, Schedule]]] = [
        {
            _rest(schedule): (cost, schedule)
            for cost, schedule in rank_group(
                group, config.arch, config.block_threads, blocks_per_sm
            )
        }
        for group in groups
    ]
    shared = [rest for rest in of_group[0] if all(rest in known for known in of_group)]
    choices = [[known[rest] for known in of_group] for rest in shared]
    costs = [sum(cost for cost, _ in choice) for choice in choices]
    if not costs:
        return float("inf"), []
    best = costs.index(min(costs))
    return costs[best], [schedule for _, schedule in choices[best]]


def _rest(schedule: Schedule) -> _Rest:
    return tuple(each for each in schedule.parameters if each[0] != "vector")
