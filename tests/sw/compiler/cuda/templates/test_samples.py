"""Templates whose blocks, warps or threads have samples of their own, against the golden model."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.workloads.embedding.model import Batch, Feature
from tests.support.cuda.embedding_kernels import (
    DIMS,
    PARTS,
    Bench,
    Case,
    case,
    check_cases,
    check_negative_maxima,
    covering_cases,
    each_part,
    every_case,
    program_of,
)
from tests.support.cuda.kernel_turns import by_turns

NAMES = ("one_hot", "warp_per_sample", "sub_warp_per_sample", "block_samples")

ONE_OF_EACH = (
    case("one_hot", vector=4, samples_per_thread=2),
    case("warp_per_sample", vector=4, rows=1, unroll=4),
    case("warp_per_sample", vector=2, rows=2, unroll=4, samples_per_warp=4),
    case("sub_warp_per_sample", vector=4, threads=16, unroll=2),
    case("sub_warp_per_sample", vector=4, threads=8, unroll=2, samples_in_turn=4),
    case("block_samples", vector=4, samples=2, unroll=2, stage=0),
    case("block_samples", vector=4, samples=2, unroll=2, stage=1),
    case("block_samples", vector=4, samples=2, unroll=2, stage=2),
)


@each_part
@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_the_golden_models(name: str, part: int) -> None:
    check_cases(covering_cases(name, 128, triples=False)[part::PARTS])


def few_cases(block_threads: int) -> list[Case]:
    return [
        one for name in NAMES for one in covering_cases(name, block_threads, triples=False)[::36]
    ]


@pytest.mark.parametrize("block_threads", [32, 1024])
def test_any_number_of_threads(block_threads: int) -> None:
    check_cases(few_cases(block_threads), block_threads)


def test_any_numbers_are_within_the_bound() -> None:
    check_cases(few_cases(128), exact=False)


def test_maxima_of_negative_numbers() -> None:
    check_negative_maxima(few_cases(128))


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", NAMES)
def test_every_schedule_of_every_kind(name: str, dim: int) -> None:
    cases = by_turns(one for one in every_case(name, 128) if one.feature.dim == dim)
    for first in range(0, len(cases), 100):
        check_cases(cases[first : first + 100])


@pytest.mark.parametrize(
    "number", range(len(ONE_OF_EACH)), ids=lambda number: str(ONE_OF_EACH[number].schedule)
)
@pytest.mark.parametrize("index", [-1, 20])
def test_an_index_out_of_range_is_named_wherever_it_is(number: int, index: int) -> None:
    bench = Bench(program_of(ONE_OF_EACH))
    features = bench.program.model.features
    inputs = [bench.inputs(feature, [0, 3, 50, 1]) for feature in features]
    inputs[number].indices[37] = index
    with pytest.raises(WorkloadError) as caught:
        bench.check(Batch(4, inputs))
    name = features[number].name
    assert str(caught.value) == f"indices of {name}[37] = {index}: must be from 0 to 19"


def test_indices_are_not_read_beyond_the_last_bag() -> None:
    """The emulation refuses accesses outside arrays; indices' have no room to spare."""
    bench = Bench(program_of(ONE_OF_EACH))
    for lengths in ([1], [0, 31], [33, 0, 0], [128, 1]):
        inputs = [bench.inputs(feature, lengths) for feature in bench.program.model.features]
        bench.check(Batch(len(lengths), inputs))


def test_features_whose_indices_begin_at_any_alignment() -> None:
    """For vector and asynchronous copies."""
    bench = Bench(program_of(ONE_OF_EACH))
    inputs = [bench.inputs(feature, [7, 5, 129]) for feature in bench.program.model.features]
    bench.check(Batch(3, inputs))


REFUSALS = [
    (
        case("one_hot", Feature("f", 9, 6), vector=4, samples_per_thread=1),
        "vector = 4: must divide dim 6",
    ),
    (
        case("one_hot", Feature("f", 9, 1024), vector=4, samples_per_thread=1),
        "vector = 4: dim 1024 needs more than 128 threads",
    ),
    (
        case("warp_per_sample", Feature("f", 9, 64), vector=8, rows=1, unroll=1),
        "vector = 8: must be at most 16 bytes",
    ),
    (
        case("warp_per_sample", Feature("f", 9, 64), vector=4, rows=4, unroll=1),
        "rows = 4: a row needs 16 lanes, not 8",
    ),
    (
        case("sub_warp_per_sample", Feature("f", 9, 64), vector=4, threads=2, unroll=1),
        "threads = 2: dim must be at most 32 with vector = 4",
    ),
    (
        case("block_samples", Feature("f", 9, 4096), vector=1, samples=1, unroll=1, stage=0),
        "",
    ),
    (
        case("block_samples", Feature("f", 9, 4096), vector=1, samples=2, unroll=1, stage=0),
        "vector = 1: 128 threads cannot hold dim 4096 of 2 samples",
    ),
    (
        case("block_samples", Feature("f", 9, 1024), vector=4, samples=1, unroll=8, stage=0),
        "unroll = 8: must be at most 4 with dim 1024",
    ),
    (
        case("block_samples", Feature("f", 9, 4), vector=4, samples=1, unroll=2, stage=1),
        "unroll = 2: must be at most 1 with stage",
    ),
]


@pytest.mark.parametrize(("one", "reason"), REFUSALS, ids=lambda value: str(value)[:40])
def test_refusals_say_what_would_be_right(one: Case, reason: str) -> None:
    assert template(one.schedule.template).refusal(one.schedule, one.feature, 128) == reason


def test_samples_of_a_block_must_have_whole_warps() -> None:
    schedule = Schedule.of("block_samples", vector=4, samples=4, unroll=1, stage=0)
    reason = template("block_samples").refusal(schedule, Feature("f", 9, 32), 64)
    assert reason == "samples = 4: must be at most 2"


@pytest.mark.parametrize("table_type", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("dim", DIMS)
def test_warps_take_every_dimension(dim: int, table_type: str) -> None:
    feature = Feature("f", 9, dim, table_type=table_type)
    assert list(template("warp_per_sample").candidates(feature, 128))
