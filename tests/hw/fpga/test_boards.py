"""What is read from the classes of amaranth-boards."""

from __future__ import annotations

import sys

import pytest

from gnarl.hw.fpga import boards
from gnarl.hw.fpga.boards import BoardError, Pin, find_board, usable_boards
from gnarl.hw.fpga.family import Family, device

pytest.importorskip("amaranth_boards")


@pytest.mark.parametrize(
    ("name", "family", "part", "oscillator_hz", "leds"),
    [
        ("ulx3s_85f", Family.ECP5, "LFE5U-85F", 25_000_000, 4),
        ("icebreaker", Family.ICE40, "iCE40UP5K", 12_000_000, 2),
        ("tang_primer_20k", Family.GOWIN, "GW2A-LV18PG256C8/I7", 27_000_000, 0),
        ("arty_a7_100", Family.XILINX, "xc7a100ticsg324-1L", 100_000_000, 4),
        ("genesys2", Family.XILINX, "xc7k325tffg900-2", 200_000_000, 4),
        ("de10_nano", Family.INTEL, "5CSEBA6U23I7", 50_000_000, 4),
    ],
)
def test_boards(name: str, family: Family, part: str, oscillator_hz: int, leds: int) -> None:
    board = find_board(name)
    assert (board.family, board.part, board.oscillator_hz) == (family, part, oscillator_hz)
    assert [led.port for led in board.leds] == [f"leds[{at}]" for at in range(leds)]
    assert board.resources == device(board.device)[1]


def test_pins_have_sites_attributes_and_levels() -> None:
    board = find_board("icebreaker")
    assert board.rx == Pin("rx", "6", {"IO_STANDARD": "SB_LVTTL", "PULLUP": "1"})
    assert board.tx.site == "9"
    assert [(led.site, led.inverted) for led in board.leds] == [("11", True), ("37", True)]


def test_clocks_of_two_pins() -> None:
    kc705, versa = find_board("kc705"), find_board("versa_ecp5")
    assert [(pin.port, pin.site) for pin in kc705.clock] == [("clock_p", "K28"), ("clock_n", "K29")]
    assert [(pin.port, pin.site) for pin in versa.clock] == [("clock_p", "P3")]


def test_one_led_is_not_a_bus() -> None:
    assert [led.port for led in find_board("icesugar_nano").leds] == ["leds"]


def test_leds_on_pins_of_the_serial_port_are_left_out() -> None:
    assert find_board("colorlight_5a75b_r7_0").leds == ()


def test_usable_boards_are_of_all_families() -> None:
    found = usable_boards()
    assert {board.family for board in found} == set(Family)
    assert len({board.name for board in found}) == len(found) > 30


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "ulx3s_85",
            "board ulx3s_85: no such board in amaranth-boards; nearest: ulx3s_85f, ulx3s_45f, "
            "ulx3s_25f",
        ),
        (
            "qqqq",
            "board qqqq: no such board in amaranth-boards; must be one that gnarl fpga --list "
            "shows",
        ),
        (
            "orangecrab_r0_2",
            "board orangecrab_r0_2: has no UART resource: the link to the host needs one",
        ),
        (
            "atlys",
            "board atlys: device xc6slx45: not supported: must be of Lattice ECP5, Lattice iCE40, "
            "Gowin, Xilinx 7 series, Intel Cyclone V",
        ),
        (
            "tang_mega_138k_pro_dock",
            "board tang_mega_138k_pro_dock: its class in amaranth-boards cannot be used: Supplied "
            "part name is invalid",
        ),
    ],
)
def test_boards_that_cannot_be_used(name: str, text: str) -> None:
    with pytest.raises(BoardError) as caught:
        find_board(name)
    assert str(caught.value) == text


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amaranth_boards", None)
    boards._classes.cache_clear()
    with pytest.raises(BoardError) as caught:
        find_board("ulx3s_85f")
    assert str(caught.value) == (
        "amaranth-boards is not installed: boards need it: pip install 'gnarl[fpga]'"
    )
