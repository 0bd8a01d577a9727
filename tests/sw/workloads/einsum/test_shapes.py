"""Sizes of a program's tensors and indices."""

from __future__ import annotations

import pytest

from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from tests.support.errors import refused

PROGRAM = parse_program("t(i,m)=sum[k](A(i,k)*F(k,m)); h(j,i)=sum[m](t(j,m)*t(i,m))+b(j)")
SHAPES = {"A": (2, 3), "F": (3, 4), "b": (2,)}


def test_sizes_go_from_statement_to_statement() -> None:
    found = program_shapes(PROGRAM, SHAPES)
    assert found.tensors == {**SHAPES, "t": (2, 4), "h": (2, 2)}
    assert found.indices == {"t": {"i": 2, "m": 4, "k": 3}, "h": {"j": 2, "i": 2, "m": 4}}


def test_the_same_index_in_two_statements_says_nothing() -> None:
    program = parse_program("t(i)=a(i); u(i)=b(i); x=sum[i](t(i))*sum[i](c(i))")
    found = program_shapes(program, {"a": (2,), "b": (3,), "c": (2,)})
    assert found.tensors["u"] == (3,)


def test_what_is_in_no_operand_has_its_size_from_later_statements_or_a_shape() -> None:
    program = parse_program("t(i,j)=a; x=sum[i,j](t(i,j)*B(i,j))")
    assert program_shapes(program, {"a": (), "B": (2, 0)}).tensors["t"] == (2, 0)
    program = parse_program("t(i,j)=a")
    assert program_shapes(program, {"a": (), "t": (2, 0)}).indices["t"] == {"i": 2, "j": 0}
    with refused(
        "statement t, column 1: index i of t(i,j) is in no operand, so its size is not known; "
        "give the shape of t, in a text by -n=t:…"
    ):
        program_shapes(program, {"a": ()})
    program = parse_program("t(i,j)=a; -n=t:2,0")
    assert program_shapes(program, {"a": ()}).tensors["t"] == (2, 0)
    with refused(
        "statement t, column 1: index i has size 2 in mode 0 of t, but 3 in mode 0 of b; it must "
        "have one size"
    ):
        program_shapes(parse_program("t(i,j)=b(i); -n=t:2,0"), {"b": (3,)})


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"A": None}, "statement t, column 15: tensor A is not given"),
        (
            {"F": (4,)},
            "statement t, column 22: tensor F has 1 dimensions, but F(k,m) 2; they must be the "
            "same",
        ),
        (
            {"F": (4, 4)},
            "statement t, column 22: index k has size 4 in mode 0 of F, but 3 in mode 1 of A; it "
            "must have one size",
        ),
        (
            {"b": (3,)},
            "statement h, column 60: index j has size 3 in mode 0 of b, but 2 in mode 0 of A; it "
            "must have one size",
        ),
        (
            {"h": (2, 3)},
            "statement h, column 31: index i has size 3 in mode 1 of h, but 2 in mode 0 of A; it "
            "must have one size",
        ),
        ({"c": (1,)}, "program: there is no tensor c; it has A, F, b, t, h"),
    ],
)
def test_shapes_that_do_not_fit(changed: dict[str, tuple[int, ...]], problem: str) -> None:
    shapes = {name: shape for name, shape in {**SHAPES, **changed}.items() if shape is not None}
    with refused(problem):
        program_shapes(PROGRAM, shapes)
