"""Orders in which tensors can be walked."""

from __future__ import annotations

import pytest

from gnarl.sw.compiler.sam.check import check_order
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.errors import refused

MATMUL = "X(i,j)=B(i,k)*C(k,j)"


def test_levels_are_walked_from_the_outside_in() -> None:
    check_order(parse(f"{MATMUL} -f=X:ss -f=B:ss:1,0 -f=C:ss -s=reorder(k,i,j)"))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            "-f=B:ss -s=reorder(k,i,j)",
            "expression, column 8: B(i,k) cannot be walked in loop order k,i,j: mode 1 (index k) "
            "is stored inside mode 0 (index i), but its loop is outside; "
            "a transposed copy would do: -f=B:ss:1,0",
        ),
        (
            "-f=B:sd:1,0 -s=reorder(i,k,j)",
            "expression, column 8: B(i,k) cannot be walked in loop order i,k,j: mode 0 (index i) "
            "is stored inside mode 1 (index k), but its loop is outside; "
            "a transposed copy would do: -f=B:ds:0,1",
        ),
        (
            "-f=B:ss:1,0 -f=C:ss -f=X:ss -s=reorder(k,j,i)",
            "expression, column 1: X(i,j) cannot be written in loop order k,j,i: mode 1 (index j) "
            "is stored inside mode 0 (index i), but its loop is outside; "
            "a transposed copy would do: -f=X:ss:1,0",
        ),
    ],
)
def test_orders_that_a_tensor_cannot_be_walked_in(options: str, problem: str) -> None:
    with refused(problem):
        check_order(parse(f"{MATMUL} {options}"))
