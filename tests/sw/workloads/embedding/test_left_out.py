"""Look-ups that count for nothing: past the last offset, of padding, of pruned rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.sw.golden.embedding import embedding_bags
from gnarl.sw.workloads.embedding.files import load_values
from gnarl.sw.workloads.embedding.inputs import bind_model
from gnarl.sw.workloads.embedding.left_out import without_padding, without_pruned, without_tails
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature, FeatureInputs
from tests.support.errors import refused

WEIGHTED = EmbeddingModel("m", (Feature("f", 10, 2, "mean", weighted=True),))
PADDED = EmbeddingModel("m", (Feature("f", 10, 2, "mean", weighted=True, padding_idx=2),))
PRUNED = EmbeddingModel("m", (Feature("f", 10, 2, "mean", weighted=True, pruned=True),))
TABLE = np.arange(20, dtype=np.float32).reshape(10, 2)


def batch_of(indices: list[int], offsets: list[int]) -> Batch:
    """Weights are 1, 2, 3, …."""
    weights = np.arange(1, len(indices) + 1, dtype=np.float32)
    return Batch(len(offsets) - 1, [FeatureInputs(np.array(indices), np.array(offsets), weights)])


def parts(batch: Batch) -> list[Any]:
    (inputs,) = batch.features
    assert inputs.weights is not None
    return [inputs.indices.tolist(), inputs.offsets.tolist(), inputs.weights.tolist()]


def test_tails() -> None:
    found = without_tails(WEIGHTED, batch_of([4, 5, 99, -7], [0, 1, 2]))
    assert parts(found) == [[4, 5], [0, 1, 2], [1, 2]]
    whole = batch_of([4, 5], [0, 1, 2])
    assert without_tails(WEIGHTED, whole).features[0] is whole.features[0]


@pytest.mark.parametrize("offsets", [[0, 1, 5], [0, 1, -1]])
def test_ends_that_are_none_are_left_to_the_check_of_the_batch(offsets: list[int]) -> None:
    given = batch_of([4, 5], offsets)
    assert without_tails(WEIGHTED, given).features[0] is given.features[0]


def test_weights_are_counted_before_tails_are_left_out() -> None:
    (inputs,) = batch_of([4, 5, 6], [0, 1, 2]).features
    assert inputs.weights is not None
    short = FeatureInputs(inputs.indices, inputs.offsets, inputs.weights[:2])
    with refused("weights of f: 2 values: must be 3, the number of indices"):
        without_tails(WEIGHTED, Batch(2, [short]))


def test_padding() -> None:
    given = batch_of([2, 4, 2, 2, 5], [0, 3, 4, 5])
    assert parts(without_padding(PADDED, given)) == [[4, 5], [0, 1, 1, 2], [2, 5]]
    assert without_padding(WEIGHTED, given) is given
    with refused("indices of f[4] = 10: must be from 0 to 9"):
        without_padding(PADDED, batch_of([2, 4, 2, 2, 10], [0, 3, 4, 5]))


def test_pruned_rows_count_in_divisors() -> None:
    found = without_pruned(PRUNED, batch_of([-1, 4, -1, -1, 5], [0, 3, 4, 5]))
    assert parts(found) == [[4, 5], [0, 1, 1, 2], [2, 5]]
    assert found.features[0].lengths.tolist() == [3, 1, 1]


def test_the_golden_model() -> None:
    (found,) = embedding_bags(PADDED, [TABLE], batch_of([2, 4, 2, 2, 5], [0, 3, 4, 5]))
    assert found.tolist() == [[16, 18], [0, 0], [50, 55]]
    (found,) = embedding_bags(PRUNED, [TABLE], batch_of([-1, 4, -1, -1, 4], [0, 2, 4, 5]))
    assert found.tolist() == [[8, 9], [0, 0], [40, 45]]


def test_bound_inputs_and_files_have_none_of_them(tmp_path: Path) -> None:
    arrays = {
        "f.table": TABLE,
        "f.indices": np.array([2, 4, 5, 99], np.int32),
        "f.offsets": np.array([0, 2, 3], np.int8),
        "f.weights": np.array([1, 2, 3, np.nan], np.float32),
    }
    bound = bind_model(PADDED, arrays)
    assert np.asarray(bound["f.indices"]).tolist() == [4, 5]
    assert np.asarray(bound["f.offsets"]).tolist() == [0, 1, 2]
    assert np.asarray(bound["f.weights"]).tolist() == [2, 3]
    path = tmp_path / "f.npz"
    np.savez(path, **arrays)
    (inputs,) = load_values(path, PADDED).batch.features
    assert inputs.indices.tolist() == [2, 4, 5]
