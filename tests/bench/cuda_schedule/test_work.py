"""What tasks of both designs do: nothing is lost, and nothing done twice."""

from __future__ import annotations

import numpy as np
import pytest

from bench.cuda_parts.traffic import traffic
from bench.cuda_schedule_parts import plan, today
from bench.cuda_schedule_parts.designs import schedules_of
from bench.cuda_schedule_parts.lookups import FETCH_BYTES, Caches
from bench.cuda_schedule_parts.warps import warp_work
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature, PoolingFactors

SIZES = (1, 34, 300)


@pytest.fixture
def model() -> EmbeddingModel:
    """One-hot features, bags of very unequal length, and one that no sample has."""
    return EmbeddingModel(
        "mixed",
        (
            Feature("one", 1024, 8),
            Feature("short", 1024, 32, factors=PoolingFactors(10.0, 10.0, 50, 0.8)),
            Feature("long", 4096, 128, factors=PoolingFactors(100.0, 100.0, 500, 0.5)),
            Feature("none", 100, 4, factors=PoolingFactors(1.0, coverage=0.0)),
        ),
    )


def batch_of(model: EmbeddingModel, size: int) -> Batch:
    return synthesise_batch(model, size, seed=3)


def test_caches_of_a_table() -> None:
    """Rows of 32 bytes: two come from memory together; what was used last is kept."""
    model = EmbeddingModel("one", (Feature("f", 1024, 8),))
    indices = np.array([0, 1, 0, 5, 0], np.int32)
    begins, ends = np.array([0, 3]), np.array([3, 5])
    l2, memory = Caches(model).look_up(32, indices, begins, ends, np.array([0, 1]))
    assert memory.tolist() == [64, 64]
    assert l2.tolist() == [64, 64]
    l2, memory = Caches(model, 0.0).look_up(32, indices, begins, ends, np.array([0, 0]))
    assert memory.sum() == 128
    assert l2.tolist() == [96, 64]


@pytest.mark.parametrize("size", SIZES)
def test_blocks_move_every_look_up(model: EmbeddingModel, size: int) -> None:
    batch = batch_of(model, size)
    work = today.block_work(model, schedules_of(model), batch)
    moved = traffic(model, batch)
    assert work.bytes.sum() == pytest.approx(moved.without_cache, abs=4)
    assert moved.least - 4 <= work.memory.sum() <= moved.least + FETCH_BYTES * len(work) * size
    assert (work.l2 <= work.bytes + 32 * work.requests).all()


@pytest.mark.parametrize("size", SIZES)
def test_warps_move_every_look_up(model: EmbeddingModel, size: int) -> None:
    batch = batch_of(model, size)
    made = plan.make_plan(model, size)
    counts = plan.count_tasks(made)
    work = warp_work(model, made, batch, plan.deal(int(counts.sum())))
    assert len(work) == counts.sum()
    for number, cut in enumerate(made.cuts):
        feature, inputs = model.features[number], batch.features[number]
        rows = len(inputs.indices) * feature.row_bytes
        besides = work.bytes[work.feature == number].sum() - rows
        besides -= 4 * (len(inputs.indices) + size * cut.parts)
        if cut.parts == 1:
            assert besides == size * feature.output_bytes
        else:  # partials
            assert besides % (4 * feature.dim) == 0
            assert besides <= size * cut.parts * 4 * feature.dim


def test_long_bags_are_cut_where_there_are_few(model: EmbeddingModel) -> None:
    few, many = plan.make_plan(model, 1), plan.make_plan(model, 100_000)
    assert few.cuts[2].parts > 1 and few.cuts[2].samples == 1
    assert few.cuts[0].parts == 1 and few.cuts[0].samples == 1
    assert all(cut.parts == 1 for cut in many.cuts)
    assert many.cuts[0].samples > 1


@pytest.mark.parametrize("tasks", [1, 131, 5000, 100_000])
def test_every_task_is_dealt_once(tasks: int) -> None:
    for dealt in (plan.deal(tasks), today.deal(tasks, 1320)):
        every = np.concatenate([dealt.queue, dealt.common])
        assert np.sort(every).tolist() == list(range(tasks))
        assert dealt.ends[-1] == len(dealt.queue)
