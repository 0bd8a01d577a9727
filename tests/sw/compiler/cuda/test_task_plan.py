"""Plans of what warps do: each part of a batch is in one task, and each task is drawn once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.cuda import task_plan
from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.layouts import TASK_CLASS, TASK_PLAN_HEAD
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.task_plan import (
    MAXIMUM_COUNTERS,
    PARAMETER_BYTES,
    TaskLayout,
    TaskPlan,
    plan_tasks,
    task_features,
)
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.workloads.embedding.model import (
    POOLINGS,
    TABLE_TYPES,
    EmbeddingModel,
    Feature,
    PoolingFactors,
)
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS

SIZES = (0, 1, 2, 34, 513)
GRIDS = ((1, 1), (7, 1), (132, 5))
"""Multiprocessors, and blocks of each."""
THREADS = 128
WARPS = THREADS // WARP_THREADS


def planned(model: EmbeddingModel, schedules: list[Schedule] | None = None) -> TaskLayout:
    """The cost model's schedules, unless others are given."""
    if schedules is None:
        chosen = choose_schedules(model, CudaConfig(arch="sm_90"))
    else:
        chosen = ScheduleSet.of(
            schedules,
            model=model.digest,
            arch="sm_90",
            block_threads=THREADS,
            blocks_per_sm=1,
            origin="a test",
        )
    layout = build_program(model, chosen).kernel.layout
    assert layout is not None
    return layout


def random_model(seed: int) -> tuple[EmbeddingModel, list[Schedule]]:
    """Features of all dimensions and lengths, each with some schedule that takes it."""
    rng = np.random.default_rng(seed)
    features, schedules = [], []
    for number in range(int(rng.integers(1, 12))):
        dim = int(rng.choice([1, 3, 20, 64, 100, 256, 1024, 4096]))
        longest = int(rng.choice([1, 3, 40, 900, 60_000] if dim < 64 else [1, 3, 40, 900]))
        mean = int(rng.integers(1, longest + 1))
        factors = PoolingFactors(mean, mean / 4, max(longest, mean), rng.choice([0.1, 1.0]))
        features.append(Feature(f"f{number}", 50, dim, factors=factors))
        candidates = [
            schedule
            for name in ("pooled_bags", "short_bags")
            for schedule in template(name).candidates(features[-1], THREADS)
        ]
        schedules.append(candidates[int(rng.integers(len(candidates)))])
    return EmbeddingModel("random", tuple(features)), schedules


def parts(layout: TaskLayout, plan: TaskPlan, batch: int) -> np.ndarray:
    """int64 [parts, 4]: feature, sample, slice and piece of all that tasks do, by the arithmetic of
    the kernel."""
    numbers = np.arange(plan.tasks)
    own = plan.classes[np.searchsorted(plan.classes["begin"], numbers, "right") - 1]
    in_class = numbers - own["begin"]
    of_feature = own["of_feature"].astype(np.int64)
    place = in_class * own["reciprocal"].astype(np.int64) >> 32
    in_feature = in_class - place * of_feature
    over = in_feature >= of_feature
    in_feature, place = in_feature - over * of_feature, place + over
    assert (in_feature < of_feature).all()
    feature = np.array(layout.order)[own["first"] + place]
    assert np.array_equal(task_features(layout, plan)["feature"], feature)
    assert np.array_equal(task_features(layout, plan)["block"], in_feature)
    pieces, slices = own["pieces"].astype(int), own["slices"].astype(int)
    first = (in_feature >> (pieces + slices)) * own["samples"]
    samples = np.minimum(own["samples"], batch - first)
    assert (samples > 0).all()
    found = [
        feature,
        first,
        in_feature >> pieces & (1 << slices) - 1,
        in_feature & (1 << pieces) - 1,
    ]
    repeated = np.repeat(np.stack(found, axis=1), samples, axis=0)
    within = np.arange(len(repeated)) - np.repeat(np.cumsum(samples) - samples, samples)
    repeated[:, 1] += within
    return repeated


@pytest.mark.parametrize("seed", range(6))
def test_each_part_of_a_batch_is_in_one_task(seed: int) -> None:
    model, schedules = random_model(seed)
    layout = planned(model, schedules)
    assert sorted(layout.order) == list(range(len(model.features)))
    for batch, (multiprocessors, blocks) in product(SIZES, GRIDS):
        plan = plan_tasks(layout, batch, multiprocessors * blocks, THREADS)
        found = parts(layout, plan, batch)
        wanted = 0
        for each in plan.classes:
            own = next(one for one in layout.classes if one.first == each["first"])
            members = np.isin(found[:, 0], np.array(layout.order)[own.first :][: own.count])
            split = 1 << int(each["slices"]) + int(each["pieces"])
            assert members.sum() == own.count * batch * split
            wanted += own.count * batch * split
            for number in layout.order[own.first : own.first + own.count]:
                lanes = WARP_THREADS * schedules[number]["vector"]
                assert model.features[number].dim <= lanes << int(each["slices"])
        keys = found @ np.array([1 << 44, 1 << 30, 1 << 20, 1])
        assert len(np.unique(keys)) == len(found) == wanted


@pytest.mark.parametrize("seed", range(6))
def test_counters_and_partials_of_classes_lie_side_by_side(seed: int) -> None:
    layout = planned(*random_model(seed))
    for batch, (multiprocessors, blocks) in product(SIZES, GRIDS):
        plan = plan_tasks(layout, batch, multiprocessors * blocks, THREADS)
        counters = workspace = 0
        for each, end in zip(plan.classes, [*plan.classes["begin"][1:], plan.tasks], strict=True):
            if not each["pieces"]:
                continue
            own = next(one for one in layout.classes if one.first == each["first"])
            cut = (int(end) - int(each["begin"])) >> int(each["pieces"])
            assert (each["counters"], each["partials"]) == (counters, workspace // 128)
            counters += cut
            workspace += (cut << int(each["rounds"])) * own.round_partial
        assert (plan.counters, plan.workspace) == (counters, workspace)
        assert counters <= MAXIMUM_COUNTERS


def drawn(plan: TaskPlan, blocks: int, rng: np.random.Generator) -> tuple[list[int], int]:
    """The tasks that a grid's warps do, in any order of their draws, and the counter at the end."""
    warps = blocks * WARPS
    head = plan.parameter(warps)[: TASK_PLAN_HEAD.itemsize].view(TASK_PLAN_HEAD)[0]
    tasks, dealt, run, wrap = (int(head[name]) for name in ("tasks", "dealt", "run", "wrap"))
    taken, state = [0] * blocks, [0]
    done: list[int] = []

    def draw(block: int, is_dealt: bool) -> int:
        if is_dealt:
            taken[block] += 1
            return taken[block] - 1
        before = state[0]
        state[0] = 0 if before >= wrap else before + 1
        return before

    def warp(block: int) -> Iterator[None]:
        is_dealt, number = True, draw(block, True)
        while True:
            yield
            following = -1
            if is_dealt:
                in_turn = ((number >> run) * blocks + block << run) + (number & (1 << run) - 1)
                if in_turn < dealt:
                    following = in_turn
                else:
                    is_dealt, number = False, draw(block, False)
            if not is_dealt:
                following = dealt + number if dealt + number < tasks else -1
            if following < 0:
                return
            done.append(following)
            number = draw(block, is_dealt)

    running = [warp(number // WARPS) for number in range(warps)]
    while running:
        at = int(rng.integers(len(running)))
        if next(running[at], True):  # what a generator yields is None
            running[at] = running[-1]
            running.pop()
    return done, state[0]


@pytest.mark.parametrize(("multiprocessors", "blocks"), GRIDS)
@pytest.mark.parametrize("batch", SIZES)
def test_each_task_is_drawn_once_on_any_grid(batch: int, multiprocessors: int, blocks: int) -> None:
    """Also on a grid that the plan was not made for."""
    rng = np.random.default_rng(batch)
    layout = planned(*random_model(batch))
    plan = plan_tasks(layout, batch, multiprocessors * blocks, THREADS)
    assert 0 <= plan.dealt <= plan.tasks
    assert plan.dealt % (multiprocessors * blocks << plan.run) == 0
    for grid in {1, 6, multiprocessors * blocks}:
        done, state = drawn(plan, grid, rng)
        assert sorted(done) == list(range(plan.tasks))
        assert state == 0


def test_features_of_many_sizes_share_the_classes_that_there_is_room_for() -> None:
    features = [
        Feature(f"{rows} {longest}", 50, 4, factors=PoolingFactors(rows, rows / 2, rows * longest))
        for rows in (2**power for power in range(10))
        for longest in (16 * 2**power for power in range(7))
    ]
    model = EmbeddingModel("sizes", tuple(features))
    layout = planned(model, [Schedule.of("pooled_bags", vector=4, rows=1)] * len(features))
    assert 1 < len(layout.classes) <= 120
    assert sum(each.count for each in layout.classes) == len(features)
    assert sorted(layout.order) == list(range(len(features)))
    few = planned(
        EmbeddingModel("few", tuple(features[:20])),
        [Schedule.of("pooled_bags", vector=4, rows=1)] * 20,
    )
    assert 5 < len(few.classes) <= 20  # sizes are apart where there is room


def test_more_codes_than_a_kernel_s_parameters_have_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features = [
        Feature("f", 50, 8, *kind, weighted=weighted, pruned=pruned)
        for *kind, weighted, pruned in product(
            POOLINGS, [*TABLE_TYPES, *ROWWISE_FORMATS], TABLE_TYPES, (False, True), (False, True)
        )
        if kind[0] != "max" or not (weighted or pruned)
    ]
    schedules = [
        Schedule.of(name, vector=vector, **rows)
        for vector in (1, 2, 4)
        for name, rows in (("pooled_bags", {"rows": 1}), ("short_bags", {}))
        for _ in features
    ]
    named = tuple(
        replace(features[number % len(features)], name=f"f{number}")
        for number in range(len(schedules))
    )
    model = EmbeddingModel("codes", named)
    layout = planned(model, schedules)
    codes = len(layout.classes)
    assert codes > 120
    plan = plan_tasks(layout, 3, 132, THREADS)
    assert PARAMETER_BYTES < plan.parameter(4).nbytes < 32_764
    monkeypatch.setattr(task_plan, "_MOST_CLASSES", codes - 1)
    text = rf"^model codes: {codes} codes: must be at most {codes - 1}$"
    with pytest.raises(CapacityError, match=text):
        planned(model, schedules)


def test_ten_thousand_features_of_an_index_each_are_a_class() -> None:
    features = tuple(Feature(f"f{number}", 100, 8) for number in range(10_000))
    layout = planned(EmbeddingModel("many", features))
    assert [each.count for each in layout.classes] == [10_000]
    for batch in (1, 512):
        plan = plan_tasks(layout, batch, 132 * 6, THREADS)
        assert plan.tasks % 10_000 == 0
        assert plan.parameter(4).nbytes == TASK_PLAN_HEAD.itemsize + TASK_CLASS.itemsize


def test_a_plan_fits_in_a_kernel_s_parameters() -> None:
    """4 KB everywhere, of which the others take eleven addresses and a number."""
    assert PARAMETER_BYTES + 11 * 8 + 4 <= 4096


def test_more_tasks_than_can_be_numbered() -> None:
    (one,) = planned(
        EmbeddingModel("m", (Feature("f", 9, 4096, factors=PoolingFactors(9)),))
    ).classes
    layout = TaskLayout((0,) * 10_000, (replace(one, count=10_000),))
    with pytest.raises(CapacityError, match=r"^tasks of a batch of 1,048,576 samples: must be"):
        plan_tasks(layout, 1 << 20, 132, THREADS)


def test_bags_are_cut_where_one_is_much_of_what_a_warp_has() -> None:
    long = Feature("f", 50, 64, factors=PoolingFactors(4000, 1000, 8000))
    layout = planned(EmbeddingModel("m", (long,)), [Schedule.of("pooled_bags", vector=4, rows=2)])
    pieces = [
        int(plan_tasks(layout, batch, 132, THREADS).classes["pieces"][0])
        for batch in (1, 64, 512, 100_000)
    ]
    assert pieces == sorted(pieces, reverse=True)
    assert (pieces[0] > 3, pieces[-1]) == (True, 0)


@pytest.mark.parametrize(
    ("limit", "most"), [("MAXIMUM_COUNTERS", 8), ("MAXIMUM_WORKSPACE", 8 * 512 * 512)]
)
def test_no_more_bags_are_cut_than_there_is_room_for(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """512 rounds of a bag, of 512 bytes each."""
    long = Feature("f", 50, 64, factors=PoolingFactors(4000, 1000, 8000))
    layout = planned(EmbeddingModel("m", (long,)), [Schedule.of("pooled_bags", vector=4, rows=2)])
    monkeypatch.setattr(task_plan, limit, most)
    assert plan_tasks(layout, 8, 132, THREADS).counters == 8
    monkeypatch.setattr(task_plan, limit, most - 1)
    plan = plan_tasks(layout, 8, 132, THREADS)
    assert (plan.counters, plan.workspace, plan.tasks) == (0, 0, 8)


def test_the_largest_tasks_come_first() -> None:
    features = [
        Feature("one", 50, 8),
        Feature("many", 50, 64, factors=PoolingFactors(60)),
        Feature("few", 50, 64, factors=PoolingFactors(3)),
    ]
    schedules = [Schedule.of("pooled_bags", vector=4, rows=1)] * 3
    layout = planned(EmbeddingModel("m", tuple(features)), schedules)
    plan = plan_tasks(layout, 513, 132, THREADS)
    assert layout.order[plan.classes["first"][0]] == 1
