"""Sums over indices that the result lacks: written out, implied, and refused."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.tensor.patterns import match
from gnarl.sw.golden.tensor import reference
from gnarl.sw.workloads.loops.expressions.tensor_expression import expression_nest
from gnarl.sw.workloads.tensor.expression import FUNCTIONS, accesses
from gnarl.sw.workloads.tensor.notation import text_of
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import refused

PRODUCT = (
    "expression, column 13: index k of A(i,k) is summed inside of relu, which is not linear: for a "
    "sum of relu write sum(k,relu(A(i,k)*B(k,j))); for relu of a sum compute "
    "T(i,j)=A(i,k)*B(k,j) first, in a statement of its own, and write relu(T(i,j)) here"
)


@pytest.mark.parametrize("read", [parse, expression_nest, lambda text: match(parse(text))])
def test_a_function_of_what_is_summed_is_refused_wherever_it_is_read(read) -> None:
    with refused(PRODUCT):
        read("X(i,j)=relu(A(i,k)*B(k,j)) -f=A:ss -f=B:ss")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_is_taken_for_one_that_is_not_linear(function: str) -> None:
    arguments = "A(i,k)" if FUNCTIONS[function] == 1 else "A(i,k),b(i)"
    after = arguments.replace("A(i,k)", "T(i)")
    column = 7 + len(function)
    with refused(
        f"expression, column {column}: index k of A(i,k) is summed inside of {function}, which is "
        f"not linear: for a sum of {function} write sum(k,{function}({arguments})); for "
        f"{function} of a sum compute T(i)=A(i,k) first, in a statement of its own, and write "
        f"{function}({after}) here"
    ):
        parse(f"x(i)={function}({arguments})")


@pytest.mark.parametrize(
    ("text", "total", "first", "after"),
    [
        ("x=exp(b(i))", "sum(i,exp(b(i)))", "T=b(i)", "exp(T)"),
        (
            "x(i)=c(i)-exp(A(i,k))*d(i)",
            "sum(k,exp(A(i,k))*d(i))",
            "T(i)=A(i,k)",
            "exp(T(i))*d(i)",
        ),
        (
            "x(i)=b(i)*(c(i)+relu(-(A(i,k)-c(i))))",
            "sum(k,b(i)*(c(i)+relu(-(A(i,k)-c(i)))))",
            "T(i)=-(A(i,k)-c(i))",
            "b(i)*(c(i)+relu(T(i)))",
        ),
        (
            "x(i)=max(A(i,k)*2,T(i,k))",
            "sum(k,max(A(i,k)*2.0,T(i,k)))",
            "T1(i)=A(i,k)*2.0 and T2(i)=T(i,k)",
            "max(T1(i),T2(i))",
        ),
        (
            "x(i)=relu(tanh(A(i,k)))",
            "sum(k,relu(tanh(A(i,k))))",
            "T(i)=A(i,k)",
            "relu(tanh(T(i)))",
        ),
        (
            "x=relu(exp(a(i))*b(j))",
            "sum(j,sum(i,relu(exp(a(i))*b(j))))",
            "T=a(i)",
            "sum(j,relu(exp(T)*b(j)))",
        ),
        (
            "X(i,j)=relu(A(i,k)*B(k,l))*C(l,j)",
            "sum(k,relu(A(i,k)*B(k,l))*C(l,j))",
            "T(i,l)=A(i,k)*B(k,l)",
            "relu(T(i,l))*C(l,j)",
        ),
    ],
)
def test_both_meanings_are_named_and_can_be_written(
    text: str, total: str, first: str, after: str
) -> None:
    with pytest.raises(Exception) as caught:
        parse(text)
    assert f" write {total}; " in str(caught.value)
    assert f" compute {first} first, " in str(caught.value)
    assert str(caught.value).endswith(f" and write {after} here")
    result = text.partition("=")[0]
    for statement in (f"{result}={total}", f"{result}={after}", *first.split(" and ")):
        parse(statement)


@pytest.mark.parametrize(
    "expression",
    [
        "exp(A(i,k))*B(k,j)",
        "relu(A(i,k))*relu(B(k,j))",
        "max(A(i,k),0.5)*B(k,j)-C(i,j)",
        "relu(C(i,j))+A(i,k)*B(k,j)",
        "2*(A(i,k)+C(i,j))*B(k,j)",
    ],
)
def test_sums_of_products_with_functions_stay(expression: str) -> None:
    assert text_of(parse(f"X(i,j)={expression}").expression).replace(".0", "") == expression


@pytest.mark.parametrize(
    ("written", "bare"),
    [
        ("sum(k,relu(A(i,k)))", "relu(A(i,k))"),
        ("sum(k,A(i,k)*b(k))", "A(i,k)*b(k)"),
        ("2*sum(k,relu(A(i,k)))*c(i)", "2*relu(A(i,k))*c(i)"),
        ("-sum(k,sum(l,relu(A(i,k)*B(k,l))))", "-relu(A(i,k)*B(k,l))"),
        ("c(i)-sum(k,exp(A(i,k)))+sum(k,c(i)*A(i,k))", "c(i)-exp(A(i,k))+c(i)*A(i,k)"),
        ("sum(k,c(i)*(A(i,k)+relu(A(i,k))))", "c(i)*(A(i,k)+relu(A(i,k)))"),
    ],
)
def test_sums_that_are_written_out(written: str, bare: str) -> None:
    expression = parse(f"x(i)={written}").expression
    assert text_of(expression).replace(".0", "") == bare
    first = next(accesses(expression))
    assert written[first.column - 6 :].startswith(str(first))


@pytest.mark.parametrize(
    ("expression", "column", "problem"),
    [
        (
            "relu(sum(k,A(i,k)))",
            11,
            "a sum inside of relu is not supported; it must be a term or a factor of one: compute "
            "it by a statement of its own",
        ),
        (
            "b(i)*(c(i)+sum(k,relu(A(i,k))))",
            17,
            "a sum inside of an addition is not supported; it must be a term or a factor of one: "
            "compute it by a statement of its own",
        ),
        ("sum(k,A(i,k)+b(k))", 6, "a sum is of one term; write a sum of each term"),
        ("-sum(k,-(A(i,k)-b(k)))", 7, "a sum is of one term; write a sum of each term"),
        ("sum(i,b(i))", 6, "index i is one of x(i); a sum is over another"),
        ("sum(k,b(i))", 6, "index k is not in what is summed"),
        (
            "sum(k,A(i,k))*c(k)",
            6,
            "index k is also used outside of the sum over it; give it another name there",
        ),
        ("sum(k,sum(k,A(i,k)))", 12, "index k is summed already"),
        ("sum(3,b(i))", 10, "expected an index, found '3'"),
        ("sum(b(i))", 11, "expected ,, found '('"),
        ("sum", 9, "expected (, found the end"),
    ],
)
def test_sums_that_cannot_be(expression: str, column: int, problem: str) -> None:
    with refused(f"expression, column {column}: {problem}"):
        parse(f"x(i)={expression}")


def test_no_tensor_is_called_sum() -> None:
    with refused("expression, column 1: sum is a function and cannot be the result's name"):
        parse("sum(i)=b(i)")


def test_a_long_expression_is_shortened() -> None:
    term = "*".join(["A(i,k)"] * 299)
    with pytest.raises(Exception, match="is summed inside of relu") as caught:
        parse(f"x(i)=relu({term})")
    assert len(str(caught.value)) < 1000


def test_both_meanings_are_what_they_say() -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, shape).astype(float) for shape in ((3, 5), (5, 4)))

    def computed(text: str, **arrays: np.ndarray) -> np.ndarray:
        tensors = {name: Tensor.from_any(array) for name, array in arrays.items()}
        coordinates, values = reference(parse(text), tensors)
        found = np.zeros((3, 4))
        found[tuple(coordinates.T)] = values
        return found

    products = a[:, :, np.newaxis] * b
    got = computed("X(i,j)=sum(k,relu(A(i,k)*B(k,j)))", A=a, B=b)
    np.testing.assert_array_equal(got, np.maximum(products, 0).sum(1))
    first = computed("T(i,j)=A(i,k)*B(k,j)", A=a, B=b)
    got = computed("X(i,j)=relu(T(i,j))", T=first)
    np.testing.assert_array_equal(got, np.maximum(products.sum(1), 0))


@dataclass(frozen=True)
class _Node:
    """A part of an expression: an access, or a function or operator and its parts."""

    text: str
    indices: tuple[str, ...] = ()
    function: str = ""
    parts: tuple[_Node, ...] = ()

    @property
    def every(self) -> list[_Node]:
        return [self, *(each for part in self.parts for each in part.every)]

    def uses(self, index: str) -> int:
        return sum(index in each.indices for each in self.every)


def drawn(rng: random.Random, operands: int) -> _Node:
    if operands == 1:
        indices = tuple(rng.sample("ikl", rng.choice((1, 1, 2))))
        return _Node(f"{'ABC'[len(indices)]}({','.join(indices)})", indices)
    if rng.random() < 0.35:
        part = drawn(rng, operands)
        name = rng.choice(("relu", "exp", "reciprocal", "tanh"))
        return _Node(f"{name}({part.text})", (), name, (part,))
    left = rng.randint(1, operands - 1)
    one, other = drawn(rng, left), drawn(rng, operands - left)
    operator = rng.choice(("max", "*", "*", "*", "+", "-"))
    if operator == "max":
        return _Node(f"max({one.text},{other.text})", (), operator, (one, other))
    return _Node(f"({one.text}){operator}({other.text})", (), operator, (one, other))


def terms(node: _Node) -> list[_Node]:
    if node.function in ("+", "-"):
        return [term for part in node.parts for term in terms(part)]
    return [node]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("x(i)=sum[k](A(i,k)*b(k))", "x(i)=A(i,k)*b(k)"),
        ("x(i)=b(i)-sum[k](relu(A(i,k)))", "x(i)=b(i)-sum(k,relu(A(i,k)))"),
        ("x=sum[i,k](exp(A(i,k)))", "x=sum(i,sum(k,exp(A(i,k))))"),
        ("x=-sum[i](sum(k,A(i,k)))", "x=-A(i,k)"),
        ("x=sum(i,sum[k](A(i,k)))+sum[k](b(k))", "x=A(i,k)+b(k)"),
    ],
)
def test_a_sum_in_brackets_is_one_of_a_whole_term(text: str, other: str) -> None:
    assert parse(text) == parse(other)


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("x(i)=sum[k](A(i,k))*b(i)", 6, "sum[k] must be of a whole term; sum(k,…) may be in one"),
        (
            "x=sum[i](sum[k](A(i,k))*b(i))",
            10,
            "sum[k] must be of a whole term; sum(k,…) may be in one",
        ),
        ("x(i)=relu(sum[k](A(i,k)))", 11, "sum[k] must be of a whole term; sum(k,…) may be in one"),
        ("x(i)=max[k](A(i,k))", 6, "max over indices must be in a statement of a program"),
        ("x=sum[k](a(k)+b(k))", 3, "a sum is of one term; write a sum of each term"),
        ("x(i)=sum[i](a(i))", 6, "index i is one of x(i); a sum is over another"),
        ("x=sum[](a(k))", 7, "expected an index, found ']'"),
        ("x=sum[k](a(k)", 14, "expected + or - or * or ), found the end"),
        ("x=a[k]", 4, "expected an operator or the end, found '['"),
    ],
)
def test_sums_in_brackets_that_are_refused(text: str, column: int, problem: str) -> None:
    with refused(f"expression, column {column}: {problem}"):
        parse(text)


def test_what_is_refused_is_what_lies_in_one_function() -> None:
    rng, refusals = random.Random(7), 0
    for _ in range(600):
        node = drawn(rng, rng.randint(1, 5))
        hidden = {
            (index, call.function)
            for term in terms(node)
            for index in "kl"
            for call in term.every
            if call.function.isalpha() and call.uses(index) == term.uses(index) > 0
        }
        try:
            parse(f"x(i)={node.text}")
        except WorkloadError as error:
            found = re.search(r"index (.) of \S+ is summed inside of (\w+), ", str(error))
            assert found is not None, (node.text, str(error))
            assert (found[1], found[2]) in hidden, (node.text, str(error))
            both = re.search(r" write (.*); for \w+ of a sum .* and write (.*) here$", str(error))
            assert both is not None
            refusals += 1
        else:
            assert not hidden, node.text
    assert 200 < refusals < 500
