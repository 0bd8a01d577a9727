"""Tests the boards that a configuration fits: measured by builds, else estimated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gnarl.hw.fpga.boards import find_board, usable_boards
from gnarl.hw.fpga.family import Family, Resources
from gnarl.sw.runtime.fpga import fit
from gnarl.sw.runtime.fpga.fit import COLUMNS, Fit, fits
from gnarl.sw.runtime.report.stages import quiet
from tests.support.machines.yowasp import needs_yosys
from tests.support.targets.memory_target import configuration

pytest.importorskip("amaranth_boards")


def report(folder: Path, **changed: Any) -> None:
    """What a build leaves, as far as it is read."""
    used = Resources(5_000, 100, 8, 20).to_dict()
    found = {"digest": configuration().config.digest, "board": "ulx3s_85f", "used": used}
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(json.dumps(found | changed))


@pytest.fixture
def estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "_estimate", lambda *_: Resources(10_000, 2_000, 16, 10))


@pytest.mark.usefixtures("estimated")
def test_all_boards_those_that_fit_first(tmp_path: Path) -> None:
    found = fits(configuration(), tmp_path, quiet)
    assert {each.board.name for each in found} == {board.name for board in usable_boards()}
    assert [each.fits for each in found] == sorted((each.fits for each in found), reverse=True)
    by_name = {each.board.name: each for each in found}
    assert by_name["ulx3s_85f"].needed == Resources(10_000, 2_000, 16, 10)
    assert by_name["kc705"].needed == Resources(6_000, 2_000, 8, 10)
    assert by_name["icebreaker"].needed.block_rams == 40
    assert not by_name["icebreaker"].fits
    assert not any(each.measured for each in found)


@pytest.mark.usefixtures("estimated")
def test_builds_of_the_same_configuration_count_for_their_family(tmp_path: Path) -> None:
    report(tmp_path / "one")
    report(tmp_path / "other", digest="0", board="kc705")
    found = {each.board.name: each for each in fits(configuration(), tmp_path, quiet)}
    assert found["ulx3s_12f"].needed == Resources(5_000, 100, 8, 20)
    measured = {each.board.family for each in found.values() if each.measured}
    assert measured == {Family.ECP5}


def test_lines_and_objects() -> None:
    found = Fit(find_board("icebreaker"), Resources(6_600, 528, 0, 3), measured=False)
    cells = ["icebreaker", "iCE40UP5K", "125 %", "10 %", "0 %", "10 %", "no", "estimate"]
    assert found.cells() == cells
    assert len(COLUMNS) == len(cells)
    assert found.to_json() == {
        "board": "icebreaker",
        "part": "iCE40UP5K",
        "needed": {"luts": 6600, "flip_flops": 528, "dsps": 0, "block_rams": 3},
        "available": {"luts": 5280, "flip_flops": 5280, "dsps": 8, "block_rams": 30},
        "fits": False,
        "measured": False,
    }
    assert Fit(find_board("icestick"), Resources(0, 0, 7, 0), True).cells()[4] == "7"


@needs_yosys
def test_the_estimate_is_close_to_a_build(tmp_path: Path) -> None:
    found = {each.board.name: each for each in fits(configuration(), tmp_path, quiet)}
    needed = found["ulx3s_85f"].needed
    assert 600 < needed.luts < 1200
    assert 400 < needed.flip_flops < 700
    assert (needed.dsps, needed.block_rams) == (0, 2)
