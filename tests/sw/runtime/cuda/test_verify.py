"""Results of embedding kernels against the golden model: wrong ones are named."""

from __future__ import annotations

import numpy as np
import pytest

from sw.golden.embedding import embedding_bags
from sw.runtime.cuda.verify import verify
from sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from sw.workloads.embedding.model import (
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)

MODEL = EmbeddingModel(
    "pair",
    (
        Feature("short", 10, 2, factors=PoolingFactors(3)),
        Feature("long", 20, 3, "mean", factors=PoolingFactors(40)),
    ),
)


def golden() -> tuple[list[np.ndarray], Batch, list[np.ndarray]]:
    tables, batch = synthesise_tables(MODEL), synthesise_batch(MODEL, 5)
    return tables, batch, embedding_bags(MODEL, tables, batch)


def test_the_golden_results_are_right() -> None:
    found = verify(MODEL, *golden())
    assert (found.bit_exact, found.difference) == (True, "")
    assert found.max_rel_error < 1e-7


@pytest.mark.parametrize("step", [1, -1])
def test_one_bit_is_too_much_where_every_order_is_exact(step: int) -> None:
    tables, batch, outputs = golden()
    right = float(outputs[1][4, 2])
    outputs[1][4, 2] = np.nextafter(np.float32(right), np.float32(step * np.inf))
    found = verify(MODEL, tables, batch, outputs)
    assert not found.bit_exact
    assert found.difference == (
        f"1 of 25 outputs differ; the first is long[4, 2]: {float(outputs[1][4, 2])!r}, "
        f"must be {right!r}"
    )


def test_sums_of_real_numbers_may_be_off_by_their_bound_and_no_more() -> None:
    model = EmbeddingModel("real", (Feature("f", 1000, 1),))
    rng = np.random.default_rng(0)
    tables = [rng.standard_normal((1000, 1)).astype(np.float32)]
    inputs = FeatureInputs(np.arange(1000), np.array([0, 1000]))
    batch = Batch(1, [inputs])
    right = embedding_bags(model, tables, batch)[0]
    near = [np.nextafter(right, np.float32(np.inf))]
    found = verify(model, tables, batch, near)
    assert (found.bit_exact, found.difference) == (False, "")
    far = verify(model, tables, batch, [right + np.float32(0.1)])
    assert far.difference.startswith("1 of 1 outputs differ; the first is f[0, 0]: ")
    assert " within " in far.difference


def test_nan_is_no_result() -> None:
    tables, batch, outputs = golden()
    outputs[0][0, 0] = np.nan
    found = verify(MODEL, tables, batch, outputs)
    assert found.difference.startswith("1 of 25 outputs differ; the first is short[0, 0]: nan, ")
    assert found.max_rel_error == np.inf
