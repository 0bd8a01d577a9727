"""The meaning of Einsum programs: point by point, against dense NumPy, and by hand."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.lib.functions.function import Function
from gnarl.sw.golden import functions
from gnarl.sw.golden.einsum import alone, evaluate, reference
from gnarl.sw.golden.relations import stored_points
from gnarl.sw.golden.words import from_words, to_words, typed
from gnarl.sw.workloads.einsum.program import Einsum, EinsumExpression
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant, Reduction
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.einsums import FINITE, Case, cases
from tests.support.rearrangements import moved

F32 = np.float32
_Point = Mapping[str, int]
_Table = dict[tuple[int, ...], np.float32]


def pointwise(case: Case) -> dict[str, _Table]:
    """All tensors that a program computes, in float32: the numbers where they are."""
    program, tensors = case.program, case.tensors
    shapes = program_shapes(program, {name: each.shape for name, each in tensors.items()})
    tables: dict[str, _Table] = {}
    for name in program.inputs:
        stored = stored_points(tensors[name], program.formats[name])
        entries = zip(
            map(tuple, tensors[name].coordinates.tolist()), tensors[name].values, strict=True
        )
        tables[name] = {tuple(at): F32(0) for at in stored.tolist()}
        tables[name] |= {
            at: typed(to_words(value, "float32"), "float32")[()] for at, value in entries
        }
    for statement in program.statements:
        sizes = shapes.indices[statement.name]
        if isinstance(statement, Rearrangement):
            arrays = {
                each.tensor: _array(shapes.tensors[each.tensor], tables[each.tensor])
                for each in statement.operands
            }
            whole = np.array(moved(statement, arrays, sizes), object)
            tables[statement.name] = {
                at: number for at, number in np.ndenumerate(whole) if number is not None
            }
            if not whole.ndim:
                tables[statement.name].setdefault((), F32(0))
        else:
            tables[statement.name] = _Pointwise(statement, sizes, tables).result()
    return tables


def _array(shape: tuple[int, ...], table: _Table) -> np.ndarray:
    """Numbers, and ``None`` where there are none."""
    array = np.full(shape, None, object)
    for at, number in table.items():
        array[at] = number
    return array


class _Pointwise:
    """A statement, one point after the other; what is not there is ``None``."""

    def __init__(
        self, statement: Einsum, sizes: Mapping[str, int], tables: Mapping[str, _Table]
    ) -> None:
        self._statement, self._sizes, self._tables = statement, sizes, tables
        self._order = statement.order or statement.indices

    def result(self) -> _Table:
        indices = self._statement.result.indices
        table = {}
        for at in product(*(range(self._sizes[index]) for index in indices)):
            value = self._value(self._statement.expression, dict(zip(indices, at, strict=True)))
            if value is not None:
                table[at] = value
        return table

    def _value(self, expression: EinsumExpression, point: _Point) -> np.float32 | None:
        match expression:
            case Access(tensor, indices):
                return self._tables[tensor].get(tuple(point[index] for index in indices))
            case Constant(value):
                return F32(value)
            case Call("neg", (part,)):
                value = self._value(part, point)
                return None if value is None else value * F32(-1)
            case Call("div", (left, right)):
                inverse = Call("reciprocal", (right,))
                return self._value(Call("mul", (left, inverse)), point)
            case Call(function, (part,)):
                value = self._value(part, point)
                if value is None and called(function, F32(0)) == 0:
                    return None
                return called(function, F32(0) if value is None else value)
            case Call(function, (left, right)):
                one, other = self._value(left, point), self._value(right, point)
                missing = (one is None) + (other is None)
                if missing == 2 or (missing and function == "mul"):
                    return None
                zero = F32(0)
                return _OPERATIONS[function](
                    zero if one is None else one, zero if other is None else other
                )
            case Reduction(op, indices, part):
                loops = [index for index in self._order if index in indices]
                value = self._reduced(op, loops, part, point)
                free = {*point} & {i for i in self._free(expression)}
                return F32(0) if value is None and not free else value
        raise TypeError(expression)

    def _free(self, expression: EinsumExpression) -> set[str]:
        match expression:
            case Access(_, indices):
                return {*indices}
            case Call(_, arguments):
                return {i for each in arguments for i in self._free(each)}
            case Reduction(_, indices, part):
                return self._free(part) - {*indices}
        return set()

    def _reduced(
        self, op: str, loops: Sequence[str], part: EinsumExpression, point: _Point
    ) -> np.float32 | None:
        if not loops:
            return self._value(part, point)
        total, missing = None, False
        for at in range(self._sizes[loops[0]]):
            value = self._reduced(op, loops[1:], part, {**point, loops[0]: at})
            if value is None:
                missing = True
            elif total is None:
                total = value
            else:
                total = total + value if op == "sum" else greatest(total, value)
        if total is not None and op == "max" and missing:
            total = greatest(total, F32(0))
        return total


def called(function: str, number: np.float32) -> np.float32:
    words = np.array([number]).view(np.uint32)
    return functions.apply(Function[function.upper()], words, "float32").view(np.float32)[0]


def greatest(one: np.float32, other: np.float32) -> np.float32:
    if np.isnan(one) or np.isnan(other):
        return F32(np.nan)
    if one == other == 0:
        return one if not np.signbit(one) else other
    return max(one, other)


_OPERATIONS: dict[str, Any] = {
    "add": lambda one, other: one + other,
    "sub": lambda one, other: one - other,
    "mul": lambda one, other: one * other,
    "max": greatest,
    "min": lambda one, other: -greatest(-one, -other),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=60)
@given(cases(moving=True, stored=True))
def test_programs_mean_what_they_mean_point_by_point(case: Case) -> None:
    """Bit for bit, and just where it is there."""
    names = [statement.name for statement in case.program.statements]
    found = evaluate(case.program, case.tensors, "float32", keep=names)
    tables = pointwise(case)
    assert set(found) == set(names)
    for name in names:
        coordinates, words = found[name]
        expected = tables[name]
        assert list(map(tuple, coordinates.tolist())) == sorted(expected)
        numbers = np.array([expected[at] for at in sorted(expected)], F32)
        nan = np.isnan(numbers)
        np.testing.assert_array_equal(words[~nan], numbers.view(np.uint32)[~nan])
        assert (words[nan] == 0x7FC00000).all()


def dense(case: Case) -> dict[str, np.ndarray]:
    """All tensors that a program computes as arrays, with zeros for what is missing."""
    shapes = program_shapes(case.program, {name: each.shape for name, each in case.tensors.items()})
    arrays = {name: case.tensors[name].to_dense() for name in case.program.inputs}
    for statement in case.program.statements:
        sizes = shapes.indices[statement.name]
        if isinstance(statement, Rearrangement):
            arrays[statement.name] = moved(statement, arrays, sizes)
        else:
            arrays[statement.name] = _Dense(statement, sizes, arrays).result()
    return arrays


class _Dense:
    """A statement of arrays that have all its indices as axes, of size 1 where they lack one."""

    def __init__(
        self, statement: Einsum, sizes: Mapping[str, int], arrays: Mapping[str, np.ndarray]
    ) -> None:
        self._statement, self._sizes, self._arrays = statement, sizes, arrays
        self._indices = statement.indices  # first those of the result

    def result(self) -> np.ndarray:
        kept = self._statement.result.indices
        array = np.broadcast_to(self._value(self._statement.expression), self._shape(kept))
        return array.reshape([self._sizes[index] for index in kept])

    def _shape(self, indices: Sequence[str]) -> list[int]:
        return [self._sizes[index] if index in indices else 1 for index in self._indices]

    def _value(self, expression: EinsumExpression) -> np.ndarray:
        match expression:
            case Access(tensor, own):
                modes = [own.index(index) for index in self._indices if index in own]
                return self._arrays[tensor].transpose(modes).reshape(self._shape(own))
            case Constant(number):
                return np.full(self._shape(()), number)
            case Call(function, arguments):
                return _DENSE[function](*map(self._value, arguments))
            case Reduction(op, reduced, part):
                array = self._value(part)
                axes = tuple(self._indices.index(index) for index in reduced)
                if op == "sum":
                    return array.sum(axis=axes, keepdims=True)
                least = 0 if any(array.shape[axis] == 0 for axis in axes) else -np.inf
                return array.max(axis=axes, keepdims=True, initial=least)
        raise TypeError(expression)


_DENSE: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "neg": np.negative,
    "relu": lambda x: np.maximum(x, 0),
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "gelu": lambda x: x * (1 + np.vectorize(math.erf, [float])(x / math.sqrt(2))) / 2,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=60)
@given(cases(functions=FINITE, odd=False, moving=True))
def test_the_reference_is_what_dense_arrays_give(case: Case) -> None:
    arrays = dense(case)
    names = [statement.name for statement in case.program.statements]
    assume(all(np.abs(arrays[name]).max(initial=0) < 1e6 for name in names))
    found = reference(case.program, case.tensors, keep=names)
    for name in names:
        coordinates, numbers = found[name]
        array = np.zeros_like(arrays[name], shape=(1, *arrays[name].shape))
        array[(np.zeros(len(coordinates), np.int64), *coordinates.T)] = numbers
        np.testing.assert_allclose(array[0], arrays[name], rtol=1e-9, atol=1e-9)


@settings(max_examples=30)
@given(cases(moving=True))
def test_statements_alone_give_what_they_give_together(case: Case) -> None:
    """From the operands that the statements before computed, with infinities and NaN."""
    program = case.program
    names = [statement.name for statement in program.statements]
    found = evaluate(program, case.tensors, "bfloat16", keep=names)
    shapes = program_shapes(program, {n: each.shape for n, each in case.tensors.items()}).tensors
    for statement in program.statements:
        own = {}
        for access in (*statement.operands, statement.result):
            name = access.tensor
            if name in program:
                coordinates, words = found[name]
                values = from_words(words, "bfloat16")
                own[name] = Tensor(shapes[name], coordinates, values)
            else:
                own[name] = case.tensors[name]
        intermediate = {name: f for name, f in program.formats.items() if name in program.inputs}
        part = alone(program, statement.name, intermediate)
        (coordinates, words) = evaluate(part, own, "bfloat16")[statement.name]
        np.testing.assert_array_equal(coordinates, found[statement.name][0])
        np.testing.assert_array_equal(words, found[statement.name][1])


def numbers(text: str, **arrays: Any) -> list[float]:
    """The numbers of a program's one result, where it is."""
    program = parse_program(text)
    tensors = {name: Tensor.from_any(array) for name, array in arrays.items()}
    (result,) = evaluate(program, tensors, "float32").values()
    return from_words(result[1], "float32").tolist()


def test_a_maximum_counts_what_is_missing_as_zero() -> None:
    below = np.array([[-3.0, 0, -1], [-2, -3, -4], [0, 0, 0]])
    assert numbers("x(i)=max[k](A(i,k)) -f=A:ds", A=below) == [0, -2]
    assert numbers("x(i)=max[k](A(i,k)) -f=A:dd", A=below) == [0, -2, 0]
    assert numbers("x=max[i,k](A(i,k)) -f=A:ss", A=below) == [0]
    assert numbers("x=max[i,k](A(i,k)) -f=A:ss", A=below[1:2]) == [-2]
    assert numbers("x=max[i](max[k](A(i,k))) -f=A:ss", A=below[1:]) == [0]
    assert numbers("x=max[k](a(k)) -f=a:s", a=np.zeros(0)) == [0]
    assert numbers("x(i)=max[k](A(i,k)) -f=A:ss", A=np.zeros((2, 0))) == []


def test_what_is_stored_alone_has_a_maximum_of_its_own() -> None:
    below = np.array([[-3.0, 0, -1], [-2, -3, -4], [0, 0, 0]])
    assert numbers("x(i)=greatest[k](A(i,k)) -f=A:ds", A=below) == [-1, -2]
    assert numbers("x(i)=greatest[k](A(i,k)+0) -f=A:ds", A=below) == [0, -2, 0]
    assert numbers("x=greatest[i,k](A(i,k)) -f=A:ss", A=below) == [-1]
    assert numbers("x=greatest[k](a(k)) -f=a:s", a=np.zeros(0)) == [0]
    text = "x(i)=greatest[k](A(i,k)*(b(k)+0)) -f=A:ds -f=b:s"
    assert numbers(text, A=below, b=np.array([1.0, 0, 0])) == [0, 0]


def test_softmax() -> None:
    text = (
        "m(i)=max[j](S(i,j)); e(i,j)=exp(S(i,j)-m(i)); z(i)=sum[j](e(i,j)); "
        "P(i,j)=e(i,j)/z(i) -f=S:dd"
    )
    scores = np.array([[0.5, -1, 2], [-3, -1, -2]])
    program = parse_program(text)
    (found,) = reference(program, {"S": Tensor.from_any(scores)}).values()
    exp = np.exp(scores - scores.max(1, keepdims=True))
    expected = exp * (1 / exp.sum(1, keepdims=True))
    np.testing.assert_allclose(found[1].reshape(2, 3), expected, rtol=1e-15)


def test_a_quotient_is_rounded_twice() -> None:
    a, b = 5.0, 3.0
    expected = F32(a) * (F32(1) / F32(b))
    assert numbers("x=a/b", a=a, b=b) == [expected]
    assert expected != F32(a) / F32(b)
    assert numbers("x(i)=a(i)/b(i) -f=a:s -f=b:s", a=[1, 0, -1], b=[0, 0, 2]) == [math.inf, -0.5]


def test_one_tensor_at_indices_in_two_orders() -> None:
    array = np.array([[1.0, 2, 0], [0, 3, 4], [5, 0, 6]])
    found = numbers("x(i,j)=A(i,j)*A(j,i) -f=A:dd", A=array)
    assert found == (array * array.T).ravel().tolist()
    assert numbers("t(j,i)=A(i,j); x=sum[i,j](t(i,j)*A(j,i)) -f=A:ss", A=array) == [91]


def test_reductions_in_functions_in_reductions() -> None:
    array = np.array([[1.0, -2], [-3, 2]])
    found = numbers("x=sum[i](relu(sum[k](A(i,k)))+max[k](A(i,k)*A(i,k))) -f=A:ds", A=array)
    assert found == [4 + 9]


def test_nothing_summed_to_a_scalar_is_zero() -> None:
    for text in ("x=sum[k](a(k))*b", "t=sum[k](a(k)); x=t*b"):
        assert numbers(f"{text} -f=a:s", a=np.zeros(3), b=2) == [0]
    assert numbers("x(i)=sum[k](a(k))+exp(b(i)) -f=a:s -f=b:s", a=np.zeros(3), b=[0, 0]) == [1, 1]


def test_sums_run_in_the_order_of_the_statement() -> None:
    array = np.array([[1.0, 2.0**24], [1.0, 0.0]])
    assert numbers("x=sum[i,j](B(i,j)) -f=B:ss", B=array) == [2.0**24]
    assert numbers("x=sum[i,j](B(i,j)) -f=B:ss -s=reorder(x:j,i)", B=array) == [2.0**24 + 2]
    assert numbers("x=sum[j](sum[i](B(i,j))) -f=B:ss", B=array) == [2.0**24 + 2]


def test_sizes_come_from_later_statements_or_shapes() -> None:
    text = "t(i,j)=b(i); y(i)=sum[j](t(i,j)*C(i,j)) -f=C:ds"
    assert numbers(text, b=[2, 3], C=[[1, 0, 1], [0, 1, 0]]) == [4, 3]
    program = parse_program("t(i,j)=b(i)")
    tensors = {"b": Tensor.from_any([1.0]), "t": Tensor((1, 2), np.zeros((0, 2), int), np.zeros(0))}
    assert evaluate(program, tensors, "float32")["t"][0].tolist() == [[0, 0], [0, 1]]
    problem = (
        "statement t, column 1: index j of t(i,j) is in no operand, so its size is not known; "
        "give the shape of t, in a text by -n=t:…"
    )
    with pytest.raises(WorkloadError, match=f"^{re.escape(problem)}$"):
        evaluate(program, {"b": Tensor.from_any([1.0])}, "float32")


def test_logarithms_are_everywhere() -> None:
    of_two = float(np.float32(np.log(2)))
    assert numbers("x(i)=log(b(i)) -f=b:s", b=[0, 1, 2]) == [-np.inf, 0, of_two]
    product = "x(i)=log(b(i))*c(i) -f=b:s -f=c:s"
    assert numbers(product, b=[0, 1, 2], c=[0, 3, 2]) == [0, 2 * of_two]
    assert numbers("x=log(sum[i](exp(a(i))))", a=[0, 0]) == [of_two]


def test_results_are_in_order_and_intermediates_on_demand() -> None:
    program = parse_program("t=a; u=t*t; v=u+t -r=v,t")
    tensors = {"a": Tensor.from_any(3)}
    assert list(evaluate(program, tensors, "float32")) == ["v", "t"]
    kept = evaluate(program, tensors, "float32", keep=("u",))
    assert {n: from_words(w, "float32").tolist() for n, (_, w) in kept.items()} == {
        "v": [12],
        "t": [3],
        "u": [9],
    }
