"""Programs that did not come from text: what is refused names their places."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnarl.sw.workloads.einsum.check import check
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.storage import TensorFormat
from tests.support.errors import refused

PROGRAM = parse_program("t(i)=sum[k](A(i,k)); x(i)=t(i)*b(i) -f=A:ds")
SPARSE = TensorFormat(("compressed",), (0,))


def test_a_place_stands_for_the_column() -> None:
    last = replace(PROGRAM["x"], place="gcn.py:14")
    program = replace(PROGRAM, statements=(last, PROGRAM["t"]))
    with refused("gcn.py:14: statement x: tensor t is used before it is computed"):
        check(program)


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (replace(PROGRAM, results=()), "must have a result"),
        (replace(PROGRAM, results=("A",)), "result A is not computed"),
        (replace(PROGRAM, results=("t", "t")), "result t is there twice"),
        (replace(PROGRAM, formats={}), "tensor A must have a format"),
        (
            replace(PROGRAM, formats={**PROGRAM.formats, "y": SPARSE}),
            "format of y: there is no such tensor",
        ),
        (
            replace(PROGRAM, formats={**PROGRAM.formats, "A": SPARSE}),
            "format of A: has 1 level and must have 2",
        ),
    ],
)
def test_results_and_formats_fit(program: EinsumProgram, problem: str) -> None:
    with refused(f"program: {problem}"):
        check(program)


@pytest.mark.parametrize(
    "part", ["t(i,k)", "B(i,k)*t(i,k)", "B(i,k)*relu(B(i,k))", "B(i,k)+C(k)", "sum[j](B(i,k)*C(j))"]
)
def test_maxima_of_what_is_stored_alone_say_where_it_is(part: str) -> None:
    text = f"t(i,k)=sum[j](A(i,j)*C(k)); x(i)=greatest[k]({part}) -f=B:ds"
    with refused(
        "statement x, column 34: greatest is of what may be stored with zeros elsewhere: must be "
        "of a product of inputs and of what is everywhere, as greatest[j](B(i,j)*(x(i,j)+0))"
    ):
        parse_program(text)
    parse_program(
        "t(i)=relu(A(i)); x=greatest[i](B(i)*(t(i)-1)*exp(t(i))); y=greatest[i](B(i)) -f=B:s"
    )


@pytest.mark.parametrize("format", ["sd", "dd"])
def test_maxima_of_what_is_stored_alone_are_of_entries(format: str) -> None:
    with refused(
        "statement y, column 18: greatest is of A(i,k), and A may be stored with zeros where it "
        "has no entry: must have a format whose last level is not dense, or be (A(i,k)+0), which "
        "is everywhere"
    ):
        parse_program(f"y(i)=greatest[k](A(i,k)) -f=A:{format}")
    parse_program("p(i,k)=pattern[gt:0](A(i,k)); y(i)=greatest[k](p(i,k)) -f=A:dd")


def test_loop_orders_have_every_index() -> None:
    statements = (replace(PROGRAM["t"], order=("k",)), PROGRAM["x"])
    with refused("statement t, column 1: loop order k must name each of i, k once"):
        check(replace(PROGRAM, statements=statements))
