"""Random embedding models and batches that have corners on purpose.

Dimensions of 1, odd ones and those wider than a warp's loads, features of equal kinds, of which
some share a table or have padding, beside those of other types; bags that are empty, long or all in
one sample, or long only as is expected of them; indices that are all the same, the last row, or
pruned; elements and weights that are zeros of both signs, subnormal, or infinite. All finite
numbers are small multiples of one power of two, so that sums are exact in any order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np

from gnarl.sw.workloads.embedding.data import synthesise_tables
from gnarl.sw.workloads.embedding.model import (
    INDEX_TYPES,
    POOLINGS,
    TABLE_TYPES,
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS

MODEL_KINDS = (
    *("one dimension", "odd dimension", "one row", "alike", "several types", "quantised"),
    *("weighted", "mean", "max", "wide rows", "many features", "long bags expected", "pruned"),
    "padded",
)
BATCH_KINDS = (
    *("no samples", "one sample", "no indices", "empty bags", "long bag", "in the last sample"),
    *("one index", "last row", "shared table", "pruned rows", "no row left", "very long bag"),
    *("zeros", "subnormal", "infinite", "weights of zero", "subnormal weights", "infinite weights"),
)
"""What a model, and a batch with tables, may have, by name."""


@dataclass(frozen=True)
class Corner:
    """Tables and a batch for a model, and which of ``BATCH_KINDS`` there are."""

    tables: list[np.ndarray]
    batch: Batch
    kinds: frozenset[str]


_FACTORS = (
    PoolingFactors(),
    PoolingFactors(4, 2),
    PoolingFactors(60, 40, None, 0.3),
    PoolingFactors(300, 100, 500),
    PoolingFactors(5000, 0, 5000),
)


def corner_model(seed: int) -> tuple[EmbeddingModel, frozenset[str]]:
    """The model of a seed, and which of ``MODEL_KINDS`` it has."""
    rng = random.Random(seed)
    features: list[Feature] = []
    kinds = set()
    count = rng.choice((1, 2, 3, 3, 4, 4, 4, 24))
    kinds |= {"many features"} if count > 4 else set()
    for number in range(count):
        if features and rng.random() < 0.3:
            feature = replace(rng.choice(features), name=f"f{number}")
            kinds.add("alike")
        else:
            feature = _feature(rng, f"f{number}")
        features.append(feature)
    for feature in features:
        kinds |= {"one dimension"} if feature.dim == 1 else set()
        kinds |= {"odd dimension"} if feature.dim > 1 and feature.dim % 2 else set()
        kinds |= {"one row"} if feature.rows == 1 else set()
        kinds |= {"quantised"} if feature.rowwise else set()
        kinds |= {"weighted"} if feature.weighted else set()
        kinds |= {feature.pooling} - {"sum"}
        kinds |= {"wide rows"} if feature.dim > 128 else set()
        kinds |= {"long bags expected"} if feature.factors.mean > 100 else set()
        kinds |= {"padded"} if feature.padding_idx is not None else set()
        kinds |= {"pruned"} if feature.pruned else set()
    kinds |= {"several types"} if len({each.table_type for each in features}) > 1 else set()
    return EmbeddingModel("corner", tuple(features)), frozenset(kinds)


def _feature(rng: random.Random, name: str) -> Feature:
    pooling = rng.choice(POOLINGS)
    table = rng.choice((*TABLE_TYPES, *TABLE_TYPES, *ROWWISE_FORMATS))
    dim = rng.choice((1, 1, 2, 3, 4, 5, 7, 8, 16, 31, 33, 64, 100, 127, 130, 256, 1000))
    rows = rng.choice((1, 2, 3, 31, 100, 1000))
    return Feature(
        name,
        rows,
        dim + dim % 2 if table == "int4_rowwise" else dim,
        pooling,
        table,
        rng.choice((*TABLE_TYPES,)),
        rng.choice((*INDEX_TYPES,)),
        pooling != "max" and rng.random() < 0.5,
        rng.choice(_FACTORS),
        padding_idx=rng.choice((None, None, 0, rows - 1)),
        pruned=pooling != "max" and rng.random() < 0.2,
    )


def corner(model: EmbeddingModel, seed: int) -> Corner:
    """The tables and batch of a seed."""
    return _Maker(random.Random(seed)).made(model)


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._noise = np.random.default_rng(rng.getrandbits(32))
        self._kinds: set[str] = set()

    def _chosen(self, *kinds: str) -> str:
        kind = self._rng.choice(kinds)
        self._kinds |= {kind} - {""}
        return kind

    def made(self, model: EmbeddingModel) -> Corner:
        size = self._rng.choice((0, 1, 1, 2, 7, 31, 32, 33, 61, 129))
        self._kinds |= {0: {"no samples"}, 1: {"one sample"}}.get(size, set())
        tables = [self._table(feature) for feature in model.features]
        for place, feature in enumerate(model.features):
            first = next(at for at, each in enumerate(model.features) if _same_table(each, feature))
            if first < place and self._rng.random() < 0.5:
                tables[place] = tables[first]
                self._kinds.add("shared table")
        inputs = [self._inputs(feature, size) for feature in model.features]
        return Corner(tables, Batch(size, inputs), frozenset(self._kinds))

    def _table(self, feature: Feature) -> np.ndarray:
        if feature.rowwise:
            seed = self._rng.randrange(99)
            return synthesise_tables(EmbeddingModel("", (feature,)), seed)[0]
        kind = self._chosen("", "", "zeros", "subnormal", "infinite")
        shape = (feature.rows, feature.dim)
        numbers = self._noise.integers(-32, 33, shape) / 32
        dtype = TABLE_TYPES[feature.table_type]
        if kind == "zeros":
            numbers = self._noise.choice((0.0, -0.0, -0.0, 1.0), shape)
        elif kind == "subnormal":
            least = {"float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
            numbers = self._noise.integers(-3, 4, shape) * least[feature.table_type]
        elif kind == "infinite":
            odd = self._noise.random(shape) < 0.1
            numbers = np.where(odd, self._noise.choice((np.inf, -np.inf, np.inf), shape), numbers)
        return numbers.astype(dtype)

    def _lengths(self, size: int) -> np.ndarray:
        noise = self._noise
        kind = self._chosen(
            *("no indices", "empty bags", "long bag", "very long bag", "in the last sample", "", "")
        )
        lengths = np.zeros(size, np.int64)
        if kind == "in the last sample":
            lengths[-1:] = noise.integers(1, 70)
        elif kind != "no indices":
            lengths = noise.integers(0, 5, size)
        if kind == "empty bags":
            lengths *= noise.random(size) < 0.3
        if kind == "long bag" and size:
            lengths[noise.integers(size)] = noise.integers(100, 600)
        if kind == "very long bag" and size:
            lengths[noise.integers(size)] = noise.integers(3000, 8000)
        return lengths

    def _inputs(self, feature: Feature, size: int) -> FeatureInputs:
        dtype = INDEX_TYPES[feature.index_type]
        offsets = np.concatenate([[0], np.cumsum(self._lengths(size))]).astype(dtype)
        count = int(offsets[-1])
        kind = self._chosen("", "", "one index", "last row")
        indices = self._noise.integers(0, feature.rows, count)
        if kind == "one index":
            indices[:] = self._noise.integers(feature.rows)
        elif kind == "last row":
            indices[:] = feature.rows - 1
        if feature.pruned:
            kind = self._chosen("", "pruned rows", "no row left")
            indices[
                self._noise.random(count) < {"": 0, "pruned rows": 0.3, "no row left": 1}[kind]
            ] = -1
        weights = self._weights(count) if feature.weighted else None
        return FeatureInputs(indices.astype(dtype), offsets, weights)

    def _weights(self, count: int) -> np.ndarray:
        noise = self._noise
        kind = self._chosen("", "weights of zero", "subnormal weights", "infinite weights")
        weights = noise.integers(1, 9, count) / 4
        if kind == "weights of zero":
            weights = noise.choice((0.0, -0.0, 1.0, -1.0), count)
        elif kind == "subnormal weights":
            weights = noise.integers(-3, 4, count) * 2.0**-149
        elif kind == "infinite weights":
            odd = noise.random(count) < 0.1
            weights = np.where(odd, noise.choice((np.inf, -np.inf, np.nan), count), weights)
        return weights.astype(np.float32)


def _same_table(one: Feature, other: Feature) -> bool:
    return (one.table_shape, one.table_type) == (other.table_shape, other.table_type)
