"""A processing element of the trees."""

from __future__ import annotations

from gnarl.hw.lib.arithmetic import ArithmeticUnit
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.instanced import Instanced


class Pe(ArithmeticUnit, Instanced):
    """An ``ArithmeticUnit`` for a ``PeOp`` a cycle, which tells losses. Source: DPU-v2, III.A."""

    def __init__(self, format: NumberFormat, stages: int, technology: str = "fpga") -> None:
        super().__init__(format, stages, technology, with_losses=True)
