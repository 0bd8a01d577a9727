"""Thread mappings by name: every feature has its blocks, in every order."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.compiler.cuda.schedule import MAPPINGS, Schedule, ScheduleSet
from gnarl.sw.runtime.cuda.grid import map_batch
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors

MODEL = EmbeddingModel(
    "pair",
    (
        Feature("cheap", 100, 4, factors=PoolingFactors(1)),
        Feature("costly", 100, 128, factors=PoolingFactors(50)),
    ),
)
ONE_HOT = Schedule.of("one_hot", vector=4, samples_per_thread=1)
PROGRAM = build_program(
    MODEL, ScheduleSet(MODEL.digest, "sm_90", 128, 8, (ONE_HOT,), (0, 0), "by hand")
)
BATCH = synthesise_batch(MODEL, 300)


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_each_feature_has_each_of_its_blocks_once(mapping: str) -> None:
    grid = map_batch(PROGRAM, BATCH, mapping)
    found = sorted(map(tuple, grid.tasks.tolist()))
    blocks = grid.feature_blocks.tolist()
    assert found == [(f, block) for f in range(2) for block in range(blocks[f])]


def test_blocks_follow_the_batch() -> None:
    # 128 threads are 128 samples of one vector each, or 4 of 32.
    grid = map_batch(PROGRAM, BATCH, "contiguous")
    assert grid.feature_blocks.tolist() == [3, 75]
    assert grid.tasks["feature"].tolist() == [0] * 3 + [1] * 75


def test_interleaved_blocks_are_those_of_contiguous_ones() -> None:
    grid = map_batch(PROGRAM, BATCH, "interleaved")
    assert grid.feature_blocks.tolist() == [3, 75]
    assert grid.tasks["feature"].tolist() != [0] * 3 + [1] * 75


def test_static_mappings_do_not_follow_the_batch() -> None:
    small = synthesise_batch(MODEL, 1)
    for mapping in ("average", "maximum"):
        assert np.array_equal(
            map_batch(PROGRAM, small, mapping).feature_blocks,
            map_batch(PROGRAM, BATCH, mapping).feature_blocks,
        )
    average, most = (map_batch(PROGRAM, BATCH, m).feature_blocks for m in ("average", "maximum"))
    assert (average <= most).all() and (average < most).any()
