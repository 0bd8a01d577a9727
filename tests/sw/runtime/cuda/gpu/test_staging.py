"""One buffer with all that a launch reads."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.compiler.cuda.fusion import KERNEL, PARAMETERS
from gnarl.sw.compiler.cuda.layouts import ERROR_RECORD, SHARE, TASK
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.golden.embedding import pool
from gnarl.sw.runtime.cuda.arguments import LaunchArguments, shares_of, state_bytes
from gnarl.sw.runtime.cuda.emulation.embedding import kernel_arguments
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray
from gnarl.sw.runtime.cuda.gpu.staging import lay_out, pack
from gnarl.sw.runtime.cuda.memory_layout import ALIGNMENT
from gnarl.sw.runtime.cuda.packed import PackedBatch
from gnarl.sw.runtime.cuda.task_map import map_tasks
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import (
    TABLE_TYPES,
    Batch,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from tests.support.cuda.embedding_kernels import Case, program_of

FEATURES = (
    Feature("a", 30, 8, factors=PoolingFactors(3, 2)),
    Feature("b", 20, 4, "mean", index_type="int32", weighted=True, factors=PoolingFactors(2, 2)),
    Feature("c", 10, 16, "max", index_type="int32", factors=PoolingFactors(0)),
    Feature("d", 50, 3, "sum", output_type="bfloat16", weighted=True, factors=PoolingFactors(4)),
)
PROGRAM = program_of(
    [Case(each, Schedule.of("one_hot", vector=1, samples_per_thread=1)) for each in FEATURES]
)
MODEL = PROGRAM.model


QUEUES = 3


@pytest.mark.parametrize("size", [0, 1, 37, 400])
def test_everything_has_a_place_of_its_own(size: int):
    batch = PackedBatch.of(PROGRAM, synthesise_batch(MODEL, size, 5))
    staging = lay_out(batch, 11, QUEUES)
    pieces = [
        (staging.error, ERROR_RECORD.itemsize),
        (staging.indices, 4 * batch.indices),
        (staging.offsets, 4 * (len(FEATURES) * size + 1)),
        (staging.weights, 4 * batch.indices),
        (staging.state, state_bytes(QUEUES)),
        (staging.tasks, 11 * TASK.itemsize),
        (staging.shares, len(FEATURES) * SHARE.itemsize),
    ]
    used = np.zeros(staging.size, int)
    for place, length in pieces:
        assert place % ALIGNMENT == 0
        used[place : place + length] += 1
    assert used.max() == 1


def test_there_is_no_place_for_weights_that_no_feature_has():
    program = program_of(
        [Case(FEATURES[0], Schedule.of("one_hot", vector=1, samples_per_thread=1))]
    )
    batch = PackedBatch.of(program, synthesise_batch(program.model, 37, 5))
    assert lay_out(batch, 11, QUEUES).weights == -1


@pytest.mark.parametrize("size", [0, 1, 37, 400])
def test_the_kernel_finds_all_of_it(size: int):
    """In the emulation, with nothing but the buffer, tables and outputs in memory."""
    batch = synthesise_batch(MODEL, size, 5)
    packed = PackedBatch.of(PROGRAM, batch)
    mapping = map_tasks(PROGRAM.block_counts, size, packed.values)
    shares, _ = shares_of(PROGRAM, mapping, size, packed.values)
    blocks = min(4, len(mapping.tasks))
    staging = lay_out(packed, len(mapping.tasks), QUEUES)
    words = np.full(staging.size // 8, -1)  # so that the buffer is aligned
    buffer = words.view(np.uint8)
    assert pack(staging, packed, (mapping, shares), blocks, QUEUES, buffer) == staging.size
    tables = [GlobalArray(f"table {at}", t) for at, t in enumerate(synthesise_tables(MODEL, 5))]
    addresses = GlobalArray("addresses", np.array([t.address for t in tables], np.uint64))
    outputs = {
        name: np.zeros((size, width), TABLE_TYPES[name])
        for name, width in PROGRAM.outputs.widths.items()
    }
    base = words.ctypes.data
    arguments = LaunchArguments(
        tables=addresses.address,
        indices=base + staging.indices,
        offsets=base + staging.offsets,
        weights=base + staging.weights,
        outputs=[array.ctypes.data for array in outputs.values()],
        workspace=0,
        error=base + staging.error,
        tasks=base + staging.tasks,
        shares=base + staging.shares,
        state=base + staging.state,
        times=0,
        blocks=blocks,
        queues=QUEUES,
        batch=size,
    )
    EmulatedKernels(PROGRAM.kernel.source, [INCLUDE], {"GNARL_CHECKED": "1"}).launch(
        KERNEL,
        blocks,
        PROGRAM.schedules.block_threads,
        kernel_arguments(PARAMETERS, arguments.of_kernel()),
        memory=[
            GlobalArray("staging", buffer, True),
            addresses,
            *tables,
            *(GlobalArray(name, array, True) for name, array in outputs.items()),
        ],
        shared_bytes=PROGRAM.kernel.shared_bytes,
    )
    for at, (feature, table, inputs) in enumerate(
        zip(MODEL.features, tables, batch.features, strict=True)
    ):
        column = PROGRAM.outputs.columns[at]
        got = outputs[feature.output_type][:, column : column + feature.dim]
        want = pool(table.array, inputs, feature.pooling, feature.output_type)
        np.testing.assert_array_equal(got, want, feature.name)


def test_the_error_record_is_cleared_and_the_queues_are_full():
    packed = PackedBatch.of(PROGRAM, synthesise_batch(MODEL, 3, 5))
    staging = lay_out(packed, 20, QUEUES)
    buffer = np.full(staging.size, 255, np.uint8)
    assert pack(staging, packed, None, 4, QUEUES, buffer) == staging.tasks
    assert not buffer[staging.error : staging.error + ERROR_RECORD.itemsize].any()
    assert not buffer[staging.state : staging.state + state_bytes(QUEUES)].any()
    assert (buffer[staging.tasks :] == 255).all()


@pytest.mark.parametrize("index", [2**31, -(2**31) - 1, 2**32])
def test_an_index_beyond_32_bits_is_refused_not_cut(index: int):
    batch = synthesise_batch(MODEL, 37, 5)
    bags = batch.features[3]
    wrong = bags.indices.copy()
    wrong[7] = index
    features = [*batch.features[:3], FeatureInputs(wrong, bags.offsets, bags.weights)]
    packed = PackedBatch.of(PROGRAM, Batch(37, features))
    with pytest.raises(WorkloadError) as caught:
        packed.pack_indices(np.empty(packed.indices, np.int32))
    assert str(caught.value) == (
        f"indices of {MODEL.features[3].name}[7] = {index}: must be from 0 to 49"
    )


def test_more_indices_than_kernels_count_are_refused():
    one = program_of([Case(FEATURES[0], Schedule.of("one_hot", vector=1, samples_per_thread=1))])
    many = np.lib.stride_tricks.as_strided(np.zeros(1, np.int64), (2**31,), (0,))
    batch = Batch(1, [FeatureInputs(many, np.array([0, 2**31]))])
    with pytest.raises(CapacityError) as caught:
        PackedBatch.of(one, batch)
    assert str(caught.value) == "batch of 2,147,483,648 indices: must be at most 2,147,418,112"
