"""The ROM of microprograms."""

from __future__ import annotations

from gnarl.hw.sram_compute.microinstruction import decode
from gnarl.hw.sram_compute.operations import FLOAT_OPERATIONS, INTEGER_OPERATIONS
from gnarl.hw.sram_compute.rom import rom


def test_programs_begin_at_their_entries() -> None:
    operations = [*INTEGER_OPERATIONS.values(), *FLOAT_OPERATIONS["float8_e4m3"].values()]
    found = rom(operations)
    for operation in operations:
        for n in range(1, 33) if operation.is_parametric else [0]:
            first = found.entry(operation, n)
            words = [each.word() for each in operation.program(n)]
            assert list(found.words[first : first + len(words)]) == words
            assert [decode(word)["is_last"] for word in words][-1] == 1


def test_narrow_numbers_have_programs_of_their_own() -> None:
    entries = rom(INTEGER_OPERATIONS.values()).entries
    assert {name: list(each) for name, each in entries.items() if len(each) > 1} == {
        "multiply": [1, 2],
        "multiply_full": [1, 2, 3],
        "multiply_full_unsigned": [1, 2],
        "divide": [1, 2],
        "divide_unsigned": [1, 2],
        "floor_divide": [1, 2],
        "floor_divide_unsigned": [1, 2],
        "remainder": [1, 2],
        "remainder_unsigned": [1, 2],
    }


def test_programs_that_are_alike_are_there_once() -> None:
    operations = [FLOAT_OPERATIONS["float16"]["add"]]
    once, twice = rom(operations), rom([*operations, *operations])
    assert once == twice
    entries = rom(INTEGER_OPERATIONS.values()).entries
    assert entries["multiply_full"][1] == entries["multiply_full_unsigned"][1]
