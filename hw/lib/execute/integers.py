"""What takes a cycle: integer operations, comparison, choice."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.hw.lib.formats import FLOAT_FORMATS

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
        opcode, a, b, o = self.opcode, self.a, self.b, self.o
        is_less, is_equal = Signal(), Signal()
        subtracts = opcode == Opcode.SUB
        total = Signal(32)
        m.d.comb += [
            is_less.eq(a.as_signed() < b.as_signed()),
            is_equal.eq(a == b),
            total.eq(a + Mux(subtracts, ~b, b) + subtracts),
        ]
        is_float_less, is_float_equal = self._compare_floats(m, is_less, is_equal)
        takes_a, is_true = Signal(), Signal()
        with m.Switch(opcode):
            with m.Case(Opcode.MIN):
                m.d.comb += takes_a.eq(is_less)
            with m.Case(Opcode.MAX):
                m.d.comb += takes_a.eq(~is_less)
            with m.Case(Opcode.SELECT):
                m.d.comb += takes_a.eq(self.chosen)
            with m.Case(Opcode.LESS):
                m.d.comb += is_true.eq(is_less)
            with m.Case(Opcode.FLESS):
                m.d.comb += is_true.eq(is_float_less)
            with m.Case(Opcode.FLESS_EQUAL):
                m.d.comb += is_true.eq(is_float_less | is_float_equal)
            with m.Case(Opcode.FEQUAL):
                m.d.comb += is_true.eq(is_float_equal)
        with m.Switch(opcode):
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
            with m.Case(Opcode.MIN, Opcode.MAX, Opcode.SELECT):
                m.d.comb += o.eq(Mux(takes_a, a, b))
            with m.Case(Opcode.FABS):
                m.d.comb += o.eq(a[:-1])
            with m.Default():
                m.d.comb += o.eq(is_true)
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
        fill = named(m, "fill", self.a[-1] & ~is_left)
        moved = named(m, "given", Mux(is_left, self.a[::-1], self.a))
        for bit in range(5):
            falls = 1 << bit
            shifted = Cat(moved[falls:], fill.replicate(falls))
            moved = named(m, f"moved_{bit}", Mux(self.b[bit], shifted, moved))
        return Mux(is_left, moved[::-1], moved)
