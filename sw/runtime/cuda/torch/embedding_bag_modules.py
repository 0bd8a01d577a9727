"""Reads what PyTorch and TorchRec modules look up: ``nn.EmbeddingBag`` and its collections."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.keyed_inputs import type_name
from gnarl.sw.runtime.cuda.torch.quantised_collection import (
    in_output_order,
    is_quantised,
    quantised_table,
    refuse_unlike,
)
from gnarl.sw.workloads.embedding.model import TABLE_TYPES, Feature, PoolingFactors


@dataclass(frozen=True)
class EmbeddingLayer:
    """What modules look up together: arguments of ``FusedEmbeddingBags``.

    tables
        by name.
    features
        in the order of the outputs.
    table_of, key_of
        by feature: the names of its table and of its input.
    include_last_offset
        as in ``InputLayout``.
    sparse
        names of the tables whose gradients are sparse.
    """

    tables: dict[str, torch.Tensor]
    features: list[Feature]
    table_of: dict[str, str]
    key_of: dict[str, str]
    include_last_offset: bool
    sparse: tuple[str, ...]


def read_embedding_bags(
    bags: Mapping[str, torch.nn.Module],
    weighted: Collection[str],
    factors: Mapping[str, PoolingFactors],
    include_last_offset: bool | None = None,
) -> EmbeddingLayer:
    """One feature for each bag, named as it is. ``weighted`` names those called with weights;
    ``include_last_offset`` is that of the bags unless it is given.

    Raises ``WorkloadError`` naming the bag and the option that is not supported.
    """
    for name, option in [("weighted", weighted), ("factors", factors)]:
        for key in option:
            if key not in bags:
                raise WorkloadError(f"{name}: no such bag: {key}")
    features = []
    tables: dict[str, torch.Tensor] = {}
    last = set()
    for name, bag in bags.items():
        if not isinstance(bag, torch.nn.EmbeddingBag):
            raise WorkloadError(f"bag {name}: is {type(bag).__name__}: must be EmbeddingBag")
        refuse_options(f"bag {name}", bag)
        tables[name] = bag.weight
        last.add(bag.include_last_offset)
        own_type = table_type(name, bag.weight)
        features.append(
            Feature(
                name,
                bag.num_embeddings,
                bag.embedding_dim,
                pooling=bag.mode,
                table_type=own_type,
                output_type=own_type,
                weighted=name in weighted,
                factors=factors.get(name, PoolingFactors()),
                padding_idx=bag.padding_idx,
            )
        )
    if include_last_offset is None:
        if len(last) == 2:
            raise WorkloadError(
                "bags: include_last_offset differs between them: must be the same, or given"
            )
        include_last_offset = last == {True}
    names = {name: name for name in bags}
    sparse = tuple(name for name, bag in bags.items() if bag.sparse)
    return EmbeddingLayer(tables, features, names, names, include_last_offset, sparse)


def read_embedding_bag_collection(
    collection: Any, factors: Mapping[str, PoolingFactors]
) -> EmbeddingLayer:
    """One feature for each lookup, in the collection's order, with float32 outputs, or those of a
    quantised collection.

    A feature that several tables have is named ``feature@table``, as TorchRec does. Raises
    ``WorkloadError`` naming the table and what is not supported.
    """
    if not hasattr(collection, "embedding_bag_configs"):
        unpooled = ", which FusedEmbeddings takes" * hasattr(collection, "embedding_configs")
        raise WorkloadError(
            f"collection: is {type(collection).__name__}{unpooled}: must be an "
            "EmbeddingBagCollection"
        )
    configs, output_type = collection.embedding_bag_configs(), "float32"
    quantised = is_quantised(collection)
    if quantised:
        refuse_unlike(collection)
        configs, output_type = in_output_order(configs), type_name(collection.output_dtype())
    keys = [key for config in configs for key in config.feature_names]
    features = []
    tables: dict[str, torch.Tensor] = {}
    table_of: dict[str, str] = {}
    key_of: dict[str, str] = {}
    for config in configs:
        bag = collection.embedding_bags[config.name]
        pooling = config.pooling.value.lower()
        if pooling not in ("sum", "mean"):
            raise WorkloadError(f"table {config.name}: pooling {pooling}: must be sum or mean")
        refuse_options(f"table {config.name}", bag)
        if quantised:
            own_type, table = quantised_table(config.name, config, bag)
        else:
            own_type, table = table_type(config.name, bag.weight), bag.weight
        tables[config.name] = table
        for key in config.feature_names:
            name = output_name(key, config.name, keys)
            table_of[name], key_of[name] = config.name, key
            features.append(
                Feature(
                    name,
                    table.shape[0] if quantised else config.num_embeddings,
                    config.embedding_dim,
                    pooling=pooling,
                    table_type=own_type,
                    output_type=output_type,
                    weighted=collection.is_weighted(),
                    factors=factors.get(name, PoolingFactors()),
                    padding_idx=getattr(bag, "padding_idx", None),
                )
            )
    for name in factors:
        if name not in key_of:
            raise WorkloadError(f"factors: no such feature: {name}")
    sparse = [name for name in tables if getattr(collection.embedding_bags[name], "sparse", False)]
    return EmbeddingLayer(tables, features, table_of, key_of, True, tuple(sparse))


def output_name(key: str, table: str, keys: Sequence[str]) -> str:
    """What TorchRec calls the output of a key, of all ``keys`` that are looked up."""
    return f"{key}@{table}" if keys.count(key) > 1 else key


def refuse_options(name: str, bag: torch.nn.Module) -> None:
    """Refuses options of a bag, called ``name``; other modules need not have all of them."""
    for option, plain, reason in (
        ("max_norm", None, "lookups do not change tables"),
        ("scale_grad_by_freq", False, "gradients are not scaled"),
    ):
        value = getattr(bag, option, plain)
        if value != plain:
            raise WorkloadError(f"{name}: {option} = {value!r}: must be {plain!r}, {reason}")


def table_type(name: str, table: torch.Tensor) -> str:
    """The type of a feature with that table; float32 of float64 ones."""
    found = type_name(torch.float32 if table.dtype == torch.float64 else table.dtype)
    if found not in TABLE_TYPES:
        raise WorkloadError(f"table {name}: is {found}: must be one of {', '.join(TABLE_TYPES)}")
    return found
