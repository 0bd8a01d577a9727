"""The parameters of a fused kernel, and the error record that it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.demands import workspace_places
from gnarl.sw.compiler.cuda.fusion import MAP_PARAMETERS, PARAMETERS
from gnarl.sw.compiler.cuda.layouts import QUEUE_STATE, SHARE
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.task_plan import TaskPlan
from gnarl.sw.compiler.cuda.warp_fusion import WARP_PARAMETERS
from gnarl.sw.runtime.cuda.task_map import TaskMap
from gnarl.sw.workloads.embedding.model import EmbeddingModel

TABLE_ALIGNMENT = 16
"""Alignment of tables, bytes: rows are loaded in vectors of as many."""


@dataclass(frozen=True, kw_only=True)
class _BatchArguments:
    """Addresses, on the device, and numbers that kernels of either kind of workers are given.

    outputs
        of each output type's buffer, in the order of ``program.outputs.widths``.
    weights, error, times
        0 where there are none.
    blocks
        of the grid.
    """

    tables: int
    indices: int
    offsets: int
    weights: int
    outputs: Sequence[int]
    workspace: int
    error: int
    state: int
    times: int
    blocks: int
    batch: int

    def _listed(self, names: Iterable[str]) -> tuple[int, ...]:
        buffers = ("output0", "output1", "output2")
        outputs = dict(zip(buffers, [*self.outputs, 0, 0], strict=False))
        return tuple(outputs[name] if name in outputs else getattr(self, name) for name in names)


@dataclass(frozen=True, kw_only=True)
class LaunchArguments(_BatchArguments):
    """Those of a kernel whose workers are blocks: the fields of ``Launch`` in ``task_queue.cuh``.

    tasks, shares, state
        as ``TaskMap`` and ``shares_of`` have them, and ``queue_state``; or room for them, which the
        device fills by ``MAP_KERNEL``. Of tasks there is room for at least as many as blocks.
    queues
        of the grid's tasks.
    """

    tasks: int
    shares: int
    queues: int

    @property
    def queues_reciprocal(self) -> int:
        bits = -(-(1 << 32) // self.queues) & 0xFFFFFFFF
        return bits - (bits >> 31 << 32)

    def of_kernel(self) -> tuple[int, ...]:
        """Arguments in the order of ``PARAMETERS``."""
        return self._listed(PARAMETERS)

    def of_map_kernel(self) -> tuple[int, ...]:
        """Arguments in the order of ``MAP_PARAMETERS``."""
        return self._listed(MAP_PARAMETERS)


@dataclass(frozen=True, kw_only=True)
class WarpArguments(_BatchArguments):
    """Those of a kernel whose workers are warps: the fields of ``WarpLaunch`` in
    ``warp_tasks.cuh``.

    state
        of ``state_bytes_of_warps``; zeroes, which a launch leaves as zeroes.
    warps
        of the grid.
    """

    warps: int
    plan: TaskPlan

    def plan_parameter(self) -> np.ndarray:
        """The last parameter: see ``TaskPlan.parameter``."""
        return self.plan.parameter(self.warps)

    def of_kernel(self) -> tuple[int, ...]:
        """Arguments in the order of ``WARP_PARAMETERS``, without the last, the plan."""
        return self._listed(name for name in WARP_PARAMETERS if name != "plan")


def state_bytes_of_warps(counters: int) -> int:
    """Bytes of the state of launches whose plans have at most so many counters."""
    return 4 * (1 + counters)


def shares_of(
    program: EmbeddingProgram, mapping: TaskMap, batch: int, values: np.ndarray
) -> tuple[np.ndarray, int]:
    """``SHARE`` [features] of a mapping by the host, and bytes of the workspace."""
    shares = np.zeros(len(values), SHARE)
    shares["blocks"] = mapping.feature_blocks
    shares["workspace"], size = workspace_places(program.demands, batch, values)
    return shares, size


def state_bytes(queues: int) -> int:
    """Bytes of a launch's ``QUEUE_STATE`` and what follows it."""
    return QUEUE_STATE.itemsize + 4 * queues


def queue_state(tasks: int, blocks: int, queues: int) -> np.ndarray:
    """int32: that of a launch of so many tasks on so many blocks."""
    state = np.zeros(state_bytes(queues) // 4, np.int32)
    state[:2] = tasks, -(-max(tasks - blocks, 0) // queues)
    return state


def require_no_error(model: EmbeddingModel, records: np.ndarray, begins: np.ndarray) -> None:
    """Raises ``WorkloadError`` for the index that a checked kernel noted.

    ``records``: ``ERROR_RECORD`` [1]; ``begins``: [features], where the indices of each begin in
    the batch's.
    """
    record = records[0]
    if record["state"]:
        number = int(record["feature"])
        feature = model.features[number]
        raise WorkloadError(
            f"indices of {feature.name}[{record['position'] - begins[number]}] = "
            f"{record['index']}: must be from {feature.first_index} to {feature.rows - 1}"
        )
