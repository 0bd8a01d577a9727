"""Dimensions of size zero: the model and the golden model give what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.golden.tensor import evaluate, reference
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.sw.compiler.sam.machine import meaning, on_model
from tests.sw.compiler.sam.test_dot import TEXTS


@pytest.mark.parametrize("name", TEXTS)
def test_statements(name: str) -> None:
    statement = parse(TEXTS[name])
    rng = np.random.default_rng(1)
    empty = [[index] for index in statement.order] + [list(statement.order)]
    if name == "squared":  # B is B(i,k) and B(k,j).
        empty = empty[-1:]
    for indices in empty:
        sizes = {index: 0 if index in indices else 4 for index in statement.order}
        operands = {}
        for access in statement.operands:
            shape = [sizes[index] for index in access.indices]
            kept = rng.random(shape) < 0.6
            operands[access.tensor] = np.where(kept, rng.integers(1, 4, shape), 0.0)
        expected = meaning(statement, operands, sizes)
        found, _ = on_model(statement, operands, sizes)
        np.testing.assert_array_equal(found, expected)

        tensors = {access: Tensor.from_any(array) for access, array in operands.items()}
        shape = [sizes[index] for index in statement.result.indices]
        tensors[statement.result.tensor] = Tensor.from_any(np.zeros(shape))
        coordinates, words = evaluate(statement, tensors, "float32")
        exact_coordinates, numbers = reference(statement, tensors)
        assert exact_coordinates.tolist() == coordinates.tolist()
        for values in (words.view(np.float32), numbers):
            dense = np.zeros((1, *expected.shape))
            dense[(np.zeros(len(values), int), *coordinates.T)] = values
            np.testing.assert_array_equal(dense[0], expected)
