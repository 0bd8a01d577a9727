"""The cost model's time of a batch: its parts, and what it follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnarl.sw.compiler.cuda.batch_estimate import BatchEstimate, estimate_batch
from gnarl.sw.compiler.cuda.config import WORKERS, CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_at, choose_schedules
from gnarl.sw.compiler.cuda.feature_groups import block_sizes, schedule_set
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors
from gnarl.sw.workloads.embedding.statistics import from_batches

CONFIG = CudaConfig(arch="sm_90", workers="blocks")
LONG = PoolingFactors(100.0, 50.0, 200, 0.8)
MODEL = EmbeddingModel(
    "m",
    (
        Feature("one", 50_000, 8),
        Feature("two", 50_000, 8),
        Feature("long", 9_000, 64, factors=LONG),
    ),
)
PROGRAM = build_program(MODEL, choose_schedules(MODEL, CONFIG))


def estimated(size: int, program: EmbeddingProgram = PROGRAM) -> BatchEstimate:
    return estimate_batch(program, synthesise_batch(program.model, size, 0))


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("size", [1, 100_000])
def test_it_is_what_schedules_are_chosen_by(size: int, workers: str) -> None:
    batch, config = synthesise_batch(MODEL, size, 0), replace(CONFIG, workers=workers)
    for sized in block_sizes(MODEL, config, from_batches(MODEL, [batch]), size):
        for blocks_per_sm in sized.config.occupancies:
            choice = choose_at(sized, blocks_per_sm)
            assert choice is not None
            schedules = schedule_set(MODEL, sized, choice.of_group, blocks_per_sm, "test")
            found = estimate_batch(build_program(MODEL, schedules), batch)
            # Groups there are of features whose statistics are nearly equal.
            assert found.latency == pytest.approx(choice.latency, rel=0.1)


def test_parts_and_the_longest_block_are_the_whole() -> None:
    found = estimated(256)
    assert len(found.of_feature) == 3
    assert min(found.of_feature) > 0
    assert found.of_feature[2] > 10 * found.of_feature[0]
    assert found.latency > sum(found.of_feature)
    assert found.product == "H100 SXM"


def test_larger_batches_take_longer() -> None:
    latencies = [estimated(size).latency for size in (0, 1, 64, 1024, 16_384)]
    assert latencies == sorted(latencies)
    assert latencies[-1] > 5 * latencies[2]


def test_blocks_that_shared_memory_leaves_no_room_for_do_not_count() -> None:
    feature = Feature("f", 2_000, 16, factors=PoolingFactors(100.0))
    model = EmbeddingModel("m", (feature,))
    found = []
    for blocks_per_sm in (1, 16):
        schedules = replace(
            choose_schedules(model, CONFIG),
            schedules=(
                Schedule.of("table_in_shared", capacity=160, vector=4, threads=4, samples=128),
            ),
            blocks_per_sm=blocks_per_sm,
        )
        found.append(estimated(4096, build_program(model, schedules)).latency)
    assert found[0] == found[1]
