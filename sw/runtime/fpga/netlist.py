"""What Yosys made of a design, read from its files: cells, memories and registers by name."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REGISTER = "gnarl_register"
"""Attribute of the wires that were registers in the Verilog."""

RAM = "gnarl_ram"
"""Attribute of the memories of ``hw.lib.ram``, as opposed to register banks and small queues."""


@dataclass(frozen=True)
class DesignMemory:
    """A memory that can be written: its instance path, size in words and bits, and whether it is
    one of ``hw.lib.ram``."""

    path: str
    rows: int
    width: int
    is_ram: bool

    def holds(self, cell: str) -> bool:
        """Whether a cell of this name is part of it."""
        return cell.startswith(f"{self.path}.")


_MEMORY = re.compile(
    r"((?:^ *attribute [^\n]*\n)*)^ *cell \$mem_v2 ([^\n]*)\n(.*?)^ *end$", re.M | re.S
)
_PARAMETER = re.compile(r"^ *parameter (?:signed )?\\(\w+) (-?\d+)$", re.M)


def read_memories(rtlil: str) -> list[DesignMemory]:
    """Of a dump of ``$mem_v2`` cells. Those that are never written are tables, and left out."""
    found = []
    for attributes, name, body in _MEMORY.findall(rtlil):
        parameters = {key: int(value) for key, value in _PARAMETER.findall(body)}
        if parameters["WR_PORTS"] == 0:
            continue
        is_ram = f"\\{RAM} 1" in attributes
        path = name.removeprefix("\\")
        found.append(DesignMemory(path, parameters["SIZE"], parameters["WIDTH"], is_ram))
    return sorted(found, key=lambda memory: memory.path)


class Netlist:
    """The flat module that synthesis left.

    ``cells``: their types by name.
    """

    def __init__(self, module: Mapping[str, Any]) -> None:
        self._cells = module["cells"]
        self._netnames = module["netnames"]
        self.cells: dict[str, str] = {name: cell["type"] for name, cell in self._cells.items()}

    @classmethod
    def read(cls, path: Path, top: str) -> Netlist:
        """From a file that ``write_json`` wrote."""
        return cls(json.loads(path.read_text(encoding="utf-8"))["modules"][top])

    @property
    def counts(self) -> Counter[str]:
        """Cells of each type."""
        return Counter(self.cells.values())

    def cells_of(self, memory: DesignMemory) -> Counter[str]:
        """Types of the cells that a memory became."""
        return Counter(kind for name, kind in self.cells.items() if memory.holds(name))

    def driven(self, cell: str) -> str | None:
        """The register, as the Verilog calls it, that a cell drives; ``None`` if it drives none."""
        for bit in self._outputs(cell):
            if bit in self._registers:
                return self._registers[bit]
        return None

    def register_behind(self, cell: str) -> str | None:
        """The register that a cell drives directly, or through flip-flops' inputs alone."""
        if found := self.driven(cell):
            return found
        outputs = set(self._outputs(cell))
        for name, other in self._cells.items():
            if _is_flip_flop(other["type"]):
                inputs = [other["connections"].get(port, [None])[0] for port in ("D", "DI")]
                if outputs.intersection(inputs):
                    return self.driven(name)
        return None

    def _outputs(self, cell: str) -> Iterator[int]:
        ports = self._cells[cell]
        for port, bits in ports["connections"].items():
            if ports["port_directions"].get(port) == "output":
                yield from (bit for bit in bits if isinstance(bit, int))

    @property
    def _registers(self) -> dict[int, str]:
        if not hasattr(self, "_by_bit"):
            self._by_bit: dict[int, str] = {}
            for name in sorted(self._netnames):
                wire = self._netnames[name]
                if REGISTER in wire["attributes"]:
                    for bit in wire["bits"]:
                        self._by_bit.setdefault(bit, name)
        return self._by_bit


def _is_flip_flop(kind: str) -> bool:
    return kind == "TRELLIS_FF" or kind.startswith(("SB_DFF", "DFF"))
