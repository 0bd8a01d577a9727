"""What stands between those that give row operations and the arrays."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.sram_compute.array.compute_array import compute_layout, operation_layout, read_layout


class IssueStage(wiring.Component):
    """Holds an operation until its rows have been read, and finds out which of them the operation
    before is just writing.

    Parameters: ``wordlines`` of the arrays.

    Members: ``read`` and ``operation``, of this cycle; ``compute``, for the arrays, which take
    ``read`` as it is.
    """

    def __init__(self, wordlines: int) -> None:
        super().__init__(
            {
                "read": In(read_layout(wordlines)),
                "operation": In(operation_layout(wordlines)),
                "compute": Out(compute_layout(wordlines)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        before = self.compute.operation
        m.d.sync += before.eq(self.operation)
        for name in "ab":
            is_written = before.enable & before.write_enable & (before.d == self.read[name])
            m.d.sync += self.compute[f"forward_{name}"].eq(is_written)
        return m
