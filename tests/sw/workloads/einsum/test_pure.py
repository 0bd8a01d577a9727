"""Programs of pure statements mean what they were made of, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from gnarl.sw.golden.einsum import evaluate
from gnarl.sw.workloads.einsum.check import check
from gnarl.sw.workloads.einsum.program import reductions
from gnarl.sw.workloads.einsum.pure import inlined, pure
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.expression import Reduction
from gnarl.sw.workloads.tensor.notation import text_of
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.einsums import Case, cases


@settings(max_examples=60, deadline=None)
@given(cases())
def test_pure_programs_are_the_same(case: Case) -> None:
    shapes = {name: tensor.shape for name, tensor in case.tensors.items()}
    split = check(pure(case.program, shapes))
    sizes = program_shapes(split, shapes).indices
    for each in split.statements:
        part = each.expression.part if isinstance(each.expression, Reduction) else each.expression
        inner = [index for one in reductions(part) for index in one.indices]
        assert all(sizes[each.name][index] == 1 for index in inner)
    wanted = evaluate(case.program, case.tensors, "float32")
    for program in (split, check(inlined(split, shapes))):
        found = evaluate(program, case.tensors, "float32")
        for name, (coordinates, words) in wanted.items():
            np.testing.assert_array_equal(found[name][0], coordinates)
            np.testing.assert_array_equal(found[name][1], words)


def test_what_is_taken_once_is_in_its_place() -> None:
    program = parse_program(
        "a(i,j)=x(i,j)*2; b(i,j)=max(a(i,j),-a(i,j)); c(i)=sum[j](b(i,j)); d(i)=c(i)/4; "
        "e(i,k)=sum[j](w(k,j)*b(i,j)+d(i)) -f=x:dd -f=w:dd -r=e"
    )
    split = inlined(pure(program, {"x": (2, 3), "w": (4, 3)}), {"x": (2, 3), "w": (4, 3)})
    shown = {each.name: text_of(each.expression) for each in split.statements}
    assert [*shown] == ["b", "c", "d", "e"]
    assert shown["b"] == "max(x(i,j)*2.0,-(x(i,j)*2.0))"


@pytest.mark.parametrize(
    "text",
    [
        "t(i,j)=B(j,i)*2; y=sum[i,j](t(i,j)) -f=B:dd -r=y",
        "t(i,j)=B(i,j)*2; y=sum[i,j](t(i,j)) -f=B:dd -r=y -s=reorder(y:j,i)",
    ],
)
def test_sums_keep_their_order(text: str) -> None:
    program = parse_program(text)
    b = Tensor.from_any(np.random.default_rng(0).normal(size=(7, 5)))
    (wanted,), (found,) = (
        evaluate(each, {"B": b}, "float32")["y"][1] for each in (program, inlined(program))
    )
    assert [*inlined(program).statements] != [*program.statements]
    assert found == wanted


def test_sums_of_a_statement_of_their_own_keep_their_order() -> None:
    """That of the loops of all of the statement they are taken from."""
    program = parse_program("y=sum[j](c(j))*sum[i,j](B(i,j)) -f=B:dd")
    noise = np.random.default_rng(0)
    tensors = {name: Tensor.from_any(noise.normal(size=n)) for name, n in (("c", 5), ("B", (7, 5)))}
    (wanted,), (found,) = (
        evaluate(each, tensors, "float32")["y"][1] for each in (program, pure(program))
    )
    assert found == wanted


def test_what_is_moved_is_computed_before() -> None:
    program = parse_program("a(i)=x(i)*2; r(j)=reshape(a(i)); b(j)=r(j)+1; y(j)=exp(b(j))")
    assert [each.name for each in inlined(program).statements] == ["a", "r", "y"]


def test_formats_of_what_is_inlined_go() -> None:
    program = parse_program("t(i)=a(i)*2; y(i)=exp(t(i)) -f=t:s -r=y")
    assert [*check(inlined(program)).formats] == ["a", "y"]


def test_without_sizes_every_reduction_is_split() -> None:
    program = parse_program("y(i)=exp(sum[j](A(i,j)))")
    assert [each.name for each in pure(program).statements] == ["y_sum", "y"]
    assert [each.name for each in pure(program, {"A": (3, 1)}).statements] == ["y"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("t(i,j)=a(i)*2; y(i)=sum[j](t(i,j)*B(i,j)) -f=B:dd", ["t", "y"]),
        ("t(i)=a(i)*2; y(i)=sum[j](t(i)*B(i,j)) -f=B:dd", ["t", "y"]),
        ("t(i,j)=A(i,j)*2; y(i)=sum[j](t(i,j)*B(i,j)) -f=B:dd -f=A:dd", ["y"]),
        ("t(i)=sum[j](A(i,j)); y(i)=exp(t(i)) -f=A:dd", ["t", "y"]),
        ("t(i)=a(i)*2; y(i,j)=t(i)*B(i,j) -f=B:dd", ["y"]),
        ("t(i)=a(i)*2; y(i)=t(i)*t(i)", ["t", "y"]),
    ],
)
def test_what_is_inlined_has_the_indices_of_its_operands_and_is_not_repeated(
    text: str, left: list[str]
) -> None:
    assert [each.name for each in inlined(parse_program(text)).statements] == left
