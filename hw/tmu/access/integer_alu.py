"""What integer streams compute, divisions excepted."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from gnarl.hw.tmu.access_isa import AluOperation


def integer_alu(m: Module, name: str, operation: Value, a: Value, b: Value) -> Signal:
    """``a operation b`` in 32 bits; 0 for divisions."""
    value = Signal(32, name=name)
    with m.Switch(operation):
        with m.Case(AluOperation.ADD):
            m.d.comb += value.eq(a + b)
        with m.Case(AluOperation.SUB):
            m.d.comb += value.eq(a - b)
        with m.Case(AluOperation.MUL):
            m.d.comb += value.eq(a * b)
        with m.Case(AluOperation.SHIFT_LEFT):
            m.d.comb += value.eq(a << b[:5])
        with m.Case(AluOperation.SHIFT_RIGHT):
            m.d.comb += value.eq(a >> b[:5])
    return value


def is_division(operation: Value) -> Value:
    """Whether it takes a divider."""
    return (operation == AluOperation.DIV) | (operation == AluOperation.MOD)
