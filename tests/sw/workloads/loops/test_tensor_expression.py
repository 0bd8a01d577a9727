"""Index expressions as nests, against einsum; what is not supported is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sw.golden import loops
from sw.golden.loops import GoldenLoops
from sw.workloads.loops.nest import Merge, statements
from sw.workloads.loops.tensor_expression import expression_nest, expression_workload
from tests.support.errors import refused

SIZES = {"i": 4, "j": 5, "k": 6}


def operands(text: str, density: float) -> dict[str, np.ndarray]:
    """Small whole numbers: sums of their products are exact."""
    random = np.random.default_rng(len(text))
    found = {}
    for name, indices in re.findall(r"(\w+)\(([\w,]*)\)", text.split(" -")[0].split("=")[1]):
        shape = [SIZES[index] for index in indices.split(",")]
        values = random.integers(1, 9, shape) * (random.random(shape) < density)
        found[name] = values.astype(np.float64)
    return found


def run(text: str, inputs: dict[str, np.ndarray]) -> np.ndarray:
    workload = expression_workload(text, inputs)
    (found,) = GoldenLoops(workload.nest).run(workload.binding).values()
    return found


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "njit", lambda **options: lambda function: function)


@pytest.mark.parametrize("density", (0, 0.4, 1))
@pytest.mark.parametrize(
    "text",
    [
        "X(i)=B(i)*C(i)",
        "X(i)=B(i)*C(i) -f=B:s",
        "X(i)=B(i)*C(i) -f=B:s -f=C:s",
        "X(i,j)=B(i,j)*C(i,j) -f=B:ds -f=C:ds",
        "X(i,j)=B(i,j)*C(i,j) -f=B:ss -f=C:ss",
        "X(i,j)=B(i,j)*C(i,j) -f=B:ss -f=C:dd",
        "X(i,j)=B(i,k)*C(k,j) -f=B:ds -f=C:ds:1,0",
        "X(i,j)=B(i,k)*C(k,j) -f=B:ss -f=C:ss:1,0",
        "X(i,j)=B(i,k)*C(k,j) -f=B:ds -s=reorder(i,k,j)",
        "X(i,j)=B(i,k)*C(k,j) -f=B:ds -f=C:ds -s=reorder(i,k,j)",
        "X(i)=B(i,j)*C(j) -f=B:ds",
        "X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=B:ds",
    ],
)
def test_products(text: str, density: float) -> None:
    inputs = operands(text, density)
    result, terms = text.split(" -")[0].split("=")
    subscripts = ",".join(re.findall(r"\(([\w,]*)\)", terms.replace(",", "")))
    out = result.split("(")[1].rstrip(")").replace(",", "")
    wanted = np.einsum(f"{subscripts}->{out}", *inputs.values())
    np.testing.assert_array_equal(run(text, inputs), wanted)


@pytest.mark.parametrize("density", (0, 0.4, 1))
@pytest.mark.parametrize(
    "text",
    [
        "X(i)=B(i)+C(i)",
        "X(i)=B(i)+C(i) -f=B:s -f=C:s",
        "X(i,j)=B(i,j)+C(i,j) -f=B:ds -f=C:ds",
        "X(i,j)=B(i,j)+C(i,j)",
    ],
)
def test_sums(text: str, density: float) -> None:
    inputs = operands(text, density)
    np.testing.assert_array_equal(run(text, inputs), inputs["B"] + inputs["C"])


def test_constants_and_scalars() -> None:
    text = "x=2*B(i)*C(i) -f=B:s"
    inputs = operands(text, 0.7)
    assert run(text, inputs).tolist() == [2 * (inputs["B"] @ inputs["C"])]


def test_fibers_merge_only_where_both_are_compressed() -> None:
    def merges(text: str) -> int:
        found = statements(expression_nest(text).body)
        return sum(isinstance(each, Merge) for each in found)

    assert merges("X(i)=B(i)*C(i) -f=B:s -f=C:s") == 1
    assert merges("X(i)=B(i)*C(i) -f=B:s") == 0


@pytest.mark.parametrize(
    "text, error",
    [
        ("X(i)=B(i)*C(i) -f=X:s", "1: X: only dense results are supported"),
        ("X(i)=B(i)-C(i)", "1: sub: an expression must be a product, or a sum of two tensors"),
        (
            "X(i)=B(i)*(C(i)+D(i))",
            "1: add: an expression must be a product, or a sum of two tensors",
        ),
        ("X(i)=B(i)+C(i)+D(i)", "1: a sum must be of two tensors with the indices of the result"),
        ("X(i)=B(i)+C(i,j)", "1: a sum must be of two tensors with the indices of the result"),
        ("X(i)=B(i)+C(i) -f=B:s", "1: i: both tensors of a sum must be compressed, or neither"),
        ("X(i,j)=B(i,j)+C(i,j) -f=B:ss -f=C:ss", "1: i: only a sum's last level may be compressed"),
        (
            "X(i)=B(i)*C(i)*D(i) -f=B:s -f=C:s -f=D:s",
            "1: i: at most two compressed tensors can be merged",
        ),
        ("X(i)=B(i)*C(i) -f=B:b", "6: B: levels must be dense or compressed"),
        ("X(i,j)=B(i,k)*C(k,j) -f=C:ds", "15: C(k,j): is stored k, j: loops must be in this order"),
        ("X(i)=B(i)*C(i) -s=parallelize(i,2)", "1: parallelize is not supported in loop nests"),
    ],
)
def test_refusals(text: str, error: str) -> None:
    with refused(f"expression:1:{error}"):
        expression_nest(text)
