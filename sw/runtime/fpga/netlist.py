"""What Yosys made of a design, read from its files: cells, memories and registers by name."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnarl.hw.lib.text_lines import text_lines

REGISTER = "gnarl_register"
"""Attribute of the wires that were registers in the Verilog."""

RAM = "gnarl_ram"
"""Attribute of the memories of ``gnarl.hw.lib.memory.ram``, as opposed to register banks and small
queues."""


@dataclass(frozen=True)
class DesignMemory:
    """A memory that can be written: its instance path, size in words and bits, and whether it is
    one of ``gnarl.hw.lib.memory.ram``."""

    path: str
    rows: int
    width: int
    is_ram: bool

    def holds(self, cell: str) -> bool:
        """Whether a cell of this name is part of it."""
        return cell.startswith(f"{self.path}.")


_BIT = re.compile(r"\[\d+\]$")
_MEMORY = re.compile(
    r"((?:^ *attribute [^\n]*\n)*)^ *cell \$mem_v2 ([^\n]*)\n(.*?)^ *end$", re.M | re.S
)
_PARAMETER = re.compile(r"^ *parameter (?:signed )?\\(\w+) (-?\d+)$", re.M)


def read_memories(rtlil: str) -> list[DesignMemory]:
    """Memories in a dump of ``$mem_v2`` cells. Those that are never written are tables, and left
    out."""
    memories = []
    for attributes, name, body in _MEMORY.findall(rtlil):
        parameters = {key: int(value) for key, value in _PARAMETER.findall(body)}
        if parameters["WR_PORTS"] == 0:
            continue
        is_ram = f"\\{RAM} 1" in attributes
        path = name.removeprefix("\\")
        memories.append(DesignMemory(path, parameters["SIZE"], parameters["WIDTH"], is_ram))
    return sorted(memories, key=lambda memory: memory.path)


def read_registers(listing: str) -> frozenset[str]:
    """Names of wires of the flat top module, from Yosys's list of them."""
    return frozenset(line.partition("/")[2] for line in text_lines(listing))


class Netlist:
    """The flat module that synthesis left.

    ``cells``: their types by name. ``registers``: the wires that were registers in the Verilog.
    """

    def __init__(self, module: Mapping[str, Any], registers: frozenset[str]) -> None:
        self._cells = module["cells"]
        self._registers = registers
        self.cells: dict[str, str] = {name: cell["type"] for name, cell in self._cells.items()}
        self._names: dict[int, list[str]] = {}
        for name, wire in module["netnames"].items():
            if not wire["hide_name"]:
                for bit in wire["bits"]:
                    self._names.setdefault(bit, []).append(name)

    @classmethod
    def read(cls, path: Path, top: str, registers: frozenset[str]) -> Netlist:
        """Reads a file that ``write_json`` wrote."""
        module = json.loads(path.read_text(encoding="utf-8"))["modules"][top]
        return cls(module, registers)

    @property
    def counts(self) -> Counter[str]:
        """Cells of each type."""
        return Counter(self.cells.values())

    def cells_of(self, memory: DesignMemory) -> Counter[str]:
        """Types of the cells that a memory became."""
        return Counter(kind for name, kind in self.cells.items() if memory.holds(name))

    def register(self, cell: str) -> str | None:
        """What the Verilog calls a flip-flop, or the one that a cell's output alone goes to.

        ``None`` if there is none. Of several names, that of a register counts, or else that of the
        outermost wire.
        """
        if not _is_flip_flop(self.cells[cell]):
            fed = self._fed_by(cell)
            if fed is None:
                return None
            cell = fed
        wires = [name for bit in self._outputs(cell) for name in self._names.get(bit, [])]
        names = {self._whole(name) for name in wires}
        own = sorted(self._registers & names)
        return next(iter(own or sorted(names, key=lambda name: (name.count("."), name))), None)

    def _whole(self, wire: str) -> str:
        """The register that a wire is a bit of, where Yosys has split them, or the wire."""
        register = _BIT.sub("", wire)
        return register if wire not in self._registers and register in self._registers else wire

    def _fed_by(self, cell: str) -> str | None:
        """The flip-flop behind a cell."""
        outputs = set(self._outputs(cell))
        for name, other in self._cells.items():
            if _is_flip_flop(other["type"]):
                inputs = [bit for port in ("D", "DI") for bit in other["connections"].get(port, [])]
                if outputs.intersection(inputs):
                    return name
        return None

    def _outputs(self, cell: str) -> Iterator[int]:
        ports = self._cells[cell]
        for port, bits in ports["connections"].items():
            if ports["port_directions"].get(port) == "output":
                yield from (bit for bit in bits if isinstance(bit, int))


def _is_flip_flop(kind: str) -> bool:
    return kind == "TRELLIS_FF" or kind.startswith(("SB_DFF", "DFF"))
