"""Results of embedding kernels against the golden model: wrong ones are named."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.cuda.verify import golden, reference, verify
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import (
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


def right() -> tuple[list[np.ndarray], Batch, dict[str, Array]]:
    tables, batch = synthesise_tables(MODEL), synthesise_batch(MODEL, 5)
    return tables, batch, golden(MODEL, tables, batch)


def test_the_golden_results_are_right() -> None:
    found = verify(MODEL, *right())
    assert (found.bit_exact, found.difference) == (True, "")
    assert found.max_rel_error < 1e-7


def test_the_reference_is_not_rounded() -> None:
    tables, batch, outputs = right()
    exact = reference(MODEL, tables, batch)
    assert list(exact) == list(outputs) == ["short", "long"]
    table, bags = tables[1].astype(np.float64), batch.features[1]
    means = [
        table[bags.indices[first:last]].mean(axis=0)
        for first, last in zip(bags.offsets, bags.offsets[1:], strict=False)
    ]
    np.testing.assert_allclose(np.asarray(exact["long"]), means, rtol=1e-15)
    assert np.asarray(exact["long"]).dtype == np.float64
    assert (np.asarray(exact["long"]).astype(np.float32) == outputs["long"]).all()


@pytest.mark.parametrize("step", [1, -1])
def test_one_bit_is_too_much_where_every_order_is_exact(step: int) -> None:
    tables, batch, outputs = right()
    wrong = np.asarray(outputs["long"])
    wanted = float(wrong[4, 2])
    wrong[4, 2] = np.nextafter(np.float32(wanted), np.float32(step * np.inf))
    found = verify(MODEL, tables, batch, outputs)
    assert not found.bit_exact
    assert found.difference == (
        f"1 of 25 outputs differ; the first is long[4,2]: {float(wrong[4, 2])!r}, "
        f"must be {wanted!r}"
    )


def test_sums_of_real_numbers_may_be_off_by_their_bound_and_no_more() -> None:
    model = EmbeddingModel("real", (Feature("f", 1000, 1),))
    rng = np.random.default_rng(0)
    tables = [rng.standard_normal((1000, 1)).astype(np.float32)]
    inputs = FeatureInputs(np.arange(1000), np.array([0, 1000]))
    batch = Batch(1, [inputs])
    wanted = np.asarray(golden(model, tables, batch)["f"])
    near = np.nextafter(wanted, np.float32(np.inf))
    found = verify(model, tables, batch, {"f": near})
    assert (found.bit_exact, found.difference) == (False, "")
    far = verify(model, tables, batch, {"f": wanted + np.float32(0.1)})
    assert far.difference.startswith("1 of 1 outputs differ; the first is f[0,0]: ")
    assert " within " in far.difference


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_infinities_and_nans_of_tables_go_through(number: float) -> None:
    model = EmbeddingModel("real", (Feature("f", 1000, 2),))
    tables = [np.random.default_rng(0).standard_normal((1000, 2)).astype(np.float32)]
    tables[0][3, 1] = number
    batch = Batch(1, [FeatureInputs(np.arange(1000), np.array([0, 1000]))])
    found = np.array(golden(model, tables, batch)["f"])
    found[0, 0] = np.nextafter(found[0, 0], np.float32(np.inf))
    verified = verify(model, tables, batch, {"f": found})
    assert (verified.bit_exact, verified.difference) == (False, "")


def test_nan_is_no_result() -> None:
    tables, batch, outputs = right()
    np.asarray(outputs["short"])[0, 0] = np.nan
    found = verify(MODEL, tables, batch, outputs)
    assert found.difference.startswith("1 of 25 outputs differ; the first is short[0,0]: nan, ")
    assert found.max_rel_error == np.inf
