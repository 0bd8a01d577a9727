"""The argument table of a fused kernel, and the error record that it names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hw.lib.errors import WorkloadError
from sw.compiler.cuda.layouts import FEATURE_ARGUMENTS
from sw.compiler.cuda.program import EmbeddingProgram
from sw.compiler.frontend.embedding_model import TABLE_TYPES, Batch, EmbeddingModel


def feature_arguments(
    program: EmbeddingProgram,
    batch: Batch,
    *,
    tables: Sequence[int],
    indices: Sequence[int],
    offsets: Sequence[int],
    weights: Sequence[int],
    outputs: dict[str, int],
    workspaces: Sequence[int],
    error: int,
) -> np.ndarray:
    """``FEATURE_ARGUMENTS`` [features].

    Addresses are the device's: of each feature's table, indices, offsets, weights (0: none) and
    workspace; of the output buffer of each output type; of the error record.
    """
    features = program.model.features
    layout = program.outputs
    table = np.zeros(len(features), FEATURE_ARGUMENTS)
    table["table"] = tables
    table["indices"] = indices
    table["offsets"] = offsets
    table["weights"] = weights
    table["workspace"] = workspaces
    table["error"] = error
    table["rows"] = [feature.rows for feature in features]
    table["values"] = [len(inputs.indices) for inputs in batch.features]
    table["batch"] = batch.size
    table["feature"] = np.arange(len(features))
    table["output_stride"] = [layout.widths[type] for type in layout.types]
    table["output"] = [
        outputs[feature.output_type] + column * TABLE_TYPES[feature.output_type].itemsize
        for feature, column in zip(features, layout.columns, strict=True)
    ]
    return table


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
