"""Modules whose tables were converted to another type, as by ``module.to(torch.bfloat16)``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.keyed_inputs import type_name
from gnarl.sw.workloads.embedding.model import TABLE_TYPES, EmbeddingModel

Conversion = Callable[[torch.Tensor], torch.Tensor]


def converted_model(
    model: EmbeddingModel, tables: Sequence[torch.Tensor], outputs_follow: bool
) -> EmbeddingModel:
    """The model with the types of the tables, which are those of the features in order.

    Types that kernels do not have leave it as it is. Outputs of the old table's type become of the
    new one's if ``outputs_follow``.
    """
    features = []
    for feature, table in zip(model.features, tables, strict=True):
        type = type_name(table.dtype)
        if type in TABLE_TYPES and feature.table_type in TABLE_TYPES:
            follows = outputs_follow and feature.output_type == feature.table_type
            output_type = type if follows else feature.output_type
            feature = replace(feature, table_type=type, output_type=output_type)
        features.append(feature)
    return replace(model, features=tuple(features))


def keeping_types(convert: Conversion, kept: Collection[torch.Tensor]) -> Conversion:
    """The conversion, which moves the kept tensors but leaves their types."""
    identities = {id(tensor) for tensor in kept}

    def converted(tensor: torch.Tensor) -> torch.Tensor:
        found = convert(tensor)
        moves_only = id(tensor) in identities and found.dtype != tensor.dtype
        return tensor.to(found.device) if moves_only else found

    return converted
