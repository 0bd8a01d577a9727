"""Pins as the open tools have them, of one board a family."""

from __future__ import annotations

import pytest

from gnarl.hw.fpga.boards import find_board
from gnarl.sw.runtime.fpga.constraints import pin_constraints

pytest.importorskip("amaranth_boards")


def test_ecp5() -> None:
    lines = pin_constraints(find_board("ulx3s_85f")).splitlines()
    assert lines[:6] == [
        'LOCATE COMP "clock" SITE "G2";',
        'IOBUF PORT "clock" IO_TYPE=LVCMOS33;',
        'LOCATE COMP "rx" SITE "M1";',
        'IOBUF PORT "rx" IO_TYPE=LVCMOS33;',
        'LOCATE COMP "tx" SITE "L4";',
        'IOBUF PORT "tx" IO_TYPE=LVCMOS33;',
    ]
    assert 'IOBUF PORT "leds[3]" IO_TYPE=LVCMOS33 DRIVE=4;' in lines
    assert lines[-1] == 'FREQUENCY PORT "clock" 25 MHZ;'


def test_ice40() -> None:
    assert pin_constraints(find_board("icebreaker")).splitlines() == [
        "set_io clock 35",
        "set_io -pullup yes rx 6",
        "set_io -pullup yes tx 9",
        "set_io leds[0] 11",
        "set_io leds[1] 37",
    ]


def test_gowin() -> None:
    assert pin_constraints(find_board("tang_primer_20k")).splitlines() == [
        'IO_LOC "clock" H11;',
        'IO_PORT "clock" IO_TYPE=LVCMOS33;',
        'IO_LOC "rx" T13;',
        'IO_PORT "rx" PULL_MODE=UP;',
        'IO_PORT "rx" IO_TYPE=LVCMOS33;',
        'IO_LOC "tx" M11;',
        'IO_PORT "tx" PULL_MODE=UP;',
        'IO_PORT "tx" IO_TYPE=LVCMOS33;',
    ]
