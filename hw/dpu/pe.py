"""A processing element of the trees."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hw.dpu.isa import PeOp
from hw.lib.arithmetic import ArithmeticUnit
from hw.lib.formats import NumberFormat
from hw.lib.instanced import Instanced


class Pe(Instanced):
    """``o`` = ``left`` ``operation`` ``right``, one operation a cycle. Source: DPU-v2, III.A.

    Parameters: ``format`` of the words; ``stages`` >= 1, pipeline registers, the one at the output
    included: so many cycles from operands to their result.

    Members: ``left``, ``right``, ``o``: words; ``operation``: a ``PeOp``, with the operands.
    """

    def __init__(self, format: NumberFormat, stages: int) -> None:
        self._format = format
        self._stages = stages
        super().__init__(
            {
                "left": In(format.width),
                "right": In(format.width),
                "operation": In(PeOp),
                "o": Out(format.width),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.unit = unit = ArithmeticUnit(self._format, self._stages)
        m.d.comb += [
            unit.left.eq(self.left),
            unit.right.eq(self.right),
            unit.operation.eq(self.operation),
            self.o.eq(unit.o),
        ]
        return m
