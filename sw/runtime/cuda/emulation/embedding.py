"""Runs compiled models on the CPU, through the emulation of a GPU."""

from __future__ import annotations

from collections import abc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.demands import Bounds
from gnarl.sw.compiler.cuda.fusion import (
    KERNEL,
    MAP_KERNEL,
    MAP_PARAMETERS,
    PARAMETERS,
    map_blocks,
    map_shared_bytes,
)
from gnarl.sw.compiler.cuda.layouts import ERROR_RECORD, SHARE, TASK
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.task_plan import TaskPlan
from gnarl.sw.compiler.cuda.warp_fusion import WARP_KERNEL, WARP_PARAMETERS
from gnarl.sw.runtime.cuda.arguments import (
    TABLE_ALIGNMENT,
    LaunchArguments,
    WarpArguments,
    queue_state,
    require_no_error,
    shares_of,
    state_bytes_of_warps,
)
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray, LaunchStatistics
from gnarl.sw.runtime.cuda.packed import INDEX, WEIGHT, PackedBatch
from gnarl.sw.runtime.cuda.task_map import Mapping, TaskMap, map_tasks
from gnarl.sw.workloads.embedding.model import TABLE_TYPES, Batch

BLOCKS = 6
"""Blocks of a grid: as many as there are tasks, but no more."""
QUEUES = 3


class Launcher(Protocol):
    """What runs kernels, as ``EmulatedKernels`` does; what it returns becomes ``statistics``."""

    def launch(
        self,
        kernel: str,
        grid: int,
        block: int,
        arguments: Sequence[GlobalArray | np.integer | np.ndarray],
        memory: Sequence[GlobalArray] = (),
        shared_bytes: int = 0,
    ) -> Any: ...


@dataclass(frozen=True)
class EmulatedRun:
    """What a launch left.

    outputs
        for each output type its buffer, [batch, width].
    """

    outputs: dict[str, np.ndarray]
    statistics: LaunchStatistics


class EmulatedEmbedding:
    """A model with its tables.

    tables
        one [rows, dim] for each feature, of its table type.
    kernels
        what runs the program's kernel; by default the emulation, with checks of indices.
    grid
        blocks, at most, and queues of their tasks.
    """

    def __init__(
        self,
        program: EmbeddingProgram,
        tables: Sequence[np.ndarray],
        *,
        kernels: Launcher | None = None,
        grid: tuple[int, int] = (BLOCKS, QUEUES),
    ) -> None:
        self.program = program
        self._grid = grid
        self._tables = [
            GlobalArray(f"table of {feature.name}", _aligned(np.ascontiguousarray(table)))
            for feature, table in zip(program.model.features, tables, strict=True)
        ]
        self._kernels = checked_kernels(program) if kernels is None else kernels

    def run(self, batch: Batch, mapping: Mapping = None) -> EmulatedRun:
        """Pools a batch that ``check_batch`` accepts with ``indices=False``.

        Raises ``WorkloadError`` for an index out of range.
        """
        program = self.program
        packed = PackedBatch.of(program, batch)
        indices = np.empty(packed.indices, INDEX)
        offsets = np.empty(packed.offsets, INDEX)
        # So that a weight that a feature does not have shows.
        weights = np.full(packed.indices if packed.weighted else 0, np.nan, WEIGHT)
        packed.pack_indices(indices)
        packed.pack_offsets(offsets)
        packed.pack_weights(weights)
        outputs = {
            # So that what no thread stores shows.
            name: np.full((batch.size, width), np.nan, TABLE_TYPES[name])
            for name, width in program.outputs.widths.items()
        }
        grid: TaskMap | TaskPlan | None = None
        if isinstance(mapping, TaskPlan) or program.kernel.layout is not None:
            grid = None if isinstance(mapping, str) else mapping
        elif not isinstance(mapping, str):
            grid = mapping or map_tasks(program.block_counts, batch.size, packed.values)
        statistics = launch(
            self._kernels,
            program,
            self._tables,
            LaunchMemory(
                GlobalArray("indices", indices),
                GlobalArray("offsets", offsets),
                GlobalArray("weights", weights),
                [GlobalArray(f"{name} outputs", out, True) for name, out in outputs.items()],
            ),
            batch.size,
            packed.values,
            grid,
            self._grid,
        )
        return EmulatedRun(outputs, statistics)


@dataclass(frozen=True)
class LaunchMemory:
    """Arrays of a launch, as ``LaunchArguments`` has their addresses."""

    indices: GlobalArray
    offsets: GlobalArray
    weights: GlobalArray
    outputs: Sequence[GlobalArray]

    @property
    def arrays(self) -> list[GlobalArray]:
        return [self.indices, self.offsets, self.weights, *self.outputs]


def checked_kernels(program: EmbeddingProgram, index_bits: int = 32) -> EmulatedKernels:
    """The program's kernels, with checks of indices, for indices of 32 or 64 bits."""
    defines = {"GNARL_CHECKED": "1"}
    if index_bits == 64:
        defines["GNARL_INDEX_64"] = "1"
    name = program.model.name
    return EmulatedKernels(program.kernel.source, program.include, defines, name=name)


def launch(
    kernels: Launcher,
    program: EmbeddingProgram,
    tables: Sequence[GlobalArray],
    memory: LaunchMemory,
    batch: int,
    values: np.ndarray,
    grid: TaskMap | TaskPlan | None,
    resident: tuple[int, int] = (BLOCKS, QUEUES),
) -> LaunchStatistics:
    """Runs the program's checked kernel.

    tables
        of each feature; features may share one.
    values
        int64 [features], the indices of each.
    grid
        without, the device maps threads, or, where workers are warps, tasks are as on a GPU.
    resident
        blocks, at most, and queues.

    Raises ``WorkloadError`` for an index out of range.
    """
    if program.kernel.layout is not None:
        plan = grid if isinstance(grid, TaskPlan) else None
        return _launch_warps(kernels, program, tables, memory, batch, values, plan, resident[0])
    assert not isinstance(grid, TaskPlan)
    features = len(program.model.features)
    tasks, shares, workspace, count = _task_map(program, batch, values, grid)
    most, queues = resident
    blocks = min(len(tasks), most)
    state = queue_state(count, blocks, queues)
    own = _batch_memory(tables, np.zeros(-(-workspace // 8), np.int64), state) | {
        "tasks": GlobalArray("tasks", tasks, grid is None),
        "shares": GlobalArray("shares", shares, grid is None),
    }
    arguments = LaunchArguments(
        **_addresses(memory, own), blocks=blocks, queues=queues, batch=batch
    )
    threads = program.schedules.block_threads
    if grid is None:
        _launch_map(kernels, features, threads, arguments, [memory.offsets, *own.values()])
    given = kernel_arguments(PARAMETERS, arguments.of_kernel())
    arrays = [*memory.arrays, *_distinct(tables), *own.values()]
    statistics: LaunchStatistics = kernels.launch(
        KERNEL, blocks, threads, given, arrays, program.kernel.shared_bytes
    )
    require_no_error(program.model, own["error"].array, np.cumsum(values) - values)
    assert not state[2:].any(), "a launch must leave its queues as zeroes"
    return statistics


def _launch_warps(
    kernels: Launcher,
    program: EmbeddingProgram,
    tables: Sequence[GlobalArray],
    memory: LaunchMemory,
    batch: int,
    values: np.ndarray,
    plan: TaskPlan | None,
    blocks: int,
) -> LaunchStatistics:
    """As ``launch``, of a kernel whose workers are warps."""
    threads = program.schedules.block_threads
    plan = plan or program.plan(batch)
    state = np.zeros(state_bytes_of_warps(plan.counters) // 4, np.uint32)
    # So that a partial that is read before it is written shows.
    partials = np.full(plan.workspace // 4, np.nan, np.float32)
    own = _batch_memory(tables, partials, state)
    arguments = WarpArguments(
        **_addresses(memory, own),
        blocks=blocks,
        warps=blocks * threads // WARP_THREADS,
        batch=batch,
        plan=plan,
    )
    parameters = {name: kind for name, kind in WARP_PARAMETERS.items() if name != "plan"}
    given: list[np.integer | np.ndarray] = [
        *kernel_arguments(parameters, arguments.of_kernel()),
        arguments.plan_parameter(),
    ]
    arrays = [*memory.arrays, *_distinct(tables), *own.values()]
    statistics: LaunchStatistics = kernels.launch(
        WARP_KERNEL, blocks, threads, given, arrays, program.kernel.shared_bytes
    )
    require_no_error(program.model, own["error"].array, np.cumsum(values) - values)
    assert not state.any(), "a launch must leave its counters as zeroes"
    return statistics


def _batch_memory(
    tables: Sequence[GlobalArray], workspace: np.ndarray, state: np.ndarray
) -> dict[str, GlobalArray]:
    """What any launch has beside a batch's inputs and outputs, by its name in the arguments."""
    addresses = np.array([table.address for table in tables], np.uint64)
    return {
        "tables": GlobalArray("addresses of tables", addresses),
        "workspace": GlobalArray("workspace", workspace, True),
        "error": GlobalArray("error record", np.zeros(1, ERROR_RECORD), True),
        "state": GlobalArray("state", state, True),
    }


def _addresses(memory: LaunchMemory, own: abc.Mapping[str, GlobalArray]) -> dict[str, Any]:
    """Arguments of a launch that is not timed: where its memory is."""
    return {name: array.address for name, array in own.items()} | {
        "indices": memory.indices.address,
        "offsets": memory.offsets.address,
        "weights": memory.weights.address,
        "outputs": [output.address for output in memory.outputs],
        "times": 0,
    }


def _distinct(tables: Sequence[GlobalArray]) -> list[GlobalArray]:
    """Each table once: features may share one."""
    return list({table.address: table for table in tables}.values())


def _launch_map(
    kernels: Launcher,
    features: int,
    threads: int,
    arguments: LaunchArguments,
    arrays: Sequence[GlobalArray],
) -> None:
    """Runs the kernel that makes the map of tasks."""
    kernels.launch(
        MAP_KERNEL,
        map_blocks(features, threads),
        threads,
        kernel_arguments(MAP_PARAMETERS, arguments.of_map_kernel()),
        arrays,
        map_shared_bytes(threads),
    )


def _task_map(
    program: EmbeddingProgram, batch: int, values: np.ndarray, grid: TaskMap | None
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Tasks, shares, bytes of workspace, and how many tasks there are; of a map that the device
    makes there is just the room."""
    if grid is None:
        bounds, total = Bounds.of(program.demands, batch), int(values.sum())
        # No block has these, so that what the kernel does not write shows.
        tasks = np.full(bounds.most_tasks(total), -1, TASK)
        shares = np.full(len(program.model.features), -1, SHARE)
        return tasks, shares, bounds.most_workspace(total), 0
    shares, workspace = shares_of(program, grid, batch, values)
    return grid.tasks.astype(TASK), shares, workspace, len(grid.tasks)


def kernel_arguments(parameters: abc.Mapping[str, str], values: Iterable[int]) -> list[np.integer]:
    """Arguments of the emulation, for values in the order of ``parameters``."""
    return [
        np.int32(value) if type == "int" else np.uint64(value)
        for type, value in zip(parameters.values(), values, strict=True)
    ]


def _aligned(table: np.ndarray) -> np.ndarray:
    """The table aligned as an upload would have it; NumPy's own memory is."""
    return table.copy() if table.ctypes.data % TABLE_ALIGNMENT else table
