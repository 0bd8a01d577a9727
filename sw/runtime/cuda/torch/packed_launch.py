"""A launch of a fused kernel whose inputs stand packed, one feature after the other.

What does not change from launch to launch is kept, so that a launch costs the host little even with
a thousand features.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hw.lib.errors import WorkloadError
from sw.compiler.cuda.program import EmbeddingProgram
from sw.runtime.cuda.arguments import TABLE_ALIGNMENT, feature_arguments
from sw.runtime.cuda.memory_layout import places
from sw.runtime.cuda.task_map import TaskMap, map_tasks
from sw.workloads.embedding.model import INDEX_TYPES, MAXIMUM_BATCH


class PackedLaunch:
    """Launches of one program, all of whose features have one index type.

    table_of_feature
        for each feature the number of its table.
    """

    def __init__(self, program: EmbeddingProgram, table_of_feature: Sequence[int]) -> None:
        self._program = program
        self._table_of_feature = np.array(table_of_feature)
        features = program.model.features
        self._index_bytes = INDEX_TYPES[features[0].index_type].itemsize
        self._weighted = np.array([feature.weighted for feature in features])

    def tasks(self, batch: int, counts: Sequence[int]) -> TaskMap:
        """The grid for so many samples, and values of each feature.

        Raises ``WorkloadError`` for more samples than kernels can count.
        """
        if batch > MAXIMUM_BATCH:
            raise WorkloadError(f"input: has {batch} samples: must be at most {MAXIMUM_BATCH}")
        return map_tasks(self._program.block_counts, batch, np.array(counts, np.int64))

    def workspaces(self, batch: int, counts: Sequence[int]) -> tuple[np.ndarray, int]:
        """int64 [features], where in the workspace each feature's begins; bytes of it all."""
        return places(self._program.workspace_bytes(batch, counts))

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
        if (skewed := of_feature % np.uint64(TABLE_ALIGNMENT)).any():
            feature = self._program.model.features[int(np.argmax(skewed != 0))]
            raise WorkloadError(
                f"feature {feature.name}: table begins {int(skewed.max())} bytes past a multiple "
                f"of {TABLE_ALIGNMENT}: must be aligned, as a clone is"
            )
        begins = np.cumsum(counts, dtype=np.int64) - counts
        return feature_arguments(
            self._program,
            batch,
            counts,
            tables=of_feature,
            indices=values + begins * self._index_bytes,
            offsets=offsets + np.arange(len(counts)) * ((batch + 1) * self._index_bytes),
            weights=np.where(self._weighted, weights + begins * 4, 0),
            outputs=outputs,
            workspaces=workspaces,
            error=error,
        )
