"""One block in cocotb: its ports by name, a cycle at a time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly


class Block:
    """Block ``name`` of ``Blocks``. Cycles begin at the falling edge."""

    def __init__(self, dut: Any, name: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self._dut = dut
        self._inputs = {port: getattr(dut, f"{name}__{port}") for port in inputs}
        self._outputs = {port: getattr(dut, f"{name}__{port}") for port in outputs}

    async def open(self) -> None:
        """Starts the clock and resets."""
        Clock(self._dut.clk, 10, unit="ns").start()
        await self.reset()

    async def reset(self) -> None:
        """One cycle of reset, with inputs that should not matter."""
        for port in self._inputs.values():
            port.value = random.getrandbits(len(port))
        self._dut.rst.value = 1
        await FallingEdge(self._dut.clk)
        self._dut.rst.value = 0

    async def cycle(self, **inputs: int) -> dict[str, int]:
        """One cycle with these inputs, the others 0: the outputs in it."""
        for name, port in self._inputs.items():
            port.value = int(inputs.get(name, 0))
        await ReadOnly()
        seen = {name: int(port.value) for name, port in self._outputs.items()}
        await FallingEdge(self._dut.clk)
        return seen


def join(values: Sequence[int], width: int) -> int:
    """An array as the number that its port carries."""
    return sum(int(value) << place * width for place, value in enumerate(values))


def split(number: int, width: int, count: int) -> list[int]:
    """Inverse of ``join``."""
    return [number >> place * width & (1 << width) - 1 for place in range(count)]
