"""Einsum programs as loop nests, against their golden model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from gnarl.sw.golden.einsum_bounds import bounds
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.loops.expressions.program_nest import program_workload
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.einsums import Case, cases
from tests.support.errors import refused


def require_bounded(program: EinsumProgram, tensors: dict[str, Tensor]) -> LoopWorkload:
    """The nest's results are those of the program, its sums in some order; printed it is the
    same."""
    workload = program_workload(program, tensors)
    assert read_source(print_nest(workload.nest), "f.py") == workload.nest
    with np.errstate(all="ignore"):
        found = GoldenLoops(workload.nest).run(workload.binding)
    shapes = program_shapes(program, {name: each.shape for name, each in tensors.items()}).tensors
    for name, (coordinates, low, high) in bounds(program, tensors, "float32").items():
        least, most = (Tensor(shapes[name], coordinates, each).to_dense() for each in (low, high))
        result = found[name].reshape(shapes[name]).astype(np.float64)
        is_anything = np.isinf(least) & np.isinf(most)
        assert (is_anything | ((least <= result) & (result <= most))).all(), name
    return workload


@settings(max_examples=60, deadline=None)
@given(cases(functions=("relu",), odd=False))
def test_random_programs(case: Case) -> None:
    require_bounded(case.program, case.tensors)


def tensors(**arrays: Any) -> dict[str, Tensor]:
    return {name: Tensor.from_any(np.asarray(each, float)) for name, each in arrays.items()}


A = [[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]]
X = np.arange(8).reshape(4, 2) - 3


@pytest.mark.parametrize(
    "format, loops",
    [
        (
            "dd",
            "    for i0 in range(3):\n"
            "        for i1 in range(4):\n"
            "            for i2 in range(2):\n"
            "                y[i0, i2] += A[i0, i1] * x[i1, i2]\n"
            "        for i3 in range(2):\n"
            "            y[i0, i3] = max(y[i0, i3], 0.0)\n",
        ),
        (
            "ds",
            "    for i0 in range(3):\n"
            "        for i1 in range(A_segments[i0], A_segments[i0 + 1]):\n"
            "            for i2 in range(2):\n"
            "                y[i0, i2] += A_values[i1] * x[A_columns[i1], i2]\n"
            "        for i3 in range(2):\n"
            "            y[i0, i3] = max(y[i0, i3], 0.0)\n",
        ),
        (
            "ss",
            "    for i0 in range(4):\n"
            "        for i1 in range(2):\n"
            "            y[A_rows[i0], i1] += A_values[i0] * x[A_columns[i0], i1]\n"
            "    for i2 in range(3):\n"
            "        for i3 in range(2):\n"
            "            y[i2, i3] = max(y[i2, i3], 0.0)\n",
        ),
        (
            "ds:1,0",
            "    for i0 in range(4):\n"
            "        for i1 in range(A_segments[i0], A_segments[i0 + 1]):\n"
            "            for i2 in range(2):\n"
            "                y[A_rows[i1], i2] += A_values[i1] * x[i0, i2]\n"
            "    for i3 in range(3):\n"
            "        for i4 in range(2):\n"
            "            y[i3, i4] = max(y[i3, i4], 0.0)\n",
        ),
    ],
)
def test_products(format: str, loops: str) -> None:
    program = parse_program(f"y(i,j)=relu(sum[k](A(i,k)*x(k,j))) -f=A:{format} -f=x:dd -f=y:dd")
    workload = require_bounded(program, tensors(A=A, x=X))
    assert print_nest(workload.nest).endswith(f":\n{loops}")
    assert workload.temporaries == frozenset()


def test_compressed_operands_that_no_loop_walks() -> None:
    """Beside another one, in a sum, in a maximum."""
    program = parse_program(
        "y(i,j)=A(i,j)*B(i,j)+A(i,j); m(i)=max[j](B(i,j)) -f=A:ds -f=B:ss -f=y:dd -f=m:d"
    )
    workload = require_bounded(program, tensors(A=A, B=np.array(A) - 1))
    assert workload.temporaries == {"A_dense", "B_dense"}


def test_functions_that_nests_do_not_have() -> None:
    program = parse_program("y(i)=exp(x(i)) -f=x:d -f=y:d", "p")
    with refused(
        "p:1:1: exp: not supported in loop nests: must be of add, div, max, min, mul, neg, "
        "reciprocal, relu, sqrt, sub"
    ):
        program_workload(program, tensors(x=[1, 2]))


def test_maxima_of_what_is_stored_alone_are_refused() -> None:
    program = parse_program("x(i)=greatest[k](A(i,k)) -f=A:ds", "rows")
    with refused(
        "rows: x is the greatest of what is stored, as of a softmax with a mask, which nests of "
        "Einsum programs do not have: must be a max of all elements"
    ):
        program_workload(program, {"A": Tensor.from_any(X)})
