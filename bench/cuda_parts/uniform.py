"""One schedule for all features of a model: what fused kernels are compared with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import Choice, best_of_sizes, group_costs, kernel_latency
from gnarl.sw.compiler.cuda.feature_groups import CandidatesOf, FeatureGroup, block_sizes
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature

_UNIFORM = "warp_per_sample"


def uniform_schedules(model: EmbeddingModel, config: CudaConfig, batch: int = 256) -> ScheduleSet:
    """One schedule for all features in the manner of TorchRec: a warp for each sample.

    A warp takes one row at a time; otherwise as ``choose_uniform``.
    """
    kind = template(_UNIFORM)
    config = replace(config, workers=kind.workers)
    found = choose_uniform(
        model, config, _one_row_of_a_warp, "uniform: a warp for each sample", batch
    )
    assert found is not None, "a warp goes through rows of any length, without shared memory"
    return found


def choose_uniform(
    model: EmbeddingModel,
    config: CudaConfig,
    candidates_of: CandidatesOf,
    origin: str,
    batch: int = 256,
) -> ScheduleSet | None:
    """One of the candidates for all features, but for its vectors, as wide as each feature allows.

    It is the one, with the occupancy, that the cost model finds best for all features together.
    ``None`` where no candidate suits all of them.
    """

    def widest(feature: Feature, block_threads: int) -> Iterable[Schedule]:
        narrow_first = sorted(candidates_of(feature, block_threads), key=_vector)
        return {_but_vector(each): each for each in narrow_first}.values()

    sizes = block_sizes(model, config, None, batch, widest)
    return best_of_sizes(model, sizes, _choose_uniform, origin)


def _one_row_of_a_warp(feature: Feature, block_threads: int) -> Iterable[Schedule]:
    kind = template(_UNIFORM)
    return (
        each
        for each in kind.candidates(feature, block_threads)
        if each["rows"] == each["samples_per_warp"] == 1
    )


def _choose_uniform(
    groups: list[FeatureGroup], config: CudaConfig, blocks_per_sm: int
) -> Choice | None:
    """What is left to choose, chosen for all features alike."""
    costs = group_costs(groups, config, blocks_per_sm, blocks_per_sm)
    schedules_of = [
        {_but_vector(each): each for each in group.estimates.candidates} for group in groups
    ]
    choices = []
    for rest in schedules_of[0]:
        if not all(rest in known for known in schedules_of):
            continue
        schedules = [known[rest] for known in schedules_of]
        choices.append(Choice(kernel_latency(groups, costs, schedules), blocks_per_sm, schedules))
    best = min(choices, key=lambda choice: choice.latency, default=None)
    return best if best is not None and math.isfinite(best.latency) else None


def _vector(schedule: Schedule) -> int:
    """1 for schedules of a template that has no such parameter."""
    return dict(schedule.parameters).get("vector", 1)


def _but_vector(schedule: Schedule) -> tuple[tuple[str, int], ...]:
    return tuple(each for each in schedule.parameters if each[0] != "vector")
