"""The table in shared memory, against the golden model."""

from __future__ import annotations

from itertools import product

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

NAME = "table_in_shared"

FEW = (
    case(NAME, Feature("f", 1024, 4), capacity=16, vector=4, threads=4, samples=32),
    case(NAME, Feature("f", 7, 3, "max"), capacity=4, vector=1, threads=4, samples=64),
    case(
        NAME,
        Feature("f", 100, 16, "mean", "bfloat16", weighted=True),
        capacity=4,
        vector=8,
        threads=8,
        samples=64,
    ),
    case(
        NAME,
        Feature("f", 30, 256, "sum", "float16", index_type="int32"),
        capacity=16,
        vector=2,
        threads=32,
        samples=32,
    ),
)


@each_part
def test_outputs_are_the_golden_models(part: int) -> None:
    check_cases(covering_cases(NAME, 64, triples=False)[part::PARTS], 64)


@pytest.mark.parametrize("block_threads", [32, 1024])
def test_any_number_of_threads(block_threads: int) -> None:
    cases = [
        case(NAME, one.feature, **dict(one.schedule.parameters) | {"samples": 256}) for one in FEW
    ]
    bench = Bench(program_of(cases, block_threads))
    for names in (("thousands", "ragged"), ("few", "one"), ("rare",)):
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


def test_tables_of_every_size() -> None:
    """Whole copies of 16 bytes, what is left of less, and both; up to the last byte there is."""
    cases = []
    for dim, table_type in product((1, 3, 4, 7), ("float32", "float16")):
        full = 4096 // (dim * np.dtype(table_type).itemsize)
        for rows in (*range(1, 10), full - 1, full):
            feature = Feature("f", rows, dim, table_type=table_type)
            cases.append(case(NAME, feature, capacity=4, vector=1, threads=8, samples=32))
    bench = Bench(program_of(cases))
    bench.check(bench.batch(70, ["ragged"]))


def test_features_of_other_sizes_share_code() -> None:
    cases = [
        case(NAME, Feature("f", rows, 8), capacity=8, vector=4, threads=4, samples=32)
        for rows in (129, 200, 256)
    ]
    assert program_of(cases).kernel.code_of_feature == (0, 0, 0)


def test_a_block_copies_the_table_once_whatever_it_takes_on() -> None:
    one = FEW[0]
    bench = Bench(program_of([one]))
    batch = bench.batch(2560, ["none"])
    loads = [
        bench.embedding.run(batch, bench.mapping(batch, factor)).statistics.global_load_bytes
        for factor in (0, 1)
    ]
    # 80 blocks copy 16 KiB each, one block once; offsets and arguments are the lesser part.
    assert loads[1] - loads[0] >= 79 * 16 * 1024
    assert loads[0] < 2 * 16 * 1024 + 2560 * 2 * 8 * 4


def test_blocks_in_any_number_and_order() -> None:
    bench = Bench(program_of(FEW))
    batch = bench.batch(300, ["ragged", "few"])
    for seed, factor in enumerate((1, 0.5, 0, 4)):
        bench.check(batch, shuffled(bench.mapping(batch, factor), seed))


@pytest.mark.parametrize("index", [-1, 1024])
def test_an_index_out_of_range_is_named(index: int) -> None:
    bench = Bench(program_of(FEW[:1]))
    inputs = bench.inputs(FEW[0].feature, [0, 3, 50, 1])
    inputs.indices[37] = index
    with pytest.raises(WorkloadError) as caught:
        bench.check(Batch(4, [inputs]))
    assert str(caught.value) == (
        f"indices of 0 table_in_shared[37] = {index}: must be from 0 to 1023"
    )


REFUSALS = [
    (
        case(NAME, Feature("f", 1024, 4), capacity=8, vector=4, threads=4, samples=64),
        "capacity = 8: must be 16, the least for the table",
    ),
    (
        case(NAME, Feature("f", 1024, 4), capacity=32, vector=4, threads=4, samples=64),
        "capacity = 32: must be 16, the least for the table",
    ),
    (
        case(NAME, Feature("f", 14_337, 4), capacity=224, vector=4, threads=4, samples=64),
        "rows = 14,337: the table must have at most 224 KiB",
    ),
    (case(NAME, Feature("f", 14_336, 4), capacity=224, vector=4, threads=4, samples=64), ""),
    (
        case(NAME, Feature("f", 10, 100), capacity=4, vector=4, threads=16, samples=64),
        "threads = 16: must be at least 32, the lanes of a row",
    ),
    (
        case(NAME, Feature("f", 10, 6), capacity=4, vector=4, threads=16, samples=64),
        "vector = 4: must divide dim 6",
    ),
]


@pytest.mark.parametrize(("one", "reason"), REFUSALS, ids=lambda value: str(value)[:40])
def test_refusals_say_what_would_be_right(one, reason: str) -> None:  # type: ignore[no-untyped-def]
    assert template(NAME).refusal(one.schedule, one.feature, 128) == reason


def test_samples_must_keep_a_large_block_busy() -> None:
    one = case(NAME, Feature("f", 10, 4), capacity=4, vector=4, threads=4, samples=128)
    reason = template(NAME).refusal(one.schedule, one.feature, 1024)
    assert reason == ("samples = 128: must be at least 256, those of one round of 4 threads each")


def test_work_of_an_average_block() -> None:
    """More samples a block copy the table less often; rows themselves move nothing."""
    feature = Feature("f", 1024, 4)
    work = template(NAME).work
    few, many = (
        work(
            case(NAME, feature, capacity=16, vector=4, threads=4, samples=samples).schedule,
            feature,
            128,
            256,
            256 * 50,
            50,
        )
        for samples in (64, 128)
    )
    table, indices = 16 * 1024 / 32, 50 * 4 / 32
    assert few.sectors - table == pytest.approx(64 * (indices + 1 + 4 / 32))
    assert many.sectors - table == pytest.approx(2 * (few.sectors - table))
    # Each group has 4 rows of 4 in flight: 4 rounds a sample, of which it takes 2 or 4 in turn.
    assert (few.warp_loads, many.warp_loads) == (1 + 2 * 4, 1 + 4 * 4)
    empty = work(
        case(NAME, feature, capacity=16, vector=4, threads=4, samples=64).schedule,
        feature,
        *(128, 0, 0, 0),
    )
    assert np.isfinite(empty.instructions)
