"""Boards, clocks and options of ``gnarl fpga`` that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import refusal

pytest.importorskip("amaranth_boards")

CASES = {
    "no board": ((), "gnarl fpga: Missing option '--board' or '--list': must be one of them."),
    "board and list": (
        ("--board", "ulx3s_85f", "--list"),
        "gnarl fpga: Missing option '--board' or '--list': must be one of them.",
    ),
    "unknown board": (
        ("--board", "ulx3s"),
        "gnarl: board ulx3s: no such board in amaranth-boards; nearest: ulx3s_",
    ),
    "no UART": (
        ("--board", "orangecrab_r0_2"),
        "gnarl: board orangecrab_r0_2: has no UART resource: the link to the host needs one",
    ),
    "unsupported device": (
        ("--board", "de0"),
        "gnarl: board de0: device EP3C16: not supported: must be of Lattice ECP5",
    ),
    "clock": (
        ("--board", "ulx3s_85f", "--clock", "5"),
        "gnarl: clock of 5 MHz: must be 10 to 400 MHz, which the PLL makes",
    ),
    "no clock": (
        ("--board", "ulx3s_85f", "--clock", "0"),
        "gnarl fpga: Invalid value for '--clock'",
    ),
    "baud rate": (
        ("--board", "ulx3s_85f", "--baud", "50000000"),
        "gnarl: baud = 50000000: must be from 1 to 12500000 with a clock of 50000000 Hz",
    ),
    "workload": (
        ("some.psdd", "--board", "ulx3s_85f"),
        "gnarl fpga: Unexpected argument 'some.psdd': target dpu has one hardware",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refused(tmp_path: Path, case: str) -> None:
    arguments, text = CASES[case]
    folder = tmp_path / "folder"
    line = refusal(tmp_path, "fpga", "dpu_d1_b8", *arguments, "-o", folder)
    assert line.startswith(text)


def test_targets_without_verilog(tmp_path: Path) -> None:
    line = refusal(tmp_path, "fpga", "cuda_sm90", "--board", "ulx3s_85f", "-o", tmp_path / "x")
    assert line.startswith("gnarl fpga: cuda_sm90: target cuda has no Verilog.")


def test_folders_of_others(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    line = refusal(tmp_path, "fpga", "dpu_d1_b8", "--board", "ulx3s_85f", "-o", tmp_path)
    assert line == (
        f"gnarl: {tmp_path}: has files but no report.json: must be new, or an earlier build's"
    )


def test_folders_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "folder"
    line = refusal(tmp_path, "fpga", "dpu_d1_b8", "--board", "ulx3s_85f", "-o", folder)
    assert line.startswith(f"gnarl: {tmp_path / 'file'}: ")
