"""Arithmetic of a lane."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.arithmetic import ArithmeticUnit
from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.hw.lib.execute.integers import IntegerUnit
from gnarl.hw.lib.float.from_int import FloatFromInteger
from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.operation import Operation


class Lane(Instanced):
    """An integer unit, a float adder, a float multiplier, a converter and an integer multiplier,
    each of which takes operands in every cycle.

    Parameters: ``stages`` >= 1, cycles of all but the integer unit, which has one register.

    Members
    -------
    opcode, a, b, chosen
        in: of the integer unit; ``a``, ``b`` of all others but the adder, too.
    left, right, operation
        in: of the adder.
    integer
        out: a cycle later; ``is_true``, its lowest bit, in the same cycle.
    total, multiplied, converted, product
        out: of adder, multiplier, converter and integer multiplier, ``stages`` cycles later.
    """

    def __init__(self, stages: int) -> None:
        self._stages = stages
        super().__init__(
            {
                "opcode": In(Opcode),
                "a": In(32),
                "b": In(32),
                "chosen": In(1),
                "left": In(32),
                "right": In(32),
                "operation": In(Operation),
                "is_true": Out(1),
                "integer": Out(32),
                "total": Out(32),
                "multiplied": Out(32),
                "converted": Out(32),
                "product": Out(32),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        format, stages = FLOAT_FORMATS["float32"], self._stages
        m.submodules.integer = integer = IntegerUnit()
        m.submodules.adder = adder = ArithmeticUnit(format, stages)
        m.submodules.multiplier = multiplier = ArithmeticUnit(format, stages)
        m.submodules.converter = converter = FloatFromInteger(format, 32, stages)
        m.d.comb += [
            integer.opcode.eq(self.opcode),
            integer.a.eq(self.a),
            integer.b.eq(self.b),
            integer.chosen.eq(self.chosen),
            adder.left.eq(self.left),
            adder.right.eq(self.right),
            adder.operation.eq(self.operation),
            multiplier.left.eq(self.a),
            multiplier.right.eq(self.b),
            multiplier.operation.eq(Operation.MUL),
            converter.i.eq(self.a),
            self.is_true.eq(integer.o[0]),
            self.total.eq(adder.o),
            self.multiplied.eq(multiplier.o),
            self.converted.eq(converter.o),
        ]
        m.d.sync += self.integer.eq(integer.o)
        product = (self.a * self.b)[:32]
        for stage in range(stages):
            after = Signal(32, name=f"product_{stage}", reset_less=True)
            m.d.sync += after.eq(product)
            product = after
        m.d.comb += self.product.eq(product)
        return m
