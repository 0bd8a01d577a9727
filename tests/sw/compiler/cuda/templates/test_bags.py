"""Templates whose workers are warps, in the emulation: bits of the golden model, and of each other
whatever a batch is cut into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gnarl.sw.compiler.cuda import task_plan
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.task_plan import TaskPlan, plan_tasks
from gnarl.sw.golden.embedding import embedding_bags
from gnarl.sw.runtime.cuda.emulation.embedding import EmulatedEmbedding
from gnarl.sw.workloads.embedding.model import Batch, Feature, FeatureInputs, PoolingFactors
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS
from tests.support.cuda.embedding_kernels import (
    LENGTHS,
    Bench,
    Case,
    check_negative_maxima,
    covering_cases,
    each_part,
    program_of,
)

NAMES = ("pooled_bags", "short_bags")
THREADS = 128
GRIDS = (1, 7, 132)
"""Multiprocessors, of a block each, that plans are made for."""
LONG = PoolingFactors(300, 100, 500)
"""Bags that are cut in small batches; those of 2003 indices are longer than is expected."""


def plans(bench: Bench, size: int) -> list[TaskPlan]:
    layout = bench.program.kernel.layout
    assert layout is not None
    return [plan_tasks(layout, size, blocks, THREADS) for blocks in GRIDS]


def outputs(bench: Bench, batch: Batch, plan: TaskPlan | None = None) -> dict[str, np.ndarray]:
    """Bytes by output type: [batch, width]."""
    run = bench.embedding.run(batch, plan)
    return {name: found.view(np.uint8) for name, found in run.outputs.items()}


def require_equal(
    found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], what: object = ""
) -> None:
    for name, buffer in wanted.items():
        np.testing.assert_array_equal(found[name], buffer, f"{what}")


# The golden model.


@each_part
@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_the_golden_models(name: str, part: int) -> None:
    bench = Bench(program_of(covering_cases(name, THREADS)[part::8]))
    names = list(LENGTHS)
    for turn in range(0, len(names), 2):
        bench.check(bench.batch(37, names[turn:] + names[:turn]))
    for size, pattern in ((1, "thousands"), (1, "none"), (0, "none"), (300, "few")):
        bench.check(bench.batch(size, [pattern]))


@pytest.mark.parametrize("name", NAMES)
def test_quantised_rows(name: str) -> None:
    cases = covering_cases(name, THREADS, triples=False, table_types=tuple(ROWWISE_FORMATS))
    bench = Bench(program_of(cases[::6]))
    bench.check(bench.batch(37, ["ragged", "few"]))
    bench.check(bench.batch(3, ["thousands"]))


def test_maxima_of_negative_numbers() -> None:
    check_negative_maxima([one for name in NAMES for one in covering_cases(name, THREADS)[::3]])


PRUNED = [
    Case(
        Feature(f"f{number}", 20, dim, pooling, weighted=weighted, factors=factors, pruned=True),
        schedule,
    )
    for number, (dim, pooling, weighted, factors, schedule) in enumerate(
        (
            (8, "sum", False, LONG, Schedule.of("pooled_bags", vector=4, rows=2)),
            (100, "mean", True, PoolingFactors(3), Schedule.of("pooled_bags", vector=4, rows=1)),
            (8, "mean", False, PoolingFactors(), Schedule.of("short_bags", vector=2)),
        )
    )
]


@pytest.mark.parametrize("size", [2, 40])
def test_pruned_rows_add_nothing(size: int) -> None:
    bench = Bench(program_of(PRUNED))
    given = bench.batch(size, ["ragged", "thousands", "few"])
    features = []
    for inputs in given.features:
        indices = inputs.indices.copy()
        indices[bench.rng.random(len(indices)) < 0.3] = -1
        features.append(FeatureInputs(indices, inputs.offsets, inputs.weights))
    batch, program = Batch(size, features), bench.program
    found = program.split(bench.embedding.run(batch).outputs)
    golden = embedding_bags(program.model, bench.tables, batch)
    for one, other in zip(found.values(), golden, strict=True):
        np.testing.assert_array_equal(one, other)


# Bits.


def any_cases() -> list[Case]:
    """Rows of any dimension, bags alone and beside others, in slices and not."""
    return [
        Case(Feature("f", 40, dim, pooling, table, output, factors=LONG), schedule)
        for dim, pooling, table, output, schedule in (
            (1, "sum", "float32", "float32", Schedule.of("pooled_bags", vector=1, rows=32)),
            (3, "mean", "float32", "float16", Schedule.of("pooled_bags", vector=1, rows=2)),
            (20, "sum", "float16", "float32", Schedule.of("pooled_bags", vector=4, rows=4)),
            (20, "sum", "float32", "float32", Schedule.of("pooled_bags", vector=2, rows=1)),
            (100, "sum", "int8_rowwise", "float32", Schedule.of("pooled_bags", vector=4, rows=1)),
            (64, "max", "float32", "float32", Schedule.of("pooled_bags", vector=4, rows=2)),
            (1024, "mean", "float16", "float32", Schedule.of("pooled_bags", vector=8, rows=1)),
            (20, "sum", "float32", "float32", Schedule.of("short_bags", vector=4)),
            (160, "mean", "bfloat16", "bfloat16", Schedule.of("short_bags", vector=2)),
        )
    ]


@pytest.fixture(scope="module")
def bench() -> Bench:
    """Tables of any numbers: another order of additions would show."""
    return Bench(program_of(any_cases()), exact=False)


@pytest.mark.parametrize(("size", "patterns"), [(1, ["thousands"]), (19, ["ragged", "thousands"])])
def test_bits_are_the_same_whatever_a_batch_is_cut_into(
    bench: Bench, size: int, patterns: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = bench.batch(size, patterns)
    wanted = outputs(bench, batch)
    bench.check(batch)
    seen = {}
    for least, most, of_warp in ((2048, 16_384, 4), (64, 256, 64), (1 << 22, 1 << 24, 1)):
        monkeypatch.setattr(task_plan, "LEAST_TASK_BYTES", least)
        monkeypatch.setattr(task_plan, "MOST_TASK_BYTES", most)
        monkeypatch.setattr(task_plan, "_TASKS_OF_WARP", of_warp)
        for blocks, plan in zip(GRIDS, plans(bench, size), strict=True):
            seen[plan.tasks, plan.counters] = (least, blocks), plan
    for what, plan in seen.values():
        require_equal(outputs(bench, batch, plan), wanted, what)
    counters = {counters for _, counters in seen}
    assert 0 in counters  # whole bags
    assert len(counters) > 1


@pytest.mark.parametrize("blocks", [1, 5])
def test_bits_are_the_same_for_any_grid(bench: Bench, blocks: int) -> None:
    batch = bench.batch(3, ["thousands", "ragged"])
    other = EmulatedEmbedding(bench.program, bench.tables, grid=(blocks, 1))
    for plan in plans(bench, 3):
        found = {name: each.view(np.uint8) for name, each in other.run(batch, plan).outputs.items()}
        require_equal(found, outputs(bench, batch), blocks)


def test_bits_do_not_depend_on_the_bags_beside(bench: Bench) -> None:
    batch = bench.batch(40, ["ragged", "few", "thousands"])
    wanted = outputs(bench, batch)
    order = np.random.default_rng(0).permutation(batch.size)
    require_equal(
        outputs(bench, reordered(batch, order)),
        {name: buffer[order] for name, buffer in wanted.items()},
    )
    few = order[:33]  # as many as lie side by side: rows of smaller batches are spread otherwise
    require_equal(
        outputs(bench, reordered(batch, few)),
        {name: buffer[few] for name, buffer in wanted.items()},
    )


def reordered(batch: Batch, order: np.ndarray) -> Batch:
    """The batch of these samples."""
    features = []
    for inputs in batch.features:
        bags = [np.arange(*inputs.offsets[sample : sample + 2]) for sample in order]
        places = np.concatenate(bags)
        offsets = np.cumsum([0, *map(len, bags)]).astype(inputs.offsets.dtype)
        weights = None if inputs.weights is None else inputs.weights[places]
        features.append(FeatureInputs(inputs.indices[places], offsets, weights))
    return Batch(len(order), features)


# Lengths and dimensions.


def test_bags_of_no_index_of_one_and_of_very_many() -> None:
    """Also of features whose bags are expected to be short."""
    cases = [
        Case(Feature("f", 20, dim, weighted=weighted, factors=factors), schedule)
        for dim, weighted, factors, schedule in (
            (1, True, PoolingFactors(), Schedule.of("pooled_bags", vector=1, rows=4)),
            (20, False, LONG, Schedule.of("pooled_bags", vector=4, rows=1)),
            (
                3,
                False,
                PoolingFactors(60_000, 1, 60_000),
                Schedule.of("pooled_bags", vector=1, rows=8),
            ),
            (4, False, PoolingFactors(), Schedule.of("short_bags", vector=4)),
        )
    ]
    bench = Bench(program_of(cases), exact=False)
    batch = Batch(4, [bench.inputs(each.feature, [0, 60_000, 1, 60_000]) for each in cases])
    wanted = outputs(bench, batch)
    bench.check(batch)
    for plan in plans(bench, 4):
        require_equal(outputs(bench, batch, plan), wanted)


def test_rows_of_many_elements() -> None:
    cases = [
        Case(Feature("f", 5, 4096, pooling, factors=factors), schedule)
        for pooling, factors, schedule in (
            ("sum", PoolingFactors(), Schedule.of("short_bags", vector=4)),
            ("mean", LONG, Schedule.of("pooled_bags", vector=4, rows=1)),
            ("max", PoolingFactors(3), Schedule.of("pooled_bags", vector=1, rows=1)),
        )
    ]
    bench = Bench(program_of(cases))
    bench.check(bench.batch(3, ["few", "one"]))
    bench.check(Batch(1, [bench.inputs(each.feature, [65]) for each in cases]))
