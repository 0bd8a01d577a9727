"""Libraries of standard cells: what synthesis needs of them, and the area of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gnarl.hw.lib.errors import damaged_as, short
from gnarl.sw.runtime.area.cell_function import truth_table
from gnarl.sw.runtime.area.liberty_text import Group, LibraryError, read_liberty

_INVERTER = 0b01
_NAND2 = 0b0111
_NOR2 = 0b0001


@dataclass(frozen=True)
class CellLibrary:
    """A library of standard cells.

    areas
        of every cell, in the library's unit; most libraries use square micrometres, and none says.
    registers
        output pins of flip-flops by their names.
    gate
        area of the smallest two-input NAND, or NOR where there is none: one gate equivalent.
    """

    path: Path
    name: str
    areas: Mapping[str, float]
    registers: Mapping[str, str]
    gate: float


def load_cells(path: Path) -> CellLibrary:
    """Raises ``LibraryError`` where the file is no liberty file, or its cells do not suffice: a
    flip-flop, an inverter, and a two-input NAND or NOR."""
    with damaged_as(LibraryError, path):
        library = read_liberty(path)
        cells = library.of("cell")
        if not cells:
            raise LibraryError(f"{path}: has no cells: must be a library of standard cells")
        areas = {_name(cell): _area(path, cell) for cell in cells}
        made: dict[int, list[float]] = {}
        for cell in cells:
            area = areas[_name(cell)]
            if area and (table := _combinational(cell)) is not None:
                made.setdefault(table, []).append(area)
        flip_flops = [cell for cell in cells if cell.of("ff")]
        gates = made.get(_key(2, _NAND2)) or made.get(_key(2, _NOR2)) or []
        lacks = [
            what
            for what, there in (
                ("a flip-flop (a cell with group ff)", flip_flops),
                ("an inverter with an area", made.get(_key(1, _INVERTER))),
                ("a two-input NAND or NOR with an area", gates),
            )
            if not there
        ]
        if lacks:
            raise LibraryError(f"{path}: lacks {', '.join(lacks)}: synthesis needs each of them")
        return CellLibrary(
            path,
            library.names[0] if library.names else path.stem,
            areas,
            {_name(cell): _output(cell) for cell in flip_flops},
            min(gates),
        )


def _name(cell: Group) -> str:
    return cell.names[0] if cell.names else ""


def _output(flip_flop: Group) -> str:
    """The pin that has the state as it is; empty if there is none."""
    states = flip_flop.of("ff")[0].names[:1]
    pins = (pin for pin in flip_flop.of("pin") if pin.attributes.get("function") in states)
    return next((name for pin in pins for name in pin.names), "")


def _area(path: Path, cell: Group) -> float:
    text = cell.attributes.get("area", "0")
    try:
        area = float(text)
    except ValueError:
        area = -1.0
    if not 0 <= area < float("inf"):
        raise LibraryError(
            f"{path}: cell {_name(cell)}: area {short(text)}: must be a number, 0 or more"
        )
    return area


def _combinational(cell: Group) -> int | None:
    """Key of the function of a cell with one output and one or two inputs."""
    if cell.of("ff", "latch", "statetable"):
        return None
    directions = {
        name: pin.attributes.get("direction") for pin in cell.of("pin") for name in pin.names
    }
    inputs = [name for name, direction in directions.items() if direction == "input"]
    outputs = [pin for pin in cell.of("pin") if pin.attributes.get("direction") == "output"]
    if len(outputs) != 1 or len(inputs) not in (1, 2) or "three_state" in outputs[0].attributes:
        return None
    table = truth_table(outputs[0].attributes.get("function", ""), inputs)
    return None if table is None else _key(len(inputs), table)


def _key(inputs: int, table: int) -> int:
    """Different for tables of different numbers of inputs."""
    return inputs << 8 | table
