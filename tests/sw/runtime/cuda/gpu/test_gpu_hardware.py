"""On a GPU: whatever the emulation cannot show. Skipped where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from bench.cuda_parts.uniform import uniform_schedules
from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.golden.embedding import pool
from gnarl.sw.runtime.cuda.gpu.embedding import GpuEmbedding, upload
from gnarl.sw.runtime.cuda.gpu.gpus import gpus
from gnarl.sw.runtime.cuda.task_map import Mapping
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import (
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from tests.support.cuda.embedding_kernels import covering_cases, program_of
from tests.support.cuda.overlapped_batches import run_overlapped

FOUND = gpus()
ARCH = FOUND[0].kernel_arch if FOUND else None
pytestmark = pytest.mark.skipif(ARCH is None, reason="needs a GPU that kernels can be compiled for")

Choose = Callable[[EmbeddingModel, CudaConfig], ScheduleSet]

SIZES = (61, 0, 1, 2560, 512, 7)

MODEL = EmbeddingModel(
    "hardware",
    tuple(
        Feature(f"f{at}", rows, dim, factors=factors)
        for at, (rows, dim, factors) in enumerate(
            (rows, dim, factors)
            for rows, dim in ((100, 4), (5000, 32), (20_000, 128))
            for factors in (PoolingFactors(), PoolingFactors(40, 20, 100, 0.8), PoolingFactors(300))
        )
    ),
)


def assert_golden(
    program: EmbeddingProgram,
    tables: Sequence[np.ndarray],
    batch: Batch,
    outputs: dict[str, np.ndarray],
) -> None:
    layout = program.outputs
    for number, (feature, table, inputs) in enumerate(
        zip(program.model.features, tables, batch.features, strict=True)
    ):
        column = layout.columns[number]
        got = outputs[feature.output_type][:, column : column + feature.dim]
        want = pool(table, inputs, feature.pooling, feature.output_type)
        same = np.array_equal(
            np.ascontiguousarray(got).view(np.uint8), np.ascontiguousarray(want).view(np.uint8)
        )
        schedule = program.schedules.schedule(number)
        assert same, f"{feature}, {schedule}, batch {batch.size}"


def choose_for_blocks(model: EmbeddingModel, config: CudaConfig) -> ScheduleSet:
    return choose_schedules(model, replace(config, workers="blocks"))


def chosen(choose: Choose = choose_schedules) -> EmbeddingProgram:
    assert ARCH is not None
    return build_program(MODEL, choose(MODEL, CudaConfig(arch=ARCH)))


def mappings_of(program: EmbeddingProgram) -> tuple[Mapping, ...]:
    """Tasks of warps are not mapped."""
    return (None,) if program.kernel.layout is not None else (None, "device")


both = pytest.mark.parametrize("choose", [choose_schedules, choose_for_blocks])
"""Workers are warps, or blocks."""


@pytest.mark.parametrize("threads", [64, 128, 512])
@pytest.mark.parametrize("name", templates())
def test_templates_equal_the_golden_model(name: str, threads: int):
    assert ARCH is not None
    program = program_of(covering_cases(name, threads), threads, ARCH)
    tables = synthesise_tables(program.model, 1)
    embedding = GpuEmbedding(program, tables, checked=True)
    for number, size in enumerate(SIZES):
        batch = synthesise_batch(program.model, size, 1, number)
        for mapping in mappings_of(program):
            assert_golden(program, tables, batch, embedding.run(batch, mapping).outputs)


@pytest.mark.parametrize("choose", [choose_schedules, choose_for_blocks, uniform_schedules])
def test_chosen_schedules_equal_the_golden_model(choose: Choose):
    program = chosen(choose)
    tables = synthesise_tables(MODEL, 2)
    embedding = GpuEmbedding(program, tables)
    batches = [synthesise_batch(MODEL, size, 2, number) for number, size in enumerate(SIZES)]
    mappings = mappings_of(program)
    for mapping in mappings:
        for batch, run in zip(batches, run_overlapped(embedding, batches, mapping), strict=True):
            assert_golden(program, tables, batch, run.outputs)
            assert (run.mapping_ms > 0) == (len(mappings) > 1)


@both
def test_equal_inputs_give_equal_bits_whatever_the_timing(choose: Choose):
    """Tables of any numbers: the order of additions must not depend on who comes first."""
    program = chosen(choose)
    rng = np.random.default_rng(3)
    tables = [
        rng.normal(0, 3, (feature.rows, feature.dim)).astype(np.float32)
        for feature in MODEL.features
    ]
    embedding = GpuEmbedding(program, tables)
    batch = synthesise_batch(MODEL, 300, 3)
    first = embedding.run(batch).outputs
    for _ in range(20):
        for name, again in embedding.run(batch).outputs.items():
            np.testing.assert_array_equal(again.view(np.uint8), first[name].view(np.uint8))


@both
def test_events_and_times_of_blocks(choose: Choose):
    program = chosen(choose)
    embedding = GpuEmbedding(program, synthesise_tables(MODEL, 4))
    batch = synthesise_batch(MODEL, 512, 4)
    embedding.run(batch)  # loads the kernel
    run = embedding.run(batch, timed=True)
    times = run.block_times
    assert times is not None
    assert (times["end"] >= times["begin"]).all()
    cycles = float((times["end"] - times["begin"]).max())
    assert 0 < cycles < 3e6 * (run.kernel_ms + 0.1)  # no GPU's clock is faster than 3 GHz
    plain = embedding.run(batch)
    assert 0 < plain.kernel_ms < 1000
    assert plain.block_times is None


@both
def test_tables_on_the_device_are_shared(choose: Choose):
    program = chosen(choose)
    tables = synthesise_tables(MODEL, 5)
    on_device = upload(tables)
    batch = synthesise_batch(MODEL, 40, 5)
    for _ in range(2):
        run = GpuEmbedding(program, on_device).run(batch)
        assert_golden(program, tables, batch, run.outputs)


@both
def test_an_index_out_of_range_is_named_and_nothing_is_lost(choose: Choose):
    program = chosen(choose)
    tables = synthesise_tables(MODEL, 6)
    embedding = GpuEmbedding(program, tables, checked=True)
    batch = synthesise_batch(MODEL, 64, 6)
    feature = MODEL.features[4]
    given = batch.features[4]
    for wrong in (-1, feature.rows, 2**40):
        indices = given.indices.copy()
        indices[17] = wrong
        inputs = list(batch.features)
        inputs[4] = FeatureInputs(indices, given.offsets)
        with pytest.raises(WorkloadError) as caught:
            embedding.run(Batch(batch.size, inputs))
        assert str(caught.value) == (
            f"indices of f4[17] = {wrong}: must be from 0 to {feature.rows - 1}"
        )
        assert_golden(program, tables, batch, embedding.run(batch).outputs)
