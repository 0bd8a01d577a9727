"""Memory macros: which serve a memory, and which files are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gnarl.hw.lib.memory.size import MemorySize
from gnarl.sw.runtime.area.liberty_text import LibraryError
from gnarl.sw.runtime.area.macros import Fit, Macro, fit, load_macros

ONE = {"name": "ram", "rows": 64, "width": 8, "area": 100}


def macro(rows: int, width: int, area: float, ports: int = 1) -> Macro:
    return Macro(f"{rows}x{width}", rows, width, ports, area)


def test_macros_lie_side_by_side() -> None:
    found = fit(MemorySize(64, 20, 1), [macro(64, 8, 10.0)])
    assert found == Fit(macro(64, 8, 10.0), 3)
    assert found.area == 30.0


def test_the_least_area_serves() -> None:
    macros = [macro(64, 8, 10.0), macro(128, 32, 29.0), macro(64, 32, 31.0)]
    assert fit(MemorySize(64, 20, 1), macros) == Fit(macros[1], 1)
    assert fit(MemorySize(64, 16, 1), macros) == Fit(macros[0], 2)


def test_too_few_rows_or_ports_do_not_serve() -> None:
    assert fit(MemorySize(65, 8, 1), [macro(64, 8, 1.0)]) is None
    assert fit(MemorySize(64, 8, 2), [macro(64, 8, 1.0)]) is None
    assert fit(MemorySize(64, 8, 1), [macro(64, 8, 1.0, ports=2)]) is not None


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "rams.json"
    path.write_text(json.dumps([ONE, {**ONE, "name": "two", "ports": 2}]))
    assert load_macros(path) == [Macro("ram", 64, 8, 1, 100.0), Macro("two", 64, 8, 2, 100.0)]


def test_liberty(tmp_path: Path) -> None:
    """Two ports are two addresses; what is no memory is left out."""
    path = tmp_path / "rams.lib"
    path.write_text(
        "library(rams) {\n"
        "  cell(gate) { area : 1; }\n"
        "  cell(single) { area : 50.5; memory() { type : ram; address_width : 6; word_width : 8; }"
        "    bus(din) { memory_write() { address : a; } } bus(q) { memory_read() { address : a; } }"
        "  }\n"
        "  cell(double) { area : 90; memory() { type : ram; address_width : 7; word_width : 9; }"
        "    bus(din) { memory_write() { address : a; } } bus(q) { memory_read() { address : b; } }"
        "  }\n}\n"
    )
    assert load_macros(path) == [Macro("single", 64, 8, 1, 50.5), Macro("double", 128, 9, 2, 90.0)]


@pytest.mark.parametrize(
    "content, error",
    [
        ([], "{}: has no memories: must have one at least"),
        ({}, "{}: must be a list of memories"),
        ([1], "{}: memory 0: must be an object of name, rows, width, ports, area"),
        ([ONE, {**ONE, "bits": 1}], "{}: memory 1: 'bits': must be one of name, rows, width, "
         "ports, area"),
        ([{"name": "a", "rows": 1, "width": 1}], "{}: memory 0: area is missing"),
        ([{**ONE, "rows": 0}], "{}: memory 0: rows = 0: must be a whole number, at least 1"),
        ([{**ONE, "width": 1.5}], "{}: memory 0: width = 1.5: must be a whole number, at least 1"),
        ([{**ONE, "ports": True}], "{}: memory 0: ports = True: must be a whole number, at least "
         "1"),
        ([{**ONE, "area": 0}], "{}: memory 0: area = 0: must be a number above 0"),
        ([{**ONE, "area": "1"}], "{}: memory 0: area = '1': must be a number above 0"),
        ([{**ONE, "name": 3}], "{}: memory 0: name = 3: must be a text"),
    ],
)  # fmt: skip
def test_wrong_json(tmp_path: Path, content: Any, error: str) -> None:
    path = tmp_path / "rams.json"
    path.write_text(json.dumps(content))
    with pytest.raises(LibraryError) as caught:
        load_macros(path)
    assert str(caught.value) == error.format(path)


@pytest.mark.parametrize(
    "inside, error",
    [
        ("", "has no memories: must have one at least"),
        ("cell(r) { area : 1; memory() { word_width : 8; } }",
         "cell r: address_width '': must be a whole number, at least 1"),
        ("cell(r) { area : 1; memory() { address_width : 99; word_width : 8; } }",
         "cell r: address_width 99: must be at most 64"),
        ("cell(r) { area : big; memory() { address_width : 9; word_width : 8; } }",
         "cell r: area = 0.0: must be a number above 0"),
    ],
)  # fmt: skip
def test_wrong_liberty(tmp_path: Path, inside: str, error: str) -> None:
    path = tmp_path / "rams.lib"
    path.write_text(f"library(rams) {{ {inside} }}")
    with pytest.raises(LibraryError) as caught:
        load_macros(path)
    assert str(caught.value) == f"{path}: {error}"
