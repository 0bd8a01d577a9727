"""Bounds of Einsum programs, against the golden model and sums in other orders."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.golden.einsum import evaluate, evaluate_with
from gnarl.sw.golden.einsum_bounds import bounds
from gnarl.sw.golden.numbers import Words
from gnarl.sw.golden.words import from_words
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.einsums import Case, cases

FORMATS = ("float32", "bfloat16", "float16")


class Shuffled(Words):
    """Sums of runs in any order, and by pairs."""

    def __init__(self, format: str, seed: int) -> None:
        super().__init__(format)
        self._rng = np.random.default_rng(seed)

    def totals(self, operation: str, numbers: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        totals = []
        for run in np.split(numbers, np.cumsum(lengths)[:-1]) if len(lengths) else []:
            run = self._rng.permutation(run)
            while len(run) > 1:
                split = len(run) // 2 if self._rng.random() < 0.5 else 1
                run = np.append(self.apply(operation, run[:split], run[-split:]), run[split:-split])
            totals.append(run)
        return np.concatenate(totals) if totals else numbers[:0]


def assert_within(numbers: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    anything = (low == -np.inf) & (high == np.inf)
    assert (anything | ((low <= numbers) & (numbers <= high))).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=40)
@given(cases(moving=True), st.sampled_from(FORMATS), st.integers(0, 2**32 - 1))
def test_every_order_of_sums_is_within(case: Case, format: str, seed: int) -> None:
    names = [statement.name for statement in case.program.statements]
    case = _scaled(case, format)
    found = bounds(case.program, case.tensors, format, names)
    for numbers in (Words(format), Shuffled(format, seed)):
        others = evaluate_with(numbers, case.program, case.tensors, names)
        for name, (coordinates, low, high) in found.items():
            np.testing.assert_array_equal(coordinates, others[name][0])
            assert_within(from_words(others[name][1], format), low, high)


def _scaled(case: Case, format: str) -> Case:
    """With values that the format holds."""
    if format != "float16":
        return case
    with np.errstate(over="ignore"):
        tensors = {
            name: replace(each, values=each.values.astype(np.float16).astype(np.float64))
            for name, each in case.tensors.items()
        }
    return Case(case.program, tensors)


def bound(text: str, format: str = "float32", **arrays: Any) -> list[tuple[float, float]]:
    tensors = {name: Tensor.from_any(array) for name, array in arrays.items()}
    ((_, low, high),) = bounds(parse_program(text), tensors, format).values()
    return list(zip(low.tolist(), high.tolist(), strict=True))


def test_single_operations_and_exact_sums_have_one_result() -> None:
    third = float(np.float32(1) / np.float32(3))
    assert bound("x=a/b", a=1, b=3) == [(third, third)]
    assert bound("x=sqrt(a)*a+relu(b)", a=4, b=-3) == [(8, 8)]
    whole = np.arange(100.0)
    assert bound("x=sum[i](a(i)*a(i))", a=whole) == [((whole**2).sum(),) * 2]
    assert bound("x=sum[i](a(i))", a=[0.1]) == [(np.float32(0.1),) * 2]


def test_the_bound_of_a_sum_by_hand() -> None:
    """1,000 additions, each off by 2^-24, of magnitudes that sum to 100.1."""
    ((low, high),) = bound("x=sum[i](a(i))", a=np.full(1001, 0.1))
    assert (high - low) / 2 == pytest.approx(1000 * 2.0**-24 * 100.1, rel=1e-2)


def test_functions_are_off_by_their_units() -> None:
    for format, fraction in (("float32", 23), ("bfloat16", 7)):
        ((low, high),) = bound("x=exp(a)", format, a=1)
        assert low < np.e < high and high - low <= 2 * 2.0 ** (1 - fraction)
    assert bound("x=tanh(a)+gelu(a)", a=0) == [(0, 0)]
    ((low, high),) = bound("x=log(a)", a=1 - 2.0**-20)
    assert low < np.log1p(-(2.0**-20)) < high and high - low <= 4 * 2.0**-44
    ((low, high),) = bound("x=gelu(sum[i](a(i))-0.75)", a=[0.1, -0.1, 1e-3])
    assert low < -0.1699 and high > -0.17


def test_anything_may_come_of_overflow_and_division_by_what_may_be_zero() -> None:
    anything = [(-np.inf, np.inf)]
    assert bound("x=sum[i](a(i))", a=[3e38, 3e38, -3e38]) == anything
    assert bound("x=1/(sum[i](a(i))-0.3)", a=[0.1, 0.1, 0.1]) == anything
    assert bound("x=max(sqrt(a),3)", a=-1) == anything
    assert bound("x=log(sum[i](a(i))-0.3)", a=[0.1, 0.1, 0.1]) == anything


def test_there_are_none_in_fixed_point() -> None:
    with pytest.raises(ValueError, match="no bounds in fixed16.8: take a floating-point format"):
        bound("x=a", "fixed16.8", a=1)


def test_bounds_are_of_what_is_evaluated() -> None:
    program = parse_program("t(i)=sum[k](A(i,k)); x=sum[i](t(i)) -f=A:ds -r=x,t")
    tensors = {"A": Tensor.from_any(np.eye(3))}
    found, words = (f(program, tensors, "float32") for f in (bounds, evaluate))
    assert list(found) == list(words) == ["x", "t"]
