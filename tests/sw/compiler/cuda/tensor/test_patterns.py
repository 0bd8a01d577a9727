"""Tests the expressions that the templates compute, and what is missing for others."""

from __future__ import annotations

import pytest

from gnarl.sw.compiler.cuda.tensor.patterns import PooledSum, SampledProduct, match
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.errors import refused

FORMS = "must be a sum of products B(i,k)*C(k,j) or B(i,k)*c(k), or one B(i,j)*C(i,k)*D(j,k)"
LACKS = "not supported by target cuda"


def pooled(text: str) -> list[str]:
    pattern = match(parse(text))
    assert isinstance(pattern, PooledSum)
    return [f"{term.matrix} {term.table}" for term in pattern.terms]


def sampled(text: str) -> list[str]:
    pattern = match(parse(text))
    assert isinstance(pattern, SampledProduct)
    return [str(access) for access in (pattern.samples, pattern.left, pattern.right)]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("X(i,j)=B(i,k)*C(k,j) -f=X:dd -f=B:ds -f=C:dd", ["B(i,k) C(k,j)"]),
        ("X(i,j)=C(k,j)*B(i,k) -f=B:ss", ["B(i,k) C(k,j)"]),
        ("x(i)=B(i,k)*c(k) -f=B:ds", ["B(i,k) c(k)"]),
        ("X(i,j)=B(i,k)*C(k,j) -f=B:ds -s=reorder(i,k,j)", ["B(i,k) C(k,j)"]),
        ("X(i,j)=B(k,i)*C(j,k) -f=B:ds:1,0 -f=C:dd:1,0", ["B(k,i) C(j,k)"]),
        (
            "X(j,i)=B(i,k)*C(k,j) -f=X:dd:1,0 -f=B:ds -s=reorder(i,j,k)",
            ["B(i,k) C(k,j)"],
        ),
        (
            "X(i,j)=B(i,k)*C(k,j)+(D(i,l)*E(l,j)+B(i,k)*F(k,j)) -f=B:ds -f=D:ss",
            ["B(i,k) C(k,j)", "D(i,l) E(l,j)", "B(i,k) F(k,j)"],
        ),
    ],
)
def test_sums_of_products_are_pooled(text: str, terms: list[str]) -> None:
    assert pooled(text) == terms


@pytest.mark.parametrize(
    "text",
    [
        "X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=X:ds -f=B:ds",
        "X(i,j)=D(j,k)*(B(i,j)*C(i,k)) -f=X:ds -f=B:ds",
        "X(j,i)=B(i,j)*C(i,k)*D(j,k) -f=X:ds:1,0 -f=B:ds -s=reorder(i,j,k)",
    ],
)
def test_sampled_products(text: str) -> None:
    assert sampled(text) == ["B(i,j)", "C(i,k)", "D(j,k)"]


def test_a_transposed_matrix_is_sampled_with_where_its_columns_are_stored() -> None:
    text = "X(i,j)=B(i,j)*C(i,k)*D(k,j) -f=X:ss -f=B:ss -f=D:dd:1,0"
    assert sampled(text) == ["B(i,j)", "C(i,k)", "D(k,j)"]


def test_sizes_that_kernels_are_made_for() -> None:
    assert match(parse("X(i,j)=B(i,k)*C(k,j)+D(i,l)*E(l,j) -f=B:ds -f=D:ds")).sized == (
        *("k", "j", "l"),
    )
    assert match(parse("X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=X:ds -f=B:ds")).sized == ("k",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "X(i,j)=B(i,k)*C(k,j)",
            f", column 8: B(i,k) in format dd01: {LACKS}: must be rows of entries, i outermost: "
            "-f=B:ds:0,1 or -f=B:ss:0,1",
        ),
        (
            "X(i,j)=B(i,k)*C(k,j) -f=B:ds:1,0",
            f", column 8: B(i,k) in format ds10: {LACKS}: must be rows of entries, i outermost: "
            "-f=B:ds:0,1 or -f=B:ss:0,1",
        ),
        (
            "X(i,j)=B(i,k)*C(k,j) -f=B:db",
            f", column 8: B(i,k) in format db01: {LACKS}: must be rows of entries, i outermost: "
            "-f=B:ds:0,1 or -f=B:ss:0,1",
        ),
        (
            "X(i,j)=B(i,k)*C(k,j) -f=B:ss -f=C:ss",
            f", column 15: C(k,j) in format ss01: {LACKS}: must be dense rows, k outermost: "
            "-f=C:dd:0,1",
        ),
        (
            "X(i,j)=B(i,k)*C(j,k) -f=B:ss",
            f", column 15: C(j,k) in format dd01: {LACKS}: must be dense rows, k outermost: "
            "-f=C:dd:1,0",
        ),
        (
            "X(i,j)=B(i,k)*C(k,j) -f=B:ss -f=X:ds",
            f", column 1: X(i,j) in format ds01: {LACKS}: must be dense rows, i outermost: "
            "-f=X:dd:0,1",
        ),
        (
            "x(i)=B(i,k)*c(k) -f=B:ss -f=c:s",
            f", column 13: c(k) in format s0: {LACKS}: must be dense rows, k outermost: -f=c:d:0",
        ),
        (
            "X(i,j)=B(i,j)*C(i,k)*D(k,j) -f=B:ds -f=X:ds",
            f", column 22: D(k,j) in format dd01: {LACKS}: must be dense rows, j outermost: "
            "-f=D:dd:1,0",
        ),
        (
            "X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=B:ds",
            f", column 1: X(i,j) in format dd01: {LACKS}: must be the entries of B, i outermost: "
            "-f=X:ds:0,1",
        ),
        (
            "X(i,j)=B(i,k)*C(k,j) -f=B:ds -s=reorder(k,i,j)",
            f": loop order k,i,j: {LACKS}: must begin with i",
        ),
        (
            "X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=B:ds -f=X:ds -s=reorder(j,i,k)",
            f": loop order j,i,k: {LACKS}: must be i,j,k",
        ),
        (
            "X(i,j)=B(i,k)*C(k,j) -f=B:ds -s=parallelize(i,4)",
            f": parallelize(i,4): {LACKS}, whose grids deal rows to blocks: must be left out",
        ),
        ("X(i,j)=B(i,k)*C(k,j)-D(i,k)*C(k,j) -f=B:ds", f": operator -: {LACKS}: {FORMS}"),
        ("X(i,j)=-B(i,k)*C(k,j) -f=B:ds", f": operator -: {LACKS}: {FORMS}"),
        ("X(i,j)=sum(k,relu(B(i,k)*C(k,j))) -f=B:ds", f": operator relu: {LACKS}: {FORMS}"),
        ("X(i,j)=2*B(i,k)*C(k,j) -f=B:ds", f": the number 2.0: {LACKS}: {FORMS}"),
        ("X(i,j)=(B(i,k)+D(i,k))*C(k,j)", f": a product of a sum: {LACKS}: {FORMS}"),
        ("X(i,j)=B(i,j)", f", column 8: term B(i,j): {LACKS}: {FORMS}"),
        (
            "X(i,j)=B(i,k)*C(k,j)+D(i,j) -f=B:ds",
            f", column 22: term D(i,j): {LACKS}: {FORMS}",
        ),
        (
            "X(i,j)=B(i,j)*C(i,k)*D(j,k)+E(i,k)*F(k,j) -f=B:ds",
            f", column 8: term B(i,j)*C(i,k)*D(j,k): {LACKS}: {FORMS}",
        ),
        (
            "X(i,j)=B(i,j)*C(i,j) -f=B:ds",
            f", column 8: B(i,j)*C(i,j) for X(i,j): {LACKS}: {FORMS}",
        ),
        (
            "X(i,j)=B(i,k)*c(k) -f=B:ds",
            f", column 8: B(i,k)*c(k) for X(i,j): {LACKS}: {FORMS}",
        ),
        ("X(i,j)=B(i,j)*c(j) -f=B:ds", f", column 8: B(i,j)*c(j) for X(i,j): {LACKS}: {FORMS}"),
        (
            "X(i,j)=B(i,k)*C(k,l)*D(l,j) -f=B:ds",
            f", column 8: B(i,k)*C(k,l)*D(l,j) for X(i,j): {LACKS}: {FORMS}",
        ),
        (
            "X(i,j)=B(i,j)*C(j,k)*D(j,k) -f=B:ds",
            f", column 22: D(j,k)*C(j,k) sampled by B(i,j): {LACKS}: {FORMS}",
        ),
        ("x=b(k)*c(k)", f", column 1: a result of 0 dimensions: {LACKS}: {FORMS}"),
        ("X(i,j,l)=B(i,j,k)*C(k,l)", f", column 1: a result of 3 dimensions: {LACKS}: {FORMS}"),
    ],
)
def test_what_is_missing_is_named(text: str, problem: str) -> None:
    with refused(f"expression{problem}"):
        match(parse(text))
