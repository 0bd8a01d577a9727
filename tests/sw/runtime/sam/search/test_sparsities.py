"""Inputs of which only shares of zeros are known."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.runtime.sam.search.sparsities import random_inputs
from gnarl.sw.workloads.tensor.tensor import DENSE_LIMIT, Tensor
from tests.support.errors import refused
from tests.support.sam.models import valued_model

TEXT = "t(i,j)=sum[k](A(i,k)*X(k,j)); y(i,j)=t(i,j)*s*W(j)+v(j) -f=A:ds"


def model() -> SamModel:
    """With a scalar, a parameter that users call ``fc.weight`` and an input ``fc.bias``."""
    ones = {"A": (4, 6), "X": (6, 0), "s": (), "W": (0,), "v": (0,)}
    own = valued_model(TEXT, {name: np.ones(shape) for name, shape in ones.items()})
    return replace(
        own,
        parameters={"W": own.inputs["W"].tensor},
        names={"W": "fc.weight", "v": "fc.bias"},
    )


def entries(shape: tuple[int, ...], sparsity: float) -> Tensor:
    own = model()
    own = replace(own, shapes={**own.shapes, "A": shape})
    found = random_inputs(own, {"A": sparsity})["A"]
    assert isinstance(found, Tensor) and found.shape == shape
    return found


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 0), (4, 6), (2, 3, 4)])
@pytest.mark.parametrize("sparsity", [0.0, 0.25, 0.5, 0.999, 1.0])
def test_so_many_entries_have_places(shape: tuple[int, ...], sparsity: float) -> None:
    found = entries(shape, sparsity)
    size = int(np.prod(shape))
    assert found.nnz == round(size * (1 - sparsity))
    assert found.coordinates.shape == (found.nnz, len(shape))
    assert found.coordinates.dtype == np.int64
    assert np.all(found.coordinates < np.array(shape, int)) and np.all(found.coordinates >= 0)
    places = [tuple(each) for each in found.coordinates.tolist()]
    assert places == sorted({*places})
    assert np.all((found.values >= 0.5) & (found.values < 1))


def test_places_are_all_alike() -> None:
    found = entries((40, 60), 0.9)
    for mode, size in ((0, 40), (1, 60)):
        counts = np.bincount(found.coordinates[:, mode] * 4 // size, minlength=4)
        assert counts.sum() == 240 and np.all(abs(counts - 60) < 30)


def test_the_same_every_time_and_not_twice() -> None:
    own = replace(model(), shapes={"A": (9, 9), "X": (9, 9)})
    once, again = (random_inputs(own, {"A": 0.5, "X": 0.5}) for _ in range(2))
    for name in "AX":
        np.testing.assert_array_equal(once[name].coordinates, again[name].coordinates)
        np.testing.assert_array_equal(once[name].values, again[name].values)
    assert not np.array_equal(once["A"].coordinates, once["X"].coordinates)


def test_other_inputs_keep_their_values() -> None:
    own = model()
    found = random_inputs(own, {"A": 0.5, "fc.bias": 0.0})
    assert found.keys() == own.inputs.keys()
    for name in ("X", "s", "W"):
        assert found[name] is own.inputs[name]
    assert found["v"].shape == (0,)


def test_parameters_have_sparsities_too() -> None:
    """As masks and pruned weights do."""
    own = model()
    found = random_inputs(own, {"fc.weight": 1.0})
    assert found["W"].nnz == 0 and found["W"].shape == own.shapes["W"]


@pytest.mark.parametrize("name", ["B", "y", "t", ""])
def test_tensors_that_are_no_inputs(name: str) -> None:
    with refused(f"--estimate {name}: no input; the model has A, X, s, fc.weight, fc.bias"):
        random_inputs(model(), {"A": 0.5, name: 0.5})


@pytest.mark.parametrize("sparsity", [-0.1, 1.5, nan, inf])
def test_what_is_no_share(sparsity: float) -> None:
    with refused(f"--estimate X={sparsity}: must be a share of zeros from 0 to 1"):
        random_inputs(model(), {"A": 0.5, "X": sparsity})


def test_numbers_that_the_host_needs() -> None:
    """Random ones would be no coordinates."""
    ones = {"e": np.zeros((2, 3)), "X": np.ones((4, 2))}
    text = "a(i,j)=coo[i:4,j:4](e(p,q)); y(i,m)=sum[j](a(i,j)*X(j,m))"
    own = valued_model(text, ones)
    with refused(
        "--estimate e: the host makes a tensor of its numbers (coo), which random ones would not "
        "suit: must be left out"
    ):
        random_inputs(own, {"e": 0.5})


def test_more_elements_than_there_can_be() -> None:
    own = replace(model(), shapes={"A": (2, DENSE_LIMIT)})
    with refused(f"--estimate A: {2 * DENSE_LIMIT:,} elements: must be at most {DENSE_LIMIT:,}"):
        random_inputs(own, {"A": 0.999})


# Coordinates that meet.


def met(**shares: float) -> Tensor:
    own = replace(model(), shapes={**model().shapes, "A": (20, 50), "X": (50, 8)})
    named = {name.replace("_", "*"): share for name, share in shares.items()}
    found = random_inputs(own, named)["X"]
    assert isinstance(found, Tensor)
    return found


def test_entries_lie_at_a_share_of_coordinates() -> None:
    """A(i,k) and X(k,j) meet at k."""
    found = met(A=0.9, X=0.8, A_X=0.3)
    assert found.nnz == round(50 * 8 * 0.2)
    rows = np.unique(found.coordinates[:, 0])
    assert 12 <= len(rows) <= 15
    assert len(np.unique(found.coordinates[:, 1])) == 8
    places = [tuple(each) for each in found.coordinates.tolist()]
    assert places == sorted({*places})
    assert met(X=1.0, A_X=0.0).nnz == 0
    assert len(np.unique(met(X=0.7, A_X=0.3).coordinates[:, 0])) == 15


@pytest.mark.parametrize(
    ("shares", "problem"),
    [
        ({"A": 0.9, "A_X": 0.5}, "A*X: must come with a share of zeros of X"),
        ({"X": 0.5, "A_X": 0.25}, "X: 200 entries at rates of coordinates that leave 96 places: "
         "rates together must be at least 0.5"),
        ({"X": 0.5, "B_X": 0.5}, "B: no input; the model has A, X, s, fc.weight, fc.bias"),
        ({"X": 0.5, "s_X": 0.5}, "s*X: no statement has both at one index"),
        ({"X": 0.5, "A_X": 1.5}, "A*X=1.5: must be a share of coordinates that meet from 0 to 1"),
    ],
)  # fmt: skip
def test_rates_that_cannot_be(shares: dict[str, float], problem: str) -> None:
    with refused(f"--estimate {problem}"):
        met(**shares)
