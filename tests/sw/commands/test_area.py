"""``gnarl area``: its page, its object, its picture, and what it refuses."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.runtime.area.measure import measure
from gnarl.sw.runtime.area.timing import OpenSta
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.commands import gnarl, refusal
from tests.support.machines.cell_library import AREAS, write_library
from tests.support.targets import adder
from tests.support.targets.installed import OUTSIDE, importable, install

OSU018 = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
TABLE_BITS = adder.ROWS * adder.WORDS * 32
NARROW_BITS = adder.NARROW_ROWS * adder.NARROW_WORDS * adder.NARROW_BITS


@pytest.fixture(scope="module", autouse=True)
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The target ``adder``, whose hardware is small."""
    folder = tmp_path_factory.mktemp("packages")
    install(folder, "outside", OUTSIDE)
    with importable(folder):
        yield


def printed(*arguments: str | Path) -> str:
    result = gnarl("area", *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def check_sums(component: dict[str, Any]) -> None:
    """Every component is the sum of its parts."""
    for field in ("cells", "flip_flops", "gates", "share", "memory_bits"):
        if component["parts"] and field != "memory_bits":
            parts = sum(part[field] for part in component["parts"])
            assert component[field] == pytest.approx(parts), (component["name"], field)
    for part in component["parts"]:
        check_sums(part)


def test_generic_gates() -> None:
    report = json.loads(printed("adder", "--json"))
    assert (report["config"], report["target"]) == ("adder", "adder")
    assert (report["stage"], report["library"]) == ("before layout", None)
    assert (report["clock"], report["power"], report["memory_area"]) == (None, None, None)
    assert report["memory_bits"] == TABLE_BITS + NARROW_BITS
    assert report["components"]["area"] is None
    assert report["components"]["share"] == 1.0
    check_sums(report["components"])


def test_cells_macros_and_a_picture(tmp_path: Path) -> None:
    library, macros = write_library(tmp_path), tmp_path / "rams.json"
    fields = {"name": "ram", "rows": 32, "width": 16, "area": 100}
    macros.write_text(json.dumps([fields]))
    picture = tmp_path / "adder.png"
    files = ("--liberty", library, "--macro", macros, "--treemap", picture)
    report = json.loads(printed("adder", "--json", *files))
    assert report["library"] == "few"
    assert report["gate"] == "area / 2 (smallest two-input NAND)"
    found = {memory["path"]: memory for memory in report["memories"]}
    table = found["table/word_*"]
    assert (table["count"], table["macros"], table["area"]) == (3, 6, 600.0)
    narrow = found["narrow/word_*"]
    assert (narrow["width"], narrow["macros"], narrow["area"]) == (13, 4, 400.0)
    assert report["memory_area"] == 1000.0
    whole = report["components"]
    assert whole["gates"] == whole["area"] / AREAS["NAND"]
    check_sums(whole)
    assert picture.read_bytes().startswith(b"\x89PNG")
    if OpenSta.is_installed():
        assert report["clock"]["mhz"] == pytest.approx(1000 / report["clock"]["delay_ns"])
        assert report["power"]["activity"] == "default"


def test_bits_that_compute(tmp_path: Path) -> None:
    macros = tmp_path / "rams.json"
    macros.write_text(json.dumps([{"name": "ram", "rows": 32, "width": 16, "area": 100}]))
    report = measure(load_configuration("adder"), write_library(tmp_path), [macros])
    assert report.to_json()["bit"] is None
    bits = 50
    of_bits = replace(report, computing="tab", compute_bits=bits)
    (cost,) = (row.cost for row in report.root.walk() if row.name == "table")
    assert of_bits.to_json()["bit"] == {
        "bits": bits,
        "gates": cost.gates / bits,
        "memory_bits": TABLE_BITS / bits,
        "area": (cost.area + 600) / bits,
    }
    console = Console(file=io.StringIO(), width=200)
    of_bits.print(console)
    text = console.file.getvalue()
    assert "tab*, for each of 50 bits that compute: " in text and " with memories" in text
    assert replace(of_bits, library=None).to_json()["bit"]["area"] is None
    config = SramConfig(banks=2, arrays=4, wordlines=128, bitlines=64)
    assert config.compute_bits == 2 * 4 * 128 * 64


def test_the_page(tmp_path: Path) -> None:
    page = printed("adder", "--liberty", write_library(tmp_path))
    lines = page.splitlines()
    assert lines[0] == "adder: library few; before layout"
    assert lines[3].split()[:6] == ["component", "cells", "FFs", "gates", "%", "area"]
    assert lines[4].split()[0] == "adder"
    assert f"memories: {TABLE_BITS + NARROW_BITS:,} bits, area unknown" in lines
    has_sta = OpenSta.is_installed()
    assert page.count("not that of a run") == has_sta
    assert page.count("need OpenSTA (sta), which Debian has in opensta") == (not has_sta)


def test_what_is_refused(tmp_path: Path) -> None:
    library = write_library(tmp_path, {"INV": 1.0, "NAND": 1.0})
    assert refusal(tmp_path, "area", "adder", "--liberty", library) == (
        f"gnarl: {library}: lacks a flip-flop (a cell with group ff): synthesis needs each of them"
    )
    assert refusal(tmp_path, "area", "cuda_sm90") == (
        "gnarl area: cuda_sm90: target cuda has no Verilog. See gnarl area --help"
    )
    macros = tmp_path / "rams.json"
    macros.write_text('[{"name": "ram", "rows": 2, "width": 1, "area": 1}]')
    assert refusal(tmp_path, "area", "adder", "--macro", macros) == (
        f"gnarl: {macros}: no memory in it serves this design: must have at least 4 rows and 1 "
        "ports, or 24 rows and 1 ports"
    )
    copy = write_library(tmp_path)
    assert refusal(tmp_path, "area", "adder", "--liberty", copy, "--treemap", copy).startswith(
        f"gnarl: {copy}: "
    )


@pytest.mark.slow
@pytest.mark.skipif(not OSU018.is_file(), reason="qflow-tech-osu018 is not installed")
def test_a_dpu_in_real_cells() -> None:
    report = json.loads(printed("dpu_d1_b8", "--liberty", OSU018, "--json"))
    core = next(part for part in report["components"]["parts"] if part["name"] == "core")
    shares = {part["name"]: part["share"] for part in core["parts"]}
    assert shares["bank_*"] + shares["tree_*"] > 0.5
    check_sums(report["components"])
