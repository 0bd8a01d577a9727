from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.formats import FLOAT_FORMATS, float_dtype, parse_format
from gnarl.sw.golden.words import RangeError, float_words, from_words, to_words

FLOATS = list(FLOAT_FORMATS)
SMALL = [name for name, format in FLOAT_FORMATS.items() if format.width <= 16]


def values_of_all_words(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Every word of a format, and the numbers as its NumPy type has them."""
    words = np.arange(1 << FLOAT_FORMATS[name].width, dtype=np.uint32)
    dtype = float_dtype(name)
    with np.errstate(invalid="ignore"):
        return words, words.astype(f"u{dtype.itemsize}").view(dtype).astype(np.float64)


@pytest.mark.parametrize("name", SMALL)
def test_all_words_stand_for_their_numbers_and_back(name: str):
    words, expected = values_of_all_words(name)
    found = from_words(words, name)
    assert np.array_equal(found, expected, equal_nan=True)
    number = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found[number]), np.signbit(expected[number]))
    canonical = np.where(np.isnan(expected), FLOAT_FORMATS[name].canonical_nan, words)
    assert to_words(expected, name).tolist() == canonical.tolist()


@pytest.mark.parametrize("name", SMALL)
def test_halfway_values_go_to_even_and_their_neighbours_to_the_nearer(name: str):
    words, numbers = values_of_all_words(name)
    below = words[np.isfinite(numbers) & np.isfinite(np.roll(numbers, -1)) & (numbers >= 0)]
    below = below[below < FLOAT_FORMATS[name].infinity - 1]
    middle = (from_words(below, name) + from_words(below + 1, name)) / 2
    assert to_words(middle, name).tolist() == (below + (below & 1)).tolist()
    assert to_words(np.nextafter(middle, 0), name).tolist() == below.tolist()
    assert to_words(np.nextafter(middle, np.inf), name).tolist() == (below + 1).tolist()


@given(st.lists(st.floats(), min_size=1))
def test_float32_and_float16_are_numpys(values: list[float]):
    with np.errstate(all="ignore"):
        for name in ("float32", "float16"):
            array, dtype = np.array(values), float_dtype(name)
            expected = array.astype(dtype)
            overflows = np.isinf(expected) & np.isfinite(array)
            if overflows.any():
                with pytest.raises(RangeError) as error:
                    to_words(array, name)
                assert error.value.index == (int(np.argmax(overflows)),)
                assert error.value.value == array[error.value.index]
                array, expected = array[~overflows], expected[~overflows]
            bits = expected.view(f"u{dtype.itemsize}").astype(np.uint32)
            bits = np.where(np.isnan(expected), FLOAT_FORMATS[name].canonical_nan, bits)
            assert to_words(array, name).tolist() == bits.tolist()
            back = from_words(bits, name)
            assert np.array_equal(back, expected.astype(np.float64), equal_nan=True)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("float32", 1.0, 0x3F800000),
        ("float32", -0.0, 0x80000000),
        ("float32", 2.0**-149, 1),
        ("float32", 2.0**-150, 0),
        ("float32", -np.inf, 0xFF800000),
        ("float32", np.inf, 0x7F800000),
        ("float32", 2.0**128 - 2.0**103 - 2.0**75, 0x7F7FFFFF),
        ("float32", -np.nan, 0x7FC00000),
        # Rounding to float32 first would make it a tie, and then 1.0.
        ("bfloat16", 1 + 2**-8 + 2**-40, 0x3F81),
        ("float16", 65519.9, 0x7BFF),
        ("float8_e5m2", 57344.0, 0x7B),
        ("float8_e4m3", 240.0, 0x77),
        ("fixed16.8", 1.0, 0x0100),
        ("fixed16.8", -1 / 256, 0xFFFF),
        ("fixed16.8", 1.5 / 256, 0x0002),
        ("fixed16.8", 0.5 / 256, 0x0000),
        ("fixed16.8", -128.0, 0x8000),
        ("fixed32.0", 2.0**31 - 1, 0x7FFFFFFF),
    ],
)
def test_corners(name: str, value: float, word: int):
    assert to_words(np.array([value]), name).tolist() == [word]


def test_all_words_of_a_fixed_format_come_back():
    words = np.arange(1 << 12, dtype=np.uint32)
    numbers = from_words(words, "fixed12.5")
    assert numbers.min() == -64
    assert numbers.max() == 64 - 1 / 32
    assert to_words(numbers, "fixed12.5").tolist() == words.tolist()


@pytest.mark.parametrize("value", [7.5, 8.0, -8.6, np.nan, np.inf])
def test_values_that_a_fixed_format_does_not_hold_are_refused(value: float):
    text = f"value [1] = {value}: fixed4.0 holds -8.0 to 7.0"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        to_words(np.array([7.4, value]), "fixed4.0")


@pytest.mark.parametrize(
    ("name", "value", "held"),
    [
        ("float32", 1e39, "-3.4028234663852886e+38 to 3.4028234663852886e+38"),
        ("float32", -(2.0**128 - 2.0**103), "-3.4028234663852886e+38 to 3.4028234663852886e+38"),
        ("bfloat16", 3.4e38, "-3.3895313892515355e+38 to 3.3895313892515355e+38"),
        ("float16", 65520.0, "-65504.0 to 65504.0"),
        ("float8_e5m2", -61440.0, "-57344.0 to 57344.0"),
        ("float8_e4m3", 248.0, "-240.0 to 240.0"),
    ],
)
def test_values_beyond_a_floating_point_format_are_refused(name: str, value: float, held: str):
    text = f"value [1, 0] = {value}: {name} holds {held}"
    values = np.array([[1.0, np.inf], [value, np.nan]])
    with pytest.raises(RangeError, match=f"^{re.escape(text)}$") as error:
        to_words(values, name)
    assert (error.value.index, error.value.value) == ((1, 0), value)
    assert error.value.reason == f"{name} holds {held}"
    infinite = float_words(np.array([value]), FLOAT_FORMATS[name])
    assert from_words(infinite, name).tolist() == [math.copysign(math.inf, value)]


@pytest.mark.parametrize("name", [*FLOAT_FORMATS, "fixed16.8", "fixed4.0", "fixed32.31"])
def test_limits_are_those_of_all_words(name: str):
    kind = parse_format(name)
    words = np.arange(1 << min(kind.width, 16), dtype=np.uint32) << max(kind.width - 16, 0)
    numbers = from_words(np.concatenate([words, words - 1 & (1 << kind.width) - 1]), name)
    numbers = numbers[np.isfinite(numbers)]
    assert (numbers.min(), numbers.max()) == (kind.lowest, kind.largest)
    assert from_words(np.array([1], np.uint32), name) == kind.smallest
