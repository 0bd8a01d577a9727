"""The polynomials of tables against functions that have exact values."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.functions.tables import Table, fit


def value(table: Table, position: int, piece: int = 0) -> Fraction:
    """The real polynomial, nothing cut off."""
    t = Fraction(position << table.segment_bits, 1 << table.position_bits)
    segment, t = divmod(t, 1)
    row = table.rows[piece << table.segment_bits | int(segment)]
    return sum(c * t**i for i, c in enumerate(row)) / Fraction(2) ** table.unit


def test_a_polynomial_is_its_own_table() -> None:
    pieces = [lambda t: t, lambda t: 3 - 2 * t + t * t / 4]
    table = fit(pieces, degree=2, position_bits=10, unit=4, accuracy=30)
    assert table == Table(10, 0, 4, ((0, 16, 0), (48, -32, 4)))
    cubic = fit([lambda t: 1 - t * t * t / 2], degree=3, position_bits=10, unit=4, accuracy=30)
    assert cubic == Table(10, 0, 4, ((16, 0, 0, -8),))


def test_segments_are_as_few_as_accuracy_allows() -> None:
    # From the middle of a segment as long as h, the cubic t**3 is off its quadratic by h**3 / 32.
    for segment_bits in range(1, 5):
        accuracy = 3 * segment_bits + 5
        loose = fit([lambda t: t * t * t], 2, 10, 60, accuracy - 1)
        exact = fit([lambda t: t * t * t], 2, 10, 60, accuracy + 1)
        assert (loose.segment_bits, exact.segment_bits) == (segment_bits, segment_bits + 1)


@pytest.mark.parametrize("degree", [2, 3])
@given(st.integers(0, (1 << 29) - 1), st.integers(0, 1))
def test_values_are_within_the_accuracy(degree: int, position: int, piece: int) -> None:
    table = fit([lambda t: 1 / (1 + t), lambda t: 1 / (2 + t)], degree, 29, 34, 25)
    exact = 1 / (1 + piece + Fraction(position, 1 << 29))
    assert abs(value(table, position, piece) - exact) < Fraction(105, 100) / 2**25


def test_coefficients_are_whole_numbers_that_never_change() -> None:
    # 2**t: the second half is the first one times the square root of 2.
    table = fit([lambda t: (t * Decimal(2).ln()).exp()], 2, 16, 16, 9)
    assert table == Table(16, 1, 16, ((65552, 22423, 4689), (92705, 31710, 6632)))


def test_accuracy_out_of_reach_is_refused() -> None:
    text = "^4 bits of position: too few for 40 bits of accuracy$"
    with pytest.raises(ValueError, match=text):
        fit([lambda t: 1 / (1 + t)], 2, 4, 50, 40)
