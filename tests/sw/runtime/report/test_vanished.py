"""Inputs that are rounded to 0 are counted, the first is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.formats import FLOAT_FORMATS, float_dtype, parse_format
from gnarl.sw.golden.words import from_words, to_words
from gnarl.sw.program.tensor_spec import Labelled, Sparse, TensorSpec, labels_of
from gnarl.sw.runtime.report.vanished import Given, Vanished, elements, vanished
from gnarl.sw.workloads.tensor.tensor import Tensor

FIXED = ("fixed16.8", "fixed4.0", "fixed32.31")


def of(values: np.ndarray, format: str) -> Given:
    return Given(values, format, lambda at: f"x[{at}]")


@pytest.mark.parametrize("format", [*FLOAT_FORMATS, *FIXED])
@given(exponents=st.lists(st.floats(-170, -1), min_size=1), signs=st.integers(0, 2**32))
def test_they_are_those_whose_words_are_zeros(
    format: str, exponents: list[float], signs: int
) -> None:
    smallest = parse_format(format).smallest
    corners = np.array([smallest, smallest / 2, np.nextafter(smallest / 2, 1), 5e-324, 0.0, -0.0])
    magnitudes = np.concatenate([2.0 ** np.array(exponents), corners])
    values = magnitudes * np.where(np.arange(len(magnitudes)) * signs & 1, -1, 1)
    lost = np.flatnonzero((from_words(to_words(values, format), format) == 0) & (values != 0))
    first = f"x[{lost[0]}] = {values[lost[0]]}"
    assert vanished([of(values, format)]) == Vanished(len(lost), first, format)


@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_none_of_a_formats_own_numbers_is_lost(format: str) -> None:
    values = np.array([parse_format(format).smallest, 1, 0, np.inf, np.nan], float_dtype(format))
    assert vanished([of(values, format)]) is None
    assert vanished([of(np.array([0, 1, -3]), format)]) is None


def test_the_first_is_that_of_the_first_tensor_that_has_one() -> None:
    dense = TensorSpec("d", (2, 2), "float32")
    named = TensorSpec("n", (2,), "float16", Labelled(labels_of(["a", "b"])))
    sparse = TensorSpec("s", (9, 9), "bfloat16", Sparse(("compressed",) * 2, (0, 1)))
    tensor = Tensor((9, 9), np.array([[0, 5], [7, 0]]), np.array([1.0, -1e-300]))
    scalar = TensorSpec("c", (), "float32")
    numbers = [
        elements(dense, np.ones((2, 2))),
        elements(named, np.array([1.0, 1e-9])),
        elements(sparse, tensor),
        elements(scalar, np.array(1e-60)),
    ]
    assert vanished(numbers) == Vanished(3, "b = 1e-09", "float16")
    assert vanished(numbers[2:]) == Vanished(2, "s[7,0] = -1e-300", "bfloat16")
    assert vanished(numbers[3:]) == Vanished(1, "c = 1e-60", "float32")
    assert vanished(numbers[:1]) is None
    lost = elements(dense, np.array([[1, 1e-50], [0, 1]]))
    assert vanished([lost]) == Vanished(1, "d[0,1] = 1e-50", "float32")
