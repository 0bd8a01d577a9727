"""Embedding models as one nest: the outputs of the embedding golden model, bit for bit."""

from __future__ import annotations

import pytest

from sw.golden import loops
from sw.golden.embedding import embedding_bags
from sw.golden.loops import GoldenLoops
from sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors
from sw.workloads.loops.embedding_model import model_nest, model_workload
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
    ),
)


@pytest.mark.parametrize("size", (1, 6))
def test_all_features(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose synthesised sums are exact, whatever the order."""
    monkeypatch.setattr(loops, "njit", lambda **options: lambda function: function)
    tables, batch = synthesise_tables(MODEL, 3), synthesise_batch(MODEL, size, 3)
    workload = model_workload("model", MODEL, tables, batch)
    found = GoldenLoops(workload.nest).run(workload.binding)
    assert [*found] == [f"{feature.name}_out" for feature in MODEL.features]
    for output, wanted in zip(found.values(), embedding_bags(MODEL, tables, batch), strict=True):
        assert output.dtype == wanted.dtype and output.tobytes() == wanted.tobytes()


def test_names_of_features_that_no_variable_may_have() -> None:
    model = EmbeddingModel("model", (Feature("user id", 2, 1), Feature("feature0", 2, 1)))
    assert model_nest(model).results == ("feature0_out", "feature1_out")


def test_sizes_are_of_each_feature_but_for_the_batch() -> None:
    sizes = [size.name for size in model_nest(MODEL).sizes]
    assert sizes[:5] == ["sum_rows", "sum_dim", "sum_lookups", "bags", "mean_rows"]


@pytest.mark.parametrize("field", ("table_type", "output_type"))
def test_types_that_are_refused(field: str) -> None:
    model = EmbeddingModel("model", (Feature("f", 2, 1, **{field: "float16"}),))  # type: ignore[arg-type]
    with refused(f"feature f: {field} = 'float16': must be float32 in loop nests"):
        model_nest(model)
