"""Truth tables from Python functions."""

from __future__ import annotations

from gnarl.hw.sram_compute.microcode.tables import reads, start_table, table


def test_tables_by_hand() -> None:
    assert table(lambda a, b, c, p: a) == 0xAAAA
    assert table(lambda a, b, c, p: b) == 0xCCCC
    assert table(lambda a, b, c, p: c) == 0xF0F0
    assert table(lambda a, b, c, p: p) == 0xFF00
    assert table(lambda a, b, c, p: ~a & b) == 0x4444
    assert table(lambda a, b, c, p: a == b) == 0x9999
    assert table(lambda a, b, c, p: a if p else b) == 0xAACC
    assert start_table(lambda c, p: c) == 0b1010
    assert start_table(lambda c, p: p & ~c) == 0b0100


def test_rows_that_a_table_depends_on() -> None:
    assert reads(table(lambda a, b, c, p: c ^ p)) == (False, False)
    assert reads(table(lambda a, b, c, p: a & p)) == (True, False)
    assert reads(table(lambda a, b, c, p: b | c)) == (False, True)
    assert reads(table(lambda a, b, c, p: a ^ b)) == (True, True)
