"""Look-ups of a batch that count for nothing, which are left out before anything is pooled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gnarl.sw.workloads.embedding.data import check_indices, check_vectors
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature, FeatureInputs


def without_tails(model: EmbeddingModel, batch: Batch) -> Batch:
    """The batch without what features have past their last offset, as ``torch.nn.EmbeddingBag``
    ignores it.

    Raises ``WorkloadError`` as ``check_batch`` does for types and for weights that are not one for
    each index; other faults are left to it.
    """
    if len(batch.features) != len(model.features):
        return batch
    trimmed = []
    for feature, inputs in zip(model.features, batch.features, strict=True):
        check_vectors(feature, inputs)
        trimmed.append(_without_tail(inputs))
    return Batch(batch.size, trimmed)


def without_padding(model: EmbeddingModel, batch: Batch) -> Batch:
    """The batch, which ``check_batch`` accepts with ``indices=False``, without the indices that are
    their feature's ``padding_idx``: no sum, no mean's divisor and no maximum has those rows.

    Raises ``WorkloadError`` for an index out of range of a feature that has one.
    """
    if not model.has_padding:
        return batch
    pairs = zip(model.features, batch.features, strict=True)
    return Batch(batch.size, [_without_index(feature, inputs) for feature, inputs in pairs])


def without_pruned(model: EmbeddingModel, batch: Batch) -> Batch:
    """The batch without the indices of pruned rows, which go on counting in means' divisors."""
    if not model.has_pruned:
        return batch
    pairs = zip(model.features, batch.features, strict=True)
    return Batch(
        batch.size,
        [
            replace(_kept(inputs, inputs.indices != -1), divisors=np.diff(inputs.offsets))
            if feature.pruned
            else inputs
            for feature, inputs in pairs
        ],
    )


def _without_tail(inputs: FeatureInputs) -> FeatureInputs:
    end = int(inputs.offsets[-1]) if len(inputs.offsets) else -1
    if not 0 <= end < len(inputs.indices):
        return inputs
    weights = None if inputs.weights is None else inputs.weights[:end]
    return FeatureInputs(inputs.indices[:end], inputs.offsets, weights)


def _without_index(feature: Feature, inputs: FeatureInputs) -> FeatureInputs:
    if feature.padding_idx is None:
        return inputs
    check_indices(feature, inputs)
    return _kept(inputs, inputs.indices != feature.padding_idx)


def _kept(inputs: FeatureInputs, kept: np.ndarray) -> FeatureInputs:
    """The inputs with those of their indices, bool [values]."""
    if kept.all():
        return inputs
    places = np.zeros(len(kept) + 1, inputs.offsets.dtype)
    np.cumsum(kept, out=places[1:])
    weights = None if inputs.weights is None else inputs.weights[kept]
    return FeatureInputs(inputs.indices[kept], places[inputs.offsets], weights)
