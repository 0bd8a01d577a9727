"""Runs compiled models on the CPU, through the emulation of a GPU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from sw.compiler.cuda.fusion import KERNEL, MAP_KERNEL, map_blocks, map_shared_bytes
from sw.compiler.cuda.layouts import BLOCK_TIME, ERROR_RECORD, TASK
from sw.compiler.cuda.program import EmbeddingProgram
from sw.runtime.cuda.arguments import TABLE_ALIGNMENT, feature_arguments, require_no_error
from sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray, LaunchStatistics
from sw.runtime.cuda.task_map import Mapping, count_blocks, map_tasks
from sw.workloads.embedding.model import TABLE_TYPES, Batch


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
    """

    def __init__(self, program: EmbeddingProgram, tables: Sequence[np.ndarray]) -> None:
        self.program = program
        self._tables = [
            GlobalArray(f"table of {feature.name}", _aligned(np.ascontiguousarray(table)))
            for feature, table in zip(program.model.features, tables, strict=True)
        ]
        self._kernels = checked_kernels(program)

    def run(self, batch: Batch, mapping: Mapping = None) -> EmulatedRun:
        """Pools a batch that ``check_batch`` accepts with ``indices=False``.

        Raises ``WorkloadError`` for an index out of range.
        """
        program = self.program
        outputs = {
            name: GlobalArray(
                f"{name} outputs",
                # So that what no thread stores shows.
                np.full((batch.size, width), np.nan, TABLE_TYPES[name]),
                writable=True,
            )
            for name, width in program.outputs.widths.items()
        }
        error = GlobalArray("error record", np.zeros(1, ERROR_RECORD), writable=True)
        inputs = self._inputs(batch)
        arguments = GlobalArray(
            "arguments",
            feature_arguments(
                program,
                batch.size,
                batch.counts,
                tables=_addresses(self._tables),
                outputs=_addresses(outputs.values()),
                error=error.address,
                **{name: _addresses(arrays) for name, arrays in inputs.items()},
            ),
        )
        tasks, feature_blocks = self._map(batch, mapping, arguments)
        memory = [*self._tables, *chain(*inputs.values()), *outputs.values(), error]
        statistics = launch(self._kernels, program, arguments, tasks, feature_blocks, memory)
        require_no_error(program.model, error.array)
        return EmulatedRun({name: array.array for name, array in outputs.items()}, statistics)

    def _inputs(self, batch: Batch) -> dict[str, list[GlobalArray]]:
        """Arrays of each feature, by their names in ``feature_arguments``."""
        found: dict[str, list[GlobalArray]] = {
            name: [] for name in ("indices", "offsets", "weights", "workspaces")
        }
        sizes = self.program.workspace_bytes(batch.size, batch.counts.tolist())
        for feature, inputs, size in zip(
            self.program.model.features, batch.features, sizes, strict=True
        ):
            name = feature.name
            weights = np.empty(0, np.float32) if inputs.weights is None else inputs.weights
            workspace = np.zeros(-(-int(size) // 8), np.int64)
            found["indices"].append(GlobalArray(f"indices of {name}", inputs.indices))
            found["offsets"].append(GlobalArray(f"offsets of {name}", inputs.offsets))
            found["weights"].append(GlobalArray(f"weights of {name}", weights))
            found["workspaces"].append(GlobalArray(f"workspace of {name}", workspace, True))
        return found

    def _map(
        self, batch: Batch, mapping: Mapping, arguments: GlobalArray
    ) -> tuple[GlobalArray, GlobalArray]:
        """The tasks of the grid, and the blocks of each feature."""
        counts, threads = self.program.block_counts, self.program.schedules.block_threads
        if not isinstance(mapping, str):
            grid = mapping or map_tasks(counts, batch.size, batch.counts)
            return (
                GlobalArray("tasks", grid.tasks.astype(TASK)),
                GlobalArray("feature blocks", grid.feature_blocks),
            )
        _, blocks = count_blocks(counts, batch.size, batch.counts)
        # No block has these, so that what the kernel does not write shows.
        tasks = GlobalArray("tasks", np.full(blocks, -1, TASK), True)
        feature_blocks = GlobalArray("feature blocks", np.full(len(counts), -1, np.int32), True)
        self._kernels.launch(
            MAP_KERNEL,
            map_blocks(len(counts), threads),
            threads,
            [GlobalArray("block counts", counts), arguments, tasks, feature_blocks],
            shared_bytes=map_shared_bytes(threads),
        )
        return tasks, feature_blocks


def checked_kernels(program: EmbeddingProgram) -> EmulatedKernels:
    """The program's kernels, with checks of indices."""
    defines = {"GNARL_CHECKED": "1"}
    name = program.model.name
    return EmulatedKernels(program.kernel.source, program.include, defines, name=name)


def launch(
    kernels: EmulatedKernels,
    program: EmbeddingProgram,
    arguments: GlobalArray,
    tasks: GlobalArray,
    feature_blocks: GlobalArray,
    memory: Sequence[GlobalArray],
) -> LaunchStatistics:
    """Runs the program's fused kernel, which takes no times.

    ``memory`` is what the arguments have addresses of; the others are the kernel's parameters.
    """
    no_times = GlobalArray("block times", np.empty(0, BLOCK_TIME), True)
    return kernels.launch(
        KERNEL,
        len(tasks.array),
        program.schedules.block_threads,
        [arguments, tasks, feature_blocks, no_times],
        memory=memory,
        shared_bytes=program.kernel.shared_bytes,
    )


def _aligned(table: np.ndarray) -> np.ndarray:
    """As an upload would have it; NumPy's own memory is."""
    return table.copy() if table.ctypes.data % TABLE_ALIGNMENT else table


def _addresses(arrays: Iterable[GlobalArray]) -> list[int]:
    return [array.address for array in arrays]
