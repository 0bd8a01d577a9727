"""Sums that are taken out of the products that they are factors of, as text."""

from __future__ import annotations

import pytest

from gnarl.sw.compiler.sam.fuse.choices import ITERATIONS
from gnarl.sw.compiler.sam.fuse.global_iteration import globally
from gnarl.sw.compiler.sam.fuse.regions import Fusion, Region, lower_regions
from gnarl.sw.compiler.sam.fuse.views import views_of
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.notation import text_of as expression_text


def shown(text: str, *results: str) -> list[str]:
    """The statements, each result with its expression, of a program and its ``results``."""
    program = parse_program(text)
    names = [each.name for each in program.statements]
    views = globally(views_of(program, names, list(results)))
    return [f"{view.result}={expression_text(view.expression)}" for view in views.views]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "t(i,m)=sum[l](A(i,l)*X(l,m)); y(i,j)=sum[m](t(i,m)*W(m,j))",
            ["y(i,j)=sum[m,l](A(i,l)*X(l,m)*W(m,j))"],
        ),
        # A maximum is no sum: neither as a factor nor around one, nor inside.
        ("t(i)=max[k](A(i,k)); y(i)=t(i)*b(i)", ["t(i)=max[k](A(i,k))", "y(i)=t(i)*b(i)"]),
        ("y(i)=sum[j](max[k](A(i,j,k)))", ["y(i)=sum[j](max[k](A(i,j,k)))"]),
        ("y(i)=max[j](sum[k](A(i,j,k)))", ["y(i)=max[j](sum[k](A(i,j,k)))"]),
        ("y(i)=sum[j](sum[k](A(i,j,k)))", ["y(i)=sum[j,k](A(i,j,k))"]),
        ("y(i)=exp(b(i)*sum[k](A(i,k)))", ["y(i)=exp(sum[k](b(i)*A(i,k)))"]),
        # What is taken twice is computed once.
        (
            "t(i)=sum[k](A(i,k)); y(i)=t(i)*b(i)+t(i)",
            ["t(i)=sum[k](A(i,k))", "y(i)=t(i)*b(i)+t(i)"],
        ),
    ],
)
def test_sums_go_outside(text: str, expected: list[str]) -> None:
    assert shown(text, "y") == expected


def test_a_result_stays() -> None:
    text = "t(i)=sum[k](A(i,k)); y(i)=t(i)*b(i)"
    assert shown(text, "y") == ["y(i)=sum[k](A(i,k)*b(i))"]
    assert shown(text, "t", "y") == ["t(i)=sum[k](A(i,k))", "y(i)=t(i)*b(i)"]


def test_a_region_is_iterated_globally() -> None:
    program = parse_program("t(i)=sum[k](A(i,k)); y(i)=t(i)*b(i)")
    shown = []
    for iteration in ITERATIONS:
        (lowered,) = lower_regions(Fusion(program, (Region(("t", "y"), iteration=iteration),)))
        shown.append(program_text(lowered.kernel.program).partition(" -")[0])
    assert shown == ["t(i)=sum[k](A(i,k)); y(i)=t(i)*b(i)", "y(i)=sum[k](A(i,k)*b(i))"]
