"""Tables and batches by names of arrays: types that are taken, and values that do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.embedding.files import load_values, values_of
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from gnarl.sw.workloads.embedding.rowwise import quantise
from tests.support.errors import refused

MODEL = EmbeddingModel(
    "half", (Feature("f", 2, 2, table_type="float16", index_type="int32", weighted=True),)
)
ARRAYS = {
    "f.table": np.array([[1, 2], [3, 4]], np.float32),
    "f.indices": np.array([0, 1], np.uint8),
    "f.offsets": np.array([0, 2]),
    "f.weights": np.array([0.5, 1 / 3]),
}


def test_numbers_are_rounded_to_the_features_types() -> None:
    found = values_of(ARRAYS, MODEL)
    inputs = found.batch.features[0]
    assert (found.tables[0].dtype, inputs.indices.dtype, inputs.offsets.dtype) == (
        np.float16,
        np.int32,
        np.int32,
    )
    assert found.tables[0].tolist() == [[1, 2], [3, 4]]
    assert inputs.weights is not None
    assert inputs.weights.tolist() == [0.5, float(np.float32(1 / 3))]


def test_tables_of_the_features_types_are_not_copied() -> None:
    table = ARRAYS["f.table"].astype(np.float16)
    assert values_of({**ARRAYS, "f.table": table}, MODEL).tables[0] is table


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        (
            "f.table",
            np.array([[1, 2], [1e6, 4]], np.float32),
            "f.table[1,0] = 1e+06: float16 holds -65504.0 to 65504.0",
        ),
        (
            "f.weights",
            np.array([1, -1e39]),
            "f.weights[1] = -1e+39: float32 holds -3.4028234663852886e+38 to "
            "3.4028234663852886e+38",
        ),
        ("f.weights", np.array(["1", "x"]), "f.weights: is <U1: must be real numbers"),
        (
            "f.indices",
            np.array([0, 2**31]),
            "f.indices[1] = 2147483648: must be a value of int32",
        ),
        (
            "f.offsets",
            np.array([], np.int64),
            "f.offsets: has no elements: must have one more than the batch has samples",
        ),
    ],
)
def test_values_beyond_a_type_are_refused(name: str, array: np.ndarray, message: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        values_of({**ARRAYS, name: array}, MODEL)
    assert str(caught.value) == message


def test_quantised_tables_are_given_as_their_bytes(tmp_path: Path) -> None:
    model = EmbeddingModel("q", (Feature("f", 2, 2, table_type="fp8_rowwise"),))
    arrays = {name: ARRAYS[name] for name in ("f.indices", "f.offsets")}
    table = quantise(np.array([[1, 2], [3, 4]]), "fp8_rowwise")
    assert values_of({**arrays, "f.table": table}, model).tables[0] is table
    for wrong, message in (
        (ARRAYS["f.table"], "f.table: has shape [2, 2]: must be [2, 16]"),
        (table.astype(np.int8), "f.table: is int8: must be uint8"),
    ):
        with refused(message):
            values_of({**arrays, "f.table": wrong}, model)
    table[1, 1] = 0xFF
    path = tmp_path / "values.npz"
    np.savez(path, **arrays, **{"f.table": table})
    with refused(f"{path}: f.table[1,1] = nan: must be finite in float64"):
        load_values(path, model)


def test_infinity_stays() -> None:
    table = np.array([[1, np.inf], [3, 4]], np.float32)
    assert np.isposinf(values_of({**ARRAYS, "f.table": table}, MODEL).tables[0][0, 1])
