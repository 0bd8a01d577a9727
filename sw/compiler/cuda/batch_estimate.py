"""The time that the cost model estimates for one batch, with the schedules of a program."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from gnarl.sw.compiler.cuda.block_estimates import cold_share, estimate
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import group_costs, kernel_latency, resident_blocks
from gnarl.sw.compiler.cuda.device_rates import RATES
from gnarl.sw.compiler.cuda.feature_groups import FeatureGroup
from gnarl.sw.compiler.cuda.occupancy import blocks_per_sm
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.workloads.embedding.model import Batch
from gnarl.sw.workloads.embedding.statistics import FeatureStatistics, from_batches


@dataclass(frozen=True)
class BatchEstimate:
    """Times of a kernel on one batch; ns.

    product
        the GPU that they are estimated for.
    latency
        all features' parts together, and the block with the longest bag.
    of_feature
        what each feature adds, in the model's order.
    """

    product: str
    latency: float
    of_feature: list[float]


def estimate_batch(program: EmbeddingProgram, batch: Batch) -> BatchEstimate:
    """The estimate by the batch's own pooling factors, at the occupancy of the schedules or, if it
    is less, the one that shared memory leaves. O(batch)."""
    schedules = program.schedules
    arch, block_threads = schedules.arch, schedules.block_threads
    config = CudaConfig(arch=arch, block_threads=block_threads)
    room = blocks_per_sm(arch, 0, program.kernel.shared_bytes, block_threads)
    occupancy = max(1, min(schedules.blocks_per_sm, room))
    groups = _groups(program, batch)
    blocks = sum(float(group.estimates.blocks[0]) * len(group.features) for group in groups)
    resident = resident_blocks(blocks, arch, occupancy)
    costs = group_costs(groups, config, occupancy, resident)
    of_feature = [0.0] * len(program.model.features)
    for group, cost in zip(groups, costs, strict=True):
        for number in group.features:
            of_feature[number] = float(cost.latency[0]) / len(group.features)
    chosen = [group.estimates.candidates[0] for group in groups]
    return BatchEstimate(RATES[arch].product, kernel_latency(groups, costs, chosen), of_feature)


def _groups(program: EmbeddingProgram, batch: Batch) -> list[FeatureGroup]:
    """Features that are alike in everything, with their schedule as the only candidate."""
    model, schedules = program.model, program.schedules
    alike: dict[Hashable, list[int]] = {}
    statistics: list[FeatureStatistics] = from_batches(model, [batch])
    for number, feature in enumerate(model.features):
        schedule = schedules.of_feature[number]
        key = (feature.kind, feature.rows, statistics[number], schedule)
        alike.setdefault(key, []).append(number)
    groups = []
    for numbers in alike.values():
        first = numbers[0]
        feature, known = model.features[first], statistics[first]
        candidates = [schedules.schedule(first)]
        work = estimate(feature, candidates, known, schedules.block_threads, batch.size)
        cold = cold_share(feature, known, batch.size)
        groups.append(FeatureGroup(tuple(numbers), feature, known, work, cold))
    return groups
