"""Sizes of memories, and what their Verilog modules are called."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MODULE = re.compile(r"(two_port_)?ram_(\d+)x(\d+)", re.ASCII)


@dataclass(frozen=True, order=True)
class MemorySize:
    """A memory of ``rows`` words of ``width`` bits; two ``ports`` are one to read, one to write."""

    rows: int
    width: int
    ports: int

    @property
    def bits(self) -> int:
        return self.rows * self.width

    @property
    def module(self) -> str:
        """Name of the Verilog module, as ``gnarl.hw.lib.verilog`` writes it."""
        return f"{'two_port_' if self.ports == 2 else ''}ram_{self.rows}x{self.width}"

    @classmethod
    def of_module(cls, name: str) -> MemorySize | None:
        """The size of the memory whose module has this name; ``None`` if it is no memory's name."""
        if found := _MODULE.fullmatch(name):
            two_port, rows, width = found.groups()
            return cls(int(rows), int(width), 2 if two_port else 1)
        return None
