"""Libraries of cells: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.runtime.area.cell_function import truth_table
from gnarl.sw.runtime.area.liberty import load_cells
from gnarl.sw.runtime.area.liberty_text import LibraryError, read_liberty
from tests.support.machines.cell_library import AREAS, library_text, write_library


@pytest.mark.parametrize(
    "function, table",
    [
        ("A", 0b1010),
        ("!A", 0b0101),
        ("A'", 0b0101),
        ("(A B)'", 0b0111),
        ("!(A*B)", 0b0111),
        ("(!A) + B'", 0b0111),
        ("!A & !B", 0b0001),
        ("A ^ B", 0b0110),
        ("A B + A' B'", 0b1001),
        ("A + B ^ B", 0b1010),
        ("A B ^ B", 0b0000),
        ("1", 0b1111),
        ("A''", 0b1010),
    ],
)
def test_functions(function: str, table: int) -> None:
    assert truth_table(function, ["A", "B"]) == table


@pytest.mark.parametrize("function", ["", "A +", "C", "(A", "A)", "!", "A + + B"])
def test_what_is_no_function(function: str) -> None:
    assert truth_table(function, ["A", "B"]) is None


def test_cells(tmp_path: Path) -> None:
    library = load_cells(write_library(tmp_path))
    assert (library.name, library.gate) == ("few", AREAS["NAND"])
    assert library.areas == AREAS
    assert library.registers == {"DFF": "Q"}


def test_a_nor_is_the_gate_where_there_is_no_nand(tmp_path: Path) -> None:
    areas = {name: area for name, area in AREAS.items() if name != "NAND"}
    assert load_cells(write_library(tmp_path, areas)).gate == AREAS["NOR"]


@pytest.mark.parametrize(
    "without, lacks",
    [
        (["DFF"], "a flip-flop (a cell with group ff)"),
        (["INV"], "an inverter with an area"),
        (["NAND", "NOR"], "a two-input NAND or NOR with an area"),
        (["DFF", "INV"], "a flip-flop (a cell with group ff), an inverter with an area"),
    ],
)
def test_what_a_library_lacks(tmp_path: Path, without: list[str], lacks: str) -> None:
    path = write_library(tmp_path, {k: v for k, v in AREAS.items() if k not in without})
    with pytest.raises(LibraryError) as error:
        load_cells(path)
    assert str(error.value) == f"{path}: lacks {lacks}: synthesis needs each of them"


def test_gates_without_an_area_do_not_count(tmp_path: Path) -> None:
    path = write_library(tmp_path, {**AREAS, "INV": 0.0})
    with pytest.raises(LibraryError, match="lacks an inverter with an area: synthesis"):
        load_cells(path)


@pytest.mark.parametrize(
    "text, error",
    [
        ("", "not a liberty file: must be one group library(NAME) { … }"),
        ("cell(A) { }", "not a liberty file: must be one group library(NAME) { … }"),
        ("module m;", ":1: not a liberty file: must be : or ( behind 'module', found 'm'"),
        ("\n{ }", ":2: not a liberty file: must be the name of a group or attribute, found '{'"),
        (
            "library(a) {\n area : 1;\n",
            ":3: not a liberty file: must be } of group library, the file ends",
        ),
        ("library(a", ":1: not a liberty file: must be ), the file ends"),
        ("library(a) { }", "has no cells: must be a library of standard cells"),
        (
            "library(a) { cell(x) { area : wide; } }",
            "cell x: area wide: must be a number, 0 or more",
        ),
        ("library(a) { cell(x) { area : -1; } }", "cell x: area -1: must be a number, 0 or more"),
        ("library(a) { cell(x) { area : nan; } }", "cell x: area nan: must be a number, 0 or more"),
    ],
)
def test_what_is_no_library(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "cells.lib"
    path.write_text(text)
    with pytest.raises(LibraryError) as caught:
        load_cells(path)
    colon = "" if error.startswith(":") else ": "
    assert str(caught.value) == f"{path}{colon}{error}"


def test_brackets_without_end(tmp_path: Path) -> None:
    path = tmp_path / "cells.lib"
    path.write_text("a() {" * 100_000)
    with pytest.raises(LibraryError, match="cannot be understood: RecursionError"):
        load_cells(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "cells.lib"
    path.write_bytes(b"library\xff")
    with pytest.raises(GnarlError, match="byte 7 is not valid UTF-8"):
        load_cells(path)


def test_syntax(tmp_path: Path) -> None:
    """Comments, lines that go on, braces on lines of their own, attributes without semicolons."""
    path = tmp_path / "cells.lib"
    path.write_text(
        'library (x) /* one\nline */\n{\n  unit (1, "pf");  // rest { \n  a : 1.5 * b\n'
        '  cell ("c 1") {\n    values ("1, \\\n 2");\n    table : "x; }" ; }\n}\n'
    )
    library = read_liberty(path)
    assert library.attributes == {"a": "1.5 * b"}
    (cell,) = library.of("cell")
    assert (cell.names, cell.attributes) == (("c 1",), {"table": "x; }"})


def test_every_prefix_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "cells.lib"
    text = library_text()
    for length in range(0, len(text.rstrip()), 97):
        path.write_text(text[:length])
        with pytest.raises(LibraryError) as error:
            load_cells(path)
        assert "\n" not in str(error.value)
