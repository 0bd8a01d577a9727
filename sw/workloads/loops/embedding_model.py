"""Embedding models as loop nests: all features in one nest, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hw.lib.errors import WorkloadError
from sw.workloads.embedding.data import check_batch, check_tables
from sw.workloads.embedding.model import Batch, EmbeddingModel, Feature
from sw.workloads.loops.names import name_problem
from sw.workloads.loops.nest import Array, Nest, Scalar, Size, Statement
from sw.workloads.loops.operations.embedding_bag import (
    embedding_bag_max,
    embedding_bag_mean,
    embedding_bag_sum,
    embedding_bag_weighted,
    embedding_bag_weighted_mean,
)
from sw.workloads.loops.rename import renamed
from sw.workloads.loops.workload import LoopWorkload

_NESTS = {
    ("sum", False): embedding_bag_sum,
    ("mean", False): embedding_bag_mean,
    ("max", False): embedding_bag_max,
    ("sum", True): embedding_bag_weighted,
    ("mean", True): embedding_bag_weighted_mean,
}
"""By pooling, and whether it is weighted."""

_SHARED = "bags"
"""The size that all features have in common."""


def model_nest(model: EmbeddingModel) -> Nest:
    """A nest with sizes and parameters ``FEATURE_table``, ``FEATURE_out`` and so on.

    Features are called ``feature0`` and so on where a name among theirs cannot be a variable's.
    Raises ``WorkloadError`` naming a feature whose types are not float32.
    """
    sizes: dict[str, Size] = {}
    parameters: list[Array | Scalar] = []
    body: list[Statement] = []
    for feature, prefix in zip(model.features, _prefixes(model), strict=True):
        for field in ("table_type", "output_type"):
            if getattr(feature, field) != "float32":
                raise WorkloadError(
                    f"feature {feature.name}: {field} = {getattr(feature, field)!r}: must be "
                    "float32 in loop nests"
                )
        nest = _nest(feature)
        own = [size.name for size in nest.sizes if size.name != _SHARED]
        own += [parameter.name for parameter in nest.parameters]
        nest = renamed(nest, {name: f"{prefix}_{name}" for name in own})
        sizes.update((size.name, size) for size in nest.sizes)
        parameters += nest.parameters
        body += nest.body
    place = _nest(model.features[0]).place
    return Nest("embedding_model", tuple(sizes.values()), tuple(parameters), tuple(body), place)


def model_workload(
    name: str, model: EmbeddingModel, tables: Sequence[np.ndarray], batch: Batch
) -> LoopWorkload:
    """A batch of the model. Raises ``WorkloadError`` as ``model_nest``, and for tables and batches
    that do not fit the model."""
    nest = model_nest(model)
    check_tables(model, tables)
    check_batch(model, batch)
    inputs: dict[str, np.ndarray] = {}
    for prefix, table, given in zip(_prefixes(model), tables, batch.features, strict=True):
        inputs[f"{prefix}_table"] = table
        inputs[f"{prefix}_indices"] = given.indices
        inputs[f"{prefix}_offsets"] = given.offsets
        if given.weights is not None:
            inputs[f"{prefix}_weights"] = given.weights
    return LoopWorkload(name, nest, inputs)


def _prefixes(model: EmbeddingModel) -> list[str]:
    names = [feature.name for feature in model.features]
    if any(name_problem(f"{name}_out") for name in names):
        return [f"feature{at}" for at in range(len(names))]
    return names


def _nest(feature: Feature) -> Nest:
    return _NESTS[feature.pooling, feature.weighted]
