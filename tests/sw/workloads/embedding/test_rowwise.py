"""Quantised rows: their layout, what codes stand for, and how near to a table they are."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS, RowwiseTable, quantise
from tests.support.errors import refused

F32 = np.float32


@pytest.mark.parametrize(
    ("type", "dim", "scale_place", "row_bytes"),
    [
        ("int8_rowwise", 1, 8, 16),
        ("int8_rowwise", 8, 8, 16),
        ("int8_rowwise", 9, 16, 32),
        ("int8_rowwise", 64, 64, 80),
        ("fp8_rowwise", 100, 104, 112),
        ("int4_rowwise", 2, 8, 16),
        ("int4_rowwise", 16, 8, 16),
        ("int4_rowwise", 64, 32, 48),
    ],
)
def test_layout(type: str, dim: int, scale_place: int, row_bytes: int) -> None:
    format = ROWWISE_FORMATS[type]
    assert (format.scale_place(dim), format.row_bytes(dim)) == (scale_place, row_bytes)


def test_bytes_of_rows() -> None:
    codes = np.array([[1, 15, 0, 7]], np.uint8)
    scale, bias = np.array([0.5]), np.array([-2.0])
    parts = F32([0.5, -2.0]).tobytes()
    rows = {name: format.rows(codes, scale, bias) for name, format in ROWWISE_FORMATS.items()}
    assert rows["int8_rowwise"].tobytes() == bytes([1, 15, 0, 7, 0, 0, 0, 0]) + parts
    assert rows["int4_rowwise"].tobytes() == bytes([0xF1, 0x70, 0, 0, 0, 0, 0, 0]) + parts
    elements = {
        name: ROWWISE_FORMATS[name].elements(stored, 4).tolist() for name, stored in rows.items()
    }
    assert elements["int8_rowwise"] == elements["int4_rowwise"] == [[-1.5, 5.5, -2.0, 1.5]]


def test_values_of_codes() -> None:
    assert ROWWISE_FORMATS["int8_rowwise"].values.tolist() == list(range(256))
    assert ROWWISE_FORMATS["int4_rowwise"].values.tolist() == list(range(16))
    fp8 = ROWWISE_FORMATS["fp8_rowwise"].values
    assert [fp8[0x01], fp8[0x08], fp8[0x38], fp8[0x7E]] == [2.0**-9, 2.0**-6, 1.0, 448.0]
    assert (fp8[0x80:0xFF] == -fp8[:0x7F]).all()


def test_padding_says_nothing() -> None:
    rows = quantise(np.arange(12.0).reshape(2, 6), "int8_rowwise")
    other = rows.copy()
    other[:, 6:8] = 0xFF
    assert (rows[:, 6:8] == 0).all()
    format = ROWWISE_FORMATS["int8_rowwise"]
    np.testing.assert_array_equal(format.elements(rows, 6), format.elements(other, 6))


def test_rows_are_taken_as_elements() -> None:
    numbers = np.arange(40.0).reshape(10, 4)
    table = RowwiseTable(quantise(numbers, "int8_rowwise"), 4, ROWWISE_FORMATS["int8_rowwise"])
    assert (len(table), table.shape) == (10, (10, 4))
    np.testing.assert_allclose(table[np.array([3, 3, 9])], numbers[[3, 3, 9]], atol=3 / 255)
    np.testing.assert_array_equal(table[:][2:4], table[2:4])


def numbers(draw: st.DrawFn, shape: tuple[int, int]) -> np.ndarray:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    exponent = draw(st.integers(-149, 100))
    spread = draw(st.integers(0, 12))
    with np.errstate(under="ignore"):
        values = rng.normal(draw(st.sampled_from([0.0, 5.0])), 1, shape)
        return np.ldexp(values, exponent + rng.integers(0, spread + 1, shape)).astype(F32)


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    return numbers(draw, (draw(st.integers(0, 4)), 2 * draw(st.integers(1, 10))))


def parts_of(rows: np.ndarray, type: str, dim: int) -> np.ndarray:
    place = ROWWISE_FORMATS[type].scale_place(dim)
    return rows[:, place : place + 8].copy().view(F32).astype(np.float64)


@settings(max_examples=150)
@given(tables(), st.sampled_from(["int8_rowwise", "int4_rowwise"]))
def test_integers_are_off_by_half_a_step(table: np.ndarray, type: str) -> None:
    rows = quantise(table, type)
    assert rows.shape == (len(table), ROWWISE_FORMATS[type].row_bytes(table.shape[1]))
    elements = ROWWISE_FORMATS[type].elements(rows, table.shape[1])
    scale = parts_of(rows, type, table.shape[1])[:, :1]
    rounding = np.spacing(np.maximum(np.abs(elements), np.abs(table)))
    assert (np.abs(elements - table.astype(np.float64)) <= scale / 2 + rounding).all()
    # The least is the bias, so it is kept to the bit.
    np.testing.assert_array_equal(elements.min(axis=1), table.min(axis=1))


@settings(max_examples=150)
@given(tables())
def test_fp8_keeps_four_bits(table: np.ndarray) -> None:
    rows = quantise(table, "fp8_rowwise")
    elements = ROWWISE_FORMATS["fp8_rowwise"].elements(rows, table.shape[1])
    scale, bias = np.split(parts_of(rows, "fp8_rowwise", table.shape[1]), 2, axis=1)
    assert not bias.any()
    off = np.maximum(np.abs(table.astype(np.float64)) / 16, scale * 2.0**-10)
    rounding = np.spacing(np.maximum(np.abs(elements), np.abs(table)))
    assert (np.abs(elements - table.astype(np.float64)) <= off + rounding).all()


@settings(max_examples=150)
@given(st.data())
def test_elements_are_rounded_once(data: st.DataObject) -> None:
    codes = np.array([[data.draw(st.integers(0, 255)) for _ in range(4)]], np.uint8)
    scale, bias = numbers(data.draw, (2, 1))
    format = ROWWISE_FORMATS["int8_rowwise"]
    found = format.elements(format.rows(codes, scale, bias), 4)
    for code, element in zip(codes[0], found[0], strict=True):
        exact = Fraction(float(scale[0])) * int(code) + Fraction(float(bias[0]))
        near = [element, *(np.nextafter(element, F32(end)) for end in (-np.inf, np.inf))]
        errors = [abs(Fraction(float(each)) - exact) for each in near if np.isfinite(each)]
        assert errors[0] == min(errors)
        if errors.count(errors[0]) > 1:  # a tie: to even
            assert int(element.view(np.uint32)) % 2 == 0


def test_a_second_rounding_would_show() -> None:
    """A product in the middle of two float32 numbers, and a bias that float64 loses beside it."""
    format = ROWWISE_FORMATS["int8_rowwise"]
    for bias, element in ((-(2.0**-40), 25165826.0), (0.0, 25165828.0)):
        rows = format.rows(np.array([[3]], np.uint8), F32([2**23 + 1]), F32([bias]))
        assert format.elements(rows, 1).tolist() == [[element]]


def test_what_float32_has_is_kept_where_codes_reach_it() -> None:
    for type, steps in (("int8_rowwise", 255), ("int4_rowwise", 15)):
        table = (np.arange(16) % (steps + 1) / 32)[None] * [[1.0], [-1.0]]
        table[:, -1] = table[:, 0] + np.array([1, -1]) * steps / 32
        elements = ROWWISE_FORMATS[type].elements(quantise(table, type), 16)
        np.testing.assert_array_equal(elements, table)


def test_constant_rows_and_empty_tables() -> None:
    for type, format in ROWWISE_FORMATS.items():
        table = np.array([[0.1, 0.1], [0.0, 0.0], [-3.0, -3.0]], F32)
        np.testing.assert_allclose(format.elements(quantise(table, type), 2), table, rtol=1 / 16)
        assert quantise(np.empty((0, 4)), type).shape == (0, 16)


def test_bfloat16_tables_are_taken() -> None:
    table = np.array([[0.0, 255.0]], ml_dtypes.bfloat16)
    assert quantise(table, "int8_rowwise")[0, :2].tolist() == [0, 255]


def test_tables_that_cannot_be_quantised() -> None:
    one = np.zeros((1, 3))
    with refused("type = 'int2': must be one of int8_rowwise, int4_rowwise, fp8_rowwise"):
        quantise(one, "int2")
    with refused("table: is [1, 3]: must be [rows, dim], dim a multiple of 2 for int4_rowwise"):
        quantise(one, "int4_rowwise")
    with refused("table: is [3]: must be [rows, dim], dim a multiple of 1 for int8_rowwise"):
        quantise(one[0], "int8_rowwise")
    for wrong in (np.nan, np.inf, 1e39):
        with refused("table: must be finite in float32"):
            quantise(one + wrong, "fp8_rowwise")
