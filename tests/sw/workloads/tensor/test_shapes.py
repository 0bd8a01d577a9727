"""Sizes of indices, from the shapes of tensors."""

from __future__ import annotations

import pytest

from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.shapes import check_shapes
from tests.support.errors import refused

MATMUL = "X(i,j)=B(i,k)*C(k,j)"


def test_sizes_come_in_loop_order() -> None:
    statement = parse(f"{MATMUL} -f=X:dd -s=reorder(i,k,j)")
    sizes = check_shapes(statement, {"B": (2, 3), "C": (3, 4)})
    assert list(sizes.items()) == [("i", 2), ("k", 3), ("j", 4)]


def test_scalars_have_no_sizes() -> None:
    assert check_shapes(parse("x=b*c(i)"), {"b": (), "c": (7,)}) == {"i": 7}


def test_the_result_gives_sizes_that_no_operand_has() -> None:
    statement = parse("X(i,j)=b(i)")
    assert check_shapes(statement, {"b": (2,), "X": (2, 5)}) == {"i": 2, "j": 5}
    with refused(
        "expression, column 1: index j of X(i,j) is in no operand, so its size is not known; "
        "give the shape of X"
    ):
        check_shapes(statement, {"b": (2,)})


@pytest.mark.parametrize(
    ("shapes", "problem"),
    [
        (
            {"B": (2, 3), "C": (5, 4)},
            "expression, column 15: index k has size 5 in mode 0 of C, but 3 in mode 1 of B; "
            "it must have one size",
        ),
        (
            {"B": (2, 3), "C": (3, 4), "X": (9, 4)},
            "expression, column 1: index i has size 9 in mode 0 of X, but 2 in mode 0 of B; "
            "it must have one size",
        ),
        ({"B": (2, 3)}, "expression, column 15: tensor C is not given"),
        (
            {"B": (2, 3), "C": (3,)},
            "expression, column 15: tensor C has 1 dimensions, but C(k,j) 2; they must be the same",
        ),
        (
            {"B": (2, 3), "C": (3, 4), "Q": (1,)},
            "tensor Q is not in the expression; it has B, C, X",
        ),
    ],
)
def test_sizes_that_contradict_each_other(shapes: dict[str, tuple[int, ...]], problem: str) -> None:
    with refused(problem):
        check_shapes(parse(MATMUL), shapes)


def test_a_tensor_twice_has_one_size_for_an_index() -> None:
    with refused(
        "expression, column 15: index k has size 2 in mode 0 of B, but 3 in mode 1 of B; "
        "it must have one size"
    ):
        check_shapes(parse("X(i,j)=B(i,k)*B(k,j)"), {"B": (2, 3)})
