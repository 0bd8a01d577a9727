"""A launch of a fused kernel whose inputs stand packed, one feature after the other.

What does not change from launch to launch is kept, so that a launch costs the host little even with
a thousand features.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hw.lib.errors import WorkloadError
from sw.compiler.cuda.layouts import FEATURE_ARGUMENTS
from sw.compiler.cuda.program import EmbeddingProgram
from sw.compiler.cuda.templates import template
from sw.compiler.cuda.templates.template import Template
from sw.compiler.frontend.embedding_model import INDEX_TYPES, MAXIMUM_BATCH, TABLE_TYPES
from sw.runtime.cuda.task_map import TaskMap, map_tasks

_TABLE_ALIGNMENT = 16
_WORKSPACE_ALIGNMENT = 256


class PackedLaunch:
    """Launches of one program, all of whose features have one index type.

    table_of_feature
        for each feature the number of its table.
    """

    def __init__(self, program: EmbeddingProgram, table_of_feature: Sequence[int]) -> None:
        self._program = program
        self._table_of_feature = np.array(table_of_feature)
        features = program.model.features
        layout = program.outputs
        self._index_bytes = INDEX_TYPES[features[0].index_type].itemsize
        self._weighted = np.array([feature.weighted for feature in features])
        types = list(layout.widths)
        self._output_of_feature = np.array([types.index(type) for type in layout.types])
        self._output_bytes = np.array(layout.columns) * [
            TABLE_TYPES[type].itemsize for type in layout.types
        ]
        self._arguments = np.zeros(len(features), FEATURE_ARGUMENTS)
        self._arguments["rows"] = [feature.rows for feature in features]
        self._arguments["feature"] = np.arange(len(features))
        self._arguments["output_stride"] = [layout.widths[type] for type in layout.types]
        # Most templates need no workspace; asking each feature's at every launch would take long.
        self._with_workspace = [
            number
            for number in range(len(features))
            if type(template(program.schedules.schedule(number).template)).workspace_bytes
            is not Template.workspace_bytes
        ]

    def tasks(self, batch: int, counts: Sequence[int]) -> TaskMap:
        """The grid for so many samples, and values of each feature.

        Raises ``WorkloadError`` for more samples than kernels can count.
        """
        if batch > MAXIMUM_BATCH:
            raise WorkloadError(f"input: has {batch} samples: must be at most {MAXIMUM_BATCH}")
        return map_tasks(self._program.block_counts, batch, np.array(counts, np.int64))

    def workspaces(self, batch: int, counts: Sequence[int]) -> tuple[np.ndarray, int]:
        """int64 [features], where in the workspace each feature's begins; bytes of it all."""
        sizes = np.zeros(len(counts), np.int64)
        schedules = self._program.schedules
        for number in self._with_workspace:
            schedule = schedules.schedule(number)
            sizes[number] = template(schedule.template).workspace_bytes(
                schedule,
                self._program.model.features[number],
                schedules.block_threads,
                batch,
                counts[number],
            )
        ends = np.cumsum(-(-sizes // _WORKSPACE_ALIGNMENT) * _WORKSPACE_ALIGNMENT)
        return np.concatenate([[0], ends[:-1]]), int(ends[-1])

    def arguments(
        self,
        batch: int,
        counts: Sequence[int],
        *,
        tables: Sequence[int],
        values: int,
        offsets: int,
        weights: int,
        outputs: Sequence[int],
        workspaces: np.ndarray,
        error: int = 0,
    ) -> np.ndarray:
        """``FEATURE_ARGUMENTS`` [features].

        Addresses are the device's: of each table; of values, offsets and weights as in
        ``PackedInputs`` (weights 0: none); of the buffer of each output type; of each feature's
        workspace; of the error record of checked kernels. Raises ``WorkloadError`` for a table that
        is not aligned.
        """
        of_feature = np.array(tables, np.uint64)[self._table_of_feature]
        if (skewed := of_feature % np.uint64(_TABLE_ALIGNMENT)).any():
            feature = self._program.model.features[int(np.argmax(skewed != 0))]
            raise WorkloadError(
                f"feature {feature.name}: table begins {int(skewed.max())} bytes past a multiple "
                f"of {_TABLE_ALIGNMENT}: must begin at one, as a clone does"
            )
        begins = np.cumsum(counts, dtype=np.int64) - counts
        found = self._arguments.copy()
        found["table"] = of_feature
        found["indices"] = values + begins * self._index_bytes
        found["offsets"] = offsets + np.arange(len(counts)) * ((batch + 1) * self._index_bytes)
        found["weights"] = np.where(self._weighted, weights + begins * 4, 0)
        found["output"] = np.array(outputs, np.int64)[self._output_of_feature] + self._output_bytes
        found["workspace"] = workspaces
        found["error"] = error
        found["values"] = counts
        found["batch"] = batch
        return found
