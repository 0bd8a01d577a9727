"""What takes a cycle: integer operations, comparison, choice."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.lib.formats import FLOAT_FORMATS
from hw.tmu.execute_isa import Opcode

_INFINITY = FLOAT_FORMATS["float32"].infinity


class IntegerUnit(wiring.Component):
    """``o`` is what the ``opcode`` makes of ``a`` and ``b``: integers but ``MUL``, ``FABS``,
    comparisons as 1 or 0, ``SELECT`` by ``chosen``. Combinational.

    Members: ``opcode``, ``a``, ``b``, ``chosen`` in; ``o`` out.
    """

    def __init__(self) -> None:
        super().__init__(
            {"opcode": In(Opcode), "a": In(32), "b": In(32), "chosen": In(1), "o": Out(32)}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        a, b, o = self.a, self.b, self.o
        is_less, is_equal = Signal(), Signal()
        subtracts = self.opcode == Opcode.SUB
        total = Signal(32)
        m.d.comb += [
            is_less.eq(a.as_signed() < b.as_signed()),
            is_equal.eq(a == b),
            total.eq(a + Mux(subtracts, ~b, b) + subtracts),
        ]
        is_float_less, is_float_equal = self._compare_floats(m, is_less, is_equal)
        with m.Switch(self.opcode):
            with m.Case(Opcode.ADD, Opcode.SUB):
                m.d.comb += o.eq(total)
            with m.Case(Opcode.AND):
                m.d.comb += o.eq(a & b)
            with m.Case(Opcode.OR):
                m.d.comb += o.eq(a | b)
            with m.Case(Opcode.XOR):
                m.d.comb += o.eq(a ^ b)
            with m.Case(Opcode.SHIFT_LEFT, Opcode.SHIFT_RIGHT):
                m.d.comb += o.eq(self._shifted(m))
            with m.Case(Opcode.MIN):
                m.d.comb += o.eq(Mux(is_less, a, b))
            with m.Case(Opcode.MAX):
                m.d.comb += o.eq(Mux(is_less, b, a))
            with m.Case(Opcode.LESS):
                m.d.comb += o.eq(is_less)
            with m.Case(Opcode.FABS):
                m.d.comb += o.eq(a[:-1])
            with m.Case(Opcode.SELECT):
                m.d.comb += o.eq(Mux(self.chosen, a, b))
            with m.Case(Opcode.FLESS):
                m.d.comb += o.eq(is_float_less)
            with m.Case(Opcode.FLESS_EQUAL):
                m.d.comb += o.eq(is_float_less | is_float_equal)
            with m.Case(Opcode.FEQUAL):
                m.d.comb += o.eq(is_float_equal)
        return m

    def _compare_floats(self, m: Module, is_less: Value, is_equal: Value) -> tuple[Signal, Signal]:
        """Whether a < b and a = b as numbers. As signed integers, negative ones of the same sign
        compare the other way round."""
        a, b = self.a, self.b
        is_nan = (a[:-1] > _INFINITY) | (b[:-1] > _INFINITY)
        are_zero = ~Cat(a[:-1], b[:-1]).any()
        less, equal = Signal(), Signal()
        in_order = Mux(a[-1] & b[-1], ~is_less & ~is_equal, is_less)
        m.d.comb += [
            less.eq(~is_nan & ~are_zero & in_order),
            equal.eq(~is_nan & (is_equal | are_zero)),
        ]
        return less, equal

    def _shifted(self, m: Module) -> Value:
        """One shifter to the right, through which shifts to the left go backwards."""
        is_left = self.opcode == Opcode.SHIFT_LEFT
        given, moved = Signal(32), Signal(32)
        fill = self.a[-1] & ~is_left
        m.d.comb += [
            given.eq(Mux(is_left, self.a[::-1], self.a)),
            moved.eq(Cat(given, fill.replicate(31)) >> self.b[:5]),
        ]
        return Mux(is_left, moved[::-1], moved)
