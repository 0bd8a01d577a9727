"""The tuner of RecFlex (IV-A2): local stage by feature and occupancy, then global stage.

Measures groups * occupancies + occupancies kernels; features of one group count once.
"""

from __future__ import annotations

from dataclasses import replace

from sw.compiler.cuda.code_sharing import Options, share_codes
from sw.compiler.cuda.cost_model import Ranked
from sw.compiler.cuda.schedule import ScheduleSet
from sw.compiler.cuda.tune.candidates import padding
from sw.compiler.cuda.tune.measurer import FusedJob, JobFailure, LocalJob
from sw.compiler.cuda.tune.tuning import Tuning


def two_stage(tuning: Tuning) -> ScheduleSet:
    """Groups share code where that costs them hardly more than their best: see ``share_codes``.

    Where a group's kernel cannot be measured the cost model chooses for it.

    Raises ``JobFailure`` where none of the fused kernels can be measured.
    """
    ranked = {
        blocks_per_sm: candidates
        for blocks_per_sm in tuning.config.occupancies
        if all(candidates := tuning.ranked(blocks_per_sm))
    }
    assert ranked, "some schedule of every feature needs no shared memory"
    tuning.expect(len(ranked) * (len(tuning.groups) + 1))
    sets = _local_stage(tuning, ranked)
    everything = tuple(range(len(tuning.model.features)))
    outcomes = tuning.measure([FusedJob(everything, schedules) for schedules in sets])
    measured = [
        (outcome.times[0], place) for place, outcome in enumerate(outcomes) if outcome.times
    ]
    if not measured:
        raise JobFailure(f"no fused kernel can be measured: {outcomes[0].failure}")
    return replace(sets[min(measured)[1]], origin=tuning.final_origin())


def _local_stage(tuning: Tuning, ranked: dict[int, list[Ranked]]) -> list[ScheduleSet]:
    """For each occupancy the best schedule of each group, by its blocks' times: eq. (3), (5)."""
    jobs = []
    for blocks_per_sm, of_groups in ranked.items():
        company = padding(tuning.model, tuning.config, tuning.groups, blocks_per_sm)
        jobs += [
            LocalJob(
                feature=group.features[0],
                candidates=tuple(schedule for _, schedule in candidates),
                padding=company,
                arch=tuning.config.arch,
                block_threads=tuning.config.block_threads,
                blocks_per_sm=blocks_per_sm,
            )
            for group, candidates in zip(tuning.groups, of_groups, strict=True)
        ]
    outcomes = iter(tuning.measure(jobs))
    sets = []
    for blocks_per_sm, of_groups in ranked.items():
        options: list[Options] = []
        for group, candidates in zip(tuning.groups, of_groups, strict=True):
            times = next(outcomes).times or tuple(cost for cost, _ in candidates)
            schedules = (schedule for _, schedule in candidates)
            options.append((group.example.kind, dict(zip(schedules, times, strict=True))))
        sets.append(tuning.schedules(share_codes(options), blocks_per_sm))
    return sets
