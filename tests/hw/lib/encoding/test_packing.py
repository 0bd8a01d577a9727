from __future__ import annotations

import re

import numpy as np
import pytest
from amaranth.hdl import signed, unsigned
from amaranth.lib import data
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.encoding.packing import pack, unpack

WORD = data.StructLayout(
    {
        "kind": unsigned(4),
        "mask": unsigned(6),
        "lanes": data.ArrayLayout(unsigned(3), 4),
        "row": unsigned(9),
    }
)


def word_columns() -> dict[str, np.ndarray]:
    return {
        "kind": np.array([0x5, 0xF]),
        "mask": np.array([[1, 0, 0, 0, 1, 1], [0, 1, 0, 0, 0, 0]], bool),
        "lanes": np.array([[1, 2, 3, 4], [7, 0, 7, 0]]),
        "row": np.array([0x1FF, 0x080], np.uint16),
    }


def test_words_checked_by_hand():
    # From bit 0: kind 0101, mask 110001, lanes 4.3.2.1 = 100 011 010 001, row 111111111.
    first = 0x5 | 0b110001 << 4 | 0b100_011_010_001 << 10 | 0x1FF << 22
    second = 0xF | 0b000010 << 4 | 0b000_111_000_111 << 10 | 0x080 << 22
    expected = [list(word.to_bytes(4, "little")) for word in (first, second)]
    assert pack(WORD, word_columns()).tolist() == expected


def test_a_number_given_as_bits_and_as_integer_are_the_same_word():
    columns = word_columns()
    as_numbers = {**columns, "mask": np.array([0b110001, 0b000010])}
    assert pack(WORD, as_numbers).tolist() == pack(WORD, columns).tolist()


def test_words_agree_with_amaranth_constants():
    columns = word_columns()
    constant = WORD.const({"kind": 5, "mask": 0b110001, "lanes": [1, 2, 3, 4], "row": 0x1FF})
    word = constant.as_value().value
    assert pack(WORD, columns)[0].tolist() == list(word.to_bytes(4, "little"))


def test_rows_are_picked_in_their_order():
    columns = word_columns()
    rows = np.array([1, 0, 1])
    assert pack(WORD, columns, rows).tolist() == pack(WORD, columns)[rows].tolist()


def test_no_rows_give_no_words():
    columns = {name: column[:0] for name, column in word_columns().items()}
    assert pack(WORD, columns).shape == (0, 4)
    assert unpack(WORD, np.zeros((0, 4), np.uint8))["lanes"].shape == (0, 4)


def test_numbers_of_64_bits_and_masks_beyond():
    layout = data.StructLayout({"flag": unsigned(1), "wide": unsigned(64), "mask": unsigned(70)})
    columns = {
        "flag": np.array([1]),
        "wide": np.array([(1 << 64) - 2], np.uint64),
        "mask": np.arange(70)[None] % 3 == 0,
    }
    words = pack(layout, columns)
    mask = sum(1 << bit for bit in range(0, 70, 3))
    expected = 1 | ((1 << 64) - 2) << 1 | mask << 65
    assert words[0].tolist() == list(expected.to_bytes(17, "little"))
    assert unpack(layout, words, ["mask"])["wide"].tolist() == [(1 << 64) - 2]
    assert (unpack(layout, words, ["mask"])["mask"] == columns["mask"]).all()


@given(st.data())
def test_round_trip_of_random_layouts(draw: st.DataObject):
    rng = np.random.default_rng(draw.draw(st.integers(0, 2**32 - 1), "seed"))
    count = draw.draw(st.integers(0, 20), "words")
    fields: dict[str, object] = {}
    columns = {}
    for index in range(draw.draw(st.integers(1, 6), "fields")):
        width = draw.draw(st.integers(1, 64), "width")
        length = draw.draw(st.one_of(st.none(), st.integers(1, 9)), "length")
        shape = unsigned(width)
        fields[f"f{index}"] = shape if length is None else data.ArrayLayout(shape, length)
        size = (count,) if length is None else (count, length)
        columns[f"f{index}"] = rng.integers(0, (1 << width) - 1, size, np.uint64, endpoint=True)
    layout = data.StructLayout(fields)
    unpacked = unpack(layout, pack(layout, columns))
    assert list(unpacked) == list(columns)
    for name, column in columns.items():
        assert unpacked[name].tolist() == column.tolist()


@pytest.mark.parametrize(
    ("name", "column", "text"),
    [
        ("kind", np.array([3, 16]), "kind[1] = 16: must be from 0 to 15"),
        ("kind", np.array([-1, 3]), "kind[0] = -1: must be from 0 to 15"),
        ("mask", np.array([63, 64]), "mask[1] = 64: must be from 0 to 63"),
        ("lanes", np.array([[7, 7, 7, 7], [0, 0, 8, 9]]), "lanes[1, 2] = 8: must be from 0 to 7"),
        ("row", np.array([512, 513]), "row[0] = 512: must be from 0 to 511"),
        ("row", np.array([1.0, 2.0]), "column 'row' is float64 [2]: must be whole numbers [n]"),
        (
            "lanes",
            np.zeros((2, 3), int),
            "column 'lanes' is int64 [2, 3]: must be whole numbers [n, 4]",
        ),
        (
            "mask",
            np.zeros((2, 5), bool),
            "column 'mask' is bool [2, 5]: must be whole numbers [n, 6]",
        ),
        (
            "row",
            np.array([1]),
            "columns of different lengths: kind: 2, mask: 2, lanes: 2, row: 1",
        ),
        ("roe", np.array([1]), "column 'roe': no such field; there are kind, mask, lanes, row"),
    ],
)
def test_bad_columns_are_refused(name: str, column: np.ndarray, text: str):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        pack(WORD, {**word_columns(), name: column})


def test_the_index_of_a_bad_value_is_that_of_the_whole_column():
    columns = word_columns()
    columns["row"] = np.array([512, 513])
    with pytest.raises(ValueError, match=r"^row\[1\] = 513: must be from 0 to 511$"):
        pack(WORD, columns, np.array([1]))


def test_a_missing_column_is_refused():
    columns = word_columns()
    del columns["mask"]
    with pytest.raises(ValueError, match="^no column for field 'mask'$"):
        pack(WORD, columns)


def test_a_number_too_wide_for_an_integer_is_refused():
    layout = data.StructLayout({"mask": unsigned(65)})
    with pytest.raises(
        ValueError, match=r"^column 'mask': a number of 65 bits must be bool \[n, 65\]$"
    ):
        pack(layout, {"mask": np.array([1])})


def test_a_signed_field_is_refused():
    layout = data.StructLayout({"step": signed(4)})
    with pytest.raises(
        ValueError,
        match=r"^field 'step' is signed\(4\): must be unsigned, or an array of unsigned$",
    ):
        pack(layout, {"step": np.array([1])})


def test_words_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"^words are uint8 \[2, 3\]: must be uint8 \[n, 4\]$"):
        unpack(WORD, np.zeros((2, 3), np.uint8))
