"""Kernels: the order of the loops of several statements."""

from __future__ import annotations

from gnarl.sw.workloads.einsum.kernel import Kernel
from gnarl.sw.workloads.einsum.text import parse_program
from tests.support.errors import refused


def test_the_order_agrees_with_all_statements() -> None:
    text = "t(i,k)=A(i,k)*2; x(i)=sum[k](t(i,k)) -s=reorder(t:k,i) -s=reorder(x:k,i)"
    assert Kernel(parse_program(text)).order == ("k", "i")


def test_orders_that_contradict_each_other() -> None:
    text = "t(i,k)=A(i,k)*2; x(i)=sum[k](t(i,k)) -s=reorder(t:k,i) -s=reorder(x:i,k)"
    with refused(
        "program: the loops over k, i lie in each other: the loop orders of its statements must "
        "agree"
    ):
        _ = Kernel(parse_program(text)).order
