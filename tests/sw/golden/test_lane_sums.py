"""Sums by lanes: those of coordinates with one residue, and then of neighbours, in pairs."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.golden.tensor import evaluate
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor

F32 = np.float32
TEXT = "X(i,j)=B(i,k)*C(k,j) -f=X:ss -f=B:ss -f=C:ss -s=reorder({})"


def summed(row: np.ndarray, column: np.ndarray, lanes: int) -> np.float32 | None:
    """A sum of products by hand, of those that are there."""
    sums: list[np.float32] = []
    for lane in range(lanes):
        total = None
        for k in range(lane, len(row), lanes):
            if row[k] and column[k]:
                value = F32(row[k]) * F32(column[k])
                total = value if total is None else total + value
        sums.append(F32(0) if total is None else total)
    while len(sums) > 1:
        sums = [one + other for one, other in zip(sums[::2], sums[1::2], strict=True)]
    return sums[0]


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("order", ["i,k,j", "k,i,j"])
def test_products_of_matrices(order: str, lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    left, right = (
        np.where(rng.random(shape) < 0.6, rng.standard_normal(shape), 0).astype(F32)
        for shape in ((5, 19), (19, 6))
    )
    tensors = {"B": Tensor.from_any(left), "C": Tensor.from_any(right)}
    statement = parse(TEXT.format(order))
    coordinates, words = evaluate(statement, tensors, "float32", {"k": lanes})
    assert len(coordinates) == 30
    for (i, j), value in zip(coordinates, words.view(F32), strict=True):
        assert value == summed(left[i], right[:, j], lanes)
    assert not np.array_equal(words, evaluate(statement, tensors, "float32")[1])


def test_what_is_innermost_is_summed_in_order() -> None:
    """Lanes are of loops around others; the values of the innermost one come one by one."""
    rng = np.random.default_rng(1)
    tensors = {
        "B": Tensor.from_any(rng.standard_normal((5, 19))),
        "C": Tensor.from_any(rng.standard_normal((19, 6))),
    }
    statement = parse(TEXT.format("i,j,k"))
    coordinates, words = evaluate(statement, tensors, "float32", {"k": 4})
    expected = evaluate(statement, tensors, "float32")
    np.testing.assert_array_equal(coordinates, expected[0])
    np.testing.assert_array_equal(words, expected[1])


def test_a_sum_of_one_has_the_sign_of_a_sum() -> None:
    """A lane without anything adds 0, and -0 + 0 is 0."""
    tensors = {"B": Tensor((1, 2), [[0, 1]], [-1.0]), "C": Tensor((2, 1), [[1, 0]], [0.0])}
    statement = parse(TEXT.format("i,k,j"))
    assert evaluate(statement, tensors, "float32")[1].tolist() == [0x80000000]
    assert evaluate(statement, tensors, "float32", {"k": 2})[1].tolist() == [0]
