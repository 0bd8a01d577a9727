"""Several blocks for each sample, against the golden model."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.workloads.embedding.model import Batch, Feature
from tests.support.cuda.embedding_kernels import (
    DIMS,
    PARTS,
    Bench,
    case,
    check_cases,
    check_negative_maxima,
    covering_cases,
    each_part,
    every_case,
    program_of,
)
from tests.support.cuda.kernel_turns import by_turns
from tests.support.cuda.mappings import shuffled
from tests.support.cuda.one_workspace import OneWorkspace

FEW = (
    case("split_sample", vector=4, parts=4, unroll=2),
    case("split_sample", Feature("f", 20, 32, "mean", weighted=True), vector=4, parts=3, unroll=2),
    case("split_sample", Feature("f", 20, 3, "max", "float16"), vector=1, parts=8, unroll=2),
    case("split_sample", Feature("f", 20, 100, "mean", "bfloat16"), vector=4, parts=4, unroll=4),
    case("split_sample", Feature("f", 20, 256, index_type="int32"), vector=4, parts=2, unroll=4),
)
LEAST_SHARE = 128 // 8 * 2
"""Rows that a block of 128 threads has in flight at once with dim 32, vector 4 and unroll 2."""


@each_part
def test_outputs_are_the_golden_models(part: int) -> None:
    check_cases(covering_cases("split_sample", 64, triples=False)[part::PARTS], 64)


@pytest.mark.parametrize("block_threads", [32, 1024])
def test_any_number_of_threads(block_threads: int) -> None:
    bench = Bench(program_of(FEW, block_threads))
    for names in (("thousands", "ragged"), ("few", "thousands")):
        batch = bench.batch(61, names)
        bench.check(batch, bench.mapping(batch, 0.2))


def test_any_numbers_are_within_the_bound() -> None:
    check_cases(FEW, exact=False)


def test_maxima_of_negative_numbers() -> None:
    check_negative_maxima(FEW)


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
def test_every_schedule_of_every_kind(dim: int) -> None:
    cases = by_turns(one for one in every_case("split_sample", 128) if one.feature.dim == dim)
    for first in range(0, len(cases), 100):
        check_cases(cases[first : first + 100])


def test_bags_about_as_long_as_some_shares() -> None:
    bench = Bench(program_of(FEW))
    lengths = [LEAST_SHARE * shares + more for shares in (1, 2, 3, 4, 8) for more in (-1, 0, 1)]
    for batch in (lengths, lengths[::-1], lengths[:1]):
        inputs = [bench.inputs(one.feature, batch) for one in FEW]
        for factor in (1, 0.3, 0, 2):
            mapping = bench.mapping(Batch(len(batch), inputs), factor)
            bench.check(Batch(len(batch), inputs), mapping)


def test_only_bags_that_keep_two_blocks_busy_use_the_workspace() -> None:
    """Short ones take no atomic operations; each of the others takes one for each of its blocks."""
    bench = Bench(program_of(FEW[:1]))
    takes_none = None  # but those of the queues of tasks
    for length, arrivals in ((0, 0), (2 * LEAST_SHARE - 1, 0), (2 * LEAST_SHARE, 2), (5000, 4)):
        inputs = bench.inputs(FEW[0].feature, [length] * 3)
        atomics = bench.embedding.run(Batch(3, [inputs])).statistics.atomics
        takes_none = atomics if takes_none is None else takes_none
        assert atomics - takes_none == 3 * arrivals


def test_results_depend_on_neither_number_nor_order_of_blocks() -> None:
    bench = Bench(program_of(FEW), exact=False)
    inputs = [bench.inputs(one.feature, [2003, 0, 70, 1, 500]) for one in FEW]
    batch = Batch(5, inputs)
    want = bench.embedding.run(batch).outputs
    for seed in range(6):
        mapping = shuffled(bench.mapping(batch, (1, 0.4, 0)[seed % 3]), seed)
        got = bench.embedding.run(batch, mapping).outputs
        for name, buffer in want.items():
            assert got[name].tobytes() == buffer.tobytes()


def test_launches_leave_the_workspace_as_zeroes(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(program_of(FEW))
    workspace = OneWorkspace(monkeypatch)
    for lengths in ([2003, 100, 0], [700], [64] * 9, [2003, 100, 0]):
        inputs = [bench.inputs(one.feature, lengths) for one in FEW]
        bench.check(Batch(len(lengths), inputs))
        workspace.next_launch()


def test_refusals_say_what_would_be_right() -> None:
    for one, reason in (
        (case("split_sample", vector=8, parts=2, unroll=2), "vector = 8: must be at most 16 bytes"),
        (
            case("split_sample", Feature("f", 9, 6), vector=4, parts=2, unroll=2),
            "vector = 4: must divide dim 6",
        ),
    ):
        assert template("split_sample").refusal(one.schedule, one.feature, 128) == reason


def test_it_wants_as_many_blocks_as_parts_for_each_sample() -> None:
    count = template("split_sample").block_count(FEW[0].schedule, FEW[0].feature, 128)
    assert np.array_equal(count.blocks(np.array([0, 1, 100]), 5000), [1, 4, 400])


def test_work_of_an_average_block() -> None:
    """Halves of a bag are half the work and half the wait, but for what splitting costs."""
    one = case("split_sample", vector=4, parts=2, unroll=2)
    work = template("split_sample").work
    whole = work(one.schedule, one.feature, 128, 1, 2 * LEAST_SHARE - 1, 2 * LEAST_SHARE - 1)
    halves = work(one.schedule, one.feature, 128, 1, 2 * LEAST_SHARE, 2 * LEAST_SHARE)
    assert (whole.warp_loads, whole.barriers) == (2, 1)
    assert (halves.warp_loads, halves.barriers) == (1 + 1, 4)
    # 64 rows of 128 bytes with 8-byte indices, half of them for each of two blocks.
    rows = LEAST_SHARE * (4 + 1 / 4)
    assert rows < halves.sectors < rows + 20
    assert work(one.schedule, one.feature, 128, 0, 0, 0).warp_loads == 0
