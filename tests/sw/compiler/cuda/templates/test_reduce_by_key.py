"""Equal shares of the indices for all threads, against the golden model."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
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

NAME = "reduce_by_key"
TILE = 128
RUN = TILE // (128 // 8)
"""Indices of a tile, and of each group's run of it with dim 32 and vector 4."""

FEW = (
    case(NAME, vector=4, values_per_block=TILE, unroll=2),
    case(
        NAME,
        Feature("f", 20, 32, "mean", weighted=True),
        vector=1,
        values_per_block=TILE,
        unroll=8,
    ),
    case(NAME, Feature("f", 20, 3, "max", "float16"), vector=1, values_per_block=TILE, unroll=4),
    case(
        NAME,
        Feature("f", 20, 1, "mean", "bfloat16", index_type="int32"),
        vector=1,
        values_per_block=2 * TILE,
        unroll=2,
    ),
    case(NAME, Feature("f", 20, 256, weighted=True), vector=4, values_per_block=TILE, unroll=4),
)

LENGTHS = {
    "no bag": [],
    "one empty bag": [0],
    "only empty bags": [0] * 300,
    "an index in each bag": [1] * (2 * TILE + 3),
    "bags inside runs": [2, 3, 1, 2] * 20,
    "bags as long as runs": [RUN] * 20,
    "bags longer than runs": [RUN + 1] * 20,
    "bags longer than what a warp takes": [5 * RUN, 4 * RUN, 4 * RUN - 1, 9],
    "a bag ends with its tile": [TILE, 5],
    "a bag ends with its tile, one begins inside": [TILE - 28, 28, 3],
    "a bag crosses one end of a tile": [TILE - 1, 2, 90],
    "a bag is two tiles": [2 * TILE, 3],
    "a bag ends with the second tile": [3, 2 * TILE - 3],
    "a bag is the last of one tile, all of two and the first of one": [TILE - 1, 2 * TILE + 2, 9],
    "each tile is left by one bag and entered by the next": [TILE + 7] * 9,
    "a bag crosses more tiles than the block has groups": [7, 40 * TILE + 3, 5],
    "empty bags at ends of tiles": [0, 0, TILE, 0, 0, TILE, 0, 0],
    "empty bags inside": [3, 0, 0, 2, 0, 9, 0],
    "an empty bag where another crosses the end": [TILE - 1, 0, 2, 0, TILE - 1, 0],
    "thousands of empty bags": [0] * 1500 + [1] + [0] * 1500 + [TILE] + [0] * 1500,
    "long and short": [300, 1, 1, 300, 0, 2, 700, 1],
}


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(program_of(FEW))


def batch_of(bench: Bench, lengths: list[int]) -> Batch:
    return Batch(len(lengths), [bench.inputs(one.feature, lengths) for one in FEW])


@pytest.mark.parametrize("name", LENGTHS)
def test_bags_wherever_they_begin_and_end(bench: Bench, name: str) -> None:
    batch = batch_of(bench, LENGTHS[name])
    for factor in (1, 0, 0.4, 3):
        bench.check(batch, bench.mapping(batch, factor))


@pytest.mark.parametrize("seed", range(12))
def test_random_bags(bench: Bench, seed: int) -> None:
    rng = np.random.default_rng(seed)
    likely = (0, 0, 1, 2, RUN, TILE // 4, TILE, 3 * TILE)
    lengths = [int(rng.choice(likely) + rng.integers(-1, 2)) for _ in range(rng.integers(1, 60))]
    batch = batch_of(bench, [max(0, length) for length in lengths])
    bench.check(batch, shuffled(bench.mapping(batch, rng.choice([0.2, 1, 2])), seed))


@each_part
def test_outputs_are_the_golden_models(part: int) -> None:
    check_cases(covering_cases(NAME, 64, triples=False)[part::PARTS], 64)


@pytest.mark.parametrize(("block_threads", "tile"), [(32, 128), (1024, 2048)])
def test_any_number_of_threads(block_threads: int, tile: int) -> None:
    cases = [case(NAME, one.feature, vector=1, values_per_block=tile, unroll=2) for one in FEW[1:4]]
    bench = Bench(program_of(cases, block_threads))
    for names in (("thousands", "ragged"), ("few", "thousands"), ("rare",)):
        bench.check(bench.batch(200, names))


def test_any_numbers_are_within_the_bound() -> None:
    check_cases(FEW, exact=False)


def test_maxima_of_negative_numbers() -> None:
    check_negative_maxima(FEW)


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
def test_every_schedule_of_every_kind(dim: int) -> None:
    cases = by_turns(one for one in every_case(NAME, 128) if one.feature.dim == dim)
    for first in range(0, len(cases), 100):
        check_cases(cases[first : first + 100])


def test_results_depend_on_neither_number_nor_order_of_blocks() -> None:
    bench = Bench(program_of(FEW), exact=False)
    batch = batch_of(bench, [2003, 0, 70, 1, 500, 129])
    want = bench.embedding.run(batch).outputs
    for seed in range(6):
        mapping = shuffled(bench.mapping(batch, (1, 0.4, 0)[seed % 3]), seed)
        got = bench.embedding.run(batch, mapping).outputs
        for name, buffer in want.items():
            assert got[name].tobytes() == buffer.tobytes()


def test_launches_leave_the_workspace_as_zeroes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = OneWorkspace(monkeypatch)
    for lengths in ([2003, 100, 0], [700], [64] * 9, [2003, 100, 0]):
        bench.check(batch_of(bench, lengths))
        workspace.next_launch()


@pytest.mark.parametrize("index", [-1, 20])
def test_an_index_out_of_range_is_named(bench: Bench, index: int) -> None:
    batch = batch_of(bench, [0, 3, 500, 1])
    batch.features[0].indices[370] = index
    with pytest.raises(WorkloadError) as caught:
        bench.check(batch)
    assert str(caught.value) == (f"indices of 0 reduce_by_key[370] = {index}: must be from 0 to 19")


def test_refusals_say_what_would_be_right() -> None:
    few, small = Feature("f", 9, 4), Feature("f", 9, 6)
    for one, reason in (
        (
            case(NAME, few, vector=4, values_per_block=512, unroll=8),
            "values_per_block = 512: must be at least 1024, rows in flight at once",
        ),
        (case(NAME, few, vector=4, values_per_block=1024, unroll=8), ""),
        (
            case(NAME, small, vector=4, values_per_block=1024, unroll=2),
            "vector = 4: must divide dim 6",
        ),
    ):
        assert template(NAME).refusal(one.schedule, one.feature, 128) == reason


def test_it_wants_a_block_for_each_tile() -> None:
    count = template(NAME).block_count(FEW[0].schedule, FEW[0].feature, 128)
    assert np.array_equal(count.blocks(9, np.array([0, 1, TILE, TILE + 1])), [1, 1, 1, 2])


def test_work_does_not_depend_on_the_longest_bag() -> None:
    one = case(NAME, vector=4, values_per_block=512, unroll=4)
    work = template(NAME).work
    ragged = work(one.schedule, one.feature, 128, 100, 10_240, 4000)
    even = work(one.schedule, one.feature, 128, 100, 10_240, 103)
    assert ragged == even
    # Runs of 32 rows, 4 in flight; a search among offsets; partials of a bag that crosses tiles.
    assert ragged.warp_loads == 32 / 4 + 1 + 1
    rows = 512 * (4 + 1 / 4)
    assert rows < ragged.sectors < 1.3 * rows
    assert work(one.schedule, one.feature, 128, 0, 0, 0).warp_loads == 0
