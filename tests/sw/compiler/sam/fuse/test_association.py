"""Association: which products are multiplied in another order, and which are refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.fuse.association import associate
from gnarl.sw.golden import einsum
from gnarl.sw.workloads.einsum.check import check
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.tensor import Tensor

LAYER = "t(i,m)=sum[k](A(i,k)*X(k,m)); y(i,j)=sum[m](t(i,m)*W(m,j))"
CHAIN = "t(i,m)=sum[k](A(i,k)*B(k,m)); s(i,m)=sum[k](t(i,k)*C(k,m)); y(i,j)=sum[m](s(i,m)*D(m,j))"


def statements(program: EinsumProgram) -> str:
    return program_text(program).partition(" -")[0]


def results(program: EinsumProgram) -> list[np.ndarray]:
    """The program's results in float64, where all dimensions are 3."""
    orders = {a.tensor: len(a.indices) for each in program.statements for a in each.operands}
    tensors = {}
    for name in sorted(program.inputs):
        noise = np.random.default_rng(sum(name.encode()))
        shape = (3,) * orders[name]
        tensors[name] = Tensor.from_any(
            noise.integers(-4, 5, shape).astype(float) * (noise.random(shape) < 0.8)
        )
    found = einsum.reference(program, tensors)
    dense = []
    for name, (coordinates, values) in sorted(found.items()):
        array = np.zeros((3,) * len(program[name].result.indices))
        array[tuple(coordinates.T)] = values
        dense.append(array)
    return dense


@pytest.mark.parametrize(
    ("program", "text", "becomes"),
    [
        (
            LAYER,
            "A*(X*W)",
            "t(k,j)=sum[m](X(k,m)*W(m,j)); y(i,j)=sum[k](A(i,k)*t(k,j))",
        ),
        (
            "t(i,m)=sum[k](A(i,k)*X(k,m)); y(i,j)=relu(sum[m](t(i,m)*W(m,j))+b(j))",
            "A*(X*W)",
            "t(k,j)=sum[m](X(k,m)*W(m,j)); y(i,j)=relu(sum[k](A(i,k)*t(k,j))+b(j))",
        ),
        (
            "y(i,j)=sum[m](sum[k](A(i,k)*X(k,m))*W(m,j))",
            "A*(X*W)",
            "product(k,j)=sum[m](X(k,m)*W(m,j)); y(i,j)=sum[k](A(i,k)*product(k,j))",
        ),
        (
            "t(i,m)=sum[k](A(i,k)*A(k,m)); y(i,j)=sum[m](t(i,m)*X(m,j))",
            "A*(A*X)",
            "t(k,j)=sum[m](A(k,m)*X(m,j)); y(i,j)=sum[k](A(i,k)*t(k,j))",
        ),
        (
            CHAIN,
            "(A*B)*(C*D)",
            "t(i,k)=sum[k1](A(i,k1)*B(k1,k)); s(k,j)=sum[m](C(k,m)*D(m,j)); "
            "y(i,j)=sum[k](t(i,k)*s(k,j))",
        ),
        (
            CHAIN,
            "A*(B*(C*D))",
            "t(k,j)=sum[m](C(k,m)*D(m,j)); s(k1,j)=sum[k](B(k1,k)*t(k,j)); "
            "y(i,j)=sum[k1](A(i,k1)*s(k1,j))",
        ),
        (
            CHAIN,
            "s*D",
            CHAIN,
        ),
        (  # three sums, so three names
            "y(i,j)=sum[k,l,m,n](A(i,k)*B(k,l)*C(l,m)*D(m,n)*E(n,j))",
            "((A*B)*(C*D))*E",
            "product(i,l)=sum[k](A(i,k)*B(k,l)); product1(l,n)=sum[m](C(l,m)*D(m,n)); "
            "product2(i,n)=sum[l](product(i,l)*product1(l,n)); "
            "y(i,j)=sum[n](product2(i,n)*E(n,j))",
        ),
        (
            "t(i)=b(i)*c(i); y(i,j)=max[k](t(k)*A(i,j,k))",
            "b*(c*A)",
            "t(k,i,j)=c(k)*A(i,j,k); y(i,j)=max[k](b(k)*t(k,i,j))",
        ),
        (  # two products of one statement
            "t(i,m)=sum[k](A(i,k)*X(k,m)); s(i,m)=sum[k](A(i,k)*X(k,m)); "
            "y(i,j)=sum[m](t(i,m)*W(m,j))+sum[m](s(i,m)*W(m,j))",
            "A*(X*W)",
            "t(k,j)=sum[m](X(k,m)*W(m,j)); s(k,j)=sum[m](X(k,m)*W(m,j)); "
            "y(i,j)=sum[k](A(i,k)*t(k,j))+sum[k](A(i,k)*s(k,j))",
        ),
    ],
)
def test_what_becomes_of_products(program: str, text: str, becomes: str) -> None:
    before = parse_program(program)
    after = check(associate(before, text, {}))
    assert statements(after) == becomes
    for one, other in zip(results(before), results(after), strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (f"{LAYER}; z(i)=sum[m](t(i,m))", "A*(X*W)"),  # taken by others
        (f"{LAYER} -r=y,t", "A*(X*W)"),  # a result
        (f"{CHAIN} -r=y,t", "A*(B*(C*D))"),  # a result, two statements further in
        (LAYER.replace("sum[k](A", "max[k](A"), "A*(X*W)"),
        (LAYER.replace("A(i,k)*X", "A(i,k)+X"), "A*(X*W)"),
        (LAYER, "A*X*W*W"),
        ("y(i,j)=sum[k](A(i,k))*sum[k](B(k,j))", "A*B"),  # sums over an index each
        ("t(i)=b(i)*c(i); y(i)=t(i)*t(i)", "b*(c*(b*c))"),  # taken twice
        ("t(i,k)=b(i)*c(k); y(i,j)=t(i,j)*t(j,i)", "b*(c*(b*c))"),
    ],
)
def test_products_that_a_model_does_not_have(program: str, text: str) -> None:
    with pytest.raises(WorkloadError, match=re.escape(f"associate {text!r}: the model has no")):
        associate(parse_program(program), text, {})


@pytest.mark.parametrize("text", ["", "A", "A+B", "A*", "A*(X", "A*2", "A@B", "A**B", "(" * 300])
def test_what_is_no_product(text: str) -> None:
    with pytest.raises(WorkloadError, match=r"^associate .*: must be a product of tensors"):
        associate(parse_program(LAYER), text, {})


def test_users_names() -> None:
    names = {"conv1.weight": "W", "adj": "A"}
    program = associate(parse_program(LAYER), "adj * (X * conv1.weight)", names)
    assert statements(program).endswith("y(i,j)=sum[k](A(i,k)*t(k,j))")


def test_formats_of_what_is_no_longer_computed_are_forgotten() -> None:
    program = associate(parse_program(f"{LAYER} -f=t:ss:1,0"), "A*(X*W)", {})
    assert set(program.formats) == {"A", "X", "W", "y"}
