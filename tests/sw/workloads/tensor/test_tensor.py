"""Tensors as lists of entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import refused

DENSE = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=5),
    elements=st.sampled_from([0.0, 0.0, 1.0, -2.5, 1e300]),
)


def test_a_tensor_by_hand() -> None:
    tensor = Tensor((2, 3), np.array([[0, 2], [1, 0], [1, 1]]), np.array([1, 0, -3]))
    assert tensor.order == 2
    assert tensor.nnz == 3
    assert tensor.coordinates.dtype == np.int64
    assert tensor.values.dtype == np.float64
    assert tensor.to_dense().tolist() == [[0, 0, 1], [0, -3, 0]]


@given(DENSE)
def test_dense_arrays(dense: np.ndarray) -> None:
    tensor = Tensor.from_any(dense)
    assert tensor.shape == dense.shape
    assert tensor.nnz == (np.count_nonzero(dense) if dense.ndim else 1)
    assert tensor.to_dense().shape == dense.shape
    assert np.array_equal(tensor.to_dense(), dense)


@pytest.mark.parametrize("number", [3, 2.5, 0, True, np.float32(0.25), np.int8(-7), np.array(9)])
def test_a_number_is_one_entry(number: Any) -> None:
    tensor = Tensor.from_any(number)
    assert tensor.shape == ()
    assert tensor.coordinates.shape == (1, 0)
    assert tensor.values.tolist() == [float(number)]
    assert tensor.to_dense() == number


def test_a_scalar_may_be_without_entry() -> None:
    tensor = Tensor((), np.zeros((0, 0), np.int64), np.zeros(0))
    assert tensor.to_dense().shape == ()
    assert tensor.to_dense() == 0


def test_nested_lists_and_other_types_of_numbers() -> None:
    assert Tensor.from_any([[0, 1], [2, 0]]).coordinates.tolist() == [[0, 1], [1, 0]]
    assert Tensor.from_any(np.array([True, False])).values.tolist() == [1.0]
    assert Tensor.from_any(np.array([0, 0.5], np.float16)).values.tolist() == [0.5]


def test_tensors_and_triples_stay_as_they_are() -> None:
    tensor = Tensor.from_any(([[0, 1], [1, 0]], [5, 0], (2, 2)))
    assert tensor.values.tolist() == [5, 0]
    assert Tensor.from_any(tensor) is tensor
    assert Tensor.from_any(([], [], (4, 3))).coordinates.shape == (0, 2)


@pytest.mark.parametrize("format", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_scipy_of_every_format(format: str, kind: str) -> None:
    dense = np.array([[0, 1.5, 0, 0], [0, 0, 0, 2], [-3, 0, 4, 0]])
    make = scipy.sparse.csr_array if kind == "array" else scipy.sparse.csr_matrix
    tensor = Tensor.from_any(make(dense).asformat(format))
    assert np.array_equal(tensor.to_dense(), dense)


def test_scipy_keeps_stored_zeros_and_sorts() -> None:
    places = (np.array([1, 0, 1]), np.array([1, 2, 0]))
    matrix = scipy.sparse.coo_array((np.array([1.0, 0.0, 3.0]), places), shape=(2, 3))
    for source in (matrix, matrix.tocsr(), matrix.tocsc()):
        tensor = Tensor.from_any(source)
        assert tensor.coordinates.tolist() == [[0, 2], [1, 0], [1, 1]]
        assert tensor.values.tolist() == [0, 3, 1]


@pytest.mark.parametrize("shape", [(5,), (3, 2, 4)])
def test_scipy_of_other_orders(shape: tuple[int, ...]) -> None:
    dense = np.arange(np.prod(shape)).reshape(shape) % 3
    tensor = Tensor.from_any(scipy.sparse.coo_array(dense))
    assert np.array_equal(tensor.to_dense(), dense)


def test_shapes_grow() -> None:
    tensor = Tensor.from_any(np.array([1.0, 2.0])).with_shape((4,))
    assert tensor.to_dense().tolist() == [1, 2, 0, 0]
    with refused("shape (3,): must be at least (4,) in each of 1 dimensions"):
        tensor.with_shape((3,))
    with refused("shape (4, 1): must be at least (4,) in each of 1 dimensions"):
        tensor.with_shape((4, 1))


def test_coordinates_beyond_what_one_number_can_number() -> None:
    size = 2**40
    source = scipy.sparse.coo_array(([1.0, 2.0], ([size - 1, 3], [5, size - 2])), (size, size))
    tensor = Tensor.from_any(source)
    assert tensor.coordinates.tolist() == [[3, size - 2], [size - 1, 5]]
    with pytest.raises(
        CapacityError,
        match=r"^a dense array of shape \(1099511627776, 1099511627776\) has "
        r"1,208,925,819,614,629,174,706,176 values: at most 268,435,456 are kept in memory$",
    ):
        tensor.to_dense()


def test_results_may_be_infinite_but_inputs_may_not() -> None:
    tensor = Tensor((3,), [[0], [2]], [1.0, np.inf])
    assert tensor.to_dense().tolist() == [1, 0, np.inf]
    with refused("entry 1: the value at (2,) = inf: must be finite in float64"):
        Tensor.from_any(tensor)


BROKEN_CSR = scipy.sparse.csr_array(([1.0, 2.0], [0, 1], [0, 1, 2]), (2, 2))
BROKEN_CSR.indices[1] = 7


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (([[3, 9]], [1], (4, 8)), "entry 0: coordinate (3, 9): dimension 1 has size 8"),
        (
            ([[0, 0], [-1, 0]], [1, 1], (4, 8)),
            "entry 1: coordinate (-1, 0): dimension 0 has size 4",
        ),
        (
            ([[0, 1], [1, 2], [1, 1]], [1, 1, 1], (4, 8)),
            "entry 2: coordinate (1, 1) comes after (1, 2): must ascend",
        ),
        (
            ([[1, 0], [0, 5]], [1, 1], (4, 8)),
            "entry 1: coordinate (0, 5) comes after (1, 0): must ascend",
        ),
        (
            ([[0, 1], [1, 2], [1, 2]], [1, 1, 1], (4, 8)),
            "entry 2: coordinate (1, 2) is a duplicate",
        ),
        (([[0], [1]], [1], (4,)), "values of shape (1,): must be (2,), one for each coordinate"),
        (([[0], [1]], ["a", "b"], (4,)), "values are <U1: must be real numbers"),
        (([[0]], [1j], (4,)), "values are complex128: must be real numbers"),
        (([[0]], [None], (4,)), "values are object: must be real numbers"),
        (
            ([0, 1], [1, 2], (4,)),
            "coordinates of shape (2,): must be (entries, 1), a row for each entry",
        ),
        (([[0.0]], [1], (4,)), "coordinates are float64: must be whole numbers"),
        (
            (np.array([[2**63]], np.uint64), [1], (4,)),
            "coordinate 9223372036854775808: must be within 63 bits",
        ),
        (([[0], [0, 1]], [1, 2], (4,)), "coordinates [[0], [0, 1]]: must be an array of numbers"),
        (([[0]], [1], (0,)), "entry 0: coordinate (0,): dimension 0 has size 0"),
        (([[0]], [1], (2.0,)), "dimension 0 has size 2.0: must be a whole number"),
        (([[0]], [1], 4), "shape 4: must be a tuple of whole numbers"),
        (([[0]], [np.nan], (4,)), "entry 0: the value at (0,) = nan: must be finite in float64"),
        ((1, 2), "a tuple of 2: must be (coordinates, values, shape)"),
        (
            np.array([[1, 2], [3, np.inf]]),
            "entry 3: the value at (1, 1) = inf: must be finite in float64",
        ),
        (np.nan, "entry 0: the value at () = nan: must be finite in float64"),
        (([], [], (2, -1)), "dimension 1 has size -1: must be 0 to 2**63 - 1"),
        (
            np.ones(2, complex),
            "an array of complex128 is not a tensor: must be an array of real numbers",
        ),
        ("b.mtx", "'b.mtx' is not a tensor: must be an array of real numbers"),
        (None, "None is not a tensor: must be an array of real numbers"),
        ([[1, 2], [3]], "tensor [[1, 2], [3]]: must be an array of numbers"),
        (BROKEN_CSR, "indices[1] = 7: must be from 0 to 1"),
    ],
)
def test_refusals(source: Any, error: str) -> None:
    with refused(error):
        Tensor.from_any(source)


@given(DENSE.filter(lambda dense: dense.ndim > 0), st.randoms(use_true_random=False))
def test_entries_in_any_order_are_sorted(dense: np.ndarray, random: Any) -> None:
    tensor = Tensor.from_any(dense)
    order = list(range(tensor.nnz))
    random.shuffle(order)
    shuffled = Tensor.from_entries(
        tensor.shape, tensor.coordinates[order], tensor.values[order], "f", lambda _: "no"
    )
    assert np.array_equal(shuffled.coordinates, tensor.coordinates)
    assert np.array_equal(shuffled.values, tensor.values)
