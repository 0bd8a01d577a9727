"""Specifications of tensors: their form in files, and the arrays that fit them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import ProgramError, WorkloadError
from gnarl.sw.program.tensor_spec import (
    INTEGER_TYPES,
    LEVEL_FORMATS,
    Array,
    Dense,
    Labelled,
    Ragged,
    Sparse,
    TensorSpec,
    bind,
    decode_labels,
    dtype_of,
    encode_labels,
    labels_of,
)
from gnarl.sw.workloads.tensor.tensor import Tensor

LABELS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5)


@st.composite
def specs(draw: st.DrawFn) -> TensorSpec:
    kind = draw(st.sampled_from(["dense", "sparse", "ragged", "labelled"]))
    name = draw(st.text())
    type = draw(st.sampled_from([*INTEGER_TYPES, "float64", "float32", "bfloat16", "fixed16.8"]))
    if kind == "labelled":
        labels = labels_of(draw(LABELS))
        return TensorSpec(name, (len(labels),), type, Labelled(labels))
    shape = tuple(draw(st.lists(st.integers(0, 2**62) | st.text(), max_size=4)))
    if kind == "ragged":
        return TensorSpec(name, shape, type, Ragged(draw(st.text())))
    if kind == "dense":
        return TensorSpec(name, shape, type)
    levels = tuple(draw(st.sampled_from(LEVEL_FORMATS)) for _ in shape)
    modes = tuple(draw(st.permutations(range(len(shape)))))
    return TensorSpec(name, shape, type, Sparse(levels, modes))


@given(specs())
def test_every_specification_comes_back_from_a_file(spec: TensorSpec) -> None:
    labels = None
    if isinstance(spec.storage, Labelled):
        labels = decode_labels(encode_labels(spec.storage.labels))
    assert TensorSpec.from_dict(json.loads(json.dumps(spec.to_dict())), labels) == spec


FIELDS: dict[str, Any] = {
    "name": "x",
    "shape": ["n", 3],
    "type": "float32",
    "storage": {"kind": "sparse", "levels": ["dense", "compressed"], "modes": [1, 0]},
}


def test_fields_of_a_specification() -> None:
    spec = TensorSpec.from_dict(FIELDS, None)
    assert spec == TensorSpec("x", ("n", 3), "float32", Sparse(("dense", "compressed"), (1, 0)))
    assert spec.to_dict() | {"storage": FIELDS["storage"]} == FIELDS


@pytest.mark.parametrize(
    "fields",
    [
        3,
        {},
        FIELDS | {"name": 3},
        FIELDS | {"shape": [-1, 3]},
        FIELDS | {"shape": [True, 3]},
        FIELDS | {"shape": [1.5, 3]},
        FIELDS | {"shape": 3},
        FIELDS | {"shape": [3]},
        FIELDS | {"type": "float31"},
        FIELDS | {"type": []},
        FIELDS | {"storage": []},
        FIELDS | {"storage": {}},
        FIELDS | {"storage": {"kind": "round"}},
        FIELDS | {"storage": {"kind": "dense", "levels": []}},
        FIELDS | {"storage": {"kind": "ragged", "offsets": 3}},
        FIELDS | {"storage": {"kind": "ragged"}},
        FIELDS | {"storage": {"kind": "labelled"}},
        FIELDS | {"storage": FIELDS["storage"] | {"levels": ["dense", "hashed"]}},
        FIELDS | {"storage": FIELDS["storage"] | {"levels": "ab"}},
        FIELDS | {"storage": FIELDS["storage"] | {"modes": [1, 1]}},
        FIELDS | {"storage": FIELDS["storage"] | {"modes": [1]}},
    ],
)
def test_what_is_not_a_specification_is_refused(fields: Any) -> None:
    text = f"tensor {fields!r:.120}: not a tensor specification"
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        TensorSpec.from_dict(fields, None)


@pytest.mark.parametrize(
    ("type", "dtype"),
    [
        ("uint8", np.uint8),
        ("int64", np.int64),
        ("float16", np.float16),
        ("float32", np.float32),
        ("float64", np.float64),
        ("bfloat16", ml_dtypes.bfloat16),
        ("fixed16.8", np.float64),
    ],
)
def test_numpys_types(type: str, dtype: Any) -> None:
    assert dtype_of(type) == np.dtype(dtype)
    assert TensorSpec("x", (), type).dtype == np.dtype(dtype)


def test_which_tensors_are_scalars() -> None:
    assert TensorSpec("x", (), "float32").scalars
    assert TensorSpec("x", (1,), "float32", Labelled(labels_of(["a"]))).scalars
    assert not TensorSpec("x", (1,), "float32").scalars
    assert TensorSpec("x", (), "float32").storage == Dense()


@given(LABELS)
def test_labels_come_back(names: list[str]) -> None:
    assert decode_labels(encode_labels(labels_of(names))).tolist() == names


def sparse(*shape: int) -> Tensor:
    return Tensor(shape, np.zeros((1, len(shape)), np.int64), np.ones(1, np.float32))


A = TensorSpec("a", ("n", 3), "float32")
B = TensorSpec("b", ("m", "n"), "int16", Sparse(("compressed", "dense"), (0, 1)))


def test_symbols_are_bound() -> None:
    arrays: dict[str, Array] = {"a": np.zeros((5, 3)), "b": np.zeros((0, 5), np.int64)}
    assert bind([A, B], arrays) == {"n": 5, "m": 0}
    assert bind([A], {"a": np.zeros((5, 3))}, {"k": 1}) == {"k": 1, "n": 5}
    assert bind([], {}) == {}


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({}, "tensor a: missing"),
        ({"a": np.zeros((1, 3)), "c": np.zeros(1)}, "tensor c: unknown; the program has a, b"),
        ({"a": np.zeros(3)}, "tensor a: has 1 dimensions: must have 2"),
        ({"a": np.zeros((1, 4))}, "tensor a: dimension 1 has size 4: must be 3"),
        (
            {"a": np.zeros((1, 3)), "b": np.zeros((2, 2), np.int16)},
            "tensor b: dimension 1 has size 2: must be 1 (n)",
        ),
        (
            {"a": sparse(1, 3), "b": sparse(2, 1)},
            "tensor b: is float32: must be int16",
        ),
        ({"a": np.zeros((1, 3), complex)}, "tensor a: is complex128: must be float32"),
        ({"a": np.zeros((1, 3), "<U1")}, "tensor a: is <U1: must be float32"),
        (
            {"a": np.zeros((1, 3), np.int8), "b": np.full((1, 1), 2**15)},
            "tensor b: value 32768: int16 holds -32768 to 32767",
        ),
        (
            {"a": np.zeros((1, 3), bool), "b": np.full((1, 1), -(2**15) - 1)},
            "tensor b: value -32769: int16 holds -32768 to 32767",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays: Mapping[str, Array], text: str) -> None:
    with pytest.raises(WorkloadError, match=f"^{re.escape(text)}$"):
        bind([A, B], arrays)


def test_sizes_that_are_bound_already_count() -> None:
    text = "tensor a: dimension 0 has size 5: must be 4 (n)"
    with pytest.raises(WorkloadError, match=f"^{re.escape(text)}$"):
        bind([A], {"a": np.zeros((5, 3))}, {"n": 4})


def test_a_tensor_of_ml_dtypes_fits() -> None:
    assert bind([A], {"a": np.zeros((1, 3), ml_dtypes.bfloat16)}) == {"n": 1}
