"""Tests the clock that a board gets, and the PLL in its Verilog."""

from __future__ import annotations

import re

import pytest

from gnarl.hw.fpga.board_top import BoardTop
from gnarl.hw.fpga.boards import find_board
from gnarl.hw.fpga.clock import Clock, plan_clock
from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.lib.verilog import to_verilog
from tests.support.targets.memory_target import configuration

pytest.importorskip("amaranth_boards")


def top(board_name: str, wanted_hz: int | None = None) -> str:
    """Verilog of the top module alone."""
    board, hardware = find_board(board_name), configuration()
    machine = hardware.target.executor.generator.build(hardware.config)
    component = BoardTop(board, plan_clock(board, wanted_hz), machine, 1_000_000)
    text = to_verilog(component, "top")
    return re.search(r"^module top\(.*?^endmodule", text, re.M | re.S)[0]


def settings(kind: str, text: str) -> dict[str, str]:
    """Parameters of the instance of a module."""
    parameters = re.search(rf"^ *{kind} #\((.*?)\n *\) ", text, re.M | re.S)[1]
    return dict(re.findall(r"\.(\w+)\(([^()]*)\)", parameters))


@pytest.mark.parametrize(
    ("board", "wanted_hz", "hz", "has_pll"),
    [
        ("ulx3s_85f", None, 50_000_000, True),
        ("ulx3s_85f", 25_000_000, 25_000_000, False),
        ("icebreaker", None, 12_000_000, False),
        ("icebreaker", 20_000_000, 19_875_000, True),
        ("kc705", None, 100_000_000, True),
        ("de10_nano", 75_000_000, 75_000_000, True),
    ],
)
def test_the_clock_is_the_closest_to_the_wanted_one(
    board: str, wanted_hz: int | None, hz: int, has_pll: bool
) -> None:
    clock = plan_clock(find_board(board), wanted_hz)
    assert (clock.hz, clock.has_pll) == (hz, has_pll)


def test_clocks_out_of_range() -> None:
    with pytest.raises(ConfigError) as caught:
        plan_clock(find_board("icebreaker"), 10_000_000)
    assert str(caught.value) == "clock of 10 MHz: must be 16 to 275 MHz, which the PLL makes"


def test_ecp5() -> None:
    found = settings("EHXPLLL", top("ulx3s_85f", 75_000_000))
    values = {name: found[name] for name in ("CLKI_DIV", "CLKFB_DIV", "CLKOP_DIV")}
    assert values == {"CLKI_DIV": "32'd1", "CLKFB_DIV": "32'd3", "CLKOP_DIV": "32'd8"}
    assert found["CLKOP_CPHASE"] == "32'd4"


def test_ice40_takes_its_clock_from_the_plls_pin() -> None:
    text = top("icebreaker", 20_000_000)
    assert settings("SB_PLL40_PAD", text) == {
        "FEEDBACK_PATH": '"SIMPLE"',
        "DIVR": "4'h0",
        "DIVF": "7'h34",
        "DIVQ": "3'h5",
        "FILTER_RANGE": "3'h1",
    }
    assert ".PACKAGEPIN(clock)" in text
    assert "SB_PLL40_CORE" in top("icestick", 48_000_000)


def test_gowin() -> None:
    found = settings("rPLL", top("tang_primer_20k", 54_000_000))
    assert found == {
        "FCLKIN": '"27"',
        "DEVICE": '"GW2A-18C"',
        "IDIV_SEL": "32'd0",
        "FBDIV_SEL": "32'd1",
        "ODIV_SEL": "32'd16",
    }


def test_xilinx_buffers_the_clock() -> None:
    text = top("kc705", 75_000_000)
    assert settings("MMCME2_BASE", text) == {
        "CLKIN1_PERIOD": "6.41",
        "DIVCLK_DIVIDE": "32'd4",
        "CLKFBOUT_MULT_F": "25.0",
        "CLKOUT0_DIVIDE_F": "13.0",
    }
    assert "IBUFDS clock_input" in text
    assert "BUFG clock_buffer" in text
    assert "MMCME2_BASE" not in top("arty_a7_100", 100_000_000)


def test_intel() -> None:
    found = settings("altera_pll", top("de10_nano", 75_000_000))
    assert found["reference_clock_frequency"] == '"50 MHz"'
    assert found["output_clock_frequency0"] == '"75 MHz"'


def test_without_a_pll_the_clock_is_the_boards() -> None:
    text = top("ulx3s_85f", 25_000_000)
    assert "EHXPLLL" not in text
    assert re.search(r"assign clk = clock;", text)


def test_a_clock_without_dividers_has_a_pll_where_the_frequencies_differ() -> None:
    assert Clock(50, 75).has_pll
    assert not Clock(50, 50).has_pll
