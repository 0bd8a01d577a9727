"""Expressions as text: what is written is read as the same."""

from __future__ import annotations

import pytest

from gnarl.sw.workloads.tensor.expression import Access, Call, Constant, Reduction
from gnarl.sw.workloads.tensor.notation import Sum, Written, text_of
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.sam.expressions import make

A, B = Access("a", ("i",)), Access("b", ("i",))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (Access("s", ()), "s"),
        (Constant(2), "2.0"),
        (Constant(-2), "(-2.0)"),
        (Constant(-0.0), "(-0.0)"),
        (Call("sub", (A, Call("add", (A, B)))), "a(i)-(a(i)+b(i))"),
        (Call("sub", (Call("add", (A, B)), A)), "a(i)+b(i)-a(i)"),
        (Call("mul", (A, Call("mul", (A, B)))), "a(i)*(a(i)*b(i))"),
        (Call("mul", (Call("add", (A, B)), A)), "(a(i)+b(i))*a(i)"),
        (Call("neg", (Call("mul", (A, B)),)), "-(a(i)*b(i))"),
        (Call("mul", (Call("neg", (A,)), B)), "-a(i)*b(i)"),
        (Call("mul", (A, Call("neg", (B,)))), "a(i)*-b(i)"),
        (Call("mul", (Call("neg", (Call("add", (A, B)),)), B)), "(-(a(i)+b(i)))*b(i)"),
        (Call("sub", (A, Call("neg", (Call("add", (A, B)),)))), "a(i)-(-(a(i)+b(i)))"),
        (Call("neg", (Call("neg", (A,)),)), "--a(i)"),
        (Call("max", (Call("add", (A, B)), A)), "max(a(i)+b(i),a(i))"),
        (Call("mul", (Sum("k", Access("c", ("k",))), A)), "sum(k,c(k))*a(i)"),
        (Reduction("sum", ("k", "l"), Call("add", (A, B))), "sum[k,l](a(i)+b(i))"),
        (Call("div", (Call("mul", (A, B)), A)), "a(i)*b(i)/a(i)"),
        (Call("mul", (A, Call("div", (B, A)))), "a(i)*(b(i)/a(i))"),
        (Call("neg", (Call("div", (A, B)),)), "-(a(i)/b(i))"),
    ],
)
def test_parentheses_stand_where_they_must(written: Written, text: str) -> None:
    assert text_of(written) == text
    if "sum" not in text and "/" not in text:
        assert parse(f"x(i)={text}").expression == written


def test_random_expressions_are_read_as_they_were() -> None:
    """With all indices in the result, so that nothing is summed."""
    for seed in range(100):
        statement = parse(make(3, 5, seed).text)
        written = f"{Access('Y', statement.order)}={text_of(statement.expression)}"
        assert parse(written).expression == statement.expression, written
