"""Indices of padding, which packed inputs are given without."""

from __future__ import annotations

from dataclasses import replace

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.bag_bounds import check_packed_offsets
from gnarl.sw.runtime.cuda.torch.compaction import kept_first, reordered
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.keyed_inputs import PackedInputs
from gnarl.sw.workloads.embedding.model import EmbeddingModel

_NONE = -(2**31)
"""Index of padding of features without; no index that is looked up."""


def padding_rows(model: EmbeddingModel) -> torch.Tensor:
    """int64 [features]: each one's index of padding."""
    found = [feature.padding_idx for feature in model.features]
    return torch.tensor([_NONE if row is None else row for row in found])


def without_padding(
    model: EmbeddingModel, inputs: PackedInputs, padding: torch.Tensor
) -> PackedInputs:
    """The inputs with each feature's bags without its index of padding, and weights beside them;
    what is left out is past the last offset. A GPU is not waited for.

    ``padding``: of ``padding_rows``. On the CPU raises ``WorkloadError`` for bad offsets, and for
    an index out of range of a feature with padding.
    """
    values, offsets, features = inputs.values, inputs.offsets, len(model.features)
    batch = (offsets.shape[0] - 1) // features
    if not batch:
        return inputs
    checks = values.device.type == "cpu" and not torch.compiler.is_compiling()
    if checks:
        check_packed_offsets(offsets, values.shape[0])
    ends = offsets[1:].view(features, batch)[:, -1].contiguous()
    steps = torch.arange(values.shape[0], dtype=ends.dtype, device=ends.device)
    feature = torch.searchsorted(ends, steps, right=True).clamp(max=features - 1)
    if checks:
        _check_indices(model, inputs, feature)
    kept = values != padding.to(values.device)[feature]
    order = kept_first(kept)
    places = torch.nn.functional.pad(kept.cumsum(0), (1, 0)).to(offsets.dtype)
    weights = None if inputs.weights is None else reordered(inputs.weights, order)
    return replace(inputs, values=values[order], offsets=places[offsets], weights=weights)


def _check_indices(model: EmbeddingModel, inputs: PackedInputs, feature: torch.Tensor) -> None:
    """Errors of kernels would name places among what is left."""
    count = int(inputs.offsets[-1])
    values, feature = inputs.values[:count], feature[:count]
    rows = torch.tensor([each.rows for each in model.features])
    padded = torch.tensor([each.padding_idx is not None for each in model.features])
    least = torch.tensor([each.first_index for each in model.features])
    wrong = padded[feature] & ((values < least[feature]) | (values >= rows[feature]))
    if wrong.any():
        at = int(wrong.int().argmax())
        number = int(feature[at])
        first = int((feature == number).int().argmax())
        named = model.features[number]
        raise WorkloadError(
            f"indices of {named.name}[{at - first}] = {values[at]}: must be from "
            f"{named.first_index} to {named.rows - 1}"
        )
