"""The encoding of microinstructions."""

from __future__ import annotations

import pytest
from amaranth.lib import data
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.integer import add
from gnarl.hw.sram_compute.microcode.program import assemble
from gnarl.hw.sram_compute.microinstruction import (
    MICROINSTRUCTION,
    Base,
    Kind,
    decode,
    encode,
)


def test_an_addition_is_one_word_whose_fields_are_known() -> None:
    p = Builder()
    add(p)
    (each,) = assemble(p.program())
    row = {"offset": 0, "per_i": 0, "per_n": 0, "step": 1}
    count = {"offset": 0, "per_i": 0, "per_n": 1}
    none = {"offset": 0, "per_i": 0, "per_n": 0}
    assert decode(each.word()) == {
        "kind": Kind.SWEEP,
        "is_last": 1,
        "starts_loop": 0,
        "ends_loop": 0,
        "trips": none,
        "length": 0,
        "count": count,
        "a": {"base": Base.A} | row,
        "b": {"base": Base.B} | row,
        "d": {"base": Base.D} | row,
        "writes": 1,
        "start_carry": 0b0000,
        "start_predicate": 0b1100,
        # c b a of the cases, from 111 down to 000, without and with p: sum and majority.
        "write_table": 0b10010110_10010110,
        "carry_table": 0b11101000_11101000,
        "predicate_table": 0b11111111_00000000,
    }


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"kind": Kind.SKIP}, 1),
        ({"is_last": 1}, 1 << 1),
        ({"starts_loop": 1, "trips": {"offset": -1, "per_n": 1}}, 1 << 2 | 0xFF << 4 | 1 << 14),
        ({"length": 5}, 5 << 17),
        ({"count": {"per_i": -1}}, 3 << 35),
        ({"a": {"base": Base.S, "offset": 2}}, 4 << 40 | 2 << 43),
        ({"b": {"step": -1}}, 3 << 74),
        ({"d": {"per_n": 2}}, 2 << 89),
        ({"writes": 1}, 1 << 94),
        ({"start_carry": 9, "start_predicate": 6}, 9 << 95 | 6 << 99),
        (
            {"write_table": 1, "carry_table": 2, "predicate_table": 3},
            1 << 103 | 2 << 119 | 3 << 135,
        ),
    ],
)
def test_words_by_hand(fields: dict[str, object], word: int) -> None:
    assert encode(fields) == word


def test_the_size_of_a_microinstruction() -> None:
    assert MICROINSTRUCTION.size == 151


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"count": {"offset": 128}}, "count.offset = 128: must be from -128 to 127"),
        ({"d": {"step": -2}}, "d.step = -2: must be from -1 to 1"),
        ({"a": {"per_n": 3}}, "a.per_n = 3: must be from -1 to 2"),
        ({"b": {"base": 5}}, "b.base = 5: must be from 0 to 4"),
        ({"length": 1024}, "length = 1024: must be from 0 to 1023"),
        (
            {"trips": {"per_m": 1}},
            "trips.per_m: no such field; there are offset, per_i, per_n",
        ),
    ],
)
def test_numbers_beyond_a_field_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        encode(fields)
    assert str(caught.value) == message


def _fields(layout: data.StructLayout) -> st.SearchStrategy:
    def numbers(name: str, field: data.Field) -> st.SearchStrategy:
        if isinstance(field.shape, data.StructLayout):
            return _fields(field.shape)
        if name in ("per_i", "step"):
            return st.integers(-1, 1)
        if name == "per_n":
            return st.integers(-1, 2)
        if name == "base":
            return st.sampled_from(list(Base))
        if name == "offset":
            return st.integers(-128, 127)
        return st.integers(0, (1 << field.width) - 1)

    return st.fixed_dictionaries({name: numbers(name, field) for name, field in layout})


@given(_fields(MICROINSTRUCTION))
def test_what_is_encoded_is_decoded(fields: dict[str, object]) -> None:
    assert decode(encode(fields)) == fields
