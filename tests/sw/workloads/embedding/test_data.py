"""Synthesised tables and batches, and the check of batches."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.embedding.data import (
    bag_lengths,
    batch_sizes,
    check_batch,
    check_tables,
    past_batches,
    popularities,
    synthesise_batch,
    synthesise_tables,
)
from gnarl.sw.workloads.embedding.model import (
    TABLE_TYPES,
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS
from gnarl.sw.workloads.embedding.statistics import from_factors
from tests.support.errors import refused

MODEL = EmbeddingModel(
    "m",
    (
        Feature("a", 1000, 4, factors=PoolingFactors(10, 10, 50, 0.8)),
        Feature("b", 24, 3, index_type="int32", table_type="float16", weighted=True),
        Feature("c", 9, 16, "max", "bfloat16", factors=PoolingFactors(7, coverage=0.5)),
        Feature("d", 9, 1, factors=PoolingFactors(coverage=0)),
    ),
)


def same(one: FeatureInputs, other: FeatureInputs) -> bool:
    pairs = [(one.indices, other.indices), (one.offsets, other.offsets)]
    if one.weights is not None or other.weights is not None:
        pairs.append((one.weights, other.weights))  # type: ignore[arg-type]
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def lengths(inputs: FeatureInputs) -> np.ndarray:
    return np.diff(inputs.offsets)


def feature(**fields: Any) -> EmbeddingModel:
    return EmbeddingModel("m", (replace(Feature("a", 100, 1), **fields),))


# Values.


@pytest.mark.parametrize("table_type", sorted(TABLE_TYPES))
def test_tables_have_steps_between_minus_one_and_one(table_type: str) -> None:
    (table,) = synthesise_tables(feature(rows=2000, dim=7, table_type=table_type), seed=3)
    assert table.shape == (2000, 7)
    assert table.dtype == TABLE_TYPES[table_type]
    steps = table.astype(np.float64) * 32
    values, counts = np.unique(steps, return_counts=True)
    assert values.tolist() == list(range(-32, 33))
    # Each value has about its share, the ones at the ends half of it.
    assert counts[1:-1].min() > 0.7 * 14000 / 64
    assert not np.signbit(steps[steps == 0]).any()
    assert abs(steps.mean()) < 4 * 18.5 / math.sqrt(14000)


@pytest.mark.parametrize("table_type", ROWWISE_FORMATS)
def test_quantised_tables_have_the_same_steps(table_type: str) -> None:
    model = feature(rows=2000, dim=8, table_type=table_type)
    (table,) = synthesise_tables(model, seed=3)
    check_tables(model, [table])
    steps = model.features[0].elements(table)[:] * 32
    values, counts = np.unique(steps, return_counts=True)
    assert values.tolist() == list(range(-32, 33))
    assert counts.min() > 30
    assert not np.signbit(steps[steps == 0]).any()
    # Rows differ in scales, biases and codes: none of them can be mixed up unseen.
    parts = np.ascontiguousarray(table[:, 8:16]).view(np.float32)
    assert [len(np.unique(column)) > 3 for column in parts.T] == [True, True]
    assert len(np.unique(table[:, :8])) > 15


def test_weights_have_steps_up_to_two() -> None:
    model = feature(weighted=True, factors=PoolingFactors(50))
    weights = synthesise_batch(model, 100).features[0].weights
    assert weights is not None
    assert weights.dtype == np.float32
    values, counts = np.unique(weights, return_counts=True)
    assert values.tolist() == [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2]
    assert counts.min() > 0.8 * 5000 / 8


@pytest.mark.parametrize("size", [0, 1, 77])
def test_batches_are_sound(size: int) -> None:
    batch = synthesise_batch(MODEL, size, seed=1)
    check_batch(MODEL, batch)
    assert batch.size == size
    assert batch.features[0].weights is None
    assert lengths(batch.features[1]).tolist() == [1] * size
    assert set(lengths(batch.features[2]).tolist()) <= {0, 7}
    assert len(batch.features[3].indices) == 0


# One seed, one data set.


def test_the_same_seed_gives_the_same() -> None:
    tables, batch = synthesise_tables(MODEL, 5), synthesise_batch(MODEL, 40, 5, 2)
    assert all(map(np.array_equal, synthesise_tables(MODEL, 5), tables))
    assert all(map(same, synthesise_batch(MODEL, 40, 5, 2).features, batch.features))


def test_other_seeds_and_batches_are_others() -> None:
    batch = synthesise_batch(MODEL, 40, 5, 2)
    for other in (synthesise_batch(MODEL, 40, 6, 2), synthesise_batch(MODEL, 40, 5, 3)):
        for one, another in zip(batch.features[:3], other.features[:3], strict=True):
            assert not np.array_equal(one.indices, another.indices)
    for table, another in zip(
        synthesise_tables(MODEL, 5), synthesise_tables(MODEL, 6), strict=True
    ):
        assert not np.array_equal(table, another)


def test_features_of_one_kind_are_different() -> None:
    model = EmbeddingModel("m", (Feature("a", 100, 4), Feature("b", 100, 4)))
    one, other = synthesise_batch(model, 40).features
    assert not np.array_equal(one.indices, other.indices)
    one_table, other_table = synthesise_tables(model)
    assert not np.array_equal(one_table, other_table)


def test_a_feature_does_not_depend_on_the_others() -> None:
    changed = EmbeddingModel("n", (*MODEL.features[:1], Feature("x", 5, 5), MODEL.features[2]))
    one, other = synthesise_batch(MODEL, 40, 5), synthesise_batch(changed, 40, 5)
    assert same(one.features[0], other.features[0])
    assert same(one.features[2], other.features[2])
    assert np.array_equal(synthesise_tables(MODEL)[2], synthesise_tables(changed)[2])


def test_data_stays_as_it_is() -> None:
    """Results elsewhere name a seed and rely on it."""
    (inputs,) = synthesise_batch(feature(rows=1000), 8, seed=1).features
    assert inputs.indices.tolist() == [354, 844, 1, 928, 701, 831, 875, 279]
    (table,) = synthesise_tables(feature(rows=8), seed=1)
    assert (table.ravel() * 32).tolist() == [1, -10, -6, 6, -5, 14, -10, -26]
    assert batch_sizes(8, seed=1) == [2, 13, 19, 80, 156, 512, 343, 26]


# Distributions. Seeds are fixed; tolerances are five standard errors.


@pytest.mark.parametrize(
    "factors",
    [
        PoolingFactors(10, 10, 50, 0.8),
        PoolingFactors(100, 100, 500, 0.3),
        PoolingFactors(20, 50, 100, 0.5),
        PoolingFactors(200, 100, None, 0.3),
        PoolingFactors(3, 0.5),
        PoolingFactors(40, 1, 12),
        PoolingFactors(0, 2.5, 1),
        PoolingFactors(50, coverage=0.8),
    ],
)
def test_bags_have_the_lengths_of_their_distribution(factors: PoolingFactors) -> None:
    size = 200_000
    sample = bag_lengths(factors, size, np.random.default_rng(1))
    expected = from_factors(factors)
    assert sample.dtype == np.int64
    assert sample.min() >= 0
    assert sample.max() <= factors.limit
    assert abs(sample.mean() - expected.mean) < 5 * expected.std / math.sqrt(size) + 1e-5
    assert abs(sample.std() - expected.std) < 0.02 * expected.std + 1e-5
    present = (sample > 0).mean()
    assert abs(present - expected.coverage) < 5 * 0.5 / math.sqrt(size)


def test_the_mean_of_a_normal_distribution_is_half_an_index_less_when_rounded_down() -> None:
    sample = bag_lengths(PoolingFactors(100, 10), 100_000, np.random.default_rng(2))
    assert abs(sample.mean() - 99.5) < 5 * 10 / math.sqrt(100_000)
    assert abs(sample.std() - 10) < 0.2


def test_samples_that_lack_a_feature_have_no_indices() -> None:
    sample = bag_lengths(PoolingFactors(50, coverage=0.3), 100_000, np.random.default_rng(3))
    assert set(sample.tolist()) == {0, 50}
    assert abs((sample > 0).mean() - 0.3) < 5 * math.sqrt(0.21 / 100_000)


def test_popularities_follow_a_power_law() -> None:
    """Weights of density 3 w^2: P(weight <= w) = w^3, which the cubes have as uniform numbers."""
    cubes = np.sort(popularities(np.arange(100_000, dtype=np.uint64), key=7))
    # Kolmogorov's distance; 1.95 is exceeded once in a thousand.
    distance = np.abs(cubes - (np.arange(100_000) + 0.5) / 100_000).max()
    assert distance * math.sqrt(100_000) < 1.95
    assert not np.array_equal(cubes, np.sort(popularities(np.arange(100_000, dtype=np.uint64), 8)))


def test_rows_are_drawn_by_their_weights() -> None:
    """Batches of a data set share them, as chi-squared of their counts shows; seeds do not."""
    model = feature(rows=50, factors=PoolingFactors(500))
    counts = [
        np.bincount(synthesise_batch(model, 2000, 4, number).features[0].indices, minlength=50)
        for number in range(2)
    ]
    # Two samples of one distribution: the sum of (a - b)^2 / (a + b) is chi-squared.
    distance = ((counts[0] - counts[1]) ** 2 / (counts[0] + counts[1])).sum()
    assert distance < 49 + 5 * math.sqrt(2 * 49)
    other = np.bincount(synthesise_batch(model, 2000, 5).features[0].indices, minlength=50)
    assert ((counts[0] - other) ** 2 / (counts[0] + other)).sum() > 10_000
    # Density 3 w^2 has mean 3/4 and variance 3/80.
    weights = counts[0] / counts[0].mean() * 0.75
    assert abs(weights.std() - math.sqrt(3 / 80)) < 0.1
    assert weights.min() >= 0
    assert weights.max() < 1.2


def test_rows_are_drawn_in_proportion_to_known_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    known = np.array([1.0, 0.5, 0.25, 0.0]) ** 3
    monkeypatch.setattr(
        "gnarl.sw.workloads.embedding.data.popularities", lambda rows, key: known[rows]
    )
    (inputs,) = synthesise_batch(feature(rows=4, factors=PoolingFactors(100)), 1000).features
    counts = np.bincount(inputs.indices, minlength=4)
    shares = np.array([4, 2, 1, 0]) / 7
    assert np.abs(counts - 100_000 * shares).max() < 5 * math.sqrt(100_000 / 4)
    assert counts[3] == 0


def test_the_largest_tables_need_no_more_memory() -> None:
    (inputs,) = synthesise_batch(feature(rows=2**31 - 1), 1000).features
    assert inputs.indices.max() > 2**30
    assert len(np.unique(inputs.indices)) > 990


def test_sizes_of_batches() -> None:
    """Log-normal around 256 with the logarithm of 128 as its deviation; what is larger is split."""
    count = 20_000
    sizes = np.array(batch_sizes(count, seed=1))
    assert sizes.min() == 1
    assert sizes.max() == 512
    error = 5 * math.sqrt(0.25 / count)

    def below(query: np.ndarray | float) -> np.ndarray:
        return ndtr(np.log(np.asarray(query) / 256) / math.log(128))

    # Sizes are rounded down, to 1 at least.
    assert abs((sizes == 1).mean() - below(2)) < error
    # Of k parts, k - 1 are whole. From a million parts on, nearly all are.
    parts = np.arange(2, 1_000_000)
    whole = (below(512 * parts + 1) - below(512 * (parts - 1) + 1)) @ (1 - 1 / parts)
    whole += 1 - below(512 * parts[-1] + 1)
    assert abs((sizes == 512).mean() - whole) < error
    assert batch_sizes(0) == []


def test_past_batches_are_sound_and_none_of_those_that_come_later() -> None:
    past = list(past_batches(MODEL, 12, seed=3))
    for one, again in zip(past, past_batches(MODEL, 5, seed=3), strict=False):
        assert one.size == again.size
        assert all(map(same, one.features, again.features))
    sizes = [batch.size for batch in past]
    assert sizes != batch_sizes(12, seed=3)
    assert 1 <= min(sizes) < max(sizes) <= 512
    for number, batch in enumerate(past):
        check_batch(MODEL, batch)
        if batch.size > 8:
            later = synthesise_batch(MODEL, batch.size, 3, number)
            assert not same(batch.features[0], later.features[0])


# Faults.


@pytest.mark.parametrize("size", [-1, 2**20 + 1, 3.0, True])
def test_refused_sizes(size: Any) -> None:
    error = f"batch size {size!r}: must be a whole number from 0 to 1048576"
    with refused(error):
        synthesise_batch(MODEL, size)
    with refused(error):
        check_batch(MODEL, Batch(size, []))


def test_more_indices_than_the_type_counts() -> None:
    model = feature(index_type="int32", factors=PoolingFactors(2**20))
    with refused("feature a: index_type = 'int32': cannot count 2147483648 indices"):
        synthesise_batch(model, 2**11)


def changed(position: int, **parts: Any) -> Batch:
    """A sound batch of four samples, but for parts of one feature."""
    arrays: list[FeatureInputs] = [
        FeatureInputs(np.array([5, 999, 0]), np.array([0, 0, 1, 3, 3])),
        FeatureInputs(
            np.array([5, 23], np.int32), np.array([0, 1, 1, 1, 2], np.int32), np.ones(2, np.float32)
        ),
        FeatureInputs(np.zeros(0, np.int64), np.zeros(5, np.int64)),
        FeatureInputs(np.zeros(4, np.int64), np.arange(5)),
    ]
    arrays[position] = replace(arrays[position], **parts)
    return Batch(4, arrays)


def test_a_sound_batch_passes() -> None:
    check_batch(MODEL, changed(0))


@pytest.mark.parametrize(
    ("position", "parts", "error"),
    [
        (0, {"indices": np.array([5, 1000, -1])}, "indices of a[1] = 1000: must be from 0 to 999"),
        (0, {"indices": np.array([5, 7, -1])}, "indices of a[2] = -1: must be from 0 to 999"),
        (
            1,
            {"indices": np.array([24, 24], np.int32)},
            "indices of b[0] = 24: must be from 0 to 23",
        ),
        (
            0,
            {"indices": np.array([5, 9, 0], np.int32)},
            "indices of a: int32 [3]: must be a NumPy vector of int64",
        ),
        (
            1,
            {"indices": np.array([1.0, 2.0])},
            "indices of b: float64 [2]: must be a NumPy vector of int32",
        ),
        (
            0,
            {"indices": np.array([[5, 9, 0]])},
            "indices of a: int64 [1, 3]: must be a NumPy vector of int64",
        ),
        (0, {"indices": [5, 9, 0]}, "indices of a: list: must be a NumPy vector of int64"),
        (
            1,
            {"offsets": np.array([0, 1, 1, 1, 2])},
            "offsets of b: int64 [5]: must be a NumPy vector of int32",
        ),
        (0, {"offsets": None}, "offsets of a: NoneType: must be a NumPy vector of int64"),
        (
            0,
            {"offsets": np.array([0, 1, 3, 3])},
            "offsets of a: 4 values: must be 5 for 4 samples",
        ),
        (0, {"offsets": np.array([1, 1, 1, 3, 3])}, "offsets of a[0] = 1: must be 0"),
        (
            0,
            {"offsets": np.array([0, 2, 1, 0, 3])},
            "offsets of a[2] = 1: must be at least 2, as the one before",
        ),
        (
            0,
            {"offsets": np.array([0, -1, 1, 0, 3])},
            "offsets of a[1] = -1: must be at least 0, as the one before",
        ),
        (
            0,
            {"offsets": np.array([0, 0, 1, 2, 2])},
            "offsets of a[4] = 2: must be 3, the number of indices",
        ),
        (
            2,
            {"offsets": np.array([0, 0, 0, 0, 1])},
            "offsets of c[4] = 1: must be 0, the number of indices",
        ),
        (1, {"weights": None}, "weights of b: missing: the feature is weighted"),
        (
            0,
            {"weights": np.ones(3, np.float32)},
            "weights of a: given: the feature is not weighted",
        ),
        (
            1,
            {"weights": np.ones(2)},
            "weights of b: float64 [2]: must be a NumPy vector of float32",
        ),
        (
            1,
            {"weights": np.ones(3, np.float32)},
            "weights of b: 3 values: must be 2, the number of indices",
        ),
    ],
)
def test_refused_batches(position: int, parts: dict[str, Any], error: str) -> None:
    with pytest.raises(WorkloadError) as raised:
        check_batch(MODEL, changed(position, **parts))
    assert str(raised.value) == error


def test_as_many_inputs_as_features() -> None:
    with refused("batch: inputs of 3 features: must be 4, as model m has"):
        check_batch(MODEL, Batch(4, changed(0).features[:3]))
