"""Reads what TorchRec's ``EmbeddingCollection`` looks up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.embedding_bag_modules import (
    output_name,
    refuse_options,
    table_type,
)
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.workloads.embedding.model import Feature


@dataclass(frozen=True)
class SequenceLayer:
    """Arguments of ``FusedEmbeddings``."""

    tables: dict[str, torch.Tensor]
    features: list[Feature]
    table_of: dict[str, str]
    key_of: dict[str, str]
    sparse: tuple[str, ...]
    need_indices: bool


def read_embedding_collection(collection: Any) -> SequenceLayer:
    """One feature for each lookup, in the collection's order, called as TorchRec calls outputs.

    Raises ``WorkloadError`` naming the table and what is not supported.
    """
    if not hasattr(collection, "embedding_configs"):
        raise WorkloadError(
            f"collection: is {type(collection).__name__}: must be an EmbeddingCollection"
        )
    configs = collection.embedding_configs()
    keys = [key for config in configs for key in config.feature_names]
    layer = SequenceLayer({}, [], {}, {}, _sparse(collection), bool(collection.need_indices()))
    for config in configs:
        embedding = collection.embeddings[config.name]
        refuse_options(f"table {config.name}", embedding)
        if (padding := getattr(embedding, "padding_idx", None)) is not None:
            raise WorkloadError(
                f"table {config.name}: padding_idx = {padding}: must be None, not supported "
                "without pooling"
            )
        found_type = table_type(config.name, embedding.weight)
        layer.tables[config.name] = embedding.weight
        for key in config.feature_names:
            name = output_name(key, config.name, keys)
            layer.table_of[name], layer.key_of[name] = config.name, key
            rows, dim = config.num_embeddings, config.embedding_dim
            layer.features.append(Feature(name, rows, dim, table_type=found_type))
    return layer


def _sparse(collection: Any) -> tuple[str, ...]:
    embeddings = collection.embeddings.items()
    return tuple(name for name, each in embeddings if getattr(each, "sparse", False))
