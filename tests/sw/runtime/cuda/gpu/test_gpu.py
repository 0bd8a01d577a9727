"""The GPU runtime on a driver without a GPU: arguments of the driver's functions are checked, what
streams hold happens as late as it may, and kernels run in the emulation."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.fusion import KERNEL, MAP_KERNEL
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.golden.embedding import embedding_bags
from gnarl.sw.runtime.cuda.gpu import embedding as gpu
from gnarl.sw.runtime.cuda.gpu.driver import GpuError
from gnarl.sw.runtime.cuda.task_map import map_tasks
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import (
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from tests.support.cuda import fake_cuda
from tests.support.cuda.embedding_kernels import Case, program_of
from tests.support.cuda.fake_cuda import Call, fake_gpus
from tests.support.cuda.overlapped_batches import run_overlapped

BATCHES = (5, 64, 0, 300, 1, 7)

FEATURES = (
    Feature("a", 30, 8, factors=PoolingFactors(3, 2)),
    Feature("b", 20, 4, "mean", "float16", "float32", "int32", factors=PoolingFactors(2, 2)),
    Feature("c", 10, 16, "max", index_type="int32", factors=PoolingFactors(1, coverage=0.5)),
    Feature("d", 50, 3, "sum", "bfloat16", "bfloat16", weighted=True, factors=PoolingFactors(4, 1)),
)


@pytest.fixture(
    scope="module", params=[{}, {"FAKE_CUDA_EAGER_COPIES": "1"}], ids=["late", "eager copies"]
)
def on_fake(request: pytest.FixtureRequest) -> Iterator[Call]:
    with fake_gpus(**request.param) as call:
        yield call


def program() -> EmbeddingProgram:
    """The last of its features have workspaces, which grow with the batch."""
    one_hot = Schedule.of("one_hot", vector=1, samples_per_thread=1)
    by_key = Schedule.of("reduce_by_key", vector=1, values_per_block=256, unroll=1)
    split = Schedule.of("split_sample", vector=1, parts=4, unroll=1)
    many = Feature("e", 40, 4, factors=PoolingFactors(60, 30))
    return program_of(
        [*(Case(feature, one_hot) for feature in FEATURES), Case(many, by_key), Case(many, split)]
    )


def batches(model: EmbeddingModel) -> list[Batch]:
    return [synthesise_batch(model, size, 3, number) for number, size in enumerate(BATCHES)]


def assert_golden(program: EmbeddingProgram, batch: Batch, outputs: dict[str, np.ndarray]) -> None:
    model, layout = program.model, program.outputs
    tables = synthesise_tables(model, 3)
    for number, (feature, want) in enumerate(
        zip(model.features, embedding_bags(model, tables, batch), strict=True)
    ):
        column = layout.columns[number]
        got = outputs[feature.output_type][:, column : column + feature.dim]
        np.testing.assert_array_equal(got, want, f"{feature.name}, batch {batch.size}")


def embedding(**options: Any) -> gpu.GpuEmbedding:
    made = program()
    return gpu.GpuEmbedding(made, synthesise_tables(made.model, 3), **options)


def _one_by_one() -> list[gpu.GpuRun]:
    runner = embedding()
    return [runner.run(batch) for batch in batches(runner.program.model)]


def _overlapped() -> list[gpu.GpuRun]:
    runner = embedding()
    return list(run_overlapped(runner, batches(runner.program.model)))


@pytest.mark.parametrize("way", [_one_by_one, _overlapped])
def test_batches_of_all_sizes_equal_the_golden_model(way: Any, on_fake: Call):
    runs = on_fake(way)
    made = program()
    assert len(runs) == len(BATCHES)
    for batch, run in zip(batches(made.model), runs, strict=True):
        assert_golden(made, batch, run.outputs)
        assert run.kernel_ms > 0
        assert run.block_times is None


def warps() -> EmbeddingProgram:
    """Bags of the last of its features are cut, in small batches in many pieces."""
    long = Feature("e", 40, 64, factors=PoolingFactors(400, 300, 500))
    bags = Schedule.of("pooled_bags", vector=1, rows=1)
    short = Schedule.of("short_bags", vector=1)
    return program_of(
        [Case(FEATURES[0], short), *(Case(each, bags) for each in FEATURES[1:]), Case(long, bags)]
    )


def _by_warps(overlapped: bool, timed: bool = False) -> list[gpu.GpuRun]:
    """All batches, whose launches share counters."""
    made = warps()
    runner = gpu.GpuEmbedding(made, synthesise_tables(made.model, 3))
    given = batches(made.model)
    if overlapped:
        return list(run_overlapped(runner, given))
    runs = [runner.run(batch, timed=timed) for batch in given]
    assert {launch["grid"] for launch in fake_cuda.launches[-len(given) :]} == {4}
    return runs


@pytest.mark.parametrize("overlapped", [False, True])
def test_batches_of_all_sizes_by_warps_equal_the_golden_model(overlapped: bool, on_fake: Call):
    made = warps()
    given = batches(made.model)
    assert {made.plan(batch.size, 4).counters > 0 for batch in given} == {False, True}
    for batch, run in zip(given, on_fake(_by_warps, overlapped), strict=True):
        assert_golden(made, batch, run.outputs)
        assert run.kernel_ms > 0
        assert run.mapping_ms == 0


def test_timed_launches_have_a_time_for_each_task_of_warps(on_fake: Call):
    made = warps()
    for batch, run in zip(batches(made.model), on_fake(_by_warps, False, True), strict=True):
        assert run.block_times is not None
        assert len(run.block_times) == made.plan(batch.size, 4).tasks
        assert (run.block_times["end"] > run.block_times["begin"]).all()


def _on_device_one_by_one() -> list[gpu.GpuRun]:
    runner = embedding()
    return [runner.run(batch, "device") for batch in batches(runner.program.model)]


def _on_device_overlapped() -> list[gpu.GpuRun]:
    runner = embedding()
    runs = list(run_overlapped(runner, batches(runner.program.model), "device"))
    assert [launch["kernel"] for launch in fake_cuda.launches[-2:]] == [MAP_KERNEL, KERNEL]
    return runs


@pytest.mark.parametrize("way", [_on_device_one_by_one, _on_device_overlapped])
def test_threads_can_be_mapped_on_the_device(way: Any, on_fake: Call):
    made = program()
    for batch, run in zip(batches(made.model), on_fake(way), strict=True):
        assert_golden(made, batch, run.outputs)
        assert run.mapping_ms > 0


def _one_hot() -> EmbeddingProgram:
    """Its feature needs no workspace, for the zeroes of which a device is waited for."""
    return program_of([Case(FEATURES[0], Schedule.of("one_hot", vector=1, samples_per_thread=1))])


def _on_device_at_once() -> dict[str, np.ndarray]:
    made = _one_hot()
    runner = gpu.GpuEmbedding(made, synthesise_tables(made.model, 3))
    return runner.run(synthesise_batch(made.model, 300, 3), "device").outputs


def test_what_is_uploaded_has_arrived_before_a_kernel_reads_it(on_fake: Call):
    made = _one_hot()
    assert_golden(made, synthesise_batch(made.model, 300, 3), on_fake(_on_device_at_once))


def _given_mapping() -> tuple[gpu.GpuRun, dict[str, int], int]:
    runner = embedding()
    batch = batches(runner.program.model)[1]
    counts = runner.program.block_counts
    counts["per_value"], counts["numerator"], counts["denominator"] = 0, 2, 1
    mapping = map_tasks(counts, 1, np.zeros(len(counts), np.int64))
    run = runner.run(batch, mapping)
    return run, fake_cuda.launches[-1], len(mapping.tasks)


def test_a_mapping_can_be_given(on_fake: Call):
    run, launch, blocks = on_fake(_given_mapping)
    made = program()
    assert_golden(made, batches(made.model)[1], run.outputs)
    assert launch["grid"] == 4  # one for each multiprocessor
    assert blocks == 12
    assert run.mapping_ms == 0


def _timed() -> tuple[gpu.GpuRun, gpu.GpuRun, int]:
    runner = embedding()
    batch = batches(runner.program.model)[1]
    run = runner.run(batch, timed=True)
    blocks = len(map_tasks(runner.program.block_counts, batch.size, batch.counts).tasks)
    return run, runner.run(batch), blocks


def test_timed_launches_have_a_time_for_each_block(on_fake: Call):
    run, plain, blocks = on_fake(_timed)
    assert run.block_times is not None
    assert len(run.block_times) == blocks
    assert (run.block_times["end"] > run.block_times["begin"]).all()
    assert plain.block_times is None
    made = program()
    assert_golden(made, batches(made.model)[1], run.outputs)


def _staged_once() -> list[gpu.GpuRun]:
    runner = embedding()
    staged = runner.stage(batches(runner.program.model)[3])
    runs = []
    for fetch in (False, True):
        runner.launch(staged)
        runs.append(runner.collect(staged, fetch=fetch))
    return runs


def test_a_staged_batch_can_be_launched_again(on_fake: Call):
    first, second = on_fake(_staged_once)
    assert first.outputs == {}
    made = program()
    assert_golden(made, batches(made.model)[3], second.outputs)


def _staged_ahead() -> list[gpu.GpuRun]:
    runner = embedding()
    given = batches(runner.program.model)
    staged = []
    for batch in given:
        staged.append(runner.stage(batch))
        runner.launch(staged[-1])
    return [runner.collect(each) for each in staged[-2:]]


def test_staging_waits_for_the_batch_whose_memory_it_takes(on_fake: Call):
    made = program()
    for batch, run in zip(batches(made.model)[-2:], on_fake(_staged_ahead), strict=True):
        assert_golden(made, batch, run.outputs)


def _staged_in_vain() -> dict[str, np.ndarray]:
    """Each takes more memory than the one before."""
    made = _one_hot()
    runner = gpu.GpuEmbedding(made, synthesise_tables(made.model, 3))
    for size in (5, 50, 100, 200, 400, 800):
        runner.stage(synthesise_batch(made.model, size, 3))
    return runner.run(synthesise_batch(made.model, 900, 3)).outputs


def test_a_batch_need_not_be_launched(on_fake: Call):
    assert [array.shape for array in on_fake(_staged_in_vain).values()] == [(900, 8)]


def _launched_late() -> list[gpu.GpuRun]:
    """The second batch takes larger workspaces."""
    runner = embedding()
    staged = [runner.stage(batches(runner.program.model)[at]) for at in (0, 3)]
    for each in staged:
        runner.launch(each)
    return [runner.collect(each) for each in staged]


def test_a_staged_batch_keeps_its_workspaces(on_fake: Call):
    made = program()
    for at, run in zip((0, 3), on_fake(_launched_late), strict=True):
        assert_golden(made, batches(made.model)[at], run.outputs)


def _tables_twice() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    made = program()
    tables = gpu.upload(synthesise_tables(made.model, 3))
    one, other = (gpu.GpuEmbedding(made, tables) for _ in range(2))
    batch = batches(made.model)[0]
    return one.run(batch).outputs, other.run(batch).outputs


def test_tables_can_be_shared(on_fake: Call):
    made = program()
    for outputs in on_fake(_tables_twice):
        assert_golden(made, batches(made.model)[0], outputs)


def _out_of_range() -> tuple[str, gpu.GpuRun]:
    runner = embedding(checked=True)
    batch = batches(runner.program.model)[1]
    wrong = [inputs for inputs in batch.features]
    indices = wrong[1].indices.copy()
    indices[6] = 20
    wrong[1] = FeatureInputs(indices, wrong[1].offsets)
    with pytest.raises(WorkloadError) as caught:
        runner.run(Batch(batch.size, wrong))
    return str(caught.value), runner.run(batch)


def test_checked_kernels_name_an_index_out_of_range_and_go_on(on_fake: Call):
    error, run = on_fake(_out_of_range)
    assert error == "indices of 1 one_hot[6] = 20: must be from 0 to 19"
    made = program()
    assert_golden(made, batches(made.model)[1], run.outputs)


def _broken() -> tuple[str, list[str]]:
    unraisable: list[str] = []
    sys.unraisablehook = lambda found: unraisable.append(str(found.exc_value))
    made = _one_hot()
    tables = [table[:1] for table in synthesise_tables(made.model, 3)]
    with pytest.raises(GpuError) as caught:
        gpu.GpuEmbedding(made, tables).run(synthesise_batch(made.model, 300, 3))
    message = str(caught.value)
    del caught
    gc.collect()
    return message, unraisable


def test_a_kernel_that_fails_is_one_error_and_no_more():
    with fake_gpus() as call:
        message, unraisable = call(_broken)
    assert message == "CUDA driver: cuEventSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS"
    assert unraisable == []


def _left_over() -> dict[str, int]:
    embedding().run(batches(program().model)[1])
    gc.collect()
    kinds = ("device memory", "pinned memory", "streams", "events", "modules", "contexts")
    return {kind: fake_cuda.live(kind) for kind in kinds}


def test_nothing_is_left_on_the_device(on_fake: Call):
    assert set(on_fake(_left_over).values()) == {0}


def _occupancy() -> list[dict[str, int]]:
    """Launches of kernels bound to one block on a multiprocessor, and to three."""
    for blocks in (1, 3):
        made = program()
        schedules = replace(made.schedules, blocks_per_sm=blocks)
        made = build_program(made.model, schedules)
        runner = gpu.GpuEmbedding(made, synthesise_tables(made.model, 3))
        runner.run(batches(made.model)[3])
    return fake_cuda.launches[-2:]


def test_the_grid_is_what_the_multiprocessors_hold_and_shared_memory_what_kernels_need(
    on_fake: Call,
):
    one, three = on_fake(_occupancy)
    assert (one["block"], one["grid"], three["grid"]) == (128, 4, 12)
    assert one["shared"] == three["shared"] == program().kernel.shared_bytes


def _too_much_shared_memory() -> str:
    table = Feature("small", 500, 16)  # 32,000 bytes
    schedule = Schedule.of("table_in_shared", capacity=32, vector=4, threads=4, samples=64)
    made = program_of([Case(table, schedule)], arch="sm_75")
    with pytest.raises(GpuError) as caught:
        gpu.GpuEmbedding(made, synthesise_tables(made.model), device=1).run(
            synthesise_batch(made.model, 3)
        )
    return str(caught.value)


def test_a_gpu_with_less_shared_memory_than_its_architecture_is_refused(on_fake: Call):
    assert on_fake(_too_much_shared_memory) == (
        "kernels for sm_75 need 32,784 bytes of shared memory a block, GPU 1 has 32,768: compile "
        "for its own architecture"
    )
