"""Tests the schedules that the tuner finds, and what it measures for that."""

from __future__ import annotations

import itertools
from dataclasses import replace
from statistics import fmean

import pytest

from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.occupancy import occupancies
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.compiler.cuda.tune import tune
from gnarl.sw.compiler.cuda.tune.interference import tuning_kernel
from gnarl.sw.compiler.cuda.tune.measurer import FusedJob, JobFailure, LocalJob
from gnarl.sw.runtime.cuda.task_map import map_tasks
from tests.support.cuda.simulated_gpu import SimulatedGpus, batches, small_model
from tests.support.errors import refused

CONFIG = CudaConfig(arch="sm_90", workers="blocks")
MODEL = small_model()
BATCHES = batches(MODEL)
OCCUPANCIES = occupancies(CONFIG.arch, CONFIG.block_threads)


def whole(schedules: ScheduleSet) -> FusedJob:
    return FusedJob(tuple(range(len(MODEL.features))), schedules)


def best_of_all(gpus: SimulatedGpus) -> float:
    """Latency of the best of all combinations of what was measured, at any occupancy."""
    candidates: dict[int, dict[int, tuple]] = {}
    for job in gpus.measured:
        if isinstance(job, LocalJob):
            candidates.setdefault(job.blocks_per_sm, {})[job.feature] = job.candidates
    return min(
        gpus.latency(
            whole(
                ScheduleSet.of(
                    [colour, words, colour, links],
                    model=MODEL.digest,
                    arch=CONFIG.arch,
                    block_threads=CONFIG.block_threads,
                    blocks_per_sm=blocks_per_sm,
                    origin="",
                )
            )
        )
        for blocks_per_sm, of_feature in candidates.items()
        for colour, words, links in itertools.product(*(of_feature[n] for n in (0, 1, 3)))
    )


def fused_by_occupancy(gpus: SimulatedGpus) -> dict[int, list[ScheduleSet]]:
    """The whole kernels that were measured, all of them different."""
    found: dict[int, list[ScheduleSet]] = {}
    for job in gpus.measured:
        if isinstance(job, FusedJob):
            known = found.setdefault(job.schedules.blocks_per_sm, [])
            assert job.schedules not in known
            known.append(job.schedules)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_two_stages_find_the_best_of_all_combinations_under_interference(seed):
    gpus = SimulatedGpus(MODEL, seed=seed)
    found = tune(MODEL, CONFIG, BATCHES, gpus, candidates=5)
    assert gpus.latency(whole(found)) == best_of_all(gpus)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("long", [1e4, 1e5, 1e6])
def test_a_tuned_kernel_is_never_slower_than_the_cost_models(long, quick):
    """Nor than what has the least sums of block times, where the longest block counts."""
    gpus = SimulatedGpus(MODEL, long=long)
    found = tune(MODEL, CONFIG, BATCHES, gpus, quick=quick)
    chosen = tune(MODEL, CONFIG, BATCHES, None)
    assert gpus.latency(whole(found)) <= gpus.latency(whole(chosen))


def test_what_waits_for_long_blocks_gets_short_ones():
    """The best of all combinations has the least sum of load and longest block, which tuning does
    not always find, but nearly."""
    over_best = []
    for seed in range(8):
        gpus = SimulatedGpus(MODEL, seed=seed, long=1e5)
        found = tune(MODEL, CONFIG, BATCHES, gpus, candidates=5)
        over_best.append(gpus.latency(whole(found)) / best_of_all(gpus))
    assert max(over_best) <= 1.05
    assert fmean(over_best) <= 1.02


@pytest.mark.parametrize("seed", range(5))
def test_tuning_separately_is_misled_by_what_is_fast_alone(seed):
    gpus = SimulatedGpus(MODEL, seed=seed)
    separate = tune(MODEL, CONFIG, BATCHES, gpus, candidates=8, strategy="separate")
    bound = replace(CONFIG, blocks_per_sm=separate.blocks_per_sm)
    two_stage = tune(MODEL, bound, BATCHES, gpus, candidates=8)
    assert gpus.latency(whole(two_stage)) < gpus.latency(whole(separate))


def test_two_stages_measure_a_kernel_a_group_and_occupancy_then_few_an_occupancy():
    gpus = SimulatedGpus(MODEL)
    tune(MODEL, CONFIG, BATCHES, gpus)
    local = [job for job in gpus.measured if isinstance(job, LocalJob)]
    groups = 3  # colour and size are alike
    assert len(local) == groups * len(OCCUPANCIES)
    fused = fused_by_occupancy(gpus)
    assert sorted(fused) == sorted(OCCUPANCIES)
    assert all(1 <= len(schedules) <= 3 for schedules in fused.values())
    assert sorted(gpus.prepared, key=repr) == sorted(gpus.measured, key=repr)


def test_where_workers_are_warps_there_is_one_occupancy_to_measure():
    gpus = SimulatedGpus(MODEL)
    config = CudaConfig(arch="sm_90")
    found = tune(MODEL, config, BATCHES, gpus)
    local = [job for job in gpus.measured if isinstance(job, LocalJob)]
    assert len(local) == 3
    assert {template(each.template).workers for each in found.schedules} == {"warps"}
    assert found.blocks_per_sm == choose_schedules(MODEL, config).blocks_per_sm
    assert len(fused_by_occupancy(gpus)) == 1
    kernel = tuning_kernel(MODEL, local[0])
    assert kernel.program.kernel.layout is not None


def test_the_separate_strategy_measures_each_candidate_in_a_kernel_of_its_own():
    gpus = SimulatedGpus(MODEL)
    tune(MODEL, CONFIG, BATCHES, gpus, candidates=4, strategy="separate")
    assert len(gpus.measured) == 3 * 4
    assert all(isinstance(job, FusedJob) and len(job.features) == 1 for job in gpus.measured)


def test_an_occupancy_of_the_configuration_is_kept():
    gpus = SimulatedGpus(MODEL)
    config = replace(CONFIG, blocks_per_sm=6)
    assert tune(MODEL, config, BATCHES, gpus).blocks_per_sm == 6
    assert set(fused_by_occupancy(gpus)) == {6}


def test_a_quick_tuning_measures_few_candidates_at_the_cost_models_occupancy():
    gpus = SimulatedGpus(MODEL)
    found = tune(MODEL, CONFIG, BATCHES, gpus, quick=True)
    chosen = tune(MODEL, CONFIG, BATCHES, None).blocks_per_sm
    assert found.blocks_per_sm == chosen
    assert {job.blocks_per_sm for job in gpus.measured if isinstance(job, LocalJob)} == {chosen}
    assert [len(job.candidates) for job in gpus.measured if isinstance(job, LocalJob)] == [3] * 3
    assert set(fused_by_occupancy(gpus)) == {chosen}
    assert found.origin == "quick two-stage tuning of 3 candidates on 2 batches"


def test_a_quick_tuning_measures_no_more_candidates_than_asked_for():
    gpus = SimulatedGpus(MODEL)
    tune(MODEL, CONFIG, BATCHES, gpus, quick=True, candidates=2, strategy="separate")
    assert len(gpus.measured) == 3 * 2


def test_features_of_one_group_have_one_schedule():
    found = tune(MODEL, CONFIG, BATCHES, SimulatedGpus(MODEL))
    assert found.schedule(0) == found.schedule(2)


def test_tuned_schedules_say_what_they_are_for():
    found = tune(MODEL, CONFIG, BATCHES, SimulatedGpus(MODEL), candidates=5)
    assert (found.model, found.arch) == (MODEL.digest, "sm_90")
    assert found.block_threads == CONFIG.block_threads
    assert found.origin == "two-stage tuning of 5 candidates on 2 batches"
    for number, feature in enumerate(MODEL.features):
        schedule = found.schedule(number)
        assert template(schedule.template).refusal(schedule, feature, found.block_threads) == ""


def test_without_a_gpu_the_cost_model_chooses_and_says_so():
    found = tune(MODEL, CONFIG, BATCHES, None)
    assert found.origin == "cost model, 2 batches; there was no GPU for two-stage tuning"
    assert tune(MODEL, CONFIG, BATCHES, SimulatedGpus(MODEL, devices=0)) == found


def test_the_cost_model_measures_nothing():
    gpus = SimulatedGpus(MODEL)
    found = tune(MODEL, CONFIG, BATCHES, gpus, strategy="cost-model")
    assert found.origin == "cost model, 2 batches"
    assert not gpus.measured


def test_candidates_run_side_by_side_amid_padding_that_fills_the_device():
    gpus = SimulatedGpus(MODEL)
    tune(MODEL, CONFIG, BATCHES, gpus, candidates=5)
    job = next(job for job in gpus.measured if isinstance(job, LocalJob) and job.feature == 1)
    kernel = tuning_kernel(MODEL, job)
    assert kernel.candidates == 5
    assert kernel.sources[:5] == (1,) * 5
    chosen = kernel.program.schedules
    assert tuple(chosen.schedule(place) for place in range(5)) == job.candidates
    assert chosen.blocks_per_sm == job.blocks_per_sm
    batch = kernel.batch(BATCHES[0])
    assert all(inputs is BATCHES[0].features[1] for inputs in batch.features[:5])
    values = batch.counts
    blocks = map_tasks(kernel.program.block_counts, batch.size, values).feature_blocks[5:].sum()
    assert blocks >= 1.5 * 132 * job.blocks_per_sm


def test_a_group_whose_kernel_cannot_be_measured_is_left_to_the_cost_model():
    def fails(job):
        return "too much" if isinstance(job, LocalJob) and job.feature == 1 else ""

    gpus = SimulatedGpus(MODEL, fails=fails)
    found = tune(MODEL, CONFIG, BATCHES, gpus)
    failed = len(OCCUPANCIES)
    assert found.origin == (
        f"two-stage tuning of 8 candidates on 2 batches; {failed} kernels could not be measured"
    )


def test_an_occupancy_whose_fused_kernel_cannot_be_measured_is_passed_over():
    best = tune(MODEL, CONFIG, BATCHES, SimulatedGpus(MODEL)).blocks_per_sm

    def fails(job):
        fused = isinstance(job, FusedJob)
        return "too slow" if fused and job.schedules.blocks_per_sm == best else ""

    gpus = SimulatedGpus(MODEL)
    tune(MODEL, CONFIG, BATCHES, gpus)
    failed = len(fused_by_occupancy(gpus)[best])
    found = tune(MODEL, CONFIG, BATCHES, SimulatedGpus(MODEL, fails=fails))
    assert found.blocks_per_sm != best
    assert found.origin.endswith(f"; {failed} kernels could not be measured")


def test_no_fused_kernel_at_all():
    gpus = SimulatedGpus(MODEL, fails=lambda job: "bad luck" * isinstance(job, FusedJob))
    with pytest.raises(JobFailure, match="^no fused kernel can be measured: bad luck$"):
        tune(MODEL, CONFIG, BATCHES, gpus)


def test_no_samples():
    with refused("model small: has no samples to tune on"):
        tune(MODEL, CONFIG, [], SimulatedGpus(MODEL))


def test_an_unknown_strategy():
    with refused("strategy luck: must be one of two-stage, separate, cost-model"):
        tune(MODEL, CONFIG, BATCHES, SimulatedGpus(MODEL), strategy="luck")
