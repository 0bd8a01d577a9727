"""The argument table of a fused kernel, and the error record that it names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hw.lib.errors import WorkloadError
from sw.compiler.cuda.program import EmbeddingProgram
from sw.workloads.embedding.model import EmbeddingModel

TABLE_ALIGNMENT = 16
"""Of tables, bytes: rows are loaded in vectors of as many."""


def feature_arguments(
    program: EmbeddingProgram,
    batch: int,
    counts: Sequence[int] | np.ndarray,
    *,
    tables: Sequence[int] | np.ndarray,
    indices: Sequence[int] | np.ndarray,
    offsets: Sequence[int] | np.ndarray,
    weights: Sequence[int] | np.ndarray,
    outputs: Sequence[int],
    workspaces: Sequence[int] | np.ndarray,
    error: int,
) -> np.ndarray:
    """``FEATURE_ARGUMENTS`` [features] for so many samples, and values of each feature.

    Addresses are the device's: of each feature's table, indices, offsets, weights (0: none) and
    workspace; of each output buffer, in the order of ``program.outputs.widths``; of the error
    record of checked kernels.
    """
    found = program.arguments.copy()
    found["table"] = tables
    found["indices"] = indices
    found["offsets"] = offsets
    found["weights"] = weights
    found["workspace"] = workspaces
    found["output"] += np.array(outputs, np.uint64)[program.buffer_of_feature]
    found["error"] = error
    found["values"] = counts
    found["batch"] = batch
    return found


def require_no_error(model: EmbeddingModel, records: np.ndarray) -> None:
    """Raises ``WorkloadError`` for the index that a checked kernel noted.

    ``records``: ``ERROR_RECORD`` [1].
    """
    record = records[0]
    if record["state"]:
        feature = model.features[int(record["feature"])]
        raise WorkloadError(
            f"indices of {feature.name}[{record['position']}] = {record['index']}: "
            f"must be from 0 to {feature.rows - 1}"
        )
