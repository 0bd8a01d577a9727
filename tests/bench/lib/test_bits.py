"""Compares the bits of outputs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench.lib.bits import same_bits
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.workloads.tensor.tensor import Tensor


def result(output: Array) -> Any:
    return SimpleNamespace(outputs={"x": output})


def sparse(places: list[list[int]], values: list[float]) -> Tensor:
    return Tensor((4, 4), np.array(places), np.array(values))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (np.array([0.0, np.nan]), np.array([0.0, np.nan]), True),
        (np.array([0.0]), np.array([-0.0]), False),
        (sparse([[0, 1]], [2.0]), sparse([[0, 1]], [2.0]), True),
        (sparse([[0, 1]], [2.0]), sparse([[0, 2]], [2.0]), False),
        (sparse([[0, 1]], [2.0]), sparse([[0, 1]], [3.0]), False),
    ],
)
def test_coordinates_and_values_count(one: Array, other: Array, same: bool):
    assert same_bits(result(one), result(other)) == same
