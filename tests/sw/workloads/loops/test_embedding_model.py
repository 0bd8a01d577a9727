"""Embedding models as nests: the outputs of the embedding golden model, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.golden.embedding import embedding_bags
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.inputs import bind_model
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature, PoolingFactors
from gnarl.sw.workloads.loops.embedding_model import feature_groups
from gnarl.sw.workloads.loops.ir.binding import bind
from tests.support.errors import refused

RAGGED = PoolingFactors(mean=3, std=2, coverage=0.7)
MODEL = EmbeddingModel(
    "model",
    (
        Feature("sum", 9, 5, factors=RAGGED),
        Feature("mean", 20, 3, "mean", index_type="int32", factors=RAGGED),
        Feature("max", 7, 8, "max", factors=RAGGED),
        Feature("weighted", 9, 4, weighted=True, factors=RAGGED),
        Feature("both", 9, 1, "mean", weighted=True, factors=RAGGED),
        Feature("sum of other rows", 30, 5, index_type="int32", factors=RAGGED),
        Feature("sum of another dimension", 9, 4, factors=RAGGED),
    ),
)


def tensors_of(model: EmbeddingModel, batch: Batch, seed: int = 0) -> dict[str, np.ndarray]:
    return {**bind_model(model, (synthesise_tables(model, seed), batch))}


@pytest.mark.parametrize("size", (1, 6))
def test_all_features(size: int) -> None:
    """Whose synthesised sums are exact, whatever the order."""
    batch = synthesise_batch(MODEL, size, 3)
    tensors = tensors_of(MODEL, batch, 3)
    found = {}
    for group in feature_groups(MODEL, batch):
        binding = bind(group.nest, group.arrays(tensors), group.sizes)
        found |= group.outputs(GoldenLoops(group.nest).run(binding))
    assert {*found} == {feature.name for feature in MODEL.features}
    golden = embedding_bags(MODEL, synthesise_tables(MODEL, 3), batch)
    for feature, wanted in zip(MODEL.features, golden, strict=True):
        output = found[feature.name]
        assert output.dtype == wanted.dtype and output.tobytes() == wanted.tobytes()


def test_groups_are_of_features_that_differ_in_rows_and_look_ups_alone() -> None:
    groups = feature_groups(MODEL, synthesise_batch(MODEL, 2))
    assert [group.name for group in groups] == [
        "sum, dim 5",
        "mean, dim 3",
        "max, dim 8",
        "weighted sum, dim 4",
        "weighted mean, dim 1",
        "sum, dim 4",
    ]
    assert [feature.name for feature in groups[0].features] == ["sum", "sum of other rows"]


def test_more_look_ups_than_a_group_has_room_for() -> None:
    model = EmbeddingModel("model", (Feature("a", 9, 4, factors=PoolingFactors(mean=2)),))
    (group,) = feature_groups(model, synthesise_batch(model, 2))
    assert group.lookups == 4
    tensors = tensors_of(model, synthesise_batch(model, 3))
    with refused("a: 6 look-ups: must be at most 4, for which the program is made"):
        group.arrays(tensors)


@pytest.mark.parametrize("field", ("table_type", "output_type"))
def test_types_that_are_refused(field: str) -> None:
    model = EmbeddingModel("model", (Feature("f", 2, 1, **{field: "float16"}),))  # type: ignore[arg-type]
    with refused(f"feature f: {field} = 'float16': must be float32 in loop nests"):
        feature_groups(model, synthesise_batch(model, 1))
