"""Embedding layers in PyTorch for tests, and objects that do as TorchRec's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from typing import Any

import ml_dtypes
import numpy as np
import torch

from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates import template, templates
from gnarl.sw.runtime.cuda.torch.embedding_bag_modules import (
    read_embedding_bag_collection,
    read_embedding_bags,
)
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature

torch.set_num_threads(1)  # more would spin while other tests need the cores


def names_of(workers: str) -> list[str]:
    """Of all templates with such workers."""
    return [name for name, kind in templates().items() if kind.workers == workers]


def schedules_of(
    features: Sequence[Feature], names: Sequence[str] = ("one_hot",), block_threads: int = 128
) -> ScheduleSet:
    """Feature ``n`` has the last candidate of the ``n``-th template, if that has any."""
    model = EmbeddingModel("", tuple(features))
    chosen: list[Schedule] = []
    for number, feature in enumerate(features):
        kind = template(names[number % len(names)])
        found = list(kind.candidates(feature, block_threads))
        found = found or list(template("one_hot").candidates(feature, block_threads))
        chosen.append(found[-1])
    distinct = tuple(dict.fromkeys(chosen))
    numbers = tuple(distinct.index(schedule) for schedule in chosen)
    return ScheduleSet(model.digest, "sm_90", block_threads, 1, distinct, numbers, "a test")


def fused(
    tables: Any, features: Sequence[Feature], names: Sequence[str] = ("one_hot",), **options: Any
) -> FusedEmbeddingBags:
    """With ``schedules_of`` the features."""
    return FusedEmbeddingBags(tables, features, schedules_of(features, names), **options)


def fused_bags(bags: Any, weighted: Sequence[str] = (), **options: Any) -> FusedEmbeddingBags:
    layer = read_embedding_bags(
        dict(bags.items()), weighted, {}, options.get("include_last_offset")
    )
    schedules = schedules_of(layer.features)
    return FusedEmbeddingBags.from_embedding_bags(bags, schedules, weighted=weighted, **options)


def fused_collection(collection: Any, **options: Any) -> FusedEmbeddingBags:
    layer = read_embedding_bag_collection(collection, {})
    schedules = schedules_of(layer.features)
    return FusedEmbeddingBags.from_embedding_bag_collection(collection, schedules, **options)


def inputs_of(
    model: EmbeddingModel, batch: Batch
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Values, offsets and weights by feature."""
    pairs = list(zip(model.features, batch.features, strict=True))
    return (
        {feature.name: from_array(inputs.indices) for feature, inputs in pairs},
        {feature.name: from_array(inputs.offsets) for feature, inputs in pairs},
        {
            feature.name: from_array(inputs.weights)
            for feature, inputs in pairs
            if inputs.weights is not None
        },
    )


def dyadic(rng: np.random.Generator, *shape: int) -> torch.Tensor:
    """Multiples of 1/32 from -1 to 1: sums of a few of their products are exact in any order."""
    return torch.from_numpy(rng.integers(-32, 33, shape).astype(np.float32) / 32)


@dataclass
class JaggedInputs:
    """Does as TorchRec's ``KeyedJaggedTensor``: feature-major, lengths [keys * batch]."""

    names: list[str]
    flat: torch.Tensor
    sizes: torch.Tensor
    given_weights: torch.Tensor | None = None

    @classmethod
    def of(cls, bags: dict[str, list[list[int]]], weighted: bool = False) -> JaggedInputs:
        """From each key's samples; weights are 1/4, 2/4, 3/4, …."""
        flat = [index for samples in bags.values() for bag in samples for index in bag]
        sizes = [len(bag) for samples in bags.values() for bag in samples]
        weights = torch.arange(1, len(flat) + 1) / 4 if weighted else None
        return cls(
            list(bags),
            torch.tensor(flat, dtype=torch.int64),
            torch.tensor(sizes, dtype=torch.int32),
            weights,
        )

    def keys(self) -> list[str]:
        return self.names

    def values(self) -> torch.Tensor:
        return self.flat

    def lengths(self) -> torch.Tensor:
        return self.sizes

    def weights_or_none(self) -> torch.Tensor | None:
        return self.given_weights

    def length_per_key(self) -> list[int]:
        return self.sizes.view(len(self.names), -1).sum(1).tolist()

    def of_key(self, key: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Its values, offsets [batch + 1] and weights."""
        number = self.names.index(key)
        begins = [0, *accumulate(self.length_per_key())]
        span = slice(begins[number], begins[number + 1])
        sizes = self.sizes.view(len(self.names), -1)[number].long()
        weights = None if self.given_weights is None else self.given_weights[span]
        return self.flat[span], torch.nn.functional.pad(sizes.cumsum(0), (1, 0)), weights


@dataclass
class VaryingInputs(JaggedInputs):
    """Does as a ``KeyedJaggedTensor`` of ``stride_per_key_per_rank``."""

    strides: list[int] = field(default_factory=list)
    inverse: tuple[list[str], torch.Tensor] | None = None

    def variable_stride_per_key(self) -> bool:
        return bool(self.strides)

    def stride_per_key(self) -> list[int]:
        return self.strides

    def inverse_indices_or_none(self) -> tuple[list[str], torch.Tensor] | None:
        return self.inverse

    def length_per_key(self) -> list[int]:
        return [int(part.sum()) for part in self.sizes.split(self.strides)]


class PoolingType(Enum):
    """As in TorchRec."""

    SUM = "SUM"
    MEAN = "MEAN"
    NONE = "NONE"


@dataclass
class BagConfig:
    """The fields of TorchRec's ``EmbeddingBagConfig`` that are read."""

    name: str
    num_embeddings: int
    embedding_dim: int
    feature_names: list[str] = field(default_factory=list)
    pooling: PoolingType = PoolingType.SUM


CONFIGS = [
    BagConfig("t", 10, 8, ["x"]),
    BagConfig("u", 20, 4, ["y", "x"], PoolingType.MEAN),
    BagConfig("v", 5, 6, ["z"]),
]
"""Of a collection in which feature x has two tables, and table u two features."""


class BagCollection(torch.nn.Module):
    """Does as TorchRec's ``EmbeddingBagCollection``."""

    def __init__(
        self, configs: list[BagConfig], weighted: bool = False, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        self._configs, self._weighted = configs, weighted
        self.embedding_bags = torch.nn.ModuleDict(
            {
                config.name: torch.nn.EmbeddingBag(
                    config.num_embeddings,
                    config.embedding_dim,
                    mode="mean" if config.pooling == PoolingType.MEAN else "sum",
                    include_last_offset=True,
                    dtype=dtype,
                )
                for config in configs
            }
        )

    def embedding_bag_configs(self) -> list[BagConfig]:
        return self._configs

    def is_weighted(self) -> bool:
        return self._weighted

    def forward(self, features: JaggedInputs) -> torch.Tensor:
        """The values of the keyed tensor that TorchRec returns."""
        pooled = []
        for config in self._configs:
            for key in config.feature_names:
                values, offsets, weights = features.of_key(key)
                weights = weights if self._weighted else None
                bag = self.embedding_bags[config.name]
                pooled.append(bag(values, offsets, per_sample_weights=weights).float())
        return torch.cat(pooled, dim=1)


def from_array(array: np.ndarray) -> torch.Tensor:
    """A tensor of the CPU, bfloat16 included, without a copy."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
