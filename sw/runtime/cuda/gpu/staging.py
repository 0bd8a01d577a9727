"""All that a launch reads in one buffer, so that one copy brings it to the device.

The buffer has one after the other: the error record, indices, offsets and weights of all features;
last the thread mapping, which may as well be made on the device: the state of the queues, tasks,
and what each feature is given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnarl.sw.compiler.cuda.layouts import ERROR_RECORD, SHARE, TASK
from gnarl.sw.runtime.cuda.arguments import queue_state, state_bytes
from gnarl.sw.runtime.cuda.memory_layout import places
from gnarl.sw.runtime.cuda.packed import INDEX, WEIGHT, PackedBatch
from gnarl.sw.runtime.cuda.task_map import TaskMap


@dataclass(frozen=True)
class Staging:
    """The layout of the buffer; bytes from its beginning.

    weights
        -1 where no feature has any.
    size
        of the buffer.
    """

    error: int
    indices: int
    offsets: int
    weights: int
    state: int
    tasks: int
    shares: int
    size: int


def lay_out(batch: PackedBatch, tasks: int, queues: int) -> Staging:
    """The layout for a launch of at most so many tasks, in so many queues."""
    sizes = (
        ERROR_RECORD.itemsize,
        batch.indices * INDEX.itemsize,
        batch.offsets * INDEX.itemsize,
        batch.indices * WEIGHT.itemsize if batch.weighted else 0,
        state_bytes(queues),
        tasks * TASK.itemsize,
        len(batch.values) * SHARE.itemsize,
    )
    begins, size = places(sizes)
    error, indices, offsets, weights, state, of_tasks, shares = begins.tolist()
    weights = weights if batch.weighted else -1
    return Staging(error, indices, offsets, weights, state, of_tasks, shares, size)


def pack(
    staging: Staging,
    batch: PackedBatch,
    mapping: tuple[TaskMap, np.ndarray] | None,
    blocks: int,
    queues: int,
    buffer: np.ndarray,
) -> int:
    """Fills ``buffer``, uint8 [at least staging.size]; returns how many bytes of it there are.

    mapping
        the tasks, and ``SHARE`` [features]; without, what is behind the state is left as it was.
    blocks, queues
        of the launch.

    Raises ``WorkloadError`` as ``PackedBatch.pack_indices`` does.
    """

    def place(at: int, count: int, dtype: np.dtype) -> np.ndarray:
        return np.ndarray(count, dtype, buffer=buffer.data, offset=at)

    place(staging.error, 1, ERROR_RECORD)[:] = np.zeros(1, ERROR_RECORD)
    batch.pack_indices(place(staging.indices, batch.indices, INDEX))
    batch.pack_offsets(place(staging.offsets, batch.offsets, INDEX))
    if batch.weighted:
        batch.pack_weights(place(staging.weights, batch.indices, WEIGHT))
    state = queue_state(0 if mapping is None else len(mapping[0].tasks), blocks, queues)
    place(staging.state, len(state), state.dtype)[:] = state
    if mapping is None:
        return staging.tasks
    tasks, shares = mapping
    place(staging.tasks, len(tasks.tasks), TASK)[:] = tasks.tasks
    place(staging.shares, len(shares), SHARE)[:] = shares
    return staging.size
