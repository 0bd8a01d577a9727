"""One buffer with all that a launch reads."""

from __future__ import annotations

import numpy as np
import pytest

from sw.compiler.cuda.fusion import KERNEL
from sw.compiler.cuda.layouts import ERROR_RECORD, FEATURE_ARGUMENTS, TASK
from sw.compiler.cuda.schedule import Schedule
from sw.compiler.cuda.templates.template import INCLUDE
from sw.golden.embedding import pool
from sw.runtime.cuda.arguments import feature_arguments
from sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray
from sw.runtime.cuda.gpu.staging import lay_out, pack
from sw.runtime.cuda.memory_layout import ALIGNMENT
from sw.runtime.cuda.task_map import map_tasks
from sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from sw.workloads.embedding.model import TABLE_TYPES, Feature, PoolingFactors
from tests.support.embedding_kernels import Case, program_of

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


@pytest.mark.parametrize("size", [0, 1, 37, 400])
def test_everything_has_a_place_of_its_own(size: int):
    batch = synthesise_batch(MODEL, size, 5)
    staging = lay_out(PROGRAM, batch, 11)
    pieces = [
        (staging.error, ERROR_RECORD.itemsize),
        (staging.arguments, len(FEATURES) * FEATURE_ARGUMENTS.itemsize),
        (staging.tasks, 11 * TASK.itemsize),
        (staging.feature_blocks, len(FEATURES) * 4),
    ]
    for place, _ in pieces:
        assert place % ALIGNMENT == 0
    for at, inputs in enumerate(batch.features):
        width = inputs.indices.itemsize
        pieces.append((staging.indices[at], inputs.indices.nbytes))
        pieces.append((staging.offsets[at], inputs.offsets.nbytes))
        assert staging.indices[at] % width == staging.offsets[at] % width == 0
        if inputs.weights is None:
            assert staging.weights[at] == -1
        else:
            pieces.append((staging.weights[at], inputs.weights.nbytes))
    used = np.zeros(staging.size, int)
    for place, length in pieces:
        used[place : place + length] += 1
    assert used.max() == 1


@pytest.mark.parametrize("size", [0, 1, 37, 400])
def test_the_kernel_finds_all_of_it(size: int):
    """In the emulation, with nothing but the buffer, tables and outputs in memory."""
    batch = synthesise_batch(MODEL, size, 5)
    values = batch.counts
    mapping = map_tasks(PROGRAM.block_counts, size, values)
    staging = lay_out(PROGRAM, batch, len(mapping.tasks))
    words = np.full(staging.size // 8, -1)  # so that the buffer is aligned
    buffer = words.view(np.uint8)
    tables = [GlobalArray(f"table {at}", t) for at, t in enumerate(synthesise_tables(MODEL, 5))]
    outputs = {
        name: np.zeros((size, width), TABLE_TYPES[name])
        for name, width in PROGRAM.outputs.widths.items()
    }
    base = words.ctypes.data
    arguments = feature_arguments(
        PROGRAM,
        size,
        values,
        tables=[table.array.ctypes.data for table in tables],
        workspaces=[0] * len(FEATURES),
        outputs=[array.ctypes.data for array in outputs.values()],
        **staging.addresses(base),
    )
    pack(staging, arguments, mapping, buffer)

    kernels = EmulatedKernels(PROGRAM.kernel.source, [INCLUDE], {"GNARL_CHECKED": "1"})
    places = (staging.arguments, staging.tasks, staging.feature_blocks)
    kernels.launch(
        KERNEL,
        len(mapping.tasks),
        PROGRAM.schedules.block_threads,
        [*(np.uint64(base + place) for place in places), np.uint64(0)],
        memory=[
            GlobalArray("staging", buffer),
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


def test_the_error_record_is_cleared():
    batch = synthesise_batch(MODEL, 3, 5)
    mapping = map_tasks(PROGRAM.block_counts, 3, np.zeros(len(FEATURES), int))
    staging = lay_out(PROGRAM, batch, len(mapping.tasks))
    buffer = np.full(staging.size, 255, np.uint8)
    pack(staging, PROGRAM.arguments, mapping, buffer)
    assert not buffer[staging.error : staging.error + ERROR_RECORD.itemsize].any()
