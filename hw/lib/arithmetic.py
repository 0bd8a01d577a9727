"""One unit for all that a processing element computes, in any number format."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.float.arithmetic import compute_float
from gnarl.hw.lib.float.parts import check_float
from gnarl.hw.lib.formats import FloatFormat, NumberFormat
from gnarl.hw.lib.integer.fixed import check_fixed, compute_fixed
from gnarl.hw.lib.losses import LOSSES
from gnarl.hw.lib.operation import Operation
from gnarl.hw.lib.pipelined import Pipelined

LossLayout = data.StructLayout(dict.fromkeys(LOSSES, unsigned(1)))
"""Whether a result has lost something, by the kinds of ``LOSSES``."""


class ArithmeticUnit(Pipelined):
    """``o`` = ``left`` ``operation`` ``right``: one operation a cycle, no backpressure, no reset.

    Floating point: sums, differences and products as IEEE 754-2019 has them, rounded to nearest
    even, with subnormals; ``MAX`` and ``MIN`` are its maximum and minimum (clause 9.6: -0 is below
    +0, NaN prevails); any NaN among these results is canonical. Fixed point: sums wrap, products
    are rounded to nearest even and wrap. Passing leaves all bits as they are.

    Parameters: ``format`` of operands and result; ``stages`` >= 1, pipeline registers inside, the
    last of them at the output; the ``technology`` for which the others are placed; ``with_losses``:
    whether it says what results lose.

    Members: ``left``, ``right``, ``o``: bits; ``operation``: an ``Operation``; ``losses`` of ``o``,
    if asked for, see ``gnarl.hw.lib.losses``: a few gates behind the output's register.
    """

    def __init__(
        self,
        format: NumberFormat,
        stages: int,
        technology: str = "fpga",
        with_losses: bool = False,
    ) -> None:
        if isinstance(format, FloatFormat):
            check_float(format)
        else:
            check_fixed(format)
        self._format = format
        self._technology = technology
        self._with_losses = with_losses
        members = {
            "left": In(format.width),
            "right": In(format.width),
            "operation": In(Operation),
            "o": Out(format.width),
        }
        if with_losses:
            members["losses"] = Out(LossLayout)
        super().__init__(members, stages, least=1)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        inputs = self.left, self.right, self.operation, self._with_losses
        if isinstance(self._format, FloatFormat):
            o, losses = compute_float(m, self._format, self._stages, self._technology, *inputs)
        else:
            o, losses = compute_fixed(m, self._format, self._stages, *inputs)
        m.d.comb += self.o.eq(o)
        m.d.comb += [self.losses[name].eq(loss) for name, loss in losses.items()]
        return m
