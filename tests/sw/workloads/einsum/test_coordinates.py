"""Coordinates that tensors list, and that masks leave."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.workloads.einsum.coordinates import left_by, listed
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import refused


def test_coordinates_are_columns() -> None:
    at = Tensor.from_any([[0, 2, 0], [3, 0, 3]])
    assert listed("at", at, (3, 4)).tolist() == [[0, 3], [2, 0], [0, 3]]
    assert listed("at", Tensor.from_any(np.zeros((2, 0))), (3, 4)).shape == (0, 2)


@pytest.mark.parametrize("number", [3.0, -1.0, 0.5, np.nan, np.inf, -np.inf])
def test_numbers_that_are_no_coordinates(number: float) -> None:
    at = Tensor.from_any(np.array([[0, 1], [0, number]]), finite=False)
    with refused(f"at(1, 1) = {number:g}: must be a whole number from 0 to below 3"):
        listed("at", at, (9, 3))


def test_a_mask_leaves_what_is_0() -> None:
    mask = Tensor.from_any(np.array([[0, -np.inf, -0.0], [-np.inf] * 3]), finite=False)
    assert left_by("m", mask).tolist() == [[0, 0], [0, 2]]
    assert left_by("m", Tensor.from_any(np.array(-np.inf), finite=False)).shape == (0, 0)
    assert left_by("m", Tensor.from_any(0.0)).shape == (1, 0)
    with pytest.raises(CapacityError, match="a dense array of shape"):
        left_by("m", Tensor((2**20, 2**20), np.zeros((0, 2), np.int64), np.zeros(0)))


@pytest.mark.parametrize("number", [1.0, -1e308, np.nan, np.inf])
def test_a_mask_has_no_other_numbers(number: float) -> None:
    mask = Tensor.from_any(np.array([0, -np.inf, number]), finite=False)
    with refused(f"m(2) = {number:g}: must be 0 or -inf, as in what the program was compiled for"):
        left_by("m", mask)
