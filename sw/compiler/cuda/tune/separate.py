"""Tunes each feature by itself and combines what is best: what RecFlex compares itself with (II-C).

Nothing else runs beside a candidate, and whole kernels are never measured. Measures groups *
candidates kernels.
"""

from __future__ import annotations

from collections.abc import Mapping

from sw.compiler.cuda.code_sharing import Options, share_codes
from sw.compiler.cuda.cost_model import choose_for_groups
from sw.compiler.cuda.feature_groups import FeatureGroup
from sw.compiler.cuda.schedule import Schedule, ScheduleSet
from sw.compiler.cuda.tune.interference import select
from sw.compiler.cuda.tune.measurer import FusedJob
from sw.compiler.cuda.tune.tuning import Tuning


def separate(tuning: Tuning) -> ScheduleSet:
    """At the occupancy that the cost model finds best, where the configuration has none.

    Where none of a group's kernels can be measured the cost model chooses for it.
    """
    chosen = choose_for_groups(tuning.model, tuning.config, tuning.groups)
    blocks_per_sm = chosen.blocks_per_sm
    ranked = tuning.ranked(blocks_per_sm)
    jobs = [
        _alone(tuning, group, schedule, blocks_per_sm)
        for group, candidates in zip(tuning.groups, ranked, strict=True)
        for _, schedule in candidates
    ]
    tuning.expect(len(jobs))
    outcomes = iter(tuning.measure(jobs))
    options: list[Options] = []
    for group, candidates in zip(tuning.groups, ranked, strict=True):
        costs: Mapping[Schedule, float] = {
            schedule: outcome.times[0]
            for (_, schedule), outcome in zip(candidates, outcomes, strict=False)
            if outcome.times
        }
        if not costs:
            costs = {schedule: cost for cost, schedule in candidates}
        options.append((group.example.kind, costs))
    return tuning.schedules(share_codes(options), blocks_per_sm, tuning.final_origin())


def _alone(tuning: Tuning, group: FeatureGroup, schedule: Schedule, blocks_per_sm: int) -> FusedJob:
    """A kernel of one feature."""
    features = group.features[:1]
    schedules = ScheduleSet.of(
        [schedule],
        model=select(tuning.model, features).digest,
        arch=tuning.config.arch,
        block_threads=tuning.config.block_threads,
        blocks_per_sm=blocks_per_sm,
        origin="being tuned",
    )
    return FusedJob(features, schedules)
