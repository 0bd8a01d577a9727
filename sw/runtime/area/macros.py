"""Memory macros: those of a library, and which serve a design's memories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import damaged_as, quoted
from gnarl.hw.lib.memory.size import MemorySize
from gnarl.sw.runtime.area.liberty_text import Group, LibraryError, read_liberty
from gnarl.sw.workloads.text_file import parse_json, read_text

_MOST_ADDRESS_BITS = 64
_FIELDS = ("name", "rows", "width", "ports", "area")


@dataclass(frozen=True)
class Macro:
    """A memory of ``rows`` words of ``width`` bits, with ``ports`` addresses (1 or 2 and more)."""

    name: str
    rows: int
    width: int
    ports: int
    area: float


@dataclass(frozen=True)
class Fit:
    """``count`` macros side by side make one memory."""

    macro: Macro
    count: int

    @property
    def area(self) -> float:
        return self.count * self.macro.area


def fit(size: MemorySize, macros: Sequence[Macro]) -> Fit | None:
    """The macros of least area that make a memory; ``None`` where none can.

    A macro serves if it has the memory's rows or more, and its ports or more; as many as its width
    needs lie side by side. None are stacked: that needs multiplexers, which nobody has counted.
    """
    fits = [
        Fit(macro, -(-size.width // macro.width))
        for macro in macros
        if macro.rows >= size.rows and macro.ports >= size.ports
    ]
    return min(fits, key=lambda each: (each.area, each.macro.name), default=None)


def load_macros(path: Path) -> list[Macro]:
    """The memories in a file: JSON, a list of objects with ``name``, ``rows``, ``width``,
    ``ports`` (1 by default) and ``area``; or liberty, its cells that have a group ``memory``.

    Raises ``LibraryError``.
    """
    with damaged_as(LibraryError, path):
        macros = _from_json(path) if path.suffix == ".json" else _from_liberty(path)
    if not macros:
        raise LibraryError(f"{path}: has no memories: must have one at least")
    return macros


def _from_json(path: Path) -> list[Macro]:
    found = parse_json(read_text(path), str(path))
    if not isinstance(found, list):
        raise LibraryError(f"{path}: must be a list of memories")
    return [_macro_of(f"{path}: memory {number}", each) for number, each in enumerate(found)]


def _macro_of(place: str, fields: Any) -> Macro:
    if not isinstance(fields, dict):
        raise LibraryError(f"{place}: must be an object of {', '.join(_FIELDS)}")
    for name in fields:
        if name not in _FIELDS:
            raise LibraryError(f"{place}: {quoted(name)}: must be one of {', '.join(_FIELDS)}")
    values = {"ports": 1, **fields}
    for name in _FIELDS:
        if name not in values:
            raise LibraryError(f"{place}: {name} is missing")
    if not isinstance(values["name"], str):
        raise LibraryError(f"{place}: name = {quoted(values['name'])}: must be a text")
    for name in ("rows", "width", "ports"):
        if type(values[name]) is not int or values[name] < 1:
            raise LibraryError(
                f"{place}: {name} = {quoted(values[name])}: must be a whole number, at least 1"
            )
    area = values["area"]
    if type(area) not in (int, float) or not 0 < area < float("inf"):
        raise LibraryError(f"{place}: area = {quoted(area)}: must be a number above 0")
    return Macro(**{**values, "area": float(area)})


def _from_liberty(path: Path) -> list[Macro]:
    return [
        _macro_of(f"{path}: cell {' '.join(cell.names)}", _fields(path, cell, memory))
        for cell in read_liberty(path).of("cell")
        for memory in cell.of("memory")
    ]


def _fields(path: Path, cell: Group, memory: Group) -> dict[str, Any]:
    """Source: Liberty User Guide, volume 1, "Modeling memory"."""
    name = " ".join(cell.names)
    numbers = {}
    for attribute in ("address_width", "word_width"):
        text = memory.attributes.get(attribute, "")
        if not re.fullmatch("[0-9]{1,20}", text) or not 1 <= int(text) <= 1 << 20:
            raise LibraryError(
                f"{path}: cell {name}: {attribute} {quoted(text)}: must be a whole number, at "
                "least 1"
            )
        numbers[attribute] = int(text)
    if numbers["address_width"] > _MOST_ADDRESS_BITS:
        raise LibraryError(
            f"{path}: cell {name}: address_width {numbers['address_width']}: must be at most "
            f"{_MOST_ADDRESS_BITS}"
        )
    addresses = {
        access.attributes["address"]
        for kind in ("memory_read", "memory_write")
        for access in cell.below(kind)
        if "address" in access.attributes
    }
    try:
        area = float(cell.attributes.get("area", "0"))
    except ValueError:
        area = 0.0
    return {
        "name": name,
        "rows": 1 << numbers["address_width"],
        "width": numbers["word_width"],
        "ports": max(1, len(addresses)),
        "area": area,
    }
