"""What is shown of outputs: never more than a few of many."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest

from gnarl.sw.program.tensor_spec import Array, Labelled, Sparse, TensorSpec, labels_of
from gnarl.sw.runtime.report.output_summary import outputs_text, outputs_to_json, summarise
from gnarl.sw.workloads.tensor.tensor import Tensor


def scalars(count: int) -> tuple[TensorSpec, np.ndarray]:
    names = labels_of([f"x{number}" for number in range(count)])
    return TensorSpec("outputs", (count,), "float32", Labelled(names)), np.arange(count) / 2


def shown(*pairs: tuple[TensorSpec, Array]) -> tuple[object, str]:
    specs = [spec for spec, _ in pairs]
    found = summarise(specs, {spec.name: array for spec, array in pairs})
    return json.loads(json.dumps(outputs_to_json(found), allow_nan=False)), outputs_text(found)


@pytest.mark.parametrize("count", [1, 4, 5, 100])
def test_up_to_a_hundred_scalars_are_whole(count: int) -> None:
    fields, _ = shown(scalars(count))
    assert fields == {f"x{number}": number / 2 for number in range(count)}


def test_of_more_scalars_there_are_a_few() -> None:
    fields, text = shown(scalars(101))
    assert fields == {
        "outputs": {
            "shape": [101],
            "type": "float32",
            "entries": 101,
            "values": {"x0": 0.0, "x1": 0.5, "x2": 1.0, "x3": 1.5},
        }
    }
    assert text == "x0 = 0, x1 = 0.5, x2 = 1, x3 = 1.5, and 97 more"


def test_scalars_of_several_tensors_count_together() -> None:
    single = TensorSpec("s", (), "float64")
    fields, text = shown(scalars(99), (single, np.array(7.0)))
    assert isinstance(fields, dict)
    assert len(fields) == 100
    assert fields["s"] == 7.0
    fields, text = shown(scalars(100), (single, np.array(7.0)))
    assert isinstance(fields, dict)
    assert list(fields) == ["outputs", "s"]
    assert text == "x0 = 0, x1 = 0.5, x2 = 1, x3 = 1.5, and 97 more"


def test_a_million_numbers_are_four() -> None:
    fields, text = shown((TensorSpec("y", (1000, "n"), "float32"), np.ones((1000, 1000))))
    assert fields == {
        "y": {
            "shape": [1000, 1000],
            "type": "float32",
            "entries": 10**6,
            "values": {f"y[0,{number}]": 1.0 for number in range(4)},
        }
    }
    assert text == (
        "y [1000, 1000] float32: y[0,0] = 1, y[0,1] = 1, y[0,2] = 1, y[0,3] = 1, and 999,996 more"
    )


def test_a_small_tensor_is_still_a_tensor() -> None:
    fields, text = shown((TensorSpec("y", (2,), "int64"), np.array([1, -2])))
    assert fields == {
        "y": {"shape": [2], "type": "int64", "entries": 2, "values": {"y[0]": 1, "y[1]": -2}}
    }
    assert text == "y [2] int64: y[0] = 1, y[1] = -2"


def test_whole_numbers_are_exact() -> None:
    fields, text = shown((TensorSpec("y", (), "int64"), np.array(2**53 + 1)))
    assert fields == {"y": 2**53 + 1}
    assert text == "y = 9007199254740993"


def test_entries_of_a_sparse_tensor() -> None:
    spec = TensorSpec("x", ("i", "j"), "float32", Sparse(("compressed",) * 2, (0, 1)))
    places = np.array([[0, 5], [7, 0]])
    tensor = Tensor((2**40, 2**40), places, np.array([0.5, -1.0], np.float32))
    fields, text = shown((spec, tensor))
    assert fields == {
        "x": {
            "shape": [2**40, 2**40],
            "type": "float32",
            "entries": 2,
            "values": {"x[0,5]": 0.5, "x[7,0]": -1.0},
        }
    }
    assert text == f"x [{2**40}, {2**40}] float32, 2 entries: x[0,5] = 0.5, x[7,0] = -1"


def test_what_json_lacks_is_named() -> None:
    spec = TensorSpec("y", (3,), "bfloat16", Labelled(labels_of(["a", "b", "c"])))
    fields, text = shown((spec, np.array([np.inf, np.nan, -np.inf], ml_dtypes.bfloat16)))
    assert fields == {"a": "Infinity", "b": "NaN", "c": "-Infinity"}
    assert text == "a = inf, b = nan, c = -inf"


def test_labels_that_occur_twice_are_not_lost() -> None:
    spec = TensorSpec("outputs", (3,), "float32", Labelled(labels_of(["a", "b", "a"])))
    fields, _ = shown((spec, np.array([1.0, 2.0, 3.0])))
    assert fields == {
        "outputs": {
            "shape": [3],
            "type": "float32",
            "entries": 3,
            "values": {"a": 3.0, "b": 2.0},
        }
    }


def test_empty_outputs() -> None:
    fields, text = shown((TensorSpec("y", (0, 3), "float32"), np.zeros((0, 3))))
    assert fields == {"y": {"shape": [0, 3], "type": "float32", "entries": 0, "values": {}}}
    assert text == "y [0, 3] float32"
    assert shown() == ({}, "none")


def test_many_tensors_are_cut_short() -> None:
    pairs = [(TensorSpec(f"y{k}", (1,), "float32"), np.zeros(1)) for k in range(7)]
    lines = [f"y{k} [1] float32: y{k}[0] = 0" for k in range(4)]
    assert shown(*pairs)[1] == "\n".join([*lines, "and 3 more"])
