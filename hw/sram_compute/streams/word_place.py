"""Locates words and bitlines that streams name in banks."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value
from amaranth.lib import data
from gnarl.hw.sram_compute.bank.bank import WORD_BITS
from gnarl.hw.sram_compute.isa import STRIP

_STRIP_BITS = (STRIP - 1).bit_length()


def place_layout(wordlines: int, bitlines: int, arrays: int, banks: int) -> data.StructLayout:
    """A word of a row of a bank: as of ``bank.word_request_layout``."""
    return data.StructLayout(
        {
            "bank": range(max(2, banks)),
            "array": range(max(2, arrays)),
            "row": range(wordlines),
            "group": range(bitlines // WORD_BITS),
        }
    )


def word_place(layout: data.StructLayout, word: Value, arrays: int, banks: int) -> dict[str, Value]:
    """The location of a word, given its number: words of a row come first, then those of the bank's
    other arrays, then those of other rows. Strips of ``STRIP`` words go around the banks."""
    bank_bits = (banks - 1).bit_length()
    own = Cat(word[:_STRIP_BITS], word[_STRIP_BITS + bank_bits :])
    group_bits, array_bits = layout["group"].width, (arrays - 1).bit_length()
    return {
        "bank": _bits(word, _STRIP_BITS, bank_bits),
        "array": _bits(own, group_bits, array_bits),
        "row": own[group_bits + array_bits :],
        "group": own[:group_bits],
    }


def bitline_place(
    layout: data.StructLayout, bitline: Value, row: Value, arrays: int, banks: int
) -> dict[str, Value]:
    """The location of the word of ``row`` that contains a bitline, given the bitline's number among
    all tiles."""
    group_bits, array_bits = layout["group"].width, (arrays - 1).bit_length()
    bank_bits = (banks - 1).bit_length()
    block = bitline[_STRIP_BITS:]
    tile = block[group_bits:]
    return {
        "bank": _bits(tile, array_bits, bank_bits),
        "array": _bits(tile, 0, array_bits),
        "row": row,
        "group": block[:group_bits],
    }


def _bits(value: Value, first: int, count: int) -> Value:
    """0 for none, where there is one bank, or one array of each."""
    return value[first : first + count] if count else Const(0, 1)
