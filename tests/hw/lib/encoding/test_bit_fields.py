"""Numbers in fields of layouts, against Amaranth's constants."""

from __future__ import annotations

import pytest
from amaranth.hdl import signed, unsigned
from amaranth.lib import data
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.encoding.bit_fields import bit_fields, packed, unpacked

INNER = data.StructLayout({"x": unsigned(2), "y": signed(3)})
LAYOUT = data.StructLayout(
    {"one": unsigned(1), "inner": INNER, "least": signed(1), "many": signed(40)}
)
FIELDS = bit_fields(LAYOUT)

values = st.fixed_dictionaries(
    {
        "one": st.integers(0, 1),
        "inner": st.fixed_dictionaries({"x": st.integers(0, 3), "y": st.integers(-4, 3)}),
        "least": st.integers(-1, 0),
        "many": st.integers(-(2**39), 2**39 - 1),
    }
)


@given(values)
def test_numbers_lie_where_amaranth_puts_them(numbers):
    word = packed(FIELDS, numbers)
    assert word == LAYOUT.const(numbers).as_bits()
    assert unpacked(FIELDS, word) == numbers


def test_limits_are_the_least_and_the_largest_number():
    inner = FIELDS["inner"].within
    assert [each.limits for each in inner.values()] == [(0, 3), (-4, 3)]
    assert FIELDS["least"].limits == (-1, 0)


def test_fields_that_are_left_out_are_0():
    assert packed(FIELDS, {"inner": {"y": -1}}) == 0b111 << 3
    assert unpacked(FIELDS, 0) == {"one": 0, "inner": {"x": 0, "y": 0}, "least": 0, "many": 0}


def test_more_bits_than_a_field_has_do_not_reach_the_next():
    assert packed(FIELDS, {"one": 3, "inner": {"x": 4}, "least": 2}) == 1


def test_names_of_no_field():
    with pytest.raises(KeyError, match="z"):
        packed(FIELDS, {"inner": {"z": 1}})
