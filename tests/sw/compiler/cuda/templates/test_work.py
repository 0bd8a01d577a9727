"""What templates of samples say that their blocks do, against what the emulation counts."""

from __future__ import annotations

import math
from dataclasses import astuple

import pytest

from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.compiler.cuda.templates.costs import mean_length
from gnarl.sw.compiler.cuda.templates.row_lanes import RowLanes
from gnarl.sw.compiler.cuda.templates.template import Work
from gnarl.sw.runtime.cuda.emulation.kernels import LaunchStatistics
from gnarl.sw.workloads.embedding.model import Batch, Feature
from tests.support.cuda.embedding_kernels import Bench, Case, case, covering_cases, program_of

THREADS = 128
LONG = Feature("f", 20, 1024)
SHORT = Feature("f", 20, 8, index_type="int32")


def work_of(one: Case, batch: int, length: float) -> Work:
    """The work of an average block, for bags of one length."""
    chosen = template(one.schedule.template)
    return chosen.work(one.schedule, one.feature, THREADS, batch, batch * length, length)


def blocks_of(one: Case, batch: int, length: int) -> int:
    """Blocks that the feature's work is cut into."""
    count = template(one.schedule.template).block_count(one.schedule, one.feature, THREADS)
    return int(count.blocks(batch, batch * length))


def launched(bench: Bench, batch: int, length: int) -> LaunchStatistics:
    inputs = bench.inputs(bench.program.model.features[0], [length] * batch)
    return bench.embedding.run(Batch(batch, [inputs])).statistics


@pytest.mark.parametrize(
    ("one", "length", "rounds"),
    [
        (case("one_hot", vector=4, samples_per_thread=2), 0, 0),
        (case("one_hot", vector=4, samples_per_thread=2), 1, 1),
        # Indices are loaded between rows.
        (case("one_hot", vector=4, samples_per_thread=2), 3, 5),
        (case("warp_per_sample", vector=4, rows=1, unroll=4), 50, 13),
        (case("warp_per_sample", vector=4, rows=4, unroll=4), 50, 4),
        # Eight vectors for each lane, of which two are in flight with those of three more rows.
        (case("warp_per_sample", LONG, vector=4, rows=1, unroll=4), 50, 4 * 13),
        # Four samples, one after the other.
        (case("warp_per_sample", vector=4, rows=4, unroll=4, samples_per_warp=4), 50, 4 * 4),
        (case("sub_warp_per_sample", SHORT, vector=4, threads=4, samples_in_turn=4), 50, 4 * 25),
        # Two rows side by side in four lanes.
        (case("sub_warp_per_sample", SHORT, vector=4, threads=4, unroll=4), 50, 7),
        # A warp of four: four rows side by side.
        (case("block_samples", vector=4, samples=4, unroll=2, stage=0), 50, 7),
        (case("block_samples", LONG, vector=4, samples=1, unroll=2, stage=1), 50, 25),
    ],
    ids=str,
)
def test_rounds_of_loads(one: Case, length: int, rounds: int) -> None:
    assert work_of(one, 256, length).warp_loads == rounds


@pytest.mark.parametrize("length", [0, 1, 40, 300])
@pytest.mark.parametrize(
    "one",
    [
        case("one_hot", vector=4, samples_per_thread=2),
        case("warp_per_sample", vector=4, rows=1, unroll=4),
        case("sub_warp_per_sample", SHORT, vector=4, threads=4, unroll=4),
        case("block_samples", vector=4, samples=1, unroll=2, stage=0),
        case("block_samples", vector=4, samples=1, unroll=2, stage=1),
        case("block_samples", vector=4, samples=2, unroll=2, stage=2),
        case("block_samples", vector=4, samples=4, unroll=2, stage=1),
        case("block_samples", LONG, vector=4, samples=1, unroll=2, stage=2),
    ],
    ids=lambda one: f"{one.schedule}",
)
def test_barriers_are_those_that_the_emulation_counts(one: Case, length: int) -> None:
    statistics = launched(Bench(program_of([one])), 32, length)
    of_task = work_of(one, 32, length).barriers + 2  # for the next one
    assert statistics.barriers == of_task * blocks_of(one, 32, length)


@pytest.mark.parametrize(
    "one",
    [
        case("warp_per_sample", vector=4, rows=1, unroll=4),
        case("sub_warp_per_sample", SHORT, vector=4, threads=4, unroll=4),
        case("block_samples", vector=4, samples=2, unroll=2, stage=1),
        case("block_samples", LONG, vector=4, samples=1, unroll=2, stage=1),
    ],
    ids=lambda one: f"{one.schedule}",
)
def test_sectors_grow_as_the_bytes_that_the_emulation_loads(one: Case) -> None:
    bench = Bench(program_of([one]))
    few, many = (launched(bench, 64, length) for length in (40, 80))
    more = work_of(one, 64, 80).sectors - work_of(one, 64, 40).sectors
    loaded = many.global_load_bytes - few.global_load_bytes
    assert math.isclose(32 * more * blocks_of(one, 64, 40), loaded)


@pytest.mark.parametrize(
    "name", ["one_hot", "warp_per_sample", "sub_warp_per_sample", "block_samples"]
)
def test_estimates_are_finite_and_grow_with_the_bags(name: str) -> None:
    for one in covering_cases(name, THREADS, triples=False):
        for batch in (1, 5, 256):
            estimates = [astuple(work_of(one, batch, length)) for length in (0, 0.3, 1, 50, 3000)]
            for less, more in zip(estimates, estimates[1:], strict=False):
                assert all(math.isfinite(value) and value >= 0 for value in less)
                assert all(a <= b for a, b in zip(less, more, strict=True)), (one, batch)


def test_an_empty_batch_has_bags_without_indices() -> None:
    assert mean_length(0, 0) == 0
    assert mean_length(4, 10) == 2.5


@pytest.mark.parametrize("parts", [2, 4, 8])
@pytest.mark.parametrize("dim", [4, 12, 64])
def test_partials_of_a_sample_and_their_count_are_aligned_and_no_larger_than_needed(
    parts: int, dim: int
) -> None:
    feature = Feature("f", 20, dim)
    schedule = Schedule.of("split_sample", vector=4, parts=parts, unroll=2)
    needed = parts * RowLanes(feature, 4).partial_bytes() + 4
    room = template("split_sample").workspace(schedule, feature, THREADS)
    assert (room.units, room.per) == ("samples", 1)
    assert room.size % 16 == 0
    assert needed <= room.size < needed + 16
