"""Tunes each feature by itself and combines what is best: what RecFlex compares itself with (II-C).

Nothing else runs beside a candidate, and whole kernels are never measured. Measures groups *
candidates kernels.
"""

from __future__ import annotations

from collections.abc import Mapping

from gnarl.sw.compiler.cuda.code_sharing import Options, share_codes
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_for_sizes
from gnarl.sw.compiler.cuda.feature_groups import FeatureGroup
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.tune.interference import select
from gnarl.sw.compiler.cuda.tune.measurer import FusedJob
from gnarl.sw.compiler.cuda.tune.tuning import Tuning
from gnarl.sw.workloads.embedding.model import EmbeddingModel


def separate(tuning: Tuning) -> ScheduleSet:
    """Tunes each group by itself, at the occupancy, and with the size of blocks, that the cost
    model finds best, where the configuration has none.

    Where none of a group's kernels can be measured the cost model chooses for it.
    """
    chosen = choose_for_sizes(tuning.model, tuning.sizes)
    blocks_per_sm = chosen.blocks_per_sm
    size = next(each for each in tuning.sizes if each.config.block_threads == chosen.block_threads)
    ranked = tuning.ranked(size, blocks_per_sm)
    jobs = [
        _alone(tuning.model, size.config, group, schedule, blocks_per_sm)
        for group, candidates in zip(size.groups, ranked, strict=True)
        for _, schedule in candidates
    ]
    tuning.expect(len(jobs))
    outcomes = iter(tuning.measure(jobs))
    options: list[Options] = []
    for group, candidates in zip(size.groups, ranked, strict=True):
        costs: Mapping[Schedule, float] = {
            schedule: outcome.times[0]
            for (_, schedule), outcome in zip(candidates, outcomes, strict=False)
            if outcome.times
        }
        if not costs:
            costs = {schedule: cost for cost, schedule in candidates}
        options.append((group.example.kind, costs))
    return tuning.schedules(size, share_codes(options), blocks_per_sm, tuning.final_origin())


def _alone(
    model: EmbeddingModel,
    config: CudaConfig,
    group: FeatureGroup,
    schedule: Schedule,
    blocks_per_sm: int,
) -> FusedJob:
    """A kernel of one feature."""
    features = group.features[:1]
    schedules = ScheduleSet.of(
        [schedule],
        model=select(model, features).digest,
        arch=config.arch,
        block_threads=config.block_threads,
        blocks_per_sm=blocks_per_sm,
        origin="being tuned",
    )
    return FusedJob(features, schedules)
