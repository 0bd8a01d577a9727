"""Thread mappings: of the host against their definition, of the device against the host's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.cuda.demands import Bounds, workspace_places
from gnarl.sw.compiler.cuda.fusion import MAP_KERNEL, MAP_PARAMETERS, map_blocks, map_shared_bytes
from gnarl.sw.compiler.cuda.layouts import BLOCK_COUNT, DEMAND, SHARE, TASK
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates.template import INCLUDE, BlockCount
from gnarl.sw.runtime.cuda import task_arrays, task_loops, task_map
from gnarl.sw.runtime.cuda.arguments import queue_state, shares_of
from gnarl.sw.runtime.cuda.emulation.embedding import kernel_arguments
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray
from gnarl.sw.runtime.cuda.task_arrays import PLACES
from gnarl.sw.runtime.cuda.task_map import (
    TaskMap,
    arrange,
    count_blocks,
    map_tasks,
    static_blocks,
)
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature


@pytest.fixture(autouse=True, scope="module", params=[task_loops, task_arrays])
def ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Native loops, and NumPy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_map, "fill", request.param)
        yield


def counts_of(*counts: BlockCount) -> np.ndarray:
    rows = [(count.units == "values", count.numerator, count.denominator) for count in counts]
    return np.array(rows, BLOCK_COUNT)


def pairs(mapping: TaskMap) -> list[tuple[int, int]]:
    assert mapping.tasks.dtype == TASK
    assert mapping.feature_blocks.dtype == np.int32
    return [(int(task["feature"]), int(task["block"])) for task in mapping.tasks]


ANY_COUNT = st.builds(
    BlockCount, st.sampled_from(("samples", "values")), st.integers(1, 5), st.integers(1, 2000)
)
ANY_DEMAND = st.tuples(
    st.integers(0, 1),
    *(st.integers(1, 5), st.integers(1, 2000)),
    st.integers(0, 1),
    *(st.integers(1, 2048), st.integers(0, 5000).map(lambda size: 16 * size)),
)
ANY_BLOCKS = st.lists(st.integers(1, 70), min_size=1, max_size=30)


def test_every_feature_has_a_block_even_without_samples() -> None:
    counts = counts_of(BlockCount("samples"), BlockCount("values", 3, 2))
    mapping = map_tasks(counts, 0, np.zeros(2, np.int64))
    assert pairs(mapping) == [(0, 0), (1, 0)]
    assert mapping.feature_blocks.tolist() == [1, 1]


def test_blocks_are_by_samples_or_by_values_and_rounded_up() -> None:
    counts = counts_of(BlockCount("samples", 1, 4), BlockCount("values", 2, 5))
    mapping = map_tasks(counts, 9, np.array([100, 6]))
    assert mapping.feature_blocks.tolist() == [3, 3]
    assert pairs(mapping) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


@given(st.lists(st.tuples(ANY_COUNT, st.integers(0, 10_000)), min_size=1), st.integers(0, 2560))
def test_contiguous(features: list[tuple[BlockCount, int]], batch: int) -> None:
    counts = counts_of(*(count for count, _ in features))
    values = np.array([number for _, number in features])
    mapping = map_tasks(counts, batch, values)
    expected = [int(count.blocks(batch, number)) for count, number in features]
    assert mapping.feature_blocks.tolist() == expected
    assert pairs(mapping) == [
        (feature, block) for feature, blocks in enumerate(expected) for block in range(blocks)
    ]


def test_counts_beyond_32_bits() -> None:
    counts = counts_of(BlockCount("values", 1000, 3_000_000))
    assert map_tasks(counts, 1, np.array([6_000_000_001])).feature_blocks.tolist() == [2_000_001]


def test_a_grid_beyond_what_cuda_allows_is_refused() -> None:
    text = "grid of 2,147,483,648 blocks: must be at most 2,147,483,647"
    counts = counts_of(BlockCount("values"), BlockCount("values"))
    with pytest.raises(CapacityError, match=f"^{re.escape(text)}$"):
        map_tasks(counts, 1, np.array([2**31 - 1, 1]))
    text = "grid of 10,000,000,001 blocks: must be at most 2,147,483,647"
    with pytest.raises(CapacityError, match=f"^{re.escape(text)}$"):
        map_tasks(counts, 1, np.array([10**10, 1]))
    with pytest.raises(CapacityError, match=f"^{re.escape(text)}$"):
        count_blocks(counts, 1, np.array([10**10, 1]))
    text = "grid of 3,000,000,000 blocks: must be at most 2,147,483,647"
    with pytest.raises(CapacityError, match=f"^{re.escape(text)}$"):
        arrange(np.full(3, 10**9, np.int32))


def test_interleaved_by_hand() -> None:
    # Feature 0 stands at 1/2 of its only block; 1, the costliest, at 0, 1/4, 2/4 and 3/4; 2 at
    # 3/4 and 7/4 of its halves.
    mapping = arrange(np.array([1, 4, 2]), "interleaved", np.array([2.0, 4.0, 1.0]))
    assert pairs(mapping) == [(1, 0), (1, 1), (2, 0), (0, 0), (1, 2), (1, 3), (2, 1)]


def test_of_single_blocks_the_costliest_comes_first() -> None:
    mapping = arrange(np.ones(4, np.int32), "interleaved", np.array([1.0, 3.0, 2.0, 4.0]))
    assert [feature for feature, _ in pairs(mapping)] == [3, 1, 2, 0]


def test_without_costs_features_take_turns() -> None:
    mapping = arrange(np.array([3, 3]), "interleaved")
    assert pairs(mapping) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]


@given(ANY_BLOCKS, st.data())
def test_interleaved_is_sorted_by_place_feature_and_block(
    blocks: list[int], data: st.DataObject
) -> None:
    cost = st.integers(1, 1 << 20) | st.just(1 << 62)  # beside the latter the others are nothing
    costs = np.array([float(data.draw(cost)) for _ in blocks])

    def place(feature: int, block: int) -> int:
        share = 1.0 - costs[feature] / costs.max()
        step = (PLACES << 32) // blocks[feature]
        return block * step + min(int(share * step), step - 1) >> 32

    everything = [(feature, block) for feature, n in enumerate(blocks) for block in range(n)]
    mapping = arrange(np.array(blocks), "interleaved", costs)
    assert pairs(mapping) == sorted(everything, key=lambda task: (place(*task), *task))
    assert mapping.feature_blocks.tolist() == blocks


@given(ANY_BLOCKS, st.data())
def test_native_loops_and_numpy_agree(blocks: list[int], data: st.DataObject) -> None:
    cost = st.floats(0, 1e300, exclude_min=True)
    costs = np.array([data.draw(cost) for _ in blocks])
    grids = [np.empty(sum(blocks), np.int64) for _ in range(2)]
    for ways, tasks in zip((task_loops, task_arrays), grids, strict=True):
        ways.interleaved(np.array(blocks, np.int32), costs, tasks)
    assert (grids[0] == grids[1]).all()


def test_every_wave_of_an_interleaved_grid_has_its_share_of_each_feature() -> None:
    blocks = np.array([640, 64, 2560, 320, 1280])
    mapping = arrange(blocks, "interleaved", np.array([5.0, 9.0, 1.0, 2.0, 3.0]))
    grid = len(mapping.tasks)
    for begin in range(0, grid - 400, 400):
        wave = np.bincount(mapping.tasks["feature"][begin : begin + 400], minlength=5)
        assert np.abs(wave - 400 * blocks / grid).max() <= 8


def test_static_blocks() -> None:
    history = [np.array([1, 5, 2]), np.array([2, 5, 9])]
    average, maximum = (static_blocks(history, name) for name in ("average", "maximum"))
    assert average.tolist() == [2, 5, 6]
    assert maximum.tolist() == [2, 5, 9]
    assert average.dtype == maximum.dtype == np.int32
    assert len(arrange(average).tasks) == 13


@pytest.mark.parametrize("block_threads", [32, 128])
@pytest.mark.parametrize("features", [1, 31, 32, 129, 300])
def test_the_device_makes_the_same_tasks_and_shares(block_threads: int, features: int) -> None:
    rng = np.random.default_rng(features)
    batch, blocks, queues = 77, 9, 5
    program = any_program(features, block_threads)
    values = rng.integers(0, 5000, features)
    values[rng.random(features) < 0.2] = 0
    expected = map_tasks(program.block_counts, batch, values)
    shares, size = shares_of(program, expected, batch, values)
    bounds = Bounds.of(program.demands, batch)
    total = int(values.sum())
    assert len(expected.tasks) <= bounds.most_tasks(total)
    assert size <= bounds.most_workspace(total)

    ends = np.cumsum(values)
    begins = np.repeat(ends - values, batch)  # all bags but the last of a feature are empty
    offsets = GlobalArray("offsets", np.append(begins, total).astype(np.int32))
    tasks = GlobalArray("tasks", np.full(len(expected.tasks), -1, TASK), writable=True)
    found = GlobalArray("shares", np.full(features, -1, SHARE), writable=True)
    state = GlobalArray("state", queue_state(0, blocks, queues), writable=True)
    values_of = {
        "offsets": offsets.address,
        "tasks": tasks.address,
        "shares": found.address,
        "state": state.address,
        "blocks": blocks,
        "queues": queues,
        "batch": batch,
    }
    EmulatedKernels(program.kernel.source, [INCLUDE]).launch(
        MAP_KERNEL,
        map_blocks(features, block_threads),
        block_threads,
        kernel_arguments(MAP_PARAMETERS, [values_of[name] for name in MAP_PARAMETERS]),
        [offsets, tasks, found, state],
        map_shared_bytes(block_threads),
    )
    assert (found.array == shares).all()
    assert (tasks.array == expected.tasks).all()
    assert (state.array == queue_state(len(expected.tasks), blocks, queues)).all()


def any_program(features: int, block_threads: int) -> EmbeddingProgram:
    """A program of features whose demands go by samples and by indices, with workspaces and
    without."""
    schedules = (
        Schedule.of("one_hot", vector=4, samples_per_thread=1),
        Schedule.of("reduce_by_key", vector=4, values_per_block=1024, unroll=2),
        Schedule.of("split_sample", vector=4, parts=4, unroll=2),
    )[:features]
    of_feature = tuple(number % len(schedules) for number in range(features))
    model = EmbeddingModel(
        "m", tuple(Feature(f"f{at}", 9, (4, 32, 8)[at % 3]) for at in range(features))
    )
    return build_program(
        model,
        ScheduleSet(model.digest, "sm_90", block_threads, 1, schedules, of_feature, "by hand"),
    )


@given(st.lists(st.tuples(ANY_DEMAND, st.integers(0, 10_000)), min_size=1), st.integers(0, 2560))
def test_bounds_hold_whatever_the_bags(demands: list[tuple[Any, int]], batch: int) -> None:
    rows = np.array([demand for demand, _ in demands], DEMAND)
    values = np.array([number for _, number in demands])
    bounds, total = Bounds.of(rows, batch), int(values.sum())
    counts = np.array([tuple(row)[:3] for row in rows.tolist()], BLOCK_COUNT)
    assert len(map_tasks(counts, batch, values).tasks) <= bounds.most_tasks(total)
    assert workspace_places(rows, batch, values)[1] <= bounds.most_workspace(total)
