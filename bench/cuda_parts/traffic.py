"""Bytes that an embedding layer must move, whatever kernel computes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel

INDEX = np.dtype(np.int32)
"""Suffices for rows of all tables, and indices of all batches."""


@dataclass(frozen=True)
class Traffic:
    """Bytes of one batch.

    rows
        of all rows of tables that are looked up, each once.
    look_ups
        of the row of every look-up.
    inputs
        of indices and offsets in the narrowest type that suffices, and of weights.
    outputs
        of pooled rows.
    """

    rows: int
    look_ups: int
    inputs: int
    outputs: int

    @property
    def least(self) -> int:
        """What must move if no cache is warm, and none forgets a row."""
        return self.rows + self.inputs + self.outputs

    @property
    def without_cache(self) -> int:
        """What would move if nothing were kept from one look-up to the next."""
        return self.look_ups + self.inputs + self.outputs


def traffic(model: EmbeddingModel, batch: Batch) -> Traffic:
    """O(rows + indices)."""
    rows = look_ups = outputs = 0
    inputs = INDEX.itemsize  # of the last offset
    for feature, lookups in zip(model.features, batch.features, strict=True):
        row_bytes = feature.row_bytes
        touched = np.zeros(feature.rows, bool)
        touched[lookups.indices] = True
        rows += int(np.count_nonzero(touched)) * row_bytes
        look_ups += len(lookups.indices) * row_bytes
        weights = 0 if lookups.weights is None else lookups.weights.nbytes
        inputs += INDEX.itemsize * (len(lookups.indices) + batch.size) + weights
        outputs += batch.size * feature.output_bytes
    return Traffic(rows, look_ups, inputs, outputs)
