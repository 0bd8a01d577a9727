"""What is known of bags: of truncated normal distributions and of batches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import truncnorm

from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.model import (
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from gnarl.sw.workloads.embedding.statistics import (
    FeatureStatistics,
    from_batches,
    from_factors,
)
from gnarl.sw.workloads.embedding.truncated_normal import TruncatedNormal


@pytest.mark.parametrize(
    ("mean", "std", "low", "high"),
    [
        (10, 10, 0, 50),
        (100, 50, 0, 600),
        (0, 2, 0, 1),
        (70, 2, 0, 10),
        (5, 1e6, 0, 10),
        (9, 1, 8, 9),
    ],
)
def test_truncated_normal_distributions_are_scipys(
    mean: float, std: float, low: float, high: float
) -> None:
    normal = TruncatedNormal(mean, std, low, high)
    reference = truncnorm((low - mean) / std, (high - mean) / std, loc=mean, scale=std)
    values = np.linspace(low - 1, high + 1, 101)
    np.testing.assert_allclose(
        normal.probability_below(values), reference.cdf(values), rtol=1e-6, atol=1e-9
    )
    shares = np.linspace(0, 1, 101)
    np.testing.assert_allclose(normal.quantiles(shares), reference.ppf(shares), atol=1e-7 * high)


def test_fixed_pooling_factors() -> None:
    assert from_factors(PoolingFactors(50)) == FeatureStatistics(50, 0, 50, 1)
    half = from_factors(PoolingFactors(50, coverage=0.5))
    assert half == FeatureStatistics(25, 25, 50, 0.5)
    assert from_factors(PoolingFactors(coverage=0)) == FeatureStatistics(0, 0, 0, 0)
    assert from_factors(PoolingFactors(0)) == FeatureStatistics(0, 0, 0, 0)


def test_a_distribution_by_hand() -> None:
    """Almost uniform on 0 .. 4: bags of 0, 1, 2 and 3."""
    statistics = from_factors(PoolingFactors(2, 1e5, 4))
    assert statistics.mean == pytest.approx(1.5)
    assert statistics.std == pytest.approx(math.sqrt(1.25))
    assert statistics.longest == 3
    assert statistics.coverage == pytest.approx(0.75)


def test_long_bags_are_those_of_one_sample_in_512() -> None:
    # 0.3 of the samples have a normal distribution whose upper 1/512/0.3 begins 2.48 above.
    statistics = from_factors(PoolingFactors(1000, 10, coverage=0.3))
    assert statistics.longest == 1000 + math.floor(10 * 2.4832)
    # So rare a feature is in no batch.
    assert from_factors(PoolingFactors(1000, coverage=1 / 600)).longest == 0


def test_batches_by_hand() -> None:
    model = EmbeddingModel("m", (Feature("a", 9, 4), Feature("b", 9, 4, index_type="int32")))

    def inputs(lengths: list[int], type: type) -> FeatureInputs:
        offsets = np.cumsum([0, *lengths]).astype(type)
        return FeatureInputs(np.zeros(sum(lengths), type), offsets)

    batches = [
        Batch(3, [inputs([0, 1, 2], np.int64), inputs([5, 5, 5], np.int32)]),
        Batch(1, [inputs([5], np.int64), inputs([5], np.int32)]),
        Batch(0, [inputs([], np.int64), inputs([], np.int32)]),
    ]
    assert from_batches(model, batches) == [
        FeatureStatistics(2, math.sqrt(3.5), 5, 0.75),
        FeatureStatistics(5, 0, 5, 1),
    ]
    assert from_batches(model, []) == [FeatureStatistics(0, 0, 0, 0)] * 2
    assert from_batches(model, batches[2:]) == [FeatureStatistics(0, 0, 0, 0)] * 2


@pytest.mark.parametrize(
    "factors",
    [
        PoolingFactors(),
        PoolingFactors(10, 10, 50, 0.8),
        PoolingFactors(100, 50, None, 0.5),
        PoolingFactors(20, coverage=0.9),
    ],
)
def test_batches_have_what_their_factors_say(factors: PoolingFactors) -> None:
    """Five standard errors; quantiles of 1/512 are less sure."""
    model = EmbeddingModel("m", (Feature("a", 9, 1, factors=factors),))
    count, size = 20, 512
    batches = [synthesise_batch(model, size, seed=1, number=number) for number in range(count)]
    (seen,) = from_batches(model, batches)
    expected = from_factors(factors)
    error = expected.std / math.sqrt(count * size)
    assert abs(seen.mean - expected.mean) <= 5 * error
    assert abs(seen.std - expected.std) <= 0.05 * expected.std
    assert abs(seen.coverage - expected.coverage) <= 5 * 0.5 / math.sqrt(count * size)
    assert abs(seen.longest - expected.longest) <= 0.1 * expected.longest


@pytest.mark.parametrize("mean", [1.5, 10.5, 200.25])
def test_narrow_distributions_between_whole_numbers(mean: float) -> None:
    found = from_factors(PoolingFactors(mean, 0.0078125))
    assert (found.mean, found.longest, found.coverage) == (int(mean), int(mean), 1.0)
