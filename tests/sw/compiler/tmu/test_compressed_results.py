"""Expressions whose results are compressed, at all levels and coupled, on the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.tmu.image import Operands, image, outputs, result_rows
from gnarl.sw.runtime.tmu.model import machine
from gnarl.sw.workloads.loops.expressions.tensor_expression import expression_workload
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.tmu.manners import MANNERS

CONFIG = TmuConfig(lanes=2, stream_words=64)
SIDE = 5
PROGRAMS = [*MANNERS.values()]

VECTORS = (
    "X(i)=B(i)*C(i) -f=X:s -f=B:s -f=C:s",
    "X(i)=B(i)+C(i) -f=X:s -f=B:s -f=C:s",
    "X(i)=B(i)*C(i) -f=X:s -f=B:s",
)
MATRICES = (
    "X(i,j)=B(i,j)*C(i,j) -f=X:ds -f=B:ds -f=C:ds",
    "X(i,j)=B(i,j)+C(i,j) -f=X:ds -f=B:ds -f=C:ds",
    "X(i,j)=B(i,j)*C(i,j) -f=X:ss -f=B:ss -f=C:ss",
    "X(i,j)=B(i,j)+C(i,j) -f=X:ss -f=B:ss -f=C:ss",
    "X(i,j)=B(i,j)+C(i,j) -f=X:ss -f=B:ds -f=C:ds",
    "X(i,j)=B(i,j)+C(i,j) -f=B:ss -f=C:ss",
    "X(i,j)=B(i,k)*C(k,j) -f=X:ds -f=B:ds -f=C:ds:1,0",
    "X(i,j)=B(i,k)*C(k,j) -f=X:ss -f=B:ss -f=C:ss:1,0",
)
SCALED = (
    "X(i,j)=B(i,j)*C(j) -f=X:ds -f=B:ds",
    "X(i,j)=B(i,j)*C(j) -f=X:ss -f=B:ss",
    "X(i,j)=B(i,j)*C(j) -f=X:ss -f=B:ss -f=C:s",
    "X(i,j)=3*B(i,j)*C(j) -f=X:ss -f=B:ss",
    "X(i)=B(i,j)*C(j) -f=X:s -f=B:ss",
    "X(i)=B(i,j)*C(j) -f=X:s -f=B:ds",
)


def check(text: str, inputs: dict[str, np.ndarray], **options: Any) -> Program:
    """The model's result has the golden model's entries and bits, and NumPy's numbers."""
    workload = expression_workload(text, inputs)
    program = compile(workload, CONFIG, trace=Trace(), **options)
    program.check()
    (launch,) = program.launches
    operands = Operands(launch, workload.inputs)
    run = machine.run(CONFIG, image(launch, operands), lambda counters: result_rows(launch, {}))
    found, golden = outputs(launch, operands, run.memory)["X"], operands.golden["X"]
    values = found
    if isinstance(golden, Tensor):
        assert isinstance(found, Tensor)
        np.testing.assert_array_equal(found.coordinates, golden.coordinates)
        assert found.values.tobytes() == golden.values.tobytes()
        values = found.to_dense()
    else:
        assert found.tobytes() == golden.tobytes()
    np.testing.assert_array_equal(values, wanted(text, inputs))
    return program


def wanted(text: str, inputs: dict[str, np.ndarray]) -> np.ndarray:
    if "C" not in inputs:
        return inputs["B"]
    left, right = inputs["B"], inputs["C"]
    if "+" in text:
        return left + right
    if "k" in text:
        return left @ right
    found = left * right
    if text.startswith("X(i)=B(i,j)"):
        found = found.sum(axis=1)
    return 3 * found if "3" in text else found


row = st.lists(st.integers(-2, 2), min_size=SIDE, max_size=SIDE)
"""Some of them zeros; sums and products are exact, and some cancel."""

rows = st.one_of(row, st.sampled_from(([0] * SIDE, [1] * SIDE)))
matrices = st.lists(rows, min_size=4, max_size=4).map(lambda found: np.array(found, float))
squares = st.lists(rows, min_size=SIDE, max_size=SIDE).map(lambda found: np.array(found, float))


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(VECTORS), rows, rows, st.sampled_from(PROGRAMS))
def test_random_vectors(text: str, left: list[int], right: list[int], program: dict[str, Any]):
    check(text, {"B": np.array(left, float), "C": np.array(right, float)}, **program)


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(MATRICES), squares, squares, st.sampled_from(PROGRAMS[:-1]))
def test_random_matrices(text: str, left: np.ndarray, right: np.ndarray, program: dict[str, Any]):
    check(text, {"B": left, "C": right}, **program)


@settings(max_examples=4, deadline=None)
@given(st.sampled_from(MATRICES[:3]), squares, squares)
def test_random_matrices_coupled(text: str, left: np.ndarray, right: np.ndarray):
    check(text, {"B": left, "C": right}, coupled=True)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(SCALED), matrices, rows, st.sampled_from(PROGRAMS))
def test_random_matrices_scaled(
    text: str, matrix: np.ndarray, scale: list[int], program: dict[str, Any]
):
    check(text, {"B": matrix, "C": np.array(scale, float)}, **program)


LEFT = np.array([[1, 0, 2, 0, 0], [0] * 5, [3] * 5, [0, 4, 0, 0, 0], [0] * 5], float)
RIGHT = np.array([[0, 5, 0, 0, 0], [1] * 5, [0] * 5, [0, 6, 0, 0, 7], [0] * 5], float)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
@pytest.mark.parametrize("text", MATRICES[2:4])
def test_doubly_compressed_matrices(text: str, program: dict[str, Any]):
    """Rows that one has, that both have, and that have nothing in common."""
    check(text, {"B": LEFT, "C": RIGHT}, **program)


def test_a_copy_goes_past_the_execute_unit():
    """Values, coordinates and ends of rows are stored by the access unit."""
    program = check("X(i,j)=B(i,j) -f=X:ds -f=B:ds", {"B": LEFT})
    assert program.launches[0].statistics["program_words"] <= 2


def test_results_that_do_not_fit():
    empty = (np.zeros((0, 2), np.int64), np.zeros(0), (1 << 12, 1 << 12))
    text = "X(i,j)=B(i,k)*C(k,j) -f=X:ds -f=B:ds -f=C:ds:1,0"
    with pytest.raises(CapacityError) as caught:
        compile(expression_workload(text, {"B": empty, "C": empty}), CONFIG, trace=Trace())
    assert str(caught.value).startswith("memory_bytes = 8388608: must be at least 268435456, for")
