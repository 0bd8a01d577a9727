"""Yosys's text form of netlists, RTLIL, as far as costs of cells need it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Bit = str | tuple[str, int]
"""A constant, one of ``01xz-m``, or a wire's name and the place in it."""

_SIGNAL = re.compile(r"(\d+)'([01xzm-]+)|([\\$]\S+)(?: \[(\d+)(?::(\d+))?\])?|-?\d+")


@dataclass(frozen=True)
class Cell:
    """A cell or an instance of a module: its type, parameters and what its ports connect to.

    ``wires``: the widths of the module's wires, by name.
    """

    kind: str
    wires: dict[str, int]
    parameters: dict[str, str] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)

    def number(self, parameter: str) -> int:
        """The value of a parameter that is a whole number."""
        width, quote, digits = self.parameters[parameter].partition("'")
        return int(digits, 2) if quote else int(width)

    def bits(self, port: str) -> list[Bit]:
        """What a port is connected to, the least bit first."""
        bits: list[Bit] = []
        for signal in _SIGNAL.finditer(self.ports[port]):
            width, constant, wire, first, last = signal.groups()
            if constant:
                bits += constant.rjust(int(width), "0")
            elif wire:
                top = int(first) if first else self.wires[wire] - 1
                bottom = int(last) if last else top if first else 0
                bits += ((wire, place) for place in range(top, bottom - 1, -1))
            else:
                bits += f"{int(signal.group()) & 0xFFFFFFFF:032b}"
        return bits[::-1]


def read_modules(rtlil: str) -> dict[str, list[Cell]]:
    """The cells of each module, by its name, of RTLIL as Yosys writes it."""
    modules = re.split(r"^module \\", rtlil, flags=re.M)[1:]
    return {name: _cells(body) for name, _, body in (text.partition("\n") for text in modules)}


def _cells(module: str) -> list[Cell]:
    cells: list[Cell] = []
    wires: dict[str, int] = {}
    for line in module.split("\n"):
        if line.startswith("    connect "):
            port, signal = line[12:].split(" ", 1)
            cells[-1].ports[port[1:]] = signal
        elif line.startswith("    parameter "):
            *_, parameter, value = line.split(" ")
            cells[-1].parameters[parameter[1:]] = value
        elif line.startswith("  cell "):
            cells.append(Cell(line.split(" ")[3].removeprefix("\\"), wires))
        elif line.startswith("  wire "):
            words = line.split(" ")
            width = words[words.index("width") + 1] if "width" in words[:-1] else 1
            wires[words[-1]] = int(width)
    return cells
