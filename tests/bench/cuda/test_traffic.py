"""What any kernel must move, and the least time that it takes."""

from __future__ import annotations

import numpy as np
import pytest

from bench.cuda_parts.contenders import equal
from bench.cuda_parts.limits import Limits
from bench.cuda_parts.measure import multi_hot_share
from bench.cuda_parts.traffic import Traffic, traffic
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.model import (
    TABLE_TYPES,
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)


def brute_force(model: EmbeddingModel, batch: Batch) -> Traffic:
    """Row by row."""
    rows = look_ups = inputs = outputs = 0
    for feature, given in zip(model.features, batch.features, strict=True):
        row = feature.dim * TABLE_TYPES[feature.table_type].itemsize
        rows += len({int(index) for index in given.indices}) * row
        for _ in given.indices:
            look_ups += row
            inputs += 4 + (4 if feature.weighted else 0)
        inputs += 4 * batch.size
        outputs += batch.size * feature.dim * TABLE_TYPES[feature.output_type].itemsize
    return Traffic(rows, look_ups, inputs + 4, outputs)


@pytest.mark.parametrize("size", [0, 1, 40])
def test_bytes_that_must_move(size: int):
    model = EmbeddingModel(
        "m",
        (
            Feature("a", 10, 4, factors=PoolingFactors(3, 2)),
            Feature("b", 1000, 3, "mean", "float16", "float32", "int32", True, PoolingFactors(2)),
            Feature("c", 7, 16, "max", "bfloat16", "bfloat16", factors=PoolingFactors(0)),
        ),
    )
    batch = synthesise_batch(model, size, 11)
    found = traffic(model, batch)
    assert found == brute_force(model, batch)
    assert found.least == found.rows + found.inputs + found.outputs
    assert found.without_cache == found.look_ups + found.inputs + found.outputs


def test_a_row_looked_up_twice_moves_once():
    model = EmbeddingModel("m", (Feature("a", 9, 2),))
    indices = np.array([3, 3, 4])
    batch = Batch(2, [FeatureInputs(indices, np.array([0, 2, 3]))])
    assert traffic(model, batch) == Traffic(rows=16, look_ups=24, inputs=24, outputs=16)


def test_bits_are_compared():
    one = [np.array([[0.0, 1.0]], np.float32)]
    assert equal(one, [np.array([[0.0, 1.0]], np.float32)])
    assert not equal(one, [np.array([[-0.0, 1.0]], np.float32)])
    assert not equal(one, [np.array([[0.0], [1.0]], np.float32)])


def test_the_share_of_multi_hot_features():
    of = [PoolingFactors(), PoolingFactors(coverage=0.5), PoolingFactors(3), PoolingFactors(1, 2)]
    features = tuple(Feature(f"f{at}", 9, 4, factors=each) for at, each in enumerate(of))
    assert multi_hot_share(EmbeddingModel("m", features)) == 0.5


def test_the_bound_is_of_memory_or_of_l2_and_of_a_launch():
    limits = Limits(memory=1e9, l2=4e9, empty_ms=0.5)
    few = Traffic(rows=10**6, look_ups=10**6, inputs=5 * 10**5, outputs=5 * 10**5)
    assert limits.bound_ms(few) == pytest.approx(0.5 + 2.0)
    many = Traffic(rows=10**6, look_ups=19 * 10**6, inputs=5 * 10**5, outputs=5 * 10**5)
    assert limits.bound_ms(many) == pytest.approx(0.5 + 5.0)
