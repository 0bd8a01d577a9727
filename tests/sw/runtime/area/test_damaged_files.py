"""Libraries, macros and activities with damage are refused in one line, or read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.runtime.area.activity import read_activity
from gnarl.sw.runtime.area.liberty import load_cells
from gnarl.sw.runtime.area.macros import load_macros
from tests.fuzz.cases import DAMAGES
from tests.support.machines.cell_library import library_text
from tests.sw.runtime.area.test_activity import SAIF

MACRO_CELL = """library(rams) { cell(ram) { area : 100.5;
  memory() { type : ram; address_width : 5; word_width : 16; }
} }
"""
MACROS = [{"name": "ram", "rows": 32, "width": 16, "area": 100.5, "ports": 2}]
FILES: dict[str, tuple[str, str, str, Callable[[Path], Any]]] = {
    "cells": ("few.lib", library_text(), "text", load_cells),
    "macro cells": ("rams.lib", MACRO_CELL, "text", load_macros),
    "macros": ("rams.json", json.dumps(MACROS), "json", load_macros),
    "activity": ("run.saif", SAIF, "text", lambda path: read_activity(path, "top")),
}
"""By what they are: name, text, kind of damage, reader."""

CASES = 400


@pytest.mark.parametrize("what", FILES)
def test_damage(what: str, tmp_path: Path) -> None:
    name, text, kind, read = FILES[what]
    path = tmp_path / name
    path.write_text(text)
    read(path)
    refused = 0
    for number in range(CASES):
        random = Random(f"{what} {number}")
        octets = text.encode()
        for _ in range(random.choice((1, 1, 2))):
            octets = random.choice(DAMAGES[kind])(octets, random)
        path.write_bytes(octets)
        try:
            read(path)
        except GnarlError as error:
            refused += 1
            line = str(error)
            assert line.startswith(str(path)) and "\n" not in line, (number, line)
            assert len(line) < 500 + len(str(path)), (number, line)
    assert 0.05 * CASES < refused < 0.98 * CASES
