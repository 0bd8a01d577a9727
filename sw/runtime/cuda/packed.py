"""A batch as kernels read it: all features' inputs one after the other, offsets counted from the
first feature's indices on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.workloads.embedding.left_out import without_padding
from gnarl.sw.workloads.embedding.model import Batch

INDEX = np.dtype(np.int32)
"""The type of indices and offsets; half the bytes of what most frameworks have."""
WEIGHT = np.dtype(np.float32)

MAXIMUM_VALUES = 2**31 - 2**16
"""Indices of a batch; kernels look at positions a little past the last."""


@dataclass(frozen=True)
class PackedBatch:
    """What is to be packed, and how large it is.

    values
        int64 [features]: indices of each.
    weighted
        whether any feature is.
    """

    program: EmbeddingProgram
    batch: Batch
    values: np.ndarray
    weighted: bool

    @classmethod
    def of(cls, program: EmbeddingProgram, batch: Batch) -> PackedBatch:
        """The batch is one that ``check_batch`` accepts with ``indices=False``; indices of
        padding are left out.

        Raises ``CapacityError`` for more indices than kernels count.
        """
        batch = without_padding(program.model, batch)
        values = batch.counts
        if (total := int(values.sum())) > MAXIMUM_VALUES:
            raise CapacityError(f"batch of {total:,} indices: must be at most {MAXIMUM_VALUES:,}")
        weighted = any(feature.weighted for feature in program.model.features)
        return cls(program, batch, values, weighted)

    @cached_property
    def begins(self) -> np.ndarray:
        """int64 [features]: where each feature's indices begin."""
        return np.cumsum(self.values) - self.values

    @property
    def indices(self) -> int:
        """The number of indices of all features."""
        return int(self.values.sum())

    @property
    def offsets(self) -> int:
        return len(self.values) * self.batch.size + 1

    def pack_indices(self, target: np.ndarray) -> None:
        """Packs indices into int32 [indices]. Raises ``WorkloadError`` for an index beyond 32
        bits."""
        indices = np.concatenate([inputs.indices for inputs in self.batch.features])
        outside = indices >> 31 != 0 if indices.itemsize > INDEX.itemsize else np.zeros(0, bool)
        if outside.any() and self.program.model.has_pruned:
            pruned = [feature.pruned for feature in self.program.model.features]
            outside &= (indices != -1) | ~np.repeat(pruned, self.values)
        if outside.any():
            at = int(np.argmax(outside))
            number = int(np.searchsorted(self.begins, at, side="right")) - 1
            feature = self.program.model.features[number]
            raise WorkloadError(
                f"indices of {feature.name}[{at - self.begins[number]}] = {indices[at]}: must be "
                f"from {feature.first_index} to {feature.rows - 1}"
            )
        target[:] = indices

    def pack_offsets(self, target: np.ndarray) -> None:
        """Packs offsets into int32 [offsets]."""
        own = np.concatenate([inputs.offsets[:-1] for inputs in self.batch.features])
        target[:-1] = own + np.repeat(self.begins, self.batch.size)
        target[-1] = self.indices

    def pack_weights(self, target: np.ndarray) -> None:
        """Packs weights into float32 [indices]; those of features without weights are left as they
        are."""
        for number, inputs in enumerate(self.batch.features):
            if inputs.weights is not None:
                begin = int(self.begins[number])
                target[begin : begin + len(inputs.weights)] = inputs.weights
