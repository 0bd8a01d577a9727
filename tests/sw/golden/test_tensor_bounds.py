"""Bounds of float32 sums of products, against sums in many orders and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.sw.golden.tensor import evaluate
from gnarl.sw.golden.tensor_bounds import sum_interval
from gnarl.sw.golden.words import from_words
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor

POOLED = "X(i,j)=B(i,k)*C(k,j) -f=B:ds"
SAMPLED = "X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=X:ds -f=B:ds"
BOTH = "X(i,j)=B(i,k)*C(k,j)+D(i,l)*E(l,j) -f=B:ds -f=D:ds"

SHAPES = {"B": (5, 7), "C": (7, 3), "D": (5, 4), "E": (4, 3)}
SAMPLED_SHAPES = {"B": (5, 4), "C": (5, 7), "D": (4, 7)}


def tensors(shapes: dict[str, tuple[int, int]], seed: int, exact: bool) -> dict[str, Tensor]:
    random = np.random.default_rng(seed)
    found = {}
    for name, shape in shapes.items():
        array = random.integers(-8, 9, shape) / 8 if exact else random.standard_normal(shape)
        array[random.random(shape) < 0.3] = 0
        found[name] = Tensor.from_any(array.astype(np.float32))
    return found


@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([POOLED, BOTH, SAMPLED]))
def test_the_golden_model_is_within(seed: int, exact: bool, text: str) -> None:
    statement = parse(text)
    shapes = SAMPLED_SHAPES if text == SAMPLED else SHAPES
    used = {access.tensor for access in statement.operands}
    operands = tensors({name: shapes[name] for name in shapes if name in used}, seed, exact)
    coordinates, low, high = sum_interval(statement, operands)
    found, words = evaluate(statement, operands, "float32")
    values = from_words(words, "float32")
    np.testing.assert_array_equal(coordinates, found)
    assert ((low.astype(np.float32) <= values) & (values <= high.astype(np.float32))).all()
    if exact:
        np.testing.assert_array_equal(low, values)
        np.testing.assert_array_equal(high, values)


@given(st.integers(0, 2**32))
def test_sums_in_any_order_are_within(seed: int) -> None:
    random = np.random.default_rng(seed)
    row, column = random.standard_normal((2, 40)).astype(np.float32)
    column *= 10 ** random.uniform(-4, 4, 40).astype(np.float32)
    operands = {"B": Tensor.from_any(row[None]), "C": Tensor.from_any(column[:, None])}
    _, low, high = sum_interval(parse(POOLED), operands)
    products = row * column
    for _ in range(8):
        total = np.add.accumulate(random.permutation(products))[-1]
        assert np.float32(low[0]) <= total <= np.float32(high[0])


def test_the_bound_of_two_terms_by_hand() -> None:
    """Two products and an addition, each off by 2^-24, of magnitudes that sum to 4."""
    operands = {
        "B": Tensor.from_any(np.array([[1.0, 1.0]])),
        "C": Tensor.from_any(np.array([[1 + 2.0**-23], [3 - 2.0**-22]])),
    }
    _, low, high = sum_interval(parse(POOLED), operands)
    total = 4 - 2.0**-23
    assert total - low[0] == pytest.approx(high[0] - total)
    assert high[0] - total == pytest.approx(4 * 2 * 2.0**-24, rel=1e-6)


def test_sums_that_may_overflow_on_the_way_have_no_bound() -> None:
    operands = {
        "B": Tensor.from_any(np.array([[1.0, 1.0]])),
        "C": Tensor.from_any(np.array([[3e38], [-3e38]])),
    }
    _, low, high = sum_interval(parse(POOLED), operands)
    assert (low[0], high[0]) == (-np.inf, np.inf)


def test_products_may_underflow() -> None:
    operands = {
        "B": Tensor.from_any(np.array([[2.0**-100]])),
        "C": Tensor.from_any(np.array([[2.0**-60]])),
    }
    _, low, high = sum_interval(parse(POOLED), operands)
    assert low[0] < 0 < 2.0**-149 <= high[0]


def test_other_statements_have_no_bound() -> None:
    operands = {"b": Tensor.from_any(np.ones(2)), "c": Tensor.from_any(np.ones(2))}
    with pytest.raises(ValueError, match="must be a sum of products of tensors"):
        sum_interval(parse("x(i)=b(i)-c(i)"), operands)
