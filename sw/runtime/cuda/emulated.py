"""Runs compiled models on the CPU, through the emulation of a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sw.compiler.cuda.fusion import KERNEL
from sw.compiler.cuda.layouts import BLOCK_TIME, ERROR_RECORD, TASK
from sw.compiler.cuda.program import EmbeddingProgram
from sw.compiler.frontend.embedding_model import TABLE_TYPES, Batch
from sw.runtime.cuda.arguments import feature_arguments, require_no_error
from sw.runtime.cuda.emulation import EmulatedKernels, GlobalArray, LaunchStatistics
from sw.runtime.cuda.task_map import TaskMap, map_tasks


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
            GlobalArray(f"table of {feature.name}", np.ascontiguousarray(table))
            for feature, table in zip(program.model.features, tables, strict=True)
        ]
        self._kernels = EmulatedKernels(
            program.kernel.source, program.include, {"GNARL_CHECKED": "1"}, name=program.model.name
        )

    def run(self, batch: Batch, mapping: TaskMap | None = None) -> EmulatedRun:
        """Raises ``WorkloadError`` for an index out of range."""
        program = self.program
        features = program.model.features
        values = np.array([len(inputs.indices) for inputs in batch.features], np.int64)
        if mapping is None:
            mapping = map_tasks(program.block_counts, batch.size, values)
        outputs = {
            name: GlobalArray(
                f"{name} outputs",
                # What no thread stores shall show.
                np.full((batch.size, width), np.nan, TABLE_TYPES[name]),
                writable=True,
            )
            for name, width in program.outputs.widths.items()
        }
        error = GlobalArray("error record", np.zeros(1, ERROR_RECORD), writable=True)
        indices, offsets, weights, workspaces = [], [], [], []
        for feature, inputs, size in zip(
            features, batch.features, program.workspace_bytes(batch), strict=True
        ):
            indices.append(GlobalArray(f"indices of {feature.name}", inputs.indices))
            offsets.append(GlobalArray(f"offsets of {feature.name}", inputs.offsets))
            given = np.empty(0, np.float32) if inputs.weights is None else inputs.weights
            weights.append(GlobalArray(f"weights of {feature.name}", given))
            workspaces.append(
                GlobalArray(
                    f"workspace of {feature.name}", np.zeros(-(-int(size) // 8), np.int64), True
                )
            )
        arguments = GlobalArray(
            "arguments",
            feature_arguments(
                program,
                batch,
                tables=_addresses(self._tables),
                indices=_addresses(indices),
                offsets=_addresses(offsets),
                weights=_addresses(weights),
                outputs={name: _address(array) for name, array in outputs.items()},
                workspaces=_addresses(workspaces),
                error=_address(error),
            ),
        )
        statistics = self._kernels.launch(
            KERNEL,
            len(mapping.tasks),
            program.schedules.block_threads,
            [
                arguments,
                GlobalArray("tasks", mapping.tasks.astype(TASK)),
                GlobalArray("feature blocks", mapping.feature_blocks),
                GlobalArray("block times", np.empty(0, BLOCK_TIME), True),
            ],
            memory=[
                *self._tables,
                *indices,
                *offsets,
                *weights,
                *workspaces,
                *outputs.values(),
                error,
            ],
            shared_bytes=program.kernel.shared_bytes,
        )
        require_no_error(program.model, error.array)
        return EmulatedRun({name: array.array for name, array in outputs.items()}, statistics)


def _address(array: GlobalArray) -> int:
    return array.array.ctypes.data


def _addresses(arrays: Sequence[GlobalArray]) -> list[int]:
    return [_address(array) for array in arrays]
