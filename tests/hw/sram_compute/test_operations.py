"""The operations of a bank: their encoding, and the rows that they touch."""

from __future__ import annotations

import pytest

from hw.lib.formats import FLOAT_FORMATS
from hw.sram_compute.microcode.program import disassemble
from hw.sram_compute.microcode.sequence import extent
from hw.sram_compute.microinstruction import Base
from hw.sram_compute.operations import FLOAT_OPERATIONS, INTEGER_OPERATIONS, Operation


def _all_operations() -> list[Operation]:
    floats = (each for kind in FLOAT_OPERATIONS.values() for each in kind.values())
    return [*INTEGER_OPERATIONS.values(), *floats]


def test_words_of_all_programs_are_read_back() -> None:
    for operation in _all_operations():
        for program in operation.programs().values():
            assert tuple(disassemble(each.word()) for each in program) == program


@pytest.mark.parametrize("name", INTEGER_OPERATIONS)
def test_integer_operations_touch_no_rows_beyond_operands(name: str) -> None:
    operation = INTEGER_OPERATIONS[name]
    rows = 2 if name.startswith(("multiply_full", "divide")) else 1
    for n in range(1, 33):
        limits = {Base.A: n, Base.B: n, Base.D: rows * n, Base.E: 1, Base.S: n + 1}
        for base, limit in limits.items():
            first, end = extent(operation.program(n), base, n)
            assert 0 <= first and end <= limit


@pytest.mark.parametrize("format", FLOAT_OPERATIONS)
def test_floating_point_operations_touch_no_rows_beyond_operands(format: str) -> None:
    for name, operation in FLOAT_OPERATIONS[format].items():
        width = FLOAT_FORMATS[format].width
        integer = int(name.partition("int")[2] or 0)
        limits = {
            Base.A: integer if name.startswith("from") else width,
            Base.B: width,
            Base.D: integer if name.startswith("to_") else width,
            Base.E: 0,
            Base.S: 48,
        }
        for base, limit in limits.items():
            first, end = extent(operation.program(), base)
            assert 0 <= first and end <= limit
