"""Projects for Vivado and Quartus, word by word."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.hw.fpga.boards import find_board
from gnarl.hw.fpga.clock import plan_clock
from gnarl.sw.runtime.fpga.vendor_project import write_project

pytest.importorskip("amaranth_boards")


def project(folder: Path, board: str, clock_hz: int) -> dict[str, str]:
    found = find_board(board)
    write_project(folder, "top", found, plan_clock(found, clock_hz))
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_vivado(tmp_path: Path) -> None:
    files = project(tmp_path, "arty_a7_100", 75_000_000)
    assert set(files) == {"build.tcl", "top.xdc", "README.md"}
    assert files["build.tcl"].splitlines()[1:4] == [
        "read_verilog top.v",
        "read_xdc top.xdc",
        "synth_design -top top -part xc7a100ticsg324-1L",
    ]
    assert files["build.tcl"].splitlines()[-1] == "write_bitstream -force top.bit"
    lines = files["top.xdc"].splitlines()
    assert lines[:4] == [
        "set_property PACKAGE_PIN E3 [get_ports {clock}]",
        "set_property IOSTANDARD LVCMOS33 [get_ports {clock}]",
        "set_property PACKAGE_PIN A9 [get_ports {rx}]",
        "set_property IOSTANDARD LVCMOS33 [get_ports {rx}]",
    ]
    assert "set_property PACKAGE_PIN T10 [get_ports {leds[3]}]" in lines
    assert lines[-3:] == [
        "create_clock -name clock -period 10.000 [get_ports clock]",
        "set_false_path -from [get_ports rx]",
        "set_false_path -to [get_ports {tx leds*}]",
    ]
    assert "    vivado -mode batch -source build.tcl\n" in files["README.md"]
    assert "75 MHz, which a PLL makes of the board's 100 MHz" in files["README.md"]


def test_clocks_of_two_pins(tmp_path: Path) -> None:
    lines = project(tmp_path, "genesys2", 100_000_000)["top.xdc"].splitlines()
    assert lines[0] == "set_property PACKAGE_PIN AD12 [get_ports {clock_p}]"
    assert lines[2] == "set_property PACKAGE_PIN AD11 [get_ports {clock_n}]"
    assert "create_clock -name clock -period 5.000 [get_ports clock_p]" in lines


def test_quartus(tmp_path: Path) -> None:
    files = project(tmp_path, "de10_nano", 75_000_000)
    assert set(files) == {"top.qpf", "top.qsf", "top.sdc", "README.md"}
    assert files["top.qpf"] == 'PROJECT_REVISION = "top"\n'
    lines = files["top.qsf"].splitlines()
    assert lines[:5] == [
        'set_global_assignment -name FAMILY "Cyclone V"',
        "set_global_assignment -name DEVICE 5CSEBA6U23I7",
        "set_global_assignment -name TOP_LEVEL_ENTITY top",
        "set_global_assignment -name VERILOG_FILE top.v",
        "set_global_assignment -name SDC_FILE top.sdc",
    ]
    assert "set_location_assignment PIN_V11 -to {clock}" in lines
    assert 'set_instance_assignment -name IO_STANDARD "3.3-V LVTTL" -to {leds[0]}' in lines
    assert files["top.sdc"].splitlines() == [
        "create_clock -name clock -period 20.000 [get_ports clock]",
        "derive_pll_clocks",
        "derive_clock_uncertainty",
        "set_false_path -from [get_ports rx]",
        "set_false_path -to [get_ports {tx leds*}]",
    ]
    assert "    quartus_sh --flow compile top\n" in files["README.md"]


def test_without_a_pll(tmp_path: Path) -> None:
    files = project(tmp_path, "de10_nano", 50_000_000)
    assert "derive_pll_clocks" not in files["top.sdc"]
    assert "a clock of 50 MHz.\n" in files["README.md"]
